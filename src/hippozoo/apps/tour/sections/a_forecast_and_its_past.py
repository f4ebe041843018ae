"""A forecast as a function of lead, with its band, and the part of the past that it uses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, rms
from hippozoo.forecasts.plots import plot_forecast
from hippozoo.plotting import ink
from hippozoo.zoo.forecasting import explain


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The last seconds, the next one, and what the forecast keeps of the past."""
    ax = figure.subplots()
    plot_forecast(names.forecast, names.signal[-300:], names.future, ax=ax)
    lags = np.linspace(0.0, 3.0, 800)
    kept = explain(names.forecaster, names.state).predictive_memory(lags)
    ax.plot(-lags, kept, color="C1", linewidth=1.3, label="what it keeps of the past")
    ax.axvline(0.0, color=ink(), linewidth=0.8)
    ax.set(xlabel="time from the present (s)", ylabel="pressure (mmHg)", xlim=(-3, 1), ylim=(60, 165))
    ax.legend(ncols=3, loc="upper left")


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Errors over the whole second to come, from every tenth of a second of a wave that was not learnt from."""
    from hippozoo.apps.tour.signals import pulse_wave

    fresh = pulse_wave(seconds=60.0, rate=100.0, seed=1)
    leads = names.forecast.leads()
    origins = np.arange(400, len(fresh) - 100, 10)
    ahead = names.forecaster.replay(names.state, fresh, leads)[origins]
    truth = np.lib.stride_tricks.sliding_window_view(fresh, 100)[origins + 1]
    missed = np.abs(ahead - truth)
    lower, upper = names.forecast.band(leads, 0.8)
    return {
        "error": rms(missed),
        "persistence": rms(fresh[origins, None] - truth),
        "inside": float(100 * np.mean(missed < (upper - lower) / 2)),
        "rank": float(names.forecaster.maps(names.state)[0].rank),
    }


SECTION = Section(
    order=100,
    title="A forecast and its past",
    question="What comes next, how sure is that, and which past says so?",
    setup="""
from hippozoo.systems import LegT
from hippozoo.apps.tour.signals import pulse_wave
from hippozoo.zoo.forecasting import Forecaster

wave = pulse_wave(seconds=121.0, rate=100.0)  # blood pressure, mmHg
signal, future = wave[:12000], wave[12000:]  # two minutes, one second
""",
    code="""
forecaster = Forecaster(LegT(64, 3.0), 1.0, dt=0.01, rank=8, ridge=1e-4)
state = forecaster.learn(forecaster.initial_state(), signal)
forecast = forecaster.forecast(state)
""",
    draw=draw,
    measure=measure,
    caption=(
        "One pass over two minutes of blood pressure gives the next second as a function, with its band. Errors on a "
        "wave it never saw: {error:.1f} mmHg rms, where repeating the last value has {persistence:.1f}; the 80 % "
        "band holds {inside:.0f} % of the values. The forecast reads {rank:.0f} numbers of the past; decoded, they "
        "are the orange line: the beat that is under way, the rhythm before it, and little else."
    ),
    alt=(
        "A blood pressure wave over the last three seconds and the second to come. The forecast follows the coming "
        "beat, its band wider where that beat may come early or late. A second line shows the past that the "
        "forecast keeps: close to the wave near the present, smoother before."
    ),
    height=3.8,
    read_on="forecasting",
)
