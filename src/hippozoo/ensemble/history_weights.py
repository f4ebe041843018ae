"""How much each reading of the past counts in what an ensemble expects of the next one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo.ensemble.experts import lag_weights
from hippozoo.ensemble.known import weights_at
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.mixture import Mixture

__all__ = ["history_weights"]


def history_weights(mixer: Mixer, mixture: Mixture, channel: int, count: int) -> Float[np.ndarray, " count"]:
    """The weight of each of the last `count` cells, newest first, in the expectation of the next one.

    Every expert is a weighted sum of the past (and a constant), so their weighted mean is one too, as long as what was
    learnt and how much each expert counts are held fixed.

    Parameters
    ----------
    mixer, mixture
        Who forecasts, and what it knows.
    channel
        Which one, from 0.
    count
        How far back.

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
    found = weights @ np.array(lag_weights(mixer.known(mixture), channel, count))
    if mixer.guard and not mixer.simple:  # else the last value's weight holds it already
        trust = mixture.brake["trust"][channel]
        found = trust * found + (1 - trust) * weights_at(count, {0: 1.0})
    return found
