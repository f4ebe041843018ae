"""How stored pairs disturb each other, and how many a bank holds: measured, and what theory says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo.polynomials import Chebyshev, Legendre, OrthonormalFamily

__all__ = [
    "CapacityCurve", "Layout", "capacity", "expected_error", "interference_matrix", "layout_addresses",
    "mean_fourth_overlap", "recall_error", "recall_matrix",
]  # fmt: skip

Addresses = Float[np.ndarray, " pairs"]
Layout = Literal["gauss", "even", "random"]

# The weight under which a family is orthonormal, per unit of the angle arccos(1 - 2x) and but for a factor.
_WEIGHTS: dict[type[OrthonormalFamily], Callable[[np.ndarray], np.ndarray]] = {
    Legendre: np.sin,
    Chebyshev: np.ones_like,
}


def interference_matrix(family: OrthonormalFamily, addresses: Addresses) -> Float[np.ndarray, "pairs pairs"]:
    r"""By how much a full write at address j moves what is read at address i, per unit of change at j.

    It is :math:`K(x_i, x_j) / K(x_j, x_j)`: 1 on the diagonal, 0 where neither notices the other.

    Examples
    --------
    At the nodes of the Gauss rule there is none.

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


class CapacityCurve(NamedTuple):
    """Recall error against the number of stored pairs, written one after the other."""

    pairs: Int[np.ndarray, " sizes"]
    #: Squared error of the recall of all of them relative to the values' variance, mean over trials.
    error: Float[np.ndarray, " sizes"]
    #: The same with every value in units of its key's length, as the delta rule sees it.
    unit_error: Float[np.ndarray, " sizes"]
    spread: Float[np.ndarray, " sizes"]  #: Standard deviation of `unit_error` over trials.
    #: Of `unit_error` for addresses drawn at random, see `expected_error`; NaN for a family of unknown weight.
    theory: Float[np.ndarray, " sizes"]


def capacity(
    family: OrthonormalFamily,
    pairs: Sequence[int],
    layout: Layout = "random",
    trials: int = 8,
    rng: np.random.Generator | None = None,
) -> CapacityCurve:
    """Write pairs in random order and recall them all, for each of the numbers of `pairs`.

    Values are independent between pairs, and the error is the exact expectation over them; addresses (see
    `layout_addresses`) and their order vary over `trials`, drawn by `rng`.

    Examples
    --------
    As many pairs as coefficients, and not one more, are held without error.

    >>> curve = capacity(Legendre(16), [8, 16, 32], layout="gauss", rng=np.random.default_rng(0))
    >>> (curve.error < 1e-20).tolist()
    [True, True, False]
    """
    rng = np.random.default_rng() if rng is None else rng
    counts = [whole_number("pairs", count) for count in pairs]
    trials = whole_number("trials", trials)
    errors = np.empty((2, len(counts), trials))
    for row, count in enumerate(counts):
        for trial in range(trials):
            addresses = rng.permutation(layout_addresses(family, count, layout, rng))
            matrix = recall_matrix(family, addresses)
            lengths = np.linalg.norm(family.values(addresses), axis=1)
            errors[0, row, trial] = recall_error(matrix).mean()
            errors[1, row, trial] = recall_error(matrix * lengths / lengths[:, None]).mean()
    overlap = mean_fourth_overlap(family) if type(family) in _WEIGHTS else math.nan
    theory = np.array([expected_error(family.order, count, overlap) for count in counts])
    error, unit_error = errors.mean(2)
    return CapacityCurve(np.array(counts), error, unit_error, errors[1].std(1), theory)


