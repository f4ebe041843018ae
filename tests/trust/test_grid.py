"""A few orders of the grid that ``make trust`` sweeps."""

import pytest

from hippozoo.discretise import zero_order_hold
from hippozoo.systems import LegT
from trust import grid


@pytest.mark.parametrize("name", grid.LIMITS)
def test_every_step_is_right_in_every_mode(name):
    found = grid.sweep(name, (1, 3, 24))
    assert found["worst"] < 1e-10


def test_the_exact_update_is_that_of_the_library_where_both_are_easy():
    [(A_d, b_d)] = grid.exact_updates(LegT(5, timescale=1.0), [-3]).values()
    assert abs(A_d - zero_order_hold(LegT(5, timescale=1.0), 0.125)[0]).max() < 1e-14
    assert abs(b_d - zero_order_hold(LegT(5, timescale=1.0), 0.125)[1]).max() < 1e-14


def test_the_grid_sees_what_is_wrong(monkeypatch):
    right = grid.modes
    monkeypatch.setattr(grid, "modes", lambda system, dt: {k: (1 + 1e-6) * v for k, v in right(system, dt).items()})
    error, _, _ = grid.worst_errors(LegT(3, 2.0), (-1,))
    assert 0.9e-6 < error < 1.1e-6
