"""Identification that chooses by itself: several forms, fitted to the simulated output, judged on held-out blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.checkpoint import register
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra.bounded_loop import BoundedLoop, Records, settled
from hippozoo.zoo.volterra.cascade import Cascade, _record
from hippozoo.zoo.volterra.cascade import _Problem as _CascadeProblem
from hippozoo.zoo.volterra.curve import BoundedPolynomial
from hippozoo.zoo.volterra.monomials import multi_indices

__all__ = ["FittedSystem", "Trial", "fit_system"]

_LINEAR, _SQUARE = ((0, 1), (1, 0)), ((0, 1), (1, 0), (2, 0))
_CUBE = ((0, 1), (1, 0), (2, 0), (3, 0))
#: The kinds of form that are tried.
FORMS = ("linear", "polynomial", "cascade", "loop")
# Records are standardised first, so only their own arithmetic must hold: differences of twice this size, errors a
# million times the output, and, at the other end, a spread with all its digits.
LARGEST, SMALLEST = 1e290, 1e-290
#: What may go around a loop: exponents of output and input.
LOOPS: dict[str, tuple[tuple[int, int], ...]] = {
    "linear loop": _LINEAR,
    "loop of degree 2": _SQUARE,
    "loop of degree 3": _CUBE,
    "loop with products, degree 2": ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0)),
    "loop with products, degree 3": tuple((i, j) for i in range(4) for j in range(4) if 1 <= i + j <= 3),
}


class Trial(NamedTuple):
    """One form that was tried.

    Parameters
    ----------
    form
        In words.
    memory
        Its memory, as text.
    ridge
        How strongly its parameters were held.
    unknowns
        How many numbers were fitted.
    error
        Root mean squared error of simulations of blocks that were held out, in the unit of the output; None if it
        could not be fitted.

    Examples
    --------
    >>> Trial("linear", "LegT(order=8, timescale=8.0)", 1e-3, 9, 0.25).form
    'linear'
    """

    form: str
    memory: str
    ridge: float
    unknowns: int
    error: float | None


@runtime_checkable
class _Fitted(Protocol):
    """A fitted form, in standardised units."""

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class _Candidate:
    """A form with its memory and ridge; `fit` gives what simulates."""

    form: str
    memory: Memory
    ridge: float
    unknowns: int
    fit: Callable[[_Candidate, Records, int], _Fitted]
    settings: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class FittedSystem:
    """What `fit_system` found: a model to simulate with, and how it was chosen.

    Parameters
    ----------
    form, memory
        The form that was chosen, in words, and its memory.
    unknowns
        How many numbers were fitted.
    error
        Root mean squared error of simulations of held-out blocks, in the unit of the output.
    tried
        All trials, best first.
    held_out
        For each held-out block: where it began in its record, what was measured, and what was simulated.
    """

    form: str
    memory: Memory
    unknowns: int
    error: float
    tried: tuple[Trial, ...]
    held_out: tuple[tuple[int, Float[np.ndarray, " _"], Float[np.ndarray, " _"]], ...]
    _fitted: _Fitted
    _units: tuple[float, float, float, float]
    _known: int

    def simulate(
        self, signal: Float[np.ndarray, " time"], known: Float[np.ndarray, " known"] | None = None
    ) -> Float[np.ndarray, " time"]:
        """The output for an input, from the input alone; it never runs away.

        Parameters
        ----------
        signal
            The input; before its first sample it was at that level.
        known
            The first measured outputs, if there are any: a simulation that knows them begins in the right state.
        """
        u0, u1, y0, y1 = self._units
        given = _record("signal", signal, _ONE_SIGNAL, _FILL_GAPS)
        first = np.zeros(0) if known is None or not np.size(known) else _record("known", known, "", _FILL_GAPS)
        with np.errstate(over="ignore", invalid="ignore"):  # said in words below
            outputs = y0 + y1 * self._fitted.simulate((given - u0) / u1, (first - y0) / y1)
        if not np.isfinite(outputs).all():
            also = f" and known {np.abs(first).max():.3g}" if len(first) else ""
            raise ValueError(
                f"signal reaches {np.abs(given).max():.3g}{also}, and the output leaves the range of floats; this "
                f"system was fitted to inputs of {u0:.3g} ± {u1:.3g} and outputs of {y0:.3g} ± {y1:.3g}: pass numbers "
                f"of that size, in the same units."
            )
        return outputs

    @property
    def block_errors(self) -> Float[np.ndarray, " blocks"]:
        """Root mean squared error of each held-out block: blocks that differ much say how far to trust `error`."""
        left = [(measured - told)[self._known :] for _, measured, told in self.held_out]
        return np.array([_root_mean_square(one) for one in left])

    @property
    def _worse_than_the_mean(self) -> str:
        return (
            f"no form is better than the mean of the output: the best errs by {self.error:.3g} on held-out blocks, the "
            f"mean by {self._units[3]:.3g}. Look whether input and output belong to one another, and whether the input "
            f"moves in every block; pass a longer record, or other forms."
        )

    def summary(self, rows: int = 8) -> str:
        """What was tried, as text: the best forms first."""
        blocks = self.block_errors
        lines = [
            f"chosen: {self.form}, {self.memory.system}, {self.unknowns} numbers; held-out RMSE {self.error:.4g} "
            f"({blocks.min():.4g} to {blocks.max():.4g} in {len(blocks)} blocks)"
        ]
        if self.error >= self._units[3]:
            lines.append(f"  {self._worse_than_the_mean}")
        best: dict[str, Trial] = {}
        for one in self.tried:
            best.setdefault(one.form, one)
        for one in list(best.values())[:rows]:
            told = "could not be fitted" if one.error is None else f"{one.error:.4g}"
            lines.append(f"  {one.form}: {told} ({one.memory}, ridge {one.ridge:g}, {one.unknowns} numbers)")
        return "\n".join(lines)


def fit_system(
    signal: Float[np.ndarray, " _"] | Sequence[Float[np.ndarray, " _"]],
    target: Float[np.ndarray, " _"] | Sequence[Float[np.ndarray, " _"]],
    *,
    known: int = 10,
    blocks: int = 4,
    forms: Sequence[str] = FORMS,
    most_rows: int = 8_000,
    progress: Callable[[float, str], None] | None = None,
) -> FittedSystem:
    """Find a model of a system from its input and output, without being told its form.

    Linear, polynomial, cascade and feedback forms are fitted to the *simulated* output, with a ridge that holds all
    parameters towards a simpler model. Each is judged by simulating blocks that it was not fitted to; the best one is
    fitted once more to everything. Loops feed back a bounded output, so that no simulation runs away.

    Parameters
    ----------
    signal, target
        Input and output of one record, or lists of them for several records.
    known
        So many measured outputs begin the simulation of a block, and do not count.
    blocks
        Into how many blocks the records are cut; each is held out once.
    forms
        Which kinds are tried, of "linear", "polynomial", "cascade" and "loop"; fewer are faster.
    most_rows
        Long records are searched on a stretch of this length; the best forms then compete on all of it.
    progress
        Called with the fraction done and what is being tried.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = np.repeat(rng.normal(size=100), 8)
    >>> y = np.zeros(800)
    >>> for t in range(1, 800):  # a tank: what flows out grows with the level, and not in proportion
    ...     y[t] = y[t - 1] + 0.2 * (u[t - 1] - y[t - 1] - 0.3 * y[t - 1] ** 3)
    >>> found = fit_system(u[:600], y[:600], forms=("linear", "loop"), blocks=2)
    >>> error = np.std(found.simulate(u[600:], known=y[600:610])[10:] - y[610:])
    >>> bool(error < 0.05 * y.std())
    True
    """
    known = whole_number("known", known)
    blocks = whole_number("blocks", blocks, minimum=2)
    most_rows = whole_number("most_rows", most_rows, minimum=200)
    if isinstance(forms, str) or not isinstance(forms, Collection):
        raise TypeError(f"forms={shorten(forms)}: pass several of {', '.join(FORMS)}, for example ('linear', 'loop').")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={shorten(progress)} cannot be called; pass a function of (fraction, text), or None.")
    unknown = [one for one in forms if one not in FORMS]
    if unknown or not len(forms):
        given_forms = f"has {unknown[0]!r}" if unknown else "is empty"
        raise ValueError(f"forms {given_forms}; choose from {', '.join(FORMS)}.")
    given = _records(signal, target, known, blocks)
    every_u, every_y = (np.concatenate([record[side] for record in given]) for side in (0, 1))
    units = (*_level_and_spread("signal", every_u), *_level_and_spread("target", every_y))
    if units[3] <= 1e-12 * np.abs(every_y).max():
        raise ValueError("target does not vary, and a constant says nothing about a system; pass an output that moves.")
    if units[1] <= 1e-12 * np.abs(every_u).max():
        raise ValueError("signal does not vary, and says nothing about the system; pass an input that moves.")
    records = [((u - units[0]) / units[1], (y - units[2]) / units[3]) for u, y in given]
    search = _Search(records, known, blocks, tuple(forms), most_rows, progress or _say_nothing)
    best = search.run()
    fitted = best.fit(best, records, known)
    trials = [
        Trial(c.form, str(c.memory.system), c.ridge, c.unknowns, None if error is None else error * units[3])
        for c, error in search.tried
    ]
    held_out = tuple(
        (begin, units[2] + units[3] * y, units[2] + units[3] * simulated) for begin, y, simulated in search.shown(best)
    )
    error = search.error_of(best)
    found = FittedSystem(
        form=best.form,
        memory=best.memory,
        unknowns=best.unknowns,
        error=error * units[3],
        tried=tuple(sorted(trials, key=lambda one: np.inf if one.error is None else one.error)),
        held_out=held_out,
        _fitted=fitted,
        _units=units,
        _known=known,
    )
    # Short records are often no better than the mean, and the summary says so; this is for results that are absurd.
    if error >= 10:
        warnings.warn(found._worse_than_the_mean, RuntimeWarning, stacklevel=2)
    return found


def _say_nothing(fraction: float, text: str) -> None:
    """Progress for callers that did not ask for any."""


_CUT_GAPS = "Cut the record there, and pass the pieces as a list of records."
_FILL_GAPS = "Fill the gap first."
_SEVERAL = "several records go into a list, and the systems fitted here have one input and one output"
_ONE_SIGNAL = "several records are simulated one by one"


def _by_two(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values divided by the power of 2 above them all, which changes no digit, and its exponent."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    return np.ldexp(values, -exponent), exponent


def _root_mean_square(values: np.ndarray) -> float:
    """Also of numbers whose squares a float does not hold."""
    scaled, exponent = _by_two(values)
    return float(np.ldexp(np.sqrt(np.mean(scaled**2)), exponent))


def _level_and_spread(name: str, values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation, also of numbers whose squares a float does not hold."""
    largest = float(np.abs(values).max())
    if largest > LARGEST:
        raise ValueError(
            f"{name} reaches {largest:.3g}, and numbers beyond {LARGEST:g} leave the range of floats; divide it by a "
            f"power of ten first."
        )
    if 0 < largest < SMALLEST:
        raise ValueError(
            f"no number of {name} is above {largest:.3g}, and numbers below {SMALLEST:g} lose their digits; multiply "
            f"it by a power of ten first."
        )
    scaled, exponent = _by_two(values)
    return float(np.ldexp(scaled.mean(), exponent)), float(np.ldexp(scaled.std(), exponent))


