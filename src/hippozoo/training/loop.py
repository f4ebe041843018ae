"""The two loops: minibatches, and truncated backpropagation over a stream."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hippozoo import checkpoint as checkpoints
from hippozoo._internal.arguments import shorten, whole_number
from hippozoo._internal.nests import map_leaves
from hippozoo.checkpoint.nest import encode
from hippozoo.training.plan import Plan
from hippozoo.training.progress import OnProgress, Pace
from hippozoo.training.resuming import demand_a_place, demand_this_run, description
from hippozoo.training.seeds import NOISE, step_rng, torch_seed
from hippozoo.training.trained import Ending, Look, Trained

__all__ = ["detached", "train", "train_online"]

Draw = Callable[[int, np.random.Generator], Any]
# A killed run loses at most this many seconds.
SECONDS_BETWEEN_SAVES = 20.0


def train(
    model: nn.Module,
    batch: Draw,
    loss: Callable[[Any, Any], Tensor],
    plan: Plan,
    *,
    validate: Callable[[Any], float] | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    optimiser: Callable[[list[nn.Parameter], Plan], torch.optim.Optimizer] | None = None,
    threads: int | None = 1,
) -> Trained:
    """Train on minibatches; the model is changed, and at the end holds the best weights seen on validation.

    Parameters
    ----------
    model
        Any torch module; what has no gradient is left as it is. A part that was put into evaluation mode by itself
        stays there: a frozen batch norm stays frozen. In the end every part has the mode that it had before.
    batch
        ``batch(step, rng)`` gives the data of one step. `rng` depends on seed and step alone, so that a resumed run
        sees what it would have seen; for a finite data set see `Epochs`.
    loss
        ``loss(model, batch)`` gives one number to be made small.
    plan
        How long, how fast, when to stop.
    validate
        ``validate(model)`` gives the validation loss; called without gradients, in evaluation mode. It must not depend
        on anything that changes. Without it, the training loss takes its place.
    on_progress
        Called a few times a second with a `Progress`; see `report_to`.
    checkpoint
        A file in a folder that exists. If a run was killed, the same call goes on from there to the same result; a
        finished one is not run again. A file of another plan, model or optimiser is refused; `batch` and `loss` are not
        compared.
    optimiser
        ``optimiser(parameters, plan)``; AdamW by default. The rate of every group follows the plan's schedule, in
        proportion to what it was at the start.
    threads
        Torch threads while the run lasts; None leaves them as they are. More than one add in another order: only with
        one are the numbers those of every machine of this kind.

    Returns
    -------
    How it went. Same seed, same machine, same numbers.

    Examples
    --------
    A line through noise.

    >>> from hippozoo.training import seeded
    >>> def batch(step, rng):
    ...     x = rng.normal(size=(32, 1)).astype(np.float32)
    ...     return torch.from_numpy(x), torch.from_numpy(2 * x + 1)
    >>> with seeded(0):
    ...     model = nn.Linear(1, 1)
    >>> run = train(model, batch, lambda m, b: ((m(b[0]) - b[1]) ** 2).mean(), Plan(steps=300, rate=0.03))
    >>> run.steps, round(model.weight.item(), 2), round(model.bias.item(), 2)
    (300, 2.0, 1.0)
    """

    def stateless(model: nn.Module, batch: Any, _: Any) -> tuple[Tensor, None]:
        return loss(model, batch), None

    return train_online(
        model,
        batch,
        stateless,
        plan,
        validate=validate,
        on_progress=on_progress,
        checkpoint=checkpoint,
        optimiser=optimiser,
        threads=threads,
    )


def train_online(
    model: nn.Module,
    chunk: Draw,
    loss: Callable[[Any, Any, Any], tuple[Tensor, Any]],
    plan: Plan,
    *,
    state: Any = None,
    validate: Callable[[Any], float] | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    optimiser: Callable[[list[nn.Parameter], Plan], torch.optim.Optimizer] | None = None,
    threads: int | None = 1,
) -> Trained:
    """Train along an endless stream, chunk by chunk: the state goes on, the gradient ends at the chunk.

    Parameters
    ----------
    model, plan, validate, on_progress, checkpoint, optimiser, threads
        As in `train`.
    chunk
        ``chunk(step, rng)`` gives the next piece of the stream, one gradient step each.
    loss
        ``loss(model, chunk, state)`` gives the loss and the state after the chunk: any nest of tensors. It is detached
        before the next chunk. With `checkpoint`, NamedTuples and dataclasses of your own in it must be registered
        (`hippozoo.checkpoint.register`).
    state
        Before the first chunk; None by default, which our layers take as the memory of nothing.

    Returns
    -------
    How it went; ``.state`` is where the stream has got to.

    Examples
    --------
    >>> from hippozoo.memory import MemoryLayer
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.training import seeded
    >>> with seeded(0):
    ...     model = MemoryLayer(LegT(8, timescale=20.0), outputs=1, channels=1)
    >>> def chunk(step, rng):
    ...     return torch.from_numpy(np.sin(0.3 * np.arange(30 * step, 30 * step + 31))).float()[None, :, None]
    >>> def loss(model, chunk, state):  # predict the next sample
    ...     y, state = model(chunk[:, :-1], state)
    ...     return ((y - chunk[:, 1:]) ** 2).mean(), state
    >>> run = train_online(model, chunk, loss, Plan(steps=200, rate=0.01, validate_every=50))
    >>> run.best_loss < 0.01, run.state.shape
    (True, torch.Size([1, 1, 8]))
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan={shorten(plan)}; pass a Plan, such as Plan(steps=1000, rate=1e-3).")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise ValueError(f"{type(model).__name__} has no parameters to train; pass a model that has some.")
    if threads is not None:
        whole_number("threads", threads, why="None leaves torch's own")
    run = _Run(model, (optimiser or adamw)(parameters, plan), plan, state, checkpoint)
    with _so_many_threads(threads), torch.random.fork_rng(devices=[]), _in_modes(model, _training_modes(model)):
        run.go(chunk, loss, parameters, validate, on_progress)
    return run.trained()


