"""What System 1 is too coarse to hold: it belongs to the uncertainty of a sample, though not to that of the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

__all__ = ["Detail", "cell_count", "missed_detail", "probe_rows"]

# How many times per horizon the detail is measured: neighbouring windows say nearly the same.
_PROBES = 8


@dataclass(frozen=True, eq=False)
class Detail:
    """Squared differences between samples and System 1's reading of them, for each cell of the horizon.

    Parameters
    ----------
    squares
        Weighted sums, (channels, cells); the first cell is the first sample after the past.
    weight
        Of each channel.
    """

    squares: Float[np.ndarray, "channels cells"]
    weight: Float[np.ndarray, " channels"]

    @property
    def variance(self) -> Float[np.ndarray, "channels cells"]:
        """Mean squared differences; 0 where nothing was measured."""
        return self.squares / np.where(self.weight > 0, self.weight, 1.0)[:, None]

    def merge(self, other: Detail, kept: float = 1.0) -> Detail:
        """Both together, `kept` being how much of this one counts."""
        return Detail(self.squares * kept + other.squares, self.weight * kept + other.weight)


def cell_count(horizon: float, dt: float) -> int:
    """How many samples fit into the horizon; one at least."""
    return max(1, int(horizon / dt * (1 + 1e-9)))


def probe_rows(clock: Float[np.ndarray, " time"], steps: Float[np.ndarray, " time"], horizon: float, dt: float):
    """The rows at which the detail is measured: fixed by the clock, however the stream is cut into pieces."""
    stride = max(1, round(cell_count(horizon, dt) / _PROBES)) * dt
    # Half a step off the samples, so that rounding of the clock decides nothing.
    return np.flatnonzero(np.floor((clock - dt / 2) / stride) > np.floor((clock - steps - dt / 2) / stride))


def missed_detail(
    content: Float[np.ndarray, "pieces channels"],
    lengths: Float[np.ndarray, " pieces"],
    begins: Float[np.ndarray, " probes"],
    dt: float,
    readings: Float[np.ndarray, "probes channels cells"],
    weights: Float[np.ndarray, "probes channels"],
) -> Detail:
    """Compare readings of windows that begin at `begins` with the held signal itself, in the middle of each cell.

    `content` and `lengths` are the pieces of the signal; time counts from the beginning of the first.
    """
    edges = np.cumsum(lengths)
    middles = begins[:, None] + (np.arange(readings.shape[2]) + 0.5) * dt
    place = np.minimum(np.searchsorted(edges, middles, side="right"), len(edges) - 1)
    missed = content[place].transpose(0, 2, 1) - readings
    return Detail(np.einsum("pc,pck->ck", weights, missed**2), weights.sum(axis=0))
