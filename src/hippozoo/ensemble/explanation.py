"""What a forecast was made of: the share of each expert, the weight of each past reading, the effect of each input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hippozoo.ensemble.experts import lag_weights
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.moments import symmetric
from hippozoo.ensemble.records import Maps, Past, open_channels, open_map, weights_at
from hippozoo.ensemble.state import Mixture

__all__ = ["InputEffects", "by_name", "history_weights", "input_effects", "past_of"]


def by_name(mixer: Mixer, shares: Float[np.ndarray, " experts"]) -> dict[str, float]:
    """The share of each name, largest first; experts of one name count together."""
    found: dict[str, float] = {}
    for name, share in zip(mixer.names, shares.tolist(), strict=True):
        found[name] = found.get(name, 0.0) + share
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def past_of(mixer: Mixer, mixture: Mixture, channel: int) -> tuple[Past, Maps]:
    """What the experts of a channel forecast from."""
    now, log = mixture.now - 1, mixture.cells[channel]
    cleaner = open_channels(mixture.live[channel], mixer.plan).cleaner
    maps = Maps(mixer.maps(mixture)[channel], mixture.leverage[channel], mixture.features[0])
    return Past(log, now, cleaner, log[now]["value"], None), maps


def history_weights(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> Float[np.ndarray, " count"]:
    """The weight of each of the last `count` cells, newest first, in the expectation of the next one of a channel.

    Every expert is a weighted sum of the past (and a constant), so their weighted mean is one too, as long as what was
    learnt and how much each expert counts are held fixed.

    Examples
    --------
    >>> from hippozoo.ensemble import forecaster_for
    >>> forecaster = forecaster_for(6.0)
    >>> noise = np.random.default_rng(0).normal(size=600)
    >>> state = forecaster.learn(forecaster.initial_state(), np.cumsum(noise))
    >>> weights = history_weights(forecaster.mixer, state.mixture, 0, 30)
    >>> bool(weights[0] > 0.7), bool(abs(weights.sum() - 1) < 0.1)  # a random walk: mostly the last value
    (True, True)
    """
    weights = mixer.weights(mixture)[channel, 0]
    found = weights @ np.array(lag_weights(*past_of(mixer, mixture, channel), mixer.plan, count))
    if mixer.guard and not mixer.simple:  # else the last value's weight holds it already
        trust = mixture.brake["trust"][channel]
        found = trust * found + (1 - trust) * weights_at(count, {0: 1.0})
    return found


@dataclass(frozen=True, eq=False)
class InputEffects:
    """Of every channel and input, the known ones first.

    Parameters
    ----------
    lags
        Cells from the value of an input to the value that is forecast; below zero the input comes later.
    kernels
        What one unit of an input adds at each lag, by the maps that read inputs, in the mean over all leads.
    sizes
        By how much the input moves the forecast: the standard deviation of what it adds, in the unit of the channel.
    weights
        The share of the forecast that maps with inputs have, in the mean over all leads.
    """

    lags: Int[np.ndarray, " lags"]
    kernels: Float[np.ndarray, "channels inputs lags"]
    sizes: Float[np.ndarray, "channels inputs"]
    weights: Float[np.ndarray, " channels"]


def input_effects(mixer: Mixer, mixture: Mixture) -> InputEffects | None:
    """The effects of all inputs on the present forecast; None without inputs, and before there is a map.

    Examples
    --------
    >>> from hippozoo.ensemble import forecaster_for
    >>> rng = np.random.default_rng(0)
    >>> price = rng.normal(size=1004)
    >>> sold = 5.0 - 2.0 * np.roll(price, 1)[:1000]  # yesterday's price
    >>> forecaster = forecaster_for(4, known=1)
    >>> state = forecaster.learn(forecaster.initial_state(), sold, known=price[:, None])
    >>> found = input_effects(forecaster.mixer, state.mixture)
    >>> int(found.lags[np.abs(found.kernels[0, 0]).argmax()]), bool(found.kernels[0, 0].min() < -1.5)
    (1, True)
    """
    inputs, H, R = mixer.inputs, mixer.horizon, len(mixer.ridges)
    if inputs is None or not mixer.maps(mixture)[:, mixer.plan.maps_at[:-1]].any():
        return None
    kinds = [n for n, view in enumerate(mixer.views) if view >= 0]
    first = mixer.plan.simple
    weights = mixer.weights(mixture)
    share = np.stack([weights[:, :, first + n * R : first + (n + 1) * R] for n in kinds], axis=2)  # C, H, kinds, R
    total = share.sum(axis=(2, 3))
    part = share / np.where(total > 0, total, 1.0)[:, :, None, None]
    C, K = len(mixture.live), len(inputs.blocks)
    before, ahead = inputs.reach(H)
    lags = np.arange(1 - H, before + 1)
    kernels, sizes = np.zeros((C, K, len(lags))), np.zeros((C, K))
    for number in range(K):
        taps, reach = inputs.taps(number), ahead if number < inputs.known else 0
        columns, covariance = _columns(mixer, mixture, kinds, number)
        mixed = np.einsum("chnr,cnrhf->chf", part, columns)
        variance = np.einsum("chf,cfg,chg->ch", mixed, covariance, mixed)
        sizes[:, number] = np.sqrt(np.maximum(variance, 0.0)).mean(axis=1)
        kernels[:, number] = _aligned(mixed @ taps.T, lags, reach)
    return InputEffects(lags, kernels, sizes, total.mean(axis=1))


def _columns(mixer: Mixer, mixture: Mixture, kinds: list[int], number: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the features of an input, (channels, kinds, ridges, leads, features), and their mean covariance."""
    assert mixer.inputs is not None
    H, R, block, maps = mixer.horizon, len(mixer.ridges), mixer.inputs.blocks[number], mixer.maps(mixture)
    moments, found, spread = mixture.moments.kinds(mixer.plan), [], []
    for n in kinds:
        begin = mixer.orders[n] - mixer.extra
        here = slice(begin + block.start, begin + block.stop)
        columns = np.stack([open_map.py_func(row, n, mixer.plan).columns[here] for row in maps])
        found.append(columns.reshape(len(maps), -1, R, H).transpose(0, 2, 3, 1))
        weight = np.maximum(moments[n].weight, 1.0)[:, None, None]
        spread.append(symmetric(moments[n].xx, mixer.orders[n])[:, here, here] / weight)
    return np.stack(found, axis=1), np.mean(spread, axis=0)


def _aligned(by_age: np.ndarray, lags: np.ndarray, ahead: int) -> np.ndarray:
    """(channels, leads, ages) to lags before the forecast value, in the mean over the leads that have them."""
    C, H, W = by_age.shape
    sums, counts = np.zeros((C, len(lags))), np.zeros(len(lags))
    for k in range(H):
        place = 1 + k - ahead + np.arange(W) - lags[0]
        fits = (place >= 0) & (place < len(lags))
        sums[:, place[fits]] += by_age[:, k, fits]
        counts[place[fits]] += 1
    return sums / np.maximum(counts, 1)
