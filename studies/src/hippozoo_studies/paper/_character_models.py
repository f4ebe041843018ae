"""The models of the text studies: the paper's ten rows, the stacks of the contest, and what they are sized by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo._internal.nests import map_leaves
from hippozoo.baselines import (
    LSTM,
    S4D,
    DeltaNet,
    GatedDeltaNet,
    Mamba,
    VanillaHippo,
    VanillaMLP,
    parameter_count,
)
from hippozoo.baselines.gru_scan import CompiledGRU
from hippozoo.layers import SequenceModel
from hippozoo.models import explicit_characters
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.salience.layer import Readout, SalienceLayer
from hippozoo_studies.data.text import ALPHABET
from hippozoo_studies.paper._characters import CharacterModel, Emptied

OURS = "explicit"
#: The stack that was chosen for this family, with a cache of n-grams beside it.
CACHED, CACHED_FAMILY = "lstm_cache", "lstm"


class RecurrentStack(nn.Module):
    """Thin recurrent layers, each with a norm before it, and a norm behind the last.

    Parameters
    ----------
    cell
        What makes a recurrent layer, ``cell(inputs, width)``.
    width
        Channels, everywhere.
    layers
        One after the other.
    around
        Whether there is a way around every layer.
    """

    def __init__(self, cell: Callable[[int, int], nn.Module], width: int, layers: int, around: bool = True) -> None:
        super().__init__()
        self.adds_to_input = around
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-5) for _ in range(layers))
        self.cells = nn.ModuleList(cell(width, width) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Outputs at every sample, and the state after the last."""
        after = []
        for norm, cell, before in zip(self.norms, self.cells, state or [None] * len(self.cells), strict=True):
            y, here = cell(norm(x), before)
            x = x + y if self.adds_to_input else y
            after.append(here)
        return self.norm(x), after


def bare(model: nn.Module) -> nn.Module:
    """A baseline without its linear maps at both ends, whose part the embedding plays."""
    model.encoder = model.readout = nn.Identity()
    return model


def mamba_stack(width: int, layers: int, **options: Any) -> nn.Module:
    """Mamba's blocks, each with a norm before it and a way around it, and a norm behind the last."""
    model: Any = Mamba(width, width, width, layers, **options)
    model.adds_to_input = True
    return bare(model)


def delta_stack(
    kind: type[DeltaNet] | type[GatedDeltaNet], width: int, layers: int, heads: int = 1, emptied: int | None = None
) -> nn.Module:
    """Blocks of a delta rule: the nearest rivals of a bank that is written by the same rule."""
    model: Any = kind(width, width, width, layers, heads=heads)
    model.adds_to_input = True
    return bare(model) if emptied is None else Emptied(bare(model), emptied)


@dataclass(frozen=True)
class Row:
    """A row of the paper's table.

    Parameters
    ----------
    title
        Its name there.
    params
        Parameters wanted.
    core
        ``core(size)`` gives the embedding's width and the layer of that size.
    form
        Which of several forms of the row it is, in words.
    """

    title: str
    params: int
    core: Callable[[int], tuple[int, nn.Module]]
    form: str = ""

    @property
    def label(self) -> str:
        """Title and form."""
        return f"{self.title}, {self.form}" if self.form else self.title


def _plain(make: Callable[[int], nn.Module]) -> Callable[[int], tuple[int, nn.Module]]:
    return lambda size: (size, make(size))


def _salience(memory: LegT, size: int, readout: Readout = "shared") -> nn.Module:
    return SalienceLayer(memory, size, outputs=size, summary=32, hidden=2 * size, readout=readout)


# Windows of 12 characters: of 12, 32 and 128 the best on validation for Vanilla + MLP in a short trial.
RECENT = LegT(12, 12.0)

ROWS = {
    "lstm": Row("LSTM", 25_000, _plain(lambda size: bare(LSTM(size, size, size)))),
    "s4d": Row("S4D", 25_000, _plain(lambda size: bare(S4D(size, size, size)))),
    # dt_rank as the paper says; with 44 channels, untied, its 26k parameters and 88 time steps come out.
    "mamba": Row("Mamba", 26_000, _plain(lambda size: mamba_stack(size, 1, dt_rank=6))),
    "lstm_2": Row("LSTM, two layers", 42_000, _plain(lambda size: bare(LSTM(size, size, size, 2)))),
    "s4d_2": Row("S4D, two layers", 39_000, _plain(lambda size: bare(S4D(size, size, size, 2)))),
    "mamba_2": Row("Mamba, two layers", 43_000, _plain(lambda size: mamba_stack(size, 2, dt_rank=6))),
    "vanilla": Row(
        "Vanilla HiPPO",
        25_000,
        _plain(lambda size: bare(VanillaHippo(size, size, RECENT, size))),
        "order and window 12",
    ),
    "vanilla_mlp": Row(
        "Vanilla HiPPO + MLP", 25_000, lambda size: (32, bare(VanillaMLP(32, 32, RECENT, 32, hidden=size)))
    ),
    "salience": Row(
        "Salience HiPPO",
        25_000,
        _plain(lambda size: _salience(LegT(32, 32.0), size)),
        "order and window 32, reads one functional",
    ),
    "assoc": Row("Assoc. Memory HiPPO", 25_000, lambda size: (32, AssociativeMemory(32, hidden=size))),
}

