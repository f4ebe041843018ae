"""Signals to explore: built in, or a column of the user's file; always finite, evenly spaced and not too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo.apps.tour.signals import pulse_wave
from hippozoo.memory.missing import hold_missing
from hippozoo.tables import TableError, read_table

__all__ = ["MOST_BYTES", "MOST_SAMPLES", "SIGNALS", "Loaded", "Uploaded", "built_in", "from_file"]

# The states of so many samples at order 256 take 40 MB; a longer file is shown from its end.
MOST_SAMPLES = 20_000
# What a browser may send at once; larger files are opened by `hippozoo explore FILE`.
MOST_BYTES = 64 * 1024 * 1024
FEWEST_SAMPLES = 20


@dataclass(frozen=True, eq=False)
class Loaded:
    """A signal ready to be explored.

    Examples
    --------
    >>> built_in("pulse wave").values.shape
    (3000,)
    """

    name: str  #: What it is called on the page; shown as plain text.
    values: Float[np.ndarray, " time"]  #: One number for each sample, all of them finite.
    dt: float  #: Time between two samples.
    unit: str  #: Of time; empty where rows are steps.
    code: str  #: The line of Python that loads it, for "show the code".
    notes: tuple[str, ...] = ()  #: What was done to it, in sentences.
    column: str = ""  #: Of the file it came from; empty without a file.

    @property
    def duration(self) -> float:
        """Length of the signal in its unit of time."""
        return len(self.values) * self.dt


def _chirp() -> Float[np.ndarray, " time"]:
    time = np.arange(3000) / 100
    return np.sin(2 * np.pi * (0.1 * time + 0.03 * time**2))


def _load() -> Float[np.ndarray, " time"]:
    """Twelve weeks of hours: days, weekends, a slow change, and weather."""
    hour, rng = np.arange(12 * 7 * 24), np.random.default_rng(1)
    day = np.sin(2 * np.pi * (hour - 9) / 24) + 0.4 * np.sin(4 * np.pi * (hour - 6) / 24)
    weather = np.zeros(hour.size)
    for t, kick in enumerate(rng.normal(scale=0.6, size=hour.size - 1)):
        weather[t + 1] = 0.97 * weather[t] + kick
    return 50 + 9 * day - 6 * (hour // 24 % 7 >= 5) + weather


def _steps() -> Float[np.ndarray, " time"]:
    rng = np.random.default_rng(2)
    levels = rng.normal(size=60)
    return np.repeat(levels, rng.integers(10, 90, size=60))[:3000]


def _walk() -> Float[np.ndarray, " time"]:
    return np.random.default_rng(3).normal(scale=0.1, size=3000).cumsum()


def _bursts() -> Float[np.ndarray, " time"]:
    """A minute of silence with three bursts, none of them in the last fifteen seconds."""
    time = np.arange(1500) / 25
    envelope = np.exp(-(((time[:, None] - [6.0, 24.0, 42.0]) / 0.8) ** 2)).sum(axis=1)
    return envelope * np.sin(2 * np.pi * 0.8 * time)


_BUILT_IN: dict[str, tuple[Callable[[], np.ndarray], float, str]] = {
    "pulse wave": (lambda: pulse_wave(seconds=30.0, rate=100.0), 0.01, "s"),
    "chirp": (_chirp, 0.01, "s"),
    "hourly load": (_load, 1.0, "h"),
    "three bursts": (_bursts, 0.04, "s"),
    "steps": (_steps, 1.0, ""),
    "random walk": (_walk, 1.0, ""),
}
SIGNALS = tuple(_BUILT_IN)


def built_in(name: str) -> Loaded:
    """One of the built-in signals, by its name in `SIGNALS`.

    Examples
    --------
    >>> SIGNALS
    ('pulse wave', 'chirp', 'hourly load', 'three bursts', 'steps', 'random walk')
    >>> built_in("hourly load").unit
    'h'
    """
    if name not in _BUILT_IN:
        raise ValueError(f"there is no built-in signal {shorten(name)}; pass one of {', '.join(map(repr, SIGNALS))}.")
    make, dt, unit = _BUILT_IN[name]
    return Loaded(name, make(), dt, unit, f"loaded = built_in({name!r})")


def from_file(path: str | Path, column: str | None = None) -> Loaded:
    r"""A column of a CSV or Parquet file: gaps hold the last value, and a long file is taken from its end.

    Parameters
    ----------
    path
        The file, with a header.
    column
        Which column of numbers; the first one by default.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "load.csv"
    ...     _ = path.write_text("load\n" + "\n".join(map(str, range(30))))
    ...     from_file(path).values[-1]
    np.float64(29.0)
    """
    return Uploaded(Path(path).name, path).column(column)


class Uploaded:
    """A table that was read whole, of which any column can be explored."""

    def __init__(self, name: str, path: str | Path) -> None:
        self.name, self._path = name, Path(path)
        # The user knows the file by its name, not by where a copy of it lies.
        table = read_table(self._path, find_time=True, name=name)
        rows = [chunk for chunk, _ in table.chunks]
        self.columns, self.dates = table.columns, table.dates
        self._values = np.concatenate([one.values for one in rows])
        self._times = (
            None if rows[0].times is None else np.concatenate([one.times for one in rows if one.times is not None])
        )

    @classmethod
    def from_bytes(cls, name: str, content: bytes) -> Uploaded:
        """A file that came through the browser."""
        with TemporaryDirectory() as folder:
            suffix = Path(name).suffix.lower()
            path = Path(folder) / f"upload{suffix if suffix.isascii() and len(suffix) < 10 else ''}"
            path.write_bytes(content)
            return cls(name, path)

    def column(self, column: str | None = None) -> Loaded:
        """One column as a signal."""
        column = self.columns[0] if column is None else column
        if column not in self.columns:
            known = ", ".join(map(repr, self.columns[:20]))
            raise TableError(f"{self.name} has no column of numbers {column!r}; it has {known}.")
        values, notes = self._values[:, self.columns.index(column)], []
        present = np.isfinite(values)
        if present.sum() < FEWEST_SAMPLES:
            raise TableError(
                f"column {column!r} of {self.name} has {present.sum()} numbers; to explore, pass "
                f"{FEWEST_SAMPLES} at least."
            )
        values, times = values[present.argmax() :], None if self._times is None else self._times[present.argmax() :]
        if not np.isfinite(values).all():
            notes.append(f"{(~np.isfinite(values)).sum():,} values are missing; the last one before is held.")
            values = hold_missing(values, np.isfinite(values))
        dt, unit = 1.0, ""
        if times is not None:
            steps = np.diff(times)
            dt, unit = float(np.median(steps)), "s" if self.dates else ""
            dt, unit = _friendly(dt) if self.dates else (dt, unit)
            if np.ptp(steps) > 1e-6 * np.median(steps):
                notes.append("The times are uneven; here every row counts as one step of the usual length.")
        if len(values) > MOST_SAMPLES:
            notes.append(f"The last {MOST_SAMPLES:,} of {len(values):,} rows are shown.")
            values = values[-MOST_SAMPLES:]
        code = f"loaded = from_file({self.name!r}, {column!r})"
        return Loaded(f"{column} ({self.name})", np.ascontiguousarray(values), dt, unit, code, tuple(notes), column)


def _friendly(seconds: float) -> tuple[float, str]:
    """A step in the largest unit that leaves it at least one."""
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return seconds / length, unit
    return seconds, "s"
