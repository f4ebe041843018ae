"""Calls with numbers of every size: the right answer against the plain definition or a clear error, no silent NaN.

A case is drawn from a seed alone, so that one that went wrong can be drawn again: ``draw(number)``.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hippozoo.checkpoint import CheckpointError
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.tables import TableError
from hippozoo.zoo.volterra import DivergenceError
from trust.entries import ARRAYS, ENTRIES, HIGH, LARGEST, Answer, Case

SYSTEMS = (LegT, LegS, LagT, FouT)
# High orders are rarer: a case of order 512 takes as long as thousands of order 8.
ORDERS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
HIGH_ORDERS = (144, 256, 512)
EVERY_HIGH = 1000
SPOILT = (np.nan, np.inf, -np.inf)
STEPS_THAT_ARE_NONE = (0.0, -1.0, np.nan, np.inf)
# Long enough to pass the blocks in which signals are computed.
LENGTHS = (*range(1, 7), *range(1, 7), 33, 70)
_NAMES = {
    low: [one for one in names for _ in range(ENTRIES[one][1])] for low, names in ((True, ENTRIES), (False, HIGH))
}


def draw(number: int, entry: str = "") -> Case:
    """The case of this number, of this entry or of any; one in a thousand is of a high order."""
    rng = np.random.default_rng(number)
    low = number % EVERY_HIGH != EVERY_HIGH - 1
    orders = ORDERS if low else HIGH_ORDERS
    order = orders[rng.integers(len(orders))]
    System = SYSTEMS[rng.integers(len(SYSTEMS))]
    if System is FouT:
        order |= 1
    timescale = 10.0 ** rng.uniform(-100, 100)
    dt = timescale * 10.0 ** rng.uniform(-12, 12)
    names = _NAMES[low]
    entry = entry or names[rng.integers(len(names))]
    signal, spoilt = _spoilt(*_signal(rng), rng, arrays=entry in ARRAYS)
    if spoilt and rng.random() < 0.1:
        dt = STEPS_THAT_ARE_NONE[rng.integers(4)]
    return Case(number, entry, System(order, timescale), dt, signal, spoilt)


def _signal(rng: np.random.Generator) -> tuple[Any, float]:
    """Numbers of one size, of several types, and that size."""
    scale = 10.0 ** rng.uniform(-300, 300)
    shape = (LENGTHS[rng.integers(len(LENGTHS))],) + ((int(rng.integers(1, 4)),) if rng.random() < 0.3 else ())
    signal = scale * rng.normal(size=shape)
    if rng.random() < 0.1:
        signal = np.where(rng.random(shape) < 0.5, 5e-324, signal)  # the smallest number there is
    kind = rng.integers(12)
    if kind == 0 and scale < 1e30:
        return signal.astype(np.float32), scale
    if kind == 1 and 1e-4 < scale < 1e3:
        return signal.astype(np.float16), scale
    if kind == 2:
        whole = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64)[rng.integers(6)]
        return rng.integers(0, 100, size=shape).astype(whole), 100.0
    if kind == 3:
        return np.asfortranarray(signal)[::-1], scale  # of a layout that is not the usual one
    return signal, scale


def _spoilt(signal: Any, scale: float, rng: np.random.Generator, arrays: bool) -> tuple[Any, bool]:
    """One signal in ten is made one that nobody may take: a number that is none, or another type or shape."""
    if rng.random() >= 0.1:
        return signal, False
    kind = int(rng.integers(8))
    if not arrays or kind < 4:
        signal = np.array(signal, float)
        signal.flat[rng.integers(signal.size)] = SPOILT[rng.integers(3)]
    elif kind == 4:
        signal = signal * (1 + 1j)
    elif kind == 5:
        signal = signal.astype(str)
    elif kind == 6:
        signal = np.full((2, 2, 2), scale)
    else:
        signal = np.array([None] * len(signal))
    return signal, True


def trouble(case: Case) -> str:
    """What is wrong with this call, in words; nothing where it is right or refused."""
    call = ENTRIES[case.entry][0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = call(case) if case.number % 50 else _from_two_threads(call, case)
    except (ValueError, TypeError, TableError, CheckpointError, DivergenceError) as error:
        refusable = case.spoilt or not _ordinary(case) or isinstance(error, DivergenceError)
        return "" if refusable and len(str(error)) > 20 else f"refused: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if case.spoilt:
        return "a spoilt signal was taken"
    with np.errstate(all="ignore"):
        expected = np.asarray(answer.expected(), float)
    found = np.asarray(answer.found, float).reshape(expected.shape)
    if not np.isfinite(found).all():
        return "" if not np.isfinite(expected).all() else "NaN or infinity, and nothing was said"
    if not found.size or not np.isfinite(expected).all():
        return ""
    # Below the smallest normal number digits are lost by everyone; and 1e-30 of a past sample counts as forgotten.
    rest = 1e-28 * np.abs(case.columns).max() + 1e-290
    limit = answer.tolerance * max(answer.size, np.abs(expected).max()) + (rest if answer.tolerance else 0)
    worst = float(np.abs(found - expected).max())
    return "" if worst <= limit else f"off by {worst:.1e}, and the largest is {np.abs(expected).max():.1e}"


def _from_two_threads(call: Any, case: Case) -> Answer:
    """The call made twice at once; both must give the very same numbers."""
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(call, [case, case])
    found = np.asarray(one.found, float), np.asarray(other.found, float)
    assert np.array_equal(*found, equal_nan=True), "two threads found two answers"
    return one


def _ordinary(case: Case) -> bool:
    """Whether there is no excuse to refuse the call."""
    signal = np.abs(np.asarray(case.signal, float))
    return bool((signal < LARGEST.get(case.entry, 1e250)).all())
