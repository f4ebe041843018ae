"""Tables of the user's own: every cell is read under its name and with its meaning, or refused with its row."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hippozoo.tables import TableError, read_table, word
from hippozoo.tables.numbers import decimal_marks


@pytest.fixture
def read(tmp_path):
    def read(text, ending="csv", encoding="utf-8", **options):
        path = tmp_path / f"table.{ending}"
        path.write_bytes(text.encode(encoding))
        table = read_table(path, **options)
        chunks = [rows for rows, _ in table.chunks]
        times = None if chunks[0].times is None else np.concatenate([rows.times for rows in chunks])
        return table, times, np.concatenate([rows.values for rows in chunks])

    return read


HEADER = "when,load,temp\n"
ROWS = "2024-01-31 13:00,1.5,-20\n2024-01-31 14:00,,0.25\n2024-01-31 15:00,3,1e3\n"
PLAIN = HEADER + ROWS


@pytest.mark.parametrize("chunk_rows", [1, 1000])
@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("csv", HEADER + ROWS.replace("\n", ",\n")),
        ("csv", PLAIN.replace("\n", ",\n")),
        ("csv", PLAIN.replace("temp\n", "temp\n\n").replace("\n", "\r\n")),
        ("csv", "\ufeff" + PLAIN),
        ("csv", PLAIN.replace(",", ";")),
        ("csv", PLAIN.replace(",", ";").replace(".", ",")),
        ("csv", PLAIN.replace(",", ";").replace(".", ",").replace("2024-01-31", "31.01.2024")),
        ("csv", PLAIN.replace(",", "\t")),
        ("tsv", PLAIN.replace(",", "\t").replace(".", ",")),
        ("csv", PLAIN.replace("1.5,", "1.5 , ").replace(",,", ", NA ,")),
        ("csv", PLAIN.replace(",,", ',"",').replace("1.5", '"1.5"')),
    ],
    ids=["trailing", "header", "lines", "bom", "semicolon", "comma", "german", "tab", "tsv", "blanks", "quotes"],
)
def test_the_same_table_in_other_spellings_holds_the_same_numbers(read, ending, text, chunk_rows):
    _, times, values = read(PLAIN, time="when")
    assert_array_equal(values, [[1.5, -20], [np.nan, 0.25], [3, 1000]])
    table, other_times, other_values = read(text, ending, time="when", chunk_rows=chunk_rows)
    assert table.columns == ("load", "temp")
    assert_array_equal(other_times, times)
    assert_array_equal(other_values, values)


def refused(read, text, **options):
    """The trouble for which a table is refused."""
    with pytest.raises(TableError) as error:
        read(text, **options)
    assert error.value.trouble is not None
    return error.value.trouble


@pytest.mark.parametrize("chunk_rows", [1, 1000])
@pytest.mark.parametrize(
    ("text", "kind", "row"),
    [
        ("a,b\n1,2\n1,2,3\n", "cells", 2),
        ("a,b\n1,2,3\n1,2,3\n", "cells", 1),
        ("a,b\n1,2,,\n", "cells", 1),
        ("a,b,\n1,2,3\n", "cells", 1),
        ("a\n10,5\n", "cells", 1),
        ("# exported by X\nwhen,load\n1,2\n", "cells", 1),
        ("when;load, kW\n1;10,5\n", "separator", 0),
        ('a,b\n1,"2\n1,2\n', "quotes", 0),
        ("\n\n", "blank", 0),
        ("a;b\n1,5;1\n1.5;1\n", "other mark", 2),
        ("a;b\n1.5;1\n1,5;1\n", "not a number", 2),
        ("a\tb\n1,500\t1\n", "thousands", 0),
        ("a\n1\n-1e301\n", "too large", 2),
        ("a,b\n1,2\n1,\x002\n", "not text", 2),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused_with_its_row(read, text, kind, row, chunk_rows):
    trouble = refused(read, text, chunk_rows=chunk_rows)
    assert (trouble.kind, trouble.place.row) == (kind, row)


def test_a_header_with_two_marks_is_cut_as_its_rows_are(read):
    assert read("when,load;kW\n1,2\n")[0].columns == ("when", "load;kW")
    assert read("when;load, kW\n1;2\n")[0].columns == ("when", "load, kW")


@pytest.mark.parametrize("word", ["", "NA", "nan", "NaN", "null", "None", "n/a", "#N/A", "<NA>"])
def test_a_word_for_a_missing_value_leaves_a_column_in(read, word):
    table, _, values = read(f"load,other\n1,5\n{word},6\n3,7\n")
    assert table.columns == ("load", "other")
    assert not table.left_out
    assert_array_equal(values, [[1, 5], [np.nan, 6], [3, 7]])


def test_columns_are_left_out_with_a_reason(read):
    table, _, _ = read("when,load,name,nothing,broken\n2024-01-31,1,x,,4\n2024-02-29,2,x,,oops\n")
    assert table.columns == ("load",)
    found = {name: (why.kind, why.given) for name, why in table.left_out.items()}
    assert found == {
        "when": ("words", "'2024-01-31' in row 1"),
        "name": ("words", "'x' in row 1"),
        "nothing": ("empty", 2),
        "broken": ("words", "'oops' in row 2"),
    }


def test_without_any_number_the_header_is_shown_as_it_was_read(read):
    trouble = refused(read, "# by X, Y\nwhen,load\n1,2\n")
    assert (trouble.kind, trouble.given) == ("no numbers", "'# by X', 'Y'")
    assert "'when' in row 1" in str(trouble.more)


# 13:00 UTC on the last day of January and the hour after it.
@pytest.mark.parametrize(
    "cells",
    [
        ["2024-01-31 13:00", "2024-01-31 14:00"],
        ["2024-01-31T13:00:00.000", "2024-01-31T14:00:00"],
        ["2024/01/31 13:00", "2024/01/31 14:00"],
        ["31.01.2024 13:00", "31.01.2024 14:00"],
        ["31.1.2024 13:00", "31.1.2024 14:00"],
        ["31/01/2024 13:00", "31/01/2024 14:00"],
        ["01/31/2024 13:00", "01/31/2024 14:00"],
        ["1/31/24 13:00", "1/31/24 14:00"],
        ["1/31/2024 1:00 PM", "1/31/2024 2:00 PM"],
        ["31 Jan 2024 13:00", "31 Jan 2024 14:00"],
        ["January 31, 2024 13:00", "January 31, 2024 14:00"],
        ["202401311300", "202401311400"],
        ["20240131130000", "20240131140000"],
        ["2024-01-31T13:00Z", "2024-01-31T14:00Z"],
        ["2024-01-31 15:00+02:00", "2024-01-31 16:00+02:00"],
        ["2024-01-31 15:00:00 +0200", "2024-01-31 15:00:00 +0100"],
        ["31.01.2024 08:00-05:00", "31.01.2024 09:00-05:00"],
    ],
)
def test_a_moment_is_the_same_however_it_is_written(read, cells):
    rows = "\n".join(f'"{cell}",{n}' for n, cell in enumerate(cells))
    table, times, _ = read(f"when,load\n{rows}\n", time="when")
    assert table.dates
    assert_array_equal(times, [1706706000.0, 1706709600.0])


def test_a_year_of_two_digits_is_one_of_1969_to_2068(read):
    years = range(1969, 2069)
    written = "\n".join(f"12/31/{year % 100:02d},1" for year in years)
    _, times, _ = read(f"when,load\n{written}\n", time="when")
    assert_array_equal(times.astype("datetime64[s]").astype("datetime64[Y]").astype(int) + 1970, years)


def test_dots_mean_day_first_also_where_the_day_is_small(read):
    _, times, _ = read("when,load\n01.02.2024,1\n02.02.2024,2\n", time="when")
    assert_array_equal(times.astype("datetime64[s]").astype("datetime64[D]").astype(str), ["2024-02-01", "2024-02-02"])


@pytest.mark.parametrize(
    ("cells", "kind", "row"),
    [
        (["01/02/2024", "01/03/2024"], "times unread", 0),
        (["01-02-2024", "02-02-2024"], "times unread", 0),
        (["13/01/2024", "01/13/2024"], "times unread", 0),
        (["24/01/31", "24/02/01"], "times unread", 0),
        (["Mon 01/02/2024", "Tue 01/03/2024"], "times unread", 0),
        (["31.01.2024", "2024-02-01"], "not a time", 2),
        (["00:15", "00:30"], "times unread", 0),
        (["2024-01-31 12:00Z", "2024-01-31 13:00"], "other zone", 2),
        (["2024-01-31 12:00", "2024-01-31 13:00+01:00"], "other zone", 2),
        (["20240131", "20240201", "soon"], "not a time", 3),
    ],
)
def test_a_date_that_would_have_to_be_guessed_is_refused(read, cells, kind, row):
    rows = "\n".join(f"{cell},{n}" for n, cell in enumerate(cells))
    trouble = refused(read, f"when,load\n{rows}\n", time="when")
    assert (trouble.kind, trouble.place.row, trouble.place.column) == (kind, row, "when")


def test_the_order_of_day_and_month_is_settled_by_later_rows(read):
    rows = "".join(f"01/01/11 {n // 60:02d}:{n % 60:02d},{n}\n" for n in range(1200)) + "13/01/11 00:00,1\n"
    with pytest.raises(TableError, match="year"):
        read("when,load\n" + rows.replace("13/01/11", "11/01/11"), time="when")
    _, times, _ = read("when,load\n" + rows.replace("/11 ", "/2011 "), time="when", chunk_rows=2000)
    assert times[-1] - times[0] == 12 * 86_400


def test_eight_digits_are_a_date_only_if_all_are(read):
    table, times, _ = read("day,load\n20240131,1\n20240201,2\n", time="day")
    assert table.dates
    assert np.diff(times) == 86_400
    for cells in ("20240131,1\n20240132,2\n", "90240101,1\n90240102,1\n"):
        table, times, _ = read(f"day,load\n{cells}", time="day")
        assert not table.dates
        assert np.diff(times) == 1


def test_local_time_is_known_where_a_zone_is_written(tmp_path):
    times = pd.date_range(
        "2024-03-30 12:00", periods=2, freq="D", tz="Europe/Berlin"
    )  # the clock is put forward between
    frame = pd.DataFrame({"when": times, "load": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "zone.parquet")
    frame.to_csv(tmp_path / "zone.csv", index=False)
    for name in ("zone.parquet", "zone.csv"):
        rows, _ = next(read_table(tmp_path / name, time="when").chunks)
        assert_array_equal(rows.offsets, [3600, 7200])
        assert np.diff(rows.times) == 23 * 3600


def test_an_index_that_pandas_wrote_is_a_column(tmp_path):
    frame = pd.DataFrame({"load": np.arange(5.0)}, index=pd.date_range("2024-01-01", periods=5, name="when"))
    frame.to_parquet(tmp_path / "named.parquet")
    rows, _ = next(read_table(tmp_path / "named.parquet", time="when", chunk_rows=2).chunks)
    assert np.diff(rows.times) == 86_400
    frame.reset_index(drop=True).drop(index=2).to_parquet(tmp_path / "nameless.parquet")
    table = read_table(tmp_path / "nameless.parquet")
    assert table.columns == ("load",)
    assert table.left_out["__index_level_0__"].kind == "index"


@pytest.mark.parametrize(("encoding", "name"), [("latin-1", "latin1"), ("utf-16", "utf-16")])
def test_another_encoding_is_named_with_the_way_to_convert_it(read, encoding, name):
    with pytest.raises(TableError, match=rf"is not UTF-8.*iconv -f {name} -t utf-8 .*table\.csv"):
        read("when,Temp °C\n1,2\n", encoding=encoding)


def test_a_packed_file_is_read_and_half_of_one_refused(tmp_path):
    packed = gzip.compress(PLAIN.encode())
    (tmp_path / "whole.csv.gz").write_bytes(packed)
    (tmp_path / "half.csv.gz").write_bytes(packed[: len(packed) // 2])
    rows, _ = next(read_table(tmp_path / "whole.csv.gz", time="when").chunks)
    assert len(rows.values) == 3
    with pytest.raises(TableError, match=r"half\.csv\.gz.*gzip"):
        read_table(tmp_path / "half.csv.gz", time="when")


HOURS = [f"2024-01-{day:02d} {hour:02d}:00" for day in range(1, 8) for hour in range(24)]


def stack(times, *more):
    """A table of times, of what stands beside them, and of a column of numbers."""
    names = ",".join(["when", *(f"c{n}" for n in range(len(more))), "load"])
    return "\n".join([names, *(",".join(map(str, row)) for row in zip(times, *more, range(len(times)), strict=True))])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (stack(HOURS), "when"),
        (stack(HOURS).replace("-", ""), "when"),
        (stack([f"{n:02d}.02.2024" for n in range(1, 20)]), "when"),
        (stack([f"{year}{month:02d}15" for year in (2023, 2024) for month in range(1, 13)]), "when"),
        (stack([f"{year}Q{n}" for year in (2023, 2024) for n in range(1, 5)]), "when"),
        (stack(range(168), HOURS), "c0"),
        (stack(HOURS, ["2024-01-31"] * 168), "when"),  # the date of an export
        (stack(HOURS, HOURS[::-1]), "when"),
        (stack(HOURS).replace("when", ""), "Unnamed: 0"),
        (stack(range(168)), "when"),
        (stack(range(168)).replace("when", "c"), None),
        (stack([20240131, 20240132, 20240133]).replace("when", "c"), None),
        (stack(["may", "june", "a"]), None),
        (stack(["10-20-30", "11-20-30", "12-20-30"]), None),
        (stack(["00:15", "00:30", "00:45"]), None),
    ],
)
def test_the_column_of_dates_is_the_time_where_there_is_one(read, text, name):
    table, times, _ = read(text, find_time=True)
    assert table.time == name
    assert (times is None) == (name is None)
    assert "load" in table.columns
    assert name not in (*table.columns, *table.left_out)
    # Nothing is taken for the time unless that is asked for.
    plain, times, _ = read(text)
    assert plain.time is times is None


@pytest.mark.parametrize(
    ("text", "kind", "row", "advice"),
    [
        (stack(HOURS, HOURS).replace("when", "c"), "two times", 0, "--time.*--no-time"),
        (stack(HOURS[::-1], HOURS[::-1]), "two times", 0, "--time.*--no-time"),
        (stack([*HOURS, "Total"]), "not a time", 169, "delete the row.*--no-time"),
        (stack([*HOURS, ""]), "no time", 169, "delete the row.*--no-time"),
        (stack(["1/2/2024", "1/3/2024"]), "times unread", 0, "day.*--no-time"),
        (stack([day for day in HOURS for _ in "AB"]), "same time", 2, "--panel"),
        (
            "date,shop,sold\n"
            + "".join(f"{day[:10]},{shop},{place}\n" for place, day in enumerate(HOURS[::24]) for shop in "ab"),
            "stacked",
            0,
            "--panel shop",
        ),
        (
            "date,sold,shop no\n" + "".join(f"{day[:10]},5,{shop}\n" for shop in "12" for day in HOURS[::24]),
            "stacked",
            0,
            "--panel 'shop no'",
        ),
        (stack(2 * HOURS), "earlier time", 169, "--panel.*--no-time"),
    ],
)
def test_dates_that_are_no_times_are_told_with_the_way_on(read, text, kind, row, advice):
    trouble = refused(read, text, find_time=True)
    assert (trouble.kind, trouble.place.row) == (kind, row)
    assert re.search(advice, word(trouble))


def test_a_date_and_a_time_of_day_beside_it_make_a_time(read):
    _, expected, _ = read(stack(HOURS), find_time=True)
    days, clocks = [h[:10] for h in HOURS], [h[11:] for h in HOURS]
    for text in (
        stack(days, clocks),
        stack(days, [int(clock[:2]) for clock in clocks]).replace("c0", "hour"),
        stack([day.replace("-", "") for day in days], clocks),
        stack([f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days], clocks),
    ):
        table, times, _ = read(text, find_time=True)
        assert_array_equal(times, expected)
        assert table.columns == ("load",)


STACKED = [(region, f"year {year}") for region in ("north", "south", "east") for year in range(1990, 2000)]


@pytest.mark.parametrize("order", ["blocks", "interleaved"])
@pytest.mark.parametrize("words", ["one column", "two columns"])
def test_stacked_series_are_asked_about_also_where_times_are_unread(read, order, words):
    rows = STACKED if order == "blocks" else sorted(STACKED, key=lambda row: row[1])
    name = "region" if words == "one column" else "region,purpose"
    lines = []
    for n, (region, year) in enumerate(rows):
        if words == "one column":
            lines.append(f"{year},{region},{n}")
        else:
            lines += [f"{year},{region},{purpose},{2 * n + k}" for k, purpose in enumerate(("work", "play"))]
    trouble = refused(read, f"at,{name},sold\n" + "\n".join(lines) + "\n", find_time=True)
    assert trouble.kind == "stacked"
    assert all(f"--panel {one}" in word(trouble) for one in name.split(","))
    # Who says that rows are steps is not asked.
    assert read(f"at,{name},sold\n" + "\n".join(lines) + "\n")[0].time is None


def test_words_in_blocks_of_one_length_are_noted_and_others_are_not(read):
    table, _, _ = read("x,mode\n" + "".join(f"{n % 7},{'abc'[n // 10]}\n" for n in range(30)), find_time=True)
    assert [note.kind for note in table.notes] == ["blocks"]
    table, _, _ = read(
        "x,mode\n" + "".join(f"{n % 7},{'on' if n > 11 else 'off'}\n" for n in range(30)), find_time=True
    )
    assert [note.kind for note in table.notes] == ["blocks"] * 0 or table.notes == []


def test_lost_times_are_the_first_note(read):
    table, _, _ = read("when,x,on\n" + "".join(f"0{n}:00,{n % 3},true\n" for n in range(9)), find_time=True)
    assert table.time is None
    assert [note.kind for note in table.notes] == ["times lost", "truths"]


def test_a_table_without_a_header_has_all_its_rows_and_says_so(read):
    table, times, values = read(stack(HOURS).removeprefix("when,load\n"), find_time=True)
    assert [note.kind for note in table.notes] == ["no header"]
    assert (table.time, table.columns, len(times)) == ("column 1", ("column 2",), len(HOURS))
    assert_array_equal(values[:, 0], np.arange(len(HOURS)))
    assert not read(stack(HOURS), find_time=True)[0].notes


@pytest.mark.parametrize(
    ("text", "headless"),
    [
        ("50.12573022109339\n49.8\n51.2\n50.4\n", True),
        ("5;8\n6;8,5\n4;9\n", True),
        ("5,,7\n6,1,8\n4,2,9\n", True),
        ("7\n8\n7\n9\n", True),
        ("2019,2020,2021\n310,295,301\n287,301,300\n", False),
        ("0,1,2\n1,0,3\n2,1,1\n", False),
        ("1,2,3\n0.31,2.2,1.7\n0.5,2.9,3.1\n", False),
        ("load,7\n5,8\n6,7\n", False),
    ],
)
def test_a_first_line_of_numbers_like_those_below_is_a_row(read, text, headless):
    table, _, values = read(text)
    assert (["no header"] if headless else []) == [note.kind for note in table.notes]
    assert len(values) == text.count("\n") - (not headless)


def test_who_names_a_column_by_its_number_is_not_asked(read):
    assert not read("7\n8\n7\n9\n", columns=["7"])[0].notes


@pytest.mark.parametrize("chunk_rows", [2, 1000])
def test_true_and_false_are_one_and_zero_in_either_format(read, tmp_path, chunk_rows):
    table, _, values = read("open,x\nTrue,5\nFALSE,6\n,7\n true,8\n", chunk_rows=chunk_rows)
    assert (table.columns, [note.kind for note in table.notes]) == (("open", "x"), ["truths"])
    assert_array_equal(values[:, 0], [1, 0, np.nan, 1])
    for cells in ([True, False, True, True], [True, False, None, True]):
        pd.DataFrame({"open": cells}).to_parquet(tmp_path / "open.parquet")
        table = read_table(tmp_path / "open.parquet", chunk_rows=chunk_rows)
        values = np.concatenate([rows.values[:, 0] for rows, _ in table.chunks])
        assert_array_equal(values, np.array(cells, float))
        assert [note.kind for note in table.notes] == ["truths"]


def test_other_words_among_true_and_false_are_told(read):
    trouble = refused(read, "open\n" + "True\nFalse\n" * 30 + "maybe\n", chunk_rows=2)
    assert (trouble.kind, trouble.place.row, trouble.place.column) == ("not a number", 61, "open")


def test_a_number_missing_in_the_first_row_makes_no_date(tmp_path):
    frame = pd.DataFrame({"when": HOURS, "load": pd.array([None, *range(167)], dtype="Int64")})
    frame.to_parquet(tmp_path / "table.parquet")
    table = read_table(tmp_path / "table.parquet", find_time=True)
    assert (table.time, table.columns) == ("when", ("load",))


def test_a_column_that_is_to_be_forecast_is_no_time(read):
    table, times, _ = read("day,load\n20240131,1\n20240201,2\n", columns=["day"], find_time=True)
    assert times is table.time is None


PUT_BACK = ["2024-10-27 01:00", "2024-10-27 02:00", "2024-10-27 02:00", "2024-10-27 03:00"]
HALVES = ["2024-10-27 02:00", "2024-10-27 02:30", "2024-10-27 02:00", "2024-10-27 02:30", "2024-10-27 03:00"]


@pytest.mark.parametrize("chunk_rows", [2, 3, 1000])
@pytest.mark.parametrize(
    ("times", "row", "advice", "not_said"),
    [
        ([*range(5), 2, *range(5, 9)], 6, "correct its time, or sort the rows by time if it came late", "series"),
        (
            [3, 4, 5, 1, 6, 7],
            4,
            "the next row goes on after the one before; correct its time, or delete the row",
            "sort",
        ),
        ([3, 4, 99, 5, 6, 7], 4, "correct the time of the row before, or delete that row", "sort"),
        (range(9, 0, -1), 2, "the rows run backwards: sort them by time, the oldest first", "series"),
        ([*range(5), *range(5)], 6, "sort the rows by time, or, if the table stacks several series", "correct"),
        ([0, 1, 1, 2], 3, "keep one row per time, or, if the table stacks several series, name the c", "offset"),
        (PUT_BACK, 3, r"if clocks were put back here, write times with their offset, as 2024-10-27 02:00\+02", "sort"),
        (HALVES, 3, "if clocks were put back here", "sort"),
        ([time for time in PUT_BACK[::3] for _ in "AB"], 2, "if the table stacks several series", "clocks"),
    ],
)
def test_times_that_do_not_rise_are_told_what_is_likely_wrong(read, times, row, advice, not_said, chunk_rows):
    with pytest.raises(TableError, match=f"row {row}, column 'when'") as problem:
        read(stack(list(times)), time="when", chunk_rows=chunk_rows)
    if chunk_rows == 1000:  # what comes after a row is seen only where it is in the same chunk
        assert re.search(advice, str(problem.value))
        assert not_said not in str(problem.value)


@pytest.mark.parametrize("chunk_rows", [2, 1000])
@pytest.mark.parametrize("separator", [",", ";"])
def test_rows_of_separators_below_a_table_are_no_rows(read, separator, chunk_rows):
    below = f"{separator}{separator}\n"
    text = PLAIN.replace(",", separator)
    table, times, values = read(text + 3 * below, time="when", chunk_rows=chunk_rows)
    _, expected_times, expected = read(PLAIN, time="when")
    assert_array_equal(values, expected)
    assert_array_equal(times, expected_times)
    assert [(note.kind, note.given) for note in table.notes] == [("blank end", 3)]
    # Between rows they may be samples without values.
    _, _, values = read(f"a{separator}b\n1{separator}2\n{separator}\n3{separator}4\n", chunk_rows=chunk_rows)
    assert_array_equal(values, [[1, 2], [np.nan, np.nan], [3, 4]])


def test_text_far_down_in_a_column_that_nobody_named_leads_to_naming_columns(read):
    text = stack([str(n) for n in range(60)] + ["X"])
    with pytest.raises(TableError, match=r"row 61, column 'when': 'X' is not a number.*name .* with --column"):
        read(text)
    with pytest.raises(TableError, match=r"'X' is not a number(?!.*--column)"):
        read(text, columns=["when"])


@pytest.mark.parametrize("options", [{}, {"columns": ["load"]}])
def test_a_table_cut_at_blanks_is_told_where_columns_are_cut(read, options):
    with pytest.raises(TableError, match="Columns are cut at commas"):
        read("load temp\n1 2\n3 4\n", "txt", **options)


def test_the_index_that_pandas_writes_into_a_csv_file_is_no_column_to_forecast(read):
    table, _, _ = read(",load\n0,5\n1,6\n")
    assert table.columns == ("load",)
    assert table.left_out["Unnamed: 0"].kind == "index"
    assert read(",load\n0,5\n7,6\n")[0].columns == ("Unnamed: 0", "load")


LARGE = 2**53 + 1  # the first whole number that float64 does not have


@pytest.mark.parametrize(("header", "row"), [("x", f"{LARGE}"), ("time,x", f"{LARGE},1"), ("x", f"-{LARGE}")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_whole_numbers_are_not_rounded_without_a_word(tmp_path, ending, header, row):
    path, first = tmp_path / f"t.{ending}", ",".join("1" for _ in header.split(","))
    if ending == "csv":
        path.write_text(f"{header}\n{first}\n{row}\n")
    else:
        columns = zip(header.split(","), first.split(","), row.split(","), strict=True)
        pd.DataFrame({name: [int(one), int(other)] for name, one, other in columns}).to_parquet(path)
    time = "time" if "time" in header else None
    with pytest.raises(TableError, match=rf"row 2, column .*{LARGE}'? has more digits than a float64"):
        list(read_table(path, ["x"], time).chunks)


def test_large_numbers_that_float64_has_are_read(read):
    _, _, values = read(f"x\n{2**60}\n{-(2**54)}\n12345678901234567890.5\n")
    assert_array_equal(values[:, 0], [2.0**60, -(2.0**54), 12345678901234567890.5])


def test_every_float64_is_read_as_it_was_written(read, rng):
    written = rng.normal(size=500) * 10.0 ** rng.integers(-20, 20, size=500)
    _, _, values = read("x\n" + "\n".join(repr(value) for value in written.tolist()) + "\n")
    assert_array_equal(values[:, 0], written)


@pytest.mark.parametrize(
    ("cells", "separator", "marks"),
    [
        (["5", "high", "1,5", "1.5"], ";", (",", "")),
        (["1.5", "1,5"], ";", (".", "")),
        (["5", "high", "31.1.2024"], ";", (",.", "")),
        (["1,234", "5,678"], "\t", (".", "1,234")),
        (["1,234", "5,6"], "\t", (",", "")),
        (["1,234"], ";", (",", "")),
        (["1,5"], ",", (".", "")),
    ],
)
def test_the_first_number_with_a_decimal_mark_decides(cells, separator, marks):
    assert decimal_marks(cells, separator) == marks
