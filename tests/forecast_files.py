"""The run of a file, as the command makes it, for tests that look into it."""

from pathlib import Path

from hippozoo.apps.forecast.inputs import InputNames
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.reading import Reading, learn_table, run_of_table
from hippozoo.tables import CHUNK_ROWS


def forecast_table(
    path, columns=(), time=None, horizon=None, every=None, season=None, progress=lambda fraction: None, *,
    rows_are_steps=False, chunk_rows=CHUNK_ROWS, panel=(), inputs=None, future=None, **choices,
):  # fmt: skip
    """Arguments as of `Reading` and `Choices`."""
    names = InputNames() if inputs is None else inputs
    if panel:
        choices["together"] = "panel"
    chosen = Choices(horizon, every, season, inputs=names, **choices)
    reading = Reading(tuple(columns), time, rows_are_steps, tuple(panel), names.columns, chunk_rows)
    learner, table = learn_table(path, reading, chosen, progress, future=future)
    return run_of_table(learner, table, Path(path).name)
