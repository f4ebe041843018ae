"""Models for MNIST pixel by pixel: those that read a memory once at the end, and those that read at every sample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from hippozoo.baselines import LSTM, S4D, Baseline, Mamba, parameter_count
from hippozoo.memory import Memory
from hippozoo.models import build_model
from hippozoo.systems import LegT
from hippozoo.training import Epochs, Plan, report_to, seeded, train
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.volterra import VolterraReadout
from hippozoo_studies import Context
from hippozoo_studies.beyond._state_size import numbers_of_state
from hippozoo_studies.data.mnist import PIXELS, Mnist, load_mnist
from hippozoo_studies.framework.door import Shape, entered, made_by

#: Memories that are read once, and how many coefficients each has.
ONCE = {"plain": 468, "multiscale": 468, "volterra": 468}
#: What 166,000 parameters pay for: hidden units, or products of two linear functionals for each digit.
HIDDEN, PRODUCTS = (256, 160), 17
#: Windows of the bank, the shortest one, and coefficients of each.
SCALES, SHORTEST = 12, 49.0
#: Models that read at every sample, and passes over 60,000 images that take about 25 minutes of one core each: a
#: gradient step of 50 images took 0.18, 0.31, 0.11, 0.3 and 0.3 s on the machine that ran them, which was busy with
#: other work for all but the first.
ALWAYS = {"memory": 7, "salience": 4, "lstm": 12, "s4d": 4, "mamba": 4}
#: Passes of a model of the user's own.
PASSES = 13


@dataclass(frozen=True)
class Recipe:
    """How a memory that is read once is trained; chosen on the validation images of the permuted pixels.

    Parameters
    ----------
    epochs, batch, weight_decay
        Of AdamW.
    input_dropout, dropout
        Share of the coefficients, and of hidden units, that are dropped in training.
    adversarial
        Half of the loss is that of states moved by so many standard deviations (root mean square over coefficients) in
        the direction in which the loss rises fastest; 0 for none. It knows nothing of pixels.
    """

    epochs: int = 30
    batch: int = 256
    weight_decay: float = 0.01
    input_dropout: float = 0.0
    dropout: float = 0.2
    adversarial: float = 0.1


class Parts(NamedTuple):
    """Images to learn from, and to score."""

    learn: Mnist
    score: Mnist


@lru_cache(maxsize=1)
def _images(view: Any, data: Path | None) -> tuple[Mnist, Mnist]:
    return load_mnist(view, data)


def split(config: Any, unit: dict[str, Any], data: Path | None) -> Parts:
    """All training and test images; or, while choosing, training images without `held_out` and these.

    The validation images are the same for all models and seeds.
    """
    train_images, test = _images(unit["view"], data)
    train_images, test = train_images[: config.images], test[: config.images]
    if unit["part"] == "report":
        return Parts(train_images, test)
    order = np.random.default_rng([28, 6]).permutation(len(train_images))
    return Parts(train_images[order[: -config.held_out]], train_images[order[-config.held_out :]])


# -- read once --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def final_states(model: str, order: int) -> np.ndarray:
    """The matrix that takes 784 pixels to the state after the last of them, (pixels, coefficients)."""
    if model == "multiscale":
        bank = MultiscaleMemory(LegT(order // SCALES, SHORTEST), longest=float(PIXELS), scales=SCALES)
        return bank.final(np.eye(PIXELS)).reshape(PIXELS, -1)
    return Memory(LegT(order, float(PIXELS))).final(np.eye(PIXELS))


def readout(model: str, order: int, recipe: Recipe) -> nn.Module:
    """The network that reads a state: two hidden layers, or a polynomial of degree two and low rank."""
    if model == "volterra":
        return nn.Sequential(nn.Dropout(recipe.input_dropout), VolterraReadout(order, 10, degree=2, rank=PRODUCTS))
    layers: list[nn.Module] = [nn.Dropout(recipe.input_dropout)]
    for before, after in pairwise((order, *HIDDEN)):
        layers += [nn.Linear(before, after), nn.GELU(), nn.Dropout(recipe.dropout)]
    return nn.Sequential(*layers, nn.Linear(HIDDEN[-1], 10))


def standardised(learn: Mnist, score: Mnist, matrix: np.ndarray) -> tuple[Tensor, Tensor]:
    """States of all images about the mean of those to learn from, and of their spread over all coefficients.

    A readout could do the same by its first weights: it costs no parameters.
    """
    states = [(part.pixels.astype(np.float32) / 255) @ matrix.astype(np.float32) for part in (learn, score)]
    mean = states[0].mean(0)
    spread = (states[0] - mean).std() + 1e-6
    first, second = (torch.from_numpy((part - mean) / spread) for part in states)
    return first, second


def read_once(config: Any, unit: dict[str, Any], context: Context) -> dict[str, Any]:
    """Final states by one product, and a readout trained on them."""
    began = time.process_time()
    recipe: Recipe = config.recipe
    parts = split(config, unit, context.data)
    matrix = final_states(unit["model"], unit["order"])
    states, scored = standardised(*parts, matrix)
    labels = torch.from_numpy(parts.learn.labels)
    per_epoch = max(1, len(labels) // recipe.batch)
    steps = recipe.epochs * per_epoch
    plan = Plan(
        steps=steps,
        rate=unit["rate"],
        seed=unit["seed"],
        weight_decay=recipe.weight_decay,
        warm_up=steps // 20,
        schedule="cosine",
        validate_every=steps,  # the last weights are kept: the rate has come down to zero by then
    )
    order = Epochs(len(labels), recipe.batch, seed=unit["seed"])

    def batch(step: int, rng: Any) -> tuple[Tensor, Tensor]:
        items = torch.from_numpy(order(step))
        return states[items], labels[items]

    with seeded(unit["seed"]):
        model = readout(unit["model"], matrix.shape[1], recipe)
    train(
        model,
        batch,
        lambda model, some: robust_loss(model, *some, recipe.adversarial),  # pyright: ignore[reportCallIssue]
        plan,
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    found = _scores(model, scored, parts.score.labels, unit["part"])
    found |= {"parameters": parameter_count(model), "state": matrix.shape[1]}
    found["core_seconds"] = round(time.process_time() - began, 1)
    if unit["part"] == "report":
        found["ridge_accuracy"] = ridge_accuracy(states, parts.learn.labels, scored, parts.score.labels)
        found["pixel_variance_explained"] = variance_explained(states, parts.learn)
    return found


def robust_loss(model: nn.Module, x: Tensor, labels: Tensor, size: float) -> Tensor:
    """Cross-entropy, half of it at states moved by `size` in the direction in which it rises fastest.

    Goodfellow, Shlens and Szegedy (2015), Explaining and harnessing adversarial examples; here of fixed length, not by
    sign, because the coefficients are one rotation of the pixels.
    """
    if not size:
        return cross_entropy(model(x), labels)
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        plain = cross_entropy(model(x), labels)
        (slope,) = torch.autograd.grad(plain, x, retain_graph=True)
    moved = x + size * math.sqrt(x.shape[1]) * torch.nn.functional.normalize(slope, dim=1)
    return (plain + cross_entropy(model(moved.detach()), labels)) / 2


def _scores(model: nn.Module, x: Tensor, labels: np.ndarray, part: str) -> dict[str, float]:
    """Accuracy in per cent, named by what was scored; while choosing also the loss."""
    model.eval()
    wanted = torch.from_numpy(labels)
    with torch.no_grad():
        said = torch.cat([model(some) for some in x.split(500)])
    accuracy = 100 * (said.argmax(-1) == wanted).double().mean().item()
    if part == "report":
        return {"accuracy": accuracy}
    loss = cross_entropy(said, wanted).item()
    return {"validation_accuracy": accuracy, "validation_loss": loss if math.isfinite(loss) else 1e9}


def ridge_accuracy(states: Tensor, labels: np.ndarray, scored: Tensor, wanted: np.ndarray, ridge: float = 1.0) -> float:
    """Test accuracy of the best linear readout, in per cent: what the state says without a hidden layer."""
    x = torch.cat([states, torch.ones(len(states), 1)], 1).double()
    gram = x.T @ x + ridge * torch.eye(x.shape[1], dtype=x.dtype)
    weights = torch.linalg.solve(gram, x.T @ one_hot(torch.from_numpy(labels), 10).double())
    said = torch.cat([scored, torch.ones(len(scored), 1)], 1).double() @ weights
    return 100 * (said.argmax(-1).numpy() == wanted).mean().item()


def variance_explained(states: Tensor, images: Mnist, ridge: float = 1.0) -> float:
    """Share of the variance of the pixels that a linear map of the state gives back, on images it was not fitted to.

    More than the share of dimensions kept, because pixels of digits hang together: so it says what of the image is
    still there, in whatever basis.
    """
    half = min(len(states), 20_000) // 2
    pixels = torch.from_numpy(images.pixels[: 2 * half].astype(np.float64) / 255)
    x = torch.cat([states[: 2 * half], torch.ones(2 * half, 1)], 1).double()
    fitted, held = x[:half], x[half:]
    gram = fitted.T @ fitted + ridge * torch.eye(x.shape[1], dtype=x.dtype)
    missing = pixels[half:] - held @ torch.linalg.solve(gram, fitted.T @ pixels[:half])
    return 1 - (missing.square().sum() / (pixels[half:] - pixels[:half].mean(0)).square().sum()).item()


# -- read at every sample ---------------------------------------------------------------------------------------------


class Answering(nn.Module):
    """A model that answers once: from its last sample, or from the mean over all."""

    def __init__(self, model: nn.Module, pool: str) -> None:
        super().__init__()
        self.model, self.pool = model, pool

    def forward(self, x: Tensor) -> Tensor:
        """A score for each digit."""
        y, _ = self.model(x)
        return y if self.pool == "done" else y[:, -1] if self.pool == "last" else y.mean(1)


def shape_of(params: int) -> Shape:
    """What a model that reads at every sample is made for: a pixel in, scores of the ten digits out."""
    return Shape(1, 10, PIXELS, params)


def build_always(name: str, params: int) -> Answering:
    """A model of about so many parameters that reads one pixel at a time.

    LSTM answers from its last sample, all others from the mean over samples, also those of the user's own.
    """
    sizes = {"inputs": 1, "outputs": 10}
    if name in entered():
        return Answering(made_by(name, shape_of(params)), "mean")
    if name in ("memory", "salience"):
        return Answering(build_model(name, history=PIXELS, params=params, pool="mean", **sizes), "done")
    kinds: dict[str, Callable[..., Baseline]] = {"lstm": LSTM.match, "s4d": S4D.match, "mamba": Mamba.match}
    return Answering(
        kinds[name](params, layers=1 if name == "lstm" else 2, **sizes), "last" if name == "lstm" else "mean"
    )


def read_always(config: Any, unit: dict[str, Any], context: Context) -> dict[str, Any]:
    """Train a model on sequences of 784 pixels: one pass over few images, or as many passes over all as it may."""
    began = time.process_time()
    learn, score = split(config, unit, context.data)
    choosing = unit["part"] == "choose"
    if choosing:
        learn, score = learn[: config.few], score[: config.few // 5 or None]
    x, scored = (_sequences(part) for part in (learn, score))
    labels = torch.from_numpy(learn.labels)
    with seeded(unit["seed"]):
        model = build_always(unit["model"], config.always_params)
    passes = 1 if choosing else config.passes or ALWAYS.get(unit["model"], PASSES)
    steps = passes * max(1, len(labels) // config.always_batch)
    order = Epochs(len(labels), config.always_batch, seed=unit["seed"])
    plan = Plan(
        steps=steps,
        rate=unit["rate"],
        seed=unit["seed"],
        weight_decay=config.recipe.weight_decay,
        warm_up=steps // 20,
        schedule="cosine",
        validate_every=steps,
    )

    def batch(step: int, rng: Any) -> tuple[Tensor, Tensor]:
        items = torch.from_numpy(order(step))
        return x[items], labels[items]

    train(
        model,
        batch,
        lambda model, some: cross_entropy(model(some[0]), some[1]),
        plan,
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    found = _scores(model, scored, score.labels, unit["part"])
    found |= {"parameters": parameter_count(model), "state": numbers_of_state(model.model), "passes": passes}
    return found | {"core_seconds": round(time.process_time() - began, 1)}


def _sequences(images: Mnist) -> Tensor:
    """(images, 784, 1), about zero."""
    return torch.from_numpy(images.pixels.astype(np.float32) / 255 - 0.13)[..., None]
