"""What everything that learns from a stream promises, one check each; and all of them on one learner."""

from __future__ import annotations

import copy
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn
from unittest import SkipTest

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.checkpoint import CheckpointError, load, save
from hippozoo.checks.battery import Report, run_checks
from hippozoo.checks.compare import changed_since, difference, snapshot

__all__ = [
    "LEARNER_CHECKS",
    "Stream",
    "check_learner",
    "check_learner_merges",
    "check_learning_changes_no_state_in_place",
    "check_learning_goes_on_after_loading",
    "check_learning_in_chunks_equals_one_call",
    "check_learning_one_by_one_equals_one_call",
    "check_learning_refuses_bad_input",
    "check_learning_sees_no_future",
]


@dataclass(frozen=True)
class Stream:
    """What the checks let a learner learn from.

    Parameters
    ----------
    n_steps
        Samples, at least 40: a learner needs some before it says anything.
    tolerance
        Allowed difference relative to the largest value.
    seed
        Of the noise.
    series
        Makes another series than two waves and noise: ``series(rng, n_steps)``, (time,) or (time, channels).

    Examples
    --------
    >>> Stream(n_steps=200).made().shape
    (200,)
    """

    n_steps: int = 400
    tolerance: float = 1e-7
    seed: int = 0
    series: Callable[[np.random.Generator, int], np.ndarray] | None = None

    def __post_init__(self) -> None:
        whole_number("n_steps", self.n_steps, minimum=40, why="learners say nothing before")

    def made(self, seed: int = 0) -> np.ndarray:
        """A series; another one for another seed."""
        rng = np.random.default_rng((self.seed, seed))
        if self.series is not None:
            return self.series(rng, self.n_steps)
        time = np.arange(self.n_steps)
        return np.cos(time / 3 + seed) + 0.5 * np.sin(time / 11) + 0.1 * rng.normal(size=self.n_steps)


class Learner(ABC):
    """A learner in one form: a state that goes in and comes out, and what it says."""

    def __init__(self, member: Any, stream: Stream) -> None:
        self.member, self.stream = member, stream

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return type(self.member).__name__

    @abstractmethod
    def start(self, series: np.ndarray) -> Any:
        """The state that has learnt nothing."""

    @abstractmethod
    def learn(self, state: Any, series: Any) -> tuple[Any, Any]:
        """What it said on the way (None if nothing), and the state after."""

    @abstractmethod
    def learn_one(self, state: Any, sample: Any) -> tuple[Any, Any]:
        """The same for one sample."""

    @abstractmethod
    def says(self, state: Any) -> Any:
        """What it says from this state on: arrays."""

    @abstractmethod
    def along(self, state: Any, series: np.ndarray) -> np.ndarray:
        """What it says after every sample; the past alone may decide over it."""

    def fail(self, promise: str, found: str) -> NoReturn:
        """Say which promise was broken, and how."""
        raise AssertionError(f"{self.name} breaks a promise: {promise}. Found: {found}.")

    def compare(self, found: Any, expected: Any, promise: str, circumstances: str) -> None:
        """Refuse what differs by more than rounding."""
        message = difference(found, expected, self.stream.tolerance, "what it says")
        if message:
            self.fail(promise, f"with {circumstances}, {message}")


class SeriesLearner(Learner):
    """Learns a series by itself: ``state = learn(state, signal)``, ``learn_one(state, value)``, ``forecast(state)``."""

    def start(self, series: np.ndarray) -> Any:
        return self.member.initial_state(*series.shape[1:])

    def learn(self, state: Any, series: Any) -> tuple[Any, Any]:
        return None, self.member.learn(state, series)

    def learn_one(self, state: Any, sample: Any) -> tuple[Any, Any]:
        return None, self.member.learn_one(state, sample)

    def says(self, state: Any) -> Any:
        expected = self.member.forecast(state)
        return {"mean": np.asarray(expected.coefficients), "covariance": np.asarray(expected.covariance)}

    def along(self, state: Any, series: np.ndarray) -> np.ndarray:
        if not hasattr(self.member, "replay"):
            raise SkipTest(f"{self.name} does not replay: it says nothing along a series")
        return self.member.replay(state, series, self.member.horizon / 2)


class TargetLearner(Learner):
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


def learner_of(member: Any, stream: Stream | None) -> Learner:
    """The learner, or what the factory makes, ready for the checks."""
    made = member() if not hasattr(member, "initial_state") or isinstance(member, type) else member
    stream = stream or Stream()
    if hasattr(made, "learn") and hasattr(made, "forecast"):
        return SeriesLearner(made, stream)
    if hasattr(made, "learn") and hasattr(made, "predict"):
        return TargetLearner(made, stream)
    raise TypeError(f"{shorten(made)} is no learner: it needs initial_state, learn and forecast, or learn and predict.")


