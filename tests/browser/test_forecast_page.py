"""The forecast page in a real browser: verdict first, every column findable, names as they are."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")

from forecast_files import forecast_table
from hippozoo.apps.forecast.files import write_csv
from hippozoo.apps.forecast.page import write_page

NASTY = '<script>alert("1")</script> $$x$$ & a\nline'


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Two columns of hours; one has a name that is HTML, TeX and two lines."""
    folder, rng, hour = tmp_path_factory.mktemp("few"), np.random.default_rng(0), np.arange(500)
    load = 10 + np.sin(hour * 2 * np.pi / 24) + 0.1 * rng.normal(size=500)
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=500, freq="h"), "load": load})
    frame[NASTY] = rng.normal(size=500).cumsum()
    frame.to_csv(folder / "table.csv", index=False)
    run = forecast_table(folder / "table.csv", horizon=12)
    write_csv(run, folder / "forecast.csv")
    return run, write_page(run, folder)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Sixty short columns."""
    folder, rng = tmp_path_factory.mktemp("many"), np.random.default_rng(0)
    frame = pd.DataFrame({f"sensor {number}": rng.normal(size=80) + number for number in range(60)})
    frame.to_csv(folder / "table.csv", index=False)
    return write_page(forecast_table(folder / "table.csv", horizon=8, season=1), folder)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_the_page_is_whole_in_every_width_and_light(opened, fits, few, width, scheme):
    run, path = few
    with opened(path, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert page.inner_text("h1") == "table.csv: the next 12 steps, 12 hours"
        assert page.inner_text("#verdict").lower() == f"{run.verdicts[0].sentence.lower()}."
        # The verdicts stand before the first picture.
        assert page.locator(".lead").first.bounding_box()["y"] < page.locator(".picture").first.bounding_box()["y"]
        page.get_by_role("button", name="line").click()
        assert page.inner_text("#name") == NASTY
        assert page.complaints == []
        assert fits(page)


def test_a_column_is_chosen_by_list_and_by_table(opened, few):
    run, path = few
    with opened(path) as page:
        source = "Bokeh.documents[0].roots()[0].renderers.map((one) => one.data_source.data.mean).find((one) => one)"
        np.testing.assert_allclose(page.evaluate(source), run.forecast.samples()[0], rtol=1e-6)
        page.select_option("#column", "1")
        np.testing.assert_allclose(page.evaluate(source), run.forecast.samples()[1], rtol=1e-6)
        page.get_by_role("button", name="load").click()
        np.testing.assert_allclose(page.evaluate(source), run.forecast.samples()[0], rtol=1e-6)
        assert page.input_value("#column") == "0"


def test_the_numbers_stand_in_a_table_that_can_be_copied(opened, few):
    run, path = few
    with opened(path) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("summary")
        page.click("button[data-table=numbers]")
        page.wait_for_selector("button[data-table=numbers]:has-text('Copied')")
        rows = [row.split("\t") for row in page.evaluate("navigator.clipboard.readText()").split("\n")]
        assert rows[0] == ["time", "forecast", "80 % from", "80 % to", "95 % from", "95 % to"]
        assert rows[1][0] == run.times[0]
        np.testing.assert_allclose([float(row[1]) for row in rows[1:]], run.forecast.samples()[0], rtol=1e-5)


def test_hovering_shows_date_and_value(opened, few):
    _, path = few
    with opened(path) as page:
        box = page.locator("#forecast").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
        # Bokeh's parts live in shadow roots.
        page.wait_for_function(
            "(function seen(root) { return [...root.querySelectorAll('*')].some((one) => one.shadowRoot &&"
            " (one.shadowRoot.textContent.includes('2024-01-') || seen(one.shadowRoot))); })(document)",
            timeout=5000,
        )


def test_every_column_of_many_is_found_by_its_name(opened, fits, many):
    assert many.stat().st_size < 3_000_000 + 60 * 5_000
    with opened(many, 390) as page:
        assert fits(page)
        page.fill("#filter", "sensor 47")
        assert page.locator("#verdicts tbody tr:visible").count() == 1
        assert page.inner_text("#count") == "1 of 60 columns"
        assert page.inner_text("#name") == "sensor 47"
        page.fill("#filter", "no such")
        assert page.locator("#verdicts tbody tr:visible").count() == 0
        page.fill("#filter", "")
        assert page.locator("#verdicts tbody tr:visible").count() == 60
        assert page.complaints == []


def test_a_column_costs_less_than_five_kilobytes(many, few):
    _, small = few
    assert (many.stat().st_size - small.stat().st_size) / 58 < 5_000
