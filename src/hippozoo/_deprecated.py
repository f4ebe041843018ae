"""What was called otherwise before, and works with a warning until 0.2."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Constructor = TypeVar("Constructor", bound=Callable[..., None])


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
