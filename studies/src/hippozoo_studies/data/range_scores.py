"""How well scores of readings find anomalies that last: VUS-PR, and the threshold that gives a wanted alarm rate."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number

__all__ = ["threshold_at_rate", "vus_pr"]

#: Exceedances at most so many readings apart are one alarm.
APART = 100


def threshold_at_rate(scores: Float[np.ndarray, " time"], rate: float = 1.0) -> float:
    """The score that a quiet stream exceeds with `rate` alarms per 1,000 readings; one alarm at least is allowed.

    An alarm is a score above the threshold that is the highest within `APART` readings. Peaks are counted from the
    highest down, so the count grows as the threshold falls, and ties cannot be split: a score that is common to many
    readings gives no alarm.

    Examples
    --------
    >>> threshold_at_rate(np.concatenate([np.zeros(500), [3.0, 2.0], np.zeros(500), [1.0]]))
    1.0
    """
    allowed = max(1, round(rate * len(scores) / 1000))
    covered = np.zeros(len(scores), bool)
    peaks = 0
    for place in np.argsort(-scores, kind="stable").tolist():
        if covered[place]:
            continue
        peaks += 1
        if peaks > allowed:
            return float(scores[place])
        covered[max(0, place - APART) : place + APART + 1] = True
    return -math.inf


def vus_pr(scores: Float[np.ndarray, " time"], begin: int, end: int, longest: int = 100) -> float:
    """Volume under the surface of precision and recall, for one anomaly: the mean over buffers of 0 to `longest`.

    With a buffer of l readings, those up to l / 2 before and after the anomaly are labelled in part, sqrt(1 - distance
    / l). Precision is the mean label of the readings above a threshold. Recall is the sum of their labels, divided by
    the length of the anomaly and half of the buffer's labels among them, and at most 1: what exceeds the threshold in
    the buffer helps, what does not costs nothing. Thresholds are all scores. So it is in the authors' own program.

    Examples
    --------
    >>> scores = np.zeros(500)
    >>> scores[200:300] = 1.0
    >>> round(vus_pr(scores, 200, 300), 2), round(vus_pr(-scores, 200, 300), 2)
    (1.0, 0.23)

    References
    ----------
    Paparrizos et al. (2022), Volume Under the Surface: A New Accuracy Evaluation Measure for Time-Series Anomaly
    Detection, PVLDB 15(11).
    """
    whole_number("longest", longest, minimum=0)
    if not 0 <= begin < end <= len(scores):
        raise ValueError(f"begin={begin}, end={end}: the anomaly is not within {len(scores)} scores; pass rows of it.")
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    predicted = np.arange(1, len(scores) + 1)[last_of_ties]
    place = np.arange(len(scores))
    distance = np.maximum(np.maximum(begin - place, place - end + 1), 0)
    inside = np.cumsum(distance[order] == 0)[last_of_ties]
    total = 0.0
    for buffer in range(longest + 1):
        label = np.zeros(len(scores))
        near = (distance > 0) & (distance <= buffer // 2)
        label[near] = np.sqrt(1 - distance[near] / max(buffer, 1))
        beside = np.cumsum(label[order])[last_of_ties]
        recall = np.minimum((inside + beside) / (end - begin + beside / 2), 1.0)
        total += float(np.diff(recall, prepend=0.0) @ ((inside + beside) / predicted))
    return total / (longest + 1)
