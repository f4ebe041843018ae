"""Times in several columns are joined, and columns that count are not forecast unless named."""

import numpy as np
import pandas as pd
import pytest

from forecast_files import forecast_table
from hippozoo.tables import TableError, read_table


def write(path, frame):
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("names", "frequency", "step"),
    [
        (["year", "month", "day", "hour"], "h", "one hour"),
        (["YEAR", "Month", "Day"], "D", "one day"),
        (["yr", "mo"], "MS", "one month"),
        (["Year"], "YS", "one year"),
        (["Year", "Quarter"], "QS", "one quarter"),
        (["year", "month", "day", "hour", "minute", "second"], "15min", "15 minutes"),
    ],
)
def test_columns_of_year_month_day_and_hour_make_a_time(names, frequency, step, rng, tmp_path):
    times = pd.date_range("1900-01-01", periods=84, freq=frequency)
    parts = ["year", "month", "day", "hour", "minute", "second"][: len(names)]
    parts = ["year", "quarter"] if names[1:] == ["Quarter"] else parts
    frame = pd.DataFrame({name: getattr(times, part) for name, part in zip(names, parts, strict=True)})
    frame["load"] = rng.normal(size=84)
    run = forecast_table(write(tmp_path / "parts.csv", frame.head(80)), horizon=4, chunk_rows=30)
    assert run.columns == ("load",)
    assert run.time == " ".join(names)
    assert run.learner.grid.describe_step() == step
    assert [pd.Timestamp(time) for time in run.times] == times[80:].tolist()
    assert not run.left_out


def test_a_row_that_is_no_date_is_told_by_its_number(rng, tmp_path):
    frame = pd.DataFrame({"year": 2024, "month": 1, "day": np.arange(1, 31), "load": rng.normal(size=30)})
    frame.loc[25, "day"] = 77
    table = read_table(write(tmp_path / "parts.csv", frame), find_time=True, chunk_rows=20)
    with pytest.raises(TableError, match="row 26, column 'year month day': '2024/1/77' is not a date"):
        list(table.chunks)


def test_parts_that_do_not_rise_are_no_times(rng, tmp_path):
    frame = pd.DataFrame({"year": [2024] * 30, "month": [1, 2, 3] * 10, "load": rng.normal(size=30)})
    table = read_table(write(tmp_path / "parts.csv", frame), find_time=True)
    assert table.time is None
    assert table.columns == ("load",)


@pytest.mark.parametrize(
    ("name", "values", "counts"),
    [
        ("index", np.arange(30), True),
        ("anything", np.arange(100, 130), True),
        ("YEAR", np.repeat([2020, 2021, 2022], 10), True),
        ("hour", np.arange(30) % 24, True),
        ("id", np.arange(0, 300, 10), True),
        ("odometer", np.arange(0, 300, 10), False),
        ("sold", np.array([3, 1, 4, 1, 5] * 6), False),
        ("year", np.linspace(-1, 1, 30), False),
        ("level", 0.5 * np.arange(30), False),
    ],
)
def test_a_column_that_counts_is_left_out_with_a_hint(name, values, counts, rng, tmp_path):
    path = write(tmp_path / "table.csv", pd.DataFrame({name: values, "load": rng.normal(size=30)}))
    table = read_table(path)
    assert (name in table.left_out) == counts
    if counts:
        assert table.left_out[name].kind == "counts"
    assert read_table(path, [name]).columns == (name,)
    assert read_table(write(path, pd.DataFrame({name: values}))).columns == (name,)


@pytest.mark.parametrize(
    ("name", "values", "clock"),
    [
        ("ts", 1_600_000_000_000 + 60_000 * np.arange(30), True),
        ("Time", 0.02 * np.arange(30), True),
        ("timestamp", 1e9 + np.cumsum(np.arange(1, 31)), True),
        ("time", np.array([12.1, 11.9, 12.3] * 10), False),
    ],
)
def test_a_clock_of_numbers_is_left_out_with_a_hint(name, values, clock, rng, tmp_path):
    path = write(tmp_path / "table.csv", pd.DataFrame({name: values, "load": rng.normal(size=30)}))
    table = read_table(path)
    assert (name in table.left_out) == clock
    if clock:
        assert table.left_out[name].kind == "clock"
        assert read_table(path, time=name).columns == ("load",)
    assert read_table(path, [name]).columns == (name,)


@pytest.mark.parametrize(
    ("name", "spell"),
    [("month", "{:%b}"), ("Month", "{:%B}"), ("quarter", "Q{0.quarter}"), ("week", "{:%V}")],
)
def test_parts_may_be_words(name, spell, rng, tmp_path):
    times = pd.date_range("2019-01-07", periods=40, freq={"q": "QS", "w": "7D"}.get(name[0], "MS"))
    year = times.isocalendar().year if name == "week" else times.year
    frame = pd.DataFrame({"year": np.array(year), name: [spell.format(one) for one in times]})
    frame["load"] = rng.normal(size=40)
    rows, _ = next(read_table(write(tmp_path / "parts.csv", frame), find_time=True).chunks)
    np.testing.assert_array_equal(rows.times, [one.timestamp() for one in times])


def test_a_clock_that_runs_backwards_is_no_data_and_is_refused_as_times(rng, tmp_path):
    path = write(
        tmp_path / "table.csv", pd.DataFrame({"time": 60.0 * np.arange(30)[::-1], "load": rng.normal(size=30)})
    )
    assert read_table(path).left_out["time"].kind == "clock"
    with pytest.raises(TableError, match="sort them by time"):
        forecast_table(path, horizon=3, time="time")
