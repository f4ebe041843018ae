"""The command `hippozoo forecast`: tables in, forecasts with bands and an honest back-test out."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from forecast_files import forecast_table
from hippozoo.apps.cli import main
from hippozoo.apps.forecast.files import write_csv
from hippozoo.tables import TableError


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
    assert run.seasons == (24,)
    assert run.rival_names["season 24"] == "yesterday"
    assert run.learner.grid.step == 3600.0
    assert run.learner.missing == run.learner.grid.gaps == 0


def test_a_file_read_in_chunks_gives_what_the_whole_file_gives(wave, tmp_path):
    frame = pd.DataFrame({"when": hourly(2000), "load": wave}).drop(index=range(700, 730))
    path = write(tmp_path / "wave.csv", frame)
    whole = forecast_table(path, time="when", horizon=24, season=24)
    pieces = forecast_table(path, time="when", horizon=24, season=24, chunk_rows=170)
    assert_allclose(pieces.forecast.samples(), whole.forecast.samples(), rtol=1e-8)
    assert pieces.steps == whole.steps == 2000
    assert pieces.learner.grid.gaps == whole.learner.grid.gaps == 1
    assert pieces.learner.missing == whole.learner.missing == 30
    assert whole.learner.grid.first_gap == "row 701"
    assert_allclose(
        pieces.summary["mean_absolute_error"]["load"]["forecast"],
        whole.summary["mean_absolute_error"]["load"]["forecast"],
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
    assert (run.steps, run.learner.grid.gaps) == (240, 0)


def test_each_forecast_of_the_back_test_knew_only_what_came_before_it(wave, tmp_path):
    changed = wave.copy()
    changed[1500:] += 100
    (one,), (other,) = (
        forecast_table(write(tmp_path / f"{n}.csv", pd.DataFrame({"y": y})), horizon=24, season=24).learner.groups
        for n, y in enumerate((wave, changed))
    )
    before = (1500 - 24) // one.test.width
    assert before > 30
    assert_allclose(one.test.sums[:, :, :before], other.test.sums[:, :, :before])
    assert one.test.sums[:, :, before + 2 :].sum() != other.test.sums[:, :, before + 2 :].sum()


def test_the_best_methods_are_found_by_the_back_test(wave, tmp_path):
    run = forecast_table(write(tmp_path / "wave.csv", pd.DataFrame({"y": wave})), horizon=24, season=24)
    errors = run.summary["mean_absolute_error"]["y"]
    assert errors["forecast"] < errors["season 24"] < errors["last value"]
    assert run.summary["origins"] == 2000 - 24 - 72 + 1
    coverage = run.summary["coverage"]["y"]
    assert abs(coverage["80%"] - 0.8) < 0.1  # early bands are wide: they hold the errors of the first maps


def test_the_command_writes_a_table_and_a_page(wave, tmp_path, capsys):
    path = write(tmp_path / "wave.csv", pd.DataFrame({"when": hourly(2000), "load": wave, "name": "x"}))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--time", "when", "--horizon", "24", "--out", str(tmp_path / "out"), "--json"])
    assert exit_code.value.code == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["seasons"] == {"load": [24]}
    assert sum(found["by"]["load"].values()) > 0.9
    assert found["verdict"]["load"]["sentence"].startswith("better than the last value and yesterday by ")
    assert found["left_out"] == {"name": "'x' in row 1 is not a number"}
    assert "left out: 'name' ('x' in row 1 is not a number)" in captured.err
    with (tmp_path / "out" / "forecast.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert rows[0]["time"] == "2024-03-24 08:00:00"
    low, mean, high = (float(rows[0][name]) for name in ("lower_95", "mean", "upper_95"))
    assert low < mean < high
    page = (tmp_path / "out" / "index.html").read_text()
    assert found["verdict"]["load"]["sentence"] in page
    assert "Left out: &#x27;name&#x27;" in page


@pytest.mark.parametrize(
    "times",
    [
        hourly(83),
        pd.date_range("2024-01-01", periods=83, freq="100ms"),
        pd.date_range("2024-01-01", periods=83, freq="h", tz="Asia/Kolkata"),
        pd.date_range("1990-01-01", periods=83, freq="MS"),
        pd.date_range("1990-01-01", periods=83, freq="ME"),
        pd.date_range("1990-01-15 06:00", periods=83, freq="QS") + pd.Timedelta("14D"),
        pd.date_range("1930-06-30", periods=83, freq="YE-JUN"),
        pd.bdate_range("2024-01-04", periods=83),
        # Rows of Thursday, after which comes Sunday: other countries have other weekends.
        pd.bdate_range("2024-01-07 12:00", periods=83, freq="C", weekmask="Sun Mon Tue Wed Thu"),
        pd.bdate_range("2024-01-04 17:30", periods=83, tz="Europe/Berlin"),  # the clock is put forward on the way
        # More than two years of months are missing, and 31 days are too long for them.
        pd.date_range("1990-01-01", periods=183, freq="MS").delete(slice(10, 110)),
        1_700_000_000_000 + 60_000 * np.arange(83),
        np.round(0.1 * np.arange(83), 1),
    ],
    ids=[
        "hours",
        "tenths-of-seconds",
        "zone",
        "months",
        "month-ends",
        "quarters",
        "years",
        "business-days",
        "sunday-to-thursday",
        "business-days-zone",
        "gap",
        "unix-milliseconds",
        "decimals",
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_times_of_a_forecast_are_those_of_the_rows_to_come(times, ending, tmp_path):
    path = write(tmp_path / f"table.{ending}", pd.DataFrame({"when": times[:80], "y": np.sin(np.arange(80))}))
    run = forecast_table(path, time="when", horizon=3)
    if isinstance(times, np.ndarray) and times[0] > 1e12:
        assert [pd.Timestamp(time) for time in run.times] == pd.to_datetime(times[80:], unit="ms").tolist()
    elif isinstance(times, np.ndarray):
        assert [float(time) for time in run.times] == times[80:].tolist()
    else:
        assert [pd.Timestamp(time) for time in run.times] == times[80:].tolist()
    assert (run.steps, run.learner.grid.gaps) in ((80, 0), (180, 1))


@pytest.mark.parametrize(("every", "first"), [("7200", "2024-01-05 00:00:00"), ("3100", "2024-01-04 23:35:00")])
def test_steps_of_another_length_count_from_the_first_row(every, first, tmp_path):
    path = write(tmp_path / "hours.csv", pd.DataFrame({"when": hourly(96), "y": np.sin(np.arange(96))}))
    with pytest.raises(SystemExit):
        main(["forecast", str(path), "--time", "when", "--horizon", "2", "--every", every, "--out", str(tmp_path)])
    with (tmp_path / "forecast.csv").open() as file:
        times = [row["time"] for row in csv.DictReader(file)]
    assert times[0] == first
    assert pd.Timestamp(times[1]) - pd.Timestamp(first) == pd.Timedelta(f"{every}s")


def test_tenths_of_seconds_share_steps_of_two(tmp_path):
    times = pd.date_range("2024-01-01", periods=600, freq="100ms")
    path = write(tmp_path / "tenths.csv", pd.DataFrame({"when": times, "y": np.arange(600.0)}))
    run = forecast_table(path, time="when", horizon=3, every=0.2)
    assert run.steps == 300
    assert_allclose(np.diff(run.recent[:, 0]), 2.0)


def test_the_file_holds_every_digit_of_the_forecast(wave, tmp_path):
    run = forecast_table(write(tmp_path / "wave.csv", pd.DataFrame({"y": 1e7 + wave[:300]})), horizon=6)
    write_csv(run, tmp_path / "forecast.csv")
    with (tmp_path / "forecast.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows] == run.forecast.samples()[0].tolist()
    lower, _ = run.forecast.band(0.95)
    assert [float(row["lower_95"]) for row in rows] == lower[0].tolist()


def test_errors_are_told_by_column_in_its_own_unit(wave, tmp_path):
    frame = pd.DataFrame({"watt": 1000 * wave[:400], "kilowatt": wave[:400]})
    errors = forecast_table(write(tmp_path / "two.csv", frame), horizon=6).summary["mean_absolute_error"]
    for method, error in errors["kilowatt"].items():
        assert_allclose(errors["watt"][method], 1000 * error, rtol=1e-6)


def test_figures_that_nobody_can_know_are_null(rng, tmp_path, capsys):
    values = np.where(np.arange(300) < 30, rng.normal(size=300), np.nan)
    path = write(tmp_path / "dead.csv", pd.DataFrame({"a": values, "b": 1.0}))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--horizon", "12", "--out", str(tmp_path), "--json"])
    assert exit_code.value.code == 0

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["mean_absolute_error"]["a"] == {}
    assert set(found["coverage"]["a"].values()) <= {None}


def test_a_table_that_is_too_short_is_told_what_would_do(tmp_path):
    path = write(tmp_path / "short.csv", pd.DataFrame({"y": np.arange(10.0) % 3}))
    with pytest.raises(
        TableError,
        match=r"too few to learn a horizon of 10; pass a --horizon of at most 9 \(it is judged up to 2\), or more rows",
    ):
        forecast_table(path, horizon=10)
    assert forecast_table(path, horizon=9).forecast.samples().shape == (1, 9)
    assert [forecast_table(path, horizon=h).verdicts[0].kind == "not judged" for h in (2, 3)] == [False, True]
    for rows, told in ((1, "1 step is"), (3, "3 steps are")):
        path = write(tmp_path / "shorter.csv", pd.DataFrame({"y": np.arange(float(rows))}))
        with pytest.raises(TableError, match=f"{told} too few to learn from; pass a table of at least 13 rows"):
            forecast_table(path, horizon=12)


def test_a_wrong_year_is_no_gap_to_be_filled(tmp_path):
    times = pd.date_range("2024-01-01", periods=50, freq="s").insert(0, pd.Timestamp("1970-01-01"))
    path = write(tmp_path / "gap.csv", pd.DataFrame({"when": times, "y": 1.0}))
    with pytest.raises(TableError, match=r"gap\.csv, row 2 is 1,704,067,200 steps after the row before"):
        forecast_table(path, time="when", horizon=3)


@pytest.mark.parametrize(("row", "time"), [(0, "2023-12-12"), (300, "2024-02-12")])
def test_a_gap_longer_than_the_table_is_asked_about(wave, row, time, tmp_path, capsys):
    times = hourly(300).insert(row, pd.Timestamp(time))
    path = write(tmp_path / "stray.csv", pd.DataFrame({"when": times, "load": wave[:301]}))
    with pytest.raises(SystemExit):
        main(["forecast", str(path), "--horizon", "4", "--season", "24", "--out", str(tmp_path)])
    after = max(row, 1)
    steps = (times[after] - times[after - 1]) // pd.Timedelta("1h")
    asked = f"row {after + 1} is {steps:,} steps after row {after}, and the table has 301 rows; are the times of both"
    assert asked in capsys.readouterr().err
    assert (
        f"the longest: row {after + 1} is {steps:,} steps after the row before" in (tmp_path / "index.html").read_text()
    )


def test_holidays_are_gaps_of_business_days_and_weekends_are_not(tmp_path):
    days = pd.bdate_range("2024-01-01", periods=120).delete([30, 70, 71])
    path = write(tmp_path / "days.csv", pd.DataFrame({"day": days, "close": np.arange(117.0)}))
    run = forecast_table(path, horizon=5)
    assert (run.steps, run.learner.grid.gaps, run.learner.missing, run.learner.grid.longest_gap) == (120, 2, 3, 3)
    assert run.learner.grid.describe_step() == "a day from Monday to Friday"
    # Days with a hole now and then are days, whatever day of the week they miss.
    days = pd.date_range("2024-01-01", periods=120).delete([5, 6, 12, 13, 20])
    run = forecast_table(write(path, pd.DataFrame({"day": days, "close": np.arange(115.0)})), horizon=5)
    assert (run.steps, run.learner.grid.gaps, run.learner.missing) == (120, 3, 5)


def test_the_column_of_dates_is_the_time_and_that_is_said(wave, tmp_path, capsys):
    frame = pd.DataFrame({"when": hourly(300), "load": wave[:300]}).drop(index=range(200, 250))
    path = write(tmp_path / "gap.csv", frame)
    common = ["forecast", str(path), "--column", "load", "--horizon", "6", "--season", "24", "--out", str(tmp_path)]

    def said(*more):
        with pytest.raises(SystemExit) as exit_code:
            main([*common, *more, "--json"])
        assert exit_code.value.code == 0
        captured = capsys.readouterr()
        return json.loads(captured.out), captured.err

    found, told = said()
    assert "times from 'when'; --no-time takes rows as even steps." in told
    assert found["longest_gap"] == {"steps": 51, "before_row": 201}
    named, told = said("--time", "when")
    assert "times from" not in told
    assert named == found
    rows, told = said("--no-time")
    assert "times from" not in told
    assert (rows["steps"], rows["time"], rows["longest_gap"]) == (250, None, None)


def test_times_are_asked_for_where_the_command_needs_them(wave, tmp_path, capsys):
    path = write(tmp_path / "wave.csv", pd.DataFrame({"load": wave[:99]}))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--time", "load", "--no-time"])
    assert exit_code.value.code == 2
    assert "--time load and --no-time exclude each other" in capsys.readouterr().err
    with pytest.raises(ValueError, match="time='load' and rows_are_steps=True exclude each other"):
        forecast_table(path, time="load", rows_are_steps=True)
    with pytest.raises(ValueError, match="every=60 is a length of time, and the rows have no times; name their column"):
        forecast_table(path, every=60)


def test_blank_rows_that_were_skipped_are_told(wave, tmp_path, capsys):
    path = write(tmp_path / "wave.csv", pd.DataFrame({"a": wave[:99], "b": wave[:99]}))
    path.write_text(path.read_text() + ",\n,\n")
    with pytest.raises(SystemExit):
        main(["forecast", str(path), "--horizon", "4", "--out", str(tmp_path)])
    assert "hippozoo: blank rows at the end of the table skipped: 2.\n" in capsys.readouterr().err
    assert "lank rows at the end of the table skipped: 2." in (tmp_path / "index.html").read_text()


def test_bands_of_a_column_are_judged_by_that_column(wave, tmp_path):
    columns = {"steps": np.arange(600.0) ** 1.1, "load": wave[:600], "constant": np.ones(600)}
    both = forecast_table(write(tmp_path / "all.csv", pd.DataFrame(columns)), horizon=6).summary
    alone = forecast_table(tmp_path / "all.csv", ["load"], horizon=6).summary
    assert both["seasons"]["load"] == alone["seasons"]["load"] == [24]
    assert both["coverage"]["load"] == alone["coverage"]["load"]
    assert 0.6 < alone["coverage"]["load"]["80%"] < 0.95 < both["coverage"]["constant"]["80%"]


def test_a_season_that_has_no_effect_yet_says_so(wave, tmp_path):
    path = write(tmp_path / "wave.csv", pd.DataFrame({"load": wave[:300]}))
    run = forecast_table(path, horizon=6, season=(24, 200))
    assert run.seasons == (24, 200)
    assert "the season of 200 steps has no effect yet: it needs 400, and the table has 300" in run.notes
    assert not forecast_table(path, horizon=6, season=1).seasons


def test_a_season_that_is_given_changes_the_forecast(rng, tmp_path):
    path = write(tmp_path / "walk.csv", pd.DataFrame({"load": rng.normal(size=300).cumsum()}))
    without, with_one = (forecast_table(path, horizon=6, season=season) for season in (1, 17))
    assert "season 17" in with_one.summary["mean_absolute_error"]["load"]
    assert not np.array_equal(without.forecast.samples(), with_one.forecast.samples())


def test_bands_and_bounds_are_those_that_were_asked_for(rng, tmp_path):
    path = write(tmp_path / "positive.csv", pd.DataFrame({"a": rng.gamma(0.5, size=300), "b": rng.normal(size=300)}))
    run = forecast_table(path, horizon=4, coverages=(0.5, 0.9), lower=0)
    write_csv(run, tmp_path / "forecast.csv")
    rows = pd.read_csv(tmp_path / "forecast.csv")
    names = ["column", "step", "mean", "lower_50", "upper_50", "lower_90", "upper_90"]
    assert [name for name in rows.columns if name != "simple"] == names
    assert (rows[rows.column == "a"].lower_90 >= 0).all()
    assert list(run.summary["coverage"]["a"]) == ["50%", "90%"]
    (note,) = [note for note in run.notes if "--lower" in note]
    lowest = f"{pd.read_csv(path).b.min():g}"
    assert note.startswith("b ")
    assert note.count(lowest) == 2  # what was given, and what is allowed
    assert (rows[rows.column == "b"][["mean", "lower_50", "lower_90"]] >= 0).all(axis=None)
    with pytest.raises(ValueError, match="coverage=95"):
        forecast_table(path, coverages=(95,))


def test_columns_that_explain_each_other_are_forecast_together(rng, tmp_path):
    cause = rng.normal(size=1500)
    effect = np.roll(cause, 3) + 0.1 * rng.normal(size=1500)
    path = write(tmp_path / "pair.csv", pd.DataFrame({"cause": cause, "effect": effect}))
    errors = [
        forecast_table(path, horizon=3, together=how).summary["mean_absolute_error"]["effect"]["forecast"]
        for how in ("independent", "joint")
    ]
    assert errors[1] < 0.6 * errors[0]


def test_without_a_horizon_a_short_table_is_forecast_as_far_as_can_be_judged(tmp_path, rng):
    path = write(tmp_path / "short.csv", pd.DataFrame({"y": rng.normal(size=60)}))
    run = forecast_table(path)
    assert run.horizon == 7
    assert any("7 steps ahead, an eighth of the table" in note for note in run.notes)
    verdict = run.verdicts[0]
    assert verdict.kind != "not judged"
    assert "too few origins" not in verdict.sentence


def test_columns_of_a_wide_table_are_forecast_as_each_by_itself(tmp_path, rng):
    values = rng.normal(size=(60, 50)).cumsum(axis=0)
    table = pd.DataFrame({f"c{c}": values[:, c] for c in range(50)})
    wide = forecast_table(write(tmp_path / "wide.csv", table), horizon=4)
    alone = forecast_table(write(tmp_path / "one.csv", table[["c49"]]), horizon=4)
    assert len(wide.learner.groups) == 2
    np.testing.assert_array_equal(wide.forecast.samples()[49], alone.forecast.samples()[0])
    for mine, theirs in zip(wide.forecast.band(0.99), alone.forecast.band(0.99), strict=True):
        assert mine[49] == pytest.approx(theirs[0], rel=1e-12)  # sums over columns may round otherwise


def test_three_years_of_months_with_a_steep_trend_find_the_year(tmp_path):
    found = []
    for seed in range(12):
        rng, month = np.random.default_rng(seed), np.arange(48)
        truth = 100 + 2 * month + 30 * np.sin(2 * np.pi * (month / 12 + rng.random())) + 2 * rng.normal(size=48)
        times = pd.date_range("2021-01-01", periods=36, freq="MS")
        run = forecast_table(write(tmp_path / "m.csv", pd.DataFrame({"when": times, "y": truth[:36]})), horizon=12)
        found.append((run.seasons, np.abs(run.forecast.samples()[0] - truth[36:]).mean()))
    assert sum(seasons == (12,) for seasons, _ in found) >= 10
    assert np.median([error for _, error in found]) < 14  # and 24 to 27 without the year


def test_a_column_that_ended_before_the_table_is_named_and_its_season_goes_on(rng, tmp_path):
    wave = 50 + 10 * np.sin(2 * np.pi * np.arange(424) / 24) + rng.normal(size=424)
    ended = np.where(np.arange(400) < 300, wave[:400], np.nan)
    frame = pd.DataFrame({"t": hourly(400), "whole": wave[:400], "ended": ended})
    run = forecast_table(write(tmp_path / "table.csv", frame), horizon=24)
    (note,) = [note for note in run.notes if "no value" in note]
    assert note.startswith("'ended' has had no value for 100 steps")
    assert np.abs(run.forecast.samples()[1] - wave[400:]).mean() < 2


def test_a_column_called_like_a_formula_is_written_so_that_no_spreadsheet_runs_it(tmp_path, capsys):
    path = tmp_path / "evil.csv"
    path.write_text("=HYPERLINK(A1),load\n" + "".join(f"{n % 7}.5,{n % 5}\n" for n in range(60)))
    with pytest.raises(SystemExit):
        main(["forecast", str(path), "--horizon", "2", "--out", str(tmp_path / "out")])
    lines = (tmp_path / "out" / "forecast.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"'=HYPERLINK(A1)", "load"}


def test_columns_left_out_are_one_line_and_lost_times_the_first(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{n // 60:02d}:{n % 60:02d},a,b,{n},{n % 7}\n" for n in range(80))
    path.write_text("time,name,site,nr,load\n" + rows)
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--horizon", "2", "--out", str(tmp_path / "out")])
    assert exit_code.value.code == 0
    said = capsys.readouterr().err.splitlines()
    assert "'time'" in said[0]
    assert "rows are numbered" in " ".join(said[:2])
    assert sum("left out" in line for line in said) == 1


def test_several_columns_name_the_series_of_a_panel(tmp_path, capsys):
    path = tmp_path / "tourism.csv"
    rows = [f"{1998 + q // 4} Q{q % 4 + 1},{region},{purpose},{10 + q % 4 + len(region)}\n"
            for region in ("Sydney", "Perth") for purpose in ("work", "play") for q in range(40)]  # fmt: skip
    path.write_text("Quarter,Region,Purpose,Trips\n" + "".join(rows))
    out = ["--horizon", "2", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), *out])
    assert exit_code.value.code == 1
    assert "--panel Region --panel Purpose" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), *out, "--panel", "Region", "--panel", "Purpose", "--json"])
    assert exit_code.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["verdict"]), found["step"]) == (4, "one quarter")
