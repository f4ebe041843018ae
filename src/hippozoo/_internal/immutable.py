"""Data that nobody changes: cached arrays are shared by all who ask, and copies carry only the fields."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Immutable", "read_only"]


def read_only(array: np.ndarray) -> np.ndarray:
    """The array itself, which from now on refuses to be written into."""
    array.setflags(write=False)
    return array


class Immutable:
    """An object whose copies and pickles leave cached properties behind and compute them anew when asked.

    An array that came through pickle is writable again whatever it was before, and a matrix of order 512 is
    2 MB that two numbers determine.
    """

    def __getstate__(self) -> dict[str, Any]:
        cached = {
            name
            for parent in type(self).__mro__
            for name, value in vars(parent).items()
            if isinstance(value, cached_property)
        }
        return {name: value for name, value in self.__dict__.items() if name not in cached}
