"""The same readout as a torch module: a memory layer whose output is a learnt polynomial of its states."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo.discretise import Method
from hippozoo.layers import SequenceLayer, State, Timing
from hippozoo.layers.arguments import in_own_precision, on_device
from hippozoo.layers.tables import WithTables
from hippozoo.memory import Memory, MemoryLayer
from hippozoo.systems import HippoSystem
from hippozoo.zoo.volterra.kernels import sample_kernel
from hippozoo.zoo.volterra.monomials import multi_indices
from hippozoo.zoo.volterra.readouts import LowRankReadout, PolynomialReadout

__all__ = ["VolterraLayer", "VolterraReadout"]


class VolterraReadout(WithTables):
    """A learnt polynomial of its inputs, full or of low rank, for any number of outputs.

    The parameters are those of `PolynomialReadout` or `LowRankReadout`, one row per output; `set_parameters` takes
    what was learnt online. In the full polynomial a coefficient is scaled by the root of its multiplicity, so that
    plain gradient steps are those on the full symmetric tensors.

    Parameters
    ----------
    inputs, outputs
        How many numbers are read, and how many come out.
    degree
        Highest degree.
    rank
        None for all products; else the number of products of linear functionals in each degree from 2 on.
    device, dtype
        As in any torch layer.

    Examples
    --------
    >>> readout = VolterraReadout(inputs=3, outputs=2, degree=2)
    >>> readout(torch.ones(5, 7, 3)).shape
    torch.Size([5, 7, 2])
    """

    _scale: Tensor

    def __init__(
        self,
        inputs: int,
        outputs: int = 1,
        degree: int = 2,
        rank: int | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.outputs = whole_number("outputs", outputs)
        if rank is None:
            self.readout: PolynomialReadout | LowRankReadout = PolynomialReadout(inputs, degree)
        else:
            self.readout = LowRankReadout(inputs, degree, rank)
        self.inputs, self.degree = self.readout.inputs, self.readout.degree
        self.rank = None if rank is None else whole_number("rank", rank)
        place = torch.empty((), device=device, dtype=dtype)
        self.weight = nn.Parameter(place.new_zeros(self.outputs, self.readout.n_parameters))
        degrees = range(2, self.degree + 1) if rank is None else ()
        self._make_tables(place, "_scale", *(f"_{what}_{k}" for k in degrees for what in ("parent", "last")))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Linear functionals as in `torch.nn.Linear`; products begin at zero, or near it for low rank."""
        bound = 1 / math.sqrt(self.inputs)
        with torch.no_grad():
            self.weight.zero_()
            self.weight[:, : 1 + self.inputs].uniform_(-bound, bound, generator=generator)
            if isinstance(self.readout, LowRankReadout):
                self.weight[:, 1 + self.inputs :].normal_(0.0, bound, generator=generator)

    def forward(self, states: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        """The polynomial of each row."""
        if states.shape[-1] != self.inputs:
            raise ValueError(f"states has shape {tuple(states.shape)}; this readout reads (..., {self.inputs}).")
        return in_own_precision(self.weight.dtype, self._polynomial, states)

    def set_parameters(self, parameters: Float[np.ndarray, "..."]) -> None:
        """Take over parameters learnt online: (parameters,) for all outputs alike, or (outputs, parameters)."""
        rows = np.atleast_2d(real_array("parameters", parameters))
        if rows.shape not in ((1, self.readout.n_parameters), (self.outputs, self.readout.n_parameters)):
            raise ValueError(
                f"parameters has shape {rows.shape}; {self.readout!r} has {self.readout.n_parameters} for each output."
            )
        self.refresh_tables(self.weight.device)
        with torch.no_grad():
            self.weight.copy_(torch.from_numpy(rows).to(self.weight) * self._scale)

    def parameters_of(self, output: int = 0) -> Float[np.ndarray, " parameters"]:
        """The parameters of one output as the NumPy readout has them, for kernels and pictures."""
        self.refresh_tables(self.weight.device)
        return (self.weight[output].detach() / self._scale).cpu().double().numpy()

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in ("inputs", "outputs", "degree", "rank")}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module is printed."""
        return ", ".join(f"{name}={value}" for name, value in self.configuration().items())

    @property
    def _parameter(self) -> Tensor:
        return self.weight

    def _compute_tables(self, place: Tensor) -> None:
        scale = np.ones(1)
        if isinstance(self.readout, PolynomialReadout):
            scale = np.sqrt(self.readout.products.multiplicity)
            for k in range(2, self.degree + 1):
                rows = multi_indices(self.inputs, k)
                before = multi_indices(self.inputs, k - 1)
                # Which product of one degree less, times which input: looked up once.
                digits = self.inputs ** np.arange(k - 1)[::-1]
                parents = np.searchsorted(before @ digits, rows[:, :-1] @ digits)
                setattr(self, f"_parent_{k}", torch.from_numpy(parents).to(place.device))
                setattr(self, f"_last_{k}", torch.from_numpy(rows[:, -1]).to(place.device))
        self._scale = torch.from_numpy(scale).to(place)

    def _polynomial(self, states: Tensor) -> Tensor:
        on_device("states", states, self.weight.device)
        self.refresh_tables(self.weight.device)
        if self.rank is not None:
            return self._low_rank(states)
        products = [torch.ones_like(states[..., :1]), states]
        for k in range(2, self.degree + 1):
            parent, last = getattr(self, f"_parent_{k}"), getattr(self, f"_last_{k}")
            products.append(products[-1][..., parent] * states[..., last])
        return (torch.cat(products, dim=-1) * self._scale) @ self.weight.mT

    def _low_rank(self, states: Tensor) -> Tensor:
        N, rank = self.inputs, self.rank or 1
        y = self.weight[:, 0] + states @ self.weight[:, 1 : 1 + N].mT
        begin = 1 + N
        for k in range(2, self.degree + 1):
            end = begin + rank * k * N
            factors = states @ self.weight[:, begin:end].reshape(-1, N).mT
            shaped = factors.reshape(*states.shape[:-1], self.outputs, rank, k)
            product = shaped[..., 0]
            for i in range(1, k):  # a chain of products, because the gradient of prod() is slow
                product = product * shaped[..., i]
            y = y + product.sum(dim=-1)
            begin = end
        return y


class VolterraLayer(SequenceLayer):
    """A memory layer whose output is a learnt polynomial of all coefficients of all channels.

    Parameters
    ----------
    system, dt, trainable_timescale, method
        How the past is remembered, as in `hippozoo.memory.MemoryLayer`.
    channels, outputs
        Number of channels of the input, and of values that come out.
    degree, rank
        Of the polynomial, as in `VolterraReadout`.
    device, dtype
        As in any torch layer.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> layer = VolterraLayer(LegT(order=8, timescale=20.0), channels=3, outputs=2)
    >>> y, state = layer(torch.ones(4, 50, 3))
    >>> y.shape, state.shape
    (torch.Size([4, 50, 2]), torch.Size([4, 3, 8]))
    """

    def __init__(
        self,
        system: HippoSystem,
        channels: int = 1,
        outputs: int = 1,
        *,
        degree: int = 2,
        rank: int | None = None,
        trainable_timescale: bool = False,
        dt: float = 1.0,
        method: Method = "zoh",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        channels = whole_number("channels", channels)
        super().__init__(channels, device, dtype)
        self.memory = MemoryLayer(
            system, dt=dt, channels=channels, trainable_timescale=trainable_timescale, method=method, **self._place
        )
        self.readout = VolterraReadout(channels * system.order, outputs, degree, rank, **self._place)
        self.power = self.readout.degree

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        shared = {name: getattr(self.memory, name) for name in ("system", "dt", "trainable_timescale", "method")}
        inner = {name: getattr(self.readout, name) for name in ("outputs", "degree", "rank")}
        return {**shared, **inner, "channels": self.channels}

    def kernels(self, degree: int, n_lags: int) -> Float[np.ndarray, "outputs *kernel"]:
        """What products of `degree` past samples add to each output, at sample lags up to `n_lags`.

        Shape (outputs, lags, ...) with one axis for every factor, or (outputs, channels, lags, ...) with two, for
        several channels; exactly as `VolterraModel.kernel` has them.
        """
        inner = self.memory
        memory = Memory(replace(inner.system, timescale=inner.timescale), dt=inner.dt, method=inner.method)
        rows = (self.readout.parameters_of(output) for output in range(self.readout.outputs))
        return np.stack([sample_kernel(memory, self.readout.readout.tensor(row, degree), n_lags) for row in rows])

    def _start(self, batch: int, channels: int) -> State:
        return self.memory.initial_state(batch)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        states, after = self.memory(x, state, timing)
        return self.readout(states.flatten(2)), after

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        _, state = self.memory(x, state, Timing(steps), step=True)
        return self.readout(state.flatten(1)), state
