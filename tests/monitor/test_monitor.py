"""Alarms that people can live with: events that begin and end, silence that listens, and no data as an alarm."""

from dataclasses import replace

import numpy as np
import pytest

from hippozoo.monitor import NEVER, Clock, Monitor, Plan, Rules, Silence, sentence, severity_of, write_time
from hippozoo.tables.schema import Reading

STEP = 3600.0


def load(count=5500, seed=0):
    hours, rng = np.arange(count), np.random.default_rng(seed)
    daily = 15_000 * np.sin(2 * np.pi * hours / 24) + 4000 * np.sin(2 * np.pi * hours / 168)
    return 50_000 + daily + 800 * rng.normal(size=count)


def watched(values, plan=None, times=None, pieces=None):
    """Outcomes of all readings together, pushed at once or in pieces."""
    monitor = Monitor(plan or Plan(channels=values.shape[1] if values.ndim > 1 else 1, horizon=24, season=24))
    values = values.reshape(len(values), -1)
    times = STEP * np.arange(len(values)) if times is None else times
    cuts = [0, *np.cumsum(pieces or [len(values)]).tolist()]
    alerts, over = [], []
    for begin, end in zip(cuts, [*cuts[1:], len(values)], strict=True):
        if begin < end:
            outcome = monitor.push(times[begin:end], values[begin:end])
            alerts += outcome.alerts
            over += outcome.over
    return monitor, alerts, over


def after(found, number):
    return [one for one in found if one.number >= number]


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_an_outage_in_the_silence_after_a_blip_is_told_once_and_ends(seed):
    values = load(seed=seed)
    values[5000] += 9000
    values[5020:5100] = 0.0
    _, alerts, over = watched(values)
    assert [one.number for one in alerts if 5000 <= one.number < 5110] == [5000, 5020]
    outage = next(one for one in alerts if one.number == 5020)
    assert (outage.again, outage.value) == ("rarer", 0.0)
    assert outage.event in (5000, 5020)  # while windows still hold the blip, both are one event
    ended = next(one for one in over if one.event == outage.event and one.number > 5020)
    assert abs(ended.time - 5100 * STEP) <= STEP
    assert [one.event for one in over if one.event == 5000]


def test_within_a_silence_an_alarm_of_another_kind_or_direction_comes_and_the_same_does_not():
    rng = np.random.default_rng(0)
    values = rng.normal(size=3000)
    values[[2000, 2040]] += 9.0
    same = values.copy()
    up = [one.number for one in watched(same)[1] if one.number >= 2000][:2]
    values[2040] -= 18.0
    down = [one.number for one in watched(values)[1] if one.number >= 2000][:2]
    assert up[0] == down[0] == 2000
    assert 2040 not in up
    assert 2040 in down


@pytest.mark.parametrize(("silence", "told"), [("150", False), ("30", True), ("50h", False), ("20h", True)])
def test_a_silence_is_as_long_as_was_asked_for(silence, told):
    values = np.random.default_rng(0).normal(size=3000)
    values[[2000, 2040]] += 9.0
    plan = Plan(horizon=6, every=STEP, rules=Rules(silence=Silence.parse(silence)))
    assert (2040 in [one.number for one in watched(values, plan)[1]]) == told


@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_any_length_give_the_same_alarms_ends_and_bytes(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1500, 2))
    values[700:760, 0] += 8.0
    values[900:960, 1] = np.nan
    values[1200] -= 9.0
    times = 60.0 * np.arange(1500.0)
    times[1000:] += 5000.0
    plan = Plan(channels=2, horizon=6)
    one, alerts, over = watched(values, plan, times)
    pieces = rng.integers(1, 90, size=60).tolist()
    while sum(pieces) > 1500:
        pieces.pop()
    other, found, ends = watched(values, plan, times, pieces)
    plain = [(a.number, a.channel, a.kind, a.p, a.event, a.again, a.nearest) for a in alerts]
    assert sorted(plain, key=str) == sorted(
        [(a.number, a.channel, a.kind, a.p, a.event, a.again, a.nearest) for a in found], key=str
    )
    assert sorted(over) == sorted(ends)
    np.testing.assert_array_equal(one._stream.event_state(), other._stream.event_state())
    assert {"no data"} < {a.kind for a in alerts}


