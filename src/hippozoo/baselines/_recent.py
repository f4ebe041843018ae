"""The last few samples of each item of a padded batch: what short convolutions and caches hand on."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def last_samples(
    before: Float[Tensor, "batch kept *rest"],
    samples: Float[Tensor, "batch time *rest"],
    lengths: Int[Tensor, " batch"] | None,
) -> Float[Tensor, "batch kept *rest"]:
    """The `kept` latest of the samples before and the real ones now, oldest first."""
    kept, n_steps = before.shape[1], samples.shape[1]
    if lengths is None:
        return samples[:, n_steps - kept :] if n_steps >= kept else torch.cat([before[:, n_steps:], samples], 1)
    places = lengths[:, None] + torch.arange(kept, device=samples.device)
    items = torch.arange(len(samples), device=samples.device)[:, None]
    return torch.cat([before, samples], 1)[items, places]
