"""Promises at the edges: numbers large and small, steps long and short, several threads at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import SkipTest

import numpy as np

from hippozoo._internal.nests import leaves
from hippozoo.checks.compare import as_array, difference
from hippozoo.checks.promises import _fail
from hippozoo.checks.subject import Outcome, Subject, Trial, subject_of

__all__ = ["check_any_scale", "check_any_step_length", "check_threads_do_not_mix"]


def check_any_scale(member: Any, trial: Trial | None = None) -> None:
    """Inputs times 1e30 and 1e-30 give finite outputs, or are refused by ValueError; never a silent NaN.

    Parameters
    ----------
    member
        A member, or a function (or class) that makes one.
    trial
        What to feed it with.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> check_any_scale(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    if subject.trial.inputs is not None:
        raise SkipTest(f"{subject.name} has inputs of its own, which may not be scaled")
    x = subject.inputs()
    for scale in (1e-30, 1e30):
        _demand_finite(subject, f"inputs times {scale:g}", x * scale, None)


def check_any_step_length(member: Any, trial: Trial | None = None) -> None:
    """Steps a billion times as long, or as short, give finite outputs, or are refused by ValueError.

    Parameters
    ----------
    member
        A member, or a function (or class) that makes one.
    trial
        What to feed it with.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> check_any_step_length(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    if not subject.takes_dt:
        raise SkipTest(f"{subject.name} takes no dt")
    x, (_, dt) = subject.inputs(), subject.steps()
    for scale in (1e-9, 1e9):
        _demand_finite(subject, f"steps times {scale:g}", x, dt * scale)


def check_threads_do_not_mix(member: Any, trial: Trial | None = None) -> None:
    """Calls from several threads at a time give what each of them gives alone.

    Parameters
    ----------
    member
        A member, or a function (or class) that makes one.
    trial
        What to feed it with.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> check_threads_do_not_mix(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    inputs = [subject.inputs() for _ in range(4)]
    alone = [subject.run(x) for x in inputs]
    for x, expected in zip(inputs, alone, strict=True):
        if _differ(subject, subject.run(x), expected):
            raise SkipTest(f"{subject.name} says other things at every call, also in one thread")
    with ThreadPoolExecutor(len(inputs)) as threads:
        for _ in range(3):
            for number, found in enumerate(threads.map(subject.run, inputs)):
                message = _differ(subject, found, alone[number])
                if message:
                    _fail(subject, "threads do not mix", f"with {len(inputs)} threads at a time, {message}")


def _differ(subject: Subject, found: Outcome, expected: Outcome) -> str | None:
    pairs = zip(("output", "state"), found, expected, strict=True)
    return next(
        (said for name, ours, theirs in pairs if (said := difference(ours, theirs, subject.trial.tolerance, name))),
        None,
    )


def _demand_finite(subject: Subject, circumstances: str, x: Any, dt: Any) -> None:
    promise = "numbers of any size give finite ones, or are refused by ValueError"
    try:
        outcome = subject.run(x, dt=dt)
    except ValueError:
        return
    except Exception as error:
        _fail(subject, promise, f"with {circumstances}, {type(error).__name__}: {error}")
    for name, nest in zip(("output", "state"), outcome, strict=True):
        for place, leaf in leaves(nest, name):
            array = as_array(leaf)
            if array.dtype.kind in "fc" and not np.isfinite(array).all():
                _fail(subject, promise, f"with {circumstances}, {place} has NaN or infinity, and nothing was said")
