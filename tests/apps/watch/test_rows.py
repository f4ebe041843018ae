"""Lines as readings, and sentences about those that are none."""

import math
import sys
from datetime import UTC, datetime

import pytest

from hippozoo.tables import TableError, read_table
from hippozoo.tables.infer import infer_from_lines
from hippozoo.tables.records import Line
from hippozoo.tables.trouble import Place, word


def layout(*texts, notes=None, **choices):
    found = infer_from_lines([Line(k + 1, text) for k, text in enumerate(texts)], "a.csv", **choices)
    if notes is not None:
        notes += [*found.notes, *found.left_out.values()]
    return found.schema


def test_times_are_found_by_name_or_by_what_they_hold():
    assert layout("when,flow", "2024-01-31 12:00,1").time == "when"
    assert layout("Timestamp,flow", "17,1").time == "Timestamp"
    assert layout("flow,level", "17,1").time is None


def test_dates_are_seconds_since_1970():
    rows = layout("time;flow", "2024-01-31 12:00;1")
    assert rows.read(Line(2, "1970-01-02;5")).time == 86400.0
    rows = layout("time;flow", "1970-01-01T01:00:00+01:00;1")
    assert rows.read(Line(3, "1970-01-01T01:00:00+01:00;5"))[1:5] == (0.0, (5.0,), (), 3600.0)
    assert rows.read(Line(4, "1970-01-02;5")).kind == "other zone"


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
    ("text", "kind"),
    [("3,high", "not a number"), ("3,1e308", "too large"), ("3,inf", "too large")],
)
def test_a_value_that_is_none_counts_as_missing_and_is_said(text, kind):
    reading = layout("time,flow", "1,2").read(Line(9, text))
    assert math.isnan(reading.values[0])
    [trouble] = reading.troubles
    assert trouble[:3] == (kind, Place(line=9, column="flow"), repr(text.split(",")[1]))


@pytest.mark.parametrize(
    ("text", "kind", "given"),
    [
        ("3", "cells", 1),
        ("noon,3", "not a time", "'noon'"),
        (",3", "no time", ""),
        ('3,"4', "quotes", ""),
        ('3,"4"5', "quotes", ""),
        ("3,\x004", "not text", ""),
    ],
)
def test_a_line_that_is_no_reading_is_left_out_and_said(text, kind, given):
    trouble = layout("time,flow", "1,2").read(Line(9, text))
    assert (trouble.kind, trouble.place.line, trouble.given) == (kind, 9, given)


def test_headers_and_empty_lines_are_no_readings():
    rows = layout("time,flow", "1,2")
    assert rows.read(Line(1, "time,flow")) is None
    assert rows.read(Line(5, "time,flow")).trouble[:2] == ("header again", Place(line=5))
    assert rows.read(Line(6, "  ")) is None


def test_a_json_key_that_vanishes_is_missing_and_said():
    reading = layout('{"time": 1, "a": 2}').read(Line(2, '{"time": 2}'))
    assert [one[:2] for one in reading.troubles] == [("no such column", Place(line=2, column="a"))]


@pytest.mark.parametrize(
    ("texts", "choices", "kind"),
    [
        ([], {}, "blank"),
        (["time,flow"], {}, "no rows"),
        (['time,"flow"\rheat', "3,4"], {}, "quotes"),
        (["time,flow", "1,2"], {"columns": ["flow", "flow"]}, "twice"),
        (["time,flow", "1,2"], {"columns": ["flwo"]}, "no column"),
        (["time,flow", "1,2"], {"time": "when"}, "no column"),
        (["time,name", "1,pump"], {}, "no numbers"),
        (["a,b", "1,2,3", "4,5,6"], {}, "no numbers"),
        (["{nonsense"], {}, "not JSON"),
        (["a\x00b,c", "1,2"], {}, "binary"),
        (["time,sensor,x", "0,a,1", "0,b,2", "1,a,1", "1,b,2"], {}, "stacked"),
    ],
)
def test_a_source_that_cannot_be_watched_is_refused(texts, choices, kind):
    with pytest.raises(TableError) as error:
        layout(*texts, **choices)
    assert error.value.trouble.kind == kind


def test_a_source_without_a_header_is_read_from_its_first_line_on():
    notes = []
    rows = layout("1,2", "3,4", "5,1", notes=notes)
    assert (rows.names, rows.header, [note.kind for note in notes]) == (("column 1", "column 2"), False, ["no header"])
    assert rows.read(Line(1, "1,2")).values == (1.0, 2.0)
    assert layout("a,a", "3,4").columns == ("a", "a.1")


def test_a_json_key_that_is_empty_or_absent_at_first_is_watched_too():
    found = layout('{"time": 0, "flow": 1, "heat": null}', '{"time": 1, "flow": 2, "heat": 3, "late": 4}')
    assert found.columns == ("flow", "heat", "late")


