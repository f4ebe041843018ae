"""Parts of the microscope's study about tasks and text: what is trained, what is looked at, which numbers are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hippozoo.baselines import Mamba
from hippozoo.microscope import View, look
from hippozoo.microscope.torch_models import torch_subject
from hippozoo.systems import LegT
from hippozoo.tasks.associative_recall import associative_recall
from hippozoo.tasks.selective_copying import SelectiveCopying
from hippozoo.training import Plan, report_to, seeded, train
from hippozoo.zoo.salience import SalienceModel, trace
from hippozoo_studies import Context
from hippozoo_studies.beyond._microscope_parts import trained
from hippozoo_studies.paper import _characters, _two_tasks, memory_tasks
from hippozoo_studies.paper._character_hybrids import build_unit

# -- the tasks of Table 1 ----------------------------------------------------------------------------------------------

#: Recurrent models of Table 1; the rates that its study recorded (results/memory-tasks), those of wider rates included.
TASK_RATES: dict[str, dict[str, float]] = {
    "vanilla": {"sc": 1e-3, "ar": 3e-3},
    "vanilla_mlp": {"sc": 3e-3, "ar": 1e-3},
    "salience": {"sc": 1e-3, "ar": 3e-3},
    "assoc": {"sc": 3e-3, "ar": 1e-3},
    "s4d": {"sc": 1e-2, "ar": 3e-3},
    "lstm": {"sc": 1e-2, "ar": 1e-3},
    "lstm_2": {"sc": 3e-2, "ar": 3e-4},
    "s4d_2": {"sc": 1e-2, "ar": 1e-3},
    "mamba": {"sc": 3e-3, "ar": 1e-2},
    "deltanet": {"sc": 1e-2, "ar": 3e-3},
}


def task_look(model: Any, task: str, seed: int, episodes: int) -> dict[str, Any]:
    """What can be read off the state: the answers when they are asked for, and the tokens that were shown."""
    rng = np.random.default_rng([23, seed])
    vectors = np.array(_two_tasks.make_data(task, seed, 40).vectors.numpy())
    if task == "sc":
        drawn = SelectiveCopying(seed=seed).draw(episodes, rng)
        tokens, moment = drawn.tokens, int(drawn.answering[0].argmax()) - 1
        answers = drawn.targets[drawn.answering].reshape(episodes, -1)
    else:
        recall = associative_recall(episodes, rng)
        tokens, moment = recall.tokens, recall.tokens.shape[1] - 1
        answers = recall.answers[recall.answers >= 0].reshape(episodes, -1)
    view = look(model, vectors[tokens][:, : moment + 1], 8, at=[moment], components=episodes // 10)
    # Without the first token: labels as many as samples would be taken for one per sample.
    shown = tokens[:, 1 : moment + 1] if task == "sc" else tokens[:, 1:moment]
    return {
        "answers": view.decode(answers.astype(np.int64)).numbers(),
        "tokens": view.decode(shown.astype(np.int64)).numbers(),
        "size": view.size,
        "rank": view.rank,
    }


def task_model(name: str, task: str, seed: int) -> nn.Module:
    """A fresh model of Table 1."""
    with seeded(seed):
        return memory_tasks.build(name, task)


def train_task(model: nn.Module, name: str, task: str, seed: int, protocol: Any, context: Context) -> dict[str, Any]:
    """Train a model of Table 1, or load its weights."""
    rate = TASK_RATES[name][task]

    def fit() -> dict[str, Any]:
        data = _two_tasks.make_data(task, seed, protocol.sequences)
        said = _two_tasks.learn(model, data, protocol.plan(rate, seed), protocol.batch, context)
        return {key: said[key] for key in ("accuracy", "validation_loss", "parameters")}

    key = {"task": task, "model": name, "seed": seed, "steps": protocol.steps, "sequences": protocol.sequences}
    return trained(model, key | {"rate": rate}, context, fit)


def task_unit(name: str, task: str, seed: int, protocol: Any, episodes: int, context: Context) -> dict[str, Any]:
    """Read answers and tokens off the state of a model of Table 1, before and after training."""
    model = task_model(name, task, seed)
    before = task_look(model, task, seed, episodes)
    said = train_task(model, name, task, seed, protocol, context)
    return {**said, "rate": TASK_RATES[name][task], "before": before, "after": task_look(model, task, seed, episodes)}


# -- characters --------------------------------------------------------------------------------------------------------

#: Stacks of the contest in results/wikitext, at the depth and rate that were best there for 25,000 parameters.
CHARACTER_MODELS: dict[str, dict[str, Any]] = {
    "explicit": {"rate": 3.2e-2},
    "lstm": {"layers": 3, "around": False, "rate": 1.6e-2},
    "mamba": {"layers": 4, "rate": 3.2e-2},
    "deltanet": {"layers": 3, "rate": 1.6e-2},
}


#: A state that is the present character alone: what text tells about its own past.
PRESENT = "present"


def character_model(name: str, seed: int) -> nn.Module:
    """A fresh model of characters."""
    unit = {"family": name, "size": 25_000, "tied": True, **CHARACTER_MODELS[name]}
    with seeded(seed):
        return build_unit(unit)


def train_characters(model: nn.Module, name: str, seed: int, protocol: Any, context: Context) -> dict[str, Any]:
    """Train a model of characters, or load its weights."""
    text, rate = protocol.text(context), CHARACTER_MODELS[name]["rate"]
    plan = protocol.plan(text, rate, seed, protocol.passes)
    key = {"stack": name, "seed": seed, **CHARACTER_MODELS[name]}
    key |= {one: getattr(protocol, one) for one in ("characters", "passes", "batch")}

    def fit() -> dict[str, Any]:
        said = _characters.learn(model, text, protocol, plan, context, test=False)
        return {one: said[one] for one in ("validation_perplexity", "parameters", "steps")}

    return trained(model, key, context, fit)


def character_unit(name: str, seed: int, protocol: Any, pieces: int, context: Context) -> dict[str, Any]:
    """Read past characters off the state on held-out text, before and after training."""
    text = protocol.text(context)
    held_out = np.asarray(text.valid.codes[: pieces * 192]).reshape(pieces, 192).astype(np.int64)
    if name == PRESENT:
        return {"after": character_look(lambda x: np.eye(int(held_out.max()) + 1)[x], held_out)}
    model = character_model(name, seed)
    before = character_look(model, held_out)
    said = train_characters(model, name, seed, protocol, context)
    return {**said, "before": before, "after": character_look(model, held_out)}


def character_look(model: Any, held_out: np.ndarray) -> dict[str, Any]:
    """Bits that can be read of the character k ago, and of the next one."""
    view = look(model, held_out, 24, at=range(64, 191, 3), components=400)
    following = np.roll(held_out, -1, 1)  # the last moment has a next character
    return {
        "size": view.size,
        "rank": view.rank,
        "profile": view.profile.numbers(),
        "next": view.decode(following).numbers(),
    }


# -- Mamba's time steps beside salience --------------------------------------------------------------------------------

ASK, NOISE, CODES = 0, 1, 4
#: Noise on the state, relative to its variance, above which codes and places are read.
PRECISIONS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def draw_logs(count: int, rng: np.random.Generator, noise: int = 6, wanted: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The task of docs/your-own-task.md: codes among noise, to be repeated when asked for."""
    tokens = np.full((count, noise + 2 * wanted), NOISE)
    places = rng.permuted(np.tile(np.arange(noise + wanted), (count, 1)), axis=1)[:, :wanted]
    codes = rng.integers(2, 2 + CODES, size=(count, wanted))
    np.put_along_axis(tokens, np.sort(places, axis=1), codes, axis=1)
    tokens[:, -wanted:] = ASK
    return tokens, codes


