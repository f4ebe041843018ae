"""What outliers, gaps and steps leave behind in a forecast: nothing absurd."""

import numpy as np
import pytest

from hippozoo.ensemble import ForecastStream, forecaster_for

HORIZON, DAY = 24, 24
LEADS = np.arange(HORIZON) + 0.5


def wave(rng, count):
    return 50 + 10 * np.sin(2 * np.pi * np.arange(count) / DAY) + rng.normal(size=count)


def forecast_of(values, horizon=HORIZON, season=DAY):
    """The forecast after these values, NaN being missing."""
    forecaster = forecaster_for(horizon, season=season)
    return forecaster.forecast(forecaster.learn(forecaster.initial_state(), values, mask=np.isfinite(values)))


def widths(forecast, coverage=0.8):
    lower, upper = forecast.band((np.arange(forecast.cells.shape[1]) + 0.5), coverage=coverage)
    return upper - lower


# -- outliers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "mean", "width"),
    [([100], 0.5, 1.3), ([550], 0.5, 1.3), ([580], 1.0, 1.3), ([598], 1.5, 1.7), ([580, 581], 5.0, 3.0)],
)
@pytest.mark.parametrize("typo", [500.0, -1e6])
def test_an_outlier_leaves_little_behind(rng, places, typo, mean, width):
    plain = wave(rng, 600)
    spoilt = plain.copy()
    spoilt[places] = typo
    wanted, found = forecast_of(plain), forecast_of(spoilt)
    assert np.abs(found.samples() - wanted.samples()).max() < mean  # the noise is 1
    for coverage in (0.8, 0.95):
        ratio = widths(found, coverage) / widths(wanted, coverage)
        assert ratio.max() < width
        assert ratio.min() > 1 / width


def test_a_spike_that_comes_every_day_is_no_outlier(rng):
    values = wave(rng, 24 * 8 + HORIZON)
    noon = np.arange(len(values)) % DAY == 12
    values[noon] += 300
    found = forecast_of(values[:-HORIZON]).samples()
    assert np.abs(found - values[-HORIZON:]).max() < 30


def test_a_step_is_no_outlier(rng):
    values = np.where(np.arange(400) < 300, 10.0, 1000.0) + rng.normal(size=400)
    assert forecast_of(values, season=None).samples() == pytest.approx(np.full(HORIZON, 1000.0), abs=60)


@pytest.mark.parametrize("trouble", ["outlier", "outliers", "gap", "both", "at the end"])
def test_one_by_one_in_pieces_and_at_once_are_the_same_after_trouble(rng, trouble):
    values, mask = wave(rng, 260), np.ones(260, bool)
    if trouble in ("outlier", "both"):
        values[150] = 1e6
    if trouble == "outliers":
        values[150:153] = 1e6
    if trouble in ("gap", "both"):
        mask[151:190] = False
    if trouble == "at the end":
        values[259] = 1e6
    forecaster = forecaster_for(HORIZON, season=DAY)
    whole = forecaster.learn(forecaster.initial_state(), values, mask=mask)
    single = pieces = forecaster.initial_state()
    for value, seen in zip(values, mask, strict=True):
        single = forecaster.learn_one(single, float(value) if seen else None)
    for begin, end in ((0, 151), (151, 152), (152, 260)):
        pieces = forecaster.learn(pieces, values[begin:end], mask=mask[begin:end])
    for other in (single, pieces):
        assert np.array_equal(forecaster.forecast(other).samples(), forecaster.forecast(whole).samples())
        assert np.array_equal(widths(forecaster.forecast(other)), widths(forecaster.forecast(whole)))


def test_a_state_does_not_know_what_came_after_it(rng):
    values = wave(rng, 200)
    values[199] = 1e6
    forecaster = forecaster_for(HORIZON, season=DAY)
    before = forecaster.learn(forecaster.initial_state(), values)
    told = forecaster.forecast(before).samples()
    back = forecaster.learn_one(before, 50.0)  # it was an outlier …
    stays = forecaster.learn_one(before, 1e6)  # … or a step, in another life
    assert np.array_equal(forecaster.forecast(before).samples(), told)
    again = forecaster.learn(forecaster.initial_state(), np.append(values, 1e6))
    assert np.array_equal(forecaster.forecast(stays).samples(), forecaster.forecast(again).samples())
    assert np.abs(forecaster.forecast(back).samples() - 50).max() < 20


# -- gaps --------------------------------------------------------------------------------------------------------------


def test_a_missing_value_is_taken_to_be_what_was_forecast(rng):
    forecaster = forecaster_for(HORIZON, season=DAY)
    before = forecaster.learn(forecaster.initial_state(), wave(rng, 300))
    expected = forecaster.forecast(before).samples()
    after = forecaster.learn(before, np.zeros(HORIZON), mask=np.zeros(HORIZON, bool))
    log = after.mixture.cells["value"][0, after.mixture.now - HORIZON : after.mixture.now]
    assert np.array_equal(log, expected)


