"""Computing the units of an experiment, and what those that are there make."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from hippozoo_studies.framework.check import Checked, notes_on_code
from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.compute import (
    Failed,
    Task,
    compute_here,
    compute_side_by_side,
)
from hippozoo_studies.framework.plain import canonical, plain
from hippozoo_studies.framework.progress import Silence, unit_text
from hippozoo_studies.framework.protocol import Finished
from hippozoo_studies.framework.registry import Experiment
from hippozoo_studies.framework.unit_log import UnitLog, read_lines

UNFINISHED = ".unfinished"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what is done and how to go on."""


class UnitsFailedError(RuntimeError):
    """Some units raised; the others are written down."""


def run_units(
    experiment: Experiment,
    config: Any,
    folder: Path,
    data: Path | None,
    workers: int | str,
    told: Silence,
    keep: Callable[[dict[str, Any]], bool],
) -> tuple[Any, float]:
    """Compute the units that are missing, by so many processes or a scheduler; the result, and seconds of all."""
    fingerprint = experiment.fingerprint(config)
    code = code_hash(experiment.module)
    part = not keep({})  # what it leads to may depend on units outside it
    with UnitLog(folder / "units.jsonl", experiment.name, fingerprint, code) as log:
        wanted = list(filter(keep, list_units(experiment, experiment.function("units")(config))))
        done = sum(log.find(unit) is not None for unit in wanted)
        told.start(experiment.name, total=len(wanted), done=done)
        if done:
            told.note(f"{done} of {len(wanted)} units are in {log.path} already (delete it to compute them anew)")
        if log.others:
            told.note(f"{log.others} units of other configurations in {log.path} are left alone")
        for text in notes_on_code(experiment, log.all(), Checked.read(folder), code):
            told.note(text)
        for unit in wanted:
            if log.find(unit) is not None:  # a kill may have come between writing a unit and tidying up after it
                remove_tree(scratch_folder(folder, fingerprint, unit))

        def follow() -> list[Task]:
            """List what the units so far lead to, and give what of it is to be computed."""
            before = len(wanted)
            while more := list(filter(keep, list_units(experiment, _fresh(experiment, config, wanted, log, part)))):
                wanted.extend(more)
                told.grow(len(wanted), len(find_units(more, log)))
            missing = [unit for unit in wanted[before:] if log.find(unit) is None]
            return [Task(unit, scratch_folder(folder, fingerprint, unit)) for unit in missing]

        at_any_time = getattr(experiment.module, "MORE_AT_ANY_TIME", False)
        while True:
            if at_any_time:
                follow()
            missing = [unit for unit in wanted if log.find(unit) is None]
            tasks = [Task(unit, scratch_folder(folder, fingerprint, unit)) for unit in missing]
            try:
                _compute(experiment, config, tasks, data, workers, log, told, follow if at_any_time else tuple)
            except KeyboardInterrupt:
                log.read()  # it may have come between writing a unit and counting it
                done = sum(log.find(unit) is not None for unit in wanted)
                raise Interrupted(
                    f"stopped with {done} of {len(wanted)} units of {experiment.name} done; "
                    f"they are kept in {log.path}, and the same command goes on from there."
                ) from None
            more = list(filter(keep, _fresh(experiment, config, wanted, log, part)))
            if not more:
                break
            wanted = list_units(experiment, [*wanted, *more])
            told.grow(len(wanted), len(find_units(wanted[-len(more) :], log)))
        finished = find_units(wanted, log)
        if not wanted:  # a rate or a seed that follows from none of the others, as far as they are there
            told.note(f"{experiment.name}: no unit fits --only; nothing was run")
    started = time.perf_counter()
    result = None if part else experiment.function("assemble")(config, finished)  # a part is shown with the rest
    return result, sum(done.seconds for done in finished) + time.perf_counter() - started


def demand_parts(experiment: Experiment, option: str) -> None:
    """An error where an experiment can only be shown as a whole."""
    if not getattr(experiment.module, "ASSEMBLES_PARTS", False):
        raise ValueError(f"experiment {experiment.name!r} can only be shown as a whole; leave {option} out.")


