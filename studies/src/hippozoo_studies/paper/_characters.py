"""Models of text by characters: how a text is read in training, how a model is trained, and how it is scored.

Training reads the text in `batch` streams side by side, chunk after chunk, the state handed on (truncated
backpropagation). Each pass begins at another place, which depends on the seed. A score is the mean loss over **every**
character of a split; the state is handed on from chunk to chunk there too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hippozoo.training import Plan, report_to, train_online
from hippozoo_studies import Context
from hippozoo_studies.data.text import ALPHABET, Split, WikiText, in_unknown, load_wikitext, streams

# Characters that a score takes in one call, and side by side where speed matters more than one unbroken state.
CHUNK, SIDE_BY_SIDE = 256, 32
# The passes over the text begin at places of their own, drawn apart from everything else that a seed decides.
SHIFTS = 41


@dataclass(frozen=True)
class Protocol:
    """How every model is trained; the paper leaves most of it open."""

    seeds: tuple[int, ...] = (0, 1, 2)
    version: str = "tokens"
    # None: all characters; the quick form reads the first few of each split.
    characters: int | None = None
    batch: int = 32
    length: int = 128
    passes: int = 3
    looks_per_pass: int = 2
    patience: int = 5
    warm_up: int = 200
    weight_decay: float = 1e-4
    clip: float = 1.0

    def steps_per_pass(self, text: WikiText) -> int:
        """Chunks in a pass; what does not fill the last one is left for another pass, which begins elsewhere."""
        return max(1, len(text.train.codes) // (self.batch * self.length))

    def papers_plan(self, text: WikiText, rate: float, seed: int, passes: int) -> Plan:
        """The paper's own: one rate from beginning to end, until five passes in a row have not helped."""
        steps = self.steps_per_pass(text)
        return Plan(
            steps=passes * steps,
            rate=rate,
            seed=seed,
            weight_decay=self.weight_decay,
            clip=self.clip,
            validate_every=steps,
            patience=5,
        )

    def plan(self, text: WikiText, rate: float, seed: int, passes: int) -> Plan:
        """Warm-up, then a straight line to zero; two looks a pass."""
        steps = self.steps_per_pass(text)
        return Plan(
            steps=passes * steps,
            rate=rate,
            seed=seed,
            weight_decay=self.weight_decay,
            clip=self.clip,
            warm_up=min(self.warm_up, steps // 4),
            schedule="linear",
            validate_every=-(-steps // self.looks_per_pass),
            patience=self.patience,
        )

    def text(self, context: Context) -> WikiText:
        """The text, or as much of it as is read."""
        text = load_wikitext(self.version, context.data)
        if self.characters is None:
            return text
        parts = (text.train, text.valid, text.test)
        return WikiText(text.version, *(_first(part, self.characters) for part in parts))


def _first(split: Split, count: int) -> Split:
    codes = split.codes[:count]
    return Split(codes, split.replaced, split.own_stand_ins, int(in_unknown(codes).sum()))


class CharacterModel(nn.Module):
    """An embedding, any layer ``y, state = core(x, state)`` from `width` to `width` numbers, and a choice of symbols.

    Parameters
    ----------
    core
        What turns embedded characters into what is compared with every symbol. If it adds to what enters, and says so
        by ``adds_to_input = True``, characters enter as vectors of length one, and else with numbers of size one.
    width
        Numbers in an embedded character.
    tied
        Compare with the embedding itself; if not, with a matrix of its own.
    """

    def __init__(self, core: nn.Module, width: int, tied: bool, symbols: int = len(ALPHABET)) -> None:
        super().__init__()
        self.width, self.tied = width, tied
        self.embedding = nn.Parameter(torch.randn(symbols, width) / math.sqrt(width))
        self.core = core
        if not tied:
            self.head = nn.Parameter(torch.randn(symbols, width) / math.sqrt(width))
        self.bias = nn.Parameter(torch.zeros(symbols))

    def configuration(self) -> dict[str, Any]:
        """What a checkpoint of a training run compares."""
        return {"width": self.width, "tied": self.tied}

    def embedded(self, codes: Tensor) -> Tensor:
        """What the core is given."""
        # The cells of a recurrent network say numbers below one. Where these are added to the character itself, one of
        # numbers of size one would drown them, and a tied readout would hear little else.
        size = 1.0 if getattr(self.core, "adds_to_input", False) else math.sqrt(self.width)
        return size * self.embedding[codes]

    def forward(self, codes: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Scores of every symbol as the next one, at every character; and the state."""
        y, state = self.core(self.embedded(codes), state)
        return functional.linear(y, self.embedding if self.tied else self.head, self.bias), state


class Emptied(nn.Module):
    """A layer that begins anew after every so many samples.

    Parameters
    ----------
    core
        Any layer ``y, state = core(x, state)``.
    every
        Samples from one beginning to the next.
    """

    def __init__(self, core: nn.Module, every: int) -> None:
        super().__init__()
        self.core, self.every = core, every
        self.adds_to_input = getattr(core, "adds_to_input", False)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Outputs at every sample; the state says how many samples it has seen since the last beginning."""
        seen, inside = (0, None) if state is None else state
        pieces = []
        while x.shape[1]:
            piece, x = x[:, : self.every - seen], x[:, self.every - seen :]
            y, inside = self.core(piece, inside)
            pieces.append(y)
            seen += piece.shape[1]
            if seen == self.every:
                seen, inside = 0, None
        return torch.cat(pieces, 1), (seen, inside)


class Reading:
    """The chunks of a text in training: characters, and the ones that follow them.

    Parameters
    ----------
    codes
        The text.
    batch, length
        Streams side by side, and characters of each in one chunk.
    seed
        Where each pass begins.

    Examples
    --------
    >>> reading = Reading(np.arange(20, dtype=np.uint8), batch=2, length=3, seed=0)
    >>> inputs, targets = reading(0)
    >>> bool(((inputs + 1) % 20 == targets).all()), reading.steps
    (True, 3)
    """

    def __init__(self, codes: np.ndarray, batch: int, length: int, seed: int) -> None:
        self.codes = torch.from_numpy(codes.astype(np.int64))
        self.batch, self.length, self.seed = batch, length, seed
        self.steps = max(1, len(codes) // (batch * length))

    def __call__(self, step: int, rng: Any = None) -> tuple[Tensor, Tensor]:
        """The chunk of one step, counted from 0 and going on through the passes."""
        number, place = divmod(step, self.steps)
        total = len(self.codes)
        shift = int(np.random.default_rng([SHIFTS, self.seed, number]).integers(total))
        # As many characters of each stream as a pass reads; the text goes round.
        starts = shift + torch.arange(self.batch) * (total // self.batch) + place * self.length
        places = (starts[:, None] + torch.arange(self.length + 1)) % total
        chunk = self.codes[places]
        return chunk[:, :-1], chunk[:, 1:]


@dataclass(frozen=True)
class Score:
    """Mean loss per character, over all of them and over those outside ``<unk>``."""

    loss: float
    outside_unknown: float

    @property
    def perplexity(self) -> float:
        """Of every character."""
        return math.exp(self.loss)

    @property
    def perplexity_outside_unknown(self) -> float:
        """Of the characters that belong to no ``<unk>``."""
        return math.exp(self.outside_unknown)


@torch.no_grad()
def score(model: Any, codes: np.ndarray, side_by_side: int = 1, chunk: int = CHUNK) -> Score:
    """The loss of every character, each given all before it; the first one is given a newline.

    Parameters
    ----------
    model
        ``scores, state = model(codes, state)``.
    codes
        The text.
    side_by_side
        Streams that it is cut into: 1 reads it from end to end with one state; more are faster, and each but the first
        begins with no past but the one character before it.
    chunk
        Characters in one call.
    """
    text = np.concatenate([[ALPHABET.index("\n")], codes]).astype(np.int64)
    places = streams(codes, min(side_by_side, len(codes)))
    counted, unknown = places >= 0, np.append(in_unknown(codes), False)
    sums = np.zeros(2)
    state = None
    for begin in range(0, places.shape[1], chunk):
        here, real = places[:, begin : begin + chunk], counted[:, begin : begin + chunk]
        scores, state = model(torch.from_numpy(text[here]), state)
        targets = torch.from_numpy(text[here + 1])
        losses = functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="none")
        each = losses.view(here.shape).double().numpy()
        sums += (each * real).sum(), (each * (real & ~unknown[here])).sum()
    return Score(sums[0] / len(codes), sums[1] / max(1, len(codes) - unknown.sum()))


def learn(
    model: nn.Module, text: WikiText, protocol: Protocol, plan: Plan, context: Context, test: bool
) -> dict[str, Any]:
    """Train one model and keep the weights that were best on validation; look at the test split only if asked to."""
    reading = Reading(text.train.codes, protocol.batch, protocol.length, plan.seed)

    def loss(model: Any, chunk: tuple[Tensor, Tensor], state: Any) -> tuple[Tensor, Any]:
        scores, state = model(chunk[0], state)
        return functional.cross_entropy(scores.flatten(0, 1), chunk[1].flatten()), state

    run = train_online(
        model,
        reading,
        loss,
        plan,
        validate=lambda model: score(model, text.valid.codes, SIDE_BY_SIDE).loss,
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    finite = math.isfinite(run.best_loss)
    found: dict[str, Any] = {
        "validation_perplexity": math.exp(run.best_loss) if finite else None,
        "parameters": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "best_step": run.best_step,
        "steps": run.steps,
        "ending": run.ending,
        "characters_seen": run.steps * protocol.batch * protocol.length,
        "training_seconds": round(run.seconds, 1),
        "looks": {
            "step": [look.step for look in run.looks],
            "train": [_rounded(look.loss) for look in run.looks],
            "validation": [_rounded(look.validation) for look in run.looks],
        },
    }
    if test and finite:
        model.eval()
        context.progress(1.0, "test split")
        told = score(model, text.test.codes)
        found["test_perplexity"] = told.perplexity
        found["test_perplexity_outside_unknown"] = told.perplexity_outside_unknown
    return found


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
