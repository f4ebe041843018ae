"""The study of character models as a plan: which units there are, and in which order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hippozoo.experiments import Finished, select
from hippozoo.experiments._character_models import ABLATIONS, FORMS, PLAIN_TOO, ROWS, STACKS
from hippozoo.experiments._character_settings import OURS, Config
from hippozoo.experiments._two_tasks import check_names

#: How the stacks of the contest are made: ours, and the others. A unit names it, so that lines of an older recipe are
#: never taken for lines of this one.
RECIPES = {"ours": 2, "others": 2}
# The cheapest model decides whether embeddings are tied.
DECIDERS = ("lstm",)
# Without these the contest cannot be judged: is it the polynomial memory that wins, or recent samples, or the bank?
DECISIVE = ("taps alone", "no bank", "taps alone, and the bank")
# Entries of the agenda that are open at the same time, so that several processes have work.
SIDE_BY_SIDE = 3


Unit = dict[str, Any]


def units(config: Config) -> list[Unit]:
    """Whether embeddings are tied; all else depends on it, and comes from `more_units`."""
    check_names("rows", config.rows, ROWS)
    check_names("forms", config.forms, FORMS)
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
    if any(done.result(unit) is None for unit in units(config)):
        return []
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
    for size in config.sizes[:1]:
        yield from (_entrant(family, size, seed) for seed in config.seeds for family in config.families)
    yield from (_ablation(name) for name in config.ablations if name in DECISIVE)
    yield from (_row(name) for name in config.rows)
    for size in config.sizes[1:]:
        yield from (_entrant(family, size, seed) for seed in config.seeds for family in config.families)
    yield from (_ablation(name) for name in config.ablations if name not in DECISIVE)


def recipe(family: str) -> int:
    """The number of the recipe by which the stacks of a family are made."""
    return RECIPES["ours" if family == OURS else "others"]


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


def walk(values: Sequence[Any], first: Any, found: Callable[[Any], float | None]) -> tuple[list[Any], Any]:
    """From the first value to its neighbours, upwards and then downwards, as long as they are better.

    What has to be tried, in this order, and the best, once both its neighbours are known to be worse.

    Parameters
    ----------
    values
        From the smallest to the largest.
    first
        Where the search begins.
    found
        What came of a value, the smaller the better; None if it has not been tried.

    Examples
    --------
    >>> known = {8: 5.0, 16: 5.2, 4: 4.9, 2: 4.95}
    >>> walk([1, 2, 4, 8, 16], 8, {8: 5.0, 16: 5.2}.get)
    ([8, 16, 4], None)
    >>> walk([1, 2, 4, 8, 16], 8, known.get)
    ([8, 16, 4, 2], 4)
    """
    values, tried = list(values), [first]
    best = first
    if found(first) is None:
        return tried, None
    for direction in (1, -1):
        if direction == -1 and best != first:
            break  # going up helped: what lies below the first is behind a worse one
        place = values.index(best) + direction
        while 0 <= place < len(values):
            tried.append(values[place])
            value, so_far = found(values[place]), found(best)
            if value is None or so_far is None:
                return tried, None
            if value >= so_far and not (direction < 0 and math.isinf(so_far)):  # from what diverged only down
                break
            best = values[place]
            place += direction
    return tried, best


def _trials(config: Config, done: Done, key: Unit, first: float) -> tuple[list[Unit], float | None]:
    """Passes at the rates of a search, and the rate that it found."""

    def trial(rate: float) -> Unit:
        return {**key, "stage": "trial", "rate": rate, "seed": config.seeds[0]}

    rates, best = walk(sorted(config.rates), first, lambda rate: done.perplexity(trial(rate)))
    return [trial(rate) for rate in rates], best


def _row(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        first, form = form_of(config, done, name)
        if form is None:
            return first
        key = {"model": form, "tied": tied(done)}
        trials, rate = _trials(config, done, key, config.first_rate)
        whole = [] if rate is None else [{**key, "stage": "row", "rate": rate, "seed": config.seeds[0]}]
        return first + [unit for unit in trials if unit not in first] + whole

    return entry


def form_of(config: Config, done: Done, name: str) -> tuple[list[Unit], str | None]:
    """Trials of the forms of a row, one pass at the first rate, and the form that is best on validation."""
    forms = FORMS[name] if name in config.forms else (name,)
    if len(forms) == 1:
        return [], name
    trials = [
        {"model": form, "tied": tied(done), "stage": "trial", "rate": config.first_rate, "seed": config.seeds[0]}
        for form in forms
    ]
    found = [done.perplexity(trial) for trial in trials]
    known = [value for value in found if value is not None]
    return trials, forms[found.index(min(known))] if len(known) == len(forms) else None


def _entrant(family: str, size: int, seed: int) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        trials, chosen = search(config, done, family, size)
        return trials if chosen is None else [*trials, {**chosen, "stage": "contest", "seed": seed}]

    return entry


def search(config: Config, done: Done, family: str, size: int) -> tuple[list[Unit], Unit | None]:
    """Trials of one pass, and the stack that they choose: rates at one depth, then depths at the best rate.

    In the end recurrent layers are tried without ways around them.
    """
    key: Unit = {"family": family, "size": size, "tied": tied(done), "recipe": recipe(family)}
    first_rate, first_layers = config.first_rate, config.first_layers
    before = [one for one in config.sizes if one < size]
    if before:  # of a smaller size it is known where to begin
        _, smaller = search(config, done, family, max(before))
        if smaller is None:
            return [], None
        first_rate, first_layers = smaller["rate"], smaller.get("layers", first_layers)
    if family == OURS:
        trials, rate = _trials(config, done, key, first_rate)
        return trials, None if rate is None else {**key, "rate": rate}
    around = {"around": True} if family in PLAIN_TOO else {}
    trials, rate = _trials(config, done, {**key, "layers": first_layers, **around}, first_rate)
    if rate is None:
        return trials, None

    def stack(layers: int, around: Unit) -> Unit:
        return {**key, "layers": layers, **around, "rate": rate}

    def trial(layers: int, around: Unit) -> Unit:
        return {**stack(layers, around), "stage": "trial", "seed": config.seeds[0]}

    depths, layers = walk(sorted(config.layers), first_layers, lambda one: done.perplexity(trial(one, around)))
    trials += [unit for unit in (trial(one, around) for one in depths) if unit not in trials]
    if layers is None:
        return trials, None
    ways = [around, {"around": False}] if around else [around]
    found = [done.perplexity(trial(layers, way)) for way in ways]
    trials += [trial(layers, way) for way in ways[1:]]
    known = [value for value in found if value is not None]
    return trials, stack(layers, ways[found.index(min(known))]) if len(known) == len(ways) else None


def _ablation(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        _, own = search(config, done, OURS, config.sizes[0])
        # As it is, the stack has been trained for the contest, in the same way.
        if own is None or not ABLATIONS[name]:
            return []
        return [{**own, "ablation": name, "stage": "ablation", "seed": config.seeds[0]}]

    return entry
