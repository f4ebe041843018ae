"""Lines as readings, and sentences about those that are none."""

import math
import sys
from datetime import UTC, datetime

import pytest

from hippozoo.tables import read_table
from hippozoo.watch_command.lines import Line
from hippozoo.watch_command.problem import WatchError
from hippozoo.watch_command.rows import layout_for


def layout(*texts, **choices):
    return layout_for([Line(k + 1, text) for k, text in enumerate(texts)], "a.csv", **choices)


def test_times_are_found_by_name_or_by_what_they_hold():
    assert layout("when,flow", "2024-01-31 12:00,1").time == "when"
    assert layout("Timestamp,flow", "17,1").time == "Timestamp"
    assert layout("flow,level", "17,1").time is None


def test_dates_are_seconds_since_1970():
    rows = layout("time;flow", "2024-01-31 12:00;1")
    assert rows.read(Line(2, "1970-01-02;5")).time == 86400.0
    assert rows.read(Line(3, "1970-01-01T01:00:00+01:00;5")).time == 0.0


def test_json_lines_and_csv_give_the_same_reading():
    from_csv = layout("time,a,b", "1,2,3").read(Line(7, "4,5.5,"))
    from_json = layout('{"time": 1, "a": 2, "b": 3}').read(Line(7, '{"time": 4, "a": 5.5, "b": null}'))
    assert from_csv.time == from_json.time == 4.0
    assert from_csv.values[0] == from_json.values[0] == 5.5
    assert math.isnan(from_csv.values[1])
    assert math.isnan(from_json.values[1])
    assert from_csv.troubles == from_json.troubles == ()


def test_columns_that_hold_no_numbers_are_not_watched_unless_named():
    assert layout("time,name,flow", "1,pump,3").columns == ("flow",)
    assert layout("time,name,flow", "1,pump,3", columns=["name"]).columns == ("name",)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("3,high", "line 9, column 'flow': 'high' is not a number; it counts as missing."),
        ("3,1e308", "line 9, column 'flow': '1e308' is beyond 1e+100; it counts as missing."),
        ("3,inf", "line 9, column 'flow': 'inf' is beyond 1e+100; it counts as missing."),
    ],
)
def test_a_value_that_is_none_counts_as_missing_and_is_said(text, trouble):
    reading = layout("time,flow", "1,2").read(Line(9, text))
    assert math.isnan(reading.values[0])
    assert reading.troubles == (trouble,)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3", "line 9 has 1 cells, and the header 2"),
        ("noon,3", "line 9: the time 'noon' is not a number"),
    ],
)
def test_a_line_that_is_no_reading_is_left_out_and_said(text, sentence):
    assert layout("time,flow", "1,2").read(Line(9, text)).startswith(sentence)


def test_headers_and_empty_lines_are_no_readings():
    rows = layout("time,flow", "1,2")
    assert rows.read(Line(1, "time,flow")) is None
    assert rows.read(Line(5, "time,flow")).text == "line 5 is the header once more; it is skipped."
    assert rows.read(Line(6, "  ")) is None


def test_a_json_key_that_vanishes_is_missing_and_said():
    reading = layout('{"time": 1, "a": 2}').read(Line(2, '{"time": 2}'))
    assert reading.troubles == ("line 2, column 'a': there is no such column in this row; it counts as missing.",)


@pytest.mark.parametrize(
    ("texts", "choices", "message"),
    [
        ([], {}, "holds no rows"),
        (["time,flow"], {}, "has a header and no row yet"),
        (["1,2", "3,4"], {}, "has no header"),
        (["a,a", "3,4"], {}, "two columns 'a'"),
        (['time,"flow"\rheat', "3,4"], {}, "line 1 cannot be read as CSV"),
        (["time,flow", "1,2"], {"columns": ["flow", "flow"]}, "--column flow is given twice"),
        (["time,flow", "1,2"], {"columns": ["flwo"]}, "did you mean 'flow'"),
        (["time,flow", "1,2"], {"time": "when"}, "has no column 'when'"),
        (["time,name", "1,pump"], {}, "no column of numbers"),
        (["{nonsense"], {}, "is not JSON"),
        (["a\x00b,c", "1,2"], {}, "is a binary file"),
    ],
)
def test_a_source_that_cannot_be_watched_is_refused_in_words(texts, choices, message):
    with pytest.raises(WatchError, match=message):
        layout(*texts, **choices)


