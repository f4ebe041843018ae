"""Selective copying and associative recall as the paper's tables use them: a finite data set, one model, one score."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.stats import t as student_t
from torch import Tensor, nn

from hippozoo.tasks.associative_recall import associative_recall, copy_last_accuracy, random_tokens
from hippozoo.tasks.selective_copying import SelectiveCopying
from hippozoo.training import Epochs, Plan, best_rate, report_to, train
from hippozoo_studies import Context, Finished, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Task = Literal["sc", "ar"]
#: Numbers in a token, and samples in an episode.
SIZES: dict[str, int] = {"sc": 32, "ar": 24}
LENGTHS: dict[str, int] = {"sc": 30, "ar": 12}
#: Answers in an episode.
ANSWERS: dict[str, int] = {"sc": 10, "ar": 1}
#: Two accuracies agree if they are certainly no further apart, in points.
AGREES = 5.0
#: What is reached without remembering anything in particular, in per cent.
LEVELS = {
    "sc": {"chance": 100 / 16},
    "ar": {"chance": 100 / 12, "copy_last": 100 * copy_last_accuracy()},
}
TITLES = {"sc": "selective copying", "ar": "associative recall"}


@dataclass(frozen=True)
class Protocol:
    """How every row of both tables is trained; the paper is silent about batch, clipping, seeds and stopping."""

    seeds: tuple[int, ...] = (0, 1, 2)
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    sequences: int = 3_500
    steps: int = 4_000
    batch: int = 64
    weight_decay: float = 1e-4
    clip: float = 1.0
    validate_every: int = 200
    # A mean squared error at which the task is done for every practical purpose: no need to go on.
    stop_at: float = 1e-7

    def plan(self, rate: float, seed: int, times: int = 1) -> Plan:
        """One training, of `times` the usual steps."""
        return Plan(
            steps=times * self.steps,
            rate=rate,
            seed=seed,
            weight_decay=self.weight_decay,
            clip=self.clip,
            validate_every=self.validate_every,
            stop_at=self.stop_at,
        )

    def chosen_rate(self, finished: Sequence[Finished], **row: Any) -> float:
        """The rate of the smallest validation loss, of the table's own, with the first seed."""
        tried = self.tried_rates(finished, **row)
        return best_rate({rate: loss for rate, loss in tried.items() if rate in self.rates})

    def tried_rates(self, finished: Sequence[Finished], **row: Any) -> dict[float, float | None]:
        """The validation loss of every rate that the first seed has tried."""
        tried = select(finished, seed=self.seeds[0], **row)
        return {one.unit["rate"]: one.result["validation_loss"] for one in tried}

    def has_all_rates(self, finished: Sequence[Finished], **row: Any) -> bool:
        """Whether the first seed has tried every rate of the table."""
        return set(self.rates) <= set(self.tried_rates(finished, **row))

    @property
    def is_short(self) -> bool:
        """Whether there are fewer steps than in the paper, so that nothing follows from the figures."""
        return self.steps < Protocol.steps


def check_names(field: str, given: Sequence[str], choices: Iterable[str]) -> None:
    """All of them known, said before the first unit runs and not after hours."""
    allowed = tuple(choices)
    unknown = [name for name in given if name not in allowed]
    if unknown:
        raise ValueError(f"{field} has {unknown[0]!r}; choose from {', '.join(allowed)}.")


@dataclass(frozen=True)
class Episodes:
    """Episodes of either task, as tensors.

    Parameters
    ----------
    inputs
        Token vectors, (episodes, time, size).
    targets
        The vectors wanted; zero where silence is.
    answers
        The tokens wanted, (episodes, time); -1 where none is.
    counted
        Which outputs the loss looks at: those of the answers in selective copying, all in associative recall.
    """

    inputs: Tensor
    targets: Tensor
    answers: Tensor
    counted: Tensor

    def __getitem__(self, items: Any) -> Episodes:
        return Episodes(*(part[items] for part in (self.inputs, self.targets, self.answers, self.counted)))

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True)
class Data:
    """Episodes to learn from, to choose by and to report, and the vectors of all tokens."""

    train: Episodes
    validation: Episodes
    test: Episodes
    vectors: Tensor


