"""The schema of a table or a stream, inferred from its first rows: the same for both."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables.dates import CLOCKS
from hippozoo.tables.numbers import Cells, decimal_marks, is_missing, mark_in, read_value, whole_numbers
from hippozoo.tables.records import Form, Line, read_object, recognise, split, surplus
from hippozoo.tables.schema import Schema
from hippozoo.tables.stacked import panel_option, stacked_series, stacked_without_times
from hippozoo.tables.times import PARTS, Times, find_times
from hippozoo.tables.trouble import Place, TableError, Trouble, list_reasons, list_some, reason

__all__ = ["LOOKED_AT", "Inferred", "first_series", "infer", "infer_from_lines"]

# So many of the first rows say how a source is read, and so many filled cells whether a column holds numbers.
LOOKED_AT, _FILLED = 1000, 50
# What pyarrow calls an index that pandas had no name for.
_NAMELESS_INDEX = "__index_level_"
_COUNTERS = frozenset({"index", "idx", "row", "rownum", "row_number", "id", "no", "nr", "number", "obs", "rownames"})
# Fewer rows do not show that a column counts.
_FEWEST = 8


class Inferred(NamedTuple):
    """What was found out: the schema, what a person should know, and the columns that are not read, each with why."""

    schema: Schema
    notes: list[Trouble]
    left_out: dict[str, Trouble]


def infer_from_lines(
    lines: Sequence[Line],
    source: str,
    columns: Sequence[str] = (),
    time: str | None = None,
    *,
    series: Sequence[str] = (),
) -> Inferred:
    """How to read a stream, from its first lines; arguments as of `infer`."""
    form, records = recognise(lines, source, [*columns, *series, *([time] if time else [])])
    cells = _cells_of(form, records)
    if not records:
        raise TableError(Trouble("no rows", Place(source)))
    if not any(map(len, cells.values())):
        raise TableError(_no_numbers(cells, {}, source, form))
    return infer(cells, form, source, columns, time, stream=True, series=series)


def _cells_of(form: Form, records: Sequence[Line]) -> dict[str, Cells]:
    """Records by column, those that cannot be cut left out."""
    if form.kind == "json":
        objects = [one for line in records if isinstance(one := read_object(line), dict)]
        names = dict.fromkeys(str(name) for one in objects for name in one)
        return {name: [one.get(name) for one in objects] for name in names}
    width = len(form.names)
    rows = [row for line in records if (row := split(line.text, form.separator)) and not surplus(row, width)]
    # A row of separators only is no row, and says nothing about any column.
    rows = [row for row in rows if not all(map(is_missing, row))]
    return {name: [row[k] for row in rows] for k, name in enumerate(form.names)}


def infer(
    cells: Mapping[str, Cells],
    form: Form,
    source: str,
    columns: Sequence[str] = (),
    time: str | None = None,
    *,
    stream: bool = False,
    find_time: bool = True,
    series: Sequence[str] = (),
) -> Inferred:
    """The schema that fits the first rows, which are given by column and were cut as `form` says.

    It reads the `columns`, or all that hold numbers and do not only count; `time`, or a column of times that it finds;
    `series` name the series of each row. In a `stream` rows that are wrong are left out later: then a column may hold
    some words, or be empty so far. Else it is left out.
    """
    names = list(cells)
    head = {name: some[:LOOKED_AT] for name, some in cells.items()}
    for name in (*columns, *series, *([time] if time else [])):
        if list(columns).count(name) > 1:
            raise TableError(Trouble("twice", Place(source), name))
        if name not in names:
            raise TableError(_no_column(name, names, source))
    notes: list[Trouble] = []
    if not form.header and not columns:
        notes.append(Trouble("no header", Place(source), list_some(map(repr, names))))
    marks = "."
    if form.kind == "csv":
        texts = [str(cell).strip() for row in zip(*head.values(), strict=True) for cell in row]
        marks, comma = decimal_marks(texts, form.separator)
        if comma:
            notes.append(Trouble("thousands", Place(source), repr(comma)))
            if not stream:
                raise TableError(notes[-1])
    free = [name for name in names if name not in columns and name not in series]
    times: Times | None = None
    if time is not None or find_time:
        looked_at = first_series(head, series) if series else head
        times, more = find_times(looked_at, free, time, source, stream=stream, whole=cells)
        notes = [*more, *notes] if times is None else [*notes, *more]
    if not series and (find_time or stream):
        _ask_whether_stacked(cells, free, times, source, notes, stream)
    taken = (*series, *(times.columns if times is not None else ()))
    left_out: dict[str, Trouble] = {}
    chosen = tuple(columns)
    if not columns:
        rest = [name for name in names if name not in taken]
        said = {note.place.column for note in notes if note.kind == "times lost"}
        without = _without_numbers(head, rest, form, marks, stream, notes)
        left_out = {name: why for name, why in without.items() if name not in said}
        chosen = tuple(name for name in rest if name not in without)
    if not chosen:
        raise TableError(_no_numbers(head, left_out, source, form))
    notes += [Trouble("truths", Place(column=name)) for name in chosen if _are_truths(head[name])]
    schema = Schema(
        form.kind,
        form.names if form.kind == "csv" else (),
        chosen,
        None if times is None else times.column,
        times is not None and times.dates,
        separator=form.separator,
        marks=marks,
        header=form.header,
        series=tuple(series),
    )
    if times is not None:
        schema = replace(schema, written=times.written, parts=times.parts, zoned=times.zoned)
    return Inferred(schema, notes, left_out)


def first_series(cells: Mapping[str, Cells], series: Sequence[str]) -> dict[str, Cells]:
    """The rows of the first series."""
    labels = list(zip(*(map(str, cells[name]) for name in series), strict=True))
    places = [k for k, label in enumerate(labels) if label == labels[0]]
    return {name: [some[k] for k in places] for name, some in cells.items()}


def _ask_whether_stacked(
    cells: Mapping[str, Cells],
    free: Sequence[str],
    times: Times | None,
    source: str,
    notes: list[Trouble],
    stream: bool,
) -> None:
    """Refuse a table that stacks several series as if they were one."""
    if times is None:
        found = stacked_without_times(cells, free)
        if found is not None:
            which, is_certain = found
            more = (panel_option(which), "; --no-time reads the rows as one series")
            given = ", ".join(map(repr, which))
            trouble = Trouble("stacked" if is_certain else "blocks", Place(source), given, more=more)
            if is_certain and not stream:
                raise TableError(trouble)
            notes.insert(0, trouble)
        return
    moments = [None if moment is None else moment[0] for moment in times.moments(cells)]
    known = [moment for moment in moments if moment is not None]
    if all(before < after for before, after in pairwise(known)):
        return
    which = stacked_series(moments, cells, [name for name in free if name not in times.columns])
    if which:
        given = ", ".join(map(repr, which))
        raise TableError(Trouble("stacked", Place(source), given, more=(panel_option(which), "")))


def _without_numbers(
    cells: Mapping[str, Cells], names: Sequence[str], form: Form, marks: str, stream: bool, notes: list[Trouble]
) -> dict[str, Trouble]:
    """The columns that are not read, and why."""
    reasons = {name: _why_no_numbers(name, cells[name], form, marks, stream) for name in names}
    if stream:
        for name in names:
            why = reasons[name]
            if why is not None and why.kind == "empty" and not name.startswith("Unnamed: "):
                reasons[name] = None
                notes.append(Trouble("empty so far", Place(column=name)))
    counting = {name: why or _why_it_counts(name, cells[name]) for name, why in reasons.items()}
    # Where nothing else is left, what counts is all there is to read.
    found = reasons if all(counting.values()) else counting
    return {name: why for name, why in found.items() if why is not None}


def _why_no_numbers(name: str, cells: Cells, form: Form, marks: str, stream: bool) -> Trouble | None:
    place = Place(column=name)
    if isinstance(cells, np.ndarray):
        return None
    filled = [(row, cell) for row, cell in enumerate(cells) if not is_missing(cell)][:_FILLED]
    if not filled:
        return Trouble("empty", place, len(cells))
    if not isinstance(filled[0][1], str | int | float):
        return Trouble("times", place) if hasattr(filled[0][1], "year") else Trouble("words", place, "what it holds")
    read = [(row, cell, *read_value(cell, marks)) for row, cell in filled]
    wrong = [(row, cell) for row, cell, value, kind in read if kind and np.isnan(value) and kind != "too large"]
    # A number with another mark than the others is one that has to be corrected.
    certain = [one for one in wrong if form.separator == "," or stream or not mark_in(str(one[1]).strip())]
    if not certain or (stream and len(certain) < len(filled)):
        return None
    row, cell = certain[0]
    return Trouble("words", place, f"{shorten(cell)} in row {row + 1}")


def _why_it_counts(name: str, cells: Cells) -> Trouble | None:
    """Why a column of numbers says where a row stands and nothing else; None if it may be worth reading."""
    place, spelled = Place(column=name), name.strip().lower()
    if name.startswith(_NAMELESS_INDEX):
        return Trouble("index", place)
    whole = whole_numbers(cells)
    if name == "Unnamed: 0" and whole is not None and whole.tolist() == list(range(len(whole))):
        return Trouble("index", place)
    values = whole if whole is not None else np.array([read_value(cell)[0] for cell in cells], float)
    if len(values) < _FEWEST or not np.isfinite(values).all():
        return None
    steps = np.diff(values)
    # One that runs backwards is no data either; read as the times, it is refused with advice.
    if spelled in CLOCKS and ((steps > 0).all() or (steps < 0).all()):
        return Trouble("clock", place, name)
    if whole is None:
        return None
    is_part = any(spelled in names and low <= whole.min() <= whole.max() <= high for names, low, high in PARTS.values())
    even = bool((steps == steps[0]).all() and steps[0] != 0)
    counts = is_part or (even and abs(steps[0]) == 1) or (even and spelled in _COUNTERS)
    return Trouble("counts", place) if counts else None


def _are_truths(cells: Cells) -> bool:
    filled = [cell for cell in cells if not is_missing(cell)]
    return bool(filled) and all(str(cell).strip().lower() in ("true", "false") for cell in filled)


def _no_column(name: str, names: Sequence[str], source: str) -> Trouble:
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}? It has" if near else "it has"
    known = f"{hint} {list_some(map(repr, names))}{_uncut(names)}"
    return Trouble("no column", Place(source), repr(name), more=(known,))


def _uncut(names: Sequence[str]) -> str:
    blanks = len(names) == 1 and len(names[0].split()) > 1
    return ". Columns are cut at commas, semicolons, tabs or bars, and its header has none of them" if blanks else ""


def _no_numbers(cells: Mapping[str, Cells], left_out: Mapping[str, Trouble], source: str, form: Form) -> Trouble:
    texts = (cell.strip() for some in cells.values() for cell in some if isinstance(cell, str))
    comma = next((text for text in texts if mark_in(text) == ","), None)
    advice = "correct these cells, delete rows that are no samples (units), or correct the header if it is none"
    if comma is not None and (form.separator == "," or form.kind == "json"):
        advice = (
            f"{comma!r} has a decimal comma, which is read where semicolons or tabs separate the columns: write them "
            f"so, or write numbers with a decimal point"
        )
    why = list_reasons({name: reason(one) for name, one in left_out.items()})
    return Trouble(
        "no numbers",
        Place(source),
        list_some(map(repr, cells)),
        more=(f": {why}" if why else "", advice + _uncut(list(cells))),
    )
