"""Pictures of kernels and of learning: arrays in, axes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array
from hippozoo.plotting import Axes, axes_or_new, ink

__all__ = ["plot_kernel", "plot_kernels", "plot_learning", "plot_nonlinearity"]


def plot_kernel(
    kernel: Float[np.ndarray, " lags"] | Float[np.ndarray, "lags lags"],
    dt: float = 1.0,
    *,
    unit: str = "",
    limit: float | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A kernel over the lags: a line (first degree) or a heat map with zero in the middle (second degree).

    Parameters
    ----------
    kernel
        (lags,) or (lags, lags). Of a third-degree kernel draw a slice, ``kernel[j]``.
    dt, unit
        Time between samples, and its unit, for the labels; lag j stands for the cell from j dt to (j + 1) dt.
    limit
        Value at the ends of the colour scale; the largest of this kernel by default. Kernels to be compared share it.
    label, ax
        For the legend of a line, the title of a map; and where to draw.

    Examples
    --------
    >>> ax = plot_kernel(np.outer([0.0, 1.0, 0.5], [0.0, 1.0, 0.5]), dt=0.1)
    >>> ax.images[0].get_clim()
    (-1.0, 1.0)
    """
    values = real_array("kernel", kernel)
    ax = axes_or_new(ax)
    lag = f"lag ({unit})" if unit else "lag"
    if values.ndim == 1:
        ax.stairs(values, np.arange(len(values) + 1) * dt, label=label)
        ax.set(xlabel=lag, ylabel="kernel")
        return ax
    if values.ndim != 2:
        raise ValueError(f"kernel has shape {values.shape}; pass (lags,) or (lags, lags), or a slice of yours.")
    top = float(np.abs(values).max()) or 1.0 if limit is None else limit
    end = values.shape[0] * dt
    ax.imshow(values, cmap="RdBu_r", vmin=-top, vmax=top, origin="lower", extent=(0, end, 0, end), rasterized=True)
    ax.set(xlabel=lag, ylabel=lag)
    ax.grid(False)
    if label:
        ax.set_title(label)
    return ax


def plot_kernels(
    kernels: Mapping[str, Float[np.ndarray, "lags lags"]],
    dt: float = 1.0,
    *,
    axes: Any,
    unit: str = "",
    bar: bool = True,
) -> Any:
    """Kernels by title, side by side on one colour scale, the first one's.

    `axes` are one for each kernel, and `bar` draws the colour scale beside the last; the rest as in `plot_kernel`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots(1, 2)
    >>> _ = plot_kernels({"true": np.eye(3), "inferred": 0.9 * np.eye(3)}, axes=axes)
    >>> axes[1].images[0].get_clim()
    (-1.0, 1.0)
    """
    limit = float(np.abs(next(iter(kernels.values()))).max()) or 1.0
    for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
        plot_kernel(kernel, dt, unit=unit, limit=limit, label=title, ax=ax)
    if bar:
        last = axes[-1]
        last.figure.colorbar(last.images[0], ax=list(axes), shrink=0.85, label="kernel")
    return axes


def plot_learning(
    curves: Mapping[str, tuple[Float[np.ndarray, " points"], Float[np.ndarray, "seeds points"]]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Cumulative error against samples on log-log axes: mean over seeds, and its standard error as a band.

    Curves are given by name: after how many samples, and the cumulative squared errors there, one row per seed.

    Examples
    --------
    >>> ax = plot_learning({"ours": (np.array([1.0, 10.0]), np.array([[1.0, 2.0], [1.0, 4.0]]))})
    >>> ax.lines[0].get_ydata().tolist()
    [1.0, 3.0]
    """
    ax = axes_or_new(ax)
    for number, (name, (steps, rows)) in enumerate(curves.items()):
        colour = f"C{number}"
        mean = rows.mean(axis=0)
        ax.loglog(steps, mean, color=colour, label=name)
        if len(rows) > 1:
            sem = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
            # A logarithmic axis has no room for a band that reaches zero.
            ax.fill_between(steps, np.maximum(mean - sem, mean / 10), mean + sem, color=colour, alpha=0.25, linewidth=0)
    ax.set(xlabel="samples", ylabel="cumulative squared error")
    ax.legend()
    return ax


def plot_nonlinearity(
    inputs: Float[np.ndarray, " points"],
    outputs: Float[np.ndarray, " points"],
    seen: Float[np.ndarray, " samples"] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """A static nonlinearity, outputs against inputs; below it, the share of `seen` values at each place.

    Examples
    --------
    >>> ax = plot_nonlinearity(np.array([-1.0, 0.0, 1.0]), np.array([-0.5, 0.0, 1.0]))
    >>> len(ax.lines)
    2
    """
    ax = axes_or_new(ax)
    ax.plot(inputs, outputs, color="C0")
    slope = np.interp(0.0, inputs, np.gradient(outputs, inputs))
    ax.plot(inputs, np.interp(0.0, inputs, outputs) + slope * inputs, color=ink(), linewidth=0.8, linestyle=":")
    if seen is not None:
        low, high = ax.get_ylim()
        counts, edges = np.histogram(seen, bins=60, range=(float(inputs[0]), float(inputs[-1])))
        ax.stairs(low + 0.2 * (high - low) * counts / counts.max(), edges, baseline=low, fill=True, alpha=0.25)
        ax.set_ylim(low, high)
    ax.set(xlabel="before the nonlinearity", ylabel="after it")
    return ax
