"""What the training loops refuse, in words."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from hippozoo.checkpoint import CheckpointError, load, save
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.training import Epochs, Plan, best_rate, seeded, train, train_online


def nothing(step, rng):
    return None


def easy(model, _):
    return (model.weight**2).sum()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": 0}, "steps=0; pass steps >= 1"),
        ({"steps": 10, "rate": -1.0}, "rate=-1.0"),
        ({"steps": 10, "rate": float("nan")}, "rate=nan"),
        ({"steps": 10, "weight_decay": -0.1}, "weight_decay=-0.1; pass a finite number >= 0"),
        ({"steps": 10, "clip": 0.0}, "None for no limit"),
        ({"steps": 10, "schedule": "exponential"}, "schedule='exponential'; choose from 'constant', 'linear'"),
        ({"steps": 10, "patience": 0}, "patience=0"),
        ({"steps": 10, "seed": -1}, "seed=-1"),
        ({"steps": 10, "validate_every": 0}, "validate_every=0"),
        ({"steps": 10, "stop_at": float("nan")}, "stop_at=nan; pass a number, or None"),
    ],
)
def test_a_plan_says_what_is_wrong_with_it(arguments, words):
    with pytest.raises(ValueError, match=words):
        Plan(**arguments)


def test_a_dictionary_is_no_plan():
    with pytest.raises(TypeError, match="pass a Plan"):
        train(nn.Linear(1, 1), nothing, easy, {"steps": 10})


def test_a_model_without_parameters_cannot_be_trained():
    with pytest.raises(ValueError, match="parameters to train"):
        train(nn.Tanh(), nothing, easy, Plan(steps=1))


def test_a_loss_is_one_number():
    with pytest.raises(ValueError, match=r"return one number"):
        train(nn.Linear(3, 1), nothing, lambda model, _: model.weight, Plan(steps=1))


def test_a_checkpoint_of_another_plan_is_refused_and_kept(tmp_path):
    path = tmp_path / "run.safetensors"
    train(nn.Linear(3, 1), nothing, easy, Plan(steps=3), checkpoint=path)
    before, model = path.read_bytes(), nn.Linear(3, 1)
    weight = model.weight.detach().clone()
    with pytest.raises(ValueError, match=r"run with rate=0.001"):
        train(model, nothing, easy, Plan(steps=3, rate=0.01), checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another"):
        train(nn.Linear(4, 1), nothing, easy, Plan(steps=3), checkpoint=path)
    assert path.read_bytes() == before
    assert torch.equal(model.weight, weight)


def remembering(dt=1.0, timescale=9.0, method="zoh"):
    memory = MemoryLayer(LegT(4, timescale=timescale), dt=dt, outputs=1, channels=1, method=method)
    return nn.ModuleDict({"memory": memory, "frozen": nn.Linear(2, 2)})


def read_easily(model, _):
    return (model["memory"].readout.weight ** 2).sum()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: remembering(timescale=10.0), r"part memory is MemoryLayer\(system=LegT\(order=4, timescale=9.0\)"),
        (lambda: remembering(dt=0.5), r"dt=1.0.* there, .*dt=0.5.* here; remove the file"),
        (lambda: remembering(method="bilinear"), "method='zoh'.* there, .*method='bilinear'.* here"),
        (lambda: remembering().double(), "torch.float32 of shape .* there, torch.float64 of shape"),
        (lambda: remembering().requires_grad_(False).requires_grad_(True), None),
        (lambda: frozen(remembering()), "what is frozen is nothing there, frozen.weight, frozen.bias here"),
    ],
    ids=["timescale", "dt", "method", "dtype", "same", "frozen"],
)
def test_a_checkpoint_of_another_model_of_the_same_shapes_is_refused(tmp_path, other, words):
    path, plan = tmp_path / "run.safetensors", Plan(steps=3)
    train(remembering(), nothing, read_easily, plan, checkpoint=path)
    model = other()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    if words is None:
        assert train(model, nothing, read_easily, plan, checkpoint=path).steps == 3
        return
    with pytest.raises(ValueError, match=f"{words}"):
        train(model, nothing, read_easily, plan, checkpoint=path)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def frozen(model):
    model["frozen"].requires_grad_(False)
    return model


@pytest.mark.parametrize("described", [True, False], ids=["now", "as-files-once-were"])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda parameters, plan: torch.optim.Adagrad(parameters, lr=plan.rate), "(the optimiser is SGD|missing)"),
        (lambda parameters, plan: torch.optim.SGD(parameters, plan.rate, momentum=0.5), "group 0's momentum is 0.9"),
    ],
)
def test_a_checkpoint_of_another_optimiser_is_refused(tmp_path, other, words, described):
    def descent(parameters, plan):
        return torch.optim.SGD(parameters, lr=plan.rate, momentum=0.9)

    path, model = tmp_path / "run.safetensors", nn.Linear(3, 1)
    train(nn.Linear(3, 1), nothing, easy, Plan(steps=3), checkpoint=path, optimiser=descent)
    if not described:
        found = load(path)
        del found["description"]
        save(path, found)
    weight = model.weight.detach().clone()
    with pytest.raises(ValueError, match=f"{words}"):
        train(model, nothing, easy, Plan(steps=3), checkpoint=path, optimiser=other)
    assert torch.equal(model.weight, weight)
    assert train(model, nothing, easy, Plan(steps=3), checkpoint=path, optimiser=descent).steps == 3


def must_not_be_called(*_):
    raise AssertionError("the work has begun")


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    model, plan = nn.Linear(3, 1), Plan(steps=3)
    with pytest.raises(ValueError, match=r"create it first"):
        train(model, must_not_be_called, easy, plan, checkpoint=tmp_path / "nowhere" / "run.safetensors")
    with pytest.raises(ValueError, match=r"pass another path"):
        train(model, must_not_be_called, easy, plan, checkpoint=tmp_path)


class Own(NamedTuple):
    """A state that checkpoints do not know."""

    memory: torch.Tensor


def test_a_state_that_cannot_be_saved_is_refused_after_the_first_step(tmp_path):
    steps = []

    def loss(model, step, state):
        steps.append(step)
        return (model.weight**2).sum(), Own(torch.ones(1))

    path = tmp_path / "run.safetensors"
    with pytest.raises(CheckpointError, match=r"'state'.*register"):
        train_online(nn.Linear(3, 1), lambda step, rng: step, loss, Plan(steps=9), checkpoint=path)
    assert steps == [0]
    assert not path.exists()


@pytest.mark.parametrize("threads", [0, 1.5, "two"])
def test_threads_are_counted(threads):
    with pytest.raises((TypeError, ValueError), match=f"threads={threads!r}"):
        train(nn.Linear(3, 1), nothing, easy, Plan(steps=1), threads=threads)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save(path, {"state": torch.ones(2)})
    with pytest.raises(ValueError, match="checkpoint of a training"):
        train(nn.Linear(3, 1), nothing, easy, Plan(steps=3), checkpoint=path)


def test_rates_that_all_diverged_are_no_choice():
    with pytest.raises(ValueError, match=r"every run diverged"):
        best_rate({1.0: None, 0.1: float("inf")})
    with pytest.raises(ValueError, match="rates were given"):
        best_rate({})


def test_a_batch_is_no_larger_than_the_data():
    with pytest.raises(ValueError, match="pass size <= 10"):
        Epochs(10, 11)


def test_a_seed_is_a_whole_number():
    with pytest.raises(TypeError, match=r"seed=1.5"), seeded(1.5):
        pass
