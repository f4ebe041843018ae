"""What a training step of a salience model costs, against the loop with a solve per step, and against Mamba; growth."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo.baselines import Mamba
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer, SalienceModel

__all__ = ["growth", "run"]

BATCH, LENGTH, TOKEN, WIDTH, ORDER = 64, 30, 32, 64, 256


class BilinearLoop(nn.Module):
    """The same model as people write it: one bilinear solve per step and item, the state kept in the graph."""

    def __init__(self, model: SalienceModel) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("A", torch.tensor(model.system.A / model.system.timescale, dtype=torch.float32))
        self.register_buffer("b", torch.tensor(model.system.b / model.system.timescale, dtype=torch.float32))
        self.register_buffer("eye", torch.eye(ORDER))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs after every sample."""
        layer = self.model.layer
        u = self.model.input(x)
        part = layer.network.sample_part(u)
        state = u.new_zeros(len(x), layer.channels, ORDER)
        outputs = []
        for t in range(x.shape[1]):
            if layer.summary:
                pooled = state @ layer.network.pool.weight.mT
                salience = layer.network.with_summary(part[:, t], pooled, layer.network.pooling(u))
            else:
                salience = layer.network.from_sample(part[:, t])
            half = salience[:, :, None] / 2 * self.A
            right = state @ (self.eye + half).mT + (salience * u[:, t])[..., None] * self.b
            state = torch.linalg.solve(self.eye - half, right.mT).mT
            outputs.append(layer.output(state @ layer.functional))
        return torch.stack(outputs, 1)


def training_step(model: nn.Module, forward: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    """Forward, backward, clip and move, on the answer steps."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, fused=True)

    def step() -> None:
        optimiser.zero_grad()
        forward(x)[:, 2 * x.shape[1] // 3 :].square().mean().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()

    return step


def run() -> list[dict[str, Any]]:
    """A training step at the paper's size: batch 64, 30 steps, 64 channels, order 256."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(BATCH, LENGTH, TOKEN)
    samples, rows = BATCH * LENGTH, []
    for summary, name, target in ((0, "input-only salience", 10), (32, "state-dependent salience", None)):
        model = SalienceModel(TOKEN, TOKEN, LegT(ORDER, float(LENGTH)), width=WIDTH, summary=summary)
        exact = SalienceModel(**model.configuration() | {"form": "recurrent"})
        exact.load_state_dict(model.state_dict())
        with torch.no_grad():
            found, expected = model(x[:2], keep_state=False)[0], exact(x[:2])[0]
        assert (found - expected).abs().max() < 1e-3 * expected.abs().max()
        loop = BilinearLoop(model)
        ours = seconds(training_step(model, lambda x, model=model: model(x, keep_state=False)[0], x))
        theirs = seconds(training_step(loop, loop, x), 1)
        rows.append(row(f"training step, {name}", ours, theirs, against="loop, bilinear solve", target=target,
                        samples=samples))  # fmt: skip
        if not summary:
            for states in (16, 36):  # mambapy's own choice, and the one that makes it as large as the paper's models
                peer = mamba(states)
                peer_time = seconds(training_step(peer, peer, x), 3)
                size = sum(parameter.numel() for parameter in peer.parameters())
                against = f"mambapy, d 44, {states} states, {size:,} parameters"
                rows.append(row(f"training step, {name}", ours, peer_time, against=against, target=5, samples=samples))
    return rows


def growth() -> list[dict[str, Any]]:
    """Time per sample as the sequence grows: quadratic within a chunk, then linear (input-only, order 64, batch 8)."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for n_steps in (30, 120, 480, 1920, 7680):
        layer = SalienceLayer(LegT(64, 30.0), channels=16, outputs=4, summary=0)
        x = torch.randn(8, n_steps, 16)
        form, chunk = layer.chosen_form(n_steps, 8)

        def work(layer: SalienceLayer = layer, x: Tensor = x) -> None:
            with torch.no_grad():
                layer(x)

        name = f"forward, {n_steps} samples ({form}, chunks of {chunk})"
        rows.append(row(name, seconds(work, 3), samples=8 * n_steps))
    return rows + long_training()


def long_training() -> list[dict[str, Any]]:
    """A training step beside our Mamba's, batch 16, 44 channels, order 64; and a clock per channel beside one for all.

    A ratio is the reference's time over ours: 0.25 is four times Mamba.
    """
    rows, ours = [], {}
    for n_steps in (128, 512, 2048):
        x = torch.randn(16, n_steps, 44)
        peer = Mamba(44, 44, width=44)
        peer_time = seconds(training_step(peer, lambda x, peer=peer: peer(x)[0], x), 3)
        for summary, name, target in ((0, "input-only", 1.0), (32, "state-dependent", 0.25)):
            taken = seconds(_salience_step(x, summary, per_channel=False), 3)
            ours[summary, n_steps] = taken
            title = f"training step, {name} salience, {n_steps} samples"
            against = f"our Mamba, {n_steps} samples"
            rows.append(row(title, taken, peer_time, against=against, target=target, samples=16 * n_steps))
    x = torch.randn(16, 512, 44)
    for summary, name in ((0, "input-only"), (32, "state-dependent")):
        apart = seconds(_salience_step(x, summary, per_channel=True), 2)
        title = f"training step, {name} salience per channel, 512 samples"
        rows.append(row(title, apart, ours[summary, 512], against="one clock", target=0.333, samples=16 * 512))
    return rows


def _salience_step(x: Tensor, summary: int, *, per_channel: bool) -> Callable[[], None]:
    """A training step of a layer, which is first compared with exact matrix exponentials."""
    system = LegT(64, float(x.shape[1]))
    layer = SalienceLayer(system, 44, outputs=44, summary=summary, per_channel=per_channel)
    exact = SalienceLayer(**layer.configuration() | {"form": "recurrent"})
    exact.load_state_dict(layer.state_dict())
    with torch.no_grad():
        found, expected = layer(x[:1])[0][:, :24], exact(x[:1, :24])[0]
    assert (found - expected).abs().max() < 1e-4 * expected.abs().max()
    return training_step(layer, lambda x: layer(x, keep_state=False)[0], x)


def mamba(states: int) -> nn.Module:
    """One Mamba layer between two linear maps, pure torch (mambapy)."""
    from mambapy.mamba import Mamba, MambaConfig

    class Peer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.input = nn.Linear(TOKEN, 44)
            self.core = Mamba(MambaConfig(d_model=44, n_layers=1, d_state=states))
            self.output = nn.Linear(44, TOKEN)

        def forward(self, x: Tensor) -> Tensor:
            return self.output(self.core(self.input(x)))

    return Peer()
