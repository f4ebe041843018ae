"""What everything that learns from a stream promises, one check each; and all of them on one learner."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest import SkipTest

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.checks.battery import Report, run_checks
from hippozoo.checks.compare import changed_since, snapshot
from hippozoo.checks.under_test import REFUSAL, RESTORED, UnderTest

__all__ = ["LEARNER_CHECKS", "Stream", "check_learner"]


@dataclass(frozen=True)
class Stream:
    """What the checks let a learner learn from: two waves and noise, or what ``series(rng, n_steps)`` returns.

    Examples
    --------
    >>> Stream(n_steps=200).made().shape
    (200,)
    """

    n_steps: int = 400  #: Samples, at least 40: a learner needs some before it says anything.
    tolerance: float = 1e-7  #: Allowed difference relative to the largest value.
    seed: int = 0
    series: Callable[[np.random.Generator, int], np.ndarray] | None = None  #: Returns (time,) or (time, channels).

    def __post_init__(self) -> None:
        whole_number("n_steps", self.n_steps, minimum=40, why="learners say nothing before")

    def made(self, seed: int = 0) -> np.ndarray:
        """A series; another one for another seed."""
        rng = np.random.default_rng((self.seed, seed))
        if self.series is not None:
            return self.series(rng, self.n_steps)
        time = np.arange(self.n_steps)
        return np.cos(time / 3 + seed) + 0.5 * np.sin(time / 11) + 0.1 * rng.normal(size=self.n_steps)


class SeriesLearner(UnderTest):
    """Learns a series by itself: ``state = learn(state, signal)``, ``learn_one(state, value)``, ``forecast(state)``."""

    def __init__(self, member: Any, stream: Stream) -> None:
        super().__init__(member, stream.tolerance)
        self.stream = stream

    def start(self, series: np.ndarray) -> Any:
        """The state that has learnt nothing."""
        return self.member.initial_state(*series.shape[1:])

    def learn(self, state: Any, series: Any) -> tuple[Any, Any]:
        """What it predicted on the way (None if nothing), and the state after."""
        return None, self.member.learn(state, series)

    def learn_one(self, state: Any, sample: Any) -> tuple[Any, Any]:
        """The same for one sample."""
        return None, self.member.learn_one(state, sample)

    def says(self, state: Any) -> Any:
        """What it predicts from this state on: arrays."""
        expected = self.member.forecast(state)
        return {"mean": np.asarray(expected.coefficients), "covariance": np.asarray(expected.covariance)}

    def along(self, state: Any, series: np.ndarray) -> np.ndarray:
        """What it predicts after every sample; only the past may decide it."""
        if not hasattr(self.member, "replay"):
            raise SkipTest(f"{self.name} does not replay: it says nothing along a series")
        return self.member.replay(state, series, self.member.horizon / 2)

    def compare(self, found: Any, expected: Any, promise: str, circumstances: str) -> None:
        """Refuse what differs by more than rounding."""
        self.compare_nests(found, expected, "what it says", promise, circumstances)


class TargetLearner(SeriesLearner):
    """Learns a target from a signal: ``predictions, state = learn(state, signal, targets)``."""

    def start(self, series: np.ndarray) -> Any:
        return self.member.initial_state()

    def learn(self, state: Any, series: Any) -> tuple[Any, Any]:
        return self.member.learn(state, series, _target(series))

    def learn_one(self, state: Any, sample: Any) -> tuple[Any, Any]:
        said, state = self.member.learn_one(state, sample, float(_target(np.asarray(sample)[None])[0]))
        return np.array([said]), state

    def says(self, state: Any) -> Any:
        return self.member.predict(state, self.stream.made(9))[0]

    def along(self, state: Any, series: np.ndarray) -> np.ndarray:
        return self.learn(state, series)[0]


def learner_of(member: Any, stream: Stream | None) -> SeriesLearner:
    """The learner, or what the factory makes, ready for the checks."""
    made = member() if not hasattr(member, "initial_state") or isinstance(member, type) else member
    stream = stream or Stream()
    if hasattr(made, "learn") and hasattr(made, "forecast"):
        return SeriesLearner(made, stream)
    if hasattr(made, "learn") and hasattr(made, "predict"):
        return TargetLearner(made, stream)
    raise TypeError(f"{shorten(made)} is no learner: it needs initial_state, learn and forecast, or learn and predict.")


def check_learning_in_chunks_equals_one_call(member: Any, stream: Stream | None = None) -> None:
    """A series learnt in chunks, the state handed on, leaves what one call leaves; an empty chunk changes nothing."""
    learner = learner_of(member, stream)
    series = learner.stream.made()
    n_steps = len(series)
    # Cut twice at one place: between lies a chunk in which nothing came.
    for cuts in ([1], [n_steps // 2] * 2, [n_steps // 7, n_steps // 3, n_steps - 1]):
        chunks = [series[begin:end] for begin, end in pairwise([0, *cuts, n_steps])]
        promise = "chunks with the state handed on equal one call"
        _compare_pieces(learner, learner.learn, chunks, series, promise, f"cuts at {cuts}")


def check_learning_one_by_one_equals_one_call(member: Any, stream: Stream | None = None) -> None:
    """Sample by sample leaves what one call on the array leaves."""
    learner = learner_of(member, stream)
    series = learner.stream.made()
    promise = "one sample after another equals one call"
    _compare_pieces(learner, learner.learn_one, series, series, promise, f"{len(series)} samples")


def check_learning_sees_no_future(member: Any, stream: Stream | None = None) -> None:
    """Nothing that is said along a series depends on later samples, however large they are."""
    learner = learner_of(member, stream)
    series, n_steps = learner.stream.made(1), learner.stream.n_steps
    _, state = learner.learn(learner.start(series), learner.stream.made())
    expected = learner.along(state, series)
    for present in (1, n_steps // 3, n_steps - 1):
        other = np.concatenate([series[:present], 1e3 * learner.stream.made(2)[present:]])
        found = learner.along(state, other)[:present]
        promise = "nothing that is said depends on later samples"
        learner.compare(found, expected[:present], promise, f"other samples from {present} on")


def check_learning_changes_no_state_in_place(member: Any, stream: Stream | None = None) -> None:
    """A state stays what it is when one learns on from it, and asks it."""
    learner, series, state = _learnt(member, stream)
    before, given = snapshot(_in_use(state)), snapshot(series)
    learner.learn(state, series)
    learner.learn_one(state, series[0])
    learner.says(state)
    found = changed_since(_in_use(state), before) or (changed_since(series, given) and "the series")
    if found:
        learner.fail("nothing that was given is changed in place", found)


def check_learning_refuses_bad_input(member: Any, stream: Stream | None = None) -> None:
    """NaN, infinity, wrong shapes and types are refused by ValueError or TypeError, and nothing has changed."""
    learner, series, state = _learnt(member, stream)
    later, untouched = learner.stream.made(1), copy.deepcopy(state)
    bad = {f"a series with {v}": np.append(series[:-1], [np.full_like(series[0], v)], 0) for v in (np.nan, np.inf)}
    bad |= {"a series of three axes": series.reshape(1, 1, -1), "a text": "x", "complex numbers": series * 1j}
    calls: dict[str, Callable[[], Any]] = {
        what: lambda given=given: learner.learn(state, given) for what, given in bad.items()
    }
    for sample in ("x", np.inf, 1j):
        calls[f"a sample of {sample}"] = lambda sample=sample: learner.learn_one(state, sample)

    def learn_from_a_number() -> None:
        try:
            learner.learn(3.0, series)
        except AttributeError as error:  # as Python says it, of what is no state
            raise TypeError from error

    learner.demand_refusals(calls | {"a number for a state": learn_from_a_number}, state)
    expected = learner.says(learner.learn(untouched, later)[1])
    learner.compare(learner.says(learner.learn(state, later)[1]), expected, REFUSAL, "good input after bad input")


def check_learning_goes_on_after_loading(member: Any, stream: Stream | None = None) -> None:
    """Saved and loaded by `hippozoo.checkpoint`, learner and state go on as if nothing had happened."""
    learner, _, state = _learnt(member, stream)
    later = learner.stream.made(1)
    found, loaded_state = learner.saved_and_loaded(state)
    loaded = type(learner)(found, learner.stream)
    expected = learner.says(learner.learn(state, later)[1])
    learner.compare(loaded.says(loaded.learn(loaded_state, later)[1]), expected, RESTORED, "more samples learnt")


def check_learner_merges(member: Any, stream: Stream | None = None) -> None:
    """What was learnt from other series can be added, in any order; nothing learnt adds nothing.

    Skipped (by `unittest.SkipTest`) where the learner offers no `merge`.
    """
    learner = learner_of(member, stream)
    if not hasattr(learner.member, "merge"):
        raise SkipTest(f"{learner.name} does not merge")
    here, one, other = (learner.stream.made(seed) for seed in range(3))
    state, first, second = (learner.learn(learner.start(series), series)[1] for series in (here, one, other))
    before = snapshot([state, first, second])
    merge = learner.member.merge
    both, turned = merge(merge(state, first), second), merge(merge(state, second), first)
    promise = "what others have learnt is added, in any order"
    learner.compare(learner.says(turned), learner.says(both), promise, "two others in either order")
    nothing = merge(state, learner.start(here))
    learner.compare(learner.says(nothing), learner.says(state), promise, "one that has learnt nothing")
    if changed_since([state, first, second], before):
        learner.fail(promise, "a state was changed in place")


#: Every promise of a learner, in the order in which `check_learner` asks for it.
LEARNER_CHECKS: tuple[Callable[..., None], ...] = (
    check_learning_in_chunks_equals_one_call,
    check_learning_one_by_one_equals_one_call,
    check_learning_sees_no_future,
    check_learning_changes_no_state_in_place,
    check_learning_refuses_bad_input,
    check_learning_goes_on_after_loading,
    check_learner_merges,
)


def check_learner(
    member: Any, stream: Stream | None = None, *, skip: Mapping[str, str] | None = None, on_fail: str | None = "raise"
) -> Report:
    """Run every check on something that learns from a stream: on one of ours, or on one of your own.

    A learner of a series has ``initial_state()``, ``state = learn(state, signal)``, ``state = learn_one(state, value)``
    and ``forecast(state)``; one of a target has ``predictions, state = learn(state, signal, targets)``,
    ``learn_one(state, sample, target)`` and ``predict(state, signal)``.

    Parameters
    ----------
    member
        The learner, or a function (or class) that makes one.
    stream
        What it learns from.
    skip
        Checks to leave out, by name, each with the reason.
    on_fail
        ``"raise"``: an AssertionError names all broken promises. ``None``: they stand in the report only.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> print(check_learner(VolterraModel(Memory(LegT(order=4, timescale=8.0)))))
    passed   check_learning_in_chunks_equals_one_call
    passed   check_learning_one_by_one_equals_one_call
    passed   check_learning_sees_no_future
    passed   check_learning_changes_no_state_in_place
    passed   check_learning_refuses_bad_input
    passed   check_learning_goes_on_after_loading
    skipped  check_learner_merges: VolterraModel does not merge
    """
    learner_of(member, stream)  # what is no learner at all is an error of the caller, not a broken promise
    return run_checks(LEARNER_CHECKS, member, stream, skip, on_fail)


def _learnt(member: Any, stream: Stream | None) -> tuple[SeriesLearner, np.ndarray, Any]:
    """The learner, a series, and the state after it has learnt from that series."""
    learner = learner_of(member, stream)
    series = learner.stream.made()
    return learner, series, learner.learn(learner.start(series), series)[1]


def _compare_pieces(
    learner: SeriesLearner, learn: Callable[[Any, Any], Any], pieces: Any, series: Any, promise: str, circumstances: str
) -> None:
    """Refuse a learner that says something else after a series in pieces than after one call."""
    expected, whole = learner.learn(learner.start(series), series)
    said, state = [], learner.start(series)
    for piece in pieces:
        answer, state = learn(state, piece)
        said.append(answer)
    learner.compare(learner.says(state), learner.says(whole), promise, circumstances)
    if expected is not None:
        learner.compare(np.concatenate(said), expected, promise, circumstances)


def _in_use(state: Any) -> Any:
    """The state, without room at the ends of buffers if it has some."""
    return state.in_use() if hasattr(state, "in_use") else state


def _target(series: Any) -> Any:
    """What is to be learnt of a signal: one number per sample."""
    values = np.asarray(series)
    if values.dtype.kind not in "fc" or not np.isfinite(values).all():
        return np.zeros(values.shape[:1])
    wanted = np.real(values) ** 2
    return wanted.sum(tuple(range(1, wanted.ndim)))
