"""A few hundred of the calls that ``make trust`` makes by the hundred thousand."""

import pytest

from trust.fuzz import ENTRIES, SPOILT, draw, trouble


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_call_is_right_or_refused_with_a_reason(entry):
    # What is called often is cheap.
    count = 3 + ENTRIES[entry][1] // 5
    found = {number: trouble(draw(number, entry)) for number in range(count)}
    assert {number: wrong for number, wrong in found.items() if wrong} == {}


def test_a_high_order_is_right_too():
    assert draw(999, "scan").system.order > 100
    assert trouble(draw(999, "scan")) == ""


def test_the_fuzz_sees_what_is_wrong(monkeypatch):
    """A result that is off, one that is no number, and a spoilt signal that is taken."""
    from hippozoo.memory import Memory

    right = Memory.final
    sound = next(
        case
        for n in range(99)
        if not (case := draw(n, "final")).spoilt and 1e-9 < abs(case.columns[-1]).min() <= abs(case.columns).max() < 1e9
    )
    spoilt = next(case for n in range(99) if (case := draw(n, "final")).spoilt)
    monkeypatch.setattr(Memory, "final", lambda self, signal: right(self, signal) * (1 + 1e-6))
    assert "off by" in trouble(sound)
    monkeypatch.setattr(Memory, "final", lambda self, signal: right(self, signal) * SPOILT[0])
    assert "nothing was said" in trouble(sound)
    monkeypatch.setattr(Memory, "final", lambda self, signal: signal)
    assert "was taken" in trouble(spoilt)
