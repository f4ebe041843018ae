"""The paper's sentences about associative recall, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import layout_addresses
from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import at_least, at_most

__all__ = ["NEAR", "ONE_BY_ONE", "SOLVED", "addressed_claims"]

#: Protocols of one episode per step; the first is the paper's, and what its figures show.
ONE_BY_ONE = {"episodes": "each from a zero state, as in the appendix", "online": "along a stream without reset"}
SOLVED = 0.999
#: A change of the bank is local if it lies so near to the address; addresses go from 0 to 1.
NEAR = 0.1
#: Kernels below this are near zero: the paper's words, and our reading of them.
OVERLAP = 0.1
# Addresses drawn at random, for comparison.
DRAWS = 200

Numbers = Mapping[str, Any]

OF_BATCHES = Asked(
    "Associative Memory HiPPO reaches 100.0 % (Table 1)",
    "Associative Memory HiPPO achieves 100.0% test accuracy",
    lambda n: n,
    lambda n: n["worst"] == 100.0,
    "In batches of fresh episodes the worst of {seeds} seeds has {worst:.2f} %, on {episodes:,} test episodes.",
)
OF_EPISODES = (
    Asked(
        "it solves the task when trained online, one episode at a time ({how})",
        "Associative Memory HiPPO solves this task",
        lambda n: n,
        lambda n: n["worst"] >= 100 * SOLVED,
        "On single episodes, {how}, the worst of {seeds} seeds has {worst:.2f} % with the best validation weights "
        "({last:.1f} % at the last evaluation).",
    ),
    Asked(
        "it learns consistent write and read addresses for each association ({how})",
        "the model learns consistent write and read addresses for each association",
        lambda n: n,
        lambda n: n["spread"] < n["gap"] / 2,
        "On single episodes, {how}, a token's addresses scatter by at most {spread_most}, and no two tokens are nearer "
        "than {gap_least}.",
    ),
    Asked(
        "the output gate is closed before the answer is queried ({how})",
        "outputs at other timesteps are suppressed by the learned gating mechanism",
        lambda n: n,
        lambda n: n["shut"] < 0.05 < 0.95 < n["open"],
        "On single episodes, {how}, the output gate is at most {shut_most} before the WRITE token and at least "
        "{open_least} at it, in an episode of each seed.",
    ),
    Asked(
        "a write changes the bank near its address (within {near} of a range of 1; {how})",
        "memory updates correspond to localized modifications of the OP memory functions",
        lambda n: n,
        lambda n: n["local"] > 90.0,
        "On single episodes, {how}, at least {local_least} % of the square of what a write changes lies within {near} "
        "of its address, in an episode of each seed.",
    ),
)
OF_ALL = (
    Asked(
        "learnt addresses are spaced so that interference is near zero (figure 6; every kernel below 0.1)",
        "resulting in near-zero interference between stored associations",
        lambda n: n if n["overlaps"] else None,
        lambda n: [one < OVERLAP for one in n["overlaps"]],
        "In {below} of {models} trained models no two tokens have a normalised kernel above 0.1; the largest is "
        "{largest:.2f}. Addresses drawn at random have {random:.2f} (median).",
    ),
    Asked(
        "ours: the 33 % at which baselines stay is chance level",
        "",
        lambda n: n,
        lambda n: abs(n["chance"] - 33) < 1,
        "Chance is {chance:.1f} %, not 33 %; always answering with the last B gives {level:.1f} %.",
    ),
)


def addressed_claims(config: Any, metrics: Numbers) -> list[Claim]:
    """The paper's sentences about what was trained, protocol by protocol, and about the addresses of all."""
    found = answers([OF_BATCHES], _of_batches(config, metrics["minibatch"])) if "minibatch" in metrics else []
    for name, how in ONE_BY_ONE.items():
        if name in metrics:
            found += answers(OF_EPISODES, _of_episodes(how, metrics[name]))
    return found + answers(OF_ALL, _of_all(config, metrics))


def _of_batches(config: Any, part: Numbers) -> Numbers:
    found = part["test_accuracy"]["seeds"]
    return {"seeds": len(found), "worst": 100 * min(found), "episodes": config.test_episodes}


def _of_episodes(how: str, part: Numbers) -> Numbers:
    found, gate = part["test_accuracy"]["seeds"], part["output_gate"]
    spread, gap = max(part["address_spread"]["seeds"]), min(part["address_gap"]["seeds"])
    shut, opened = max(gate["largest_before"]["seeds"]), min(gate["when_asked"]["seeds"])
    local = 100 * min(part["change_near_the_address"]["seeds"])
    return {
        "how": how,
        "near": NEAR,
        "seeds": len(found),
        "worst": 100 * min(found),
        "last": 100 * min(part["last_validation_accuracy"]["seeds"]),
        "spread": spread,
        "spread_most": at_most(spread, 4),
        "gap": gap,
        "gap_least": at_least(gap, 3),
        "shut": shut,
        "shut_most": at_most(shut, 3),
        "open": opened,
        "open_least": at_least(opened, 3),
        "local": local,
        "local_least": at_least(local, 0),
    }


def _of_all(config: Any, metrics: Numbers) -> Numbers:
    """What two tokens share in every trained model, beside addresses that nobody spaced; and what is no skill."""
    protocols = [name for name in ("minibatch", *ONE_BY_ONE) if name in metrics]
    overlaps = [one for name in protocols for one in metrics[name]["largest_overlap"]["seeds"]]
    rng, family = np.random.default_rng(0), Legendre(config.coefficients)
    drawn = [_largest_overlap(family, layout_addresses(family, config.n_keys, "random", rng)) for _ in range(DRAWS)]
    return {
        "overlaps": overlaps,
        "below": sum(one < OVERLAP for one in overlaps),
        "models": len(overlaps),
        "largest": max(overlaps, default=0.0),
        "random": float(np.median(drawn)),
        "chance": 100 * metrics["chance_accuracy"],
        "level": 100 * metrics["copy_last_accuracy"],
    }


def _largest_overlap(family: Legendre, addresses: np.ndarray) -> float:
    kernel = family.reproducing_kernel(addresses, addresses, normalised=True)
    return float(np.abs(kernel - np.eye(len(kernel))).max())
