"""A gate: one number between 0 and 1 per moment, read from the memory's state."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Gate"]


class Gate(nn.Module):
    """Opens and shuts by what stands in the memory: a lag functional, then a two-layer network with a linear skip.

    The functional weighs the coefficients and is shared by all channels, so that the network reads one number per
    channel. Fed with all coefficients of all channels it would cost thirty times the parameters.

    Parameters
    ----------
    channels, order
        Channels of the memory, and coefficients of each.
    hidden
        Width of the network's hidden layer.
    generator
        Where the random start comes from; by default torch's global one.

    Examples
    --------
    >>> gate = Gate(channels=4, order=8, hidden=16)
    >>> states = torch.zeros(2, 5, 4, 8)
    >>> gate(states @ gate.lag_functional).shape
    torch.Size([2, 5])

    References
    ----------
    Paper, appendix "Associative Recall Experiment": hidden width 256, tanh, residual connection, sigmoid.
    """

    def __init__(
        self,
        channels: int,
        order: int,
        hidden: int = 256,
        generator: torch.Generator | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.lag_functional = nn.Parameter(torch.zeros(order, device=device, dtype=dtype))
        self.inner = undrawn_linear(channels, hidden, self.lag_functional)
        self.outer = undrawn_linear(hidden, 1, self.lag_functional)
        self.skip = undrawn_linear(channels, 1, self.lag_functional, bias=False)
        self.reset_parameters(generator=generator)

    def reset_parameters(
        self,
        lag_functional: Float[Tensor, " order"] | None = None,
        generator: torch.Generator | None = None,
        bias: float | None = None,
    ) -> None:
        """Start anew: the usual random weights, a lag functional (by default the first coefficient), perhaps a bias.

        With ``bias=-3.0`` the gate starts nearly shut, about 5 % open.
        """
        for linear in (self.inner, self.outer, self.skip):
            draw_uniform(linear, generator)
        with torch.no_grad():
            if bias is not None:
                self.outer.bias.fill_(bias)
            if lag_functional is None:
                self.lag_functional.zero_()
                self.lag_functional[0] = 1.0
            else:
                self.lag_functional.copy_(lag_functional)

    def forward(self, seen: Float[Tensor, "*moments channels"]) -> Float[Tensor, "*moments"]:
        """How far the gate is open, given what ``states @ lag_functional`` reads from each channel."""
        return torch.sigmoid(self.skip(seen) + self.outer(torch.tanh(self.inner(seen)))).squeeze(-1)


def undrawn_linear(inputs: int, outputs: int, place: Tensor, *, bias: bool = True) -> nn.Linear:
    """A linear layer with the dtype and device of `place`, its weights still to be drawn: no randomness is spent."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, bias, device=place.device, dtype=place.dtype)
    assert isinstance(layer, nn.Linear)
    return layer


def draw_uniform(linear: nn.Linear, generator: torch.Generator | None) -> None:
    """The start that torch gives its linear layers, from a generator of one's own."""
    bound = linear.in_features**-0.5
    with torch.no_grad():
        linear.weight.uniform_(-bound, bound, generator=generator)
        if linear.bias is not None:
            linear.bias.uniform_(-bound, bound, generator=generator)
