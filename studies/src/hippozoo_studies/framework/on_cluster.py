"""Computing units on a Dask cluster: each on some worker, one at a time in its process."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hippozoo._internal.threads import ONE_THREAD
from hippozoo.scale.cluster import Died, connect, each_finished, tell
from hippozoo.tasks.data_files import VARIABLE
from hippozoo_studies.framework.compute import Failed, OnProgress, Task, compute_one
from hippozoo_studies.framework.protocol import Context, Finished
from hippozoo_studies.framework.registry import Experiment, load

__all__ = ["compute_on_cluster"]

# Experiments set torch's threads and may cache; a worker of several threads computes one unit after the other.
_ALONE = threading.Lock()


def compute_on_cluster(
    experiment: Experiment,
    config: Any,
    tasks: Sequence[Task],
    data: Path | None,
    on_progress: OnProgress,
    scheduler: str,
    on_note: Callable[[str], None],
) -> Iterator[Finished | Failed]:
    """The units on the workers of a scheduler, in the order in which they finish.

    A unit whose worker dies begins once more, then it is `Failed`. Leaving the loop early takes back all units; one
    that has begun ends when it next tells how far it is.
    """
    given = os.environ.get(VARIABLE) if data is None else data
    setup = experiment.name, None if given is None else str(Path(given).absolute())
    # Configurations are classes of experiments, which only the worker needs to have: the scheduler sees bytes.
    packed = pickle.dumps(config)
    items = [(setup, packed, task.unit, str(task.scratch.absolute())) for task in tasks]

    def report(number: int, fraction: float, text: str) -> None:
        on_progress(tasks[number].unit, fraction, text)

    with connect(scheduler) as client:
        wide = [one for one in client.scheduler_info(n_workers=-1)["workers"].values() if one["nthreads"] > 1]
        if wide:
            on_note(
                f"{len(wide)} workers have several threads, and a worker computes one unit at a time; "
                f"start them with --nthreads 1 --nworkers N to use all cores"
            )
        for number, outcome in each_finished(client, compute_unit, items, on_report=report, on_note=on_note):
            if isinstance(outcome, Died):
                yield Failed(tasks[number].unit, outcome.reason, "")
            elif isinstance(outcome, BaseException):
                yield Failed(tasks[number].unit, f"{type(outcome).__name__}: {outcome}", "", hopeless=True)
            else:
                yield outcome


def compute_unit(item: tuple[tuple[str, str | None], bytes, dict[str, Any], str]) -> Finished | Failed:
    """On the worker: one unit, with one torch thread."""
    (name, data), packed, unit, place = item
    experiment = load(name)
    config = pickle.loads(packed)
    last = [-1.0]

    def progress(fraction: Any, text: str = "") -> None:
        if time.monotonic() - last[0] > 0.25:
            last[0] = time.monotonic()
            tell(float(fraction), text)

    with _ALONE, TemporaryDirectory() as folder:
        # Torch looks at these when it is loaded, which not every experiment needs; loaded already, it is told.
        os.environ.update({name: value for name, value in ONE_THREAD.items() if name not in os.environ})
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)
        progress(0.0)
        # Checkpoints of a unit that was stopped are found again where workers share the folder of the results.
        shared = Path(place).parent.parent.is_dir()
        scratch = Path(place) if shared else Path(folder) / "results" / ".unfinished" / "unit"
        folder_of_data = None if data is None else Path(data)
        return compute_one(experiment, config, Task(unit, scratch), Context(folder_of_data, scratch, 1, progress))
