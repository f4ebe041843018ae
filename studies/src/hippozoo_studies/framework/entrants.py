"""Models of the user's own in our studies: in the same protocol, on the same data, drawn into the same figure."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from hippozoo._internal.files import make_folder, write_whole
from hippozoo_studies.framework.door import Door, Maker, entering, made_by
from hippozoo_studies.framework.progress import Silence
from hippozoo_studies.framework.registry import BrokenExperimentError, Experiment, load, names
from hippozoo_studies.framework.run import FULL_FOLDER, QUICK_FOLDER, reproduce
from hippozoo_studies.framework.unit_log import read_lines

__all__ = ["CONTEST_FOLDER", "WrongSizeError", "contest", "contests", "imported"]

#: Where contests go: the committed results stay as they are.
CONTEST_FOLDER = "results-contest"


class WrongSizeError(ValueError):
    """A model has more or fewer parameters than the study compares."""


def contests() -> list[str]:
    """The studies that take models in.

    Examples
    --------
    >>> "memory-tasks" in contests()
    True
    """
    found = []
    for name in names():
        with suppress(BrokenExperimentError):  # a package is missing
            found += [name] * hasattr(load(name).module, "DOOR")
    return found


def contest(
    name: str,
    models: Mapping[str, Maker],
    *,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    only: Mapping[str, str | Sequence[str]] | None = None,
    data: str | Path | None = None,
    out: str | Path = CONTEST_FOLDER,
    results: str | Path = FULL_FOLDER,
    jobs: int = 1,
    progress: Silence | None = None,
) -> dict[str, Any]:
    """Enter models of your own in a study: only they are trained, and drawn beside what is computed already.

    Parameters
    ----------
    name
        A study that takes models in, such as ``"memory-tasks"`` (Table 1).
    models
        From a name to a function ``make(inputs, outputs, length)`` that builds a torch module; if it has an argument
        `params`, it is told there how many parameters are wanted. Called with samples
        (batch, time, inputs), the module returns a pair: outputs (batch, time, outputs), and a state, which nobody
        looks at. It must have about as many parameters as the other models.
    seeds, quick, only, data, jobs, progress
        As for `reproduce`. With several jobs, the functions must be importable.
    out
        Results go to ``out/name``. A model is trained anew if the file of its function, the name of the function or
        what the model prints of itself has changed.
    results
        The folder of the results beside which the models are drawn.

    Returns
    -------
    The content of metrics.json, with the new rows.

    Examples
    --------
    >>> contest("memory-tasks", {"lstm": print})
    Traceback (most recent call last):
    ValueError: --model lstm: memory-tasks already has a model of that name; choose another.
    """
    experiment = load(name)
    door: Door | None = getattr(experiment.module, "DOOR", None)
    if door is None:
        raise ValueError(f"experiment {name!r} takes no models of your own; choose from {', '.join(contests())}.")
    if not models:
        raise ValueError("models is empty; pass a name and a function that makes a model, as in {'mine': make}.")
    config = experiment.config(quick=quick, seeds=seeds)
    known = getattr(experiment.module.Config(), door.field)
    for one in models:
        if one in known or one in getattr(config, door.field):
            raise ValueError(f"--model {one}: {name} already has a model of that name; choose another.")
    if only and door.key in only:
        raise ValueError(f"--only {door.key}={only[door.key]}: a contest runs your models alone; omit it.")
    with entering(models):
        printed = {one: _demand_fit(experiment, door, config, one) for one in models}
        folder = make_folder(Path(out) / name)
        source = Path(QUICK_FOLDER if quick else results) / name / "units.jsonl"
        if progress is not None and not source.exists():
            progress.note(f"{source} does not exist, so no other model is drawn beside yours")
        _bring_units(folder, source, door, {one: _digest(make, printed[one]) for one, make in models.items()})
        alone = dataclasses.replace(config, **{door.field: tuple(models)})
        options: dict[str, Any] = {"out": out, "progress": progress, "contest": True}
        for one in models:
            reproduce(
                name, quick=quick, config=alone, data=data, jobs=jobs, only={**(only or {}), door.key: one}, **options
            )
        everyone = dataclasses.replace(config, **{door.field: (*getattr(config, door.field), *models)})
        return reproduce(name, quick=quick, config=everyone, so_far=True, **options)


def _demand_fit(experiment: Experiment, door: Door, config: Any, name: str) -> str:
    """Refuse what cannot take part, before anything is trained; what its models print of themselves."""
    import torch

    printed = ""
    for shape in door.shapes(config):
        sizes = f"inputs={shape.inputs}, outputs={shape.outputs}, length={shape.length}, params={shape.params}"
        try:
            model = made_by(name, shape)
        except Exception as error:
            raise ValueError(
                f"{name} cannot be made for {sizes}: {type(error).__name__}: {error}. Its function is called with "
                "inputs, outputs and length by name, and with params if it has an argument of that name."
            ) from error
        if not isinstance(model, torch.nn.Module):
            raise ValueError(f"{name}: its function returned a {type(model).__name__}; return a torch.nn.Module.")
        count = sum(one.numel() for one in model.parameters() if one.requires_grad)
        low, high = (round(shape.params * (1 + sign * door.tolerance)) for sign in (-1, 1))
        if not low <= count <= high:
            raise WrongSizeError(
                f"{name} has {count:,} parameters for {shape.inputs} inputs and {shape.outputs} outputs; "
                f"{experiment.name} compares models of about {shape.params:,} ({low:,} to {high:,}). "
                "Change its width or depth."
            )
        samples = torch.rand(2, shape.length, shape.inputs, generator=torch.Generator().manual_seed(0))
        try:
            with torch.no_grad():
                answer = model(samples)
        except Exception as error:
            raise ValueError(
                f"{name} cannot be called with samples of shape {tuple(samples.shape)}, made for {sizes}: "
                f"{type(error).__name__}: {error}"
            ) from error
        wanted = (2, shape.length, shape.outputs)
        outputs = answer[0] if isinstance(answer, tuple) and len(answer) == 2 else answer
        if outputs is answer or not torch.is_tensor(outputs) or tuple(outputs.shape) != wanted:
            is_pair = "a pair with outputs" if outputs is not answer else "no pair, but outputs"
            found = f"{is_pair} of shape {tuple(outputs.shape)}" if torch.is_tensor(outputs) else type(answer).__name__
            raise ValueError(
                f"{name} returns {found} for 2 episodes of {shape.length} samples; it must return a pair: outputs of "
                f"shape {wanted}, and a state, which may be None."
            )
        if not outputs.isfinite().all():
            raise ValueError(f"{name} returns NaN or infinite outputs before it is trained; check its initialisation.")
        printed += f"{sizes}: {model}\n"
    return printed


def _bring_units(folder: Path, source: Path, door: Door, models: Mapping[str, str]) -> None:
    """Lines that are computed already: the study's own, and the entrants' as long as their digest is the same."""
    path, note = folder / "units.jsonl", folder / "entrants.json"
    before: dict[str, str] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    digests = {**before, **models}
    stale = {name for name in models if before.get(name) != digests[name]}
    kept = [one for one in read_lines(path)[0] if one["unit"].get(door.key) in digests.keys() - stale]
    theirs = [one for one in read_lines(source)[0] if one["unit"].get(door.key) not in digests]
    lines = [json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in (*theirs, *kept)]
    write_whole(path, "".join(lines).encode())
    write_whole(note, json.dumps(digests, indent=1).encode())


def _digest(make: Maker, printed: str) -> str:
    """Of the file that a function stands in, its name and its models; where there is no file, nothing that recurs."""
    try:
        source = Path(str(inspect.getsourcefile(make))).read_bytes()
    except (TypeError, OSError):
        return uuid4().hex[:12]
    name = getattr(make, "__qualname__", "")
    return sha256(b"\0".join((source, name.encode(), printed.encode()))).hexdigest()[:12]


def imported(text: str) -> tuple[str, Maker]:
    """A model as the command line names it, ``NAME=MODULE:FUNCTION``.

    Examples
    --------
    >>> imported("mine=collections:Counter")[0]
    'mine'
    >>> imported("mine")
    Traceback (most recent call last):
    ValueError: 'mine' is no model; write NAME=MODULE:FUNCTION, as in mine=my_models:make.
    """
    name, _, place = text.partition("=")
    module, _, function = place.partition(":")
    if not (name and module and function):
        raise ValueError(f"{text!r} is no model; write NAME=MODULE:FUNCTION, as in mine=my_models:make.")
    if module.endswith(".py") or not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"{text!r}: {module!r} is no module; go to its folder and write it as in mine=my_models:make.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # where the user's module lies; a command does not look there by itself
    try:
        make = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{text!r}: importing {module!r} needs {error.name!r}, which is not installed.") from error
        raise ValueError(f"{text!r}: there is no module {module!r} here; go to the folder of {module}.py.") from None
    except AttributeError as error:
        if error.name != function:
            raise
        raise ValueError(f"{text!r}: module {module!r} has no function {function!r}.") from None
    except SyntaxError as error:
        raise ValueError(f"{text!r}: importing {module!r} failed: {error}.") from error
    if not callable(make):
        raise ValueError(f"{text!r}: {function!r} is no function; name one that makes a model.")
    return name, make
