"""Explicit sequence memory: the past of a stream as coefficients one can read, query and draw.

The package is a tree, and the tree is the API: ``hippozoo.polynomials`` (orthonormal bases),
``hippozoo.systems`` (which past is remembered, and how), ``hippozoo.discretise`` (from differential equation
to update rule), ``hippozoo.memory`` (the state in motion), ``hippozoo.zoo`` (the members).
The names that most people need first can be imported from here. Each is loaded when it is asked for, so that
``import hippozoo`` loads nothing, and the mathematics needs no torch.

Examples
--------
>>> import numpy as np
>>> from hippozoo import LegT, Memory
>>> memory = Memory(LegT(order=8, timescale=100.0))
>>> memory.final(np.array([1.0, 2.0, 3.0])).shape
(8,)
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.forecast import forecast
    from hippozoo.checkpoint import load
    from hippozoo.ensemble import Detector, EnsembleForecaster, ForecastStream, forecaster_for
    from hippozoo.layers import SequenceModel
    from hippozoo.memory import LagLayer, Memory, MemoryLayer, Stream
    from hippozoo.models import build_model
    from hippozoo.suggestion import suggest
    from hippozoo.systems import FouT, LagT, LegS, LegT
    from hippozoo.zoo.associative import AssociativeMemory
    from hippozoo.zoo.forecasting import Forecaster
    from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
    from hippozoo.zoo.salience import SalienceLayer, SalienceModel
    from hippozoo.zoo.volterra import VolterraLayer, VolterraModel

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "forecast",
    "load",
    "LegT",
    "LegS",
    "LagT",
    "FouT",
    "Memory",
    "Stream",
    "MemoryLayer",
    "LagLayer",
    "suggest",
    "forecaster_for",
    "EnsembleForecaster",
    "ForecastStream",
    "Detector",
    "Forecaster",
    "MultiscaleMemory",
    "MultiscaleLayer",
    "VolterraModel",
    "VolterraLayer",
    "SalienceLayer",
    "SalienceModel",
    "AssociativeMemory",
    "SequenceModel",
    "build_model",
]

_HOMES = {
    "hippozoo.apps.forecast": ("forecast",),
    "hippozoo.checkpoint": ("load",),
    "hippozoo.systems": ("LegT", "LegS", "LagT", "FouT"),
    "hippozoo.layers": ("SequenceModel",),
    "hippozoo.memory": ("Memory", "Stream", "MemoryLayer", "LagLayer"),
    "hippozoo.models": ("build_model",),
    "hippozoo.suggestion": ("suggest",),
    "hippozoo.ensemble": ("forecaster_for", "EnsembleForecaster", "ForecastStream", "Detector"),
    "hippozoo.zoo.forecasting": ("Forecaster",),
    "hippozoo.zoo.multiscale": ("MultiscaleMemory", "MultiscaleLayer"),
    "hippozoo.zoo.volterra": ("VolterraModel", "VolterraLayer"),
    "hippozoo.zoo.salience": ("SalienceLayer", "SalienceModel"),
    "hippozoo.zoo.associative": ("AssociativeMemory",),
}
__getattr__ = fetched_from(__name__, {name: home for home, names in _HOMES.items() for name in names})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
