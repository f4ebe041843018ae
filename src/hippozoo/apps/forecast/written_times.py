"""Times as text that says all of them."""

from __future__ import annotations

import numpy as np

__all__ = ["write_dates", "write_numbers"]


def write_dates(local: np.ndarray, offset: float | None) -> tuple[str, ...]:
    """Dates as in ISO 8601, with a blank in the middle; microseconds where one of them needs them.

    Parameters
    ----------
    local
        Seconds since 1970, by the local clock.
    offset
        How many seconds that clock is ahead of UTC; None for times that name no zone.

    Examples
    --------
    >>> write_dates(np.array([0.0, 3600.0]), None)
    ('1970-01-01 00:00:00', '1970-01-01 01:00:00')
    >>> write_dates(np.array([0.1, 1.0]), 7200.0)
    ('1970-01-01 00:00:00.100000+02:00', '1970-01-01 00:00:01.000000+02:00')
    """
    micros = np.rint(local * 1e6).astype("int64")
    texts = np.datetime_as_string(micros.astype("datetime64[us]"), unit="us" if (micros % 1_000_000).any() else "s")
    return tuple(text.replace("T", " ") + _zone(offset) for text in texts.tolist())


def _zone(offset: float | None) -> str:
    if offset is None:
        return ""
    minutes, seconds = divmod(abs(round(offset)), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


def write_numbers(times: np.ndarray) -> tuple[str, ...]:
    """Plain numbers: whole ones with all digits, others without the noise of the last.

    Examples
    --------
    >>> write_numbers(np.array([1700000060000.0, 59.9 + 3 * 0.1]))
    ('1700000060000', '60.2')
    """
    return tuple(str(int(time)) if time == int(time) else f"{time:.15g}" for time in times.tolist())
