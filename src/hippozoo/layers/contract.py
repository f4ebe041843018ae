"""What a module must offer to stand in a stack, and how a stack calls it: always as a module, through ``__call__``.

Hooks, checkpointing, ``torch.compile``, sharding and adapters act on calls of modules. Parts of ours take the `Timing`
that the outermost layer has checked; modules of other makers get ``dt`` and ``lengths``.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import shorten
from hippozoo.layers.types import Timing

__all__ = ["advance", "attribute_of", "contract_of", "initial_state_of"]

#: What the contract names beside `forward`.
CONTRACT = {
    "initial_state": "initial_state(batch)",
    "step": "step(x, state, dt)",
    "knows_time": "knows_time (whether it takes dt)",
}
_MISSING = object()


def attribute_of(module: nn.Module, name: str, default: Any = None) -> Any:
    """What a module says of itself; a wrapper that says nothing is asked for the one module inside that does."""
    found = getattr(module, name, _MISSING)
    if found is not _MISSING:
        return found
    each = (attribute_of(child, name, _MISSING) for child in module.children())
    inside = [one for one in each if one is not _MISSING]
    return inside[0] if len(inside) == 1 else default


def advance(
    part: nn.Module, x: Tensor, state: Any, timing: Timing, first: Tensor | None = None, *, step: bool = False
) -> Any:
    """Outputs and state of a part of a stack: of a whole sequence, or with `step` of one sample per item."""
    options = {"first": first} if first is not None and attribute_of(part, "wants_first", False) else {}
    if getattr(part, "takes_timing", False):
        return part(x, state, timing, **options, step=True) if step else part(x, state, timing, **options)
    dt = None if timing.steps is None else timing.steps.to(x)
    if not step:
        return part(x, state, dt, timing.lengths, **options)
    single: Any = getattr(part, "step", None)
    if callable(single):
        return single(x, state, dt, **options)  # pyright: ignore[reportReturnType]
    # A wrapper without a step of its own is called for a sequence of one sample, so that what it adds is not left out.
    y, state = part(x[:, None], state, dt if dt is None or dt.ndim == 0 else dt[:, None], None, **options)
    return y[:, 0], state


def initial_state_of(part: nn.Module, batch: int, width: int) -> Any:
    """The state of a part before any sample; parts of ours for any number of channels are told the width."""
    if getattr(part, "takes_timing", False):
        return part._start(batch, width)  # pyright: ignore[reportCallIssue]
    return attribute_of(part, "initial_state")(batch)


def contract_of(module: nn.Module) -> None:
    """Refuse a module that cannot stand in a stack, with what it lacks."""
    lacks = [what for name, what in CONTRACT.items() if attribute_of(module, name, _MISSING) is _MISSING]
    try:
        inspect.signature(module.forward).bind(None, None, None, None)
    except TypeError:
        lacks.append("forward(x, state, dt, lengths)")
    if lacks:
        raise TypeError(
            f"{shorten(module)} cannot stand in a stack: it lacks {', '.join(lacks)}. A layer of a stack has "
            "forward(x, state, dt, lengths) -> y, state, besides step, initial_state and knows_time; derive it from "
            "hippozoo.layers.SequenceLayer, or add what is missing. torch.nn.LSTM and GRU are taken as they are."
        )


def outputs_of(part: nn.Module, width: int, place: dict[str, Any]) -> int:
    """Numbers that a part gives at every sample; asked with one sample of zeros, which shows a broken contract too."""
    x = torch.zeros(1, width, **place)
    with torch.no_grad():
        if attribute_of(part, "reads_whole", False):
            found: Any = advance(part, x[:, None], None, Timing())
        else:
            found = advance(part, x, initial_state_of(part, 1, width), Timing(), step=True)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Tensor):
        raise TypeError(
            f"a step of {shorten(part)} gave {shorten(found)}; a layer of a stack gives a pair: outputs, and the state."
        )
    if found[0].shape[:1] != (1,):
        raise ValueError(
            f"a step of {shorten(part)} with one item gave outputs of shape {tuple(found[0].shape)}; "
            "outputs have the batch first."
        )
    return found[0].numel()
