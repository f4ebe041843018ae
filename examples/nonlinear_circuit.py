"""A nonlinear circuit: measure it, fit a loop of 33 numbers, simulate it on its own, and draw its spring.

Needs the Silverbox record: ``python examples/nonlinear_circuit.py --data DIR``, where DIR/silverbox holds SNLS80mV.csv.

The Silverbox is an electric circuit that behaves like a mass on a spring that hardens. A linear model cannot follow it
when it is driven strongly. A memory of the last eight samples in a loop can, and its static force law is the spring.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from hippozoo.memory import Memory
from hippozoo.plotting import ink, style
from hippozoo.systems import LegT
from hippozoo.tasks.system_identification import load_benchmark, rmse_mv
from hippozoo.zoo.volterra import FeedbackLoop, RidgeRLS, VolterraModel

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--data", help="data folder (default: HIPPOZOO_DATA)")
arguments.add_argument("--out", default="circuit.png", help="where to write the picture")
options = arguments.parse_args()

circuit = load_benchmark("silverbox", options.data)
learn = slice(circuit.train.start, circuit.train.start + 20_000)  # a third of the rows is enough
signal, target = circuit.signal[learn], circuit.target[learn]

# A loop: the output is made of the last samples of the input and of powers of the output itself.
loop = FeedbackLoop(Memory(LegT(order=8, timescale=8.0)), degree=3)
weights = loop.fit(signal, target, warm_up=200, iterations=20)

# The best linear model with a long memory, for comparison.
linear = VolterraModel(Memory(LegT(order=64, timescale=140.0)), degree=1, learner=RidgeRLS(1e-6))
_, learnt = linear.learn(linear.initial_state(), signal, target)

errors = {}
for name, rows in circuit.tests.items():
    u, y = circuit.signal[rows], circuit.target[rows]
    simulated = loop.simulate(weights, u, known=y[: circuit.known])
    begun = learnt._replace(memory=linear.memory.initial_state())
    straight, _ = linear.predict(begun, u)
    errors[name] = rmse_mv(simulated, y), rmse_mv(straight, y)
    print(
        f"{name.replace('_', ' ')}: loop {errors[name][0]:.2f} mV, linear {errors[name][1]:.2f} mV, "
        f"a published LSTM {circuit.published[name]['lstm']:.2f} mV (output: {1e3 * y.std():.0f} mV rms)"
    )

rows = circuit.tests["arrow_full"]  # its amplitude grows; the end is larger than anything that was learnt
u, y = circuit.signal[rows], circuit.target[rows]
simulated = loop.simulate(weights, u, known=y[: circuit.known])
straight, _ = linear.predict(learnt._replace(memory=linear.memory.initial_state()), u)
seconds = np.arange(len(y)) / circuit.rate

# What input holds the output at a level? For a linear spring this is a straight line.
levels = np.linspace(-0.25, 0.25, 201)
still = np.eye(8)[0]  # the state of a constant past
pull = sum(levels ** (power + 1) * (row @ still) for power, row in enumerate(weights.feedback))
force = (levels - weights.constant - pull) / (weights.drive @ still)

with style():
    figure = Figure(figsize=(7, 6), layout="constrained")
    whole, late, spring = figure.subplots(3)
    whole.plot(seconds, 1e3 * y, color=ink(), linewidth=0.4, label="measured")
    whole.plot(seconds, 1e3 * (y - straight), color="C0", linewidth=0.4, label="error of the linear model")
    whole.plot(seconds, 1e3 * (y - simulated), color="C1", linewidth=0.6, label="error of the loop")
    whole.set(xlabel="time (s)", ylabel="output (mV)", ylim=(-320, 480), title="the test: an amplitude that grows")
    whole.legend(loc="upper left", ncols=3)
    shown = slice(-900, -700)
    late.plot(seconds[shown], 1e3 * y[shown], color=ink(), linewidth=3, alpha=0.4, label="measured")
    late.plot(seconds[shown], 1e3 * straight[shown], color="C0", linestyle="--", label="linear")
    late.plot(seconds[shown], 1e3 * simulated[shown], color="C1", label="loop")
    late.set(xlabel="time (s)", ylabel="output (mV)", ylim=(-220, 330), title="near its end")
    late.legend(loc="upper left", ncols=3)
    spring.plot(1e3 * levels, force, color="C1", label="what the loop has learnt")
    slope = (force[101] - force[99]) / (levels[101] - levels[99])
    spring.plot(1e3 * levels, force[100] + slope * levels, color="C0", linestyle="--", label="a linear spring")
    spring.set(xlabel="output held (mV)", ylabel="input needed (V)", title="the spring hardens")
    spring.legend()
    figure.savefig(options.out, dpi=150, metadata={"Software": None})
print(f"{loop.n_parameters} numbers; wrote {options.out}")