@pytest.mark.parametrize(("begin", "end"), [(361, 397), (370, 400), (201, 400)])
def test_a_season_goes_on_through_a_gap(rng, begin, end):
    values = wave(rng, 400 + HORIZON)
    given = values[:400].copy()
    given[begin:end] = np.nan
    found = forecast_of(given)
    assert np.abs(found.samples() - values[400:]).mean() < 2.0  # of a wave of 10; the noise alone makes 0.8
    lower, upper = found.band(LEADS, coverage=0.95)
    assert np.mean((values[400:] >= lower) & (values[400:] <= upper)) > 0.75
    assert (upper - lower).max() < 60


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("gap", [2, 10, 23, 24, 40, 100, 3000])
def test_the_first_reading_after_a_gap_is_no_alarm(gap, timed):
    inside = alarms = 0
    seeds = range(8 if gap < 1000 else 2)  # reading by reading, a long gap is slow
    for seed in seeds:
        rng = np.random.default_rng([seed, gap])
        values = np.sin(np.arange(801 + gap) / 20) + 0.05 * rng.normal(size=801 + gap)
        stream = ForecastStream(forecaster_for(HORIZON))
        if timed:
            stream.push_many(values[:800], np.arange(800.0))
            told = stream.push(float(values[-1]), 800.0 + gap)
        else:
            stream.push_many(values[:800])
            for _ in range(gap):
                stream.push(None)
            told = stream.push(float(values[-1]))
        inside += bool(told.lower <= values[-1] <= told.upper)
        alarms += len(told.alarms)
    assert alarms == 0
    assert inside >= 0.75 * len(seeds)


def test_after_an_endless_silence_the_mean_is_expected(rng):
    values = 5 + rng.normal(size=600)
    forecaster = forecaster_for(6)
    state = forecaster.learn(forecaster.initial_state(), np.append(values, 9.0))
    silent = forecaster.learn(state, np.zeros(5000), mask=np.zeros(5000, bool))
    found = forecaster.forecast(silent)
    assert found.samples() == pytest.approx(np.full(6, values.mean()), abs=0.5)
    lower, upper = found.band(0.5, coverage=0.95)
    assert upper - lower > 2 * 1.96  # at least that of the stream itself


# -- bands -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [300, 340, 380])
def test_no_band_is_many_times_as_wide_as_anything_that_came(rng, step):
    values = np.where(np.arange(400) < step, 10, 100) + rng.normal(size=400)
    forecast = forecast_of(values, horizon=50, season=None)
    assert widths(forecast, 0.8).max() < 6 * np.ptp(values)
    assert widths(forecast, 0.95).max() < 8 * np.ptp(values)


@pytest.mark.parametrize("count", [2, 3, 5, 12, 30])
def test_few_samples_give_bands_of_their_own_size(rng, count):
    values = 115 + np.cumsum(rng.normal(size=count))
    for season in (None, DAY):
        found = widths(forecast_of(values, season=season))
        assert (found < 50 * np.ptp(values)).all()
        assert (found > 0).all()


def test_where_nothing_is_known_a_band_is_everything():
    forecaster = forecaster_for(24)
    forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), np.array([3.5])))
    for lead in (0.5, 1.0, 1.2, 24.0):
        assert forecast.band(lead, coverage=0.95) == (-np.inf, np.inf)


def test_counts_are_bounded_beside_a_column_that_is_none(rng):
    both = np.stack([rng.poisson(0.7, size=500), rng.normal(size=500)], axis=1)
    forecaster = forecaster_for(HORIZON)
    forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(2), both))
    lower, _ = forecast.band(LEADS, coverage=0.95)
    assert (lower[0] == 0).all()
    assert (lower[1] < 0).all()
    assert (forecast.mean(LEADS)[0] >= 0).all()
    paths = forecast.paths(20, rng)
    assert (paths[:, 0] >= 0).all()
    assert (paths[:, 1] < 0).any()


def test_a_band_of_rare_counts_holds_0(rng):
    counts = rng.poisson(0.05, size=600).astype(float)
    forecast = forecast_of(counts, season=None)
    lower, upper = forecast.band(LEADS, coverage=0.8)
    assert (lower == 0).all()
    assert (upper == np.floor(upper)).all()


@pytest.mark.parametrize("channels", [1, 2])
def test_several_readings_are_pushed_as_one_by_one_beside_counts(rng, channels):
    values = np.stack([rng.poisson(0.7, size=300), rng.normal(size=300)], axis=1)[:, :channels].astype(float)
    one, many = (ForecastStream(forecaster_for(6), channels=channels) for _ in range(2))
    told = [one.push(row) for row in values]
    pushed = many.push_many(values)
    assert np.array_equal(np.array([one.expected for one in told]), pushed.expected, equal_nan=True)


@pytest.mark.parametrize("season", [None, 2, DAY])
@pytest.mark.parametrize("horizon", [1, 6, 60])
def test_whatever_came_a_band_has_two_ends_in_order(rng, horizon, season):
    for count in (1, 2, 5, 11, 37, 90):
        kinds = (rng.normal(size=count), np.ones(count), 1e8 + np.sin(np.arange(count)), rng.poisson(0.3, size=count))
        for values in kinds:
            given = np.array(values, float)
            given[rng.random(count) < 0.3] = np.nan
            given[0] = values[0]
            given[count // 2] *= 1e6
            forecast = forecast_of(given, horizon, season)
            for coverage in (0.5, 0.95, 0.999):
                lower, upper = forecast.band(np.arange(horizon) + 0.5, coverage=coverage)
                assert (lower <= upper).all()  # which no NaN is
            assert not np.isnan(forecast.paths(3, rng)).any()
