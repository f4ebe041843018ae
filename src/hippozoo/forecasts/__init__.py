"""What the paper's forecaster and the ensemble share: what a forecast and a forecaster answer, and their arguments."""

from hippozoo.forecasts.forecast import Forecast
from hippozoo.forecasts.forecaster import ForecasterLike, StateLike

__all__ = ["Forecast", "ForecasterLike", "StateLike"]
