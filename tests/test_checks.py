"""Each check catches the member that breaks its promise, and no other check does."""

import re
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from hippozoo.checkpoint import register
from hippozoo.checks import CHECKS, Trial, check_member, promises
from hippozoo.checks.compare import difference
from hippozoo.memory import Memory
from hippozoo.systems import LegT

TRIAL = {"n_steps": 12}


@register
class Leaky(torch.nn.Module):
    """A member that keeps every promise: a fading mean of each channel, and how many samples it has seen."""

    def __init__(self, channels=2, rate=0.3):
        super().__init__()
        self.channels, self.rate = channels, rate
        self.gain = torch.nn.Parameter(torch.ones(channels, dtype=torch.float64))

    def initial_state(self, batch):
        level = torch.zeros(batch, self.channels, dtype=torch.float64)
        return {"level": level, "seen": torch.zeros(batch, dtype=torch.int64)}

    def check(self, x, shape, state, dt):
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float64:
            raise TypeError("x must be float64")
        if x.ndim != len(shape) or x.shape[-1] != self.channels or 0 in x.shape:
            raise ValueError("x has a wrong shape")
        if len(state["level"]) != len(x):
            raise ValueError("the state is for another batch")
        if not torch.isfinite(x).all():
            self.notice_bad(state)
            raise ValueError("x is not finite")
        if dt is not None and not (torch.as_tensor(dt) > 0).all():
            raise ValueError("dt must be above zero")

    def notice_bad(self, state):
        pass

    def output(self, level):
        return level * self.gain

    def step(self, x, state, dt=None):
        self.check(x, ("batch", "channels"), state, dt)
        keep = torch.exp(-self.rate * torch.as_tensor(1.0 if dt is None else dt, dtype=torch.float64))
        level = state["level"] * keep + x * (1 - keep)
        return self.output(level), {"level": level, "seen": state["seen"] + 1}

    def forward(self, x, state=None, dt=None, lengths=None):
        state = self.initial_state(len(x)) if state is None else state
        self.check(x, ("batch", "time", "channels"), state, dt)
        if lengths is not None and not ((lengths >= 0) & (lengths <= x.shape[1])).all():
            raise ValueError("lengths must be within the sequence")
        outputs = []
        for t in range(x.shape[1]):
            now = dt if dt is None or np.ndim(dt) == 0 else dt[t]
            y, after = Leaky.step(self, x[:, t], state, now)
            if lengths is not None:
                real = t < lengths
                after = {"level": torch.where(real[:, None], after["level"], state["level"])} | {
                    "seen": torch.where(real, after["seen"], state["seen"])
                }
            state = after
            outputs.append(y)
        return torch.stack(outputs, 1), state


class Array:
    """The same for NumPy arrays, with a bare array as state."""

    def __init__(self, keep=0.5):
        self.keep = keep

    def configuration(self):
        return {"keep": self.keep}

    def initial_state(self, batch):
        return np.zeros((batch, 2))

    def step(self, x, state):
        y, state = self(x[:, None], state)
        return y[:, 0], state

    def __call__(self, x, state=None):
        x = np.asarray(x)
        if x.dtype.kind != "f" or x.ndim != 3 or x.shape[2] != 2 or 0 in x.shape or not np.isfinite(x).all():
            raise ValueError("x must be finite floats (batch, time, 2)")
        state = self.initial_state(len(x)) if state is None else state
        if state.shape != (len(x), 2):
            raise ValueError("the state is for another batch")
        y = np.empty_like(x)
        for t in range(x.shape[1]):
            state = y[:, t] = state * self.keep + x[:, t]
        return y, state.copy()


register(Array)


# ---------------------------------------------------------------------------- members that break one promise each


