"""What was learnt survives the disk, and learning goes on as if nothing had happened."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.checkpoint import load, save
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra import (
    NLMS,
    SGD,
    BoundedPolynomial,
    Cascade,
    CascadeWeights,
    FeedbackLoop,
    FeedbackWeights,
    RidgeRLS,
    VolterraModel,
)


@pytest.mark.parametrize(
    "settings",
    [{"learner": SGD(0.01)}, {"rank": 2, "degree": 3}, {"learner": RidgeRLS(), "directions": np.eye(5)[:, :3]}],
)
def test_a_saved_model_goes_on_learning(rng, tmp_path, settings):
    model = VolterraModel(Memory(LegT(5, 9.0)), **{"learner": NLMS(), **settings})
    signal, target = rng.normal(size=(2, 60))
    _, state = model.learn(model.initial_state(), signal[:30], target[:30])
    save(tmp_path / "model.safetensors", {"model": model, "state": state})
    found = load(tmp_path / "model.safetensors")
    expected, _ = model.learn(state, signal[30:], target[30:])
    again, _ = found["model"].learn(found["state"], signal[30:], target[30:])
    assert_array_equal(again, expected)


def test_saved_structures_simulate_the_same(rng, tmp_path):
    memory, signal = Memory(LegS(4, 3.0)), rng.normal(size=40)
    cascade = Cascade(memory, memory, BoundedPolynomial(3, 2.0))
    weights = CascadeWeights(*rng.normal(size=(3, 4)))
    loop = FeedbackLoop(memory, degree=2)
    fed = FeedbackWeights(0.1, rng.normal(size=4), 0.05 * rng.normal(size=(2, 4)))
    save(tmp_path / "both.safetensors", [cascade, weights, loop, fed])
    first, its, second, others = load(tmp_path / "both.safetensors")
    assert_array_equal(first.simulate(its, signal), cascade.simulate(weights, signal))
    assert_array_equal(second.simulate(others, signal), loop.simulate(fed, signal))
