"""Injected anomalies: the past is untouched, sizes grow, streams stay possible, and scores are what their words say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo_studies.data.injected_anomalies import AFTER, KINDS, SIZES, inject, inject_one, inject_table
from hippozoo_studies.data.quiet_streams import FAMILIES, QuietStream, simulate_sensor
from hippozoo_studies.data.range_scores import threshold_at_rate, vus_pr


@pytest.fixture
def stream():
    rng = np.random.default_rng(0)
    values = np.rint(50 + 20 * np.sin(np.arange(1500) * 2 * np.pi / 48) + 3 * rng.normal(size=1500))
    return QuietStream("counts with a day", "made", values, 48)


def test_every_kind_comes_at_every_size_in_the_second_half(stream):
    found = list(inject(stream))
    assert {(one.kind, one.size) for one in found} == {(kind, size) for kind in KINDS for size in SIZES}
    for one in found:
        assert len(stream.values) // 2 <= one.begin < one.end
        assert len(one.values) == one.end - one.begin + AFTER
        before = stream.values[one.begin : one.begin + len(one.values)]
        assert (one.values != before)[: one.end - one.begin].any()


def test_the_same_seed_gives_the_same_anomalies_and_another_one_others(stream):
    again = {(one.kind, one.size): one for one in inject(stream, seed=3)}
    for one in inject(stream, seed=3):
        assert_array_equal(one.values, again[one.kind, one.size].values)
    assert any(one.begin != again[one.kind, one.size].begin for one in inject(stream, seed=4))


@pytest.mark.parametrize("kind", ["spike", "step", "drift", "burst", "slow leak"])
def test_a_larger_size_changes_more(stream, kind):
    sums = []
    for size in SIZES:
        changes = []
        for seed in range(8):
            one = inject_one(stream, kind, size, seed)
            before = stream.values[one.begin : one.end]
            changes.append(np.abs(one.values[: one.end - one.begin] - before).mean())
        sums.append(np.mean(changes))
    assert sums[0] < sums[1] < sums[2]


def test_values_stay_what_the_stream_can_be(stream):
    for one in inject(stream, seed=1):
        assert (one.values >= 0).all()
        assert_array_equal(one.values, np.rint(one.values))


def test_without_a_cycle_none_is_missing():
    noise = QuietStream("noise", "made", np.random.default_rng(1).normal(size=900), None)
    assert not {"rhythm", "missing cycle"} & {one.kind for one in inject(noise)}


def test_columns_apart_are_ordinary_by_themselves():
    rng = np.random.default_rng(2)
    load = np.sin(np.arange(1200) / 30) + 0.1 * rng.normal(size=1200)
    table = QuietStream("two", "made", np.stack([load, 3 * load], axis=1), 188)
    for one in inject_table(table):
        length = one.end - one.begin
        changed = np.flatnonzero((one.values != table.values[one.begin : one.begin + len(one.values)]).any(axis=0))
        assert len(changed) == 1
        assert np.isin(one.values[:length, changed[0]], table.values[: one.begin, changed[0]]).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_sensors_are_seeded_and_finite(family):
    first, again = (simulate_sensor(family, 600, np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(first, again)
    assert np.isfinite(first).all()
    assert first.std() > 0


def test_unknown_names_are_refused_in_words(stream):
    with pytest.raises(ValueError, match="pass one of"):
        inject_one(stream, "tick", 0)
    with pytest.raises(ValueError, match="pass one of"):
        simulate_sensor("toaster", 10, np.random.default_rng(0))
    with pytest.raises(ValueError, match="not within"):
        vus_pr(np.zeros(10), 5, 20)


def test_the_threshold_gives_as_many_alarms_as_asked_for():
    scores = np.random.default_rng(6).normal(size=20_000)
    level = threshold_at_rate(scores, rate=2.0)
    above = np.flatnonzero(scores > level)
    alarms = 1 + (np.diff(above) > 100).sum()
    assert 36 <= alarms <= 40


def slow_vus_pr(scores, begin, end, longest):
    """Threshold by threshold and buffer by buffer, as it is written in words."""
    volume = 0.0
    for buffer in range(longest + 1):
        area, before = 0.0, 0.0
        for level in sorted(set(scores.tolist()), reverse=True):
            inside = beside = above = 0.0
            for place, score in enumerate(scores.tolist()):
                if score < level:
                    continue
                above += 1
                distance = max(begin - place, place - (end - 1), 0)
                if distance == 0:
                    inside += 1
                elif distance <= buffer // 2:
                    beside += (1 - distance / buffer) ** 0.5
            recall = min((inside + beside) / (end - begin + beside / 2), 1.0)
            area += (recall - before) * (inside + beside) / above
            before = recall
        volume += area
    return volume / (longest + 1)


def test_vus_pr_is_its_definition_also_with_ties():
    rng = np.random.default_rng(7)
    for begin, end in ((20, 21), (30, 45)):
        scores = np.rint(3 * rng.normal(size=80))
        scores[begin:end] += 2
        assert_allclose(vus_pr(scores, begin, end, 12), slow_vus_pr(scores, begin, end, 12), rtol=1e-12)
