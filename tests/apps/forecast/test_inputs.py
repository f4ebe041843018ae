"""Known inputs of `hippozoo.forecast` and of the command: where they are read, what they buy, and what is refused."""

import json
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hippozoo
from forecast_files import forecast_table
from hippozoo.apps.cli import main
from hippozoo.apps.forecast.inputs import InputNames

H, N = 6, 400


@pytest.fixture
def frame(rng):
    """Sales follow a price one step later; the price is known for a horizon more."""
    price, wind = rng.normal(size=N + H), rng.normal(size=N + H)
    sales = 20 - 3 * np.roll(price, 1) + 0.3 * rng.normal(size=N + H)
    times = pd.date_range("2024-01-01", periods=N + H, freq="h")
    return pd.DataFrame({"when": times, "sales": np.where(np.arange(N + H) < N, sales, np.nan), "price": price,
                         "wind": wind})  # fmt: skip


def numbers(result):
    return np.asarray(result.frame["mean"], float)


def test_rows_of_the_future_stand_in_the_table_or_beside_it(frame, tmp_path):
    whole = hippozoo.forecast(frame, H, columns="sales", known="price")
    assert str(whole.frame["time"].iloc[0]) == str(frame["when"][N])
    path, ahead = tmp_path / "sales.csv", tmp_path / "ahead.csv"
    frame.to_csv(path, index=False)
    frame[["when", "price"]].to_csv(ahead, index=False)  # with rows of the past, which are passed over
    short = tmp_path / "short.csv"
    frame[:N].to_csv(short, index=False)
    others = [
        hippozoo.forecast(frame[:N], H, columns="sales", known="price", future=frame[N:][["when", "price"]]),
        hippozoo.forecast(frame[:N], H, columns="sales", known="price", future=ahead),
        hippozoo.forecast(pl.from_pandas(frame), H, columns="sales", known="price"),
        hippozoo.forecast(path, H, columns="sales", known="price"),
        hippozoo.forecast(short, H, columns="sales", known="price", future=frame[["when", "price"]]),
        hippozoo.forecast(frame.set_index("when")[["sales", "price"]], H, known="price"),
    ]
    for one in others:
        np.testing.assert_allclose(numbers(one), numbers(whole), rtol=1e-7)
    array = hippozoo.forecast(frame[["sales", "price"]].to_numpy(), H, known="1")
    np.testing.assert_allclose(numbers(array), numbers(whole), rtol=1e-7)
    assert array.frame["time"].tolist() == list(range(N, N + H))
    chunked = forecast_table(path, ["sales"], horizon=H, chunk_rows=64, inputs=InputNames(known=("price",)), season=1)
    once = forecast_table(path, ["sales"], horizon=H, inputs=InputNames(known=("price",)), season=1)
    np.testing.assert_allclose(chunked.forecast.samples(), once.forecast.samples(), rtol=1e-7)


def test_inputs_say_what_they_buy_and_when_they_act(frame):
    result = hippozoo.forecast(frame, H, known="price", past="wind")
    gains = result.inputs["sales"]
    assert list(gains) == ["", "price", "wind"]
    assert gains["price"].better_by > 0.5
    assert gains[""].better_by == pytest.approx(gains["price"].better_by, abs=0.05)
    assert abs(gains["wind"].better_by) < 0.2  # of 400 rows
    assert gains["wind"].size < 0.2 * gains["price"].size
    assert gains["price"].lags[np.abs(gains["price"].kernel).argmax()] == 1
    without = hippozoo.forecast(frame[:N][["when", "sales"]], H)
    errors = [one.summary["mean_absolute_error"]["sales"]["forecast"] for one in (result, without)]
    assert gains[""].better_by == pytest.approx(1 - errors[0] / errors[1])


def test_the_horizon_is_as_long_as_the_future_is_known(frame):
    result = hippozoo.forecast(frame, known="price", columns="sales")
    assert result.run.horizon == H
    assert any("as far as price is known" in note for note in result.run.notes)


def test_updates_take_what_came_and_keep_what_is_known(frame, tmp_path):
    part, cut = N - 50, N - 48
    known = {"columns": "sales", "known": "price", "season": 1}
    begun = hippozoo.forecast(frame[:part], H, **known, future=frame[["when", "price"]][part : part + 2 * H])
    begun.save(tmp_path / "saved.safetensors")
    begun = hippozoo.load(tmp_path / "saved.safetensors")
    begun.update(frame[part:cut])  # the prices after these were told before
    after = hippozoo.forecast(frame[:cut], H, **known, future=frame[["when", "price"]][cut:])
    np.testing.assert_allclose(numbers(begun), numbers(after), rtol=1e-6)
    begun.update(frame[cut:N], future=frame[["when", "price"]][N:])
    assert str(begun.frame["time"].iloc[0]) == str(frame["when"][N])
    with pytest.raises(ValueError, match="must be known for 6 steps"):
        hippozoo.forecast(frame[:part], H, **known, future=frame[["when", "price"]][part : part + H]).update(
            frame[part:cut]
        )


