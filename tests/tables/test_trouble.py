"""Every kind of trouble has one wording: what is wrong, where, what a stream does about it, what to do in a table."""

import string

import pytest

from hippozoo.tables.trouble import KINDS, Place, TableError, Trouble, reason, word

PLACE = Place("pump.csv", line=7, column="flow")


class Given:
    """Stands for whatever a kind names, in any format."""

    def __format__(self, spec):
        return "GIVEN"

    __str__ = __repr__ = lambda self: "GIVEN"


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_names_its_place_and_what_was_given(kind):
    trouble = Trouble(kind, PLACE, Given(), more=(Given(), Given()))
    what, then, advice = KINDS[kind]
    text = word(trouble)
    assert text.startswith("pump.csv, line 7, column 'flow'")
    assert text.endswith(".")
    assert ("GIVEN" in text) == bool(fields(what) | fields(advice))
    assert reason(trouble) in text
    if then:
        assert word(trouble, stream=True) == f"{PLACE}{what.format(*trouble.more, given=trouble.given)}; " + (
            f"{then.format(*trouble.more, given=trouble.given)}."
        )
        assert "--strict" in word(trouble, strict=True)


def test_the_place_is_as_much_as_is_known():
    assert word(Trouble("no time", Place(line=3))).startswith("line 3:")
    assert word(Trouble("no time", Place("a.csv", row=3))).startswith("a.csv, row 3:")
    assert word(Trouble("counts")) == "it counts; --column names it all the same."


def test_advice_of_its_own_takes_the_place_of_what_is_always_said():
    assert word(Trouble("no time", Place(line=3), advice="wait")) == "line 3: there is no time; wait."


def test_an_error_keeps_its_trouble():
    trouble = Trouble("no file", Place("a.csv"))
    error = TableError(trouble)
    assert error.trouble == trouble
    assert str(error) == word(trouble)
