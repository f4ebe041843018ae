"""The paper's sentences about selective copying, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import at_most

if TYPE_CHECKING:
    from hippozoo_studies.paper.selective_copying import Config


# What the claims below depend on, which the paper does not say: how the readout is initialised.
CONDITION = (
    "; from random initialisation 10 of 30 runs of salience-start learn a clock, and 3 of 10 at this learning rate, "
    "where mean accuracy is 87 % (salience from the token) and 92 % (token and memory)."
)


TRAINED = {"minibatch": "trained in minibatches", "online": "trained online"}


CLAIMS = (
    Asked(
        "Salience HiPPO solves selective copying ({how})",
        "the model produces a faithful copy of the informative subsequence",
        lambda n: n,
        lambda n: n["worst_accuracy"] >= (1.0 if n["protocol"] == "minibatch" else 0.999),
        "Initialised with a bump, the worst of {seeds} seeds answers {worst_percent:.2f} % correctly ({how})"
        + CONDITION,
    ),
    Asked(
        "salience stays low at uninformative tokens ({how})",
        "salience remains low during uninformative inputs and increases sharply for informative tokens",
        lambda n: n,
        lambda n: n["largest_ratio"] < 0.1,
        "Initialised with a bump, the salience of uninformative tokens is at most {ratio_most} times that of "
        "informative ones, over {seeds} seeds ({how})" + CONDITION,
    ),
    Asked(
        "history measures leave uninformative tokens out ({how})",
        "The measures allocate substantial weight to informative segments of the past while sharply down-weighting "
        "intervals corresponding to uninformative inputs",
        lambda n: n,
        lambda n: n["largest_weight"] < 0.1,
        "Initialised with a bump, an uninformative token has at the end of the input at most {weight_most} "
        "times the weight of an informative one, in an episode of each of {seeds} seeds ({how})" + CONDITION,
    ),
    Asked(
        "output functionals peak at the tokens required ({how})",
        "pronounced peaks precisely at the locations of the required input tokens",
        lambda n: n,
        lambda n: n["fewest_peaks"] == 1.0,
        "Initialised with a bump, {fewest_percent:.0f} % of the answers read mainly from the required token, in the "
        "worst of {seeds} episodes, one for each seed ({how})" + CONDITION,
    ),
)


def copying_claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    kinds = {
        "salience computed from the token alone": metrics,
        "salience computed from token and memory": metrics.get("with_summary", {}),
    }
    found = []
    for protocol in config.protocols:
        for kind, part in kinds.items():
            if protocol in part:
                one = part[protocol]
                accuracies, peaks = one["test_accuracy"]["seeds"], one["peaks_at_wanted"]["seeds"]
                numbers = {
                    "how": f"{TRAINED[protocol]}, with {kind}",
                    "protocol": protocol,
                    "seeds": len(accuracies),
                    "worst_accuracy": min(accuracies),
                    "worst_percent": 100 * min(accuracies),
                    "largest_ratio": max(one["salience_ratio"]["seeds"]),
                    "ratio_most": at_most(max(one["salience_ratio"]["seeds"]), 4),
                    "largest_weight": max(one["weight_of_idle"]["seeds"]),
                    "weight_most": at_most(max(one["weight_of_idle"]["seeds"]), 4),
                    "fewest_peaks": min(peaks),
                    "fewest_percent": 100 * min(peaks),
                }
                found += answers(CLAIMS, numbers)
    return found
