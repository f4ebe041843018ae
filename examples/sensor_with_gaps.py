"""A sensor that reports unevenly and loses readings: push what comes, ask for what was.

    python examples/sensor_with_gaps.py

The stream keeps 48 numbers, whatever the number of readings, and can be stopped and taken up again.
"""

import numpy as np
from matplotlib.figure import Figure

from hippozoo import checkpoint
from hippozoo.apps.tour.signals import room_temperature
from hippozoo.memory import Memory, Stream
from hippozoo.memory.plots import plot_memory
from hippozoo.plotting import style
from hippozoo.systems import LegT

# Two days of a wireless thermometer: times in hours, readings in °C, NaN where one was lost.
times, readings, truth = room_temperature()
print(f"{len(times)} readings in {times[-1]:.1f} h, {np.isnan(readings).sum()} of them lost")

# A window of 24 hours. Orders above about pi * window * frequency show details of that frequency.
stream = Stream(Memory(LegT(order=48, timescale=24.0)))
for time, reading in zip(times, readings, strict=True):
    stream.push(reading, time=time)  # NaN or None: time passes, the last value is held
stream.advance(stream.time + 0.1)  # six minutes later, nothing new

for hours in (1.0, 6.0, 20.0):
    then = np.interp(stream.time - hours, times, truth)
    print(f"{hours:4.0f} h ago: remembered {float(stream.reconstruct(hours)):.1f} °C, in truth {then:.1f} °C")

lags = np.linspace(0.0, 24.0, 500)
past = stream.reconstruct(lags)
print(f"warmest of the last 24 h: {past.max():.1f} °C, {lags[past.argmax()]:.0f} h ago")

# The stream outlives the process: its state, the value it holds and its clock are saved together.
checkpoint.save("thermometer.safetensors", stream)
again = checkpoint.load("thermometer.safetensors")
assert (again.state == stream.state).all()
assert again.time == stream.time
again.push(20.5, time=again.time + 0.25)  # goes on, a quarter of an hour later
assert again.time > stream.time

# Draw it: each reading lasted until the next, a lost one prolonged the one before.
received = ~np.isnan(readings)
durations = np.diff(times[received], append=stream.time)
with style():
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    ax = plot_memory(stream.memory, stream.state, readings[received], dt=durations, unit="h", ax=figure.subplots())
    ax.set_ylabel("temperature (°C)")
    ax.legend()
    figure.savefig("thermometer.png", dpi=150)
print("wrote thermometer.png and thermometer.safetensors")
