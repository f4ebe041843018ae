"""Forecasting HiPPO: streaming forecasts of reduced rank, with their uncertainty and the past that they use."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from
from hippozoo.forecasts.forecast import Forecast
from hippozoo.forecasts.forecaster import ForecasterLike, StateLike
from hippozoo.forecasts.leads import lead_basis
from hippozoo.zoo.forecasting.candidates import Candidate
from hippozoo.zoo.forecasting.explanation import Explanation, explain
from hippozoo.zoo.forecasting.forecast import GaussianForecast
from hippozoo.zoo.forecasting.forecaster import Forecaster, forecaster_with_candidates
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, future_metric, reduced_rank
from hippozoo.zoo.forecasting.state import DelayLine, Detail, ForecasterState, Validation

if TYPE_CHECKING:
    from hippozoo.layers.forecast_head import FittedForecast as FittedForecast
    from hippozoo.layers.forecast_head import ForecastLayer as ForecastLayer

__all__ = [
    "Candidate",
    "DelayLine",
    "Detail",
    "Explanation",
    "FittedForecast",
    "Forecast",
    "ForecastLayer",
    "ForecastMap",
    "Forecaster",
    "ForecasterLike",
    "ForecasterState",
    "GaussianForecast",
    "Moments",
    "StateLike",
    "Validation",
    "explain",
    "forecaster_with_candidates",
    "future_metric",
    "lead_basis",
    "reduced_rank",
]

# Fetched when asked for: the layer brings torch, which a forecaster need not load.
__getattr__ = fetched_from(
    __name__, dict.fromkeys(("FittedForecast", "ForecastLayer"), "hippozoo.layers.forecast_head")
)
