"""A forecaster whose candidates are mixed: between the arguments and states of `Forecaster` and its `Mixer`."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._arguments import positive_number, shorten
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import _kernels as kernels
from hippozoo.zoo.forecasting.candidates import Candidate
from hippozoo.zoo.forecasting.delay import DelayLine
from hippozoo.zoo.forecasting.detail import Detail, cell_count
from hippozoo.zoo.forecasting.future import checked_leads, lead_basis
from hippozoo.zoo.forecasting.mixed_forecast import MixedForecast
from hippozoo.zoo.forecasting.mixture import Mixer
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, reduced_rank
from hippozoo.zoo.forecasting.state import ForecasterState, Validation

if TYPE_CHECKING:
    from hippozoo.zoo.forecasting.forecaster import Forecaster

__all__ = [
    "check_mixture",
    "check_size",
    "counts_only",
    "expected_next",
    "forecast",
    "initial_state",
    "issue_every_cell",
    "maps",
    "mixer_of",
    "moments",
    "one_taken_in",
    "past",
    "replay",
    "scores",
    "several_taken_in",
    "taken_in",
    "until_validated",
]

# Squares of values between these are neither infinite nor zero.
LARGEST, SMALLEST = 1e100, 1e-100
# Bands are measured once every lead was compared with what came this often.
_COMPARISONS = 32
_SEEN = np.ones((1, 1), bool)


def check_mixture(forecaster: Forecaster) -> None:
    """Refuse arguments that do not go together."""
    for season in forecaster.seasons:
        period = positive_number("season", season, why="a period, in your time unit")
        if round(period / forecaster.dt) < 2:
            raise ValueError(
                f"season={season} is less than two steps of {forecaster.dt}: nothing can repeat within it; leave it "
                f"out, or pass the period in the unit of dt."
            )
    if forecaster.lower is not None and (
        isinstance(forecaster.lower, bool) or not isinstance(forecaster.lower, Real) or math.isnan(forecaster.lower)
    ):
        raise ValueError(f"lower={shorten(forecaster.lower)}; pass a number that no value falls below, or None.")
    if "season" in forecaster.anchors and not forecaster.seasons:
        raise ValueError("anchor='season' needs to know the season; pass season=, a period in your time unit.")
    if not forecaster.mixture:
        for name in ("season", "guard", "calibrated"):
            if getattr(forecaster, name):
                raise ValueError(
                    f"{name}={shorten(getattr(forecaster, name))} has an effect in a mixture only; pass mixture=True "
                    f"too, or take forecaster_for(…), which does."
                )
        if "season" in forecaster.anchors or forecaster.together == "panel":
            raise ValueError("anchor='season' and together='panel' need mixture=True; pass it too.")
        return
    allowed: dict[str, tuple[Any, ...]] = {
        "rank": (None, (None,)),
        "together": ("independent", "shared", "panel"),
        "delay": ("exact",),
        "intercept": (True,),
        "warmup": (0, 0.0),
    }
    for name, values in allowed.items():
        if getattr(forecaster, name) not in values:
            raise ValueError(
                f"{name}={shorten(getattr(forecaster, name))}: a mixture takes {name}={shorten(values[0])} only; leave "
                f"it out, or pass mixture=False (and guard=False, calibrated=False, season=None)."
            )
    if forecaster.future_metric is not None:
        raise ValueError("future_metric: a mixture weighs every lead by itself; leave it out, or pass mixture=False.")


def mixer_of(forecaster: Forecaster) -> Mixer:
    """What mixes for this forecaster."""
    dt = forecaster.dt
    cells = cell_count(forecaster.horizon, dt)
    window = max(16, 2 * cells)
    return Mixer(
        histories=forecaster.histories,
        anchors=forecaster.anchors,
        ridges=tuple(sorted((float(one) for one in forecaster.ridges), reverse=True)),
        seasons=tuple(sorted({round(one / dt) for one in forecaster.seasons})),
        horizon=cells,
        dt=float(dt),
        simple=bool(forecaster.simple),
        guard=forecaster.guard,
        forgetting=None if forecaster.forgetting is None else forecaster.forgetting / dt,
        seasonal=LegT(int(min(32, window // 2)), window * dt),
        together=forecaster.together,
    )


def initial_state(forecaster: Forecaster, count: int, *, single: bool) -> ForecasterState:
    """Nothing seen, nothing learnt."""
    nothing, empty = np.zeros(count), np.zeros((count, 0))
    return ForecasterState(
        single=single,
        time=0.0,
        seen=0.0,
        begun=np.zeros(count, bool),
        age=nothing,
        silent=nothing,
        held=nothing,
        recent=empty,
        delayed=(),
        aligned=(),
        line=DelayLine(np.zeros((0, count)), np.zeros(0), np.zeros((0, count))),
        learnt=(),
        validation=Validation(math.inf, (), (), (), np.zeros((0, 0, 0, 0)), np.zeros(0)),
        detail=Detail(empty, nothing),
        mixture=forecaster.mixer.begin(count),
    )


def check_size(state: ForecasterState, values: np.ndarray) -> None:
    """Refuse numbers whose squares a float does not hold."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"signal holds {largest:g}, and squares of numbers beyond {LARGEST:g} are infinite; divide it by a power "
            f"of ten first."
        )
    if 0 < largest < SMALLEST and not (np.abs(state.held) >= SMALLEST).any():
        raise ValueError(
            f"no number of the signal is above {largest:g}, and squares of numbers below {SMALLEST:g} vanish; multiply "
            f"it by a power of ten first."
        )


