"""What is drawn is what the memory does: clocks, measures, bases, functionals, attributions."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.salience import SalienceLayer, SalienceModel, SalienceTrace, attribute, sample_weights, trace

SYSTEMS = [LegT(12, timescale=20.0), LegS(12, timescale=15.0), LagT(6, timescale=5.0), FouT(9, timescale=25.0)]


def integrate(seen, function, panels=60):
    """Gauss panels within every sample, where salience is constant."""
    node, mass = np.polynomial.legendre.leggauss(20)
    edges = np.concatenate([np.linspace(a, b, panels, endpoint=False) for a, b in pairwise(seen.times)])
    edges = np.append(edges, seen.times[-1])
    half = np.diff(edges)[:, None] / 2
    moments = edges[:-1, None] + half * (node + 1)
    return np.tensordot((half * mass).ravel(), function(moments.ravel()), axes=(0, 0))


def some_trace(system, rng, n_steps=12, **options):
    return SalienceTrace(system, rng.uniform(0.1, 3.0, n_steps), rng.uniform(0.5, 1.5, n_steps), **options)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
@pytest.mark.parametrize("part", [0.3, 1.0])
def test_the_history_measure_integrates_to_one_with_what_predates_the_stream(system, part, rng):
    seen = some_trace(system, rng)
    at = float(part * seen.times[-1])
    mass = integrate(seen, lambda s: seen.history_measure(s, at), panels=200)
    # The weight of Leg-T ends abruptly, and so may the present, within a panel.
    assert mass + seen.mass_before(at) == pytest.approx(
        1.0, abs=2e-3 if part < 1 or np.isfinite(system.window) else 1e-6
    )


def test_the_effective_basis_is_orthonormal_under_the_history_measure(rng):
    system = LegS(5, timescale=2.0)
    seen = some_trace(system, rng, n_steps=60)  # long enough that nothing predates it
    at = float(seen.times[-1])

    def products(s):
        basis = seen.effective_basis(s, at)
        return seen.history_measure(s, at)[:, None, None] * basis[:, :, None] * basis[:, None, :]

    assert_allclose(integrate(seen, products, panels=4), np.eye(5), atol=1e-5)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_the_output_is_the_integral_of_its_functional(system, rng):
    layer = SalienceLayer(system, channels=1, summary=3, hidden=4, dtype=torch.float64)
    with torch.no_grad():
        layer.network.out.weight.mul_(20)
        layer.functional.copy_(torch.from_numpy(rng.normal(size=system.order)))
    x = torch.from_numpy(rng.normal(size=(2, 12, 1)))
    dt = torch.from_numpy(rng.uniform(0.5, 1.5, 12))
    y, _ = layer(x, dt=dt)
    seen = trace(layer, x, dt=dt, item=1)
    held = x[1, :, 0].numpy()

    def of_moment(s):
        inside = np.clip(np.searchsorted(seen.times, s, side="right") - 1, 0, 11)
        return seen.functional(s, float(seen.times[8])) * held[inside]

    assert integrate(seen, of_moment, panels=8) == pytest.approx(y[1, 7, 0].item(), abs=1e-6)
    assert seen.sample_weights(7) @ held == pytest.approx(y[1, 7, 0].item(), abs=1e-7)
    assert (seen.sample_weights(7)[8:] == 0).all()


def test_the_warped_clock_runs_at_the_salience(rng):
    seen = some_trace(LegT(4, timescale=1.0), rng)
    assert_allclose(np.diff(seen.warped_time) / np.diff(seen.times), seen.salience)
    middle = (seen.times[1:] + seen.times[:-1]) / 2
    assert_allclose(seen.warp(middle), (seen.warped_time[1:] + seen.warped_time[:-1]) / 2)


def test_the_future_has_no_weight(rng):
    seen = some_trace(LegT(4, timescale=5.0), rng, readout=np.ones(4))
    later = np.array([0.9, 1.0]) * seen.times[-1]
    at = float(0.5 * seen.times[-1])
    assert (seen.history_measure(later, at) == 0).all()
    assert (seen.functional(later, at) == 0).all()
    assert (seen.effective_basis(later, at) == 0).all()


@pytest.mark.parametrize("per_channel", [False, True])
def test_attributions_add_up_to_the_output(per_channel, rng):
    torch.manual_seed(0)
    system = LegT(16, timescale=10.0)
    model = SalienceModel(4, 3, system, width=5, hidden=6, per_channel=per_channel, dtype=torch.float64)
    x = torch.from_numpy(rng.normal(size=(2, 12, 4)))
    state = model(x)[1].detach()
    for start in (None, state):
        y, _ = model(x, start)
        weights = sample_weights(model, x, start)
        for target in ((11, 0), (4, 2)):
            step, output = target
            attributed = attribute(model, x, target, state=start)
            assert attributed.shape == x.shape
            assert (attributed[:, step + 1 :] == 0).all()
            # What is left are biases and the carried state: the output for zero input under the same clock.
            bias = (weights[:, step] if per_channel else weights[:, step, :, None]) * model.input.bias
            rest = bias.sum(1) @ model.layer.output.weight[output] + model.layer.output.bias[output]
            if start is not None:
                rest = rest + _left_of(model, x, start, step) @ model.layer.output.weight[output]
            assert_allclose((attributed.sum((1, 2)) + rest).detach(), y[:, step, output].detach(), atol=1e-6)


def test_copies_compute_their_clock_anew(rng):
    seen = some_trace(LegT(4, timescale=1.0), rng)
    again = copy.deepcopy(seen)
    with pytest.raises(ValueError, match="read-only"):
        seen.warped_time[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(seen)).times[0] = 1.0
    assert_allclose(again.warped_time, seen.warped_time, rtol=0)


def _left_of(model, x, state, step):
    """What the functional reads of the carried state alone, after `step`, from matrix exponentials."""
    layer = model.layer
    A = torch.from_numpy(np.array(layer.system.A))
    clock = torch.cumsum(model.salience(x, state), 1)[:, step].expand(len(x), layer.channels) / layer.system.timescale
    decay = torch.linalg.matrix_exp(clock[..., None, None] * A)
    return (decay @ state[..., None])[..., 0] @ layer.functional


def test_plots_draw_what_the_trace_says(rng):
    from matplotlib.figure import Figure

    from hippozoo.zoo.salience.plots import plot_episode, plot_generalisation, plot_warp

    seen = some_trace(LegT(8, timescale=9.0), rng, readout=rng.normal(size=8))
    tokens = np.array([2, 1, 3, 1, 1, 4, 1, 1, 1, 0, 0, 0])
    axes = plot_episode(seen, tokens, [9, 10, 11], axes=Figure().subplots(4, sharex=True))
    assert len(axes[0].patches) == 12
    assert_allclose(axes[2].patches[0].get_data().values, seen.salience)
    assert len(axes[3].lines) == 3
    moments, values = axes[3].lines[0].get_data()
    assert_allclose(values, seen.functional(moments, float(seen.times[10])))
    warp = plot_warp(seen, [3.0, 7.0], axes=Figure().subplots(2, 2))
    assert_allclose(warp[0][1].lines[0].get_ydata(), seen.warped_time)
    number = {"mean": 0.5, "sem": None}
    ax = plot_generalisation(
        {"a": number}, {"a": {"distractors_9_delay_1": {"accuracy": number}}}, ax=Figure().subplots()
    )
    assert [patch.get_height() for patch in ax.patches] == [0.5, 0.5]
