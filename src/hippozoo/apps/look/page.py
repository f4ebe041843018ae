"""The page of a comparison: the same picture for all models on the same axes, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.apps.pages import Page, colour, copyable_table, json_for_script, new_figure, shown
from hippozoo.microscope import Comparison

__all__ = ["write_page"]

Lines = Mapping[str, Mapping[str, Sequence[float | None]]]
# Sensitivities below this are drawn as this.
LEAST = 1e-4
STYLE = "button.data{margin:.6rem 0}"
# The button hands out the numbers that stand in the page.
DOWNLOAD = """
document.querySelector("button.data").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(NUMBERS, null, 1)], {type: "application/json"}));
  link.download = "memory.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
"""


def write_page(comparison: Comparison, path: str | Path, title: str) -> Path:
    """Write the page of a comparison, whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.microscope import compare
    >>> from hippozoo.systems import LegT
    >>> with TemporaryDirectory() as folder:
    ...     path = write_page(compare({"window": LegT(4, 8.0)}, "noise", 8), f"{folder}/memory.html", "Memory")
    ...     "What each state holds" in path.read_text(encoding="utf-8")
    True
    """
    numbers = comparison.numbers()
    page = Page(title)
    page.add_style(STYLE)
    page.add(f"<p>{shown(_summary(comparison))}</p>")
    head, *rows = comparison.rows()
    page.add(copyable_table("What each state holds", head, rows, name="held"))
    if comparison.is_white:
        page.add(copyable_table("The plain memory that remembers most alike", *_nearest(numbers), name="nearest"))
    what = "bits that can be read of the token" if comparison.is_tokens else "R² of the past sample"
    page.add("<h2>What can be read of the past</h2><p>Bands are 95 %; a click on a name hides its line.</p>")
    exact = {name: one["exact"] for name, one in numbers.items() if one.get("exact")}
    _add_lines(page, "profile", "lag (samples)", what, {name: one["profile"] for name, one in numbers.items()}, exact)
    for key, heading, text, label in (
        (
            "nonlinear",
            "By a nonlinear readout",
            "Not linearly readable is not forgotten: the same with random nonlinear functions of the state.",
            what,
        ),
        (
            "partial",
            "Beyond the present sample",
            "What the state adds to the present sample; the rest is the input's own correlation.",
            "partial R²",
        ),
        (
            "sensitivity",
            "The effective history",
            "How far the state moves, in units of its own spread, when a past sample does. For a linear memory under "
            "white noise this is its profile.",
            "sensitivity",
        ),
    ):
        found = {name: one[key] for name, one in numbers.items() if key in one}
        if found:
            page.add(f"<h2>{shown(heading)}</h2><p>{shown(text)}</p>")
            _add_lines(page, key, "lag (samples)", label, found, exact if key == "sensitivity" else {})
    if not comparison.is_tokens:
        text = f"R² with which the coefficients of {comparison.memory!r}, a window as long as the lags, can be read."
        page.add(f"<h2>Coefficients</h2><p>{shown(text)}</p>")
        found = {name: one["coefficients"] for name, one in numbers.items()}
        _add_lines(page, "coefficients", "coefficient", "R² of the coefficient", found, {})
    if comparison.is_white:
        text = "Products of past samples that can be read off the state; a dash marks the numbers it has."
        page.add(f"<h2>Capacity by degree</h2><p>{text}</p>")
        _add_degrees(page, numbers)
    for number, (name, one) in enumerate(numbers.items()):
        if "by_layer" in one:
            page.add(f"<h2>{shown(name)}, layer by layer</h2>")
            profiles = {part: layer["profile"] for part, layer in one["by_layer"].items()}
            _add_lines(page, f"layers{number}", "lag (samples)", what, profiles, {})
    page.add("<h2>Notes</h2>" + "".join(f"<p>{shown(note)}</p>" for note in _notes(numbers)))
    page.add('<button type="button" class="data">Save the numbers (JSON)</button>')
    page.add_script(f"const NUMBERS={json_for_script(numbers)};{DOWNLOAD}")
    return page.write(path)


def _summary(comparison: Comparison) -> str:
    view = next(iter(comparison.values()))
    batch, moments = view.states.features.shape[:2]
    kinds = {"noise": "normal noise", "uniform": "uniform noise", None: "your data"}
    given = "tokens" if comparison.is_tokens else kinds[view.asked.probe]
    models = "1 model" if len(comparison) == 1 else f"{len(comparison)} models"
    return (
        f"{models} on {given}: {batch} sequences, the state seen at {moments} moments of each. "
        "Readouts are fitted on four fifths of the sequences and scored on the others."
    )


def _nearest(numbers: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = [[name, one["as_system"]["text"], f"{one['as_system']['canonical']:.2f}"] for name, one in numbers.items()]
    return ["model", "remembers", "share of that memory's state held"], rows


def _notes(numbers: Mapping[str, Any]) -> list[str]:
    found: dict[str, list[str]] = {}
    for name, one in numbers.items():
        for note in one["notes"]:
            found.setdefault(note, []).append(name)
    return [note if len(names) == len(numbers) else f"{', '.join(names)}: {note}" for note, names in found.items()]


def _add_lines(
    page: Page, name: str, x_label: str, y_label: str, lines: Lines, exact: Mapping[str, Sequence[float]]
) -> None:
    from bokeh.models import HoverTool

    # Sensitivities of nonlinear models reach over decades.
    is_log = name == "sensitivity"
    # A long band at a lag where nothing is left would squeeze all others.
    least = LEAST if is_log else -0.2
    # The legend stands below, and takes a line for each name.
    height = 300 + 26 * (len(lines) + len(exact))
    figure = new_figure(x_label, y_label, height=height, y_axis_type="log" if is_log else "auto")
    hover = []
    for number, (label, found) in enumerate(lines.items()):
        value, low, high = (np.array(found[key], float) for key in ("value", "low", "high"))
        lags, role = np.arange(len(value)), colour(f"C{number % 6}")
        kept = np.isfinite(value)
        source = {"lag": lags[kept], "value": value[kept], "model": [label] * int(kept.sum())}
        if is_log:
            source["value"] = np.maximum(source["value"], LEAST)
        low, high = (np.maximum(limit[kept], least) for limit in (low, high))
        figure.varea(lags[kept], low, high, fill_color=role, fill_alpha=0.2, legend_label=label)
        drawn = figure.line("lag", "value", source=source, line_color=role, line_width=2, legend_label=label)
        hover.append(drawn)
        if label in exact:
            drawn = np.maximum(exact[label], least)
            figure.line(lags, drawn, line_color=colour("ink"), line_dash="dashed", legend_label=f"{label}, exact")
    figure.add_tools(
        HoverTool(renderers=hover, tooltips=[("model", "@model"), ("lag", "@lag"), (y_label, "@value{0.000}")])
    )
    figure.legend.click_policy = "hide"
    figure.add_layout(figure.legend[0], "below")
    figure.legend[0].location = "top_left"
    means = ", ".join(f"{label}: {_first(found['value'])}" for label, found in lines.items())
    page.add_picture(figure, f"{y_label} by {x_label}; at the first lags {means}", name=name)


def _first(values: Sequence[float | None]) -> str:
    return " ".join("–" if value is None else f"{value:.2f}" for value in values[:4])


def _add_degrees(page: Page, numbers: Mapping[str, Any]) -> None:
    names = list(numbers)
    figure = new_figure("samples and products held", y_range=names[::-1], height=120 + 46 * len(names))
    left = np.zeros(len(names))
    for degree in ("1", "2", "3"):
        held = np.array([max(0.0, numbers[name]["degrees"][degree]["value"]) for name in names])
        role = colour(f"C{int(degree) - 1}")
        figure.hbar(names, 0.6, left + held, left, fill_color=role, line_color=role, legend_label=f"degree {degree}")
        left = left + held
    sizes = [numbers[name]["size"] for name in names]
    if max(sizes) < 20 * max(left.max(), 1.0):  # a state of thousands of numbers would leave no room for the bars
        figure.scatter(sizes, names, marker="dash", angle=np.pi / 2, size=24, line_color=colour("ink"))
    figure.add_layout(figure.legend[0], "below")
    figure.legend[0].orientation, figure.legend[0].location = "horizontal", "top_left"
    said = "; ".join(f"{name} {total:.1f}" for name, total in zip(names, left, strict=True))
    page.add_picture(figure, f"capacity of degrees one to three together: {said}", name="degrees")
