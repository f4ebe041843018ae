"""What each tab of the explorer shows, as plain data: made from settings, without a browser, and with its own code."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.explore.views.associative import AssociativeView
    from hippozoo.apps.explore.views.forecasting import ForecastView
    from hippozoo.apps.explore.views.memory import MemoryView
    from hippozoo.apps.explore.views.multiscale import MultiscaleView
    from hippozoo.apps.explore.views.salience import SalienceView
    from hippozoo.apps.explore.views.volterra import VolterraView

__all__ = ["AssociativeView", "ForecastView", "MemoryView", "MultiscaleView", "SalienceView", "VolterraView"]

# The first view must not wait for what only the others need, torch above all.
_HOMES = {
    "AssociativeView": "associative",
    "ForecastView": "forecasting",
    "MemoryView": "memory",
    "MultiscaleView": "multiscale",
    "SalienceView": "salience",
    "VolterraView": "volterra",
}
__getattr__ = fetched_from(__name__, {name: f"{__name__}.{module}" for name, module in _HOMES.items()})