def missing_text(missing: Sequence[dict[str, Any]], shown: int = 6) -> str:
    """What is still to be run, the first ones by name.

    Examples
    --------
    >>> missing_text([{"seed": seed} for seed in range(3)], shown=2)
    '3 units are still to be run: seed=0; seed=1; and 1 more'
    """
    first = [unit_text(unit) for unit in missing[:shown]]
    more = len(missing) - len(first)
    are = "unit is" if len(missing) == 1 else "units are"
    return f"{len(missing)} {are} still to be run: {'; '.join([*first, f'and {more} more'] if more else first)}"


def units_so_far(experiment: Experiment, config: Any, folder: Path) -> tuple[Any, float, list[dict[str, Any]]]:
    """What the finished units of this configuration make, in whatever sitting and order, and those still missing."""
    finished, wanted = _all_so_far(experiment, config, folder)
    known = {canonical(done.unit) for done in finished}
    missing = {text: unit for unit in wanted if (text := canonical(unit)) not in known}
    return (
        experiment.function("assemble")(config, finished),
        sum(done.seconds for done in finished),
        list(missing.values()),
    )


def _all_so_far(experiment: Experiment, config: Any, folder: Path) -> tuple[list[Finished], list[dict[str, Any]]]:
    """The finished units in the order in which the experiment lists them, then others; and all that it lists."""
    with UnitLog(folder / "units.jsonl", experiment.name, experiment.fingerprint(config)) as log:
        finished = log.all()
    if not finished:
        raise ValueError(f"{log.path} holds no unit of this configuration; run the experiment first.")
    wanted = [*list_units(experiment, experiment.function("units")(config)), *_more(experiment, config, finished)]
    places = {canonical(unit): place for place, unit in reversed(list(enumerate(wanted)))}
    return sorted(finished, key=lambda done: places.get(canonical(done.unit), len(wanted))), wanted


def assembled_with(
    experiment: Experiment, config: Any, folder: Path, anew: Sequence[Finished], *, so_far: bool = False
) -> dict[str, Any]:
    """Metrics and claims of the units of a folder, with some of them replaced; those listed, or all that are there."""
    if so_far:
        finished, _ = _all_so_far(experiment, config, folder)
    else:
        with UnitLog(folder / "units.jsonl", experiment.name, experiment.fingerprint(config)) as log:
            wanted = list_units(experiment, experiment.function("units")(config))
            while more := list_units(experiment, _fresh(experiment, config, wanted, log)):
                wanted.extend(more)
            finished = find_units(wanted, log)
    by_key = {canonical(one.unit): one for one in anew}
    result = experiment.function("assemble")(config, [by_key.get(canonical(one.unit), one) for one in finished])
    return {"metrics": plain(result.metrics, "metrics"), "claims": plain(list(result.claims), "claims")}


def list_units(experiment: Experiment, units: Sequence[Any]) -> list[dict[str, Any]]:
    """The unit keys as JSON keeps them; each only once, since its line is found by its key."""
    listed = [plain(unit, "unit") for unit in units]
    texts = [canonical(unit) for unit in listed]
    for index, text in enumerate(texts):
        if not isinstance(listed[index], dict):
            raise TypeError(f"units of {experiment.name!r} lists {text}; a unit is a dict such as {{'seed': 0}}.")
        if text in texts[:index]:
            raise ValueError(f"units of {experiment.name!r} lists {text} twice; each unit needs a key of its own.")
    return listed


def find_units(wanted: Sequence[dict[str, Any]], log: UnitLog) -> list[Finished]:
    """Those of these units that are done."""
    return [done for unit in wanted if (done := log.find(unit)) is not None]


def finished_in(experiment: Experiment, config: Any, folder: Path) -> list[Finished]:
    """The units of this configuration that a folder holds, read while others may be writing there."""
    entries, _ = read_lines(folder / "units.jsonl")
    fingerprint = experiment.fingerprint(config)
    ours = [entry for entry in entries if entry["fingerprint"] == fingerprint]
    return [Finished(entry["unit"], entry["result"], entry["seconds"]) for entry in ours]


