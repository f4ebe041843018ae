"""What a file may make: the sizes that it names are bounded by what it holds, and by a limit of the caller's.

An order of 8000 is four digits in a file and half a gigabyte as a matrix.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from hippozoo.checkpoint.error import CheckpointError
from hippozoo.checkpoint.tensors import loaded_torch

__all__ = ["LIMIT", "Bounds"]

# The largest order, width or number of layers that a file may ask for beyond the sizes of its own arrays.
LIMIT = 1024


class Bounds:
    """The bounds for one file of so many bytes; what is as long as one of its arrays cost the file its bytes."""

    def __init__(self, limit: int, size: int, arrays: dict[str, np.ndarray]) -> None:
        self.limit = limit
        self.size = size
        self.longest = max([limit, len(arrays), *(n for array in arrays.values() for n in array.shape)])
        self.squares = 0

    def check(self, cls: type, arguments: dict[str, Any]) -> None:
        """Refuse to build this class from these arguments, before anything is built."""
        order: Any = arguments.get("order")
        if _is_whole(order):
            self._demand(cls, "order", int(order), self.limit)
            self.squares += int(order) ** 2
            if self.squares > self.limit**2 + self.size:
                raise CheckpointError(
                    f"asks for matrices of {self.squares} numbers in all, and a file of its size may ask for "
                    f"{self.limit**2 + self.size}; if you trust it, load it with a limit above {self.limit}."
                )
        torch = loaded_torch()
        if torch is None or not issubclass(cls, torch.nn.Module):
            return
        possible = 1
        for name, number in _whole_numbers(arguments):
            self._demand(cls, name, number, self.longest)
            possible *= max(1, abs(number))
        allowed = 256 * self.limit**2 + 4 * self.size
        # Weights are of the size of products, and each factor may stand there twice. Only then is it built twice.
        if 8 * possible**2 > allowed:
            self._measure(torch, cls, arguments, allowed)

    def _demand(self, cls: type, name: str, number: int, largest: int) -> None:
        if abs(number) > largest:
            raise CheckpointError(
                f"asks for a {cls.__name__} with {name}={number}, and this file may ask for {largest}; "
                f"if you trust it, load it with limit={abs(number)}."
            )

    def _measure(self, torch: Any, cls: type, arguments: dict[str, Any], allowed: int) -> None:
        """Build it without memory first, and count."""
        try:
            own = copy.deepcopy(arguments)  # a stack moves the layers that it is given to where it is built
            with torch.device("meta"):
                skeleton = cls(**own)
        except Exception:
            return  # it cannot be built without memory, or not at all, and then that will be said
        tensors = [*skeleton.parameters(), *skeleton.buffers()]
        wanted = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        if wanted > allowed:
            raise CheckpointError(
                f"asks for a {cls.__name__} of {wanted} bytes, and a file of its size may ask for {allowed}; "
                f"if you trust it, load it with a limit above {self.limit}."
            )


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _whole_numbers(arguments: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The whole numbers among the arguments, also those in lists, dicts and systems."""
    for name, value in arguments.items():
        if _is_whole(value):
            yield name, int(value)
        elif _is_whole(getattr(value, "order", None)):  # a system: its own bounds have been checked
            yield f"{name}.order", int(value.order)
        elif isinstance(value, (list, tuple)):
            yield from _whole_numbers({f"{name}[{i}]": item for i, item in enumerate(value)})
        elif isinstance(value, dict):
            yield from _whole_numbers({f"{name}[{key!r}]": item for key, item in value.items()})
