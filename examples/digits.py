"""A stack of memories reads handwritten digits pixel by pixel, in about a minute.

    python examples/digits.py [--layers memory memory] [--epochs 12]

The images of scikit-learn (8 by 8; pip install 'hippozoo[sklearn]') come as 64 samples of one number. The model names
the digit after the last one; then one image is shown to it pixel by pixel, and one sees when it knows.
"""

import argparse
import time

import torch
from torch.nn.functional import cross_entropy

from hippozoo.layers import parameter_count
from hippozoo.models import RECIPES, build_model
from hippozoo.tasks.digits import load_digits
from hippozoo.training import Epochs, Plan, seeded, train

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--layers", nargs="+", default=["memory", "memory"], choices=list(RECIPES))
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--images", type=int, help="learn from so many only")
given = parser.parse_args()

learn, choose, report = (
    (torch.from_numpy(part.images[: given.images]), torch.from_numpy(part.labels[: given.images]))
    for part in load_digits("pixels")
)
with seeded(0):
    model = build_model(given.layers, history=64, inputs=1, outputs=10, params=17_000, pool="mean")
print(f"{' + '.join(given.layers)}: {parameter_count(model):,} parameters, width {model.width}")


def loss(model, some):
    """How unlikely the true digits are."""
    return cross_entropy(model(some[0])[0], some[1])


order = Epochs(len(learn[0]), 64, seed=0)
steps = given.epochs * (len(learn[0]) // 64)
plan = Plan(steps=steps, rate=1e-2, warm_up=steps // 10, schedule="cosine", weight_decay=0.01, validate_every=steps)
began = time.perf_counter()
train(
    model,
    lambda step, rng: tuple(part[torch.from_numpy(order(step))] for part in learn),
    loss,
    plan,
    validate=lambda model: loss(model, choose).item(),
)
model.eval()
with torch.no_grad():
    right = (model(report[0])[0].argmax(-1) == report[1]).double().mean().item()
    print(f"{100 * right:.1f} % of {len(report[1])} unseen digits after {time.perf_counter() - began:.0f} s")
    state = model.initial_state(batch=1)
    for number, pixel in enumerate(report[0][0], start=1):
        scores, state = model.step(pixel[None], state)
        if number % 8 == 0:
            guess = scores.softmax(-1)[0]
            print(f"after row {number // 8}: a {guess.argmax()} ({100 * guess.max():.0f} %); it is a {report[1][0]}")
