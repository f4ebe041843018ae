"""The door through which models of the user's own come into a study: what a study declares, and who has come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any

__all__ = ["Door", "Maker", "Shape", "entered", "entering", "made_by"]

Maker = Callable[..., Any]
_entered: dict[str, Maker] = {}


@dataclass(frozen=True)
class Shape:
    """What one model of a study is made for.

    Parameters
    ----------
    inputs, outputs
        Numbers per sample, in and out.
    length
        Samples of an episode.
    params
        About how many parameters the other models have.
    """

    inputs: int
    outputs: int
    length: int
    params: int


@dataclass(frozen=True)
class Door:
    """How a study takes models in; a module that has one names it ``DOOR``.

    Parameters
    ----------
    field
        The field of its configuration that lists the models, which is also the part of a unit's key that names one.
    key
        That part of the key.
    shapes
        From the configuration to all shapes for which a model is made.
    tolerance
        How far the number of parameters may be off, as a share.
    """

    key: str
    field: str
    shapes: Callable[[Any], Sequence[Shape]]
    tolerance: float = 0.1


def entered() -> Mapping[str, Maker]:
    """The models that take part in this process, by name.

    Examples
    --------
    >>> dict(entered())
    {}
    """
    return _entered


@contextmanager
def entering(makers: Mapping[str, Maker]) -> Iterator[None]:
    """Models take part inside, and no longer after it."""
    before = dict(_entered)
    _entered.update(makers)
    try:
        yield
    finally:
        _entered.clear()
        _entered.update(before)


def made_by(name: str, shape: Shape) -> Any:
    """The model of this entrant, for this shape; a function that asks for `params` is told how many are wanted."""
    make = _entered[name]
    sizes = {"inputs": shape.inputs, "outputs": shape.outputs, "length": shape.length}
    with suppress(ValueError, TypeError):  # no signature: then it is called as all are
        if "params" in signature(make).parameters:
            sizes["params"] = shape.params
    return make(**sizes)
