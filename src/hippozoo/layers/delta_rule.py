"""The delta rule over a sequence: one triangular solve per stretch of time in place of a loop over samples.

A write moves the bank by ``gate * (value - bank @ key) key'`` for a key of length one. What it corrects is linear in
the corrections before it: ``errors[t] = values[t] - bank @ keys[t] - sum_{s < t} gates[s] (keys[s] . keys[t])
errors[s]``. Yang et al. (2024), Parallelizing linear transformers with the delta rule over sequence length.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["STRETCH", "along_a_path", "delta_rule", "fading_delta_rule", "read_at", "written"]

# Samples per solve: long enough that products outweigh calls, short enough that the square does not matter.
STRETCH = 64

Keys = Float[Tensor, "*batch time coefficients"]
Values = Float[Tensor, "*batch time channels"]
Gates = Float[Tensor, "*batch time"]
Bank = Float[Tensor, "*batch channels coefficients"]


def delta_rule(keys: Keys, values: Values, gates: Gates, queries: Keys, bank: Bank) -> tuple[Values, Bank]:
    """Write, then read, at every time; keys have length one. All reads, and the bank after the last write."""
    return _by_stretches(_one_stretch, (keys, values, queries), (gates,), bank)


def fading_delta_rule(
    keys: Keys, values: Values, gates: Gates, fading: Gates, queries: Keys, bank: Bank
) -> tuple[Values, Bank]:
    """The same; before each write the bank is multiplied by ``exp(-fading)``, at most one: nothing overflows."""
    return _by_stretches(_one_fading_stretch, (keys, values, queries), (gates, fading), bank)


def _by_stretches(
    one: Callable[..., tuple[Tensor, Tensor]], vectors: tuple[Tensor, ...], numbers: tuple[Tensor, ...], bank: Tensor
) -> tuple[Tensor, Tensor]:
    pieces = []
    # Split at once: a slice per stretch would have a gradient as long as the sequence, and the cost its square.
    parts = [*(part.split(STRETCH, -2) for part in vectors), *(part.split(STRETCH, -1) for part in numbers)]
    for some in zip(*parts, strict=True):
        reads, bank = one(*some, bank)
        pieces.append(reads)
    return (pieces[0] if len(pieces) == 1 else torch.cat(pieces, -2)), bank


def _one_stretch(keys: Keys, values: Values, queries: Keys, gates: Gates, bank: Bank) -> tuple[Values, Bank]:
    before = bank.mT
    earlier = torch.tril((keys @ keys.mT) * gates[..., None, :], -1)
    changes = gates[..., None] * _solved(earlier, values - keys @ before)
    # The diagonal belongs to it: a read sees the write of its own time.
    reads = queries @ before + torch.tril(queries @ keys.mT) @ changes
    return reads, bank + changes.mT @ keys


def _one_fading_stretch(
    keys: Keys, values: Values, queries: Keys, gates: Gates, fading: Gates, bank: Bank
) -> tuple[Values, Bank]:
    age = fading.cumsum(-1)  # since the beginning of the stretch
    left = torch.exp(-age)[..., None]
    # How much of the write at s is left at t >= s; later ones are cut off before the exponential could overflow.
    since = torch.tril(age[..., :, None] - age[..., None, :])
    kept = torch.tril(torch.exp(-since) * gates[..., None, :])
    earlier = torch.tril((keys @ keys.mT) * kept, -1)
    before = bank.mT
    errors = _solved(earlier, values - left * (keys @ before))
    reads = left * (queries @ before) + ((queries @ keys.mT) * kept) @ errors
    changes = kept[..., -1, :, None] * errors
    return reads, left[..., -1:, :] * bank + changes.mT @ keys


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
