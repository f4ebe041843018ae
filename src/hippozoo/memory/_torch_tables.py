"""Tables of a torch layer: computed from its configuration, and again wherever a layer is moved, converted or emptied.

They are buffers that no `state_dict` holds. What moves a layer leaves them rounded (``half().float()``), without values
(``to_empty``), or behind on the meta device (``load_state_dict(…, assign=True)``); a new computation is always right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class WithTables(nn.Module, ABC):
    """A layer that fills its tables by itself; call `_refresh_tables` before they are read."""

    _filled_for: torch.dtype

    @property
    @abstractmethod
    def _one_table(self) -> Tensor | None:
        """One of the tables, which tells dtype and device of all; None for a layer that has none."""

    @abstractmethod
    def _compute_tables(self, place: Tensor) -> None:
        """Set the tables, with dtype and device of `place`."""

    @property
    def _parameter(self) -> Tensor | None:
        """A parameter, which tells where the layer belongs; None for a layer that learns nothing."""
        return next(self.parameters(), None)

    def _home(self, x: Any) -> torch.device | None:
        """Where samples are to be: where the parameters are; tables alone follow the samples from the meta device."""
        here = self._parameter if self._parameter is not None else self._one_table
        if here is self._one_table and here is not None and here.is_meta and isinstance(x, Tensor):
            return x.device
        return None if here is None else here.device

    def _fill_tables(self, place: Tensor) -> None:
        self._compute_tables(place)
        self._filled_for = place.dtype

    def _refresh_tables(self, device: torch.device | None = None) -> None:
        """Compute tables anew that are elsewhere than `device`, or were converted behind the layer's back."""
        table = self._one_table
        # In a graph that is being compiled nothing can be computed once and kept.
        if table is None or torch.compiler.is_compiling():
            return
        device = device or table.device
        # Some assign to tensor.data; what was rounded must not be widened.
        if self._filled_for != table.dtype or table.device != device:
            self._fill_tables(torch.empty((), dtype=table.dtype, device=device))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        before = self._one_table
        super()._apply(fn, recurse)
        after = self._one_table
        if after is not None and after is not before:
            self._fill_tables(torch.empty((), dtype=after.dtype, device=after.device))
        return self
