"""Promises that every member keeps; run them on a member of your own.

`check_member` asks all of `CHECKS` of a member, `check_learner` all of `LEARNER_CHECKS` of what learns from a stream.
"""

from hippozoo.checks.battery import Report, Result, check_member
from hippozoo.checks.learners import LEARNER_CHECKS, Stream, check_learner
from hippozoo.checks.promises import CHECKS
from hippozoo.checks.subject import Trial

__all__ = ["CHECKS", "LEARNER_CHECKS", "Report", "Result", "Stream", "Trial", "check_learner", "check_member"]
