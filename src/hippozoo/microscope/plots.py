"""Pictures of what models remember: one line or bar per view, all on the same axes; exact curves in the text's ink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from hippozoo.microscope.results import ClassProfile
from hippozoo.microscope.view import View
from hippozoo.plotting import axes_or_new, ink

__all__ = ["plot_capacity", "plot_coefficients", "plot_profile"]

Views = Mapping[str, View] | View
Kind = Literal["profile", "partial", "nonlinear", "sensitivity"]


def named(views: Views) -> Mapping[str, View]:
    """Views by name; a single view has its own."""
    return {views.name: views} if isinstance(views, View) else views


def line(ax: Axes, found: Any, number: int, label: str) -> None:
    """One profile with its band."""
    lags = np.arange(len(found))
    ax.fill_between(lags, found.low, found.high, color=f"C{number % 6}", alpha=0.25, lw=0)
    ax.plot(lags, found.value, color=f"C{number % 6}", label=label)


def plot_profile(views: Views, kind: Kind = "profile", ax: Axes | None = None) -> Axes:
    """R² by lag (bits for tokens) or sensitivity by lag, with 95 % bands; closed forms dashed where there are any.

    Parameters
    ----------
    views
        A view, several by name (before and after training, say), a `Comparison`, or ``view.by_layer``.
    kind
        ``"profile"``, ``"partial"``, ``"nonlinear"`` or ``"sensitivity"``, the measure of the effective history.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.microscope import look
    >>> from hippozoo.systems import LegT
    >>> ax = plot_profile(look(LegT(4, 8.0), "noise", 12), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'lag (samples)'
    """
    ax = axes_or_new(ax)
    for number, (name, view) in enumerate(named(views).items()):
        line(ax, getattr(view, kind), number, name)
        if kind in ("profile", "sensitivity") and view.exact is not None:
            ax.plot(view.exact, "--", color=ink(), lw=1, label=f"{name}, exact")
    is_tokens = any(isinstance(view.profile, ClassProfile) for view in named(views).values())
    if kind == "sensitivity":  # of nonlinear models it reaches over decades
        ax.set_yscale("log")
    said = {"sensitivity": "sensitivity", "partial": "partial R²"}.get(kind, "R² of the past sample")
    ax.set(xlabel="lag (samples)", ylabel="readable (bits)" if is_tokens else said)
    ax.legend()
    return ax


def plot_capacity(views: Views, ax: Axes | None = None) -> Axes:
    """Samples held by degree, stacked, with the size of the state as a tick; noise probes only.

    Examples
    --------
    >>> from hippozoo.microscope import look
    >>> from hippozoo.systems import LegT
    >>> plot_capacity(look(LegT(4, 8.0), "noise", lags=8, sequences=20)).get_ylabel()
    'samples and products held'
    """
    ax = axes_or_new(ax)
    shown = named(views)
    bottom = np.zeros(len(shown))
    for degree in (1, 2, 3):
        held = np.array([max(view.degrees[degree].value, 0.0) for view in shown.values()])
        ax.bar(np.arange(len(shown)), held, 0.6, bottom, color=f"C{degree - 1}", label=f"degree {degree}")
        bottom += held
    sizes = [view.size for view in shown.values()]
    ax.plot(np.arange(len(shown)), sizes, "_", color=ink(), ms=22, label="numbers in the state")
    ax.set_xticks(np.arange(len(shown)), list(shown))
    ax.set(ylabel="samples and products held")
    ax.legend()
    return ax


def plot_coefficients(views: Views, system: Any, ax: Axes | None = None) -> Axes:
    """R² of each coefficient of a memory, read off each state.

    Examples
    --------
    >>> from hippozoo.microscope import look
    >>> from hippozoo.systems import LegT
    >>> plot_coefficients(look(LegT(4, 8.0), "noise", lags=8, sequences=20), LegT(4, 8.0)).get_ylabel()
    'R²'
    """
    ax = axes_or_new(ax)
    for number, (name, view) in enumerate(named(views).items()):
        line(ax, view.coefficients(system), number, name)
    ax.set(xlabel=f"coefficient of {system!r}", ylabel="R²")
    ax.legend()
    return ax
