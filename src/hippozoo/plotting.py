"""One look for every picture: colours that the colour-blind tell apart, on light and on dark pages.

Only ``plots.py`` modules, the tour and the reports import this module, so that matplotlib loads where
something is drawn and nowhere else. Plots name their colours ``"C0"``, ``"C1"``, …, and take the colour of
the text for the truth; whichever style is active then decides what these are.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from hippozoo._internal.colours import DARK, FAINT, INK, LIGHT, PAPER
from hippozoo._internal.extras import needs
from hippozoo._internal.files import write_whole

needs("matplotlib", extra="plot", feature="a picture")

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch as Patch

__all__ = ["axes_or_new", "ink", "style", "write_figure"]


@contextmanager
def style(dark: bool = False) -> Iterator[None]:
    """Draw in the project's look inside this block; outside, the user's own settings stay as they are.

    Examples
    --------
    >>> with style(dark=True):
    ...     print(ink())
    #e4e8ec
    """
    theme = "dark" if dark else "light"
    settings = {
        "axes.prop_cycle": cycler(color=DARK if dark else LIGHT),
        "axes.edgecolor": INK[theme],
        "axes.facecolor": PAPER[theme],
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.labelcolor": INK[theme],
        "axes.labelsize": 10,
        "axes.titlesize": 10.5,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.facecolor": PAPER[theme],
        "font.size": 10,
        "grid.color": FAINT[theme],
        "grid.linewidth": 0.5,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "savefig.facecolor": PAPER[theme],
        "text.color": INK[theme],
        "xtick.color": INK[theme],
        "ytick.color": INK[theme],
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        # Same input, same bytes: identifiers inside an SVG are otherwise random.
        "svg.hashsalt": "hippozoo",
    }
    with mpl.rc_context(cast(Any, settings)):
        yield


def ink() -> str:
    """The colour of text in the active style, in which the truth is drawn beside what is remembered of it.

    Examples
    --------
    >>> with style():
    ...     print(ink())
    #1c2126
    """
    return str(mpl.rcParams["text.color"])


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> axes_or_new(ax) is ax
    True
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # here, because it picks a display and only this path needs one

    return plt.subplots(layout="constrained")[1]


def write_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Write a picture whole or not at all; its format is the path's ending, the options are matplotlib's.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from matplotlib.figure import Figure
    >>> with TemporaryDirectory() as folder:
    ...     write_figure(Figure(), Path(folder) / "empty.svg", metadata={"Date": None})
    ...     (Path(folder) / "empty.svg").read_text()[:5]
    '<?xml'
    """
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.removeprefix("."), **options)
    write_whole(path, content.getvalue())
