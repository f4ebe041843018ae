"""Dask, where it is installed; a sentence on how to get it, where it is not."""

from __future__ import annotations

from typing import Any

from hippozoo._internal.extras import needs

__all__ = ["dask_module", "is_a"]


def dask_module(name: str = "dask") -> Any:
    """A module of Dask, loaded when it is needed and not before."""
    return needs(name, extra="dask", feature="hippozoo.scale")


def is_a(thing: Any, module: str, kind: str) -> bool:
    """Whether it is a Dask collection of this kind; Dask's modules are not loaded to find out."""
    return any(
        one.__module__.partition(".")[0] == "dask" and one.__module__.startswith(module) and one.__name__ == kind
        for one in type(thing).__mro__
    )
