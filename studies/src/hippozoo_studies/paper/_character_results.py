"""The study of character models as numbers: the table, the contest, hybrids and ablations, from finished units."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from hippozoo_studies import Finished, over_seeds, select
from hippozoo_studies.paper._character_hybrids import HAS_BANK, HYBRIDS, build_unit
from hippozoo_studies.paper._character_models import (
    ABLATIONS,
    CACHED,
    CACHED_FAMILY,
    FORMS,
    OTHER_FORMS,
    OURS,
    ROWS,
    state_of,
)
from hippozoo_studies.paper._character_settings import Config
from hippozoo_studies.paper._character_study import DECIDERS, Done, form_of, recipe, tied, units
from hippozoo_studies.paper._character_tables import SINGLE, STACK_TITLES, form_text

__all__ = ["assembled"]

Numbers = dict[str, Any]


def assembled(config: Config, finished: list[Finished]) -> tuple[Numbers, Numbers]:
    """The metrics, and the arrays that `report` draws, as far as their units are there."""
    done = Done(finished)
    decided = all(done.result(unit) is not None for unit in units(config))
    chosen = {name: form for name in config.rows if decided and (form := form_of(config, done, name)[1])}
    whole = _whole_rows(config, finished)
    rows = {name: whole[form] for name, form in chosen.items() if form in whole}
    contest = {size: _contest(config, finished, size) for size in config.sizes}
    looks = {ROWS[name].title: found[0].result for name, found in rows.items()}
    looks |= {
        f"{STACK_TITLES[family]}, {size:,}": entrant.pop("first")
        for size, entrants in contest.items()
        for family, entrant in entrants.items()
    }
    trials = _trial_rows(finished)
    metrics: Numbers = {key: {name: _over_seeds(found, key) for name, found in rows.items()} for key in SINGLE}
    metrics |= {
        "params": {name: found[0].result["parameters"] for name, found in rows.items()},
        "ratio_to_lstm": _ratios(metrics["test_perplexity"]),
        "raw": {name: raw for name, found in rows.items() if (raw := _raw(found))},
        "rate": {name: found[0].unit["rate"] for name, found in rows.items()},
        "characters_seen": {name: found[0].result["characters_seen"] for name, found in rows.items()},
        "seconds": {name: found[0].result["training_seconds"] for name, found in rows.items()},
        "form": {name: form for name, form in chosen.items() if name in FORMS},
        "other_forms": {
            form: _single(found[0])
            for form, found in whole.items()
            if form not in chosen.values() and any(form in forms for forms in FORMS.values())
        },
        "contest": contest,
        "hybrids": _hybrids(config, finished),
        "span": _span(config, finished),
        "reset": _reset(config, finished),
        "addresses": _addresses(config, finished),
        "cached": {one.unit["family"]: one.result for one in select(finished, stage="cached")},
        "as_paper": _as_paper(config, finished, chosen),
        "ablations": _ablations(config, finished),
        "trials": _trial_metrics(trials),
        "tying": _tying(finished),
        "tied": tied(done) if decided else None,
        "characters": next((one.result["counts"] for one in select(finished, stage="tying")), {}),
    }
    metrics["not_yet"] = _not_yet(config, finished, metrics)
    return metrics, {"config": config, "looks": looks, "trials": trials}


def _has_learnt(one: Finished) -> bool:
    return one.result["validation_perplexity"] is not None


def _over_seeds(found: Sequence[Finished], key: str) -> Numbers:
    return over_seeds(one.result[key] for one in found)


def _ratios(test: Numbers) -> dict[str, float]:
    lstm = test.get("lstm")
    return {name: round(found["mean"] / lstm["mean"], 4) for name, found in test.items()} if lstm else {}


def _raw(found: Sequence[Finished]) -> Numbers | None:
    """Perplexities of the raw text, of the seeds that were scored on it."""
    scored = [one.result["raw"] for one in found if one.result.get("raw")]
    return over_seeds(scored) if scored else None


def _single(one: Finished) -> Numbers:
    return {**{key: one.result[key] for key in SINGLE}, "params": one.result["parameters"], "rate": one.unit["rate"]}


def _whole_rows(config: Config, finished: Sequence[Finished]) -> dict[str, list[Finished]]:
    """Each row trained to its end, in each of its forms, seed by seed at the rate that the first seed chose."""
    rows = {}
    for name in (*ROWS, *OTHER_FORMS):
        first = select(finished, stage="row", model=name, seed=config.seeds[0])[:1]
        if first and _has_learnt(first[0]):
            key = {**first[0].unit, "stage": "row"}
            others = [one for seed in config.seeds[1:] for one in select(finished, **{**key, "seed": seed})]
            rows[name] = [*first, *filter(_has_learnt, others)]
    return rows


def _stack_numbers(found: Sequence[Finished]) -> Numbers:
    """What is told of a stack, over its seeds."""
    first = found[0]
    return {
        **{key: _over_seeds(found, key) for key in SINGLE},
        "raw": _raw(found),
        "params": first.result["parameters"],
        "state": state_of(build_unit(first.unit)) + first.result.get("cache", {}).get("numbers", 0),
        "layers": first.unit.get("layers"),
        "form": form_text(first.unit),
        "width": first.result["width"],
        "rate": first.unit["rate"],
        "characters_seen": first.result["characters_seen"],
        # Other programs ran beside some of them.
        "seconds": median(one.result["training_seconds"] for one in found),
    }


def _contest(config: Config, finished: Sequence[Finished], size: int) -> Numbers:
    """Each family's stack of one size, over the seeds that are there."""
    entrants = {}
    for family in config.families:
        rows = select(finished, stage="contest", family=family, size=size, recipe=recipe(family))
        rows = list(filter(_has_learnt, rows))
        if rows:
            entrants[family] = {**_stack_numbers(rows), "first": rows[0].result}
            if "cache" in rows[0].result:
                entrants[family]["cache"] = rows[0].result["cache"]
    return entrants


