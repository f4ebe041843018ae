"""The back-test: every origin, rivals on the same origins, error bars that know of overlaps, verdicts by column."""

import numpy as np
import pandas as pd
import pytest

from forecast_files import forecast_table
from hippozoo.apps.forecast.backtest import BackTest
from hippozoo.apps.forecast.comparison import Comparison, judge, pool
from hippozoo.apps.forecast.run import forecast_columns
from hippozoo.ensemble import forecaster_for

NAMES = {"last value": "the last value", "season 7": "last week"}


def back_test(values, horizon, seasons=(), pieces=1):
    forecaster = forecaster_for(float(horizon), season=seasons or None)
    test = BackTest.begin(horizon, forecaster.mixer.names, seasons, values.shape[1])
    state = forecaster.initial_state(values.shape[1])
    for part in np.array_split(values, pieces):
        begin, started = 0, int(state.time)
        for later, rolled in forecaster.roll(state, part, np.isfinite(part)):
            state, end = later, int(later.time) - started
            test.take_in(part[begin:end], rolled)
            begin = end
    return test


def test_errors_are_those_of_the_definition(rng):
    """Every origin from three horizons on, each method, by hand; in pieces or in one go."""
    values = np.sin(np.arange(150) * 2 * np.pi / 7)[:, None] + rng.normal(size=(150, 1)).cumsum(axis=0)
    values[90:93] = np.nan
    test, again = back_test(values, 5, (7,)), back_test(values, 5, (7,), pieces=11)
    series, origins = values[:, 0], [o for o in range(15, 146) if np.isfinite(values[o - 1, 0])]
    expected = {"last value": [], "drift": [], "season 7": []}
    for o in origins:
        ahead, past = np.arange(5), series[:o]
        truth = series[o : o + 5]
        line = past[-1] + (past[-1] - past[0]) / (o - 1) * (ahead + 1)
        season = past[o - 7 + ahead % 7]
        if np.isnan(season).any():
            season = np.full(5, np.nan)  # a gap is filled by what was expected of it
        for name, made in (("last value", past[-1]), ("drift", line), ("season 7", season)):
            expected[name].append(np.abs(made - truth))
    found = test.compare(0)
    assert found.origins == len(origins)
    assert found.counts.sum() == np.isfinite(expected["last value"]).sum()
    for name in ("last value", "drift"):
        np.testing.assert_allclose(found.errors[name].sum(), np.nansum(expected[name]), rtol=1e-6)
        np.testing.assert_allclose(found.by_lead[name], np.nanmean(expected[name], axis=0), rtol=1e-6)
    for name in found.errors:
        np.testing.assert_allclose(again.compare(0).errors[name].sum(), found.errors[name].sum())
        np.testing.assert_allclose(again.compare(0).by_lead[name], found.by_lead[name])


def test_long_tables_merge_stretches_and_lose_no_error(rng):
    values = rng.normal(size=(1500, 2)).cumsum(axis=0)
    test = back_test(values, 2)
    assert test.width == 16
    found = test.compare(1)
    by_hand = np.abs(values[6:1498, 1] - values[5:1497, 1]), np.abs(values[7:1499, 1] - values[5:1497, 1])
    np.testing.assert_allclose(found.by_lead["last value"], np.mean(by_hand, axis=1), rtol=2e-3)
    assert found.origins == 1500 - 2 - 6 + 1


def test_a_season_is_compared_once_it_was_seen_and_left_out_where_it_is_too_long(rng):
    found = back_test(rng.normal(size=(1000, 1)), 4, (7, 60, 900)).compare(0)
    assert list(found.errors) == ["forecast", "last value", "mean", "drift", "damped trend", "season 7", "season 60"]
    assert found.origins == 1000 - 4 - 60
    assert "900 steps were seen before" in found.left_out["season 900"]


def test_bands_are_scored_by_what_came(tmp_path, rng):
    path = tmp_path / "noise.csv"
    pd.DataFrame({"x": rng.uniform(-2, 2, size=2000)}).to_csv(path, index=False)
    run = forecast_table(path, horizon=4, coverages=[0.5], season=1)
    (group,) = run.learner.groups
    assert abs(group.test.coverage(0)["50%"] - 0.5) < 0.06
    steps = np.array([one.step for one in group.test.bands])
    assert 32 <= len(steps) <= 64
    assert steps[-1] > 1900
    assert len({step % 24 for step in steps.tolist()}) >= 16


def overlapping(rng, count, horizon, better):
    """Errors of two methods from every origin, each cell judged by all forecasts that reach it."""
    noise, own = np.abs(rng.normal(size=(2, count + horizon)))
    windows = [np.convolve(one, np.ones(horizon), "valid")[:count] for one in (noise, own)]
    return Comparison(
        {"forecast": (1 - better) * windows[0] + 0.3 * windows[1], "last value": windows[0]},
        np.full(count, float(horizon)),
        {},
        width=1,
        horizon=horizon,
    )


