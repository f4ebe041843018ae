"""What the study of character models can be told, apart from its plan: the plan may change, and no unit with it."""

from __future__ import annotations

from dataclasses import dataclass

from hippozoo.experiments._character_models import ABLATIONS, FORMS
from hippozoo.experiments._characters import Protocol

OURS = "explicit"


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    rows: tuple[str, ...] = (
        "lstm",
        "vanilla_mlp",
        "vanilla",
        "lstm_2",
        "s4d",
        "assoc",
        "s4d_2",
        "mamba",
        "mamba_2",
        "salience",
    )
    # Rows whose form is chosen too.
    forms: tuple[str, ...] = tuple(FORMS)
    families: tuple[str, ...] = ("lstm", OURS, "gru", "mamba")
    sizes: tuple[int, ...] = (25_000, 43_000)
    # A search begins with the first rate and depth, and goes on to neighbours as long as that helps on validation.
    rates: tuple[float, ...] = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2)
    first_rate: float = 1.6e-2
    layers: tuple[int, ...] = (1, 2, 3, 4)
    first_layers: int = 2
    tying_rate: float = 2e-3
    ablations: tuple[str, ...] = tuple(ABLATIONS)


QUICK = Config(
    seeds=(0, 1),
    characters=2_000,
    batch=4,
    length=32,
    passes=1,
    rates=(4e-3, 8e-3),
    rows=("lstm", "vanilla_mlp"),
    families=("lstm", OURS),
    sizes=(25_000,),
    first_rate=8e-3,
    layers=(1, 2),
    ablations=("no bank",),
)
