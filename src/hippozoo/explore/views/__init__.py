"""What each tab of the explorer shows, as plain data: made from settings, without a browser, and with its own code."""

from hippozoo.explore.views.associative import AssociativeView
from hippozoo.explore.views.forecasting import ForecastView
from hippozoo.explore.views.memory import MemoryView
from hippozoo.explore.views.multiscale import MultiscaleView
from hippozoo.explore.views.salience import SalienceView
from hippozoo.explore.views.volterra import VolterraView

__all__ = ["AssociativeView", "ForecastView", "MemoryView", "MultiscaleView", "SalienceView", "VolterraView"]
