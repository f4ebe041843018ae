"""A causal convolution of a few taps, channel by channel."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hippozoo.baselines._recent import last_samples


class ShortConvolution(nn.Module):
    """Each channel is a weighted sum of its last few samples; the samples before the first are handed in.

    Shifted sums in place of `nn.Conv1d`: no transposition, and several times faster on a CPU.
    """

    def __init__(self, channels: int, taps: int, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__()
        bound = taps**-0.5  # as nn.Conv1d of one channel per group
        self.taps = taps
        self.weight = nn.Parameter(torch.empty(taps, channels, device=device, dtype=dtype).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels, device=device, dtype=dtype).uniform_(-bound, bound))

    def forward(
        self,
        x: Float[Tensor, "batch time channels"],
        before: Float[Tensor, "batch kept channels"],
        lengths: Int[Tensor, " batch"] | None,
    ) -> tuple[Float[Tensor, "batch time channels"], Float[Tensor, "batch kept channels"]]:
        """The convolution, and the samples to go on from; the last row of `weight` meets the newest sample."""
        n_steps = x.shape[1]
        padded = torch.cat([before, x], 1)
        y = torch.addcmul(self.bias, padded[:, :n_steps], self.weight[0])
        for tap in range(1, self.taps):
            y = torch.addcmul(y, padded[:, tap : tap + n_steps], self.weight[tap])
        return y, last_samples(before, x, lengths)
