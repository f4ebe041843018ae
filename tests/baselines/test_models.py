"""The other baselines against slow plain definitions, and torch's own layers."""

import inspect

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from hippozoo.baselines import (
    LSTM,
    S4D,
    DeltaNet,
    Mamba,
    Transformer,
    VanillaHippo,
    VanillaMLP,
    parameter_count,
)
from hippozoo.baselines import s4d as s4d_module
from hippozoo.layers.delta_rule import STRETCH, delta_rule
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegS, LegT
from oracles import delta_rule as slow_delta_rule
from oracles import diagonal_system, windowed_attention

SYSTEM = LegT(order=6, timescale=9.0)


@pytest.fixture(autouse=True)
def same_weights():
    torch.manual_seed(0)


def test_the_lstm_is_torchs_lstm_with_a_linear_readout():
    model = LSTM(inputs=3, outputs=2, width=5, layers=2)
    x = torch.randn(4, 11, 3)
    hidden, (h, c) = model.cells(x)
    y, state = model(x)
    torch.testing.assert_close(y, model.readout(hidden))
    torch.testing.assert_close(state.hidden, h.transpose(0, 1))
    torch.testing.assert_close(state.cell, c.transpose(0, 1))


@pytest.mark.parametrize("n_steps", [s4d_module.LONGEST_DIRECT, s4d_module.LONGEST_DIRECT + 9])
def test_s4d_is_a_bank_of_damped_oscillators_by_matrix_and_by_fourier(n_steps):
    block = S4D(inputs=1, outputs=1, width=3, order=8, dtype=torch.float64).blocks[0]
    signal = torch.randn(3, 2, n_steps, dtype=torch.float64)
    modes = block._modes(n_steps)
    found = s4d_module.convolved(signal, (modes.weights[:, None] @ modes.powers)[:, 0])
    poles = (-block.log_decay.exp() + 1j * block.frequency).detach().numpy()
    weights = torch.view_as_complex(block.weight.detach()).numpy()
    for channel in range(3):
        for item in range(2):
            slow = diagonal_system(
                signal[channel, item].numpy(), block.log_step[channel].exp().item(), poles[channel], weights[channel]
            )
            assert_allclose(found[channel, item].detach(), slow, atol=1e-10)


def test_gradients_of_s4d_do_not_depend_on_how_it_is_convolved(monkeypatch):
    model = S4D(inputs=3, outputs=2, width=4, layers=2, order=6, dtype=torch.float64)
    x = torch.randn(3, 40, 3, dtype=torch.float64)
    gradients = []
    for longest in (0, 1000):
        monkeypatch.setattr(s4d_module, "LONGEST_DIRECT", longest)
        y, state = model(x, model(x)[1])
        gradients.append(torch.autograd.grad(y.square().sum() + state.square().sum(), list(model.parameters())))
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


def test_a_transformer_looks_at_the_last_samples_and_at_no_others():
    model = Transformer(inputs=3, outputs=2, width=6, heads=1, context=5, dtype=torch.float64)
    block = model.blocks[0]
    x = torch.randn(1, 13, 3, dtype=torch.float64)
    y, state = model(x)
    inside = model.encoder(x)
    queries, keys, values = block.look(block.norm_attention(inside)).chunk(3, dim=-1)
    read = windowed_attention(*(part[0].detach().numpy() for part in (queries, keys, values)), context=5)
    inside = inside + block.leave(torch.from_numpy(read))
    inside = inside + block.network(block.norm_network(inside))
    torch.testing.assert_close(y, model.readout(model.norm(inside)))
    torch.testing.assert_close(state.keys[:, 0], keys[:, -5:])
    assert state.seen.tolist() == [13]


def test_a_transformer_of_full_context_is_torchs_encoder_layer():
    model = Transformer(inputs=3, outputs=2, width=8, heads=2, context=20, dtype=torch.float64)
    block = model.blocks[0]
    theirs = nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    pairs = {
        theirs.self_attn.in_proj_weight: block.look.weight,
        theirs.self_attn.in_proj_bias: block.look.bias,
        theirs.self_attn.out_proj.weight: block.leave.weight,
        theirs.self_attn.out_proj.bias: block.leave.bias,
        theirs.linear1.weight: block.network[0].weight,
        theirs.linear1.bias: block.network[0].bias,
        theirs.linear2.weight: block.network[2].weight,
        theirs.linear2.bias: block.network[2].bias,
    }
    with torch.no_grad():
        for their, our in pairs.items():
            their.copy_(our)
    x = torch.randn(4, 12, 3, dtype=torch.float64)
    mask = nn.Transformer.generate_square_subsequent_mask(12, dtype=torch.float64)
    wanted = model.readout(model.norm(theirs(model.encoder(x), src_mask=mask)))
    torch.testing.assert_close(model(x)[0], wanted)


