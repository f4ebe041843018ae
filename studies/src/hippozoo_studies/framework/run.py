"""Running an experiment from its configuration to the files in its folder."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from hippozoo import __version__
from hippozoo._internal.arguments import whole_number
from hippozoo._internal.files import demand_writable, make_folder
from hippozoo_studies.framework.door import entered
from hippozoo_studies.framework.figures import marked
from hippozoo_studies.framework.plain import plain, write_json
from hippozoo_studies.framework.progress import Silence
from hippozoo_studies.framework.protocol import Context, Finished, Result
from hippozoo_studies.framework.registry import Experiment, load
from hippozoo_studies.framework.units import (
    Interrupted,
    demand_parts,
    finished_in,
    missing_text,
    remove_empty,
    remove_tree,
    run_units,
    scratch_folder,
    units_so_far,
)

FULL_FOLDER = "results"
QUICK_FOLDER = "results-quick"


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
    only: Mapping[str, str | Sequence[str]] | None = None,
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
        Run only units whose key says so, such as ``{"model": ("salience", "lstm"), "task": "copying"}``, and write
        metrics and figures of all that is there.
    contest
        Results of models that are not the study's own may lie beside full ones; what is missing of its own is not told.

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
        demand_parts(experiment, "--only (in Python, only=…)" if only else "--so-far (in Python, so_far=True)")
    named = {part: (one,) if isinstance(one, str) else tuple(one) for part, one in (only or {}).items()}
    finished = finished_in(experiment, chosen, folder) if named and experiment.has_units else []
    parts, keep = chosen, wanted_by(experiment, chosen, named, finished)
    if named and hasattr(experiment.module, "narrowed"):
        parts = experiment.function("narrowed")(chosen, named)
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
                result, seconds = run_units(experiment, parts, folder, data_folder, workers, told, keep)
            if so_far or only:
                result, seconds, missing = units_so_far(experiment, chosen, folder)
            if contest:
                missing = [unit for unit in missing if entered().keys() & set(map(str, unit.values()))]
            if missing:
                told.note(f"{name}: {missing_text(missing)}")
        else:
            if scheduler is not None:
                told.note("this experiment has no units to spread over a cluster; it runs here")
            result, seconds = _run_whole(experiment, chosen, folder, data_folder, jobs, told)
    except BaseException:
        remove_empty(*made)
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


def wanted_by(
    experiment: Experiment, config: Any, only: Mapping[str, Sequence[str]], finished: Sequence[Finished] = ()
) -> Callable[[dict[str, Any]], bool]:
    """Which units ``--only`` asks for; each value must fit some unit, in the key's own words or in those of ``WORDS``.

    Units that follow from those that are `finished` count too.

    Examples
    --------
    >>> experiment = load("memory-tasks")
    >>> keep = wanted_by(experiment, experiment.config(), {"model": ("lstm", "s4d"), "task": ("copying",)})
    >>> keep({"model": "lstm", "task": "sc", "seed": 0}), keep({"model": "lstm", "task": "ar", "seed": 0})
    (True, False)
    """
    if hasattr(experiment.module, "narrowed"):  # it says itself which units its parts are
        return lambda unit: True
    words: Mapping[str, Mapping[str, str]] = getattr(experiment.module, "WORDS", {})
    said = {part: [words.get(part, {}).get(one, one) for one in values] for part, values in only.items()}
    if said:
        follows = hasattr(experiment.module, "more_units")
        more = experiment.function("more_units")(config, list(finished)) if follows else []
        listed = [plain(unit, "unit") for unit in (*experiment.function("units")(config), *more)]
        for part, values in said.items():
            there = list(dict.fromkeys(str(unit[part]) for unit in listed if part in unit))
            if not there:
                parts = ", ".join(dict.fromkeys(name for unit in listed for name in unit))
                raise ValueError(f"--only {part}: no such part; the units of {experiment.name} have {parts}.")
            if part == "rate":  # what is best at the edge leads to further ones
                continue
            if part == "seed":  # the others come once a rate is chosen
                there = list(map(str, experiment.seeds(config)))
            if unknown := [one for one, value in zip(only[part], values, strict=True) if value not in there]:
                there += [word for word, short in words.get(part, {}).items() if short in there]
                later = "; more may follow from what these find" if follows and part != "seed" else ""
                raise ValueError(f"--only {part}={unknown[0]}: no such {part}; choose from {', '.join(there)}{later}.")

    def keep(unit: dict[str, Any]) -> bool:
        return all(str(unit.get(part)) in values for part, values in said.items())

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
            f"omit --out (quick runs go to {QUICK_FOLDER}) or pass another folder."
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
    scratch = scratch_folder(folder, experiment.fingerprint(config), {"seeds": experiment.seeds(config)})
    scratch.mkdir(parents=True, exist_ok=True)
    told.start(experiment.name, total=1, done=0)

    def progress(fraction: Any, text: str = "") -> None:
        told.working({}, float(fraction), text)

    started = time.perf_counter()
    try:
        result = experiment.function("run")(config, Context(data, scratch, jobs, progress))
        seconds = time.perf_counter() - started
        told.finished({}, seconds)
        remove_tree(scratch)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; {experiment.name} was not finished, and the same command starts it again."
        ) from None
    finally:
        remove_empty(scratch, scratch.parent)
    return result, seconds
