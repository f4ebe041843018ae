"""`hippozoo watch` in all its forms, each of which goes on after any stop as if there had been none."""

from __future__ import annotations

import io
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.files import naming
from hippozoo.apps.watch import run, sensors
from hippozoo.apps.watch.lines import Lines

_READINGS, _SENSORS = 260, 3
FILES = frozenset({"pump.db", "told.jsonl"})
# In how many pieces a file that is followed grows.
_GROWS_IN = 5
SOURCES: dict[int, Path] = {}
TABLES = ("settings", "columns", "readings", "alarms", "events", "troubles", "sensors", "progress")


def write_source(path: Path, columns: int) -> None:
    """Waves with noise, spikes, a step, gaps, rows that are none, and times that run backwards.

    Without columns, a panel: sensors one after the other, of which one comes later and one falls silent.
    """
    rng = np.random.default_rng(columns)
    width = columns or _SENSORS
    values = np.sin(np.arange(_READINGS)[:, None] / (5 + np.arange(width))) + 0.1 * rng.normal(size=(_READINGS, width))
    values[[160, 230]] += 9.0
    values[200:] += 4.0
    lines = ["time," + (",".join(f"flow {c}" for c in range(columns)) or "sensor,flow")]
    for k, row in enumerate(values):
        cells = [f"{value:.6f}" if rng.random() > 0.03 else "" for value in row]
        time = f"2024-01-01T{k // 60:02d}:{k % 60:02d}:00"
        if columns:
            lines.append(f"{time}," + ",".join(cells))
        else:
            there = [s for s in range(width) if (s != 1 or k > 40) and (s != 2 or k < 230)]
            lines += [f"{time},s{s},{cells[s]}" for s in there]
        if k % 90 == 17:
            lines += ["what is this", lines[-1], lines[0], "2024-01-01T00:00:00" + ",high" * (columns or 2)]
    # In one move, and by calls in which no fault is put.
    half = path.with_suffix(".half")
    half.write_text("\n".join(lines) + "\n")
    half.rename(path)


class Growing(Lines):
    """A file in a folder that grows while it is followed; what a run before has written is gone on with."""

    whole = b""
    watch: Any = None

    def wait(self, seconds: float) -> None:
        """Write some more, or stop where all was read."""
        size = os.stat(self.source).st_size  # noqa: PTH116
        if size >= len(self.whole):
            self.watch._stop = self.place.offset == len(self.whole)
            return
        with naming(self.source), open(self.source, "ab") as file:  # noqa: PTH123
            file.write(self.whole[size : size + len(self.whole) // _GROWS_IN + 1])


class Following(run.Watch):
    """A watch that follows such a file."""

    def open_source(self, place: Any = None) -> Lines:
        Growing.watch = self
        return Growing(self.settings.source, place, follow=True)


def watch_source(folder: Path, columns: int, form: str = "file") -> None:
    """Watch a source to its end; alarms go to a file, as they would into a pipe."""
    source, told = SOURCES[columns], folder / "told.jsonl"

    def tell(line: str) -> None:
        with naming(told), told.open("a") as file:
            file.write(line + "\n")

    panel = () if columns else ("sensor",)
    made, name, stdin = run.Watch, str(source), None
    if form == "follow":
        made, name = Following, str(folder / "pump.csv")
        Growing.whole = source.read_bytes()
        Path(name).touch()
    elif form == "standard input":
        name, stdin = "-", io.BytesIO(source.read_bytes())
    settings = run.Settings(name, horizon=4, batch=8, panel=panel, follow=form == "follow", no_data="5")
    usual = sensors._SNAPSHOT, run._FULL_DISK_PAUSE, run._TICK
    try:
        sensors._SNAPSHOT, run._FULL_DISK_PAUSE, run._TICK = 64, 0.01, 64
        made(settings, folder / "pump.db", tell, str, stdin=stdin).run()
    finally:
        sensors._SNAPSHOT, run._FULL_DISK_PAUSE, run._TICK = usual


def watched(folder: Path) -> Any:
    """All tables but the states (whose bytes come in any order), and what was told, however often."""
    database = sqlite3.connect(folder / "pump.db")
    found = {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in TABLES}
    # The path of the source is that of the folder, and a file that was written again is another one.
    found["settings"] = [row for row in found["settings"] if row[0] not in ("path", "source")]
    found["progress"] = [row[1].split('"inode"')[0] for row in found["progress"]]
    # A sensor that sent nothing after the last stop keeps the state of before it; the readings since then are there.
    found["states"] = database.execute("SELECT sensor FROM states ORDER BY 1").fetchall()
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    return found, sorted(set((folder / "told.jsonl").read_text().splitlines()))


def load_watch(columns: int, form: str = "file") -> None:
    """Write the source, and load what is compiled."""
    if columns not in SOURCES:
        SOURCES[columns] = Path(tempfile.mkdtemp()) / "pump.csv"
        write_source(SOURCES[columns], columns)
    with tempfile.TemporaryDirectory() as name:
        watch_source(Path(name), columns, form)
