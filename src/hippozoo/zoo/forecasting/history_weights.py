"""How much each reading of the past counts in what a mixture expects of the next one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo.memory import response
from hippozoo.zoo.forecasting import _kernels as kernels
from hippozoo.zoo.forecasting.mixture import FAR, SMOOTHING, Mixer, Mixture

__all__ = ["history_weights"]


def history_weights(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> Float[np.ndarray, " count"]:
    """The weight of each of the last `count` cells, newest first, in the expectation of the next one.

    Every forecast of a mixture is a weighted sum of the past (and a constant), so the mixture is one too, as long as
    what was learnt and how much each forecast counts are held fixed.

    Parameters
    ----------
    mixer, mixture
        What mixes, and what it knows.
    channel
        Which one, from 0.
    count
        How far back.

    Examples
    --------
    >>> from hippozoo.zoo.forecasting import forecaster_for
    >>> forecaster = forecaster_for(6.0)
    >>> noise = np.random.default_rng(0).normal(size=600)
    >>> state = forecaster.learn(forecaster.initial_state(), np.cumsum(noise))
    >>> weights = history_weights(forecaster.mixer, state.mixture, 0, 30)
    >>> bool(weights[0] > 0.7), bool(abs(weights.sum() - 1) < 0.1)  # a random walk: mostly the last value
    (True, True)
    """
    live = mixture.live[channel]
    shares = mixer.shares(mixture)[channel, 0]
    rows = [*_simple(mixer, mixture, channel, count), *_maps(mixer, mixture, channel, count)]
    found = shares @ np.array(rows)
    if mixer.guard and not mixer.simple:  # else the last value's share holds it already
        found = live[kernels.TRUST] * found + (1 - live[kernels.TRUST]) * _at(count, {0: 1.0})
    return found


def _at(count: int, weights: dict[int, float]) -> np.ndarray:
    """Weights at some lags, none elsewhere; what lies further back is left out."""
    found = np.zeros(count)
    for lag, weight in weights.items():
        if lag < count:
            found[lag] += weight
    return found


def _recent_drift(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> np.ndarray:
    """The last value, and the change over that one of three stretches which is the middle one of the three."""
    part = kernels.drift_part(mixer.horizon, float(mixture.live[channel, kernels.AGE]))
    weights = _at(count, {0: 1.0})
    if part:
        values = mixture.log[channel, mixture.now - 1 - part * np.arange(4), kernels.VALUE]
        middle = int(np.argsort(values[:-1] - values[1:], kind="stable")[1])
        weights += _at(count, {middle * part: 1.0 / part}) - _at(count, {(middle + 1) * part: 1.0 / part})
    return weights


def _simple(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> list[np.ndarray]:
    if not mixer.simple:
        return []
    live = mixture.live[channel]
    lags, age = np.arange(count), live[kernels.AGE]
    steps = max(int(age) - 1, 1)
    mean = np.where(lags < age, mixer.keep**lags / max(live[kernels.COUNT], 1.0), 0.0)
    drift = _at(count, {0: 1.0 + 1.0 / steps}) - _at(count, {steps: 1.0 / steps})
    rows = [_at(count, {0: 1.0}), mean, drift, _recent_drift(mixer, mixture, channel, count)]
    for a, beta, phi in SMOOTHING:
        step = np.array([[1 - a, (1 - a) * phi], [-a * beta, phi - a * beta * phi]])
        taps = response(step, np.array([[a, a * beta]]), count)[:, 0]
        rows.append(taps @ np.array([1.0, phi]))
    for season in mixer.seasons:
        if age > season:
            base, change = _at(count, {season - 1: 1.0}), _at(count, {0: 1.0, season: -1.0})
        else:
            base, change = _at(count, {0: 1.0}), np.zeros(count)
        rows += [base, base + change, base + kernels.FADE * change]
    return rows


def _maps(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> list[np.ndarray]:
    live, rows = mixture.live[channel], []
    _, orders, inputs, A_T, b, _, _ = mixer.tables
    taps = [response(A_T[m, :q, :q].T, b[m, None, :q], count)[:, 0] for m, q in enumerate(orders)]
    for n, (memory, anchor, s) in enumerate(mixer.kinds):
        season = mixer.seasons[s] if s >= 0 else 0
        known = anchor != "season" or live[kernels.AGE] > season
        base = {"none": {}, "last": {0: 1.0}, "season": {season - 1 if known else 0: 1.0}}[anchor]
        if not mixture.solved[channel, n] or not known:
            rows += [_at(count, base or {0: 1.0})] * len(mixer.ridges)
            continue
        q = orders[memory]
        lever = mixture.log[channel, mixture.now - 1, kernels.LEVERAGE + n]
        shrink = FAR / lever if mixer.guard and lever > FAR else 1.0
        for r in range(len(mixer.ridges)):
            row = mixture.maps[channel, n, r, 0, :q] * shrink
            own = taps[memory] @ row
            if anchor == "last":  # the past is taken relative to the last value
                own[0] -= row[0]
            if inputs[memory] >= 0:  # a memory of changes from season to season
                own[season:] -= (taps[memory] @ row)[: max(count - season, 0)]
            rows.append(own + _at(count, base))
    return rows