def taken_in(
    forecaster: Forecaster,
    state: ForecasterState,
    values: Float[np.ndarray, "time channels"],
    steps: Float[np.ndarray, " time"],
    observed: Float[np.ndarray, "time channels"],
    *,
    learning: bool,
) -> ForecasterState:
    """The state after these samples."""
    before = state.mixture
    assert before is not None
    dt, offset, seen = forecaster.dt, before.offset, observed > 0
    if offset or not (steps == dt).all():
        # A cell holds the value that its middle falls into.
        passed = offset + np.cumsum(steps)
        ends = np.floor(passed / dt + 0.5 + 1e-9).astype(int)
        counts = np.diff(ends, prepend=0)
        values, seen = np.repeat(values, counts, axis=0), np.repeat(seen, counts, axis=0)
        offset = float(passed[-1] - ends[-1] * dt) if len(passed) else offset
        offset = 0.0 if abs(offset) < 1e-9 * dt else offset
    mixture = forecaster.mixer.learn(before, np.ascontiguousarray(values), seen, learning=learning)
    if mixture.offset != offset:
        mixture = replace(mixture, offset=offset)
    heard = float((steps * observed.any(axis=1)).sum())
    return state.moved(mixture, state.time + float(steps.sum()), state.seen + heard, dt)


def one_taken_in(forecaster: Forecaster, state: ForecasterState, value: Any) -> ForecasterState:
    """The same for one sample of equal steps."""
    if type(value) is float and state.single and SMALLEST <= abs(value) <= LARGEST:
        row, seen = np.array([[value]]), _SEEN
    else:
        row, seen = _checked_row(state, value)
    before = state.mixture
    assert before is not None
    dt = float(forecaster.dt)
    if seen is _SEEN or seen.any():
        return state.moved(forecaster.mixer.learn_cell(before, row, seen), state.time + dt, state.seen + dt, dt)
    return state.moved(forecaster.mixer.learn(before, row, seen), state.time + dt, state.seen, dt)


def several_taken_in(
    forecaster: Forecaster, state: ForecasterState, values: Float[np.ndarray, "time channels"]
) -> tuple[ForecasterState, Float[np.ndarray, "time two channels"]]:
    """The same for several, and what was expected of the sample after each: mean, and size of the error.

    Bit for bit as one by one. For steps of `dt`, rows that hold a sample, and mixtures that `issue_every_cell`.
    """
    before = state.mixture
    assert before is not None
    seen = ~np.isnan(values)
    told = np.empty((len(values), 2, state.channels))
    mixture = forecaster.mixer.learn(before, np.where(seen, values, 0.0), seen, told=told)
    time, heard = state.time, state.seen
    for _ in range(len(values)):  # added up as one by one, rounding included
        time, heard = time + forecaster.dt, heard + forecaster.dt
    return state.moved(mixture, time, heard, float(forecaster.dt)), told


