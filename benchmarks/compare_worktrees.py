"""Do two trees of hippozoo compute the same bits? Moving code must change no number.

    python benchmarks/compare_worktrees.py OLD NEW                        layers, memories and forecasts
    python benchmarks/compare_worktrees.py OLD NEW --part forecasts      the ensemble alone, in half a minute

OLD and NEW are folders with `src/hippozoo` in them. Each is run in a process of its own, with one thread, on the same
seeded inputs: layers are drawn, called as a whole sequence, in chunks, with `dt`, with `lengths`, step by step, in
float32 and in float64. Drawn parameters, outputs, states, gradients and the names in `state_dict` are written down to
the bit and compared. Checkpoints that OLD wrote are loaded by NEW, and what they then say is compared too. Forecasts
are those of `compare_forecasts`. `--keep FOLDER` keeps what OLD said there, for the next comparison with the same tree.

Where another computation was meant to take a place (`MEANT`), differences are printed with their size and must stay
below a bound; all others are reported as faults, and the exit code is 1. What it found for the move to
`hippozoo.layers` stands in benchmarks/compare_worktrees.txt.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
N_STEPS = 70
# What was changed on purpose since the tree before `hippozoo.layers` (03859a3): in which names, why, and the largest
# difference allowed in float32 and in float64, relative to the largest number of an array. The first that fits counts.
# Gradients of small biases are sums that nearly cancel.
MEANT = {
    "deltanet": ("one delta rule for two", 1e-5, 1e-13),
    "mamba": ("compiled scan", 1e-5, 1e-13),
    "-by-table": ("its table is made with short steps that keep their digits", 1e-7, 1e-10),
    "salience-": ("faster forms of salience", 1e-2, 1e-5),
    "Memory": ("short uneven steps keep their digits", 1e-6, 1e-13),
}
TO_THE_BIT = ("-recurrent",)


def makers() -> dict[str, Any]:
    """How to make each thing, by keywords alone, so that both trees understand."""
    from hippozoo.baselines import LSTM, S4D, DeltaNet, Mamba, Transformer, VanillaHippo, VanillaMLP
    from hippozoo.memory import MemoryLayer
    from hippozoo.polynomials import Legendre
    from hippozoo.systems import FouT, LagT, LegS, LegT
    from hippozoo.zoo.associative import AssociativeMemory
    from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
    from hippozoo.zoo.salience import SalienceLayer, SalienceModel
    from hippozoo.zoo.volterra import VolterraLayer

    legt, legs = LegT(order=8, timescale=20.0), LegS(order=6, timescale=9.0)
    high = LegT(order=40, timescale=20.0)  # so high that the table takes the whole sequence in one piece
    many = MultiscaleMemory(LegT(order=4, timescale=5.0), longest=200.0, scales=6)
    sizes = {"inputs": 3, "outputs": 2}
    return {
        "memory": lambda: MemoryLayer(legt, channels=3),
        "memory-wide": lambda: MemoryLayer(LegT(order=140, timescale=40.0), channels=3),
        "memory-readout": lambda: MemoryLayer(legs, channels=3, outputs=4, dt=0.5),
        "memory-bilinear": lambda: MemoryLayer(legt, channels=3, outputs=2, method="bilinear", bias=False),
        "memory-timescale": lambda: MemoryLayer(legs, channels=3, outputs=2, trainable_timescale=True),
        "memory-lagt": lambda: MemoryLayer(LagT(order=5, timescale=7.0), channels=3),
        "associative": lambda: AssociativeMemory(channels=3, width=4, hidden=8),
        "associative-random": lambda: AssociativeMemory(
            channels=3, outputs=2, width=4, hidden=8, family=Legendre(9), start="random", system=legs
        ),
        "multiscale": lambda: MultiscaleLayer(many, channels=3),
        "multiscale-horizons": lambda: MultiscaleLayer(many, channels=3, horizons=(7.0, 90.0)),
        "multiscale-readout": lambda: MultiscaleLayer(many, channels=3, horizons=(50.0,), outputs=2),
        "volterra": lambda: VolterraLayer(legs, channels=3, outputs=2, degree=3),
        "volterra-low-rank": lambda: VolterraLayer(legs, channels=3, outputs=2, rank=2, dt=0.5),
        "salience-by-state": lambda: SalienceLayer(legt, channels=3, outputs=2),
        "salience-by-state-by-table": lambda: SalienceLayer(high, channels=3, outputs=2, form="table"),
        "salience-input-only-by-table": lambda: SalienceLayer(high, channels=3, summary=0, form="table"),
        "salience-per-channel-by-table": lambda: SalienceLayer(high, channels=3, per_channel=True, form="table"),
        "salience-model-by-table": lambda: SalienceModel(**sizes, system=high, width=5, form="table"),
        "salience-input-only": lambda: SalienceLayer(legs, channels=3, summary=0),
        "salience-per-channel": lambda: SalienceLayer(legt, channels=3, per_channel=True),
        "salience-states": lambda: SalienceLayer(FouT(order=7, timescale=9.0), channels=3, readout="states"),
        "salience-recurrent": lambda: SalienceLayer(
            LagT(order=8, timescale=9.0), channels=3, readout="full", outputs=3, form="recurrent"
        ),
        "salience-model": lambda: SalienceModel(**sizes, system=legt, width=5),
        "lstm": lambda: LSTM(**sizes, width=8, layers=2),
        "s4d": lambda: S4D(**sizes, width=8, layers=2, order=6),
        "mamba": lambda: Mamba(**sizes, width=8, layers=2, order=5),
        "transformer": lambda: Transformer(**sizes, width=8, layers=2, positions="sinusoidal", context=17),
        "deltanet": lambda: DeltaNet(**sizes, width=8, layers=2),
        "deltanet-long": lambda: DeltaNet(**sizes, width=4, heads=1),
        "vanilla": lambda: VanillaHippo(**sizes, system=legt, width=4, layers=2),
        "vanilla-mlp": lambda: VanillaMLP(**sizes, system=legs, width=4, hidden=5),
    }


def memories() -> dict[str, Any]:
    """The NumPy memories."""
    from hippozoo.memory import GrowingMemory, Memory
    from hippozoo.systems import FouT, LagT, LegS, LegT
    from hippozoo.zoo.multiscale import MultiscaleMemory

    return {
        "Memory-legt": lambda: Memory(LegT(order=16, timescale=20.0)),
        "Memory-legt-float32": lambda: Memory(LegT(order=16, timescale=20.0), dtype="float32"),
        "Memory-bilinear": lambda: Memory(LegT(order=6, timescale=20.0), method="bilinear"),
        "Memory-legs": lambda: Memory(LegS(order=8, timescale=7.0), dt=0.5),
        "Memory-lagt": lambda: Memory(LagT(order=8, timescale=5.0)),
        "Memory-fout": lambda: Memory(FouT(order=9, timescale=30.0)),
        "GrowingMemory": lambda: GrowingMemory(8),
        "MultiscaleMemory": lambda: MultiscaleMemory(LegT(order=4, timescale=5.0), longest=200.0, scales=9),
        "MultiscaleMemory-bank": lambda: MultiscaleMemory(
            LegS(order=4, timescale=5.0), longest=200.0, construction="bank", dtype="float32"
        ),
    }


def bits(value: Any) -> str:
    """A tensor or an array as a short text that differs if a bit does; shape and dtype belong to it."""
    import numpy as np

    array = np.ascontiguousarray(value.detach().numpy() if hasattr(value, "detach") else value)
    array = array + np.zeros((), array.dtype)  # -0.0 is 0.0
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def leaves_of_this_tree() -> Any:
    """The function that walks nests; it has moved."""
    try:
        from hippozoo._internal.nests import leaves
    except ImportError:
        from hippozoo._nests import leaves
    return leaves


def say(values: dict[str, Any], kept: dict[str, Any], name: str, nest: Any) -> None:
    """Write down every leaf of a nest, and keep its numbers for a look at the size of differences."""
    import numpy as np

    leaves = leaves_of_this_tree()
    for place, leaf in leaves(nest, name):
        values[place] = bits(leaf)
        kept[place] = np.asarray(leaf.detach() if hasattr(leaf, "detach") else leaf)


def describe_layer(layer: Any, dtype: Any, with_time: bool) -> Iterator[tuple[str, Any]]:
    """Everything that a layer says."""
    import torch

    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    x = draw(4, N_STEPS, 3).requires_grad_()
    dt = torch.rand(4, N_STEPS, generator=generator, dtype=torch.float64) + 0.1
    lengths = torch.tensor([N_STEPS, 1, 33, 0])
    yield "parameters", dict(layer.named_parameters())
    y, state = layer(x)
    yield "whole", (y, state)
    yield "gradients", gradients(layer, x, y, state)
    first, middle = layer(x[:, :33])
    yield "chunk", layer(x[:, 33:], middle)
    y, state = layer(x, middle)
    yield "gradients from a state", gradients(layer, x, y, state)
    y, state = layer(x, middle, lengths=lengths)
    yield "padded", (y, state)
    yield "gradients with padding", gradients(layer, x, y, state)
    state = layer.initial_state(4)
    for t in range(5):
        y, state = layer.step(x[:, t], state)
        yield f"step {t}", (y, state)
    if with_time:
        for name, steps in (("one dt", 0.3), ("dt per sample", dt[0]), ("dt per item and sample", dt)):
            y, state = layer(x, middle, dt=steps, lengths=lengths)
            yield name, (y, state)
            yield f"gradients of {name}", gradients(layer, x, y, state)
            yield f"{name} without padding", layer(x, None, steps)
        yield "step of dt", layer.step(x[:, 0], middle, 0.7)
        yield "step of dt per item", layer.step(x[:, 0], middle, dt[:, 0])
    del first


def gradients(layer: Any, x: Any, y: Any, state: Any) -> list[Any]:
    """Of a loss that feels every output and every number of the state."""
    import torch

    leaves = leaves_of_this_tree()
    floats = [leaf for _, leaf in leaves(state) if leaf.is_floating_point() and leaf.requires_grad]
    loss = y.square().sum() + sum(leaf.square().sum() for leaf in floats)
    wanted = [x, *layer.parameters()]
    found = torch.autograd.grad(loss, wanted, allow_unused=True, retain_graph=True)
    return [torch.zeros(()) if one is None else one for one in found]


def describe_memory(memory: Any) -> Iterator[tuple[str, Any]]:
    """Everything that a NumPy memory says."""
    import numpy as np

    rng = np.random.default_rng(3)
    for channels in (None, 3):
        signal = rng.normal(size=300 if channels is None else (300, channels))
        dt, mask = rng.uniform(0.2, 2.0, 300), rng.random(300) > 0.2
        signal = signal.astype(getattr(memory, "dtype", "float64"))
        states = memory.scan(signal)
        yield f"{channels} scan", states
        state = memory.final(signal)
        yield f"{channels} final", state
        yield f"{channels} scan from a state", memory.scan(signal, state)
        yield f"{channels} scan of one dt", memory.scan(signal, state, dt=0.4)
        yield f"{channels} scan of dt", memory.scan(signal, state, dt=dt)
        yield f"{channels} final of dt", memory.final(signal, state, dt=dt)
        yield f"{channels} mask", memory.scan(signal, mask=mask)
        yield f"{channels} final mask", memory.final(signal, mask=mask)
        for t in range(3):
            state = memory.step(state, signal[t])
            yield f"{channels} step {t}", state
        yield f"{channels} step of dt", memory.step(state, signal[4], dt=0.7)
        if hasattr(memory, "system"):
            yield f"{channels} merged", memory.merge(state, memory.final(signal[:9]), elapsed=9.0)


def describe(folder: Path, checkpoints: Path | None, only: str, part: str) -> None:
    """Run one tree; called in a process of its own."""
    import numpy as np

    values: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    if part != "forecasts":
        describe_layers(values, kept, folder, checkpoints, only)
    if part != "layers":
        from compare_forecasts import cases, describe_case

        for case in cases():
            if only in case.name:
                for what, nest in describe_case(case):
                    say(values, kept, f"{case.name}: {what}", nest)
    (folder / "bits.json").write_text(json.dumps(values))
    np.savez(folder / "numbers.npz", **{place.replace("/", "|"): array for place, array in kept.items()})


def describe_layers(
    values: dict[str, Any], kept: dict[str, Any], folder: Path, checkpoints: Path | None, only: str
) -> None:
    """What layers and memories of one tree say."""
    import numpy as np
    import torch

    from hippozoo import checkpoint

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name, make in makers().items():
        if only not in name:
            continue
        for dtype in (torch.float32, torch.float64):
            torch.manual_seed(11)
            layer = make().to(dtype)
            label = f"{name} {str(dtype).removeprefix('torch.')}"
            values[f"{label} names in state_dict"] = sorted(layer.state_dict())
            with_time = getattr(layer, "knows_time", True)
            for part, nest in describe_layer(layer, dtype, with_time):
                say(values, kept, f"{label}: {part}", nest)
            path = f"{label.replace(' ', '-')}.safetensors"
            checkpoint.save(folder / path, layer)
            loaded = checkpoint.load((checkpoints or folder) / path)
            with torch.no_grad():
                say(values, kept, f"{label}: loaded", loaded(torch.ones(2, 40, 3, dtype=dtype)))
    for name, make in memories().items():
        if only in name:
            memory = make()
            for part, nest in describe_memory(memory):
                say(values, kept, f"{name}: {part}", nest)
            checkpoint.save(folder / f"{name}.safetensors", memory)
            loaded = checkpoint.load((checkpoints or folder) / f"{name}.safetensors")
            say(values, kept, f"{name}: loaded", loaded.final(np.ones(40, getattr(memory, "dtype", "float64"))))


def run(tree: Path, folder: Path, checkpoints: Path | None, only: str, part: str) -> None:
    """Describe a tree in a process that sees that tree alone."""
    if (folder / "numbers.npz").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": str(tree / "src"), "PYTHONWARNINGS": ""}
    command = [sys.executable, __file__, "--describe", str(folder), "--only", only, "--part", part]
    subprocess.run([*command, *(["--from", str(checkpoints)] if checkpoints else [])], env=environment, check=True)


def main() -> None:
    """Compare, and say what differs and by how much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="the old tree, then the new one")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--part", default="all", choices=("all", "layers", "forecasts"), help="what to compare")
    parser.add_argument("--keep", type=Path, help="a folder that keeps what the old tree said")
    parser.add_argument("--describe", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="checkpoints", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.describe:
        describe(arguments.describe, arguments.checkpoints, arguments.only, arguments.part)
        return
    if len(arguments.trees) != 2:
        parser.error("pass two trees, the old one and the new one")
    import numpy as np

    with tempfile.TemporaryDirectory() as place:
        old, new = arguments.keep or Path(place) / "old", Path(place) / "new"
        run(arguments.trees[0], old, None, arguments.only, arguments.part)
        run(arguments.trees[1], new, old, arguments.only, arguments.part)
        before, after = (json.loads((folder / "bits.json").read_text()) for folder in (old, new))
        numbers = [np.load(folder / "numbers.npz") for folder in (old, new)]
        differing = [name for name in before | after if before.get(name) != after.get(name)]
        worst: dict[str, tuple[float, str]] = {}
        for name in differing:
            key = name.replace("/", "|")
            gap = np.inf
            if all(key in one and one[key].shape == numbers[0][key].shape for one in numbers):
                ours, theirs = (one[key].astype(float) for one in numbers)
                gap = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-30))
            subject = name.partition(":")[0]
            worst[subject] = max(worst.get(subject, (0.0, "")), (gap, name))
        print(f"{len(before)} values before, {len(after)} after; {len(differing)} differ.")
        faults = 0
        for subject, (gap, name) in sorted(worst.items()):
            why = meant(subject, gap)
            faults += why is None
            print(
                f"{subject}: up to {gap:.1e} of the largest, at {name.partition(': ')[2] or name} "
                f"({why or 'NOT MEANT'})"
            )
        print(f"{faults} of {len(worst)} subjects differ without being meant to.")
    sys.exit(bool(faults))


def meant(subject: str, gap: float) -> str | None:
    """Why this much of a difference was meant; None if it was not."""
    if any(form in subject for form in TO_THE_BIT):
        return None
    for part, (why, single, double) in MEANT.items():
        if part in subject and gap <= (single if "float32" in subject else double):
            return why
    return None


if __name__ == "__main__":
    main()
