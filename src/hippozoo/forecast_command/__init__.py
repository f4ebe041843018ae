"""``hippozoo forecast``: learn a table in one pass, forecast what comes next, and show how good that is."""

from hippozoo.forecast_command.page import write_page
from hippozoo.forecast_command.results import summarise, verdicts, write_csv
from hippozoo.forecast_command.run import ForecastRun, forecast_table

__all__ = ["ForecastRun", "forecast_table", "summarise", "verdicts", "write_csv", "write_page"]
