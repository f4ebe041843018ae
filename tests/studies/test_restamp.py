"""Lines of units.jsonl get the stamp of the present code where it is shown to give them still, and else stay."""

import json

import pytest

import hippozoo_studies as experiments
from hippozoo_studies import load, reproduce
from hippozoo_studies.framework import restamp as module
from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.restamp import AS_WRITTEN, OLD_TREE, ROUNDED, Compared, restamp


@pytest.fixture
def older(tmp_path):
    """Units of the toy that say they were computed by other code."""
    reproduce("counting", out=tmp_path)
    path = tmp_path / "counting" / "units.jsonl"
    rows = [json.loads(line) | {"code": "older"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def lines(folder):
    return [json.loads(line) for line in (folder / "counting" / "units.jsonl").read_text().splitlines()]


def test_lines_that_come_out_as_written_are_stamped_and_keep_their_numbers(older):
    before = lines(older)
    text = (older / "counting" / "units.jsonl").read_text()
    assert restamp(older, "counting") == {"{}": (Compared(AS_WRITTEN), 6)}
    assert (older / "counting" / "units.jsonl").read_text() == text, "without write it only tells"
    restamp(older, "counting", write=True)
    code = code_hash(load("counting").module)
    assert lines(older) == [line | {"code": code, "stamped": AS_WRITTEN, "before": "older"} for line in before]
    assert experiments.check_units("counting", out=older) == {}
    assert restamp(older, "counting", write=True) == {}


def test_another_processor_may_round_otherwise(older, monkeypatch):
    counting = load("counting").module
    right = counting.run_unit
    monkeypatch.setattr(counting, "run_unit", lambda *given: right(*given) | {"total": right(*given)["total"] + 1e-13})
    ((compared, _),) = restamp(older, "counting").values()
    assert compared.how == ROUNDED


def test_lines_that_come_out_otherwise_stay_as_they_are(older, monkeypatch):
    before = lines(older)
    counting = load("counting").module
    monkeypatch.setattr(counting, "run_unit", lambda config, unit, context: {"total": 0.5})
    ((compared, count),) = restamp(older, "counting", write=True).values()
    assert (compared.how, count) == (None, 6)
    assert "otherwise than written" in compared.why
    assert lines(older) == before


@pytest.mark.parametrize(
    ("old", "how"), [({"result": {"total": 1.0}}, OLD_TREE), ({"result": {"total": 2.0}}, None), ({"error": "x"}, None)]
)
def test_what_takes_long_is_compared_with_the_old_tree(older, monkeypatch, old, how):
    def probe(tree, name, units, sizes, patience):
        return [old if tree == older else {"result": {"total": 1.0}} for _ in units]

    monkeypatch.setattr(module, "_probe", probe)
    ((compared, _),) = restamp(older, "counting", old=older, longest=-1.0).values()
    assert compared.how == how
    ((compared, _),) = restamp(older, "counting", longest=-1.0).values()
    assert compared.how is None


def test_the_probe_computes_by_the_tree_it_is_given(tmp_path):
    tree = tmp_path / "tree"
    (tree / "src" / "hippozoo" / "experiments").mkdir(parents=True)
    (tree / "src" / "hippozoo" / "__init__.py").touch()
    (tree / "src" / "hippozoo" / "experiments" / "__init__.py").write_text(
        "from dataclasses import dataclass\n"
        "from types import SimpleNamespace\n\n"
        "@dataclass(frozen=True)\nclass Config:\n    seeds: tuple = (0, 1)\n    size: int = 10\n\n"
        "def run_unit(config, unit, context):\n    return {'value': config.size * unit['seed'] + len(config.seeds)}\n\n"
        "def load(name):\n    return SimpleNamespace(module=SimpleNamespace(\n"
        "        Config=Config, QUICK=Config(seeds=(0,), size=2), run_unit=run_unit))\n\n"
        "def Context(scratch):\n    return scratch\n"
    )
    assert module._probe(tree, "toy", [{"seed": 3}, {"other": 1}], {"seeds": [0, 1], "other": 1}, 60) == [
        {"result": {"value": 8}},
        {"error": "KeyError: 'seed'"},
    ]
