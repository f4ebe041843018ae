"""The run of a file, as the command makes it, for tests that look into it."""

from hippozoo.apps.forecast.inputs import InputNames
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.reading import Reading
from hippozoo.apps.forecast.result import learn
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
    return learn(path, reading, chosen, future, progress).run
