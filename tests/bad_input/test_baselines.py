"""What the baselines say to arguments they cannot take."""

import pytest
import torch

from hippozoo.baselines import LSTM, S4D, DeltaNet, LSTMState, Mamba, Transformer, VanillaHippo, VanillaMLP
from hippozoo.systems import LegT

MODEL = LSTM(inputs=3, outputs=2, width=4)
MAMBA = Mamba(inputs=3, outputs=2, width=4)
WINDOW = Transformer(inputs=3, outputs=2, width=4, context=5)
STATE = MODEL.initial_state(2)


def spoilt(shape):
    tensor = torch.zeros(shape)
    tensor.view(-1)[-1] = float("nan")
    return tensor


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LSTM(0, 2), r"inputs=0; pass inputs >= 1"),
        (lambda: LSTM(3, 2, width=4.5), r"width=4.5; pass a whole number"),
        (lambda: LSTM(3, 2, layers=0), r"layers=0; pass layers >= 1"),
        (lambda: LSTM(3, 2, dtype=torch.float16), r"dtype torch.float16, .* float32 or float64"),
        (lambda: S4D(3, 2, order=7), r"order=7: every oscillator has two coefficients; pass an even order"),
        (lambda: S4D(3, 2, order=0), r"order=0; pass order >= 2"),
        (lambda: Mamba(3, 2, taps=0), r"taps=0; pass taps >= 1"),
        (lambda: Transformer(3, 2, width=6), r"width=6 is no multiple of heads=4; pass one that is"),
        (
            lambda: Transformer(3, 2, positions="learned"),
            r"positions='learned'; choose from 'none', 'sinus",
        ),
        (lambda: Transformer(3, 2, context=0), r"context=0; pass context >= 1"),
        (lambda: DeltaNet(3, 2, width=5), r"width=5 is no multiple of heads=2"),
        (lambda: VanillaHippo(3, 2, "legt"), r"system='legt'; pass a system"),
        (lambda: VanillaMLP(3, 2, LegT(4, timescale=1.0), hidden=0), r"hidden=0; pass hidden >= 1"),
        (lambda: LSTM.match(0, inputs=3, outputs=2), r"params=0; pass params >= 1"),
        (
            lambda: LSTM.match(20, inputs=30, outputs=2),
            r"params=20: the smallest LSTM of these sizes has \d+; pass more",
        ),
        (lambda: LSTM.match(inputs=3, outputs=2, width=5), r"width=5: match chooses it; leave it out"),
        (lambda: MODEL.initial_state(-1), r"batch=-1; pass batch >= 0"),
        (lambda: MODEL(torch.zeros(5, 3)), r"x has shape \(5, 3\), expected \(batch, time, inputs\); pass x\[None\]"),
        (lambda: MODEL(torch.zeros(2, 5, 4)), r"x has 4 inputs on its last axis, but this layer has 3"),
        (lambda: MODEL(torch.zeros(2, 0, 3)), r"holds nothing; pass at least one sample"),
        (lambda: MODEL(torch.zeros(2, 5, 3).double()), r"x has dtype torch.float64.*layer.to\(torch.float64\)"),
        (lambda: MODEL([[1.0]]), r"x is a list; pass a tensor"),
        (lambda: MODEL(spoilt((2, 5, 3))), r"x\[1, 4, 2\] is nan.*lengths="),
        (lambda: MODEL(torch.zeros(2, 5, 3), STATE.cell), r"is a Tensor; pass the LSTMState that this layer returned"),
        (lambda: MODEL(torch.zeros(3, 5, 3), STATE), r"state.hidden has shape \(2, 1, 4\), expected \(3, 1, 4\)"),
        (lambda: MODEL(torch.zeros(2, 5, 3), STATE._replace(cell=None)), r"state.cell is a NoneType; pass a tensor"),
        (
            lambda: MODEL(torch.zeros(2, 5, 3), LSTMState(STATE.hidden, spoilt((2, 1, 4)))),
            r"state.cell\[1, 0, 3\] is nan",
        ),
        (lambda: MAMBA(torch.zeros(2, 5, 3), STATE), r"is a LSTMState; pass the MambaState that"),
        (
            lambda: MODEL(torch.zeros(2, 5, 3), lengths=torch.tensor([2, 6])),
            r"lengths\[1\] is 6: pass values from 0 to 5",
        ),
        (lambda: MODEL(torch.zeros(2, 5, 3), lengths="55"), r"lengths='55'; pass a list or a tensor of whole numbers"),
        (lambda: MODEL.step(torch.zeros(2, 5, 3), STATE), r"expected \(batch, inputs\); pass x\[:, 0\]"),
        (lambda: MODEL.step(torch.zeros(2, 3), None), r"state=None.*layer.initial_state\(batch\)"),
        (
            lambda: WINDOW.step(torch.zeros(2, 3), WINDOW.initial_state(2)._replace(seen=torch.zeros(2))),
            r"state.seen has dtype torch.float32.*torch.int64",
        ),
        (lambda: MODEL(torch.zeros(2, 5, 3), dt=0.5), r"dt=0.5: LSTM knows no time between samples; leave dt out"),
        (lambda: MAMBA.step(torch.zeros(2, 3), MAMBA.initial_state(2), 1.0), r"dt=1.0: Mamba knows no time"),
        (
            lambda: VanillaHippo(3, 2, LegT(4, timescale=1.0))(torch.zeros(2, 5, 3), dt=0.0),
            r"dt=0.0",
        ),
    ],
)
def test_the_message_says_what_was_given_what_is_allowed_and_what_to_do(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