@pytest.mark.parametrize(("count", "horizon"), [(60, 8), (200, 20), (800, 20), (300, 1)])
def test_error_bars_hold_where_origins_overlap(rng, count, horizon):
    """The spread over many tables is what a single table says."""
    found = [overlapping(rng, count, horizon, 0.2).better_by("last value")[:2] for _ in range(400)]
    better, bars = np.array(found).T
    assert 0.8 < np.sqrt((bars**2).mean()) / better.std() < 1.25


def one(errors, width=4, horizon=4, count=12, **more):
    shaped = {name: np.broadcast_to(np.asarray(error, float), count) for name, error in errors.items()}
    return Comparison(shaped, np.ones(count), {}, width, horizon, **more)


def test_few_stretches_give_no_error_bar():
    found = one({"forecast": 1.0, "last value": 2.0}, width=1, horizon=20, count=23)
    assert found.better_by("last value")[:2] == (0.5, None)
    assert judge(found, NAMES, {}).kind == "no better"
    assert "too few origins for an error bar" in judge(found, NAMES, {}).sentence


@pytest.mark.parametrize(
    ("ours", "last", "week", "by", "kind", "said"),
    [
        (0.69, 1.5, 1.0, {}, "better", ["last value and last week", "31 %"]),
        (0.69, 1.0, 1.5, {}, "better", ["the last value", "31 %"]),
        (1.5, 2.0, 1.0, {}, "worse", ["repeating last week", "50 %"]),
        (1.0, 2.0, 1.0, {"season 7": 0.8}, "no better", ["last week", "what is forecast"]),
        (1.0, 2.0, 1.0, {"season 7": 0.2}, "no better", ["last week", "equal"]),
        (1.0, 2.0, 0.0, {}, "worse", ["no error at all"]),
        (1.0, 2.0, 1e-15, {"season 7": 0.8}, "worse", ["no error beyond rounding"]),
        (1e-15, 2.0, 2e-15, {}, "no better", ["exact up to rounding", "last week"]),
        (0.0, 0.0, 0.0, {"last value": 1.0}, "no better", ["exact up to rounding", "last value"]),
    ],
)
def test_the_verdict_is_one_sentence(ours, last, week, by, kind, said):
    found = judge(one({"forecast": ours, "last value": last, "season 7": week}), NAMES, by)
    assert found.kind == kind
    assert all(part in found.sentence for part in said)


def test_a_percentage_says_of_what(rng):
    noise = 1 + 2.5 * np.abs(rng.normal(size=12)) * (np.arange(12) % 3 == 0)
    noise /= noise.mean()
    worse = judge(one({"forecast": 1.2 * noise, "last value": 1.0}), NAMES, {})
    assert "error larger by" in worse.sentence
    assert "-" not in worse.sentence
    assert "error smaller by" in judge(one({"forecast": 0.9 * noise, "last value": 1.0}), NAMES, {}).sentence


def test_what_is_forecast_is_said_only_where_the_errors_are_nearly_equal():
    """A method may rule the mixture in the end, and the forecasts on the way may have been made otherwise."""
    ours = np.where(np.arange(12) < 2, 1.1, 0.0375)  # before the season was learnt
    found = judge(one({"forecast": ours, "season 7": 0.0375}), NAMES, {"season 7": 0.9})
    assert found.kind == "no better"
    assert "what is forecast" not in found.sentence
    assert "larger by 472 %" in found.sentence


def test_errors_of_rounding_have_no_percentage(tmp_path):
    path = tmp_path / "wave.csv"
    path.write_text("x\n" + "\n".join(str(value) for value in np.sin(np.arange(400) * 2 * np.pi / 24)))
    found = forecast_table(path).verdicts[0]
    assert (found.kind, found.rival) == ("worse", "season 24")
    assert "rounding" in found.sentence
    # Beside a large level the rounding of a constant is larger than any of its changes.
    found = judge(one({"forecast": 3e-11, "last value": 3e-11}, largest=1e6), NAMES, {})
    assert "exact up to rounding" in found.sentence


def test_a_column_is_judged_from_its_first_value_on(tmp_path, rng):
    other = rng.normal(size=400)
    for horizon in (1, 2, 5):
        late = pd.DataFrame({"other": other, "late": np.where(np.arange(400) == 399, 7.5, np.nan)})
        late.to_csv(tmp_path / "late.csv", index=False)
        run = forecast_table(tmp_path / "late.csv", horizon=horizon)
        assert run.verdicts[1].kind == "not judged"
        assert set(run.summary["coverage"]["late"].values()) <= {None}
    half = pd.DataFrame({"other": other, "late": np.where(np.arange(400) >= 200, 1000 + other, np.nan)})
    half.to_csv(tmp_path / "half.csv", index=False)
    errors = forecast_table(tmp_path / "half.csv", horizon=5).summary["mean_absolute_error"]
    assert errors["late"]["forecast"] < 3  # and not hundreds, from forecasts of zero before the column began
    assert errors["late"]["last value"] < 3


