"""The delta rule over a sequence: one triangular solve per stretch of time in place of a loop over samples.

A write moves the bank by ``gate * (value - bank @ key) key'`` for a key of length one. What it corrects is linear in
the corrections before it: ``errors[t] = values[t] - bank @ keys[t] - sum_{s < t} gates[s] (keys[s] . keys[t])
errors[s]``. Yang et al. (2024), Parallelizing linear transformers with the delta rule over sequence length.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["STRETCH", "along_a_path", "delta_rule", "read_at", "written"]

# Samples per solve: long enough that products outweigh calls, short enough that the square does not matter.
STRETCH = 64

Keys = Float[Tensor, "*batch time coefficients"]
Values = Float[Tensor, "*batch time channels"]
Gates = Float[Tensor, "*batch time"]
Bank = Float[Tensor, "*batch channels coefficients"]


def delta_rule(
    keys: Keys, values: Values, gates: Gates, queries: Keys, bank: Bank, fading: Gates | None = None
) -> tuple[Values, Bank]:
    """Write, then read, at every time; keys have length one. All reads, and the bank after the last write.

    With `fading` the bank is multiplied by ``exp(-fading)`` before each write: at most one, so nothing overflows.
    """
    pieces = []
    # Split at once: a slice per stretch would have a gradient as long as the sequence, and the cost its square.
    parts: list[Any] = [*(part.split(STRETCH, -2) for part in (keys, values, queries)), gates.split(STRETCH, -1)]
    parts.append([None] * len(parts[0]) if fading is None else fading.split(STRETCH, -1))
    for some in zip(*parts, strict=True):
        reads, bank = _one_stretch(*some, bank)
        pieces.append(reads)
    return (pieces[0] if len(pieces) == 1 else torch.cat(pieces, -2)), bank


def _one_stretch(
    keys: Keys, values: Values, queries: Keys, gates: Gates, fading: Gates | None, bank: Bank
) -> tuple[Values, Bank]:
    known, asked = keys @ bank.mT, queries @ bank.mT
    weights, overlaps, kept = gates[..., None, :], queries @ keys.mT, None
    if fading is not None:
        age = fading.cumsum(-1)  # since the beginning of the stretch
        left = torch.exp(-age)[..., None]
        # How much of the write at s is left at t >= s; later ones are cut off before the exponential could overflow.
        kept = torch.exp(-torch.tril(age[..., :, None] - age[..., None, :]))
        known, asked, bank = left * known, left * asked, left[..., -1:, :] * bank
        weights, overlaps = weights * kept, overlaps * kept
    changes = gates[..., None] * _solved(torch.tril((keys @ keys.mT) * weights, -1), values - known)
    # The diagonal belongs to it: a read sees the write of its own time.
    reads = asked + torch.tril(overlaps) @ changes
    if kept is not None:
        changes = kept[..., -1, :, None] * changes
    return reads, bank + changes.mT @ keys


def along_a_path(
    keys: Float[Tensor, "batch moments coefficients"],
    overlaps: Float[Tensor, "batch moments moments"],
    values: Float[Tensor, "batch time channels"],
    gates: Float[Tensor, "batch time"],
    bank: Float[Tensor, "batch channels coefficients"],
) -> tuple[Float[Tensor, "batch time channels"], Float[Tensor, "batch channels coefficients"]]:
    """One stretch where each write goes to the key before, and each read is at the key of its own time.

    `keys` and their `overlaps`, all products of two of them, begin with the key before the first value.
    """
    known = keys @ bank.mT
    earlier = torch.tril(overlaps[:, :-1, :-1] * gates[:, None], -1)
    changes = gates[..., None] * _solved(earlier, values - known[:, :-1])
    reads = torch.baddbmm(known[:, 1:], torch.tril(overlaps[:, 1:, :-1]), changes)
    return reads, torch.baddbmm(bank, changes.mT, keys[:, :-1])


def _solved(earlier: Float[Tensor, "*batch time time"], missing: Values) -> Values:
    """What each write has to correct; a single one corrects what is missing, and ONNX knows no triangular systems."""
    if missing.shape[-2] == 1:
        return missing
    return torch.linalg.solve_triangular(earlier, missing, upper=False, unitriangular=True)


def written(
    bank: Bank,
    key: Float[Tensor, "*batch coefficients"],
    value: Float[Tensor, "*batch channels"],
    gate: Float[Tensor, "*batch"],
) -> Bank:
    """The bank after one write at a key of length one."""
    change = gate[..., None] * (value - read_at(bank, key))
    return bank + change[..., None] * key[..., None, :]


def read_at(bank: Bank, query: Float[Tensor, "*batch coefficients"]) -> Float[Tensor, "*batch channels"]:
    """The bank's functions, one value per channel."""
    return (bank @ query[..., None]).squeeze(-1)
