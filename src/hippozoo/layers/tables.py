"""Tables of a torch layer: computed from its configuration, and again wherever a layer is moved, converted or emptied.

They are buffers that no `state_dict` holds. What moves a layer leaves them rounded (``half().float()``), without values
(``to_empty``), or behind on the meta device (``load_state_dict(…, assign=True)``); a new computation is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["WithTables"]


class WithTables(nn.Module):
    """A module that fills its tables by itself; one that has any writes `_compute_tables`.

    Examples
    --------
    >>> class Thirds(WithTables):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self._make_tables(torch.empty(()), "thirds")
    ...     def _compute_tables(self, place):
    ...         self.thirds = (torch.arange(3, dtype=torch.float64) / 3).to(place)
    >>> bool(Thirds().double().thirds[1] == 1 / 3)  # not a rounded number, widened
    True
    """

    _table_names: tuple[str, ...] = ()
    _filled_for: torch.dtype

    def _compute_tables(self, place: Tensor) -> None:
        """Set the tables, with dtype and device of `place`."""
        raise NotImplementedError(f"{type(self).__name__} has tables; it needs a _compute_tables that sets them.")

    def _make_tables(self, place: Tensor, *names: str) -> None:
        """Add tables of these names and fill them; the first one is always set, and tells dtype and device of all."""
        for name in names:
            self.register_buffer(name, place, persistent=False)
        self._table_names = names
        self._fill_tables(place)

    @property
    def _one_table(self) -> Tensor | None:
        """One of the tables; None for a layer that has none."""
        return getattr(self, self._table_names[0]) if self._table_names else None

    @property
    def _parameter(self) -> Tensor | None:
        """A parameter, which tells where the layer belongs; None for a layer that learns nothing."""
        return next(self.parameters(), None)

    def _home(self, x: Any) -> torch.device | None:
        """Where samples are to be: where the parameters are; tables alone follow the samples from the meta device."""
        here = self._parameter
        if here is None:
            here = self._one_table
            if here is not None and here.is_meta and isinstance(x, Tensor):
                return x.device
        return None if here is None else here.device

    def _fill_tables(self, place: Tensor) -> None:
        self._compute_tables(place)
        self._filled_for = place.dtype

    def refresh_tables(self, device: torch.device | None = None) -> None:
        """Compute tables anew, here and inside, that are elsewhere than `device` or were converted unseen."""
        # In a graph that is being compiled nothing can be computed once and kept.
        if torch.compiler.is_compiling():
            return
        for part in nearest_with_tables(self):
            parameter = part._parameter
            part.refresh_tables(device if parameter is None else parameter.device)
        table = self._one_table
        if table is None:
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


def nearest_with_tables(module: nn.Module) -> Iterator[WithTables]:
    """The next modules inside that may have tables, through whatever has been put around them."""
    for child in module.children():
        if isinstance(child, WithTables):
            yield child
        else:
            yield from nearest_with_tables(child)
