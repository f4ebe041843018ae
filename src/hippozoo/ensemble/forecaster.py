"""The forecaster one uses: many experts run side by side, and each counts by how well it has done."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._internal.arguments import real_array
from hippozoo.ensemble._kernels import read_next
from hippozoo.ensemble.configuration import Configuration
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.inputs import InputState, checked_rows
from hippozoo.ensemble.reading_checks import LARGEST, SMALLEST, check_size, checked_row
from hippozoo.ensemble.state import EnsembleState, Mixture, Rolled
from hippozoo.forecasts.forecaster import Signal, checked_signal, row_of
from hippozoo.forecasts.leads import checked_leads

__all__ = ["EnsembleForecaster"]

# Bands are measured once every lead was compared with what came this often.
_COMPARISONS = 32
# One sample of one channel, which is there.
_SEEN = np.ones((1, 1), bool)


@dataclass(frozen=True, eq=False)
class EnsembleForecaster(Configuration):
    r"""Learns in one pass to forecast a stream over a horizon; pure: the state goes in and comes out.

    Simple forecasts (last value, mean, drift, damped trend, a season repeated) run side by side with ridge maps of
    HiPPO memories that correct them. At every lead each expert counts by its past error; bands follow the errors that
    were made. Learning in pieces, of any length, equals learning in one go. `forecaster_for` chooses the arguments.

    A missing sample is taken to be what was forecast, and bands are as wide as so long a lead makes them.

    Parameters
    ----------
    history
        Windows over the signal that maps read; several as a tuple.
    horizon
        How far to forecast, in the user's time unit.
    dt
        Time between samples, unless samples bring their own.
    season
        A period, in the user's time unit, or several as a tuple.
    ridge
        Of the maps, in units of the mean variance of a coefficient; several as a tuple.
    anchor
        What maps correct: the ``"last"`` value, the mean (``"none"``), the value one ``"season"`` ago; several as a
        tuple.
    together
        ``"independent"``: each channel learns by itself. ``"shared"``: one set of maps for all channels, learnt from
        all. ``"panel"``: series of one kind that differ in size, where a short one borrows what the others have taught.
    forgetting
        Time in which what was learnt fades to 1/e, for data that drift; None to remember everything equally.
    simple
        Whether simple forecasts are among the experts; without them maps are weighted alone.
    guard
        Fall back towards the last value after a surprise, far out, and when a sensor is stuck; pairs with a surprise in
        their future count less.
    calibrated
        Bands follow the errors that were made, at every lead; Gaussian else.
    lower, upper
        Bounds that values cannot cross; whole-number counts have 0 below by themselves.
    known, past
        How many inputs there are beside the signal: known over the horizon (holidays, a forecast of the weather), and
        known up to now only. `learn` takes their rows; maps that read them earn their weight like any expert.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> signal = np.sin(np.arange(1000) / 5) + 0.1 * np.random.default_rng(0).normal(size=1000)
    >>> forecaster = EnsembleForecaster(LegT(order=32, timescale=64.0), horizon=16.0)
    >>> state = forecaster.learn(forecaster.initial_state(), signal)
    >>> forecast = forecaster.forecast(state)
    >>> bool(np.abs(forecast.samples() - np.sin(np.arange(1000, 1016) / 5)).max() < 0.2)
    True
    >>> lower, upper = forecast.band(10.3, coverage=0.8)  # any lead, and how sure
    >>> bool(0.1 < upper - lower < 0.6)
    True
    """

    def _begin(self, channels: int, *, single: bool) -> EnsembleState:
        inputs = None if self.mixer.inputs is None else self.mixer.inputs.begin()
        return EnsembleState(single, 0.0, 0.0, self.mixer.begin(channels), inputs)

    def learn(
        self,
        state: EnsembleState,
        signal: Signal,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
        *,
        known: Float[np.ndarray, "rows known"] | None = None,
        past: Float[np.ndarray, "others past"] | None = None,
    ) -> EnsembleState:
        """The state after these samples too; arguments but the inputs are those of every forecaster.

        Parameters
        ----------
        state, signal, dt, mask
            Where to go on; (time,) or (time, channels); how long each sample holds; True where there is a sample.
        known
            The next rows of the inputs that are known over the horizon: on the first call as many as the signal has
            and the horizon, then as many as the signal has, each one horizon ahead. NaN holds the last value.
        past
            Those of the inputs known up to now: as many as the signal has.
        """
        return self._take_in(state, signal, dt, mask, learning=True, known=known, past=past)

    def _take_in(
        self,
        state: EnsembleState,
        signal: Any,
        dt: Any,
        mask: Any,
        *,
        learning: bool,
        known: np.ndarray | None = None,
        past: np.ndarray | None = None,
    ) -> EnsembleState:
        values, steps, observed = checked_signal(state, signal, dt, mask, self.dt)
        check_size(state, values)
        before, usual, seen = state.mixture, self.dt, observed > 0
        offset = before.offset
        is_even = not offset and bool((steps == usual).all())
        if self.mixer.inputs is not None and not is_even:
            raise ValueError("inputs are rows beside the samples: pass samples that are dt apart.")
        features, told = self._features(state, len(values), known, past)
        if not is_even:
            # A cell holds the value that its middle falls into.
            passed = offset + np.cumsum(steps)
            ends = np.floor(passed / usual + 0.5 + 1e-9).astype(int)
            counts = np.diff(ends, prepend=0)
            values, seen = np.repeat(values, counts, axis=0), np.repeat(seen, counts, axis=0)
            offset = float(passed[-1] - ends[-1] * usual) if len(passed) else offset
            offset = 0.0 if abs(offset) < 1e-9 * usual else offset
        mixture = self.mixer.advance(before, np.ascontiguousarray(values), seen, learning=learning, features=features)
        if mixture.offset != offset:
            mixture = replace(mixture, offset=offset)
        heard = float((steps * observed.any(axis=1)).sum())
        return EnsembleState(state.single, state.time + float(steps.sum()), state.seen + heard, mixture, told)

    def tell(
        self,
        state: EnsembleState,
        known: Float[np.ndarray, "rows known"] | None = None,
        past: Float[np.ndarray, "others past"] | None = None,
    ) -> EnsembleState:
        """The state that knows more rows of its inputs, as `learn` takes them; samples that follow use them up.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(8, 20.0), horizon=4.0, known=1)
        >>> price = np.random.default_rng(0).normal(size=304)
        >>> state = forecaster.tell(forecaster.initial_state(), known=price[:, None])
        >>> state = forecaster.learn(state, 3.0 * price[:300])
        >>> bool(np.abs(forecaster.forecast(state).samples() - 3.0 * price[300:]).max() < 1.0)
        True
        """
        rows = checked_rows("known", known, self.known), checked_rows("past", past, self.past)
        if self.mixer.inputs is None or state.inputs is None:
            return state
        return replace(state, inputs=self.mixer.inputs.tell(state.inputs, *rows))

    def _features(
        self, state: EnsembleState, cells: int, known: np.ndarray | None, past: np.ndarray | None
    ) -> tuple[np.ndarray | None, InputState | None]:
        """What inputs say after each of the next cells, and what is told of them after that."""
        told = self.tell(state, known, past).inputs
        return (None, None) if self.mixer.inputs is None or told is None else self.mixer.inputs.take(told, cells)

    def learn_one(
        self, state: EnsembleState, value: float | Float[np.ndarray, " channels"] | None, dt: float | None = None
    ) -> EnsembleState:
        """The state after one more sample; the same as `learn` of an array of length one, without its cost."""
        if dt is not None or state.mixture.offset or state.inputs is not None:
            row, mask = row_of(state, value)
            return self.learn(state, row, dt, mask)
        if type(value) is float and state.single and SMALLEST <= abs(value) <= LARGEST:
            return self._after_cells(state, np.array([[value]]), _SEEN)
        return self._after_cells(state, *checked_row(state, value))

    def _after_cells(
        self, state: EnsembleState, values: np.ndarray, seen: np.ndarray, expected: np.ndarray | None = None
    ) -> EnsembleState:
        """The state after cells of one step each; `expected` takes what is expected after each."""
        time, heard, step = state.time, state.seen, float(self.dt)
        mixture = self.mixer.advance(state.mixture, values, seen, expected=expected)
        for row in seen:  # added up as one by one, rounding included
            time, heard = time + step, heard + step if seen is _SEEN or row.any() else heard
        return EnsembleState(state.single, time, heard, mixture)

    def roll(
        self,
        state: EnsembleState,
        signal: Signal,
        mask: Bool[np.ndarray, "..."] | None = None,
        *,
        known: Float[np.ndarray, "rows known"] | None = None,
        past: Float[np.ndarray, "others past"] | None = None,
    ) -> Iterator[tuple[EnsembleState, Rolled]]:
        """Learn these samples piece by piece: the state after each piece, and the forecasts issued on the way.

        A forecast is issued after every sample, of a horizon above 48 after every second, third, …; each knows only
        what came before it. This is a rolling-origin back-test at the cost of learning.

        Parameters
        ----------
        state, signal, mask, known, past
            As of `learn`; samples are `dt` apart.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(8, 20.0), horizon=4.0)
        >>> signal = np.cos(np.arange(300) / 3)
        >>> for state, rolled in forecaster.roll(forecaster.initial_state(), signal):
        ...     error = np.abs(rolled.mean[0, :-4, 0] - signal[rolled.origins[:-4]])  # one step ahead
        >>> len(rolled.origins), bool(error[-50:].max() < 0.1)
        (236, True)
        """
        values, steps, observed = checked_signal(state, signal, None, mask, self.dt)
        check_size(state, values)
        if state.mixture.offset:
            raise ValueError("the last sample did not end with a step; learn samples that are dt apart.")
        begin, seen = 0, observed > 0
        features, told = self._features(state, len(values), known, past)
        for mixture, rolled in self.mixer.roll(state.mixture, np.ascontiguousarray(values), seen, features):
            end = begin + mixture.cell - state.mixture.cell
            heard = float((steps[begin:end] * seen[begin:end].any(axis=1)).sum())
            time = state.time + float(steps[begin:end].sum())
            # Rows that were told are used up by the last piece: states before it cannot be told more.
            state = EnsembleState(state.single, time, state.seen + heard, mixture, told)
            begin = end
            yield state, rolled._replace(mean=self._bounded(rolled.mean, mixture.is_count[:, None, None]))

    def advance(
        self, state: EnsembleState, rows: Float[np.ndarray, "cells channels"]
    ) -> tuple[EnsembleState, Float[np.ndarray, "cells two channels"]]:
        """The state after readings of one step each, and what was expected of the reading after each of them.

        The same, bit for bit, for one reading at a time and for many. `rows` are not checked here: they are finite, NaN
        where one is missing, and their squares neither overflow nor vanish.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(8, 20.0), horizon=4.0)
        >>> state, expected = forecaster.advance(forecaster.initial_state(), np.cos(np.arange(300) / 3)[:, None])
        >>> mean, error = expected[-1, :, 0]  # of the next reading
        >>> bool(abs(mean - np.cos(100)) < 0.1), state.time
        (True, 300.0)
        """
        seen = ~np.isnan(rows)
        if len(rows) != 1 and not self._is_expected_everywhere(state, seen):
            steps = [np.empty((0, 2, state.channels))]
            for place in range(len(rows)):
                state, expected = self.advance(state, rows[place : place + 1])
                steps.append(expected)
            return state, np.concatenate(steps)
        if len(rows) != 1:
            expected = np.empty((len(rows), 2, state.channels))
            after = self._after_cells(state, np.where(seen, rows, 0.0), seen, expected)
            # A channel is one of counts as long as all of its readings are whole numbers from zero on.
            whole = np.isnan(rows) | ((rows == np.floor(rows)) & (rows >= 0))
            counts = np.logical_and.accumulate(whole, axis=0) & state.mixture.is_count
            expected[:, 0] = self._bounded(expected[:, 0], counts)
            return after, expected
        if state.inputs is not None:
            after = self.learn_one(state, rows[0] if not state.single else float(rows[0, 0]) if seen.all() else None)
        else:
            after = self._after_cells(state, rows if seen.all() else np.where(seen, rows, 0.0), seen)
        return after, self.expect(after)[None]

    def _is_expected_everywhere(self, state: EnsembleState, seen: np.ndarray) -> bool:
        """Whether every cell brings a reading and is followed by a forecast whose errors have a known size."""
        if state.inputs is not None or self.mixer.stride > 1 or state.mixture.offset:
            return False
        known = self.mixer.open(state.mixture).scale.step["weight"] > 0
        return bool(known[..., 0].all() and seen.any(axis=1).all())

    def _bounded(self, mean: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The mean, not below what can be; `counts` are channels that hold whole-number counts so far."""
        above = (
            np.maximum(mean, self.lower) if self.lower is not None else np.where(counts, np.maximum(mean, 0.0), mean)
        )
        return above if self.upper is None else np.minimum(above, self.upper)

    def _merge(self, state: EnsembleState, other: EnsembleState) -> EnsembleState:
        return replace(state, mixture=self.mixer.merge(state.mixture, other.mixture))

    def _shapes(self, state: EnsembleState) -> list[tuple[int, ...]]:
        return [state.mixture.moments.numbers.shape, state.mixture.live.shape]

    def forecast(self, state: EnsembleState) -> EnsembleForecast:
        """What the state expects of the horizon that begins now.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(8, 20.0), horizon=4.0)
        >>> state = forecaster.learn(forecaster.initial_state(2), np.ones((300, 2)) * [5.0, 7.0])
        >>> forecaster.forecast(state).samples(2).round(3).tolist()
        [[5.0, 5.0], [7.0, 7.0]]
        """
        return self._forecast(state.mixture, single=state.single, calibrated=self.calibrated)

    def _forecast(self, mixture: Mixture, *, single: bool, calibrated: bool) -> EnsembleForecast:
        issued = self.mixer.issue(mixture)
        return EnsembleForecast(
            self.mixer, mixture, issued, float(self.horizon), single, calibrated, self.lower, self.upper
        )

    def expect(self, state: EnsembleState) -> Float[np.ndarray, "two channels"]:
        """Mean and expected absolute error of the next reading of each channel: the first cell of `forecast`."""
        mixture = state.mixture
        if not mixture.offset:
            expected = np.empty((2, state.channels))
            lower = math.nan if self.lower is None else float(self.lower)
            if read_next(mixture.live, mixture.cell - 1, lower, self.mixer.plan, expected):
                if self.upper is not None:
                    np.minimum(expected[0], self.upper, out=expected[0])
                return expected
        return np.stack(self.forecast(state).next_reading())

    def replay(
        self, state: EnsembleState, signal: Signal, lead: Float[np.ndarray, "*leads"] | float
    ) -> Float[np.ndarray, "time *channels_and_leads"]:
        """Forecasts issued after every sample of another signal, by what `state` has learnt; nothing is learnt.

        The signal is a stream of its own that begins with its first sample; steps are `dt`.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(16, 30.0), horizon=4.0)
        >>> signal = np.cos(np.arange(400) / 3)
        >>> state = forecaster.learn(forecaster.initial_state(), signal)
        >>> ahead = forecaster.replay(state, signal, 2.5)  # the third sample to come
        >>> bool(np.abs(ahead[100:-3] - signal[103:]).max() < 0.1)
        True
        """
        values, _, _ = checked_signal(state, signal, None, None, self.dt)
        check_size(state, values)
        if self.mixer.inputs is not None:
            raise ValueError("replay takes no inputs; roll the signal, or make a forecaster without inputs.")
        mixer, known, leads = self.mixer, state.mixture, real_array("lead", lead)
        checked_leads(self.horizon, leads)
        mixture = mixer.with_learnt(mixer.begin(state.channels), known)
        answers = np.empty((*values.shape, leads.size))
        seen = np.ones((1, state.channels), bool)
        for t in range(len(values)):
            mixture = mixer.advance(mixture, np.ascontiguousarray(values[t : t + 1]), seen, learning=False)
            mixture = mixer.with_learnt(mixture, known)
            answers[t] = self._forecast(mixture, single=False, calibrated=False).mean(leads.ravel())
        answers = answers.reshape(*values.shape, *leads.shape)
        return answers[:, 0] if state.single else answers

    def until_each_validated(self, state: EnsembleState) -> Float[np.ndarray, " channels"]:
        """How much more must be observed before bands are measured: every lead was compared with what came 32 times.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> forecaster = EnsembleForecaster(LegT(8, 20.0), horizon=4.0)
        >>> forecaster.until_validated(forecaster.learn(forecaster.initial_state(), np.cos(np.arange(10) / 3)))
        26.0
        """
        mixer, mixture = self.mixer, state.mixture
        compared = mixer.open(mixture).scores.leads["weight"][:, -1]
        enough = (1 - mixer.decay ** (_COMPARISONS / mixer.stride)) / (1 - mixer.decay)
        needed = mixer.horizon + _COMPARISONS - mixture.cleaner["age"]
        return np.where(compared >= enough * (1 - 1e-9), 0.0, np.maximum(needed, 1.0) * self.dt)

    def silence(self, state: EnsembleState) -> Float[np.ndarray, " channels"]:
        """How long ago the last sample of each channel ended."""
        return state.mixture.cleaner["silent"] * self.dt
