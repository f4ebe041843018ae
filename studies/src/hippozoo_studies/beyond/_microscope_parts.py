"""The parts of the microscope's study: what is trained, what is looked at, and which numbers are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hippozoo.baselines import GRU, LSTM, S4D, DeltaNet, Mamba, parameter_count
from hippozoo.memory import Memory
from hippozoo.microscope import View, exact_profile, look
from hippozoo.models import build_model
from hippozoo.systems import LegS, LegT
from hippozoo.training import Epochs, Plan, report_to, seeded, train
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo_studies import Context
from hippozoo_studies.data.spoken_digits import load_spoken_digits

# -- closed forms ----------------------------------------------------------------------------------------------------

LAGS = 64
WARM_UP = 4 * LAGS


def reservoir(size: int = 24, radius: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """A random linear reservoir: normal weights scaled to a spectral radius, and normal input weights."""
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(size, size))
    return weights * radius / np.abs(np.linalg.eigvals(weights)).max(), rng.normal(size=size)


def delay_line(state: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """The last twelve samples."""
    return np.concatenate([sample, state[:, :-1]], 1)


def linear_step(state: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """One step of the reservoir."""
    weights, entry = reservoir()
    return state @ weights.T + sample * entry


def linear_systems() -> dict[str, tuple[Any, np.ndarray]]:
    """Models with a closed form, and their answers to one unit sample."""
    pulse = np.eye(WARM_UP)[0]
    weights, entry = reservoir()
    decays = [entry]
    while len(decays) < WARM_UP:
        decays.append(weights @ decays[-1])
    plain = {"LegT(16, 40)": Memory(LegT(16, 40.0)), "LegS(16, 20)": Memory(LegS(16, 20.0))}
    bank = MultiscaleMemory(LegT(4, 8.0), longest=64.0, scales=4)
    return {
        "delay line of 12": ((delay_line, lambda batch: np.zeros((batch, 12))), np.eye(WARM_UP, 12)),
        **{name: (memory, memory.scan(pulse)) for name, memory in plain.items()},
        "random reservoir of 24": ((linear_step, lambda batch: np.zeros((batch, 24))), np.array(decays)),
        "multiscale bank of 16": (bank, bank.scan(pulse).reshape(WARM_UP, -1)),
    }


def closed_form(name: str, samples: int) -> dict[str, Any]:
    """The profile measured from so many samples beside the exact one."""
    model, impulse = linear_systems()[name]
    sequences = 40 if samples <= 50_000 else 100
    view = look(model, "noise", LAGS, sequences=sequences, length=WARM_UP - 1 + samples // sequences)
    exact = exact_profile(impulse, LAGS)
    gram = impulse.T @ impulse
    return {
        "exact": exact.tolist(),
        "profile": view.profile.numbers(),
        "largest_error": float(np.abs(view.profile.value - exact).max()),
        "condition": float(np.linalg.cond(gram)),
    }


def coverage(name: str, first: int, count: int) -> dict[str, Any]:
    """How often bands hold the exact value, lag by lag, over so many noise probes of 40 sequences."""
    model, impulse = linear_systems()[name]
    exact = exact_profile(impulse, LAGS)
    held = np.zeros(LAGS)
    for repetition in range(first, first + count):
        profile = look(model, "noise", LAGS, seed=repetition).profile
        held += (profile.low <= exact) & (exact <= profile.high)
    return {"exact": exact.tolist(), "held": held.tolist(), "repetitions": count}


# -- trainings that keep their weights ---------------------------------------------------------------------------------


def trained(
    model: nn.Module, key: dict[str, Any], context: Context, fit: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Train a model, or take the weights that the same training left behind; what `fit` said is kept beside them."""
    folder = None if context.folder is None else context.folder / "weights"
    label = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    path = None if folder is None else folder / f"{label}.safetensors"
    if path is not None and path.is_file():
        model.load_state_dict(load_file(path))
        return json.loads(path.with_suffix(".json").read_text())["said"]
    said = fit()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps({"key": key, "said": said}))
        save_file({name: one.contiguous() for name, one in model.state_dict().items()}, path)
    return said


# -- speech ----------------------------------------------------------------------------------------------------------

SPEECH_MODELS = {"s4d": S4D, "mamba": Mamba, "lstm": LSTM, "gru": GRU, "deltanet": DeltaNet}
SPEECH_LAGS = 40
FRAMES = 64


@dataclass(frozen=True)
class SpeechPlan:
    """How models of spoken digits are trained."""

    params: int = 20_000
    epochs: int = 20
    batch: int = 64
    recordings: int | None = None


