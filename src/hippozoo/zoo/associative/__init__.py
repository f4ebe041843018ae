"""Associative Memory HiPPO: values stored under learnt addresses, in functions that one can draw.

A short HiPPO memory of the input says where to write, where to read and when; a bank of polynomials holds what was
written. See docs/associative.md.
"""

from hippozoo.zoo.associative.bank import PolynomialBank
from hippozoo.zoo.associative.gates import Gate
from hippozoo.zoo.associative.layer import AssociativeMemory, AssociativeState, Signals
from hippozoo.zoo.associative.start import sample_reader

__all__ = ["AssociativeMemory", "AssociativeState", "PolynomialBank", "Gate", "Signals", "sample_reader"]