def make_data(task: str, seed: int, sequences: int = 3_500, more_training: int = 1) -> Data:
    """70 % to learn from, 15 % to choose by, 15 % to report; `more_training` multiplies the first alone."""
    held_out = round(0.15 * sequences)
    training = more_training * (sequences - 2 * held_out)
    rng = np.random.default_rng([11, seed])
    count = training + 2 * held_out
    if task == "sc":
        copying = SelectiveCopying(seed=seed)
        drawn = copying.draw(count, rng)
        vectors, tokens = copying.vectors, drawn.tokens
        answers = np.where(drawn.answering, drawn.targets + 2, -1)
    else:
        table = random_tokens(np.random.default_rng([12, seed]))
        recall = associative_recall(count, rng)
        vectors, tokens, answers = table.vectors, recall.tokens, recall.answers
    looked_up = torch.from_numpy(np.array(vectors, np.float32))
    wanted = torch.from_numpy(answers)
    asked = wanted >= 0
    episodes = Episodes(
        inputs=looked_up[torch.from_numpy(tokens)],
        targets=looked_up[wanted.clamp(min=0)] * asked[..., None],
        answers=wanted,
        counted=asked if task == "sc" else torch.ones_like(asked),
    )
    held = slice(training, training + held_out)
    return Data(episodes[:training], episodes[held], episodes[training + held_out :], looked_up)


def answered(model: Any, inputs: Tensor) -> Tensor:
    """The model's outputs."""
    # Salience need not work out its last state, which nobody asks for here.
    options = {"keep_state": False} if "keep_state" in inspect.signature(model.forward).parameters else {}
    return model(inputs, **options)[0]


def squared_error(model: Any, episodes: Episodes) -> Tensor:
    """Mean squared error of the outputs that count."""
    errors = (answered(model, episodes.inputs) - episodes.targets).square().mean(-1)
    return errors[episodes.counted].mean()


def accuracy(model: nn.Module, episodes: Episodes, vectors: Tensor) -> float:
    """Share of answers, in per cent, that are nearest to the token wanted, of all tokens there are."""
    model.eval()
    with torch.no_grad():
        y = answered(model, episodes.inputs)
    asked = episodes.answers >= 0
    # Tokens have length one: the nearest is the one with the largest product.
    said = (y[asked] @ vectors.T).argmax(-1)
    return 100 * (said == episodes.answers[asked]).double().mean().item()


