"""What every page promises, in a real browser: colours, tables, names as they are, nothing fetched."""

import pytest

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")

from hippozoo._internal.colours import DARK, LIGHT, PAPER
from hippozoo.apps.pages import Page, colour, copyable_table, new_figure, shown

NASTY = '<img src=x onerror=alert(1)> $$x$$ </script> "it\'s" & a\nline'


@pytest.fixture
def page_file(tmp_path):
    page = Page(NASTY)
    page.add(f'<p class="name" id="name">{shown(NASTY)}</p>')
    figure = new_figure("$$lag$$", NASTY)
    line = figure.line([0, 1, 2], [1.0, 0.5, 0.2], line_color=colour("C0"))
    page.add_picture(figure, "a falling line", name="falling")
    page.add(copyable_table("Weights", ["lag", NASTY], [[NASTY, 0.5], ["b", 0.2]], name="weights"))
    page.add_script(f"window.line = page.model({line.glyph.id!r});")
    return page.write(tmp_path / "page.html")


def rgb(hexadecimal):
    return f"rgb({', '.join(str(int(hexadecimal[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_a_page_is_whole_in_every_width_and_light(opened, fits, page_file, width, scheme):
    with opened(page_file, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert page.inner_text("#name") == NASTY
        assert page.title() == NASTY.replace("\n", " ")
        assert page.locator(".picture canvas").count() > 0
        assert page.get_by_role("img", name="a falling line").count() == 1
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(PAPER[scheme])
        assert page.evaluate("line.line_color.value") == (LIGHT if scheme == "light" else DARK)[0]


def test_the_button_turns_the_page_and_its_pictures_dark(opened, page_file):
    with opened(page_file) as page:
        page.click("button.theme")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(PAPER["dark"])
        assert page.evaluate("line.line_color.value") == DARK[0]
        page.click("button.theme")
        assert page.evaluate("line.line_color.value") == LIGHT[0]


def test_a_table_is_copied_with_tabs(opened, page_file):
    with opened(page_file) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("button.copy")
        page.wait_for_selector("button.copy:has-text('Copied')")
        flat = NASTY.replace("\n", " ")
        assert page.evaluate("navigator.clipboard.readText()") == f"lag\t{flat}\n{flat}\t0.5\nb\t0.2"


def test_only_the_parts_of_bokeh_that_are_used_are_inside(page_file):
    text = page_file.read_text(encoding="utf-8")
    assert 1_200_000 < len(text) < 1_600_000
    assert "<img" not in text.split("<script>")[0]


def test_a_page_runs_its_own_scripts_and_no_other_and_fetches_nothing(opened, tmp_path):
    from hippozoo.apps.pages import Page

    page = Page("Policy")
    page.add('<img src="https://elsewhere.example/a.png" alt=""><script>document.title = "foreign"</script>')
    page.add_script("document.body.dataset.own = 'ran';")
    with opened(page.write(tmp_path / "page.html")) as shown:
        assert shown.evaluate("document.body.dataset.own") == "ran"
        assert shown.title() == "Policy"
        refused = [one for one in shown.complaints if "Content Security Policy" in one]
        assert all(any(directive in one for one in refused) for directive in ("img-src", "script-src"))
