"""Salience is a plain memory on a warped clock, in both forms, in chunks, steps and gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.memory import Memory
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.salience import SalienceLayer, SalienceModel
from hippozoo.zoo.salience.layer import TOLERANCE
from oracles import project, roll_held

SYSTEMS = [LegT(12, timescale=20.0), LegS(12, timescale=15.0), LagT(6, timescale=15.0), FouT(9, timescale=25.0)]


def lively(layer):
    """Let the salience range over its whole scale, as after training."""
    with torch.no_grad():
        layer.network.out.weight.mul_(30)
        layer.network.out.bias.copy_(-0.8 * layer.network.out.weight.sum(1))
    return layer


def make(system, *, seed=0, dtype=torch.float64, **options):
    torch.manual_seed(seed)
    options = {"channels": 3, "hidden": 8, "summary": 5} | options
    return lively(SalienceLayer(system, dtype=dtype, **options))


def twin(layer, **changes):
    other = SalienceLayer(**layer.configuration() | changes, dtype=layer.dtype)
    other.load_state_dict(layer.state_dict())
    return other


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
@pytest.mark.parametrize("form", ["table", "stepwise", "recurrent"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("summary", [0, 5])
def test_salience_is_a_plain_memory_on_a_warped_clock(system, form, per_channel, summary):
    layer = make(system, readout="states", form=form, per_channel=per_channel, summary=summary, dt=0.8)
    x = torch.randn(2, 25, 3, dtype=torch.float64)
    dt = torch.rand(2, 25, dtype=torch.float64) + 0.3
    states, after = layer(x, dt=dt)
    salience = layer.salience(x, dt=dt).expand(2, 25, 3).detach().numpy()
    assert salience.max() > 1.5 * salience.min()
    for item in range(2):
        for channel in range(3):
            warped = salience[item, :, channel] * dt[item].numpy()
            expected = roll_held(system, x[item, :, channel].numpy(), warped, np.zeros(system.order))
            assert_allclose(states[item, :, channel].detach().numpy(), expected, atol=1e-7)
            assert_allclose(after[item, channel].detach().numpy(), expected[-1], atol=1e-7)


def test_the_state_is_the_projection_of_the_warped_past():
    system = LegS(12, timescale=15.0)  # the one whose dynamics are exact at every order
    layer = make(system, channels=1, readout="states", summary=0)
    x = torch.randn(1, 40, 1, dtype=torch.float64)
    state = layer(x)[1][0, 0].detach().numpy()
    clock = np.cumsum(np.append(0.0, layer.salience(x)[0, :, 0].detach().numpy()))
    past = x[0, :, 0].flip(0).numpy()[:, None]
    expected = project(system, lambda lag: past, (clock[-1] - clock)[::-1])
    assert_allclose(state, expected, atol=1e-7)


def test_constant_salience_only_changes_the_timescale():
    layer = make(LegT(16, timescale=20.0), readout="states", summary=0, largest=4.0)
    with torch.no_grad():
        layer.network.out.weight.zero_()
        layer.network.out.bias.fill_(0.0)  # 4 * sigmoid(0) = 2
    x = torch.randn(1, 60, 3, dtype=torch.float64)
    states, _ = layer(x)
    plain = Memory(LegT(16, timescale=10.0)).scan(x[0].numpy())
    assert_allclose(states[0].detach().numpy(), plain, atol=1e-7)


def test_salience_starts_at_one():
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=4)
    salience = layer.salience(torch.randn(8, 30, 4))
    assert (salience - 1).abs().max() < 0.25


@pytest.mark.parametrize("system", [LegT(20, timescale=20.0), LegS(20, timescale=15.0)], ids=repr)
@pytest.mark.parametrize("readout", ["shared", "full", "states"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("summary", [0, 5])
@pytest.mark.parametrize("form", ["table", "stepwise"])
def test_every_form_agrees_with_the_recurrent_one_in_values_and_gradients(
    system, readout, per_channel, summary, form, monkeypatch
):
    monkeypatch.setattr("hippozoo.zoo.salience._stepwise.SEGMENT", 1)  # segments of eight samples
    monkeypatch.setattr("hippozoo.zoo.salience._stepwise.KEPT", 0)
    fast = make(system, readout=readout, outputs=None if readout == "states" else 2, per_channel=per_channel,
                summary=summary, form=form)  # fmt: skip
    loop = twin(fast, form="recurrent")
    start = loop(torch.randn(2, 30, 3, dtype=torch.float64))[1].detach()
    results = []
    for layer in (fast, loop):
        torch.manual_seed(3)
        x = torch.randn(2, 20, 3, dtype=torch.float64).requires_grad_()
        state = start.clone().requires_grad_()
        y, after = layer(x, state)
        (y * torch.randn(y.shape)).sum().add((after * torch.randn(after.shape)).sum()).backward()
        gradients = [p.grad for p in layer.parameters() if p.grad is not None]
        results.append([y, after, x.grad, state.grad, *gradients])
    tolerance = 2e-6 if form == "table" else 2e-9  # no staircase stands between two chunks
    for one, other in zip(*results, strict=True):
        atol = tolerance * max(1e-3, float(other.detach().abs().max()))
        assert_allclose(one.detach(), other.detach(), rtol=0, atol=atol)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_chunks_agree_with_the_recurrent_form_in_values_and_derivatives(system, monkeypatch):
    monkeypatch.setattr("hippozoo.zoo.salience._compiled_forms.CHUNKS", (8,))
    chunks = make(system, outputs=2, summary=0, form="chunkwise")
    loop = twin(chunks, form="recurrent")
    x, direction = torch.randn(2, 2, 21, 3, dtype=torch.float64)  # the last chunk is filled up
    start = loop(torch.randn(2, 30, 3, dtype=torch.float64))[1].detach()
    dt, lengths = torch.rand(2, 21, dtype=torch.float64) + 0.3, torch.tensor([21, 13])
    results = []
    for layer, piece in ((chunks, 1), (chunks, 1 << 16), (loop, 1)):
        monkeypatch.setattr("hippozoo.zoo.salience._compiled_forms.PIECE", piece)
        sources = [x.detach().requires_grad_(), start.clone().requires_grad_(), *layer.parameters()]
        y, after = layer(*sources[:2], dt=dt, lengths=lengths)
        loss = y.square().sum() + after.square().sum()
        once = torch.autograd.grad(loss, sources, create_graph=True)
        twice = torch.autograd.grad((once[0] * direction).sum(), sources, allow_unused=True, materialize_grads=True)
        results.append([y, after, *once, *twice])
    for one, whole, wanted in zip(*results, strict=True):
        atol = 1e-8 * max(1e-3, float(wanted.detach().abs().max()))
        assert_allclose(one.detach(), wanted.detach(), rtol=0, atol=atol)
        assert_allclose(whole.detach(), wanted.detach(), rtol=0, atol=atol)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("summary", [0, 5])
def test_states_that_are_not_kept_are_rolled_again(per_channel, summary, monkeypatch):
    layer = make(LegT(20, timescale=20.0), outputs=2, per_channel=per_channel, summary=summary, form="stepwise")
    x = torch.randn(2, 30, 3, dtype=torch.float64).requires_grad_()
    monkeypatch.setattr("hippozoo.zoo.salience._stepwise.SEGMENT", 1)
    results = []
    for kept in (1 << 27, 0):
        monkeypatch.setattr("hippozoo.zoo.salience._stepwise.KEPT", kept)
        y, after = layer(x)
        loss = y.square().sum() + after.square().sum()
        results.append([y, after, *torch.autograd.grad(loss, [x, *layer.network.parameters()])])
    for one, other in zip(*results, strict=True):
        assert_allclose(one.detach(), other.detach(), rtol=0, atol=1e-13 * float(other.detach().abs().max()))


@pytest.mark.parametrize(("form", "summary"), [("stepwise", 5), ("chunkwise", 0)])
def test_float32_is_float64_but_for_rounding(form, summary):
    exact = make(LegT(64, timescale=30.0), channels=4, outputs=2, form=form, summary=summary)
    single = SalienceLayer(**exact.configuration())
    single.load_state_dict(exact.state_dict())
    x = torch.randn(3, 200, 4, dtype=torch.float64)
    results = []
    for layer in (exact, single):
        y, after = layer(x.to(layer.dtype))
        gradients = torch.autograd.grad(y.square().mean() + after.square().mean(), list(layer.parameters()))
        results.append([y, after, *gradients])
    for wanted, found in zip(*results, strict=True):
        assert (found - wanted).abs().max() < 2e-5 * wanted.abs().max()


@pytest.mark.parametrize("summary", [0, 3])
def test_float32_agrees_with_float64_at_the_papers_size(summary, monkeypatch):
    # The table of float64 to 1e-10 takes ten times as long to make, and float32 is compared to 1e-4.
    monkeypatch.setitem(TOLERANCE, torch.float64, 1e-8)
    exact = make(LegT(256, timescale=30.0), channels=4, outputs=2, summary=summary)
    single = SalienceLayer(**exact.configuration())
    single.load_state_dict(exact.state_dict())
    x = torch.randn(3, 60, 4, dtype=torch.float64)
    for state in (None, exact(x)[1].detach()):
        y, after = exact(x, state)
        y32, after32 = single(x.float(), None if state is None else state.float())
        assert (y32 - y).abs().max() < 2e-4 * y.abs().max()
        assert (after32 - after).abs().max() < 1e-3 * after.abs().max()


def test_gradients_are_those_of_finite_differences():
    layer = make(LegT(6, timescale=9.0), channels=2, outputs=1, summary=2, hidden=3)
    x = torch.randn(1, 7, 2, dtype=torch.float64)
    state = layer(x)[1].detach()
    inputs = x.requires_grad_(), state.requires_grad_()
    assert torch.autograd.gradcheck(lambda x, s: layer(x, s), inputs, atol=1e-5, rtol=1e-4)
    functional = layer.functional

    def of_functional(w):
        return torch.func.functional_call(layer, {"functional": w}, (x, state))

    assert torch.autograd.gradcheck(of_functional, (functional,), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("readout", ["shared", "full"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("summary", [0, 5])
@pytest.mark.parametrize("form", ["table", "stepwise"])
def test_every_form_agrees_with_the_recurrent_one_in_second_derivatives(readout, per_channel, summary, form):
    fast = make(LegT(8, timescale=9.0), readout=readout, outputs=2, per_channel=per_channel, summary=summary, form=form)
    x, direction = torch.randn(2, 2, 9, 3, dtype=torch.float64)
    lengths = torch.tensor([9, 4])  # in the padding lags are 0, where a root has no slope
    results = []
    for layer in (fast, twin(fast, form="recurrent")):
        x = x.detach().requires_grad_()
        sources = [x, *layer.network.parameters()]
        y, state = layer(x, lengths=lengths)
        (once,) = torch.autograd.grad(y.square().sum() + state.square().sum(), x, create_graph=True)
        results.append(
            torch.autograd.grad((once * direction).sum(), sources, allow_unused=True, materialize_grads=True)
        )
    for found, wanted in zip(*results, strict=True):
        assert_allclose(found, wanted, rtol=0, atol=1e-5 * float(wanted.abs().max()) + 1e-12)


# torch's own, in forward mode.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("summary", [0, 5])
def test_torch_func_sees_through_the_table(per_channel, summary):
    layer = make(LegT(6, timescale=9.0), outputs=2, per_channel=per_channel, summary=summary, form="table")
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    weights = dict(layer.named_parameters())

    def loss(weights, item):
        y, state = torch.func.functional_call(layer, weights, (item[None],))
        return y.square().sum() + state.square().sum()

    of_each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
    y, state = layer(x)
    total = y.square().sum() + state.square().sum()
    together = torch.autograd.grad(total, list(weights.values()), allow_unused=True, materialize_grads=True)
    for name, wanted in zip(weights, together, strict=True):
        assert_allclose(of_each[name].sum(0).detach(), wanted, atol=1e-9)

    def everything(item):
        y, state = layer(item[None])
        return torch.cat([y.flatten(), state.flatten()])

    wanted = torch.autograd.functional.jacobian(everything, x[0])
    assert_allclose(torch.func.jacrev(everything)(x[0]).detach(), wanted, atol=1e-9)
    assert_allclose(torch.func.jacfwd(everything)(x[0]).detach(), wanted, atol=1e-9)


def test_torch_func_takes_a_long_sequence_too(monkeypatch):
    monkeypatch.setattr("hippozoo.zoo.salience.layer.LOOKUPS", 16 * 23)
    monkeypatch.setattr("hippozoo.zoo.salience._table_form.NUMBERS_OF_STATES", 1)
    layer = make(LegT(6, timescale=9.0), readout="full", outputs=1)
    x = torch.randn(1, 40, 3, dtype=torch.float64)
    loss = lambda x: layer(x)[0].square().sum()  # noqa: E731
    (wanted,) = torch.autograd.grad(loss(x.requires_grad_()), x)
    assert_allclose(torch.func.grad(loss)(x.detach()).detach(), wanted, atol=1e-9)


def test_a_long_sequence_goes_in_chunks_and_gives_the_same(monkeypatch):
    layer = make(LegT(12, timescale=20.0), outputs=2, form="table")
    x = torch.randn(2, 90, 3, dtype=torch.float64).requires_grad_()
    y, state = layer(x)
    (whole,) = torch.autograd.grad(y.sum() + state.sum(), x)
    monkeypatch.setattr("hippozoo.zoo.salience.layer.LOOKUPS", 2 * 16 * 29)
    assert layer.chosen_form(90, batch=2) == ("table", 16)
    pieces, after = layer(x)
    (in_chunks,) = torch.autograd.grad(pieces.sum() + after.sum(), x)
    assert_allclose(pieces.detach(), y.detach(), atol=1e-7)
    assert_allclose(after.detach(), state.detach(), atol=1e-7)
    assert_allclose(in_chunks, whole, atol=1e-5)


def test_the_cost_of_a_long_sequence_is_linear_because_its_chunks_stay_short():
    layer = make(LegT(64, timescale=30.0), dtype=torch.float32, form="table")
    assert layer.chosen_form(30, batch=64) == ("table", 30)
    lengths = {layer.chosen_form(n, batch=64)[1] for n in (10_000, 100_000)}
    assert len(lengths) == 1
    assert lengths.pop() < 1000


def test_a_system_without_a_good_table_of_lags_goes_step_by_step():
    layer = make(LagT(20, timescale=5.0))
    assert layer.chosen_form(30)[0] == "stepwise"
    assert twin(make(LagT(20, timescale=5.0), summary=0)).chosen_form(30)[0] == "chunkwise"
    x = torch.randn(1, 6, 3, dtype=torch.float64)
    assert_allclose(layer(x)[0].detach(), twin(layer, form="recurrent")(x)[0].detach(), atol=1e-9)
    far = {"dt": 40.0}  # steps of many timescales are in no table
    assert_allclose(layer(x, **far)[0].detach(), twin(layer, form="recurrent")(x, **far)[0].detach(), atol=1e-9)


@pytest.mark.parametrize("summary", [0, 5])
def test_the_layer_changes_its_form_with_the_length_and_not_its_numbers(summary):
    layer = make(LegT(12, timescale=20.0), summary=summary, outputs=2)
    assert layer.chosen_form(2)[0] == "table"
    assert layer.chosen_form(500)[0] == ("stepwise" if summary else "chunkwise")
    x = torch.randn(2, 60, 3, dtype=torch.float64)
    y, after = layer(x)
    for form in ("table", "recurrent"):
        wanted, state = twin(layer, form=form)(x)
        assert_allclose(y.detach(), wanted.detach(), atol=1e-7)
        assert_allclose(after.detach(), state.detach(), atol=1e-7)
    one, state = layer.step(x[:, 0], layer.initial_state(2))
    assert_allclose(one.detach(), y[:, 0].detach(), atol=1e-9)


def test_padding_takes_no_time_and_has_no_gradient():
    layer = make(LegT(8, timescale=9.0), outputs=2)
    x = torch.randn(2, 10, 3, dtype=torch.float64)
    lengths = torch.tensor([4, 0])
    x[0, 4:] = float("nan")
    x[1] = float("inf")
    x.requires_grad_()
    y, state = layer(x, lengths=lengths)
    alone, after = layer(x[:1, :4].detach())
    assert_allclose(y[0, :4].detach(), alone[0].detach(), atol=1e-9)
    assert (y[0, 4:] == 0).all()
    assert_allclose(state[0].detach(), after[0].detach(), atol=1e-9)
    assert (state[1] == 0).all()
    (y.sum() + state.sum()).backward()
    assert torch.isfinite(x.grad).all()
    assert (x.grad[0, 4:] == 0).all()


def test_without_keeping_the_state_the_output_is_the_same():
    layer = make(LegS(8, timescale=9.0))
    x = torch.randn(2, 10, 3, dtype=torch.float64)
    y, state = layer(x, keep_state=False)
    assert state is None
    assert torch.equal(y, layer(x)[0])


def test_converting_the_layer_makes_its_tables_anew():
    single = make(LegT(8, timescale=9.0), dtype=torch.float32)
    x = torch.randn(2, 30, 3, dtype=torch.float64)
    exact = make(LegT(8, timescale=9.0))
    exact.load_state_dict({name: value.double() for name, value in single.state_dict().items()})
    expected = exact(x)[0]
    assert_allclose(single.double()(x)[0].detach(), expected.detach(), atol=1e-12)


def test_autocast_leaves_the_memory_in_its_own_precision():
    layer = make(LegT(8, timescale=9.0), dtype=torch.float32)
    x = torch.randn(2, 30, 3)
    expected, _ = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state = layer(x.bfloat16().float())
    assert state.dtype == torch.float32
    assert_allclose(y.detach(), expected.detach(), atol=0.05)


def test_the_papers_model_has_the_papers_size():
    model = SalienceModel(32, 32, LegT(256, timescale=30.0))
    assert sum(p.numel() for p in model.parameters()) == 25_217
    x = torch.randn(2, 30, 32)
    y, _ = model(x)
    steps, after = [], model.initial_state(2)
    for t in range(30):
        one, after = model.step(x[:, t], after)
        steps.append(one)
    scale = float(y.abs().max().detach())
    assert_allclose(torch.stack(steps, 1).detach(), y.detach(), atol=1e-3 * scale)


def test_padding_of_a_model_may_hold_anything_and_has_no_gradient():
    torch.manual_seed(0)
    model = SalienceModel(3, 2, LegT(8, timescale=9.0), width=4, summary=3, hidden=5)
    x, lengths = torch.randn(2, 6, 3), torch.tensor([4, 0])
    spoilt = x.clone()
    spoilt[0, 4:], spoilt[1] = float("nan"), float("inf")
    results = []
    for given in (x, spoilt):
        y, state = model(given, lengths=lengths)
        gradients = torch.autograd.grad(y.square().sum() + state.square().sum(), list(model.parameters()))
        results.append([y, state, model.salience(given, lengths=lengths), *gradients])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_a_model_takes_what_autocast_made_of_its_samples():
    model = SalienceModel(3, 2, LegT(8, timescale=9.0), width=4)
    before = torch.nn.Linear(3, 3)
    x = torch.randn(2, 6, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = before(x)
        y, state = model(halved)
        one, _ = model.step(halved[:, 0], model.initial_state(2))
        salience = model.salience(halved)
    wanted, after = model(halved.float())
    assert halved.dtype == torch.bfloat16
    assert torch.equal(y, wanted)
    assert torch.equal(state, after)
    assert torch.equal(salience, model.salience(halved.float()))
    assert_allclose(one.detach(), wanted[:, 0].detach(), atol=1e-6)


def test_tables_widened_behind_its_back_are_made_again():
    layer = make(LegT(8, timescale=9.0), outputs=2)
    widened = SalienceLayer(**layer.configuration(), dtype=torch.float32)
    for tensor in [*widened.parameters(), *widened.buffers()]:
        tensor.data = tensor.data.double()
    widened.load_state_dict(layer.state_dict())
    x = torch.randn(2, 12, 3, dtype=torch.float64)
    for found, wanted in zip(widened(x), layer(x), strict=True):
        assert torch.equal(found, wanted)
