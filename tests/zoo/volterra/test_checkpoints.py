"""What was learnt survives the disk, and learning goes on as if nothing had happened."""

import subprocess
import sys
from dataclasses import replace

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
    _system_forms,
    fit_system,
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


def tank():
    """What flows out of it grows with the level, and not in proportion."""
    u, y = np.repeat(np.random.default_rng(0).normal(size=30), 8), np.zeros(240)
    for t in range(1, 240):
        y[t] = y[t - 1] + 0.2 * (u[t - 1] - y[t - 1] - 0.3 * y[t - 1] ** 3)
    return u, y


@pytest.fixture(scope="module")
def simple():
    return fit_system(*tank(), forms=("linear",), blocks=2)


def candidates():
    """One of every form that `fit_system` may choose."""
    memories = [Memory(LegS(4, 4.0))]
    found = [
        *_system_forms.linear_readouts(240, 2),
        *_system_forms.polynomial_readouts(memories),
        *_system_forms.cascades(memories),
        *_system_forms.linear_loops(),
        *_system_forms.loops(memories, (0.01,)),
        *_system_forms.integrators(),
    ]
    return {one.form: one for one in found}


def test_every_form_has_a_checkpoint_below():
    assert set(candidates()) == {
        "linear readout",
        "polynomial readout of degree 2",
        "polynomial readout of degree 3",
        "cascade",
        *_system_forms.LOOPS,
        "integrator",
        "integrator with dry friction",
    }


@pytest.mark.parametrize("form", candidates())
def test_a_saved_system_of_any_form_simulates_the_same_bit_for_bit(simple, tmp_path, form):
    candidate, (u, y) = candidates()[form], tank()
    fitted = candidate.fit([(u, y)], 10)
    system = replace(simple, form=form, memory=candidate.memory, _fitted=fitted)
    save(tmp_path / "system.safetensors", system)
    found = load(tmp_path / "system.safetensors")
    assert type(found) is type(system)
    assert found.summary() == system.summary()
    assert found.tried == system.tried
    for known in (None, y[:10]):
        assert_array_equal(found.simulate(1.3 * u, known), system.simulate(1.3 * u, known))
    for one, other in zip(found.held_out, system.held_out, strict=True):
        assert one[0] == other[0]
        assert_array_equal(one[1:], other[1:])


def test_a_saved_system_is_loaded_where_nothing_else_was_imported(simple, tmp_path):
    save(tmp_path / "system.safetensors", simple)
    script = "import sys; from hippozoo.checkpoint import load; print(load(sys.argv[1]).summary())"
    told = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "system.safetensors"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == simple.summary()
