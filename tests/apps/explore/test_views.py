"""What the explorer shows, without a browser: it is what the library says, and its code gives it again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("panel", reason="the explorer needs Panel")

from hippozoo.apps.explore import SIGNALS, built_in, from_file
from hippozoo.apps.explore.signals import MOST_SAMPLES, Uploaded
from hippozoo.apps.explore.tabs.associative import AssociativeView
from hippozoo.apps.explore.tabs.forecasting import ForecastView
from hippozoo.apps.explore.tabs.memory import SYSTEMS, MemoryView, true_past
from hippozoo.apps.explore.tabs.multiscale import MultiscaleView
from hippozoo.apps.explore.tabs.salience import SalienceView
from hippozoo.apps.explore.tabs.volterra import TASKS, VolterraView
from hippozoo.tables import TableError


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the code that a view shows, in an empty folder; gives the names it leaves behind."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)

    def execute(code):
        names = {}
        exec(compile(code, "<shown code>", "exec"), names)
        plt.close("all")
        assert list(tmp_path.glob("*.png"))
        return names

    return execute


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_code_of_a_memory_gives_what_is_shown(run, system):
    view = MemoryView(built_in("hourly load"), system, 12, 100.0)
    frame, names = view.frame(700), run(view.code(700))
    assert_allclose(names["state"], frame.coefficients, atol=1e-9)
    assert_allclose(names["remembered"], frame.remembered[: view.inside], atol=1e-8)
    assert np.isnan(frame.remembered[view.inside :]).all()
    assert_allclose(names["weight"], view.weight)


def test_the_true_past_is_held_from_sample_to_sample():
    signal, lags = np.array([5.0, 7.0, 9.0, 11.0]), np.array([0.0, 0.49, 0.5, 0.99, 1.5, 1.6, 2.0])
    assert_allclose(true_past(signal, 3, lags, 0.5), [9.0, 9.0, 7.0, 7.0, np.nan, np.nan, np.nan])


def test_a_memory_of_low_order_errs_more(run):
    coarse, fine = (MemoryView(built_in("pulse wave"), "Leg-T", order, 4.0).frame(2000).error for order in (8, 64))
    assert fine < coarse / 3


def test_the_code_of_a_painted_clock_gives_what_is_shown(run):
    view = SalienceView(built_in("three bursts"), 24, 8.0).paint(5.0, 20.0, 0.1, 2.0).paint(40.0, 40.0, 0.3, 0.3)
    names = run(view.code())
    assert_allclose(names["salience"], view.clock)
    assert_allclose(names["measure"], view.measure)
    assert_allclose(names["remembered"], view.remembered[np.isfinite(view.remembered)], atol=1e-9)


def test_a_stroke_changes_the_clock_under_the_brush_only():
    plain = SalienceView(built_in("three bursts"))
    view = plain.paint(20.0, 10.0, 2.0, 1.0)  # from right to left
    changed = np.flatnonzero(np.array(view.salience) != 1.0)
    assert view.knots[changed].min() > 9.0
    assert view.knots[changed].max() <= 20.5
    assert view.salience[np.searchsorted(view.knots, 20.0)] == 2.0
    assert min(plain.paint(0.0, 60.0, -5.0, -5.0).salience) > 0


def test_a_clock_that_waits_in_silence_keeps_the_bursts():
    plain = SalienceView(built_in("three bursts"))
    waiting = plain.quiet_means_slow()
    assert plain.reach < 15
    assert waiting.reach > 50
    assert waiting.error < plain.error / 5


def test_the_code_of_a_bank_gives_what_is_shown(run):
    view = AssociativeView(12).write(0.2, 1.0).write(0.25, -0.7, 0.6).write(0.9, 0.4)
    names = run(view.code())
    assert_allclose(names["held"], view.bank, atol=1e-9)
    assert_allclose(names["matrix"], view.interference)
    assert_allclose(view.recalled[-1], 0.4, atol=1e-12)
    run(AssociativeView(12).code())


def test_a_bump_is_what_a_write_adds_to_an_empty_bank():
    view = AssociativeView(10)
    assert_allclose(view.bump(0.3), view.write(0.3, 1.0).bank, atol=1e-12)


def test_the_code_of_a_horizon_gives_what_is_shown(run):
    view = MultiscaleView(built_in("random walk"), 8)
    horizon = view.horizons[40]
    names = run(view.code(2500, horizon))
    assert_allclose(names["remembered"], view.ask(2500, horizon).remembered, atol=1e-9)


def test_the_code_of_a_forecast_gives_what_is_shown(run):
    view = ForecastView(built_in("hourly load"), horizon=24, rank=6)
    seen = view.at(view.moments[20])
    names = run(view.code(seen.now))
    assert_allclose(names["mean"], seen.mean, atol=1e-6)
    assert_allclose(names["lower"], seen.lower, atol=1e-6)
    assert_allclose(names["predictive"], seen.predictive, atol=1e-6)
    assert_allclose(seen.came, view.loaded.values[seen.now : seen.now + 24])
    # Of a load with days and weeks, more is known than its mean.
    assert np.abs(seen.mean - seen.came).mean() < view.loaded.values.std() / 2


def test_a_forecast_at_the_end_has_nothing_to_be_compared_with():
    view = ForecastView(built_in("chirp"), horizon=10, order=16)
    assert np.isnan(view.at(view.moments[-1]).came).all()


@pytest.mark.parametrize("task", TASKS)
def test_the_code_of_a_kernel_gives_what_is_shown(run, task):
    view = VolterraView(task, order=24)
    for count in (500, 1500, 2000):
        view.learn(count)
    assert_allclose(run(view.code())["kernel"], view.kernel, atol=1e-9)


def test_learning_brings_the_kernel_nearer_to_the_true_one():
    view = VolterraView("product of two past samples", order=24)
    view.learn(500)
    before = view.distance
    view.learn(20_000)
    assert view.distance < before / 2
    assert view.seen == 20_500
    view.learn(50_000)
    assert view.finished


@pytest.mark.parametrize("name", SIGNALS)
def test_every_built_in_signal_is_finite_and_the_same_on_every_run(name):
    loaded = built_in(name)
    assert np.isfinite(loaded.values).all()
    assert loaded.values.std() > 0
    assert_allclose(built_in(name).values, loaded.values)


def test_a_column_is_loaded_with_its_gaps_held_and_its_step_found(tmp_path):
    rows = [f"2024-01-{1 + h // 24:02d} {h % 24:02d}:00,{'' if h in (0, 7) else h}" for h in range(60)]
    path = tmp_path / "load.csv"
    path.write_text("when,load\n" + "\n".join(rows))
    loaded = from_file(path)
    assert (loaded.dt, loaded.unit, len(loaded.values)) == (1.0, "h", 59)
    assert loaded.values[6] == 6.0
    assert "1 values are missing" in loaded.notes[0]


def test_a_long_file_is_shown_from_its_end(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("x\n" + "\n".join(map(str, range(MOST_SAMPLES + 5))))
    loaded = from_file(path)
    assert loaded.values[0] == 5.0
    assert f"{MOST_SAMPLES + 5:,} rows" in loaded.notes[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", r"^empty\.csv is empty"),
        ("words.csv", b"a,b\nx,y\nz,w\n", r"^words\.csv has no column of numbers"),
        ("short.csv", b"a\n1\n2\n", "has 2 numbers; to explore, pass 20"),
        ("image.png", b"\x89PNG\r\n", r"image\.png: files ending in '\.png' are not read"),
        ("binary.csv", bytes(range(256)) * 9, r"^binary\.csv"),
        ("a" * 300 + ".parquet", b"PAR1 not really", "parquet"),
        ("../../etc/passwd", b"root:x:0", "passwd has a header and no rows"),
    ],
)
def test_a_bad_upload_is_told_in_a_sentence_that_names_the_file(name, content, message):
    with pytest.raises(TableError, match=message):
        Uploaded.from_bytes(name, content).column()


def test_the_forecast_is_that_of_the_command(tmp_path):
    from forecast_files import forecast_table
    from hippozoo.apps.explore import from_file

    values = built_in("hourly load").values[:600]
    times = np.datetime64("2026-01-05T00:00") + np.arange(600).astype("timedelta64[h]")
    path = tmp_path / "load.csv"
    path.write_text("time,load\n" + "".join(f"{at},{value:.4f}\n" for at, value in zip(times, values, strict=True)))
    view = ForecastView(from_file(path), horizon=24)
    seen, run = view.at(view.moments[-1]), forecast_table(path, horizon=24)
    assert seen.now == 600
    np.testing.assert_allclose(seen.mean, run.forecast.samples()[0], rtol=1e-9)
    np.testing.assert_allclose(seen.lower, run.forecast.band(0.8)[0][0], rtol=1e-9)
    np.testing.assert_allclose(seen.leads, np.arange(24) + 0.5)  # hours, and steps of one hour
