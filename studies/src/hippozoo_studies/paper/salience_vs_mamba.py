"""Salience beside Mamba's time steps, on text by characters (paper, appendix on language modelling).

Both models learn to say how much time a character takes: salience by one number, which sees sample and memory; Mamba by
one per channel, which sees the sample. The paper compares them by a principal component analysis and two regressions.
What it leaves to future work comes on top: Mamba with one time step for all channels, Mamba whose time step sees the
memory, and salience of one clock and of one per channel. Each is trained for one pass, all in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from hippozoo._internal.files import write_whole
from hippozoo.baselines import Mamba
from hippozoo.systems import LegT
from hippozoo.training import seeded
from hippozoo.zoo.salience import SalienceLayer
from hippozoo_studies import QUIET, Context, Departure, Finished, Result, select
from hippozoo_studies.data.text import ALPHABET, WikiText, decode
from hippozoo_studies.paper._character_models import (
    OTHER_FORMS,
    RECENT,
    ROWS,
    bare,
    count,
    largest_within,
    mamba_stack,
)
from hippozoo_studies.paper._characters import CHUNK, CharacterModel, Protocol, learn
from hippozoo_studies.paper._clock_claims import clock_claims
from hippozoo_studies.paper._clock_figures import KINDS, draw_clocks
from hippozoo_studies.paper._mamba_parts import PARTS, without
from hippozoo_studies.paper._two_tasks import check_names

PAPER: dict[str, Any] = {"first_component": 0.79, "r2_salience_from_steps": 0.38, "r2_steps_from_salience": 0.01}
DEPARTURES = (
    Departure(
        "time steps of Mamba",
        "88",
        "96, and 98 where one step is shared",
        "to keep its size with tied embeddings; the share of the first component may depend on their number",
    ),
    Departure(
        "training",
        "as for its table",
        "one pass, one seed; the pair that is compared at the paper's 1e-3 and at 8e-3, the variants at 8e-3",
        "the rate decides how many directions Mamba's time steps take; all would gain from more passes",
    ),
    Departure(
        "Salience",
        "order, window and readout not given",
        "order and window 12, all coefficients are read; as variants one lag functional for all channels, order 32 and "
        "window 32, or 16 and 32 where it sees the sample only",
        "the readout decides what a clock per channel gains",
    ),
    Departure(
        "text",
        "raw WikiText-2",
        "tokenised; the first 200,000 characters of the test split are compared",
        "no known effect",
    ),
)
SELECTS = ("seeds", "variants", "paper_rate")
ASSEMBLES_PARTS = True
PARAMS = 25_000
# The memory of both kinds of salience beside Mamba's 16 coefficients, where one lag functional reads it.
SHORT = LegT(16, 32.0)
#: The models that the paper compares; Salience as in its row of the table.
PAIR = ("mamba", "salience_full")


def _mamba_without(part: str, width: int) -> nn.Module:
    model: Any = without(part, width, 1, width, width, dt_rank=6)
    model.adds_to_input = True
    return bare(model)


VARIANTS: dict[str, tuple[str, Any]] = {
    "mamba": ("Mamba: a time step per channel", lambda width: mamba_stack(width, 1, dt_rank=6)),
    "mamba_shared": (
        "Mamba, one time step for all",
        lambda width: mamba_stack(width, 1, dt_rank=6, shared_step=True),
    ),
    "mamba_state": (
        "Mamba, time steps see the memory",
        lambda width: mamba_stack(width, 1, dt_rank=6, step_sees_state=True),
    ),
    "mamba_shared_state": (
        "Mamba, one time step that sees the memory",
        lambda width: mamba_stack(width, 1, dt_rank=6, shared_step=True, step_sees_state=True),
    ),
    "vanilla": ("Plain memory, all coefficients read", lambda width: ROWS["vanilla"].core(width)[1]),
    "salience_scalar_full": (
        "Salience, one clock, input only, all coefficients read",
        lambda width: SalienceLayer(RECENT, width, outputs=width, summary=0, hidden=2 * width, readout="full"),
    ),
    "salience_per_channel_full": (
        "Salience, a clock per channel, input only, all coefficients read",
        lambda width: SalienceLayer(
            RECENT, width, outputs=width, summary=0, hidden=width, per_channel=True, readout="full"
        ),
    ),
    "salience_full": (
        "Salience, one clock that sees the memory, all coefficients read",
        lambda width: OTHER_FORMS["salience_full"].core(width)[1],
    ),
    "salience_scalar": (
        "Salience, one clock, input only, one functional read",
        lambda width: SalienceLayer(SHORT, width, outputs=width, summary=0, hidden=2 * width),
    ),
    "salience_per_channel": (
        "Salience, a clock per channel, input only, one functional read",
        lambda width: SalienceLayer(SHORT, width, outputs=width, summary=0, hidden=width, per_channel=True),
    ),
    "salience": (
        "Salience, one clock that sees the memory, one functional read",
        lambda width: ROWS["salience"].core(width)[1],
    ),
}
VARIANTS |= {
    f"mamba_without_{part}": (f"Mamba without its {words}", partial(_mamba_without, part))
    for part, words in PARTS.items()
}


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0,)
    passes: int = 1
    rate: float = 8e-3
    # The paper's, for the pair: its numbers depend on it.
    paper_rate: float = 1e-3
    tied: bool = True
    # Characters of the test split that the two models are compared on.
    compared: int = 200_000
    variants: tuple[str, ...] = (
        "mamba",
        "mamba_shared",
        "salience_scalar",
        "salience_per_channel",
        "mamba_state",
        "mamba_shared_state",
        "vanilla",
        "salience_scalar_full",
        "salience_per_channel_full",
        "salience",
        *(f"mamba_without_{part}" for part in PARTS),
    )


QUICK = Config(characters=1_500, batch=4, length=32, compared=400, variants=("mamba_shared", "mamba_state"))


def build(variant: str, tied: bool) -> CharacterModel:
    """A model as near to 25k parameters as a width comes."""

    def make(width: int) -> CharacterModel:
        return CharacterModel(VARIANTS[variant][1](width), width, tied)

    below = largest_within(make, PARAMS)
    return make(min((below, below + 1), key=lambda width: abs(count(make, width) - PARAMS)))


def units(config: Config) -> list[dict[str, Any]]:
    """The variants, cheap ones first, and the pair that is compared."""
    check_names("variants", config.variants, VARIANTS)
    return [
        *({"variant": name, "seed": seed} for name in config.variants for seed in config.seeds),
        *({**pair, "seed": seed} for pair in _pairs(config) for seed in config.seeds),
    ]


def _pairs(config: Config) -> list[dict[str, Any]]:
    """The pair at the paper's rate, and at that of the variants."""
    pair = {"pair": " and ".join(PAIR)}
    return [pair | {"rate": config.paper_rate}, pair]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train a variant; or train the pair and compare how much time characters take for them."""
    text = config.text(context)
    config = replace(config, rate=unit.get("rate", config.rate))
    if "variant" in unit:
        return _trained(config, unit["variant"], unit["seed"], text, context)[1]
    models, found = {}, {}
    for number, name in enumerate(PAIR):
        models[name], found[name] = _trained(config, name, unit["seed"], text, _part(context, name, number))
    codes = text.test.codes[: config.compared]
    steps, salience = (time_taken(models[name], codes) for name in PAIR)
    salience = salience[:, 0]
    excerpt = slice(0, 160)
    return {
        "models": found,
        "compared": compare(steps, salience),
        "by_character": {
            "mamba": by_character(steps.mean(1), codes),
            "salience": by_character(salience, codes),
        },
        "by_kind": {"mamba": by_kind(steps.mean(1), codes), "salience": by_kind(salience, codes)},
        "excerpt": {
            "text": decode(codes[excerpt]),
            "mamba": np.round(steps.mean(1)[excerpt], 4).tolist(),
            "salience": np.round(salience[excerpt], 4).tolist(),
        },
    }


def _part(context: Context, name: str, number: int) -> Context:
    """Half of a unit, with a folder of its own for the checkpoint."""
    scratch = None
    if context.scratch is not None:
        scratch = context.scratch / name
        scratch.mkdir(exist_ok=True)
    return Context(
        context.data,
        scratch,
        context.jobs,
        lambda fraction, text="": context.progress((number + fraction) / 2, f"{name}: {text}"),
    )


def _trained(
    config: Config, variant: str, seed: int, text: WikiText, context: Context
) -> tuple[CharacterModel, dict[str, Any]]:
    with seeded(seed):
        model = build(variant, config.tied)
    plan = config.plan(text, config.rate, seed, config.passes)
    return model, learn(model, text, config, plan, context, test=False)


@torch.no_grad()
def time_taken(model: CharacterModel, codes: np.ndarray) -> Float[np.ndarray, "time clocks"]:
    """How much time every character of a text takes, read from end to end with one state."""
    core = cast(Any, model.core)
    told = (lambda x, state: core.time_steps(x, state)[:, :, 0]) if isinstance(core, Mamba) else core.salience
    state, pieces = None, []
    for begin in range(0, len(codes), CHUNK):
        here = torch.from_numpy(codes[None, begin : begin + CHUNK].astype(np.int64))
        x = model.embedded(here)
        pieces.append(told(x, state)[0].double().numpy())
        _, state = core(x, state)
    return np.concatenate(pieces)


def compare(steps: Float[np.ndarray, "time clocks"], salience: Float[np.ndarray, " time"]) -> dict[str, Any]:
    """The paper's three numbers: share of the first component, and R² of the regressions in both directions.

    Examples
    --------
    One number cannot say what two do; two can say what one does.

    >>> rng = np.random.default_rng(0)
    >>> steps = rng.normal(size=(4000, 2))
    >>> found = compare(steps, steps @ [1.0, 1.0])
    >>> [round(found[name], 1) for name in ("r2_salience_from_steps", "r2_steps_from_salience")]
    [1.0, 0.5]
    """
    centred = steps - steps.mean(0)
    shares = np.linalg.svd(centred, compute_uv=False) ** 2
    wanted = salience - salience.mean()
    fit, *_ = np.linalg.lstsq(centred, wanted, rcond=None)
    back = centred.T @ wanted / max(wanted @ wanted, 1e-300)
    return {
        "first_component": float(shares[0] / shares.sum()),
        "components": (shares[:8] / shares.sum()).tolist(),
        "r2_salience_from_steps": 1 - _share(wanted - centred @ fit, wanted),
        "r2_steps_from_salience": 1 - _share(centred - np.outer(wanted, back), centred),
        "clocks": steps.shape[1],
        "characters": len(steps),
    }


def _share(rest: np.ndarray, whole: np.ndarray) -> float:
    return float((rest**2).sum() / max((whole**2).sum(), 1e-300))


def by_character(taken: Float[np.ndarray, " time"], codes: np.ndarray) -> dict[str, float]:
    """Mean over all places of each character that stands there at least 20 times, in standard deviations."""
    z = (taken - taken.mean()) / max(taken.std(), 1e-300)
    often = [code for code in range(len(ALPHABET)) if (codes == code).sum() >= 20]
    return {ALPHABET[code]: round(float(z[codes == code].mean()), 4) for code in often}


def kinds_of(text: str) -> list[str]:
    """The kind of every character."""
    found = []
    for before, symbol in zip("\n" + text, text, strict=False):
        if symbol.isalpha():
            found.append("letter inside a word" if before.isalpha() else "first letter of a word")
        elif symbol.isdigit():
            found.append("digit")
        else:
            found.append({" ": "space", "\n": "newline"}.get(symbol, "punctuation"))
    return found


def by_kind(taken: Float[np.ndarray, " time"], codes: np.ndarray) -> dict[str, float]:
    """Mean over the characters of each kind, in standard deviations from the mean of all."""
    z = (taken - taken.mean()) / max(taken.std(), 1e-300)
    kinds = np.array(kinds_of(decode(codes)))
    return {kind: round(float(z[kinds == kind].mean()), 4) for kind in KINDS if (kinds == kind).any()}


def assemble(config: Config, finished: list[Finished]) -> Result:
    """The paper's numbers beside ours, and what each way of taking time buys."""
    metrics: dict[str, Any] = {"validation_perplexity": {}, "params": {}, "seconds": {}}
    for name in config.variants:
        for one in select(finished, variant=name, seed=config.seeds[0]):
            metrics["validation_perplexity"][name] = one.result["validation_perplexity"]
            metrics["params"][name] = one.result["parameters"]
            metrics["seconds"][name] = one.result["training_seconds"]
    arrays: dict[str, Any] = {"config": config}
    compared = {}
    for pair in reversed(_pairs(config)):  # what stands at the top is at the paper's rate, if that has been run
        runs = select(finished, **pair, seed=config.seeds[0])
        runs = [one for one in runs if one.unit.get("rate") == pair.get("rate")]
        if not runs:
            continue
        found = runs[0].result
        compared[f"{pair.get('rate', config.rate):g}"] = found["compared"]
        metrics |= found["compared"]
        metrics["by_kind"] = found["by_kind"]
        arrays |= {"by_character": found["by_character"], "excerpt": found["excerpt"]}
        perplexities = {name: model["validation_perplexity"] for name, model in found["models"].items()}
        if "rate" in pair:
            metrics["validation_perplexity_at_the_papers_rate"] = perplexities
        else:
            metrics["validation_perplexity"] |= perplexities
            metrics["params"] |= {name: model["parameters"] for name, model in found["models"].items()}
    if compared:
        metrics["compared"] = compared
    return Result(metrics, clock_claims(compared, metrics), arrays)


