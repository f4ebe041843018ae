"""The back-test: origins at all phases, rivals on the same origins, error bars that know of overlaps, one verdict."""

import numpy as np
import pandas as pd
import pytest

from hippozoo.forecast_command import backtest, forecast_table, summarise, verdicts
from hippozoo.forecast_command.backtest import BackTest, Comparison
from hippozoo.forecast_command.verdict import judge
from hippozoo.zoo.forecasting import Forecast

NAMES = {"last value": "the last value", "season 7": "last week"}


class Flat(Forecast):
    """A forecast of zero, between minus one and one."""

    def __init__(self):
        pass

    def leads(self, count):
        return np.arange(count) + 0.5

    def mean(self, leads):
        return np.zeros((1, len(leads)))

    def band(self, leads, share):
        return -np.ones((1, len(leads))), np.ones((1, len(leads)))


def run_through(test, values):
    seen = 0
    while seen < len(values):
        count = test.steps_until_due(np.isfinite(values[seen:]), seen)
        test.take_in(values[seen : seen + count])
        seen += count
        if seen >= test.due:
            test.issue(Flat(), values[seen - 1], seen, seen)
    return test


@pytest.mark.parametrize("most", [8, 1000])
@pytest.mark.parametrize("horizon", [4, 24])
def test_origins_cover_the_whole_table_and_all_phases(most, horizon, monkeypatch, rng):
    monkeypatch.setattr(backtest, "_ORIGINS", most)
    test = run_through(BackTest(horizon, (24,), stride=horizon, due=3 * horizon), rng.normal(size=(4000, 1)))
    steps = np.array([one["step"] for one in test.done])
    assert len(steps) <= max(most, 16)
    assert steps[0] < 600
    assert steps[-1] > 3300
    phases = np.histogram(steps % 24, bins=4, range=(0, 24))[0]
    assert phases.min() >= 0.4 * phases.mean()


def test_an_early_origin_removes_no_rival(rng):
    test = run_through(BackTest(4, (7, 60, 900), stride=4, due=12), rng.normal(size=(1000, 1)))
    assert "season 60" not in test.done[0]["errors"]
    found = test.compare()
    assert list(found.errors) == ["forecast", "last value", "mean", "drift", "season 7", "season 60", "damped trend"]
    assert {len(one) for one in found.errors.values()} == {len(found.steps)}
    assert found.steps[0] >= 60
    assert found.left_out == {"season 900": found.left_out["season 900"]}
    assert "900 steps were seen before" in found.left_out["season 900"]


def test_bands_are_scored_by_what_came(rng):
    test = run_through(BackTest(4, (), stride=4, due=12, coverages=(0.5,)), rng.uniform(-2, 2, size=(2000, 1)))
    assert abs(test.coverage(0)["50%"] - 0.5) < 0.05


def overlapping(rng, count, horizon, stride, better):
    """Errors of two methods whose forecasts overlap, as those of a random walk do."""
    noise = np.abs(rng.normal(size=count * stride + horizon))
    ahead = np.arange(horizon)
    rival = np.stack([noise[k * stride + ahead] for k in range(count)])[:, :, None]
    ours = np.stack([noise[k * stride + ahead] * (1 - better) for k in range(count)])[:, :, None]
    own = np.abs(rng.normal(size=count * stride + horizon))
    ours += 0.3 * np.stack([own[k * stride + ahead] for k in range(count)])[:, :, None]
    return Comparison(stride * np.arange(count), {"forecast": ours, "last value": rival}, {})


