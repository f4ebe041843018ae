"""The explorer in a real browser: every tab, wide and narrow, light and dark, and controls that do what they say."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("panel", reason="the explorer needs Panel")

NASTY = "<img src=x onerror=alert(1)> $$x$$"
TABS = ("Salience", "Associative", "Multiscale", "Forecast", "Volterra")


@pytest.fixture(scope="module")
def address(chromium):
    program = "from hippozoo.apps.cli import main; main(['explore', '--no-browser'])"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().split()[-1]
        server.terminate()


def source(page, column):
    """The data of the source that has this column."""
    return page.evaluate(
        """(column) => [...[...Bokeh.documents[0]._all_models.values()]
        .find((one) => one.type === "ColumnDataSource" && column in one.data).data[column]]""",
        column,
    )


def test_every_tab_opens_and_fits_wide_and_narrow_light_and_dark(opened, fits, address):
    with opened(address, 1200, "light") as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for tab in TABS:
            page.locator(".bk-tab", has_text=tab).click()
            page.get_by_text("One moment").wait_for(state="hidden", timeout=60_000)
            page.get_by_role("button", name="Show the code").wait_for(timeout=60_000)
            assert fits(page), tab
        page.set_viewport_size({"width": 390, "height": 900})
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(20, 24, 29)'")
        for tab in ("Memory", *TABS):
            page.locator(".bk-tab", has_text=tab).click()
            page.get_by_role("button", name="Show the code").wait_for()
            page.wait_for_function(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth", timeout=5000
            )
        assert page.complaints == []


def test_a_narrow_dark_window_fits_from_the_beginning(opened, fits, address):
    with opened(address, 390, "dark") as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
        assert fits(page)
        assert page.complaints == []


def test_playing_moves_the_past_and_pausing_stops_it(opened, address):
    with opened(address) as page:
        before = source(page, "remembered")
        page.get_by_role("button", name="Play").click()
        page.wait_for_timeout(700)
        page.get_by_role("button", name="Pause").click()
        page.wait_for_timeout(300)
        after = source(page, "remembered")
        assert after != before
        page.wait_for_timeout(300)
        assert source(page, "remembered") == after


def test_the_code_is_shown_and_follows_the_controls(opened, address):
    with opened(address) as page:
        page.get_by_role("button", name="Show the code").click()
        page.get_by_text("LegT(order=64").wait_for()
        page.locator(".noUi-handle").first.press("End")
        page.get_by_text("LegT(order=256").wait_for()
        page.get_by_role("button", name="Leg-S").click()
        page.get_by_text("LegS(order=256").wait_for()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        page.get_by_role("button", name="Copied").wait_for()
        compile(page.evaluate("navigator.clipboard.readText()"), "copied", "exec")


def test_painting_changes_the_clock(opened, address):
    with opened(address, 1200) as page:
        page.locator(".bk-tab", has_text="Salience").click()
        page.get_by_role("button", name="Even clock").click(timeout=60_000)
        page.wait_for_function(
            "[...Bokeh.documents[0]._all_models.values()].some((one) => one.type === "
            "'ColumnDataSource' && 'salience' in one.data && one.data.salience.every((g) => g === 1))"
        )
        box = page.locator("canvas").first.bounding_box()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"], steps=8)
        page.mouse.up()
        page.wait_for_timeout(500)
        salience = source(page, "salience")
        assert salience[0] == salience[-1] == 1
        assert max(salience) > 1.5


def test_uploads_good_and_bad(opened, address, tmp_path):
    bad, good = tmp_path / f"{'b' * 20}.csv", tmp_path / "good.csv"
    bad.write_text("a,b\nx,y\n")
    good.write_text(f"up,{NASTY}\n" + "\n".join(f"{n},{-n}" for n in range(200)))
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with opened(address) as page:
        page.locator("input[type=file]").set_input_files(large)
        page.get_by_text("The file is larger than 64 MB").wait_for()
        page.locator("input[type=file]").set_input_files(bad)
        page.get_by_text(re.compile("has no column of numbers")).wait_for()
        page.locator("input[type=file]").set_input_files(good)
        page.get_by_text("After 100 samples").wait_for()
        page.get_by_label("Column").select_option(NASTY)
        page.wait_for_function(
            "[...Bokeh.documents[0]._all_models.values()].some((one) => one.type === "
            "'ColumnDataSource' && 'true' in one.data && one.data.true[0] < 0)"
        )
        assert page.complaints == []


def test_the_maps_of_volterra_can_be_seen(opened, address):
    with opened(address) as page:
        page.locator(".bk-tab", has_text="Volterra").click()
        page.get_by_role("button", name="Show the code").wait_for(timeout=60_000)
        page.wait_for_timeout(500)
        # What the frame of each picture has for its glyphs, whatever room its canvas takes.
        frames = page.evaluate(
            """() => Object.values(Bokeh.index.roots ?? Bokeh.index).flatMap(function all(view) {
                 return [view, ...(view.child_views ?? []).flatMap(all)]; })
               .filter((view) => view.model?.type === "Figure" && view.model.x_range.end === 40)
               .map((view) => view.frame.bbox.width)"""
        )
        assert len(frames) == 2
        assert min(frames) > 150
