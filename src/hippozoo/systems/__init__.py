"""Which past is remembered, and how: dynamics, weight, basis and timescale as frozen data."""

from hippozoo.systems.base import HippoSystem, Semiseparable
from hippozoo.systems.legs import LegS
from hippozoo.systems.legt import LegT

__all__ = ["HippoSystem", "LegS", "LegT", "Semiseparable"]
