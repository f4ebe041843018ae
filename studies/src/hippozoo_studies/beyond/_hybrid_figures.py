"""One episode of each task, and what each hybrid reads of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.baselines import Mamba
from hippozoo.systems import LegS, LegT
from hippozoo.tasks.associative_recall import TokenTable
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.salience import SalienceTrace
from hippozoo_studies import drawing
from hippozoo_studies.beyond._hybrid_claims import MADE_OF, TITLE
from hippozoo_studies.paper._two_tasks import LENGTHS, TITLES, make_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Episode", "decay_rate", "draw_pictures", "episode_of", "measure_of_steps"]


class Episode(NamedTuple):
    """The episode that is drawn: the name of every token, and which sample holds the answer to which."""

    names: list[str]
    answers: list[tuple[int, int]]  #: Sample that answers, sample that holds the answer.


def episode_of(task: str, seed: int, sequences: int) -> Episode:
    """The first test episode of a seed.

    Examples
    --------
    >>> episode_of("ar", 0, 60).names[-1]
    'W'
    >>> len(episode_of("sc", 0, 60).answers)
    10
    """
    data = make_data(task, seed, sequences)
    tokens = (data.test.inputs[0] @ data.vectors.T).argmax(-1).numpy()
    asked = np.flatnonzero(data.test.answers[0].numpy() >= 0)
    if task == "sc":  # 0 is WRITE, 1 uninformative; what is informative is wanted in its order
        names = ["W" if token == 0 else "·" if token == 1 else str(token - 1) for token in tokens]
        held = np.flatnonzero(tokens >= 2)
    else:
        table = TokenTable(data.vectors.numpy(), 12, 12)
        names = [table.label(token).replace("WRITE", "W") for token in tokens]
        wanted = int(data.test.answers[0, -1])
        held = np.flatnonzero((tokens[1:] == wanted) & (tokens[:-1] == tokens[-2]))[-1:] + 1
    return Episode(names, list(zip(asked.tolist(), held.tolist(), strict=True)))


def draw_pictures(
    pictures: dict[str, dict[str, Any]], task: str, episode: Episode, accuracy: dict[str, Any], folder: Path, note: str
) -> None:
    """What each hybrid reads of the episode, a panel each; squares mark where the answers are."""
    drawn = {model: one["values"] for model, one in pictures.items() if model in MADE_OF}
    if not drawn:
        return
    columns = min(3, len(drawn))
    rows, side = -(-len(drawn) // columns), 4.2 if task == "sc" else 3.5
    name = f"shown-{'copying' if task == 'sc' else 'recall'}"
    with drawing(folder, name, (1.25 * side * columns, side * rows + 0.7)) as figure:
        figure.set_layout_engine("constrained", w_pad=0.15)  # a colour bar's label beside the next panel's
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax in panels[len(drawn) :]:
            ax.remove()
        for ax, (model, values) in zip(panels, drawn.items(), strict=False):
            _draw(figure, ax, model, np.array(values), task, episode)
            ax.set_title(f"{TITLE[model]}: {accuracy[model]['mean']:.0f} %", fontsize=9)
            ax.set_xticks(range(len(episode.names)), episode.names, fontsize=6 if task == "sc" else 7)
            kinds = "W: WRITE, ·: uninformative" if task == "sc" else "a: key, b: value, W: WRITE"
            ax.set_xlabel(f"token read ({kinds})", fontsize=8)
            ax.grid(visible=False)
        words = "the token that is the answer"
        if "mamba_windows" in drawn:
            words += " (windows: the shortest one that holds it)"
        square = panels[0].plot([], [], "s", **_SQUARE, label=words)
        figure.legend(handles=square, loc="outside lower center", fontsize=8)
        about = "what each hybrid reads of one episode (per cent: test accuracy)"
        figure.suptitle(f"{TITLES[task]}: {about}{note}", fontsize=10.5)


def _draw(figure: Figure, ax: Axes, model: str, values: np.ndarray, task: str, episode: Episode) -> None:
    if model == "mamba_windows":
        _draw_windows(figure, ax, values, task, episode)
        return
    places = np.array(episode.answers)
    label, limit, colours = "share of the value in what is read", 1.0, "RdBu_r"
    if model == "memory_attention":
        values, label = _over_moments(values, LENGTHS[task]), "weight of the sample in what is read"
        limit = float(np.abs(values).max())
    if model == "mamba_clock":
        rate = decay_rate()
        values, label = measure_of_steps(values[0], rate), f"share of the history measure (decay rate {rate:g})"
        # The first tokens share it among few: colours are for where something is answered.
        limit, colours = float(values[:, places[:, 0]].max()), "Reds"
    shown = np.ma.masked_where(np.tri(len(values), k=-1) > 0, values)  # nobody reads what is yet to come
    one_sided = model == "mamba_clock"
    image = ax.imshow(shown, vmin=0.0 if one_sided else -limit, vmax=limit, cmap=colours)
    ax.set_facecolor("0.9")
    bar = figure.colorbar(image, ax=ax, shrink=0.8, extend="max" if one_sided else "neither")
    bar.set_label(label, fontsize=8)
    ax.plot(places[:, 0], places[:, 1], "s", markersize=200 / len(values) ** 1.05, **_SQUARE)
    ax.set_yticks(range(len(episode.names)), episode.names, fontsize=6 if task == "sc" else 7)
    ax.set_ylabel("token of the past" if model == "memory_attention" else "token written", fontsize=8)


def _draw_windows(figure: Figure, ax: Axes, values: np.ndarray, task: str, episode: Episode) -> None:
    """Which windows are read at every sample; a square marks the shortest one that reaches back to the answer."""
    windows = MultiscaleMemory(LegT(4, 2.0), longest=float(LENGTHS[task]), scales=len(values)).windows
    image = ax.imshow(values, aspect="auto", cmap="Blues", vmin=0.0)
    ax.set_yticks(range(len(windows)), [f"{window:.3g}" for window in windows])
    ax.set_ylabel("window (samples)", fontsize=8)
    places = np.array([(asked, np.searchsorted(windows, asked - held + 1)) for asked, held in episode.answers])
    places = places[places[:, 1] < len(windows)]
    ax.plot(places[:, 0], places[:, 1], "s", markersize=200 / len(episode.names) ** 1.05, **_SQUARE)
    figure.colorbar(image, ax=ax, shrink=0.8).set_label("size of the readout (sum over degrees)", fontsize=8)


def decay_rate() -> float:
    """The mean decay rate of Mamba's coefficients in units of its clock, before training.

    Examples
    --------
    >>> decay_rate()
    8.5
    """
    block: Any = Mamba(1, 1, width=1).blocks[0]
    return round(float(block.log_A.detach().exp().mean()), 6)


def measure_of_steps(steps: Float[np.ndarray, " time"], rate: float) -> Float[np.ndarray, "past time"]:
    """How the history measure of one clock is shared among the tokens so far, at every token that is read.

    A coefficient of this decay rate weights a token by its step, and that falls off with the steps that follow:
    salience with a memory that fades exponentially. Columns sum to one.

    Examples
    --------
    >>> measure_of_steps(np.array([1.0, 1e-9, 1.0]), 0.1).round(2)[:, -1].tolist()
    [0.48, 0.0, 0.52]
    """
    seen = SalienceTrace(LegS(1, timescale=1 / rate), salience=steps, dt=np.ones(len(steps)))
    middles = np.arange(len(steps)) + 0.5
    measure = np.stack([seen.history_measure(middles, at=end) for end in seen.times[1:].tolist()], axis=1)
    return measure / measure.sum(axis=0)


def _over_moments(attention: np.ndarray, length: int) -> np.ndarray:
    """Attention to coefficients, (degree, time), as weights of past samples, (moment, time)."""
    basis = LegT(len(attention), float(length)).basis(np.arange(length) + 0.5) / length
    by_lag = basis @ attention
    lags = np.arange(length) - np.arange(length)[:, None]
    return np.where(lags >= 0, np.take_along_axis(by_lag, np.maximum(lags, 0), axis=0), 0.0)


_SQUARE: dict[str, Any] = {"markerfacecolor": "none", "color": "black", "markeredgewidth": 1.2, "linestyle": "none"}
