"""Old names, found under their new ones with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

__all__ = ["renamed"]


def renamed(module: str, name: str, new: dict[str, str]) -> Any:
    """What `name` of an old module is called now: ``module.Class`` of this package."""
    if name not in new:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    place, _, now = new[name].partition(".")
    warnings.warn(
        f"{module}.{name} is now hippozoo.zoo.forecasting.{new[name]}; the old name goes with version 0.2.",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(f"hippozoo.zoo.forecasting.{place}"), now)