def _records(signal: Any, target: Any, known: int, blocks: int) -> list[tuple[np.ndarray, np.ndarray]]:
    several = isinstance(signal, (list, tuple)) and len(signal) > 0 and np.ndim(signal[0]) > 0
    if several and np.ndim(target[0] if isinstance(target, (list, tuple)) and len(target) else target) == 0:
        raise TypeError(f"signal is a list of records and target={shorten(target)}; pass a list with one output each.")
    inputs, outputs = (list(signal), list(target)) if several else ([signal], [target])
    if len(inputs) != len(outputs):
        raise ValueError(f"signal has {len(inputs)} records and target {len(outputs)}; pass one output per input.")
    found = []
    for number, (one, other) in enumerate(zip(inputs, outputs, strict=True)):
        which = f"[{number}]" if several else ""
        u = _record(f"signal{which}", one, _SEVERAL, _CUT_GAPS)
        y = _record(f"target{which}", other, _SEVERAL, _CUT_GAPS)
        if u.shape != y.shape:
            raise ValueError(f"signal{which} has {len(u)} samples and target{which} {len(y)}; pass as many outputs.")
        found.append((u, y))
    rows = sum(len(u) for u, _ in found)
    if rows < blocks * (known + 40):
        raise ValueError(
            f"{rows} samples are too few for {blocks} blocks, of which {known} samples each begin a simulation; pass "
            f"at least {blocks * (known + 40)} samples, fewer blocks, or a smaller known."
        )
    return found