def learn(model: nn.Module, data: Data, plan: Plan, batch: int, context: Context) -> dict[str, Any]:
    """Train one model, keep the weights that were best on validation, and score them."""
    order = Epochs(len(data.train), min(batch, len(data.train)), seed=plan.seed)
    run = train(
        model,
        lambda step, rng: data.train[torch.from_numpy(order(step))],
        squared_error,
        plan,
        validate=lambda model: squared_error(model, data.validation).item(),
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    finite = math.isfinite(run.best_loss)
    return {
        "accuracy": accuracy(model, data.test, data.vectors),
        "validation_accuracy": accuracy(model, data.validation, data.vectors),
        "train_accuracy": accuracy(model, data.train[: len(data.test)], data.vectors),
        "validation_loss": run.best_loss if finite else None,
        "best_step": run.best_step,
        "ending": run.ending,
        "parameters": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "milliseconds_per_step": round(1000 * run.seconds / max(run.steps, 1), 3),
        "looks": {
            "step": [look.step for look in run.looks],
            "train": [_rounded(look.loss) for look in run.looks],
            "validation": [_rounded(look.validation) for look in run.looks],
        },
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


# As stored in metrics.json.
_OPEN = "cannot be told"


class Judged(NamedTuple):
    """What a comparison with the paper's figure says.

    Parameters
    ----------
    verdict
        As stored in metrics.json; `table_verdict` gives the words of the table.
    low, high
        The 95 % interval of the difference, ours minus the paper's; None where there is none.
    """

    verdict: str
    low: float | None = None
    high: float | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether further seeds might tell."""
        return self.verdict.startswith(_OPEN)


def judge(ours: Sequence[float], paper: float | None, task: str, sequences: int = Protocol.sequences) -> Judged:
    """Whether our figures agree with the paper's one, by the 95 % interval of the difference.

    *Agrees* where it lies within `AGREES` points of zero, *differs* where it excludes zero, and else it is
    *undecided*: a wide spread buys no agreement. The interval has two parts: Student's for the mean over our seeds,
    and the sampling of the paper's one test set (answers counted one by one: the seeds of steady rows differ by no
    more). A row that only answers with the last B here and in the paper is *at the floor*, which any model reaches; it
    is judged no further.
    """
    if paper is None:
        return Judged("no figure in the paper")
    mean = float(np.mean(ours))
    floor = LEVELS[task].get("copy_last")
    if floor is not None and max(abs(mean - floor), abs(paper - floor)) <= AGREES:
        return Judged("at the floor, as in the paper")
    gap = mean - paper
    if len(ours) == 1:
        return Judged(f"{_OPEN}: one seed ({gap:+.1f})")
    answers = round(0.15 * sequences) * ANSWERS[task]
    share = np.clip(paper / 100, 0.5 / answers, 1 - 0.5 / answers)
    sampling = 1.96 * 100 * math.sqrt(share * (1 - share) / answers)
    of_seeds = float(student_t.ppf(0.975, len(ours) - 1) * np.std(ours, ddof=1)) / math.sqrt(len(ours))
    half = math.hypot(of_seeds, sampling)
    low, high = gap - half, gap + half
    if max(abs(low), abs(high)) <= AGREES:
        return Judged("agrees", low, high)
    if low > 0 or high < 0:
        return Judged(f"differs ({gap:+.1f})", low, high)
    return Judged(f"{_OPEN} ({low:+.1f} to {high:+.1f})", low, high)


def table_verdict(stored: str) -> str:
    """The verdict on a figure as tables show it.

    Examples
    --------
    >>> table_verdict("cannot be told (-3.7 to +5.8)")
    'undecided (-3.7 to +5.8)'
    """
    return stored.replace(_OPEN, "undecided")


def count_verdicts(judged: Iterable[str]) -> dict[str, int]:
    """How many figures are at the floor, and how many of the others agree, differ or are undecided.

    Examples
    --------
    >>> count_verdicts(["agrees", "differs (+3.0)", "at the floor, as in the paper", "no figure in the paper"])
    {'figures': 3, 'at_the_floor': 1, 'agree': 1, 'differ': 1, 'cannot_be_told': 0}
    """
    given = [one for one in judged if not one.startswith(("no figure", "none"))]
    begins = {"at_the_floor": "at the floor", "agree": "agrees", "differ": "differs", "cannot_be_told": _OPEN}
    return {"figures": len(given)} | {
        name: sum(one.startswith(words) for one in given) for name, words in begins.items()
    }


def draw_row(ax: Axes, place: int, found: dict[str, Any], paper: float | None) -> None:
    """Our seeds and their mean as dots, the paper's figure as a stroke."""
    ax.plot(found["seeds"], [place] * len(found["seeds"]), ".", color="C0", alpha=0.6)
    ax.plot(found["mean"], place, "o", color="C0")
    if paper is not None:
        ax.plot(paper, place, **_STROKE)


def draw_levels(ax: Axes, task: str) -> None:
    """What is reached without remembering, and labels for all marks."""
    from hippozoo.plotting import ink

    ax.plot([], [], "o", color="C0", label="ours, mean")
    ax.plot([], [], ".", color="C0", alpha=0.6, label="one seed")
    ax.plot([], [], **_STROKE, label="paper")
    for level, line, words in (("chance", ":", "chance"), ("copy_last", "--", "always answers with the last B")):
        if level in LEVELS[task]:
            ax.axvline(LEVELS[task][level], color=ink(), linestyle=line, linewidth=1, label=words)
    ax.set(xlabel="test accuracy (%)", xlim=(0, 104))


def legend_below(figure: Figure) -> None:
    """One legend for all panels, where it hides no figure."""
    labelled = {name: mark for ax in figure.axes for mark, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(labelled.values(), labelled.keys(), loc="outside lower center", ncols=len(labelled), fontsize=8)


_STROKE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "|",
    "color": "C1",
    "markersize": 13,
    "markeredgewidth": 2,
}