def test_without_positions_one_layer_of_attention_cannot_tell_the_order():
    x = torch.randn(2, 10, 3, dtype=torch.float64)
    shuffled = torch.cat([x[:, torch.randperm(9)], x[:, 9:]], 1)
    answers = {}
    for positions in ("none", "sinusoidal", "learnt"):
        model = Transformer(inputs=3, outputs=2, width=8, positions=positions, dtype=torch.float64)
        answers[positions] = (model(x)[0][:, -1] - model(shuffled)[0][:, -1]).abs().max().item()
    assert answers["none"] < 1e-12 < 1e-3 < answers["sinusoidal"]
    assert answers["learnt"] > 1e-5  # they begin small


def test_learnt_positions_are_rows_of_a_table_that_begins_anew():
    model = Transformer(inputs=3, outputs=2, width=8, positions="learnt", context=5, dtype=torch.float64)
    x = torch.randn(2, 12, 3, dtype=torch.float64)
    shifted = Transformer(inputs=3, outputs=2, width=8, context=5, dtype=torch.float64)
    shifted.load_state_dict(model.state_dict(), strict=False)
    shifted.encoder = nn.Identity()
    shifted.inputs = shifted.channels = 8
    added = model.encoder(x) + model.places.weight[torch.arange(12) % 5]
    torch.testing.assert_close(model(x)[0], shifted(added)[0])


@pytest.mark.parametrize("n_steps", [1, STRETCH + 7])
def test_deltanets_solve_is_its_rule_one_write_after_the_other(n_steps, rng):
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape))  # noqa: E731
    queries, values, before = draw(2, 3, n_steps, 4), draw(2, 3, n_steps, 4), draw(2, 3, 4, 4)
    keys = nn.functional.normalize(draw(2, 3, n_steps, 4), dim=-1)
    betas = torch.from_numpy(rng.uniform(size=(2, 3, n_steps)))
    reads, after = delta_rule(keys, values, betas, queries, before)
    for item in range(2):
        for head in range(3):
            k, v, beta = (part[item, head].numpy() for part in (keys, values, betas))
            bank = slow_delta_rule(k, v, beta, before[item, head].numpy())
            assert_allclose(after[item, head], bank, atol=1e-10)
            assert_allclose(reads[item, head, -1], bank @ queries[item, head, -1].numpy(), atol=1e-10)


@pytest.mark.parametrize("Model", [VanillaHippo, VanillaMLP])
def test_vanilla_models_read_every_coefficient_of_a_plain_memory(Model):
    model = Model(3, 2, SYSTEM, width=4, dtype=torch.float64)
    x = torch.randn(2, 40, 3, dtype=torch.float64)
    states, _ = MemoryLayer(SYSTEM, dtype=torch.float64)(model.encoder(x))
    read = model.memories[0].readout(states.flatten(2))
    wanted = read if Model is VanillaHippo else model.heads[0][-1](nn.functional.gelu(read))
    torch.testing.assert_close(model(x)[0], wanted)
    assert read.shape[-1] == (2 if Model is VanillaHippo else 86)


def test_vanilla_hippo_of_one_layer_is_linear():
    model = VanillaHippo(3, 2, SYSTEM, dtype=torch.float64)
    x, z = torch.randn(2, 2, 30, 3, dtype=torch.float64)
    zero = model(torch.zeros_like(x))[0]
    torch.testing.assert_close(model(x + 2 * z)[0] - zero, model(x)[0] + 2 * model(z)[0] - 3 * zero)


