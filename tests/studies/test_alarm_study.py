"""The study of injected anomalies: equal alarm rates, pairs of trials, and peers that are copied half-way."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo_studies import Finished, reproduce
from hippozoo_studies.beyond import alarms
from hippozoo_studies.beyond._alarm_peers import DETECTORS
from hippozoo_studies.data.injected_anomalies import AFTER, Injection
from hippozoo_studies.data.quiet_streams import QuietStream


class Size:
    """The value itself is the score."""

    def __init__(self, columns):
        assert columns == 1

    def push(self, rows):
        return rows[:, 0]


def test_an_anomaly_is_found_above_what_quiet_readings_give_and_its_delay_is_counted():
    values = np.random.default_rng(0).uniform(size=1000)
    stream = QuietStream("noise", "made", values, None)
    loud, late, low = (np.full(5 + AFTER, 0.1) for _ in range(3))
    loud[0], late[3], late[40] = 2.0, 2.0, 9.0
    found = alarms.score_stream(stream, [Injection("spike", 0, 700, 705, one) for one in (loud, late, low)], Size)
    assert [delay for _, _, delay, _ in found["trials"]] == [0, 3, None]
    assert found["trials"][0][3] > found["trials"][2][3]


def finished(detector, delays, half="check", family="latency"):
    trials = [["spike", 0, delay, 0.5 if delay is None else 0.9] for delay in delays]
    streams = {f"s/{number}": {"trials": [trial]} for number, trial in enumerate(trials)}
    return Finished({"detector": detector, "half": half, "family": family}, {"streams": streams}, 1.0)


@pytest.mark.parametrize(("theirs", "holds"), [([None] * 6, True), ([0, None] * 3, True), ([0] * 6, False)])
def test_ahead_means_that_the_whole_interval_is(theirs, holds):
    runs = [finished("hippozoo", [0] * 6), finished("z-score", theirs)]
    result = alarms.assemble(alarms.Config(), runs)
    ahead = result.metrics["check, streams"]["ahead of"]["z-score"]["found"]
    assert ahead["mean"] == pytest.approx(np.mean([one is None for one in theirs]))
    assert (ahead["interval"][0] > 0) is holds
    assert result.claims[0].holds is holds
    assert "| z-score | 6 |" in alarms.table(result)


def test_a_peer_that_has_seen_some_streams_is_compared_on_these():
    runs = [finished("hippozoo", [None, None, 0, 0]), finished("z-score", [0, 0])]
    ahead = alarms.assemble(alarms.Config(), runs).metrics["check, streams"]["ahead of"]["z-score"]
    assert ahead["found"]["mean"] == -1.0


@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "random cut forest"])
def test_a_copy_goes_on_as_the_whole_would(name):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(520, 2 if "apart" in name else 1))
    rows[450:460] += 20.0
    one, other = (DETECTORS[name](rows.shape[1]) for _ in range(2))
    whole = one.push(rows)
    first = other.push(rows[:400])
    second = copy.deepcopy(other).push(rows[400:])
    assert_array_equal(np.concatenate([first, second]), whole)
    assert whole[450] > np.median(whole[300:450])


def test_a_quick_run_writes_its_table(tmp_path):
    reproduce("alarms", quick=True, out=tmp_path)
    text = (tmp_path / "alarms" / "table.md").read_text()
    assert "| hippozoo | 1 |" in text
    assert "| flat line |" in text
    assert "| counts |" in text


def test_peers_run_only_on_the_half_where_no_setting_was_chosen():
    halves = {True: set(), False: set()}
    for unit in alarms.units(alarms.Config()):
        halves[unit["detector"] == alarms.OWN].add(unit["half"])
    assert halves == {True: {"check", "development", "rate"}, False: {"check"}}
