"""Which past is remembered, and how: dynamics, weight, basis and timescale as frozen data."""

from hippozoo.systems.base import HippoSystem, Semiseparable
from hippozoo.systems.convert import from_lmu, from_s4, lmu_matrices, s4_matrices, s4_step, to_lmu, to_s4
from hippozoo.systems.fout import FouT
from hippozoo.systems.lagt import LagT
from hippozoo.systems.legs import LegS
from hippozoo.systems.legt import LegT

__all__ = [
    "HippoSystem",
    "LegT",
    "LegS",
    "LagT",
    "FouT",
    "Semiseparable",
    "lmu_matrices",
    "to_lmu",
    "from_lmu",
    "s4_matrices",
    "s4_step",
    "to_s4",
    "from_s4",
]
