"""One harness for all jobs: kill them at random moments, fail their writes one by one, and look at what is left.

A job runs in a process of its own, forked, so that two hundred of them take minutes. It is stopped, started again
without a fault, and must come to the end that it comes to undisturbed, bit for bit, with nothing left over.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hippozoo._internal.files import CannotWriteError
from trust import faulty
from trust.jobs import Job

CALLS = ("write", "fsync", "replace")
FAULTS = {"disk full": errno.ENOSPC, "permission denied": errno.EACCES, "interrupted": errno.EINTR}
# Below Python, where SQLite writes: what a disk says, not what Python makes of a signal.
FAULTS_BELOW = {"disk full": errno.ENOSPC, "permission denied": errno.EACCES, "input/output error": errno.EIO}
_OTHER_ERROR = 3
# A machine with other work takes now less and now longer.
_MEASURE_EVERY = 20


def kills(
    job: Job,
    times: int,
    seed: int = 0,
    known: dict[str, Any] | None = None,
    tell: Callable[[dict[str, Any]], None] = id,
) -> dict[str, Any]:
    """Kill the job at so many random moments of its run; the summary says what was seen, no mishap if all is well.

    A moment is drawn from how long the job takes at present, which is measured anew now and then. A kill that comes
    after the end is not counted: there are `times` that met a running job, unless hardly any does. `known` is the
    summary of a run that was interrupted, and `tell` gets one every few kills.
    """
    expected, seconds = _undisturbed(job)
    found = known or {"kills": 0, "too_late": 0, "kills_in_each_tenth": [0] * 10, "mishaps": []}
    while found["kills"] < times and found["too_late"] < 5 * times:
        number = found["kills"] + found["too_late"]
        if number % _MEASURE_EVERY == _MEASURE_EVERY - 1:
            tell(found)
            seconds = _undisturbed(job)[1]
        share = random.Random(f"{seed}-{number}").random()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            took = _kill(_start(job, folder), share * seconds)
            wrong = _second_try(job, folder, expected)
        if took is None:
            found["kills"] += 1
            found["kills_in_each_tenth"][int(10 * share)] += 1
        else:
            found["too_late"] += 1
            seconds = took
        found["mishaps"] += [f"kill {number} at {share:.3f} of the run: {one}" for one in wrong]
        found["seconds_undisturbed"] = round(seconds, 3)
    return found


def _kill(process: int, moment: float) -> float | None:
    """End the process after so many seconds; how long it took where it has ended by itself before."""
    began = time.monotonic()
    while True:
        passed = time.monotonic() - began
        if os.waitpid(process, os.WNOHANG)[0]:
            return passed
        if passed >= moment:
            break
        time.sleep(min(0.005, moment - passed))
    os.kill(process, signal.SIGKILL)
    met = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    return None if met else time.monotonic() - began


def faults(job: Job, most: int | None = None) -> dict[str, Any]:
    """Fail every write, fsync and rename of the job once, in each way; `most` thins them out evenly."""
    if job.below and not faulty.is_loaded():
        return {"faults": 0, "said": 0, "mishaps": [], "why": "needs Linux and a C compiler"}
    expected, _ = _undisturbed(job)
    tried, said, mishaps = 0, 0, []
    fail, calls, kinds = (faulty.arm, faulty.CALLS, FAULTS_BELOW) if job.below else (_fail, CALLS, FAULTS)
    counts = {}
    for call in calls:
        count = counts[call] = _count_below(job, call) if job.below else _count(job, call)
        chosen = range(count) if most is None or count <= most else range(0, count, -(-count // most))
        for at in chosen:
            for fault, number in kinds.items():
                with tempfile.TemporaryDirectory() as name:
                    folder = Path(name)
                    code = _wait(_start(job, folder, lambda c=call, a=at, n=number: fail(c, a, n)))
                    tried += 1
                    said += code == 1
                    wrong = _second_try(job, folder, expected)
                if code not in (0, 1):
                    wrong.append(f"it ended with code {code}, and not with an error that names the file")
                mishaps += [f"{fault} at {call} {at}: {one}" for one in wrong]
    thinned = {} if most is None else {"thinned": f"at most {most} of the calls of each kind, evenly"}
    return {"faults": tried, "said": said, "mishaps": mishaps, "calls": counts, **thinned}


def _undisturbed(job: Job) -> tuple[Any, float]:
    job.load()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _wait(_start(job, folder))  # what is loaded on the way is loaded now
        shutil.rmtree(folder)
        folder.mkdir()
        began = time.monotonic()
        code = _wait(_start(job, folder))
        seconds = time.monotonic() - began
        assert code == 0, "the job fails by itself"
        return job.outcome(folder), seconds


def _second_try(job: Job, folder: Path, expected: Any) -> list[str]:
    """Run the job again in what is left; what is wrong with its end, in words."""
    deadline = time.monotonic() + 10
    while (code := _wait(_start(job, folder))) != 0 and time.monotonic() < deadline:
        time.sleep(0.05)  # workers of the killed run may still hold the log for a moment
    if code != 0:
        return [f"the second run ended with code {code}"]
    found = job.outcome(folder)
    wrong = [] if found == expected else [f"the end is another one: {_difference(found, expected)}"]
    left = {path.name for path in folder.iterdir()} - job.files
    left |= {path.name for path in folder.rglob("*") if path.name.startswith(".")}
    return wrong + ([f"left over: {sorted(left)}"] if left else [])


def _difference(found: Any, expected: Any) -> str:
    """Where two ends differ first, in words."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        where = next(key for key in found if found[key] != expected[key])
    elif isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected):
        where = next(k for k in range(len(found)) if found[k] != expected[k])
    else:
        sizes = f" ({len(found)} in place of {len(expected)})" if isinstance(found, list | str) else ""
        return f"{str(found)[:100]!r} in place of {str(expected)[:100]!r}{sizes}"
    return f"{where}: {_difference(found[where], expected[where])}"


