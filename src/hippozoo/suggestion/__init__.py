"""Which system, order and timescale a signal needs: measured on the signal itself.

`suggest` tries memories on your data and gives the smallest one that is accurate enough, or the best within a budget.
It can be imported as ``from hippozoo import suggest``.
"""

from hippozoo.suggestion.result import Suggestion, Trial
from hippozoo.suggestion.search import suggest

__all__ = ["Suggestion", "Trial", "suggest"]
