"""The last section: what this machine does, measured when the page is written."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable

import numpy as np

from hippozoo import __version__
from hippozoo.apps.tour.section import Table
from hippozoo.apps.tour.signals import pulse_wave
from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegT

__all__ = ["CODE", "measure_machine"]

CODE = """import numpy as np
from hippozoo import LegT, Memory
from hippozoo.apps.tour.signals import pulse_wave

memory = Memory(LegT(order=64, timescale=4.0), dt=0.01)
memory.verify(pulse_wave(seconds=12.0))  # the largest disagreement between all modes
"""


def _best(run: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of a few runs: what the machine can do when nothing else is in the way."""
    run()  # tables and compiled code are made once
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def measure_machine() -> Table:
    """Agreement of all modes, and time per sample, on the machine that writes the page."""
    memory = Memory(LegT(order=64, timescale=4.0), dt=0.01)
    signal = pulse_wave(seconds=12.0)
    long = np.tile(signal, 40)
    many = np.tile(signal[:, None], (1, 32))

    def stream() -> None:
        one = Stream(memory)
        for value in signal[:300]:
            one.push(float(value))

    rows = [
        ["verify(): largest disagreement of all modes", f"{memory.verify(signal):.0e} of the largest coefficient"],
        ["one value pushed into a stream", f"{1e6 * _best(stream) / 300:.0f} µs"],
        ["a sample of a long signal, all states kept", f"{1e9 * _best(lambda: memory.scan(long)) / len(long):.0f} ns"],
        [
            "a sample of a long signal, the last state only",
            f"{1e9 * _best(lambda: memory.final(long)) / len(long):.0f} ns",
        ],
        ["a sample of 32 channels, the last states", f"{1e9 * _best(lambda: memory.final(many)) / len(many):.0f} ns"],
        ["made by", f"hippozoo {__version__}, Python {platform.python_version()}, {platform.machine()}"],
    ]
    return Table(["what", "here, at order 64"], rows)
