"""A cascade, memory -> polynomial -> memory: a Wiener-Hammerstein system, with Volterra kernels in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra._records import (
    Record,
    checked_pair,
    checked_record,
    checked_weights,
    demand_memory,
    is_still,
)
from hippozoo.zoo.volterra.kernels import default_length, sample_responses

__all__ = ["BoundedPolynomial", "Cascade", "CascadeProblem", "CascadeWeights", "branch_kernel"]


@dataclass(frozen=True)
class BoundedPolynomial:
    """A polynomial of z for abs(z) <= reach, continued by its tangents: it never extrapolates wildly.

    Its coefficients multiply the Chebyshev polynomials of z / reach.

    Parameters
    ----------
    degree
        Degree of the polynomial.
    reach
        Where the straight lines begin.

    Examples
    --------
    >>> curve = BoundedPolynomial(degree=2, reach=1.0)
    >>> square = np.array([0.5, 0.0, 0.5])  # z^2 = (T_0 + T_2) / 2
    >>> curve.value(square, np.array([0.5, 1.0, 2.0])).tolist()  # beyond 1: the tangent 2 z - 1
    [0.25, 1.0, 3.0]
    """

    degree: int
    reach: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number("degree", self.degree))
        object.__setattr__(self, "reach", positive_number("reach", self.reach))

    @property
    def terms(self) -> int:
        """Number of coefficients."""
        return self.degree + 1

    def basis(
        self, z: Float[np.ndarray, " time"]
    ) -> tuple[Float[np.ndarray, "time terms"], Float[np.ndarray, "time terms"]]:
        """The bounded Chebyshev polynomials at z, and their slopes."""
        scaled = np.asarray(z, float) / self.reach
        inside = np.clip(scaled, -1.0, 1.0)
        first, second = np.empty((2, len(scaled), self.terms))
        first[:, 0], first[:, 1] = 1.0, inside
        second[:, 0], second[:, 1] = 1.0, 2 * inside
        for m in range(2, self.terms):
            first[:, m] = 2 * inside * first[:, m - 1] - first[:, m - 2]
            second[:, m] = 2 * inside * second[:, m - 1] - second[:, m - 2]
        # T_m' = m U_(m-1); outside, the slope stays that of the end.
        slopes = np.zeros_like(first)
        slopes[:, 1:] = second[:, :-1] * np.arange(1, self.terms)
        first += slopes * (scaled - inside)[:, None]
        return first, slopes / self.reach

    def value(
        self, coefficients: Float[np.ndarray, " terms"], z: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, " time"]:
        """The curve at z."""
        return self.basis(real_array("z", z))[0] @ coefficients

    def monomials(self, coefficients: Float[np.ndarray, " terms"]) -> Float[np.ndarray, " terms"]:
        """The same polynomial, inside its range, as coefficients of the powers of z."""
        powers = chebyshev.cheb2poly(coefficients)
        return np.pad(powers, (0, self.terms - len(powers))) / self.reach ** np.arange(self.terms)


class CascadeWeights(NamedTuple):
    """What a cascade has learnt."""

    first: Float[np.ndarray, " first_order"]  #: The functional of the first memory's state: the first filter.
    curve: Float[np.ndarray, " terms"]  #: Coefficients of the nonlinearity.
    second: Float[np.ndarray, " second_order"]  #: The functional of the second memory's state: the second filter.


@dataclass(frozen=True)
class Cascade:
    """y = second filter of curve(first filter of the input), both filters read from memories.

    Parameters
    ----------
    first
        The memory of the input.
    second
        The memory of the bent signal.
    curve
        The nonlinearity; its range counts in standard deviations of the signal it meets at the start of the fit.

    Examples
    --------
    >>> from hippozoo.systems import LegS
    >>> signal = np.random.default_rng(0).normal(size=4000)
    >>> memory = Memory(LegS(order=6, timescale=4.0))
    >>> cascade = Cascade(memory, memory, BoundedPolynomial(degree=3, reach=3.0))
    >>> unknown = CascadeWeights(np.ones(6), np.array([0.0, 1.0, 0.5, 0.0]), np.linspace(1, 0, 6))
    >>> target = cascade.simulate(unknown, signal)
    >>> found = cascade.fit(signal, target)
    >>> error = np.std(cascade.simulate(found, signal) - target) / target.std()
    >>> bool(error < 1e-3)
    True
    """

    first: Memory
    second: Memory
    curve: BoundedPolynomial

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            demand_memory(name, getattr(self, name))
        if not isinstance(self.curve, BoundedPolynomial):
            raise TypeError(f"curve={shorten(self.curve)}: pass BoundedPolynomial(degree, reach).")

    def simulate(self, weights: CascadeWeights, signal: Record) -> Record:
        """The output for an input that was zero before its first sample."""
        weights = self._checked(weights)
        middle = self.first.readout(checked_record("signal", signal), weights.first)
        return self.second.readout(self.curve.value(weights.curve, middle), weights.second)

    def fit(
        self,
        signal: Record,
        target: Record,
        warm_up: int = 0,
        starts: Sequence[float] = (0.0, 1.0),
        iterations: int = 40,
        progress: Callable[[float], None] | None = None,
    ) -> CascadeWeights:
        """Least squares on the simulated output, by Levenberg-Marquardt; both records must vary after the warm-up.

        Parameters
        ----------
        signal, target
            Input and output.
        warm_up
            How many samples at the beginning are not fitted, because the past before them is unknown.
        starts
            Shares of the best linear model that the first filter gets at the start: 0 begins with a curve and then a
            filter, 1 with a filter and then a curve. The best fit of all starts is kept.
        iterations
            At most so many steps from each start.
        progress
            Called with the fraction done.
        """
        warm_up = whole_number("warm_up", warm_up, minimum=0)
        iterations = whole_number("iterations", iterations, minimum=0)
        shares = real_array("starts", starts)
        if shares.ndim != 1:
            raise ValueError(f"starts={shorten(starts)}: pass shares in a sequence, for example (0.0, 1.0).")
        if not len(shares):
            raise ValueError("starts is empty; pass at least one share, for example (0.0, 1.0).")
        unknowns = self.first.system.order + self.curve.terms + self.second.system.order
        values, wanted = checked_pair(signal, target, warm_up, unknowns)
        problem = CascadeProblem(self, values, wanted, warm_up)
        if is_still(values[warm_up:]) and is_still(problem.states[warm_up:], tolerance=1e-6):
            raise ValueError(
                f"signal is {values[-1]:.6g} in all samples after warm_up={warm_up}, and its memory stands still; pass "
                f"an input that varies, or a smaller warm_up."
            )
        fits = []
        for number, share in enumerate(shares):

            def say(done: float, number: int = number) -> None:
                if progress is not None:
                    progress((number + done) / len(shares))

            begin = problem.start(float(share))
            fits.append(minimise(begin, problem.residual, problem.jacobian, iterations, progress=say))
        return problem.weights(min(fits, key=lambda fit: fit.cost).parameters)

    def filters(
        self, weights: CascadeWeights, length: int | None = None
    ) -> tuple[Float[np.ndarray, " length"], Float[np.ndarray, " length"]]:
        """The impulse responses of both filters at sample lags."""
        weights = self._checked(weights)
        count = self._length(length)
        return (
            sample_responses(self.first, count) @ weights.first,
            sample_responses(self.second, count) @ weights.second,
        )

    def kernel(self, weights: CascadeWeights, k: int, length: int | None = None) -> Float[np.ndarray, "..."]:
        """The Volterra kernel of degree k, in closed form: c_k Σ_j second[j] first[τ1 - j] … first[τk - j].

        c_k is the coefficient of z^k in the curve. Holds while the signal stays inside the curve's range.
        """
        if k not in range(1, self.curve.degree + 1):
            raise ValueError(f"k={shorten(k)}: this cascade has kernels of degree 1 to {self.curve.degree}.")
        first, second = self.filters(weights, length)
        return branch_kernel(self.curve.monomials(weights.curve)[int(k)] * second, [first] * int(k))

    def _checked(self, weights: CascadeWeights) -> CascadeWeights:
        sizes = (self.first.system.order, self.curve.terms, self.second.system.order)
        shapes = {name: (size,) for name, size in zip(CascadeWeights._fields, sizes, strict=True)}
        return checked_weights(weights, CascadeWeights, shapes, "this cascade")

    def _length(self, length: int | None) -> int:
        if length is not None:
            return whole_number("length", length)
        return max(default_length(self.first), default_length(self.second))


def branch_kernel(
    outer: Float[np.ndarray, " length"], inner: Sequence[Float[np.ndarray, "..."]]
) -> Float[np.ndarray, "..."]:
    """The kernel of a product of filtered inputs that is filtered once more: Σ_j outer[j] Π inner[…, τ - j].

    The kernels `inner` may be of any degree, with the same number of lags on all axes.
    """
    product = inner[0]
    for kernel in inner[1:]:
        product = np.multiply.outer(product, kernel)
    total = np.zeros_like(product)
    length = len(outer)
    for j in range(length):
        if outer[j]:
            later = (slice(j, None),) * product.ndim
            earlier = (slice(0, length - j),) * product.ndim
            total[later] += outer[j] * product[earlier]
    return total


class CascadeProblem:
    """The least-squares problem of one record: residuals, Jacobian, and where to start."""

    def __init__(self, cascade: Cascade, signal: np.ndarray, target: np.ndarray, warm_up: int) -> None:
        self.cascade = cascade
        self.target = target
        self.warm_up = warm_up
        self.states = cascade.first.scan(signal)
        self.cuts = np.cumsum([cascade.first.system.order, cascade.curve.terms])

    def weights(self, parameters: np.ndarray) -> CascadeWeights:
        """The parameters by name."""
        first, curve, second = np.split(parameters, self.cuts)
        return CascadeWeights(first.copy(), curve.copy(), second.copy())

    def residual(self, parameters: np.ndarray) -> np.ndarray:
        """Target minus simulation, after the warm-up."""
        first, curve, second = np.split(parameters, self.cuts)
        bent = self.cascade.curve.value(curve, self.states @ first)
        return (self.target - self.cascade.second.readout(bent, second))[self.warm_up :]

    def jacobian(self, parameters: np.ndarray) -> np.ndarray:
        """How each parameter changes the simulation, after the warm-up."""
        first, curve, second = np.split(parameters, self.cuts)
        values, slopes = self.cascade.curve.basis(self.states @ first)
        memory = self.cascade.second
        # The second filter is linear: what changes before it, changes the output through it.
        by_first = memory.readout(self.states * (slopes @ curve)[:, None], second)
        by_curve = memory.readout(values, second)
        by_second = memory.scan(values @ curve)
        return np.concatenate([by_first, by_curve, by_second], axis=1)[self.warm_up :]

    @cached_property
    def linear(self) -> np.ndarray:
        """Functional of the first memory that predicts the target best (a trace of ridge against collinearity)."""
        rows = self.states[self.warm_up :]
        wanted = self.target[self.warm_up :] - self.target[self.warm_up :].mean()
        normal = rows.T @ rows
        return np.linalg.solve(normal + 1e-9 * np.trace(normal) * np.eye(len(normal)), rows.T @ wanted)

    def start(self, share: float) -> np.ndarray:
        """The linear model's frequency response to the power `share` in front, the rest behind."""
        cascade = self.cascade
        length = 4 * cascade._length(None)
        responses = [sample_responses(memory, length) for memory in (cascade.first, cascade.second)]
        whole = np.fft.rfft(responses[0] @ self.linear, 4 * length)
        sign = 1.0 if whole[0].real >= 0 else -1.0
        # A floor, because a zero of the response has no logarithm.
        size = np.log(np.abs(whole) + 1e-4 * np.abs(whole).max())
        logarithm = size + 1j * np.unwrap(np.angle(sign * whole))
        parts = [np.exp(share * logarithm), sign * np.exp((1 - share) * logarithm)]
        impulses = [np.fft.irfft(part, 4 * length)[:length] for part in parts]
        first, second = (
            np.linalg.lstsq(table, impulse, rcond=1e-10)[0] for table, impulse in zip(responses, impulses, strict=True)
        )
        middle = self.states @ first
        first = first / middle[self.warm_up :].std()
        columns = cascade.second.readout(cascade.curve.basis(self.states @ first)[0], second)[self.warm_up :]
        curve = np.linalg.lstsq(columns, self.target[self.warm_up :], rcond=1e-8)[0]
        return np.concatenate([first, curve, second])
