"""How stored pairs disturb each other: by one write, and after all of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from hippozoo._internal.arguments import real_array
from hippozoo.polynomials import OrthonormalFamily

__all__ = ["interference_matrix", "recall_error", "recall_matrix"]

Addresses = Float[np.ndarray, " pairs"]


def interference_matrix(family: OrthonormalFamily, addresses: Addresses) -> Float[np.ndarray, "pairs pairs"]:
    r"""By how much a full write at address j moves what is read at address i, per unit of change at j.

    It is :math:`K(x_i, x_j) / K(x_j, x_j)`: 1 on the diagonal, 0 where neither notices the other.

    Examples
    --------
    At the nodes of the Gauss rule there is none.

    >>> from hippozoo.polynomials import Legendre
    >>> family = Legendre(8)
    >>> bool(np.allclose(interference_matrix(family, family.gauss_rule()[0]), np.eye(8)))
    True
    """
    features = family.values(_checked("addresses", addresses))
    kernel = features @ features.T
    return kernel / np.diag(kernel)


def recall_matrix(
    family: OrthonormalFamily,
    addresses: Addresses,
    gates: Addresses | None = None,
    read_addresses: Float[np.ndarray, " reads"] | None = None,
) -> Float[np.ndarray, "reads pairs"]:
    """How much of value j is read at address i after all pairs have been written in order: ``reads = matrix @ values``.

    Exact, and the same for every channel. The identity means perfect recall. Row i off the diagonal says which
    pairs spoil the recall of pair i; later pairs spoil earlier ones, since each write is made good where it is made.

    Parameters
    ----------
    family, addresses
        The basis of the bank, empty at the start, and where the pairs are written, in order.
    gates
        How far each write goes, from 0 to 1; by default all the way.
    read_addresses
        Where to read; by default where the pairs were written.

    Examples
    --------
    The second of two pairs at one address replaces the first.

    >>> from hippozoo.polynomials import Legendre
    >>> (recall_matrix(Legendre(8), np.array([0.3, 0.3])) + 0.0).round(12).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    written = _checked("addresses", addresses)
    open_gates = np.ones(len(written)) if gates is None else _checked("gates", gates)
    if open_gates.shape != written.shape:
        raise ValueError(f"gates has shape {open_gates.shape}, expected one for each address, {written.shape}.")
    outside = np.flatnonzero((open_gates < 0) | (open_gates > 1))
    if outside.size:
        raise ValueError(
            f"gates[{outside[0]}] is {open_gates[outside[0]]:g}: pass values from 0 to 1; 0 leaves the bank alone, "
            "1 writes in full."
        )
    keys = family.values(written)
    lengths = np.linalg.norm(keys, axis=1)
    keys = keys / lengths[:, None]
    queries = family.values(written if read_addresses is None else _checked("read_addresses", read_addresses))
    earlier = np.tril(keys @ keys.T * open_gates, -1)
    corrections = solve_triangular(earlier, np.diag(1 / lengths), lower=True, unit_diagonal=True)
    return queries @ keys.T @ (open_gates[:, None] * corrections)


def recall_error(matrix: Float[np.ndarray, "pairs pairs"]) -> Float[np.ndarray, " pairs"]:
    """The expected squared error of each recall, relative to that of independent values: 0 is perfect.

    Examples
    --------
    >>> recall_error(np.array([[1.0, 0.1], [0.0, 1.0]])).round(6).tolist()
    [0.01, 0.0]
    """
    return np.sum((matrix - np.eye(len(matrix))) ** 2, axis=1)


def _checked(name: str, values: Addresses) -> Addresses:
    array = real_array(name, values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}; pass a vector with one number per pair.")
    return array