#: Other forms of three rows. The paper gives neither order nor window nor readout of Salience: it can read one lag
#: functional of all channels, as it must in the paper's Table 1, or every coefficient, as Vanilla does.
OTHER_FORMS = {
    "salience_12": Row(
        "Salience HiPPO",
        25_000,
        _plain(lambda size: _salience(RECENT, size)),
        "order and window 12, reads one functional",
    ),
    "salience_full": Row(
        "Salience HiPPO",
        25_000,
        _plain(lambda size: _salience(RECENT, size, "full")),
        "order and window 12, reads all coefficients",
    ),
    "vanilla_32": Row(
        "Vanilla HiPPO",
        25_000,
        _plain(lambda size: bare(VanillaHippo(size, size, LegT(32, 32.0), size))),
        "order and window 32",
    ),
    # A bank that has no time to fill up; it is emptied at the end of every chunk of training.
    "assoc_reset": Row(
        "Assoc. Memory HiPPO",
        25_000,
        lambda size: (32, Emptied(AssociativeMemory(32, hidden=size), 128)),
        "emptied every 128 characters",
    ),
}
#: Rows of several forms, of which validation chooses one; the first is the row as it is named.
FORMS = {"salience": ("salience", "salience_12", "salience_full"), "vanilla": ("vanilla", "vanilla_32")}

STACKS: dict[str, Callable[..., nn.Module]] = {
    "lstm": partial(RecurrentStack, partial(nn.LSTM, batch_first=True)),
    "gru": partial(RecurrentStack, CompiledGRU),
    "mamba": mamba_stack,
    "deltanet": partial(delta_stack, DeltaNet),
    "gated_deltanet": partial(delta_stack, GatedDeltaNet),
}
#: Forms of a stack, of which validation chooses one; the search begins with the first. Recurrent layers may do without
#: ways around them; a block of Mamba has one by definition. A delta rule may have two memories in place of one. Trained
#: along a stream that never ends, it keeps in its memory what it would else have to learn, and is lost without it: from
#: nothing it has 2.64 nats a character after 700 steps, where it has 2.00 with the memory of its training. So it may
#: begin anew after so many characters, in training and in use.
AROUND: tuple[dict[str, Any], ...] = ({"around": True}, {"around": False})
HEADS: tuple[dict[str, Any], ...] = (
    {"heads": 1, "emptied": 2_048},
    {"heads": 2, "emptied": 2_048},
    {"heads": 1, "emptied": 512},
    {"heads": 1},
)
FORM_PARTS = ("around", "heads", "emptied")
STACK_FORMS = {"lstm": AROUND, "gru": AROUND, "deltanet": HEADS, "gated_deltanet": HEADS}


#: One mechanism of our stack taken away or changed, at equal size.
ABLATIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no bank": {"recall": False, "blocks": 5},
    "no products": {"products": 0},
    "no recent taps": {"taps": 0},
    "taps alone": {"windows": (), "recall": False, "blocks": 5},
    "taps alone, and the bank": {"windows": ()},
    "one window of 32": {"windows": (32.0,)},
    "windows of 8 and 32": {"windows": (8.0, 32.0)},
    "a kernel for every functional": {"shapes": None},
    "no gate": {"gate": False},
    "two blocks": {"blocks": 2},
    "three blocks": {"blocks": 3},
    "bank of 64 addresses": {"directions": 8},
}


def build_explicit(params: int, tied: bool, ablation: str = "as it is") -> SequenceModel:
    """Our own stack, or one with a mechanism changed."""
    return explicit_characters(params, len(ALPHABET), tied, **ABLATIONS[ablation])


def build_row(name: str, tied: bool) -> CharacterModel:
    """A row, as near to the paper's number of parameters as a size comes."""
    row = (ROWS | OTHER_FORMS)[name]

    def make(size: int) -> CharacterModel:
        width, core = row.core(size)
        return CharacterModel(core, width, tied)

    below = largest_within(make, row.params)
    return make(min((below, below + 1), key=lambda size: abs(count(make, size) - row.params)))


def state_of(model: nn.Module) -> int:
    """How many numbers a model of characters carries on, for one text."""
    sizes: list[int] = []
    with torch.no_grad():
        _, state = model(torch.zeros(1, 1, dtype=torch.long))
    map_leaves(lambda leaf: sizes.append(leaf.numel()) if isinstance(leaf, Tensor) else None, state)
    return sum(sizes)


def build_stack(family: str, layers: int, params: int, tied: bool, heads: int = 1, **options: Any) -> CharacterModel:
    """A stack of a family for the contest: the widest of at most so many parameters."""
    options |= {"heads": heads} if STACK_FORMS.get(family) is HEADS else {}

    def make(size: int) -> CharacterModel:
        return CharacterModel(STACKS[family](heads * size, layers, **options), heads * size, tied)

    return make(largest_within(make, params))


def count(make: Callable[[int], nn.Module], size: int) -> int:
    """Parameters of the model of a size, without using up the caller's randomness."""
    with torch.random.fork_rng(devices=[]):
        return parameter_count(make(size))


def largest_within(make: Callable[[int], nn.Module], params: int) -> int:
    """The largest size whose model has at most so many parameters; they grow with the size."""
    below, above = 1, 2
    while count(make, above) <= params:
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if count(make, middle) <= params else (below, middle)
    return below