@register
class Outlook(Leaky):
    """Looks ahead, but only for samples so large that ordinary data never shows it."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, state = super().forward(x, state, dt, lengths)
        return (y + (x.abs() > 50).any(dim=1, keepdim=True) if lengths is None else y), state


@register
class Neighbourly(Leaky):
    """Adds a little of the sequence beside it."""

    def output(self, level):
        return level * self.gain + 0.01 * (level.roll(1, 0) if len(level) == 3 else 0)

    def forward(self, x, state=None, dt=None, lengths=None):
        if lengths is None:
            return super().forward(x, state, dt)
        return Leaky.forward(_as_leaky(self), x, state, dt, lengths)


@register
class NeighbourlyState(Leaky):
    """Mixes what comes in from outside: the state, not the samples."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        if state is not None and lengths is None and len(x) == 3 and x.shape[1] == TRIAL["n_steps"]:
            after = after | {"level": after["level"] + 0.01 * state["level"].roll(1, 0)}
        return y, after


@register
class StepInPlace(Leaky):
    def step(self, x, state, dt=None):
        y, after = super().step(x, state, dt)
        state["level"].copy_(after["level"])
        return y, {"level": state["level"], "seen": after["seen"]}


@register
class StepApart(Leaky):
    def step(self, x, state, dt=None):
        y, state = super().step(x, state, dt)
        return y * (1 + 1e-6), state


@register
class StepStateApart(Leaky):
    def step(self, x, state, dt=None):
        y, after = super().step(x, state, dt)
        return y, after | {"seen": after["seen"] + (after["seen"] == TRIAL["n_steps"])}


@register
class StepDeafToTime(Leaky):
    def step(self, x, state, dt=None):
        return super().step(x, state, None if dt is None else dt * 1.01)


@register
class FreshStart(Leaky):
    """Does something at the beginning of every call that goes on from a state."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        if state is not None:
            y[:, 0] += 0.01
        return y, after


@register
class Scarred(Leaky):
    """Refuses bad input but is not the same afterwards."""

    scar = 0.0

    def notice_bad(self, state):
        self.scar = 0.1

    def output(self, level):
        return level * self.gain + self.scar


@register
class Clumsy(Leaky):
    """Refuses bad input after it has touched the state."""

    def notice_bad(self, state):
        state["seen"] += 1


@register
class Credulous(Leaky):
    """Takes NaN for a number."""

    def check(self, x, shape, state, dt):
        clean = torch.nan_to_num(x) if isinstance(x, torch.Tensor) and not x.is_complex() else x
        super().check(clean, shape, state, dt)


@register
class Cryptic(Leaky):
    """Refuses with an error that says nothing to the caller."""

    def notice_bad(self, state):
        raise RuntimeError("assertion failed in kernel")


@register
class Forgetful(Leaky):
    """Comes back with the default rate."""

    def configuration(self):
        return {"channels": self.channels}


@register
class Untrained(Leaky):
    """Comes back with the weights of a new layer."""

    def load_state_dict(self, state):
        pass


class Unregistered(Leaky):
    pass


@register
class TimePassesInPadding(Leaky):
    def forward(self, x, state=None, dt=None, lengths=None):
        super().forward(x, state, dt, lengths)
        return super().forward(x, state, dt)


@register
class OutputOfPadding(Leaky):
    """Lets the padding into the outputs before it, though not into the state."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, state = super().forward(x, state, dt, lengths)
        return (y if lengths is None else y + 1e-3 * x[:, -1:]), state


@register
class Moody(Leaky):
    """Answers a long question differently when it is asked again."""

    def __init__(self, channels=2, rate=0.3):
        super().__init__(channels, rate)
        self.asked = set()

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        level = None if state is None else tuple(state["level"].flatten().tolist())
        question = (tuple(x.flatten().tolist()), level, str(dt), str(lengths))
        again = question in self.asked and x.shape[1] == TRIAL["n_steps"]
        self.asked.add(question)
        return y + 0.1 * again, after


@register
class Overflowing(Leaky):
    """Has no words for large numbers."""

    def output(self, level):
        return super().output(level) + torch.where(level.abs() > 1e20, torch.nan, 0.0)


