"""The forecasts of all columns of a table, in the order of the columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.apps.forecast.learner import Learner
from hippozoo.ensemble import EnsembleForecast
from hippozoo.zoo.forecasting import Forecast

__all__ = ["Lean", "TableForecast"]

Answer = Float[np.ndarray, "columns *leads"]


@dataclass(frozen=True, eq=False)
class Lean:
    """To which simple forecast a column leans, how far from 0 to 1, and what that one expects of each step."""

    rival: str
    weight: float
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class TableForecast:
    """Forecasts of columns that were learnt in groups; asks as `hippozoo.zoo.forecasting.Forecast` does.

    Where the back-test says clearly that a simple forecast is better, the forecast leans to it, and so do its bands.

    Parameters
    ----------
    parts
        The forecast of each group.
    places
        For each column its group, and its place in it.
    leans
        Of the columns that lean to a simple forecast, by their places.
    """

    parts: tuple[Forecast, ...]
    places: tuple[tuple[int, int], ...]
    leans: dict[int, Lean]

    @classmethod
    def of(cls, learner: Learner) -> TableForecast:
        """What a learner expects."""
        places: dict[int, tuple[int, int]] = {}
        for number, group in enumerate(learner.groups):
            places |= {column: (number, place) for place, column in enumerate(group.columns)}
        ordered = tuple(places[column] for column in range(len(learner.columns)))
        leans: dict[int, Lean] = {}
        for column, (group, place) in enumerate(learner.by_column()):
            comparison = group.test.compare(place)
            rival, weight = ("", 0.0) if comparison is None else comparison.lean()
            # A simple forecast stands on the last value: not on one that may be an outlier.
            is_doubted = weight > 0 and isinstance(one := group.forecast(), EnsembleForecast) and one.doubted[place] > 0
            if weight > 0 and not is_doubted:
                leans[column] = Lean(rival, weight, group.simple(place, rival))
        return cls(tuple(group.forecast() for group in learner.groups), ordered, leans)

    def _gather(self, ask: Callable[[Forecast], np.ndarray], lead: np.ndarray) -> np.ndarray:
        """Answers of all groups by column, each moved as far as its column leans."""
        answers = [ask(one) for one in self.parts]
        found = np.stack([answers[number][place] for number, place in self.places])
        for column, moved in self._moves.items():
            number, place = self.places[column]
            one = found[column] + np.interp(lead, self.leads(), moved)
            part = self.parts[number]
            found[column] = part.channel(place).bounded(one) if isinstance(part, EnsembleForecast) else one
        return found

    @cached_property
    def _moves(self) -> dict[int, np.ndarray]:
        """How far the mean of each step moves, in columns that lean."""
        leads, found = self.leads(), {}
        for column, lean in self.leans.items():
            number, place = self.places[column]
            found[column] = lean.weight * (lean.values - self.parts[number].mean(leads)[place])
        return found

    def leads(self, count: int | None = None) -> np.ndarray:
        """The middles of the steps."""
        return self.parts[0].leads(count)

    def samples(self, count: int | None = None) -> Answer:
        """The mean of each step."""
        return self.mean(self.leads(count))

    def mean(self, lead: np.ndarray) -> Answer:
        """The expected value at each lead, columns first."""
        return self._gather(lambda one: one.mean(lead), lead)

    def band(self, lead: np.ndarray, coverage: float) -> tuple[Answer, Answer]:
        """The two ends of a band that holds this share of values."""
        tail = (1 - coverage) / 2
        return self.quantile(lead, tail), self.quantile(lead, 1 - tail)

    def quantile(self, lead: np.ndarray, probability: float) -> Answer:
        """The value that a column stays below with this probability."""
        return self._gather(lambda one: one.quantile(lead, probability), lead)

    @cached_property
    def by(self) -> tuple[dict[str, float], ...]:
        """What the forecast of each column is made by, and the share of each, largest first."""
        made = [one.by for one in self.parts]
        found = []
        for column, (number, place) in enumerate(self.places):
            shares = dict(made[number][place]) if place < len(made[number]) else {}
            if lean := self.leans.get(column):
                shares = {name: (1 - lean.weight) * share for name, share in shares.items()}
                shares[lean.rival] = shares.get(lean.rival, 0.0) + lean.weight
            found.append(dict(sorted(shares.items(), key=lambda one: -one[1])))
        return tuple(found)
