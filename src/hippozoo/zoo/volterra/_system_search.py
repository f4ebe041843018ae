"""The search of `fit_system`: which forms are tried, how they are judged, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from hippozoo.zoo.volterra._system_forms import (
    Candidate,
    Fitted,
    cascades,
    integrators,
    linear_loops,
    linear_readouts,
    loops,
    polynomial_readouts,
    widened,
)
from hippozoo.zoo.volterra.bounded_loop import Records
from hippozoo.zoo.volterra.integrator import Integrator

__all__ = ["FORMS", "Block", "Search", "excess"]

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

#: Where a held-out block begins in its record, and two arrays of it: input and output, or measured and simulated.
Block = tuple[int, np.ndarray, np.ndarray]
Split = tuple[Records, list[Block]]


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
        self.tried: list[Candidate] = []
        self.most_rows, self.is_long = most_rows, sum(len(u) for u, _ in records) > most_rows
        self.stretch = stretched(records, most_rows) if self.is_long else records
        self.rows = sum(len(u) for u, _ in self.stretch)

    def run(self) -> tuple[Candidate, Fitted, list[Block]]:
        """The best form whose simulations stay where outputs have been, fitted to everything, and held-out blocks."""
        self._demand_blocks()
        # Polynomials and cascades take the memories of the best linear readouts, loops those of the best linear loops.
        needed = {"linear", "polynomial", "cascade"} & set(self.forms)
        readouts = self._judge(linear_readouts(self.rows, self.blocks) if needed else [], 0.0, 0.15)
        memories = [one.memory for one in readouts[:2]]
        polynomials = self._judge(polynomial_readouts(memories) if "polynomial" in self.forms else [], 0.15, 0.3)
        bent = self._judge(cascades(memories[:1]) if "cascade" in self.forms else [], 0.3, 0.5)
        lines = self._judge(linear_loops() if "loop" in self.forms else [], 0.5, 0.58)
        ridges = (1e-6, 1e-2) if self.is_long else (0.01, 3.0, 100.0)
        curved = self._judge(loops([one.memory for one in lines[:3]], ridges), 0.58, 0.85)
        drives = self._judge(integrators() if "integrator" in self.forms else [], 0.85, 0.9)
        fitted = [one for one in self.tried if np.isfinite(one.error)]
        if not fitted:
            raise ValueError(_NOTHING_FITS)
        if not self.is_long:
            return self._chosen([(one.error, one) for one in fitted])
        # On a stretch one form may look as good as another: the best of each kind compete on everything.
        last = sorted(one.error for one in fitted)[:6][-1]
        best = [kind[0] for kind in (readouts, polynomials, bent, lines, curved, drives) if kind]
        finalists = [wide for one in best if one.error <= last for wide in widened(one)]
        scores = []
        for number, one in enumerate(finalists):
            self.progress(0.9 + 0.1 * number / len(finalists), f"{one.form}, on everything")
            scores.append(self._error(one, last_fifths(self.records, self.blocks, self.known)))
        return self._chosen(list(zip(scores, finalists, strict=True)))

    def _demand_blocks(self) -> None:
        """Refuse records of which nothing is left to learn from."""
        if next(folds(self.stretch, self.blocks, self.known), None) is None:
            cut = f" after most_rows={self.most_rows} cut it" if self.is_long else ""
            more = "a larger most_rows, " if self.is_long else ""
            raise ValueError(
                f"no record leaves more than {self.known + 20} samples to learn from when a block is held out: the "
                f"longest has {max(len(u) for u, _ in self.stretch)}{cut}; pass longer records, {more}or a smaller "
                f"known."
            )

    def _judge(self, candidates: list[Candidate], begin: float, end: float) -> list[Candidate]:
        """All of them by held-out blocks; the best first."""
        for number, one in enumerate(candidates):
            self.progress(begin + (end - begin) * number / len(candidates), one.form)
            one.error = self._error(one, folds(self.stretch, self.blocks, self.known))
        self.tried += candidates
        return sorted(candidates, key=lambda one: one.error)

    def _error(self, candidate: Candidate, splits: Iterable[Split]) -> float:
        """Root mean square over held-out blocks, or infinity."""
        squares, count = 0.0, 0
        for learn, blocks in splits:
            if sum(len(u) - self.known for u, _ in learn) <= 2 * candidate.unknowns:
                return np.inf
            try:
                simulated = self._simulated(candidate, learn, blocks)
            except _UNFIT:
                return np.inf
            for _, measured, output in simulated:
                left = (output - measured)[self.known :]
                squares, count = squares + float(left @ left), count + len(left)
        return float(np.sqrt(squares / count)) if np.isfinite(squares) else np.inf

    def _simulated(self, candidate: Candidate, learn: Records, blocks: list[Block]) -> list[Block]:
        fitted = candidate.fit(learn, self.known)
        return [(begin, y, fitted.simulate(u, y[: self.known])) for begin, u, y in blocks]

    def _chosen(self, scored: list[tuple[float, Candidate]]) -> tuple[Candidate, Fitted, list[Block]]:
        """The best by error and by how far trial runs lead out of the range of outputs; later ones need no trial."""
        handicapped = [(error / (_CLEARLY if "integrator" in one.form else 1.0), one) for error, one in scored]
        chosen: tuple[float, Candidate, Fitted] | None = None
        for error, one in sorted(handicapped, key=lambda pair: pair[0]):
            if not np.isfinite(error) or (chosen is not None and error >= chosen[0]):
                break
            try:
                fitted = one.fit(self.records, self.known)
            except _UNFIT:
                continue
            one.excess = excess(fitted, self.records, self.known)
            total = float(np.hypot(error, one.excess))
            if chosen is None or total < chosen[0]:
                chosen = total, one, fitted
        if chosen is None:
            raise ValueError(_NOTHING_FITS)
        _, one, fitted = chosen
        splits = folds(self.records, self.blocks, self.known)
        return one, fitted, [block for split in splits for block in self._simulated(one, *split)]


def stretched(records: Records, most_rows: int) -> Records:
    """The last part of each record, in proportion."""
    share = most_rows / sum(len(u) for u, _ in records)
    kept = [max(1, round(share * len(u))) for u, _ in records]
    return [(u[-count:], y[-count:]) for (u, y), count in zip(records, kept, strict=True)]


def folds(records: Records, blocks: int, known: int) -> Iterator[Split]:
    """Each block once held out, and the rest as records of their own; blocks do not cross records."""
    rows = sum(len(u) for u, _ in records)
    for number, (u, y) in enumerate(records):
        count = blocks if len(records) == 1 else max(1, round(blocks * len(u) / rows))
        for begin, end in pairwise(np.linspace(0, len(u), count + 1).round().astype(int).tolist()):
            learn = []
            for other, (v, w) in enumerate(records):
                spans = [(0, begin), (end, len(v))] if other == number else [(0, len(v))]
                learn += [(v[a:b], w[a:b]) for a, b in spans if b - a > known + 20]
            if learn and end - begin > known:
                yield learn, [(begin, u[begin:end], y[begin:end])]


def last_fifths(records: Records, blocks: int, known: int) -> Iterable[Split]:
    """The last fifth of every record held out at once; of many short records, of which nothing would be left, whole."""
    cuts = [len(u) - len(u) // 5 for u, _ in records]
    if all(len(u) - cut <= known for (u, _), cut in zip(records, cuts, strict=True)):
        return folds(records, blocks, known)
    learn = [(u[:cut], y[:cut]) for (u, y), cut in zip(records, cuts, strict=True)]
    return [(learn, [(cut, u[cut:], y[cut:]) for (u, y), cut in zip(records, cuts, strict=True)])]


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
