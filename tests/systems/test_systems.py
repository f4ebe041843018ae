import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

ALL = [LegT, LegS, LagT, FouT]
every_system = pytest.mark.parametrize("system_class", ALL)


@every_system
def test_systems_pickle_copy_compare_hash_and_print(system_class):
    system = system_class(order=5, timescale=2.5)
    _ = system.A, system.b
    for again in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system), copy.copy(system)):
        assert again == system
        assert hash(again) == hash(system)
        assert_allclose(again.A, system.A, rtol=0)
    assert repr(system) == f"{system_class.__name__}(order=5, timescale=2.5)"
    assert system != system_class(order=5, timescale=1.0)
    assert system != system_class(order=7, timescale=2.5)
    assert all(system != other(order=5, timescale=2.5) for other in ALL if other is not system_class)


@every_system
def test_systems_are_frozen_to_the_last_matrix(system_class):
    system = system_class(order=3, timescale=1.0)
    with pytest.raises(FrozenInstanceError):
        system.order = 4
    for shared in (system, pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        with pytest.raises(ValueError, match="read-only"):
            shared.A[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            shared.b[0] = 1.0


def test_a_pickle_carries_numbers_and_no_matrices():
    system = LegT(order=256, timescale=1.0)
    before = len(pickle.dumps(system))
    _ = system.A
    assert len(pickle.dumps(system)) == before < 500


@every_system
@pytest.mark.parametrize("order", [1, 5, 33])
def test_the_structure_is_the_matrix(system_class, order):
    system = system_class(order=order, timescale=1.0)
    if system.structure is not None:
        assert_allclose(system.structure.dense(), system.A, rtol=1e-14)
    else:
        assert system_class is FouT


@every_system
def test_shapes_follow_the_lags(system_class, rng):
    system = system_class(order=5, timescale=3.0)
    lags = rng.uniform(0, 3, size=(2, 4))
    assert system.basis(lags).shape == (2, 4, 5)
    assert system.basis(1.5).shape == (5,)
    assert system.weight(lags).shape == (2, 4)
    assert system.reconstruct(rng.normal(size=(3, 5)), lags).shape == (3, 2, 4)
    assert system.reconstruct(rng.normal(size=5), 1.5).shape == ()


@every_system
def test_reconstruction_is_the_state_in_the_basis(system_class, rng):
    system, state, lags = system_class(order=5, timescale=3.0), rng.normal(size=5), np.linspace(0, 3, 7)
    assert_allclose(system.reconstruct(state, lags), system.basis(lags) @ state, rtol=1e-13)


@every_system
def test_a_grid_up_to_the_window_is_inside_it(system_class):
    system = system_class(order=3, timescale=0.7)
    window = min(system.window, 2.1)
    assert system.basis(np.linspace(0, window, 7) * (1 + 1e-15)).shape == (7, 3)


@pytest.mark.parametrize(("system_class", "window"), [(LegT, 4.0), (FouT, 4.0), (LegS, np.inf), (LagT, np.inf)])
def test_only_windowed_systems_have_an_end(system_class, window):
    assert system_class(order=3, timescale=4.0).window == window


@dataclass(frozen=True)
class TwoTaps(HippoSystem):
    """A user's own system, with a parameter of its own: two exponential averages."""

    ratio: float = 4.0
    labels: dict[str, int] = field(default_factory=dict, compare=False)

    @cached_property
    def A(self):
        return -np.diag([1.0, self.ratio])

    @cached_property
    def b(self):
        return np.array([1.0, self.ratio])

    def weight(self, lag):
        return np.exp(-np.asarray(lag, float))

    def _values(self, scaled_lag):
        return np.stack([np.exp(-scaled_lag), np.exp(-self.ratio * scaled_lag)], axis=-1)


def test_a_users_own_system_gets_everything_that_ours_have():
    system = TwoTaps(2, 5.0, ratio=3.0, labels={"fast": 1})
    _ = system.A
    again = pickle.loads(pickle.dumps(system))
    assert again == system
    assert hash(again) == hash(system)
    assert again.labels == {"fast": 1}
    assert "A" not in vars(again)
    assert system != TwoTaps(2, 5.0, ratio=2.0)
    assert repr(system) == "TwoTaps(order=2, timescale=5.0, ratio=3.0, labels={'fast': 1})"
    assert system.basis(np.array([0.0, 1.0])).shape == (2, 2)
    assert system.window == np.inf
    assert system.structure is None


def test_a_subclass_is_another_system():
    class Renamed(LegT):
        pass

    assert Renamed(3, timescale=1.0) != LegT(3, timescale=1.0)
    assert Renamed(3, timescale=1.0) == Renamed(3, timescale=1.0)
