"""The table of docs/your-own-task.md: salience and Mamba on its task, three seeds, three rates each.

``python -m benchmarks.own_task`` writes results/own-task/metrics.json, in about ten minutes. The task, the loss and the
sizes are those of the page. The rate of each model and number of steps is the one with the best accuracy on held-out
logs (mean over seeds); the accuracies reported are those of other logs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["run"]

ROOT = Path(__file__).parents[1]
STEPS, RATES, SEEDS = (150, 300, 600), (3e-3, 1e-2, 3e-2), (0, 1, 2)


def code_of_the_page() -> dict[str, Any]:
    """What the first two blocks of the page define, without the model that it trains."""
    text = (ROOT / "docs" / "your-own-task.md").read_text(encoding="utf-8")
    data, training = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
    names: dict[str, Any] = {}
    exec(data + training.partition("held_out =")[0], names)
    return names


def run(folder: Path) -> None:
    """Train all of them; print and write accuracies."""
    from hippozoo.baselines import Mamba, parameter_count
    from hippozoo.systems import LegT
    from hippozoo.training import Plan, seeded, train
    from hippozoo.zoo.salience import SalienceModel

    page = code_of_the_page()
    draw, accuracy = page["draw"], page["accuracy"]
    held_out, test = draw(500, np.random.default_rng(1)), draw(500, np.random.default_rng(2))
    longer = draw(500, np.random.default_rng(4), noise=30)

    def salience() -> Any:
        return SalienceModel(6, 4, LegT(order=24, timescale=12.0), width=16, summary=0, hidden=32)

    def mamba() -> Any:
        return Mamba.match(params=781, inputs=6, outputs=4)

    found: dict[str, Any] = {}
    for name, make in {"salience": salience, "mamba": mamba}.items():
        runs: dict[tuple[float, int], list[dict[str, float]]] = {}
        for rate in RATES:
            for steps in STEPS:
                plan = {"steps": steps, "rate": rate, "schedule": "cosine", "validate_every": 150}
                for seed in SEEDS:
                    with seeded(seed):
                        model = make()
                    train(
                        model,
                        lambda step, rng: draw(64, rng),
                        page["loss"],
                        Plan(**plan, seed=seed),
                        validate=lambda model: 1 - accuracy(model, held_out),
                    )
                    scores = {"held_out": held_out, "test": test, "longer": longer}
                    runs.setdefault((rate, steps), []).append(
                        {part: accuracy(model, data) for part, data in scores.items()}
                    )
                print(name, rate, steps, [one["test"] for one in runs[rate, steps]], flush=True)
        best = {
            steps: max(RATES, key=lambda rate, steps=steps: np.mean([one["held_out"] for one in runs[rate, steps]]))
            for steps in STEPS
        }
        found[name] = {
            "parameters": parameter_count(make()),
            "rate": best,
            "steps": {steps: runs[best[steps], steps] for steps in STEPS},
        }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps({"seeds": SEEDS, **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(ROOT / "results" / "own-task")
