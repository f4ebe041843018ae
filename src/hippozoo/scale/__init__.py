"""Many series, long series and sweeps on Dask, an engine that people already run.

A memory is a monoid and the statistics of a forecaster add up. So states are exact and fits are equal to merging in one
process, whatever the partitions, the workers or the order in which they finish. ``pip install 'hippozoo[dask]'``.
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.scale.cluster import connect as connect
    from hippozoo.scale.fit import fit_forecaster as fit_forecaster
    from hippozoo.scale.panel import forecast_panel as forecast_panel
    from hippozoo.scale.series_states import states as states

__all__ = ["connect", "fit_forecaster", "forecast_panel", "states"]

# Fetched when asked for: a worker that computes units need not load the forecasters.
__getattr__ = fetched_from(
    __name__,
    {
        "connect": "hippozoo.scale.cluster",
        "fit_forecaster": "hippozoo.scale.fit",
        "forecast_panel": "hippozoo.scale.panel",
        "states": "hippozoo.scale.series_states",
    },
)
