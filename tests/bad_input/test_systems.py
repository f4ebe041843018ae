import numpy as np
import pytest

from hippozoo.discretise import bilinear, discretise, zero_order_hold
from hippozoo.systems import (
    FouT,
    LagT,
    LegS,
    LegT,
    from_lmu,
    from_s4,
    lmu_matrices,
    s4_matrices,
    s4_step,
    to_lmu,
    to_s4,
)

ALL = [LegT, LegS, LagT, FouT]
every_system = pytest.mark.parametrize("system_class", ALL)


@every_system
@pytest.mark.parametrize("order", [0, -3])
def test_a_memory_has_at_least_one_coefficient(system_class, order):
    with pytest.raises(ValueError, match=f"order={order}"):
        system_class(order, timescale=1.0)


@every_system
@pytest.mark.parametrize("order", [2.5, 3.0, "3", None, True, np.array([3]), 3 + 0j])
def test_an_order_is_a_whole_number(system_class, order):
    with pytest.raises(TypeError, match="whole number order >= 1"):
        system_class(order, timescale=1.0)


@every_system
@pytest.mark.parametrize("timescale", [0, -1.0, np.nan, np.inf, -np.inf])
def test_a_timescale_is_a_positive_duration(system_class, timescale):
    with pytest.raises(ValueError, match=r"timescale="):
        system_class(3, timescale)


@every_system
@pytest.mark.parametrize("timescale", ["1", None, True, 1j, [1.0]])
def test_a_timescale_is_one_real_number(system_class, timescale):
    with pytest.raises(TypeError, match="real number timescale > 0"):
        system_class(3, timescale)


@every_system
def test_equal_numbers_of_any_kind_make_equal_systems(system_class):
    assert system_class(np.int64(5), np.float32(2.5)) == system_class(5, 2.5)
    assert type(system_class(5, 2).timescale) is float
    assert type(system_class(np.uint8(5), timescale=1.0).order) is int


@pytest.mark.parametrize("order", [2, 64])
def test_a_fourier_memory_has_odd_order(order):
    with pytest.raises(ValueError, match=f"example {order + 1}"):
        FouT(order, timescale=1.0)


def test_a_laguerre_memory_ends_where_its_basis_does():
    assert LagT(1024, timescale=1.0).order == 1024
    with pytest.raises(ValueError, match=r"order=1025"):
        LagT(1025, timescale=1.0)
    system = LagT(4, timescale=2.0)
    assert np.isfinite(system.basis(2800.0)).all()
    with pytest.raises(ValueError, match=r"lag=2801.0 is beyond 2800.0"):
        system.basis(2801.0)


@every_system
def test_the_future_is_no_lag(system_class):
    with pytest.raises(ValueError, match=r"pass lag >= 0"):
        system_class(3, timescale=1.0).basis(np.array([0.1, -0.5]))


@pytest.mark.parametrize("system_class", [LegT, FouT])
def test_a_window_ends(system_class):
    with pytest.raises(ValueError, match=r"remembered window 0 to 2.0"):
        system_class(3, timescale=2.0).reconstruct(np.zeros(3), 2.1)


@every_system
@pytest.mark.parametrize(("lag", "error"), [(np.nan, ValueError), ("now", TypeError), (1j, TypeError)])
def test_a_lag_is_a_finite_number(system_class, lag, error):
    with pytest.raises(error, match="lag"):
        system_class(3, timescale=1.0).basis(lag)


@every_system
@pytest.mark.parametrize("shape", [(), (4,), (3, 2)])
def test_a_state_has_the_coefficients_of_its_system(system_class, shape):
    with pytest.raises(ValueError, match=r"keeps 3 coefficients"):
        system_class(3, timescale=1.0).reconstruct(np.zeros(shape), 0.5)


@pytest.mark.parametrize("state", [np.array([1, None, 2], object), np.array([1.0, np.nan, 0.0]), [[1.0], [1.0, 2.0]]])
def test_a_state_holds_finite_numbers(state):
    with pytest.raises((ValueError, TypeError), match="state"):
        LegT(3, timescale=1.0).reconstruct(state, 0.5)


@pytest.mark.parametrize("rule", [zero_order_hold, bilinear, discretise])
@pytest.mark.parametrize("dt", [0, -0.1, np.array([0.1, 0.0]), np.array([[0.1], [-3.0]])])
def test_time_only_runs_forwards(rule, dt):
    with pytest.raises(ValueError, match=r"pass dt > 0"):
        rule(LegS(3, timescale=1.0), dt)


@pytest.mark.parametrize("rule", [zero_order_hold, bilinear, discretise])
@pytest.mark.parametrize("dt", [np.nan, np.inf, "1", None, np.array([1, "a"], object), 1j])
def test_a_step_is_a_finite_number(rule, dt):
    with pytest.raises((ValueError, TypeError), match="dt"):
        rule(LegS(3, timescale=1.0), dt)


@pytest.mark.parametrize("method", ["euler", "", None])
def test_there_is_no_other_rule(method):
    with pytest.raises(ValueError, match=r".exact. or 'bilinear'"):
        discretise(LegT(3, timescale=1.0), 0.1, method)


def test_only_a_legendre_window_is_an_lmu():
    with pytest.raises(TypeError, match=r"LegS.* is no LegT; .* pass LegT\(order, theta\)"):
        lmu_matrices(LegS(3, timescale=1.0))


@pytest.mark.parametrize("convert", [s4_matrices, lambda s: s4_step(s, 1.0), lambda s: to_s4(s, np.zeros(3))])
def test_s4_keeps_other_laguerre_functions(convert):
    with pytest.raises(TypeError, match=r"LegS or FouT"):
        convert(LagT(3, timescale=1.0))


@pytest.mark.parametrize("convert", [to_lmu, from_lmu])
def test_a_scalar_is_no_state_of_an_lmu(convert):
    with pytest.raises(ValueError, match=r"least one coefficient"):
        convert(np.array(1.0))


def test_a_foreign_state_has_its_own_size():
    with pytest.raises(ValueError, match=r"state has shape \(4,\)"):
        to_s4(FouT(3, timescale=1.0), np.zeros(4))
    with pytest.raises(ValueError, match=r"state has shape \(3,\)"):
        from_s4(FouT(3, timescale=1.0), np.zeros(3))


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan])
def test_s4_steps_forwards_too(dt):
    with pytest.raises(ValueError, match="time only runs"):
        s4_step(LegT(3, timescale=1.0), dt)


@pytest.mark.parametrize("kind", [LegT, LegS, LagT, FouT])
def test_a_system_without_a_timescale_is_refused(kind):
    # A default of one sample would remember next to nothing, without a word.
    with pytest.raises(TypeError, match="timescale"):
        kind(9)
