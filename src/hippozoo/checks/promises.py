"""What every member promises, one check each: of a member, or a function that makes one, fed with a `Trial`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any
from unittest import SkipTest

import numpy as np

from hippozoo._internal.nests import leaves, map_leaves
from hippozoo.checkpoint.modules import is_module
from hippozoo.checkpoint.tensors import is_tensor, loaded_torch
from hippozoo.checks.compare import as_array, changed_since, difference, snapshot
from hippozoo.checks.subject import Outcome, Subject, Trial, copied, subject_of
from hippozoo.checks.under_test import REFUSAL, RESTORED

__all__ = ["CHECKS"]


def check_same_input_same_output(member: Any, trial: Trial | None = None) -> None:
    """Nothing is remembered but the state: the same input and state give the same output, whatever came between."""
    subject = subject_of(member, trial)
    x, between = subject.inputs(), subject.inputs()
    start = subject.run(between).state
    expected = subject.run(x, start)
    promise = "the same input gives the same output"
    subject.compare(subject.run(x, start), expected, promise, "the same call again")
    subject.run(between, start)
    subject.compare(subject.run(x, start), expected, promise, "another call in between")


def check_steps_equal_one_call(member: Any, trial: Trial | None = None) -> None:
    """Sample by sample from the initial state gives what one call gives."""
    subject = subject_of(member, trial)
    n_steps = subject.trial.n_steps
    x = subject.inputs()
    for dt in subject.steps():
        state, outputs = subject.initial_state(subject.trial.batch), []
        for t in range(n_steps):
            y, state = subject.step(x[:, t], state, None if dt is None else dt[..., t])
            outputs.append(map_leaves(lambda leaf: leaf[:, None], y))
        promise = "steps from the initial state equal one call"
        subject.compare(
            Outcome(_join(outputs), state), subject.run(x, dt=dt), promise, f"{n_steps} steps{_describe(dt)}"
        )


def check_chunks_equal_one_call(member: Any, trial: Trial | None = None) -> None:
    """A sequence given in chunks, the state handed on, gives what one call gives."""
    subject = subject_of(member, trial)
    n_steps = subject.trial.n_steps
    x = subject.inputs()
    ragged = np.sort(subject.rng.choice(np.arange(1, n_steps), size=min(4, n_steps - 1), replace=False))
    promise = "chunks with the state handed on equal one call"
    for dt in subject.steps():
        expected = subject.run(x, dt=dt)
        for cuts in ([1], [n_steps - 1], [n_steps // 2], ragged.tolist()):
            edges = [0, *cuts, n_steps]
            state, outputs = None, []
            for begin, end in pairwise(edges):
                y, state = subject.run(x[:, begin:end], state, None if dt is None else dt[..., begin:end])
                outputs.append(y)
            circumstances = f"chunks of {np.diff(edges).tolist()} samples{_describe(dt)}"
            subject.compare(Outcome(_join(outputs), state), expected, promise, circumstances)


def check_future_is_invisible(member: Any, trial: Trial | None = None) -> None:
    """No output depends on later samples, however large they are."""
    subject = subject_of(member, trial)
    n_steps = subject.trial.n_steps
    x, other = subject.inputs(), _large(subject, subject.inputs())
    promise = "no output depends on later samples"
    for dt in subject.steps():
        expected, _ = subject.run(x, dt=dt)
        for present in sorted({1, 2, n_steps // 3, n_steps // 2, n_steps - 1}):
            y, _ = subject.run(_join([x[:, :present], other[:, present:]]), dt=dt)
            found, wanted = (Outcome(_until(output, present), None) for output in (y, expected))
            subject.compare(found, wanted, promise, f"other samples from {present} on{_describe(dt)}")


def check_batch_items_do_not_mix(member: Any, trial: Trial | None = None) -> None:
    """Each sequence of a batch is treated as if it were alone; so is each channel of a pure memory."""
    subject = subject_of(member, trial)
    # Two calls each, so that a state that comes in is among the things that could mix.
    first, second = subject.inputs(), subject.inputs()

    def two_calls(first: Any, second: Any) -> Outcome:
        return subject.run(second, subject.run(first).state)

    together = two_calls(first, second)
    for item in range(subject.trial.batch):
        found = Outcome(_item(together.output, item), _item(together.state, item))
        alone = two_calls(_item(first, item), _item(second, item))
        circumstances = f"sequence {item} among {subject.trial.batch}, compared with the same alone"
        subject.compare(found, alone, "the sequences of a batch do not mix", circumstances)


def check_padding_is_ignored(member: Any, trial: Trial | None = None) -> None:
    """With ``lengths=``, no time passes in the padding: outputs and states are those of the unpadded sequences.

    Skipped (by `unittest.SkipTest`) where the member takes no lengths.
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
        together = subject.run(padded, start, dt, lengths)
        for item, end in enumerate(ends):
            found = Outcome(_item(_until(together.output, end), item), _item(together.state, item))
            alone = subject.run(_item(x, item)[:, :end], _item(start, item), None if dt is None else dt[..., :end])
            circumstances = f"{end} samples padded to {n_steps}{_describe(dt)}, compared with the samples alone"
            subject.compare(found, alone, "padding is ignored", circumstances)


