"""Pictures of a warped memory: one episode in four panels, the time warp itself, and what lies beyond training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hippozoo._internal.arguments import real_array
from hippozoo.plotting import Axes, Patch, ink
from hippozoo.zoo.salience.trace import SalienceTrace

__all__ = ["plot_episode", "plot_generalisation", "plot_warp"]


def plot_episode(
    seen: SalienceTrace,
    tokens: np.ndarray,
    answers: Sequence[int] | np.ndarray,
    *,
    at: Sequence[float] | None = None,
    axes: Any = None,
) -> Any:
    """The paper's figure: the tokens, the history measures they induce, the salience, and what each answer reads.

    `seen` has a readout. Token 0 asks for an answer (hatched, in the colour of the token wanted), 1 does not matter
    (white), others are coloured. `answers` are the samples at which something is read, `at` the moments whose history
    measures are drawn, three of the second half by default. `axes` are four, top to bottom, sharing x.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> seen = SalienceTrace(LegT(8, 6.0), np.array([1.0, 0.1, 1.0, 1.0]), np.ones(4), np.ones(8))
    >>> axes = plot_episode(seen, np.array([2, 1, 3, 0]), [3], axes=Figure().subplots(4))
    >>> axes[3].get_xlabel()
    'time (samples)'
    """
    import matplotlib as mpl

    tokens, answers = np.asarray(tokens), np.asarray(answers)
    if tokens.shape != seen.salience.shape:
        raise ValueError(f"tokens has shape {tokens.shape}, but the trace has {len(seen.salience)} samples.")
    axes = _axes_or_new(axes, 4)
    edges, end = seen.times, seen.times[-1]
    colours = mpl.colormaps["hsv"]

    def colour(token: int) -> Any:
        return "0.6" if token == 0 else "white" if token == 1 else colours((token - 2) / 16)

    informative = tokens[tokens >= 2]
    wanted = dict(zip(answers.tolist(), informative.tolist(), strict=False))
    for step, (token, begin, width) in enumerate(zip(tokens.tolist(), edges[:-1], seen.dt, strict=True)):
        shown = wanted.get(step, token) if token == 0 else token
        hatch = "///" if token == 0 else None
        axes[0].bar(begin, 1, width, align="edge", color=colour(shown), edgecolor=ink(), linewidth=0.6, hatch=hatch)
    axes[0].set(yticks=[], ylabel="input", ylim=(0, 1))
    axes[0].grid(False)
    example = int(tokens.max())
    key = {"WRITE, in the colour of the answer": example, "uninformative": 1, "informative, a colour each": example}
    patches = [
        Patch(facecolor=colour(token), edgecolor=ink(), label=label, hatch="///" if label.startswith("WRITE") else None)
        for label, token in key.items()
    ]
    axes[0].legend(
        handles=patches, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False, borderaxespad=0.2
    )

    moments = (np.arange(2400) + 0.5) / 2400 * end
    chosen = [float(edges[answers[0]]), float(edges[answers[len(answers) // 2]]), float(end)] if at is None else at
    measures = [seen.history_measure(moments[moments <= moment], moment) for moment in chosen]
    # One above the other: where the whole episode fits into the window they are alike.
    spacing = 1.4 * max(float(measure.max()) for measure in measures)
    for number, (moment, measure) in enumerate(zip(chosen, measures, strict=True)):
        past, floor = moments[moments <= moment], number * spacing
        axes[1].fill_between(past, floor, floor + measure, color=f"C{number}", alpha=0.35, linewidth=0)
        axes[1].plot(past, floor + measure, color=f"C{number}")
        axes[1].plot([moment, moment], [floor, floor + spacing / 1.4], color=f"C{number}", linestyle=":")
    axes[1].set_yticks([number * spacing for number in range(len(chosen))], [f"at {moment:g}" for moment in chosen])
    axes[1].set(ylabel="history measure\n(per sample)", ylim=(-0.05 * spacing, len(chosen) * spacing))

    axes[2].stairs(seen.salience, edges, color=ink(), linewidth=1.6, baseline=None)
    axes[2].set(ylabel="salience g(t)\n(ticks per sample)", ylim=(0, None))

    for step in answers.tolist():
        past, end_of_step = moments <= edges[step + 1], float(edges[step + 1])
        axes[3].plot(moments[past], seen.functional(moments[past], end_of_step), color=colour(wanted.get(step, 0)))
    axes[3].set(ylabel="output functional\n(per sample)", xlabel="time (samples)", xlim=(0, end))
    return axes


def plot_warp(seen: SalienceTrace, at: Sequence[float], *, axes: Any = None) -> Any:
    """The time warp: static weights over warped time (left) are dynamic weights over real time (bottom).

    Each moment of `at` has its own colour. `axes` are two by two, sharing x in columns and y in rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegS
    >>> seen = SalienceTrace(LegS(8, 6.0), np.array([1.0, 0.1, 1.0, 1.0]), np.ones(4))
    >>> axes = plot_warp(seen, [2.0, 4.0], axes=Figure().subplots(2, 2))
    >>> axes[1, 1].get_xlabel()
    'real time'
    """
    axes = _axes_or_new(axes, (2, 2))
    (side, top), (corner, bottom) = axes
    corner.set_axis_off()
    top.plot(seen.times, seen.warped_time, color=ink())
    top.set(title="warped time φ(t)")
    side.set(ylabel="warped time", xlabel="weight", title="static weight")
    moments = (np.arange(4000) + 0.5) / 4000 * seen.times[-1]
    for number, moment in enumerate(at):
        now = float(seen.warp(moment))
        past = moments[moments <= moment]
        lags = seen.lags(past, moment)
        weight = seen.system.weight(np.where(lags <= seen.system.window, lags, 0.0))
        weight = np.where(lags <= seen.system.window, weight, 0.0)
        # Weights of a window have one height: earlier ones are drawn broader, so that they show below later ones.
        line = {"color": f"C{number}", "linewidth": 1.6 + 1.6 * (len(at) - 1 - number)}
        side.plot(weight, seen.warp(past), **line)
        bottom.plot(past, seen.history_measure(past, moment), **line)
        top.plot([moment, moment, 0], [0, now, now], color=f"C{number}", linestyle=":", linewidth=1)
    side.invert_xaxis()
    side.tick_params(labelbottom=True)
    bottom.tick_params(labelleft=True)
    bottom.set(xlabel="real time", title="the same weights in real time")
    return axes


def plot_generalisation(
    trained: Mapping[str, Mapping[str, Any]], beyond: Mapping[str, Mapping[str, Any]], *, ax: Axes
) -> Axes:
    r"""Accuracy as trained, and under every condition beyond it: a bar with its error for each model.

    `trained` is by model: ``{"mean", "sem"}``; `beyond` by model and condition (``"distractors_100_delay_0"``): the
    same under ``"accuracy"``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> beyond = {"salience": {"distractors_100_delay_0": {"accuracy": {"mean": 0.9, "sem": 0.01}}}}
    >>> ax = plot_generalisation({"salience": {"mean": 1.0, "sem": 0.0}}, beyond, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['as trained', '100 distractors\ndelay 0']
    """
    names = list(trained)
    conditions = list(next(iter(beyond.values())))
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        found = [trained[name], *(beyond[name][condition]["accuracy"] for condition in conditions)]
        places = np.arange(len(found)) + (number - (len(names) - 1) / 2) * width
        errors = [one["sem"] or 0.0 for one in found]
        ax.bar(places, [one["mean"] for one in found], width, yerr=errors, label=name, color=f"C{number}")
    labels = ["as trained", *(_words(condition) for condition in conditions)]
    ax.set(xticks=range(len(labels)), xticklabels=labels, ylabel="test accuracy (mean ± standard error)", ylim=(0, 1.3))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.legend(ncols=2, loc="upper center")
    return ax


def _words(condition: str) -> str:
    _, distractors, _, delay = condition.split("_")
    return f"{distractors} distractors\ndelay {delay}"


def _axes_or_new(axes: Any, shape: Any) -> Any:
    if axes is not None:
        found = real_array("axes", np.zeros(np.shape(axes)))
        wanted = (shape,) if isinstance(shape, int) else shape
        if found.shape != wanted:
            raise ValueError(f"axes has shape {found.shape}; pass an array of axes of shape {wanted}.")
        return axes
    import matplotlib.pyplot as plt  # here, because it picks a display and only this path needs one

    rows = (shape, 1) if isinstance(shape, int) else shape
    share = {"sharex": True} if isinstance(shape, int) else {"sharex": "col", "sharey": "row"}
    return plt.subplots(*rows, layout="constrained", figsize=(7, 6), **share)[1]