def test_an_event_that_ends_within_a_piece_silences_no_later_alarm_of_it():
    values = np.sin(np.arange(3000) / 6) + 0.1 * np.random.default_rng(0).normal(size=3000)
    values[2500] += 6.0
    plan = Plan(horizon=24)
    whole = watched(values, plan)
    pieces = watched(values, plan, pieces=[20] * 149)
    assert [one[:9] for one in whole[1]] == [one[:9] for one in pieces[1]]
    assert whole[2] == pieces[2]


def test_a_monitor_goes_on_from_its_bytes_as_if_it_had_never_stopped():
    values = load(1500)
    values[1200:1230] = 0.0
    plan = Plan(horizon=6)
    _, alerts, over = watched(values, plan)
    for cut in (3, 7, 8, 600, 1210):
        monitor = Monitor(plan)
        first = monitor.push(STEP * np.arange(cut), values[:cut, None])
        again = Monitor.from_bytes(monitor.to_bytes(), plan)
        rest = again.push(STEP * np.arange(cut, 1500), values[cut:, None])
        assert [a[:9] for a in first.alerts + rest.alerts] == [a[:9] for a in alerts]
        assert first.over + rest.over == over


def test_bytes_of_another_version_are_refused():
    data = Monitor(Plan(every=1.0)).to_bytes()
    with pytest.raises(ValueError, match="version"):
        Monitor.from_bytes(data[:16] + b"\x63" + data[17:], Plan(every=1.0))


# -- no data -----------------------------------------------------------------------------------------------------------


def test_a_gap_is_told_once_and_told_again_when_data_come_back():
    times = 60.0 * np.arange(600.0)
    times[400:] += 3600.0
    values = np.random.default_rng(0).normal(size=600)
    _, alerts, over = watched(values, Plan(horizon=6), times)
    [gap] = [one for one in alerts if one.kind == "no data"]
    assert (gap.number, gap.since_time, gap.time) == (400, 399 * 60.0, 399 * 60.0 + 300.0)
    assert [(one.number, one.time) for one in over if one.no_data] == [(400, times[400])]
    assert watched(values, Plan(horizon=6, rules=Rules(no_data=NEVER)), times)[1:] == ([], [])


def test_by_the_clock_no_data_are_told_while_nothing_comes():
    monitor, _, _ = watched(np.random.default_rng(0).normal(size=300), Plan(horizon=6), 60.0 * np.arange(300.0))
    assert monitor.due == 299 * 60.0 + 300.0
    assert not monitor.tick(monitor.due).alerts
    [alert] = monitor.tick(monitor.due + 1.0).alerts
    assert (alert.kind, alert.number) == ("no data", 300)
    assert not monitor.tick(1e9).alerts
    outcome = monitor.push(np.array([90_000.0]), np.zeros((1, 1)))
    assert not outcome.alerts
    assert [one.no_data for one in outcome.over] == [True]


def test_one_column_of_two_that_falls_silent_is_named():
    values = np.random.default_rng(0).normal(size=(600, 2))
    values[300:400, 1] = np.nan
    _, alerts, over = watched(values, Plan(channels=2, horizon=6), 60.0 * np.arange(600.0))
    assert [(one.channel, one.number) for one in alerts if one.kind == "no data"] == [(1, 305)]
    assert [(one.channel, one.number) for one in over if one.no_data] == [(1, 400)]


def test_gaps_that_come_every_week_become_usual():
    hours = np.arange(24 * 7 * 10)
    open_days = hours // 24 % 7 < 5
    values = np.random.default_rng(0).normal(size=open_days.sum())
    _, alerts, _ = watched(values, Plan(horizon=6), STEP * hours[open_days])
    assert [one.number for one in alerts if one.kind == "no data"] == [120, 240, 360]


