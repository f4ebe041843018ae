"""Jobs that write files; each can be stopped at any moment, and started again goes on to the same end."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from hippozoo.checkpoint import load, save
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.training import Plan, loop, seeded, train, train_online
from hippozoo_studies import own, reproduce, save_figure
from trust.watch_jobs import FILES, load_watch, watch_source, watched

TOYS = Path(__file__).parents[1] / "studies" / "toys"


@dataclass(frozen=True)
class Job:
    """What is run in a folder, and how to read its end.

    Parameters
    ----------
    run
        Runs to the end, or goes on from what it finds in the folder.
    outcome
        Everything that has to be equal, however often the job was stopped.
    files
        Names that may be in the folder when all is done.
    load
        Called once before all runs, in the process that they are forked from.
    below
        Whether it writes below Python, where faults need a library of their own.
    """

    run: Callable[[Path], None]
    outcome: Callable[[Path], Any]
    files: frozenset[str]
    load: Callable[[], Any] = bool
    below: bool = False


# -- save --------------------------------------------------------------------------------------------------------


def thing(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "weights": np.random.default_rng(number).normal(size=4000),
        "system": LegT(4, timescale=1.0),
    }


def save_often(folder: Path) -> None:
    """Eight versions of one file; what is there must be one of them, whole."""
    path = folder / "thing.safetensors"
    if path.exists():
        found = load(path)
        assert np.array_equal(found["weights"], thing(found["number"])["weights"]), "half of one, half of another"
    for number in range(8):
        save(path, thing(number))


def saved(folder: Path) -> bytes:
    return (folder / "thing.safetensors").read_bytes()


# -- training ----------------------------------------------------------------------------------------------------


def batch(step: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.from_numpy(rng.normal(size=(8, 3))).float()
    return x, x.prod(1, keepdim=True)


def chunk(step: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.from_numpy(rng.normal(size=(2, 9, 1))).float()
    return x, x.cumsum(1)


class Network(nn.Module):
    """Dropout, so that torch's own randomness takes part."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def loss(model: nn.Module, data: Any) -> torch.Tensor:
    return ((model(data[0]) - data[1]) ** 2).mean()


def loss_of_a_stream(model: nn.Module, data: Any, state: Any) -> tuple[torch.Tensor, Any]:
    y, state = model(data[0], state)
    return ((y - data[1]) ** 2).mean(), state


def train_some(folder: Path, online: bool) -> None:
    loop.SECONDS_BETWEEN_SAVES = 0.0  # after every step
    with seeded(0):
        model: nn.Module = MemoryLayer(LegT(4, 8.0), outputs=1, channels=1) if online else Network()
    plan = Plan(steps=12, rate=0.02, seed=3, validate_every=3)
    held_out = (chunk if online else batch)(0, np.random.default_rng(99))
    path = folder / "run.safetensors"
    if online:
        train_online(
            model,
            chunk,
            loss_of_a_stream,
            plan,
            validate=lambda one: loss_of_a_stream(one, held_out, None)[0].item(),
            checkpoint=path,
        )
    else:
        train(model, batch, loss, plan, validate=lambda one: loss(one, held_out).item(), checkpoint=path)
    save(folder / "model.safetensors", dict(model.state_dict()))


def trained(folder: Path) -> Any:
    return {name: value.tolist() for name, value in load(folder / "model.safetensors").items()}


# -- experiments -------------------------------------------------------------------------------------------------


def reproduce_toys(folder: Path, jobs: int) -> None:
    own.__path__[:] = [str(TOYS)]
    os.environ |= {"HIPPOZOO_EXPERIMENTS": str(TOYS), "COUNTING_SECONDS": "0.01"}
    reproduce("counting", out=folder, jobs=jobs)


def load_reproduce() -> None:
    """Load what draws figures: it takes longer than the whole job."""
    from matplotlib.figure import Figure

    with tempfile.TemporaryDirectory() as name:
        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([0, 1], [0, 1])
        save_figure(figure, Path(name), "count")


def reproduced(folder: Path) -> Any:
    """All results, without how long they took and in any order."""
    metrics = json.loads((folder / "counting" / "metrics.json").read_text())
    lines = [json.loads(line) for line in (folder / "counting" / "units.jsonl").read_text().splitlines()]
    for entry in (metrics, *lines):
        del entry["seconds"]
    for line in lines:
        line["result"].pop("threads")  # those of a worker, or of this process
    pictures = {path.name: path.read_bytes() for path in (folder / "counting").glob("*.png")}
    return metrics, sorted(json.dumps(line, sort_keys=True) for line in lines), pictures


_TOY_FILES = frozenset({"counting"})

JOBS = {
    "save": Job(save_often, saved, frozenset({"thing.safetensors"})),
    "train": Job(
        lambda folder: train_some(folder, False), trained, frozenset({"run.safetensors", "model.safetensors"})
    ),
    "train_online": Job(
        lambda folder: train_some(folder, True), trained, frozenset({"run.safetensors", "model.safetensors"})
    ),
    "reproduce --jobs 1": Job(lambda folder: reproduce_toys(folder, 1), reproduced, _TOY_FILES, load_reproduce),
    "reproduce --jobs 2": Job(lambda folder: reproduce_toys(folder, 2), reproduced, _TOY_FILES, load_reproduce),
} | {
    name: Job(
        lambda folder, c=columns, f=form: watch_source(folder, c, f),
        watched,
        FILES | ({"pump.csv"} if form == "follow" else set()),
        lambda c=columns, f=form: load_watch(c, f),
        below=True,
    )
    for name, columns, form in (
        ("watch", 1, "file"),
        ("watch, three columns", 3, "file"),
        ("watch, panel", 0, "file"),
        ("watch, follow", 1, "follow"),
        ("watch, standard input", 1, "standard input"),
    )
}
