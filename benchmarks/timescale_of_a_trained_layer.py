"""Which timescale a trained layer needs: copying, with the wanted token always 20 samples ago.

A layer with a learnt linear readout repeats ten tokens after a delay of ten, so that each answer stands 20 samples
back. Only the timescale changes. Writes docs/images/timescale-copying.json and .png; run it from the root of the
repository: ``python benchmarks/timescale_of_a_trained_layer.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from hippozoo import LegS, LegT, MemoryLayer
from hippozoo.tasks.selective_copying import SelectiveCopying
from hippozoo.training import Plan, seeded, train

ORDER, STEPS, BATCH = 32, 300, 32
SEEDS = (0, 1, 2)
TIMESCALES = {LegS: (4, 8, 16, 24, 32, 48, 96), LegT: (10, 20, 24, 32, 48, 96)}
TASK = SelectiveCopying(wanted=10, distractors=0, delay=10)
LAG = TASK.wanted + TASK.delay
OUT = Path("docs/images")


def tensors(episodes):
    """Inputs and targets for torch."""
    return torch.from_numpy(episodes.inputs).float(), torch.from_numpy(episodes.targets)


def accuracy(system, seed):
    """Share of right answers on 512 fresh episodes after training."""

    def batch(step, rng):
        return tensors(TASK.draw(BATCH, rng))

    def loss(model, given):
        inputs, targets = given
        return cross_entropy(model(inputs)[0].flatten(0, 1), targets.flatten(), ignore_index=-1)

    with seeded(seed):
        layer = MemoryLayer(system, channels=TASK.size, outputs=TASK.vocabulary)
    train(layer, batch, loss, Plan(steps=STEPS, rate=3e-3, seed=seed))
    inputs, targets = tensors(TASK.draw(512, np.random.default_rng([99, seed])))
    with torch.no_grad():
        right = layer(inputs)[0].argmax(-1) == targets
    return float(right[targets >= 0].double().mean())


def main():
    """All timescales, three seeds each."""
    torch.set_num_threads(1)
    found = {}
    for kind, timescales in TIMESCALES.items():
        found[kind.__name__] = {}
        for timescale in timescales:
            found[kind.__name__][timescale] = [accuracy(kind(ORDER, float(timescale)), seed) for seed in SEEDS]
            print(kind.__name__, timescale, found[kind.__name__][timescale], flush=True)
    about = {"order": ORDER, "steps": STEPS, "batch": BATCH, "seeds": SEEDS, "lag": LAG, "length": TASK.length}
    (OUT / "timescale-copying.json").write_text(json.dumps({"about": about, "accuracy": found}, indent=1) + "\n")
    draw(found)


def draw(found):
    """Accuracy over timescale: mean, and the spread of the seeds."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import ink, style

    with style():
        figure = Figure(figsize=(7, 3.4), layout="constrained")
        ax = figure.subplots()
        for number, (kind, runs) in enumerate(found.items()):
            values = np.array(list(runs.values()))
            places = np.array(list(runs), float)
            ax.plot(places, values.mean(axis=1), marker="o", color=f"C{number}", label=f"{kind}(order={ORDER})")
            ax.fill_between(places, values.min(axis=1), values.max(axis=1), color=f"C{number}", alpha=0.2, linewidth=0)
        ax.axvline(LAG, color=ink(), linestyle=":", label=f"the answer is {LAG} samples ago")
        ax.axhline(1 / TASK.vocabulary, color=ink(), linestyle="--", linewidth=1, label="guessing")
        ax.set(xscale="log", xlabel="timescale (samples)", ylabel="answers right", ylim=(0, 1.05))
        ax.set_xticks([4, 8, 16, 24, 48, 96], ["4", "8", "16", "24", "48", "96"], minor=False)
        ax.set_xticks([], minor=True)
        ax.legend(fontsize=8)
        figure.savefig(OUT / "timescale-copying.png", dpi=130)


if __name__ == "__main__":
    main()
