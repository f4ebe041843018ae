"""The Wray-Green system: band-limited noise through a filter, then squared; its kernel is known (paper, appendix)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import fft, signal

from hippozoo._internal.arguments import positive_number, whole_number

__all__ = ["WrayGreen", "band_limited_noise", "true_kernel", "wray_green"]

# The paper's constants. Lags are counted in samples (docs/studies/errata.md, 4).
A, M, K = 2.0, 0.3, 0.08
GAIN = 0.004
LAGS = 50


class WrayGreen(NamedTuple):
    """Input and output of the system, sample by sample.

    Examples
    --------
    >>> data = wray_green(100, np.random.default_rng(0))
    >>> data.signal.shape, data.target.shape
    ((100,), (100,))
    """

    signal: Float[np.ndarray, " time"]  #: What goes in.
    target: Float[np.ndarray, " time"]  #: What comes out: ``target[t]`` depends on ``signal[t - 49]`` to ``signal[t]``.


def band_limited_noise(
    n_steps: int, rng: np.random.Generator, dt: float = 0.01, cutoff: float = 10.0, rms: float = 1.0
) -> Float[np.ndarray, " time"]:
    """Gaussian noise with equal power at all frequencies up to `cutoff` and none above; exactly of this rms.

    Parameters
    ----------
    n_steps
        How many samples.
    rng
        Where the randomness comes from.
    dt
        Time between samples.
    cutoff
        Highest frequency, in cycles per unit of time.
    rms
        Root of the mean square.

    Examples
    --------
    >>> noise = band_limited_noise(4000, np.random.default_rng(0))
    >>> float(np.sqrt(np.mean(noise**2)).round(6))
    1.0
    >>> power = np.abs(np.fft.rfft(noise)) ** 2
    >>> bool(power[np.fft.rfftfreq(4000, 0.01) > 10.0].max() < 1e-20 * power.max())
    True
    """
    n_steps = whole_number("n_steps", n_steps, minimum=2)
    dt, cutoff = positive_number("dt", dt), positive_number("cutoff", cutoff)
    rms = positive_number("rms", rms)
    # Rounding must not cost the bin that lies on the cutoff itself; half a cycle per sample is left out: its
    # spectrum would have to be real.
    last = min(int(cutoff * n_steps * dt * (1 + 1e-12)), (n_steps - 1) // 2)
    if last < 1:
        raise ValueError(
            f"cutoff={cutoff}: {n_steps} samples at dt={dt} hold no whole cycle of a frequency up to it; "
            f"pass more samples or cutoff >= {1 / (n_steps * dt):g}."
        )
    spectrum = np.zeros(n_steps // 2 + 1, complex)
    spectrum[1 : last + 1] = rng.standard_normal(2 * last).view(complex)
    noise = np.asarray(fft.irfft(spectrum, n_steps))
    return noise * (rms / np.sqrt(np.mean(noise**2)))


def wray_green(
    n_steps: int, rng: np.random.Generator, dt: float = 0.01, cutoff: float = 10.0, rms: float = 1.0
) -> WrayGreen:
    """Seeded input and output of the system; the arguments are those of `band_limited_noise`.

    Before the first sample the input was zero.

    Examples
    --------
    >>> data = wray_green(5000, np.random.default_rng(0))
    >>> data.signal.shape, bool(data.target.min() >= 0)
    ((5000,), True)
    """
    noise = band_limited_noise(n_steps, rng, dt, cutoff, rms)
    filtered = signal.lfilter(_impulse_response(LAGS), 1.0, noise)
    return WrayGreen(noise, GAIN * np.asarray(filtered) ** 2)


def true_kernel(length: int = LAGS) -> Float[np.ndarray, "length length"]:
    """The quadratic kernel ``h2[i, j]``: what ``signal[t - i] * signal[t - j]`` adds to ``target[t]``.

    Examples
    --------
    >>> kernel = true_kernel()
    >>> bool(np.linalg.matrix_rank(kernel) == 1)
    True
    """
    response = _impulse_response(whole_number("length", length))
    return GAIN * np.outer(response, response)


def _impulse_response(length: int) -> np.ndarray:
    lag = np.arange(length)
    response = A / M * np.exp(-K * lag) * np.sin(M * lag)
    return np.where(lag < LAGS, response, 0.0)
