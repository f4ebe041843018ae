"""Bad input to the multiscale memory: what was given, what is allowed, what to do; nothing changes."""

import numpy as np
import pytest

from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleMemory, smallest_memory

SYSTEM = LegT(4, timescale=10.0)
MEMORY = MultiscaleMemory(SYSTEM, longest=1e4, scales=12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"system": "legt"}, TypeError, "for example LegT"),
        ({"longest": 10.0}, ValueError, "longest=10.0 is not beyond the shortest horizon"),
        ({"longest": -1.0}, ValueError, "pass a finite longest > 0"),
        ({"longest": "far"}, TypeError, "longest='far'"),
        ({"longest": float("inf")}, ValueError, "longest=inf"),
        ({"scales": 1}, ValueError, "scales=1: a range of horizons takes several windows; pass scales >= 2"),
        ({"scales": 2.5}, TypeError, "scales=2.5"),
        ({"construction": "jeffrey"}, ValueError, "did you mean 'jeffreys'"),
        ({"construction": None}, ValueError, "construction=None is unknown; All: log, basic"),
        ({"dt": 0.0}, ValueError, "dt=0.0"),
        ({"dtype": "int32"}, ValueError, "'float64' or 'float32'"),
        ({"dtype": "nonsense"}, ValueError, "'float64' or 'float32'"),
    ],
)
def test_a_memory_that_cannot_be_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        MultiscaleMemory(**({"system": SYSTEM, "longest": 1e4} | arguments))


@pytest.mark.parametrize(
    ("horizon", "message"),
    [
        (20_000, "horizon=20000 is outside the remembered range 10 to 10000; query within it or build with longest>="),
        (5.0, "horizon=5 is outside the remembered range 10 to 10000; query within it or build with a system of"),
        (-1.0, "horizon=-1.0"),
        (float("nan"), "horizon.* is nan"),
    ],
)
def test_horizons_outside_the_range_are_refused_with_the_range(horizon, message):
    with pytest.raises(ValueError, match=message):
        MEMORY.coefficients(MEMORY.initial_state(), horizon)
    with pytest.raises(ValueError, match="horizon"):
        MEMORY.plain(horizon)


def test_one_horizon_among_many_is_refused_too():
    with pytest.raises(ValueError, match="horizon=9 is outside"):
        MEMORY.coefficients(MEMORY.initial_state(), np.array([10.0, 9.0]))
    with pytest.raises(ValueError, match="horizon=9 is outside"):
        MEMORY.coverage(np.array([9.0]))


def test_lags_beyond_the_horizon_or_the_range_are_refused():
    state = MEMORY.initial_state()
    with pytest.raises(ValueError, match="remembered window 0 to 50"):
        MEMORY.reconstruct(state, 60.0, horizon=50.0)
    with pytest.raises(ValueError, match="remembered range 10 to 10000"):
        MEMORY.reconstruct(state, 10_001.0)
    with pytest.raises(ValueError, match="in the future"):
        MEMORY.reconstruct(state, -1.0)


@pytest.mark.parametrize(
    ("signal", "error", "message"),
    [
        ([], ValueError, "holds no sample"),
        ([1.0, np.nan], ValueError, r"signal\[1\] is nan; all values must be finite. For missing samples pass mask="),
        ([1.0, np.inf], ValueError, "inf"),
        ([["a"]], TypeError, "dtype"),
        ([object()], TypeError, "dtype object"),
        (np.zeros((2, 2, 2)), ValueError, r"pass \(time,\) or \(time, channels\)"),
        ([[1.0], [1.0, 2.0]], ValueError, "rectangular"),
    ],
)
@pytest.mark.parametrize("mode", ["scan", "final", "verify"])
def test_bad_signals_are_refused(mode, signal, error, message):
    with pytest.raises(error, match=message):
        getattr(MEMORY, mode)(signal)


def test_bad_steps_masks_and_states_are_refused():
    signal = np.zeros(5)
    with pytest.raises(ValueError, match=r"signal has 5 samples"):
        MEMORY.final(signal, dt=np.ones(3))
    with pytest.raises(ValueError, match="time only runs"):
        MEMORY.scan(signal, dt=np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="time only runs"):
        MEMORY.step(MEMORY.initial_state(), 1.0, dt=-1.0)
    with pytest.raises(TypeError, match="mask has dtype"):
        MEMORY.scan(signal, mask=np.ones(5))
    with pytest.raises(ValueError, match=r"state has shape \(4,\)"):
        MEMORY.final(signal, np.zeros(4))
    with pytest.raises(ValueError, match=r"scales per channel"):
        MEMORY.final(np.zeros((5, 2)), np.zeros((4, 12)))
    with pytest.raises(ValueError, match=r"state\[0, 0\] is nan"):
        MEMORY.step(np.full((4, 12), np.nan), 1.0)
    with pytest.raises(ValueError, match=r"sample has shape \(1, 1\)"):
        MEMORY.step(MEMORY.initial_state(), [[1.0]])
    with pytest.raises(ValueError, match="right has shape"):
        MEMORY.merge(MEMORY.initial_state(), np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="elapsed=0"):
        MEMORY.merge(MEMORY.initial_state(), MEMORY.initial_state(), 0)
    with pytest.raises(ValueError, match=r"order and scales"):
        MEMORY.coefficients(np.zeros(12), 10.0)
    with pytest.raises(ValueError, match="channels=0"):
        MEMORY.initial_state(0)


