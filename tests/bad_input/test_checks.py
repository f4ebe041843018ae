"""The checks themselves say what they need."""

import pytest

from hippozoo.checks import Trial, check_member
from hippozoo.checks.promises import check_bad_input_changes_nothing, check_chunks_equal_one_call
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from test_promises import MEMBERS

MEMORY = Memory(LegT(4, timescale=10.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 1}, "batch=1: with one sequence nothing could mix; pass batch >= 2"),
        ({"n_steps": 3}, "n_steps=3.*pass n_steps >= 4"),
        ({"channels": 0}, "channels=0; pass channels >= 1"),
        ({"tolerance": -1.0}, "tolerance=-1.0; pass a relative difference >= 0"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"on_fail": "warn"}, "on_fail='warn'; pass 'raise', or None"),
        ({"skip": {"check_speed": "slow"}}, "'check_speed', which is no check; the checks are check_same_input"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_member(MEMORY, **arguments)


@pytest.mark.parametrize("name", MEMBERS)
def test_members_refuse_bad_input_also_where_nobody_checks_their_annotations(name):
    make, trial = MEMBERS[name]
    check_bad_input_changes_nothing(make, Trial(**trial))


def test_what_is_no_member_is_named():
    for check in (check_chunks_equal_one_call, check_member):
        with pytest.raises(TypeError, match="7 has no step"):
            check(7)
    with pytest.raises(TypeError, match=r"initial_state"):
        check_chunks_equal_one_call(type("Half", (), {"step": None, "initial_state": None})())
    with pytest.raises(TypeError, match=r"batch=2\.5"):
        Trial(batch=2.5)