# -- the forms --------------------------------------------------------------------------------------------------------
# They stand in checkpoints of a FittedSystem, so they are registered: they are no public classes.


@register(name="hippozoo.zoo.volterra.system_fit.Readout")
@dataclass(frozen=True, eq=False)
class _Readout:
    """A polynomial of directions of the input's memory, bounded to what was seen."""

    memory: Memory
    directions: np.ndarray
    degree: int
    weights: np.ndarray
    reach: np.ndarray

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        return self.features(signal) @ self.weights

    def features(self, signal: np.ndarray) -> np.ndarray:
        states = self.memory.scan(signal, settled(self.memory, float(signal[0])))
        seen = states @ self.directions
        if self.degree > 1:
            seen = np.clip(seen, -self.reach, self.reach)
        products = [
            np.prod(seen[:, multi_indices(seen.shape[1], degree)], axis=2) for degree in range(2, self.degree + 1)
        ]
        return np.concatenate([np.ones((len(signal), 1)), seen, *products], axis=1)


def _fit_readout(candidate: _Candidate, records: Records, known: int) -> _Readout:
    degree, count = candidate.settings
    memory = candidate.memory
    states = np.concatenate([memory.scan(u, settled(memory, float(u[0])))[known:] for u, _ in records])
    wanted = np.concatenate([y[known:] for _, y in records])
    order = states.shape[1]
    if degree == 1:
        directions, reach = np.eye(order), np.full(order, np.inf)
    else:
        # The best linear functional, and the directions in which the input moves the memory most.
        normal = states.T @ states + 1e-6 * np.trace(states.T @ states) * np.eye(order)
        best = np.linalg.solve(normal, states.T @ wanted)
        leading = np.linalg.eigh(states.T @ states)[1][:, ::-1][:, : count - 1]
        directions = np.column_stack([best, leading])
        spread = (states @ directions).std(axis=0)
        directions = directions / np.where(spread > 0, spread, 1.0)
        reach = 1.2 * np.abs(states @ directions).max(axis=0)
    empty = _Readout(memory, directions, degree, np.zeros(0), reach)
    rows = np.concatenate([empty.features(u)[known:] for u, _ in records])
    scale = np.sqrt(np.square(rows).mean(axis=0)) + 1e-12
    rows = rows / scale
    held = candidate.ridge * len(rows) * (np.arange(rows.shape[1]) > 0)
    weights = np.linalg.solve(rows.T @ rows + np.diag(held + 1e-12 * len(rows)), rows.T @ wanted) / scale
    return replace(empty, weights=weights)


