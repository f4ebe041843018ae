"""The study of character models as a plan: which units there are, and in which order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hippozoo_studies import Finished, select
from hippozoo_studies.paper._character_hybrids import HAS_BANK, HYBRIDS
from hippozoo_studies.paper._character_models import (
    ABLATIONS,
    CACHED,
    CACHED_FAMILY,
    FORM_PARTS,
    FORMS,
    OURS,
    ROWS,
    STACK_FORMS,
    STACKS,
)
from hippozoo_studies.paper._character_settings import Config
from hippozoo_studies.paper._two_tasks import check_names

#: How the stacks of the contest are made: ours, and the others. A unit names it, so that lines of an older recipe are
#: never taken for lines of this one.
RECIPES = {"ours": 2, "others": 2}
# The cheapest model decides whether embeddings are tied.
DECIDERS = ("lstm",)
# Without these the contest cannot be judged: is it the polynomial memory that wins, or recent samples, or the bank?
DECISIVE = ("taps alone", "no bank", "taps alone, and the bank")
# Entries of the agenda that are open at the same time, so that several processes have work.
SIDE_BY_SIDE = 3
# Characters after which the bank of a hybrid is emptied in a trial, as is the memory of DeltaNet.
EMPTIED = 2_048


Unit = dict[str, Any]


def units(config: Config) -> list[Unit]:
    """Whether embeddings are tied; all else depends on it, and comes from `more_units`."""
    check_names("rows", config.rows, ROWS)
    check_names("forms", config.forms, FORMS)
    check_names("families", config.families, (*STACKS, OURS, CACHED))
    check_names("ablations", config.ablations, ABLATIONS)
    check_names("hybrids", config.hybrids, HYBRIDS)
    check_names("as_paper", config.as_paper, ROWS)
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
    for entry in agenda(config, done):
        open_units = [unit for unit in entry if done.result(unit) is None]
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

    def best(self, trials: Sequence[Unit]) -> int | None:
        """Which of these trials is best on validation; None before all of them have been run."""
        found = [self.perplexity(trial) for trial in trials]
        known = [value for value in found if value is not None]
        return found.index(min(known)) if len(known) == len(found) else None


def agenda(config: Config, done: Done) -> Iterator[list[Unit]]:
    """The units of one row, stack or ablation after the other, as far as they are known."""
    first, *others = config.seeds

    def entrants(size: int, families: Sequence[str]) -> Iterator[list[Unit]]:
        for seed in config.seeds:
            for family in families:
                yield _then(search(config, done, family, size), "contest", seed)

    def rows(seed: int) -> Iterator[list[Unit]]:
        return (_then(row_of(config, done, name), "row", seed) for name in config.rows)

    def hybrids(seed: int) -> Iterator[list[Unit]]:
        return (_then(hybrid_of(config, done, name), "hybrid", seed) for name in config.hybrids)

    def ablations(*, decisive: bool) -> Iterator[list[Unit]]:
        for name in config.ablations:
            # As it is, the stack has been trained for the contest, in the same way.
            if ABLATIONS[name] and (name in DECISIVE) == decisive:
                yield _then(search(config, done, OURS, config.sizes[0]), "ablation", first, ablation=name)

    for size in config.sizes[:1]:
        yield from entrants(size, config.families)
    yield from ablations(decisive=True)
    yield from rows(first)
    yield from hybrids(first)
    if config.reset:
        # Associative Memory as its row is trained, with a bank that is emptied again and again; then our own stack
        # once more, to be scored with memories that are emptied.
        yield _then(row_of(config, done, "assoc"), "reset", first, model="assoc_reset")
        yield _then(search(config, done, OURS, config.sizes[0]), "span", first)
    if CACHED in config.families and OURS in config.families:
        # The cache beside the LSTM and beside ours, with each context, and what either has without it.
        for family in (CACHED_FAMILY, OURS):
            yield _then(search(config, done, family, config.sizes[0]), "cached", first)
    # What the banks of trained stacks keep under which addresses.
    banks = [name for name in HAS_BANK if name in config.hybrids]
    if banks and OURS in config.families:
        yield _then(search(config, done, OURS, config.sizes[0]), "addresses", first)
    for name in banks:
        yield _then(hybrid_of(config, done, name), "addresses", first)
    if banks and config.reset:
        # Is it a bank that fills up? DeltaNet is lost without a memory that is emptied.
        yield _then(hybrid_of(config, done, banks[0]), "trial", first, emptied=EMPTIED)
    for seed in others:
        yield from hybrids(seed)
    for seed in others:
        yield from rows(seed)
    for size in config.sizes[1:]:
        yield from entrants(size, config.families_of(size))
    yield from ablations(decisive=False)
    paper = {"rate": config.paper_rate, "passes": config.paper_passes}
    for name in config.as_paper:
        trials, form = form_of(config, done, name)
        chosen = None if form is None else {"model": form, "tied": tied(done), **paper}
        yield _then((trials, chosen), "as paper", first)


def _then(found: tuple[list[Unit], Unit | None], stage: str, seed: int, **more: Any) -> list[Unit]:
    """Trials, and what they choose once that is known, trained to its end."""
    trials, chosen = found
    return trials if chosen is None else [*trials, {**chosen, **more, "stage": stage, "seed": seed}]


def recipe(family: str) -> int:
    """The number of the recipe by which the stacks of a family are made."""
    return RECIPES["ours" if family == OURS else "others"]


def tied(done: Done) -> bool:
    """Whether embeddings are tied: the smaller geometric mean of the deciders' validation perplexities."""

    def product(choice: bool) -> float:
        found = (done.perplexity(one.unit) for one in select(done.finished, stage="tying", tied=choice))
        return math.prod(math.inf if value is None else value for value in found)

    return product(True) <= product(False)


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


