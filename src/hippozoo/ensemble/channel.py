"""The numbers of a channel by names: they lie in one row, so that a new state is one copy."""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.brake import BRAKE
from hippozoo.ensemble.calibration import ERRORS
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.doubt import DOUBT, LEAD_DOUBT, Doubt
from hippozoo.ensemble.plan import UNDER_WAY, Plan
from hippozoo.ensemble.scale import LEAD_SCALE, STEP, Scale
from hippozoo.ensemble.scores import EXPERT_SCORE, LEAD_SCORE, Scores

__all__ = ["Channel", "begins", "open_channel", "open_channels"]


class Channel(NamedTuple):
    """State of a channel: single records of `cleaner`, `brake`, `doubt.last`, `scale.step`; else by lead or expert."""

    cleaner: Any
    brake: Any
    doubt: Doubt
    scale: Scale
    errors: Any
    scores: Scores
    under_way: Any
    own: Any


def begins(plan: Plan) -> Int[np.ndarray, " parts"]:
    """Where each part of a row begins, in the order of `open_channel`, and the end."""
    H, E = plan.horizon, plan.experts
    # As many origins are under way as there are in a horizon, and one.
    records = ((CLEANER, 1), (BRAKE, 1), (STEP, 1), (LEAD_SCALE, H), (ERRORS, H), (LEAD_SCORE, H), (EXPERT_SCORE, E),
               (UNDER_WAY, -(-H // plan.stride) + 1), (DOUBT, 1), (LEAD_DOUBT, H))  # fmt: skip
    phases = int(plan.seasons[0]) if len(plan.seasons) else 0
    return np.cumsum([0, *(one.itemsize // 8 * count for one, count in records), phases, H * E, int(plan.own[-1])])


@compiled(inner=True)
@no_type_check
def open_channel(row, plan):
    """A row of numbers by names."""
    at = plan.parts
    scale = Scale(
        row[at[2] : at[3]].view(STEP), row[at[3] : at[4]].view(LEAD_SCALE), row[at[10] : at[11]],
    )  # fmt: skip
    scores = Scores(
        row[at[5] : at[6]].view(LEAD_SCORE), row[at[6] : at[7]].view(EXPERT_SCORE), row[at[11] : at[12]],
    )  # fmt: skip
    doubt = Doubt(row[at[8] : at[9]].view(DOUBT), row[at[9] : at[10]].view(LEAD_DOUBT))
    return Channel(
        row[at[0] : at[1]].view(CLEANER), row[at[1] : at[2]].view(BRAKE), doubt, scale, row[at[4] : at[5]].view(ERRORS),
        scores, row[at[7] : at[8]].view(UNDER_WAY), row[at[12] : at[13]],
    )  # fmt: skip


def open_channels(live: Float[np.ndarray, "*channels numbers"], plan: Plan) -> Channel:
    """Rows of numbers by names, in Python: the same function, which opens one row or all of them."""
    return open_channel.py_func(_Rows(live), plan)


class _Rows:
    """Rows that are cut like one."""

    def __init__(self, live: np.ndarray) -> None:
        self.live = live

    def __getitem__(self, part: slice) -> np.ndarray:
        return self.live[..., part]
