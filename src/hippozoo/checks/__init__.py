"""Promises that every member keeps; run them on a member of your own.

`check_member` asks all of them of a member. What learns from a stream has promises of its own: see `check_learner`.
"""

from hippozoo.checks.battery import Report, Result, check_member
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
    CHECKS,
    check_any_scale,
    check_any_step_length,
    check_bad_input_changes_nothing,
    check_batch_items_do_not_mix,
    check_chunks_equal_one_call,
    check_future_is_invisible,
    check_padding_is_ignored,
    check_same_input_same_output,
    check_save_equals_load,
    check_state_is_not_changed_in_place,
    check_steps_equal_one_call,
    check_threads_do_not_mix,
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
