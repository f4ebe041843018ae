"""Names that are fetched when asked for, so that a package loads nothing that its user does not need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from hippozoo._internal.extras import explain_missing


def fetched_from(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a `package` that gives each name of `homes` from the module named there."""

    def fetch(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            raise explain_missing(error, f"{package}.{name}") or error from None

    return fetch
