"""Do two nests hold the same numbers? To rounding, or to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippozoo._internal.nests import leaves
from hippozoo.checkpoint.tensors import is_tensor

# Rounding over some hundred steps in different orders, with two digits to spare; relative to the largest value.
TOLERANCES = {"float": 1e-9, "float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
# Values below this are rounding residues of ordinary ones, and no scale of their own.
SMALLEST_SCALE = 1e-6


def as_array(leaf: Any) -> np.ndarray:
    """A leaf as a NumPy array, in a dtype that NumPy knows; a copy where it is a tensor."""
    if is_tensor(leaf):
        values = leaf.detach().cpu()
        return (values.double() if values.is_floating_point() else values.clone()).numpy()
    return np.asarray(leaf)


def dtype_name(leaf: Any) -> str:
    """The name of a leaf's dtype, the same for NumPy and torch."""
    return str(getattr(leaf, "dtype", type(leaf).__name__)).removeprefix("torch.")


def tolerance_of(nest: Any) -> float:
    """The tolerance of the coarsest floats in a nest."""
    return max((TOLERANCES.get(dtype_name(leaf), 0.0) for _, leaf in leaves(nest)), default=0.0)


def difference(found: Any, expected: Any, tolerance: float | None, name: str) -> str | None:
    """The first leaf in which two nests differ by more than rounding, in words; None if they agree."""
    ours, theirs = dict(leaves(found, name)), dict(leaves(expected, name))
    if list(ours) != list(theirs):
        return f"{name} holds {list(ours)} instead of {list(theirs)}"
    for place, leaf in theirs.items():
        message = _leaf_difference(ours[place], leaf, tolerance, place)
        if message:
            return message
    return None


def _leaf_difference(found: Any, expected: Any, tolerance: float | None, place: str) -> str | None:
    if dtype_name(found) != dtype_name(expected):
        return f"{place} is of {dtype_name(found)} instead of {dtype_name(expected)}"
    ours, theirs = as_array(found), as_array(expected)
    if ours.shape != theirs.shape:
        return f"{place} has shape {ours.shape} instead of {theirs.shape}"
    if ours.dtype.kind not in "fc":
        return None if np.array_equal(ours, theirs) else f"{place} is {found} instead of {expected}"
    relative = tolerance_of(expected) if tolerance is None else tolerance
    scale = max(float(np.abs(theirs).max(initial=0.0)), SMALLEST_SCALE)
    gaps = np.abs(ours - theirs)
    # Written so that a NaN, which compares as false, is a difference.
    if (gaps <= relative * scale).all():
        return None
    worst = np.unravel_index(np.argmax(np.nan_to_num(gaps, nan=np.inf)), gaps.shape)
    where = f"{place}[{', '.join(str(int(i)) for i in worst)}]" if worst else place
    return (
        f"{where} is {ours[worst]:.6g} instead of {theirs[worst]:.6g} "
        f"(allowed: {relative:.1g} of the largest value, {scale:.3g})"
    )


def snapshot(nest: Any) -> list[tuple[str, Any]]:
    """What a nest holds now, to the bit."""
    return [(place, (dtype_name(leaf), as_array(leaf).shape, as_array(leaf).tobytes())) for place, leaf in leaves(nest)]


def changed_since(nest: Any, before: list[tuple[str, Any]]) -> str | None:
    """The first leaf that is no longer what the snapshot says; None if all are."""
    now = snapshot(nest)
    if len(now) != len(before):
        return "the number of its parts"
    return next((place for (place, new), (_, old) in zip(now, before, strict=True) if new != old), None)
