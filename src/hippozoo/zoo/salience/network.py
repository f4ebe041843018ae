"""How much a moment matters: the learnt network behind the salience."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo.layers.reading import weight_and_bias

__all__ = ["SalienceNetwork"]


class Pooling(NamedTuple):
    """The linear maps between states, hidden layer and salience, as numbers."""

    weight: Float[Tensor, "summary order"]
    bias: Float[Tensor, " summary"]
    to_hidden: Float[Tensor, "summary hidden"]


class SalienceNetwork(nn.Module):
    """Salience between 0 and `largest`, from the sample and a pooled summary of the memory; 1 at the start.

    The summary is one linear map, shared by all channels, of each channel's coefficients, then tanh, then the mean over
    channels. Sample and summary go through one hidden layer (softplus) to a scaled sigmoid.

    Parameters
    ----------
    channels, order
        Of the sample, and coefficients of each channel of the memory.
    summary
        Numbers in the summary; 0 leaves it out, and the salience depends on the sample alone.
    hidden
        Width of the hidden layer.
    largest
        Upper end of the salience, above 1.
    per_channel
        One salience for every channel instead of one for all.

    Examples
    --------
    >>> network = SalienceNetwork(channels=3, order=8, summary=0)
    >>> salience = network.from_sample(network.sample_part(torch.zeros(5, 3)))
    >>> salience.shape, bool(((0.7 < salience) & (salience < 1.4)).all())
    (torch.Size([5, 1]), True)

    References
    ----------
    Paper, appendix "Selective Copying Experiment", salience parameterisation.
    """

    def __init__(
        self,
        channels: int,
        order: int,
        summary: int = 32,
        hidden: int = 128,
        largest: float = 2.0,
        per_channel: bool = False,
    ) -> None:
        super().__init__()
        self.channels, self.order = channels, order
        self.summary = whole_number("summary", summary, minimum=0)
        self.largest = positive_number("largest", largest)
        if self.largest <= 1:
            raise ValueError(f"largest={largest}: salience starts at 1, the plain memory; pass largest > 1.")
        self.width = whole_number("hidden", hidden)
        if self.summary:
            self.pool = nn.Linear(order, self.summary)
        self.hidden = nn.Linear(channels + self.summary, hidden)
        self.out = nn.Linear(hidden, channels if per_channel else 1)
        with torch.no_grad():
            self.out.weight.mul_(0.1)  # near enough to 1 for a plain memory, with a gradient for every hidden unit
            # softplus is positive everywhere: what it adds on average is taken off again
            usual = self.out.weight.sum(1) * math.log(2.0)
            self.out.bias.copy_(-math.log(self.largest - 1) - usual)

    def hidden_map(self, like: Tensor) -> tuple[Float[Tensor, "hidden inputs"], Float[Tensor, " hidden"]]:
        """Weight and bias of the first map, of sample and summary."""
        return numbers_of(self.hidden, self.channels + self.summary, like)

    def sample_part(self, x: Float[Tensor, "*batch channels"]) -> Float[Tensor, "*batch hidden"]:
        """What the samples bring to the hidden layer; all of them at once."""
        weight, bias = self.hidden_map(x)
        return nn.functional.linear(x, weight[:, : self.channels], bias)

    def from_sample(self, part: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch saliences"]:
        """Salience where there is no summary, or once it has been added."""
        score = self.out(nn.functional.softplus(part))
        return self.largest * torch.sigmoid(score)

    def pooling(self, like: Tensor) -> Pooling:
        """What makes a summary of states and brings it to the hidden layer; asked for once in a loop over time."""
        weight, bias = numbers_of(self.pool, self.order, like)
        hidden, _ = weight_and_bias(self.hidden, self.channels + self.summary, like)
        return Pooling(weight, bias, hidden[:, -self.summary :].mT)

    def output(self, like: Tensor) -> tuple[Float[Tensor, "saliences hidden"], Float[Tensor, " saliences"]]:
        """Weight and bias of the last map, for loops that are compiled."""
        return numbers_of(self.out, self.width, like)

    def with_summary(
        self, part: Float[Tensor, "batch hidden"], pooled: Float[Tensor, "batch channels summary"], pooling: Pooling
    ) -> Float[Tensor, "batch saliences"]:
        """Salience from the sample's part and ``state @ pooling.weight.T``."""
        summary = torch.tanh(pooled + pooling.bias).mean(1)
        return self.from_sample(torch.addmm(part, summary, pooling.to_hidden))


def numbers_of(linear: nn.Module, inputs: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias of a map, zeros where it has no bias."""
    weight, bias = weight_and_bias(linear, inputs, like)
    return weight, weight.new_zeros(len(weight)) if bias is None else bias
