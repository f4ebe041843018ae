"""Is what a file holds what the caller expected? The first disagreement, in words."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.nests import children, leaves
from hippozoo.checkpoint import registry, tensors
from hippozoo.checkpoint.error import CheckpointError


def demand_expected(found: Any, expected: Any, place: str = "it") -> None:
    """Refuse what is not of the expected class, or not configured like the expected object."""
    if isinstance(expected, type):
        if not isinstance(found, expected):
            raise CheckpointError(f"{place} is a {type(found).__name__}, expected a {expected.__name__}.")
    elif isinstance(expected, dict):
        if not isinstance(found, dict) or not expected.keys() <= found.keys():
            has = f"a dict of {shorten(list(found))}" if isinstance(found, dict) else f"a {type(found).__name__}"
            raise CheckpointError(f"{place} is {has}, expected a dict with {shorten(list(expected))}.")
        for key, value in expected.items():
            demand_expected(found[key], value, f"{place}[{key!r}]")
    elif registry.name_of(type(expected)) is None:
        raise TypeError(
            f"expected={shorten(expected)}: pass a class, an object of a class that checkpoints know, "
            "or a dict of these."
        )
    else:
        difference = first_difference(found, expected, place)
        if difference:
            raise CheckpointError(f"{difference}; load it where it belongs, or leave out expected=.")


def first_difference(found: Any, expected: Any, place: str) -> str | None:
    """Where two configurations part, or None. Trained numbers are no configuration and are not compared."""
    if type(found) is not type(expected):
        return f"{place} is {_called(found)}, expected {_called(expected)}"
    if registry.name_of(type(expected)) is not None:
        ours, theirs = registry.configuration(found), registry.configuration(expected)
        inside = [(f"{place}.{name}", ours.get(name), theirs[name]) for name in theirs]
    elif (parts := children(expected)) is not None:
        own = dict(children(found) or [])
        if list(own) != [step for step, _ in parts]:
            return f"{place} holds {shorten(list(own))}, expected {shorten([step for step, _ in parts])}"
        inside = [(place + step, own[step], value) for step, value in parts]
    else:
        return None if _same(found, expected) else f"{place}={_called(found)}, expected {_called(expected)}"
    differences = (first_difference(mine, other, where) for where, mine, other in inside)
    return next((difference for difference in differences if difference), None)


def demand_state_of(state: Any, owner: Any) -> None:
    """Refuse a state that is not finite, or not of the form that its owner gives a new state."""
    found = list(leaves(state))
    small, large = _new_state(owner, 1), _new_state(owner, 2)
    new = {} if small is None else dict(leaves(small))
    for place, leaf in found:
        # A time that never comes is infinite in a new state too.
        never = isinstance(leaf, float) and leaf == new.get(place)
        if not never and not all_finite(leaf):
            raise CheckpointError(f"{place} has values that are NaN or infinite; a state is finite.")
    if small is None or large is None:
        return
    name = type(owner).__name__
    if type(state) is not type(small):
        raise CheckpointError(f"the state is a {type(state).__name__}, but {name} keeps a {type(small).__name__}.")
    has, wants, larger_wants = ([place for place, _ in leaves(nest)] for nest in (state, small, large))
    if wants != larger_wants:
        return  # one part per channel, as many parts as channels: only the kind of state can be told
    if has != wants:
        raise CheckpointError(f"the state holds {shorten(has)}, but {name} keeps {shorten(wants)}.")
    templates = zip(leaves(small), leaves(large), strict=True)
    single_stream = _shapes(state) == _shapes(_new_state_of_one_stream(owner))
    for (place, leaf), ((_, like), (_, larger)) in zip(found, templates, strict=True):
        if type(leaf) is not type(like) or getattr(leaf, "dtype", None) != getattr(like, "dtype", None):
            raise CheckpointError(f"{place} is {_called(leaf)}, but {name} keeps {_called(like)} there.")
        if is_numbers(like) and not single_stream:
            # Axes that count sequences or channels are those that grow with their number.
            form = [n if n == more else None for n, more in zip(like.shape, larger.shape, strict=True)]
            if not _fits(leaf.shape, form):
                wanted = ", ".join("any" if count is None else str(count) for count in form)
                raise CheckpointError(f"{place} has shape {tuple(leaf.shape)}, but {name} keeps ({wanted}) there.")


def _fits(shape: Sequence[int], form: list[int | None]) -> bool:
    return len(shape) == len(form) and all(count in (None, n) for n, count in zip(shape, form, strict=True))


def _new_state(owner: Any, size: int) -> Any:
    """A new state for so many sequences or channels; None where the owner makes none."""
    for sizes in ((size,), (size, size)):
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            return owner.initial_state(*sizes)
    return None


def _new_state_of_one_stream(owner: Any) -> Any:
    """A new state without an axis for streams; None where the owner always has one."""
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        return owner.initial_state()
    return None


def _shapes(nest: Any) -> list[tuple[int, ...] | None]:
    return [tuple(leaf.shape) if is_numbers(leaf) else None for _, leaf in leaves(nest)]


def is_numbers(leaf: Any) -> bool:
    """Tell arrays and tensors from everything else."""
    return isinstance(leaf, np.ndarray) or tensors.is_tensor(leaf)


def all_finite(leaf: Any) -> bool:
    """Tell whether numbers have neither NaN nor infinity among them; what is no number has neither."""
    if tensors.is_tensor(leaf):
        return bool(leaf.isfinite().all())
    is_number = isinstance(leaf, (np.ndarray, np.generic, float, complex))
    return not is_number or bool(np.isfinite(leaf).all())


def _same(found: Any, expected: Any) -> bool:
    if is_numbers(expected) and (found.dtype != expected.dtype or found.shape != expected.shape):
        return False
    same = (found == expected) | ((found != found) & (expected != expected))  # NaN equals NaN here
    return bool(same.all()) if is_numbers(expected) else bool(same)


def _called(value: Any) -> str:
    if is_numbers(value):
        return f"{type(value).__name__} of dtype {value.dtype} and shape {tuple(value.shape)}"
    return shorten(value)
