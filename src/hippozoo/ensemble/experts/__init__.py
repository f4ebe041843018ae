"""The experts: one file each, and one line in `TABLE`.

A file has `names`, `forecast` and `lag_weights`; one that keeps numbers of its own has `size` and `update` too. The
calls are written out from the table as one compiled function each, so that no expert is called from Python and none is
named twice. docs/add-an-expert.md shows how to add one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.experts import (
    damped_trend,
    drift,
    mean,
    naive,
    recent_drift,
    ridge_map,
    seasonal,
    seasonal_trend,
)
from hippozoo.ensemble.records import Maps, Past, Plan

__all__ = ["TABLE"]

# In the order of their forecasts. Ridge maps come last, and are there also in an ensemble without simple experts.
TABLE: tuple[ModuleType, ...] = (
    naive,
    mean,
    drift,
    recent_drift,
    damped_trend,
    seasonal,
    seasonal_trend,
    ridge_map,
)


def names(plan: Plan, *, simple: bool) -> tuple[str, ...]:
    """What each expert is called; several may share a name."""
    return tuple(name for expert in (TABLE if simple else TABLE[-1:]) for name in expert.names(plan))


def sizes(plan: Plan) -> list[int]:
    """How many numbers a channel keeps for each line of the table."""
    return [expert.size(plan) if hasattr(expert, "size") else 0 for expert in TABLE]


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[Any]:
    """The weight of each past value in the forecast of one step of each expert, newest first."""
    experts = TABLE if plan.simple else TABLE[-1:]
    return [row for expert in experts for row in expert.lag_weights(past, maps, plan, count)]


def _written_out(name: str, arguments: str, calls: dict[int, str]) -> Any:
    """A compiled function that makes these calls, each by a line of the table and with the numbers of its own."""
    scope: dict[str, Any] = {}
    lines = [f"def {name}({arguments}):", "at = 0"]
    for number, call in calls.items():
        scope |= {f"{what}_{number}": getattr(TABLE[number], what, None) for what in ("forecast", "update")}
        lines.append(call.format(n=number, own=f"own[plan.own[{number}] : plan.own[{number + 1}]]"))
    source = "\n    ".join([*lines, "return at"])
    exec(compile(source, f"<{name} of {len(TABLE)} experts>", "exec"), scope)
    return compiled(inner=True, inline="always")(scope[name])


_FORECAST = "at = forecast_{n}({own}, past, maps, plan, work, at)"
forecast_all: Any = _written_out(
    "forecast_all",
    "own, past, maps, plan, work",
    dict.fromkeys(range(len(TABLE) - 1), f"if plan.simple > 0: {_FORECAST}") | {len(TABLE) - 1: _FORECAST},
)
update_all: Any = _written_out(
    "update_all",
    "own, sample, past, plan, work",
    {n: "update_{n}({own}, sample, past, plan, work)" for n, expert in enumerate(TABLE) if hasattr(expert, "update")},
)