def test_a_json_key_that_is_empty_or_absent_at_first_is_watched_too():
    found = layout('{"time": 0, "flow": 1, "heat": null}', '{"time": 1, "flow": 2, "heat": 3, "late": 4}')
    assert found.columns == ("flow", "heat", "late")


def dated(count, bad=()):
    return [bad[k] if k in bad else f"2024-01-{1 + k // 24:02d} {k % 24:02d}:00,{k}" for k in range(count)]


@pytest.mark.parametrize("bad", [{5: ",0.5"}, {55: ",0.5"}, {0: "later,0.5"}, {7: ","}, {7: ",,,"}])
def test_one_row_without_a_time_does_not_cost_the_others_theirs(bad):
    rows = layout("t,x", *dated(60, bad))
    assert (rows.time, rows.dates, rows.columns) == ("t", True, ("x",))
    assert "left out" in rows.read(Line(9, next(iter(bad.values()))))


def test_one_json_object_without_a_time_does_not_cost_the_others_theirs():
    rows = layout('{"x": 3}', *(f'{{"t": "2024-01-01 {k:02d}:00", "x": {k}}}' for k in range(20)))
    assert (rows.time, rows.columns) == ("t", ("x",))
    assert rows.read(Line(9, '{"x": 3}')).startswith("line 9: there is no time")


def test_one_date_among_numbers_does_not_make_the_times_dates():
    rows = layout("time,x", *(f"{k},{k}" for k in range(9)), "2024-01-01,3")
    assert (rows.time, rows.dates) == ("time", False)


def test_dates_in_some_rows_only_are_not_the_times_and_that_is_said():
    notes = []
    rows = layout("serviced,x", *dated(6), *(f",{k}" for k in range(4)), notes=notes)
    assert rows.time is None
    assert notes == [
        "column 'serviced' holds dates in 6 of its first 10 rows and is not taken for the times: readings are "
        "numbered. If it holds the times, pass --time serviced."
    ]


@pytest.mark.parametrize(
    ("pattern", "next_one"),
    [
        ("%d/%m/%Y", "01/04/2024"),
        ("%m/%d/%Y", "04/01/2024"),
        ("%d.%m.%Y", "1.4.2024"),
        ("%d/%m/%Y %H:%M", "01/04/2024 0:00"),
        ("%d-%b-%Y", "01-Apr-2024"),
        ("%d %B %Y %H:%M:%S", "1 April 2024 00:00:00"),
        ("%Y/%m/%d", "2024/04/01"),
        ("%Y%m%d", "20240401"),
        ("%Y%m%d%H%M", "202404010000"),
        ("%Y-%m-%d %I:%M %p", "2024-04-01 12:00 AM"),
    ],
)
@pytest.mark.parametrize("name", ["when", "date"])
def test_dates_are_read_as_forecast_reads_them(tmp_path, pattern, next_one, name):
    days = [datetime(2024, 3, day, tzinfo=UTC) for day in range(1, 32)]
    texts = [f"{name},x", *(f"{day:{pattern}},{day.day}" for day in days)]
    rows = layout(*texts)
    assert (rows.time, rows.dates, rows.columns) == (name, True, ("x",))
    found = [rows.read(Line(k + 2, text)).time for k, text in enumerate(texts[1:])]
    assert found == [day.timestamp() for day in days]
    assert rows.read(Line(40, f"{next_one},3")).time == datetime(2024, 4, 1, tzinfo=UTC).timestamp()
    assert "the row is left out" in rows.read(Line(41, "soon,3"))
    (tmp_path / "a.csv").write_text("\n".join(texts) + "\n")
    times = next(read_table(tmp_path / "a.csv", find_time=True).chunks)[0].times
    assert times is not None
    assert times.tolist() == found


