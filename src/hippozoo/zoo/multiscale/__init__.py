"""One state for a continuum of timescales, queried by horizon: Multiscale HiPPO."""

from hippozoo.zoo.multiscale.coverage import Coverage
from hippozoo.zoo.multiscale.memory import MultiscaleMemory
from hippozoo.zoo.multiscale.smallest import scales_needed, smallest_memory

__all__ = ["Coverage", "MultiscaleMemory", "scales_needed", "smallest_memory"]
