"""Whether units that were computed by other code still come out the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.compute import Failed, Task, compute_here
from hippozoo_studies.framework.plain import write_json
from hippozoo_studies.framework.progress import Silence, unit_text
from hippozoo_studies.framework.protocol import Finished
from hippozoo_studies.framework.registry import Experiment, load
from hippozoo_studies.framework.unit_log import UnitLog, check_value, without_times

_FILE = "checked.json"
# Another processor rounds otherwise, and a training goes its own way from there: numbers of a result count as the same
# if they are so near, relative to the larger; below the second, both are nothing.
TOLERANCE = 1e-2
NOTHING = 1e-9


@dataclass(frozen=True)
class Check:
    """One unit that was computed again.

    Parameters
    ----------
    unit
        Its key: the cheapest one of its model.
    equal
        Whether the result is the same to the last digit, times aside.
    code
        The code that computed it this time.
    seconds
        How long it took this time.
    differences
        Where it differs: up to five places, each with the old and the new value.
    near
        Whether it is the same but for times and the rounding of processors.
    result
        What came out this time; neither stands in the file.

    Examples
    --------
    >>> Check({"model": "lstm", "seed": 0}, equal=True, code="12ab", seconds=2.5).differences
    []
    """

    unit: dict[str, Any]
    equal: bool
    code: str
    seconds: float
    differences: list[list[Any]] = field(default_factory=list)
    near: bool = True
    result: dict[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass
class Checked:
    """The last check of each model, in ``checked.json`` beside the units.

    Parameters
    ----------
    path
        The file.
    models
        From the name of a model to its last check.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     checked = Checked.read(Path(folder))
    ...     checked.add("lstm", Check({"model": "lstm", "seed": 0}, True, "12ab", 2.5))
    ...     Checked.read(Path(folder)).models["lstm"].equal
    True
    """

    path: Path
    models: dict[str, Check] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Checked:
        """What the folder of an experiment holds; nothing where there was no check."""
        path = folder / _FILE
        if not path.exists():
            return cls(path)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(path, {name: Check(**entry) for name, entry in document.items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} cannot be read ({error}); delete it, and check again.") from None

    def add(self, model: str, check: Check) -> None:
        """Keep this check, on the disk too."""
        self.models[model] = check
        kept = {name: asdict(replace(one, result=None)) for name, one in self.models.items()}
        for one in kept.values():
            del one["result"], one["near"]
        write_json(self.path, kept, "checked")

    def agrees(self, model: str, done: Finished, code: str) -> bool | None:
        """Whether a unit is known to come out so by this code; None where nothing is known of its code at all."""
        check = self.models.get(model)
        passed = None if check is None or not check.equal else check.code
        if done.code is None and passed is None:
            return None
        return code in (done.code, passed)


def model_of(experiment: Experiment, done: Finished) -> str:
    """The model that a unit belongs to; units of one model go through the same code.

    The experiment's ``MODEL`` says which part of the key that is ("model" without it); where the key has no such
    part, all units are of one model.
    """
    return str(done.unit.get(getattr(experiment.module, "MODEL", "model"), "(all)"))


def notes_on_code(experiment: Experiment, finished: Sequence[Finished], checked: Checked, code: str) -> Iterator[str]:
    """What to tell about units that other code has computed."""
    known = [checked.agrees(model_of(experiment, done), done, code) for done in finished]
    changed, unchecked = known.count(False), known.count(None)
    how = f"hippozoo reproduce {experiment.name} --check tells whether they still come out the same"
    if changed:
        yield f"warning: {changed} units were computed before the code changed; {how}"
    if unchecked:
        yield f"{unchecked} units do not say which code computed them; {how}"


def check_units(
    name: str,
    *,
    quick: bool = False,
    data: str | Path | None = None,
    out: str | Path,
    progress: Silence | None = None,
) -> dict[str, Check]:
    """Compute the cheapest finished unit of each model again, and compare.

    Where it comes out the same, all units of that model count as computed by the present code. Models that agree
    with the present code already are left out.

    Parameters
    ----------
    name
        An experiment that runs unit by unit.
    quick
        Check units of the quick configuration.
    data
        The folder of user data; without it, the environment variable HIPPOZOO_DATA.
    out
        The results are in ``out/name``.
    progress
        Told how far the check is.

    Returns
    -------
    What was checked, by model. It also stands in ``out/name/checked.json``.

    Examples
    --------
    >>> check_units("forecasting", out="results")
    Traceback (most recent call last):
    ValueError: experiment 'forecasting' runs in one go and keeps no units; run it again and compare metrics.json.
    """
    experiment = load(name)
    if not experiment.has_units:
        raise ValueError(
            f"experiment {name!r} runs in one go and keeps no units; run it again and compare metrics.json."
        )
    config = experiment.config(quick=quick)
    folder = Path(out) / name
    code = code_hash(experiment.module)
    told = progress or Silence()
    if not (folder / "units.jsonl").exists():
        raise ValueError(f"{folder / 'units.jsonl'} does not exist, so there is nothing to check; run {name} first.")
    with UnitLog(folder / "units.jsonl", name, experiment.fingerprint(config), code) as log:
        checked = Checked.read(folder)
        cheapest: dict[str, Finished] = {}
        for done in sorted(log.all(), key=lambda one: one.seconds):
            model = model_of(experiment, done)
            if not checked.agrees(model, done, code):
                cheapest.setdefault(model, done)
        made: dict[str, Check] = {}
        told.start(f"{name} (check)", total=len(cheapest), done=0)
        try:
            for model, done in cheapest.items():
                made[model] = _again(experiment, config, done, code, data, folder, told)
                checked.add(model, made[model])
                told.finished(done.unit, made[model].seconds)
        finally:
            told.stop()
    return made


def _again(
    experiment: Experiment,
    config: Any,
    done: Finished,
    code: str,
    data: str | Path | None,
    folder: Path,
    told: Silence,
) -> Check:
    from tempfile import TemporaryDirectory

    # Two levels below a folder of its own: what a unit leaves for later must not overwrite what the run has left.
    with TemporaryDirectory(prefix=".check-", dir=folder) as place:
        task = Task(done.unit, Path(place) / ".unfinished" / "unit")
        where = None if data is None else Path(data)
        outcome = next(iter(compute_here(experiment, config, [task], where, told.working)))
    if isinstance(outcome, Failed):
        raise RuntimeError(f"{unit_text(done.unit)} was computed once and fails now: {outcome.error}")
    equal = check_value(outcome.result) == check_value(done.result)
    found = [] if equal else list(_differences(without_times(done.result), without_times(outcome.result)))
    near = equal or results_agree(done.result, outcome.result)
    return Check(done.unit, equal, code, round(outcome.seconds, 3), found[:5], near, outcome.result)


def _differences(old: Any, new: Any, place: str = "") -> Iterator[list[Any]]:
    """Each place where two results differ, with both values; the largest numbers of a list come first."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f"{place}.{name}" if place else name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        inner = [one for index in range(len(old)) for one in _differences(old[index], new[index], f"{place}[{index}]")]
        yield from sorted(inner, key=_size, reverse=True)
    elif old != new:
        yield [place, old, new]


