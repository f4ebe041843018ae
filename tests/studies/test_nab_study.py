"""The study of alarms: settings are chosen on one half of the streams and scored on the other."""

import numpy as np
import pytest

from hippozoo_studies import Finished
from hippozoo_studies.beyond import nab
from hippozoo_studies.data.nab import outcome, total_score

ROWS, WINDOW = 1_000, (500, 550)
GOOD, BAD, SHIPPED = "rate 2, silence 150", "rate 8, silence 100", "rate 1, silence 150"


def finished(names, windows=(WINDOW,)):
    alarms = {"hippozoo": {GOOD: [500], BAD: [200, 300, 800], SHIPPED: [540]}, "a rule": {"rate 1, silence 150": [530]}}
    result = {
        "rows": ROWS,
        "windows": [list(window) for window in windows],
        "alarms": alarms,
        "seconds_per_1000": 0.1,
        "coverage": 0.95,
    }
    return [Finished({"look": 1, "stream": name}, result, 1.0) for name in names]


def test_the_setting_that_is_best_on_one_half_is_scored_on_the_other():
    metrics = nab.assemble(nab.Config(), finished([f"{folder}/{k}.csv" for folder in "ab" for k in range(3)])).metrics
    table = metrics["looks"]["list 1"]
    assert table["hippozoo"]["halves"]["chosen"] == {GOOD: 100}
    assert table["hippozoo"]["halves"]["mean"] == pytest.approx(100.0)
    assert table["a rule"]["halves"]["mean"] == pytest.approx(total_score([outcome(ROWS, [WINDOW], [530])]))
    assert metrics["score"]["standard"] == pytest.approx(total_score([outcome(ROWS, [WINDOW], [540])]))


def test_halves_are_dealt_folder_by_folder():
    names = [f"{folder}/{k}.csv" for folder in ("one", "two") for k in range(4)] + ["three/0.csv"]
    for seed in range(5):
        first, second = nab._dealt(names, np.random.default_rng(seed))
        assert sorted(first + second) == sorted(names)
        for folder in ("one", "two"):
            assert sum(name.startswith(folder) for name in first) == 2


def test_without_windows_there_is_no_score():
    metrics = nab.assemble(nab.Config(), finished(["some/a.csv"], windows=())).metrics
    assert metrics["score"]["standard"] is None
    assert metrics["looks"]["list 1"]["hippozoo"]["halves"] is None


def test_a_rank_is_the_share_of_readings_that_are_as_large():
    assert nab._ranks(np.array([1.0, 3.0, 2.0, 3.0])).tolist() == [1.0, 1 / 2, 2 / 3, 2 / 4]
