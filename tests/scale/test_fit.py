"""Fits on Dask are equal to merging, or learning, in one process; the synchronous scheduler computes them here."""

from functools import reduce

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from hippozoo.ensemble import EnsembleState, forecaster_for
from hippozoo.memory import Memory
from hippozoo.scale import fit_forecaster, forecast_panel
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster

PLAIN = Forecaster(LegT(8, 20.0), horizon=4.0, ridge=1e-2, anchor=("none", "last"), future_order=8)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def series(count=7, seed=0):
    rng = np.random.default_rng(seed)
    lengths = [40 + 10 * (k % 3) for k in range(count)]
    waves = [100.0 * rng.normal() + np.cos(np.arange(length) / rng.uniform(2, 5)) for length in lengths]
    return [wave + 0.1 * rng.normal(size=len(wave)) for wave in waves]


def alone(forecaster, signal):
    known = ~np.isnan(signal)
    return forecaster.learn(forecaster.initial_state(), np.where(known, signal, 0.0), mask=known)


def agree(one, other, *, learnt_only=False, tolerance=1e-9):
    """All that was learnt; the present too, unless series came in another order."""
    if isinstance(one, EnsembleState):
        pairs = [(one.mixture.moments.numbers, other.mixture.moments.numbers)]
    else:
        moments = zip(one.learnt[0], other.learnt[0], strict=True)
        pairs = [
            (getattr(a, name), getattr(b, name)) for a, b in moments for name in ("weight", "mean_x", "xx", "yx", "yy")
        ]
        pairs += [(one.detail.squares, other.detail.squares)]
        pairs += [(getattr(one.validation, name), getattr(other.validation, name)) for name in ("errors", "weight")]
        if not learnt_only:
            pairs += [
                (one.recent, other.recent),
                (one.delayed[0], other.delayed[0]),
                (one.line.values, other.line.values),
            ]
            pairs += [(one.age, other.age), (one.validation.boundary, other.validation.boundary)]
            pairs += [(one.validation.learnt_then[0][0].yx, other.validation.learnt_then[0][0].yx)]
    if not learnt_only:
        pairs += [(one.time, other.time), (one.seen, other.seen), (one.held, other.held)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(np.abs(b).max(initial=0.0), 1e-300))


@pytest.mark.parametrize("partitions", [1, 3])
def test_many_series_equal_merging_in_one_process(partitions):
    signals = series(9)
    signals[3][10:20] = np.nan
    here = reduce(PLAIN.merge, [alone(PLAIN, one) for one in signals])
    found = fit_forecaster(PLAIN, db.from_sequence(signals, npartitions=partitions))
    agree(found, here)
    shuffled = [signals[at] for at in np.random.default_rng(0).permutation(len(signals))]
    agree(fit_forecaster(PLAIN, db.from_sequence(shuffled, npartitions=partitions)), here, learnt_only=True)


def test_a_mixture_merges_as_in_one_process():
    mixture = forecaster_for(4)
    signals = series(5)
    here = reduce(mixture.merge, [alone(mixture, one) for one in signals])
    agree(fit_forecaster(mixture, db.from_sequence(signals, npartitions=3)), here, tolerance=1e-8)


def as_table(signals):
    frames = [
        pd.DataFrame({"name": f"s{k}", "x": one, "when": np.arange(len(one)) * 1.0}) for k, one in enumerate(signals)
    ]
    return pd.concat(frames, ignore_index=True)


def test_tables_and_folders_bring_whole_series_together(tmp_path):
    signals = series()
    here = reduce(PLAIN.merge, [alone(PLAIN, one) for one in signals])
    table = as_table(signals)
    woven = table.iloc[np.argsort(table.groupby("name").cumcount().to_numpy(), kind="stable")]
    table.to_parquet(tmp_path / "a.parquet", row_group_size=50, index=False)
    for given in (
        dd.from_pandas(table, npartitions=3, sort=False),
        dd.from_pandas(woven.reset_index(drop=True), npartitions=4, sort=False),
        tmp_path,
    ):
        found = fit_forecaster(PLAIN, given, id="name", column="x", partition_bytes=1000)
        agree(found, here, learnt_only=True)
    timed = fit_forecaster(PLAIN, dd.from_pandas(table, npartitions=3, sort=False), id="name", column="x", time="when")
    agree(timed, here, learnt_only=True)
    wide = da.from_array(np.stack([one[:40] for one in signals]), chunks=(2, 15))
    agree(fit_forecaster(PLAIN, wide), reduce(PLAIN.merge, [alone(PLAIN, one[:40]) for one in signals]))


@pytest.mark.parametrize(
    "forecaster",
    [
        PLAIN,
        Forecaster((LegT(8, 20.0), LegT(6, 9.0)), horizon=3.7, forgetting=300.0, dt=0.5, rank=2),
        forecaster_for(4),
    ],
    ids=["plain", "uneven", "mixture"],
)
def test_chunks_of_one_series_equal_learning_in_one_go(forecaster):
    signal = np.cos(np.arange(600) / 5) + 0.01 * np.random.default_rng(0).normal(size=600).cumsum() + 50.0
    found = fit_forecaster(forecaster, da.from_array(signal, chunks=((100, 200, 3, 297),)))
    agree(found, alone(forecaster, signal), tolerance=1e-7)
    assert found.single
    np.testing.assert_allclose(
        forecaster.forecast(found).samples(), forecaster.forecast(alone(forecaster, signal)).samples(), rtol=1e-9
    )


