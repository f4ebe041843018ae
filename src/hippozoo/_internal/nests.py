"""Walking through states: any nest of dicts, lists, tuples and dataclasses around arrays and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any


def children(nest: Any) -> list[tuple[str, Any]] | None:
    """What a nest directly holds, each with the text that reaches it; None for a leaf."""
    if isinstance(nest, Mapping):
        return [(f"[{key!r}]", value) for key, value in nest.items()]
    names = getattr(nest, "_fields", None)
    if isinstance(nest, tuple) and names is not None:
        return [(f".{name}", getattr(nest, name)) for name in names]
    if isinstance(nest, (list, tuple)):
        return [(f"[{index}]", value) for index, value in enumerate(nest)]
    if is_dataclass(nest) and not isinstance(nest, type):
        return [(f".{field.name}", getattr(nest, field.name)) for field in fields(nest)]
    return None


def leaves(nest: Any, place: str = "state") -> Iterator[tuple[str, Any]]:
    """Every leaf with its place, such as ``("state['bank'][0]", array)``, in a fixed order."""
    inside = children(nest)
    if inside is None:
        yield place, nest
        return
    for step, value in inside:
        yield from leaves(value, place + step)


def map_leaves(function: Callable[..., Any], nest: Any, *others: Any) -> Any:
    """The nest with every leaf replaced by ``function(leaf, *leaves at the same place in the others)``."""
    inside = children(nest)
    if inside is None:
        return function(nest, *others)
    columns = zip(inside, *(children(other) or [] for other in others), strict=True)
    values = [map_leaves(function, *(value for _, value in column)) for column in columns]
    if isinstance(nest, Mapping):
        return dict(zip(nest, values, strict=True))
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*values)
    if isinstance(nest, (list, tuple)):
        return type(nest)(values)
    return replace(nest, **{step[1:]: value for (step, _), value in zip(inside, values, strict=True)})
