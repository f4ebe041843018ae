"""Watch sensors: one object for each, which says what was expected, gives alarms that are events, and tells their end.

It takes any detector that gives a p-value for each reading. `hippozoo watch` and `hippozoo.scale.flink` run it.
"""

from hippozoo.monitor.clock import Clock
from hippozoo.monitor.monitor import Monitor, Outcome, Plan
from hippozoo.monitor.rules import NEVER, Rules, Silence
from hippozoo.monitor.stream import Alert, Over
from hippozoo.monitor.words import SEVERITIES, sentence, severity_of, write_number, write_time

__all__ = [
    "NEVER",
    "SEVERITIES",
    "Alert",
    "Clock",
    "Monitor",
    "Outcome",
    "Over",
    "Plan",
    "Rules",
    "Silence",
    "sentence",
    "severity_of",
    "write_number",
    "write_time",
]
