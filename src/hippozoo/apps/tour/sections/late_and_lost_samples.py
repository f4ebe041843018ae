"""Samples that come unevenly, late or not at all."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, rms
from hippozoo.memory import Memory
from hippozoo.plotting import ink


def by_counting(names: SimpleNamespace) -> np.ndarray:
    """What is remembered if samples are counted instead of timed: lost ones left out, one every 15 minutes."""
    memory = Memory(names.stream.memory.system, dt=0.25)
    return memory.reconstruct(memory.final(names.readings[~np.isnan(names.readings)]), names.lags)


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """Truth, readings and memory by lag; the hours without radio are shaded."""
    ax = figure.subplots()
    ago, received = names.times[-1] - names.times, ~np.isnan(names.readings)
    ax.plot(ago, names.truth, color=ink(), linewidth=2.4, alpha=0.5, label="true temperature")
    ax.plot(ago[received], names.readings[received], ".", color=ink(), markersize=4, label="reading")
    ax.plot(names.lags, names.past, label="remembered")
    ax.plot(names.lags, by_counting(names), "--", linewidth=1.2, label="samples counted, not timed")
    ax.axvspan(11, 8, color=ink(), alpha=0.1, linewidth=0)
    ax.text(9.5, 16.1, "radio down", ha="center", fontsize=9)
    ax.set(xlim=(24, 0), ylim=(15.8, 23.4), xlabel="lag (h)", ylabel="temperature (°C)")
    ax.legend(ncols=2, loc="upper left")


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Rms errors over the window, outside the hours without radio."""
    truth = np.interp(names.times[-1] - names.lags, names.times, names.truth)
    heard = (names.lags < 8) | (names.lags > 11)
    return {
        "timed": rms((names.past - truth)[heard]),
        "counted": rms((by_counting(names) - truth)[heard]),
        "lost": float(np.isnan(names.readings).sum()),
        "all": float(names.readings.size),
    }


SECTION = Section(
    order=30,
    title="Late and lost samples",
    question="What if samples come unevenly, or not at all?",
    setup="""
import numpy as np
from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegT
from hippozoo.apps.tour.signals import room_temperature

times, readings, truth = room_temperature()  # hours; °C, NaN where lost
lags = np.linspace(0.0, 24.0, 961)  # hours ago
""",
    code="""
stream = Stream(Memory(LegT(order=48, timescale=24.0)))
for time, reading in zip(times, readings):
    stream.push(reading, time=time)
past = stream.reconstruct(lags)
""",
    draw=draw,
    measure=measure,
    caption=(
        "A wireless thermometer reports every quarter of an hour on average, at uneven times; {lost:.0f} of its "
        "{all:.0f} readings are lost, and for three hours the radio is down. Each reading counts for as long as it "
        "lasted, and a missing one lets time pass: outside the gap the rms error is {timed:.2f} °C. A memory that "
        "counts samples instead of timing them is {counted:.1f} °C off, because it confuses the hours."
    ),
    alt=(
        "Room temperature over the last 24 hours with scattered readings and a gap of three hours. The remembered "
        "curve follows the truth and holds the last value in the gap; a second one, which counts samples, is "
        "shifted by hours."
    ),
    height=3.9,
    read_on="watch",
)
