"""The study of character models as a plan: which units there are, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hippozoo.experiments import Finished, select
from hippozoo.experiments._character_models import ABLATIONS, ROWS, STACKS
from hippozoo.experiments._characters import Protocol
from hippozoo.experiments._two_tasks import check_names
from hippozoo.training import best_rate

OURS = "explicit"
#: The recipe of our stack; a unit names it, so that a better recipe leaves the old lines standing.
RECIPE = 1
# The cheapest model decides whether embeddings are tied.
DECIDERS = ("lstm",)
# Entries of the agenda that are open at the same time, so that two processes have work.
SIDE_BY_SIDE = 2


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
    families: tuple[str, ...] = (OURS, "lstm", "gru", "mamba")
    sizes: tuple[int, ...] = (25_000, 43_000)
    layers: tuple[int, ...] = (1, 2, 3, 4)
    # The rate at which depths are compared.
    depth_rate: float = 4e-3
    tying_rate: float = 2e-3
    ablations: tuple[str, ...] = tuple(ABLATIONS)
    ablation_passes: int = 3


QUICK = Config(
    seeds=(0, 1),
    characters=2_000,
    batch=4,
    length=32,
    passes=1,
    rates=(2e-3, 4e-3),
    rows=("lstm", "vanilla_mlp"),
    families=("lstm", OURS),
    sizes=(25_000,),
    layers=(1, 2),
    ablations=("no bank",),
    ablation_passes=1,
)

Unit = dict[str, Any]


def units(config: Config) -> list[Unit]:
    """Whether embeddings are tied; all else depends on it, and comes from `more_units`."""
    check_names("rows", config.rows, ROWS)
    check_names("families", config.families, (*STACKS, OURS))
    check_names("ablations", config.ablations, ABLATIONS)
    return [
        {"stage": "tying", "model": model, "tied": tied, "rate": config.tying_rate, "seed": config.seeds[0]}
        for model in DECIDERS
        for tied in (True, False)
    ]


def more_units(config: Config, finished: list[Finished]) -> list[Unit]:
    """The next units of the first unfinished entries of the agenda."""
    done = Done(finished)
    following: list[Unit] = []
    entries = 0
    for entry in agenda(config):
        open_units = [unit for unit in entry(config, done) if done.result(unit) is None]
        following += [unit for unit in open_units if unit not in following]
        entries += bool(open_units)
        if entries == SIDE_BY_SIDE:
            break
    return following


class Done:
    """Finished units, found by their keys."""

    def __init__(self, finished: Sequence[Finished]) -> None:
        self.finished = list(finished)
        self.results = {tuple(sorted(one.unit.items())): one.result for one in finished}

    def result(self, unit: Unit) -> dict[str, Any] | None:
        """What became of a unit; None if it has not been run."""
        return self.results.get(tuple(sorted(unit.items())))

    def perplexity(self, unit: Unit) -> float | None:
        """On validation; infinite for what diverged, None for what has not been run."""
        found = self.result(unit)
        if found is None:
            return None
        return found["validation_perplexity"] if found["validation_perplexity"] is not None else float("inf")


def agenda(config: Config) -> Iterator[Any]:
    """Functions of configuration and finished units that list the units of one row as far as they are known."""
    cheap, rest = config.rows[:2], config.rows[2:]
    for size in config.sizes[:1]:
        yield from (_entrant(family, size, trials_only=True) for family in config.families)
    yield from (_row(name) for name in cheap)
    for size in config.sizes[:1]:
        yield from (_entrant(family, size) for family in config.families)
    yield from (_row(name) for name in rest)
    yield from (_ablation(name) for name in config.ablations)
    for size in config.sizes[1:]:
        yield from (_entrant(family, size) for family in config.families)


def tied(done: Done) -> bool:
    """Whether embeddings are tied: the smaller geometric mean of the deciders' validation perplexities."""
    means = {}
    for choice in (True, False):
        found = [done.perplexity(one.unit) for one in select(done.finished, stage="tying", tied=choice)]
        product = 1.0
        for value in found:
            product *= value if value is not None else float("inf")
        means[choice] = product
    return means[True] <= means[False]


def _trials(config: Config, done: Done, key: Unit) -> tuple[list[Unit], float | None]:
    """One pass at every rate, one more if the largest is best; and the chosen rate, once all are there."""
    seed = config.seeds[0]
    trials = [{**key, "stage": "rate", "rate": rate, "seed": seed} for rate in sorted(config.rates, reverse=True)]
    found = {unit["rate"]: done.perplexity(unit) for unit in trials}
    if None in found.values():
        return trials, None
    if best_rate(found) == max(config.rates) and config.one_more_rate not in found:
        trials.append({**key, "stage": "rate", "rate": config.one_more_rate, "seed": seed})
        found[config.one_more_rate] = done.perplexity(trials[-1])
        if found[config.one_more_rate] is None:
            return trials, None
    return trials, best_rate(found)


def _row(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        key = {"model": name, "tied": tied(done)}
        trials, rate = _trials(config, done, key)
        whole = [] if rate is None else [{**key, "stage": "row", "rate": rate, "seed": config.seeds[0]}]
        return trials + whole

    return entry


def _entrant(family: str, size: int, trials_only: bool = False) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        key: Unit = {"family": family, "size": size, "tied": tied(done)}
        depths: list[Unit] = []
        if family == OURS:
            key["recipe"] = RECIPE
        else:
            depths = [
                {**key, "layers": layers, "stage": "depth", "rate": config.depth_rate, "seed": config.seeds[0]}
                for layers in config.layers
            ]
            best = _deepest(done, depths)
            if best is None:
                return depths
            key["layers"] = best
        trials, rate = _trials(config, done, key)
        seeds = (
            [] if rate is None else [{**key, "stage": "contest", "rate": rate, "seed": seed} for seed in config.seeds]
        )
        return depths + trials + seeds

    return entry


def _deepest(done: Done, depths: Sequence[Unit]) -> int | None:
    """The number of layers with the smallest validation perplexity, once all have been tried."""
    found = {unit["layers"]: done.perplexity(unit) for unit in depths}
    known = {layers: value for layers, value in found.items() if value is not None}
    return min(known, key=known.__getitem__) if len(known) == len(found) else None


def _ablation(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        own = select(done.finished, stage="contest", family=OURS, size=config.sizes[0], recipe=RECIPE)
        if not own:
            return []
        key = {"ablation": name, "size": config.sizes[0], "recipe": RECIPE, "tied": tied(done)}
        return [{**key, "stage": "ablation", "rate": own[0].unit["rate"], "seed": config.seeds[0]}]

    return entry
