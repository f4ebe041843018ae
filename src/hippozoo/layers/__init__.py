"""The torch contract: what every layer of the zoo stands on, and the algebra that several of them share.

`SequenceLayer` owns the call: state in and out, `step`, padding, time, precision, devices and checks. `Block`, `Stack`
and `SequenceModel` make models of layers, from functions ``width -> layer``.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.layers")

from hippozoo.layers.arguments import check_values
from hippozoo.layers.block import Block, Factory
from hippozoo.layers.calls import Call, calls_inside
from hippozoo.layers.forecast_head import FittedForecast, ForecastLayer
from hippozoo.layers.sequence_layer import SequenceLayer, parameter_count
from hippozoo.layers.stack import PooledState, SequenceModel, Stack
from hippozoo.layers.stepping import LayerStream, Scanner, Stepper
from hippozoo.layers.tables import WithTables
from hippozoo.layers.torch_cells import TorchCells
from hippozoo.layers.types import Lengths, Mask, State, Steps, Timing

__all__ = [
    "Block",
    "Call",
    "Factory",
    "FittedForecast",
    "ForecastLayer",
    "LayerStream",
    "Lengths",
    "Mask",
    "PooledState",
    "Scanner",
    "SequenceLayer",
    "SequenceModel",
    "Stack",
    "State",
    "Stepper",
    "Steps",
    "Timing",
    "TorchCells",
    "WithTables",
    "calls_inside",
    "check_values",
    "parameter_count",
]
