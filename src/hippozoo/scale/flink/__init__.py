"""One sensor per key on Apache Flink: the arithmetic and the alarms of `hippozoo watch`, on many machines.

`watch_lines` turns any Flink stream of text into a stream of alarms; ``python -m hippozoo.scale.flink`` is a small job
around it. PyFlink wants an environment of its own: `make flink` builds it. Without PyFlink, `KeyedWatch` does the same
for any engine that keeps bytes and sets timers.
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.scale.flink.job import watch_lines as watch_lines
    from hippozoo.scale.flink.keyed import KeyedWatch as KeyedWatch
    from hippozoo.scale.flink.keyed import KeyState as KeyState
    from hippozoo.scale.flink.keyed import Settings as Settings

__all__ = ["KeyState", "KeyedWatch", "Settings", "watch_lines"]

__getattr__ = fetched_from(
    __name__,
    {
        "KeyState": "hippozoo.scale.flink.keyed",
        "KeyedWatch": "hippozoo.scale.flink.keyed",
        "Settings": "hippozoo.scale.flink.keyed",
        "watch_lines": "hippozoo.scale.flink.job",
    },
)
