"""All checks on one member, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from unittest import SkipTest

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.checks.promises import CHECKS
from hippozoo.checks.subject import LayerSubject, Trial, is_factory, subject_of


@dataclass(frozen=True)
class Result:
    """What came of one check.

    Examples
    --------
    >>> print(Result("check_padding_is_ignored", "skipped", "Memory takes no lengths"))
    skipped  check_padding_is_ignored: Memory takes no lengths
    """

    check: str
    status: Literal["passed", "failed", "skipped"]
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status:7}  {self.check}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Report:
    """What came of all checks; print it, loop over it, or ask for `failed` and `skipped`.

    Examples
    --------
    >>> report = Report((Result("check_a", "passed"), Result("check_b", "failed", "it mixes")))
    >>> report.failed
    (Result(check='check_b', status='failed', reason='it mixes'),)
    >>> print(report)
    passed   check_a
    failed   check_b: it mixes
    """

    results: tuple[Result, ...]

    @property
    def failed(self) -> tuple[Result, ...]:
        """The promises that were broken."""
        return tuple(result for result in self if result.status == "failed")

    @property
    def skipped(self) -> tuple[Result, ...]:
        """The checks that were left out, each with its reason."""
        return tuple(result for result in self if result.status == "skipped")

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def check_member(
    member: Any,
    *,
    channels: int | None = None,
    batch: int = 3,
    n_steps: int = 40,
    tolerance: float | None = None,
    seed: int = 0,
    inputs: Callable[[np.random.Generator, int, int], Any] | None = None,
    skip: Mapping[str, str] | None = None,
    on_fail: Literal["raise"] | None = "raise",
) -> Report:
    """Run every check on a member: on one of ours, or on one of your own.

    A member has ``y, state = member(x, state=None)`` (or ``forward``), ``step(x, state)`` and
    ``initial_state(batch)``, and may take ``dt=`` and ``lengths=``; x is (batch, time, channels), and a state is any
    nest of arrays or tensors with the batch first. A pure memory (``scan``, ``final``, ``step``) is a member too:
    its channels are the batch. The member itself is left alone; the checks work on copies.

    Parameters
    ----------
    member
        A member, or a function (or class) that makes a new one for every check.
    channels, batch, n_steps, tolerance, seed, inputs
        What to feed it with; see `Trial`.
    skip
        Checks to leave out, by name, each with the reason: ``{"check_save_equals_load": "holds a socket"}``.
    on_fail
        ``"raise"``: an AssertionError names all broken promises. ``None``: they stand in the report only.

    Examples
    --------
    >>> import numpy as np
    >>> from hippozoo.checks import check_member
    >>> class RunningSum:
    ...     def initial_state(self, batch):
    ...         return np.zeros((batch, 2))
    ...     def step(self, x, state):
    ...         return state + x, state + x
    ...     def __call__(self, x, state=None):
    ...         y = np.cumsum(x, axis=1) + x[:, -1:]  # a peek at the last sample
    ...         return y, np.sum(x, axis=1) + (0 if state is None else state)
    >>> report = check_member(RunningSum(), on_fail=None)
    >>> [result.check for result in report.failed if "future" in result.check]
    ['check_future_is_invisible']
    """
    trial = Trial(channels, batch, n_steps, tolerance, seed, inputs)
    # What is no member at all, or hides its channels, is an error of the caller, not a broken promise.
    if not is_factory(member):
        subject = subject_of(member, trial)
        if isinstance(subject, LayerSubject):
            subject.demand_channels()
    return run_checks(CHECKS, member, trial, skip, on_fail)


def run_checks(
    checks: tuple[Callable[..., None], ...], member: Any, trial: Any, skip: Mapping[str, str] | None, on_fail: Any
) -> Report:
    """Each check on the member, under the same trial; the report, or an error that names what failed."""
    if on_fail not in ("raise", None):
        raise ValueError(f"on_fail={shorten(on_fail)}; pass 'raise', or None for a report without an exception.")
    skip = dict(skip or {})
    names = [check.__name__ for check in checks]
    unknown = [name for name in skip if name not in names]
    if unknown:
        raise ValueError(f"skip names {unknown[0]!r}, which is no check; the checks are {', '.join(names)}.")
    report = Report(tuple(_result(check, member, trial, skip) for check in checks))
    if report.failed and on_fail == "raise":
        raise AssertionError("\n".join(f"{result.check}: {result.reason}" for result in report.failed))
    return report


def _result(check: Callable[..., None], member: Any, trial: Any, skip: Mapping[str, str]) -> Result:
    name = check.__name__
    if name in skip:
        return Result(name, "skipped", skip[name])
    try:
        check(member, trial)
    except SkipTest as reason:
        return Result(name, "skipped", str(reason))
    except AssertionError as error:
        return Result(name, "failed", str(error))
    except Exception as error:
        # A member that breaks down on good input has broken the promise too; the other checks still run.
        return Result(name, "failed", f"it raised {type(error).__name__}: {error}")
    return Result(name, "passed")
