"""Dask, where it is installed; a sentence on how to get it, where it is not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["dask_module", "is_a"]


def dask_module(name: str = "dask") -> Any:
    """A module of Dask, loaded when it is needed and not before."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"hippozoo.scale runs on Dask, and {error.name or name} is not installed; pip install 'hippozoo[dask]'"
        ) from error


def is_a(thing: Any, module: str, kind: str) -> bool:
    """Whether it is a Dask collection of this kind; Dask's modules are not loaded to find out."""
    return any(
        one.__module__.partition(".")[0] == "dask" and one.__module__.startswith(module) and one.__name__ == kind
        for one in type(thing).__mro__
    )
