"""A memory whose clock stands still while nothing matters."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, rms
from hippozoo.plotting import ink


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The signal and both memories of it, above the measure of what the warped one remembers."""
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    time = np.arange(len(names.signal)) / 100 - len(names.signal) / 100
    above.plot(time, names.signal, color=ink(), linewidth=0.9, label="signal")
    seconds, kept = _past(names)
    above.plot(seconds, kept, color="C1", label="64 numbers, salience 1 or 0.01")
    plain_seconds, plain = _plain_past(names)
    above.plot(plain_seconds, plain, color="C0", label="64 numbers, plain clock")
    above.legend(loc="upper left", ncols=3)
    above.set(ylabel="signal", ylim=(-1.6, 2.2))
    moments = (np.arange(4000) + 0.5) / 4000 * names.seen.times[-1]
    end = float(names.seen.times[-1])
    below.plot(moments - end, names.seen.history_measure(moments, end), color="C1")
    below.set(ylabel="weight", xlabel="time (s); the present is on the right", xlim=(-end, 0))


def _past(names: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    """What the warped memory holds, back in real time."""
    end = float(names.seen.times[-1])
    moments = (np.arange(len(names.signal)) + 0.5) / 100
    lags = names.seen.lags(moments, end)
    inside = lags <= names.memory.system.window
    return moments[inside] - end, names.memory.reconstruct(names.state, lags[inside])


def _plain_past(names: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    state = names.memory.final(names.signal)
    lags = (np.arange(int(names.memory.system.window * 100)) + 0.5) / 100
    return -lags, names.memory.reconstruct(state, lags)


def measure(names: SimpleNamespace) -> dict[str, float]:
    """How far back both memories reach, and how well the warped one keeps the bursts."""
    seconds, kept = _past(names)
    at = np.round((seconds + names.seen.times[-1]) * 100 - 0.5).astype(int)
    burst = names.salience[at] > 0.5
    truth = names.signal[at][burst]
    return {
        "reach": float(-seconds.min()),
        "window": float(names.memory.system.window),
        "error": rms(kept[burst] - truth),
        "spread": float(truth.std()),
    }


SECTION = Section(
    order=70,
    title="Salience: a clock that waits",
    question="Can a memory of four seconds hold what mattered in the last minute?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceTrace

time = np.arange(6000) / 100  # one minute, 100 samples a second
bursts = sum(np.exp(-((time - t) / 0.35) ** 2) for t in (9.0, 31.0, 52.0))
signal = bursts * np.sin(2 * np.pi * 2.5 * time)  # the rest is silence
salience = np.where(bursts > 0.1, 1.0, 0.01)  # a layer learns this
""",
    code="""
memory = Memory(LegT(order=64, timescale=4.0), dt=0.01)
state = memory.final(signal, dt=0.01 * salience)  # it stretches time
seen = SalienceTrace(memory.system, salience, np.full(6000, 0.01))
""",
    draw=draw,
    measure=measure,
    caption=(
        "The plain memory ends {window:.0f} seconds ago and holds none of the three bursts. With a clock that nearly "
        "stands still between them, the same 64 numbers reach {reach:.0f} seconds back and keep all three, to an rms "
        "error of {error:.3f} where the bursts vary by {spread:.2f}. The weight below says in real time what is "
        "remembered. In Salience HiPPO a small network learns this clock from the input."
    ),
    alt=(
        "Three bursts within a minute of silence. A memory on a plain clock covers only the last four seconds; one "
        "whose clock slows down between the bursts follows all three of them. Its weight is high during the bursts and "
        "almost zero between."
    ),
    height=4.0,
    read_on="salience",
)
