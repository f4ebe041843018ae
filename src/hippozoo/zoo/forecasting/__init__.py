"""Forecasting HiPPO: streaming forecasts of reduced rank, with their uncertainty and the past that they use."""

from hippozoo.zoo.forecasting.alarm import Alarm
from hippozoo.zoo.forecasting.alarms import Detector, DetectorState, Surprise
from hippozoo.zoo.forecasting.candidates import Candidate
from hippozoo.zoo.forecasting.defaults import forecaster_for
from hippozoo.zoo.forecasting.delay import DelayLine
from hippozoo.zoo.forecasting.detail import Detail
from hippozoo.zoo.forecasting.explanation import Explanation, explain
from hippozoo.zoo.forecasting.forecast import Forecast
from hippozoo.zoo.forecasting.forecaster import Forecaster
from hippozoo.zoo.forecasting.future import future_metric, lead_basis
from hippozoo.zoo.forecasting.history_weights import history_weights
from hippozoo.zoo.forecasting.mixed_forecast import MixedForecast
from hippozoo.zoo.forecasting.mixture import Mixer, Mixture
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, reduced_rank
from hippozoo.zoo.forecasting.seasons import find_seasons
from hippozoo.zoo.forecasting.state import ForecasterState, Validation
from hippozoo.zoo.forecasting.stream import ForecastStream, Pushed

__all__ = [
    "Alarm",
    "Detector",
    "DetectorState",
    "ForecastStream",
    "Pushed",
    "Surprise",
    "Candidate",
    "DelayLine",
    "Detail",
    "Explanation",
    "Forecast",
    "ForecastMap",
    "Forecaster",
    "ForecasterState",
    "MixedForecast",
    "Mixer",
    "Mixture",
    "Moments",
    "Validation",
    "explain",
    "find_seasons",
    "forecaster_for",
    "future_metric",
    "history_weights",
    "lead_basis",
    "reduced_rank",
]