def test_a_missing_future_value_names_its_row_and_a_past_one_holds(frame):
    holes = frame.copy()
    holes.loc[N + 2, "price"] = np.nan
    with pytest.raises(ValueError, match=r"'price' has no value at 2024-01-17 18:00"):
        hippozoo.forecast(holes, H, columns="sales", known="price")
    with pytest.raises(ValueError, match="in row 3 after the last"):
        hippozoo.forecast(holes.drop(columns="when"), H, columns="sales", known="price")
    with pytest.raises(ValueError, match="ends 4 steps after it; add rows up to 2024-01-17 21:00"):
        hippozoo.forecast(frame[: N + 4], H, columns="sales", known="price")
    holes = frame.copy()
    holes.loc[100:105, "price"] = np.nan
    held = frame.copy()
    held.loc[100:105, "price"] = frame["price"][99]
    both = [numbers(hippozoo.forecast(one, H, columns="sales", known="price")) for one in (holes, held)]
    np.testing.assert_array_equal(*both)


def test_words_and_names_that_are_wrong_are_refused_with_a_sentence(frame):
    worded = frame.assign(sky="sunny")
    for given, said in (
        ({"known": "sky"}, "column of 0 and 1 for each word"),
        ({"known": "rain"}, "no column 'rain'"),
        ({"known": "price", "past": "price"}, "named twice"),
        ({"known": "price", "together": "joint"}, "takes no inputs"),
        ({"future": frame}, "name them with known="),
        ({"country": "XX"}, "not known to the package holidays"),
        ({"country": "DE-XX"}, "has no part 'XX'"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            hippozoo.forecast(worded, H, **given)
    with pytest.raises(ValueError, match="holidays need dates"):
        hippozoo.forecast(np.arange(100.0), H, country="DE")


def test_truths_and_constants_are_inputs_too(frame):
    frame = frame.assign(open=np.arange(N + H) % 7 < 5, same=3.0)
    result = hippozoo.forecast(frame[["when", "sales", "open", "same"]], H, known=["open", "same"])
    assert (result.inputs["sales"]["same"].kernel == 0).all()


def test_series_of_a_panel_share_their_inputs(frame, tmp_path):
    long = pd.concat([frame.assign(shop=name, sales=frame["sales"] * size) for name, size in (("a", 1.0), ("b", 9.0))])
    result = hippozoo.forecast(long[["when", "shop", "sales", "price"]], H, series="shop", known="price")
    assert result.inputs["b"]["price"].better_by > 0.4
    path = tmp_path / "long.csv"
    long[["when", "shop", "sales", "price"]].to_csv(path, index=False)
    from_file = hippozoo.forecast(path, H, series="shop", known="price")
    np.testing.assert_allclose(numbers(from_file), numbers(result), rtol=1e-7)
    long["price"] = np.where((long["shop"] == "b") & (long["when"] == frame["when"][7]), 99.0, long["price"])
    for data in (long[["when", "shop", "sales", "price"]], path):
        if data is path:
            long[["when", "shop", "sales", "price"]].to_csv(path, index=False)
        with pytest.raises(ValueError, match="one for all series"):
            hippozoo.forecast(data, H, series="shop", known="price")


def test_holidays_need_no_rows_of_the_future(rng):
    days = pd.date_range("2015-01-01", "2023-12-20", freq="D")
    import holidays

    known = holidays.country_holidays("DE", years=range(2015, 2024))
    free = np.array([day in known for day in days.date])
    load = pd.Series(np.where(free, 60.0, 100.0) + 0.5 * rng.normal(size=len(days)), days, name="load")
    result = hippozoo.forecast(load, horizon=14, country="DE")
    christmas = result.frame.set_index("time")["mean"]
    assert christmas["2023-12-25"] < 80 < christmas["2023-12-24"]
    assert result.inputs["load"]["holidays of DE"].better_by > 0.3


def test_the_command_takes_inputs(frame, tmp_path, capsys):
    path, ahead = tmp_path / "sales.csv", tmp_path / "ahead.csv"
    frame[:N].to_csv(path, index=False)
    frame[N:][["when", "price"]].to_csv(ahead, index=False)
    with pytest.raises(SystemExit, match="0"):
        main([
            "forecast", str(path), "--column", "sales", "--horizon", str(H), "--known", "price", "--future", str(ahead),
            "--with", "wind", "--country", "DE", "--out", str(tmp_path / "out"), "--json",
        ])  # fmt: skip
    answer = json.loads(capsys.readouterr().out)
    assert answer["inputs"]["sales"]["price"]["better_by"] > 0.5
    assert set(answer["inputs"]["sales"]) == {"all", "price", "holidays of DE", "wind"}
    assert "What the inputs buy" in (tmp_path / "out" / "index.html").read_text()
    with pytest.raises(SystemExit, match="2"):
        main(["forecast", str(path), "--future", str(ahead), "--out", str(tmp_path / "out")])
    assert "name them with --known" in capsys.readouterr().err


def test_holidays_are_counted_in_longer_steps():
    from hippozoo.apps.forecast.calendar import holidays_in

    begin = (datetime(2024, 12, 1) - datetime(1970, 1, 1)) / timedelta(seconds=1)
    hours = begin + 3600.0 * np.arange(31 * 24)
    free = holidays_in("DE", hours, hours + 3600.0)
    assert np.flatnonzero(free).tolist() == list(range(24 * 24, 26 * 24))
    assert holidays_in("DE", np.array([begin]), np.array([begin + 31 * 86400.0])).tolist() == [2.0]
