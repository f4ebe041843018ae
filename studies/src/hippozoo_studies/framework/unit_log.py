"""The file units.jsonl: one JSON line for each finished unit, safe against kills."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

from hippozoo._internal.files import CannotWriteError, demand_writable, naming, open_locked, remove_locked
from hippozoo_studies.framework.plain import canonical
from hippozoo_studies.framework.protocol import Finished


class ResultsInUseError(RuntimeError):
    """Another process is writing to the same units.jsonl."""


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines of units.jsonl, and how many bytes they take; a torn last line is left out.

    Parameters
    ----------
    path
        The file; it need not exist.
    """
    content = path.read_bytes() if path.exists() else b""
    entries: list[dict[str, Any]] = []
    used = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        if line.strip():
            try:
                entry = json.loads(line)
                if not {"fingerprint", "unit", "result", "seconds"} <= set(entry):
                    raise ValueError("it is no unit")
                if entry.get("check", check := check_value(entry["result"])) != check:
                    raise ValueError("its result is not the one that was written")
            except (ValueError, TypeError) as error:
                if used + len(line) == len(content) and not line.endswith(b"\n"):
                    break  # a kill tore the last line; its unit runs again
                raise ValueError(
                    f"line {number} of {path} cannot be read ({error}); delete that line, and its unit runs again."
                ) from None
            entries.append(entry)
        used += len(line)
    return entries, used


def check_value(result: Any) -> str:
    """A short text that differs wherever two results do; how long something took does not count.

    Examples
    --------
    >>> check_value({"loss": 0.5, "train_seconds": 3}) == check_value({"loss": 0.5, "train_seconds": 4})
    True
    >>> check_value({"loss": 0.5}) == check_value({"loss": 0.25})
    False
    """
    return sha256(canonical(without_times(result)).encode()).hexdigest()[:12]


def without_times(value: Any) -> Any:
    """A result without its entries that are named after seconds or milliseconds.

    Examples
    --------
    >>> without_times({"loss": 0.5, "looks": [{"step": 1, "milliseconds_per_step": 8.5}]})
    {'loss': 0.5, 'looks': [{'step': 1}]}
    """
    if isinstance(value, dict):
        return {
            name: without_times(item)
            for name, item in value.items()
            if not {"seconds", "milliseconds"} & set(name.split("_"))
        }
    return [without_times(item) for item in value] if isinstance(value, list) else value


class UnitLog:
    """Units of one configuration in units.jsonl; lines of other configurations stay as they are.

    Parameters
    ----------
    path
        The file; made when the first unit is written.
    experiment
        Name of the experiment.
    fingerprint
        Which configuration the units belong to.
    code
        A hash of the code that computes new units; it is written beside them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with UnitLog(Path(folder) / "units.jsonl", "counting", "abc") as log:
    ...         log.add(Finished({"seed": 0}, {"loss": 0.5}, seconds=1.0))
    ...     with UnitLog(Path(folder) / "units.jsonl", "counting", "abc") as log:
    ...         log.find({"seed": 0}).result
    {'loss': 0.5}
    """

    def __init__(self, path: Path, experiment: str, fingerprint: str, code: str | None = None) -> None:
        self.path = path
        self.experiment = experiment
        self.fingerprint = fingerprint
        self.code = code
        self.others = 0
        self._done: dict[str, Finished] = {}
        self._file: int | None = None

    def __enter__(self) -> UnitLog:
        with naming(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            demand_writable(self.path)
            self._open()
        try:
            self.read()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def _open(self) -> None:
        """Open the file and lock it; only who holds the lock may write to the file, or remove it."""
        try:
            self._file = open_locked(self.path, os.O_APPEND)
        except BlockingIOError:
            raise ResultsInUseError(
                f"another run is writing to {self.path}; wait until it has finished, or pass another --out."
            ) from None

    def read(self) -> None:
        """Take in what the file holds, and cut off a torn last line."""
        assert self._file is not None, "use the log in a with statement"
        self.others = 0
        entries, used = read_lines(self.path)
        os.ftruncate(self._file, used)
        if used and self.path.read_bytes()[-1:] != b"\n":
            os.write(self._file, b"\n")
        for entry in entries:
            if entry["fingerprint"] == self.fingerprint:
                done = Finished(entry["unit"], entry["result"], entry["seconds"], entry.get("code"))
                self._done.setdefault(canonical(done.unit), done)
            else:
                self.others += 1

    def _close(self) -> None:
        if self._file is not None:
            descriptor, self._file = self._file, None
            if os.fstat(descriptor).st_size == 0:
                remove_locked(descriptor, self.path)
            else:
                os.close(descriptor)  # which also releases the lock

    def find(self, unit: dict[str, Any]) -> Finished | None:
        """The unit with this key, if it has been computed."""
        return self._done.get(canonical(unit))

    def all(self) -> list[Finished]:
        """Every unit of this configuration, in the order in which they were finished."""
        return list(self._done.values())

    def add(self, done: Finished) -> None:
        """Append one line and wait until it is on the disk."""
        assert self._file is not None, "use the log in a with statement"
        entry = {
            "experiment": self.experiment,
            "fingerprint": self.fingerprint,
            "unit": done.unit,
            "result": done.result,
            "seconds": round(done.seconds, 3),
            "check": check_value(done.result),
        }
        if self.code is not None:
            entry["code"] = self.code
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
        before = os.fstat(self._file).st_size
        try:
            with naming(self.path):
                rest = memoryview(line.encode())
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                os.fsync(self._file)
        except CannotWriteError:
            os.ftruncate(self._file, before)  # half a line would spoil the next one
            raise
        self._done[canonical(done.unit)] = replace(done, code=self.code)
