"""One training step of every baseline: Mamba against mambapy, S4D against torch.fft, all of them side by side."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch
from mambapy.mamba import Mamba as MambaPy
from mambapy.mamba import MambaConfig
from torch import Tensor, nn

from benchmarks.bench_torch_layer import peak_megabytes
from hippozoo.baselines import S4D, Mamba, parameter_count
from hippozoo_studies.paper.memory_tasks import TITLE, build

__all__ = ["growth", "run"]

BATCH = 64


def training_step(model: nn.Module, x: Tensor, call: Callable[[Tensor], Tensor]) -> Callable[[], None]:
    """Forward, backward, and one step of AdamW."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)  # the weights stay: every step is alike

    def work() -> None:
        optimiser.zero_grad(set_to_none=True)
        call(x).square().mean().backward()
        optimiser.step()

    return work


def with_the_weights_of(model: Mamba) -> nn.Module:
    """The Mamba of mambapy between our encoder and readout, all with the same weights."""
    theirs = MambaPy(MambaConfig(model.width, model.layers, d_state=model.order, expand_factor=model.expand))
    with torch.no_grad():
        for ours, layer in zip(model.blocks, theirs.layers, strict=True):
            mixer = layer.mixer
            layer.norm.weight.copy_(ours.norm.weight)
            mixer.in_proj.weight.copy_(ours.enter.weight)
            mixer.x_proj.weight.copy_(ours.select.weight)
            mixer.dt_proj.weight.copy_(ours.to_steps.weight)
            mixer.dt_proj.bias.copy_(ours.to_steps.bias)
            mixer.out_proj.weight.copy_(ours.leave.weight)
            mixer.conv1d.weight.copy_(ours.convolution.weight.T[:, None])
            mixer.conv1d.bias.copy_(ours.convolution.bias)
            mixer.A_log.copy_(ours.log_A.T)
            mixer.D.copy_(ours.skip)
    return nn.Sequential(model.encoder, theirs, model.norm, model.readout)


def s4d_by_fft(model: S4D, x: Tensor) -> Tensor:
    """The same model as people write it: complex powers, and the convolution by torch.fft."""
    u = model.encoder(x)
    n_steps = x.shape[1]
    for block in model.blocks:
        step = block.log_step.exp()[:, None]
        poles = torch.complex(-block.log_decay.exp(), block.frequency)
        weights = torch.view_as_complex(block.weight) * torch.expm1(step * poles) / poles
        powers = torch.exp((step * poles)[..., None] * torch.arange(n_steps))
        kernel = 2 * torch.einsum("hn,hnl->hl", weights, powers).real
        signal = u.transpose(1, 2)
        spectrum = torch.fft.rfft(signal, n=2 * n_steps) * torch.fft.rfft(kernel, n=2 * n_steps)
        y = torch.fft.irfft(spectrum, n=2 * n_steps)[..., :n_steps] + block.skip[:, None] * signal
        u = block.norm(u + nn.functional.glu(block.mix(nn.functional.gelu(y.transpose(1, 2))), dim=-1))
    return model.readout(u)


def compare(
    name: str,
    ours: nn.Module,
    theirs: nn.Module,
    x: Tensor,
    call: Callable[[Tensor], Tensor],
    against: str,
    target: float | None,
) -> dict[str, Any]:
    """A row of the table, after both have been found to say the same."""
    with torch.no_grad():
        assert (ours(x)[0] - call(x)).abs().max() < 1e-4
    fast, slow = training_step(ours, x, lambda x: ours(x)[0]), training_step(theirs, x, call)
    best, reference = seconds(fast, 8), seconds(slow, 5)
    samples = x.shape[0] * x.shape[1]
    found = row(name, best, reference, against=against, target=target, samples=samples, peak=peak(fast, x, ours))
    return found | {"reference_peak_megabytes": peak(slow, x, theirs)}


def peak(work: Callable[[], Any], x: Tensor, model: nn.Module) -> float:
    """Most memory that torch held during one step, in MB."""
    return peak_megabytes(work, x, model)  # pyright: ignore[reportArgumentType]


def run() -> list[dict[str, Any]]:
    """Mamba and S4D against their alternatives, float32, one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for n_steps, target in ((128, 3.0), (30, None)):
        mamba = Mamba(inputs=96, outputs=96, width=44)
        theirs = with_the_weights_of(mamba)
        name = f"Mamba, training step of ({BATCH}, {n_steps}), d 44, {parameter_count(mamba):,} parameters"
        rows.append(compare(name, mamba, theirs, torch.randn(BATCH, n_steps, 96), theirs, "mambapy", target))
    for batch, n_steps in ((BATCH, 30), (BATCH, 128), (8, 1024)):
        model = S4D(inputs=32, outputs=32)
        name = f"S4D, training step of ({batch}, {n_steps}), {parameter_count(model):,} parameters"
        x = torch.randn(batch, n_steps, 32)
        # At most 1.2 times the reference's time.
        call = lambda x, model=model: s4d_by_fft(model, x)  # noqa: E731
        rows.append(compare(name, model, model, x, call, "torch.fft", round(1 / 1.2, 3)))
    return rows


def growth() -> list[dict[str, Any]]:
    """A training step of every model of Table 1, at the sizes of selective copying."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    x = torch.randn(BATCH, 30, 32)
    for name in TITLE:
        model = build(name, "sc")
        options = {"keep_state": False} if name == "salience" else {}
        work = training_step(model, x, lambda x, model=model, options=options: model(x, **options)[0])
        title = f"{TITLE[name]}, training step of ({BATCH}, 30), {parameter_count(model):,} parameters"
        rows.append(row(title, seconds(work, 6), samples=BATCH * 30, peak=peak(work, x, model)))
    return rows


def main() -> None:
    """Print both tables; `python -m benchmarks baselines` also keeps them."""
    for part in (run, growth):
        for entry in part():
            ratio = f"{entry['ratio']:6.2f}x" if entry["ratio"] else " " * 7
            print(
                f"{entry['name']:75s} {1e3 * entry['ours']:9.2f} ms {ratio} {entry['peak_megabytes']:8.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