def layout_addresses(
    family: OrthonormalFamily, pairs: int, layout: Layout, rng: np.random.Generator
) -> Float[np.ndarray, " pairs"]:
    """Addresses for so many pairs: the best, the even, or the random ones.

    Parameters
    ----------
    layout
        ``"gauss"``: nodes of the Gauss rule of the bank's order, spread over it where there are fewer pairs, taken
        again where there are more; keys at different nodes are orthogonal. ``"even"``: evenly over the angle
        arccos(1 - 2x). ``"random"``: independent draws with density w(x) K(x, x) / order, where w is the weight under
        which the family is orthonormal (Legendre or Chebyshev): keys of length one then have no preferred direction.

    Examples
    --------
    >>> layout_addresses(Legendre(8), 2, "even", np.random.default_rng(0)).round(3).tolist()
    [0.146, 0.854]
    """
    if layout not in get_args(Layout):
        raise ValueError(f"layout={shorten(layout)}; choose from {', '.join(map(repr, get_args(Layout)))}.")
    pairs = whole_number("pairs", pairs)
    if layout == "even":
        return (1 - np.cos(np.pi * (np.arange(pairs) + 0.5) / pairs)) / 2
    if layout == "gauss":
        nodes, _ = family.gauss_rule()
        whole, rest = divmod(pairs, len(nodes))
        spread = np.floor((np.arange(rest) + 0.5) * len(nodes) / max(rest, 1)).astype(int)
        return np.concatenate([*[nodes] * whole, nodes[spread]])
    # Draws from the density by inverting its integral on a fine grid of angles, where it is nearly flat.
    weight = _known_weight(family)
    angles = np.linspace(0.0, np.pi, 16 * family.order + 1)
    middle = (angles[1:] + angles[:-1]) / 2
    mass = np.sum(family.values((1 - np.cos(middle)) / 2) ** 2, axis=1) * weight(middle)
    cumulative = np.append(0.0, np.cumsum(mass))
    drawn = np.interp(rng.random(pairs), cumulative / cumulative[-1], angles)
    return (1 - np.cos(drawn)) / 2


def expected_error(coefficients: int, pairs: int, overlap: float | None = None) -> float:
    r"""Mean squared recall error for keys of length one without preferred directions, written in full one by one.

    Let n writes come after a pair and b before it, and q = 1 - 1/m for m coefficients. Each later write takes its key's
    direction k out of the query, :math:`w \leftarrow w - k (k \cdot w)`; the squared length of what is left is
    :math:`q^n` in the mean, what was taken out has been replaced by other values, and the error is

    .. math:: 2 - 3q^n + s_n + (1 - q^b)(q^n - s_n),

    where :math:`s_n` is the mean square of what is left along the pair's own key. With the mean fourth power
    :math:`\kappa` of the product of two keys, :math:`s_0 = 1` and

    .. math:: s_{n+1} = (1 - \tfrac2m + \kappa)\,s_n + \frac{q^n - s_n}{m(m+2)}.

    This is exact for keys uniform on the sphere, where :math:`\kappa = 3 / m(m+2)`. Polynomial keys overlap with
    few neighbours, and strongly: :math:`\kappa \approx \tfrac23 / m`. The value is the mean over all pairs.

    `overlap` is the mean fourth power, for example `mean_fourth_overlap`; by default that of the sphere.

    Examples
    --------
    One pair is always recalled. A bank filled at random to its nominal capacity is two thirds wrong.

    >>> expected_error(32, 1)
    0.0
    >>> round(expected_error(32, 32, mean_fourth_overlap(Legendre(32))), 2)
    0.67
    """
    m = float(whole_number("coefficients", coefficients))
    pairs = whole_number("pairs", pairs)
    kappa = 3 / (m * (m + 2)) if overlap is None else overlap
    left = (1 - 1 / m) ** np.arange(pairs)
    along = np.ones(pairs)
    for n in range(pairs - 1):
        along[n + 1] = (1 - 2 / m + kappa) * along[n] + (left[n] - along[n]) / (m * (m + 2))
    before = 1 - left[::-1]
    return float(np.mean(2 - 3 * left + along + before * (left - along)))


def mean_fourth_overlap(family: OrthonormalFamily) -> float:
    """The mean fourth power of the product of two keys of length one at addresses drawn by ``"random"``.

    Known for Legendre and Chebyshev; of other families only the polynomials are known, not the weight.

    Examples
    --------
    >>> round(64 * mean_fourth_overlap(Legendre(64)), 2)
    0.67
    """
    _known_weight(family)
    # The integrand oscillates four times as fast as the last polynomial.
    nodes, weights = replace(cast(Legendre | Chebyshev, family), order=4 * family.order).gauss_rule()
    kernel = family.reproducing_kernel(nodes, nodes)
    square = np.diag(kernel)
    return float(weights @ (kernel**4 / np.outer(square, square)) @ weights / family.order**2)


def _known_weight(family: OrthonormalFamily) -> Callable[[np.ndarray], np.ndarray]:
    weight = _WEIGHTS.get(type(family))
    if weight is None:
        raise ValueError(
            f"family={shorten(family)}: addresses drawn at random follow the weight under which the polynomials are "
            "orthonormal, which is known of Legendre and Chebyshev; pass one of them, or the layout 'gauss' or 'even'."
        )
    return weight


def _checked(name: str, values: Addresses) -> Addresses:
    array = real_array(name, values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}; pass a vector with one number per pair.")
    return array
