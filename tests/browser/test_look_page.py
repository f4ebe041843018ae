"""The page of `hippozoo look` in a real browser: whole at every width, in both themes."""

import pytest

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")

from hippozoo.microscope import compare
from hippozoo.systems import LegS, LegT


@pytest.fixture(scope="module")
def page_of_two(tmp_path_factory):
    models = {"<b>window</b>": LegT(4, 8.0), "fading": LegS(4, 8.0)}
    views = compare(models, "noise", 12, sequences=12, length=120)
    return views.page(tmp_path_factory.mktemp("look") / "memory.html")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_the_page_is_whole(opened, fits, page_of_two, width, scheme):
    with opened(page_of_two, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert "<b>window</b>" in page.inner_text("#held")
        assert page.locator(".picture canvas").count() >= 4


def test_the_numbers_can_be_saved(opened, page_of_two):
    with opened(page_of_two) as page:
        with page.expect_download() as started:
            page.click("button.data")
        assert started.value.suggested_filename == "memory.json"