def _start(job: Job, folder: Path, prepare: Callable[[], None] | None = None) -> int:
    """The job in a forked process; exit code 0 when done, 1 for an error that names a file, 3 for any other."""
    process = os.fork()
    if process:
        return process
    code = _OTHER_ERROR
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        if prepare is not None:
            prepare()
        job.run(folder)
        code = 0
    except BaseException as error:
        named = isinstance(error, CannotWriteError) or str(folder) in str(error)
        code = 1 if named else _OTHER_ERROR
        if not named:
            traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def _wait(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _fail(call: str, at: int, number: int) -> None:
    """Let the call of this name fail, the one number `at` of this process."""
    real, seen = getattr(os, call), [0]

    def failing(*arguments: Any, **options: Any) -> Any:
        if _reaches_the_disk(call, arguments):
            seen[0] += 1
            if seen[0] == at + 1:
                raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    setattr(os, call, failing)


def _reaches_the_disk(call: str, arguments: tuple[Any, ...]) -> bool:
    """A pipe between processes is never full for want of disk; Python's own waits for ever where its pipe fails so."""
    return call != "write" or stat.S_ISREG(os.fstat(arguments[0]).st_mode)


def _count(job: Job, call: str) -> int:
    """How often the job makes this call, told by the size of a file."""
    with tempfile.TemporaryDirectory() as name, tempfile.NamedTemporaryFile() as tally:
        real_write = os.write

        def prepare() -> None:
            real = getattr(os, call)
            descriptor = os.open(tally.name, os.O_WRONLY | os.O_APPEND)

            def counting(*arguments: Any, **options: Any) -> Any:
                if _reaches_the_disk(call, arguments):
                    real_write(descriptor, b".")
                return real(*arguments, **options)

            setattr(os, call, counting)

        assert _wait(_start(job, Path(name), prepare)) == 0
        return Path(tally.name).stat().st_size


def _count_below(job: Job, call: str) -> int:
    """The same for calls that are made below Python; told by a pipe."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inside, outside = os.pipe()

        def run(place: Path) -> None:
            job.run(place)
            os.write(outside, str(faulty.counted()).encode())

        counting = replace(job, run=run)
        code = _wait(_start(counting, folder, lambda: faulty.arm(call, 0, 0)))
        os.close(outside)
        with os.fdopen(inside) as told:
            text = told.read()
        assert code == 0, "the job fails by itself"
        return int(text)
