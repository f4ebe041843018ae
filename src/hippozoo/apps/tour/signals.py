"""The tour's embedded data: two seeded signals of our own making; no file, no network."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

__all__ = ["pulse_wave", "room_temperature"]


def pulse_wave(seconds: float = 12.0, rate: float = 100.0, seed: int = 0) -> Float[np.ndarray, " time"]:
    """A blood pressure wave as a catheter would record it, in mmHg, with `rate` samples per second.

    Synthetic, and physiological in its main features: a beat rises steeply, peaks, and is followed by a
    dicrotic wave; intervals vary from beat to beat; breathing (every four seconds) moves baseline and
    amplitude.

    Examples
    --------
    >>> wave = pulse_wave(seconds=10.0)
    >>> wave.shape, bool(60 < wave.min() < wave.max() < 150)
    ((1000,), True)
    """
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    intervals = np.clip(rng.normal(0.84, 0.05, size=int(seconds / 0.65) + 8), 0.65, 1.05)
    # The first beats lie before the record, so that its first samples are as good as any other.
    since_beat = time[:, None] - (np.cumsum(intervals) - 3.0)
    rise = np.clip(since_beat, 0.0, None) / 0.12
    systole = (rise * np.exp(1 - rise)) ** 2.0
    dicrotic = np.exp(-0.5 * ((since_beat - 0.40) / 0.07) ** 2)
    breath = np.sin(2 * np.pi * time / 4.0)
    beats = (systole + 0.35 * dicrotic).sum(axis=1)
    return 78 + 3 * breath + (40 + 3 * breath) * beats + rng.normal(scale=0.4, size=time.size)


def room_temperature(
    days: float = 2.0, seed: int = 0
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """What a wireless thermometer reports: times (hours), readings (°C, NaN where lost), and the truth there.

    A reading comes every 15 minutes on average, unevenly, as battery-driven sensors do; one in twelve is
    lost, and for three hours the radio is down. The heating keeps the room near 21 °C by day and near 17 °C
    by night.

    Examples
    --------
    >>> times, readings, truth = room_temperature()
    >>> bool((np.diff(times) > 0).all()), bool(np.isnan(readings).any()), bool(np.isfinite(truth).all())
    (True, True, True)
    """
    rng = np.random.default_rng(seed)
    # Never two readings at once: a gap is at least three minutes.
    times = np.cumsum(0.05 + rng.exponential(0.20, size=round(days * 24 / 0.25)))
    hour = times % 24
    day = 1 / (1 + np.exp(-(hour - 6.5) / 0.6)) - 1 / (1 + np.exp(-(hour - 22.5) / 0.9))
    heating = 0.5 * np.sin(2 * np.pi * times / 2.4 + 0.6 * np.sin(times))
    truth = 17 + 4 * day + heating * (0.4 + 0.6 * day)
    readings = truth + rng.normal(scale=0.05, size=times.size)
    radio_down = (times > times[-1] - 11) & (times < times[-1] - 8)
    readings[(rng.random(times.size) < 1 / 12) | radio_down] = np.nan
    return times, readings, truth