@pytest.mark.parametrize("length", [20, 200])
def test_the_first_readings_after_a_gap_give_no_false_alarm(length):
    told = 0
    for seed in range(8):
        values = np.sin(np.arange(900) * 2 * np.pi / 24) + 0.1 * np.random.default_rng(seed).normal(size=900)
        times = STEP * np.arange(900.0)
        keep = np.r_[0:600, 600 + length : 900]
        _, alerts, _ = watched(values[keep], Plan(horizon=24, season=24), times[keep])
        told += sum(one.kind != "no data" and 600 <= one.number < 630 for one in alerts)
    assert told == 0


# -- rates and words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["white", "walk"])
def test_on_quiet_streams_alarms_come_about_as_often_as_was_asked_for(kind):
    told = 0
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=6000)
        told += len(watched(noise if kind == "white" else noise.cumsum(), Plan(horizon=6, every=STEP))[1])
    assert told / 18 <= 2.0  # one in 1,000 was asked for


def test_rules_change_without_losing_what_was_learnt():
    values = load(2000)
    monitor = Monitor(Plan(horizon=6, every=STEP))
    monitor.push(STEP * np.arange(1990), values[:1990, None])
    monitor.change_rules(replace(monitor.plan.rules, rate=1e-9))
    assert monitor.readings == 1990
    values[1995] += 3e4
    assert monitor.push(STEP * np.arange(1990, 2000), values[1990:, None]).alerts == []


def test_the_sentence_says_what_happened_what_was_expected_and_the_nearest_before():
    values = load()
    values[5020:] = 0.0
    _, alerts, _ = watched(values)
    alert = next(one for one in alerts if one.number == 5020)
    near = (write_time(alert.nearest[0]), alert.nearest[1], alert.nearest[2])
    text = sentence(
        alert._asdict()
        | {"column": "load", "time": write_time(alert.time), "since": write_time(alert.since_time), "nearest": near}
    )
    assert text.startswith("load fell to 0 at 1970-07-29 04:00; ")
    assert "nothing like it in 5,020 readings; the nearest was 1970-" in text


def test_severity_grows_with_how_far_how_long_and_how_many():
    assert severity_of(1.5, 1, 1, 1) == "minor"
    assert severity_of(5.0, 1, 1, 1) == severity_of(1.5, 20, 1, 1) == severity_of(1.5, 1, 2, 9) == "major"
    assert severity_of(50.0, 1, 1, 1) == severity_of(1.5, 200, 1, 1) == severity_of(1.5, 1, 5, 9) == "critical"


# -- the clock ---------------------------------------------------------------------------------------------------------


def test_a_clock_is_kept_whole():
    clock = Clock()
    for moment in (0.0, 60.0, 9e6):
        clock.take(Reading(1, moment, (1.0, float("nan"))), 60.0)
    assert clock.held is not None
    again = Clock.from_dict(clock.as_dict())
    assert again == clock
    taken, said = again.take(Reading(2, 120.0, (1.0, 2.0)), 60.0)
    assert ([one.time for one in taken], [one.kind for one in said]) == ([120.0], ["ahead"])


@pytest.mark.parametrize("apart", [8, 20, 40])
def test_an_outage_soon_after_a_blip_as_deep_is_told(apart):
    values = load(2500)
    values[2000] = 0.0
    values[2000 + apart : 2080 + apart] = 0.0
    _, alerts, over = watched(values)
    blip, outage = [one for one in alerts if 2000 <= one.number < 2080 + apart]
    assert blip.number == 2000
    assert 2000 + apart < outage.number <= 2000 + apart + 20
    assert outage.again == "another kind"
    assert any(abs(one.time - (2080 + apart) * STEP) <= 2 * STEP for one in over)


def test_smaller_histories_make_a_smaller_state_and_still_find_an_outage():
    values = load(2500)
    values[2000:] = 0.0
    small, alerts, _ = watched(values, Plan(horizon=6, order=12))
    assert len(small.to_bytes()) < 70_000 < len(Monitor(Plan(horizon=6, every=1.0)).to_bytes())
    assert 2000 in [one.number for one in alerts]
