"""Which compiled way a salience layer takes, and the way from its arguments there and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from hippozoo.layers.derivatives import torch_looks_inside
from hippozoo.zoo.salience._stepwise import TOLERANCE, Fixed, Network, Tables, roll_stepwise, tables_for

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["chosen_method", "roll_compiled"]

Method = Literal["stepwise"]

# Microseconds per sample of a training step, 44 channels, one core (benchmarks/bench_salience.py): an update matrix
# costs order² of the first, a lag of the staircase one of the second.
OF_A_MATRIX, OF_A_LAG = 0.01, 1.0
# A table reaches so many timescales at most, in powers of two: almost everything is forgotten then.
LONGEST_REACH = 4.0


def chosen_method(layer: SalienceLayer, n_steps: int, longest: float, carried: bool = False) -> Method | None:
    """The cheapest compiled way of a call whose samples are held for up to `longest` timescales; None: plain torch.

    For torch.func, compilers and other devices there is plain torch alone.
    """
    if layer.form not in (None, "stepwise"):
        return None
    if _tables(layer, longest) is None:
        return None
    if layer.form is None and layer._has_table:
        chunk = layer._slow_form(n_steps, 1)[1]
        lags = min(chunk, n_steps) / 2 + (layer.system.order if carried or chunk < n_steps else 0)
        if OF_A_LAG * lags < OF_A_MATRIX * layer.system.order**2:
            return None
    return "stepwise"


def roll_compiled(
    layer: SalienceLayer, x: Tensor, state: Tensor | None, clock: Tensor
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Reads of the states, state and salience of a sequence; None where plain torch is the better or the only way."""
    if torch_looks_inside() or x.device.type != "cpu" or x.dtype not in TOLERANCE or not len(x) or not x.shape[1]:
        return None
    longest = float(clock.detach().max())
    if chosen_method(layer, x.shape[1], longest, state is not None) is None:
        return None
    tables = _tables(layer, longest)
    assert tables is not None
    network, batch = layer.network, len(x)
    part = network.sample_part(x).transpose(0, 1)
    if layer.summary:
        weights = network.pool.weight, network.pool.bias, network.summary_weight(), network.out.weight, network.out.bias
        salience = Network(part, *weights)
    else:
        salience = network.from_sample(part)
    weight = layer.functional if layer.readout == "shared" else layer.output.weight if layer.outputs else None
    y, after, found = roll_stepwise(
        Fixed(tables, layer.readout, layer.largest),
        x.transpose(0, 1),
        clock.expand(batch, -1, -1).transpose(0, 1),
        layer.initial_state(batch) if state is None else state,
        weight,
        salience,
    )
    return y.transpose(0, 1), after, found.transpose(0, 1)


def _tables(layer: SalienceLayer, longest: float) -> Tables | None:
    reach = 2.0 ** math.ceil(math.log2(max(layer.largest * longest, 2.0**-20)))
    if reach > LONGEST_REACH or layer.dtype not in TOLERANCE:
        return None
    return tables_for(layer.system, reach, layer.dtype)