def check_state_is_not_changed_in_place(member: Any, trial: Trial | None = None) -> None:
    """States, inputs and outputs stay what they are when the member is called again."""
    subject = subject_of(member, trial)
    x = subject.inputs()
    state = subject.initial_state(subject.trial.batch)
    initial = snapshot(state)
    seen = [("the input", x, snapshot(x)), ("the initial state", state, initial)]

    def look(call: str, number: str, y: Any, state: Any) -> None:
        for name, nest, before in seen:
            place = changed_since(nest, before)
            if place:
                promise = "nothing that was given or returned is changed in place"
                subject.fail(promise, f"{call} changed {name} ({place})")
        seen.append((f"the output of {number}", y, snapshot(y)))
        seen.append((f"the state after {number}", state, snapshot(state)))

    for call in range(3):
        y, state = subject.run(x, state)
        look("a call on a sequence", f"call {call}", y, state)
        y, state = subject.step(x[:, call], state)
        look("a step", f"step {call}", y, state)
    if snapshot(subject.initial_state(subject.trial.batch)) != initial:
        subject.fail("the initial state is always the same", "it differs after a few calls")


def check_bad_input_changes_nothing(member: Any, trial: Trial | None = None) -> None:
    """NaN, infinity, wrong shapes and types are refused by ValueError or TypeError, and nothing has changed."""
    subject = subject_of(member, trial)
    x, later = subject.inputs(), subject.inputs()
    state = subject.run(x).state
    untouched = copy.deepcopy(state)
    # What it would have said without the bad calls: asked of a twin, since the member may have secrets of its own.
    twin = type(subject)(copied(subject.member), subject.trial)
    subject.demand_refusals(subject.bad_calls(x, state), state)
    subject.compare(subject.run(later, state), twin.run(later, untouched), REFUSAL, "good input after bad input")


def check_save_equals_load(member: Any, trial: Trial | None = None) -> None:
    """Saved and loaded by `hippozoo.checkpoint`, member and state go on as if nothing had happened.

    Trained numbers are moved a little first, so that a member that came back newly made is noticed. A class of
    your own must be registered with `hippozoo.checkpoint.register`.
    """
    subject = subject_of(member, trial)
    _move_trained_numbers(subject)
    x = subject.inputs()
    state = subject.run(subject.inputs()).state
    found, loaded_state = subject.saved_and_loaded(state)
    loaded = type(subject)(found, subject.trial)
    for dt in subject.steps():
        expected = subject.run(x, state, dt)
        subject.compare(loaded.run(x, loaded_state, dt), expected, RESTORED, f"after loading{_describe(dt)}")
    expected = subject.step(x[:, 0], state)
    subject.compare(loaded.step(x[:, 0], loaded_state), expected, RESTORED, "a step after loading")


def check_any_scale(member: Any, trial: Trial | None = None) -> None:
    """Inputs times 1e30 and 1e-30 give finite outputs, or are refused by ValueError; never a silent NaN."""
    subject = subject_of(member, trial)
    if subject.trial.inputs is not None:
        raise SkipTest(f"{subject.name} has inputs of its own, which may not be scaled")
    x = subject.inputs()
    for scale in (1e-30, 1e30):
        _demand_finite(subject, f"inputs times {scale:g}", x * scale, None)


