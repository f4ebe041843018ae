"""The detector of river: its whole battery, and what the battery does not ask."""

import copy

import numpy as np
import pytest

river_checks = pytest.importorskip("river.checks")

from river import datasets  # noqa: E402

from hippozoo.estimators import RiverHippoDetector  # noqa: E402


class SeededCards:
    """In place of a data set that river would download, and shorter: two features, some readings odd in one of them."""

    def __init__(self, share=0.04):
        self.share = share

    def take(self, count):
        rng = np.random.default_rng(0)
        for k in range(count // 5):
            x = {"a": float(np.sin(k / 5) + 0.2 * rng.normal()), "b": float(rng.normal())}
            odd = k > 130 and rng.random() < self.share
            if odd:
                x["a" if rng.random() < 0.5 else "b"] += 6.0
            yield x, odd


def test_every_check_of_river_passes(monkeypatch):
    monkeypatch.setattr(datasets, "CreditCard", SeededCards)
    checks = list(river_checks.yield_checks(RiverHippoDetector(horizon=4)))
    names = [check.__name__ for check in checks]
    assert len(checks) >= 20
    assert "check_roc_auc" in names
    river_checks.check_estimator(RiverHippoDetector(horizon=4))


def fed(count=400, **settings):
    model = RiverHippoDetector(**settings)
    for x, _ in SeededCards().take(5 * count):
        model.learn_one(x)
    return model


def test_strange_readings_score_above_nearly_all_others():
    # One reading in a hundred is odd: what comes more often is usual to a detector that learns without labels.
    model, odd, usual = RiverHippoDetector(horizon=4), [], []
    for k, (x, strange) in enumerate(SeededCards(share=0.01).take(8000)):
        if k > 130:
            (odd if strange else usual).append(model.score_one(x))
        model.learn_one(x)
    assert len(odd) > 8
    above = np.mean(np.array(odd)[:, None] > np.array(usual))  # the area under the curve: one half by chance
    assert above > 0.85  # the readings after a strange one have it in their memory, and are strange too
    assert np.median(odd) > np.quantile(usual, 0.9)


def test_scoring_changes_nothing():
    model = fed(250)
    other = copy.deepcopy(model)
    for value in (9.0, -3.0):
        model.score_one({"a": value, "b": 0.0})
    for one in (model, other):
        one.learn_one({"a": 0.2, "b": 0.1})
    assert model.score_one({"a": 0.0, "b": 3.0}) == other.score_one({"a": 0.0, "b": 3.0})


def test_the_score_is_one_minus_the_p_of_the_reading_when_it_comes():
    model = fed(300)
    score = model.score_one({"a": 0.4, "b": 4.0})
    streams = {name: copy.deepcopy(stream) for name, stream in model.streams.items()}
    p = [streams[name].push(value).p for name, value in (("a", 0.4), ("b", 4.0))]
    assert score == 1 - min(p)


def test_an_alarm_is_there_until_the_next_reading():
    model = fed(180)
    model.learn_one({"a": 0.0, "b": 30.0})
    assert "b" in model.alarms
    model.learn_one({"a": 0.0, "b": 0.0})
    assert "b" not in model.alarms


@pytest.mark.parametrize("value", ["warm", [1.0, 2.0], float("inf"), 1e200, 1j], ids=str)
def test_a_value_that_is_none_is_refused_and_changes_nothing(value):
    model = fed(60)
    before = model.streams["a"].readings
    with pytest.raises((TypeError, ValueError), match=r"x\['b'\]"):
        model.learn_one({"a": 1.0, "b": value})
    assert model.streams["a"].readings == before
