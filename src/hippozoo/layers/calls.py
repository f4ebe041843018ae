"""What the layers inside a stack are given, in one call of it: to trace, draw or measure them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import shorten
from hippozoo.layers.types import Timing

__all__ = ["Call", "calls_inside"]


class Call(NamedTuple):
    """One call of a layer inside a stack.

    `name` is where the layer stands, such as ``"stack.blocks.0.layers.0"``; `x`, `state` and `timing` give its outputs
    again.
    """

    name: str
    layer: Any
    x: Tensor
    state: Any
    timing: Timing


def calls_inside(
    model: nn.Module, kind: type[nn.Module], x: Any, state: Any = None, dt: Any = None, lengths: Any = None
) -> list[Call]:
    """Every call of a layer of this kind while the model takes in a sequence, in order; without gradients.

    `kind` is the class of the layers, such as `SalienceLayer`; `x`, `state`, `dt` and `lengths` are as in the model's
    call.

    Examples
    --------
    >>> from hippozoo.layers import SequenceModel
    >>> from hippozoo.memory import MemoryLayer
    >>> from hippozoo.systems import LegT
    >>> model = SequenceModel(1, 1, [lambda width: MemoryLayer(LegT(4, 20.0), channels=width)] * 2, width=3)
    >>> [(call.name, tuple(call.x.shape)) for call in calls_inside(model, MemoryLayer, torch.zeros(2, 30, 1))]
    [('stack.blocks.0.layers.0', (2, 30, 3)), ('stack.blocks.1.layers.0', (2, 30, 3))]
    """
    inside = {name: part for name, part in model.named_modules() if isinstance(part, kind)}
    if not inside:
        raise TypeError(f"{shorten(model)} holds no {kind.__name__}; pass a model that does.")
    found = []
    with torch.no_grad():
        for name, given in given_to(inside, lambda: model(x, state, dt, lengths)):
            samples, before, timing, *_ = (*given, None, None)
            found.append(Call(name, inside[name], samples, before, timing if isinstance(timing, Timing) else Timing()))
    return found


def given_to(parts: Mapping[str, nn.Module], run: Callable[[], Any]) -> list[tuple[str, tuple[Any, ...]]]:
    """What parts of a model are given while something runs, call by call: name and positional arguments."""
    found: list[tuple[str, tuple[Any, ...]]] = []

    def note(name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        return lambda part, given: found.append((name, given))

    hooks = [part.register_forward_pre_hook(note(name)) for name, part in parts.items()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return found
