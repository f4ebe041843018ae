"""The work of a watch: lines in, batches committed, alarms told; after a crash it goes on as if there had been none."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import statistics
import time as clock
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from hippozoo import checkpoint
from hippozoo.watch_command.lines import STANDARD_INPUT, Line, Lines
from hippozoo.watch_command.problem import WatchError
from hippozoo.watch_command.rows import Header, Layout, Reading, layout_for
from hippozoo.watch_command.store import Alarm, Batch, FullDiskError, Kept, Progress, Store
from hippozoo.zoo.forecasting import Detector, ForecastStream, Pushed, forecaster_for
from hippozoo.zoo.forecasting import alarm as stream_alarm

__all__ = ["Settings", "Status", "Watch"]

# The state is kept after every so many readings: by their number, so that a restart changes nothing.
_SNAPSHOT = 2048
# From so many rows the usual step is found.
_FIRST_ROWS, _FEWEST_ROWS = 50, 3
_PAUSE, _FULL_DISK_PAUSE = 0.2, 5.0
# Steps times columns: a state of some 200 megabytes. SQLite holds no more than a gigabyte in one piece.
_MOST_CELLS = 10_000
# After so many steps in a row that are longer or shorter than the usual one by this share, it is said to have changed.
_MANY_STEPS, _SAME_STEP = 20, 0.25
# A clock that is so many usual steps ahead is wrong; and after so many late rows in a row it is said what can be done.
_TOO_FAR, _MANY_LATE = 1e9, 20
# No more whole alarms fit into 1,000 readings: after each the detector is silent for a while.
_MOST_ALARMS = 1000 // Detector.silence


@dataclass(frozen=True)
class Settings:
    """What a watch is asked to do.

    Parameters
    ----------
    source
        A path, or ``"-"`` for standard input.
    columns, time
        Which columns; found if left out.
    horizon
        Steps to forecast.
    season
        A period in steps, if one is known.
    every
        The usual step; found if left out.
    rate
        Alarms wanted per 1,000 quiet readings.
    follow
        Whether the file grows.
    strict
        Whether a row that is no reading stops the watch.
    keep
        How many readings stay in the database; None for all.
    batch
        Readings that are committed together, at the most.
    """

    source: str
    columns: tuple[str, ...] = ()
    time: str | None = None
    horizon: int = 24
    season: int | None = None
    every: float | None = None
    rate: float = 1.0
    follow: bool = False
    strict: bool = False
    keep: int | None = None
    batch: int = 1024


@dataclass(frozen=True)
class Status:
    """How a watch is doing, for the line on stderr; `lag` is how long ago the last reading was taken, in seconds."""

    readings: int
    alarms: int
    late: int
    left_out: int
    per_second: float
    time: float | None
    dates: bool
    lag: float | None = None
    last_alarm: float | None = None


class Watch:
    """One run of the command, from opening to the end of the source or a signal.

    Parameters
    ----------
    settings
        What to do.
    out
        The database.
    tell
        Called with each line for standard output: JSON, one alarm (or reading) each, after its commit.
    warn
        Called with sentences for people.
    all_readings
        Whether every reading is told, not only alarms.
    """

    def __init__(
        self,
        settings: Settings,
        out: Path,
        tell: Callable[[str], Any],
        warn: Callable[[str], Any],
        *,
        all_readings: bool = False,
        status: Callable[[Status], Any] | None = None,
        stdin: Any = None,
    ) -> None:
        self.settings, self.out = settings, out
        self.tell, self.warn, self.status = tell, warn, status
        self.all_readings, self.stdin = all_readings, stdin
        self._stop = False
        self._warned: Counter[str] = Counter()
        self._name = "standard input" if settings.source == STANDARD_INPUT else settings.source
        # Rows up to this time come again on standard input after a restart, and that is no trouble.
        self._sent_before = -math.inf

    def run(self) -> Status:
        """Watch until the source ends, or until SIGTERM or Ctrl-C; what was read by then is committed."""
        with self._signals(), self._opened() as (store, lines, layout, stream, first):
            self._tell_alarms(store, store.untold(), layout)
            return self._follow(store, lines, layout, stream, first)

    # -- opening ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[tuple[Store, Lines, Layout, ForecastStream, list[Line]]]:
        asked = self.settings
        known = {"source": asked.source, "horizon": asked.horizon, "season": asked.season, "rate": asked.rate}
        too_many = asked.rate > _MOST_ALARMS
        if Store.is_begun(self.out):
            if too_many:
                # It was begun before this was refused, and a database keeps its rate.
                self.warn(f"{self._too_many()}; begin another --out with at most {_MOST_ALARMS}.")
            found = Store.settings_of(self.out)
            layout = Layout(**{name: _tupled(value) for name, value in found["layout"].items()})
            self._demand_same(layout, found["every"])
            columns, every = layout.columns, float(found["every"])
            if self._is_same_source(found):
                known["source"] = found["source"]  # as it was called at first
            with Store(self.out, known | {"layout": found["layout"], "every": every}, columns) as store:
                if asked.source == STANDARD_INPUT and layout.time is None and store.progress.readings:
                    raise WatchError(
                        "standard input without times cannot be gone on with, since nothing says which rows are new; "
                        "add a column of times, or write to another --out."
                    )
                stream = self._replayed(store, layout, every)
                if asked.source == STANDARD_INPUT and store.progress.time is not None:
                    self._sent_before = store.progress.time
                with Lines(asked.source, store.progress.place, follow=asked.follow, stdin=self.stdin) as lines:
                    self._say_if_begun_anew(lines)
                    yield store, lines, layout, stream, []
            return
        if too_many:
            raise WatchError(f"{self._too_many()}; pass at most {_MOST_ALARMS}.")
        with Lines(asked.source, follow=asked.follow, stdin=self.stdin) as lines:
            first = self._first_lines(lines)
            notes: list[str] = []
            layout = layout_for(first, self._name, asked.columns, asked.time, notes)
            every = self._usual_step(first, layout)
            stream = self._stream(layout, every)  # settings that cannot be are refused before a file is made
            known |= {"layout": layout.as_settings(), "every": every}
            if asked.source != STANDARD_INPUT:
                known["path"] = os.path.abspath(asked.source)  # noqa: PTH100  (links may lead elsewhere one day)
            with Store(self.out, known, layout.columns) as store:
                for note in notes:
                    self.warn(note)
                yield store, lines, layout, stream, first

    def _too_many(self) -> str:
        return (
            f"--rate {self.settings.rate:g}: after each alarm {Detector.silence} readings are silent, so that so many "
            f"alarms cannot come in 1,000"
        )

    def _is_same_source(self, found: dict[str, Any]) -> bool:
        """Whether the source is the file that a database was begun with, whatever the path to it is now."""
        now, was = self.settings.source, found["source"]
        if now == was or STANDARD_INPUT in (now, was):
            return now == was
        if Path(now).resolve() == Path(found.get("path", was)).resolve():
            return True
        # Before paths were kept whole, nobody knows where a relative one began; the file is known by its number then.
        return "path" not in found and Path(now).exists() and Path(now).stat().st_ino == Store.place_of(self.out).inode

    def _demand_same(self, layout: Layout, every: float) -> None:
        """A database goes on with what it was begun with; what is asked for anew must agree."""
        asked = self.settings
        for name, now, was in (
            ("--column", ", ".join(asked.columns or layout.columns), ", ".join(layout.columns)),
            ("--time", asked.time if asked.time is not None else layout.time, layout.time),
            ("--every", asked.every if asked.every is not None else every, every),
        ):
            if now != was:
                raise WatchError(
                    f"{self.out} was made with {name} {was}, and now it is {now}; leave {name} out to go on as before, "
                    f"or write to another --out."
                )

    def _first_lines(self, lines: Lines) -> list[Line]:
        """Enough lines to see what the source holds; from one that grows they are waited for."""
        found: list[Line] = []
        while len(found) < _FIRST_ROWS + 1 and not lines.ended and not self._stop:
            more = lines.read()
            found += more
            if not more and not lines.ended:
                if len([line for line in found if line.text.strip()]) > _FEWEST_ROWS:
                    break
                lines.wait(_PAUSE)
        return found

    def _usual_step(self, first: Sequence[Line], layout: Layout) -> float:
        if self.settings.every is not None:
            if not 0 < self.settings.every < math.inf:
                raise WatchError(f"--every {self.settings.every:g}: a step is longer than 0; pass its length.")
            return float(self.settings.every)
        if layout.time is None:
            return 1.0
        readings = [one for one in map(layout.read, first[: _FIRST_ROWS + 1]) if isinstance(one, Reading)]
        times = [one.time for one in readings if one.time is not None]
        steps = [after - before for before, after in pairwise(times) if after > before]
        if len(steps) < _FEWEST_ROWS - 1 <= len(times) - 1:
            raise WatchError(
                f"{self._name}: the times in column {layout.time!r} do not rise in the first {len(times)} rows, so the "
                f"usual step between them cannot be seen; pass --every with its length, sort the rows by time, or name "
                f"another column with --time."
            )
        if len(steps) < _FEWEST_ROWS - 1:
            raise WatchError(
                f"{self._name} has too few rows with times to see the usual step between them; "
                f"pass --every with its length, or wait for more rows."
            )
        return float(statistics.median(steps))

    def _stream(self, layout: Layout, every: float) -> ForecastStream:
        most = _MOST_CELLS // len(layout.columns)
        if self.settings.horizon > most:
            raise WatchError(
                f"--horizon {self.settings.horizon} is too long for {_MOST_CELLS:,} forecasts in all, whose state has "
                f"to be kept again and again; pass at most {most} for {len(layout.columns)} columns."
            )
        horizon, season = self.settings.horizon * every, self.settings.season
        forecaster = forecaster_for(horizon, every, None if season is None else season * every)
        return ForecastStream(forecaster, len(layout.columns), rate=self.settings.rate)

    def _replayed(self, store: Store, layout: Layout, every: float) -> ForecastStream:
        """The stream as it was: the last snapshot, and the readings since, pushed once more."""
        kept = store.snapshot()
        stream = self._stream(layout, every) if kept is None else checkpoint.loads(kept[1])
        since = list(store.readings(stream.readings))  # no more than there are between two snapshots
        channels = len(layout.columns)
        values = [math.nan if one.value is None else one.value for one in since]
        times = None if layout.time is None else np.array([one.time for one in since[::channels]])
        stream.push_many(np.array(values).reshape(-1, channels), times)
        return stream

    # -- going on -----------------------------------------------------------------------------------------------------

    def _follow(self, store: Store, lines: Lines, layout: Layout, stream: ForecastStream, first: list[Line]) -> Status:
        progress, begun, at_start = store.progress, clock.monotonic(), stream.readings
        alarms, last_alarm = store.count_alarms(), store.last_alarm()
        waiting = list(first)
        told = 0.0
        while True:
            if not waiting:
                waiting = lines.read()
                self._say_if_begun_anew(lines)
            piece, waiting = waiting[: self.settings.batch], waiting[self.settings.batch :]
            refused: WatchError | None = None
            if piece:
                piece, refused = self._up_to_trouble(piece, layout, stream, progress)
            if piece:
                batch = self._batch(piece, layout, stream, progress, alarms)
                batch = replace(batch, progress=replace(batch.progress, place=lines.place_after(piece[-1])))
                self._commit(store, batch)
                progress, alarms = batch.progress, alarms + len(batch.alarms)
                last_alarm = batch.alarms[-1].time if batch.alarms else last_alarm
                self._tell_readings(batch, layout)
                self._tell_alarms(store, batch.alarms, layout)
            if refused is not None:
                raise refused
            now = clock.monotonic()
            pace = (stream.readings - at_start) / max(now - begun, 1e-9)
            behind = clock.time() - progress.time if layout.dates and progress.time is not None else None
            status = Status(
                stream.readings, alarms, progress.late, progress.left_out, pace, progress.time, layout.dates,
                behind if self.settings.follow else None, last_alarm,
            )  # fmt: skip
            if self.status is not None and now - told > 0.5:
                self.status(status)
                told = now
            if self._stop or (not piece and lines.ended):
                break
            if not piece:
                lines.wait(_PAUSE)
        if lines.torn is not None:
            text = f"line {lines.torn} of {self._name} has no end yet, so it may be half written: it is left for the "
            self.warn(f"{text}next run (if it is whole, end it with a newline).")
        kept = store.snapshot()
        if kept is None or kept[0] < stream.readings:
            final = Batch([], [], [], progress, (stream.readings, checkpoint.dumps(stream)))
            self._commit(store, final)
        return status

    def _batch(
        self, piece: Sequence[Line], layout: Layout, stream: ForecastStream, progress: Progress, alarms: int
    ) -> Batch:
        """Push the readings of some lines; nothing is written yet."""
        taken, after, troubles = self._read(piece, layout, stream, progress)
        for _, text in troubles:
            self._say(text)
        kept: list[Kept] = []
        raised: list[Alarm] = []
        snapshot = None
        for some in _pieces(taken, stream.readings):
            first = stream.readings
            values = np.array([one.values for one in some], float)
            times = None if layout.time is None else np.array([one.time for one in some], float)
            pushed = stream.push_many(values, times)
            moments = np.arange(first, stream.readings, dtype=float) if times is None else times
            kept += _kept(first, moments, values, pushed)
            for alarm in pushed.alarms:
                raised.append(_alarm(alarms + len(raised), float(moments[alarm.number - first]), alarm))
            if stream.readings % _SNAPSHOT == 0:
                snapshot = (stream.readings, checkpoint.dumps(stream))
        return Batch(kept, raised, troubles, replace(after, readings=stream.readings), snapshot)

    def _read(
        self, piece: Sequence[Line], layout: Layout, stream: ForecastStream, progress: Progress
    ) -> tuple[list[Reading], Progress, list[tuple[int, str]]]:
        """The readings of some lines, how far they lead, and a sentence about each line that is none."""
        taken: list[Reading] = []
        troubles: list[tuple[int, str]] = []
        if progress.names is not None:
            layout = replace(layout, names=progress.names)
        usual = float(stream.forecaster.dt)
        names, late, left_out, last = progress.names, progress.late, progress.left_out, progress.time
        unusual, since, behind = progress.unusual, progress.unusual_since, progress.behind
        for line in piece:
            reading = layout.read(line)
            if reading is None:
                continue
            if isinstance(reading, Header):
                troubles.append((line.number, reading.text))
                if reading.names != layout.names:
                    names, layout = reading.names, replace(layout, names=reading.names)
                continue
            if isinstance(reading, str):
                troubles.append((line.number, reading))
                left_out += 1
                continue
            moment = reading.time
            if moment is not None and last is not None:
                if moment <= last:
                    late += 1
                    if moment > self._sent_before:
                        text = f"line {line.number}: its time {_written(moment, layout)} is not after "
                        text += f"{_written(last, layout)}; the row is left out."
                        troubles.append((line.number, text))
                        behind += 1
                        if behind == _MANY_LATE:
                            text = (
                                f"line {line.number}: {behind} rows in a row are not after {_written(last, layout)}, "
                            )
                            text += "and rows are left out until then; if that time is wrong, or the clock was set "
                            troubles.append((line.number, f"{text}back for good, begin another --out."))
                    continue
                if moment - last > _TOO_FAR * usual:
                    text = f"line {line.number}: its time {_written(moment, layout)} is more than {_TOO_FAR:g} usual "
                    text += f"steps after {_written(last, layout)}; the row is left out."
                    troubles.append((line.number, text))
                    left_out += 1
                    continue
                if abs(moment - last - usual) <= _SAME_STEP * usual:
                    unusual, since = 0, None
                else:
                    unusual, since = unusual + 1, last if since is None else since
                    step = (moment - since) / unusual
                    if unusual == _MANY_STEPS and abs(step - usual) > _SAME_STEP * usual:
                        text = f"line {line.number}: the last {unusual} readings came every {step:g}, and {usual:g} "
                        text += "was usual; each counts for as long as it lasted (for another step begin another "
                        troubles.append((line.number, f"{text}--out, with --every {step:g})."))
            troubles += [(line.number, trouble) for trouble in reading.troubles]
            last, behind = float(stream.readings + len(taken)) if moment is None else moment, 0
            taken.append(reading)
        after = replace(
            progress, time=last, late=late, left_out=left_out, names=names, unusual=unusual, unusual_since=since,
            behind=behind,
        )  # fmt: skip
        return taken, after, troubles

    def _up_to_trouble(
        self, piece: Sequence[Line], layout: Layout, stream: ForecastStream, progress: Progress
    ) -> tuple[Sequence[Line], WatchError | None]:
        """With --strict: the lines before the first that is no reading, and what to say of it."""
        if not self.settings.strict:
            return piece, None
        _, _, troubles = self._read(piece, layout, stream, progress)
        if not troubles:
            return piece, None
        number, text = troubles[0]
        what, _, then = text.rpartition("; ")
        error = f"{self._name}, {what}; correct it and start again, or leave out --strict: then {then}"
        return [line for line in piece if line.number < number], WatchError(error)

    def _say(self, text: str) -> None:
        """Each kind of trouble once, and that there are more; all of them are in the database."""
        kind = re.sub(r"'[^']*'|-?\d[\d.:TZe+-]*", "", text)
        self._warned[kind] += 1
        if self._warned[kind] == 1:
            self.warn(text)
        elif self._warned[kind] == 2:
            self.warn(f"{text} From here on such lines are only noted, in the table troubles of {self.out}.")

    def _commit(self, store: Store, batch: Batch) -> None:
        self._until_written(lambda: store.commit(batch, self.settings.keep))

    def _until_written(self, write: Callable[[], None]) -> None:
        """Write; while the disk is full or fails, wait and say so."""
        while True:
            try:
                write()
                return
            except FullDiskError as error:
                self.warn(f"{error} Waiting, and trying again; nothing is lost.")
                if self._stop:
                    raise
                clock.sleep(_FULL_DISK_PAUSE)

    # -- telling ------------------------------------------------------------------------------------------------------

    def _tell_readings(self, batch: Batch, layout: Layout) -> None:
        if not self.all_readings:
            return
        for one in batch.readings:
            told = one._asdict() | {"column": layout.columns[one.channel], "time": _written(one.time, layout)}
            self.tell(json.dumps({"reading": told}))

    def _tell_alarms(self, store: Store, alarms: Sequence[Alarm], layout: Layout) -> None:
        if not alarms:
            return
        for alarm in alarms:
            told = asdict(alarm) | {"column": layout.columns[alarm.channel], "time": _written(alarm.time, layout)}
            told["explanation"].pop("weights", None)  # a hundred numbers, for pictures
            self.tell(json.dumps({"alarm": told}))
        self._until_written(lambda: store.tell(alarms))

    def _say_if_begun_anew(self, lines: Lines) -> None:
        if lines.begun_anew:
            self.warn(f"{self.settings.source} {lines.begun_anew}; it is read from its beginning.")
            lines.begun_anew = None

    # -- signals ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self._stop = True

        try:
            before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # not in the main thread: somebody else handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _pieces(taken: list[Reading], number: int) -> Iterator[list[Reading]]:
    """Readings from this number on, cut where the state is kept."""
    at = 0
    while at < len(taken):
        end = at + _SNAPSHOT - (number + at) % _SNAPSHOT
        yield taken[at:end]
        at = end


def _kept(first: int, moments: np.ndarray, values: np.ndarray, pushed: Pushed) -> list[Kept]:
    """Readings as the database holds them: one row per column, and nothing where there is no finite number."""
    count, channels = values.shape
    numbers = np.repeat(np.arange(first, first + count), channels).tolist()
    parts = (values, pushed.expected, pushed.lower, pushed.upper, pushed.p)
    columns = (numbers, list(range(channels)) * count, np.repeat(moments, channels).tolist(), *map(_plain, parts))
    return list(map(Kept._make, zip(*columns, strict=True)))


def _plain(part: np.ndarray) -> list[float | None]:
    """Numbers for the database, which knows no NaN and no infinity."""
    flat = part.ravel()
    finite = np.isfinite(flat)
    if finite.all():
        return flat.tolist()
    return [value if good else None for value, good in zip(flat.tolist(), finite.tolist(), strict=True)]


def _alarm(number: int, moment: float, alarm: stream_alarm.Alarm) -> Alarm:
    """An alarm as the database holds it."""
    value, expected, lower, upper = _plain(np.array([alarm.value, alarm.expected, alarm.lower, alarm.upper]))
    explanation = {
        "what": str(alarm),
        "kind": alarm.kind,
        "size": alarm.size,
        "readings": alarm.readings,
        "since": alarm.since,
        "since_time": alarm.since_time,
        "usual": list(alarm.usual),
        "expected_by": dict(list(alarm.by.items())[:3]),
        # Of each reading before it, newest first, in what was expected.
        "weights": [float(f"{weight:.4g}") for weight in alarm.weights.tolist()],
    }
    return Alarm(number, alarm.number, alarm.channel, moment, alarm.p, value, expected, lower, upper, explanation)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _written(moment: float, layout: Layout) -> str | float:
    if not layout.dates:
        return moment
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return moment
