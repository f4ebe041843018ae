"""Characters by hybrids: a bank behind other people's stacks, Mamba with one clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from hippozoo.layers import Block
from hippozoo.memory import LagLayer
from hippozoo.zoo.associative import Recall
from hippozoo_studies.paper._character_models import (
    CACHED,
    CACHED_FAMILY,
    FORM_PARTS,
    OURS,
    STACKS,
    build_explicit,
    build_row,
    build_stack,
    largest_within,
    mamba_stack,
)
from hippozoo_studies.paper._characters import CharacterModel, Emptied

__all__ = ["HAS_BANK", "HYBRIDS", "Banked", "Hybrid", "build_hybrid", "build_unit"]


class Banked(nn.Module):
    """A stack with a bank behind it, as the explicit stack has one: each character is stored under the moment before.

    Parameters
    ----------
    core
        The stack.
    width
        Channels.
    recent
        Where a moment stands: 0 for what the stack makes of the past, and else for what a block of lag functionals
        makes of so many of the latest characters, as in the explicit stack without its windows.
    """

    def __init__(self, core: nn.Module, width: int, recent: int = 0) -> None:
        super().__init__()
        self.adds_to_input = getattr(core, "adds_to_input", False)
        self.core = core
        self.recent = Block(width, LagLayer((), width, recent, products=1, shapes=4)) if recent else None
        # The search for a width begins with one channel.
        self.bank = Block(width, Recall(width, factors=min(2, width)), around=False)
        self.norm = nn.RMSNorm(width, eps=1e-5)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Outputs at every character, and the states of the stack, of the moments and of the bank."""
        of_core, of_recent, of_bank = state or (None, None, None)
        y, of_core = self.core(x, of_core)
        moments = y
        if self.recent is not None:
            moments, of_recent = self.recent(x, of_recent)
        recalled, of_bank = self.bank(moments, of_bank, first=x)
        return self.norm(y + recalled), (of_core, of_recent, of_bank)


@dataclass(frozen=True)
class Hybrid:
    """A hybrid of the contest's stacks.

    Parameters
    ----------
    title
        In words.
    family
        Whose depth, form and rate it begins with.
    core
        ``core(width, layers, **form)``.
    form
        What of the family's form is otherwise.
    """

    title: str
    family: str
    core: Callable[..., nn.Module]
    form: Mapping[str, Any] = field(default_factory=dict)


def _banked(family: str, recent: int = 0) -> Callable[..., nn.Module]:
    def core(width: int, layers: int, emptied: int | None = None, **form: Any) -> nn.Module:
        made = Banked(STACKS[family](width, layers, **form), width, recent)
        return made if emptied is None else Emptied(made, emptied)

    return core


HYBRIDS = {
    "lstm_bank": Hybrid("LSTM + bank", "lstm", _banked("lstm")),
    "lstm_recent_bank": Hybrid("LSTM + bank addressed by four characters", "lstm", _banked("lstm", recent=4)),
    # The LSTM stack does best without skip connections; with them, its outputs contain the characters themselves.
    "lstm_skip_bank": Hybrid("LSTM with skip connections + bank", "lstm", _banked("lstm"), {"around": True}),
    "mamba_bank": Hybrid("Mamba + bank", "mamba", _banked("mamba")),
    "mamba_clock": Hybrid(
        "Mamba with one clock (salience)",
        "mamba",
        lambda width, layers: mamba_stack(width, layers, shared_step=True),
    ),
}

HAS_BANK = tuple(name for name in HYBRIDS if name.endswith("_bank"))


def build_hybrid(name: str, layers: int, params: int, tied: bool, **form: Any) -> CharacterModel:
    """The widest of at most so many parameters."""

    def make(width: int) -> CharacterModel:
        return CharacterModel(HYBRIDS[name].core(width, layers, **form), width, tied)

    return make(largest_within(make, params))


def build_unit(unit: dict[str, Any]) -> Any:
    """The model of a unit, drawn afresh."""
    if "model" in unit:
        return build_row(unit["model"], unit["tied"])
    if "ablation" in unit:
        return build_explicit(unit["size"], unit["tied"], unit["ablation"])
    if unit.get("family") == OURS:
        return build_explicit(unit["size"], unit["tied"])
    form = {part: unit[part] for part in FORM_PARTS if part in unit}
    sizes = unit["layers"], unit["size"], unit["tied"]
    if "hybrid" in unit:
        return build_hybrid(unit["hybrid"], *sizes, **form)
    return build_stack(CACHED_FAMILY if unit["family"] == CACHED else unit["family"], *sizes, **form)
