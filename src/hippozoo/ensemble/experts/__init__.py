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


def _written_out(name: str, arguments: str, calls: list[str]) -> Any:
    """A compiled function that makes these calls, one for each line of the table."""
    source = "\n    ".join([f"def {name}({arguments}):", "at = 0", *calls, "return at"])
    scope: dict[str, Any] = {}
    for number, expert in enumerate(TABLE):
        scope |= {f"forecast_{number}": expert.forecast, f"update_{number}": getattr(expert, "update", None)}
    exec(compile(source, f"<{name} of {len(TABLE)} experts>", "exec"), scope)
    return compiled(inner=True, inline="always")(scope[name])


def _forecasts() -> Any:
    calls = []
    for number in range(len(TABLE)):
        own = f"own[plan.own[{number}] : plan.own[{number + 1}]]"
        always = number == len(TABLE) - 1
        call = f"at = forecast_{number}({own}, past, maps, plan, work, at)"
        calls.append(call if always else f"if plan.simple > 0: {call}")
    return _written_out("forecast_all", "own, past, maps, plan, work", calls)


def _updates() -> Any:
    calls = [
        f"update_{number}(own[plan.own[{number}] : plan.own[{number + 1}]], sample, past, plan, work)"
        for number, expert in enumerate(TABLE)
        if hasattr(expert, "update")
    ]
    return _written_out("update_all", "own, sample, past, plan, work", calls)


forecast_all: Any = _forecasts()
update_all: Any = _updates()
