"""The forecasts of all columns of a table, in the order of the columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.apps.forecast.learner import Learner
from hippozoo.ensemble import EnsembleForecast
from hippozoo.zoo.forecasting import Forecast

__all__ = ["TableForecast"]

Answer = Float[np.ndarray, "columns steps"]


class Lean(NamedTuple):
    """To which simple forecast a column leans, how far from 0 to 1, and by how much the mean of each step moves."""

    rival: str
    weight: float
    moved: np.ndarray


class TableForecast:
    """Forecasts of columns that were learnt in groups, step by step.

    Where the back-test says clearly that a simple forecast is better, the forecast leans to it, and so do its bands.
    """

    def __init__(self, learner: Learner) -> None:
        self.parts: list[Forecast] = [group.forecast() for group in learner.groups]
        # For each column its group, and its place in it.
        self.places: list[tuple[int, int]] = []
        self.leans: dict[int, Lean] = {}
        numbers = {id(group): number for number, group in enumerate(learner.groups)}
        for column, (group, place) in enumerate(learner.by_column()):
            self.places.append((numbers[id(group)], place))
            part, comparison = self.parts[numbers[id(group)]], group.test.compare(place)
            rival, weight = ("", 0.0) if comparison is None else comparison.lean()
            # A simple forecast stands on the last value: not on one that may be an outlier.
            is_doubted = isinstance(part, EnsembleForecast) and part.doubted[place] > 0
            if weight > 0 and not is_doubted:
                moved = weight * (group.simple(place, rival) - part.mean(part.leads())[place])
                self.leans[column] = Lean(rival, weight, moved)

    def _gather(self, ask: Callable[[Forecast], np.ndarray]) -> Answer:
        """Answers of all groups by column, each moved as far as its column leans."""
        answers = [ask(one) for one in self.parts]
        found = np.stack([answers[number][place] for number, place in self.places])
        for column, lean in self.leans.items():
            number, place = self.places[column]
            one, part = found[column] + lean.moved, self.parts[number]
            found[column] = part.channel(place).bounded(one) if isinstance(part, EnsembleForecast) else one
        return found

    def samples(self) -> Answer:
        """The expected value of each step, columns first."""
        return self._gather(lambda one: one.mean(one.leads()))

    def quantile(self, probability: float) -> Answer:
        """The value that a column stays below with this probability."""
        return self._gather(lambda one: one.quantile(one.leads(), probability))

    def band(self, coverage: float) -> tuple[Answer, Answer]:
        """The two ends of a band that holds this share of values."""
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    @cached_property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made by, and the share of each, largest first."""
        made, found = [part.by for part in self.parts], []
        for column, (number, place) in enumerate(self.places):
            shares = dict(made[number][place]) if place < len(made[number]) else {}
            if lean := self.leans.get(column):
                shares = {name: (1 - lean.weight) * share for name, share in shares.items()}
                shares[lean.rival] = shares.get(lean.rival, 0.0) + lean.weight
            found.append(dict(sorted(shares.items(), key=lambda one: -one[1])))
        return found