@register
class Timesick(Leaky):
    """Long steps make it dizzy."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        return (y if dt is None or np.max(np.asarray(dt)) < 1e6 else y * torch.nan), after


@register
class Tangled(Leaky):
    """Puts down what it was given, and takes up what lies there."""

    def forward(self, x, state=None, dt=None, lengths=None):
        self.desk = x
        time.sleep(0.005)
        return super().forward(self.desk, state, dt, lengths)


def _as_leaky(member):
    twin = Leaky(member.channels, member.rate)
    twin.gain = member.gain
    return twin


BROKEN = {
    Outlook: "check_future_is_invisible",
    Neighbourly: "check_batch_items_do_not_mix",
    NeighbourlyState: "check_batch_items_do_not_mix",
    StepInPlace: "check_state_is_not_changed_in_place",
    StepApart: "check_steps_equal_one_call",
    StepStateApart: "check_steps_equal_one_call",
    StepDeafToTime: "check_steps_equal_one_call",
    FreshStart: "check_chunks_equal_one_call",
    Scarred: "check_bad_input_changes_nothing",
    Clumsy: "check_bad_input_changes_nothing",
    Credulous: "check_bad_input_changes_nothing",
    Cryptic: "check_bad_input_changes_nothing",
    Forgetful: "check_save_equals_load",
    Untrained: "check_save_equals_load",
    Unregistered: "check_save_equals_load",
    TimePassesInPadding: "check_padding_is_ignored",
    OutputOfPadding: "check_padding_is_ignored",
    Moody: "check_same_input_same_output",
    Overflowing: "check_any_scale",
    Timesick: "check_any_step_length",
    Tangled: "check_threads_do_not_mix",
}


@pytest.mark.parametrize("Broken", BROKEN, ids=lambda cls: cls.__name__)
def test_a_broken_promise_is_caught_by_its_own_check_alone(Broken):
    report = check_member(Broken(rate=0.7), **TRIAL, on_fail=None)
    assert [result.check for result in report.failed] == [BROKEN[Broken]], str(report)
    assert f"{Broken.__name__} breaks a promise" in report.failed[0].reason


def test_every_check_has_been_seen_failing():
    assert set(BROKEN.values()) == {check.__name__ for check in CHECKS}
    assert {name for name in vars(promises) if name.startswith("check_")} == set(BROKEN.values())


@pytest.mark.parametrize("member", [Leaky(rate=0.7), Leaky(channels=1), Array()], ids=["torch", "narrow", "numpy"])
def test_a_member_that_keeps_its_promises_passes(member):
    report = check_member(member, **TRIAL)
    assert [result.check for result in report.skipped] == (
        ["check_padding_is_ignored", "check_any_step_length"] if isinstance(member, Array) else []
    )
    assert len(report) == len(CHECKS)


class InPlace(Leaky):
    """Writes into the state that it is given."""

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        if state is not None:
            state["level"].copy_(after["level"])
        return y, after


class Lending(Leaky):
    """Returns the output of every step in the same piece of memory."""

    def step(self, x, state, dt=None):
        y, after = super().step(x, state, dt)
        self.lent = y if not hasattr(self, "lent") or self.lent.shape != y.shape else self.lent.copy_(y)
        return self.lent, after


class Scaling(Leaky):
    """Normalises its input where it stands."""

    def forward(self, x, state=None, dt=None, lengths=None):
        return super().forward(x.mul_(0.5), state, dt, lengths)


class Ageing(Leaky):
    """Starts anew where it last stopped."""

    def initial_state(self, batch):
        state = super().initial_state(batch)
        return state | {"seen": state["seen"] + getattr(self, "age", 0)}

    def step(self, x, state, dt=None):
        self.age = 1
        return super().step(x, state, dt)


@pytest.mark.parametrize(
    ("Broken", "found"),
    [
        (InPlace, r"a call on a sequence changed the initial state \(state\['level'\]\)"),
        (Lending, r"a step changed the output of step 0"),
        (Scaling, "a call on a sequence changed the input"),
        (Ageing, "the initial state is always the same"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_whatever_changes_in_place_is_named(Broken, found):
    with pytest.raises(AssertionError, match=found):
        promises.check_state_is_not_changed_in_place(Broken(), Trial(**TRIAL))


def test_a_state_touched_by_refused_input_is_named():
    with pytest.raises(AssertionError, match=r"changed state\['seen'\]"):
        promises.check_bad_input_changes_nothing(Clumsy(), Trial(**TRIAL))


@register
@dataclass
class Worn:
    """A state that loses a little whenever it is put together, less than any tolerance."""

    level: np.ndarray

    def __post_init__(self):
        self.level = self.level * (1 - 1e-14)


@register
class Wearing(Array):
    def initial_state(self, batch):
        return Worn(super().initial_state(batch))

    def __call__(self, x, state=None):
        y, after = super().__call__(x, np.zeros((len(x), 2)) if state is None else state.level)
        return y, Worn(after)


def test_a_state_comes_back_to_the_bit():
    with pytest.raises(AssertionError, match="came back changed"):
        promises.check_save_equals_load(Wearing(), Trial(**TRIAL))
    promises.check_save_equals_load(Array(), Trial(**TRIAL))


class Drifting(Leaky):
    """Goes its way with every new question, and says the same only as long as it is asked the same."""

    questions, last = 0, None

    def output(self, level):
        return level * self.gain + 0.01 * self.questions

    def forward(self, x, state=None, dt=None, lengths=None):
        self.questions += self.last is None or not torch.equal(x, self.last)
        self.last = x
        return super().forward(x, state, dt, lengths)


class Reminiscing(Leaky):
    """Cannot let go of the last question."""

    last = 0.0

    def forward(self, x, state=None, dt=None, lengths=None):
        y, after = super().forward(x, state, dt, lengths)
        y, self.last = y + 0.01 * self.last, x.mean()
        return y, after


def test_what_is_remembered_between_calls_is_noticed():
    with pytest.raises(AssertionError, match="same call again"):
        promises.check_same_input_same_output(Reminiscing(), Trial(**TRIAL))
    with pytest.raises(AssertionError, match="call in between"):
        promises.check_same_input_same_output(Drifting(), Trial(**TRIAL))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"a": np.array([1.0, np.nan])}, r"out\['a'\]\[1\] is nan instead of 2"),
        ({"a": np.array([1.0, 2.1])}, r"out\['a'\]\[1\] is 2.1 instead of 2 .allowed: 1e-09 of the largest value, 2"),
        ({"a": np.array([1.0, 2.0], np.float32)}, "is of float32 instead of float64"),
        ({"a": np.array([[1.0, 2.0]])}, r"has shape \(1, 2\) instead of \(2,\)"),
        ({"b": np.array([1.0, 2.0])}, r"holds \[\"out\['b'\]\"\] instead of"),
        ({"a": np.array([1.0, 2.0]), "b": 1}, "holds"),
    ],
    ids=["nan", "number", "dtype", "shape", "name", "more"],
)
def test_every_kind_of_difference_is_seen_and_named(found, message):
    expected = {"a": np.array([1.0, 2.0])}
    assert difference(expected, expected, None, "out") is None
    assert re.search(message, difference(found, expected, None, "out"))


@register
@dataclass(frozen=True)
class Gossiping(Memory):
    """A memory whose channels hear of each other."""

    def scan(self, signal, state=None, dt=None, mask=None, held=0.0):
        states = super().scan(signal, state, dt, mask, held)
        return states + 1e-3 * (states.sum(axis=1, keepdims=True) - states)


@register
@dataclass(frozen=True)
class Hasty(Memory):
    """A memory whose fast final state is not the last of its states."""

    def final(self, signal, state=None, dt=None, mask=None, held=0.0):
        return super().final(signal, state, dt, mask, held) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("Broken", "check"),
    [(Gossiping, promises.check_batch_items_do_not_mix), (Hasty, promises.check_steps_equal_one_call)],
    ids=lambda value: value.__name__,
)
def test_a_broken_memory_is_caught(Broken, check):
    with pytest.raises(AssertionError, match=f"{Broken.__name__} breaks"):
        check(Broken(LegT(4, timescale=10.0)), Trial(**TRIAL))
    check(Memory(LegT(4, timescale=10.0)), Trial(**TRIAL))


def test_a_factory_makes_a_new_member_for_every_check():
    made = []

    def factory():
        made.append(Leaky())
        return made[-1]

    check_member(factory, **TRIAL)
    assert len(made) == len(CHECKS)
    check_member(Leaky, **TRIAL)  # a class is a factory too


def test_the_member_itself_is_left_alone():
    member = Scarred().train()
    before = member.gain.detach().clone()
    check_member(member, **TRIAL, on_fail=None)
    assert member.training
    assert member.scar == 0.0
    assert torch.equal(member.gain, before)


def test_dropout_is_no_broken_promise():
    class Dropping(Leaky):
        def output(self, level):
            return torch.nn.functional.dropout(level, 0.5, self.training)

    promises.check_chunks_equal_one_call(Dropping(), Trial(**TRIAL))


def test_members_with_inputs_of_their_own_can_be_checked():
    class Tokens(Leaky):
        def check(self, x, shape, state, dt):
            if not isinstance(x, torch.Tensor) or x.dtype != torch.int64 or x.ndim != len(shape) - 1 or not x.numel():
                raise ValueError("x must be whole numbers")
            super().check(self.embed(x), shape, state, dt)

        def embed(self, x):
            return torch.nn.functional.one_hot(x, 2).double()

        def step(self, x, state, dt=None):
            if isinstance(x, torch.Tensor) and x.dtype == torch.int64 and x.ndim == 1:
                return Leaky.step(_as_leaky(self), self.embed(x), state, dt)
            raise ValueError("x must be whole numbers")

        def forward(self, x, state=None, dt=None, lengths=None):
            if isinstance(x, torch.Tensor) and x.dtype == torch.int64 and x.ndim == 2:
                return Leaky.forward(_as_leaky(self), self.embed(x), state, dt, lengths)
            raise ValueError("x must be whole numbers")

    def draw(rng, batch, n_steps):
        return torch.from_numpy(rng.integers(0, 2, (batch, n_steps)))

    report = check_member(Tokens(), **TRIAL, inputs=draw, skip={"check_save_equals_load": "defined in a test"})
    assert [result.check for result in report.skipped] == ["check_save_equals_load", "check_any_scale"]


def test_the_tolerance_is_the_callers_to_choose():
    promises.check_steps_equal_one_call(StepApart(), Trial(n_steps=12, tolerance=1e-5))
    with pytest.raises(AssertionError, match=r"1e-07 of the largest"):
        promises.check_steps_equal_one_call(StepApart(), Trial(n_steps=12, tolerance=1e-7))


def test_all_broken_promises_are_named_at_once():
    class Careless(StepApart):
        def output(self, level):
            return super().output(level) + 0.01 * level.mean(0)

    with pytest.raises(AssertionError, match="initial state") as caught:
        check_member(Careless, **TRIAL)
    assert "do not mix" in str(caught.value)
    assert "hippozoo.checkpoint.register" in str(caught.value), "what to do about the class is not said"


def test_a_member_that_breaks_down_is_reported_and_the_other_checks_run():
    class Fragile(Leaky):
        def step(self, x, state, dt=None):
            raise IndexError("no such table")

    report = check_member(Fragile, **TRIAL, on_fail=None)
    reasons = {result.check: result.reason for result in report.failed}
    assert "it raised IndexError: no such table" in reasons["check_steps_equal_one_call"]
    assert "check_chunks_equal_one_call" not in reasons


def test_a_member_that_does_not_tell_its_channels_is_told_so():
    class Five:
        def initial_state(self, batch):
            return np.zeros((batch, 5))

        def step(self, x, state):
            return state + x, state + x

        def __call__(self, x, state=None):
            y = np.cumsum(x, axis=1) + (np.zeros((len(x), 5)) if state is None else state)[:, None]
            return y, y[:, -1]

    with pytest.raises(ValueError, match=r"so 2 were tried"):
        check_member(Five())
    assert check_member(Five(), channels=5, on_fail=None) is not None
