"""The tabs without a browser: the right numbers reach the right pictures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("panel", reason="the explorer needs Panel")

import param
from bokeh.events import Pan, PanEnd, PanStart, Tap

from hippozoo.apps.explore import built_in
from hippozoo.apps.explore.app import Explorer
from hippozoo.apps.explore.signals import Uploaded

NASTY = "<img src=x onerror=alert(1)> $$x$$"


def let_go(slider, value):
    """Move a slider there, and let it go."""
    slider.value = value
    with param.edit_constant(slider):
        slider.value_throttled = value


@pytest.fixture
def explorer():
    return Explorer(built_in("hourly load"))


def test_a_frame_shows_what_the_view_computes(explorer):
    tab = explorer.opened[0]
    tab.player.slider.value = 500
    frame = tab.view.frame(500)
    assert_allclose(tab.curves.data["remembered"], frame.remembered, rtol=1e-5)
    assert_allclose(tab.numbers.data["value"], frame.coefficients, rtol=1e-5)
    let_go(tab.order, 8)
    assert len(tab.numbers.data["value"]) == 8
    assert "8 numbers stand for" in tab.said.object
    tab.system.value = "Fou-T"
    assert len(tab.numbers.data["value"]) == 9


def test_a_frame_is_small(explorer):
    tab = explorer.opened[0]
    sent = [*tab.curves.data.values(), *tab.numbers.data.values()]
    assert sum(np.asarray(one).nbytes for one in sent) < 8000


def test_frames_are_sent_a_dozen_at_a_time_and_are_those_of_the_view(explorer):
    tab = explorer.opened[0]
    tab.player.button.tags = ["ask", 10, 20, 99_999]
    end = len(tab.view.loaded.values)
    expected = np.concatenate([tab.view.frame(now).remembered for now in (10, 20, end)])
    assert_allclose(tab.player.ahead[0].data["remembered"], expected, rtol=1e-5)
    assert len(tab.player.ahead[1].data["value"]) == 3 * 64
    tab.player.button.tags = ["rest", 20]
    assert tab.player.now == 20
    assert_allclose(tab.curves.data["remembered"], tab.view.frame(20).remembered, rtol=1e-5)


def test_tabs_are_made_when_they_are_opened(explorer):
    assert list(explorer.opened) == [0]
    explorer.tabs.active = 3
    assert list(explorer.opened) == [0, 3]
    tab = explorer.opened[3]
    tab.horizon.value = 10
    asked = tab.view.ask(len(tab.view.loaded.values), tab.view.horizons[10])
    assert_allclose(tab.curves.data["remembered"], asked.remembered, rtol=1e-5)


def test_a_stroke_of_the_brush_paints_the_clock(explorer):
    explorer.open(1)
    tab = explorer.opened[1]
    tab.even.clicks += 1
    assert set(tab.view.salience) == {1.0}
    for event, x, y in ((PanStart, 10.0, 2.0), (Pan, 20.0, 2.0), (PanEnd, 20.0, 2.0)):
        handler = tab._lift if event is PanEnd else tab._brush
        handler(event(tab.paper, x=x, y=y))
    assert_allclose(np.interp([10, 15, 20], tab.knots.data["time"], tab.knots.data["salience"]), 2.0)
    assert np.interp(30, tab.knots.data["time"], tab.knots.data["salience"]) == 1.0
    tab.which.value = "the signal above"
    assert tab.view.loaded.name == "hourly load"


def test_a_click_writes_into_the_bank(explorer):
    explorer.open(2)
    tab = explorer.opened[2]
    before = len(tab.view.writes)
    tab._tap(Tap(tab.bank, x=0.33, y=0.75))
    assert tab.view.writes[-1] == (0.33, 0.75, 1.0)
    assert_allclose(np.interp(0.33, tab.curve.data["address"], tab.curve.data["held"]), 0.75, atol=0.01)
    tab.undo.clicks += 1
    assert len(tab.view.writes) == before
    tab.clear.clicks += 1
    assert not np.any(tab.curve.data["held"])


def test_a_forecast_follows_its_sliders(explorer):
    explorer.open(4)
    tab = explorer.opened[4]
    assert len(tab.future.data["mean"]) == 48
    let_go(tab.horizon, 12)
    assert len(tab.future.data["mean"]) == 12
    tab.moment.value = tab.moment.end
    assert "nothing has come yet" in tab.said.object


def test_a_kernel_is_learnt_chunk_by_chunk(explorer):
    explorer.open(5)
    tab = explorer.opened[5]
    seen = tab.view.seen
    tab.advance()
    assert tab.view.seen == seen + 250
    assert_allclose(tab.learnt.data["kernel"][0], tab.view.kernel, rtol=1e-5, atol=1e-7)


def test_the_code_box_follows_the_view(explorer):
    tab = explorer.opened[0]
    tab.code.button.value = True
    tab.player.slider.value = 123
    assert "loaded.values[:123]" in tab.code.pane.object


def test_a_bad_upload_is_a_sentence_and_the_page_goes_on(explorer):
    explorer.file.filename = f"{NASTY}.csv"
    explorer.file.value = b"a,b\nx,y\n"
    assert "has no column of numbers" in explorer.said.object
    assert "<img" not in explorer.said.object
    assert explorer.session.loaded.name == "hourly load"


def test_an_upload_offers_its_columns_by_their_names(explorer):
    rows = "\n".join(f"{n},{-n}" for n in range(50))
    explorer.file.filename = "two.csv"
    explorer.file.value = f"up,{NASTY}\n{rows}".encode()
    assert explorer.column.options == ["up", NASTY]
    assert explorer.session.loaded.values[-1] == 49
    explorer.column.value = NASTY
    assert explorer.session.loaded.values[-1] == -49
    explorer.signal.value = "chirp"
    assert explorer.session.loaded.name == "chirp"
    explorer.signal.value = "your file"
    assert explorer.session.loaded.values[-1] == -49


def test_every_tab_takes_a_short_file(tmp_path):
    uploaded = Uploaded.from_bytes("short.csv", ("x\n" + "\n".join(map(str, range(20)))).encode())
    explorer = Explorer(uploaded.column(), uploaded)
    for number in range(6):
        explorer.open(number)
    explorer.opened[1].which.value = "the signal above"
    assert len(explorer.opened) == 6


def test_dark_is_dark_in_every_picture(explorer):
    explorer.dark.active = True
    assert explorer.opened[0].past.background_fill_color == "#14181d"
    explorer.open(3)
    assert explorer.opened[3].past.background_fill_color == "#14181d"


def test_a_column_that_was_asked_for_is_named_where_it_is_shown(tmp_path):
    from hippozoo.apps.explore.app import Explorer
    from hippozoo.apps.explore.signals import Uploaded

    path = tmp_path / "weather.csv"
    path.write_text("precipitation,temp_max\n" + "".join(f"{k % 3},{20 + k % 7}\n" for k in range(60)))
    uploaded = Uploaded(path.name, path)
    explorer = Explorer(uploaded.column("temp_max"), uploaded)
    assert explorer.column.value == "temp_max"
    assert explorer.session.loaded.values[0] == 20
    explorer.column.value = "precipitation"
    assert explorer.session.loaded.values[0] == 0