def test_chunks_with_gaps_equal_learning_in_one_go():
    signal = np.cos(np.arange(600) / 5)
    signal[[3, 150, 151, 400]] = np.nan
    agree(fit_forecaster(PLAIN, da.from_array(signal, chunks=170)), alone(PLAIN, signal))


def test_a_panel_is_validated_on_series_that_its_map_has_not_seen():
    signals = series(12)
    found = fit_forecaster(PLAIN, db.from_sequence(list(enumerate(signals)), npartitions=5), validate="series")
    here = reduce(PLAIN.merge, [alone(PLAIN, one) for one in signals])
    for one, other in zip(found.learnt[0], here.learnt[0], strict=True):
        np.testing.assert_allclose(one.yx, other.yx, rtol=1e-9, atol=1e-9 * np.abs(other.yx).max())
    # By definition: errors, pair by pair, of the map of one half on the series of the other.
    from zlib import crc32

    halves = [[one for k, one in enumerate(signals) if crc32(str(k).encode()) & 1 == half] for half in (0, 1)]
    candidate = PLAIN.candidates[-1]
    total, weight = 0.0, 0.0
    for mine, others in (halves, halves[::-1]):
        (fitted,) = PLAIN.solver.maps(fit_forecaster(PLAIN, db.from_sequence(mine), validate="stretches"), (candidate,))
        for one in others:
            # Before its first sample a series is taken to have been constant at it.
            past, recent = (Memory(system).scan(one, one[0] * np.eye(8)[0]) for system in (PLAIN.history, PLAIN.future))
            x, y, level = past[:-4], recent[4:], one[:-4, None] * np.eye(8)[0]
            error = y - level - (x - level) @ fitted.forecast_map.T - fitted.intercept
            total, weight = total + error.T @ error, weight + len(error)
    place = PLAIN.candidates.index(candidate)
    assert found.validation.weight[0] == pytest.approx(weight)
    np.testing.assert_allclose(found.validation.errors[0, place], total, rtol=1e-6, atol=1e-9 * np.abs(total).max())


@pytest.mark.parametrize("normalise", [False, True])
def test_forecasts_of_a_panel_are_those_of_one_series_after_the_other(tmp_path, normalise):
    signals = series()
    signals[2][5:9] = np.nan
    pairs = db.from_sequence([(f"s{k}", one) for k, one in enumerate(signals)], npartitions=3)
    learnt = fit_forecaster(PLAIN, pairs, validate="series", normalise=normalise)
    assert forecast_panel(PLAIN, learnt, pairs, tmp_path, normalise=normalise, coverages=(0.5,)) == len(signals)
    table = pd.read_parquet(tmp_path).set_index(["series", "step"])
    assert not table.index.duplicated().any()
    assert len(table) == 4 * len(signals)
    for k, one in enumerate(signals):
        mean, size = (np.nanmean(one), np.nanstd(one)) if normalise else (0.0, 1.0)
        known = ~np.isnan(one)
        state = PLAIN.follow(learnt_at_start(learnt), np.where(known, (one - mean) / size, 0.0), mask=known)
        forecast = PLAIN.forecast(state)
        lower, upper = forecast.band(forecast.leads(), 0.5)
        rows = table.loc[f"s{k}"]
        for found, expected in (
            (rows["mean"], forecast.samples()),
            (rows["lower_50"], lower),
            (rows["upper_50"], upper),
        ):
            np.testing.assert_allclose(found, expected * size + mean, rtol=1e-8)


def learnt_at_start(learnt):
    from dataclasses import replace

    return replace(PLAIN.initial_state(), learnt=learnt.learnt, validation=learnt.validation, detail=learnt.detail)


def test_a_folder_of_dates_is_forecast_with_dates_and_a_strange_folder_is_refused(tmp_path):
    table = as_table(series(3))
    table["when"] = pd.to_datetime(table["when"] * 3600e9)
    (tmp_path / "in").mkdir()
    table.to_parquet(tmp_path / "in" / "a.parquet", index=False)
    hourly = Forecaster(LegT(8, 20 * 3600.0), horizon=4 * 3600.0, dt=3600.0)
    where = {"id": "name", "column": "x", "time": "when"}
    learnt = fit_forecaster(hourly, tmp_path / "in", validate="series", **where)
    forecast_panel(hourly, learnt, tmp_path / "in", tmp_path / "out", **where)
    found = pd.read_parquet(tmp_path / "out")
    assert found[found["name"] == "s0"]["time"].tolist() == list(pd.date_range("1970-01-02 16:00", periods=4, freq="h"))
    with pytest.raises(OSError, match="not of this run"):
        forecast_panel(hourly, learnt, tmp_path / "in", tmp_path / "in", **where)
