"""One look for every picture: colours that the colour-blind tell apart, on light and on dark pages.

Only ``plots.py`` modules, the tour and the reports import this module, so that matplotlib loads where
something is drawn and nowhere else. Plots name their colours ``"C0"``, ``"C1"``, …, and take the colour of
the text for the truth; whichever style is active then decides what these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes

__all__ = ["axes_or_new", "ink", "style"]

# After Okabe and Ito (2008): blue, vermilion, bluish green, reddish purple, orange, sky blue; darkened or
# lightened until each has a contrast of at least 3 to its page, which is what WCAG asks of lines in a figure.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5598c", "#b87f00", "#2f8fce")
DARK = ("#4aa8e8", "#f0803c", "#2fc79b", "#e09bc0", "#e8b23a", "#9ad3f5")
INK = {"light": "#1c2126", "dark": "#e4e8ec"}
PAPER = {"light": "#ffffff", "dark": "#14181d"}
FAINT = {"light": "#d5dade", "dark": "#3a424b"}


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
    """The colour of text in the active style, in which the truth is drawn beside what is remembered of it."""
    return str(mpl.rcParams["text.color"])


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # here, because it picks a display and only this path needs one

    return plt.subplots(layout="constrained")[1]
