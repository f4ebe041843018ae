"""A stream with a clock: pushing one by one is learning the array, and nothing is lost by saving."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.ensemble import ForecastStream, forecaster_for


def wave(count, seed=0):
    return np.sin(np.arange(count) / 5) + 0.1 * np.random.default_rng(seed).normal(size=count)


def pushed_all(stream, values, times=None):
    return [stream.push(value, None if times is None else times[k]) for k, value in enumerate(values)]


def test_pushing_one_by_one_is_learning_the_array():
    forecaster, values = forecaster_for(6.0), wave(400)
    stream = ForecastStream(forecaster)
    pushed_all(stream, values)
    learnt = forecaster.learn(forecaster.initial_state(), values)
    assert_allclose(stream.forecast.samples(), forecaster.forecast(learnt).samples(), rtol=1e-9)


def _gaps(values):
    values[np.random.default_rng(5).random(values.shape) < 0.1] = np.nan
    return values


def _late_channel():
    values = np.stack([wave(700), wave(700, seed=3)], axis=1)
    values[:90, 1] = np.nan
    values[300:310] = np.nan
    return values


def _counts(broken):
    values = np.random.default_rng(6).poisson(0.5, size=700).astype(float)
    values[400] += 0.5 * broken
    return values


def _spiked():
    values = wave(1200)
    values[[700, 900]] += 6.0
    values[1100:] += 5.0
    return values


@pytest.mark.parametrize(
    ("values", "times", "choices"),
    [
        (_spiked(), None, {}),
        (_spiked(), np.arange(1200) * 1.0 + 7.0, {"season": 24.0}),
        (_gaps(wave(500)), None, {}),
        (_late_channel(), np.arange(700) * 1.0, {}),
        (_counts(False), None, {}),
        (_counts(True), None, {}),
        (wave(500), np.arange(500.0) + 3.3 * (np.arange(500) > 200), {}),
        (wave(300), None, {"horizon": 60.0}),
    ],
    ids=["spikes", "season", "gaps", "late channel", "counts", "broken counts", "a changed step", "long horizon"],
)
def test_pushing_many_is_pushing_one_by_one_bit_for_bit(values, times, choices):
    forecaster = forecaster_for(**({"horizon": 6.0} | choices))
    channels = None if values.ndim == 1 else values.shape[1]
    one, many = ForecastStream(forecaster, channels), ForecastStream(forecaster, channels)
    single = pushed_all(one, values, times)
    begin, alarms = 0, []
    for end in (1, 8, 250, len(values)):
        pushed = many.push_many(values[begin:end], None if times is None else times[begin:end])
        for name in ("expected", "lower", "upper", "error", "p"):
            assert_array_equal(getattr(pushed, name), [getattr(each, name) for each in single[begin:end]])
        alarms += pushed.alarms
        begin = end
    assert list(map(str, alarms)) == [str(alarm) for pushed in single for alarm in pushed.alarms]
    for k in range(30):  # and they go on alike
        moment = None if times is None else times[-1] + k + 1
        for left, right in zip(one.push(values[k], moment).parts, many.push(values[k], moment).parts, strict=True):
            assert_array_equal(left, right)


@pytest.mark.parametrize("value", [1e150, np.inf, -1e101, 1e-150])
def test_a_reading_that_cannot_be_learnt_is_refused_when_it_comes(value):
    stream = ForecastStream(forecaster_for(6.0))
    if value == 1e-150:
        stream.push(0.0)
    else:
        pushed_all(stream, wave(5))
    before = stream.readings
    with pytest.raises(ValueError, match=r"infinite or too large|no number is above 1e-150"):
        stream.push(value)
    stream.push(0.5)  # and the stream goes on
    assert stream.readings == before + 1


def test_readings_at_uneven_times_hold_until_the_next_and_the_newest_for_a_usual_step():
    forecaster, values = forecaster_for(6.0), wave(300)
    times = np.cumsum(np.random.default_rng(1).choice([0.5, 1.0, 1.5, 3.0], size=300))
    stream = ForecastStream(forecaster)
    pushed_all(stream, values, times)
    learnt = forecaster.learn(forecaster.initial_state(), values, dt=np.append(np.diff(times), 1.0))
    assert_allclose(stream.forecast.samples(), forecaster.forecast(learnt).samples(), rtol=1e-9)


def test_what_was_expected_is_the_forecast_before_the_reading_came():
    forecaster, values = forecaster_for(6.0), wave(300)
    stream = ForecastStream(forecaster, coverage=0.9)
    pushed = pushed_all(stream, values)
    before = forecaster.forecast(forecaster.learn(forecaster.initial_state(), values[:256]))
    assert_allclose(pushed[256].expected, before.mean(0.5), rtol=1e-9)
    assert_allclose([pushed[256].lower, pushed[256].upper], before.band(0.5, 0.9), rtol=1e-9)  # bands are renewed here


def test_bands_hold_what_they_say():
    values = wave(3000, seed=2)
    pushed = pushed_all(ForecastStream(forecaster_for(6.0), coverage=0.9), values)
    inside = [one.lower <= value <= one.upper for one, value in zip(pushed[500:], values[500:], strict=True)]
    assert 0.86 < np.mean(inside) < 0.94


@pytest.mark.parametrize("channels", [None, 2])
def test_a_saved_stream_goes_on_bit_for_bit(tmp_path, channels):
    values = wave(330) if channels is None else np.stack([wave(330), wave(330, seed=3)], axis=1)
    times = np.arange(330) * 1.0
    stream = ForecastStream(forecaster_for(6.0), channels=channels)
    pushed_all(stream, values[:200], times[:200])
    stream.save(tmp_path / "stream.safetensors")
    copy = ForecastStream.load(tmp_path / "stream.safetensors")
    assert (copy.time, copy.readings) == (199.0, 200)
    for k in range(200, 330):
        one, other = stream.push(values[k], times[k]), copy.push(values[k], times[k])
        for name in ("expected", "lower", "upper", "p"):
            assert_array_equal(getattr(one, name), getattr(other, name))


def test_what_was_saved_stays_when_the_stream_goes_on():
    stream = ForecastStream(forecaster_for(6.0))
    pushed_all(stream, wave(200).tolist())
    saved = stream.state_dict()
    arrays = {**vars(saved["watched"]), "recent": saved["recent"], "newest": saved["newest"]}
    before = {name: np.array(array) for name, array in arrays.items()}
    pushed_all(stream, wave(20).tolist())
    for name, array in arrays.items():
        assert_array_equal(array, before[name], err_msg=name)


def test_a_spike_is_an_alarm_that_explains_itself():
    stream = ForecastStream(forecaster_for(6.0))
    pushed_all(stream, wave(800))
    alarm = stream.push(9.0).alarm
    assert alarm.kind == "spike"
    assert (alarm.value, alarm.readings) == (9.0, 1)
    assert alarm.lower < alarm.expected < alarm.upper < 9.0
    assert "9 where" in str(alarm)
    assert (alarm.number, alarm.since, alarm.since_time, alarm.time) == (800, 800, 800.0, None)
    assert sum(alarm.by.values()) == pytest.approx(1.0)
    assert_array_equal(alarm.recent[-3:, 0], [798, 799, 800])
    assert_array_equal(alarm.recent[-1, 1:5], [9.0, alarm.expected, alarm.lower, alarm.upper])


def test_an_alarm_says_since_when():
    values = 0.3 * np.random.default_rng(7).normal(size=1600)
    values[1500:] += 0.75  # too little for one reading
    stream = ForecastStream(forecaster_for(6.0))
    alarm = next(one for one in stream.push_many(values, 60.0 * np.arange(1600)).alarms if one.number >= 1500)
    assert alarm.readings > 1
    assert abs(alarm.since - 1500) <= 3
    assert alarm.since_time == 60.0 * alarm.since


def test_the_picture_of_an_alarm_shows_what_it_tells():
    stream = ForecastStream(forecaster_for(6.0))
    pushed_all(stream, wave(800))
    alarm = stream.push(9.0).alarm
    above, below = alarm.plot().axes
    lines = {line.get_label(): line.get_ydata() for line in above.lines}
    assert_array_equal(lines["seen"], alarm.recent[:, 1])
    assert_array_equal(lines["expected"], alarm.recent[:, 2])
    assert_array_equal([bar.get_height() for bar in below.patches], alarm.weights)
    assert above.get_title(loc="left") + above.get_title() == alarm.kind


def test_missing_readings_let_time_pass():
    forecaster, values = forecaster_for(6.0), wave(300)
    mask = np.random.default_rng(4).random(300) > 0.2
    mask[[0, -1]] = True
    stream = ForecastStream(forecaster)
    pushed_all(stream, [value if seen else None for value, seen in zip(values, mask, strict=True)])
    learnt = forecaster.learn(forecaster.initial_state(), values, mask=mask)
    assert_allclose(stream.forecast.samples(), forecaster.forecast(learnt).samples(), rtol=1e-9)


def test_silence_is_a_reading_for_its_step_and_nothing_after_it():
    forecaster, values = forecaster_for(6.0), wave(200)
    stream = ForecastStream(forecaster)
    pushed_all(stream, values, np.arange(200.0))
    stream.advance(205.0)
    learnt = forecaster.learn(
        forecaster.initial_state(),
        np.append(values, np.zeros(5)),
        mask=np.append(np.ones(200, bool), np.zeros(5, bool)),
    )
    assert stream.time == 205.0
    # The last reading held from 199 to 200; then five steps of silence.
    assert_allclose(stream.forecast.samples(), forecaster.forecast(learnt).samples(), rtol=1e-9)


@pytest.mark.parametrize("channels", [None, 1])
def test_a_long_gap_is_silence_and_not_the_same_value_all_the_time(channels):
    forecaster = forecaster_for(6.0)
    values = wave(400) if channels is None else wave(400)[:, None]
    times = np.arange(400.0)
    times[300:] += 20 * forecaster.mixer.silence
    pushed, told = (ForecastStream(forecaster, channels) for _ in range(2))
    found = pushed.push_many(values, times)
    told.push_many(values[:300], times[:300])
    told.advance(float(times[300]))
    expected = told.push_many(values[300:], times[300:])  # at the very time that nothing had come until
    assert_array_equal(found.expected[300:], expected.expected)
    assert_array_equal(found.p[300:], expected.p)
    inside = (values[320:] > found.lower[320:]) & (values[320:] < found.upper[320:])
    assert inside.mean() > 0.85


def test_whole_numbers_are_not_rounded_without_a_word():
    stream = ForecastStream(forecaster_for(6.0))
    for push in (lambda: stream.push(2**53 + 1), lambda: stream.push_many(np.array([1, 2**53 + 1]))):
        with pytest.raises(ValueError, match="can only hold rounded"):
            push()
    assert stream.readings == 0


def test_a_time_beyond_all_measure_costs_nothing():
    stream = ForecastStream(forecaster_for(6.0))
    pushed_all(stream, wave(50), np.arange(50.0))
    assert np.isfinite(stream.push(0.5, 1e308).expected)
    with pytest.raises(ValueError, match="is not after"):
        stream.push(0.5, 50.0)


def test_late_readings_are_refused_or_skipped_and_change_nothing():
    refusing, skipping = (ForecastStream(forecaster_for(6.0), late=late) for late in ("refuse", "skip"))
    for stream in (refusing, skipping):
        pushed_all(stream, wave(50), np.arange(50.0))
    expected = refusing.forecast.samples()
    with pytest.raises(ValueError, match=r"time=49.0 is not after 49.0"):
        refusing.push(5.0, 49.0)
    assert skipping.push(5.0, 10.0) is None
    assert skipping.skipped == 1
    for stream in (refusing, skipping):
        assert_array_equal(stream.forecast.samples(), expected)


def test_a_forecast_asked_for_too_late_is_refused():
    stream = ForecastStream(forecaster_for(6.0))
    first, second = stream.push(1.0), stream.push(2.0)
    assert second.forecast.samples().shape == (6,)
    with pytest.raises(RuntimeError, match="moved on"):
        first.forecast  # noqa: B018
