"""A few hundred of the calls that ``make trust`` makes by the hundred thousand."""

import pytest

from trust.fuzz import ENTRIES, draw, trouble


@pytest.mark.parametrize("begin", [0, 100, 200])
def test_every_call_is_right_or_refused_with_a_reason(begin):
    found = {number: trouble(draw(number)) for number in range(begin, begin + 100)}
    assert {number: wrong for number, wrong in found.items() if wrong} == {}


def test_the_cases_meet_every_entry():
    assert {draw(number).entry for number in range(300)} == set(ENTRIES)
