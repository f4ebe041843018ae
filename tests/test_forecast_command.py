"""The command `hippozoo forecast`: tables in, forecasts with bands and an honest back-test out."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from hippozoo.cli import main
from hippozoo.forecast_command import forecast_table, summarise
from hippozoo.forecast_command.season import find_season


@pytest.fixture
def wave(rng):
    time = np.arange(2000)
    return 10 + np.sin(time * 2 * np.pi / 24) + 0.1 * rng.normal(size=2000)


def write(path, frame):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def hourly(count):
    return pd.date_range("2024-01-01", periods=count, freq="h")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_same_table_gives_the_same_forecast_in_either_format(wave, tmp_path, ending):
    path = write(tmp_path / f"wave.{ending}", pd.DataFrame({"when": hourly(2000), "load": wave}))
    run = forecast_table(path, ["load"], "when", horizon=24)
    truth = 10 + np.sin(np.arange(2000, 2024) * 2 * np.pi / 24)
    assert_allclose(run.forecast.samples()[0], truth, atol=0.15)
    assert run.season == 24
    assert run.step == 3600.0
    assert run.missing == run.gaps == 0


def test_a_file_read_in_chunks_gives_what_the_whole_file_gives(wave, tmp_path):
    frame = pd.DataFrame({"when": hourly(2000), "load": wave}).drop(index=range(700, 730))
    path = write(tmp_path / "wave.csv", frame)
    whole = forecast_table(path, time="when", horizon=24, season=24)
    pieces = forecast_table(path, time="when", horizon=24, season=24, chunk_rows=170)
    assert_allclose(pieces.forecast.samples(), whole.forecast.samples(), rtol=1e-8)
    assert pieces.steps == whole.steps == 2000
    assert pieces.gaps == whole.gaps == 1
    assert pieces.missing == whole.missing == 30
    assert whole.first_gap == "row 701"
    assert_allclose(
        summarise(pieces)["mean_absolute_error"]["forecast"], summarise(whole)["mean_absolute_error"]["forecast"]
    )


def test_uneven_rows_are_averaged_on_the_steps_asked_for(rng, tmp_path):
    times = np.sort(rng.uniform(0, 1000, size=6000))
    path = write(tmp_path / "uneven.csv", pd.DataFrame({"t": times, "y": np.sin(times / 5)}))
    run = forecast_table(path, time="t", horizon=10, every=1.0)
    assert abs(run.steps - 1000) <= 1
    middles = np.floor(times[0]) + np.arange(run.steps, run.steps + 10) + 0.5
    assert_allclose(run.forecast.samples()[0], np.sin(middles / 5), atol=0.25)


def test_months_are_even_steps(tmp_path):
    months = pd.date_range("1990-01-01", periods=240, freq="MS")
    path = write(tmp_path / "months.csv", pd.DataFrame({"month": months, "y": np.arange(240.0)}))
    run = forecast_table(path, time="month", horizon=6)
    assert (run.steps, run.gaps) == (240, 0)


def test_each_forecast_of_the_back_test_knew_only_what_came_before_it(wave, tmp_path):
    changed = wave.copy()
    changed[1500:] += 100
    runs = [
        forecast_table(write(tmp_path / f"{n}.csv", pd.DataFrame({"y": y})), horizon=24, season=24)
        for n, y in enumerate((wave, changed))
    ]
    before = [np.stack([one["forecast"] for one in run.backtest.done if one["step"] <= 1500]) for run in runs]
    assert len(before[0]) > 10
    assert_allclose(before[0], before[1])


def test_the_back_test_scores_against_what_came(wave, tmp_path):
    run = forecast_table(write(tmp_path / "wave.csv", pd.DataFrame({"y": wave})), horizon=24, season=24)
    for one in run.backtest.done:
        assert_allclose(one["truth"][:, 0], wave[one["step"] : one["step"] + 24])
        assert_allclose(one["persistence"][:, 0], wave[one["step"] - 1])
        assert_allclose(one["seasonal-naive"][:, 0], wave[one["step"] - 24 : one["step"]])
    errors = summarise(run)["mean_absolute_error"]
    assert errors["forecast"] < errors["seasonal-naive"] < errors["persistence"]
    coverage = summarise(run)["coverage"]
    assert abs(coverage["80%"] - 0.8) < 0.1  # early bands are wide: they hold the errors of the first maps


def test_a_long_table_keeps_a_bounded_back_test(wave, tmp_path):
    run = forecast_table(write(tmp_path / "wave.csv", pd.DataFrame({"y": np.tile(wave, 3)})), horizon=8, season=24)
    assert 50 < len(run.backtest.done) <= 128
    steps = [one["step"] for one in run.backtest.done]
    assert steps[-1] > 5900  # to the end, not only the beginning


def test_the_command_writes_a_table_and_a_page(wave, tmp_path, capsys):
    path = write(tmp_path / "wave.csv", pd.DataFrame({"when": hourly(2000), "load": wave, "name": "x"}))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--time", "when", "--horizon", "24", "--out", str(tmp_path / "out"), "--json"])
    assert exit_code.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["season"] == 24
    assert list(found["chosen"]) == ["load"]  # the column of text is left out
    with (tmp_path / "out" / "forecast.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert rows[0]["time"] == "2024-03-24 08:00:00"
    low, mean, high = (float(rows[0][name]) for name in ("lower_95", "mean", "upper_95"))
    assert low < mean < high
    page = (tmp_path / "out" / "index.html").read_text()
    assert "seasonal-naive" in page
    assert (tmp_path / "out" / "column-1.svg").stat().st_size > 1000


def test_a_season_is_found_and_noise_has_none(rng):
    time = np.arange(3000)
    drifting = np.cumsum(rng.normal(size=3000)) + 8 * np.sin(time * 2 * np.pi / 7)
    assert find_season(drifting[:, None]) == 7
    assert find_season(rng.normal(size=(3000, 1))) is None
    assert find_season((time * 0.1)[:, None]) is None
