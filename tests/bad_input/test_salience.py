"""What Salience HiPPO refuses, in words."""

import numpy as np
import pytest
import torch

from hippozoo.systems import LagT, LegT
from hippozoo.zoo.salience import SalienceLayer, SalienceModel, SalienceTrace, attribute, sample_weights, trace

SYSTEM = LegT(8, timescale=10.0)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"channels": 0}, ValueError, "channels=0"),
        ({"channels": 2, "readout": "each"}, ValueError, "readout='each'; choose from 'shared', 'full', 'states'"),
        ({"channels": 2, "readout": "full"}, ValueError, "readout='full' without outputs"),
        ({"channels": 2, "readout": "states", "outputs": 3}, ValueError, "leave out outputs=3"),
        ({"channels": 2, "form": "fast"}, ValueError, "form='fast'; choose from 'table', 'stepwise'"),
        ({"channels": 2, "form": "chunkwise"}, ValueError, "pass summary=0, readout='shared' and per_channel=False"),
        ({"channels": 2, "largest": 1.0}, ValueError, "salience starts at 1, the plain memory; pass largest > 1"),
        ({"channels": 2, "summary": -1}, ValueError, "summary=-1"),
        ({"channels": 2, "dt": 0.0}, ValueError, "dt=0.0"),
        ({"channels": 2, "dtype": torch.float16}, TypeError, "needs float32 or float64"),
    ],
)
def test_a_layer_says_what_is_wrong_with_its_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        SalienceLayer(SYSTEM, **arguments)


def test_a_system_is_a_system():
    with pytest.raises(TypeError, match="such as LegT"):
        SalienceLayer("legt", channels=2)
    with pytest.raises(ValueError, match="out form='table'"):
        SalienceLayer(LagT(30, timescale=1.0), channels=2, form="table")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m, x, s: m(x[0], s), ValueError, r"expected \(batch, time, channels\); pass x\[None\]"),
        (lambda m, x, s: m(x[:, :0], s), ValueError, "holds nothing"),
        (lambda m, x, s: m(x[..., :2], s), ValueError, "x has 2 channels on its last axis, but this layer has 3"),
        (lambda m, x, s: m(x.double(), s), TypeError, "but this layer computes in torch.float32"),
        (lambda m, x, s: m(x * torch.nan, s), ValueError, "all values must be finite"),
        (lambda m, x, s: m(x, s[:1]), ValueError, "pass what this layer returned, or initial_state"),
        (lambda m, x, s: m(x, s * torch.inf), ValueError, r"state\[0, 0, 0\] is"),
        (lambda m, x, s: m(x, s, dt=-1.0), ValueError, "dt=-1.0"),
        (lambda m, x, s: m(x, s, dt=torch.ones(4)), ValueError, "pass one number or a tensor of shape"),
        (lambda m, x, s: m(x, s, dt=torch.zeros(5)), ValueError, "time only runs forwards"),
        (lambda m, x, s: m(x, s, lengths=torch.tensor([6, 1])), ValueError, "pass values from 0 to 5"),
        (lambda m, x, s: m(x, s, lengths="51"), TypeError, "pass a list or a tensor of whole numbers"),
        (lambda m, x, s: m.step(x, s), ValueError, r"expected \(batch, channels\); pass x\[:, 0\]"),
        (lambda m, x, s: m.step(x[:, 0], None), TypeError, "step goes on from a state"),
        (lambda m, x, s: m.step(x[:, 0], s, dt=torch.ones(3)), ValueError, r"tensor of shape \(batch,\) = \(2,\)"),
        (lambda m, x, s: m("x", s), TypeError, "x is a str; pass a tensor"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call, error, words):
    torch.manual_seed(0)
    layer = SalienceLayer(SYSTEM, channels=3)
    x = torch.randn(2, 5, 3)
    state = layer(x)[1].detach()
    before = state.clone()
    with pytest.raises(error, match=words):
        call(layer, x, state)
    assert torch.equal(state, before)


