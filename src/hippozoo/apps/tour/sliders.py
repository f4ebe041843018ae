"""Pictures with sliders: every answer is worked out when the page is written, and the page only looks it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.apps.pages import Page, colour, json_for_script, new_figure, shown
from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem

__all__ = ["Sliders", "remembered"]

_DT = 0.01  # seconds from sample to sample


@dataclass(frozen=True, eq=False)
class Sliders:
    """A picture of the past of a pressure wave whose order and timescale the reader chooses."""

    signal: Float[np.ndarray, " time"]  #: The wave, one sample every 10 ms.
    kinds: Mapping[str, type[HippoSystem]]  #: The systems that remember it, by label.
    furthest: float  #: The longest lag that is drawn.
    #: What can be chosen.
    orders: Sequence[int]
    timescales: Sequence[float]
    start: tuple[int, int]  #: The order and the timescale to begin with, as places in these lists.

    def add_to(self, page: Page, name: str, alternative: str) -> None:
        """Append the picture, its sliders and a sentence with the error to a page."""
        order, timescale = self.start
        lags = np.linspace(0.0, self.furthest, 301)
        truth = self.signal[::-1][np.minimum(lags / _DT, len(self.signal) - 1).astype(int)]
        figure = new_figure("lag (s)", "pressure (mmHg)", height=320)
        figure.x_range.flipped = True
        tables: dict[str, Any] = {}
        figure.line(lags, truth, line_color=colour("ink"), line_width=3, line_alpha=0.45)
        keys = '<li><i style="border-color:var(--ink)"></i>true past</li>'
        for number, (label, kind) in enumerate(self.kinds.items()):
            values = remembered(kind, self.signal, lags, self.orders, self.timescales, _DT)
            line = figure.line(
                lags, values[order, timescale], line_color=colour(f"C{number}"), line_width=2, name=label
            )
            # Where something is remembered.
            errors = np.round(np.sqrt(np.nanmean((values - truth) ** 2, axis=-1)), 2).tolist()
            rows = [[[None if one != one else one for one in cell] for cell in row] for row in values.round(2).tolist()]
            tables[label] = {"source": line.data_source.id, "values": rows, "errors": errors}
            keys += f'<li><i style="border-color:var(--C{number})"></i>{shown(label)}</li>'
        page.add(
            f'<div class="controls" id="{name}-controls">'
            + _slider(f"{name}-order", "order", [f"{one}" for one in self.orders], order)
            + _slider(f"{name}-timescale", "timescale", [f"{one:g} s" for one in self.timescales], timescale)
            + f'</div><p class="quiet" id="{name}-said" aria-live="polite"></p><ul class="keys">{keys}</ul>'
        )
        page.add_picture(figure, alternative, name=f"{name}-picture")
        script = (Path(__file__).parent / "sliders.js").read_text(encoding="utf-8")
        page.add_script(script.replace("NAME", name).replace("TABLES", json_for_script(tables)))


def _slider(name: str, label: str, choices: Sequence[str], value: int) -> str:
    return (
        f'<label for="{name}">{label}: <output id="{name}-shown">{shown(choices[value])}</output>'
        f'<input type="range" id="{name}" min="0" max="{len(choices) - 1}" value="{value}" step="1" '
        f'data-choices="{shown(json_for_script(choices))}"></label>'
    )


def remembered(
    kind: type[HippoSystem],
    signal: Float[np.ndarray, " time"],
    lags: Float[np.ndarray, " lags"],
    orders: Sequence[int],
    timescales: Sequence[float],
    dt: float,
) -> Float[np.ndarray, "orders timescales lags"]:
    """What memories of one kind hold of a signal, at every order and timescale; NaN beyond a window."""
    found = np.full((len(orders), len(timescales), len(lags)), np.nan)
    for i, order in enumerate(orders):
        for j, timescale in enumerate(timescales):
            memory = Memory(kind(order, timescale), dt=dt)
            inside = lags <= memory.system.window
            found[i, j, inside] = memory.reconstruct(memory.final(signal), lags[inside])
    return found
