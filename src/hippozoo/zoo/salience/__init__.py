"""Salience HiPPO: a memory whose clock runs faster where the input matters, and which shows what it keeps."""

from hippozoo.zoo.salience.layer import Form, Readout, SalienceLayer, bump
from hippozoo.zoo.salience.model import SalienceModel
from hippozoo.zoo.salience.network import SalienceNetwork
from hippozoo.zoo.salience.table import LagTable, lag_table

__all__ = ["SalienceLayer", "SalienceModel", "SalienceNetwork", "LagTable", "lag_table", "bump", "Form", "Readout"]