# The paper's Table 1, in thousands, at the sizes of selective copying.
@pytest.mark.parametrize(
    ("model", "thousands"),
    [
        (lambda: LSTM(32, 32, width=60), 25),
        (lambda: S4D(32, 32), 26),
        (lambda: S4D(32, 32, layers=2), 47),
        (lambda: Transformer(32, 32), 27),
        (lambda: Transformer(32, 32, layers=2), 51),
        (lambda: VanillaHippo(32, 32, LegT(24, 30.0)), 26),
        (lambda: VanillaMLP(32, 32, LegT(16, 30.0)), 25),
    ],
)
def test_models_have_the_papers_sizes(model, thousands):
    assert round(parameter_count(model()) / 1000) == thousands


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(
    ("Model", "options"),
    [
        (LSTM, {}),
        (S4D, {}),
        (Mamba, {}),
        (Transformer, {}),
        (DeltaNet, {}),
        (VanillaHippo, {"system": LegS(24, 30.0)}),
        (VanillaMLP, {"system": LegS(16, 30.0)}),
    ],
)
def test_no_other_width_comes_nearer_to_the_budget(Model, options, layers):
    state = torch.get_rng_state()
    model = Model.match(params=25_000, inputs=32, outputs=32, layers=layers, **options)
    count = parameter_count(model)
    step = Model._matched_step({})
    for other in (-step, step):
        sizes = model.configuration() | {Model.matched: getattr(model, Model.matched) + other}
        assert abs(parameter_count(Model(**sizes)) - 25_000) >= abs(count - 25_000)
    torch.set_rng_state(state)
    again = Model(**model.configuration())  # the search has used none of the caller's randomness
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("layers", [1, 2])
def test_gradients_flow_to_every_parameter_and_into_the_state(layers):
    for model in (
        LSTM(3, 2, 4, layers),
        S4D(3, 2, 4, layers, order=4),
        Mamba(3, 2, 4, layers, order=3),
        Mamba(3, 2, 4, layers, order=3, dt_rank=2, shared_step=True, step_sees_state=True),
        Transformer(3, 2, 4, layers, context=9),
        DeltaNet(3, 2, 4, layers),
        VanillaHippo(3, 2, SYSTEM, 4, layers),
        VanillaMLP(3, 2, SYSTEM, 4, layers, hidden=5),
    ):
        x = torch.randn(2, 12, 3, requires_grad=True)
        _, state = model(x)
        y, _ = model(torch.randn(2, 7, 3), state)
        y.square().sum().backward()
        assert x.grad.abs().max() > 0  # through the state, to what came before it
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            if name != "blocks.0.look.bias":  # adding one vector to all keys moves no share of attention
                assert parameter.grad.abs().max() > 0, f"{type(model).__name__}: {name}"


@pytest.mark.parametrize(
    "model",
    [
        lambda: LSTM(3, 2, 4),
        lambda: S4D(3, 2, 4, order=4),
        lambda: Mamba(3, 2, 4, order=3),
        lambda: Transformer(3, 2, 4, context=5),
        lambda: DeltaNet(3, 2, 4),
        lambda: VanillaHippo(3, 2, SYSTEM, 4),
        lambda: VanillaMLP(3, 2, SYSTEM, 4, hidden=5),
        lambda: MemoryLayer(SYSTEM, outputs=2, channels=3),
    ],
)
def test_every_model_is_called_as_our_layers_are(model):
    model, x, lengths = model(), torch.randn(2, 8, 3), torch.tensor([8, 5])
    state = model.initial_state(2)
    assert list(inspect.signature(model.forward).parameters)[:4] == ["x", "state", "dt", "lengths"]
    assert list(inspect.signature(model.step).parameters) == ["x", "state", "dt"]
    wanted, after = model(x, state=state, lengths=lengths)
    torch.testing.assert_close(model(x, state, None, lengths), (wanted, after), rtol=0, atol=0)
    torch.testing.assert_close(model.step(x[:, 0], state, None)[0], wanted[:, 0])


def small_models():
    """One of each kind, of two layers."""
    return (
        LSTM(3, 2, 4, 2),
        S4D(3, 2, 4, 2, order=4),
        Mamba(3, 2, 4, 2, order=3),
        Transformer(3, 2, 4, 2, context=5),
        DeltaNet(3, 2, 4, 2),
        VanillaMLP(3, 2, SYSTEM, 4, 2, hidden=5),
    )


def test_items_of_no_samples_keep_their_state():
    for model in small_models():
        _, before = model(torch.randn(2, 8, 3))
        y, after = model(torch.randn(2, 6, 3), before, lengths=torch.tensor([0, 6]))
        parts = zip(before, after, strict=True) if isinstance(before, tuple) else [(before, after)]
        for old, new in parts:
            torch.testing.assert_close(new[0], old[0], rtol=0, atol=1e-7)
        assert np.abs(y[0].detach().numpy()).max() == 0


def test_models_keep_to_their_own_precision_under_autocast():
    for model in small_models():
        x = torch.randn(2, 8, 3)
        wanted, state = model(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y, _ = model(x)
            stepped, _ = model.step(x[:, 0].bfloat16(), state)
        torch.testing.assert_close(y, wanted)
        assert stepped.dtype == torch.float32
