"""Learning online, one step per sample: plain gradient, normalised gradient, ridge least squares.

A learner is pure: it takes the state of learning and returns a new one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array
from hippozoo.zoo.volterra._kernels import NORMALISED, PLAIN, learn_least_squares
from hippozoo.zoo.volterra.readouts import PolynomialReadout, Readout

__all__ = ["NLMS", "SGD", "DivergenceError", "Learner", "LearntState", "RidgeRLS"]

# A prediction a million times as large as 1 + every target so far is no prediction any more.
_LIMIT = 1e6


class LearntState(NamedTuple):
    """Where learning stands."""

    parameters: Float[np.ndarray, " parameters"]  #: Those of the readout.
    power: Float[np.ndarray, " groups"]  #: Running mean square of the gradient, group by group (NLMS).
    covariance: Float[
        np.ndarray, "terms terms"
    ]  #: Inverse of the normal matrix, lower triangle (RidgeRLS, else empty).
    seen: int  #: How many samples have been learnt from.
    largest: float  #: The largest target so far, in absolute value.


class DivergenceError(ArithmeticError):
    """Learning or a simulation ran away; the message says where and why. Nothing was changed.

    `sample` is the index within the array given, `what` says what ran away.
    """

    def __init__(self, message: str, sample: int, what: str = "learning diverged") -> None:
        super().__init__(f"{what} at sample {sample}: {message}")
        self.message = message
        self.sample = sample
        self.what = what

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.sample, self.what)

    def later(self, samples: int) -> DivergenceError:
        """The same, seen from so many samples earlier."""
        return DivergenceError(self.message, self.sample + samples, self.what)


class Learner(ABC):
    """How the parameters of a readout follow the samples."""

    def initial_state(self, readout: Readout, rng: np.random.Generator | None = None) -> LearntState:
        """Nothing learnt yet."""
        self._check_readout(readout)
        return LearntState(
            readout.initial_parameters(rng), np.zeros(readout.groups), self._initial_covariance(readout), 0, 0.0
        )

    def learn(
        self,
        readout: Readout,
        states: Float[np.ndarray, "time inputs"],
        targets: Float[np.ndarray, " time"],
        state: LearntState | None = None,
    ) -> tuple[Float[np.ndarray, " time"], LearntState]:
        """Predict each target from its state, then learn from it; the predictions, and where learning stands then.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> states = rng.normal(size=(2000, 3))
        >>> targets = 1 + 2 * states[:, 0] * states[:, 1]
        >>> readout = PolynomialReadout(inputs=3, degree=2)
        >>> predictions, learnt = NLMS().learn(readout, states, targets)
        >>> readout.tensor(learnt.parameters, 2)[0, 1].round(3).tolist()
        1.0
        """
        if state is None:
            state = self.initial_state(readout)
        self._check_readout(readout)
        rows = readout.checked_states(states)
        wanted = real_array("targets", targets)
        if rows.ndim != 2 or wanted.shape != rows.shape[:1]:
            raise ValueError(
                f"states has shape {rows.shape} and targets {wanted.shape}; pass (time, {readout.inputs}) and (time,)."
            )
        parameters = readout.checked_parameters(state.parameters).copy()
        power, covariance = np.array(state.power, float), np.array(state.covariance, float)
        if power.shape != (readout.groups,) or covariance.shape != self._covariance_shape(readout):
            raise ValueError(
                f"state has power {power.shape} and covariance {covariance.shape}, which is not a state of "
                f"{self!r} with {readout!r}; begin with initial_state(readout) or pass what learn returned."
            )
        bounds = np.array([_LIMIT, state.largest])
        predictions = np.empty(len(wanted))
        moved = LearntState(parameters, power, covariance, state.seen, state.largest)
        # A run-away multiplies up to infinity; it is noticed by its size, not by a warning.
        with np.errstate(all="ignore"):
            failed = self._run(readout, rows, np.ascontiguousarray(wanted), moved, bounds, predictions)
            broken = failed >= 0 or not np.isfinite(parameters).all()
        if broken:
            sample = failed if failed >= 0 else len(wanted) - 1
            why = self._likely_cause(readout, rows[: sample + 1])
            raise DivergenceError(
                f"it predicted {predictions[sample]:.3g} for a target of {wanted[sample]:.3g}. {why} The state "
                f"given is unchanged.",
                sample,
            )
        return predictions, moved._replace(seen=state.seen + len(wanted), largest=float(bounds[1]))

    def _check_readout(self, readout: Readout) -> None:
        if not isinstance(readout, Readout):
            raise TypeError(f"readout={readout!r} is no Readout; pass for example PolynomialReadout(inputs=64).")

    def _covariance_shape(self, readout: Readout) -> tuple[int, int]:
        return (0, 0)

    def _initial_covariance(self, readout: Readout) -> np.ndarray:
        return np.zeros(self._covariance_shape(readout))

    def _run(self, readout: Any, states: Any, targets: Any, moved: Any, bounds: Any, predictions: Any) -> int:
        """Change the arrays of `moved` and fill `predictions`; the sample that diverged, or -1."""
        step = (*self._rule, moved.power, float(moved.seen), bounds)
        return readout._learn(states, targets, moved.parameters, predictions, step)

    @property
    def _rule(self) -> tuple[int, float, float, float]:
        """Rule, rate, offset and horizon of a gradient step."""
        raise NotImplementedError

    @abstractmethod
    def _likely_cause(self, readout: Readout, states: np.ndarray) -> str:
        """Why learning ran away on these states, and what to do."""


@dataclass(frozen=True)
class SGD(Learner):
    """The paper's learner: one step down the gradient of (prediction - target)² per sample.

    Stable only while ``rate * |products|² < 1``, which depends on the scale of the input.

    Parameters
    ----------
    rate
        Learning rate.

    Examples
    --------
    >>> SGD(rate=0.03)
    SGD(rate=0.03)
    """

    rate: float = 3e-2

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive_number("rate", self.rate))

    @property
    def _rule(self) -> tuple[int, float, float, float]:
        return PLAIN, self.rate, 0.0, 1.0

    def _likely_cause(self, readout: Readout, states: np.ndarray) -> str:
        with np.errstate(over="ignore"):
            square = (states**2).sum(axis=1).max()
            degree = readout.degree if isinstance(readout, PolynomialReadout) else 1
            reached = self.rate * sum(square**k for k in range(degree + 1))
        if not np.isfinite(reached):
            return f"Products of states of {np.abs(states).max():.3g} are beyond every number: scale the input down."
        smaller = f"rate <= {self.rate / reached:.2g}" if isinstance(readout, PolynomialReadout) else "a smaller rate"
        return (
            f"Plain steps overshoot where rate * |products|^2 > 1, and it reached {reached:.3g} (the longest state "
            f"is {np.sqrt(square):.3g}): take {smaller}, scale the input down, or use NLMS(), which measures the "
            f"scale itself."
        )


@dataclass(frozen=True)
class NLMS(Learner):
    """Normalised steps: stable whatever the scale of the input; the default.

    Each degree is measured by its own running power, so that scaling the input changes nothing but the coefficients'
    units: ``step_k = rate * error * gradient_k / P_k / (offset + Σ_j |gradient_j|² / P_j)``. For products of
    functionals the step is halved until it makes the error of its own sample no larger, and the functionals of a
    product are kept of comparable length.

    Parameters
    ----------
    rate
        Part of the error that a step takes away, above 0 and below 2; 1 takes away all of it. Smaller averages over
        noise.
    offset
        Calms steps at quiet moments; relative to the mean power.
    horizon
        Number of samples over which powers are averaged.

    Examples
    --------
    >>> NLMS(rate=0.1).rate
    0.1
    """

    rate: float = 0.5
    offset: float = 0.1
    horizon: float = 1000.0

    def __post_init__(self) -> None:
        rate = positive_number("rate", self.rate)
        if rate >= 2:
            raise ValueError(f"rate={rate}: a normalised step of 2 or more makes the error grow; pass 0 < rate < 2.")
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "offset", positive_number("offset", self.offset))
        horizon = positive_number("horizon", self.horizon)
        if horizon < 1:
            raise ValueError(f"horizon={horizon}: powers are averaged over at least one sample; pass horizon >= 1.")
        object.__setattr__(self, "horizon", horizon)

    @property
    def _rule(self) -> tuple[int, float, float, float]:
        return NORMALISED, self.rate, self.offset, self.horizon

    def _likely_cause(self, readout: Readout, states: np.ndarray) -> str:
        return (
            f"Normalised steps run away only where products of functionals grow together or the input jumps by "
            f"orders of magnitude: take a smaller rate (it is {self.rate:g}) or look for outliers in the input."
        )


@dataclass(frozen=True)
class RidgeRLS(Learner):
    """Recursive least squares with a ridge: after every sample the exact minimiser of Σ error² + ridge ‖tensors‖².

    The norm is that of the full tensors. Costs O(terms²) per sample: meant for a few leading directions of the state
    (`VolterraModel(directions=…)`), low orders and low degrees. Without the ridge it would predict just as well, and
    the kernel would be noise in all directions that the input does not excite.

    Parameters
    ----------
    ridge
        Weight of the squared coefficients; in units of target² / coefficient².
    forgetting
        1 remembers all samples equally; below 1, a sample n steps old counts forgetting^n (the ridge fades with
        them).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states = rng.normal(size=(100, 2))
    >>> readout = PolynomialReadout(inputs=2, degree=2)
    >>> targets = states[:, 0] ** 2 - states[:, 1]
    >>> predictions, learnt = RidgeRLS(ridge=1e-8).learn(readout, states, targets)
    >>> readout.tensor(learnt.parameters, 1)[1].round(6).tolist()
    -1.0
    """

    ridge: float = 1e-3
    forgetting: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", positive_number("ridge", self.ridge))
        forgetting = positive_number("forgetting", self.forgetting)
        if forgetting > 1:
            raise ValueError(f"forgetting={forgetting}: old samples cannot count more; pass 0 < forgetting <= 1.")
        object.__setattr__(self, "forgetting", forgetting)

    def _check_readout(self, readout: Readout) -> None:
        super()._check_readout(readout)
        if not readout.linear_in_parameters:
            raise ValueError(
                f"{readout!r} is not linear in its parameters, so there is no least-squares recursion for it; use "
                f"NLMS(), or a PolynomialReadout."
            )
        if readout.n_parameters > 20_000:
            raise ValueError(
                f"{readout!r} has {readout.n_parameters} coefficients, and RidgeRLS keeps their square; read fewer "
                f"directions of the state (VolterraModel(directions=…)), or use NLMS()."
            )

    def _covariance_shape(self, readout: Readout) -> tuple[int, int]:
        return (readout.n_parameters, readout.n_parameters)

    def _initial_covariance(self, readout: Readout) -> np.ndarray:
        return np.eye(readout.n_parameters) / self.ridge

    def _run(self, readout: Any, states: Any, targets: Any, moved: Any, bounds: Any, predictions: Any) -> int:
        table = readout.products
        root = np.sqrt(table.multiplicity)
        tables = (table.last, table.weights, root, moved.covariance)
        return learn_least_squares(states, targets, moved.parameters, *tables, self.forgetting, bounds, predictions)

    def _likely_cause(self, readout: Readout, states: np.ndarray) -> str:
        if self.forgetting < 1:
            return (
                f"With forgetting={self.forgetting:g} the ridge fades and directions that the input no longer excites "
                f"wind up: take forgetting closer to 1, or a larger ridge."
            )
        return (
            f"Rounding has the better of a covariance of condition |products|^2 / ridge: scale the input to rms 1, "
            f"take a larger ridge than {self.ridge:g}, or read fewer directions of the state."
        )
