"""A cluster that somebody runs: finding it, and giving it work that survives the death of workers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from hippozoo import __version__
from hippozoo._internal.arguments import shorten
from hippozoo.scale._dask import dask_module

__all__ = ["Died", "connect", "each_finished", "tell"]

# How often a call may begin: once, and once more after the worker that it ran on has died.
_BEGINNINGS = 2
_PATIENCE = 5.0

Report = Callable[..., None]


def connect(address: str, timeout: float = 10.0) -> Any:
    """A `distributed.Client` of the scheduler at this address, to be used in a ``with`` statement.

    Parameters
    ----------
    address
        As the scheduler prints it, for example ``tcp://10.0.0.5:8786``.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> try:
    ...     connect("tcp://127.0.0.1:1", timeout=0.2)
    ... except ConnectionError as error:
    ...     print(str(error).partition(";")[0])
    no Dask scheduler answers at tcp://127.0.0.1:1
    """
    distributed = dask_module("distributed")
    try:
        return distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address}; start one with `dask scheduler`, and workers with "
            f"`dask worker ADDRESS --nthreads 1`; then pass the address that it prints ({shorten(str(error), 120)})."
        ) from None


@dataclass(frozen=True)
class Died:
    """A call that gave no result: its workers died, or the cluster went away."""

    reason: str


_DIED_TWICE = Died("its worker died twice; was the machine out of memory?")


def each_finished(
    client: Any,
    work: Callable[[Any], Any],
    items: Sequence[Any],
    *,
    on_report: Report = lambda *report: None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[int, Any]]:
    """``work(item)`` for every item on a cluster: numbers and results, as they finish, each once.

    `work` is a function of a module that the workers have, too, and items are sent by pickle. A call whose worker dies
    begins once more, on another one; then it is given up as `Died`. Leaving the loop early takes back what is not
    finished; a call that has begun ends where it next calls `tell`, by `WithdrawnError`. `on_report` gets the number of
    an item and what its work tells, `on_note` sentences for the user.
    """
    distributed = dask_module("distributed")
    run = f"hippozoo-{uuid4().hex}"
    news: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    counters = [distributed.Variable(f"{run}-{number}", client=client) for number in range(len(items))]
    waiting: dict[Any, int] = {}

    def submit(number: int, begun: int | None = None) -> None:
        if begun is not None:
            counters[number].set(begun)
        future = client.submit(
            _begin, work, items[number], run, number, key=f"{run}-{number}-{uuid4().hex[:8]}", pure=False, retries=0
        )
        waiting[future.key] = number
        futures[number] = future
        future.add_done_callback(lambda done: news.put(("done", done)))

    futures: dict[int, Any] = {}
    _demand_hippozoo(client)
    client.subscribe_topic(run, lambda event: news.put(("told", event[1])))
    try:
        for number in range(len(items)):
            submit(number, begun=0)
        noted = False
        while waiting:
            try:
                kind, what = news.get(timeout=_PATIENCE)
            except Empty:
                if not _has_workers(client):
                    # Nobody is left to say so of a call that has taken all workers along.
                    lost = [one for one in futures if counters[one].get(10) >= _BEGINNINGS]
                    for number in lost:
                        del waiting[futures.pop(number).key]
                        yield number, _DIED_TWICE
                    if not noted:
                        noted = True
                        on_note("the scheduler has no workers; start some with `dask worker ADDRESS --nthreads 1`")
                continue
            if kind == "told":
                if futures.get(what[0]) is not None:
                    on_report(*what)
                continue
            number = waiting.pop(what.key, None)
            if number is None:
                continue
            outcome = _outcome(distributed, what)
            if isinstance(outcome, Died) and client.status == "running" and counters[number].get(10) < _BEGINNINGS:
                on_note(f"a worker died; its work begins once more ({outcome.reason})")
                submit(number)
                continue
            futures.pop(number).release()
            yield number, outcome
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            client.unsubscribe_topic(run)
            client.cancel(list(futures.values()), force=True)
            for counter in counters:
                counter.delete()


class WithdrawnError(Exception):
    """Nobody waits for this call any more."""


def tell(*what: Any) -> None:
    """Tell the caller of `each_finished` something about the present item; nothing happens elsewhere."""
    place = getattr(_PRESENT, "place", None)
    if place is None:
        return
    worker, key, run, number = place
    task = worker.state.tasks.get(key)
    if task is None or task.state == "cancelled":
        raise WithdrawnError("the client has taken it back")
    worker.log_event(run, (number, *what))


_PRESENT = threading.local()


def _begin(work: Callable[[Any], Any], item: Any, run: str, number: int) -> Any:
    """On the worker: count the beginning, so that a call that kills its workers does not kill them all."""
    distributed = dask_module("distributed")
    worker = distributed.get_worker()
    counter = distributed.Variable(f"{run}-{number}", client=distributed.get_client())
    begun = counter.get(timeout=60)
    if begun >= _BEGINNINGS:
        return _DIED_TWICE
    counter.set(begun + 1)
    _PRESENT.place = worker, worker.get_current_task(), run, number
    try:
        return work(item)
    finally:
        _PRESENT.place = None


def _outcome(distributed: Any, future: Any) -> Any:
    if future.status == "finished":
        try:
            return future.result(timeout=60)
        except Exception as error:  # the worker that held the result died before it was fetched
            return Died(f"its result was lost: {shorten(str(error), 120)}")
    if future.status == "error":
        error = future.exception()
        if isinstance(error, distributed.scheduler.KilledWorker):
            return Died("its worker died; was the machine out of memory?")
        return error
    return Died(f"the cluster gave it up ({future.status})")


def _demand_hippozoo(client: Any) -> None:
    """Refuse workers without hippozoo, or with another version: they would close at the first task, without a word."""
    found = client.run(metadata.version, "hippozoo", on_error="return")
    wrong = {one for one in found.values() if one != __version__}
    if wrong:
        has = ", ".join("none" if isinstance(one, BaseException) else str(one) for one in sorted(wrong, key=str))
        raise RuntimeError(
            f"the workers need hippozoo {__version__}, as it is here, and have {has}; install the same on all machines."
        )


def _has_workers(client: Any) -> bool:
    return client.status != "running" or bool(client.scheduler_info(n_workers=-1)["workers"])
