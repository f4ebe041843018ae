"""From plain constructor arguments, as estimators have them, to a memory and a learner, and back."""

from __future__ import annotations

from typing import Any

from hippozoo._internal.arguments import shorten
from hippozoo.memory import Memory
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT
from hippozoo.zoo.volterra import NLMS, SGD, Learner, RidgeRLS

__all__ = ["LARGEST", "learner_named", "memory_named", "name_of_learner", "name_of_system", "system_named"]

# Forecasters learn from squares: a value beyond this would overflow them and spoil all that was learnt.
LARGEST = 1e100

_SYSTEMS: dict[str, type[HippoSystem]] = {"legt": LegT, "legs": LegS, "lagt": LagT, "fout": FouT}
_LEARNERS: dict[str, type[Learner]] = {"nlms": NLMS, "sgd": SGD, "rls": RidgeRLS}


def system_named(system: str, order: int, timescale: float) -> HippoSystem:
    """A system by its name.

    Examples
    --------
    >>> system_named("legs", 8, 5.0)
    LegS(order=8, timescale=5.0)
    """
    if not isinstance(system, str) or system not in _SYSTEMS:
        raise ValueError(f"system={shorten(system)} is unknown; pass one of {', '.join(map(repr, _SYSTEMS))}.")
    return _SYSTEMS[system](order, timescale)


def name_of_system(system: HippoSystem) -> str:
    """The name by which `system_named` knows it.

    Examples
    --------
    >>> name_of_system(LegS(8, 5.0))
    'legs'
    """
    return next(name for name, kind in _SYSTEMS.items() if type(system) is kind)


def memory_named(system: str, order: int, timescale: float, dt: float) -> Memory:
    """A memory by the name of its system.

    Examples
    --------
    >>> memory_named("legt", 8, 5.0, 1.0).dt
    1.0
    """
    return Memory(system_named(system, order, timescale), dt=dt)


def learner_named(learner: str, rate: float | None, ridge: float) -> Learner:
    """A learner by its name; `rate` None leaves the learner's own.

    Examples
    --------
    >>> learner_named("nlms", rate=0.1, ridge=1.0).rate
    0.1
    """
    if not isinstance(learner, str) or learner not in _LEARNERS:
        raise ValueError(f"learner={shorten(learner)} is unknown; pass one of {', '.join(map(repr, _LEARNERS))}.")
    if learner == "rls":
        return RidgeRLS(ridge)
    chosen: dict[str, Any] = {"nlms": NLMS, "sgd": SGD}
    return chosen[learner]() if rate is None else chosen[learner](rate)


def name_of_learner(learner: Learner) -> str:
    """The name by which `learner_named` knows it.

    Examples
    --------
    >>> name_of_learner(RidgeRLS(0.1))
    'rls'
    """
    return next(name for name, kind in _LEARNERS.items() if type(learner) is kind)
