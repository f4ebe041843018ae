"""What every member promises, one check each."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn
from unittest import SkipTest

import numpy as np

from hippozoo._internal.nests import map_leaves
from hippozoo.checkpoint import CheckpointError, load, save
from hippozoo.checkpoint.modules import is_module
from hippozoo.checkpoint.tensors import is_tensor, loaded_torch
from hippozoo.checks.compare import changed_since, difference, snapshot
from hippozoo.checks.subject import Outcome, Subject, Trial, subject_of

__all__ = [
    "check_bad_input_changes_nothing",
    "check_batch_items_do_not_mix",
    "check_chunks_equal_one_call",
    "check_future_is_invisible",
    "check_padding_is_ignored",
    "check_same_input_same_output",
    "check_save_equals_load",
    "check_state_is_not_changed_in_place",
    "check_steps_equal_one_call",
]


def check_same_input_same_output(member: Any, trial: Trial | None = None) -> None:
    """Nothing is remembered but the state: the same input and state give the same output, whatever came between.

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
    >>> check_same_input_same_output(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    x, between = subject.inputs(), subject.inputs()
    start = subject.run(between).state
    expected = subject.run(x, start)
    promise = "the same input gives the same output"
    _compare(subject, subject.run(x, start), expected, promise, "the same call again")
    subject.run(between, start)
    _compare(subject, subject.run(x, start), expected, promise, "another call in between")


def check_chunks_equal_one_call(member: Any, trial: Trial | None = None) -> None:
    """A sequence given in chunks, the state handed on, gives what one call gives.

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
    >>> check_chunks_equal_one_call(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    n_steps = subject.trial.n_steps
    x = subject.inputs()
    ragged = np.sort(subject.rng.choice(np.arange(1, n_steps), size=min(4, n_steps - 1), replace=False))
    for dt in subject.steps():
        expected = subject.run(x, dt=dt)
        for cuts in ([1], [n_steps - 1], [n_steps // 2], ragged.tolist()):
            edges = [0, *cuts, n_steps]
            state, outputs = None, []
            for begin, end in pairwise(edges):
                y, state = subject.run(x[:, begin:end], state, None if dt is None else dt[..., begin:end])
                outputs.append(y)
            _compare(
                subject,
                Outcome(_join(outputs), state),
                expected,
                "chunks with the state handed on equal one call",
                f"chunks of {np.diff(edges).tolist()} samples{_said(dt)}",
            )


def check_steps_equal_one_call(member: Any, trial: Trial | None = None) -> None:
    """Sample by sample from the initial state gives what one call gives.

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
    >>> check_steps_equal_one_call(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    x = subject.inputs()
    for dt in subject.steps():
        state, outputs = subject.initial_state(subject.trial.batch), []
        for t in range(subject.trial.n_steps):
            y, state = subject.step(x[:, t], state, None if dt is None else dt[..., t])
            outputs.append(_at_one_time(y))
        _compare(
            subject,
            Outcome(_join(outputs), state),
            subject.run(x, dt=dt),
            "steps from the initial state equal one call",
            f"{subject.trial.n_steps} steps{_said(dt)}",
        )


def check_future_is_invisible(member: Any, trial: Trial | None = None) -> None:
    """No output depends on later samples, however large they are.

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
    >>> check_future_is_invisible(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    n_steps = subject.trial.n_steps
    x, other = subject.inputs(), _large(subject, subject.inputs())
    for dt in subject.steps():
        expected, _ = subject.run(x, dt=dt)
        for present in sorted({1, 2, n_steps // 3, n_steps // 2, n_steps - 1}):
            y, _ = subject.run(_join([x[:, :present], other[:, present:]]), dt=dt)
            _compare(
                subject,
                Outcome(_until(y, present), None),
                Outcome(_until(expected, present), None),
                "no output depends on later samples",
                f"other samples from {present} on{_said(dt)}",
            )


def check_batch_items_do_not_mix(member: Any, trial: Trial | None = None) -> None:
    """Each sequence of a batch is treated as if it were alone; so is each channel of a pure memory.

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
    >>> check_batch_items_do_not_mix(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    # Two calls each, so that a state that comes in is among the things that could mix.
    first, second = subject.inputs(), subject.inputs()
    together = _two_calls(subject, first, second)
    for item in range(subject.trial.batch):
        _compare(
            subject,
            Outcome(_item(together.output, item), _item(together.state, item)),
            _two_calls(subject, _item(first, item), _item(second, item)),
            "the sequences of a batch do not mix",
            f"sequence {item} among {subject.trial.batch}, compared with the same alone",
        )


def check_state_is_not_changed_in_place(member: Any, trial: Trial | None = None) -> None:
    """States, inputs and outputs stay what they are when the member is called again.

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
    >>> check_state_is_not_changed_in_place(Memory(LegT(order=4, timescale=20.0)))
    """
    subject = subject_of(member, trial)
    x = subject.inputs()
    seen: list[tuple[str, Any, Any]] = []

    def remember(name: str, nest: Any) -> None:
        seen.append((name, nest, snapshot(nest)))

    def look(after: str) -> None:
        for name, nest, before in seen:
            place = changed_since(nest, before)
            if place:
                _fail(
                    subject,
                    "nothing that was given or returned is changed in place",
                    f"{after} changed {name} ({place})",
                )

    state = subject.initial_state(subject.trial.batch)
    remember("the input", x)
    remember("the initial state", state)
    for call in range(3):
        y, state = subject.run(x, state)
        look("a call on a sequence")
        remember(f"the output of call {call}", y)
        remember(f"the state after call {call}", state)
        y, state = subject.step(x[:, call], state)
        look("a step")
        remember(f"the output of step {call}", y)
        remember(f"the state after step {call}", state)
    fresh = subject.initial_state(subject.trial.batch)
    if snapshot(fresh) != seen[1][2]:
        _fail(subject, "the initial state is always the same", "it differs after a few calls")


def check_padding_is_ignored(member: Any, trial: Trial | None = None) -> None:
    """With ``lengths=``, no time passes in the padding: outputs and states are those of the unpadded sequences.

    Skipped (by `unittest.SkipTest`) where the member takes no lengths.

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
    >>> from unittest import SkipTest
    >>> try:
    ...     check_padding_is_ignored(Memory(LegT(order=4, timescale=20.0)))
    ... except SkipTest as reason:
    ...     print(reason)
    Memory takes no lengths
    """
    subject = subject_of(member, trial)
    if not subject.takes_lengths:
        raise SkipTest(f"{subject.name} takes no lengths")
    n_steps = subject.trial.n_steps
    x, padding, before = subject.inputs(), _large(subject, subject.inputs()), subject.inputs()
    start = subject.run(before).state
    ends = [round(end) for end in np.linspace(1, n_steps, subject.trial.batch)]
    lengths = subject.convert(np.array(ends))
    padded = _join([_join([_item(x, i)[:, :end], _item(padding, i)[:, end:]]) for i, end in enumerate(ends)], axis=0)
    for dt in subject.steps():
        found = subject.run(padded, start, dt, lengths)
        for item, end in enumerate(ends):
            part = None if dt is None else dt[..., :end]
            _compare(
                subject,
                Outcome(_item(_until(found.output, end), item), _item(found.state, item)),
                subject.run(_item(x, item)[:, :end], _item(start, item), part),
                "padding is ignored",
                f"{end} samples padded to {n_steps}{_said(dt)}, compared with the samples alone",
            )


def check_save_equals_load(member: Any, trial: Trial | None = None) -> None:
    """Saved and loaded by `hippozoo.checkpoint`, member and state go on as if nothing had happened.

    Trained numbers are moved a little first, so that a member that came back newly made is noticed. A class of
    your own must be registered with `hippozoo.checkpoint.register`.

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
    >>> check_save_equals_load(Memory(LegT(order=4, timescale=20.0)))
    """
    promise = "what is loaded goes on like what was saved"
    subject = subject_of(member, trial)
    _move_trained_numbers(subject)
    x = subject.inputs()
    state = subject.run(subject.inputs()).state
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "member.safetensors"
        try:
            save(path, {"member": subject.member, "state": state})
            found = load(path)
        except CheckpointError as error:
            _fail(subject, promise, f"{str(error).removeprefix(f'{path}: ')}")
    if snapshot(found["state"]) != snapshot(state):
        _fail(subject, promise, "the state came back changed")
    loaded = type(subject)(found["member"], subject.trial)
    for dt in subject.steps():
        expected = subject.run(x, state, dt)
        _compare(subject, loaded.run(x, found["state"], dt), expected, promise, f"after loading{_said(dt)}")
    expected = subject.step(x[:, 0], state)
    _compare(subject, loaded.step(x[:, 0], found["state"]), expected, promise, "a step after loading")


def check_bad_input_changes_nothing(member: Any, trial: Trial | None = None) -> None:
    """NaN, infinity, wrong shapes and types are refused by ValueError or TypeError, and nothing has changed.

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
    >>> check_bad_input_changes_nothing(Memory(LegT(order=4, timescale=20.0)))
    """
    promise = "bad input is refused by ValueError or TypeError and changes nothing"
    subject = subject_of(member, trial)
    x, later = subject.inputs(), subject.inputs()
    state = subject.run(x).state
    untouched = copy.deepcopy(state)
    # What it would have said without the bad calls: asked of a twin, since the member may have secrets of its own.
    twin = type(subject)(_copied(subject.member), subject.trial)
    for what, call in subject.bad_calls(x, state):
        try:
            call()
        except (ValueError, TypeError):
            pass
        except Exception as error:
            _fail(subject, promise, f"{what} raised {type(error).__name__}: {error}")
        else:
            _fail(subject, promise, f"{what} was accepted")
        place = changed_since(state, snapshot(untouched))
        if place:
            _fail(subject, promise, f"{what} was refused and changed {place} all the same")
    expected = twin.run(later, untouched)
    _compare(subject, subject.run(later, state), expected, promise, "good input after bad input")


# ------------------------------------------------------------------------------------------------ small tools


def _fail(subject: Subject, promise: str, found: str) -> NoReturn:
    raise AssertionError(f"{subject.name} breaks a promise: {promise}. Found: {found}.")


def _compare(subject: Subject, found: Outcome, expected: Outcome, promise: str, circumstances: str) -> None:
    for name, ours, theirs in zip(("output", "state"), found, expected, strict=True):
        message = difference(ours, theirs, subject.trial.tolerance, name)
        if message:
            _fail(subject, promise, f"with {circumstances}, {message}")


def _large(subject: Subject, x: Any) -> Any:
    """Numbers so large that even a trace of them, left behind by rounding, would show."""
    return x * 100 if subject.trial.inputs is None else x


def _said(dt: Any) -> str:
    return "" if dt is None else ", each with its own dt"


def _two_calls(subject: Subject, first: Any, second: Any) -> Outcome:
    return subject.run(second, subject.run(first).state)


def _join(pieces: Sequence[Any], axis: int = 1) -> Any:
    """Pieces of a sequence, one after the other (or, along axis 0, sequences side by side)."""

    def together(*arrays: Any) -> Any:
        return loaded_torch().cat(arrays, axis) if is_tensor(arrays[0]) else np.concatenate(arrays, axis)

    return map_leaves(together, *pieces)


def _at_one_time(output: Any) -> Any:
    """The output of a step as the output of a sequence of one sample."""
    return map_leaves(lambda leaf: leaf[:, None], output)


def _until(output: Any, present: int) -> Any:
    return map_leaves(lambda leaf: leaf[:, :present], output)


def _item(nest: Any, item: int) -> Any:
    """One sequence of a batch, as a batch of its own; a leaf without axes, such as a clock, belongs to all."""
    return map_leaves(lambda leaf: leaf[item : item + 1] if np.ndim(leaf) else leaf, nest)


def _copied(member: Any) -> Any:
    try:
        return copy.deepcopy(member)
    except Exception:  # what cannot be copied stands for itself
        return member


def _move_trained_numbers(subject: Subject) -> None:
    if is_module(subject.member):
        torch = loaded_torch()
        with torch.no_grad():
            for parameter in subject.member.parameters():
                noise = torch.as_tensor(subject.rng.uniform(-0.05, 0.05, parameter.shape)).to(parameter)
                parameter += noise * (parameter.abs() + 0.1)
