"""Checks at the public door: what was given, what is allowed, what to do.

Everything past a public function trusts its arguments, so these few checks are the only ones.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

# Up to here float64 holds every whole number.
_EXACT = 2**53


def shorten(value: object, limit: int = 60) -> str:
    """The value as it should stand in an error message: its repr, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def whole_number(name: str, value: Any, *, minimum: int = 1, why: str = "") -> int:
    """An integer of at least `minimum`; floats are refused, also whole ones, so that 2.5 never becomes 2."""
    reason = f": {why}" if why else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={shorten(value)}{reason}; pass a whole number {name} >= {minimum}.")
    if value < minimum:
        raise ValueError(f"{name}={value}{reason}; pass {name} >= {minimum}.")
    return int(value)


def one_of(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """One of a few names, or the error that lists them."""
    choices = tuple(choices)
    if value not in choices:
        raise ValueError(f"{name}={shorten(value)}; choose from {', '.join(map(repr, choices))}.")
    return value


def positive_number(name: str, value: Any, *, why: str = "") -> float:
    """A finite real number above zero."""
    reason = f": {why}" if why else ""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={shorten(value)}{reason}; pass one real number {name} > 0.")
    number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"{name}={shorten(value)}{reason}; pass a finite {name} > 0.")
    return number


def real_array(name: str, value: Any, dtype: Any = np.float64, *, what_to_do: str = "") -> np.ndarray:
    """A finite real array in the dtype asked for; objects, strings and complex numbers are refused.

    The argument itself is never changed; it is copied only where its dtype differs.
    """
    advice = f" {what_to_do}" if what_to_do else ""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        where = _place(np.ma.getmaskarray(value))
        raise ValueError(
            f"{name}{where} is masked, and what stands below a mask is no value; pass {name}.filled(…), or "
            f"mask=~{name}.mask to a function that takes a mask.{advice}"
        )
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nests
        raise ValueError(f"{name} is not a rectangular array ({error}); pass rows of equal length.") from None
    if array.dtype.kind not in "iufb":
        raise TypeError(
            f"{name} has dtype {array.dtype}; pass real numbers, for example np.asarray({name}, float).{advice}"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        wrong = ~np.isfinite(array)
        raise ValueError(f"{name}{_place(wrong)} is {array[wrong][0]}; all values must be finite.{advice}")
    _refuse_rounding(name, array)
    with np.errstate(over="ignore"):  # the next line says it in words
        converted = array.astype(dtype, copy=False)
    if converted.dtype.kind == "f" and array.dtype.kind != "b" and not np.isfinite(converted).all():
        raise ValueError(f"{name} has values too large for {np.dtype(dtype)}; scale it down or use float64.")
    return converted


def _refuse_rounding(name: str, array: np.ndarray) -> None:
    """Whole numbers that float64 does not have, such as most above 2^53, are not rounded without a word."""
    if array.dtype.kind not in "iu" or array.itemsize < 8:
        return
    large = (array > _EXACT) | (array < -_EXACT)
    for value in array[large].tolist() if large.any() else ():
        if int(float(value)) != value:
            where = _place(np.asarray(array == value))
            raise ValueError(
                f"{name}{where} is {value}, which float64 can only hold rounded; subtract a constant first, or pass "
                f"np.asarray({name}, float) if the rounding is meant."
            )


def _place(wrong: np.ndarray) -> str:
    """The index of the first True, as one would write it; nothing for a single number."""
    where = np.argwhere(wrong)[0].tolist()
    return f"[{', '.join(map(str, where))}]" if where else ""
