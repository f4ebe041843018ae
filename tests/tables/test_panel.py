"""Stacked series become columns, and the command forecasts them as a panel."""

import json

import numpy as np
import pandas as pd
import pytest

from hippozoo.cli import main
from hippozoo.tables import TableError, spread_panel


@pytest.fixture
def stacked(rng, tmp_path):
    """Three shops of different size and age, rows in any order."""
    days = pd.date_range("2024-01-01", periods=120)
    week = np.sin(np.arange(120) * 2 * np.pi / 7)
    parts = [
        pd.DataFrame({"day": days[-age:], "shop": name, "sold": size * (5 + week + 0.1 * rng.normal(size=120))[-age:]})
        for name, size, age in (("north", 1, 120), ("south", 1000, 120), ("new <b>", 10, 40))
    ]
    path = tmp_path / "stacked.csv"
    pd.concat(parts).sample(frac=1, random_state=0).to_csv(path, index=False)
    return path, parts


def test_each_series_is_a_column_at_its_own_times(stacked, tmp_path):
    path, parts = stacked
    names, time = spread_panel(path, "shop", None, None, tmp_path / "wide.csv")
    wide = pd.read_csv(tmp_path / "wide.csv", parse_dates=["day"])
    assert time == "day"
    assert set(names) == {"north", "south", "new <b>"}
    for part in parts:
        name = part["shop"].iloc[0]
        known = wide[["day", name]].dropna()
        np.testing.assert_allclose(known[name], part["sold"])
        assert known["day"].tolist() == part["day"].tolist()


def test_the_command_forecasts_a_panel(stacked, tmp_path, capsys):
    path, _ = stacked
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--panel", "shop", "--horizon", "7", "--out", str(tmp_path / "out"), "--json"])
    assert exit_code.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seasons"] == [7]
    assert found["step"] == "one day"
    rows = pd.read_csv(tmp_path / "out" / "forecast.csv")
    means = rows.groupby("column")["mean"].mean()
    for name, size in (("north", 1), ("south", 1000), ("new <b>", 10)):
        assert abs(means[name] / size - 5) < 0.5


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("shop,day,sold\na,2024-01-01,1\na,2024-01-01,2\n", "row 2: series 'a' has had a row at '2024-01-01' before"),
        ("shop,day,sold\na,2024-01-01,1\n,2024-01-02,2\n", "row 2, column 'shop' is empty"),
        ("shop,sold,cost\na,1,2\n", "2 columns of numbers beside 'shop': 'sold', 'cost'; name one with --column"),
        ("store,sold\na,1\n", "has no column 'shop'; it has 'store', 'sold'"),
    ],
)
def test_what_is_no_panel_is_told(rows, told, tmp_path):
    (tmp_path / "rows.csv").write_text(rows)
    with pytest.raises(TableError, match=told):
        spread_panel(tmp_path / "rows.csv", "shop", None, None, tmp_path / "wide.csv")


def test_an_error_names_the_file_that_was_given(tmp_path, capsys):
    path = tmp_path / "shops.csv"
    path.write_text("shop,day,sold\n" + "".join(f"{shop},2024-01-0{day},{day}\n" for shop in "ab" for day in (1, 2, 3)))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--panel", "shop", "--horizon", "7", "--out", str(tmp_path / "out")])
    assert exit_code.value.code != 0
    assert f"{path}: 3 steps are too few" in " ".join(capsys.readouterr().err.split())
