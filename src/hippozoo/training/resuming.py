"""Is a checkpoint one of this very run? The first difference, in words, before anything is changed."""

from __future__ import annotations

import contextlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from hippozoo._internal.files import CannotWriteError, demand_writable
from hippozoo.training.plan import Plan

# What a checkpoint of the first version holds; later ones hold `description`, too.
ENTRIES = {"plan", "model", "optimiser", "best", "best_step", "best_loss", "state", "step", "looks", "sum", "summed"}
ENTRIES |= {"ending", "seconds"}
# How an optimiser is computed, not what it computes; the rate follows the plan.
NO_DIFFERENCE = ("params", "lr", "initial_lr", "fused", "foreach", "capturable")


def description(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, str]:
    """What weights do not tell: every part of the model by name with its configuration, and the optimiser's class."""
    parts = {f"the model's part {name}" if name else "the model": _told(part) for name, part in model.named_modules()}
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    return {**parts, "what is frozen": ", ".join(frozen) or "nothing", "the optimiser": type(optimiser).__name__}


def _told(part: nn.Module) -> str:
    text = part.extra_repr()
    own: Any = getattr(part, "configuration", None)
    if callable(own):
        with contextlib.suppress(TypeError, ValueError):  # somebody else's method of this name
            arguments: dict[str, Any] = dict(cast(Any, own()))
            text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    # An address differs from run to run.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", f"{type(part).__name__}({text})")


def demand_this_run(path: Path, found: Any, plan: Plan, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Refuse what is no checkpoint, or one of another plan, model or optimiser."""
    if not isinstance(found, dict) or not found.keys() >= ENTRIES:
        raise ValueError(f"{path} is no checkpoint of a training run; remove it, or pass another file.")
    for name, value in asdict(plan).items():
        if found["plan"].get(name) != value:
            raise ValueError(
                f"{path} belongs to a run with {name}={found['plan'].get(name)!r}, this one has {value!r}; "
                "remove the file to start afresh, or go on with the same plan."
            )
    there, here = found.get("description"), description(model, optimiser)
    if there is not None:
        _demand_equal(path, there, here)
    for weights in (found["model"], found["best"]):
        _demand_equal(path, _forms(weights), _forms(model.state_dict()))
    theirs, ours = (_options(one["param_groups"]) for one in (found["optimiser"], optimiser.state_dict()))
    if there is not None:  # of one class, so that only another torch has other options
        common = theirs.keys() & ours.keys()
        theirs, ours = ({name: told for name, told in one.items() if name in common} for one in (theirs, ours))
    _demand_equal(path, theirs, ours, kind="optimiser")


def _demand_equal(path: Path, there: dict[str, str], here: dict[str, str], kind: str = "model") -> None:
    for name in [*here, *(name for name in there if name not in here)]:
        old, new = there.get(name, "missing"), here.get(name, "missing")
        if old != new:
            kind = "optimiser" if "optimiser" in name else kind
            raise ValueError(
                f"{path} belongs to another {kind}: {name} is {old} there, {new} here; "
                f"remove the file to start afresh, or go on with the same {kind}."
            )


def _forms(weights: dict[str, Any]) -> dict[str, str]:
    return {
        name: f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        for name, value in weights.items()
    }


def _options(groups: list[dict[str, Any]]) -> dict[str, str]:
    options = {"number of groups": str(len(groups))}
    for number, group in enumerate(groups):
        options[f"group {number}"] = f"{len(group['params'])} parameters"
        told = {name: value for name, value in group.items() if name not in NO_DIFFERENCE}
        options |= {f"group {number}'s {name}": repr(value) for name, value in told.items()}
    return options


def demand_a_place(path: Path) -> None:
    """Refuse a file that could not be written, before the work is done and not after it."""
    try:
        demand_writable(path)
    except CannotWriteError as error:
        raise ValueError(f"checkpoint={str(path)!r} cannot be written: {error.reason}.") from error
