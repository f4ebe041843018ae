"""`hippozoo.forecast`: frames in, the same kind of frame out, with times; updates that equal one pass."""

from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import hippozoo

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    return 10 + np.sin(np.arange(300) * 2 * np.pi / 24) + 0.1 * rng.normal(size=300)


def hours(count=300, zone=None, start="2024-03-20"):
    return pd.date_range(start, periods=count, freq="h", tz=zone)


def test_every_kind_of_frame_gives_the_same_forecast_in_its_own_kind(wave, tmp_path):
    frame = pd.DataFrame({"when": hours(), "load": wave})
    frame.to_csv(tmp_path / "load.csv", index=False)
    frame.to_parquet(tmp_path / "load.parquet")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    given = {
        pd.DataFrame: [frame, frame.set_index("when"), frame.set_index("when")["load"], tmp_path / "load.csv"],
        pl.DataFrame: [pl.from_pandas(frame)],
        pa.Table: [table],
    }
    given[pd.DataFrame] += [str(tmp_path / "load.parquet")]
    means = []
    for kind, several in given.items():
        for data in several:
            result = hippozoo.forecast(data, horizon=12, season=24)
            assert isinstance(result.frame, kind)
            native = pd.DataFrame(result.frame.to_pydict() if kind is pa.Table else result.frame.to_dict())
            if kind is pl.DataFrame:
                native = pd.DataFrame(result.frame.to_dict(as_series=False))
            assert list(native.columns)[:8] == [
                "column", "step", "time", "mean", "lower_80", "upper_80", "lower_95", "upper_95",
            ]  # fmt: skip
            assert pd.to_datetime(native["time"]).tolist() == hours(312)[300:].tolist()
            assert set(native["column"]) == {"load"}
            means.append(native["mean"].to_numpy())
    for one in means:
        np.testing.assert_array_equal(one, means[0])
    plain = hippozoo.forecast(wave, 12, season=24).frame
    assert plain["time"].tolist() == list(range(300, 312))
    np.testing.assert_array_equal(plain["mean"], means[0])


def test_the_clock_is_put_forward_between_the_last_row_and_the_forecast(wave):
    """Hours go on in time, days stay at midnight: 2024-03-31 has 23 hours in Berlin."""
    zone = "Europe/Berlin"
    result = hippozoo.forecast(pd.Series(wave[:250], hours(250, zone)), horizon=24)  # until 30 March, 9:00
    assert result.frame["time"].tolist() == hours(274, zone)[250:].tolist()
    assert result.frame["time"].dt.tz.key == zone
    days = pd.date_range("2023-11-01", periods=150, freq="D", tz=zone)  # until 29 March
    for data in (pd.Series(wave[:150], days), pl.DataFrame({"day": pl.Series(days.to_list()), "y": wave[:150]})):
        data = data if isinstance(data, pd.Series) else data.with_columns(pl.col("day").dt.convert_time_zone(zone))
        time = hippozoo.forecast(data, horizon="1 week", season=1).frame["time"]
        assert [pd.Timestamp(one) for one in time] == pd.date_range(days[-1], periods=8, freq="D")[1:].tolist()
    weeks = pd.date_range("2022-11-06", periods=74, freq="7D", tz="America/New_York")
    time = hippozoo.forecast(pd.Series(wave[:74], weeks), horizon=4, season=1).frame["time"]
    assert time.tolist() == pd.date_range(weeks[-1], periods=5, freq="7D")[1:].tolist()
    assert {one.hour for one in time} == {0}


@pytest.mark.parametrize("freq", ["h", "D", "W-SUN", "M", "Q-DEC", "Y-DEC"])
def test_periods_go_on_as_periods(wave, freq):
    index = pd.period_range("2001-01-01", periods=90, freq=freq)
    frame = hippozoo.forecast(pd.Series(wave[:90], index), horizon=5, season=1).frame
    assert frame["time"].tolist() == pd.period_range(index[-1], periods=6, freq=freq)[1:].tolist()


def test_dates_of_polars_and_numbers_of_an_index_stay_what_they_are(wave):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 4, 9), eager=True).alias("day")
    frame = hippozoo.forecast(pl.DataFrame({"day": days, "y": wave[:100]}), horizon=3, season=1).frame
    assert frame.schema["time"] == pl.Date
    assert str(frame["time"][0]) == "2024-04-10"
    years = pd.Series(wave[:60], index=np.arange(1960, 2020))
    assert hippozoo.forecast(years, horizon=2).frame["time"].tolist() == [2020, 2021]
    filtered = pd.Series(wave[:100]).drop(range(40, 55))  # holes in a plain index are no gaps
    result = hippozoo.forecast(filtered, horizon=2)
    assert result.summary["missing"] == 0
    assert result.frame["time"].tolist() == [85, 86]
    seconds = pd.DataFrame({"t": 0.5 * np.arange(100), "y": wave[:100]})
    assert hippozoo.forecast(seconds, horizon=2, time="t").frame["time"].tolist() == [50.0, 50.5]


