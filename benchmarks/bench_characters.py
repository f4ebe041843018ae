"""Models of text by characters: training and writing, beside torch's LSTM and GRU and mambapy."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from mambapy.mamba import Mamba as MambaPy
from mambapy.mamba import MambaConfig
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.nests import map_leaves
from hippozoo.baselines import LSTM, Mamba, parameter_count
from hippozoo.models import explicit_characters
from hippozoo_studies.generate.fast import FastSteps
from hippozoo_studies.paper._character_models import STACKS, RecurrentStack, build_stack
from hippozoo_studies.paper._characters import CharacterModel

__all__ = ["run"]

BATCH, LENGTH, PARAMS = 32, 128, 25_000


class PlainMambaPy(nn.Module):
    """The stack of mambapy, which has no state to hand on."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = MambaPy(MambaConfig(width, layers, d_state=16, expand_factor=2))

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, None]:
        """Outputs alone."""
        return self.layers(x), None


def training(model: nn.Module, codes: Tensor) -> Callable[[], None]:
    """Forward, backward, and one step of AdamW, along a stream."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)  # the weights stay: every step is alike
    held: list[Any] = [None]

    def work() -> None:
        optimiser.zero_grad(set_to_none=True)
        scores, state = model(codes[:, :-1], held[0])
        functional.cross_entropy(scores.flatten(0, 1), codes[:, 1:].flatten()).backward()
        optimiser.step()
        held[0] = map_leaves(lambda leaf: leaf.detach(), state) if state is not None else None

    return work


def writing(step: Callable[[Any, Any], tuple[Any, Any]], code: Any, state: Any, count: int = 200) -> Callable[[], None]:
    """One character after the other, each from the state that the one before left."""

    def work() -> None:
        now = state
        for _ in range(count):
            _, now = step(code, now)

    return work


def run() -> list[dict[str, Any]]:
    """Training against the LSTM of equal layers, writing against our `LSTM.step`; float32, one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    codes = torch.randint(0, 96, (BATCH, LENGTH + 1))
    samples = BATCH * LENGTH
    explicit = explicit_characters(PARAMS)
    layers = len(explicit.layers)
    stacks: dict[str, nn.Module] = {f"explicit stack, {layers} layers": explicit}
    stacks |= {
        f"{family} stack, {n} layers": build_stack(family, n, PARAMS, True) for family in STACKS for n in (2, 3, layers)
    }
    width = build_stack("gru", 2, PARAMS, True).width
    cells = RecurrentStack(partial(nn.GRU, batch_first=True), width, 2)
    stacks["torch's GRU in such a stack, 2 layers"] = CharacterModel(cells, width, tied=True)
    width = build_stack("mamba", 2, PARAMS, True).width
    stacks["mambapy, 2 layers"] = CharacterModel(PlainMambaPy(width, 2), width, tied=True)
    taken = {name: seconds(training(model, codes), 8) for name, model in stacks.items()}
    lstm = taken[f"lstm stack, {layers} layers"]
    rows = []
    for name, model in stacks.items():
        target = round(1 / 3, 3) if model is explicit else None
        title = f"training, {name}, {parameter_count(model):,} parameters, per character"
        rows.append(
            row(title, taken[name], lstm, against=f"torch LSTM, {layers} layers", target=target, samples=samples)
        )
    return rows + _writing(explicit)


@torch.no_grad()
def _writing(explicit: Any) -> list[dict[str, Any]]:
    """One character at a time, batch 1."""
    sample = torch.zeros(1, 96)
    code = torch.tensor([5])
    lstm = LSTM.match(PARAMS, inputs=96, outputs=96, layers=len(explicit.layers)).eval()
    mamba = Mamba.match(PARAMS, inputs=96, outputs=96, layers=2).eval()
    explicit = explicit.eval()
    fast = FastSteps(explicit)
    wanted, _ = explicit.step(code, explicit.initial_state(1))
    assert abs(fast.step(5, fast.initial_state())[0] - wanted[0].numpy()).max() < 1e-4
    against = f"our LSTM.step, {len(explicit.layers)} layers"
    works = {
        "explicit stack, compiled steps": (writing(fast.step, 5, fast.initial_state()), 1.0),
        "explicit stack, step": (writing(explicit.step, code, explicit.initial_state(1)), None),
        "LSTM, step": (writing(lstm.step, sample, lstm.initial_state(1)), None),
        "Mamba of two layers, step": (writing(mamba.step, sample, mamba.initial_state(1)), None),
    }
    taken = {name: seconds(work, 5) for name, (work, _) in works.items()}
    reference = taken["LSTM, step"]
    return [
        row(f"writing, {name}, per character", taken[name], reference, against=against, target=target, samples=200)
        for name, (_, target) in works.items()
    ]
