"""Which classes a checkpoint may hold: the public ones of hippozoo, and those that were registered."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from types import ModuleType
from typing import Any, TypeVar, overload

from hippozoo._internal.arguments import shorten
from hippozoo.checkpoint.error import CheckpointError

__all__ = ["register"]

Class = TypeVar("Class", bound=type)

# A file can only reach what stands in the __all__ of these packages and of the members' (hippozoo.zoo.*): its
# text is compared with this list and never imported.
PACKAGES = (
    "hippozoo.polynomials",
    "hippozoo.systems",
    "hippozoo.layers",
    "hippozoo.memory",
    "hippozoo.baselines",
    "hippozoo.ensemble",
    "hippozoo.estimators",
    "hippozoo.apps.forecast",
)
MEMBERS = "hippozoo.zoo"

_by_name: dict[str, type] = {}
_by_class: dict[type, str] = {}


@overload
def register(cls: Class, *, name: str | None = None) -> Class: ...
@overload
def register(cls: None = None, *, name: str | None = None) -> Callable[[Class], Class]: ...
def register(cls: Any = None, *, name: str | None = None) -> Any:
    """Allow a class of your own in checkpoints; use it as a decorator.

    The public classes of hippozoo and of its members need no registration. Dataclasses and NamedTuples are
    saved as their fields. Any other object needs ``state_dict()`` and ``load_state_dict(state)``, as torch
    modules have them, and keeps the arguments of its constructor in attributes of the same names or returns
    them, as a dict, from ``configuration()``.

    A file can only be loaded where the class has been registered under the same `name`, by default its module and
    name. Give one where the module may change, as with ``__main__``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from hippozoo.checkpoint import register
    >>> from hippozoo.systems import LegS
    >>> @register(name="lab.Forgetful")
    ... @dataclass(frozen=True)
    ... class Forgetful(LegS):
    ...     pass
    """
    if cls is None:
        return lambda decorated: register(decorated, name=name)
    if not isinstance(cls, type):
        raise TypeError(f"register({shorten(cls)}): pass a class, not an instance of it.")
    name = name or f"{cls.__module__}.{cls.__qualname__}"
    known = _by_name.get(name)
    # Running a notebook cell again defines the class again; the newer one counts.
    again = known and (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
    if known is not cls and not again and (known or _public_class(name)):
        raise ValueError(f"the name {name!r} belongs to {known or _public_class(name)}; register with another name=.")
    _by_name[name] = cls
    _by_class[cls] = name
    return cls


def name_of(cls: type) -> str | None:
    """What a class is called in files, or None if it may not stand in one."""
    if cls in _by_class:
        return _by_class[cls] if _by_name[_by_class[cls]] is cls else None
    homes = [home for home in _homes() if cls.__module__ == home or cls.__module__.startswith(home + ".")]
    # An estimator may have the name that its library would expect, and a public one of its own.
    names = [f"{home}.{getattr(cls, '_checkpoint_name', cls.__name__)}" for home in homes]
    return next((name for name in names if _public_class(name) is cls), None)


def class_of(name: Any) -> type:
    """The class that a file calls by this name."""
    found = (_by_name.get(name) or _public_class(name)) if isinstance(name, str) else None
    if found is None:
        raise CheckpointError(
            f"holds a {shorten(name)}, which is no public class of this hippozoo and is not registered here; "
            "import the module that defines it, decorated with hippozoo.checkpoint.register, and load again."
        )
    return found


def configuration(thing: Any) -> dict[str, Any]:
    """The constructor arguments that would build this object again."""
    cls = type(thing)
    if callable(getattr(thing, "configuration", None)):
        return dict(thing.configuration())
    plain = is_dataclass(cls) or issubclass(cls, tuple)
    if not plain and not callable(getattr(thing, "state_dict", None)):
        raise CheckpointError(
            f"{cls.__name__} may hold more than its constructor's arguments; make it a dataclass, or give it "
            "state_dict() and load_state_dict(), or configuration() if it has no state."
        )
    arguments = {}
    for parameter in inspect.signature(cls).parameters.values():
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if not by_name or not hasattr(thing, parameter.name):
            raise CheckpointError(
                f"{cls.__name__} takes {parameter} and keeps no attribute of that name; keep every "
                "constructor argument under its own name, or define configuration() returning them as a dict."
            )
        arguments[parameter.name] = getattr(thing, parameter.name)
    return arguments


@cache
def _homes() -> tuple[str, ...]:
    # Found without importing hippozoo.zoo, which may load torch.
    members = importlib.util.find_spec(MEMBERS)
    paths = members.submodule_search_locations if members else None
    return (*PACKAGES, *(f"{MEMBERS}.{info.name}" for info in pkgutil.iter_modules(paths or [])))


def _package(home: str) -> ModuleType | None:
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name == home:  # a layer that this version of hippozoo does not have
            return None
        raise


def _public_class(name: str) -> type | None:
    home, _, short = name.rpartition(".")
    package = _package(home) if home in _homes() else None
    if package is None or short not in getattr(package, "__all__", ()):
        return None
    found = getattr(package, short)
    return found if isinstance(found, type) else None