def one_hot(tokens: np.ndarray) -> Tensor:
    """Tokens as vectors."""
    return torch.from_numpy(np.eye(2 + CODES, dtype=np.float32)[tokens])


def measured_model(name: str, seed: int, steps: int, rate: float, context: Context) -> tuple[nn.Module, nn.Module]:
    """The same model before and after training on the selective task."""
    models: list[Any] = []
    for _ in range(2):
        with seeded(seed):
            if name == "salience":
                models.append(SalienceModel(6, 4, LegT(order=24, timescale=12.0), width=16, summary=0, hidden=32))
            else:
                models.append(Mamba.match(params=781, inputs=6, outputs=4))

    def fit() -> dict[str, Any]:
        train(
            models[1],
            lambda step, rng: draw_logs(64, rng),
            lambda model, some: cross_entropy(
                model(one_hot(some[0]))[0][:, -3:].flatten(0, 1), torch.from_numpy(some[1].ravel() - 2)
            ),
            Plan(steps=steps, rate=rate, schedule="cosine", validate_every=steps, seed=seed),
            on_progress=report_to(context.progress),
        )
        return {}

    trained(models[1], {"measure": name, "seed": seed, "steps": steps, "rate": rate}, context, fit)
    return models[0].eval(), models[1].eval()


def measure(name: str, seed: int, steps: int, rate: float, context: Context) -> dict[str, Any]:
    """Codes and places in the state when the answers begin, and the weight that each entry has in it."""
    before, model = measured_model(name, seed, steps, rate, context)
    found: dict[str, Any] = {}
    for label, noise in (("6 noise entries", 6), ("30 noise entries", 30)):
        tokens, codes = draw_logs(2_000, np.random.default_rng(17), noise)
        x, seen = one_hot(tokens), tokens[:, : noise + 3]
        with torch.no_grad():
            right = (model(x)[0][:, -3:].argmax(-1).numpy() + 2 == codes).mean()  # pyright: ignore[reportAttributeAccessIssue]
        places = np.stack([np.flatnonzero(row >= 2) for row in seen]).astype(float)
        x = x[:, : noise + 3]
        found[label] = {
            "accuracy": float(right),
            "before": by_precision(before, x, codes - 2, places),
            "after": by_precision(model, x, codes - 2, places),
            **weights_by_kind(name, model, x[:200], seen[:200]),
        }
    return found


