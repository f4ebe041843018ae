"""Dates one at a time, as they come in a stream."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hippozoo.tables.numbers import Numbers
from hippozoo.tables.table import import_pandas
from hippozoo.tables.times import Kind, Times, year_first

__all__ = ["OneDate", "iso_date"]


class OneDate:
    """Reads single dates as `Times` reads a column of them.

    Parameters
    ----------
    kind
        How they are written.
    digits
        The format of those that are written as one whole number.

    Examples
    --------
    >>> OneDate("day first").read("2.1.1970"), OneDate("digits", "%Y%m%d").read("19700102"), OneDate("dates").read("?")
    (86400.0, 86400.0, None)
    """

    def __init__(self, kind: Kind, digits: str = "") -> None:
        self.kind: Kind = kind
        self.digits = digits
        # Formats that pandas has found: it takes a millisecond for one date, and Python some microseconds.
        self._formats = [digits] if digits else []
        self._length = len(f"{datetime(2024, 1, 1, tzinfo=UTC):{digits}}") if digits else 0

    def read(self, text: str) -> float | None:
        """Seconds since 1970, in UTC where no zone is given; None if the text is no such date."""
        text = text.strip()
        if self.kind == "digits" and not (len(text) == self._length and text.isdecimal()):
            return None
        if self.kind in ("day first", "month first"):
            text = year_first(text, self.kind)
        moment = None if self.kind == "digits" else iso_date(text)
        for known in self._formats:
            moment = _by_format(text, known) if moment is None else moment
        return self._by_pandas(text) if moment is None and text and self.kind != "digits" else moment

    def _by_pandas(self, text: str) -> float | None:
        pandas = import_pandas()
        from pandas.tseries.api import guess_datetime_format

        # Times would turn a short date around once more.
        times = Times(pandas, Path(), "", Numbers(pandas, Path(), ","), "dates")
        found = times.parse(pandas.Series([text], dtype=str)).iloc[0]
        if pandas.isna(found):
            return None
        moment = float(found.timestamp())
        guessed = guess_datetime_format(text)
        if guessed and _by_format(text, guessed) == moment:
            self._formats.append(guessed)
        return moment


def iso_date(text: str) -> float | None:
    """Seconds since 1970 of a date in ISO 8601, in UTC where no zone is given; None if it is none."""
    try:
        return _seconds(datetime.fromisoformat(text))
    except ValueError:
        return None


def _by_format(text: str, known: str) -> float | None:
    try:
        return _seconds(datetime.strptime(text, known))
    except ValueError:
        return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
