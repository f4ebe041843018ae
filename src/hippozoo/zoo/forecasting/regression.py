"""Reduced-rank regression: the best linear forecast that passes through a few numbers of the past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo.forecasts.leads import lead_basis
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["ForecastMap", "checked_metric", "future_metric", "reduced_rank"]

# Directions of x whose variance is below this share of the largest are rounding, not signal.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class ForecastMap:
    r"""A linear forecast ``y = forecast_map x + intercept`` of rank d, and what it keeps of x."""

    forecast_map: Float[np.ndarray, "outputs inputs"]  #: T_d in the paper.
    intercept: Float[np.ndarray, " outputs"]  #: Added to the forecast; zero for moments taken around zero.
    #: Of the whitened cross-covariance, all of them: how much each further rank would explain.
    singular_values: Float[np.ndarray, " ranks"]
    #: The rows :math:`v_i^T \Sigma^{-1/2}`, one per rank: the d numbers of x that the forecast reads.
    directions: Float[np.ndarray, "rank inputs"]
    #: The columns :math:`\Sigma^{1/2} v_i` as rows: what these numbers mean as parts of x.
    patterns: Float[np.ndarray, "rank inputs"]
    residual: Float[np.ndarray, "outputs outputs"]  #: Covariance of the errors on the moments themselves.
    #: Degrees of freedom of the map before its rank was limited: how many numbers of x it may follow, a ridge held
    #: against each.
    freedom: float

    @property
    def rank(self) -> int:
        """Through how many numbers the past speaks."""
        return len(self.directions)

    @property
    def predictive_projector(self) -> Float[np.ndarray, "inputs inputs"]:
        """P_x: keeps of a history what the forecast reads, and nothing else; ``T P = T`` and ``P P = P``."""
        return self.patterns.T @ self.directions

    def history_metric(
        self, future_metric: Float[np.ndarray, "outputs outputs"] | None = None
    ) -> Float[np.ndarray, "inputs inputs"]:
        """Q = T' W T: how alike two histories are in what they let one forecast."""
        weighted = self.forecast_map if future_metric is None else future_metric @ self.forecast_map
        return self.forecast_map.T @ weighted


def reduced_rank(
    moments: Moments,
    rank: int | None = None,
    ridge: float | int = 0.0,
    future_metric: Float[np.ndarray, "outputs outputs"] | None = None,
    intercept: bool = True,
    scale: Float[np.ndarray, " inputs"] | None = None,
) -> ForecastMap:
    r"""The map T of rank at most `rank` with the least expected :math:`(y - Tx)^T W (y - Tx)`.

    ``M = W^1/2 cov_yx cov_xx^-1/2 = U S V'`` and ``T = W^-1/2 U_d S_d V_d' cov_xx^-1/2``: x is whitened and y is
    not (erratum 13). Without a ridge, directions in which x does not vary are left out (erratum 12). A signal that
    stood still is left out in any case (`Moments.still`).

    Parameters
    ----------
    moments
        What was learnt.
    rank
        At most this many numbers of x are used; None for no limit.
    ridge
        Added to the variance of every direction of x, in units of the mean variance of a coefficient.
    future_metric
        W; the identity by default.
    intercept
        Whether covariances are taken around the means, and the means forecast by an intercept.
    scale
        Divides each coefficient of x before the ridge sees it, for inputs in different units.

    Examples
    --------
    Without a limit on the rank it is least squares.

    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    >>> ours = reduced_rank(Moments.empty(3, 2).add(x, y), intercept=False).forecast_map
    >>> bool(np.allclose(ours, np.linalg.lstsq(x, y)[0].T))
    True
    """
    if rank is not None:
        whole_number("rank", rank, why="a forecast reads at least one number of the past")
    penalty = real_array("ridge", ridge)
    if penalty.ndim or penalty < 0:
        raise ValueError(f"ridge={shorten(ridge)}: a ridge holds the map back; pass one number >= 0.")
    inputs, outputs = len(moments.mean_x), len(moments.mean_y)
    most = min(inputs, outputs)
    d = most if rank is None else min(int(rank), most)
    cov_xx, cov_yx, _ = moments.covariances(centred=intercept)
    unit = np.ones(inputs) if scale is None else scale
    cov_xx, cov_yx = cov_xx / np.outer(unit, unit), cov_yx / unit
    # Floor and ridge are shares of the variance: where all of it is rounding, they would let rounding pass.
    still = moments.still
    cov_xx = np.where(still | still[:, None], 0.0, cov_xx)

    variance, axes = np.linalg.eigh(cov_xx)
    axes[still] = 0.0
    floor = _ROUNDING * max(float(variance[-1]), 0.0)
    used = variance > floor
    own = np.where(used, variance, 0.0)
    variance = own + float(penalty) * np.trace(cov_xx) / inputs
    kept = used if not penalty else variance > 0
    # Directions without variance get no weight in either direction: a pseudo-inverse.
    root = np.where(kept, np.sqrt(variance), 0.0)
    inverse_root = np.where(kept, 1 / np.where(kept, root, 1.0), 0.0)
    W_root, W_inverse_root = _roots(future_metric, outputs)

    M = W_root @ cov_yx @ (axes * inverse_root)
    U, S, Vt = np.linalg.svd(M, full_matrices=False)
    directions = (Vt[:d] * inverse_root) @ axes.T / unit
    patterns = (Vt[:d] * root) @ axes.T * unit
    forecast_map = (W_inverse_root @ U[:, :d] * S[:d]) @ directions
    shift = moments.mean_y - forecast_map @ moments.mean_x if intercept else np.zeros(outputs)
    errors = moments.errors_of(forecast_map, shift)
    freedom = float(np.sum(own[kept] / variance[kept])) + bool(intercept)
    return ForecastMap(forecast_map, shift, S, directions, patterns, errors / max(moments.weight, 1e-300), freedom)