def row_of(config: Config, done: Done, name: str) -> tuple[list[Unit], Unit | None]:
    """Trials of a row, and the form and the rate that they choose."""
    first, form = form_of(config, done, name)
    if form is None:
        return first, None
    key = {"model": form, "tied": tied(done)}
    trials, rate = _trials(config, done, key, config.first_rate)
    return first + [unit for unit in trials if unit not in first], None if rate is None else {**key, "rate": rate}


def hybrid_of(config: Config, done: Done, name: str) -> tuple[list[Unit], Unit | None]:
    """Trials of a hybrid, from the stack that its family chose: rates, then a layer less, which the bank replaces."""
    trials, own = search(config, done, HYBRIDS[name].family, config.sizes[0])
    if own is None:
        return trials, None
    form = {part: own[part] for part in FORM_PARTS if part in own} | dict(HYBRIDS[name].form)
    key: Unit = {"hybrid": name, "size": own["size"], "tied": own["tied"], "layers": own["layers"], **form}
    more, rate = _trials(config, done, key, own["rate"])
    if rate is None:
        return trials + more, None
    depths = [own["layers"], max(1, own["layers"] - 1)]
    stacks = [{**key, "layers": layers, "rate": rate} for layers in dict.fromkeys(depths)]
    tried = [{**one, "stage": "trial", "seed": config.seeds[0]} for one in stacks]
    best = done.best(tried)
    return trials + more + [one for one in tried if one not in more], None if best is None else stacks[best]


def form_of(config: Config, done: Done, name: str) -> tuple[list[Unit], str | None]:
    """Trials of the forms of a row, one pass at the first rate, and the form that is best on validation."""
    forms = FORMS[name] if name in config.forms else (name,)
    if len(forms) == 1:
        return [], name
    trials = [
        {"model": form, "tied": tied(done), "stage": "trial", "rate": config.first_rate, "seed": config.seeds[0]}
        for form in forms
    ]
    best = done.best(trials)
    return trials, None if best is None else forms[best]


def search(config: Config, done: Done, family: str, size: int) -> tuple[list[Unit], Unit | None]:
    """Trials of one pass, and the stack that they choose: rates at one depth, then depths at the best rate.

    In the end the other forms of the stack are tried.
    """
    if family == CACHED:  # what was chosen without the cache
        trials, chosen = search(config, done, CACHED_FAMILY, size)
        return trials, None if chosen is None else {**chosen, "family": CACHED}
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
    form, *other_forms = STACK_FORMS.get(family, ({},))
    trials, rate = _trials(config, done, {**key, "layers": first_layers, **form}, first_rate)
    if rate is None:
        return trials, None

    def stack(layers: int, form: Unit) -> Unit:
        return {**key, "layers": layers, **form, "rate": rate}

    def trial(layers: int, form: Unit) -> Unit:
        return {**stack(layers, form), "stage": "trial", "seed": config.seeds[0]}

    depths, layers = walk(sorted(config.layers), first_layers, lambda one: done.perplexity(trial(one, form)))
    trials += [unit for unit in (trial(one, form) for one in depths) if unit not in trials]
    if layers is None:
        return trials, None
    trials += [trial(layers, other) for other in other_forms]
    forms = [form, *other_forms]
    best = done.best([trial(layers, one) for one in forms])
    return trials, None if best is None else stack(layers, forms[best])
