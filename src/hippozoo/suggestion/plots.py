"""The picture that shows why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hippozoo.plotting import ink
from hippozoo.suggestion.measure import power_below

if TYPE_CHECKING:
    from hippozoo.suggestion.result import Suggestion

__all__ = ["plot_suggestion"]


def plot_suggestion(found: Suggestion, axes: Any = None) -> Any:
    """Errors by order (left), the error at each lag (middle), and where the signal's variance lies (right).

    >>> from matplotlib.figure import Figure
    >>> from hippozoo import suggest
    >>> found = suggest(np.sin(np.arange(600) / 10), horizon=60.0, accuracy=0.1)
    >>> len(plot_suggestion(found, Figure().subplots(1, 3)))
    3
    """
    if axes is None:
        import matplotlib.pyplot as plt  # here, because it picks a display and only this path needs one

        axes = plt.subplots(1, 3, layout="constrained", figsize=(12, 3.6))[1]
    if np.shape(axes) != (3,):
        raise ValueError(f"axes has shape {np.shape(axes)}; pass three of them.")
    left, middle, right = axes
    question = found.question
    kinds = dict.fromkeys(type(one.system).__name__ for one in found.trials)
    for number, kind in enumerate(kinds):
        mine = sorted((one.system.order, one.error) for one in found.trials if type(one.system).__name__ == kind)
        left.plot(*np.array(mine).T, marker=".", color=f"C{number}", label=kind)
    left.plot(found.system.order, found.error, "o", markersize=11, fillstyle="none", color=ink(), label="suggested")
    if found.wanted is not None:
        left.axhline(found.wanted, color=ink(), linestyle="--", linewidth=1, label="allowed")
    left.set(xscale="log", yscale="log", xlabel="order (numbers kept)", ylabel="rms error / standard deviation")
    left.legend(fontsize=8)

    middle.plot(
        question.lags,
        np.sqrt(question.errors(found.system)),
        color=f"C{list(kinds).index(type(found.system).__name__)}",
    )
    middle.axvline(question.horizon, color=ink(), linestyle=":", linewidth=1)
    middle.set(xlabel="lag (your time unit)", ylabel="rms error / standard deviation", title=f"{found.system!r}")
    middle.set_ylim(bottom=0)

    frequency, share = power_below(question.signal, question.dt)
    right.plot(frequency, share, color=ink())
    # A window of Legendre polynomials resolves a wave by about pi numbers.
    resolved = found.system.order / np.pi / max(found.system.timescale, question.horizon)
    right.axvline(resolved, color="C1", linestyle="--", label=f"what {found.system.order} numbers resolve")
    right.axvline(1 / question.horizon, color="C0", linestyle=":", label="one wave in the horizon")
    right.set(xscale="log", xlabel="frequency (1 / your time unit)", ylabel="share of variance below", ylim=(0, 1.02))
    right.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return axes
