"""Wrong input to the torch layer: a clear sentence, and nothing has changed."""

import pytest
import torch

from hippozoo.memory.layer import MemoryLayer
from hippozoo.systems import LegT

SYSTEM = LegT(4, 10.0)
LAYER = MemoryLayer(SYSTEM, channels=3)
X = torch.ones(2, 6, 3)
STATE = torch.zeros(2, 3, 4)


def spoilt(tensor, value, *where):
    tensor = tensor.clone()
    tensor[where] = value
    return tensor


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [
        (TypeError, lambda: MemoryLayer("legt"), r"system='legt'; pass a system such as LegT"),
        (TypeError, lambda: MemoryLayer(LegT), r"pass a system such as LegT"),
        (ValueError, lambda: MemoryLayer(SYSTEM, dt=0.0), r"dt=0.0: .* pass a finite dt > 0"),
        (ValueError, lambda: MemoryLayer(SYSTEM, dt=float("inf")), r"dt=inf: .* pass a finite dt > 0"),
        (TypeError, lambda: MemoryLayer(SYSTEM, dt="1"), r"dt='1': .* pass one real number"),
        (ValueError, lambda: MemoryLayer(SYSTEM, outputs=0, channels=1), r"outputs=0; pass outputs >= 1"),
        (TypeError, lambda: MemoryLayer(SYSTEM, outputs=2.5, channels=1), r"outputs=2.5; pass a whole number"),
        (ValueError, lambda: MemoryLayer(SYSTEM, channels=0), r"channels=0; pass channels >= 1"),
        (ValueError, lambda: MemoryLayer(SYSTEM, outputs=2), r"outputs=2 without channels: .*; pass channels"),
        (ValueError, lambda: MemoryLayer(SYSTEM, method="euler"), r"method='euler' is unknown; pass 'zoh'"),
        (
            ValueError,
            lambda: MemoryLayer(SYSTEM, method="euler", trainable_timescale=True),
            r"method='euler' is unknown",
        ),
        (TypeError, lambda: MemoryLayer(SYSTEM, dtype=torch.float16), r"torch.float16.*float32 or float64.*autocast"),
        (TypeError, lambda: MemoryLayer(SYSTEM, dtype=torch.int64), r"torch.int64"),
        (TypeError, lambda: MemoryLayer(SYSTEM).bfloat16()(X.bfloat16()), r"torch.bfloat16.*autocast"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(kind, call, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [
        (TypeError, lambda: LAYER([[1.0]]), r"x is a list; pass a tensor, for example torch.as_tensor\(x"),
        (TypeError, lambda: LAYER(X.numpy()), r"x is a ndarray; pass a tensor"),
        (TypeError, lambda: LAYER(X.double()), r"torch.float64, but .* torch.float32; .*x.to.* or convert the layer"),
        (TypeError, lambda: LAYER(X.long()), r"x has dtype torch.int64, .* pass x.to\(torch.float32\)\.$"),
        (TypeError, lambda: LAYER(X * 1j), r"x has dtype torch.complex64"),
        (
            ValueError,
            lambda: LAYER(X[0]),
            r"x has shape \(6, 3\), expected \(batch, time, channels\); pass x\[None\] for one sequence",
        ),
        (ValueError, lambda: LAYER(X[:, :0]), r"x has shape \(2, 0, 3\) and holds nothing; pass at least one sample"),
        (ValueError, lambda: LAYER(X[..., :2]), r"x has 2 channels on its last axis, but this layer has 3"),
        (ValueError, lambda: LAYER(spoilt(X, torch.nan, 1, 4, 2)), r"x\[1, 4, 2\] is nan: all values must be finite"),
        (ValueError, lambda: LAYER(spoilt(X, -torch.inf, 0, 0, 1)), r"x\[0, 0, 1\] is -inf: .* lengths="),
        (
            ValueError,
            lambda: LAYER(spoilt(X, torch.nan, 1, 2, 0), lengths=torch.tensor([2, 3])),
            r"x\[1, 2, 0\] is nan",
        ),
        (TypeError, lambda: LAYER(X, [0.0]), r"state=\[0.0\] is a list; pass the Tensor that this layer returned"),
        (TypeError, lambda: LAYER(X, STATE.double()), r"state has dtype torch.float64"),
        (
            ValueError,
            lambda: LAYER(X, STATE[:1]),
            r"state has shape \(1, 3, 4\), expected \(batch, channels, order\) = \(2, 3, 4\); .* initial_state\(2\)",
        ),
        (ValueError, lambda: LAYER(X, torch.zeros(2, 3, 5)), r"state has shape \(2, 3, 5\)"),
        (ValueError, lambda: LAYER(X, spoilt(STATE, torch.nan, 1, 0, 3)), r"state\[1, 0, 3\] is nan"),
        (ValueError, lambda: LAYER(X, dt=0.0), r"dt=0.0: .* pass a finite dt > 0"),
        (TypeError, lambda: LAYER(X, dt=[1.0] * 6), r"dt=\[1.0, .* pass one real number"),
        (
            ValueError,
            lambda: LAYER(X, dt=torch.tensor(-1.0)),
            r"dt is -1: time only runs forwards; pass finite steps > 0",
        ),
        (ValueError, lambda: LAYER(X, dt=spoilt(torch.ones(6), 0.0, 2)), r"dt\[2\] is 0: time only runs forwards"),
        (ValueError, lambda: LAYER(X, dt=spoilt(torch.ones(2, 6), torch.nan, 1, 2)), r"dt\[1, 2\] is nan"),
        (
            ValueError,
            lambda: LAYER(X, dt=spoilt(torch.ones(2, 6), -1.0, 1, 2), lengths=torch.tensor([6, 3])),
            r"dt\[1, 2\] is -1",
        ),
        (
            ValueError,
            lambda: LAYER(X, dt=torch.ones(5)),
            r"dt has shape \(5,\); .* \(time,\) = \(6,\), \(batch, time\) = \(2, 6\)",
        ),
        (ValueError, lambda: LAYER(X, dt=torch.ones(2, 6, 3)), r"dt has shape \(2, 6, 3\)"),
        (TypeError, lambda: LAYER(X, dt=torch.ones(6) * 1j), r"dt has dtype torch.complex64"),
        (TypeError, lambda: LAYER(X, lengths="63"), r"lengths='63'; pass a list or a tensor of whole numbers"),
        (TypeError, lambda: LAYER(X, lengths=torch.tensor([6.0, 3.0])), r"lengths has dtype torch.float32; .* whole"),
        (ValueError, lambda: LAYER(X, lengths=torch.tensor([6])), r"lengths has shape \(1,\), expected \(2,\)"),
        (ValueError, lambda: LAYER(X, lengths=torch.tensor([6, 7])), r"lengths\[1\] is 7: pass values from 0 to 6"),
        (ValueError, lambda: LAYER(X, lengths=torch.tensor([-1, 6])), r"lengths\[0\] is -1"),
        (ValueError, lambda: LAYER.step(X, STATE), r"x has shape \(2, 6, 3\), expected \(batch, channels\)"),
        (ValueError, lambda: LAYER.step(X[0, 0], STATE), r"x has shape \(3,\)"),
        (TypeError, lambda: LAYER.step(X[:, 0], None), r"state=None: .* layer.initial_state\(batch\)"),
        (ValueError, lambda: LAYER.step(spoilt(X[:, 0], torch.nan, 1, 1), STATE), r"x\[1, 1\] is nan"),
        (ValueError, lambda: LAYER.step(X[:, 0], STATE, dt=torch.zeros(2)), r"dt\[0\] is 0"),
        (
            ValueError,
            lambda: LAYER.step(X[:, 0], STATE, dt=torch.ones(3)),
            r"dt has shape \(3,\); .*\(batch,\) = \(2,\)",
        ),
        (ValueError, lambda: LAYER.initial_state(-1), r"batch=-1; pass batch >= 0"),
        (TypeError, lambda: LAYER.initial_state(2.5), r"batch=2.5; pass a whole number"),
        (ValueError, lambda: LAYER.initial_state(2, 4), r"channels=4, but this layer has 3"),
        (ValueError, lambda: MemoryLayer(SYSTEM).initial_state(2), r"channels=None, .*; pass channels"),
        (ValueError, lambda: LAYER.update_rule(-1.0), r"dt=-1.0: .* pass a finite dt > 0"),
        (ValueError, lambda: LAYER.update_rule(torch.tensor([1.0, 0.0])), r"dt\[1\] is 0: time only runs forwards"),
    ],
)
def test_wrong_input_is_refused_and_changes_nothing(kind, call, message):
    before = X.clone(), STATE.clone(), LAYER(X, STATE)
    with pytest.raises(kind, match=message):
        call()
    after = LAYER(X, STATE)
    assert torch.equal(X, before[0])
    assert torch.equal(STATE, before[1])
    assert all(torch.equal(one, other) for one, other in zip(after, before[2], strict=True))


def test_large_but_finite_samples_are_no_error():
    huge = torch.full((1, 4, 1), 3e38)  # their sum is not finite, they are
    assert MemoryLayer(SYSTEM)(huge)[0].shape == (1, 4, 1, 4)
