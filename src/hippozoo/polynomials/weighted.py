"""Orthonormal polynomials under any weight on a bounded interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo.polynomials.family import End, checked_interval, orientation
from hippozoo.polynomials.legendre import Legendre
from hippozoo.polynomials.tabulated import Tabulated

__all__ = ["from_weight"]

Weight = Callable[[np.ndarray], np.ndarray]
Panel = tuple[float, float]
Measure = tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]

_LOOK = 32  # points at which the weight is looked at in each panel
_RESOLVED = 1e-12  # last coefficients of the weight against its largest value; _MARGIN takes care of the rest
_MARGIN = 40  # nodes per panel beyond those that the polynomials themselves need
_FIRST_PANELS = 16
_MOST_PANELS = 4000
_ORTHONORMAL = 1e-9


def from_weight(
    weight: Weight,
    interval: tuple[float, float],
    order: int,
    *,
    breakpoints: Iterable[float] = (),
    positive_at: End = "right",
) -> Tabulated:
    r"""Polynomials orthonormal under `weight`, which is scaled to mass 1.

    The interval is cut into panels until the weight is smooth on each; a Gauss-Legendre rule per panel then
    stands for the weight, and the Lanczos process with full reorthogonalisation turns it into a recurrence.
    The result is checked on a finer rule: the polynomials must be orthonormal to 1e-9 (they usually are to 1e-13).

    Parameters
    ----------
    weight
        A function of an array of points, finite and nonnegative inside the interval. A singularity, if any, must
        stand at x = 0, where floats are dense enough to resolve it.
    interval
        Where the weight lives; bounded.
    order
        How many polynomials.
    breakpoints
        Points where the weight jumps, has a kink, or a peak narrower than about a thousandth of the interval.
    positive_at
        The end of the interval at which all polynomials are positive.

    Examples
    --------
    Jeffreys' weight on the rates between 1/1000 and 1.

    >>> family = from_weight(lambda rate: 1 / rate, (1e-3, 1.0), order=64)
    >>> nodes, weights = family.gauss_rule()
    >>> bool(np.isclose(weights @ nodes, (1 - 1e-3) / np.log(1e3)))  # its mean
    True

    References
    ----------
    Gautschi (2004), Orthogonal Polynomials: discretised measures; Golub and Meurant (2010), Matrices, Moments
    and Quadrature: the Lanczos process.
    """
    lower, upper = checked_interval(interval)
    order = whole_number("order", order, why="a basis has at least one polynomial")
    sign = orientation(positive_at)
    panels = _smooth_panels(weight, _first_panels(lower, upper, breakpoints), order)
    exact = _discretise(weight, panels, [order] * len(panels))
    thrifty = _discretise(weight, panels, _waves(panels, order))
    # Few nodes are enough where the weight has no gaps; where they are not, the check tells, and all are taken.
    for measure in (thrifty, exact):
        diagonal, off_diagonal = _lanczos(*measure, order)
        family = Tabulated(diagonal, sign * off_diagonal, (lower, upper))
        error = _distance_from_orthonormality(family, exact)
        if error <= _ORTHONORMAL:
            return family
    raise ValueError(
        f"order={order} is too high for this weight: by recurrence its polynomials come out orthonormal to "
        f"{error:.1e} only, as happens where its mass is very narrow; pass a lower order, or shift and scale x."
    )


def _first_panels(lower: float, upper: float, breakpoints: Iterable[float]) -> list[Panel]:
    inner = real_array("breakpoints", list(breakpoints))
    if inner.size and not (lower < inner.min() and inner.max() < upper):
        wrong = inner[(inner <= lower) | (inner >= upper)][0]
        raise ValueError(f"breakpoints hold {wrong}; pass points strictly between {lower} and {upper}.")
    edges = np.unique(np.concatenate([np.linspace(lower, upper, _FIRST_PANELS + 1), inner]))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _smooth_panels(weight: Weight, panels: list[Panel], order: int) -> list[Panel]:
    """The panels, halved until the weight is smooth on each; those without weight are left out."""
    looks = [_look(weight, panel) for panel in panels]
    total = sum(look.mass for look in looks)
    if not total > 0:
        raise ValueError("weight is zero wherever it was asked; pass a weight with some mass, or breakpoints.")
    smooth: list[Panel] = []
    while panels:
        (left, right), look = panels.pop(), looks.pop()
        middle = (left + right) / 2
        accepted = (
            look.is_smooth
            or look.rough <= 1e-16 * total / order  # the products of two polynomials grow like the order
            or look.rough <= 8 * look.noise <= 1e-10 * total  # no closer look would tell more
        )
        if accepted:
            smooth += [(left, right)] * (look.mass > 0)
        elif left < middle < right and len(smooth) + len(panels) < _MOST_PANELS:
            halves = [(left, middle), (middle, right)]
            panels += halves
            looks += [_look(weight, half) for half in halves]
        else:
            raise ValueError(
                f"weight does not become smooth near {middle} however closely one looks; pass breakpoints where "
                f"it jumps, shift x so that a singularity stands at 0, or cut that part off the interval."
            )
    return sorted(smooth)


class _Look(NamedTuple):
    """What one sees of the weight on a panel: its mass, how much of it polynomials miss, how much is rounding."""

    mass: float
    rough: float
    noise: float
    is_smooth: bool


def _look(weight: Weight, panel: Panel) -> _Look:
    node, mass = _unit_rule(_LOOK)
    left, width = panel[0], panel[1] - panel[0]
    x = left + width * node
    values = _checked_weight(weight, x)
    coefficients = _to_coefficients() @ values
    # A peak at an end, as a breakpoint may announce one, hides before the first node: look there too.
    close, basis = _close_to_the_ends()
    missed = np.abs(_checked_weight(weight, left + width * close) - basis @ coefficients)
    rough = max(np.abs(coefficients[-4:]).max(), (np.minimum(close, 1 - close) * missed).max())
    noise = np.abs(_checked_weight(weight, np.nextafter(x, x[::-1])) - values).max()
    is_smooth = bool(rough <= _RESOLVED * max(values.max(), missed.max()))
    return _Look(float(width * (mass @ values)), float(width * rough), float(width * noise), is_smooth)


def _waves(panels: list[Panel], order: int) -> list[int]:
    """How many nodes the polynomials themselves need in each panel.

    A polynomial of degree n makes n half-waves over the angles of an interval on which it is bounded.
    """
    lower, upper = panels[0][0], panels[-1][1]
    edges = np.clip((np.array(panels) - lower) / (upper - lower), 0.0, 1.0)
    angles = np.diff(np.arccos(1 - 2 * edges), axis=1)[:, 0]
    return np.ceil(order * np.minimum(angles / 2, 1.0)).astype(int).tolist()


def _discretise(weight: Weight, panels: list[Panel], degrees: list[int]) -> Measure:
    """Nodes and masses (sum 1) that stand for the weight times polynomials of twice these degrees."""
    nodes, masses = [], []
    for (left, right), degree in zip(panels, degrees, strict=True):
        node, mass = _unit_rule(degree + _MARGIN)
        x = left + (right - left) * node
        nodes.append(x)
        masses.append((right - left) * mass * _checked_weight(weight, x))
    every_node, every_mass = np.concatenate(nodes), np.concatenate(masses)
    seen = every_mass > 0
    return every_node[seen], every_mass[seen] / every_mass.sum()


@lru_cache(maxsize=256)
def _unit_rule(order: int) -> Measure:
    return Legendre(order).gauss_rule()


@lru_cache(maxsize=1)
def _to_coefficients() -> Float[np.ndarray, "degrees nodes"]:
    node, mass = _unit_rule(_LOOK)
    return Legendre(_LOOK).values(node).T * mass


@lru_cache(maxsize=1)
def _close_to_the_ends() -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "points degrees"]]:
    distance = 10.0 ** -np.arange(2, 13)
    points = np.concatenate([distance, 1 - distance])
    return points, Legendre(_LOOK).values(points)


def _checked_weight(weight: Weight, x: Float[np.ndarray, " nodes"]) -> Float[np.ndarray, " nodes"]:
    with np.errstate(all="ignore"):  # what comes out is looked at right below
        values = np.asarray(weight(x))
    if values.shape != x.shape:
        raise ValueError(
            f"weight gave shape {values.shape} for points of shape {x.shape}; pass a function of arrays, "
            f"for example np.vectorize(weight)."
        )
    if values.dtype.kind not in "iufb":
        raise TypeError(f"weight gave dtype {values.dtype}; pass a function with real values.")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        raise ValueError(
            f"weight({x[wrong][0]}) = {values[wrong][0]}; a weight is finite and nowhere negative: "
            f"cut that part off the interval, or shift x so that a singularity stands at 0."
        )
    return values.astype(float)


def _lanczos(
    nodes: Float[np.ndarray, " nodes"], masses: Float[np.ndarray, " nodes"], order: int
) -> tuple[Float[np.ndarray, " order"], Float[np.ndarray, " order-1"]]:
    """The Jacobi matrix of a discrete measure; every new vector is orthogonalised against all before it."""
    vectors = np.empty((order, nodes.size))
    diagonal, off_diagonal = np.empty(order), np.empty(order)
    vector = np.sqrt(masses)
    for n in range(order):
        vectors[n] = vector
        following = nodes * vector
        diagonal[n] = following @ vector
        for _ in range(2):  # twice is enough
            following -= (vectors[: n + 1] @ following) @ vectors[: n + 1]
        off_diagonal[n] = np.linalg.norm(following)
        vector = following / off_diagonal[n]
    return diagonal, off_diagonal[:-1]


def _distance_from_orthonormality(family: Tabulated, measure: Measure) -> float:
    nodes, masses = measure
    # Around masses far from all others the recurrence itself is unstable and may overflow: then this is NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        values = family.values(nodes)
        gram = values.T @ (masses[:, None] * values)
    return float(np.abs(gram - np.eye(family.order)).max())
