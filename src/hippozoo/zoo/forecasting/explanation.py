"""What an objective keeps of the past: predictive memory, history metric, and the past that a forecast reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo.discretise import zero_order_hold
from hippozoo.forecasts.leads import lead_basis
from hippozoo.memory import response
from hippozoo.systems import HippoSystem
from hippozoo.zoo.forecasting.candidates import Candidate
from hippozoo.zoo.forecasting.forecaster import Forecaster
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """One channel of a forecaster, opened up: coefficients and maps turned into functions of lag and lead."""

    system: HippoSystem  #: The history system that was chosen.
    fitted: ForecastMap  #: The map.
    candidate: Candidate  #: How it was made; the ridge stands there.
    #: The coefficients of the present past (System 3), relative to the anchor's level.
    past: Float[np.ndarray, " order"]
    level: float  #: The anchor's level: the last value, or 0.
    mean_past: Float[np.ndarray, " order"]  #: The mean of the pasts that were learnt from; 0 without an intercept.
    future_metric: Float[np.ndarray, "outputs outputs"]  #: W.
    forecaster: Forecaster  #: Where all this comes from.

    def memory(self, lags: Float[np.ndarray, " lags"]) -> Float[np.ndarray, " lags"]:
        """The whole past as System 3 holds it, at each lag."""
        return self.system.reconstruct(self.past, lags) + self.level

    def predictive_memory(self, lags: Float[np.ndarray, " lags"]) -> Float[np.ndarray, " lags"]:
        """What the forecast uses of it: P_x applied to the state, decoded in time."""
        kept = self.mean_past + self.fitted.predictive_projector @ (self.past - self.mean_past)
        return self.system.reconstruct(kept, lags) + self.level

    @property
    def history_metric(self) -> Float[np.ndarray, "order order"]:
        """Q = T' W T: how alike two histories are in what they let one forecast."""
        return self.fitted.history_metric(self.future_metric)

    def history_kernel(self, lags: Float[np.ndarray, " lags"]) -> Float[np.ndarray, "lags lags"]:
        """Q in time: the basis on both sides, at each pair of lags."""
        basis = self.system.basis(lags)
        return basis @ self.history_metric @ basis.T

    def eigenfunctions(
        self, lags: Float[np.ndarray, " lags"], count: int = 3
    ) -> tuple[Float[np.ndarray, " count"], Float[np.ndarray, "count lags"]]:
        """The leading eigenvalues of Q and its eigenfunctions in time, of norm 1 under the system's weight.

        They depend on the ridge (erratum 16): without one they lie at the far end of the window, because Q weighs
        directions of the past that hardly ever vary; with a large one the first is the newest sample, whatever the
        horizon. State the ridge beside them, and see `patterns`, of which the leading ones are steady.
        """
        count = min(whole_number("count", count), self.system.order)
        values, vectors = np.linalg.eigh(self.history_metric)
        leading = vectors[:, ::-1][:, :count]
        functions = (self.system.basis(lags) @ leading).T
        # The sign is free: begin upwards.
        signs = np.where(functions[:, :1] < 0, -1.0, 1.0)
        return values[::-1][:count], functions * signs

    def patterns(self, lags: Float[np.ndarray, " lags"]) -> Float[np.ndarray, "rank lags"]:
        """The parts of the past that the forecast looks for, one per rank: ``cov_xx^1/2 v_i`` decoded in time."""
        functions = self.system.reconstruct(self.fitted.patterns, lags)
        return functions * np.where(functions[:, :1] < 0, -1.0, 1.0)

    def influence(self, lead: Float[np.ndarray, " leads"] | float, count: int) -> Float[np.ndarray, "*leads count"]:
        """How much each of the last `count` samples, newest first, moves the forecast at each lead.

        Exact: T A_d^j b_d. A forecast is their weighted sum and a constant, up to samples older than `count`.
        """
        A_d, b_d = zero_order_hold(self.system, self.forecaster.dt)
        basis = lead_basis(self.forecaster.future, real_array("lead", lead))
        weights = basis @ self.fitted.forecast_map
        taps = weights @ response(A_d, b_d[None], whole_number("count", count))[:, 0].T
        if self.candidate.anchor == "last":
            # x and y are relative to the last value, which therefore also stands for a constant past and future.
            taps[..., 0] += 1.0 - weights[..., 0]
        return taps


def explain(
    forecaster: Forecaster, state: ForecasterState, channel: int = 0, candidate: Candidate | None = None
) -> Explanation:
    """Open up the forecast of one channel.

    Where one map reads all channels jointly, no channel has a past of its own: see `Forecaster.maps`.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> rng = np.random.default_rng(0)
    >>> signal = np.sin(np.arange(4000) / 5) + 0.1 * rng.normal(size=4000)
    >>> forecaster = Forecaster(LegT(order=32, timescale=64.0), horizon=16.0, rank=2, ridge=1e-4)
    >>> explanation = explain(forecaster, forecaster.learn(forecaster.initial_state(), signal))
    >>> lags = np.linspace(0.5, 60.5, 61)
    >>> kept = explanation.predictive_memory(lags)  # the sine stays, the noise goes
    >>> bool(np.abs(kept - np.sin((3999.5 - lags) / 5)).max() < 0.2)
    True
    """
    if forecaster.together == "joint" and state.channels > 1:
        raise ValueError(
            "together='joint': one map reads all channels, so no channel has a past of its own; "
            "use forecaster.maps(state), or learn with together='independent' or 'shared'."
        )
    number = whole_number("channel", channel, minimum=0)
    if number >= state.channels:
        raise ValueError(f"channel={number}, but there are {state.channels}, counted from 0; pass one of them.")
    group = number if forecaster.together == "independent" else 0
    chosen = (forecaster.chosen(state) if candidate is None else (candidate,) * state.channels)[group]
    fitted = forecaster.maps(state, candidate)[group]
    moments: Moments = forecaster.moments(state, chosen)[group]
    level = float(state.held[number]) if chosen.anchor == "last" else 0.0
    past = forecaster.past(state, chosen.history)[number].copy()
    past[0] -= level
    metric = forecaster.future_metric
    return Explanation(
        forecaster.histories[chosen.history],
        fitted,
        chosen,
        past,
        level,
        moments.mean_x if forecaster.intercept else np.zeros_like(moments.mean_x),
        # All leads alike: on [0, H] that is H times the identity (erratum 15).
        forecaster.horizon * np.eye(forecaster.future.order) if metric is None else metric,
        forecaster,
    )
