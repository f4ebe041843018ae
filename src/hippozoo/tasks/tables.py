"""The old place of `hippozoo.tables`; it works until 0.2."""

from __future__ import annotations

import warnings
from typing import Any

from hippozoo import tables


def __getattr__(name: str) -> Any:
    if name not in tables.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"hippozoo.tasks.tables.{name} has moved to hippozoo.tables.{name}; the old path goes with 0.2.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(tables, name)
