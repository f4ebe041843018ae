"""Which compiled way a salience layer takes, and the way from its arguments there and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from hippozoo.layers.derivatives import make_again, torch_looks_inside
from hippozoo.zoo.salience._chunkwise import roll_chunkwise
from hippozoo.zoo.salience._stepwise import Fixed, Network, roll_stepwise
from hippozoo.zoo.salience.update_table import TOLERANCE, Tables, tables_for

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["chosen_method", "roll_compiled"]

Method = Literal["stepwise", "chunkwise"]

# A table reaches so many timescales at most, in powers of two: almost everything is forgotten then.
LONGEST_REACH = 4.0
# Samples of a chunk; fewer where the table of so long a step would be too large.
CHUNKS = (32, 16, 8)
# Samples of all items in one piece of a sequence; the backward pass makes pieces again.
PIECE = 1 << 16


def chosen_method(
    layer: SalienceLayer, n_steps: int, longest: float, carried: bool = False
) -> tuple[Method, int, Tables] | None:
    """The cheapest compiled way of a call whose samples are held for up to `longest` timescales; None: plain torch."""
    if layer.form not in (None, "stepwise", "chunkwise") or layer.dtype not in TOLERANCE:
        return None
    by_chunks = layer.reads_in_chunks and layer.form != "stepwise"
    method: Method = "chunkwise" if by_chunks else "stepwise"
    if layer.form is None and _table_of_lags_is_cheaper(layer, n_steps, method, carried):
        return None
    for samples in CHUNKS if by_chunks else (1,):
        reach = 2.0 ** math.ceil(math.log2(max(samples * layer.largest * longest, 2.0**-20)))
        tables = tables_for(layer.system, reach, layer.dtype) if reach <= LONGEST_REACH else None
        if tables is not None:
            return method, samples, tables
    return None


def _table_of_lags_is_cheaper(layer: SalienceLayer, n_steps: int, method: Method, carried: bool) -> bool:
    """By microseconds per sample of a training step, measured with 44 channels on one core.

    Both ways grow with the channels alike; see benchmarks/bench_salience.py.
    """
    if not layer._has_table:
        return False
    order, apart = layer.system.order, layer.per_channel
    chunk = layer._slow_form(n_steps, 1)[1]
    lags = min(chunk, n_steps) / 2 + (order if carried or chunk < n_steps else 0)
    if method == "stepwise":
        return lags * (30 if apart else 1) < order**2 / (40 if apart else 100)
    return chunk >= n_steps and lags / 10 < 3 + order**2 / 5000


def roll_compiled(
    layer: SalienceLayer, x: Tensor, state: Tensor | None, clock: Tensor
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Reads of the states, state and salience of a sequence; None where plain torch is the better or the only way."""
    if torch_looks_inside() or x.device.type != "cpu" or not x.numel():
        return None
    longest = float(clock.detach().max())
    chosen = chosen_method(layer, x.shape[1], longest, state is not None)
    if chosen is None:
        return None
    method, chunk, tables = chosen
    start = layer.initial_state(len(x)) if state is None else state
    if method == "chunkwise":
        return _by_chunks(layer, chunk, tables, x, start, clock)
    network = layer.network
    part = network.sample_part(x).transpose(0, 1)
    salience = Network(part, *network.pooling(x), *network.output(x)) if layer.summary else network.from_sample(part)
    weight = layer.functional if layer.readout == "shared" else layer._output()[0] if layer.outputs else None
    clock = clock.expand(len(x), -1, -1).transpose(0, 1)
    y, after, found = roll_stepwise(
        Fixed(tables, layer.readout, layer.largest), x.transpose(0, 1), clock, start, weight, salience
    )
    return y.transpose(0, 1), after, found.transpose(0, 1)


def _by_chunks(
    layer: SalienceLayer, chunk: int, tables: Tables, x: Tensor, state: Tensor, clock: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    salience = layer.network.from_sample(layer.network.sample_part(x))
    steps = (salience * clock)[..., 0]
    piece = chunk * max(1, PIECE // (len(x) * chunk))
    pieces = []
    for now, ticks in zip(x.split(piece, 1), steps.split(piece, 1), strict=True):
        arguments = tables, chunk, now, ticks, state, layer.functional
        y, state = make_again(roll_chunkwise, *arguments, when=piece < x.shape[1])
        pieces.append(y)
    return torch.cat(pieces, 1), state, salience
