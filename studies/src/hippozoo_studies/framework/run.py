"""Running an experiment from its configuration to the files in its folder."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from hippozoo import __version__
from hippozoo._internal.arguments import whole_number
from hippozoo._internal.files import demand_writable, make_folder
from hippozoo_studies.framework.check import Checked, notes_on_code
from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.compute import (
    Failed,
    Task,
    compute_here,
    compute_side_by_side,
)
from hippozoo_studies.framework.figures import marked
from hippozoo_studies.framework.plain import canonical, plain, write_json
from hippozoo_studies.framework.progress import Silence, unit_text
from hippozoo_studies.framework.protocol import Context, Finished, Result
from hippozoo_studies.framework.registry import Experiment, load
from hippozoo_studies.framework.unit_log import UnitLog

FULL_FOLDER = "results"
QUICK_FOLDER = "results-quick"
_UNFINISHED = ".unfinished"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what is done and how to go on."""


class UnitsFailedError(RuntimeError):
    """Some units raised; the others are written down."""


class FullResultInTheWayError(ValueError):
    """A quick run would overwrite a full result."""


def reproduce(
    name: str,
    *,
    quick: bool = False,
    config: Any = None,
    seeds: Sequence[int] | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Silence | None = None,
    so_far: bool = False,
    only: Mapping[str, str] | None = None,
    contest: bool = False,
) -> dict[str, Any]:
    """Run one experiment, write its folder, and return what stands in metrics.json.

    Units that ``OUT/NAME/units.jsonl`` holds already are not run again.

    Parameters
    ----------
    name
        As on the command line, for example ``"selective-copying"``.
    quick
        Take the experiment's `QUICK` configuration: seconds, not a result.
    config
        Another configuration, in place of the experiment's own.
    seeds
        In place of those in the configuration.
    data
        The folder of user data; without it, the environment variable HIPPOZOO_DATA.
    out
        Results go to ``out/name``. The default is ``results``, and ``results-quick`` for quick runs.
    jobs
        Processes side by side, one thread each; 1 computes in this process.
    scheduler
        The address of a Dask scheduler, in place of `jobs`: units run on its workers, and this process writes them
        down. A unit whose worker dies is run once more. It takes ``hippozoo[dask]``, here and there.
    progress
        Told how far the run is.
    so_far
        Run nothing: write metrics and figures of the units that are there, for an experiment that can be shown in part.
        How many are missing is written as ``units_missing``.
    only
        Run only units whose key says so, such as ``{"model": "salience", "task": "copying"}``, and write metrics and
        figures of all that is there.
    contest
        Results of models that are not the study's own may lie beside full ones.

    Examples
    --------
    >>> reproduce("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hippozoo_studies.framework.registry.UnknownExperimentError: unknown experiment 'nonsense'...
    """
    jobs = whole_number("jobs", jobs, why="units run in at least one process")
    experiment = load(name)
    chosen = experiment.config(quick=quick, seeds=seeds, config=config)
    folder = Path(out if out is not None else QUICK_FOLDER if quick else FULL_FOLDER) / name
    if quick and not contest:
        _keep_full_result(folder)
    if so_far or only:
        _demand_parts(experiment, "--only (in Python, only=…)" if only else "--so-far (in Python, so_far=True)")
    parts, keep = chosen, wanted_by(experiment, chosen, only or {})
    if only and hasattr(experiment.module, "narrowed"):
        parts = experiment.function("narrowed")(chosen, only)
    if scheduler is not None and jobs != 1:
        raise ValueError(f"jobs={jobs} and scheduler={scheduler!r} exclude each other; pass one of them.")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    for file in ("config.json", "metrics.json"):
        demand_writable(folder / file)
    workers = jobs if scheduler is None else scheduler
    told = progress or Silence()
    data_folder = None if data is None else Path(data)
    missing: list[dict[str, Any]] = []
    result: Any = None
    seconds = 0.0
    try:
        if experiment.has_units:
            if not so_far:
                result, seconds = _run_units(experiment, parts, folder, data_folder, workers, told, keep)
            if so_far or only:
                result, seconds, missing = _units_so_far(experiment, chosen, folder)
            if missing:
                told.note(f"{name}: {_missing_text(missing)}")
        else:
            if scheduler is not None:
                told.note("this experiment has no units to spread over a cluster; it runs here")
            result, seconds = _run_whole(experiment, chosen, folder, data_folder, jobs, told)
    except BaseException:
        _remove_empty(*made)
        raise
    finally:
        told.stop()
    if not isinstance(result, Result):
        raise TypeError(
            f"experiment {name!r} returned a {type(result).__name__}; "
            f"{'assemble' if experiment.has_units else 'run'} returns a hippozoo_studies.Result."
        )
    document = _document(experiment, chosen, quick, result, seconds)
    if missing:
        document["units_missing"] = len(missing)
    # Numbers first: they took the time. A figure that fails can be drawn again.
    write_json(folder / "config.json", _configuration(experiment, chosen, quick), "config")
    write_json(folder / "metrics.json", document)
    with marked("quick" if quick else ""):
        experiment.function("report")(result, folder)
    return document


