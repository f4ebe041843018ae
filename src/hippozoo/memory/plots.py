"""Pictures of a memory: what it holds of the past, what counts as past, and the functions it is made of.

Time runs from left to right: the present, lag 0, is on the right. A sample is held until the next one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo.discretise import checked_steps
from hippozoo.memory.growing import GrowingMemory, GrowingState
from hippozoo.memory.memory import Memory
from hippozoo.plotting import Axes, axes_or_new, ink
from hippozoo.systems import HippoSystem

__all__ = ["plot_basis", "plot_memory", "plot_weight"]

Lags = Float[np.ndarray, " lags"] | Sequence[float]

FADING_SPAN = 5.0  # timescales of a fading memory to draw: 99.3 % of an exponential weight
POINTS = 1001


def plot_memory(
    memory: Memory | GrowingMemory | HippoSystem,
    state: Float[np.ndarray, " order"] | GrowingState,
    signal: Float[np.ndarray, " time"] | None = None,
    *,
    dt: Float[np.ndarray, " time"] | float | None = None,
    lags: Lags | None = None,
    unit: str = "",
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What `state` remembers of the past, and beside it the past itself.

    Parameters
    ----------
    memory, state
        The system or memory, and a state of one channel.
    signal
        The samples seen, the newest last; the more of them, the further the true past reaches.
    dt
        How long each sample was held: one number or one per sample; by default the step of a `Memory`, else 1.
    lags
        Which lags to show; by default the window, the age of a growing memory, or five timescales of a fading one.
    unit, label
        Of time, for the axis (``"s"``), and of the remembered curve in the legend.
    ax
        Axes to draw into; call again with the same ones to compare memories.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> ax = Figure().subplots()
    >>> ax = plot_memory(LegT(order=2, timescale=4.0), np.array([1.0, 0.0]), np.ones(4), unit="s", ax=ax)
    >>> ax.get_xlabel(), tuple(float(lag) for lag in ax.get_xlim())
    ('lag (s)', (4.0, 0.0))
    """
    reader = memory if isinstance(memory, GrowingMemory) else _system_of(memory)
    # A state of another kind has no age; `reconstruct` says so better than an AttributeError would.
    window = reader.window if isinstance(reader, HippoSystem) else getattr(state, "elapsed", 0.0)
    if lags is None:
        lags = _all_lags(reader) if isinstance(reader, HippoSystem) else np.linspace(0.0, window, POINTS)
    lags = _checked_lags(lags)
    within = lags[lags <= window]
    remembered = reader.reconstruct(cast(Any, state), within)
    if remembered.ndim != 1:
        growing = isinstance(state, GrowingState)
        shape = np.shape(state.coefficients if growing else state)
        one = "GrowingState(state.coefficients[0], state.elapsed)" if growing else "state[0]"
        raise ValueError(
            f"state has shape {shape}, but a plot shows one channel at one time; pass one of them, for example {one}."
        )
    ax = axes_or_new(ax)
    if signal is not None:
        if dt is None:
            dt = memory.dt if isinstance(memory, Memory) else 1.0
        values, edges = _cells(real_array("signal", signal), checked_steps(dt), float(lags.max()))
        ax.stairs(values, edges, baseline=None, color=ink(), linewidth=2.4, alpha=0.5, label="true past")
    ax.plot(within, remembered, label=label or f"{reader.order} numbers")
    return _lag_axis(ax, lags, unit)


def plot_weight(
    system: HippoSystem | Memory,
    *,
    lags: Lags | None = None,
    unit: str = "",
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How much accuracy at each lag counts to the memory; the area below the curve is 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> ax = plot_weight(LegT(order=8, timescale=4.0), ax=Figure().subplots())
    >>> float(ax.lines[0].get_ydata().max())
    0.25
    """
    system = _system_of(system)
    if lags is None:
        lags = _all_lags(system)
        if math.isfinite(system.window):  # and the edge, beyond which there is nothing
            lags = np.append(lags, [np.nextafter(system.window, math.inf), 1.25 * system.window])
    lags = _checked_lags(lags)
    weight = system.weight(lags)
    ax = axes_or_new(ax)
    (line,) = ax.plot(lags, weight, label=label)
    ax.fill_between(lags, weight, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"weight (1/{unit})" if unit else "weight")
    return _lag_axis(ax, lags, unit)


def plot_basis(
    system: HippoSystem | Memory,
    functions: int = 5,
    *,
    lags: Lags | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The first basis functions: the shapes whose sum is the remembered past.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> ax = plot_basis(LegT(order=8, timescale=1.0), 3, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['n = 0', 'n = 1', 'n = 2']
    """
    functions = whole_number("functions", functions)
    system = _system_of(system)
    lags = _checked_lags(_all_lags(system) if lags is None else lags)
    basis = system.basis(lags)
    ax = axes_or_new(ax)
    for n, values in enumerate(basis.T[:functions]):
        ax.plot(lags, values, label=f"n = {n}")
    ax.set_ylabel("basis function")
    return _lag_axis(ax, lags, unit)


def _system_of(memory: Any) -> HippoSystem:
    system = memory.system if isinstance(memory, Memory) else memory
    if not isinstance(system, HippoSystem):
        raise TypeError(
            f"{shorten(memory)} is neither a system nor a Memory; pass one, for example LegT(order=8, timescale=100.0)."
        )
    return system


def _checked_lags(lags: Any) -> Float[np.ndarray, " lags"]:
    checked = real_array("lags", lags)
    if checked.ndim != 1 or not checked.size:
        raise ValueError(f"lags has shape {checked.shape}; pass at least one lag, as (lags,).")
    return checked


def _all_lags(system: HippoSystem) -> Float[np.ndarray, " lags"]:
    """From the present to the end of the window, or to where a fading past no longer matters."""
    span = system.window if math.isfinite(system.window) else FADING_SPAN * system.timescale
    return np.linspace(0.0, span, POINTS)


def _cells(
    signal: Float[np.ndarray, " time"], dt: Float[np.ndarray, "*time"], furthest: float
) -> tuple[Float[np.ndarray, " cells"], Float[np.ndarray, " edges"]]:
    """Values and edges of the cells of lags that the samples fill, the newest first, up to a lag."""
    if signal.ndim != 1:
        raise ValueError(f"signal has shape {signal.shape}; a plot shows one channel, pass (time,).")
    if dt.shape not in ((), signal.shape):
        raise ValueError(f"dt has shape {dt.shape}, but the signal {signal.shape}; pass one step or one per sample.")
    edges = np.concatenate([[0.0], np.cumsum(np.broadcast_to(dt, signal.shape)[::-1])])
    seen = int(np.searchsorted(edges[:-1], furthest))
    return signal[::-1][:seen], np.minimum(edges[: seen + 1], furthest)


def _lag_axis(ax: Axes, lags: Float[np.ndarray, " lags"], unit: str) -> Axes:
    ax.set_xlabel(f"lag ({unit})" if unit else "lag")
    ax.set_xlim(float(lags.max()), float(lags.min()))
    return ax
