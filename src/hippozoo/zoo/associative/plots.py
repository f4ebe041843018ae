"""Arrays to axes: episodes, addresses, gates, the bank before and after a write, the kernel, capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from hippozoo.plotting import Axes, axes_or_new, ink
from hippozoo.polynomials import OrthonormalFamily
from hippozoo.zoo.associative.capacity import CapacityCurve

__all__ = [
    "plot_addresses",
    "plot_capacity",
    "plot_episode",
    "plot_gates",
    "plot_kernel",
    "plot_recall_matrix",
    "plot_write",
]


def plot_episode(labels: Sequence[str], answers: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Input and target, step by step: the schematic of the task.

    `answers` are empty where nothing is to be said.

    Examples
    --------
    >>> ax = plot_episode(["a1", "b2", "a1", "WRITE"], ["", "", "", "b2"])
    >>> [text.get_text() for text in ax.texts][:2]
    ['a1', 'b2']
    """
    ax = axes_or_new(ax)
    for row, names in ((1, labels), (0, answers)):
        for step, name in enumerate(names):
            colour = {"a": "C0", "b": "C1", "W": ink()}.get(name[:1], "none")
            box = {"boxstyle": "round,pad=0.25", "facecolor": "none", "edgecolor": colour}
            if name:
                size = 7 if len(name) > 3 else 9
                ax.text(step, row, name, ha="center", va="center", color=colour, bbox=box, fontsize=size)
            elif not row:
                ax.plot(step, row, marker=".", color=ink(), alpha=0.4)
    ax.set(xlim=(-0.6, len(labels) - 0.4), ylim=(-0.6, 1.6), xlabel="step")
    ax.set_yticks([0, 1], ["target", "input"])
    ax.grid(visible=False)
    return ax