def test_a_bank_has_no_polynomials_in_scale():
    bank = MultiscaleMemory(SYSTEM, longest=1e4, construction="bank")
    with pytest.raises(ValueError, match="polynomials in scale"):
        bank.scale_coefficients(bank.initial_state())


def test_refused_samples_leave_the_state_as_it_was(rng):
    state = MEMORY.final(rng.normal(size=30))
    before = state.copy()
    for sample in (np.nan, "one", [1.0, 2.0], None):
        with pytest.raises((TypeError, ValueError)):
            MEMORY.step(state, sample)
    MEMORY.step(state, 1.0)
    MEMORY.final(rng.normal(size=3), state)
    np.testing.assert_array_equal(state, before)


@pytest.mark.parametrize("sample", [1e39, -1e39, np.inf, np.nan])
def test_a_sample_that_the_state_cannot_hold_is_refused_as_in_a_signal(sample):
    memory = MultiscaleMemory(SYSTEM, longest=1e4, scales=12, dtype="float32")
    state = memory.initial_state()
    for call in (lambda: memory.step(state, sample), lambda: memory.final([sample], state)):
        with pytest.raises(ValueError, match=r"too large for float32; scale it down|all values must be finite"):
            call()
    assert np.isfinite(memory.step(state, 1e30)).all()


def test_a_coverage_of_no_horizon_is_refused():
    with pytest.raises(ValueError, match="24 to the decade"):
        MEMORY.coverage([])  # pyright: ignore[reportArgumentType]


def test_accuracies_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="excess=0"):
        smallest_memory(SYSTEM, 1e3, excess=0)
    with pytest.raises(ValueError, match="construction='logs'"):
        MultiscaleMemory(SYSTEM, 1e3, construction="logs")
    with pytest.raises(TypeError, match="for example LegT"):
        smallest_memory("legt", 1e3)  # pyright: ignore[reportArgumentType]


def test_samples_and_horizons_may_be_of_any_real_type():
    memory = MultiscaleMemory(LegT(4, timescale=10), longest=100, scales=12)
    state = memory.step(memory.initial_state(), 2)
    np.testing.assert_allclose(memory.step(memory.initial_state(), np.float32(2.0)), state)
    np.testing.assert_allclose(memory.coefficients(state, 20), memory.coefficients(state, 20.0))


def test_layers_that_cannot_be_and_tensors_that_do_not_fit_are_refused():
    torch = pytest.importorskip("torch")
    from hippozoo.zoo.multiscale import MultiscaleLayer

    with pytest.raises(TypeError, match="pass MultiscaleMemory"):
        MultiscaleLayer(SYSTEM)
    with pytest.raises(ValueError, match="outside the remembered"):
        MultiscaleLayer(MEMORY, horizons=(1.0,))
    with pytest.raises(ValueError, match="would be read"):
        MultiscaleLayer(MEMORY, horizons=())
    with pytest.raises(ValueError, match="pass channels"):
        MultiscaleLayer(MEMORY, outputs=3)
    with pytest.raises(TypeError, match="float32 or float64"):
        MultiscaleLayer(MEMORY, dtype=torch.bfloat16)
    layer = MultiscaleLayer(MEMORY, channels=2)
    x = torch.zeros(3, 5, 2)
    for call, error, message in [
        (lambda: layer(x[0]), ValueError, r"expected \(batch, time, channels\)"),
        (lambda: layer(x[..., :1]), ValueError, "1 channels on its last axis"),
        (lambda: layer(x.double()), TypeError, "float64"),
        (lambda: layer(x.numpy()), TypeError, "pass a tensor"),
        (lambda: layer(x, torch.zeros(3, 2, 4)), ValueError, r"\(batch, channels, order, scales\) = \(3, 2, 4, 12\)"),
        (lambda: layer(x + torch.nan), ValueError, "finite"),
        (lambda: layer(x, layer.initial_state(3) + torch.nan), ValueError, "go on from an earlier state"),
        (lambda: layer(x, dt=torch.zeros(5)), ValueError, "time only runs forwards"),
        (lambda: layer(x, dt=torch.ones(4)), ValueError, "dt has shape"),
        (lambda: layer(x, lengths=torch.tensor([6, 1, 1])), ValueError, "from 0 to 5"),
        (lambda: layer.step(x[:, 0], None), TypeError, "initial_state"),
        (lambda: layer.initial_state(3, 4), ValueError, "this layer has 2"),
        (lambda: MultiscaleLayer(MEMORY).initial_state(3), ValueError, "pass channels"),
    ]:
        with pytest.raises(error, match=message):
            call()
