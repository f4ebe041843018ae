"""``hippozoo forecast``: learn a table in one pass, forecast what comes next, and show how good that is."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.forecast.files import write_csv
    from hippozoo.apps.forecast.page import write_page
    from hippozoo.apps.forecast.result import ForecastResult, forecast
    from hippozoo.apps.forecast.results import summarise, verdicts
    from hippozoo.apps.forecast.run import ForecastRun, forecast_table

__all__ = [
    "ForecastResult",
    "ForecastRun",
    "forecast",
    "forecast_table",
    "summarise",
    "verdicts",
    "write_csv",
    "write_page",
]

# Fetched when asked for: the command's help needs none of it.
_HOMES = {
    "files": ("write_csv",),
    "page": ("write_page",),
    "result": ("ForecastResult", "forecast"),
    "results": ("summarise", "verdicts"),
    "run": ("ForecastRun", "forecast_table"),
}
__getattr__ = fetched_from(__name__, {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names})