def check_any_step_length(member: Any, trial: Trial | None = None) -> None:
    """Steps a billion times as long, or as short, give finite outputs, or are refused by ValueError."""
    subject = subject_of(member, trial)
    if not subject.takes_dt:
        raise SkipTest(f"{subject.name} takes no dt")
    x, (_, dt) = subject.inputs(), subject.steps()
    for scale in (1e-9, 1e9):
        _demand_finite(subject, f"steps times {scale:g}", x, dt * scale)


def check_threads_do_not_mix(member: Any, trial: Trial | None = None) -> None:
    """Calls from several threads at a time give what each of them gives alone."""
    subject = subject_of(member, trial)
    inputs = [subject.inputs() for _ in range(4)]
    alone = [subject.run(x) for x in inputs]
    for x, expected in zip(inputs, alone, strict=True):
        if difference(subject.run(x), expected, subject.tolerance, "outcome"):
            raise SkipTest(f"{subject.name} says other things at every call, also in one thread")
    with ThreadPoolExecutor(len(inputs)) as threads:
        for _ in range(3):
            for found, expected in zip(threads.map(subject.run, inputs), alone, strict=True):
                subject.compare(found, expected, "threads do not mix", f"{len(inputs)} threads at a time")


#: Every promise, in the order in which `check_member` asks for it.
CHECKS: tuple[Callable[..., None], ...] = (
    check_same_input_same_output,
    check_steps_equal_one_call,
    check_chunks_equal_one_call,
    check_future_is_invisible,
    check_batch_items_do_not_mix,
    check_padding_is_ignored,
    check_state_is_not_changed_in_place,
    check_bad_input_changes_nothing,
    check_save_equals_load,
    check_any_scale,
    check_any_step_length,
    check_threads_do_not_mix,
)


# -- small tools ----------------------------------------------------------------------------------------------------


def _large(subject: Subject, x: Any) -> Any:
    """Numbers so large that even a trace of them, left behind by rounding, would show."""
    return x * 100 if subject.trial.inputs is None else x


def _describe(dt: Any) -> str:
    return "" if dt is None else ", each with its own dt"


def _join(pieces: Sequence[Any], axis: int = 1) -> Any:
    """Pieces of a sequence, one after the other (or, along axis 0, sequences side by side)."""

    def together(*arrays: Any) -> Any:
        return loaded_torch().cat(arrays, axis) if is_tensor(arrays[0]) else np.concatenate(arrays, axis)

    return map_leaves(together, *pieces)


def _until(output: Any, present: int) -> Any:
    return map_leaves(lambda leaf: leaf[:, :present], output)


def _item(nest: Any, item: int) -> Any:
    """One sequence of a batch, as a batch of its own; a leaf without axes, such as a clock, belongs to all."""
    return map_leaves(lambda leaf: leaf[item : item + 1] if np.ndim(leaf) else leaf, nest)


def _move_trained_numbers(subject: Subject) -> None:
    if is_module(subject.member):
        torch = loaded_torch()
        with torch.no_grad():
            for parameter in subject.member.parameters():
                noise = torch.as_tensor(subject.rng.uniform(-0.05, 0.05, parameter.shape)).to(parameter)
                parameter += noise * (parameter.abs() + 0.1)


def _demand_finite(subject: Subject, circumstances: str, x: Any, dt: Any) -> None:
    promise = "numbers of any size give finite ones, or are refused by ValueError"
    try:
        outcome = subject.run(x, dt=dt)
    except ValueError:
        return
    except Exception as error:
        subject.fail(promise, f"with {circumstances}, {type(error).__name__}: {error}")
    for name, nest in zip(("output", "state"), outcome, strict=True):
        for place, leaf in leaves(nest, name):
            array = as_array(leaf)
            if array.dtype.kind in "fc" and not np.isfinite(array).all():
                subject.fail(promise, f"with {circumstances}, {place} has NaN or infinity, and nothing was said")
