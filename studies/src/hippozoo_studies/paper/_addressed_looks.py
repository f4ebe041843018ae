"""What is looked at in a memory that has learnt to recall: addresses, gates, one episode, other lengths, full banks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from hippozoo.polynomials import Legendre
from hippozoo.tasks.associative_recall import Recall, TokenTable, associative_recall, multi_query_recall
from hippozoo.zoo.associative import AssociativeMemory, CapacityCurve, bank_functions, capacity, trace
from hippozoo_studies import Finished, over_seeds
from hippozoo_studies.paper._addressed_claims import NEAR

if TYPE_CHECKING:
    from hippozoo_studies.paper.associative_recall import Config


LAYOUTS = ("gauss", "even", "random")


class Batch(NamedTuple):
    """Episodes as tensors."""

    inputs: torch.Tensor
    targets: torch.Tensor


def token_counts(config: Config) -> tuple[int, int]:
    return config.n_keys, config.n_values


def make_batch(data: Recall, table: TokenTable) -> Batch:
    return Batch(*(torch.from_numpy(part.astype(np.float32)) for part in (data.inputs(table), data.targets(table))))


def score_answers(layer: torch.nn.Module, data: Recall, table: TokenTable, rows: int = 500) -> float:
    """The share of answers whose nearest token, of all 25, is the right one."""
    right = []
    for begin in range(0, len(data.tokens), rows):
        part = Recall(*(array[begin : begin + rows] for array in data))
        y, _ = layer(make_batch(part, table).inputs)
        right.append(table.nearest(y.numpy()[part.asked]) == part.answers[part.asked])
    return float(np.concatenate(right).mean())


def test_other_lengths(
    config: Config, layer: AssociativeMemory, table: TokenTable, rng: np.random.Generator
) -> dict[str, Any]:
    episodes = max(100, config.test_episodes // 4)
    more_pairs = {
        pairs: score_answers(layer, associative_recall(episodes, rng, pairs, *token_counts(config)), table)
        for pairs in config.more_pairs
    }
    more_queries = {
        queries: score_answers(
            layer, multi_query_recall(episodes, rng, config.query_pairs, queries, *token_counts(config)), table
        )
        for queries in config.more_queries
    }
    return {"more_pairs": more_pairs, "more_queries": more_queries}


def find_addresses(config: Config, layer: AssociativeMemory, test: Recall, table: TokenTable) -> dict[str, Any]:
    """Where each A is written and read; how far that scatters; how near two of them come to each other."""
    data = Recall(*(part[:400] for part in test))
    signals = layer.signals(make_batch(data, table).inputs)
    previous = np.roll(data.tokens, 1, axis=1)
    written = (data.tokens >= config.n_keys) & (data.tokens < table.write)
    writes, reads, deviations, means = {}, {}, [], []
    for key in range(config.n_keys):
        wrote = signals.write_address.numpy()[written & (previous == key)].astype(float)
        found = signals.read_address.numpy()[data.asked & (previous == key)].astype(float)
        writes[table.label(key)], reads[table.label(key)] = rounded(wrote[:20]), rounded(found[:20])
        means.append(float(wrote.mean()))
        deviations += [wrote - wrote.mean(), found - wrote.mean()]
    ordered = np.array(means)
    kernel = Legendre(config.coefficients).reproducing_kernel(ordered, ordered, normalised=True)
    return {
        "writes": writes,
        "reads": reads,
        "mean_address": {table.label(key): mean for key, mean in enumerate(means)},
        "address_spread": float(np.sqrt(np.mean(np.concatenate(deviations) ** 2))),
        "address_gap": float(np.diff(np.sort(ordered)).min()),
        "largest_overlap": float(np.abs(kernel - np.eye(len(kernel))).max()),
    }


def probe_after_write(
    config: Config, layer: AssociativeMemory, test: Recall, table: TokenTable, rng: np.random.Generator
) -> dict[str, Any]:
    """What the token after WRITE writes, where, and which key that hits: nothing in training follows WRITE."""
    addresses = find_addresses(config, layer, test, table)["mean_address"]
    questions = max(2, *config.more_queries)
    count = max(100, config.test_episodes // 4)
    data = multi_query_recall(count, rng, config.query_pairs, questions, *token_counts(config))
    inputs = make_batch(data, table).inputs
    signals = layer.signals(inputs)
    after = np.roll(data.tokens, 1, axis=1) == table.write
    after[:, 0] = False  # rolled there from the end
    address = float(signals.write_address.numpy()[after].mean())
    overlaps = find_overlaps(config, np.array([address]), addresses)[0]
    nearest = int(np.argmax(overlaps))
    right = table.nearest(layer(inputs)[0].numpy()[data.asked]) == data.answers[data.asked]
    right = right.reshape(-1, questions)
    later, hit = right[:, 1:], (data.tokens[:, 2 * config.query_pairs :: 2] == nearest)[:, 1:]
    return {
        "write_address": address,
        "write_gate": float(signals.write_gate.numpy()[after].mean()),
        "nearest": table.label(nearest),
        "nearest_address": addresses[table.label(nearest)],
        "overlap": float(overlaps[nearest]),
        "first_question": float(right[:, 0].mean()),
        "later_questions": float(later.mean()),
        "later_questions_nearest": float(later[hit].mean()),
        "later_questions_others": float(later[~hit].mean()),
    }


def find_overlaps(config: Config, where: np.ndarray, keys: Mapping[str, float]) -> np.ndarray:
    """The normalised kernel between addresses and the mean address of every key, without its sign."""
    family = Legendre(config.coefficients)
    return np.abs(family.reproducing_kernel(where, np.array(list(keys.values())), normalised=True))


def summarise_writes(config: Config, found: list[Finished]) -> dict[str, Any]:
    """How far the write gate is open by kind of token, and where A tokens write, in the one episode a unit holds."""
    kinds = {"a": "A", "b": "B", "W": "WRITE"}
    means, gates, overlaps = [], [], []
    for one in found:
        episode = one.result["episode"]
        gate, kind = np.array(episode["write_gate"]), np.array([label[0] for label in episode["labels"]])
        means.append({name: float(gate[kind == letter].mean()) for letter, name in kinds.items()})
        where = np.array(episode["write_address"])[kind == "a"]
        gates.append(gate[kind == "a"])
        overlaps.append(find_overlaps(config, where, one.result["mean_address"]).max(1))
    is_open, overlap = np.concatenate(gates) > 0.5, np.concatenate(overlaps)
    medians = {
        f"median_overlap_{name}": float(np.median(overlap[chosen])) if chosen.any() else None
        for name, chosen in (("open", is_open), ("shut", ~is_open))
    }
    return {
        "write_gate": over_seeds(means),
        "writes_at_A": {"open": int(is_open.sum()), "of": len(is_open), **medians},
    }


def summarise_episodes(found: list[Finished]) -> dict[str, Any]:
    """Of the one episode that a unit holds: the output gate when asked and before, and how local its write is."""
    asked, before, local = [], [], []
    for one in found:
        episode = one.result["episode"]
        asked.append(float(episode["output_gate"][-1]))
        before.append(float(max(episode["output_gate"][:-1])))
        change = np.square(np.array(episode["after"]) - np.array(episode["before"]))
        near = np.abs(np.array(episode["address"]) - episode["where"]) < NEAR
        local.append(float(change[near].sum() / change.sum()))
    return {
        "output_gate": {"when_asked": over_seeds(asked), "largest_before": over_seeds(before)},
        "change_near_the_address": over_seeds(local),
    }


def trace_episode(
    config: Config, layer: AssociativeMemory, table: TokenTable, rng: np.random.Generator
) -> dict[str, Any]:
    """One episode step by step, and the bank before and after the write that answers its query."""
    data = associative_recall(1, rng, config.pairs, *token_counts(config))
    tokens, answer = data.tokens[0], int(data.answers[0, -1])
    found = trace(layer, make_batch(data, table).inputs[0])
    keys = tokens[0 : 2 * config.pairs : 2]
    write = 2 * int(np.nonzero(keys == tokens[-2])[0][-1]) + 1
    address, before = bank_functions(layer, found.banks[write], points=241)
    _, after = bank_functions(layer, found.banks[write + 1], points=241)
    direction = table.vectors[answer]
    return {
        "labels": [table.label(token) for token in tokens],
        "answers": ["" if one < 0 else table.label(one) for one in data.answers[0]],
        "write_gate": rounded(found.write_gate),
        "output_gate": rounded(found.output_gate),
        "write_address": rounded(found.write_address),
        "read_address": rounded(found.read_address),
        "token": table.label(answer),
        "where": float(found.write_address[write]),
        "address": rounded(address),
        "before": rounded(before @ direction),
        "after": rounded(after @ direction),
    }


def fill_banks(config: Config, size: int) -> dict[str, Any]:
    """Fill banks of one size with ever more pairs."""
    family = Legendre(size)
    loads = np.unique(np.round(size * 2.0 ** np.arange(-3, 1.01, 0.25)).astype(int))
    result: dict[str, Any] = {}
    for number, layout in enumerate(LAYOUTS):
        curve = capacity(family, loads.tolist(), layout, config.trials, np.random.default_rng([size, number]))
        full = float(curve.error[curve.pairs == size][0])
        result[layout] = {name: rounded(getattr(curve, name), 5) for name in CapacityCurve._fields}
        result[layout]["full"] = full
        result["theory"] = {"full": float(curve.theory[curve.pairs == size][0])}
    return result


def pairs_held(curve: CapacityCurve, error: float) -> int:
    """The most pairs, of the numbers tried, up to which no number of pairs had a larger error."""
    too_much = np.nonzero(curve.error > error)[0]
    held = curve.pairs[: too_much[0]] if len(too_much) else curve.pairs
    return int(held[-1]) if len(held) else 0


def rounded(values: np.ndarray, digits: int = 4) -> list[float]:
    """Enough digits for a picture, and a line short enough to commit."""
    return [float(f"{value:.{digits}g}") for value in np.asarray(values)]
