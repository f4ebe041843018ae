"""What `forecast` reads in chunks, `watch` reads line by line, and the other way round: the same times and values."""

import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hippozoo.tables import TableError, read_panel, read_table
from hippozoo.tables.infer import infer_from_lines
from hippozoo.tables.records import Line, join_quoted
from hippozoo.tables.schema import Reading


def in_chunks(path, **options):
    table = read_table(path, find_time=True, chunk_rows=50, **options)
    rows = [rows for rows, _ in table.chunks]
    times = None if rows[0].times is None else np.concatenate([one.times for one in rows])
    return table.columns, times, np.concatenate([one.values for one in rows])


def lines_of(path):
    return [Line(k + 1, text) for k, text in enumerate(path.read_text().split("\n")) if text]


def by_lines(path, **options):
    lines = lines_of(path)
    schema = infer_from_lines(lines[:1000], path.name, **options).schema
    records = lines if schema.kind == "json" else join_quoted(lines, schema.separator, ended=True)[0]
    readings = [one for one in map(schema.read, records) if isinstance(one, Reading)]
    times = None if schema.time is None else np.array([one.time for one in readings])
    return schema.columns, times, np.array([one.values for one in readings])


def month(k):
    return datetime(2009 + k // 12, k % 12 + 1, 1, tzinfo=UTC)


def hour(k):
    return datetime(2024, 2, 28, tzinfo=UTC) + timedelta(hours=k)


def week(k):
    return datetime(2020, 12, 7, tzinfo=UTC) + timedelta(days=7 * k)


def quarter(k):
    return datetime(1998 + k // 4, 3 * (k % 4) + 1, 1, tzinfo=UTC)


WRITTEN = {
    "ISO": (hour, "{:%Y-%m-%d %H:%M}"),
    "ISO with T and Z": (hour, "{:%Y-%m-%dT%H:%M:%SZ}"),
    "offset": (hour, "{:%Y-%m-%d %H:%M}+00:00"),
    "day first, points": (hour, "{0.day}.{0.month}.{0.year} {0:%H:%M}"),
    "month first": (lambda k: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=k), "{:%m/%d/%Y}"),
    "order by even steps": (month, "{:%d/%m/%y}"),
    "digits": (lambda k: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=k), "{:%Y%m%d}"),
    "words": (month, "{:%d %B %Y}"),
    "months": (month, "{:%Y-%m}"),
    "years long ago": (lambda k: month(k).replace(year=1749 + k // 12), "{:%Y-%m}"),
    "days long ago": (lambda k: month(k).replace(year=1749 + k // 12), "{:%Y-%m-%d}"),
    "quarters": (quarter, "{0.year} Q{1}"),
    "quarters, joined": (quarter, "{0.year}Q{1}"),
    "quarters, year last": (quarter, "Q{1} {0.year}"),
    "weeks": (week, "{:%G-W%V}"),
    "weeks, joined": (week, "{:%GW%V}"),
    "months as statistics offices write them": (month, "{:%YM%m}"),
    "months by name": (month, "{:%b-%y}"),
    "days by name": (month, "{:%d-%b-%y}"),
    "as C writes them": (hour, "{:%a %b %d %H:%M:%S %Y}"),
    "as mails have them": (hour, "{:%a, %d %b %Y %H:%M:%S} GMT"),
    "halves of days": (hour, "{:%Y-%m-%d %I:%M %p}"),
    "slashes": (hour, "{0.year}/{0.month}/{0.day} {0:%H:%M}"),
    "seconds": (hour, "{2:.0f}"),
    "milliseconds": (hour, "{3:.0f}"),
    "microseconds": (hour, "{4:.0f}"),
    "nanoseconds": (hour, "{5:.0f}"),
}


@pytest.mark.parametrize("form", ["csv", "semicolon", "bar", "tab", "json"])
@pytest.mark.parametrize("written", WRITTEN)
def test_dates_are_the_same_moments_in_both(tmp_path, written, form):
    moment, pattern = WRITTEN[written]
    moments = [moment(k) for k in range(40)]
    texts = [
        pattern.format(one, (one.month + 2) // 3, *(unit * one.timestamp() for unit in (1, 1e3, 1e6, 1e9)))
        for one in moments
    ]
    path = tmp_path / f"table.{'jsonl' if form == 'json' else 'csv'}"
    if form == "json":
        quote = "" if written.endswith("seconds") else '"'
        rows = [f'{{"timestamp": {quote}{text}{quote}, "load": {k}.5}}' for k, text in enumerate(texts)]
    else:
        mark = {"csv": ",", "semicolon": ";", "bar": "|", "tab": "\t"}[form]
        cells = [f'"{text}"' if mark in text else text for text in texts]
        rows = [f"timestamp{mark}load", *(f"{text}{mark}{k}.5" for k, text in enumerate(cells))]
    path.write_text("\n".join(rows) + "\n")
    for columns, times, values in (in_chunks(path), by_lines(path)):
        assert columns == ("load",)
        np.testing.assert_array_equal(times, [one.timestamp() for one in moments])
        np.testing.assert_array_equal(values[:, 0], np.arange(40) + 0.5)


TABLES = {
    "decimal commas": "time;load\n2024-01-01;1,5\n2024-01-02;-2,25\n2024-01-03;3\n2024-01-04;4,0\n",
    "words for missing": "time,load\n2024-01-01,1\n2024-01-02,NA\n2024-01-03,\n2024-01-04,null\n2024-01-05,5\n",
    "true and false": "time,on\n2024-01-01,True\n2024-01-02,false\n2024-01-03,TRUE\n2024-01-04,False\n",
    "quoted line breaks": 'time,load,n\n2024-01-01,1,"a\nb"\n2024-01-02,2,"c"\n2024-01-03,3,"d ""e"""\n2024-01-04,4,\n',
    "quoted numbers": 'time,load\n"2024-01-01","1.5"\n"2024-01-02","2"\n"2024-01-03","3"\n"2024-01-04","4"\n',
    "blanks around": "time , load\n2024-01-01 , 1.5\n2024-01-02 ,2\n2024-01-03, 3\n2024-01-04,4 \n",
    "exponents": "time,load\n2024-01-01,1e3\n2024-01-02,-2.5E-3\n2024-01-03,+3\n2024-01-04,.5\n",
    "a blank line": "time,load\n2024-01-01,1\n\n2024-01-02,2\n2024-01-03,3\n2024-01-04,4\n",
    "no times": "load,temp\n3,1.5\n1,2.5\n4,0.5\n1,3.5\n",
    "no header": "2024-01-01,5\n2024-01-02,7\n2024-01-03,6\n2024-01-04,5\n",
    "no header, numbers": "5.5;8\n6.5;8\n4.5;9\n5.0;8\n",
    "names twice, and none": "time,a,a,\n2024-01-01,1,2,\n2024-01-02,3,1,\n2024-01-03,2,4,\n",
    "an index": ",time,a\n0,2024-01-01,2\n1,2024-01-02,1\n2,2024-01-03,4\n",
    "year and quarter": "year,quarter,a\n" + "".join(f"{2020 + k // 4},Q{k % 4 + 1},{k % 3}\n" for k in range(9)),
    "year and month": "yr,mon,a\n" + "".join(f"{2020 + k // 12},{k % 12 + 1},{k % 3}\n" for k in range(30)),
    "year and week": "year,week,a\n" + "".join(f"2020,{k + 1},{k % 3}\n" for k in range(30)),
    "date and time of day": "day,at,a\n" + "".join(f"2024-01-0{1 + k // 4},{k % 4}:30,{k % 3}\n" for k in range(12)),
    "date and hour": "d,hour,a\n" + "".join(f"{1 + k // 24}.1.2024,{k % 24},{k % 3}\n" for k in range(60)),
    "a clock of numbers": "t;a\n" + "".join(f"{5 * k},5;{k % 3}\n" for k in range(12)),
    "a column that counts": "nr,a\n" + "".join(f"{k},{k % 3}\n" for k in range(12)),
    "a zone": "time,a\n" + "".join(f"2024-01-01 0{k}:00+05:30,{k % 3}\n" for k in range(9)),
    "commas within": 'time,a,n\n2024-01-01,1,"x, y"\n2024-01-02,2, "z, y"\n2024-01-03,4,w\n',
    "header with two marks": "time;load, kW\n2024-01-01;2\n2024-01-02;3\n2024-01-03;2\n",
    "whole numbers beyond float64": "time,a\n1,2\n2,4503599627370496\n3,1\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_the_same_numbers_in_both(tmp_path, name):
    path = tmp_path / "table.csv"
    path.write_text(TABLES[name])
    one, other = in_chunks(path), by_lines(path)
    assert one[0] == other[0]
    np.testing.assert_array_equal(np.array(one[1], dtype=float), np.array(other[1], dtype=float))
    np.testing.assert_array_equal(one[2], other[2])


@pytest.mark.parametrize("dates", [["1/2/2024", "1/3/2024"], ["01/02/03", "01/02/04"]])
def test_an_order_that_nothing_tells_is_guessed_by_neither(tmp_path, dates):
    path = tmp_path / "table.csv"
    path.write_text("date,load\n" + "".join(f"{one},{k}\n" for k, one in enumerate(dates)))
    for attempt in (in_chunks, by_lines):
        with pytest.raises(TableError) as error:
            attempt(path)
        assert (error.value.trouble.kind, error.value.trouble.place.column) == ("times unread", "date")


@pytest.mark.parametrize(("cell", "kind"), [("1e120", "too large"), ("6e-309", "too small"), ("1\x00", "not text")])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_numbers_that_cannot_be_reckoned_with_are_named_by_both(tmp_path, cell, kind, ending):
    rows = [f"{day:02d}" for day in range(1, 20)]
    cells = [cell if k == 14 else f"{k}.5" for k in range(19)]
    path = tmp_path / f"table.{ending}"
    if ending == "csv":
        texts = ["time,load", *(f"2024-01-{day},{one}" for day, one in zip(rows, cells, strict=True))]
    else:
        texts = [f'{{"time": "2024-01-{day}", "load": "{one}"}}' for day, one in zip(rows, cells, strict=True)]
    path.write_text("\n".join(texts) + "\n")
    with pytest.raises(TableError, match=f"table.{ending}.* 1[56]") as error:
        in_chunks(path)
    if kind != "not text":
        assert "column 'load'" in str(error.value)
    schema = infer_from_lines(lines_of(path)[:10], "table").schema
    found = [schema.read(Line(k + 1, text)) for k, text in enumerate(texts)]
    troubles = [t for one in found if one is not None for t in ([one] if hasattr(one, "kind") else one.troubles)]
    assert [trouble.kind for trouble in troubles] == [kind]
    assert error.value.trouble.kind == kind


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_panel_is_the_same_series_in_both(tmp_path, ending):
    rows = [(f"2024-01-{k // 6 + 1:02d}", "ab"[k % 2], "xyz"[k % 3], float(k)) for k in range(60)]
    path = tmp_path / f"long.{ending}"
    if ending == "csv":
        path.write_text("day,region,use,n\n" + "".join(f"{d},{r},{u},{n}\n" for d, r, u, n in rows))
    else:
        path.write_text("".join(f'{{"day": "{d}", "region": "{r}", "use": "{u}", "n": {n}}}\n' for d, r, u, n in rows))
    for attempt in (in_chunks, by_lines):  # neither takes them for one series
        with pytest.raises(TableError) as error:
            attempt(path)
        assert error.value.trouble.kind == "stacked"
    table = read_panel(path, ["region", "use"])
    wide, _ = next(table.chunks)
    schema = infer_from_lines(lines_of(path), "long", series=("region", "use")).schema
    readings = [one for one in map(schema.read, lines_of(path)) if isinstance(one, Reading)]
    assert set(table.columns) == {one.series for one in readings} == {f"{r} / {u}" for r in "ab" for u in "xyz"}
    for one in readings:
        row = wide.times.tolist().index(one.time)
        assert wide.values[row, table.columns.index(one.series)] == one.values[0]


def test_an_object_that_is_none_is_named_by_file_and_line(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"x": 1}\n{"x": 2}\n[3]\n')
    with pytest.raises(TableError, match=r"table\.jsonl, line 3"):
        in_chunks(path)


@pytest.mark.parametrize("name", ["decimal commas", "quoted line breaks", "words for missing", "date and hour"])
def test_tables_are_read_without_pandas(tmp_path, monkeypatch, name):
    path = tmp_path / "table.csv"
    path.write_text(TABLES[name])
    expected = in_chunks(path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = in_chunks(path)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[2], expected[2])
