"""A long signal with steps of its own is taken in piece by piece, and nobody can tell."""

import pytest
from numpy.testing import assert_allclose

from hippozoo.memory import Memory, varying_step
from hippozoo.memory import memory as memory_module
from hippozoo.systems import FouT, LegT


@pytest.fixture
def short_pieces(monkeypatch):
    """Pieces of 7 samples, so that 30 samples are four whole pieces and two samples more."""
    for module in (memory_module, varying_step):
        monkeypatch.setattr(module, "_PIECE", 7)


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("system", [LegT(5, 4.0), FouT(5, 4.0)], ids=["structured", "unstructured"])
@pytest.mark.parametrize("channels", [None, 2])
def test_what_is_read_piece_by_piece_is_read_from_the_scan(system, method, channels, rng):
    memory = Memory(system, method=method)
    signal = rng.normal(size=30 if channels is None else (30, channels))
    dt, weights = rng.uniform(0.2, 3.0, size=30), rng.normal(size=(5, 3))
    start = rng.normal(size=memory.initial_state(channels).shape)
    states = memory.scan(signal, start, dt=dt)
    assert_allclose(memory.readout(signal, weights, start, dt=dt), states @ weights, atol=1e-12)
    assert_allclose(memory.readout(signal, weights[:, 0], start, dt=dt), states @ weights[:, 0], atol=1e-12)
    assert_allclose(memory.final(signal, start, dt=dt), states[-1], atol=1e-12)