@pytest.mark.parametrize("bad", ["", "soon", "2024", "31/31/2024"])
def test_one_bad_date_among_those_that_are_not_iso_does_no_harm(bad):
    texts = [f"{day:02d}/03/2024 00:00,{day}" for day in range(1, 29)]
    rows = layout("t,x", f"{bad},5", *texts)
    assert (rows.time, rows.dates) == ("t", True)
    assert "left out" in rows.read(Line(9, f"{bad},5"))


def test_dates_in_json_are_read_alike():
    rows = layout(*(f'{{"t": "{day}.3.2024", "x": 3}}' for day in range(1, 9)))
    assert rows.read(Line(9, '{"t": "2.1.1970", "x": 3}')).time == 86400.0
    rows = layout(*(f'{{"t": {20240300 + day}, "x": 3}}' for day in range(1, 9)))
    assert rows.read(Line(9, '{"t": 19700102, "x": 3}')).time == 86400.0


@pytest.mark.parametrize("choices", [{}, {"time": "t"}])
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("01/02/2024", "'01/02/2024' does not say which number is the day"),
        ("12:00", "'12:00' is a time of day without a date"),
    ],
)
def test_times_that_cannot_be_read_are_not_passed_over_in_silence(choices, cell, why):
    with pytest.raises(WatchError, match=f"{why}.*--time"):
        layout("t,x", *(f"{cell},{k}" for k in range(5)), **choices)


def test_words_under_time_are_refused_and_dates_under_another_name_are_found_instead():
    with pytest.raises(WatchError, match=r"column 'time'.*'soon' is no number and no date.*--time"):
        layout("time,x", "soon,1", "later,2", "never,3")
    assert layout("time,when,x", "soon,2024-01-01,1", "later,2024-01-02,2", "never,2024-01-03,3").time == "when"


def test_dates_in_a_column_of_another_name_that_cannot_be_read_are_said():
    notes = []
    rows = layout("x,serviced", *(f"{k},0{1 + k % 3}/02/2024" for k in range(5)), notes=notes)
    assert (rows.time, rows.columns) == (None, ("x",))
    assert len(notes) == 1
    assert "'01/02/2024' does not say which number is the day" in notes[0]
    assert "readings are numbered" in notes[0]
    assert "--time serviced" in notes[0]


@pytest.mark.parametrize("name", ["t", "T", "epoch", "unixtime"])
def test_a_clock_of_numbers_is_taken_for_the_times_and_that_is_said(name):
    notes = []
    rows = layout(f"{name},x", *(f"{1_700_000_000 + 7 * k * k},{k % 3}" for k in range(1, 12)), notes=notes)
    assert (rows.time, rows.dates, rows.columns) == (name, False, ("x",))
    assert notes == [f"column {name!r} rises like a clock and is taken for the times; --column {name} watches it."]
    assert layout("t,x", *(f"{5 * k},{k % 3}" for k in range(12))).time == "t"
    assert layout("t,x", *(f"{5 * k},{k % 3}" for k in range(12)), columns=["t", "x"]).time is None


def test_a_temperature_that_rises_is_no_clock_but_it_may_be_said_that_it_is():
    notes = []
    rows = layout("t,x", *(f"{20 + 0.1 * k * k},{k % 3}" for k in range(12)), notes=notes)
    assert (rows.time, rows.columns) == (None, ("t", "x"))
    assert notes == [
        "column 't' rises in all of its first 12 rows and is watched; if it holds the times, pass --time t."
    ]
    notes = []
    assert layout("t,x", *(f"{20 + k % 5},{k % 3}" for k in range(12)), notes=notes).columns == ("t", "x")
    assert notes == []


def test_a_date_that_never_changes_is_not_the_time_of_the_rows():
    rows = layout("exported,when,x", *(f"2024-05-01,2024-01-0{k},{k}" for k in range(1, 6)))
    assert rows.time == "when"


def test_without_pandas_dates_that_are_not_iso_are_not_passed_over_in_silence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert layout("t,x", *dated(5)).time == "t"
    with pytest.raises(WatchError, match=r"column 't'.*pip install"):
        layout("t,x", *(f"{day}.3.2024,{day}" for day in range(1, 9)))