def test_a_horizon_in_words(wave):
    load = pd.Series(wave, hours())
    for horizon in ("2 days", "48 hours", "2880 min", "48", timedelta(days=2), np.timedelta64(48, "h")):
        assert len(hippozoo.forecast(load, horizon=horizon).frame) == 48
    months = pd.Series(wave[:90], pd.period_range("2001-01", periods=90, freq="M"))
    assert len(hippozoo.forecast(months, horizon="1 year", season=1).frame) == 12
    assert len(hippozoo.forecast(months, horizon="2 quarters", season=1).frame) == 6
    business = pd.Series(wave, pd.bdate_range("2024-01-01", periods=300))
    assert len(hippozoo.forecast(business, horizon="2 weeks", season=1).frame) == 10
    for data, horizon in ((load, "90 minutes"), (load, "1 month"), (months, "30 days"), (wave, "2 days")):
        with pytest.raises(ValueError, match="whole number of steps"):
            hippozoo.forecast(data, horizon=horizon)
    for horizon in ("soon", "2 fortnights", "days"):
        with pytest.raises(ValueError, match="no length of time"):
            hippozoo.forecast(load, horizon=horizon)
    with pytest.raises(TypeError, match="whole number"):
        hippozoo.forecast(load, horizon=2.5)


def test_quantiles_and_coverages_are_those_asked_for(wave):
    result = hippozoo.forecast(wave, 6, coverage=0.5, quantiles=(0.1, 0.975))
    names = ["column", "step", "time", "mean", "lower_50", "upper_50", "quantile_10", "quantile_97.5"]
    assert [name for name in result.frame.columns if name != "simple"] == names
    assert (result.frame["quantile_10"] < result.frame["mean"]).all()
    assert (result.frame["mean"] < result.frame["quantile_97.5"]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        hippozoo.forecast(wave, 6, quantiles=(95,))


def long_frame(wave):
    frames = [
        pd.DataFrame({"shop": shop, "kind": kind, "when": hours(150), "sold": (2 + n) * wave[:150] + n})
        for n, (shop, kind) in enumerate([("b", 1), ("a", 1), ("a", 2)])
    ]
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas])
def test_a_long_frame_keeps_its_names_and_gets_a_pooled_verdict(wave, library):
    tall = long_frame(wave)
    result = hippozoo.forecast(library(tall), horizon=6, series=["shop", "kind"])
    frame = pd.DataFrame({name: list(result.frame[name]) for name in result.frame.columns})
    assert list(frame.columns)[:4] == ["shop", "kind", "step", "time"]
    assert frame[["shop", "kind"]].drop_duplicates().to_numpy().tolist() == [["b", 1], ["a", 1], ["a", 2]]
    assert set(result.verdict) == {"b / 1", "a / 1", "a / 2"}
    assert result.verdict.pooled.kind in ("better", "no better")
    assert "together" in str(result.verdict)
    wide = pd.DataFrame({n: (2 + n) * wave[:150] + n for n in range(3)}, hours(150))
    np.testing.assert_allclose(
        frame["mean"], hippozoo.forecast(wide, 6, together="panel").frame["mean"].to_numpy(), rtol=1e-9
    )


def kinds_of_rows(wave):
    index = hours()
    gaps = pd.DataFrame({"when": index, "load": wave, "walk": np.cumsum(wave - 10)}).drop(index=range(100, 110))
    gaps.loc[150:160, "walk"] = np.nan
    return {
        "series": (pd.Series(wave, index), {}),
        "gaps": (gaps, {"time": "when"}),
        "gaps of polars": (pl.from_pandas(gaps), {"time": "when"}),
        "array": (np.column_stack([wave, wave**2]), {}),
        "steps of two hours": (pd.Series(wave, index), {"every": "2 hours"}),
        "long": (long_frame(wave).sort_values("when", ignore_index=True), {"series": ["shop", "kind"]}),
        "joint": (pd.DataFrame({"a": wave, "b": np.roll(wave, 1)}, index), {"together": "joint"}),
    }


