"""``hippozoo forecast``: learn a table in one pass, forecast what comes next, and show how good that is."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.forecast.result import ForecastResult, forecast

__all__ = ["ForecastResult", "forecast"]

# Fetched when asked for: the command's help needs none of it.
__getattr__ = fetched_from(__name__, dict.fromkeys(__all__, f"{__name__}.result"))
