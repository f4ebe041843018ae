"""Both experiments run quickly and completely, and write what they promise."""

import numpy as np
import pytest

from hippozoo_studies import load, reproduce
from hippozoo_studies.data.long_term import split_series


def test_the_forecasting_experiment_reports_every_number_that_was_asked_for(tmp_path):
    document = reproduce("forecasting", quick=True, out=tmp_path)
    metrics = document["metrics"]
    for method in ("delay", "endpoint", "persistence", "gp"):
        assert set(metrics["mse"][method]) == {"H4", "H32"}
    for horizon in ("H4", "H32"):
        assert set(metrics["coverage"][horizon]) == {"80", "95"}
        assert metrics["mse"]["delay"][horizon]["mean"] < 1.1 * metrics["mse"]["gp"][horizon]["mean"]
        for delay in ("exact", "endpoint"):
            functions = metrics["eigenfunctions"][delay][horizon]["0.0001"]
            assert set(functions) == set(metrics["expected"]["eigenfunctions"][delay][horizon]["0.0001"]) == set("123")
            assert functions["1"]["alike"]["mean"] > 0.9  # at this ridge the first is no noise
    assert metrics["mse"]["endpoint"]["H4"]["mean"] > metrics["mse"]["persistence"]["H4"]["mean"]
    claims = [one["claim"] for one in document["claims"]]
    assert sum("eigenfunctions of Q are broader for the long" in one for one in claims) == 2  # one for each delay
    # The paper says nothing of persistence, of cells or of ridges.
    for words in ("persistence", "average of a cell", "at every ridge", "reading and not the objective"):
        assert [one.startswith("ours: ") for one in claims if words in one] == [True]
    for name in ("a-schematic", "b-predictive-memory", "c-geometry", "c-history-kernel"):
        assert (tmp_path / "forecasting" / f"{name}.png").stat().st_size > 10_000
    for name in ("b-predictive-memory-endpoint", "c-geometry-endpoint"):
        assert "as printed" in (tmp_path / "forecasting" / f"{name}.svg").read_text()


@pytest.fixture
def illness(tmp_path, rng):
    """A file in the form of the illness data: seasonal, with a drift."""
    weeks = np.arange(966)
    columns = np.sin(weeks * 2 * np.pi / 52)[:, None] + 0.002 * weeks[:, None] + 0.1 * rng.normal(size=(966, 3))
    rows = "\n".join(f"{week}," + ",".join(f"{x:.5f}" for x in row) for week, row in zip(weeks, columns, strict=True))
    (tmp_path / "national_illness.csv").write_text("date,a,b,OT\n" + rows)
    return tmp_path


def test_the_long_term_experiment_chooses_on_validation_and_tests_once(illness):
    document = reproduce("long-term-forecasting", quick=True, data=illness, out=illness / "out")
    metrics = document["metrics"]
    assert metrics["mse"]["illness"]["24"] < metrics["repeat_last_drop_last"]["illness"]["24"]
    assert metrics["chosen"]["illness"]["24"]["ridge"] in (1e-2, 1e-1)
    assert "| illness | 24 |" in (illness / "out" / "long-term-forecasting" / "table.md").read_text()


def test_learning_on_never_uses_a_future_that_has_not_come(rng):
    module = load("long-term-forecasting").module
    values = rng.normal(size=(300, 1)).cumsum(axis=0)
    changed = values.copy()
    changed[280:] += 50.0
    chosen = {"together": "shared", "ridge": 0.1}
    errors = []
    for signal in (values, changed):
        learner = module.Learner(split_series(signal, (150, 200, 300)), 20, 8, 6)
        errors.append(module.learning_on(learner, chosen, refreshes=10))
    # Forecasts from origins before the change, of rows before the change, are the same.
    assert np.abs(errors[0][:70] - errors[1][:70]).max() < 1e-9


def test_moments_give_the_error_that_the_forecasts_have(rng):
    module = load("long-term-forecasting").module
    learner = module.Learner(split_series(rng.normal(size=(300, 2)).cumsum(axis=0), (150, 200, 300)), 20, 8, 6)
    maps = module.solve(learner.moments("train"), "independent", 0.1)
    seen = learner.moments("validation")
    from_moments = np.mean([module.mean_square(one, moments) for one, moments in zip(maps, seen, strict=True)])
    np.testing.assert_allclose(from_moments, np.square(learner.errors(maps, "validation")).mean(), rtol=1e-9)
