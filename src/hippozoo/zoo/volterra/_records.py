"""Checks of records (input and output of an experiment) and of fitted weights, shared by all fitted structures."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten
from hippozoo.memory import Memory

__all__ = [
    "Known", "Record", "checked_pair", "checked_record", "checked_weights", "demand_memory", "is_still", "known_outputs"
]  # fmt: skip

Record = Float[np.ndarray, " time"]
#: Measured outputs that begin a simulation.
Known = Float[np.ndarray, " known"] | None


def demand_memory(name: str, memory: Any) -> None:
    """Refuse what is not a `Memory`."""
    if not isinstance(memory, Memory):
        raise TypeError(f"{name}={shorten(memory)} is not a Memory; pass Memory(system, dt=…).")


def checked_record(name: str, values: Any, several: str = "") -> np.ndarray:
    """One record; `several` says what to do with more of them."""
    more = f"; {several}" if several else ""
    parts: Any = values if isinstance(values, (list, tuple)) and values and np.iterable(values[0]) else ()
    if len({np.size(part) for part in parts}) > 1:
        raise ValueError(f"{name} is a list of {len(values)} records; pass one record, (time,){more}.")
    try:
        may_have_gaps = np.asarray(values).dtype.kind == "f"
    except ValueError:  # a ragged nest
        may_have_gaps = False
    array = real_array(name, values, what_to_do="Fill the gap, or cut the record there." if may_have_gaps else "")
    if not array.size:
        raise ValueError(f"{name} has no samples; pass at least one.")
    if array.ndim != 1:
        flat = f", here np.ravel({name})" if array.size in array.shape else ""
        raise ValueError(f"{name} has shape {array.shape}; pass one record, (time,){flat}{more}.")
    return array


def known_outputs(known: Any) -> np.ndarray:
    """The first measured outputs of a simulation; none by default."""
    return np.zeros(0) if known is None or not np.size(known) else checked_record("known", known)


def checked_pair(
    signal: np.ndarray, target: np.ndarray, warm_up: int, unknowns: int, largest: float = 1e100
) -> tuple[np.ndarray, np.ndarray]:
    """Input and output of one record, if there is something in them to fit."""
    values, wanted = checked_record("signal", signal), checked_record("target", target)
    if values.shape != wanted.shape:
        raise ValueError(f"signal has {len(values)} samples and target {len(wanted)}; pass one target per sample.")
    if len(values) - warm_up <= unknowns:
        raise ValueError(
            f"{len(values)} samples with warm_up={warm_up} leave too few for {unknowns} unknowns; pass more."
        )
    for name, record, most in (("signal", values, 1e100), ("target", wanted, largest)):
        reached = np.abs(record).max()
        if reached > most:
            raise ValueError(f"{name} reaches {reached:.3g}, too large for its powers; scale it down.")
        if 0 < reached < 1e-100:
            raise ValueError(f"{name} reaches {reached:.3g} only, too small for its powers; scale it up.")
    if is_still(wanted[warm_up:]):
        raise ValueError(
            f"target is {wanted[-1]:.6g} in all samples after warm_up={warm_up}, and a constant says nothing about a "
            f"system; pass an output that varies, or a smaller warm_up."
        )
    return values, wanted


def is_still(values: np.ndarray, tolerance: float = 1e-12) -> bool:
    """Whether nothing moves along time, but for rounding."""
    return bool(np.ptp(values, axis=0).max() <= tolerance * np.abs(values).max())


def checked_weights(weights: Any, kind: type[Any], shapes: dict[str, tuple[int, ...]], model: str) -> Any:
    """The weights as arrays, if they are of this kind and of these shapes."""
    if not isinstance(weights, kind):
        raise TypeError(f"weights={shorten(weights)}: pass the {kind.__name__} that fit returned.")
    parts = [real_array(f"weights.{name}", getattr(weights, name)) for name in shapes]
    for (name, shape), part in zip(shapes.items(), parts, strict=True):
        if part.shape != shape:
            raise ValueError(
                f"weights.{name} has shape {part.shape}, but {model} needs {shape}; take the {model.split()[1]} that "
                f"was fitted."
            )
    return kind(*parts)
