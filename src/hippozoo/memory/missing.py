"""Missing samples: time passes, and the last value seen is held."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.arguments import real_array

__all__ = ["hold_missing"]


def hold_missing(signal: np.ndarray, mask: np.ndarray, held: np.ndarray | float = 0.0) -> np.ndarray:
    """Fill each gap of a signal, (time,) or (time, channels), with the last value before it.

    The mask is True where there is a sample: of the signal's shape, or (time,) for all channels alike. Masked entries
    of a masked array are gaps too. `held` is the last value before the signal begins; one number, or one per channel.

    Examples
    --------
    >>> signal = np.array([np.nan, 2.0, np.nan, np.nan, 5.0])
    >>> hold_missing(signal, ~np.isnan(signal), held=1.0).tolist()
    [1.0, 2.0, 2.0, 2.0, 5.0]
    """
    values = np.asarray(signal)
    present = np.asarray(mask)
    if present.dtype != np.bool_:
        raise TypeError(f"mask has dtype {present.dtype}; pass booleans, True where there is a sample.")
    if not values.ndim:
        raise ValueError("signal has shape (); pass (time,) or (time, channels).")
    if present.shape not in (values.shape, values.shape[:1]):
        raise ValueError(
            f"mask has shape {present.shape}, but the signal {values.shape}; pass one flag per sample, of shape "
            f"{values.shape} or {values.shape[:1]}."
        )
    before = real_array("held", held)
    if before.shape not in ((), values.shape[1:]):
        raise ValueError(f"held has shape {before.shape}; pass one number, or one per channel: {values.shape[1:]}.")
    if present.ndim < values.ndim:
        present = np.broadcast_to(present[:, None], values.shape)
    if isinstance(signal, np.ma.MaskedArray):
        present = present & ~np.ma.getmaskarray(signal)
    time = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    newest = np.maximum.accumulate(np.where(present, time, -1), axis=0)
    filled = np.take_along_axis(values, np.maximum(newest, 0), axis=0)
    return np.where(newest >= 0, filled, before)
