"""The torch contract: what every layer of the zoo stands on, and the algebra that several of them share.

>>> from hippozoo.memory import MemoryLayer
>>> from hippozoo.layers import SequenceLayer
>>> issubclass(MemoryLayer, SequenceLayer)
True

`SequenceLayer` owns the call: state in and out, `step`, padding, time, precision, devices and checks. Beside it stand
`arguments` (checks of tensors), `tables` (what is computed from a configuration), `blocks` (a sequence by matrix
products), `updates` (steps of different lengths), `derivatives` (backward passes of our own) and `delta_rule`.

`Block`, `Stack` and `SequenceModel` make models of layers, from functions ``width -> layer``.
"""

from hippozoo.layers.block import Block, Factory
from hippozoo.layers.scanner import Scanner
from hippozoo.layers.sequence_layer import SequenceLayer, Stepper, parameter_count
from hippozoo.layers.stack import PooledState, SequenceModel, Stack
from hippozoo.layers.tables import WithTables
from hippozoo.layers.types import Lengths, State, Steps, Timing

__all__ = [
    "Block",
    "Factory",
    "Lengths",
    "PooledState",
    "Scanner",
    "SequenceLayer",
    "SequenceModel",
    "Stack",
    "State",
    "Stepper",
    "Steps",
    "Timing",
    "WithTables",
    "parameter_count",
]
