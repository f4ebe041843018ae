"""``hippozoo forecast FOLDER``: every file, or every series, as if it had been forecast alone."""

import json
import multiprocessing
import os

import numpy as np
import pandas as pd
import pytest

from forecast_files import forecast_table
from hippozoo.apps.cli import main
from hippozoo.apps.forecast import folder


def wave(seed, length=60):
    rng = np.random.default_rng(seed)
    return 10 * seed + np.sin(np.arange(length) / (3 + seed)) + 0.1 * rng.normal(size=length)


def hippozoo(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["forecast", *map(str, arguments), "--horizon", "6", "--season", "1"])
    out, err = capsys.readouterr()
    return end.value.code, out, err


def test_a_folder_of_files_is_forecast_as_each_file_is(tmp_path, capsys):
    given, out = tmp_path / "sales", tmp_path / "out"
    given.mkdir()
    for seed in (1, 2):
        pd.DataFrame({"sold": wave(seed)}).to_csv(given / f"shop {seed}.csv", index=False)
    pd.DataFrame({"sold": wave(3)}).to_parquet(given / "shop 1.parquet")
    (given / "notes.md").write_text("no table")
    (given / "bad.csv").write_text("sold\n1\n2\n")
    code, told, err = hippozoo(capsys, given, "--out", out, "--jobs", 2)
    assert code == 1
    assert "hippozoo: bad.csv: 2 steps are too few to learn from" in err
    assert "hippozoo: 1 file could not be forecast." in err
    assert "shop 2.csv, sold: " in told
    assert sorted(path.name for path in out.iterdir()) == [
        "index.html", "shop 1.csv", "shop 1.parquet", "shop 2", "summary.csv",
    ]  # fmt: skip
    found = pd.read_csv(out / "shop 2" / "forecast.csv")
    alone = forecast_table(given / "shop 2.csv", horizon=6, season=1)
    np.testing.assert_allclose(found["mean"], alone.forecast.samples()[0], rtol=1e-12)
    assert (out / "shop 2" / "index.html").exists()
    assert 'href="shop%202/index.html"' in (out / "index.html").read_text()
    assert pd.read_csv(out / "summary.csv")["file"].tolist() == ["shop 1.csv", "shop 1.parquet", "shop 2.csv"]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_data_set_of_many_series_is_forecast_series_by_series(tmp_path, capsys, monkeypatch, ordered):
    monkeypatch.setattr("hippozoo.apps.forecast.folder._PART_BYTES", 900)
    frames = [
        pd.DataFrame({"shop": name, "day": pd.date_range("2024-01-01", periods=60), "sold": wave(seed)})
        for seed, name in enumerate(["a", "b", "c"])
    ]
    table = pd.concat([*frames, pd.DataFrame({"shop": ["z"], "day": [pd.Timestamp("2024-01-01")], "sold": [1.0]})])
    table = table.sort_values(["shop", "day"] if ordered else ["day", "shop"])
    given, out = tmp_path / "set", tmp_path / "out"
    given.mkdir()
    table.iloc[:100].to_parquet(given / "1.parquet", row_group_size=25, index=False)
    table.iloc[100:].to_parquet(given / "2.parquet", row_group_size=25, index=False)
    code, told, err = hippozoo(capsys, given, "--panel", "shop", "--out", out, "--json")
    answer = json.loads(told)
    assert code == 1
    assert "hippozoo: z: 1 step is too few" in err
    assert answer["series"] == 3
    assert ("is read" in err) is not ordered
    assert len(list((out / "forecast").iterdir())) > 1
    found = pd.read_parquet(out / "forecast").set_index("shop")
    assert found.index.value_counts().to_dict() == dict.fromkeys("abc", 6)  # none lost, none twice
    frames[1][["day", "sold"]].to_csv(tmp_path / "b.csv", index=False)
    alone = forecast_table(tmp_path / "b.csv", horizon=6, season=1)
    lower, upper = alone.forecast.band(0.95)
    for name, expected in (("mean", alone.forecast.samples()), ("lower_95", lower), ("upper_95", upper)):
        np.testing.assert_allclose(found.loc["b", name], expected[0], rtol=1e-9)
    assert found.loc["b", "time"].tolist() == list(alone.times)
    verdicts = pd.read_parquet(out / "series").set_index("shop")
    assert sorted(verdicts.index) == ["a", "b", "c", "z"]
    assert "too few" in verdicts.loc["z", "note"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--jobs", "2", "--scheduler", "tcp://x:1"), 2, "exclude each other"),
        (("--panel", "shop"), 1, "--panel reads Parquet"),
        ((), 1, "holds no table"),
        (("--panel", "shop", "--open"), 2, "has no page"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(tmp_path, capsys, arguments, code, message):
    given = tmp_path / "given"
    given.mkdir()
    if arguments:
        (given / "a.csv").write_text("x\n1\n")
    found, _, err = hippozoo(capsys, given, "--out", tmp_path / "out", *arguments)
    assert (found, message in err) == (code, True), err
    assert not (tmp_path / "out").exists()
    if "--jobs" in arguments:
        found, _, err = hippozoo(capsys, given / "a.csv", "--jobs", "2")
        assert (found, "are for a folder" in err) == (2, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, to be quick")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_dies_is_replaced_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "get_context", lambda _: multiprocessing.get_context("fork"))
    flag, notes = tmp_path / "flag", []
    dies = "__import__('os')._exit(9)"
    dies_once = f"7 if __import__('os').path.exists({str(flag)!r}) else (open({str(flag)!r}, 'w').close(), {dies})"
    items = ["0", dies, "2", dies_once, "4"]
    found = dict(folder._in_processes(eval, items, 2, notes.append))
    assert {number: found[number] for number in (0, 2, 3, 4)} == {0: 0, 2: 2, 3: 7, 4: 4}
    assert found[1].lost
    assert "died twice" in found[1].reason
    assert "a process died; what was at work begins once more" in notes


def test_a_part_whose_process_dies_is_named_and_the_others_are_written(tmp_path, capsys, monkeypatch):
    given = tmp_path / "set"
    given.mkdir()
    for seed in (1, 2):
        table = pd.DataFrame({"shop": [f"s{seed}"] * 60, "sold": wave(seed)})
        table.to_parquet(given / f"{seed}.parquet", index=False)
    monkeypatch.setattr(folder, "_PART_BYTES", 1)

    def one_dies(work, items, jobs, note):
        yield 0, folder.Failure("its process died twice.", lost=True)
        yield 1, work(items[1])

    monkeypatch.setattr(folder, "_in_processes", one_dies)
    code, told, err = hippozoo(capsys, given, "--panel", "shop", "--out", tmp_path / "out", "--jobs", 2)
    assert code == 1
    assert "hippozoo: part 1 of 2 is missing: its process died twice." in err
    assert "forecast 1 series" in told