def speech_model(name: str, params: int) -> nn.Module:
    """A model that hears frames and answers with a digit at the last one."""
    if name == "memory":
        return build_model("memory", history=FRAMES, inputs=24, outputs=10, params=params, pool="last")
    return SPEECH_MODELS[name].match(params, inputs=24, outputs=10)


def say(model: nn.Module, frames: Tensor) -> Tensor:
    """Scores of the ten digits after the last frame."""
    y = model(frames)[0]
    return y if y.ndim == 2 else y[:, -1]


def speech(name: str, rate: float, seed: int, plan: SpeechPlan, context: Context) -> dict[str, Any]:
    """Train a model of spoken digits; look at it on the test recordings, before and after."""
    learn, test = load_spoken_digits(context.data, FRAMES)
    # Every ninth training recording is to choose by.
    chooses = np.arange(len(learn.labels)) % 9 == 0
    part = slice(None, plan.recordings)
    sets = [
        (torch.from_numpy(frames[part]), torch.from_numpy(labels[part]))
        for frames, labels in (
            (learn.frames[~chooses], learn.labels[~chooses]),
            (learn.frames[chooses], learn.labels[chooses]),
            (test.frames, test.labels),
        )
    ]
    with seeded(seed):
        model = speech_model(name, plan.params)
    before = look_at_speech(model, *sets[2])
    order = Epochs(len(sets[0][0]), plan.batch, seed=seed)
    steps = plan.epochs * max(1, len(sets[0][0]) // plan.batch)

    def fit() -> dict[str, Any]:
        run = train(
            model,
            lambda step, rng: tuple(one[torch.from_numpy(order(step))] for one in sets[0]),
            lambda model, some: cross_entropy(say(model, some[0]), some[1]),
            Plan(
                steps=steps,
                rate=rate,
                seed=seed,
                weight_decay=0.01,
                warm_up=steps // 10,
                schedule="cosine",
                validate_every=max(1, steps // 10),
            ),
            validate=lambda model: cross_entropy(say(model, sets[1][0]), sets[1][1]).item(),
            on_progress=report_to(context.progress),
            checkpoint=context.scratch and context.scratch / "run.safetensors",
        )
        return {"validation_loss": run.best_loss}

    said = trained(model, {"speech": name, "rate": rate, "seed": seed, **asdict(plan)}, context, fit)
    model.eval()
    with torch.no_grad():
        right = (say(model, sets[2][0]).argmax(-1) == sets[2][1]).double().mean().item()
    return {
        **said,
        "accuracy": 100 * right,
        "parameters": parameter_count(model),
        "before": before,
        "after": look_at_speech(model, *sets[2]),
    }


def look_at_speech(model: nn.Module, frames: Tensor, labels: Tensor) -> dict[str, Any]:
    """Profile and capacity over the last 24 frames, every second one, and the digit from the last 8."""
    view = look(model, frames, SPEECH_LAGS, at=range(SPEECH_LAGS + 1, FRAMES, 2), components=256)
    late = look(model, frames, 8, at=range(FRAMES - 8, FRAMES), components=200)
    answer = late.decode(np.repeat(labels.numpy()[:, None], FRAMES, 1))
    return {**brief(view), "answer": answer.numbers()}


def speech_on_noise(name: str, seed: int, rate: float, plan: SpeechPlan, context: Context) -> dict[str, Any]:
    """Capacity by degree under noise, before and after training; the weights are those of `speech`."""
    with seeded(seed):
        model = speech_model(name, plan.params)
    found = {"before": by_degree(model)}
    folder = context.folder
    trained(
        model,
        {"speech": name, "rate": rate, "seed": seed, **asdict(plan)},
        context,
        lambda: _refuse_untrained(name, folder),
    )
    return found | {"after": by_degree(model)}


def _refuse_untrained(name: str, folder: Path | None) -> dict[str, Any]:
    raise FileNotFoundError(f"the weights of {name} are not in {folder}/weights; run the part 'speech' here first.")


def by_degree(model: nn.Module) -> dict[str, Any]:
    """Capacity of the first three degrees under a normal probe of all channels."""
    view = look(model, "noise", 24, sequences=40, length=96 + 200, components=400)
    return {"degrees": {str(degree): one.numbers() for degree, one in view.degrees.items()}, **brief(view)}


def brief(view: View) -> dict[str, Any]:
    """The numbers of a view that the study keeps."""
    numbers = view.numbers()
    return {name: numbers[name] for name in ("size", "profile", "capacity", "half_life", "window", "rank")}
