"""The reduced-rank map as a head of a torch model: fitted in closed form in every call, gradients through the fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import positive_number, real_array, whole_number
from hippozoo.layers.arguments import finest_dtype

__all__ = ["FittedForecast", "ForecastLayer"]


class FittedForecast(NamedTuple):
    """A linear forecast ``y = forecast_map x + intercept``, fitted to a batch; gradients lead back to it.

    `forecast_map` is T_d in the paper.

    Examples
    --------
    >>> fitted = FittedForecast(torch.eye(2), torch.ones(2))
    >>> fitted(torch.zeros(5, 2)).shape
    torch.Size([5, 2])
    """

    forecast_map: Float[Tensor, "outputs inputs"]
    intercept: Float[Tensor, " outputs"]

    def __call__(self, states: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        """The forecast from each state."""
        return states.to(self.forecast_map) @ self.forecast_map.mT + self.intercept


class ForecastLayer(nn.Module):
    r"""Fits the best linear forecast of reduced rank to a batch, and forecasts from other states with it.

    It has no parameters of its own: the map is the ridge regression of futures on states, limited in rank, in closed
    form, as in `hippozoo.zoo.forecasting.reduced_rank`. What it gives is differentiable in the states, so that whatever
    makes them (a timescale, a clock, a network) can be learnt *for* a horizon: fit on one half of a batch, and make
    the error on the other half small. The fit is done in float64, where the device has it.

    With :math:`B = \Sigma_{yx} (\Sigma_{xx} + \lambda I)^{-1}` the map is :math:`T = W^{-1/2} P_d W^{1/2} B`, where
    :math:`P_d` projects onto the d leading eigenvectors of :math:`W^{1/2} B \Sigma_{xy} W^{1/2}`.

    Parameters
    ----------
    rank
        At most this many numbers of the state are used; None for no limit.
    ridge
        Added to the variance of every direction, in units of the mean variance of a coefficient; positive, because
        the covariance of a memory is singular to rounding.
    future_metric
        W; the identity by default.
    intercept
        Whether means are forecast by an intercept.

    Examples
    --------
    A window is learnt for the forecast of ten samples ahead.

    >>> from hippozoo.memory import MemoryLayer
    >>> from hippozoo.systems import LegT
    >>> memory = MemoryLayer(LegT(order=4, timescale=50.0), channels=1, trainable_timescale=True)
    >>> signal = torch.sin(torch.arange(400.0) / 7)[None, :, None]
    >>> states = memory(signal)[0][0, 60:390, 0]
    >>> future = signal[0, 70:400]
    >>> head = ForecastLayer(ridge=1e-6)
    >>> error = (head(states[:150], future[:150], states[150:]) - future[150:]).square().mean()
    >>> error.backward()
    >>> bool(memory.log_timescale.grad != 0)
    True

    References
    ----------
    Paper, section "Forecasting HiPPO", for the map.
    """

    def __init__(
        self,
        rank: int | None = None,
        ridge: float | int = 1e-6,
        future_metric: Float[np.ndarray, "outputs outputs"] | None = None,
        intercept: bool = True,
    ) -> None:
        super().__init__()
        self.rank = None if rank is None else whole_number("rank", rank, why="None for no limit")
        self.ridge = positive_number("ridge", ridge, why="states of a memory are singular to rounding")
        self.intercept = bool(intercept)
        self._roots: tuple[np.ndarray, np.ndarray] | None = None
        if future_metric is not None:
            metric = real_array("future_metric", future_metric)
            if metric.ndim != 2 or metric.shape[0] != metric.shape[1] or not np.allclose(metric, metric.T):
                raise ValueError(f"future_metric has shape {metric.shape}; pass a symmetric matrix (outputs, outputs).")
            values, axes = np.linalg.eigh(metric)
            if values[0] <= 0:
                raise ValueError(f"future_metric has the eigenvalue {values[0]:.3g}; pass a positive definite matrix.")
            self._roots = (axes * np.sqrt(values)) @ axes.T, (axes / np.sqrt(values)) @ axes.T

    def forward(
        self,
        states: Float[Tensor, "*pairs inputs"],
        futures: Float[Tensor, "*pairs outputs"],
        queries: Float[Tensor, "*asked inputs"] | None = None,
    ) -> Float[Tensor, "*any outputs"]:
        """Forecasts from `queries`, by a map fitted to all pairs of `states` and `futures`.

        By default from the states of the fit, whose error is too small by the number of coefficients fitted: to learn
        by it, pass others.
        """
        return self.fit(states, futures)(states if queries is None else queries).to(states.dtype)

    def fit(self, states: Float[Tensor, "*pairs inputs"], futures: Float[Tensor, "*pairs outputs"]) -> FittedForecast:
        """The map itself, in float64 where the device has it."""
        if states.shape[:-1] != futures.shape[:-1] or states.ndim < 2:
            raise ValueError(
                f"states has shape {tuple(states.shape)} and futures {tuple(futures.shape)}; pass (..., inputs) and "
                f"(..., outputs) with one future for each state."
            )
        x, y = (part.to(finest_dtype(part.device)).reshape(-1, part.shape[-1]) for part in (states, futures))
        if len(x) < 2:
            raise ValueError(f"{len(x)} pair of state and future cannot be fitted; pass two or more.")
        mean_x, mean_y = x.mean(0), y.mean(0)
        if self.intercept:
            x, y = x - mean_x, y - mean_y
        cov_xx, cov_yx = x.mT @ x / len(x), y.mT @ x / len(x)
        # At least a little: where a batch stands still its variance is zero, and so is the map then.
        penalty = (self.ridge * cov_xx.trace() / x.shape[1]).clamp(min=torch.finfo(x.dtype).tiny ** 0.65)
        held = cov_xx + penalty * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        # Symmetric, so that the solve gives the map transposed.
        full = torch.linalg.solve(held, cov_yx.mT).mT
        forecast_map = self._limited(full, cov_yx)
        shift = mean_y - forecast_map @ mean_x if self.intercept else torch.zeros_like(mean_y)
        return FittedForecast(forecast_map, shift)

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module is printed."""
        return f"rank={self.rank}, ridge={self.ridge:g}, intercept={self.intercept}"

    def _limited(self, full: Tensor, cov_yx: Tensor) -> Tensor:
        """The map through `rank` numbers only."""
        outputs, inputs = full.shape
        if self.rank is None or self.rank >= min(outputs, inputs):
            return full
        strength = full @ cov_yx.mT
        if self._roots is None:
            return _LeadingProjector.apply(strength, self.rank) @ full
        root, inverse = (torch.from_numpy(part).to(full) for part in self._roots)
        if len(root) != outputs:
            raise ValueError(f"future_metric is for {len(root)} outputs, but futures have {outputs}.")
        return inverse @ _LeadingProjector.apply(root @ strength @ root, self.rank) @ root @ full


class _LeadingProjector(torch.autograd.Function):
    """The projector onto the leading eigenvectors of a symmetric matrix.

    Its gradient knows only gaps between eigenvalues that are kept and those that are not; autograd through `eigh`
    divides by all gaps, and gives NaN where two eigenvalues agree.
    """

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, rank: int) -> Tensor:
        values, axes = torch.linalg.eigh((matrix + matrix.mT) / 2)
        ctx.save_for_backward(values, axes)
        ctx.rank = rank
        return axes[:, -rank:] @ axes[:, -rank:].mT

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,) = grads
        values, axes = ctx.saved_tensors
        kept = torch.arange(len(values), device=values.device) >= len(values) - ctx.rank
        crossing = kept[:, None] & ~kept[None]
        gaps = torch.where(crossing, values[:, None] - values[None], 1.0).clamp(min=torch.finfo(values.dtype).tiny)
        weights = torch.where(crossing, 1 / gaps, 0.0)
        inner = axes.mT @ (grad + grad.mT) @ axes / 2
        return axes @ ((weights + weights.mT) * inner) @ axes.mT, None