def wanted_by(experiment: Experiment, config: Any, only: Mapping[str, str]) -> Callable[[dict[str, Any]], bool]:
    """Which units ``--only`` asks for; each part must fit some unit, in the key's own words or in those of ``WORDS``.

    Examples
    --------
    >>> experiment = load("memory-tasks")
    >>> keep = wanted_by(experiment, experiment.config(), {"model": "lstm", "task": "copying"})
    >>> keep({"model": "lstm", "task": "sc", "seed": 0}), keep({"model": "lstm", "task": "ar", "seed": 0})
    (True, False)
    """
    if hasattr(experiment.module, "narrowed"):  # it says itself which units its parts are
        return lambda unit: True
    words: Mapping[str, Mapping[str, str]] = getattr(experiment.module, "WORDS", {})
    said = {part: words.get(part, {}).get(value, value) for part, value in only.items()}
    if said:
        more = experiment.function("more_units")(config, []) if hasattr(experiment.module, "more_units") else []
        listed = [plain(unit, "unit") for unit in (*experiment.function("units")(config), *more)]
        for part, value in said.items():
            there = list(dict.fromkeys(str(unit[part]) for unit in listed if part in unit))
            if not there:
                parts = ", ".join(dict.fromkeys(name for unit in listed for name in unit))
                raise ValueError(f"only names {part!r}; the units of {experiment.name} have {parts}.")
            if value not in there and part != "seed" and part != "rate":
                there += [word for word, short in words.get(part, {}).items() if short in there]
                raise ValueError(f"only says {part}={only[part]}; choose from {', '.join(there)}.")

    def keep(unit: dict[str, Any]) -> bool:
        return all(str(unit.get(part)) == value for part, value in said.items())

    return keep


def _keep_full_result(folder: Path) -> None:
    path = folder / "metrics.json"
    try:
        quick = json.loads(path.read_text(encoding="utf-8")).get("quick", True) if path.exists() else True
    except (ValueError, AttributeError):
        return
    if quick is False:
        raise FullResultInTheWayError(
            f"{path} is a full result, and a quick run would overwrite it; "
            f"leave --out away (quick runs go to {QUICK_FOLDER}) or pass another folder."
        )


def _document(experiment: Experiment, config: Any, quick: bool, result: Result, seconds: float) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "quick": quick,
        "seeds": plain(experiment.seeds(config), "seeds"),
        "metrics": plain(result.metrics, "metrics"),
        "paper": experiment.paper,
        "claims": plain(list(result.claims), "claims"),
        "seconds": round(seconds, 3),
        "versions": versions(),
    }


def _configuration(experiment: Experiment, config: Any, quick: bool) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "quick": quick,
        "fingerprint": experiment.fingerprint(config),
        "config": plain(config, "config"),
    }


