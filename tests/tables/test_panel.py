"""Stacked series become columns, and the command forecasts them as a panel."""

import json

import numpy as np
import pandas as pd
import pytest

from hippozoo.apps.cli import main
from hippozoo.tables import TableError, read_panel


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


def wide(table):
    rows = [rows for rows, _ in table.chunks]
    times = None if rows[0].times is None else np.concatenate([one.times for one in rows])
    return times, np.concatenate([one.values for one in rows])


@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_each_series_is_a_column_at_its_own_times(stacked, chunk_rows):
    path, parts = stacked
    table = read_panel(path, ["shop"], chunk_rows=chunk_rows)
    times, values = wide(table)
    assert (table.time, set(table.columns)) == ("day", {"north", "south", "new <b>"})
    for part in parts:
        mine = values[:, table.columns.index(part["shop"].iloc[0])]
        known = np.isfinite(mine)
        np.testing.assert_allclose(mine[known], part["sold"])
        assert times[known].tolist() == [day.timestamp() for day in part["day"]]


def test_several_columns_name_a_series_together(tmp_path):
    rows = [
        (r, p, f"{1998 + q // 4} Q{q % 4 + 1}") for r in ("Sydney", "Perth") for p in ("work", "play") for q in range(9)
    ]
    path = tmp_path / "tourism.csv"
    path.write_text(
        "Quarter,Region,Purpose,Trips\n" + "".join(f"{q},{r},{p},{n}\n" for n, (r, p, q) in enumerate(rows))
    )
    table = read_panel(path, ["Region", "Purpose"])
    times, values = wide(table)
    assert table.columns == ("Sydney / work", "Sydney / play", "Perth / work", "Perth / play")
    np.testing.assert_array_equal(values.T.ravel(), np.arange(36))
    assert times[0] == pd.Timestamp("1998-01-01").timestamp()


def test_the_command_forecasts_a_panel(stacked, tmp_path, capsys):
    path, _ = stacked
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--panel", "shop", "--horizon", "7", "--out", str(tmp_path / "out"), "--json"])
    assert exit_code.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert set(map(tuple, found["seasons"].values())) == {(7,)}
    assert found["step"] == "one day"
    rows = pd.read_csv(tmp_path / "out" / "forecast.csv")
    means = rows.groupby("column")["mean"].mean()
    for name, size in (("north", 1), ("south", 1000), ("new <b>", 10)):
        assert abs(means[name] / size - 5) < 0.5


@pytest.mark.parametrize(
    ("rows", "kind", "row"),
    [
        ("shop,day,sold\na,2024-01-01,1\na,2024-01-01,2\nb,2024-01-02,2\n", "series again", 2),
        ("shop,day,sold\na,2024-01-01,1\n,2024-01-02,2\n", "no series", 2),
        ("shop,sold,cost\na,1,2\n", "panel numbers", 0),
        ("store,sold\na,1\n", "no column", 0),
    ],
)
def test_what_is_no_panel_is_told(rows, kind, row, tmp_path):
    (tmp_path / "rows.csv").write_text(rows)
    with pytest.raises(TableError) as error:
        read_panel(tmp_path / "rows.csv", ["shop"])
    assert (error.value.trouble.kind, error.value.trouble.place.row) == (kind, row)


def test_an_error_names_the_file_that_was_given(tmp_path, capsys):
    path = tmp_path / "shops.csv"
    path.write_text("shop,day,sold\n" + "".join(f"{shop},2024-01-0{day},{day}\n" for shop in "ab" for day in (1, 2, 3)))
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--panel", "shop", "--horizon", "7", "--out", str(tmp_path / "out")])
    assert exit_code.value.code != 0
    assert f"{path}: 3 steps are too few" in " ".join(capsys.readouterr().err.split())