@register(name="hippozoo.zoo.volterra.system_fit.Bent")
@dataclass(frozen=True, eq=False)
class _Bent:
    """A cascade: filter, curve, filter."""

    cascade: Cascade
    weights: Any

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        # A constant past, long enough for both filters.
        before = int(8 * self.cascade.first.system.timescale)
        return self.cascade.simulate(self.weights, np.append(np.full(before, signal[0]), signal))[before:]


def _fit_cascade(candidate: _Candidate, records: Records, known: int) -> _Bent:
    degree, reach, iterations = candidate.settings
    memory = candidate.memory
    cascade = Cascade(memory, memory, BoundedPolynomial(degree, reach))
    before = int(8 * memory.system.timescale)
    problems = [
        _CascadeProblem(
            cascade,
            np.append(np.full(before, u[0]), u),
            np.append(np.full(before, y[0]), y),
            before + known,
        )
        for u, y in records
    ]
    longest = max(problems, key=lambda problem: len(problem.target))
    count = sum(len(problem.target) - problem.warm_up for problem in problems)
    fits = []
    for share in (0.0, 1.0):
        start = longest.start(share)
        effect = np.square(np.concatenate([problem.jacobian(start) for problem in problems])).mean(axis=0)
        weight = np.sqrt(candidate.ridge * count * effect)

        def residual(parameters: np.ndarray, start: np.ndarray = start, weight: np.ndarray = weight) -> np.ndarray:
            parts = [problem.residual(parameters) for problem in problems]
            return np.concatenate([*parts, weight * (start - parameters)])

        def jacobian(parameters: np.ndarray, weight: np.ndarray = weight) -> np.ndarray:
            return np.concatenate([*(problem.jacobian(parameters) for problem in problems), np.diag(weight)])

        fits.append(minimise(start, residual, jacobian, iterations))
    return _Bent(cascade, longest.weights(min(fits, key=lambda fit: fit.cost).parameters))


