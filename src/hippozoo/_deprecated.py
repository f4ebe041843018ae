"""What was called otherwise before, and works with a warning until 0.2."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Constructor = TypeVar("Constructor", bound=Callable[..., None])
Method = TypeVar("Method", bound=Callable[..., Any])


def warn_of(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that one name has taken another's place."""
    text = f"{old} is now {new}; the old name works until hippozoo 0.2."
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def once_called(**renamed: str) -> Callable[[Method], Method]:
    """A method whose arguments had other names before, given as old=new."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def wrapped(self: Any, *given: Any, **named: Any) -> Any:
            for old in renamed.keys() & named.keys():
                warn_of(f"the argument {old} of {method.__name__}", renamed[old])
                named[renamed[old]] = named.pop(old)
            return method(self, *given, **named)

        return wrapped  # pyright: ignore[reportReturnType]

    return decorate


def once_by_position(order: str) -> Callable[[Constructor], Constructor]:
    """A constructor that took these arguments by position, in this order, and takes most of them by keyword now."""
    old = order.split()

    def decorate(constructor: Constructor) -> Constructor:
        kinds = [parameter.kind for parameter in inspect.signature(constructor).parameters.values()]
        still = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) - 1  # without self

        @functools.wraps(constructor)
        def wrapped(self: Any, *given: Any, **named: Any) -> None:
            if len(given) <= still:
                constructor(self, *given, **named)
                return
            if len(given) > len(old):
                raise TypeError(f"{type(self).__name__} takes {still} arguments by position, got {len(given)}.")
            by_name = dict(zip(old, given, strict=False))
            twice = sorted(by_name.keys() & named.keys())
            if twice:
                raise TypeError(f"{type(self).__name__} got {twice[0]} by position and by keyword; pass it once.")
            moved = [name for name in old[still : len(given)] if by_name[name] is not None] or [old[still]]
            example = ", ".join(f"{name}=…" for name in moved)
            warnings.warn(
                f"{type(self).__name__} takes {' and '.join(moved)} by keyword; pass {example}. By position it works "
                "until hippozoo 0.2.",
                DeprecationWarning,
                stacklevel=2,
            )
            constructor(self, **by_name, **named)

        return wrapped  # pyright: ignore[reportReturnType]

    return decorate
