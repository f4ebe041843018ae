"""What is wrong with a table, a row or a cell: a value with its kind and place, and one function that words it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["KINDS", "Place", "TableError", "Trouble", "list_reasons", "list_some", "reason", "unusable", "word"]


class Place(NamedTuple):
    """Where: a file or a stream, its line or its row (the header not counted), and its column; what is known of it.

    >>> str(Place("load.csv", row=3, column="load"))
    "load.csv, row 3, column 'load'"
    """

    source: str = ""
    line: int = 0
    row: int = 0
    column: str = ""

    def __str__(self) -> str:
        parts = [self.source, f"row {self.row}" if self.row else f"line {self.line}" if self.line else ""]
        return ", ".join(part for part in (*parts, f"column {self.column!r}" if self.column else "") if part)


class Trouble(NamedTuple):
    """Something that is not as it should be.

    >>> trouble = Trouble("not a number", Place("pump.csv", line=3, column="flow"), "'high'")
    >>> word(trouble, stream=True)
    "pump.csv, line 3, column 'flow': 'high' is not a number; it counts as missing."
    >>> word(trouble._replace(advice="correct it"))
    "pump.csv, line 3, column 'flow': 'high' is not a number; correct it."
    """

    kind: str  # one of `KINDS`
    place: Place = Place()
    given: Any = ""  # what stands there, shortened for a message
    advice: str = ""  # what to do, where it is not what is always done about this kind
    more: tuple[Any, ...] = ()  # what else the sentence names


_LEFT_OUT, _MISSING, _READ_SO = "the row is left out", "it counts as missing", "rows are read by it from here on"
_DATES = "write dates as 2024-01-31 12:00, or name another column with --time"
_DIVIDE = "correct it, or divide the column by a constant"
_NO_SAMPLE = "delete the row if it is not a sample (blank, a total, a unit)"
_ROW = "correct it, or delete the row"
# What is the matter, and what to do about it in a table. A stream leaves out the cell …
_CELLS = {
    "not a number": (
        ": {given} is not a number",
        "correct it, leave the cell empty if the value is missing, " + _NO_SAMPLE,
    ),
    "too large": (": {given} is beyond {0:g}, and squares of such numbers are infinite", _DIVIDE),
    "other mark": (
        ": {given} does not have the decimal mark of the numbers before it",
        "write all numbers alike, without separators of thousands",
    ),
    "thousands": (
        ": the comma of {given} may be a decimal comma or separate thousands",
        "write numbers with a decimal point",
    ),
    "no such column": (": there is no such column in this row", _ROW),
}
# … or the row, …
_ROWS = {
    "no series": (" is empty", "name the series of every row"),
    "not text": (" holds bytes that are not text", _ROW),
    "too long": (" is {given:,} bytes long, and a row has at most {0:,}", _ROW),
    "not JSON": (" is not JSON ({given})", _ROW),
    "not an object": (" is not a JSON object but {given}", _ROW),
    "quotes": (" cannot be read as CSV: its quotes do not close, or stand where none may stand", _ROW),
    "cells": (
        " has {given} fields, but the header has {0}",
        "delete lines above the header, name every column in it, and quote fields that hold the separator",
    ),
    "no time": (": there is no time", "write one, or " + _NO_SAMPLE),
    "not a time": (
        ": {given} is not a {0}, or not written like those before",
        "write it as 2024-01-31 12:00, or " + _NO_SAMPLE,
    ),
    "other zone": (": {given} {0} a time zone, and times before it {1}", "write all times alike"),
    "same time": (": {given} is the same time as the row before", _ROW),
    "earlier time": (": {given} is an earlier time than the row before", _ROW),
    "series again": (": series {0} has had a row at {given} before", "keep one row per series and time"),
    "late": (": its time {given} is not after {0}", _ROW),
    "beyond": (": its time {given} is more than {0:g} usual steps after {1}", ""),
    "ahead": (": its time {given} is far ahead, and line {0} goes on at {1}", ""),
}
# … and these it does not meet, or passes over.
_TABLES = {
    "long gap": (
        " is {given} steps after the row before",
        "correct its time, begin the table with this row, or pass a longer step by --every (it is {0:g})",
    ),
    "no header": (
        " has no header, since its first line looks like a row: its columns are called {given}",
        "if that line is a header, name a column with --column",
    ),
    "separator": (
        ": its header {given} can be cut at {0}, and its rows do not say which is meant",
        "rename the columns so that only the separator is left",
    ),
    # files
    "no file": (": there is no such file", "check the path"),
    "empty file": (" is empty", "pass a table with a header and rows"),
    "blank": (" holds no rows, only blank lines", "pass a CSV file with a header, or one JSON object in each line"),
    "no rows": (" has a header and no rows", "pass a table with rows; `watch --follow` waits for some"),
    "binary": (" is a binary file", "pass text: CSV, or one JSON object in each line"),
    "array": (" is one JSON array", "write one object in each line, for example by: jq -c '.[]' {given} > rows.jsonl"),
    "ending": (": files ending in {given} are not read", "pass a .csv, .jsonl or .parquet file"),
    "encoding": (
        " is not UTF-8: it holds the byte 0x{given:02x}",
        "save it as 'CSV UTF-8', or convert it: iconv -f {0} -t utf-8 {1} > utf8.csv",
    ),
    "gzip": (" is not a complete gzip file ({given})", "compress or copy it again"),
    "parquet": (" is not a Parquet file, or is damaged ({given})", "pass a whole one"),
    "blank end": (": blank rows at the end of the table skipped: {given}", ""),
    "unusable": (": {given}", ""),
    # columns
    "no column": (" has no column {given}", "{0}"),
    "twice": (": --column {given} is given twice", "name each column once"),
    "no numbers": (" has no column of numbers under its header {given}{0}", "{1}"),
    "truths": (" holds True and False, which are read as 1 and 0", ""),
    "empty so far": (
        " is empty so far, and watched from the first number on",
        "name the columns to watch with --column to leave it out",
    ),
    "words": (": {given} is not a number", ""),
    "times": (": it holds times", ""),
    "empty": (": it holds no value in its first {given} rows", ""),
    "counts": (": it counts; --column names it all the same", ""),
    "index": (": it is an index that pandas wrote; --column names it all the same", ""),
    "clock": (": it runs like a clock; --time {given} reads it as the times, --column {given} as numbers", ""),
    # the column of times
    "two times": (": the columns {given} {0}", "name the one of the times with --time{1}"),
    "taken for times": (" rises like a clock and is taken for the times", "--column {given} reads it as numbers"),
    "may be times": (
        " rises in all of its first {0} rows and is read as numbers",
        "if it holds the times, pass --time {given}",
    ),
    "times lost": (
        " may hold the times, but {0}: rows are numbered",
        "if it holds the times, write them as 2024-01-31 12:00 and pass --time {given}",
    ),
    "times unread": (": {0}", _DATES + "{1}"),
    "stacked": (" stacks several series, told apart by {given}", "pass {0} to read each by itself{1}"),
    "blocks": (
        ": {given} comes in blocks of rows, as where several series are stacked; rows are read as one series",
        "pass {0} to read each by itself",
    ),
    "series differ": (
        ": {given} is not what another series has at the same time, and an input is one for all series",
        "forecast each series by itself, or leave the input out",
    ),
    "panel numbers": (" has {given} columns of numbers beside {0}", "name one with --column"),
}
# Of others: what is the matter, what a stream does about it, and what to do about a table.
_OTHERS = {
    "too small": (
        ": {given} is closer to 0 than {0:g}, where numbers lose their digits",
        "it counts as 0",
        "write 0, or multiply the column by a constant",
    ),
    "digits": (
        ": {given} has more digits than a float64, which would hold {0}",
        "it is rounded",
        "subtract a constant from the column, or divide it by one",
    ),
    "many late": (
        ": {given} rows in a row are not after {0}, and rows are left out until then",
        "if that time is wrong, or the clock was set back for good, begin another --out",
        "",
    ),
    "held": (
        ": its time {given} is {0:,.0f} usual steps after {1}",
        "it is held until the next row says whether time goes on from there",
        "",
    ),
    "other step": (
        ": the last {given} readings came every {0:g}, and {1:g} was usual",
        "each counts for as long as it lasted (for another step begin another --out, with --every {0:g})",
        "",
    ),
    "header again": (" is the header once more", "it is skipped", _ROW),
    "other header": (" is another header", "rows are read by it from here on", _ROW),
    "header without": (
        " is a header without {given}",
        "rows are read by it from here on, and {given} counts as missing",
        _ROW,
    ),
}
# Of each kind: what is the matter, what a stream does about it, and what to do about a table, which is read as a whole.
KINDS: dict[str, tuple[str, str, str]] = {
    **{kind: (what, _MISSING, advice) for kind, (what, advice) in _CELLS.items()},
    **{kind: (what, _LEFT_OUT, advice) for kind, (what, advice) in _ROWS.items()},
    **{kind: (what, "", advice) for kind, (what, advice) in _TABLES.items()},
    **_OTHERS,
}


def reason(trouble: Trouble) -> str:
    """What is the matter, without the place and without advice.

    >>> reason(Trouble("empty", Place(column="load"), 50))
    'it holds no value in its first 50 rows'
    """
    return KINDS[trouble.kind][0].format(*trouble.more, given=trouble.given).removeprefix(": ").strip()


def word(trouble: Trouble, *, stream: bool = False, strict: bool = False) -> str:
    """A trouble as a sentence.

    It ends with what to do; in a `stream`, with what is done about it, as by one that reads on; if reading stops there
    (`strict`), with both.

    >>> word(Trouble("no time", Place("a.csv", 4)), strict=True)
    'a.csv, line 4: there is no time; correct it and start again, or omit --strict: then the row is left out.'
    """
    what, then, advice = (text.format(*trouble.more, given=trouble.given) for text in KINDS[trouble.kind])
    what = f"{trouble.place}{what}".removeprefix(": ").lstrip()
    if strict:
        # That line has been read, and its correction would not be.
        way = "start again to go on without it" if trouble.kind == "ahead" else "correct it and start again"
        return f"{what}; {way}, or omit --strict: then {then}."
    then = then if stream else trouble.advice or advice
    return f"{what}; {then}." if then else f"{what}."


def list_reasons(left_out: Mapping[str, str], most: int = 8) -> str:
    """All columns that are not read, in one line, those with the same reason together.

    >>> list_reasons({"a": "it counts", "b": "it holds no value", "c": "it counts"})
    "'a', 'c' (it counts), 'b' (it holds no value)"
    """
    names: dict[str, list[str]] = {}
    for name, why in left_out.items():
        names.setdefault(why, []).append(repr(name))
    parts = [f"{list_some(which, most)} ({why})" for why, which in names.items()]
    return list_some(parts, most)


def list_some(names: Iterable[str], most: int = 20) -> str:
    """The first of some names, and how many more there are: "a, b and 2 more"."""
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


class TableError(ValueError):
    """A table cannot be used as it is; the message names the row, the column and what to do.

    It takes the trouble, which words the message; or a message of one's own.

    >>> from hippozoo.tables import TableError, read_table
    >>> try:
    ...     read_table("nowhere.csv")
    ... except TableError as error:
    ...     print(error.trouble.kind, "|", error)
    no file | nowhere.csv: there is no such file; check the path.
    """

    def __init__(self, what: Trouble | str) -> None:
        super().__init__(what if isinstance(what, str) else word(what))
        self.trouble = None if isinstance(what, str) else what


def unusable(source: str, why: str) -> TableError:
    """The error of a table that was read well and cannot be used."""
    return TableError(Trouble("unusable", Place(source), why))