def test_a_model_names_its_inputs():
    model = SalienceModel(4, 3, SYSTEM, width=2)
    with pytest.raises(ValueError, match=r"inputs=4"):
        model(torch.randn(2, 5, 3))
    with pytest.raises(TypeError, match="pass a tensor"):
        model.step([1.0], model.initial_state(1))
    with pytest.raises(ValueError, match=r"holds nothing"):
        model(torch.randn(2, 0, 4))
    spoilt = torch.zeros(2, 5, 4)
    spoilt[1, 2, 3] = float("nan")
    with pytest.raises(ValueError, match=r"x\[1, 2, 3\] is nan"):
        model(spoilt)
    with pytest.raises(ValueError, match=r"x\[1, 3\] is nan"):
        model.step(spoilt[:, 2], model.initial_state(2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"salience": np.array([1.0, -0.4]), "dt": np.ones(2)}, r"salience\[1\]=-0.4, but time only runs forwards"),
        ({"salience": np.ones(2), "dt": np.array([0.0, 1.0])}, r"dt\[0\]=0.0"),
        ({"salience": np.ones(3), "dt": np.ones(2)}, r"both \(time,\)"),
        ({"salience": np.ones(2), "dt": np.ones(2), "readout": np.ones(3)}, r"readout has shape \(3,\)"),
    ],
)
def test_a_trace_is_a_clock_that_runs_forwards(arguments, words):
    with pytest.raises(ValueError, match=words):
        SalienceTrace(SYSTEM, **arguments)


def test_a_trace_is_asked_within_its_sequence():
    seen = SalienceTrace(SYSTEM, np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match="lasts from 0 to 4"):
        seen.history_measure(np.array([5.0]), 4.0)
    with pytest.raises(ValueError, match="readout"):
        seen.functional(np.array([1.0]), 4.0)
    with pytest.raises(ValueError, match="step=4"):
        SalienceTrace(SYSTEM, np.ones(4), np.ones(4), np.ones(8)).sample_weights(4)


def test_attribution_needs_a_shared_functional_and_a_real_target():
    layer = SalienceLayer(SYSTEM, channels=2, readout="states")
    x = torch.randn(1, 5, 2)
    with pytest.raises(ValueError, match="shared lag functional"):
        attribute(layer, x, (0, 0))
    model = SalienceModel(2, 3, SYSTEM, width=4)
    with pytest.raises(ValueError, match="sequence has 5 samples"):
        attribute(model, x, (5, 0))
    with pytest.raises(ValueError, match="there are 3 outputs"):
        attribute(model, x, (0, 3))
    with pytest.raises(ValueError, match="item=1"):
        trace(model, x, item=1)


@pytest.mark.parametrize("target", [(7,), (1, 2, 3), 7, (12, 0), (0, 3), (-1, 0)])
def test_a_target_is_a_sample_and_an_output_of_the_sequence(target):
    model = SalienceModel(4, 3, SYSTEM, width=5)
    with pytest.raises(ValueError, match="target="):
        attribute(model, torch.zeros(2, 12, 4), target)


def test_a_picture_needs_a_token_per_sample():
    from matplotlib.figure import Figure

    from hippozoo.zoo.salience.plots import plot_episode

    seen = SalienceTrace(SYSTEM, np.ones(4), np.ones(4), np.ones(8))
    with pytest.raises(ValueError, match="trace has 4 samples"):
        plot_episode(seen, np.zeros(3), [3], axes=Figure().subplots(4))
    with pytest.raises(ValueError, match="pass an array"):
        plot_episode(seen, np.zeros(4), [3], axes=Figure().subplots(3))


@pytest.mark.parametrize("look", [sample_weights, lambda model, x: attribute(model, x, (0, 0))])
def test_attributions_refuse_the_samples_that_the_model_refuses(look):
    model = SalienceModel(4, 3, SYSTEM, width=5)
    for x in (torch.zeros(2, 5, 7), torch.zeros(5, 4)):
        with pytest.raises(ValueError, match=r"x has .*\(batch, time, inputs\)"):
            look(model, x)
    for x in (torch.zeros(2, 5, 4, dtype=torch.float64), np.zeros((2, 5, 4))):
        with pytest.raises(TypeError, match=r"x has dtype torch.float64|x is a ndarray; pass a tensor"):
            look(model, x)
