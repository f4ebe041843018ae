"""The state in motion: one sample, a block, a whole sequence, a merge; the torch layer."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from
from hippozoo.memory.constant_step import response
from hippozoo.memory.memory import Memory
from hippozoo.memory.missing import hold_missing
from hippozoo.memory.stream import Stream

if TYPE_CHECKING:
    from hippozoo.memory.growing import GrowingHistory as GrowingHistory
    from hippozoo.memory.growing import GrowingMemory as GrowingMemory
    from hippozoo.memory.growing import GrowingState as GrowingState
    from hippozoo.memory.lags import LagLayer as LagLayer
    from hippozoo.memory.layer import MemoryLayer as MemoryLayer

__all__ = [
    "GrowingHistory",
    "GrowingMemory",
    "GrowingState",
    "LagLayer",
    "Memory",
    "MemoryLayer",
    "Stream",
    "hold_missing",
    "response",
]

# Fetched when asked for: the layers bring torch, which users of the NumPy memory need not load.
__getattr__ = fetched_from(
    __name__,
    {"LagLayer": "hippozoo.memory.lags", "MemoryLayer": "hippozoo.memory.layer"}
    | dict.fromkeys(("GrowingHistory", "GrowingMemory", "GrowingState"), "hippozoo.memory.growing"),
)
