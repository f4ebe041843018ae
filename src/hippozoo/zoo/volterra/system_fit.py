"""Identification that chooses by itself: several forms, fitted to the simulated output, judged on held-out blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._records import Known, Record, checked_record, known_outputs
from hippozoo.zoo.volterra._system_forms import Candidate, Fitted
from hippozoo.zoo.volterra._system_search import FORMS, Search

__all__ = ["FittedSystem", "Trial", "fit_system"]

# Records are standardised first, so only their own arithmetic must hold: differences of twice this size, errors a
# million times the output, and, at the other end, a spread with all its digits.
_LARGEST, _SMALLEST = 1e290, 1e-290
_SEVERAL = "several records go into a list, and the systems fitted here have one input and one output"


class Trial(NamedTuple):
    """One form that was tried.

    Without an `error` it could not be fitted; without an `excess` no trial runs were needed, because another form was
    better anyway.
    """

    form: str  #: In words.
    memory: str  #: Its memory, as text.
    ridge: float  #: How strongly its parameters were held.
    unknowns: int  #: How many numbers were fitted.
    error: float | None  #: Root mean squared error of simulations of held-out blocks, in the unit of the output.
    excess: float | None = None  #: How far the worst of many trial runs leaves the range of measured outputs.


@dataclass(frozen=True, eq=False)
class FittedSystem:
    """What `fit_system` found: a model to simulate with, and how it was chosen."""

    form: str  #: In words.
    memory: Memory
    unknowns: int  #: How many numbers were fitted.
    error: float  #: Root mean squared error of free simulations of the held-out blocks, in the unit of the output.
    tried: tuple[Trial, ...]  #: All trials, smallest error first.
    #: For each held-out block: where it began in its record, what was measured, and what was simulated.
    held_out: tuple[tuple[int, Float[np.ndarray, " _"], Float[np.ndarray, " _"]], ...]
    stretch: int | None  #: Samples that the errors of `tried` are of, where the record is longer than these.
    _fitted: Fitted
    _units: tuple[float, float, float, float]
    _known: int

    def simulate(self, signal: Record, known: Known = None) -> Record:
        """The output for an input, from the input alone; bounded, but for an integrator, which follows its input.

        Parameters
        ----------
        signal
            The input; before its first sample it was at that level.
        known
            The first measured outputs, if there are any: a simulation that knows them begins in the right state.
        """
        u0, u1, y0, y1 = self._units
        given = checked_record("signal", signal, "several records are simulated one by one")
        first = known_outputs(known)
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
        errors = [(measured - simulated)[self._known :] for _, measured, simulated in self.held_out]
        return np.array([_root_mean_square(error) for error in errors])

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
        if self.stretch is not None:
            lines.append(f"  forms were compared on a stretch of {self.stretch:,} samples, the best ones then on all:")
        best: dict[str, Trial] = {}
        for trial in self.tried:
            best.setdefault(trial.form, trial)
        for trial in list(best.values())[:rows]:
            error = "could not be fitted" if trial.error is None else f"{trial.error:.4g}"
            if trial.excess:
                error += f"; simulations leave the range of outputs by {trial.excess:.3g}"
            lines.append(f"  {trial.form}: {error} ({trial.memory}, ridge {trial.ridge:g}, {trial.unknowns} numbers)")
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
    parameters towards a simpler model. Each is judged by simulating blocks that it was not fitted to. The best one is
    fitted once more to everything, and simulated from many starts and with shifted inputs: what leads out of the range
    of measured outputs counts as error. Loops feed back a bounded output. An integrator (force in, position out) is
    chosen where it errs clearly less than all others.

    Parameters
    ----------
    signal, target
        Input and output of one record, or lists of them for several records.
    known
        So many measured outputs begin the simulation of a block, and do not count.
    blocks
        Into how many blocks the records are cut; each is held out once.
    forms
        Which kinds are tried, of "linear", "polynomial", "cascade", "loop" and "integrator"; fewer are faster.
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
    known_forms = isinstance(forms, Collection) and not isinstance(forms, str) and all(one in FORMS for one in forms)
    if not known_forms or not len(forms):
        raise ValueError(f"forms={shorten(forms)}: pass several of {', '.join(FORMS)}, for example ('linear', 'loop').")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={shorten(progress)} cannot be called; pass a function of (fraction, text), or None.")
    given = _records(signal, target, known, blocks)
    every_u, every_y = (np.concatenate([record[side] for record in given]) for side in (0, 1))
    units = (*_level_and_spread("signal", every_u), *_level_and_spread("target", every_y))
    if units[3] <= 1e-12 * np.abs(every_y).max():
        raise ValueError("target does not vary, and a constant says nothing about a system; pass an output that moves.")
    if units[1] <= 1e-12 * np.abs(every_u).max():
        raise ValueError("signal does not vary, and says nothing about the system; pass an input that moves.")
    records = [((u - units[0]) / units[1], (y - units[2]) / units[3]) for u, y in given]
    search = Search(records, known, blocks, tuple(forms), most_rows, progress or (lambda fraction, text: None))
    best, fitted, simulated = search.run()
    residuals = np.concatenate([(y - output)[known:] for _, y, output in simulated])
    error = float(np.sqrt(np.mean(residuals**2)))
    found = FittedSystem(
        form=best.form,
        memory=best.memory,
        unknowns=best.unknowns,
        error=error * units[3],
        tried=tuple(_trial(one, units[3]) for one in sorted(search.tried, key=lambda one: one.error)),
        held_out=tuple(
            (begin, units[2] + units[3] * y, units[2] + units[3] * output) for begin, y, output in simulated
        ),
        stretch=search.rows if search.is_long else None,
        _fitted=fitted,
        _units=units,
        _known=known,
    )
    # Short records are often no better than the mean, and the summary says so; this is for results that are absurd.
    if error >= 10:
        warnings.warn(found._worse_than_the_mean, RuntimeWarning, stacklevel=2)
    return found


def _trial(one: Candidate, unit: float) -> Trial:
    error = one.error * unit if np.isfinite(one.error) else None
    excess = None if one.excess is None else one.excess * unit
    return Trial(one.form, str(one.memory.system), one.ridge, one.unknowns, error, excess)


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
    if largest and not _SMALLEST <= largest <= _LARGEST:
        change = "divide" if largest > _LARGEST else "multiply"
        raise ValueError(
            f"{name} reaches {largest:.3g}, and beyond {_SMALLEST:g} to {_LARGEST:g} numbers lose their digits or "
            f"leave the range of floats; {change} it by a power of ten first."
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
        u, y = checked_record(f"signal{which}", one, _SEVERAL), checked_record(f"target{which}", other, _SEVERAL)
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
