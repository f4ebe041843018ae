"""Promises that every member keeps; run them on a member of your own.

>>> from hippozoo.checks import check_member
>>> from hippozoo.memory import Memory
>>> from hippozoo.systems import LegT
>>> print(check_member(Memory(LegT(order=4, timescale=20.0))))
passed   check_same_input_same_output
passed   check_steps_equal_one_call
passed   check_chunks_equal_one_call
passed   check_future_is_invisible
passed   check_batch_items_do_not_mix
skipped  check_padding_is_ignored: Memory takes no lengths
passed   check_state_is_not_changed_in_place
passed   check_bad_input_changes_nothing
passed   check_save_equals_load
passed   check_any_scale
passed   check_any_step_length
passed   check_threads_do_not_mix

What learns from a stream has promises of its own: see `check_learner`.
"""

from hippozoo.checks.battery import CHECKS, Report, Result, check_member
from hippozoo.checks.extremes import check_any_scale, check_any_step_length, check_threads_do_not_mix
from hippozoo.checks.learners import (
    LEARNER_CHECKS,
    Stream,
    check_learner,
    check_learner_merges,
    check_learning_changes_no_state_in_place,
    check_learning_goes_on_after_loading,
    check_learning_in_chunks_equals_one_call,
    check_learning_one_by_one_equals_one_call,
    check_learning_refuses_bad_input,
    check_learning_sees_no_future,
)
from hippozoo.checks.promises import (
    check_bad_input_changes_nothing,
    check_batch_items_do_not_mix,
    check_chunks_equal_one_call,
    check_future_is_invisible,
    check_padding_is_ignored,
    check_same_input_same_output,
    check_save_equals_load,
    check_state_is_not_changed_in_place,
    check_steps_equal_one_call,
)
from hippozoo.checks.subject import Trial

__all__ = [
    "CHECKS",
    "LEARNER_CHECKS",
    "Report",
    "Result",
    "Stream",
    "Trial",
    "check_any_scale",
    "check_any_step_length",
    "check_bad_input_changes_nothing",
    "check_batch_items_do_not_mix",
    "check_chunks_equal_one_call",
    "check_future_is_invisible",
    "check_learner",
    "check_learner_merges",
    "check_learning_changes_no_state_in_place",
    "check_learning_goes_on_after_loading",
    "check_learning_in_chunks_equals_one_call",
    "check_learning_one_by_one_equals_one_call",
    "check_learning_refuses_bad_input",
    "check_learning_sees_no_future",
    "check_member",
    "check_padding_is_ignored",
    "check_same_input_same_output",
    "check_save_equals_load",
    "check_state_is_not_changed_in_place",
    "check_steps_equal_one_call",
    "check_threads_do_not_mix",
]
