"""What is known of a series, by names, for Python: names of experts, and explanations of a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Shaped

from hippozoo.ensemble.plan import Maps, Plan
from hippozoo.ensemble.ridge import Solved

if TYPE_CHECKING:
    from hippozoo.ensemble.channel import Channel

__all__ = ["Known", "weights_at"]


@dataclass(frozen=True, eq=False)
class Known:
    """A plan, and what was learnt by it.

    Parameters
    ----------
    plan
        Of the ensemble.
    timescales
        Of the memories, in the user's time unit.
    live, logs, leverages, features, now, learnt
        Numbers, logs and leverages of all channels, what inputs say, the place of the present, and the maps in use;
        nothing before a state exists.
    """

    plan: Plan
    timescales: tuple[float, ...]
    live: Float[np.ndarray, "channels numbers"] | None = None
    logs: Shaped[np.ndarray, "channels cells"] | None = None
    leverages: Float[np.ndarray, "channels cells kinds"] | None = None
    features: Float[np.ndarray, "one cells views features"] | None = None
    now: int = 0
    learnt: Solved | None = None

    def channel(self, number: int) -> Channel:
        """The numbers of one channel."""
        from hippozoo.ensemble.channel import open_channels

        assert self.live is not None
        return open_channels(self.live[number], self.plan)

    def log(self, number: int) -> np.ndarray:
        """The cells of one channel: records of `CELL`."""
        assert self.logs is not None
        return self.logs[number]

    def maps(self, number: int) -> Maps:
        """The maps of one channel."""
        assert self.learnt is not None
        assert self.leverages is not None
        assert self.features is not None
        parts = [one[number] for one in (*self.learnt, self.leverages)]
        return Maps(*parts, self.features[0])  # pyright: ignore[reportCallIssue]


def weights_at(count: int, weights: dict[int, float]) -> Float[np.ndarray, " count"]:
    """Weights at some lags, none elsewhere; what lies further back than `count` is left out."""
    found = np.zeros(count)
    for lag, weight in weights.items():
        if lag < count:
            found[lag] += weight
    return found
