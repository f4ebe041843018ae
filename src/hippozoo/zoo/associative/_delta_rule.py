"""The writes of a sequence: one after the other, and by one triangular solve per stretch of time.

A write moves the bank by ``gate * (value - bank @ key) key'`` for a key of length one, which is the delta rule of
linear attention. What each write corrects depends on the corrections before it, linearly, and only on those:

    errors[t] = values[t] - bank @ keys[t] - sum over s < t of gates[s] (keys[s] . keys[t]) errors[s]

so the errors of a whole stretch solve a unit lower triangular system, after which reads and the new bank are products.
Within a stretch the cost grows with the square of its length, over many stretches with their number.

Yang, Wang, Zhang, Shen and Kim (2024), Parallelizing linear transformers with the delta rule over sequence length.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

Vectors = Float[Tensor, "batch time coefficients"]
Values = Float[Tensor, "batch time channels"]
Gates = Float[Tensor, "batch time"]
Bank = Float[Tensor, "batch channels coefficients"]


def one_by_one(keys: Vectors, values: Values, gates: Gates, queries: Vectors, bank: Bank) -> tuple[Values, Bank]:
    """Write, then read, at every time: the definition, and the reference for `by_stretches`."""
    reads = []
    for key, value, gate, query in zip(
        keys.unbind(1), values.unbind(1), gates.unbind(1), queries.unbind(1), strict=True
    ):
        bank = written(bank, key, value, gate)
        reads.append(read_at(bank, query))
    return torch.stack(reads, 1), bank


def by_stretches(
    keys: Vectors, values: Values, gates: Gates, queries: Vectors, bank: Bank, stretch: int
) -> tuple[Values, Bank]:
    """The same by a triangular solve for every `stretch` of time."""
    pieces = []
    # Split at once: a slice per stretch would have a gradient as long as the sequence, and the cost its square.
    parts = (part.split(stretch, 1) for part in (keys, values, gates, queries))
    for some_keys, some_values, some_gates, some_queries in zip(*parts, strict=True):
        reads, bank = _one_stretch(some_keys, some_values, some_gates, some_queries, bank)
        pieces.append(reads)
    return (pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)), bank


def along_a_path(
    keys: Float[Tensor, "batch moments coefficients"],
    overlaps: Float[Tensor, "batch moments moments"],
    values: Values,
    gates: Gates,
    bank: Bank,
) -> tuple[Values, Bank]:
    """One stretch where each write goes to the key before, and each read is at the key of its own time.

    `keys` and their `overlaps`, all products of two of them, begin with the key before the first value. Every key is
    brought to the bank once, as query and as key; and products of keys may be known without multiplying them.
    """
    known = keys @ bank.mT
    earlier = torch.tril(overlaps[:, :-1, :-1] * gates[:, None], -1)
    errors = torch.linalg.solve_triangular(earlier, values - known[:, :-1], upper=False, unitriangular=True)
    changes = gates[..., None] * errors
    reads = torch.baddbmm(known[:, 1:], torch.tril(overlaps[:, 1:, :-1]), changes)
    return reads, torch.baddbmm(bank, changes.mT, keys[:, :-1])


def _one_stretch(keys: Vectors, values: Values, gates: Gates, queries: Vectors, bank: Bank) -> tuple[Values, Bank]:
    before = bank.mT
    earlier = torch.tril((keys @ keys.mT) * gates[:, None], -1)
    errors = torch.linalg.solve_triangular(earlier, values - keys @ before, upper=False, unitriangular=True)
    changes = gates[..., None] * errors
    # The diagonal belongs to it: a read sees the write of its own time.
    reads = queries @ before + torch.tril(queries @ keys.mT) @ changes
    return reads, bank + changes.mT @ keys


def written(
    bank: Bank,
    key: Float[Tensor, "batch coefficients"],
    value: Float[Tensor, "batch channels"],
    gate: Float[Tensor, " batch"],
) -> Bank:
    """The bank after one write at a key of length one."""
    change = gate[:, None] * (value - read_at(bank, key))
    return bank + change[..., None] * key[:, None]


def read_at(bank: Bank, query: Float[Tensor, "batch coefficients"]) -> Float[Tensor, "batch channels"]:
    """The bank's functions, one value per channel."""
    return (bank @ query[..., None]).squeeze(-1)
