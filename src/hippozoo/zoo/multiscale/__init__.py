"""One state for a continuum of timescales, queried by horizon: Multiscale HiPPO."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from
from hippozoo.zoo.multiscale.constructions import (
    CONSTRUCTIONS,
    BasicRate,
    Construction,
    GeometricBank,
    JeffreysRate,
    LogTimescale,
    ScaleExpansion,
)
from hippozoo.zoo.multiscale.coverage import Coverage
from hippozoo.zoo.multiscale.memory import MultiscaleMemory
from hippozoo.zoo.multiscale.smallest import smallest_memory

if TYPE_CHECKING:
    from hippozoo.zoo.multiscale.layer import MultiscaleLayer as MultiscaleLayer

__all__ = [
    "Coverage", "MultiscaleLayer", "MultiscaleMemory", "smallest_memory",
    "CONSTRUCTIONS", "BasicRate", "Construction", "GeometricBank", "JeffreysRate", "LogTimescale", "ScaleExpansion",
]  # fmt: skip

# Fetched when asked for: it brings torch, which users of the NumPy memory need not load.
__getattr__ = fetched_from(__name__, {"MultiscaleLayer": "hippozoo.zoo.multiscale.layer"})
