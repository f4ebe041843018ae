"""What a memory keeps when some leads matter more than others: a weight w over the future, from one step to all of it.

The paper allows any weight in its objective and shows the uniform one at two horizons. Here one horizon is fixed, and
the weight falls off after a time that goes from one sample to the whole horizon: one dial in place of two systems.
Everything is by theory, from the covariance of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Forecaster
from hippozoo.zoo.forecasting.regression import future_metric, reduced_rank
from hippozoo_studies import Claim, drawing
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.paper._history_geometry import expected_moments
from hippozoo_studies.paper._predictive_memory import by_place, expected_errors

# A lead that does not count at all leaves its part of the map open; this much of the largest weight closes it.
FLOOR = 1e-4
UNIFORM = "uniform"


def weight(decay: float | None, lead: Float[np.ndarray, " leads"]) -> Float[np.ndarray, " leads"]:
    """How much an error at each lead counts: it falls off after `decay` samples; None for all leads alike."""
    return np.ones_like(lead) if decay is None else np.exp(-lead / decay) + FLOOR


def weighted_memories(
    forecaster: Forecaster, process: GaussianMixture, decays: tuple[float, ...], short: int
) -> tuple[dict[str, Any], dict[str, Float[np.ndarray, " lags"]]]:
    """By the decay of the weight: expected errors of the predictive memory by place, and at every lag.

    Parameters
    ----------
    forecaster
        The systems, rank and ridge; its horizon is the whole future that may count.
    process
        Where the stream comes from.
    decays
        Samples after which the weight has fallen to 1/e; the uniform weight comes last.
    short
        How many lags count as near.
    """
    moments = expected_moments(process, forecaster)
    history, settings = forecaster.histories[0], forecaster.candidates[0]
    assert isinstance(history, LegT)
    errors: dict[str, Float[np.ndarray, " lags"]] = {}
    for decay in (*decays, None):
        metric = future_metric(forecaster.future, lambda lead, decay=decay: weight(decay, lead))
        fitted = reduced_rank(moments, settings.rank, settings.ridge, metric, intercept=False)
        name = UNIFORM if decay is None else f"{decay:g}"
        errors[name] = expected_errors(process, history, fitted.predictive_projector)
    return {name: by_place(one, short) for name, one in errors.items()}, errors


CLAIMS = tuple(
    Asked(
        claim,
        "",
        lambda found, place=place, sign=sign: _turns(found, place, sign),
        lambda n: n["held"],
        "Expected squared error there, by the samples after which the weight falls off: {rows}.",
    )
    for place, sign, claim in (
        (
            "newest",
            1,
            "ours: the sooner the weight falls off, the better the newest sample is kept, at every setting",
        ),
        (
            "far",
            -1,
            "ours: the later the weight falls off, the better the older half of the window is kept, at every setting",
        ),
    )
)


def weighted_claims(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Claim]:
    """Whether the dial does between its ends what the two horizons of the paper do, for each number of patterns."""
    return answers(CLAIMS, found)


def _turns(found: Mapping[str, Mapping[str, Mapping[str, float]]], place: str, sign: int) -> dict[str, Any]:
    """Whether an error only rises (or only falls) from one weight to the next, for each number of patterns."""
    rows = {rank: {name: one[place] for name, one in some.items()} for rank, some in found.items()}
    texts = [
        f"in {rank} numbers " + ", ".join(f"{name} {value:.4f}" for name, value in row.items())
        for rank, row in rows.items()
    ]
    held = [bool((sign * np.diff(list(row.values())) > 0).all()) for row in rows.values()]
    return {"held": held, "rows": "; ".join(texts)}


def draw(
    errors: Mapping[str, Mapping[str, Float[np.ndarray, " lags"]]],
    whole: Float[np.ndarray, " lags"],
    horizon: float,
    folder: Path,
) -> None:
    """The weights over the future beside what each makes the memory keep of the past."""
    import matplotlib as mpl

    with drawing(folder, "d-weighted-horizons", (11, 3.8)) as figure:
        ahead, *backs = figure.subplots(1, 1 + len(errors))
        names = list(next(iter(errors.values())))
        colours = mpl.colormaps["viridis"](np.linspace(0.0, 0.9, len(names)))
        lead = np.linspace(0.0, horizon, 600)
        for name, colour in zip(names, colours, strict=True):
            decay = None if name == UNIFORM else float(name)
            words = UNIFORM if decay is None else f"falls off after {name}"
            ahead.plot(lead, weight(decay, lead), color=colour, label=words)
        ahead.set(xlabel="lead (samples)", ylabel="weight of an error", title="what counts of the future")
        lags = np.arange(len(whole)) + 0.5
        for ax, (rank, curves) in zip(backs, errors.items(), strict=True):
            for curve, colour in zip(curves.values(), colours, strict=True):
                ax.loglog(lags, curve, color=colour)
            ax.loglog(lags, whole, color="0.5", linestyle=":", label="all that the memory holds")
            ax.set_xticks([0.5, 1, 2, 4, 8, 16, 32], ["0.5", "1", "2", "4", "8", "16", "32"])
            ax.minorticks_off()
            ax.set(xlabel="lag (samples)", title=f"what is kept of the past, in {rank} numbers")
            ax.sharey(backs[0])
        backs[0].set_ylabel("expected squared error")
        handles, words = ahead.get_legend_handles_labels()
        more, extra = backs[0].get_legend_handles_labels()
        figure.legend([*handles, *more], [*words, *extra], loc="outside lower center", ncols=len(names) + 1, fontsize=8)
