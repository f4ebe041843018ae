"""Run every section and write the page with its pictures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

from matplotlib.figure import Figure

from hippozoo._internal.files import make_folder
from hippozoo.apps.tour.measured import measure_machine
from hippozoo.apps.tour.page import Shown, render_page
from hippozoo.apps.tour.section import Section, discover_sections, run_section
from hippozoo.plotting import style, write_figure

__all__ = ["write_tour"]

WIDTH = 5.6  # inches: text of 10 points is then legible on a phone and not clumsy on a desk


def write_tour(
    folder: Path | str,
    report: Callable[[str], None] | None = None,
    sections: Sequence[Section] | None = None,
) -> Path:
    """Run the tour and write ``index.html`` and its pictures into `folder`; gives the path of the page.

    Parameters
    ----------
    folder
        Made if it does not exist. Files of other names in it are left alone.
    report
        Called with one line of text after each section.
    sections
        Which ones to show; all of them unless told otherwise.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_tour(folder, sections=[])
    ...     page.name
    'index.html'
    """
    folder = Path(folder)
    pictures = make_folder(make_folder(folder) / "pictures")
    chosen = discover_sections() if sections is None else list(sections)

    shown = []
    for number, section in enumerate(chosen, start=1):
        began = time.perf_counter()
        try:
            shown.append(show_section(section, pictures))
        except Exception as error:
            raise RuntimeError(
                f"section {number} of the tour, {section.title!r}, failed: {type(error).__name__}: {error}"
            ) from error
        if report is not None:
            report(f"{number}/{len(chosen)}  {section.title}: {time.perf_counter() - began:.1f} s")

    page = folder / "index.html"
    # The page appears when everything it shows is there.
    machine = measure_machine() if sections is None else None
    return render_page(shown, folder, machine).write(page)


def show_section(section: Section, pictures: Path) -> Shown:
    """Run one section and draw its picture for light and for dark pages."""
    names = run_section(section)
    numbers = dict(section.measure(names))
    anchor = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")
    for theme in ("light", "dark"):
        with style(dark=theme == "dark"):
            # Without a date the same tour gives the same bytes.
            write_figure(draw_picture(section, names), pictures / f"{anchor}-{theme}.svg", metadata={"Date": None})
    return Shown(
        section=section,
        anchor=anchor,
        light=f"{pictures.name}/{anchor}-light.svg",
        dark=f"{pictures.name}/{anchor}-dark.svg",
        size=(round(96 * WIDTH), round(96 * section.height)),
        caption=section.caption.format(**numbers),
        alt=section.alt.format(**numbers),
        table=section.table(names) if section.table else None,
        sliders=section.sliders(names) if section.sliders else None,
    )


def draw_picture(section: Section, names: SimpleNamespace) -> Figure:
    """The section's picture in the active style."""
    figure = Figure(figsize=(WIDTH, section.height), layout="constrained")
    section.draw(names, figure)
    return figure