def results_agree(old: Any, new: Any, tolerance: float = 1e-6) -> bool:
    """Whether two results of a unit are equal but for times and the rounding of processors.

    Parameters
    ----------
    old, new
        The results.
    tolerance
        Relative; much smaller than that between two runs of a whole study.

    Examples
    --------
    >>> results_agree({"loss": 0.5, "train_seconds": 3}, {"loss": 0.5 + 1e-12, "train_seconds": 4})
    True
    """
    found = _differences(without_times(old), without_times(new))
    return all(_are_numbers(before, after) and _near(before, after, tolerance) for _, before, after in found)


def _size(difference: list[Any]) -> float:
    _, old, new = difference
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return abs(new - old)
    return math.inf


@dataclass(frozen=True)
class Comparison:
    """Two results of a study, number by number and claim by claim.

    Parameters
    ----------
    numbers
        Where numbers differ: place, old, new, and how many digits they share; the worst first.
    others
        Where something else differs, a word or a missing entry: place, old, new.
    claims
        Claims with another verdict: claim, old, new.

    Examples
    --------
    >>> found = compare({"metrics": {"error": 1.2345}, "claims": []}, {"metrics": {"error": 1.2346}, "claims": []})
    >>> found.numbers, found.agrees
    ([['error', 1.2345, 1.2346, 4]], True)
    """

    numbers: list[list[Any]] = field(default_factory=list)
    others: list[list[Any]] = field(default_factory=list)
    claims: list[list[Any]] = field(default_factory=list)

    @property
    def apart(self) -> list[list[Any]]:
        """Numbers that are further apart than the tolerance."""
        return [one for one in self.numbers if not _near(one[1], one[2])]

    @property
    def agrees(self) -> bool:
        """Whether all claims come out the same, and all numbers within the tolerance."""
        return not (self.claims or self.others or self.apart)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Comparison:
    """Two documents as metrics.json holds them; times do not count."""
    places = list(_differences(without_times(old["metrics"]), without_times(new["metrics"])))
    numbers = [[*one, _shared_digits(one[1], one[2])] for one in places if _are_numbers(one[1], one[2])]
    others = [one for one in places if not _are_numbers(one[1], one[2])]
    before = {one["claim"]: one["verdict"] for one in old["claims"]}
    after = {one["claim"]: one["verdict"] for one in new["claims"]}
    claims = [
        [claim, before.get(claim), after.get(claim)]
        for claim in dict.fromkeys([*before, *after])
        if before.get(claim) != after.get(claim)
    ]
    return Comparison(sorted(numbers, key=lambda one: one[3]), others, claims)