def dated(count, bad=()):
    return [bad[k] if k in bad else f"2024-01-{1 + k // 24:02d} {k % 24:02d}:00,{k}" for k in range(count)]


@pytest.mark.parametrize("bad", [{5: ",0.5"}, {55: ",0.5"}, {0: "later,0.5"}, {7: ","}, {7: ",,,"}])
def test_one_row_without_a_time_does_not_cost_the_others_theirs(bad):
    rows = layout("t,x", *dated(60, bad))
    assert (rows.time, rows.dates, rows.columns) == ("t", True, ("x",))
    assert rows.read(Line(9, next(iter(bad.values())))).kind in ("no time", "not a time", "cells")


def test_one_json_object_without_a_time_does_not_cost_the_others_theirs():
    rows = layout('{"x": 3}', *(f'{{"t": "2024-01-01 {k:02d}:00", "x": {k}}}' for k in range(20)))
    assert (rows.time, rows.columns) == ("t", ("x",))
    assert rows.read(Line(9, '{"x": 3}')).kind == "no time"


def test_one_date_among_numbers_does_not_make_the_times_dates():
    rows = layout("time,x", *(f"{k},{k}" for k in range(9)), "2024-01-01,3")
    assert (rows.time, rows.dates) == ("time", False)


def test_dates_in_some_rows_only_are_not_the_times_and_that_is_said():
    notes = []
    rows = layout("serviced,x", *dated(6), *(f",{k}" for k in range(4)), notes=notes)
    assert rows.time is None
    assert [(note.kind, note.place.column) for note in notes] == [("times lost", "serviced")]
    assert "6 of its first 10 rows" in word(notes[0])


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
    assert rows.read(Line(41, "soon,3"))[:3] == ("not a time", Place(line=41, column=name), "'soon'")
    (tmp_path / "a.csv").write_text("\n".join(texts) + "\n")
    times = next(read_table(tmp_path / "a.csv", find_time=True).chunks)[0].times
    assert times is not None
    assert times.tolist() == found


@pytest.mark.parametrize("bad", ["", "soon", "2024", "31/31/2024"])
def test_one_bad_date_among_those_that_are_not_iso_does_no_harm(bad):
    texts = [f"{day:02d}/03/2024 00:00,{day}" for day in range(1, 29)]
    rows = layout("t,x", f"{bad},5", *texts)
    assert (rows.time, rows.dates) == ("t", True)
    assert rows.read(Line(9, f"{bad},5")).kind in ("no time", "not a time")


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
    with pytest.raises(TableError, match=f"{why}.*--time"):
        layout("t,x", *(f"{cell},{k}" for k in range(5)), **choices)


def test_words_under_time_are_refused_and_dates_under_another_name_are_found_instead():
    with pytest.raises(TableError, match=r"column 'time'.*'soon' is no number and no date.*--time"):
        layout("time,x", "soon,1", "later,2", "never,3")
    assert layout("time,when,x", "soon,2024-01-01,1", "later,2024-01-02,2", "never,2024-01-03,3").time == "when"


def test_dates_in_a_column_of_another_name_that_cannot_be_read_are_said():
    notes = []
    rows = layout("x,serviced", *(f"{k},0{1 + k % 3}/02/2024" for k in range(5)), notes=notes)
    assert (rows.time, rows.columns) == (None, ("x",))
    assert [(note.kind, note.place.column) for note in notes] == [("times lost", "serviced")]
    assert "'01/02/2024' does not say which number is the day" in word(notes[0])


@pytest.mark.parametrize("name", ["t", "T", "epoch", "unixtime"])
def test_a_clock_of_numbers_is_taken_for_the_times_and_that_is_said(name):
    notes = []
    rows = layout(f"{name},x", *(f"{1_700_000_000 + 7 * k * k},{k % 3}" for k in range(1, 12)), notes=notes)
    counts_from_1970 = name not in "tT"
    assert (rows.time, rows.dates, rows.columns) == (name, counts_from_1970, ("x",))
    assert rows.read(Line(9, "1700000007.5,3")).time == 1_700_000_007.5
    assert [note.kind for note in notes] == ["taken for times"] * (not counts_from_1970)
    assert layout("t,x", *(f"{5 * k},{k % 3}" for k in range(12))).time == "t"
    assert layout("t,x", *(f"{5 * k},{k % 3}" for k in range(12)), columns=["t", "x"]).time is None


def test_a_temperature_that_rises_is_no_clock_but_it_may_be_said_that_it_is():
    notes = []
    rows = layout("t,x", *(f"{20 + 0.1 * k * k},{k % 3}" for k in range(12)), notes=notes)
    assert (rows.time, rows.columns) == (None, ("t", "x"))
    assert [note.kind for note in notes] == ["may be times"]
    notes = []
    assert layout("t,x", *(f"{20 + k % 5},{k % 3}" for k in range(12)), notes=notes).columns == ("t", "x")
    assert notes == []