def _hybrids(config: Config, finished: Sequence[Finished]) -> Numbers:
    """Hybrids over the seeds that are there, and what they lose by forgetting."""
    found = {}
    for name in config.hybrids:
        rows = list(filter(_has_learnt, select(finished, stage="hybrid", hybrid=name)))
        if rows:
            emptied = over_seeds(one.result["emptied"] for one in rows) if rows[0].result["emptied"] else {}
            found[name] = {**_stack_numbers(rows), "family": HYBRIDS[name].family, "emptied": emptied}
    return found


def _span(config: Config, finished: Sequence[Finished]) -> Numbers:
    """Our own stack on validation, as it is and with memories that are emptied."""
    rows = select(finished, stage="span", family=OURS)
    return {key: rows[0].result[key] for key in ("validation_perplexity", "emptied")} if rows else {}


def _reset(config: Config, finished: Sequence[Finished]) -> Numbers:
    """Associative Memory whose bank is emptied again and again."""
    rows = list(filter(_has_learnt, select(finished, stage="reset")))
    return {**_single(rows[0]), "raw": rows[0].result["raw"]} if rows else {}


def _addresses(config: Config, finished: Sequence[Finished]) -> Numbers:
    """What the addresses of trained banks keep; the explicit stack first."""
    rows = select(finished, stage="addresses")
    names = [one.unit.get("hybrid", OURS) for one in rows]
    found = dict(zip(names, (one.result for one in rows), strict=True))
    return {name: found[name] for name in (OURS, *config.hybrids) if name in found}


def _as_paper(config: Config, finished: Sequence[Finished], chosen: dict[str, str]) -> Numbers:
    """Rows trained by the paper's rate and stopping: perplexities, passes, and how the run ended."""
    found = {}
    for name in config.as_paper:
        rows = list(filter(_has_learnt, select(finished, stage="as paper", model=chosen.get(name, name))))
        if rows:
            result = rows[0].result
            passes = len(result["looks"]["step"])
            found[name] = {**_single(rows[0]), "raw": result["raw"], "passes": passes, "ending": result["ending"]}
    if "lstm" in found:
        for one in found.values():
            one["ratio_to_lstm"] = round(one["test_perplexity"] / found["lstm"]["test_perplexity"], 4)
    return found


