"""The loader of electrocardiograms, on a record the test makes, and on the real one where there is data."""

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.tasks.data_files import MissingDataError
from hippozoo.tasks.ecg import heart_rate, load_ecg

wfdb = pytest.importorskip("wfdb", reason="the extra hippozoo[data] is not installed")
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "ecg_in_one_state.py"


def write_record(folder, name="100", seconds=80, rate=100):
    """A spike every 0.8 s on a slow wave, with one premature beat and one note that is no beat."""
    time = np.arange(seconds * rate) / rate
    beats = np.arange(40, seconds * rate, 80)
    beats[-10] -= 30
    wave = 0.1 * np.sin(2 * np.pi * time / 4)
    for beat in beats:
        wave += np.exp(-0.5 * ((np.arange(time.size) - beat) / 2.0) ** 2)
    (folder / "ecg").mkdir()
    voltage = np.stack([wave, -wave], axis=1)
    wfdb.wrsamp(name, fs=rate, units=["mV", "mV"], sig_name=["MLII", "V5"], p_signal=voltage, fmt=["16", "16"],
                write_dir=str(folder / "ecg"))  # fmt: skip
    symbols = ["A" if i == len(beats) - 10 else "N" for i in range(len(beats))]
    wfdb.wrann(name, "atr", np.append([5], beats), ["+", *symbols], write_dir=str(folder / "ecg"))
    return voltage, beats, symbols


def test_voltages_beats_and_their_kinds_come_as_they_were_written(tmp_path):
    voltage, beats, symbols = write_record(tmp_path)
    ecg = load_ecg(data=tmp_path)
    assert_allclose(ecg.voltage, voltage, atol=1e-3)  # 16 bits
    assert (ecg.rate, ecg.leads) == (100.0, ("MLII", "V5"))
    assert ecg.beats.tolist() == beats.tolist()
    assert list(ecg.kinds) == symbols  # the note at sample 5 is no beat


def test_the_heart_rate_is_that_of_the_last_interval():
    rate = heart_rate(np.array([0, 50, 150]), 200, rate=100.0)
    assert_allclose(rate[:150], 120.0)
    assert_allclose(rate[150:], 60.0)


@pytest.mark.parametrize("beats", [np.array([5]), np.array([5, 5]), np.array([[1, 2]])])
def test_beats_that_make_no_rate_are_refused(beats):
    with pytest.raises(Exception, match="beats"):
        heart_rate(beats, 10, 100.0)


def test_missing_broken_and_misnamed_records_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    with pytest.raises(MissingDataError, match=r"ecg/100\.hea"):
        load_ecg(data=tmp_path)
    with pytest.raises(ValueError, match="name of a record"):
        load_ecg("../100", data=tmp_path)
    write_record(tmp_path)
    (tmp_path / "ecg" / "100.hea").write_text("nonsense\n")
    with pytest.raises(ValueError, match="not a readable record"):
        load_ecg(data=tmp_path)


def test_the_example_draws_its_picture(tmp_path, monkeypatch, capsys):
    write_record(tmp_path)
    picture = tmp_path / "ecg.png"
    monkeypatch.setattr(sys, "argv", ["ecg_in_one_state.py", "--data", str(tmp_path), "--out", str(picture)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert picture.stat().st_size > 10_000
    assert "numbers stand for" in capsys.readouterr().out


@pytest.mark.skipif("HIPPOZOO_DATA" not in os.environ, reason="needs the MIT-BIH record; set HIPPOZOO_DATA")
def test_record_100_is_half_an_hour_of_two_leads_with_its_beats():
    ecg = load_ecg()
    assert ecg.voltage.shape == (650_000, 2)
    assert (ecg.rate, ecg.leads) == (360.0, ("MLII", "V5"))
    assert len(ecg.beats) == 2273
    assert 60 < np.median(heart_rate(ecg.beats, 650_000, ecg.rate)) < 90
