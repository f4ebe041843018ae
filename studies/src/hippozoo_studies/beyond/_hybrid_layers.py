"""Layers that join parts of other people's models with explicit memories."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo.layers import SequenceLayer, Timing
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory

__all__ = ["AttentiveMemory", "SelectiveWindows", "history_weights"]


class AttentiveMemory(SequenceLayer):
    """A plain memory whose coefficients are attended to: the present sample asks which of them to read.

    Every coefficient of the memory is a token, the vector of what all channels remember under one polynomial; keys
    carry a learnt mark of the degree. What is attended to, `attention`, is a weight for each coefficient and so a
    function of the lag: what is read can be drawn.

    Parameters
    ----------
    channels
        Of input and output.
    system
        Which past is remembered.
    heads
        Questions asked side by side; a divisor of the channels.
    """

    knows_time = False

    def __init__(self, channels: int, system: LegT, heads: int = 1) -> None:
        super().__init__(channels, None, None)
        if channels % heads:
            raise ValueError(f"channels={channels} is no multiple of heads={heads}; pass one that is.")
        self.system, self.heads = system, heads
        self.memory = MemoryLayer(system, channels=channels)
        self.ask = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.degree = nn.Parameter(torch.randn(system.order, channels) / math.sqrt(channels))

    def attention(
        self, x: Float[Tensor, "batch time channels"], state: Any = None
    ) -> Float[Tensor, "batch heads time order"]:
        """How much of each coefficient is read at every sample; rows sum to one."""
        return self._weights(x, self.memory(x, state)[0].mT)

    def _start(self, batch: int, channels: int) -> Tensor:
        return self.memory.initial_state(batch)

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, Tensor]:
        states, after = self.memory(x, state, None, timing.lengths)
        tokens = states.mT
        weights = self._weights(x, tokens)
        values = self.value(tokens).unflatten(-1, (self.heads, -1))
        return torch.einsum("bhto,btohc->bthc", weights, values).flatten(2), after

    def _weights(self, x: Tensor, tokens: Tensor) -> Tensor:
        asked = self.ask(x).unflatten(-1, (self.heads, -1))
        keys = (self.key(tokens) + self.degree).unflatten(-1, (self.heads, -1))
        return torch.softmax(torch.einsum("bthc,btohc->bhto", asked, keys) / math.sqrt(asked.shape[-1]), -1)


class SelectiveWindows(SequenceLayer):
    """Mamba's input-dependent write, read and gate around a bank of windows in place of its diagonal system.

    Each channel keeps a multiscale memory; the sample says how strongly it is written (a gate on what enters) and how
    the coefficients of all windows are read, by one functional for all channels, as Mamba's C is.

    Two of Mamba's parts are missing: time runs evenly, so there is no input-dependent time, and there is no short
    convolution. What it loses against Mamba is therefore not to be charged to the windows: Mamba without its short
    convolution loses most of its accuracy on associative recall too.

    Parameters
    ----------
    channels
        Of input and output.
    length
        The longest window; the shortest is two samples.
    order, scales
        Coefficients of a window, and how many windows.
    """

    knows_time = False

    def __init__(self, channels: int, length: int, order: int = 4, scales: int = 4) -> None:
        super().__init__(channels, None, None)
        self.length, self.order, self.scales = length, order, scales
        bank = MultiscaleMemory(LegT(order, 2.0), longest=float(length), scales=scales)
        self.memory = MultiscaleLayer(bank, channels=channels)
        self.write = nn.Linear(channels, channels)
        self.read = nn.Linear(channels, order * scales)
        self.skip = nn.Parameter(torch.ones(channels))

    def functionals(self, x: Float[Tensor, "batch time channels"]) -> Float[Tensor, "batch time order scales"]:
        """What of the bank is read at every sample."""
        return self.read(x).unflatten(-1, self.memory._shape)

    def _start(self, batch: int, channels: int) -> Tensor:
        return self.memory.initial_state(batch)

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, Tensor]:
        written = x * torch.sigmoid(self.write(x))
        states, after = self.memory(written, state, None, timing.lengths)
        y = torch.einsum("btcos,btos->btc", states, self.functionals(x))
        return torch.addcmul(y, x, self.skip), after


def history_weights(layer: AttentiveMemory, x: Tensor, lags: Tensor) -> Tensor:
    """What one head reads of the memory as a function of the lag: attention times polynomials, (batch, time, lags)."""
    basis = torch.from_numpy(layer.system.basis(lags.double().numpy())).to(x)
    return functional.linear(layer.attention(x)[:, 0], basis)
