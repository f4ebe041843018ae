"""A heart as a stream: beat by beat, the memory says when the next one is due, and notices those that come too early.

Needs record 100 of the MIT-BIH Arrhythmia Database (PhysioNet) and ``pip install 'hippozoo[data]'``:
``python examples/early_beats.py --data DIR``, where DIR/ecg holds 100.hea, 100.dat and 100.atr.

The stream is the time from each beat to the next, in seconds. After every beat the forecaster gives a band for the next
interval. A beat that comes before the band begins is called early. The cardiologists' annotations say when the beats
were, and which of them were premature; the latter is only compared with the result.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from hippozoo.ensemble import forecaster_for
from hippozoo.plotting import ink, style
from hippozoo.tasks.ecg import load_ecg

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--data", help="data folder (default: HIPPOZOO_DATA)")
arguments.add_argument("--out", default="beats.png", help="where to write the picture")
arguments.add_argument("--beats", type=int, help="look at so many beats only")
options = arguments.parse_args()

ecg = load_ecg("100", options.data)
intervals = np.diff(ecg.beats)[: options.beats] / ecg.rate  # seconds from beat to beat
premature = np.array([kind in "AVJSaF" for kind in ecg.kinds[1:]])[: options.beats]
minutes = ecg.beats[1:][: options.beats] / ecg.rate / 60

WARM_UP = 100  # beats before anything is said
forecaster = forecaster_for(4, lower=0.0)
state = forecaster.learn(forecaster.initial_state(), intervals[:WARM_UP])
due = np.full((len(intervals), 2), np.nan)
for beat in range(WARM_UP, len(intervals)):
    due[beat] = forecaster.forecast(state).band(0.5, coverage=0.99)
    state = forecaster.learn_one(state, intervals[beat])
early = intervals < due[:, 0]

counted = np.arange(len(intervals)) >= WARM_UP
hits = int((early & premature & counted).sum())
wanted, called = int((premature & counted).sum()), int((early & counted).sum())
print(f"{int(counted.sum())} beats, {wanted} of them premature by the annotations")
print(f"{called} were called early, {hits} of them rightly: {hits / wanted:.0%} of the premature beats found")

chosen = np.flatnonzero(early & premature)
middle = int(chosen[len(chosen) // 2])
shown = slice(max(middle - 60, 0), middle + 60)
with style():
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    ax = figure.subplots()
    band = due[shown].T
    ax.fill_between(minutes[shown], *band, color="C0", alpha=0.25, linewidth=0, label="when the beat is due (99 %)")
    ax.plot(minutes[shown], intervals[shown], ".-", color=ink(), linewidth=0.8, markersize=4, label="when it came")
    marks = np.flatnonzero(early)
    marks = marks[(marks >= shown.start) & (marks < shown.stop)]
    ax.plot(minutes[marks], intervals[marks], "o", color="C1", markersize=8, fillstyle="none", label="called early")
    ax.set(xlabel="time (min)", ylabel="time since the beat before (s)")
    ax.set_ylim(bottom=0.4)
    ax.legend(ncols=3, loc="lower left", fontsize=8)
    figure.savefig(options.out, dpi=150, metadata={"Software": None})
print(f"wrote {options.out}")