def _roots(metric: np.ndarray | None, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """W^1/2 and its (pseudo-)inverse."""
    if metric is None:
        return np.eye(outputs), np.eye(outputs)
    values, axes = np.linalg.eigh(metric)
    kept = values > 1e-13 * values[-1]
    root = np.sqrt(np.where(kept, values, 0.0))
    return (axes * root) @ axes.T, (axes * np.where(kept, 1 / np.where(kept, root, 1.0), 0.0)) @ axes.T


def future_metric(
    future: LegT, weight: Callable[[np.ndarray], np.ndarray], panels: int = 64
) -> Float[np.ndarray, "order order"]:
    r"""W: the weighted squared error over the horizon as a quadratic form of coefficients.

    :math:`W_{ij} = \int_0^H w(\ell)\, \phi_i(\ell)\, \phi_j(\ell)\, d\ell`. For w = 1 this is H times the identity,
    since the basis is orthonormal under the weight 1/H (erratum 15).

    Parameters
    ----------
    future
        System 1: its timescale is the horizon.
    weight
        w(lead): takes an array of leads, gives as many numbers >= 0.
    panels
        The integral is taken over this many pieces of the horizon, so that a weight may jump.

    Examples
    --------
    >>> W = future_metric(LegT(order=3, timescale=8.0), lambda lead: np.ones_like(lead))
    >>> bool(np.allclose(W, 8.0 * np.eye(3)))
    True
    """
    node, mass = np.polynomial.legendre.leggauss(16 + future.order // 8)
    width = future.timescale / panels
    leads = (width * (np.arange(panels)[:, None] + (node + 1) / 2)).ravel()
    values = real_array("weight(lead)", weight(leads))
    if values.shape != leads.shape:
        raise ValueError(
            f"weight(lead) has shape {values.shape} for leads of shape {leads.shape}; return one number each."
        )
    if values.min() < 0 or not values.any():
        raise ValueError("weight(lead) must be >= 0 everywhere and > 0 somewhere: it says how much an error counts.")
    basis = lead_basis(future, leads)
    return (basis * (values * np.tile(mass * width / 2, panels))[:, None]).T @ basis


def checked_metric(given: Any, order: int) -> np.ndarray:
    """Squared lengths of errors: symmetric, never below zero, and somewhere above it."""
    metric = real_array("future_metric", given)
    if metric.shape != (order, order):
        raise ValueError(
            f"future_metric has shape {metric.shape}, expected {(order, order)}; "
            f"make it by future_metric(forecaster.future, weight)."
        )
    scale = np.abs(metric).max()
    if not np.allclose(metric, metric.T, rtol=0.0, atol=1e-9 * scale):
        raise ValueError("future_metric is not symmetric; pass (M + M.T) / 2, or make it by future_metric(…).")
    lowest = float(np.linalg.eigvalsh(metric)[0])
    if scale == 0 or lowest < -1e-9 * scale:
        raise ValueError(
            f"future_metric has the eigenvalue {lowest:g}: it measures errors, so none may be below zero and one must "
            f"be above it; make it by future_metric(forecaster.future, weight)."
        )
    return metric