def versions() -> dict[str, str]:
    """What a number may depend on besides the configuration.

    Examples
    --------
    >>> "torch" in versions()
    True
    """
    found = {"hippozoo": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "numba", "torch"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _run_whole(
    experiment: Experiment, config: Any, folder: Path, data: Path | None, jobs: int, told: Silence
) -> tuple[Any, float]:
    scratch = _scratch(folder, experiment.fingerprint(config), {"seeds": experiment.seeds(config)})
    scratch.mkdir(parents=True, exist_ok=True)
    told.start(experiment.name, total=1, done=0)

    def progress(fraction: Any, text: str = "") -> None:
        told.working({}, float(fraction), text)

    started = time.perf_counter()
    try:
        result = experiment.function("run")(config, Context(data, scratch, jobs, progress))
        seconds = time.perf_counter() - started
        told.finished({}, seconds)
        _remove(scratch)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; {experiment.name} was not finished, and the same command starts it again."
        ) from None
    finally:
        _remove_empty(scratch, scratch.parent)
    return result, seconds


def _run_units(
    experiment: Experiment,
    config: Any,
    folder: Path,
    data: Path | None,
    workers: int | str,
    told: Silence,
    keep: Callable[[dict[str, Any]], bool],
) -> tuple[Any, float]:
    fingerprint = experiment.fingerprint(config)
    code = code_hash(experiment.module)
    with UnitLog(folder / "units.jsonl", experiment.name, fingerprint, code) as log:
        wanted = list(filter(keep, _listed(experiment, experiment.function("units")(config))))
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
                _remove(_scratch(folder, fingerprint, unit))

        def follow() -> list[Task]:
            """List what the units so far lead to, and give what of it is to be computed."""
            before = len(wanted)
            while more := list(filter(keep, _listed(experiment, _fresh(experiment, config, wanted, log)))):
                wanted.extend(more)
                told.grow(len(wanted))
            missing = [unit for unit in wanted[before:] if log.find(unit) is None]
            return [Task(unit, _scratch(folder, fingerprint, unit)) for unit in missing]

        at_any_time = getattr(experiment.module, "MORE_AT_ANY_TIME", False)
        while True:
            if at_any_time:
                follow()
            missing = [unit for unit in wanted if log.find(unit) is None]
            tasks = [Task(unit, _scratch(folder, fingerprint, unit)) for unit in missing]
            try:
                _compute(experiment, config, tasks, data, workers, log, told, follow if at_any_time else tuple)
            except KeyboardInterrupt:
                log.read()  # it may have come between writing a unit and counting it
                done = sum(log.find(unit) is not None for unit in wanted)
                raise Interrupted(
                    f"stopped with {done} of {len(wanted)} units of {experiment.name} done; "
                    f"they are kept in {log.path}, and the same command goes on from there."
                ) from None
            more = list(filter(keep, _fresh(experiment, config, wanted, log)))
            if not more:
                break
            wanted = _listed(experiment, [*wanted, *more])
            told.grow(len(wanted))
        finished = _found(wanted, log)
    started = time.perf_counter()
    result = experiment.function("assemble")(config, finished) if keep({}) else None  # a part is shown with the rest
    return result, sum(done.seconds for done in finished) + time.perf_counter() - started


def _demand_parts(experiment: Experiment, option: str) -> None:
    if not getattr(experiment.module, "ASSEMBLES_PARTS", False):
        raise ValueError(f"experiment {experiment.name!r} can only be shown as a whole; leave {option} out.")


def _missing_text(missing: Sequence[dict[str, Any]], shown: int = 6) -> str:
    """What is still to be run, the first ones by name.

    Examples
    --------
    >>> _missing_text([{"seed": seed} for seed in range(3)], shown=2)
    '3 units are still to be run: seed=0; seed=1; and 1 more'
    """
    first = [unit_text(unit) for unit in missing[:shown]]
    more = len(missing) - len(first)
    are = "unit is" if len(missing) == 1 else "units are"
    return f"{len(missing)} {are} still to be run: {'; '.join([*first, f'and {more} more'] if more else first)}"


