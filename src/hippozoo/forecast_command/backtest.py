"""Forecasts made on the way, each knowing only what had come before it, beside two that anybody could make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from hippozoo.zoo.forecasting import Forecast

__all__ = ["COVERAGES", "BackTest"]

COVERAGES = (0.8, 0.95)
# Origins that are kept; when there are more, every second one is dropped and the rest is spaced wider.
_ORIGINS = 128


@dataclass
class BackTest:
    """Forecasts that were made on the way, and what came: every one knew only what had come before it.

    They are made every `stride` steps, the next when `due` steps have been seen. Steps without any value do not count:
    a long gap is no place to forecast from.
    """

    horizon: int
    season: int | None
    stride: int
    due: int
    waiting: list[dict[str, Any]] = field(default_factory=list)
    done: list[dict[str, Any]] = field(default_factory=list)
    recent: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def take_in(self, values: np.ndarray) -> None:
        """What came after the forecasts that wait."""
        for one in self.waiting:
            one["truth"] = np.concatenate([one["truth"], values[: self.horizon - len(one["truth"])]])
        # Where a gap came there is nothing to compare with.
        finished = [
            one for one in self.waiting if len(one["truth"]) == self.horizon and np.isfinite(one["truth"]).any()
        ]
        self.waiting = [one for one in self.waiting if len(one["truth"]) < self.horizon]
        self.done += finished
        keep = max(self.season or 1, 1)
        self.recent = np.concatenate([self.recent, values])[-keep:] if self.recent.size else values[-keep:]

    def steps_until_due(self, known: np.ndarray, seen: int) -> int:
        """How many of these steps, (steps, columns) with True for a value, to take in before the next forecast."""
        counted = np.cumsum(known.any(axis=1))
        return min(int(np.searchsorted(counted, max(self.due - seen, 1))) + 1, len(known))

    def issue(self, forecast: Forecast, held: np.ndarray, step: int, seen: int) -> None:
        """Make a forecast after `step` steps, `seen` of them with a value, and the two that anybody could make."""
        one: dict[str, Any] = {"step": step, "truth": np.empty((0, len(held)))}
        leads = forecast.leads(self.horizon)
        one["forecast"] = forecast.mean(leads).T
        one["spread"] = np.sqrt(forecast.variance(leads)).T
        one["persistence"] = np.tile(held, (self.horizon, 1))
        if self.season and len(self.recent) >= self.season:
            last = np.where(np.isfinite(self.recent[-self.season :]), self.recent[-self.season :], held)
            one["seasonal-naive"] = np.resize(last, (self.horizon, len(held)))
        self.waiting.append(one)
        if len(self.done) + len(self.waiting) > _ORIGINS:
            self.done = self.done[::2]
            self.stride *= 2
        self.due = seen + self.stride  # already the wider one, so that the origins stay evenly spaced

    def errors(self) -> dict[str, np.ndarray]:
        """Mean absolute error of each method by column and step ahead, over the same origins."""
        methods = ["forecast", "persistence"]
        kept = [one for one in self.done if np.isfinite(one["spread"]).all()]
        if kept and all("seasonal-naive" in one for one in kept):
            methods.append("seasonal-naive")
        if not kept:
            return {}
        # A column may miss the same step after every origin; its mean is then NaN, and that is the answer.
        found = {}
        for name in methods:
            missed = np.abs(np.stack([one[name] - one["truth"] for one in kept]))
            count = np.isfinite(missed).sum(axis=0)
            found[name] = np.where(count > 0, np.nansum(missed, axis=0) / np.maximum(count, 1), np.nan)
        return found

    def coverage(self) -> dict[str, float | None]:
        """The share of values inside each band; None where none came."""
        kept = [one for one in self.done if np.isfinite(one["spread"]).all()]
        if not kept:
            return {}
        scaled = np.stack([np.abs(one["forecast"] - one["truth"]) / np.maximum(one["spread"], 1e-300) for one in kept])
        scaled = scaled[np.isfinite(scaled)]
        return {
            f"{share:.0%}": float((scaled < ndtri((1 + share) / 2)).mean()) if len(scaled) else None
            for share in COVERAGES
        }
