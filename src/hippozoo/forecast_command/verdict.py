"""One sentence on how good the forecast of a column is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hippozoo.forecast_command.backtest import FORECAST, Comparison

__all__ = ["Verdict", "judge"]

# So many standard errors are no chance.
_CLEAR = 2.0
# A method with this share of a mixture is what is forecast.
_MOSTLY = 0.5
# Errors that differ by less than this share are nearly equal.
_NEARLY = 0.05


@dataclass(frozen=True)
class Verdict:
    """How a forecast did beside the best of its rivals.

    Parameters
    ----------
    kind
        ``"better"``, ``"no better"``, ``"worse"`` or ``"not judged"``.
    sentence
        The same in words, without the column's name.
    rival
        The best rival.
    better_by, standard_error
        By which share of the rival's error the forecast is better, and how sure that is.

    Examples
    --------
    >>> Verdict("better", "better than the last value by 31 % ± 4", "last value", 0.31, 0.04).kind
    'better'
    """

    kind: str
    sentence: str
    rival: str | None = None
    better_by: float | None = None
    standard_error: float | None = None


def judge(
    comparison: Comparison | None, column: int, horizon: int, names: Mapping[str, str], by: Mapping[str, float]
) -> Verdict:
    """The verdict on one column.

    Parameters
    ----------
    comparison
        Errors of all methods on the same origins, if there are any.
    column, horizon
        Which column, and how many steps ahead.
    names
        What to call each rival.
    by
        What the forecast is made of, and the share of each.

    Examples
    --------
    >>> errors = {"forecast": np.full((8, 2, 1), 0.7), "last value": np.ones((8, 2, 1))}
    >>> found = judge(Comparison(2 * np.arange(8), errors, {}), 0, 2, {"last value": "the last value"}, {})
    >>> found.sentence
    'better than the last value by 30 % ± 0'
    """
    if comparison is None:
        return Verdict("not judged", "not judged: the table is too short for a back-test of this horizon")
    errors = {name: one[column] for name, one in comparison.by_column.items()}
    if not np.isfinite(errors[FORECAST]):
        return Verdict("not judged", "not judged: no value of this column came after a forecast")
    rivals = {name: error for name, error in errors.items() if name != FORECAST}
    best = min(rivals, key=lambda name: rivals[name])
    share, deviation = comparison.better_by(best, column, horizon)
    if comparison.exact(best, column):
        # A share of rounding says nothing.
        if comparison.exact(FORECAST, column):
            return Verdict("no better", f"exact up to rounding, and so is {_repeating(best, names)}", best, 0.0)
        none = "no error at all" if share is None else "no error beyond rounding"
        return Verdict("worse", f"worse than {_repeating(best, names)}, which makes {none}", best)
    assert share is not None  # it is None beside a rival without errors only
    bar = "" if deviation is None else f" ± {100 * deviation:.0f}"
    clear = deviation is not None and abs(share) > _CLEAR * deviation and abs(share) >= 0.005
    if clear and share > 0:
        others = [name for name in ("last value",) if name in rivals and name != best]
        beaten = " and ".join(names.get(name, name) for name in (*others, best))
        return Verdict("better", f"better than {beaten} by {100 * share:.0f} %{bar}", best, share, deviation)
    if clear:
        said = f"worse than {_repeating(best, names)} by {-100 * share:.0f} %{bar}"
        return Verdict("worse", said, best, share, deviation)
    few = "; too few origins for an error bar" if deviation is None else ""
    if by.get(best, 0.0) >= _MOSTLY and abs(share) < _NEARLY:
        said = f"no better than {_repeating(best, names)}, which is what is forecast"
    else:
        clearly = "not clearly" if share > 0 else "no"
        # Without a sign where it rounds to nothing: "-0 %" puzzles people.
        said = f"{clearly} better than {_repeating(best, names)}: {_percent(share)} %{bar}{few}"
    return Verdict("no better", said, best, share, deviation)


def _percent(share: float) -> str:
    return f"{100 * share:+.0f}" if abs(share) >= 0.005 else "0"


def _repeating(rival: str, names: Mapping[str, str]) -> str:
    named = names.get(rival, rival)
    return f"repeating {named}" if rival.startswith("season") or rival == "last value" else named
