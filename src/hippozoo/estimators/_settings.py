"""What estimators share: memories and learners by name, single numbers, and what `fit` has found in a checkpoint."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hippozoo._internal.arguments import real_array, shorten
from hippozoo.memory import Memory
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT
from hippozoo.zoo.volterra import NLMS, SGD, Learner, RidgeRLS

__all__ = ["Fitted", "learner_named", "memory_named", "name_of", "one_number"]

_SYSTEMS: dict[str, type[HippoSystem]] = {"legt": LegT, "legs": LegS, "lagt": LagT, "fout": FouT}
_LEARNERS: dict[str, type[Learner]] = {"nlms": NLMS, "sgd": SGD, "rls": RidgeRLS}


def memory_named(system: str, order: int, timescale: float, dt: float) -> Memory:
    """A memory by the name of its system."""
    if not isinstance(system, str) or system not in _SYSTEMS:
        raise ValueError(f"system={shorten(system)} is unknown; pass one of {', '.join(map(repr, _SYSTEMS))}.")
    return Memory(_SYSTEMS[system](order, timescale), dt=dt)


def learner_named(learner: str, rate: float | None, ridge: float) -> Learner:
    """A learner by its name; `rate` None leaves the learner's own."""
    if not isinstance(learner, str) or learner not in _LEARNERS:
        raise ValueError(f"learner={shorten(learner)} is unknown; pass one of {', '.join(map(repr, _LEARNERS))}.")
    if learner == "rls":
        return RidgeRLS(ridge)
    chosen: Any = _LEARNERS[learner]
    return chosen() if rate is None else chosen(rate)


def name_of(one: HippoSystem | Learner) -> str:
    """The name of a system or a learner.

    >>> name_of(LegS(8, 5.0)), name_of(RidgeRLS(0.1))
    ('legs', 'rls')
    """
    return next(name for name, kind in (_SYSTEMS | _LEARNERS).items() if type(one) is kind)


def one_number(name: str, value: Any, advice: str) -> float:
    """The finite number that a value is; refused with advice if it is none."""
    try:
        array = real_array(name, value)
        if array.ndim:
            raise ValueError(array.shape)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={shorten(value)} is not one finite number; {advice}.") from None
    return float(array)


class Fitted:
    """An estimator of scikit-learn whose fitted attributes go through `hippozoo.checkpoint`."""

    _fitted: ClassVar[tuple[str, ...]]

    def state_dict(self) -> dict[str, Any]:
        """What was learnt, for `hippozoo.checkpoint`; empty before `fit`."""
        found = {name: getattr(self, name) for name in (*self._fitted, "n_features_in_") if hasattr(self, name)}
        if hasattr(self, "feature_names_in_"):
            found["feature_names_in_"] = [str(name) for name in getattr(self, "feature_names_in_", ())]
        return found

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another estimator of the same settings stood."""
        for name, value in known.items():
            setattr(self, name, np.array(value, dtype=object) if name == "feature_names_in_" else value)