def plot_addresses(
    write: Mapping[str, Float[np.ndarray, " writes"]],
    read: Mapping[str, Float[np.ndarray, " reads"]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Where each token is written and read: every single address, token by token.

    Both are addresses by token; the tokens of `write` give the order.

    Examples
    --------
    >>> ax = plot_addresses({"a1": np.array([0.2, 0.21])}, {"a1": np.array([0.2])})
    >>> len(ax.lines)
    2
    """
    ax = axes_or_new(ax)
    for number, (name, addresses) in enumerate(write.items()):
        wrote, seen = (np.full(len(found), number) for found in (addresses, read.get(name, np.empty(0))))
        labels = ("written", "read") if number == 0 else (None, None)
        mark = {"markersize": 11, "markeredgewidth": 2.6, "alpha": 0.8}
        ax.plot(wrote - 0.16, addresses, "_", color="C0", label=labels[0], **mark)
        ax.plot(seen + 0.16, read.get(name, np.empty(0)), "_", color="C1", label=labels[1], **mark)
    ax.set_xticks(range(len(write)), list(write))
    ax.set(ylabel="address", ylim=(0, 1))
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def plot_gates(
    write_gate: Float[np.ndarray, " time"],
    output_gate: Float[np.ndarray, " time"],
    labels: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """How far the two gates are open, step by step.

    Examples
    --------
    >>> ax = plot_gates(np.array([0.0, 1.0]), np.array([0.0, 0.0]), ["a1", "b1"])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['a1', 'b1']
    """
    ax = axes_or_new(ax)
    steps = np.arange(len(write_gate))
    ax.bar(steps - 0.2, write_gate, 0.38, color="C0", label="write gate")
    ax.bar(steps + 0.2, output_gate, 0.38, color="C1", label="output gate")
    if labels is not None:
        ax.set_xticks(steps, list(labels), fontsize=7)
    ax.set(ylim=(0, 1.02), ylabel="gate")
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def plot_write(
    address: Float[np.ndarray, " points"],
    before: Float[np.ndarray, " points"],
    after: Float[np.ndarray, " points"],
    where: float,
    others: Float[np.ndarray, " pairs"] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """One function of the bank before and after a write, with the place of the write.

    `before` and `after` are the function at the points `address`; `others`, addresses of other pairs, are marked below.

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)
    >>> ax = plot_write(x, 0 * x, x, where=0.5)
    >>> len(ax.lines)
    3
    """
    ax = axes_or_new(ax)
    ax.plot(address, before, color="C0", label="before the write")
    ax.plot(address, after, color="C1", label="after it")
    ax.axvline(where, color=ink(), linewidth=0.8, linestyle=":")
    if others is not None:
        ax.plot(others, np.full(len(others), 0.03), "|", color=ink(), transform=ax.get_xaxis_transform(), markersize=9)
    ax.set(xlabel="address", xlim=(0, 1))
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def plot_kernel(
    family: OrthonormalFamily,
    addresses: Float[np.ndarray, " pairs"] | None = None,
    *,
    normalised: bool = True,
    points: int = 301,
    ax: Axes | None = None,
) -> Axes:
    """The reproducing kernel over the address space, with learnt addresses on it.

    `addresses` are marked on the diagonal, and at every meeting of two. `normalised` divides by the lengths of both
    keys, so that the diagonal is 1; plain, it rises to the square of the order at the ends of the interval.

    Examples
    --------
    >>> from hippozoo.polynomials import Legendre
    >>> ax = plot_kernel(Legendre(8), np.array([0.2, 0.7]))
    >>> ax.images[0].get_array().shape
    (301, 301)
    """
    ax = axes_or_new(ax)
    grid = np.linspace(0, 1, points)
    kernel = family.reproducing_kernel(grid, grid, normalised=normalised)
    limit = 1.0 if normalised else float(np.quantile(np.abs(kernel), 0.995))
    image = ax.imshow(kernel, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", vmin=-limit, vmax=limit)
    if addresses is not None:
        one, other = np.meshgrid(addresses, addresses)
        ax.plot(one.ravel(), other.ravel(), ".", color="black", markersize=2, alpha=0.6, label="two keys")
        ax.plot(addresses, addresses, "o", color="black", markerfacecolor="none", markersize=6, label="one key")
    ax.set(xlabel="write address", ylabel="read address")
    ax.grid(visible=False)
    if ax.figure is not None:
        label = "K(x, y) / √(K(x, x) K(y, y))" if normalised else "K(x, y)"
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    return ax


def plot_recall_matrix(
    matrix: Float[np.ndarray, "reads pairs"], labels: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """How much of each stored value is read at each address; the identity is perfect recall.

    Examples
    --------
    >>> plot_recall_matrix(np.eye(3)).images[0].get_array().shape
    (3, 3)
    """
    ax = axes_or_new(ax)
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    if labels is not None:
        ax.set_xticks(range(len(labels)), list(labels), fontsize=7)
        ax.set_yticks(range(len(labels)), list(labels), fontsize=7)
    ax.set(xlabel="written at the address of", ylabel="read at the address of")
    ax.grid(visible=False)
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, label="share of the value", shrink=0.8)
    return ax


def plot_capacity(
    curves: Mapping[str, Mapping[int, CapacityCurve]], *, lowest: float = 1e-4, ax: Axes | None = None
) -> Axes:
    """Recall error against the load, pairs per coefficient: one colour per layout, one line per number of coefficients.

    Drawn is `CapacityCurve.error`, the squared error over the variance of the values. Theory counts every value in
    units of its key's length (`CapacityCurve.unit_error`), so it lies a little beside what is measured.

    `curves` are by layout and number of coefficients; errors below `lowest` are drawn at it.

    Examples
    --------
    >>> from hippozoo.polynomials import Legendre
    >>> from hippozoo.zoo.associative import capacity
    >>> curve = capacity(Legendre(8), [2, 4, 8], rng=np.random.default_rng(0))
    >>> ax = plot_capacity({"random": {8: curve}})
    >>> [line.get_label() for line in ax.lines][:2]
    ['random addresses', 'theory for random keys of one length']
    """
    ax = axes_or_new(ax)
    names = {"gauss": "addresses at Gauss nodes", "even": "evenly spaced addresses"}
    for number, (layout, sizes) in enumerate(curves.items()):
        for place, (order, curve) in enumerate(sizes.items()):
            fade = 0.35 + 0.65 * (place + 1) / len(sizes)
            name = names.get(layout, f"{layout} addresses") if place == len(sizes) - 1 else None
            error = np.maximum(curve.error, lowest)
            ax.plot(curve.pairs / order, error, "o-", color=f"C{number}", alpha=fade, markersize=3, label=name)
        if layout == "random":
            for place, (order, curve) in enumerate(sizes.items()):
                name = "theory for random keys of one length" if place == 0 else None
                theory = np.maximum(curve.theory, lowest)
                ax.plot(curve.pairs / order, theory, ":", color=ink(), linewidth=1.0, label=name)
    ax.axvline(1.0, color=ink(), linewidth=0.8, linestyle="--")
    ax.set(xscale="log", yscale="log", xlabel="pairs stored / coefficients")
    ax.set_ylabel(f"squared error / variance of the values\n(smaller ones drawn at {lowest:g})")
    ax.set_xticks([0.125, 0.25, 0.5, 1.0, 2.0], ["1/8", "1/4", "1/2", "1", "2"], minor=False)
    ax.set_xticks([], minor=True)
    ax.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return ax
