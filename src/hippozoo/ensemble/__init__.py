"""The forecaster one uses: many experts, weighted by how well each has done, with calibrated bands and alarms.

>>> import numpy as np
>>> from hippozoo.ensemble import forecaster_for
>>> forecaster = forecaster_for(24, season=24)
>>> load = np.sin(np.arange(500) * 2 * np.pi / 24)
>>> forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), load))
>>> bool(np.abs(forecast.samples() - np.sin(np.arange(500, 524) * 2 * np.pi / 24)).max() < 0.1)
True
"""

from hippozoo.ensemble.alarm import Alarm
from hippozoo.ensemble.defaults import forecaster_for
from hippozoo.ensemble.detector import Detector, DetectorState, Surprise
from hippozoo.ensemble.explanation import InputEffects, history_weights, input_effects
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.forecaster import EnsembleForecaster
from hippozoo.ensemble.judgement import Pushed
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.seasons import find_seasons
from hippozoo.ensemble.state import EnsembleState, Mixture
from hippozoo.ensemble.stream import ForecastStream

__all__ = [
    "Alarm",
    "Detector",
    "DetectorState",
    "EnsembleForecast",
    "EnsembleForecaster",
    "EnsembleState",
    "ForecastStream",
    "InputEffects",
    "Mixer",
    "Mixture",
    "Pushed",
    "Surprise",
    "find_seasons",
    "forecaster_for",
    "history_weights",
    "input_effects",
]