def report(result: Result, folder: Path) -> None:
    """The numbers as text, and which characters take time."""
    write_whole(folder / "table.md", table(result).encode())
    draw_clocks(result, folder)


def table(result: Result) -> str:
    """The numbers as Markdown."""
    metrics = result.metrics
    compared = dict(reversed(metrics.get("compared", {}).items()))
    words = {
        "first_component": "share of the first component of Mamba's time steps",
        "r2_salience_from_steps": "R² of salience from the time steps",
        "r2_steps_from_salience": "R² of the time steps from salience",
    }
    lines = [f"| | {''.join(f'at rate {rate} | ' for rate in compared)}paper |", "|---|" + "---|" * (len(compared) + 1)]
    lines += [
        f"| {title} | {''.join(f'{found[name]:.3f} | ' for found in compared.values())}{PAPER[name]} |"
        for name, title in words.items()
        if compared
    ]
    lines += ["", "| one pass, 25k parameters | parameters | validation perplexity |", "|---|---|---|"]
    for name, (title, _) in VARIANTS.items():
        if name in metrics["validation_perplexity"]:
            found = metrics["validation_perplexity"][name]
            said = "diverged" if found is None else f"{found:.3f}"
            lines.append(f"| {title} | {metrics['params'][name]:,} | {said} |")
    if "by_kind" in metrics:
        rate = next(iter(compared))
        lines += ["", f"| standard deviations from the mean, at rate {rate} | Mamba | Salience |", "|---|---|---|"]
        both = metrics["by_kind"]
        lines += [
            f"| {kind} | {both['mamba'][kind]:+.2f} | {both['salience'][kind]:+.2f} |"
            for kind in KINDS
            if kind in both["mamba"]
        ]
    return "\n".join(lines) + "\n"
