"""The last readings of a stream, which an alarm tells of."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.ensemble.comparison import P_VALUE

__all__ = ["RECENT", "RecentReadings"]

# So many readings before an alarm are told with it.
RECENT = 96


class RecentReadings:
    """A ring by the numbers of the readings: time (or number), value, expected, lower, upper and error.

    Parameters
    ----------
    channels
        How many are read side by side.

    Examples
    --------
    >>> recent = RecentReadings(channels=1)
    >>> recent.add(0, np.ones((3, 1)), None, np.zeros((5, 3, 1)))
    >>> recent.last(3)[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, channels: int) -> None:
        self.ring = np.full((RECENT, 6, channels), np.nan)

    def add(
        self,
        first: int,
        rows: Float[np.ndarray, "time channels"],
        clock: Float[np.ndarray, " time"] | None,
        said: Float[np.ndarray, "said time channels"],
    ) -> None:
        """Take in readings, the number of the first being `first`, and what was said of them."""
        if len(rows) == 1:  # the same, faster
            place = self.ring[first % RECENT]
            place[0], place[1], place[2:] = first if clock is None else clock[0], rows[0], said[:P_VALUE, 0]
            return
        numbers = first + np.arange(len(rows))
        places = numbers % RECENT
        self.ring[places, 0] = (numbers if clock is None else clock)[:, None]
        self.ring[places, 1] = rows
        self.ring[places, 2:] = said[:P_VALUE].transpose(1, 0, 2)

    def last(self, readings: int) -> Float[np.ndarray, "recent six channels"]:
        """The newest of so many readings, in the order of time."""
        order = (readings + np.arange(RECENT)) % RECENT
        return self.ring[order][-min(RECENT, readings) :]

    def load(self, ring: Any) -> None:
        """Go on with what another one held."""
        self.ring = np.array(ring, float)