def _units_so_far(experiment: Experiment, config: Any, folder: Path) -> tuple[Any, float, list[dict[str, Any]]]:
    """What the finished units of this configuration make, in whatever sitting and order, and those still missing."""
    with UnitLog(folder / "units.jsonl", experiment.name, experiment.fingerprint(config)) as log:
        finished = log.all()
    if not finished:
        raise ValueError(f"{log.path} holds no unit of this configuration; run the experiment first.")
    wanted = [*_listed(experiment, experiment.function("units")(config)), *_more(experiment, config, finished)]
    known = {canonical(done.unit) for done in finished}
    missing = {text: unit for unit in wanted if (text := canonical(unit)) not in known}
    return (
        experiment.function("assemble")(config, finished),
        sum(done.seconds for done in finished),
        list(missing.values()),
    )


def assembled_with(experiment: Experiment, config: Any, folder: Path, anew: Sequence[Finished]) -> dict[str, Any]:
    """Metrics and claims of the units of a folder, with some of them replaced."""
    with UnitLog(folder / "units.jsonl", experiment.name, experiment.fingerprint(config)) as log:
        wanted = _listed(experiment, experiment.function("units")(config))
        while more := _listed(experiment, _fresh(experiment, config, wanted, log)):
            wanted.extend(more)
        finished = _found(wanted, log)
    by_key = {canonical(one.unit): one for one in anew}
    result = experiment.function("assemble")(config, [by_key.get(canonical(one.unit), one) for one in finished])
    return {"metrics": plain(result.metrics, "metrics"), "claims": plain(list(result.claims), "claims")}


def _listed(experiment: Experiment, units: Sequence[Any]) -> list[dict[str, Any]]:
    """The unit keys as JSON keeps them; each only once, since its line is found by its key."""
    listed = [plain(unit, "unit") for unit in units]
    texts = [canonical(unit) for unit in listed]
    for index, text in enumerate(texts):
        if not isinstance(listed[index], dict):
            raise TypeError(f"units of {experiment.name!r} lists {text}; a unit is a dict such as {{'seed': 0}}.")
        if text in texts[:index]:
            raise ValueError(f"units of {experiment.name!r} lists {text} twice; each unit needs a key of its own.")
    return listed


def _found(wanted: Sequence[dict[str, Any]], log: UnitLog) -> list[Finished]:
    return [done for unit in wanted if (done := log.find(unit)) is not None]


def _fresh(experiment: Experiment, config: Any, wanted: Sequence[dict[str, Any]], log: UnitLog) -> list[Any]:
    """What the finished ones of these units lead to beyond them."""
    known = {canonical(unit) for unit in wanted}
    more = _more(experiment, config, _found(wanted, log))
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
                _remove(scratch[canonical(outcome.unit)])
                continue
            failures.append(outcome)
            if outcome.hopeless:  # it ends the run, and the error says all
                break
            told.note(f"{unit_text(outcome.unit)} failed: {outcome.error}")
    finally:
        outcomes.close()
        # No worker is left that could be making a folder in it.
        _remove_empty(*scratch.values(), folder / _UNFINISHED)
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


def _scratch(folder: Path, fingerprint: str, unit: dict[str, Any]) -> Path:
    return folder / _UNFINISHED / f"{fingerprint}-{sha256(canonical(unit).encode()).hexdigest()[:12]}"


def _remove(scratch: Path) -> None:
    """Take away the checkpoints of a unit; the folder above stays, since others may be making theirs in it."""
    shutil.rmtree(scratch, ignore_errors=True)


def _remove_empty(*folders: Path) -> None:
    """Take away folders that hold nothing, in this order; whoever looks first and removes then may be too late."""
    for folder in folders:
        with suppress(OSError):  # something is in it, or it is gone
            folder.rmdir()