def detached(state: Any) -> Any:
    """The same state, behind which no gradient goes; any nest of tensors.

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> detached({"bank": (x * 2,), "clock": None})["bank"][0].requires_grad
    False
    """
    return map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, state)


def adamw(parameters: list[nn.Parameter], plan: Plan) -> torch.optim.Optimizer:
    """AdamW; one fused pass over all parameters where torch has one."""
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
    return torch.optim.AdamW(parameters, lr=plan.rate, weight_decay=plan.weight_decay, fused=fused)


class _Run:
    """A run in motion: all that a checkpoint holds, and the loop itself."""

    def __init__(
        self,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        plan: Plan,
        state: Any,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self.model, self.optimiser, self.plan = model, optimiser, plan
        self.state = detached(state)
        self.rates = [group["lr"] / plan.rate for group in optimiser.param_groups]
        self.step = 0
        self.looks: list[Look] = []
        self.ending: Ending | None = None
        self.best = {name: value.clone() for name, value in model.state_dict().items()}
        self.best_step, self.best_loss = 0, math.inf
        self.sum = torch.zeros((), dtype=torch.float64)
        self.summed = 0
        self.before = 0.0
        self.path = None if checkpoint is None else Path(checkpoint)
        if self.path is not None:
            demand_a_place(self.path)
            if self.path.exists():
                self._load(self.path)
        self.started = time.monotonic()

    # -- the loop --------------------------------------------------------------------------------------------

    def go(
        self,
        draw: Draw,
        loss: Callable[[Any, Any, Any], tuple[Tensor, Any]],
        parameters: list[nn.Parameter],
        validate: Callable[[Any], float] | None,
        on_progress: OnProgress | None,
    ) -> None:
        plan, saved, first = self.plan, time.monotonic(), self.step + 1
        pace = Pace(on_progress, self.step, plan.steps)
        while self.ending is None:
            self._take_step(draw, loss, parameters)
            due = self.step % plan.validate_every == 0 or self.step == plan.steps
            if self.ending is None and due:
                self._look(validate)
            pace.tell(self.step, self._mean_loss, self.looks[-1].validation if self.looks else None)
            if self.path is not None and self.step == first and self.ending is None:
                self._demand_storable(self.path)
            now = time.monotonic()
            if self.ending is not None or now - saved > SECONDS_BETWEEN_SAVES:
                self._save()
                saved = now
        self.model.load_state_dict(self.best)

    def _take_step(
        self,
        draw: Draw,
        loss: Callable[[Any, Any, Any], tuple[Tensor, Any]],
        parameters: list[nn.Parameter],
    ) -> None:
        plan, step = self.plan, self.step
        # For dropout and the like: it must not matter what ran before this step.
        torch.manual_seed(torch_seed(NOISE, plan.seed, step))
        for group, share in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = share * plan.rate_at(step)
        self.optimiser.zero_grad(set_to_none=True)
        value, state = loss(self.model, draw(step, step_rng(plan.seed, step)), self.state)
        if not isinstance(value, Tensor) or value.ndim:
            given = tuple(value.shape) if isinstance(value, Tensor) else shorten(value)
            raise ValueError(f"loss returned {given}; return one number, a tensor of shape ().")
        value.backward()
        limit = math.inf if plan.clip is None else plan.clip
        norm = nn.utils.clip_grad_norm_(parameters, limit)
        # Before the optimiser moves: weights that are not finite would never recover. One look, for which an
        # accelerator has to be waited for once.
        wide = torch.promote_types(value.dtype, norm.dtype)
        found, size = torch.stack([value.detach().to(wide), norm.to(wide)]).tolist()
        if not math.isfinite(found) or not math.isfinite(size):
            self.ending = "diverged"
            return
        self.optimiser.step()
        self.state = detached(state)
        self.sum += found
        self.summed += 1
        self.step += 1

    def _look(self, validate: Callable[[Any], float] | None) -> None:
        plan, mean = self.plan, self._mean_loss()
        score = mean
        if validate is not None:
            with torch.no_grad(), _in_modes(self.model):
                score = float(validate(self.model))
        self.looks.append(Look(self.step, mean, score))
        self.sum, self.summed = torch.zeros((), dtype=torch.float64), 0
        if score < self.best_loss:
            self.best_loss, self.best_step = score, self.step
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        if not math.isfinite(score):
            self.ending = "diverged"
        elif plan.stop_at is not None and score <= plan.stop_at:
            self.ending = "stop_at"
        elif self.step == plan.steps:
            self.ending = "steps"
        elif plan.patience is not None and sum(look.step > self.best_step for look in self.looks) >= plan.patience:
            self.ending = "patience"

    def _mean_loss(self) -> float:
        if self.summed:
            return (self.sum / self.summed).item()
        return self.looks[-1].loss if self.looks else math.nan

    def _seconds(self) -> float:
        return self.before + time.monotonic() - self.started

    def trained(self) -> Trained:
        """What the caller gets."""
        assert self.ending is not None
        looks = tuple(self.looks)
        return Trained(self.ending, self.step, self.best_step, self.best_loss, looks, self._seconds(), self.state)

    # -- checkpoints -----------------------------------------------------------------------------------------

    def _contents(self) -> dict[str, Any]:
        return {
            "plan": asdict(self.plan),
            "description": description(self.model, self.optimiser),
            "model": dict(self.model.state_dict()),
            "optimiser": self.optimiser.state_dict(),
            "best": self.best,
            "best_step": self.best_step,
            "best_loss": self.best_loss,
            "state": self.state,
            "step": self.step,
            "looks": [(look.step, look.loss, look.validation) for look in self.looks],
            "sum": self.sum,
            "summed": self.summed,
            "ending": self.ending,
            "seconds": self._seconds(),
        }

    def _save(self) -> None:
        if self.path is not None:
            checkpoints.save(self.path, self._contents())

    def _demand_storable(self, path: Path) -> None:
        """Say now, not after the work, that a state or an optimiser cannot stand in a file."""
        try:
            encode(self._contents())
        except checkpoints.CheckpointError as error:
            raise checkpoints.CheckpointError(f"{path}: {error}") from None

    def _load(self, path: Path) -> None:
        found = checkpoints.load(path)
        demand_this_run(path, found, self.plan, self.model, self.optimiser)
        self.optimiser.load_state_dict(found["optimiser"])
        self.model.load_state_dict(found["model"])
        device = next(self.model.parameters()).device
        self.state = map_leaves(lambda leaf: leaf.to(device) if isinstance(leaf, Tensor) else leaf, found["state"])
        self.best, self.best_step, self.best_loss = found["best"], found["best_step"], found["best_loss"]
        self.step, self.sum, self.summed = found["step"], found["sum"], found["summed"]
        self.looks = [Look(*look) for look in found["looks"]]
        self.ending, self.before = found["ending"], found["seconds"]


@contextmanager
def _so_many_threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(before if threads is None else threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _training_modes(model: nn.Module) -> dict[nn.Module, bool]:
    """All parts in training but those that were put into evaluation mode by themselves, with all that they hold."""
    before = {part: part.training for part in model.modules()}
    during = dict.fromkeys(before, True)
    for parent in before:
        for part in parent.children():
            if before[parent] and not before[part]:
                during |= {inner: before[inner] for inner in part.modules()}
    return during


@contextmanager
def _in_modes(model: nn.Module, modes: dict[nn.Module, bool] | None = None) -> Iterator[None]:
    """Every part in its mode, or all of them in evaluation mode; afterwards as before."""
    before = {part: part.training for part in model.modules()}

    def enter(modes: dict[nn.Module, bool]) -> None:
        model.train(modes[model])  # by the front door first: some modules do more there than to note it
        for part, mode in modes.items():
            part.training = mode

    enter(dict.fromkeys(before, False) if modes is None else modes)
    try:
        yield
    finally:
        enter(before)