def test_pooled_columns_count_alike_in_any_unit_and_order(rng):
    columns = [one({"forecast": 10.0**n * rng.uniform(0.7, 0.9, 12), "last value": 10.0**n}) for n in range(6)]
    pooled = judge(pool(columns), NAMES, {})
    assert pooled.kind == "better"
    assert 0.15 < pooled.better_by < 0.25
    assert pooled.sentence == judge(pool(columns[::-1]), NAMES, {}).sentence
    # One column that is far better than the others says little about all of them.
    columns[0] = one({"forecast": 0.0, "last value": 1.0})
    assert pool(columns).better_by("last value").deviation > 3 * pooled.standard_error


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Columns with other seasons, gaps, beginnings and sizes."""
    rng, hour = np.random.default_rng(1), np.arange(500)
    frame = pd.DataFrame({"day": np.sin(hour * 2 * np.pi / 24) + 0.2 * rng.normal(size=500)})
    frame["walk"] = 1000 + rng.normal(size=500).cumsum()
    frame["week"] = 5 * np.sin(hour * 2 * np.pi / 168) + rng.normal(size=500)
    frame.loc[200:230, "week"] = np.nan
    frame["late"] = np.where(hour > 180, frame["day"] * 7 + rng.normal(size=500), np.nan)
    frame["also late"] = np.where(hour > 180, frame["walk"] / 7, np.nan)
    folder = tmp_path_factory.mktemp("mixed")
    return folder, frame


def runs_of(folder, frame, name, **more):
    frame.to_csv(folder / f"{name}.csv", index=False)
    return forecast_table(folder / f"{name}.csv", horizon=12, **more)


def test_columns_change_nothing_about_each_other(mixed):
    """Alone, with others, and in the other order: the same forecast, bit for bit, and the same sentence."""
    folder, frame = mixed
    whole = runs_of(folder, frame, "whole")
    back = runs_of(folder, frame[frame.columns[::-1]], "back")
    assert whole.pooled.sentence == back.pooled.sentence
    for c, name in enumerate(frame.columns):
        # A table of one late column begins with it: blank rows at the beginning are no steps.
        alone = runs_of(folder, frame[[name]], "alone")
        for found, place in ((back, len(frame.columns) - 1 - c), (alone, 0)):
            same = found.forecast.samples()[place] == whole.forecast.samples()[c]
            assert same.all(), name
            assert found.verdicts[place] == whole.verdicts[c]
            assert found.summary["seasons"][name] == whole.summary["seasons"][name]


def test_the_simple_forecast_is_given_where_it_is_better(tmp_path, rng):
    """A wave without noise: the last day is exact, and the forecast cannot be."""
    path = tmp_path / "wave.csv"
    wave = np.sin(np.arange(400) * 2 * np.pi / 24)
    pd.DataFrame({"wave": wave, "load": wave + rng.normal(size=400)}).to_csv(path, index=False)
    found = forecast_table(path, horizon=6, season=24)
    np.testing.assert_allclose(found.simple[0], wave[400 - 24 : 400 - 18], atol=1e-9)
    columns = forecast_columns(found)
    assert np.isnan(columns["simple"][6:]).all() == (1 not in found.simple)


def test_mean_bands_and_shares_move_as_far_as_a_forecast_leans(tmp_path, rng, monkeypatch):
    path = tmp_path / "wave.csv"
    wave = 5 + np.sin(np.arange(400) * 2 * np.pi / 24) + 0.5 * rng.normal(size=400)
    pd.DataFrame({"wave": wave, "walk": rng.normal(size=400).cumsum()}).to_csv(path, index=False)
    # A random walk that was given a season: nothing is better than its last value.
    assert forecast_table(path, horizon=6, season=24).forecast.leans[1].rival == "last value"
    monkeypatch.setattr(Comparison, "lean", lambda self: ("season 24", 0.0))
    plain = forecast_table(path, horizon=6, season=24).forecast
    monkeypatch.setattr(Comparison, "lean", lambda self: ("season 24", 0.6 if self.largest < 9 else 0.0))
    leant = forecast_table(path, horizon=6, season=24)
    assert set(leant.forecast.leans) == {0}
    moved = 0.6 * (wave[376:382] - plain.samples()[0])
    np.testing.assert_allclose(leant.forecast.samples()[0] - plain.samples()[0], moved)
    for mine, theirs in zip(leant.forecast.band(0.8), plain.band(0.8), strict=True):
        np.testing.assert_allclose(mine[0] - theirs[0], moved)
        np.testing.assert_array_equal(mine[1], theirs[1])
    assert leant.forecast.by[0]["season 24"] >= 0.6
    assert sum(leant.forecast.by[0].values()) == pytest.approx(1.0)


def test_leaning_needs_the_later_half_too(rng):
    noise = rng.uniform(0.9, 1.1, size=(2, 48))
    learnt = np.where(np.arange(48) < 24, 3.0, 0.95)  # much worse while it learnt, better since
    for ours, weight in ((learnt, 0.0), (np.full(48, 2.0), 1.0), (np.ones(48), 0.0)):
        found = one({"forecast": ours * noise[0], "mean": noise[1]}, count=48).lean()
        assert found == ("mean", weight)
    few = one({"forecast": 2.0, "mean": 1.0}, width=1, horizon=20, count=23)
    assert few.lean()[1] == 0.0  # no standard error, no leaning
