"""The study of alarms: what is made of the alarms of every stream."""

import pytest

from hippozoo.experiments import Finished, nab
from hippozoo.tasks.nab import outcome, total_score

ROWS, WINDOW = 1_000, (500, 550)


def found(alarms_by_rate):
    """A stream with one window, and its alarms at each rate."""
    result = {
        "rows": ROWS,
        "windows": [list(WINDOW)],
        "alarms": alarms_by_rate["1"],
        "by_rate": alarms_by_rate,
        "seconds_per_1000": 0.1,
        "coverage": 0.95,
        "peer": None,
    }
    return [Finished({"stream": "some/a.csv"}, result, 1.0)]


def test_the_steady_score_is_the_mean_over_rates_near_the_one_that_counts():
    config = nab.Config(rates=(0.5, 0.7, 1.0, 1.4, 2.0))
    alarms = {"0.5": [], "0.7": [], "1": [510], "1.4": [510, 800], "2": [200, 300, 800]}
    metrics = nab.assemble(config, found(alarms)).metrics
    scores = [total_score([outcome(ROWS, [WINDOW], alarms[rate])]) for rate in ("0.7", "1", "1.4")]
    assert len(set(scores)) == 3
    assert metrics["mean_score_near_the_rate"] == pytest.approx(sum(scores) / 3)
    assert metrics["score"]["standard"] == scores[1]


def test_without_windows_there_is_no_score():
    one = found({"1": [510]})
    one[0].result["windows"] = []
    metrics = nab.assemble(nab.Config(rates=(1.0,)), one).metrics
    assert metrics["mean_score_near_the_rate"] is None
    assert metrics["score"]["standard"] is None