@register(name="hippozoo.zoo.volterra.system_fit.Looped")
@dataclass(frozen=True, eq=False)
class _Looped:
    """A bounded loop; where the output stood at an end of its range, it cannot go beyond."""

    loop: BoundedLoop
    parameters: np.ndarray
    floor: float
    ceiling: float

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        if not len(known):
            # From a constant past at the first input: let it settle there.
            before = 4 * len(self.loop._responses)
            outputs = self.loop.simulate(self.parameters, np.append(np.full(before, signal[0]), signal))[before:]
        else:
            outputs = self.loop.simulate(self.parameters, signal, known)
        return np.clip(outputs, self.floor, self.ceiling)


def _stands(values: np.ndarray, end: float) -> bool:
    """Whether a hundredth of the record and more stands at this end of its range."""
    return bool((np.abs(values - end) < 0.01 * np.ptp(values)).mean() > 0.02)


def _fit_loop(candidate: _Candidate, records: Records, known: int) -> _Looped:
    terms, iterations = candidate.settings
    values = np.concatenate([y for _, y in records])
    low, high, room = float(values.min()), float(values.max()), float(np.ptp(values))
    floor = low if _stands(values, low) else -np.inf
    ceiling = high if _stands(values, high) else np.inf
    reach = 1.5 * max(float(np.abs(u).max()) for u, _ in records)
    loop = BoundedLoop(candidate.memory, terms, max(floor, low - room), min(ceiling, high + room), reach)
    order = candidate.memory.system.order
    start = loop.equation_fit(records, known, 1e-5)
    if terms == _LINEAR:
        parameters, _ = loop.fit(records, known, candidate.ridge, [start], start, iterations)
        return _Looped(loop, parameters, floor, ceiling)
    # Held towards the linear loop, which is fitted first.
    line = replace(loop, terms=_LINEAR)
    begin = line.equation_fit(records, known, 1e-5)
    simple, _ = line.fit(records, known, 0.0, [begin], begin, iterations)
    prior = np.zeros(loop.n_parameters)
    prior[0] = simple[0]
    for place, term in enumerate(terms):
        if term in _LINEAR:
            here, there = 1 + place * order, 1 + _LINEAR.index(term) * order
            prior[here : here + order] = simple[there : there + order]
    parameters, _ = loop.fit(records, known, candidate.ridge, [prior, start], prior, iterations)
    return _Looped(loop, parameters, floor, ceiling)


