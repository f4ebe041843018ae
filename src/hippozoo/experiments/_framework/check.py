"""Whether units that were computed by other code still come out the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hippozoo.experiments._framework.code import code_hash
from hippozoo.experiments._framework.compute import Failed, Task, compute_here
from hippozoo.experiments._framework.plain import write_json
from hippozoo.experiments._framework.progress import Silence, unit_text
from hippozoo.experiments._framework.protocol import Finished
from hippozoo.experiments._framework.registry import Experiment, load
from hippozoo.experiments._framework.unit_log import UnitLog, check_value, without_times

_FILE = "checked.json"


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
        write_json(self.path, {name: asdict(one) for name, one in self.models.items()}, "checked")

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
    return Check(done.unit, equal, code, round(outcome.seconds, 3), found[:5])


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


def _size(difference: list[Any]) -> float:
    _, old, new = difference
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return abs(new - old)
    return math.inf
