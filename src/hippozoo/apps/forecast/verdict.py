"""One sentence on how good the forecast of a column is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import stdtrit

from hippozoo.apps.forecast.comparison import FORECAST, Comparison

__all__ = ["Verdict", "judge"]

# Outside of a clear difference's interval, on either side.
_TAIL = 0.025
# A method with this share of a mixture is what is forecast.
_MOSTLY = 0.5
# From this share on a verdict says that the forecast leans to a rival that was better.
_LEANS = 0.25
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
    rival, better_by, standard_error
        The best rival, by which share of its error the forecast is better, and how sure that is.
    """

    kind: str
    sentence: str
    rival: str | None = None
    better_by: float | None = None
    standard_error: float | None = None


def judge(comparison: Comparison | None, names: Mapping[str, str], by: Mapping[str, float]) -> Verdict:
    """The verdict on one column, or on all together: a difference is clear if its 95 % interval leaves out zero.

    The interval is Student's t, with one degree of freedom less than there are stretches. `names` says what to call
    each rival, and `by` what the forecast is made of, with the share of each.

    >>> import numpy as np
    >>> errors = {"forecast": np.full(8, 0.7), "last value": np.ones(8)}
    >>> judge(Comparison(errors, np.ones(8), {}, width=4, horizon=2), {"last value": "the last value"}, {}).sentence
    'better than the last value by 30 % ± 0'
    """
    if comparison is None:
        return Verdict("not judged", "not judged: too few values for a back-test of this horizon")
    errors = comparison.means()
    rivals = {name: error for name, error in errors.items() if name != FORECAST}
    best = min(rivals, key=lambda name: rivals[name])
    share, deviation, stretches = comparison.better_by(best)
    leans = f"; by now it is {by[best]:.0%} of the forecast" if by.get(best, 0.0) >= _LEANS else ""
    if comparison.is_exact(best):
        # A share of rounding says nothing.
        if comparison.is_exact(FORECAST):
            return Verdict("no better", f"exact up to rounding, and so is {_repeating(best, names)}", best, 0.0)
        none = "no error at all" if share is None else "no error beyond rounding"
        return Verdict("worse", f"worse than {_repeating(best, names)}, which makes {none}{leans}", best)
    assert share is not None  # it is None beside a rival without errors only
    bar = "" if deviation is None else f" ± {100 * deviation:.0f}"
    is_clear = deviation is not None and abs(share) > _clear(stretches) * deviation and abs(share) >= 0.005
    if is_clear and share > 0:
        others = [name for name in ("last value",) if name in rivals and name != best]
        beaten = " and ".join(names.get(name, name) for name in (*others, best))
        return Verdict("better", f"better than {beaten} by {100 * share:.0f} %{bar}", best, share, deviation)
    if is_clear:
        said = f"worse than {_repeating(best, names)} by {-100 * share:.0f} %{bar}{leans}"
        return Verdict("worse", said, best, share, deviation)
    few = "; too few origins for an error bar" if deviation is None else ""
    if by.get(best, 0.0) >= _MOSTLY and abs(share) < _NEARLY:
        said = f"no better than {_repeating(best, names)}, which is what is forecast"
    else:
        clearly = "not clearly" if share > 0 else "no"
        said = f"{clearly} better than {_repeating(best, names)}: {_difference(share)}{bar}{few}"
    return Verdict("no better", said, best, share, deviation)


def _clear(stretches: int) -> float:
    return float(stdtrit(max(stretches - 1, 1), 1 - _TAIL))


def _difference(share: float) -> str:
    """Minus of what: "-33 %" puzzles people."""
    if abs(share) < 0.005:
        return "mean absolute error equal, 0 %"
    return f"mean absolute error {'smaller' if share > 0 else 'larger'} by {abs(100 * share):.0f} %"


def _repeating(rival: str, names: Mapping[str, str]) -> str:
    named = names.get(rival, rival)
    return f"repeating {named}" if rival.startswith("season") or rival == "last value" else named