# -- the search -------------------------------------------------------------------------------------------------------


_NOTHING_FITS = "no form could be fitted; look for outliers in the records, or pass longer ones."


class _Search:
    """Forms in turn: the best memories of the simple ones carry the others."""

    def __init__(
        self,
        records: Records,
        known: int,
        blocks: int,
        forms: tuple[str, ...],
        most_rows: int,
        progress: Callable[[float, str], None],
    ) -> None:
        self.records, self.known, self.blocks, self.forms = records, known, blocks, forms
        self.progress = progress
        self.tried: list[tuple[_Candidate, float | None]] = []
        self.rows = sum(len(u) for u, _ in records)
        self.most_rows, self.is_long = most_rows, self.rows > most_rows
        self.stretch = _stretch(records, most_rows) if self.is_long else records
        self._final: dict[int, float] = {}

    def run(self) -> _Candidate:
        if next(_folds(self.stretch, self.blocks, self.known), None) is None:
            raise ValueError(
                f"no record leaves more than {self.known + 20} samples to learn from when a block is held out: the "
                f"longest has {max(len(u) for u, _ in self.stretch)}"
                + (f" after most_rows={self.most_rows} cut it" if self.is_long else "")
                + "; pass longer records, "
                + ("a larger most_rows, or a smaller known." if self.is_long else "or a smaller known.")
            )
        wanted = {form: form in self.forms for form in FORMS}
        # Polynomials and cascades take the memories of the best linear readouts, loops those of the best linear loops.
        needed = wanted["linear"] or wanted["polynomial"] or wanted["cascade"]
        readouts = self._judge_all(self._linear_readouts() if needed else [], 0.0, 0.15)
        memories = [one.memory for one in readouts[:2]]
        polynomials = self._judge_all(self._polynomials(memories) if wanted["polynomial"] else [], 0.15, 0.3)
        cascades = self._judge_all(self._cascades(memories) if wanted["cascade"] else [], 0.3, 0.5)
        lines = self._judge_all(self._lines() if wanted["loop"] else [], 0.5, 0.6)
        loops = self._judge_all(self._loops([one.memory for one in lines[:3]]), 0.6, 0.9)
        ranked = [one for one, error in self._ranked() if error is not None]
        if not ranked:
            raise ValueError(_NOTHING_FITS)
        if not self.is_long:
            return ranked[0]
        # On a stretch one form may look as good as another: the best of each kind compete on everything.
        finalists: list[_Candidate] = []
        for kind in (readouts, polynomials, cascades, lines, loops):
            usable = [one for one in kind if one in ranked]
            finalists += self._widened(usable[0]) if usable and usable[0] in ranked[:6] else []
        finalists = finalists or ranked[:1]
        for number, one in enumerate(finalists):
            self.progress(0.9 + 0.1 * number / len(finalists), f"{one.form}, on everything")
            self._final[id(one)] = self._hold_out_last(one)
        best = min(finalists, key=lambda one: self._final[id(one)])
        if not np.isfinite(self._final[id(best)]):
            raise ValueError(_NOTHING_FITS)
        self.tried += [(one, self._final[id(one)]) for one in finalists]
        return best

    def error_of(self, candidate: _Candidate) -> float:
        if id(candidate) in self._final:
            return self._final[id(candidate)]
        return next(error for one, error in self.tried if one is candidate and error is not None)

    def shown(self, candidate: _Candidate) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The held-out blocks of the form that was chosen, simulated."""
        for learn, (begin, u, y) in _folds(self.stretch, self.blocks, self.known):
            yield begin, y, candidate.fit(candidate, learn, self.known).simulate(u, y[: self.known])

    def _ranked(self) -> list[tuple[_Candidate, float | None]]:
        return sorted(self.tried, key=lambda pair: np.inf if pair[1] is None else pair[1])

    def _judge_all(self, candidates: list[_Candidate], begin: float, end: float) -> list[_Candidate]:
        """All of them by held-out blocks; the best first."""
        found = []
        for number, one in enumerate(candidates):
            self.progress(begin + (end - begin) * number / len(candidates), one.form)
            error = self._held_out(one)
            self.tried.append((one, error))
            found.append((np.inf if error is None else error, number, one))
        return [one for _, _, one in sorted(found)]

    def _held_out(self, candidate: _Candidate, records: Records | None = None) -> float | None:
        squares, count = 0.0, 0
        for learn, (_, u, y) in _folds(self.stretch if records is None else records, self.blocks, self.known):
            if sum(len(record[0]) - self.known for record in learn) <= 2 * candidate.unknowns:
                return None
            try:
                simulated = candidate.fit(candidate, learn, self.known).simulate(u, y[: self.known])
            except (np.linalg.LinAlgError, ValueError, FloatingPointError):
                return None
            left = (simulated - y)[self.known :]
            if not np.isfinite(left).all():
                return None
            squares, count = squares + float(left @ left), count + len(left)
        return float(np.sqrt(squares / count))

    def _hold_out_last(self, candidate: _Candidate) -> float:
        """On all rows: the last fifth of every record is held out."""
        squares, count = 0.0, 0
        cut = [(len(u) - len(u) // 5) for u, _ in self.records]
        if all(len(u) - c <= self.known for (u, _), c in zip(self.records, cut, strict=True)):
            # Many short records: nothing would be left of their last fifths, so whole ones are held out.
            error = self._held_out(candidate, self.records)
            return float("inf") if error is None else error
        learn = [(u[:c], y[:c]) for (u, y), c in zip(self.records, cut, strict=True)]
        try:
            fitted = candidate.fit(candidate, learn, self.known)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError):
            return float("inf")
        for (u, y), c in zip(self.records, cut, strict=True):
            left = (fitted.simulate(u[c:], y[c : c + self.known]) - y[c:])[self.known :]
            squares, count = squares + float(left @ left), count + len(left)
        error = float(np.sqrt(squares / count))
        return error if np.isfinite(error) else float("inf")

    # -- candidates ----------------------------------------------------------------------------------------------

    def _linear_readouts(self) -> list[_Candidate]:
        rows = sum(len(u) for u, _ in self.stretch)
        made = []
        for order, timescale in ((8, 4.0), (16, 8.0), (32, 16.0), (16, 32.0), (32, 32.0), (32, 64.0), (32, 128.0)):
            if 4 * order < rows / 4 and 2 * timescale < rows / self.blocks:
                for ridge in (1e-6, 1e-3):
                    memory = Memory(LegS(order, timescale))
                    made.append(_Candidate("linear readout", memory, ridge, order + 1, _fit_readout, (1, order)))
        return made

    def _polynomials(self, memories: list[Memory]) -> list[_Candidate]:
        made = []
        for memory in memories:
            for degree, count in ((2, 4), (2, 8), (3, 3), (3, 5)):
                size = sum(len(multi_indices(count, k)) for k in range(1, degree + 1)) + 1
                for ridge in (1e-5, 1e-2):
                    form = f"polynomial readout of degree {degree}"
                    made.append(_Candidate(form, memory, ridge, size, _fit_readout, (degree, count)))
        return made

    def _cascades(self, memories: list[Memory]) -> list[_Candidate]:
        made = []
        for memory in memories[:1]:
            for degree, reach in ((3, 3.0), (9, 2.5)):
                unknowns = 2 * memory.system.order + degree + 1
                for ridge in (1e-6, 1e-3):
                    settings = (degree, reach, 15)
                    made.append(_Candidate("cascade", memory, ridge, unknowns, _fit_cascade, settings))
        return made

    def _lines(self) -> list[_Candidate]:
        memories = [Memory(LegT(order, float(order))) for order in (1, 2, 3, 4, 6, 8, 12)]
        memories += [Memory(LegS(order, timescale)) for order, timescale in ((2, 2.0), (2, 4.0), (3, 8.0), (8, 4.0))]
        return [self._loop("linear loop", memory, 0.0) for memory in memories]

    def _loops(self, memories: list[Memory]) -> list[_Candidate]:
        return [
            self._loop(form, memory, ridge)
            for memory in memories
            for form, terms in LOOPS.items()
            if terms != _LINEAR and len(terms) * memory.system.order < 60
            for ridge in ((0.01, 3.0, 100.0) if not self.is_long else (1e-6, 1e-2))
        ]

    def _loop(self, form: str, memory: Memory, ridge: float, iterations: int = 15) -> _Candidate:
        terms = LOOPS[form]
        unknowns = 1 + len(terms) * memory.system.order
        return _Candidate(form, memory, ridge, unknowns, _fit_loop, (terms, iterations))

    def _widened(self, candidate: _Candidate) -> list[_Candidate]:
        """The form once more, with the freedom that a long record allows."""
        if candidate.form == "cascade":
            order = candidate.memory.system.order
            return [
                replace(candidate, ridge=1e-12, settings=(degree, reach, 40), unknowns=2 * order + degree + 1)
                for degree, reach in ((9, 2.5), (21, 2.5))
            ]
        if candidate.fit is _fit_loop:
            longer = [Memory(LegT(order, float(order))) for order in (6, 8) if order > candidate.memory.system.order]
            forms = [one for one in (candidate.form, "loop of degree 3") if one in LOOPS]
            return [self._loop(candidate.form, candidate.memory, 1e-9, 40)] + [
                self._loop(form, memory, 1e-9, 40)
                for form in dict.fromkeys(forms)
                for memory in longer
                if len(LOOPS[form]) * memory.system.order < 60
            ]
        return [candidate]


def _stretch(records: Records, most_rows: int) -> Records:
    """The last part of each record, in proportion."""
    share = most_rows / sum(len(u) for u, _ in records)
    kept = [max(1, round(share * len(u))) for u, _ in records]
    return [(u[-count:], y[-count:]) for (u, y), count in zip(records, kept, strict=True)]


def _folds(
    records: Records, blocks: int, known: int
) -> Iterator[tuple[list[tuple[np.ndarray, np.ndarray]], tuple[int, np.ndarray, np.ndarray]]]:
    """Each block once held out, and the rest as records of their own; blocks do not cross records."""
    rows = sum(len(u) for u, _ in records)
    cuts = []
    for number, (u, _) in enumerate(records):
        count = max(1, round(blocks * len(u) / rows))
        if len(records) == 1:
            count = blocks
        edges = np.linspace(0, len(u), count + 1).round().astype(int)
        cuts += [(number, int(a), int(b)) for a, b in pairwise(edges)]
    for number, begin, end in cuts:
        learn = []
        for other, (u, y) in enumerate(records):
            spans = [(0, begin), (end, len(u))] if other == number else [(0, len(u))]
            learn += [(u[a:b], y[a:b]) for a, b in spans if b - a > known + 20]
        u, y = records[number]
        if learn and end - begin > known:
            yield learn, (begin, u[begin:end], y[begin:end])
