"""The effective history: how far the state moves, in units of its own spread, when a past sample does."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.microscope.recording import Subject
from hippozoo.microscope.results import Profile, band

__all__ = ["measure_sensitivity"]

# Sequences whose gradients are taken, which bounds time and memory, and random projections of each.
DIFFERENTIATED, PROJECTIONS = 128, 32
# Sequences and step of finite differences, the step in standard deviations of the input.
DIFFERENCED = 8
STEP = 1e-3
# Sequences that are run at a time with one sample moved.
AT_A_TIME = 512


def measure_sensitivity(
    subject: Subject,
    x: Float[np.ndarray, "batch time channels"],
    columns: Any,
    whiten: Float[np.ndarray, "size components"],
    lags: int,
    rng: np.random.Generator,
) -> Profile:
    """E ‖Σ^(-1/2) d state / d x(t - k)‖² by lag, the mean over channels, with x in standard deviations.

    A model with gradients is asked for 32 random projections of the state after the last sample; another is run again
    with single samples moved. `whiten` maps the `columns` of what is carried to components of variance one.
    """
    if subject.no_sensitivity:
        raise ValueError(f"there is no sensitivity: {subject.no_sensitivity}")
    scale = x.std((0, 1))
    if hasattr(subject, "backward"):
        each = _by_gradient(subject, x[:DIFFERENTIATED], columns, whiten, scale, lags, rng)
    else:
        each = _by_differences(subject, x[:DIFFERENCED], columns, whiten, scale, lags)
    value = each.mean(0)
    # Positive and skewed: the jackknife works on the logarithm, as for 1 - R².
    below, above = band(1 - value, 1 - (each.sum(0) - each) / (len(each) - 1), of_r2=True)
    return Profile(value, 1 - above, 1 - below, np.zeros(lags))


def _by_gradient(
    subject: Any, x: np.ndarray, columns: Any, whiten: np.ndarray, scale: np.ndarray, lags: int, rng: Any
) -> np.ndarray:
    def directions(size: int) -> Any:
        for _ in range(PROJECTIONS):
            direction = np.zeros((len(x), size))
            direction[:, columns] = rng.choice([-1.0, 1.0], size=(len(x), whiten.shape[1])) @ whiten.T
            yield direction

    total = np.zeros((len(x), lags))
    for gradient in subject.backward(x, directions):
        total += ((gradient[:, -1 : -lags - 1 : -1] * scale) ** 2).sum(-1) / np.count_nonzero(scale)
    return total / PROJECTIONS


def _by_differences(
    subject: Subject, x: np.ndarray, columns: Any, whiten: np.ndarray, scale: np.ndarray, lags: int
) -> np.ndarray:
    batch, n_steps, channels = x.shape
    found = np.zeros((batch, lags))
    places = [(lag, channel) for lag in range(lags) for channel in range(channels) if scale[channel] > 0]
    each = max(1, AT_A_TIME // (2 * batch))
    for start in range(0, len(places), each):
        some = places[start : start + each]
        moved = np.repeat(x[None, None], 2 * len(some), 0).reshape(len(some), 2, *x.shape)
        for number, (lag, channel) in enumerate(some):
            moved[number, 0, :, n_steps - 1 - lag, channel] += STEP * scale[channel]
            moved[number, 1, :, n_steps - 1 - lag, channel] -= STEP * scale[channel]
        states = subject.respond(moved.reshape(-1, n_steps, channels))[:, columns].reshape(len(some), 2, batch, -1)
        change = ((states[:, 0] - states[:, 1]) / (2 * STEP)) @ whiten
        for number, (lag, _) in enumerate(some):
            found[:, lag] += (change[number] ** 2).sum(-1)
    return found / np.count_nonzero(scale)
