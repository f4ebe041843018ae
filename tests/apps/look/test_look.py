"""`hippozoo look`: a page for a model in a file, and sentences for what cannot be read."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")

from hippozoo.apps.cli import main
from hippozoo.microscope import compare
from hippozoo.systems import LegT

NASTY = "<b>window</b>"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from hippozoo.systems import LegT\n\ndef make():\n    return LegT(4, 8.0)\n\ndef broken():\n    return 3\n"
    )
    return path


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["look", *map(str, arguments)])
    return ended.value.code


def test_a_model_in_a_file_gets_a_page(model, tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(12, 80, 1)))
    page = tmp_path / "memory.html"
    assert run(f"{model}:make", "--data", tmp_path / "x.npy", "--lags", 12, "--out", page) == 0
    said = capsys.readouterr().out
    assert re.search(r"^mine +4 ", said, re.MULTILINE)
    assert "What can be read of the past" in page.read_text(encoding="utf-8")


def test_columns_of_a_table_are_cut_into_pieces(model, tmp_path, capsys):
    values = np.random.default_rng(0).normal(size=(1000, 1))
    rows = "".join(f"2024-01-01,{value:.6f}\n" for (value,) in values)
    (tmp_path / "x.csv").write_text("time,load\n" + rows)
    page = tmp_path / "memory.html"
    assert run(f"{model}:make", "--data", tmp_path / "x.csv", "--piece", 60, "--lags", 12, "--out", page) == 0
    assert "16 sequences" in page.read_text(encoding="utf-8")


def test_what_cannot_be_read_is_told(model, tmp_path, capsys):
    (tmp_path / "x.txt").write_text("1")
    (tmp_path / "x.npy").write_text("no array")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,\n")
    for given, words in (
        ([f"{model}"], "names no function"),
        ([f"{tmp_path}/other.py:make"], "there is no file"),
        ([f"{model}:build"], "it has LegT, make, broken"),
        ([f"{model}:make", "--data", tmp_path / "none.npy"], "there is no file"),
        ([f"{model}:make", "--data", tmp_path / "x.txt"], "pass --data FILE.npy or FILE.csv"),
        ([f"{model}:make", "--data", tmp_path / "x.npy"], "no readable .npy file"),
        ([f"{model}:make", "--data", tmp_path / "x.csv"], "cells that are no numbers"),
    ):
        assert run(*given, "--out", tmp_path / "page.html") == 2
        assert words in capsys.readouterr().err
    assert run(f"{model}:broken", "--out", tmp_path / "page.html") == 2
    assert "pass a layer, member, stack" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_names_are_shown_as_they_are_and_the_numbers_stand_in_the_page(tmp_path):
    views = compare({NASTY: LegT(4, 8.0)}, "noise", 8)
    text = views.page(tmp_path / "memory.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;window&lt;/b&gt;" in text
    assert NASTY not in text.replace("\\u003cb>", "")
    views.write_json(tmp_path / "memory.json")
    numbers = json.loads((tmp_path / "memory.json").read_text())
    assert len(numbers[NASTY]["profile"]["value"]) == 8