def _ablations(config: Config, finished: Sequence[Finished]) -> Numbers:
    """What is left of the stack with one mechanism changed; as it is, it is that of the contest."""
    found = {}
    key = {"size": config.sizes[0] if config.sizes else None, "recipe": recipe(OURS), "seed": config.seeds[0]}
    for name in config.ablations:
        here = {"stage": "ablation", "ablation": name} if ABLATIONS[name] else {"stage": "contest", "family": OURS}
        rows = select(finished, **here, **key)
        if rows:
            found[name] = {
                "validation_perplexity": rows[0].result["validation_perplexity"],
                "params": rows[0].result["parameters"],
                "seconds": rows[0].result["training_seconds"],
            }
    return found


def _trial_rows(finished: Sequence[Finished]) -> list[Numbers]:
    """Every trial of one pass of today's recipes: which model, how deep, at which rate, how it did on validation."""
    trials = [
        one
        for one in finished
        if one.unit["stage"] == "trial" and one.unit.get("recipe") in (None, recipe(one.unit.get("family", "")))
    ]
    return [
        {
            "model": _named(one.unit),
            "layers": one.unit.get("layers"),
            "form": form_text(one.unit),
            "rate": one.unit["rate"],
            "params": one.result["parameters"],
            "validation_perplexity": one.result["validation_perplexity"],
            "seconds": one.result["training_seconds"],
        }
        for one in trials
    ]


def _trial_metrics(trials: Sequence[Numbers]) -> Numbers:
    found: Numbers = {}
    for one in trials:
        parts = [one["model"], f"{one['layers']} layers" if one["layers"] else "", one["form"]]
        name = ", ".join(filter(None, parts))
        found.setdefault(name, {})[one["rate"]] = one["validation_perplexity"]
    return found


def _named(unit: Numbers) -> str:
    if "model" in unit:
        return (ROWS | OTHER_FORMS)[unit["model"]].label
    title = HYBRIDS[unit["hybrid"]].title if "hybrid" in unit else STACK_TITLES[unit["family"]]
    return f"{title}, at most {unit['size']:,}"


def _tying(finished: Sequence[Finished]) -> Numbers:
    return {
        name: {
            "tied" if one.unit["tied"] else "untied": one.result["validation_perplexity"]
            for one in select(finished, stage="tying", model=name)
        }
        for name in DECIDERS
        if select(finished, stage="tying", model=name)
    }


def _not_yet(config: Config, finished: Sequence[Finished], metrics: Numbers) -> list[str]:
    """What a finished study has and this one has not."""
    rows = [name for name in config.rows if name not in metrics["test_perplexity"]]
    seeds = [
        f"{name}, {len(config.seeds) - len(one['seeds'])} more seeds"
        for name, one in metrics["test_perplexity"].items()
        if len(one["seeds"]) < len(config.seeds)
    ]
    stacks = [
        f"{family} at {size}, seed {seed}"
        for size in config.sizes
        for family in config.families_of(size)
        for seed in config.seeds
        if not select(finished, stage="contest", family=family, size=size, seed=seed, recipe=recipe(family))
    ]
    hybrids = [
        f"{name}, seed {seed}"
        for name in config.hybrids
        for seed in config.seeds
        if not select(finished, stage="hybrid", hybrid=name, seed=seed)
    ]
    ablations = [f"ablation {name}" for name in config.ablations if name not in metrics["ablations"]]
    as_paper = [f"{name} as the paper trains it" for name in config.as_paper if name not in metrics["as_paper"]]
    more = ["a bank that is emptied"] if config.reset and not (metrics["reset"] and metrics["span"]) else []
    banks = [name for name in HAS_BANK if name in config.hybrids]
    if banks and OURS in config.families:
        banks.append(OURS)
    banks = [f"the bank of {name}" for name in banks if name not in metrics["addresses"]]
    if {CACHED, OURS} <= set(config.families):
        more += [f"the cache beside {name}" for name in (CACHED_FAMILY, OURS) if name not in metrics["cached"]]
    return rows + seeds + stacks + hybrids + banks + ablations + as_paper + more