def test_error_bars_hold_where_origins_overlap(rng):
    """The spread over many tables is what a single table says, also where an origin repeats most of the last one."""
    for stride in (1, 4, 20):
        found = [overlapping(rng, 800 // stride, 20, stride, 0.2).better_by("last value", 0, 20) for _ in range(120)]
        better, bars = np.array(found).T
        assert 0.7 < np.sqrt((bars**2).mean()) / better.std() < 1.4


def test_few_stretches_give_no_error_bar():
    errors = {"forecast": np.ones((3, 20, 1)), "last value": np.full((3, 20, 1), 2.0)}
    assert Comparison(np.arange(3), errors, {}).better_by("last value", 0, 20) == (0.5, None)
    verdict = judge(Comparison(np.arange(3), errors, {}), 0, 20, NAMES, {})
    assert verdict.kind == "no better"
    assert "too few origins for an error bar" in verdict.sentence


@pytest.mark.parametrize(
    ("ours", "last", "week", "by", "sentence"),
    [
        (0.69, 1.5, 1.0, {}, "better than the last value and last week by 31 % ± 0"),
        (0.69, 1.0, 1.5, {}, "better than the last value by 31 % ± 0"),
        (1.5, 2.0, 1.0, {}, "worse than repeating last week by 50 % ± 0"),
        (1.0, 2.0, 1.0, {"season 7": 0.8}, "no better than repeating last week, which is what is forecast"),
        (1.0, 2.0, 1.0, {"season 7": 0.2}, "no better than repeating last week: 0 % ± 0"),
        (1.0, 2.0, 0.0, {}, "worse than repeating last week, which makes no error at all"),
        (1.0, 2.0, 1e-15, {"season 7": 0.8}, "worse than repeating last week, which makes no error beyond rounding"),
        (1e-15, 2.0, 2e-15, {}, "exact up to rounding, and so is repeating last week"),
        (0.0, 0.0, 0.0, {"last value": 1.0}, "exact up to rounding, and so is repeating the last value"),
        (np.nan, np.nan, np.nan, {}, "not judged: no value of this column came after a forecast"),
    ],
)
def test_the_verdict_is_one_sentence(ours, last, week, by, sentence):
    errors = {
        name: np.full((12, 4, 1), one) for name, one in (("forecast", ours), ("last value", last), ("season 7", week))
    }
    assert judge(Comparison(4 * np.arange(12), errors, {}), 0, 4, NAMES, by).sentence == sentence


def test_no_origin_no_verdict(tmp_path, rng):
    path = tmp_path / "short.csv"
    path.write_text("value\n" + "\n".join(f"{value:.3f}" for value in rng.normal(size=20)))
    run = forecast_table(path, horizon=8)
    assert judge(run.backtest.compare(), 0, 8, NAMES, {}).kind == "not judged"


def test_what_is_forecast_is_said_only_where_the_errors_are_nearly_equal():
    """A method may rule the mixture in the end, and the forecasts on the way may have been made otherwise."""
    rival, ours = np.full((12, 4, 1), 0.0375), np.full((12, 4, 1), 0.0375)
    ours[:2] = 1.1  # before the season was learnt
    found = judge(
        Comparison(4 * np.arange(12), {"forecast": ours, "season 7": rival}, {}), 0, 4, NAMES, {"season 7": 0.9}
    )
    assert found.kind == "no better"
    assert "which is what is forecast" not in found.sentence
    assert found.sentence.startswith("no better than repeating last week: -472 % ± ")


def test_errors_of_rounding_have_no_percentage(tmp_path):
    path = tmp_path / "wave.csv"
    path.write_text("x\n" + "\n".join(str(value) for value in np.sin(np.arange(400) * 2 * np.pi / 24)))
    found = verdicts(forecast_table(path))[0]
    assert found.sentence == "worse than repeating the last 24 steps, which makes no error beyond rounding"
    # Beside a large level the rounding of a constant is larger than any of its changes.
    errors = {name: np.full((12, 4, 1), 3e-11) for name in ("forecast", "last value")}
    found = judge(Comparison(4 * np.arange(12), errors, {}, np.array([1e6])), 0, 4, NAMES, {})
    assert found.sentence == "exact up to rounding, and so is repeating the last value"


def test_a_column_is_judged_from_its_first_value_on(tmp_path, rng):
    other = rng.normal(size=400)
    for horizon in (1, 2, 5):
        late = pd.DataFrame({"other": other, "late": np.where(np.arange(400) == 399, 7.5, np.nan)})
        late.to_csv(tmp_path / "late.csv", index=False)
        run = forecast_table(tmp_path / "late.csv", horizon=horizon)
        assert verdicts(run)[1].sentence == "not judged: no value of this column came after a forecast"
        assert set(run.backtest.coverage(1).values()) == {None}
    half = pd.DataFrame({"other": other, "late": np.where(np.arange(400) >= 200, 1000 + other, np.nan)})
    half.to_csv(tmp_path / "half.csv", index=False)
    errors = summarise(forecast_table(tmp_path / "half.csv", horizon=5))["mean_absolute_error"]
    assert errors["late"]["forecast"] < 3  # and not hundreds, from forecasts of zero before the column began
    assert errors["late"]["last value"] < 3


def test_error_bars_count_only_the_origins_that_a_column_has():
    errors = {"forecast": np.full((40, 2, 1), np.nan), "last value": np.full((40, 2, 1), np.nan)}
    errors["forecast"][38:], errors["last value"][38:] = 1.0, 2.0
    assert Comparison(2 * np.arange(40), errors, {}).better_by("last value", 0, 2) == (0.5, None)
