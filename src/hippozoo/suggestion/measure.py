"""How well a memory gives back the past of a signal, and what the signal's spectrum says before any is tried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem

__all__ = ["Care", "Question", "power_below", "slowest_period"]

Care = Literal["even", "recent"]

MOMENTS = 96
MOST_LAGS = 400
# Of a fading interest, lags beyond so many horizons are left out: what lies there counts for 0.7 %.
FADING_SPAN = 5.0


@dataclass(frozen=True, eq=False)
class Question:
    """A signal, (time, channels) of mean 0 and variance 1, how far back it is asked for, and how much each lag counts.

    `care` is ``"even"``: all lags up to the horizon alike; or ``"recent"``: a lag counts exp(-lag / horizon).

    >>> from hippozoo.systems import LegT
    >>> wave = np.sqrt(2) * np.sin(np.arange(2000) / 10)[:, None]
    >>> question = Question(wave, 1.0, 100.0, "even")
    >>> question.error(LegT(4, 100.0)) > 0.5, question.error(LegT(16, 100.0)) < 0.05
    (True, True)
    """

    signal: Float[np.ndarray, "time channels"]
    dt: float
    horizon: float
    care: Care

    @property
    def span(self) -> float:
        """The longest lag that counts."""
        return self.horizon if self.care == "even" else FADING_SPAN * self.horizon

    @cached_property
    def cells(self) -> Int[np.ndarray, " lags"]:
        """How many samples ago: whole numbers, spread evenly over the span."""
        count = max(1, math.ceil(self.span / self.dt - 1e-9))
        return np.unique(np.linspace(0, count - 1, min(count, MOST_LAGS)).round().astype(int))

    @cached_property
    def lags(self) -> Float[np.ndarray, " lags"]:
        """The middles of these samples' cells."""
        return (self.cells + 0.5) * self.dt

    @cached_property
    def shares(self) -> Float[np.ndarray, " lags"]:
        """How much each lag counts; they add up to 1."""
        weight = np.ones(len(self.lags)) if self.care == "even" else np.exp(-self.lags / self.horizon)
        return weight / weight.sum()

    @cached_property
    def moments(self) -> Int[np.ndarray, " moments"]:
        """Samples after which the past is asked for; the span and half of it again have passed before the first."""
        first = min(len(self.signal) - 1, math.ceil(1.5 * self.span / self.dt))
        return np.unique(np.linspace(first, len(self.signal) - 1, MOMENTS).astype(int))

    def errors(self, system: HippoSystem) -> Float[np.ndarray, " lags"]:
        """Mean squared error at each lag; 1 is the error of knowing nothing but the mean."""
        memory, known = Memory(system, dt=self.dt), self.lags <= system.window
        basis = system.basis(self.lags[known])
        squares = np.zeros(len(self.lags))
        for channel in self.signal.T:
            states = memory.scan(np.ascontiguousarray(channel))[self.moments]
            truth = channel[self.moments[:, None] - self.cells]
            guess = np.zeros_like(truth)
            guess[:, known] = states @ basis.T
            squares += np.mean((guess - truth) ** 2, axis=0)
        return squares / self.signal.shape[1]

    def error(self, system: HippoSystem) -> float:
        """Root mean square error over all lags that count, in units of the signal's standard deviation."""
        return float(np.sqrt(self.shares @ self.errors(system)))


def power_below(
    signal: Float[np.ndarray, "time channels"], dt: float
) -> tuple[Float[np.ndarray, " frequencies"], Float[np.ndarray, " frequencies"]]:
    """Frequencies, and the share of the variance at or below each."""
    time = np.linspace(-1, 1, len(signal))[:, None]
    centred = signal - signal.mean(axis=0)
    # A straight line is no wave, and would hide the slow ones.
    straight = centred - time * (time * centred).sum(axis=0) / (time**2).sum()
    power = (np.abs(np.fft.rfft(straight, axis=0)) ** 2).sum(axis=1)[1:]
    frequency = np.fft.rfftfreq(len(signal), dt)[1:]
    return frequency, np.cumsum(power) / max(float(power.sum()), np.finfo(float).tiny)


def slowest_period(signal: Float[np.ndarray, "time channels"], dt: float) -> float:
    """The period below whose frequency a twentieth of the variance lies: one turn of the slowest wave that matters.

    >>> wave = np.sin(2 * np.pi * np.arange(1000) / 50)[:, None]
    >>> slowest_period(wave, 1.0)
    50.0
    """
    frequency, share = power_below(signal, dt)
    return 1 / float(frequency[np.searchsorted(share, 0.05)])
