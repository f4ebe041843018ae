"""The search of `fit_system`: which forms are tried, how they are judged, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra._system_forms import (
    LINEAR,
    LOOPS,
    Candidate,
    Fitted,
    fit_cascade,
    fit_drive,
    fit_loop,
    fit_readout,
)
from hippozoo.zoo.volterra.bounded_loop import Records
from hippozoo.zoo.volterra.integrator import Integrator
from hippozoo.zoo.volterra.monomials import monomials

__all__ = ["FORMS", "Search", "excess"]

#: The kinds of form that are tried.
FORMS = ("linear", "polynomial", "cascade", "loop", "integrator")
# A trial run has so many samples at the most. Simulations may leave the range of the outputs by this share of it, and
# by another one where the input is not that of a record, which moves the output of a sound model, too.
_TRIAL_RUN, _ROOM, _SHIFTED_ROOM = 1500, 0.25, 0.5
# Lengths of the pieces that are put in another order, and shifts of the input, in its deviations.
_PIECES, _SHIFTS = (8, 24, 72, 216), (-0.5, 0.5)
# An integrator may go anywhere, so it must be better than what cannot by this factor.
_CLEARLY = 0.9
_NOTHING_FITS = "no form could be fitted; look for outliers in the records, or pass longer ones."
# What a form raises that cannot be fitted to a record.
_UNFIT = (np.linalg.LinAlgError, ValueError, FloatingPointError)

#: A form, what was fitted to everything, held-out blocks (begin, measured, simulated), and excesses by id of the form.
Choice = tuple[Candidate, Fitted, list[tuple[int, np.ndarray, np.ndarray]], dict[int, float]]


class Search:
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
        self.tried: list[tuple[Candidate, float | None]] = []
        self.most_rows, self.is_long = most_rows, sum(len(u) for u, _ in records) > most_rows
        self.stretch = stretched(records, most_rows) if self.is_long else records

    def run(self) -> Choice:
        """Try all forms; the best one whose simulations stay where outputs have been."""
        if next(folds(self.stretch, self.blocks, self.known), None) is None:
            cut, more = (
                (f" after most_rows={self.most_rows} cut it", "a larger most_rows, ") if self.is_long else ("", "")
            )
            raise ValueError(
                f"no record leaves more than {self.known + 20} samples to learn from when a block is held out: the "
                f"longest has {max(len(u) for u, _ in self.stretch)}{cut}; pass longer records, {more}or a smaller "
                f"known."
            )
        # Polynomials and cascades take the memories of the best linear readouts, loops those of the best linear loops.
        needed = {"linear", "polynomial", "cascade"} & set(self.forms)
        readouts = self._judge_all(self._linear_readouts() if needed else [], 0.0, 0.15)
        memories = [one.memory for one in readouts[:2]]
        polynomials = self._judge_all(self._polynomials(memories) if "polynomial" in self.forms else [], 0.15, 0.3)
        cascades = self._judge_all(self._cascades(memories[:1]) if "cascade" in self.forms else [], 0.3, 0.5)
        lines = self._judge_all(self._lines() if "loop" in self.forms else [], 0.5, 0.58)
        loops = self._judge_all(self._loops([one.memory for one in lines[:3]]), 0.58, 0.85)
        drives = self._judge_all(self._integrators() if "integrator" in self.forms else [], 0.85, 0.9)
        errors = {id(one): error for one, error in self.tried if error is not None}
        if not errors:
            raise ValueError(_NOTHING_FITS)
        if self.is_long:
            # On a stretch one form may look as good as another: the best of each kind compete on everything.
            best = sorted(errors.values())[:6]
            finalists = [
                wide
                for kind in (readouts, polynomials, cascades, lines, loops, drives)
                if kind and errors.get(id(kind[0]), np.inf) <= best[-1]
                for wide in self._widened(kind[0])
            ]
            errors = {}
            for number, one in enumerate(finalists):
                self.progress(0.9 + 0.1 * number / len(finalists), f"{one.form}, on everything")
                errors[id(one)] = self._hold_out_last(one)
            return self._chosen(finalists, errors)
        return self._chosen([one for one, error in self.tried if error is not None], errors)

    def _chosen(self, candidates: list[Candidate], errors: dict[int, float]) -> Choice:
        """The best by error and by how far trial runs lead out of the range of outputs; later ones need no trial."""

        def handicapped(one: Candidate) -> float:
            return errors[id(one)] / (_CLEARLY if one.fit is fit_drive else 1.0)

        chosen: tuple[float, Candidate, Fitted] | None = None
        excesses: dict[int, float] = {}
        for one in sorted(candidates, key=handicapped):
            error = handicapped(one)
            if not np.isfinite(error) or (chosen is not None and error >= chosen[0]):
                break
            try:
                fitted = one.fit(one, self.records, self.known)
            except _UNFIT:
                continue
            beyond = excess(fitted, self.records, self.known)
            excesses[id(one)] = beyond
            total = float(np.hypot(error, beyond))
            if chosen is None or total < chosen[0]:
                chosen = total, one, fitted
        if chosen is None:
            raise ValueError(_NOTHING_FITS)
        _, one, fitted = chosen
        blocks = [
            (begin, y, one.fit(one, learn, self.known).simulate(u, y[: self.known]))
            for learn, (begin, u, y) in folds(self.records, self.blocks, self.known)
        ]
        return one, fitted, blocks, excesses

    def _judge_all(self, candidates: list[Candidate], begin: float, end: float) -> list[Candidate]:
        """All of them by held-out blocks; the best first."""
        found = []
        for number, one in enumerate(candidates):
            self.progress(begin + (end - begin) * number / len(candidates), one.form)
            error = self._held_out(one)
            self.tried.append((one, error))
            found.append((np.inf if error is None else error, number, one))
        return [one for _, _, one in sorted(found)]

    def _held_out(self, candidate: Candidate, records: Records | None = None) -> float | None:
        squares, count = 0.0, 0
        for learn, (_, u, y) in folds(self.stretch if records is None else records, self.blocks, self.known):
            if sum(len(record[0]) - self.known for record in learn) <= 2 * candidate.unknowns:
                return None
            try:
                simulated = candidate.fit(candidate, learn, self.known).simulate(u, y[: self.known])
            except _UNFIT:
                return None
            left = (simulated - y)[self.known :]
            if not np.isfinite(left).all():
                return None
            squares, count = squares + float(left @ left), count + len(left)
        return float(np.sqrt(squares / count))

    def _hold_out_last(self, candidate: Candidate) -> float:
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
        except _UNFIT:
            return float("inf")
        for (u, y), c in zip(self.records, cut, strict=True):
            left = (fitted.simulate(u[c:], y[c : c + self.known]) - y[c:])[self.known :]
            squares, count = squares + float(left @ left), count + len(left)
        error = float(np.sqrt(squares / count))
        return error if np.isfinite(error) else float("inf")

    # -- candidates ----------------------------------------------------------------------------------------------

    def _linear_readouts(self) -> list[Candidate]:
        rows = sum(len(u) for u, _ in self.stretch)
        made = []
        for order, timescale in ((8, 4.0), (16, 8.0), (32, 16.0), (16, 32.0), (32, 32.0), (32, 64.0), (32, 128.0)):
            if 4 * order < rows / 4 and 2 * timescale < rows / self.blocks:
                for ridge in (1e-6, 1e-3):
                    memory = Memory(LegS(order, timescale))
                    made.append(Candidate("linear readout", memory, ridge, order + 1, fit_readout, (1, order)))
        return made

    def _polynomials(self, memories: list[Memory]) -> list[Candidate]:
        return [
            Candidate(
                f"polynomial readout of degree {degree}",
                memory,
                ridge,
                monomials(count, degree).terms,
                fit_readout,
                (degree, count),
            )
            for memory in memories
            for degree, count in ((2, 4), (2, 8), (3, 3), (3, 5))
            for ridge in (1e-5, 1e-2)
        ]

    def _cascades(self, memories: list[Memory]) -> list[Candidate]:
        return [
            self._cascade(memory, ridge, degree, reach, 15)
            for memory in memories
            for degree, reach in ((3, 3.0), (9, 2.5))
            for ridge in (1e-6, 1e-3)
        ]

    def _cascade(self, memory: Memory, ridge: float, degree: int, reach: float, iterations: int) -> Candidate:
        unknowns = 2 * memory.system.order + degree + 1
        return Candidate("cascade", memory, ridge, unknowns, fit_cascade, (degree, reach, iterations))

    def _lines(self) -> list[Candidate]:
        memories = [Memory(LegT(order, float(order))) for order in (1, 2, 3, 4, 6, 8, 12)]
        memories += [Memory(LegS(order, timescale)) for order, timescale in ((2, 2.0), (2, 4.0), (3, 8.0), (8, 4.0))]
        return [self._loop("linear loop", memory, 0.0) for memory in memories]

    def _loops(self, memories: list[Memory]) -> list[Candidate]:
        return [
            self._loop(form, memory, ridge)
            for memory in memories
            for form, terms in LOOPS.items()
            if terms != LINEAR and len(terms) * memory.system.order < 60
            for ridge in ((0.01, 3.0, 100.0) if not self.is_long else (1e-6, 1e-2))
        ]

    def _integrators(self) -> list[Candidate]:
        return [
            Candidate(
                "integrator with dry friction" if friction else "integrator",
                Memory(LegT(kept, float(kept))),
                0.0,
                kept + gains + 1 + friction,
                fit_drive,
                (kept, gains, friction),
            )
            for kept, gains in ((1, 2), (2, 3))
            for friction in (False, True)
        ]

    def _loop(self, form: str, memory: Memory, ridge: float, iterations: int = 15) -> Candidate:
        terms = LOOPS[form]
        unknowns = 1 + len(terms) * memory.system.order
        return Candidate(form, memory, ridge, unknowns, fit_loop, (terms, iterations))

    def _widened(self, candidate: Candidate) -> list[Candidate]:
        """The form once more, with the freedom that a long record allows."""
        if candidate.form == "cascade":
            return [self._cascade(candidate.memory, 1e-12, degree, 2.5, 40) for degree in (9, 21)]
        if candidate.fit is fit_loop:
            longer = [Memory(LegT(order, float(order))) for order in (6, 8) if order > candidate.memory.system.order]
            forms = [one for one in (candidate.form, "loop of degree 3") if one in LOOPS]
            return [self._loop(candidate.form, candidate.memory, 1e-9, 40)] + [
                self._loop(form, memory, 1e-9, 40)
                for form in dict.fromkeys(forms)
                for memory in longer
                if len(LOOPS[form]) * memory.system.order < 60
            ]
        return [candidate]


def stretched(records: Records, most_rows: int) -> Records:
    """The last part of each record, in proportion."""
    share = most_rows / sum(len(u) for u, _ in records)
    kept = [max(1, round(share * len(u))) for u, _ in records]
    return [(u[-count:], y[-count:]) for (u, y), count in zip(records, kept, strict=True)]


def folds(
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


def excess(fitted: Fitted, records: Records, known: int) -> float:
    """How far simulations lead out of the range of measured outputs, in the worst of many trial runs; 0 if none does.

    Held-out blocks never visit all states that inputs of the same kind can lead to. So trial runs begin with outputs
    that were measured elsewhere, and their input is that of the records, the same shifted within its range, and pieces
    of it in any order. The root mean square of what is beyond the range counts.
    """
    if isinstance(fitted, Integrator):  # it goes where its input leads, and begins anywhere
        return 0.0
    values = np.concatenate([y for _, y in records])
    low, high = float(values.min()), float(values.max())
    worst = 0.0
    starts = _starts([y for _, y in records], max(known, 1))
    for number, (signal, room) in enumerate(_trial_runs([u for u, _ in records])):
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = fitted.simulate(signal, starts[number % len(starts)])
        left = room * (high - low)
        beyond = np.maximum(np.maximum(low - left - outputs, outputs - high - left), 0.0)[known:]
        if not np.isfinite(beyond).all():
            return np.inf
        worst = max(worst, float(np.sqrt(np.mean(beyond**2))) if len(beyond) else 0.0)
    return worst


def _starts(outputs: list[np.ndarray], known: int) -> list[np.ndarray]:
    """Measured outputs to begin with: up to the lowest and the highest of each of the longest records, and anywhere."""
    rng, found = np.random.default_rng(1), []
    for y in sorted(outputs, key=len)[-3:]:
        last = len(y) - 1
        for end in (int(y.argmin()), int(y.argmax()), *rng.integers(last + 1, size=5).tolist()):
            begin = max(min(end, last) - known + 1, 0)
            found.append(y[begin : begin + known])
    return found


def _trial_runs(inputs: list[np.ndarray]) -> Iterator[tuple[np.ndarray, float]]:
    """Inputs, and the room that is left to the output, as a share of its range."""
    rng, every = np.random.default_rng(0), np.concatenate(inputs)
    lowest, highest = float(every.min()), float(every.max())
    for u in sorted(inputs, key=len)[-3:]:
        length = min(len(u), _TRIAL_RUN)
        for begin in (0, (len(u) - length) // 2, len(u) - length):
            yield u[begin : begin + length], _ROOM
    for piece in _PIECES:
        if 2 * piece > len(every):
            continue
        for shift in (0.0, 0.0, 0.0, *_SHIFTS):
            begins = rng.integers(len(every) - piece + 1, size=-(-_TRIAL_RUN // piece))
            mixed = np.concatenate([every[begin : begin + piece] for begin in begins])
            yield np.clip(mixed + shift, lowest, highest), _SHIFTED_ROOM
