"""The command on short tables and on tables with a long gap: bands say when they are validated, gaps cost nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from forecast_files import forecast_table
from hippozoo.apps.cli import main
from hippozoo.apps.forecast.backtest import BackTest
from hippozoo.tables import TableError


@pytest.fixture
def wave(rng):
    return 100 + 20 * np.sin(np.arange(1440) * 2 * np.pi / 24) + 2 * rng.normal(size=1440)


def table(folder, values):
    path = folder / "table.csv"
    pd.DataFrame({"load": values}).to_csv(path, index=False)
    return path


def test_the_command_says_how_many_rows_are_missing_for_validated_bands(wave, tmp_path, capsys):
    found = []
    for rows in (40, 43, 44):
        with pytest.raises(SystemExit):
            main(["forecast", str(table(tmp_path, wave[:rows])), "--horizon", "12", "--out", str(tmp_path), "--json"])
        captured = capsys.readouterr()
        found.append(json.loads(captured.out)["rows_until_validated"])
        told = "not validated yet" in captured.err
        assert told == ("not validated yet" in (tmp_path / "index.html").read_text()) == bool(found[-1])
    assert found == [4, 1, 0]


def test_a_short_table_is_told_which_horizon_it_can_learn_and_validate(wave, tmp_path):
    with pytest.raises(TableError, match=r"at most 59 \(it is judged up to 15, and bands are validated up to 28\), or"):
        forecast_table(table(tmp_path, wave[:60]), horizon=96)
    assert not forecast_table(table(tmp_path, wave[:60]), horizon=28).summary["rows_until_validated"]
    assert forecast_table(table(tmp_path, wave[:60]), horizon=29).summary["rows_until_validated"] > 0
    with pytest.raises(
        TableError, match="at least 97 rows for a horizon of 96, 384 to have it judged, 128 for validated"
    ):
        forecast_table(table(tmp_path, wave[:3]), horizon=96)


@pytest.mark.parametrize("year", [2022, 1970])
def test_a_row_of_long_ago_leaves_the_back_test_as_it_is(wave, tmp_path, year):
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=1440, freq="h"), "load": wave})
    stray = pd.DataFrame({"when": pd.date_range(f"{year}-03-12", periods=1, freq="h"), "load": [1.0]})
    runs = []
    for one in (frame, pd.concat([stray, frame])):
        one.to_csv(tmp_path / "rows.csv", index=False)
        runs.append(forecast_table(tmp_path / "rows.csv", ["load"], "when", horizon=24, season=24))
    alone, after_gap = (run.summary for run in runs)
    assert_allclose(runs[1].forecast.samples(), runs[0].forecast.samples(), rtol=0.01)  # the mean knows the stray
    assert abs(after_gap["origins"] - alone["origins"]) <= 1
    errors = [one["mean_absolute_error"]["load"]["forecast"] for one in (alone, after_gap)]
    assert_allclose(errors[1], errors[0], rtol=0.1)  # origins are one hour earlier


def test_no_forecast_of_the_back_test_is_made_inside_a_gap():
    test, known = BackTest.begin(4, (), (), channels=1), np.ones((60, 1), bool)
    known[10:40] = False
    assert test.steps_until_bands(known) == 42
    assert test.steps_until_bands(known[:35]) == 35


@pytest.mark.parametrize("rows", [20, 400, 401])
def test_a_constant_column_waits_for_no_validation(rows, rng, tmp_path):
    path = tmp_path / "constant.csv"
    pd.DataFrame({"flat": np.full(rows, 5.0)}).to_csv(path, index=False)
    run = forecast_table(path, horizon=4)
    assert not run.rows_until_validated
    assert not any("validated" in note for note in run.notes)
    # A column of one value is no constant yet, and the note is about it alone.
    one = np.where(np.arange(rows) == rows - 1, 5.0, np.nan)
    pd.DataFrame({"flat": 5.0, "one": one, "two": one}).to_csv(path, index=False)
    (note,) = [note for note in forecast_table(path, horizon=4).notes if "validated" in note]
    assert note == "bands of 'one' and 'two' are not validated yet: 35 more rows are needed; until then they are wide"
    pd.DataFrame({"one": one, **{f"c{c}": one + c for c in range(8)}, "flat": 5.0}).to_csv(path, index=False)
    (note,) = [note for note in forecast_table(path, horizon=4).notes if "validated" in note]
    assert note.startswith("bands of 'one', 'c0', 'c1', 'c2', 'c3' and 4 more columns are not validated yet")
