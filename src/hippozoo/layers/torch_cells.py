"""torch's own recurrent networks as layers: states with the batch first, padding, single steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import shorten
from hippozoo.layers.sequence_layer import SequenceLayer
from hippozoo.layers.types import Timing

__all__ = ["TorchCells", "roll_cells"]

KINDS: dict[str, type[nn.RNNBase]] = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
SIZES = "input_size", "hidden_size", "num_layers", "bias", "dropout"


class TorchCells(SequenceLayer):
    """A ``torch.nn.LSTM``, ``nn.GRU`` or ``nn.RNN`` under the contract of our layers; a `Stack` wraps them by itself.

    Parameters
    ----------
    cells
        The module, with one direction. Its weights stay where they are, and `batch_first` does not matter.
        Or its arguments, with its name as ``"kind"``, as a checkpoint keeps them.

    Examples
    --------
    >>> cells = nn.LSTM(3, 8, num_layers=2)
    >>> layer = TorchCells(cells)
    >>> y, (hidden, cell) = layer(torch.randn(5, 30, 3))
    >>> y.shape, hidden.shape
    (torch.Size([5, 30, 8]), torch.Size([5, 2, 8]))
    """

    knows_time = False

    def __init__(
        self,
        cells: nn.RNNBase | Mapping[str, Any],
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if isinstance(cells, Mapping):
            options = dict(cells)
            cells = KINDS[options.pop("kind")](**options, batch_first=True, device=device, dtype=dtype)
        if not isinstance(cells, tuple(KINDS.values())):
            raise TypeError(f"cells={shorten(cells)}; pass an nn.LSTM, nn.GRU or nn.RNN.")
        if cells.bidirectional:
            raise ValueError(
                f"{shorten(cells)} reads backwards too, so that no output is known before the last sample; pass "
                "bidirectional=False here, and bidirectional=True to the block, stack or model around it."
            )
        weight = next(cells.parameters())
        super().__init__(cells.input_size, weight.device, weight.dtype)
        self.module = cells

    @property
    def cells(self) -> dict[str, Any]:
        """The arguments of the module, with its name."""
        kind = next(name for name, kind in KINDS.items() if isinstance(self.module, kind))
        found = {name: getattr(self.module, name) for name in SIZES}
        if kind == "LSTM":
            found["proj_size"] = self.module.proj_size
        if kind == "RNN":
            found["nonlinearity"] = self.module.nonlinearity
        return {"kind": kind, **found}

    def _start(self, batch: int, channels: int) -> Any:
        one = self.module
        sizes = [one.proj_size or one.hidden_size, one.hidden_size] if isinstance(one, nn.LSTM) else [one.hidden_size]
        parts = tuple(torch.zeros(batch, one.num_layers, size, dtype=self.dtype, device=self.device) for size in sizes)
        return parts if isinstance(one, nn.LSTM) else parts[0]

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, Any]:
        state = self._begin(x, state)
        alone = isinstance(state, Tensor)
        y, after = roll_cells(self.module, x, (state,) if alone else tuple(state), timing)
        return y, after[0] if alone else after


def roll_cells(
    cells: nn.RNNBase, x: Tensor, state: tuple[Tensor, ...], timing: Timing
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Torch's recurrent cells with states that have the batch first; no time passes in the padding."""
    if timing.lengths is None:
        y, after = cells(x if cells.batch_first else x.transpose(0, 1), _layers_first(cells, state))
        return y if cells.batch_first else y.transpose(0, 1), _batch_first(after)
    # Sorted here: torch sorts items by length, too, but asks the device for the order when it sorts them back.
    on_host = (timing.lengths if timing.given_lengths is None else timing.given_lengths).cpu()
    order = on_host.argsort(descending=True)
    there, back = (index.to(x.device) for index in (order, order.argsort()))
    # A packed sequence has at least one sample; items of none keep what they had.
    packed = nn.utils.rnn.pack_padded_sequence(x[there], on_host[order].clamp(min=1), True)
    y, after = cells(packed, _layers_first(cells, tuple(part[there] for part in state)))
    y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])
    empty = (timing.lengths == 0)[:, None, None]
    pairs = zip(state, _batch_first(after), strict=True)
    return y[back], tuple(torch.where(empty, old, new[back]) for old, new in pairs)


def _layers_first(cells: nn.RNNBase, state: tuple[Tensor, ...]) -> Any:
    parts = tuple(part.transpose(0, 1).contiguous() for part in state)
    return parts if isinstance(cells, nn.LSTM) else parts[0]


def _batch_first(state: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(part.transpose(0, 1) for part in ((state,) if isinstance(state, Tensor) else state))