def _fresh(
    experiment: Experiment, config: Any, wanted: Sequence[dict[str, Any]], log: UnitLog, part: bool = False
) -> list[Any]:
    """What the finished ones of these units lead to beyond them; for a part of a study, all that are finished."""
    known = {canonical(unit) for unit in wanted}
    more = _more(experiment, config, log.all() if part else find_units(wanted, log))
    return [unit for unit in more if canonical(plain(unit, "unit")) not in known]


def _more(experiment: Experiment, config: Any, finished: list[Finished]) -> list[Any]:
    if not hasattr(experiment.module, "more_units"):
        return []
    known = {canonical(done.unit) for done in finished}
    return [unit for unit in experiment.function("more_units")(config, finished) if canonical(unit) not in known]


def _compute(
    experiment: Experiment,
    config: Any,
    tasks: Sequence[Task],
    data: Path | None,
    workers: int | str,
    log: UnitLog,
    told: Silence,
    follow: Callable[[], Sequence[Task]] = tuple,
) -> None:
    failures: list[Failed] = []
    scratch = {canonical(task.unit): task.scratch for task in tasks}

    def more() -> Sequence[Task]:
        following = follow()
        scratch.update({canonical(task.unit): task.scratch for task in following})
        return following

    folder = log.path.parent
    outcomes = _outcomes(experiment, config, tasks, data, workers, told, more)
    try:
        for outcome in outcomes:
            if isinstance(outcome, Finished):
                log.add(outcome)
                told.finished(outcome.unit, outcome.seconds)
                remove_tree(scratch[canonical(outcome.unit)])
                continue
            failures.append(outcome)
            if outcome.hopeless:  # it ends the run, and the error says all
                break
            told.note(f"{unit_text(outcome.unit)} failed: {outcome.error}")
    finally:
        outcomes.close()
        # No worker is left that could be making a folder in it.
        remove_empty(*scratch.values(), folder / UNFINISHED)
    if failures:
        raise _failure(experiment, failures, len(scratch), log)


def _failure(experiment: Experiment, failures: list[Failed], total: int, log: UnitLog) -> UnitsFailedError:
    first = failures[0]
    error = UnitsFailedError(
        first.error
        if first.hopeless
        else f"{len(failures)} of {total} units of {experiment.name} failed, first {unit_text(first.unit)}: "
        f"{first.error.removesuffix('.')}. The finished units are kept in {log.path}; "
        "the same command tries the others again."
    )
    if first.traceback:
        error.add_note(first.traceback)
    return error


def _outcomes(
    experiment: Experiment,
    config: Any,
    tasks: Sequence[Task],
    data: Path | None,
    workers: int | str,
    told: Silence,
    more: Callable[[], Sequence[Task]],
) -> Any:
    """By so many processes, or by those of the scheduler at this address."""
    if workers == 1 or not tasks:
        return compute_here(experiment, config, tasks, data, told.working)
    if isinstance(workers, int):
        return compute_side_by_side(experiment, config, tasks, data, told.working, workers, more)
    from hippozoo_studies.framework.on_cluster import compute_on_cluster

    return compute_on_cluster(experiment, config, tasks, data, told.working, workers, told.note)


def scratch_folder(folder: Path, fingerprint: str, unit: dict[str, Any]) -> Path:
    """Where a unit keeps its checkpoints while it is computed."""
    return folder / UNFINISHED / f"{fingerprint}-{sha256(canonical(unit).encode()).hexdigest()[:12]}"


def remove_tree(scratch: Path) -> None:
    """Take away the checkpoints of a unit; the folder above stays, since others may be making theirs in it."""
    shutil.rmtree(scratch, ignore_errors=True)


def remove_empty(*folders: Path) -> None:
    """Take away folders that hold nothing, in this order; whoever looks first and removes then may be too late."""
    for folder in folders:
        with suppress(OSError):  # something is in it, or it is gone
            folder.rmdir()
