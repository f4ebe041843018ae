"""What an ensemble carries along."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.ensemble.inputs import InputState
from hippozoo.ensemble.mixture import Mixture

__all__ = ["EnsembleState"]


@dataclass(frozen=True, eq=False)
class EnsembleState:
    """Everything an `EnsembleForecaster` needs to go on; it is never changed, each sample gives a new one.

    Parameters
    ----------
    single
        Whether samples are single numbers; arrays have a channel axis of length 1 then.
    time
        The present: how much time has passed since the beginning.
    seen
        How much of it was observed, in any channel: gaps do not count.
    mixture
        What was learnt, and how each expert has done.
    inputs
        What was told of known inputs, if there are any.
    """

    single: bool
    time: float
    seen: float
    mixture: Mixture
    inputs: InputState | None = None

    def in_use(self) -> Mixture:
        """The mixture without the room at the ends, which it shares with states after this one."""
        mixture = self.mixture
        under_way = slice(mixture.first_row, mixture.used)
        return replace(
            mixture,
            log=mixture.log[:, : mixture.now],
            leverage=mixture.leverage[:, : mixture.now],
            features=mixture.features[:, : mixture.now],
            experts=mixture.experts[:, under_way],
            leads=mixture.leads[:, under_way],
            rows=mixture.rows[:, under_way],
            origins=mixture.origins[under_way],
            tip=np.zeros(1, np.int64),
        )

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        return len(self.mixture.live)

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from: the complete ones, summed when maps are renewed."""
        return float(self.mixture.cleaner["pairs"].sum())

    @property
    def begun(self) -> Bool[np.ndarray, " channels"]:
        """Which channels have had their first sample."""
        return self.mixture.cleaner["is_begun"] > 0

    @property
    def held(self) -> Float[np.ndarray, " channels"]:
        """The last value seen in each channel."""
        return self.mixture.cleaner["last_value"]