def test_a_column_that_is_empty_at_first_is_watched_and_that_is_said():
    notes = []
    rows = layout("t,x,y,", "2024-01-01,,1,", "2024-01-02,NA,2,", "2024-01-03,,3,", notes=notes)
    assert rows.columns == ("x", "y")
    assert notes == [
        "empty so far, and watched from the first number on: 'x'; name the columns to watch with --column to leave it "
        "out."
    ]
    assert layout("t,x,y", "2024-01-01,,1", "2024-01-02,,2", columns=["y"], notes=notes).columns == ("y",)
    assert len(notes) == 1


def test_columns_of_words_are_not_watched_and_that_is_said():
    notes = []
    assert layout("time,name,state,flow", "1,pump,off,3", "2,pump,,3", notes=notes).columns == ("flow",)
    assert notes == [
        "not watched, since the first rows hold no number: 'name', 'state'; --column watches what is named."
    ]


def test_rows_that_do_not_fit_the_header_say_nothing_about_its_columns():
    with pytest.raises(WatchError, match="no column of numbers"):
        layout("a,b", "1,2,3", "4,5,6")
    assert layout(",x", "0,5", "1,6").columns == ("", "x")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_read_where_columns_are_separated_by_something_else(separator):
    rows = layout(f"t{separator}x", *(f"{day:02d}.03.2024{separator}{day},5" for day in range(1, 9)))
    assert (rows.time, rows.columns) == ("t", ("x",))
    assert rows.read(Line(9, f"01.04.2024{separator}-0,25")).values == (-0.25,)
    assert rows.read(Line(9, f"01.04.2024{separator}3")).values == (3.0,)
    wrong = rows.read(Line(9, f"01.04.2024{separator}1.234"))
    assert math.isnan(wrong.values[0])
    assert wrong.troubles == (
        "line 9, column 'x': '1.234' has a point, and numbers before it a decimal comma; it counts as missing.",
    )
    assert "'high' is not a number" in rows.read(Line(9, f"01.04.2024{separator}high")).troubles[0]
    assert rows.read(Line(9, f"01.04.2024{separator}")).troubles == ()


def test_times_may_have_decimal_commas_too():
    rows = layout("time;x", *(f"{k},5;{k},25" for k in range(5)))
    assert rows.read(Line(9, "7,5;1,5")) == (9, 7.5, (1.5,), ())


def test_with_semicolons_and_whole_numbers_at_first_either_mark_is_read():
    rows = layout("time;x", *(f"{k};{k}" for k in range(5)))
    assert rows.read(Line(9, "7;1,5")).values == rows.read(Line(9, "7;1.5")).values == (1.5,)
    rows = layout("time;x", *(f"{k};{k}.5" for k in range(5)))
    assert "'1,5' is not a number" in rows.read(Line(9, "7;1,5")).troubles[0]


def test_commas_that_may_separate_thousands_are_said():
    notes = []
    rows = layout("time\tx\ty", *(f"{k}\t1,23{k}\t2" for k in range(5)), notes=notes)
    assert rows.columns == ("y",)
    assert "'1,230' may be a decimal comma or separate thousands" in notes[0]


@pytest.mark.parametrize("texts", [["time,x", '0,"1,5"', '1,"2,5"'], ['{"time": 0, "x": "1,5"}']])
def test_where_decimal_commas_are_not_read_that_is_said(texts):
    with pytest.raises(WatchError, match=r"no column of numbers.*'1,5' has a decimal comma.*semicolons or tabs"):
        layout(*texts)


def test_of_several_columns_of_dates_the_one_that_rises_holds_the_times():
    born = ["1980-05-01", "1975-01-31", "1991-07-07", "1960-02-02", "1985-05-05"]
    assert layout("born,when,x", *(f"{born[k]},2024-01-0{k + 1},{k}" for k in range(5))).time == "when"
    assert layout("when,read,x", *(f"2024-01-0{k},2024-02-0{k},{k}" for k in range(1, 6))).time == "when"
    digits = [text.replace("-", "") for text in born]
    assert layout("serial,x", *(f"{digits[k]},{k}" for k in range(5))).columns == ("serial", "x")
