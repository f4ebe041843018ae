"""The page without Bokeh: pictures that stand still, for the first columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hippozoo.forecast_command.page import heading, opening, told, verdict_table
from hippozoo.forecast_command.results import Findings
from hippozoo.forecast_command.run import ForecastRun
from hippozoo.pages import Page, shown

__all__ = ["draw", "write_plain_page"]

_DRAWN = 12


def write_plain_page(found: Findings, folder: Path) -> Path:
    """``index.html`` with a picture for each of the first twelve columns."""
    run = found.run
    page = Page(heading(run))
    page.add(opening(found))
    page.add(verdict_table(found, choosable=False))
    for c, name in enumerate(run.columns[:_DRAWN]):
        draw(run, c, folder / f"column-{c + 1}.svg")
        page.add(
            f'<h2 class="name">{shown(name)}</h2><img src="column-{c + 1}.svg" style="width:100%;background:#fff" '
            f'alt="Forecast of {shown(name)} with bands, and its errors by step ahead">'
        )
    if len(run.columns) > _DRAWN:
        page.add(f"<p>{len(run.columns) - _DRAWN} further columns are in forecast.csv.</p>")
    page.add("<p>For pictures to zoom into: <code>pip install 'hippozoo[pages]'</code>.</p>")
    page.add(told(found))
    return page.write(folder / "index.html")


def draw(run: ForecastRun, column: int, path: Path) -> None:
    """One picture: the forecast, and errors by step ahead."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style, write_figure
    from hippozoo.zoo.forecasting.plots import plot_forecast

    horizon, comparison = run.backtest.horizon, run.backtest.compare()
    # A dollar sign in a name is one, and begins no formula.
    name = run.columns[column].replace("$", r"\$")
    with style():
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[2, 1])
        # Missing values stay in: they are gaps, and every other value stands at its own time.
        plot_forecast(run.forecast.channel(column), run.recent[-4 * horizon :, column], ax=left)
        left.set(xlabel="steps from the end of the table", ylabel=name)
        left.legend(ncols=2, fontsize=8)
        for number, (method, errors) in enumerate(({} if comparison is None else comparison.by_step()).items()):
            right.plot(np.arange(1, horizon + 1), errors[:, column], color=f"C{number % 6}", label=method)
        right.set(title="back-test", xlabel="steps ahead", ylabel="mean absolute error", ylim=(0, None))
        if right.lines:
            right.legend(fontsize=8)
        else:
            right.text(0.5, 0.5, "the table is too short", ha="center", va="center", transform=right.transAxes)
            right.set(xticks=[], yticks=[])
        write_figure(figure, path, metadata={"Date": None})
