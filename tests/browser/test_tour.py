"""The tour in a real browser: pictures for the theme, sliders that move the past, code that can be copied."""

import pytest

pytest.importorskip("bokeh", reason="sliders need Bokeh")

from hippozoo.apps.tour import discover_sections
from hippozoo.apps.tour.write import render_tour


@pytest.fixture(scope="module")
def tour(chromium, tmp_path_factory):
    """Its first section and its last: all that moves, and none of the long computations."""
    folder = tmp_path_factory.mktemp("tour")
    return render_tour(discover_sections()[:1], folder, machine=True).write(folder / "index.html")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_shows_the_pictures_of_its_theme(opened, fits, tour, width, scheme):
    with opened(tour, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        visible = page.locator("figure img:visible")
        assert visible.evaluate_all("all => all.map((one) => [one.className, one.naturalWidth > 0])") == [
            [scheme, True]
        ]
        page.click("button.theme")
        other = {"light": "dark", "dark": "light"}[scheme]
        assert visible.evaluate_all("all => all.map((one) => one.className)") == [other]
        assert page.complaints == []


def test_the_sliders_change_the_memory_and_say_how_well_it_does(opened, tour):
    with opened(tour) as page:
        curve = "Bokeh.documents[0].roots()[0].renderers[1].data_source.data.y"
        before, said = page.evaluate(f"[...{curve}]"), page.inner_text("#a-readable-past-said")
        page.locator("#a-readable-past-order").press("Home")
        assert page.inner_text("#a-readable-past-order-shown") == "4"
        assert page.evaluate(f"[...{curve}]") != before
        assert page.inner_text("#a-readable-past-said") != said
        page.locator("#a-readable-past-timescale").press("End")
        assert page.inner_text("#a-readable-past-timescale-shown") == "6 s"
        # A window of six seconds reaches to the end of the picture.
        assert page.evaluate(f"{curve}.at(-1)") is not None


def test_code_is_copied_as_it_ran(opened, tour):
    with opened(tour) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator("button.copy").first.click()
        page.wait_for_selector("button.copy:has-text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()").strip() == discover_sections()[0].listing.strip()