def check_learning_in_chunks_equals_one_call(member: Any, stream: Stream | None = None) -> None:
    """A series learnt in chunks, the state handed on, leaves what one call leaves; an empty chunk changes nothing.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster
    >>> check_learning_in_chunks_equals_one_call(Forecaster(LegT(8, 20.0), horizon=4.0))
    """
    learner = learner_of(member, stream)
    series = learner.stream.made()
    promise = "chunks with the state handed on equal one call"
    said, state = learner.learn(learner.start(series), series)
    n_steps = len(series)
    # Cut twice at one place: between lies a chunk in which nothing came.
    for cuts in ([1], [n_steps // 2] * 2, [n_steps // 7, n_steps // 3, n_steps - 1]):
        pieces, now = [], learner.start(series)
        for begin, end in pairwise([0, *cuts, n_steps]):
            piece, now = learner.learn(now, series[begin:end])
            pieces.append(piece)
        circumstances = f"cuts at {cuts}"
        learner.compare(learner.says(now), learner.says(state), promise, circumstances)
        if said is not None:
            learner.compare(np.concatenate(pieces), said, promise, circumstances)


def check_learning_one_by_one_equals_one_call(member: Any, stream: Stream | None = None) -> None:
    """Sample by sample leaves what one call on the array leaves.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> check_learning_one_by_one_equals_one_call(VolterraModel(Memory(LegT(order=3, timescale=5.0)), degree=2))
    """
    learner = learner_of(member, stream)
    series = learner.stream.made()
    said, state = learner.learn(learner.start(series), series)
    pieces, now = [], learner.start(series)
    for sample in series:
        piece, now = learner.learn_one(now, sample)
        pieces.append(piece)
    promise = "one sample after another equals one call"
    learner.compare(learner.says(now), learner.says(state), promise, f"{len(series)} samples")
    if said is not None:
        learner.compare(np.concatenate(pieces), said, promise, f"{len(series)} samples")


def check_learning_sees_no_future(member: Any, stream: Stream | None = None) -> None:
    """Nothing that is said along a series depends on later samples, however large they are.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> check_learning_sees_no_future(VolterraModel(Memory(LegT(order=3, timescale=5.0)), degree=2))
    """
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
    """A state stays what it is when one learns on from it, and asks it.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> check_learning_changes_no_state_in_place(VolterraModel(Memory(LegT(order=3, timescale=5.0)), degree=2))
    """
    learner = learner_of(member, stream)
    series = learner.stream.made()
    _, state = learner.learn(learner.start(series), series)
    before, given = snapshot(_in_use(state)), snapshot(series)
    learner.learn(state, series)
    learner.learn_one(state, series[0])
    learner.says(state)
    if changed_since(_in_use(state), before) or changed_since(series, given):
        found = changed_since(_in_use(state), before) or "the series"
        learner.fail("nothing that was given is changed in place", found)


def check_learning_goes_on_after_loading(member: Any, stream: Stream | None = None) -> None:
    """Saved and loaded by `hippozoo.checkpoint`, learner and state go on as if nothing had happened.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> check_learning_goes_on_after_loading(VolterraModel(Memory(LegT(order=3, timescale=5.0)), degree=2))
    """
    promise = "what is loaded goes on like what was saved"
    learner = learner_of(member, stream)
    series, later = learner.stream.made(), learner.stream.made(1)
    _, state = learner.learn(learner.start(series), series)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        try:
            save(path, {"member": learner.member, "state": state})
            found = load(path)
        except CheckpointError as error:
            learner.fail(promise, str(error).removeprefix(f"{path}: "))
    if snapshot(found["state"]) != snapshot(state):
        learner.fail(promise, "the state came back changed")
    loaded = type(learner)(found["member"], learner.stream)
    expected = learner.says(learner.learn(state, later)[1])
    learner.compare(loaded.says(loaded.learn(found["state"], later)[1]), expected, promise, "more samples learnt")


def check_learning_refuses_bad_input(member: Any, stream: Stream | None = None) -> None:
    """NaN, infinity, wrong shapes and types are refused by ValueError or TypeError, and nothing has changed.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.volterra import VolterraModel
    >>> check_learning_refuses_bad_input(VolterraModel(Memory(LegT(order=3, timescale=5.0)), degree=2))
    """
    promise = "bad input is refused by ValueError or TypeError and changes nothing"
    learner = learner_of(member, stream)
    series, later = learner.stream.made(), learner.stream.made(1)
    _, state = learner.learn(learner.start(series), series)
    untouched = copy.deepcopy(state)
    bad = {f"a series with {value}": np.append(series[:-1], [np.full_like(series[0], value)], 0) for value in _BAD}
    bad |= {"a series of three axes": series.reshape(1, 1, -1), "a text": "x", "complex numbers": series * 1j}
    calls: list[tuple[str, Callable[[], Any]]] = [
        (what, lambda given=given: learner.learn(state, given)) for what, given in bad.items()
    ]
    calls += [(f"a sample of {one}", lambda one=one: learner.learn_one(state, one)) for one in ("x", np.inf, 1j)]
    calls.append(("a number for a state", lambda: learner.learn(3.0, series)))
    for what, call in calls:
        try:
            call()
        except (ValueError, TypeError, AttributeError) as error:
            if isinstance(error, AttributeError) and what != "a number for a state":
                learner.fail(promise, f"{what} raised {type(error).__name__}: {error}")
        except Exception as error:
            learner.fail(promise, f"{what} raised {type(error).__name__}: {error}")
        else:
            learner.fail(promise, f"{what} was accepted")
        if changed_since(state, snapshot(untouched)):
            learner.fail(promise, f"{what} was refused and changed the state all the same")
    expected = learner.says(learner.learn(untouched, later)[1])
    learner.compare(learner.says(learner.learn(state, later)[1]), expected, promise, "good input after bad input")


def check_learner_merges(member: Any, stream: Stream | None = None) -> None:
    """What was learnt from other series can be added, in any order; nothing learnt adds nothing.

    Skipped (by `unittest.SkipTest`) where the learner offers no `merge`.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster
    >>> check_learner_merges(Forecaster(LegT(order=4, timescale=8.0), horizon=2.0))
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


_BAD = (np.nan, np.inf)

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
