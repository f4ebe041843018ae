"""How much a moment matters: the learnt network behind the salience."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._arguments import positive_number, whole_number

__all__ = ["SalienceNetwork"]


class SalienceNetwork(nn.Module):
    """Salience between 0 and `largest`, from the sample and a pooled summary of the memory; 1 at the start.

    The summary is one linear map, shared by all channels, of each channel's coefficients, then tanh, then the mean over
    channels. Sample and summary go through one hidden layer (softplus) to a scaled sigmoid.

    Parameters
    ----------
    channels
        Of the sample.
    order
        Coefficients of each channel of the memory.
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
        self.summary = whole_number("summary", summary, minimum=0)
        self.largest = positive_number("largest", largest)
        if self.largest <= 1:
            raise ValueError(f"largest={largest}: salience starts at 1, the plain memory; pass largest > 1.")
        whole_number("hidden", hidden)
        if self.summary:
            self.pool = nn.Linear(order, self.summary)
        self.hidden = nn.Linear(channels + self.summary, hidden)
        self.out = nn.Linear(hidden, channels if per_channel else 1)
        with torch.no_grad():
            self.out.weight.mul_(0.1)  # near enough to 1 for a plain memory, with a gradient for every hidden unit
            # softplus is positive everywhere: what it adds on average is taken off again
            usual = self.out.weight.sum(1) * math.log(2.0)
            self.out.bias.copy_(-math.log(self.largest - 1) - usual)

    def sample_part(self, x: Float[Tensor, "*batch channels"]) -> Float[Tensor, "*batch hidden"]:
        """What the samples bring to the hidden layer; all of them at once."""
        weight = self.hidden.weight[:, : x.shape[-1]]
        return nn.functional.linear(x, weight, self.hidden.bias)

    def from_sample(self, part: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch saliences"]:
        """Salience where there is no summary, or once it has been added."""
        score = self.out(nn.functional.softplus(part))
        return self.largest * torch.sigmoid(score)

    def summary_weight(self) -> Float[Tensor, "summary hidden"]:
        """The hidden layer's weights of the summary; cut out once for a loop over time."""
        return self.hidden.weight[:, -self.summary :].mT

    def with_summary(
        self,
        part: Float[Tensor, "batch hidden"],
        pooled: Float[Tensor, "batch channels summary"],
        weight: Float[Tensor, "summary hidden"],
    ) -> Float[Tensor, "batch saliences"]:
        """Salience from the sample's part, ``pool(state)`` without its bias, and `summary_weight`."""
        summary = torch.tanh(pooled + self.pool.bias).mean(1)
        return self.from_sample(torch.addmm(part, summary, weight))
