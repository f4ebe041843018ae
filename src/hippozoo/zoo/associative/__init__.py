"""Associative Memory HiPPO: values stored under learnt addresses, in functions that one can draw.

A short HiPPO memory of the input says where to write, where to read and when; a bank of polynomials holds what was
written. See docs/associative.md.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.zoo.associative")

from hippozoo.zoo.associative.bank import PolynomialBank
from hippozoo.zoo.associative.capacity import (
    CapacityCurve,
    capacity,
    expected_error,
    interference_matrix,
    layout_addresses,
    mean_fourth_overlap,
    recall_error,
    recall_matrix,
)
from hippozoo.zoo.associative.gates import Gate
from hippozoo.zoo.associative.layer import AssociativeMemory, AssociativeState, Signals, sample_reader
from hippozoo.zoo.associative.recall import Recall, RecallState
from hippozoo.zoo.associative.trace import AssociativeTrace, bank_functions, trace

__all__ = [
    "AssociativeMemory", "AssociativeState", "PolynomialBank", "Recall", "RecallState", "Gate", "Signals",
    "sample_reader", "trace", "AssociativeTrace", "bank_functions", "interference_matrix", "recall_matrix",
    "recall_error", "capacity", "CapacityCurve", "expected_error", "mean_fourth_overlap", "layout_addresses",
]  # fmt: skip
