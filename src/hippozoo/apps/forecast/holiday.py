"""Public holidays of a country as a known input, through the package ``holidays``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs

__all__ = ["check_country", "holidays_in"]

_DAY = 86_400.0
# Steps of more days than this hold several dates.
_LONG = 1.5


def check_country(country: str) -> None:
    """Refuse a country, or a part of one, that the package ``holidays`` does not know."""
    _calendar(country)


def holidays_in(country: str, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether each step, in seconds of the local clock, falls on a holiday; of longer steps, how many fall into it.

    >>> noon = np.array([np.datetime64("2024-12-25T12:00", "s").astype(float)])
    >>> holidays_in("DE", noon, noon + 3600.0).tolist(), holidays_in("DE", noon, noon + 9 * 86400.0).tolist()
    ([1.0], [2.0])
    """
    days = _days(country, *_years(begins, ends))
    if not len(days):
        return np.zeros(len(begins))
    if np.median(ends - begins) <= _LONG * _DAY:
        return np.isin(np.floor_divide(begins, _DAY), days).astype(float)
    return (np.searchsorted(days, ends / _DAY) - np.searchsorted(days, begins / _DAY)).astype(float)


def _years(begins: np.ndarray, ends: np.ndarray) -> tuple[int, int]:
    edges = np.array([begins.min(), ends.max()]).astype("int64").astype("datetime64[s]").astype("datetime64[Y]")
    first, last = (edges.astype("int64") + 1970).tolist()
    return first, last


@cache
def _days(country: str, first: int, last: int) -> np.ndarray:
    """Days since 1970 that are holidays, in these years."""
    found = _calendar(country, range(first, last + 1))
    return np.array(sorted(np.datetime64(day).astype("datetime64[D]").astype("int64") for day in found), float)


def _calendar(country: str, years: Any = ()) -> Any:
    package = needs("holidays", extra="holidays", feature="--country")
    code, _, part = str(country).strip().upper().partition("-")
    try:
        return package.country_holidays(code, subdiv=part or None, years=list(years))
    except (NotImplementedError, AttributeError, KeyError):
        known = package.list_supported_countries()
        if code in known and part:
            parts = ", ".join(known[code][:40]) or "none"
            raise ValueError(
                f"country={shorten(country)}: {code} has no part {part!r} in the package holidays; it has {parts}."
            ) from None
        raise ValueError(
            f"country={shorten(country)} is not known to the package holidays; pass two letters such as DE, or with a "
            f"part of the country, DE-BY."
        ) from None
