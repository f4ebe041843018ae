"""The live page in a real browser: all streams, alarms as they come, search, acknowledge, mute and another rate."""

import json
import sqlite3
import time

import pytest

pytest.importorskip("playwright", reason="needs Playwright's Python package")
pytest.importorskip("starlette", reason="hippozoo serve needs starlette")
pytest.importorskip("uvicorn", reason="hippozoo serve needs uvicorn")

from playwright.sync_api import expect

from hippozoo.apps.watch.records import Alarm, Batch, Event
from hippozoo.apps.watch.store import Store
from many_streams import write_streams
from serving import TOKEN, serving

NASTY = '<img src=x onerror="alert(1)"> </script> pump'


@pytest.fixture
def plant(tmp_path):
    """Twelve streams; one has a name that is HTML."""
    path = write_streams(tmp_path / "plant.db", streams=12)
    database = sqlite3.connect(path)
    database.execute("UPDATE sensors SET name = ? WHERE sensor = 5", [NASTY])
    database.commit()
    database.close()
    return path


def card(page, name):
    return page.locator(".stream").filter(has=page.get_by_role("heading", name=name, exact=True))


def use_token(page, token=TOKEN):
    page.fill("#token", token)
    page.get_by_role("button", name="Use this token").click()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_the_page_is_whole_in_every_width_and_light(opened, fits, plant, width, scheme):
    with serving(plant) as ask, opened(ask.address, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert page.inner_text("#summary") == "12 streams, 1 open event; no watch is running"
        assert page.locator("#alarms li").count() == 1
        assert "pump 002 fell to 0" in page.inner_text("#alarms")
        names = page.locator(".stream h3").all_inner_texts()
        assert len(names) == 12
        assert NASTY in names
        # What has an open event comes first, and the chart shows what there is.
        tops = {name: page.locator(".stream").nth(place).bounding_box() for place, name in enumerate(names)}
        assert min(tops, key=lambda name: (tops[name]["y"], tops[name]["x"])) == "pump 002"
        chart = card(page, "pump 002")
        for part in ("band", "expected", "seen", "alarm"):
            assert chart.locator(f"svg .{part}").count() >= 1
        page.get_by_role("button", name="Light / dark").click()
        chart.locator("button.chart").click()
        assert fits(page)
        assert page.complaints == []


def test_the_chart_draws_the_readings_of_the_last_day(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        path = card(page, "pump 003").locator("svg .seen").get_attribute("d")
        assert path.count("L") + path.count("M") == 288
        box = card(page, "pump 003").locator(".chart").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert "expected (" in card(page, "pump 003").locator("p").inner_text()


def test_streams_and_alarms_are_found_by_name(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        page.fill("#search", "PUMP 01")
        assert page.locator(".stream:visible").count() == 2
        assert page.locator("#alarms li:visible").count() == 0
        assert page.inner_text("#count") == "2 of 12"
        page.fill("#search", "")
        page.select_option("#show", "event")
        assert page.locator(".stream:visible").all_inner_texts()[0].startswith("pump 002")
        assert page.locator(".stream:visible").count() == 1


def test_without_a_token_the_page_only_shows(opened, plant):
    with serving(plant, token=False) as ask, opened(ask.address) as page:
        assert page.locator("#readonly").is_visible()
        for name in ("Acknowledge", "Unmute", "Change the rate", "Use this token"):
            assert page.get_by_role("button", name=name).and_(page.locator(":visible")).count() == 0
        assert page.locator("select:visible").count() == 1  # which streams to show


def test_a_wrong_token_is_said_and_changes_nothing(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        use_token(page, "this-is-not-the-token")
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.locator("#said")).to_contain_text("not the token", timeout=15_000)
        assert page.locator("#unlock").is_visible()
    database = sqlite3.connect(plant)
    assert database.execute("SELECT count(*) FROM requests").fetchone() == (0,)
    database.close()


def test_acknowledge_mute_and_another_rate(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        use_token(page)
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.locator("#alarms")).to_contain_text("acknowledged", timeout=15_000)
        assert page.get_by_role("button", name="Acknowledge").and_(page.locator(":visible")).count() == 0
        card(page, NASTY).locator("select").select_option("8h")
        card(page, NASTY).get_by_text("muted until").wait_for()
        card(page, "pump 007").locator("select").select_option("ever")
        card(page, "pump 007").get_by_text("muted for good").wait_for()
        page.select_option("#show", "muted")
        assert page.locator(".stream:visible").count() == 2
        card(page, "pump 007").get_by_role("button", name="Unmute").click()
        expect(page.locator(".stream:visible")).to_have_count(1)
        page.fill(".database input", "0.25")
        page.get_by_role("button", name="Change the rate").click()
        expect(page.locator("#said")).to_contain_text("0.25", timeout=15_000)
        page.click(".database summary")
        expect(page.locator(".database li")).to_have_count(5)
        assert page.complaints == []
    database = sqlite3.connect(plant)
    asked = [json.loads(text) for (text,) in database.execute("SELECT request FROM requests ORDER BY id")]
    assert database.execute("SELECT value FROM settings WHERE name = 'rate'").fetchone() == ("0.25",)
    database.close()
    assert asked[0] == {"acknowledge": 0}
    assert asked[-1] == {"rate": 0.25}


def test_an_alarm_that_comes_is_shown_without_loading_the_page_again(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        assert page.title() == "(1) Watched streams"
        with Store(plant) as store:
            moment = store.progress.time
            alarm = Alarm(
                1, 287, 8, moment, 1e-6, 99.0, 50.0, 49.0, 51.0, {"kind": "spike"}, told=1, event=1, lead=1,
                severity="major", sentence="pump 008 rose to 99", key="x",
            )  # fmt: skip
            event = Event(1, moment, moment, channels=[8], open={8: 287}, severity="major")
            store.commit(Batch(store.progress, alarms=[alarm], events=[event]))
            page.get_by_text("pump 008 rose to 99").wait_for(timeout=15_000)
            assert page.locator("#alarms li").first.get_attribute("class") == "new open"
            assert page.inner_text("#summary") == "12 streams, 2 open events"  # and a watch is running
            assert page.title() == "(2) Watched streams"
        assert page.complaints == []


def test_a_server_that_is_gone_is_said_and_asked_again(opened, plant):
    with serving(plant) as ask, opened(ask.address) as page:
        page.route("**/streams.json", lambda route: route.abort())
        expect(page.locator("#summary")).to_contain_text("trying again", timeout=15_000)
        page.unroute("**/streams.json")
        expect(page.locator("#summary")).to_contain_text("12 streams", timeout=15_000)


def test_beyond_this_machine_the_page_asks_for_the_token_before_it_shows_anything(opened, plant):
    with serving(plant, host="0.0.0.0") as ask, opened(f"http://127.0.0.1:{ask.port}/", ready=False) as page:
        expect(page.locator("#summary")).to_contain_text("token of this server", timeout=15_000)
        assert page.locator(".stream").count() == 0
        use_token(page)
        page.wait_for_selector(":root[data-ready]", state="attached")
        assert page.locator(".stream").count() == 12


def test_500_streams_are_there_within_a_second(opened, fits, tmp_path):
    path = write_streams(tmp_path / "plant.db", streams=500)
    took = []
    with serving(path) as ask:
        for _ in range(3):
            with opened(ask.address, ready=False) as page:
                began = time.perf_counter()
                page.goto(ask.address)
                page.wait_for_selector(":root[data-ready]", state="attached")
                took.append(time.perf_counter() - began)
                assert page.locator(".stream").count() == 500
                assert fits(page)
    assert min(took) < 1.0, took
