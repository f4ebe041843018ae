"""A forecast: the load of a transformer for the next two days, with bands, judged on the last month.

Needs ETTh1: ``python examples/forecast_load.py --data DIR``, where DIR/ett holds ETTh1.csv (hourly, two years).

Learning is one pass over the first 23 months. Then, every six hours of the last month, the forecaster says the next 48
hours and takes in what came. It is compared with the same hours of yesterday and with the last value.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from hippozoo.ensemble import find_seasons, forecaster_for
from hippozoo.plotting import ink, style
from hippozoo.tables import read_table
from hippozoo.tasks.data_files import data_file

HORIZON = 48
arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--data", help="data folder (default: HIPPOZOO_DATA)")
arguments.add_argument("--out", default="load.png", help="where to write the picture")
options = arguments.parse_args()

table = read_table(data_file("ett/ETTh1.csv", options.data), ["HUFL"], "date")  # the high useful load
load = np.concatenate([rows.values[:, 0] for rows, _ in table.chunks])
begin = len(load) - 30 * 24

seasons = find_seasons(load[:begin])
print(f"{len(load)} hours; periods found in the first {begin}: {', '.join(f'{period} h' for period in seasons)}")

forecaster = forecaster_for(HORIZON, season=seasons)
state = forecaster.learn(forecaster.initial_state(), load[:begin])

errors, inside = {"forecast": [], "yesterday": [], "last value": []}, []
for origin in range(begin, len(load) - HORIZON, 6):
    forecast = forecaster.forecast(state)
    truth = load[origin : origin + HORIZON]
    lower, upper = forecast.band(forecast.leads(), coverage=0.9)
    errors["forecast"].append(np.abs(forecast.samples() - truth).mean())
    errors["yesterday"].append(np.abs(np.tile(load[origin - 24 : origin], 2) - truth).mean())
    errors["last value"].append(np.abs(load[origin - 1] - truth).mean())
    inside.append(((lower <= truth) & (truth <= upper)).mean())
    state = forecaster.learn(state, load[origin : origin + 6])

count = len(inside)
means = {name: float(np.mean(values)) for name, values in errors.items()}
covered = float(np.mean(inside))
print(f"{count} forecasts of {HORIZON} h each, mean absolute error:")
for name, error in means.items():
    print(f"  {name:10s} {error:.2f}")
print(f"inside the 90 % band: {covered:.0%}")

# Draw the forecast two days before the end.
origin = len(load) - HORIZON
state = forecaster.learn(forecaster.initial_state(), load[:origin])
forecast = forecaster.forecast(state)
lower, upper = forecast.band(forecast.leads(), coverage=0.9)
hours = np.arange(-7 * 24, HORIZON)
with style():
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.plot(hours, load[-len(hours) :], color=ink(), linewidth=1, label="what came")
    ax.plot(hours[-HORIZON:], forecast.samples(), color="C1", label="forecast")
    ax.fill_between(hours[-HORIZON:], lower, upper, color="C1", alpha=0.25, linewidth=0, label="90 % band")
    ax.axvline(0, color=ink(), linewidth=0.6)
    ax.set(xlabel="hours from the present", ylabel="high useful load (units of the data set)")
    ax.legend(ncols=3, loc="upper left")
    ax.set_ylim(top=ax.get_ylim()[1] + 4)
    figure.savefig(options.out, dpi=150, metadata={"Software": None})
print(f"wrote {options.out}")
