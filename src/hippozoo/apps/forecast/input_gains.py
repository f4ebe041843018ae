"""What inputs buy: errors with and without them on the same origins, and what each does to the forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hippozoo.apps.forecast.comparison import FORECAST, Comparison, Difference
from hippozoo.apps.forecast.learner import Learner
from hippozoo.ensemble import EnsembleForecaster, EnsembleState, input_effects

__all__ = ["InputGain", "gains_of"]


@dataclass(frozen=True, eq=False)
class InputGain:
    """What an input, or all together, buys for a column; None where it was not asked."""

    better_by: float | None  # by which share the mean absolute error of the back-test is smaller than without it
    standard_error: float | None
    size: float | None  # by how much it moves the forecast: a standard deviation, in the unit of the column
    lags: Int[np.ndarray, " lags"]  # steps from the input to the value that is forecast; below zero it comes later
    kernel: Float[np.ndarray, " lags"]  # what one unit of it adds there

    @property
    def sentence(self) -> str:
        """What it buys, in words."""
        if self.better_by is None:
            return "not judged"
        bar = "" if self.standard_error is None else f" ± {100 * self.standard_error:.0f}"
        if abs(self.better_by) < 0.005:
            return f"error as without (0 %{bar})"
        return (
            f"error {abs(100 * self.better_by):.0f} %{bar} {'smaller' if self.better_by > 0 else 'larger'} than without"
        )

    def as_numbers(self) -> dict[str, Any]:
        """All of it as a summary holds it."""
        arrays = {"lags": self.lags.tolist(), "kernel": self.kernel.tolist()}
        return {"sentence": self.sentence} | vars(self) | arrays


def gains_of(learner: Learner) -> list[dict[str, InputGain]]:
    """For each column what all inputs buy (under ""), and each of them by its name; empty without inputs."""
    inputs = learner.choices.inputs
    if not inputs:
        return [{} for _ in learner.columns]
    found, nothing = [], (None, np.empty(0, np.int64), np.empty(0))
    others = {label: one.by_column() for label, one in learner.without.items()}
    for column, (group, place) in enumerate(learner.by_column()):
        forecaster, state = group.forecaster, group.state
        assert isinstance(forecaster, EnsembleForecaster)
        assert isinstance(state, EnsembleState)
        effects = input_effects(forecaster.mixer, state.mixture)
        ours, here = group.test.compare(place), {}
        for number, label in enumerate(("", *inputs.labels), start=-1):
            # Without the only input is without all.
            beside = others.get("" if len(inputs.labels) == 1 else label)
            gain = Difference(None, None, 0)
            if beside is not None:
                gain = _difference(ours, beside[column][0].test.compare(beside[column][1]))
            shape = nothing
            if number >= 0 and effects is not None:
                shape = float(effects.sizes[place, number]), effects.lags, effects.kernels[place, number]
            here[label] = InputGain(gain.share, gain.deviation, *shape)
        found.append(here)
    return found


def _difference(ours: Comparison | None, theirs: Comparison | None) -> Difference:
    if ours is None or theirs is None or not theirs.errors[FORECAST].sum():
        return Difference(None, None, 0)
    errors = {FORECAST: ours.errors[FORECAST], "without": theirs.errors[FORECAST]}
    return Comparison(errors, ours.counts, {}, ours.width, ours.horizon).better_by("without")
