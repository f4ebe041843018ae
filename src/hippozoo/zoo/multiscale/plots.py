"""Pictures of a multiscale memory: the past at a horizon, where its windows stand, how well the range is covered."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo.memory.plots import plot_memory
from hippozoo.plotting import Axes, axes_or_new, ink
from hippozoo.zoo.multiscale.coverage import Coverage
from hippozoo.zoo.multiscale.memory import MultiscaleMemory

__all__ = ["plot_coverage", "plot_past", "plot_windows"]


def plot_past(
    memory: MultiscaleMemory,
    state: Float[np.ndarray, "order scales"],
    horizon: float,
    signal: Float[np.ndarray, " time"] | None = None,
    *,
    unit: str = "",
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What the state of one channel remembers of the last `horizon`, and beside it the past itself.

    The other arguments are those of `hippozoo.memory.plots.plot_memory`.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = MultiscaleMemory(LegT(order=4, timescale=10.0), longest=100.0)
    >>> ax = plot_past(memory, memory.final(np.ones(50)), 20.0, unit="s")
    >>> ax.get_xlabel(), ax.get_xlim()[0].round(6).item()
    ('lag (s)', 20.0)
    """
    plain = memory.plain(horizon)
    return plot_memory(plain, memory.coefficients(state, horizon), signal, unit=unit, label=label, ax=ax)


def plot_windows(memory: MultiscaleMemory, *, label: str | None = None, ax: Axes | None = None) -> Axes:
    """Which share of the windows is shorter than a timescale; a straight line would be log-uniform.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = MultiscaleMemory(LegT(order=4, timescale=10.0), longest=100.0, construction="bank")
    >>> ax = plot_windows(memory)
    >>> ax.get_xlabel(), len(ax.lines[0].get_xdata())
    ('timescale', 6)
    """
    ax = axes_or_new(ax)
    share = (np.arange(len(memory.windows)) + 0.5) / len(memory.windows)
    ax.plot(memory.windows, share, ".", markersize=4, label=label or memory.construction)
    ax.set(xscale="log", xlabel="timescale", ylabel="share of shorter windows", ylim=(0, 1))
    return ax


def plot_coverage(coverage: Coverage, *, label: str | None = None, ax: Axes | None = None) -> Axes:
    """How far the expected error lies above that of the plain memory, in per cent, across the range.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = MultiscaleMemory(LegT(order=4, timescale=10.0), longest=100.0, construction="bank")
    >>> ax = plot_coverage(memory.coverage())
    >>> ax.get_ylabel()
    'excess error (%)'
    """
    ax = axes_or_new(ax)
    if not ax.lines:
        ax.axhline(0.0, color=ink(), linewidth=0.8)
    rising = coverage.horizons.argsort()
    ax.plot(coverage.horizons[rising], 100 * coverage.excess[rising], label=label)
    ax.set(xscale="log", xlabel="horizon", ylabel="excess error (%)")
    return ax
