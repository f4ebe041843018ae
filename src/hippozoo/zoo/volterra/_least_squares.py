"""Nonlinear least squares by Levenberg and Marquardt, for many more residuals than parameters.

SciPy factorises the whole Jacobian (time, parameters) in each step; here only its small normal matrix is formed, which
is what makes a record of a hundred thousand samples a matter of seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hippozoo.zoo.volterra.learners import DivergenceError

__all__ = ["Fit", "minimise", "minimise_towards", "ridge_regression"]

Function = Callable[[np.ndarray], np.ndarray]


class Fit(NamedTuple):
    """Where the search ended: parameters, and mean squared residual."""

    parameters: np.ndarray
    cost: float


def minimise(
    start: np.ndarray,
    residual: Function,
    jacobian: Function,
    iterations: int,
    tolerance: float = 1e-5,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """Lower the mean of residual² step by step; stops early when a step gains less than `tolerance` of it.

    `jacobian` is that of the *prediction*, minus that of the residual (target - prediction). A step on which the
    prediction diverges is simply too long; a start on which it diverges is the caller's to choose better, and its
    `DivergenceError` passes through. Where the slopes overflow, as in chaos, there is no step, and the search ends.
    """
    parameters, damping = start, 1e-3
    left = residual(parameters)
    cost = float(left @ left) / len(left)
    for iteration in range(iterations):
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = jacobian(parameters)
            normal, gradient = slopes.T @ slopes, slopes.T @ left
        if not (np.isfinite(normal).all() and np.isfinite(gradient).all()):
            break
        scale = np.diag(normal)
        if not scale.max() > 0:  # nothing has any effect any more, as where friction holds everything
            break
        # Parameters without any effect would have no damping and wander off.
        scale = np.maximum(scale, 1e-12 * scale.max())
        for _ in range(15):
            candidate = parameters + np.linalg.solve(normal + damping * np.diag(scale), gradient)
            new, new_cost = _try(residual, candidate)
            if new_cost < cost:
                break
            damping *= 5
        else:
            break
        gain = 1 - new_cost / cost
        parameters, left, cost, damping = candidate, new, new_cost, max(damping / 5, 1e-14)
        if progress is not None:
            progress((iteration + 1) / iterations)
        if gain < tolerance:
            break
    return Fit(parameters, cost)


def minimise_towards(
    prior: np.ndarray, weight: np.ndarray, start: np.ndarray, residual: Function, jacobian: Function, iterations: int
) -> Fit:
    """`minimise`, each parameter held towards its `prior` with its own `weight`."""
    return minimise(
        start,
        lambda parameters: np.concatenate([residual(parameters), weight * (prior - parameters)]),
        lambda parameters: np.concatenate([jacobian(parameters), np.diag(weight)]),
        iterations,
    )


def ridge_regression(rows: np.ndarray, wanted: np.ndarray, ridge: np.ndarray | float) -> np.ndarray:
    """Linear least squares in columns of root mean square 1, each held towards 0 by its ridge."""
    scale = np.sqrt(np.square(rows).mean(axis=0)) + 1e-12
    rows = rows / scale
    held = np.diag(np.broadcast_to(ridge, rows.shape[1:]))
    return np.linalg.solve(rows.T @ rows + held, rows.T @ wanted) / scale


def _try(residual: Function, candidate: np.ndarray) -> tuple[np.ndarray, float]:
    if not np.isfinite(candidate).all():
        return candidate, np.inf
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            new = residual(candidate)
            cost = float(new @ new) / len(new)
    except DivergenceError:
        return candidate, np.inf
    return new, cost if np.isfinite(cost) else np.inf
