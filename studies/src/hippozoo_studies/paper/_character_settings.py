"""What the study of character models can be told, apart from its plan: the plan may change, and no unit with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hippozoo_studies.paper._character_hybrids import HYBRIDS
from hippozoo_studies.paper._character_models import ABLATIONS, CACHED, FORMS, OURS
from hippozoo_studies.paper._characters import Protocol


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
    families: tuple[str, ...] = ("lstm", OURS, "gru", "mamba", "deltanet", "gated_deltanet", CACHED)
    sizes: tuple[int, ...] = (25_000, 43_000)
    # Those that enter at the larger sizes too: LSTM, GRU and Mamba, and whoever came within five per cent of ours at
    # the smallest size, as the LSTM with a cache did.
    larger: tuple[str, ...] = ("lstm", OURS, "gru", "mamba", CACHED)
    # Of the smallest size.
    hybrids: tuple[str, ...] = tuple(HYBRIDS)
    # Rows that are also trained as the paper says: rate, stopping; at most so many passes.
    as_paper: tuple[str, ...] = ("lstm", "mamba", "vanilla_mlp", "salience")
    paper_rate: float = 1e-3
    paper_passes: int = 15
    # Whether Associative Memory is trained once more with a bank that is emptied.
    reset: bool = True
    # A search begins with the first rate and depth, and goes on to neighbours as long as that helps on validation.
    rates: tuple[float, ...] = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2)
    first_rate: float = 1.6e-2
    layers: tuple[int, ...] = (1, 2, 3, 4)
    first_layers: int = 2
    tying_rate: float = 2e-3
    ablations: tuple[str, ...] = tuple(ABLATIONS)

    def families_of(self, size: int) -> tuple[str, ...]:
        """Who enters the contest of a size."""
        return self.families if size == self.sizes[0] else tuple(one for one in self.families if one in self.larger)


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
    hybrids=("lstm_bank",),
    as_paper=("lstm",),
    paper_passes=2,
    reset=False,
)

# What a unit names, and the setting that lists it; each of these is a part of the study that can be run by itself.
_LISTS = {"model": "rows", "family": "families", "hybrid": "hybrids", "ablation": "ablations", "as_paper": "as_paper"}


def narrowed(config: Config, only: Mapping[str, Sequence[str]]) -> Config:
    """The study with nothing in it but what ``--only`` names, and what that depends on.

    Parameters
    ----------
    only
        One of ``model``, ``family``, ``hybrid``, ``ablation``, ``as_paper`` or ``reset=yes``; and ``size``, ``seed``;
        from each to its values.

    Examples
    --------
    >>> some = narrowed(Config(), {"family": ["deltanet"], "size": ["25000"]})
    >>> some.families, some.sizes, some.rows
    (('deltanet',), (25000,), ())
    """
    changes: dict[str, Any] = dict.fromkeys(_LISTS.values(), ()) | {"reset": False}
    # A search begins with the first seed, and where a smaller size ended: what comes before stays.
    counted = {"size": "sizes", "seed": "seeds"}
    for part, values in only.items():
        if part == "reset":
            if list(values) != ["yes"]:
                raise ValueError(f"--only reset={values[0]}: no such reset; choose from yes.")
            changes["reset"] = True
            continue
        field = (_LISTS | counted).get(part)
        if field is None:
            raise ValueError(f"--only {part}: no such part; choose from {', '.join((*_LISTS, *counted, 'reset'))}.")
        names = [str(one) for one in getattr(config, field)]
        if unknown := [value for value in values if value not in names]:
            raise ValueError(f"--only {part}={unknown[0]}: no such {part}; choose from {', '.join(names)}.")
        last = max(map(names.index, values))
        some = [name for name in names[: last + 1] if part in counted or name in values]
        changes[field] = tuple(getattr(config, field)[names.index(name)] for name in some)
    return replace(config, **changes)
