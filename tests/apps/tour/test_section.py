"""Sections: found by themselves, and shown as they are run."""

import ast
import re

import pytest

from hippozoo.apps.tour import Section, discover_sections, run_section
from hippozoo.apps.tour.signals import pulse_wave, room_temperature

SECTIONS = discover_sections()
NAMES = [section.title for section in SECTIONS]


def section_of(setup="", code="answer = 42", **changes):
    defaults = {
        "order": 1,
        "title": "A test",
        "question": "Does it run?",
        "setup": setup,
        "code": code,
        "draw": lambda names, figure: None,
        "measure": lambda names: {},
        "caption": "It does.",
        "alt": "Nothing.",
    }
    return Section(**(defaults | changes))


def test_a_module_in_the_folder_is_a_section_of_the_tour(tmp_path, monkeypatch):
    from hippozoo.apps.tour import sections

    (tmp_path / "a_sixth_member.py").write_text(
        "from hippozoo.apps.tour import Section\n"
        "SECTION = Section(order=-1, title='Sixth', question='?', setup='', code='x = 1',\n"
        "                  draw=print, measure=dict, caption='', alt='')\n"
    )
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    assert [section.title for section in discover_sections()] == ["Sixth", *NAMES]


def test_names_of_setup_and_code_are_handed_over():
    names = run_section(section_of(setup="one = 1", code="two = one + one"))
    assert (names.one, names.two) == (1, 2)


def test_a_section_starts_from_nothing():
    with pytest.raises(NameError, match="answer"):
        run_section(section_of(code="answer"))


def test_a_failing_line_is_shown_in_the_traceback():
    with pytest.raises(ZeroDivisionError) as caught:
        run_section(section_of(code="whole = 1\npart = whole / 0"))
    assert str(caught.traceback[-1].statement).strip() == "part = whole / 0"


def test_titles_and_orders_are_told_apart():
    assert len({section.title for section in SECTIONS}) == len(SECTIONS)
    assert len({section.order for section in SECTIONS}) == len(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS, ids=NAMES)
def test_a_section_has_three_lines_of_code_that_fit_the_page(section):
    assert 1 <= len(ast.parse(section.code).body) <= 3
    assert max(map(len, section.listing.splitlines())) <= 76
    assert section.question.endswith("?")


@pytest.mark.parametrize("section", SECTIONS, ids=NAMES)
def test_a_section_tells_a_measured_number_and_describes_its_picture(section):
    assert re.search(r"\{\w+[:}]", section.caption)
    assert len(section.alt) > 40


def test_embedded_signals_are_the_same_on_every_run():
    assert (pulse_wave() == pulse_wave()).all()
    assert (room_temperature()[2] == room_temperature()[2]).all()
    assert (pulse_wave() != pulse_wave(seed=1)).any()
