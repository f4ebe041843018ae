"""What the layer did with a sequence, as arrays: addresses, gates, and the bank before and after every write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import calls_inside
from hippozoo.zoo.associative.layer import AssociativeMemory, AssociativeState

__all__ = ["AssociativeTrace", "bank_functions", "trace"]


class AssociativeTrace(NamedTuple):
    """One sequence, moment by moment; row t belongs to sample t.

    Addresses and gates are between 0 and 1; reads come after the write of the same sample. ``banks[t]`` are the
    coefficients before sample t's write, ``banks[t + 1]`` after it.
    """

    write_address: Float[np.ndarray, "time *dimensions"]
    read_address: Float[np.ndarray, "time *dimensions"]
    write_gate: Float[np.ndarray, " time"]
    output_gate: Float[np.ndarray, " time"]
    values: Float[np.ndarray, "time width"]
    reads: Float[np.ndarray, "time width"]
    outputs: Float[np.ndarray, "time outputs"]
    banks: Float[np.ndarray, "edges width coefficients"]


def trace(
    layer: Any,
    x: Float[Tensor, "time channels"],
    state: AssociativeState | None = None,
    dt: float | Float[Tensor, " time"] | None = None,
) -> AssociativeTrace:
    """Follow the layer through one sequence.

    Parameters
    ----------
    layer
        The layer; or a model with one inside, the first of which is traced.
    x, state, dt
        One sequence, (time, channels); the rest as in the layer's call, for a batch of one.

    Examples
    --------
    >>> layer = AssociativeMemory(channels=3, width=4, generator=torch.Generator().manual_seed(0))
    >>> found = trace(layer, torch.randn(10, 3, generator=torch.Generator().manual_seed(1)))
    >>> found.banks.shape, bool((found.write_gate < 1).all())
    ((11, 4, 32), True)

    The bank after each write is what the next one starts from, and what the outputs were read from.

    >>> query = layer.family.values(float(found.read_address[6]))
    >>> bool(np.allclose(found.banks[7] @ query, found.reads[6], atol=1e-5))
    True
    """
    if not isinstance(x, Tensor) or x.ndim != 2:
        given = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x is {given}; pass one sequence, a tensor of shape (time, channels).")
    if not isinstance(layer, AssociativeMemory):
        call = calls_inside(layer, AssociativeMemory, x[None], state, dt)[0]
        layer, x, state, dt = call.layer, call.x[0], call.state, call.timing.steps
    with torch.no_grad():
        signals = layer.signals(x[None], state, dt)
        bank = layer.bank.initial_state(1) if state is None else state.bank
        banks, reads = [bank], []
        for t in range(len(x)):
            bank = layer.bank._write(bank, signals.write_address[:, t], signals.value[:, t], signals.write_gate[:, t])
            banks.append(bank)
            reads.append(layer.bank._read(bank, signals.read_address[:, t]))
        read = torch.cat(reads)
        outputs = signals.output_gate[0, :, None] * layer.readout(read)
    arrays = (signals.write_address[0], signals.read_address[0], signals.write_gate[0], signals.output_gate[0])
    rest = (signals.value[0], read, outputs, torch.cat(banks))
    return AssociativeTrace(*(part.detach().cpu().double().numpy() for part in arrays + rest))


def bank_functions(
    layer: AssociativeMemory, bank: Float[np.ndarray, "width coefficients"], points: int = 401
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "points outputs"]]:
    """What the layer would say, gate open, at every address: addresses, and one output vector for each.

    Examples
    --------
    >>> layer = AssociativeMemory(channels=3, width=4)
    >>> address, said = bank_functions(layer, np.zeros((4, 32)), points=11)
    >>> address.shape, said.shape
    ((11,), (11, 3))
    """
    if layer.dimensions != 1:
        raise ValueError(
            f"this layer has addresses of dimensions={layer.dimensions}; a curve can be drawn for one. "
            "Read single addresses with layer.bank.read."
        )
    address = np.linspace(0.0, 1.0, whole_number("points", points, minimum=2))
    project = layer.readout.weight.detach().cpu().double().numpy()
    return address, layer.family.values(address) @ bank.T @ project.T
