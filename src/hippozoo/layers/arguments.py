"""Checks of tensors at the public door: what was given, what is allowed, what to do.

Shapes and dtypes are always checked; values not while a graph is compiled or exported, not inside ``torch.func.vmap``,
and on an accelerator, where the host would have to wait for them, only if `check_values` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from hippozoo._internal.arguments import positive_number, shorten

Outcome = TypeVar("Outcome")

# None: where the host need not wait for them.
_values_are_checked: bool | None = None


class check_values:  # noqa: N801, as torch.set_grad_enabled, which it resembles
    """Whether layers look at the values they are given: for NaN, tokens out of range, steps of time below zero.

    By default they look on the CPU and not on an accelerator, where every look makes the host wait. Called, it holds
    from then on; in a ``with`` statement, to its end. Shapes, dtypes and devices are checked in any case.

    Parameters
    ----------
    on
        True: everywhere. False: nowhere. None: the default.

    Examples
    --------
    >>> from hippozoo.memory import MemoryLayer
    >>> from hippozoo.systems import LegT
    >>> layer = MemoryLayer(LegT(order=4, timescale=20.0))
    >>> with check_values(False):
    ...     y, _ = layer(torch.full((1, 3, 1), torch.nan))
    >>> bool(y.isnan().all())
    True
    """

    def __init__(self, on: bool | None) -> None:
        global _values_are_checked
        if on is not None and not isinstance(on, bool):
            raise TypeError(f"on={shorten(on)}; pass True, False, or None for the default.")
        self._before = _values_are_checked
        _values_are_checked = on

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _values_are_checked
        _values_are_checked = self._before


def finest_dtype(device: torch.device) -> torch.dtype:
    """The highest precision of a device: float64, which MPS does not have."""
    return torch.float32 if device.type == "mps" else torch.float64


def in_own_precision(dtype: torch.dtype, run: Callable[..., Outcome], x: Any, *others: Any) -> Outcome:
    """``run(x, *others)`` without autocast, which would spoil a recurrence; it begins again behind the layer."""
    if isinstance(x, Tensor) and x.device.type != "meta" and torch.is_autocast_enabled(x.device.type):
        with torch.autocast(x.device.type, enabled=False):
            return run(x.to(dtype) if x.is_floating_point() else x, *others)
    return run(x, *others)


def without_padding(x: Tensor, given: Any) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """The samples with zeros in the padding, whatever stood there; lengths, checked; real samples; lengths as given."""
    if given is None:
        return x, None, None, None
    what = "the number of real samples of each item"
    given = whole_numbers_up_to("lengths", given, (len(x),), x.shape[1], what=what)
    lengths = given.to(x.device)
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return silent_in_padding(x, real), lengths, real, given


def silent_in_padding(y: Tensor, real: Tensor | None) -> Tensor:
    """Zeros where a sample is not real; (batch, time, ...)."""
    return y if real is None else torch.where(real.view(*real.shape, *[1] * (y.ndim - 2)), y, 0.0)


def refuse_low_precision(dtype: torch.dtype) -> None:
    """Half precisions cannot hold a memory."""
    if dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"the layer has dtype {dtype}, but a memory needs float32 or float64; "
            "keep it in float32 and use torch.autocast around the model."
        )


def real_tensor(name: str, value: Any, dtype: torch.dtype) -> Tensor:
    """A tensor in the dtype that the layer computes in."""
    if not isinstance(value, Tensor):
        packed = isinstance(value, PackedSequence)
        make = f"pad_packed_sequence({name}, batch_first=True)" if packed else f"torch.as_tensor({name}, dtype={dtype})"
        raise TypeError(f"{name} is a {type(value).__name__}; pass a tensor, for example {make}.")
    if value.dtype != dtype:
        convert = f" or convert the layer with layer.to({value.dtype})" if value.dtype == torch.float64 else ""
        raise TypeError(
            f"{name} has dtype {value.dtype}, but this layer computes in {dtype}; pass {name}.to({dtype}){convert}."
        )
    return value


def on_device(name: str, value: Tensor, device: torch.device | None) -> None:
    """A tensor where the layer is; torch itself computes with a tensor of no values and says nothing."""
    if device is None or value.device == device:
        return
    if device.type == "meta":
        raise ValueError(
            f"{name} is on {value.device}, but this layer is on meta, where numbers have no values; give it some by "
            f"layer.to_empty(device={str(value.device)!r}) and layer.load_state_dict(...)."
        )
    move = (
        "make it there, since on meta numbers have no values" if value.is_meta else f"pass {name}.to({str(device)!r})"
    )
    raise ValueError(f"{name} is on {value.device}, but this layer is on {device}; {move}.")


def samples(
    x: Any, dtype: torch.dtype, channels: int | None, axes: str, hint: str, device: torch.device | None = None
) -> None:
    """A sequence or a sample of the shape that `axes` names, with at least one number and the right last axis."""
    refuse_low_precision(dtype)
    real_tensor("x", x, dtype)
    on_device("x", x, device)
    if x.ndim != axes.count(",") + 1:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected {axes}; pass {hint}.")
    if 0 in x.shape[1:]:
        raise ValueError(f"x has shape {tuple(x.shape)} and holds nothing; pass at least one sample.")
    if channels and x.shape[-1] != channels:
        name = axes.strip("()").split(", ")[-1]
        raise ValueError(
            f"x has {x.shape[-1]} {name} on its last axis, but this layer has {channels}; "
            f"pass {axes} with {name}={channels}."
        )


def samples_with_finite_powers(x: Tensor, power: int) -> None:
    """No samples so large that this power of them, which the layer takes, leaves the range of their dtype."""
    if power > 1 and x.is_floating_point() and _can_be_seen(x):
        # Sums and weights need some room, too.
        largest = float(torch.finfo(x.dtype).max) ** (1 / power) / 1e3
        advice = f"its power {power} leaves the range of {x.dtype} beyond {largest:.1g}; scale x down, or use float64."
        _refuse("x", x, x.detach().abs() <= largest, advice)


def finite_values(name: str, value: Tensor, *, what_to_do: str) -> None:
    """No NaN and no infinity."""
    # One pass in the usual case: a sum is finite unless a term is not, or unless the sum itself overflows.
    if _can_be_seen(value) and not math.isfinite(value.detach().sum().item()):
        _refuse(name, value, torch.isfinite(value), f"all values must be finite; {what_to_do}")


def whole_numbers_up_to(name: str, value: Any, shape: tuple[int, ...], largest: int, *, what: str) -> Tensor:
    """Integers of this shape between 0 and `largest`; a list of them will do."""
    if not isinstance(value, Tensor):
        try:
            value = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}={shorten(value)}; pass a list or a tensor of whole numbers, {what}.") from None
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} has dtype {value.dtype}; pass whole numbers (torch.long), {what}.")
    if tuple(value.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected {shape}: {what}.")
    if _can_be_seen(value):
        _refuse(name, value, (value >= 0) & (value <= largest), f"pass values from 0 to {largest}, {what}.")
    return value.long()


def steps_of_time(name: str, value: Any, shapes: dict[str, tuple[int, ...]]) -> Tensor:
    """Steps as float64: one number, or a tensor of one of the named shapes; `above_zero` looks at the values."""
    if not isinstance(value, Tensor):
        number = positive_number(name, value, why="a sample is held for some time; a tensor may give one per sample")
        return torch.tensor(number, dtype=torch.float64)
    if value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} has dtype {value.dtype}; pass durations as real numbers.")
    if tuple(value.shape) not in [(), *shapes.values()]:
        allowed = ", ".join(f"{names} = {shape}" for names, shape in shapes.items())
        raise ValueError(f"{name} has shape {tuple(value.shape)}; pass one number or a tensor of shape {allowed}.")
    return value.to(finest_dtype(value.device))


def above_zero(name: str, value: Tensor) -> None:
    """Time runs forwards, and not infinitely far."""
    advice = "time only runs forwards; pass finite steps > 0."
    demand(name, value, lambda steps: (steps > 0) & torch.isfinite(steps), advice)


def demand(name: str, value: Tensor, is_fine: Callable[[Tensor], Tensor], advice: str) -> None:
    """Refuse values that are not fine, where values are looked at."""
    if _can_be_seen(value):
        _refuse(name, value, is_fine(value), advice)


def _can_be_seen(value: Tensor) -> bool:
    if torch.compiler.is_compiling() or value.is_meta:
        return False
    if not (value.device.type == "cpu" if _values_are_checked is None else _values_are_checked):
        return False
    # torch has no public way to ask whether a tensor stands for a batch of them, inside vmap; and inside
    # vmap(grad(...)) that tensor is wrapped once more.
    functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]
    while functorch.is_functorch_wrapped_tensor(value):
        if functorch.is_batchedtensor(value):
            return False
        value = functorch.get_unwrapped(value)
    return True


def _refuse(name: str, value: Tensor, fine: Tensor, advice: str) -> None:
    """Raise if anything is not fine, naming the first place where."""
    if fine.all():
        return
    where = tuple(fine.logical_not().nonzero()[0].tolist())
    place = f"[{', '.join(map(str, where))}]" if where else ""
    found = value[where].item()
    raise ValueError(f"{name}{place} is {found if value.dtype == torch.bool else f'{found:g}'}: {advice}")
