"""Numbers in sentences: counts in words, and bounds that are rounded outwards."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

__all__ = ["at_least", "at_most", "number_word", "seeds_word"]

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number_word(count: int) -> str:
    """A count as a sentence has it: in words up to twelve, then in figures.

    Examples
    --------
    >>> number_word(0), number_word(7), number_word(1_300)
    ('no', 'seven', '1,300')
    """
    return _WORDS[count] if count < len(_WORDS) else f"{count:,}"


def seeds_word(*counts: int) -> str:
    """With how many seeds rows were run.

    Examples
    --------
    >>> seeds_word(1), seeds_word(3, 3), seeds_word(3, 1, 1)
    ('one seed', 'three seeds', 'one to three seeds')
    """
    least, most = min(counts), max(counts)
    low = "" if least == most else f"{number_word(least)} to "
    return f"{low}{number_word(most)} seed{'s' * (most != 1)}"


def at_most(value: float, digits: int) -> str:
    """An upper bound with so many digits after the point, never below the value.

    Examples
    --------
    >>> at_most(0.001103, 4), at_most(0.29, 2), at_most(0.1 + 0.2, 1)
    ('0.0012', '0.29', '0.3')
    """
    return f"{_rounded(value, digits, ROUND_CEILING):,.{digits}f}"


def at_least(value: float, digits: int) -> str:
    """A lower bound with so many digits after the point, never above the value.

    Examples
    --------
    >>> at_least(0.9988, 3), at_least(0.29, 2)
    ('0.998', '0.29')
    """
    return f"{_rounded(value, digits, ROUND_FLOOR):,.{digits}f}"


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    # By its decimal digits, since 0.29 * 100 is below 29; the last ones, which a sum leaves, do not count.
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), rounding=rounding)