def check_study(
    name: str, *, quick: bool = False, data: str | Path | None = None, out: str | Path, progress: Silence | None = None
) -> tuple[dict[str, Check], Comparison]:
    """Check units as `check_units` does; put the result together with what came out, and compare it to metrics.json.

    A study that runs in one go is run again, which takes as long as it did, and compared.

    Returns
    -------
    The checks by model, and how the whole result compares.
    """
    from tempfile import TemporaryDirectory

    from hippozoo_studies.framework.run import reproduce
    from hippozoo_studies.framework.units import assembled_with

    experiment = load(name)
    path = Path(out) / name / "metrics.json"
    if not path.exists():
        raise ValueError(f"{path} does not exist, so there is nothing to check; run {name} first.")
    old = json.loads(path.read_text(encoding="utf-8"))
    if not experiment.has_units:
        with TemporaryDirectory() as folder:
            return {}, compare(old, reproduce(name, quick=quick, data=data, out=folder, progress=progress))
    made = check_units(name, quick=quick, data=data, out=out, progress=progress)
    anew = [Finished(one.unit, one.result, one.seconds) for one in made.values() if not one.equal and one.result]
    config, so_far = experiment.config(quick=quick), "units_missing" in old
    return made, compare(old, assembled_with(experiment, config, path.parent, anew, so_far=so_far))


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _near(old: float, new: float, tolerance: float = TOLERANCE) -> bool:
    return abs(new - old) <= max(tolerance * max(abs(old), abs(new)), NOTHING)


def _shared_digits(old: float, new: float) -> int:
    """How many leading digits two numbers share.

    Examples
    --------
    >>> _shared_digits(1.2345, 1.2346), _shared_digits(6e-29, 1.5e-30)
    (4, 0)
    """
    return max(0, math.floor(-math.log10(abs(new - old) / max(abs(old), abs(new)))))