def issue_every_cell(forecaster: Forecaster, state: ForecasterState) -> bool:
    """Whether every sample is followed by a forecast that `several_taken_in` can tell."""
    mixture = state.mixture
    assert mixture is not None
    known = mixture.live[:, kernels.LONG_W] > 0  # errors were seen, so that their size is known
    return forecaster.mixer.stride == 1 and not mixture.offset and bool(known.all())


def counts_only(
    state: ForecasterState, values: Float[np.ndarray, "time channels"]
) -> Bool[np.ndarray, "time channels"]:
    """Whether all readings of a channel before each of these, and it too, are whole numbers from zero on."""
    assert state.mixture is not None
    live = state.mixture.live
    so_far = (live[:, kernels.BEGUN] > 0) & (live[:, kernels.WHOLE] > 0)
    whole = np.isnan(values) | ((values == np.floor(values)) & (values >= 0))
    return np.logical_and.accumulate(whole, axis=0) & so_far


def _checked_row(state: ForecasterState, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """One sample of all channels, zero where it is missing, and where it is not."""
    given = np.full(state.channels, np.nan) if value is None else np.asarray(value, float)
    if (value is not None and (given.ndim > 0) == state.single) or given.size != state.channels:
        expected = "one number" if state.single else f"a vector of {state.channels}"
        raise ValueError(f"value has shape {given.shape}, but this state was begun for {expected}; pass that.")
    row = given.reshape(1, -1)
    seen = ~np.isnan(row)
    if np.isinf(row).any():
        raise ValueError(f"value={shorten(value)} is infinite; pass a finite number, or None if it is missing.")
    row = np.where(seen, row, 0.0)
    check_size(state, row)
    return row, seen


def forecast(forecaster: Forecaster, state: ForecasterState) -> MixedForecast:
    """What the mixture expects."""
    assert state.mixture is not None
    return MixedForecast(
        forecaster.future,
        forecaster.dt,
        forecaster.mixer,
        state.mixture,
        single=state.single,
        calibrated=forecaster.calibrated,
        lower=forecaster.lower,
    )


def expected_next(forecaster: Forecaster, state: ForecasterState) -> tuple[float, float] | None:
    """`MixedForecast.next_reading` of a single channel without the forecast; None where only that can tell."""
    mixture, mixer = state.mixture, forecaster.mixer
    assert mixture is not None
    last, live = mixture.used - 1, mixture.live
    if last < 0 or mixture.offset or mixture.origins[last] != mixture.cell - 1 or live[0, kernels.LONG_W] == 0:
        return None
    row, lower = mixture.rows[0, last, 0], forecaster.lower
    mean, size = float(row[mixer.experts]), float(row[mixer.experts + 1 + kernels.SCALES])
    if lower is None and live[0, kernels.BEGUN] > 0 and live[0, kernels.WHOLE] > 0:
        lower = 0.0
    return (mean if lower is None else max(mean, float(lower))), size


def until_validated(forecaster: Forecaster, state: ForecasterState) -> float:
    """How much is missing until every lead was compared with what came often enough."""
    mixture, mixer = state.mixture, forecaster.mixer
    assert mixture is not None
    begin = int(mixer.offsets[kernels.SLOW_W])
    compared = mixture.live[:, begin + mixer.horizon - 1]
    enough = (1 - mixer.decay ** (_COMPARISONS / mixer.stride)) / (1 - mixer.decay)
    if (compared >= enough * (1 - 1e-9)).all():
        return 0.0
    needed = mixer.horizon + _COMPARISONS - mixture.live[:, kernels.AGE].min()
    return max(float(needed), 1.0) * forecaster.dt


def scores(forecaster: Forecaster, state: ForecasterState) -> Float[np.ndarray, "groups candidates"]:
    """Mean absolute errors of the candidates that are maps of the signal; NaN before any."""
    mixture, mixer = state.mixture, forecaster.mixer
    assert mixture is not None
    H, E = mixer.horizon, mixer.experts
    slow, weight = int(mixer.offsets[kernels.SLOW]), int(mixer.offsets[kernels.SLOW_W])
    base = int(mixer.offsets[kernels.BASE])
    sums = mixture.live[:, slow : slow + H * E].reshape(-1, H, E) + mixture.live[:, base : base + H, None]
    counts = mixture.live[:, weight : weight + H]
    errors = (sums.sum(axis=1) / np.where(counts > 0, counts, np.inf).min(axis=1)[:, None]) / H
    found = np.full((state.channels, len(forecaster.candidates)), np.nan)
    for number, candidate in enumerate(forecaster.candidates):
        place = _place(mixer, candidate)
        if place is not None:
            expert = E - len(mixer.kinds) * len(mixer.ridges) + place[0] * len(mixer.ridges) + place[1]
            found[:, number] = np.where(counts.max(axis=1) > 0, errors[:, expert], np.nan)
    return found


def _place(mixer: Mixer, candidate: Candidate) -> tuple[int, int] | None:
    """The kind and the ridge of a candidate; None for one that reads no memory of the signal itself."""
    kind = (candidate.history, candidate.anchor, -1)
    if kind not in mixer.kinds:
        return None
    return mixer.kinds.index(kind), mixer.ridges.index(float(candidate.ridge))


def past(forecaster: Forecaster, state: ForecasterState, history: int) -> Float[np.ndarray, "channels order"]:
    """System 3 of one history; kept relative to the first value of the stream."""
    mixture, mixer = state.mixture, forecaster.mixer
    assert mixture is not None
    begin = int(mixer.offsets[kernels.MEMORIES]) + history * mixer.width
    found = mixture.live[:, begin : begin + forecaster.histories[history].order].copy()
    found[:, 0] += mixture.live[:, kernels.REF]
    return found


def moments(forecaster: Forecaster, state: ForecasterState, candidate: Candidate, channel: int) -> Moments:
    """What was learnt of one kind, with futures in the coefficients of System 1."""
    mixture, mixer = state.mixture, forecaster.mixer
    assert mixture is not None
    place = _place(mixer, candidate)
    if place is None:
        raise ValueError(
            f"{candidate} reads seasonal differences, which have no map of their own to show; pass another."
        )
    n, order = place[0], forecaster.histories[candidate.history].order
    leads = (np.arange(mixer.horizon) + 0.5) * forecaster.dt
    project = np.linalg.pinv(lead_basis(forecaster.future, leads))
    mean_x, mean_y = mixture.mean_x[channel, n, :order].copy(), project @ mixture.mean_y[channel, n]
    if candidate.anchor == "none":
        ref = mixture.live[channel, kernels.REF]
        mean_x[0] += ref
        mean_y += project.sum(axis=1) * ref
    outputs = forecaster.future.order
    return Moments(
        float(mixture.weight[channel, n]),
        mean_x,
        mean_y,
        mixture.xx[channel, n, :order, :order],
        project @ mixture.yx[channel, n, :, :order],
        np.zeros((outputs, outputs)),
        np.zeros(1),
    )


def maps(forecaster: Forecaster, state: ForecasterState, chosen: tuple[Candidate, ...]) -> tuple[ForecastMap, ...]:
    """The map of each channel by its candidate."""
    found = []
    for c in range(state.channels):
        candidate = chosen[min(c, len(chosen) - 1)]
        known = moments(forecaster, state, candidate, c)
        fitted = reduced_rank(known, None, candidate.ridge)
        found.append(replace(fitted, residual=np.zeros_like(fitted.residual)))
    return tuple(found)


def replay(
    forecaster: Forecaster, state: ForecasterState, values: np.ndarray, leads: np.ndarray
) -> Float[np.ndarray, "time *channels_and_leads"]:
    """Forecasts after every sample of another signal, by what was learnt and weighed here."""
    mixer, known = forecaster.mixer, state.mixture
    assert known is not None
    checked_leads(forecaster.horizon, leads)
    mixture = mixer.with_learnt(mixer.begin(state.channels), known)
    answers = np.empty((*values.shape, leads.size))
    seen = np.ones((1, state.channels), bool)
    for t in range(len(values)):
        mixture = mixer.learn(mixture, np.ascontiguousarray(values[t : t + 1]), seen, learning=False)
        mixture = mixer.with_learnt(mixture, known)
        one = MixedForecast(
            forecaster.future, forecaster.dt, mixer, mixture, single=False, calibrated=False, lower=forecaster.lower
        )
        answers[t] = one.mean(leads.ravel())
    answers = answers.reshape(*values.shape, *leads.shape)
    return answers[:, 0] if state.single else answers
