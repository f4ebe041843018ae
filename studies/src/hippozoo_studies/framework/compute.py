"""Computing units: in this process, or side by side in several."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

from hippozoo._internal.threads import ONE_THREAD
from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.framework.door import entered, entering
from hippozoo_studies.framework.plain import plain
from hippozoo_studies.framework.protocol import Context, Finished
from hippozoo_studies.framework.registry import Experiment, load

# Names of two thresholds in glibc's malloc.h: from which size on memory is mapped, and given back.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3

OnProgress = Callable[[dict[str, Any], float, str], None]


@dataclass(frozen=True)
class Failed:
    """One unit that raised; `hopeless` where every other unit would fail alike."""

    unit: dict[str, Any]
    error: str
    traceback: str
    hopeless: bool = False


@dataclass(frozen=True)
class Task:
    """One unit and where its checkpoints live."""

    unit: dict[str, Any]
    scratch: Path


def compute_one(experiment: Experiment, config: Any, task: Task, context: Context) -> Finished | Failed:
    """Run one unit; an error becomes a `Failed`, so that the other units go on."""
    started = time.perf_counter()
    keep_freed_memory()
    try:
        task.scratch.mkdir(parents=True, exist_ok=True)
        value = experiment.function("run_unit")(config, task.unit, context)
        result = plain(value, "result")
        if not isinstance(result, dict):
            raise TypeError(f"run_unit returned a {type(value).__name__}; return a dict of named results.")
    except Exception as error:
        hopeless = isinstance(error, MissingDataError)  # no other unit will find the file either
        text = f"{error}" if hopeless else f"{type(error).__name__}: {error}"
        return Failed(task.unit, text, traceback.format_exc(), hopeless)
    return Finished(task.unit, result, time.perf_counter() - started)


def keep_freed_memory() -> None:
    """Let glibc keep freed memory in the process: Salience on characters takes three quarters of the time.

    Elsewhere, and under another allocator, nothing happens.
    """
    with suppress(OSError, TypeError, AttributeError):
        libc = ctypes.CDLL(None)
        for threshold in (MMAP_THRESHOLD, TRIM_THRESHOLD):
            libc.mallopt(threshold, 2**31 - 1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One torch thread where torch is loaded, as in the worker processes."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def compute_here(
    experiment: Experiment, config: Any, tasks: Sequence[Task], data: Path | None, on_progress: OnProgress
) -> Iterator[Finished | Failed]:
    """One unit after the other in this process."""
    for task in tasks:

        def progress(fraction: Any, text: str = "", unit: dict[str, Any] = task.unit) -> None:
            on_progress(unit, float(fraction), text)

        on_progress(task.unit, 0.0, "")
        with one_torch_thread():
            outcome = compute_one(experiment, config, task, Context(data, task.scratch, 1, progress))
        yield outcome


def compute_side_by_side(
    experiment: Experiment,
    config: Any,
    tasks: Sequence[Task],
    data: Path | None,
    on_progress: OnProgress,
    jobs: int,
    more: Callable[[], Sequence[Task]] = tuple,
) -> Iterator[Finished | Failed]:
    """The units in `jobs` processes, in the order in which they finish; and those that `more` gives when none is left.

    Leaving the loop early (an interrupt, an error) stops the processes.
    """
    waiting = deque(tasks)
    busy: list[_Worker] = []

    def work_on(worker: _Worker | None = None) -> None:
        """Give the next unit to this worker, or to a new one."""
        if worker is None:
            worker = _Worker((experiment.name, config, data, dict(entered())))
            busy.append(worker)
            worker.start()
        worker.give(waiting.popleft())
        on_progress(worker.task.unit, 0.0, "")

    try:
        while busy or waiting:
            while waiting and len(busy) < jobs:
                work_on()
            ready = connection.wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                message = worker.receive()
                if isinstance(message, tuple):
                    on_progress(worker.task.unit, *message)
                    continue
                yield message  # whoever takes it writes it down, and `more` can build on it
                if not waiting:
                    waiting.extend(more())
                if waiting and not worker.died:
                    work_on(worker)
                else:
                    busy.remove(worker)
                    worker.stop()
    finally:
        for worker in busy:
            worker.stop()


class _Worker:
    """A process that computes one unit at a time, seen from the parent."""

    task: Task

    def __init__(self, setup: tuple[str, Any, Path | None, dict[str, Any]]) -> None:
        self.setup = setup
        self.died = False
        processes = get_context("spawn")
        self.pipe, self.far_end = processes.Pipe()
        self.process = processes.Process(target=_serve, args=(self.far_end,), daemon=True)

    def start(self) -> None:
        # One thread per process: on a busy machine two were many times slower for step loops.
        with _environment(ONE_THREAD):
            self.process.start()
        self.far_end.close()  # the child has its own; without this its death would go unnoticed
        self.pipe.send(self.setup)

    def give(self, task: Task) -> None:
        self.task = task
        with suppress(ConnectionError):  # a worker that died is noticed by `receive`
            self.pipe.send(task)

    def receive(self) -> Finished | Failed | tuple[float, str]:
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.died = True
            self.process.join()
            text = f"its process died (exit code {self.process.exitcode}); was the machine out of memory?"
            return Failed(self.task.unit, text, "")

    def stop(self) -> None:
        self.pipe.close()
        if self.process.pid is not None:
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(pipe: connection.Connection) -> None:
    """The worker process: read units, send results, end with the parent."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    _be_killed_with_parent(signal.SIGKILL if sys.platform == "linux" else None)
    sys.stdout = sys.stderr  # stdout belongs to --json
    Thread(target=_end_with_parent, daemon=True).start()
    last = [0.0]

    def progress(fraction: Any, text: str = "") -> None:
        if time.monotonic() - last[0] > 0.25:
            last[0] = time.monotonic()
            pipe.send((float(fraction), text))

    with suppress(EOFError, ConnectionError):
        try:
            name, config, data, makers = pipe.recv()
            experiment = load(name)
        except Exception as error:  # no unit can be computed, and the parent should hear why
            pipe.send(Failed(pipe.recv().unit, f"{type(error).__name__}: {error}", traceback.format_exc(), True))
            return
        while True:
            task = pipe.recv()
            with one_torch_thread(), entering(makers):
                pipe.send(compute_one(experiment, config, task, Context(data, task.scratch, 1, progress)))


def _be_killed_with_parent(kill: int | None) -> None:
    """Linux kills a process whose parent dies, if it is asked to; a thread cannot, within one long compiled call."""
    if kill is None:
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, kill)  # 1 is PR_SET_PDEATHSIG
    parent = parent_process()
    if parent is not None and os.getppid() != parent.pid:  # it died before it could be asked
        os._exit(1)


def _end_with_parent() -> None:
    """A parent that was killed cannot stop its workers, so they watch it; where the system does not do it for them."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes started inside; those that the user has set stay."""
    new = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in new})
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)