def test_a_date_that_never_changes_is_not_the_time_of_the_rows():
    rows = layout("exported,when,x", *(f"2024-05-01,2024-01-0{k},{k}" for k in range(1, 6)))
    assert rows.time == "when"


def test_dates_that_are_not_iso_are_read_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert layout("t,x", *dated(5)).time == "t"
    assert layout("t,x", *(f"{day}.3.2024,{day}" for day in range(10, 19))).time == "t"


def test_a_column_that_is_empty_at_first_is_watched_and_that_is_said():
    notes = []
    rows = layout("t,x,y,", "2024-01-01,,1,", "2024-01-02,NA,2,", "2024-01-03,,3,", notes=notes)
    assert rows.columns == ("x", "y")
    assert [(note.kind, note.place.column) for note in notes] == [("empty so far", "x")]
    assert layout("t,x,y", "2024-01-01,,1", "2024-01-02,,2", columns=["y"], notes=notes).columns == ("y",)
    assert len(notes) == 1


def test_columns_of_words_are_not_watched_and_that_is_said():
    notes = []
    assert layout("time,name,state,flow", "1,pump,off,3", "2,pump,,3", notes=notes).columns == ("flow",)
    assert [(note.kind, note.place.column) for note in notes] == [("words", "name"), ("words", "state")]


def test_columns_that_count_are_not_watched_unless_they_are_named():
    texts = [",year,x", *(f"{k},2024,{k % 3}" for k in range(9))]
    assert layout(*texts).columns == ("x",)
    assert layout(*texts, columns=["Unnamed: 0", "x"]).columns == ("Unnamed: 0", "x")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_read_where_columns_are_separated_by_something_else(separator):
    rows = layout(f"t{separator}x", *(f"{day:02d}.03.2024{separator}{day},5" for day in range(1, 9)))
    assert (rows.time, rows.columns) == ("t", ("x",))
    assert rows.read(Line(9, f"01.04.2024{separator}-0,25")).values == (-0.25,)
    assert rows.read(Line(9, f"01.04.2024{separator}3")).values == (3.0,)
    wrong = rows.read(Line(9, f"01.04.2024{separator}1.234"))
    assert math.isnan(wrong.values[0])
    assert [one[:3] for one in wrong.troubles] == [("other mark", Place(line=9, column="x"), "'1.234'")]
    assert rows.read(Line(9, f"01.04.2024{separator}high")).troubles[0].kind == "not a number"
    assert rows.read(Line(9, f"01.04.2024{separator}")).troubles == ()


def test_times_may_have_decimal_commas_too():
    rows = layout("time;x", *(f"{k},5;{k},25" for k in range(5)))
    assert rows.read(Line(9, "7,5;1,5"))[:4] == (9, 7.5, (1.5,), ())


def test_with_semicolons_and_whole_numbers_at_first_either_mark_is_read():
    rows = layout("time;x", *(f"{k};{k}" for k in range(5)))
    assert rows.read(Line(9, "7;1,5")).values == rows.read(Line(9, "7;1.5")).values == (1.5,)
    rows = layout("time;x", *(f"{k};{k}.5" for k in range(5)))
    assert rows.read(Line(9, "7;1,5")).troubles[0][:3] == ("not a number", Place(line=9, column="x"), "'1,5'")


def test_commas_that_may_separate_thousands_are_said():
    notes = []
    rows = layout("time\tx\ty", *(f"{k}\t1,23{k}\t2" for k in range(5)), notes=notes)
    assert rows.columns == ("y",)
    assert (notes[0].kind, notes[0].given) == ("thousands", "'1,230'")


@pytest.mark.parametrize("texts", [["time,x", '0,"1,5"', '1,"2,5"'], ['{"time": 0, "x": "1,5"}']])
def test_where_decimal_commas_are_not_read_that_is_said(texts):
    with pytest.raises(TableError, match=r"no column of numbers.*'1,5' has a decimal comma.*semicolons or tabs"):
        layout(*texts)


def test_of_several_columns_of_dates_the_one_that_rises_holds_the_times():
    born = ["1980-05-01", "1975-01-31", "1991-07-07", "1960-02-02", "1985-05-05"]
    assert layout("born,when,x", *(f"{born[k]},2024-01-0{k + 1},{k}" for k in range(5))).time == "when"
    assert layout("when,read,x", *(f"2024-01-0{k},2024-02-0{k},{k}" for k in range(1, 6))).time == "when"
    with pytest.raises(TableError, match="--time"):
        layout("sent,read,x", *(f"2024-01-0{k},2024-02-0{k},{k}" for k in range(1, 6)))
    digits = [text.replace("-", "") for text in born]
    assert layout("serial,x", *(f"{digits[k]},{k}" for k in range(5))).columns == ("serial", "x")
