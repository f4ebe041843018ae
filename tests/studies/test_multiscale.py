"""The variable-horizon experiment measures what it says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo_studies import Result, reproduce
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper import multiscale
from hippozoo_studies.paper._multiscale_claims import CLAIMS
from hippozoo_studies.paper._multiscale_figures import draw_examples


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return reproduce("multiscale", quick=True, out=folder), folder / "multiscale"


def test_metrics_hold_every_curve_in_both_conventions_keyed_by_horizon(quick):
    metrics = quick[0]["metrics"]
    wanted = {"log", "basic", "jeffreys", "bank", "plain_10", "plain_100", "plain_1000", "plain_10000"}
    for convention in ("paper_time", "cell_time"):
        curves = metrics["mse"][convention]
        assert wanted <= set(curves)
        for curve in curves.values():
            assert {"10", "100", "1000", "10000"} <= set(curve)
            assert all(set(one) == {"mean", "sem"} for one in curve.values())
    best = [
        metrics["mse"]["paper_time"]["log"][h]["mean"]
        / min(metrics["mse"]["paper_time"][f"plain_{t}"][h]["mean"] for t in (10, 100, 1000, 10000))
        for h in metrics["mse"]["paper_time"]["log"]
    ]
    assert_allclose(metrics["log_over_best_plain"], max(best))


@pytest.mark.parametrize(
    ("bank", "excess", "verdict"), [(64, 0.005, "holds in part"), (64, 0.05, "holds"), (1_500, 0.005, "holds")]
)
def test_a_smaller_bank_that_matches_refutes_parsimony_and_not_the_rest(quick, bank, excess, verdict):
    metrics = quick[0]["metrics"]
    metrics = metrics | {
        "numbers_stored": {"log": 2_048, "bank": bank},
        "expected_worst_excess": {"log": 0.002, "bank": excess},
    }
    [claim] = answers([one for one in CLAIMS if "parsimonious" in one.quote], multiscale.Config(), metrics)
    assert claim.verdict == verdict
    assert f"{1 + excess:.3f} times the error of those systems in expectation" in claim.evidence


@pytest.mark.parametrize(
    ("log", "arcsine", "verdict"),
    [(0.10, 0.002, "holds in part"), (0.05, 0.1, "holds"), (0.4, 0.002, "does not hold")],
)
def test_timescales_nearer_to_log_uniform_than_others_are_so_in_part(log, arcsine, verdict):
    found = {"log": {"log_uniform": log, "arcsine": arcsine}, "basic": {"log_uniform": 0.47, "arcsine": 0.4}}
    [row] = [one for one in CLAIMS if "log-uniformly" in one.quote]
    [claim] = answers([row], multiscale.Config(), {"distance_of_timescales_from": found})
    assert claim.verdict == verdict


def test_figures_are_written(quick):
    for name in ("error-against-horizon", "constructions", "reconstructions", "timescales", "coverage"):
        assert (quick[1] / f"{name}.png").stat().st_size > 10_000


def test_the_full_study_asks_at_least_twenty_horizons_at_full_size():
    config = multiscale.Config()
    horizons = multiscale.asked_horizons(config)
    assert len(horizons) >= 20
    assert {10, 100, 1000, 10_000} <= set(horizons)
    assert (config.trajectories, config.n_steps, config.order, config.scales) == (64, 30_000, 16, 128)


def test_a_plain_memory_of_the_horizon_itself_reads_a_slow_past_in_cell_time():
    signal = np.sin(np.arange(3000) / 40)[:, None] * np.array([1.0, -2.0])
    memory = Memory(LegT(16, 100.0))
    read = multiscale.reader_of(memory, memory.final(signal), 16)
    lags = np.linspace(0, 100, 128)
    in_cells = multiscale.squared_error(read(100, lags), multiscale.true_past(signal, 100, 0.5, 128))
    in_paper = multiscale.squared_error(read(100, lags), multiscale.true_past(signal, 100, 0.0, 128))
    assert (in_cells < 1e-4).all()
    assert (in_paper > 2 * in_cells).all()


def test_beyond_its_window_a_plain_memory_says_zero(rng):
    memory = Memory(LegT(4, 10.0))
    read = multiscale.reader_of(memory, memory.final(rng.normal(size=(50, 3))), 4)
    said = read(40, np.array([0.0, 10.0, 10.1, 40.0]))
    assert said.shape == (3, 4)
    assert (said[:, 2:] == 0).all()
    assert (said[:, :2] != 0).all()


def test_the_true_past_is_the_signal_interpolated_at_each_lag():
    signal = np.arange(20.0)[:, None]
    assert_allclose(multiscale.true_past(signal, 4, 0.0, 5)[0], [19, 18, 17, 16, 15])
    assert_allclose(multiscale.true_past(signal, 4, 0.5, 5)[0], [19, 18.5, 17.5, 16.5, 15.5])


def test_reconstructions_name_their_rows_in_two_lines_and_the_axis():
    from matplotlib.figure import Figure

    past = {1_000: np.zeros(5), 10_000: np.zeros(5)}
    remembered = {asked: {name: np.zeros(5) for name in ("plain_1000", "plain_10000", "log")} for asked in past}
    figure = Figure(figsize=(8, 4), layout="constrained")
    draw_examples(figure, Result({}, [], {"past": past, "remembered": remembered}))
    labels = [ax.yaxis.label for ax in figure.axes if ax.get_ylabel()]
    assert [one.get_text() for one in labels] == ["plain, 1,000 samples\nsignal", "plain, 10,000 samples\nsignal"]
    figure.canvas.draw()
    above, below = (one.get_window_extent() for one in labels)
    assert below.y1 < above.y0  # they do not run into each other