@pytest.mark.parametrize("kind", list(kinds_of_rows(np.zeros(300))))
def test_an_update_equals_one_pass_over_all_rows(wave, kind, tmp_path):
    data, more = kinds_of_rows(wave)[kind]
    cuts = [0, 201, 202, 237, len(data)] if kind != "long" else [0, 300, 303, 402, len(data)]
    whole = hippozoo.forecast(data, 6, season=24, **more)
    parts = [data[begin:end] for begin, end in pairwise(cuts)]
    result = hippozoo.forecast(parts[0], 6, season=24, **more)
    for number, part in enumerate(parts[1:]):
        assert result.update(part) is result
        if number == 1:
            result.save(tmp_path / "result.safetensors")
            result = hippozoo.load(tmp_path / "result.safetensors")
    for name in whole.frame.columns:
        mine, theirs = np.asarray(result.frame[name]), np.asarray(whole.frame[name])
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)
        else:
            assert mine.tolist() == theirs.tolist(), name
    assert repr(result.verdict) == repr(whole.verdict)
    assert result.summary["coverage"] == whole.summary["coverage"]


def test_a_file_is_updated_by_a_file(wave, tmp_path):
    frame = pd.DataFrame({"when": hours(), "name": "x", "load": wave})
    for name, rows in (("all", frame), ("first", frame[:250]), ("then", frame[250:])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    result = hippozoo.forecast(tmp_path / "first.csv", 6, season=24).update(tmp_path / "then.csv")
    whole = hippozoo.forecast(tmp_path / "all.csv", 6, season=24)
    pd.testing.assert_frame_equal(result.frame, whole.frame)


def test_rows_that_cannot_be_used_change_nothing(wave):
    load = pd.Series(wave, hours())
    result = hippozoo.forecast(load[:200], 6, season=24)
    before = result.frame.copy()
    for rows, said in (
        (load[150:220], "pass the rows after that"),
        (pd.Series(wave[:5]), "these have none"),
        (pd.Series([1.0, np.inf], hours(250)[-2:]), "inf"),
        (pd.DataFrame({"a": wave[:3], "b": wave[:3]}, hours(250)[-3:]), "no column"),
    ):
        with pytest.raises(ValueError, match=said):
            result.update(rows)
        result.__dict__.pop("frame")
        pd.testing.assert_frame_equal(result.frame, before)
    tall = long_frame(wave)
    panel = hippozoo.forecast(tall[tall.when < hours()[140]], 6, series=["shop", "kind"])
    strange = tall[tall.when >= hours()[140]].replace({"shop": {"b": "new"}})
    with pytest.raises(ValueError, match="not among the first rows"):
        panel.update(strange)


def test_bad_input_gets_a_sentence_each(wave):
    index = hours(100)
    series = pd.Series(wave[:100], index)
    shuffled = series.sort_values()
    twice = pd.concat([series[:50], series[49:]])
    nothing = pd.DataFrame({"when": index, "name": "x"})
    for data, more, kind, said in (
        (shuffled, {}, ValueError, "sort the frame by time"),
        (twice, {}, ValueError, "same time as the row before"),
        (series[:0], {}, ValueError, "empty"),
        (pl.DataFrame({"y": []}, schema={"y": pl.Float64}), {}, ValueError, "empty"),
        (nothing, {}, ValueError, "no column holds numbers"),
        (nothing, {"columns": "name"}, TypeError, "cannot be forecast"),
        (series, {"columns": "gone"}, ValueError, "no column 'gone'"),
        (pd.DataFrame({"y": wave[:9], "t": ["soon"] * 9}), {"time": "t"}, ValueError, "no date"),
        (pd.DataFrame({"a": index, "b": index, "y": wave[:100]}), {}, ValueError, "name one of them with time="),
        (pd.concat([series, series], keys=["a", "b"]), {}, ValueError, "2 levels"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, ValueError, "two columns are called 'a'"),
        (pl.from_pandas(nothing).lazy(), {}, TypeError, "collect"),
        (np.full(40, np.nan), {}, ValueError, "no number"),
        (np.array(["a", "b"]), {}, TypeError, "pass a data frame"),
        (np.zeros((2, 2, 2)), {}, ValueError, "expected \\(time,\\)"),
        (wave, {"time": "t"}, ValueError, "an array has none"),
        (wave, {"every": "1 hour"}, ValueError, "no times"),
        (np.append(wave, np.inf), {}, ValueError, "row 300"),
        (pd.DataFrame({"s": ["a", None], "y": [1.0, 2.0]}), {"series": "s"}, ValueError, "row 1 names no series"),
        (3.5, {}, ValueError, "shape"),
        ("nowhere.csv", {}, ValueError, "no such file"),
    ):
        with pytest.raises(kind, match=said):
            hippozoo.forecast(data, horizon=3, **more)
    long = pd.DataFrame({"s": ["a", "a"], "t": [index[0]] * 2, "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match="one row per series and time"):
        hippozoo.forecast(long, horizon=1, series="s")


def test_missing_values_and_other_numbers_are_read(wave):
    frame = pd.DataFrame({"a": wave[:100], "b": np.arange(100) % 7, "c": np.arange(100) % 3 == 0, "word": "x"})
    frame["n"] = pd.array([None if n % 9 == 0 else n % 5 for n in range(100)], dtype="Int64")
    frame.loc[5, "a"] = None
    result = hippozoo.forecast(frame, 4, season=1)
    assert list(result.verdict) == ["a", "b", "c", "n"]
    assert result.summary["missing"] == 1 + 12
    assert result.summary["left_out"].keys() == {"word"}
    texts = frame.assign(when=hours(100).strftime("%Y-%m-%d %H:%M"))
    assert hippozoo.forecast(texts, 4, season=1).frame["time"][0] == hours(101)[-1]


def test_what_is_drawn_and_shown(wave, tmp_path):
    result = hippozoo.forecast(pd.DataFrame({"load <b>": wave, "other": wave**2}, hours()), 12)
    figure = result.plot()
    assert [one.get_ylabel() for one in figure.axes] == ["load <b>", "other"]
    past, mean = figure.axes[0].lines
    assert len(past.get_xdata()) == 36
    np.testing.assert_array_equal(mean.get_ydata(), result.frame["mean"][:12])
    assert len(result.plot("other").axes) == 1
    shown = result._repr_html_()
    assert "load &lt;b&gt;" in shown
    assert "<img" in shown
    assert "lower_80" in shown
    if pytest.importorskip("bokeh"):
        assert "Glossary" in result.page(tmp_path / "page.html").read_text()
    with pytest.raises(ValueError, match="no column 'gone'"):
        result.plot("gone")


def test_texts_of_a_frame_are_times_as_in_a_file(wave):
    quarters = [f"{1998 + n // 4} Q{n % 4 + 1}" for n in range(80)]
    frame = pd.DataFrame({"when": quarters, "y": wave[:80]})
    found = hippozoo.forecast(frame, 2, season=1)
    assert found.frame["time"].tolist() == [pd.Timestamp("2018-01-01"), pd.Timestamp("2018-04-01")]
    days = pd.DataFrame({"day": [date(2024, 1, 31) + timedelta(days=n) for n in range(80)], "y": wave[:80]})
    assert hippozoo.forecast(days, 1, season=1).frame["time"][0] == pd.Timestamp("2024-04-20")
    parts = pd.DataFrame({"year": [int(one[:4]) for one in quarters], "quarter": [int(one[-1]) for one in quarters]})
    both = hippozoo.forecast(parts.assign(y=wave[:80]), 2, season=1)
    pd.testing.assert_frame_equal(both.frame, found.frame)
    assert list(both.verdict) == ["y"]
    ambiguous = pd.DataFrame({"date": [f"{1 + n % 12:02d}/{1 + n // 12:02d}/2024" for n in range(60)], "y": wave[:60]})
    with pytest.raises(ValueError, match="which number is the day"):
        hippozoo.forecast(ambiguous, 1)


def test_a_frame_that_stacks_series_is_not_read_as_one(wave):
    quarters = [f"{1998 + n // 4} Q{n % 4 + 1}" for n in range(80)]
    frame = pd.DataFrame({"when": quarters * 2, "region": ["N"] * 80 + ["S"] * 80, "y": wave[:160]})
    lost = frame.assign(when=[f"the quarter {one}" for one in frame["when"]])
    for data in (frame, lost, frame.assign(when=np.tile(hours(80), 2))):
        with pytest.raises(ValueError, match="series='region'"):
            hippozoo.forecast(data, 2)
    assert list(hippozoo.forecast(frame, 2, series="region", season=1).verdict) == ["N", "S"]


@pytest.mark.parametrize("horizon", [1, 8])
def test_a_last_row_that_looks_incomplete_is_named(wave, horizon):
    series = pd.Series(wave, name="load")
    assert not hippozoo.forecast(series, horizon, season=1).run.notes
    series.iloc[-1] = 2.0
    (note,) = hippozoo.forecast(series, horizon, season=1).run.notes
    assert "'load', 2, is" in note
    assert "not complete" in note
    assert "not complete" in repr(hippozoo.forecast(series, horizon, season=1))
