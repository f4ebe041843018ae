"""Salience HiPPO: a memory whose clock runs faster where the input matters, and which shows what it keeps.

On the warped clock the memory is a plain HiPPO system, so that its measure, its basis and the functional of each output
can be drawn in real time. See docs/salience.md.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.zoo.salience")

from hippozoo.zoo.salience.attribution import attribute, sample_weights
from hippozoo.zoo.salience.layer import Form, Readout, SalienceLayer, bump
from hippozoo.zoo.salience.model import SalienceModel
from hippozoo.zoo.salience.network import SalienceNetwork
from hippozoo.zoo.salience.table import LagTable, Staircase, lag_table
from hippozoo.zoo.salience.trace import SalienceTrace, trace
from hippozoo.zoo.salience.update_table import UpdateTable, update_table

__all__ = [
    "SalienceLayer",
    "SalienceModel",
    "SalienceNetwork",
    "SalienceTrace",
    "trace",
    "attribute",
    "sample_weights",
    "bump",
    "LagTable",
    "Staircase",
    "lag_table",
    "UpdateTable",
    "update_table",
    "Form",
    "Readout",
]