def measured_view(model: nn.Module, x: Tensor, noise: float = 1e-6) -> View:
    """The state when the answers begin."""
    return look(model, x, min(9, x.shape[1] - 1), at=[-1], components=200, noise=noise)


def by_precision(model: nn.Module, x: Tensor, codes: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """R² of codes (their indicators) and of their places, above noise of growing variance; right codes without it."""
    indicators = np.eye(CODES)[codes].reshape(len(codes), -1)
    views = [measured_view(model, x, noise) for noise in PRECISIONS]
    return {
        "code_accuracy": float(np.mean(views[0].decode(codes).numbers()["accuracy"])),
        "code_r2": [float(view.decode(indicators).value.mean()) for view in views],
        "place_r2": [float(view.decode(places).value.mean()) for view in views],
    }


def weights_by_kind(name: str, model: Any, x: Tensor, tokens: np.ndarray) -> dict[str, Any]:
    """Share that a code and a noise entry have in the last state, and an example.

    By the history measure: exact for salience, by the time steps for Mamba. By sensitivity: how far the state moves, in
    units of its own spread, when an entry does; for both alike, Mamba's short convolution included.
    """
    if name == "salience":
        middle = np.arange(x.shape[1]) + 0.5  # the measure is constant within a sample
        share = np.array(
            [trace(model, x, item=item).history_measure(middle, float(x.shape[1])) for item in range(len(x))]
        )
    else:
        with torch.no_grad():
            steps = model.time_steps(x)[:, :, 0].double().numpy()
            rates = model.blocks[0].log_A.exp().double().numpy()  # order, inner
        after = steps[:, ::-1].cumsum(1)[:, ::-1] - steps
        # Coefficient i of channel j decays by rate a: a sample writes 1 - exp(-a step), and exp(-a after) is left.
        written = -np.expm1(-steps[..., None] * rates.T) * np.exp(-after[..., None] * rates.T)
        share = written.mean((2, 3))
    is_code = tokens >= 2
    found: dict[str, Any] = {"example_tokens": tokens[0].tolist()}
    for kind, one in (("measure", share), ("sensitivity", sensitivity_by_entry(model, x))):
        one = one / one.sum(1, keepdims=True)
        found[kind] = {
            "share_of_a_code": float(one[is_code].mean()),
            "share_of_noise": float(one[~is_code].mean()),
            "example": one[0].tolist(),
        }
    return found


def sensitivity_by_entry(model: Any, x: Tensor, projections: int = 32) -> np.ndarray:
    """‖Σ^(-1/2) d state / d entry‖² of every sequence and entry, (batch, time), by random projections."""
    states = measured_view(model, x).states
    whiten = torch.from_numpy(states.basis @ states.whitening).float()
    given, subject = x.clone().requires_grad_(), torch_subject(model)
    white = subject.flat(subject.whole(given)) @ whiten
    generator, total = torch.Generator().manual_seed(0), torch.zeros(x.shape[:2])
    for _ in range(projections):
        signs = torch.randint(2, white.shape, generator=generator) * 2.0 - 1
        (gradient,) = torch.autograd.grad((white * signs).sum(), given, retain_graph=True)
        total += gradient.square().sum(-1)
    return total.double().numpy()
