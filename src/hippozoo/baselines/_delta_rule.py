"""The delta rule over a sequence: one triangular solve per stretch of time in place of a loop over samples.

A write moves the memory S (value by key) by ``beta (value - S key) key'``. What a write corrects depends on the earlier
ones linearly, so the corrections of a stretch solve a unit lower triangular system, and reads and the new memory are
products.

Yang, Wang, Zhang, Shen and Kim (2024), Parallelizing linear transformers with the delta rule over sequence length.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

# Samples per solve: the work within a stretch grows with its square.
STRETCH = 64

Vectors = Float[Tensor, "batch heads time size"]
Gates = Float[Tensor, "batch heads time"]
Memory = Float[Tensor, "batch heads size size"]


def delta_rule(
    queries: Vectors, keys: Vectors, values: Vectors, betas: Gates, memory: Memory
) -> tuple[Vectors, Memory]:
    """Write, then read, at every time; keys have length one. The memory is (keys, values)."""
    reads = []
    # Split at once: a slice per stretch would have a gradient as long as the sequence, and the cost its square.
    parts = (part.split(STRETCH, 2) for part in (queries, keys, values, betas[..., None]))
    for q, k, v, beta in zip(*parts, strict=True):
        earlier = torch.tril(beta * (k @ k.mT), -1)
        changes = torch.linalg.solve_triangular(earlier, beta * (v - k @ memory), upper=False, unitriangular=True)
        reads.append(q @ memory + torch.tril(q @ k.mT) @ changes)
        memory = memory + k.mT @ changes
    return (reads[0] if len(reads) == 1 else torch.cat(reads, 2)), memory
