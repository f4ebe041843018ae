"""The examples run as they stand, from any folder, and leave behind what they say."""

import ast
import csv
import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from hippozoo.tasks.data_files import MissingDataError, data_file

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run an example in an empty folder; gives its names and what it printed."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        names = runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return names, capsys.readouterr().out

    return run


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, shown = {}, []
    for cell in json.loads((EXAMPLES / "forecast_a_frame.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(body, []), "notebook", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
                shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
            else:
                exec(compile(ast.Module([last], []), "notebook", "exec"), names)
    assert "<img" in shown[0]
    assert names["result"].verdict["load"].kind != "worse"
    assert names["inside"] > 0.6
    assert names["panel"].verdict.pooled is not None


def test_a_sensor_with_gaps(run, tmp_path):
    names, said = run("sensor_with_gaps.py")
    assert "6 h ago: remembered" in said
    error = np.interp(names["stream"].time - names["lags"], names["times"], names["truth"]) - names["past"]
    assert np.sqrt(np.mean(error**2)) < 0.5
    assert (tmp_path / "thermometer.png").stat().st_size > 10_000


def test_a_sensor_goes_on_after_a_restart_with_its_clock(run):
    names, _ = run("sensor_with_gaps.py")
    assert names["again"].time == names["stream"].time + 0.25


def test_a_torch_model_on_a_stream(run):
    names, said = run("torch_stream.py")
    assert "sample by sample or all at once" in said
    assert names["loss"].item() < 0.05


def test_digits_pixel_by_pixel(run):
    pytest.importorskip("sklearn")
    names, said = run("digits.py", "--epochs", "2", "--images", "128")
    assert "after row 8" in said
    assert 0 <= names["right"] <= 1
    assert names["state"].samples.item() == 64


def test_features_of_a_csv_file(run, tmp_path):
    _, said = run("csv_features.py")
    assert "200 rows, 12 features" in said
    with (tmp_path / "weather-features.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    last_day = [row for row in rows if float(row["hour"]) >= float(rows[-1]["hour"]) - 24]
    mean = np.mean([float(row["temperature"]) for row in last_day])
    assert abs(float(rows[-1]["temperature_0"]) - mean) < 0.5


def test_features_of_a_csv_file_of_ones_own(run, tmp_path):
    (tmp_path / "mine.csv").write_text("t,a\n0,1\n1,1\n2.5,\n7,1\n")
    run("csv_features.py", "mine.csv", "--time", "t", "--columns", "a", "--window", 3, "--order", 2)
    with (tmp_path / "mine-features.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert abs(float(last["a_0"]) - 1) < 0.05


def test_features_of_a_spreadsheet_are_those_of_the_same_numbers(run, tmp_path):
    rows = [(0, "1.5"), (1, "2"), (2.5, ""), (7, "1")]
    (tmp_path / "plain.csv").write_text("t,a\n" + "".join(f"{time},{cell}\n" for time, cell in rows))
    run("csv_features.py", "plain.csv", "--time", "t", "--window", 3, "--order", 2)
    clock = [f"31.01.2024 {int(time):02d}:{60 * time % 60:02.0f}" for time, _ in rows]
    cells = [cell.replace(".", ",") for _, cell in rows]
    lines = [f"{time};{cell};x\r\n" for time, cell in zip(clock, cells, strict=True)]
    (tmp_path / "excel.csv").write_text("\ufeffWann;a;Notiz\r\n" + "".join(lines) + ";;\r\n", encoding="utf-8")
    _, said = run("csv_features.py", "excel.csv", "--window", 3, "--order", 2)
    assert "left out Notiz" in said
    features = {}
    for name in ("plain", "excel"):
        with (tmp_path / f"{name}-features.csv").open(encoding="utf-8") as file:
            features[name] = list(csv.DictReader(file))
    for one, other in zip(*features.values(), strict=True):
        assert [one[name] for name in ("a", "a_0", "a_1")] == [other[name] for name in ("a", "a_0", "a_1")]
    assert features["excel"][2]["Wann"] == "2024-01-31T02:30:00.000"


def test_an_electrocardiogram_in_one_state(run, tmp_path):
    pytest.importorskip("wfdb", reason="the record is read by wfdb, of the extra [data]")
    try:
        data_file("ecg/100.dat")
    except MissingDataError:
        pytest.skip("record 100 of the MIT-BIH database is not in HIPPOZOO_DATA")
    names, said = run("ecg_in_one_state.py")
    assert "1536 numbers stand for the last 21600 samples of two channels" in said
    beat = float(re.search(r"last  0.8 s, voltage: rms error ([0-9.]+) mV", said)[1])
    minute = float(re.search(r"last 60.0 s, heart rate: rms error ([0-9.]+) beats/min", said)[1])
    # Of what there is to remember: a beat of more than a millivolt, a heart rate that swings by more than ten.
    assert beat < 0.05 * np.ptp(names["signal"][:, 0])
    assert minute < 0.1 * np.ptp(names["signal"][-21_600:, 1])
    assert (tmp_path / "ecg.png").stat().st_size > 10_000


@pytest.fixture
def needs():
    """Skip where a file of the data folder is not here."""

    def needs(name):
        try:
            data_file(name)
        except MissingDataError:
            pytest.skip(f"{name} is not in HIPPOZOO_DATA")

    return needs


def test_a_heart_as_a_stream(run, needs, tmp_path):
    pytest.importorskip("wfdb", reason="the record is read by wfdb, of the extra [data]")
    needs("ecg/100.dat")
    names, said = run("early_beats.py", "--beats", 700)
    assert "600 beats" in said
    # Half of the premature beats at least; of the others a band of 99 % leaves out no more than it may.
    assert names["hits"] >= 0.5 * names["wanted"] > 0
    assert names["called"] - names["hits"] <= 0.01 * 600
    assert (tmp_path / "beats.png").stat().st_size > 10_000


def test_a_forecast_of_a_load(run, needs, tmp_path):
    needs("ett/ETTh1.csv")
    names, said = run("forecast_load.py")
    assert "periods found in the first 16700: 24 h" in said
    assert names["means"]["forecast"] < min(names["means"]["yesterday"], names["means"]["last value"])
    assert abs(names["covered"] - 0.9) < 0.07
    assert (tmp_path / "load.png").stat().st_size > 10_000


def test_a_nonlinear_circuit(run, needs, tmp_path):
    needs("silverbox/SNLS80mV.csv")
    names, said = run("nonlinear_circuit.py")
    assert "33 numbers" in said
    for name, (ours, linear) in names["errors"].items():
        assert ours < 0.1 * linear
        assert ours < names["circuit"].published[name]["lstm"]
    assert (tmp_path / "circuit.png").stat().st_size > 10_000


def test_every_example_is_tested():
    tested = Path(__file__).read_text()
    assert all(example.name in tested for example in EXAMPLES.glob("*.py"))
