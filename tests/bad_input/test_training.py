"""What the training loops refuse, in words."""

import pytest
import torch
from torch import nn

from hippozoo.training import Epochs, Plan, best_rate, choose_rate, seeded, train


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
    ],
)
def test_a_plan_says_what_is_wrong_with_it(arguments, words):
    with pytest.raises(ValueError, match=words):
        Plan(**arguments)


def test_a_dictionary_is_no_plan():
    with pytest.raises(TypeError, match="pass a Plan, such as"):
        train(nn.Linear(1, 1), nothing, easy, {"steps": 10})


def test_a_model_without_parameters_cannot_be_trained():
    with pytest.raises(ValueError, match="Tanh has no parameters to train"):
        train(nn.Tanh(), nothing, easy, Plan(steps=1))


def test_a_loss_is_one_number():
    with pytest.raises(ValueError, match=r"loss returned \(1, 3\); return one number"):
        train(nn.Linear(3, 1), nothing, lambda model, _: model.weight, Plan(steps=1))


def test_a_checkpoint_of_another_plan_is_refused_and_kept(tmp_path):
    path = tmp_path / "run.safetensors"
    train(nn.Linear(3, 1), nothing, easy, Plan(steps=3), checkpoint=path)
    before, model = path.read_bytes(), nn.Linear(3, 1)
    weight = model.weight.detach().clone()
    with pytest.raises(ValueError, match=r"belongs to a run with rate=0.001, this one has 0.01; remove the file"):
        train(model, nothing, easy, Plan(steps=3, rate=0.01), checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another model"):
        train(nn.Linear(4, 1), nothing, easy, Plan(steps=3), checkpoint=path)
    assert path.read_bytes() == before
    assert torch.equal(model.weight, weight)


def test_a_file_of_something_else_is_refused(tmp_path):
    from hippozoo.checkpoint import save

    path = tmp_path / "other.safetensors"
    save(path, {"state": torch.ones(2)})
    with pytest.raises(ValueError, match="is no checkpoint of a training run"):
        train(nn.Linear(3, 1), nothing, easy, Plan(steps=3), checkpoint=path)


def test_rates_that_all_diverged_are_no_choice():
    with pytest.raises(ValueError, match=r"every run diverged, at rates \[0.1, 1.0\]; try smaller ones"):
        best_rate({1.0: None, 0.1: float("inf")})
    with pytest.raises(ValueError, match="no learning rates were given"):
        choose_rate(lambda rate: None, [])
    with pytest.raises(ValueError, match="rates=-1"):
        choose_rate(lambda rate: None, [-1.0])


def test_a_batch_is_no_larger_than_the_data():
    with pytest.raises(ValueError, match="size=11, but there are 10 items; pass size <= 10"):
        Epochs(10, 11)


def test_a_seed_is_a_whole_number():
    with pytest.raises(TypeError, match=r"seed=1.5"), seeded(1.5):
        pass
