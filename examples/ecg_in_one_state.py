"""An electrocardiogram in one state: the shape of the last beat and the heart rate of the last minute.

Needs record 100 of the MIT-BIH Arrhythmia Database (PhysioNet) and ``pip install 'hippozoo[data]'``:
``python examples/ecg_in_one_state.py --data DIR``, where DIR/ecg holds 100.hea, 100.dat and 100.atr.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from hippozoo.plotting import style
from hippozoo.systems import LegT
from hippozoo.tasks.ecg import heart_rate, load_ecg
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.plots import plot_past

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--data", help="data folder (default: HIPPOZOO_DATA)")
arguments.add_argument("--out", default="ecg.png", help="where to write the picture")
options = arguments.parse_args()

ecg = load_ecg("100", options.data)
n_steps = len(ecg.voltage)
signal = np.stack([ecg.voltage[:, 0], heart_rate(ecg.beats, n_steps, ecg.rate)], axis=1)

# Stop one second after the last premature beat that has a minute before it, where there is one to see.
early = [beat for beat, kind in zip(ecg.beats, ecg.kinds, strict=True) if kind == "A" and beat > 62 * ecg.rate]
end = min(int(early[-1] + 1.0 * ecg.rate), n_steps) if early else n_steps

# Horizons from half a second to a minute; two channels, voltage and heart rate, share the windows.
memory = MultiscaleMemory(LegT(order=64, timescale=0.5), longest=60.0, construction="bank", dt=1 / ecg.rate)
state = memory.final(signal[:end])

print(f"{state.size} numbers stand for the last {int(60 * ecg.rate)} samples of two channels")
for horizon in (0.8, 2.0, 60.0):
    lags = (np.arange(int(horizon * ecg.rate)) + 0.5) / ecg.rate
    for name, channel, unit in (("voltage", 0, "mV"), ("heart rate", 1, "beats/min")):
        past = memory.reconstruct(state[channel], np.minimum(lags, horizon), horizon=horizon)
        error = np.sqrt(np.mean((past - signal[:end, channel][::-1][: lags.size]) ** 2))
        print(f"last {horizon:4.1f} s, {name}: rms error {error:.3f} {unit}")

with style():
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    (beat, few), (rate, minute) = figure.subplots(2, 2)
    for ax, channel, horizon, title in (
        (beat, 0, 0.8, "one beat: its shape"),
        (few, 0, 2.0, "two seconds: the beat that came too early"),
        (rate, 1, 15.0, "fifteen seconds: the heart rate"),
        (minute, 1, 60.0, "one minute: the heart rate and its slow waves"),
    ):
        plot_past(memory, state[channel], horizon, signal[:end, channel], unit="s", label="remembered", ax=ax)
        ax.set(title=title, ylabel=("voltage (mV)", "beats per minute")[channel])
    beat.legend(loc="upper left")
    figure.savefig(options.out, dpi=150, metadata={"Software": None})
