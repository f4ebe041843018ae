"""Readings, samples and saved states, checked before anything is taken in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._internal.arguments import real_array, shorten
from hippozoo.ensemble.detector import DetectorState
from hippozoo.ensemble.state import EnsembleState

Late = Literal["refuse", "skip"]
# Squares of values between these are neither infinite nor zero.
LARGEST, SMALLEST = 1e100, 1e-100
# Two steps that differ by no more than this share of the usual one are the same.
SAME = 1e-9
Held = Callable[[], Float[np.ndarray, " channels"]]


def check_options(coverage: Any, late: Any) -> None:
    """Refuse arguments of a stream that mean nothing."""
    if not isinstance(coverage, float) or not 0 < coverage < 1:
        raise ValueError(f"coverage={shorten(coverage)}; pass a number between 0 and 1, for example 0.95.")
    if late not in get_args(Late):
        raise ValueError(f"late={shorten(late)}; pass one of {get_args(Late)}.")


def check_alike(timed: bool | None, is_timed: bool) -> None:
    """Readings come with a time, or without one: all of them alike."""
    if timed is not None and timed != is_timed:
        before = "with a time" if timed else "without a time"
        raise ValueError(f"readings came {before} so far; push all of them alike.")


def checked_value(value: Any, channels: int | None, held: Held) -> Float[np.ndarray, "one channels"]:
    """One reading, NaN where it is missing; `held` gives the last readings that were seen."""
    if type(value) is float and channels is None:  # most readings by far, and faster
        size = abs(value)
        if SMALLEST <= size <= LARGEST or size == 0.0:
            return np.array([[value]])
    if value is None:
        return np.full((1, channels or 1), np.nan)
    given = _numbers(
        "value", value, f"value={shorten(value)} is not a number; pass numbers, or None for a missing reading."
    )
    shape = () if channels is None else (channels,)
    if given.shape != shape:
        raise ValueError(
            f"value has shape {given.shape}, but this stream takes {shape or 'single numbers'}; "
            f"for vectors build ForecastStream(forecaster, channels=…)."
        )
    rows = np.atleast_1d(given).astype(float)[None]
    _check_size(rows, value, held)
    return rows


def checked_values(values: Any, channels: int | None, held: Held) -> Float[np.ndarray, "time channels"]:
    """Several readings, NaN where one is missing."""
    given = _numbers(
        "values", values, f"values have dtype {np.asarray(values).dtype}; pass numbers, NaN where one is missing."
    )
    if given.ndim != (1 if channels is None else 2) or (channels is not None and given.shape[1] != channels):
        wanted = "(time,)" if channels is None else f"(time, {channels})"
        raise ValueError(f"values have shape {given.shape}, but this stream takes {wanted}; pass that.")
    rows = np.array(given, float).reshape(len(given), channels or 1)
    _check_size(rows, values, held)
    return rows


def checked_time(time: Any) -> float:
    """One moment."""
    if type(time) is float and math.isfinite(time):
        return time
    present = real_array("time", time)
    if present.ndim:
        raise ValueError(f"time={shorten(time)}; pass one finite number.")
    return float(present)


def checked_times(times: Any, count: int) -> Float[np.ndarray, " time"]:
    """One moment for each reading."""
    moments = real_array("times", times)
    if moments.shape != (count,):
        raise ValueError(f"times have shape {moments.shape}, and there are {count} readings; pass one for each.")
    return moments


def in_time(
    moments: Float[np.ndarray, " time"] | None, count: int, begin: float, *, refuse: bool
) -> Bool[np.ndarray, " time"]:
    """Which of `count` readings come after `begin` and after all before them; `refuse` to go on without the others."""
    if moments is None or not count:
        return np.ones(count, bool)
    before = np.maximum.accumulate(np.append(begin, moments[:-1]))
    kept = moments > before
    if refuse and not kept.all():
        at = int(kept.argmin())
        raise too_late(f"times[{at}]={moments[at]}", before[at])
    return kept


def too_late(what: str, before: float | None) -> ValueError:
    """What is said of a reading that came too late."""
    return ValueError(
        f"{what} is not after {before}, the time of the reading before; time only runs forwards: sort the readings, or "
        f"build the stream with late='skip'."
    )


def whole_cells(
    cells: Float[np.ndarray, "time channels"], steps: Float[np.ndarray, " time"] | None, usual: float
) -> int:
    """How many readings hold a number and came after a usual step, up to the first that does not; 1 at least."""
    whole = ~np.isnan(cells).all(axis=1)
    if steps is not None:
        whole &= np.abs(steps - usual) <= SAME * usual
    return max(len(cells) if whole.all() else int(whole.argmin()), 1)


def _numbers(name: str, given: Any, complaint: str) -> np.ndarray:
    array = np.asarray(given)
    if array.dtype.kind == "O":
        array = np.array([math.nan if one is None else one for one in array.ravel()]).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise TypeError(complaint)
    if array.dtype.kind in "iu":
        real_array(name, array)  # refuses whole numbers that would be rounded
    return array


def _check_size(rows: Float[np.ndarray, "time channels"], given: Any, held: Held) -> None:
    """Refuse what could not be learnt with the next reading: then it would be too late."""
    sizes = np.abs(rows)
    if (sizes > LARGEST).any():
        worst = float(rows[sizes > LARGEST][0])
        what = f"value={shorten(given)} is" if np.ndim(given) == 0 else f"values hold {worst:g}, which is"
        raise ValueError(
            f"{what} infinite or too large; pass numbers below {LARGEST:g}, or None (NaN in an array) "
            f"where one is missing."
        )
    if not ((sizes > 0) & (sizes < SMALLEST)).any():
        return
    before = held()
    for row in sizes:
        largest = np.nanmax(row, initial=0.0)
        if 0 < largest < SMALLEST and not (np.abs(before) >= SMALLEST).any():
            raise ValueError(
                f"no number is above {largest:g}, and squares of numbers below {SMALLEST:g} vanish; "
                f"multiply the readings by a power of ten first."
            )
        before = np.where(np.isnan(row), before, row)


def checked_row(state: EnsembleState, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """One sample of all channels, zero where it is missing, and where it is not."""
    given = np.full(state.channels, np.nan) if value is None else np.asarray(value, float)
    if (value is not None and (given.ndim > 0) == state.single) or given.size != state.channels:
        expected = "one number" if state.single else f"a vector of {state.channels}"
        raise ValueError(f"value has shape {given.shape}, but this state was begun for {expected}; pass that.")
    row = given.reshape(1, -1)
    seen = ~np.isnan(row)
    if np.isinf(row).any():
        raise ValueError(f"value={shorten(value)} is infinite; pass a finite number, or None if it is missing.")
    row = np.where(seen, row, 0.0)
    check_size(state, row)
    return row, seen


def check_size(state: EnsembleState, values: np.ndarray) -> None:
    """Refuse numbers whose squares a float does not hold."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"signal holds {largest:g}, and squares of numbers beyond {LARGEST:g} are infinite; divide it by a power "
            f"of ten first."
        )
    if 0 < largest < SMALLEST and not (np.abs(state.held) >= SMALLEST).any():
        raise ValueError(
            f"no number of the signal is above {largest:g}, and squares of numbers below {SMALLEST:g} vanish; multiply "
            f"it by a power of ten first."
        )


def check_saved(known: dict[str, Any], present: dict[str, Any]) -> None:
    """Refuse a ``state_dict()`` that is not one of a stream configured like the `present` one."""
    if set(known) != set(present):
        raise ValueError(f"a stream knows {sorted(present)}, given {sorted(known)}; pass what state_dict() returned.")
    if not isinstance(known["learnt"], EnsembleState) or not isinstance(known["watched"], DetectorState):
        raise TypeError("learnt and watched are not states of a forecaster and a detector; pass a state_dict().")
    channels = present["learnt"].channels
    if known["learnt"].channels != channels or known["watched"].channels != channels:
        raise ValueError(
            f"the state has {known['learnt'].channels} channels, and this stream {channels}; "
            f"load into a stream of the same configuration."
        )
    shapes = {name: np.shape(array) for name, array in vars(known["watched"]).items()}
    if shapes != {name: np.shape(array) for name, array in vars(present["watched"]).items()}:
        raise ValueError(
            "what the detector knew has another shape: it looked at other features, or another version of hippozoo "
            "wrote it; begin a new stream."
        )
