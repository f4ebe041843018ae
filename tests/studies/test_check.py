"""Units carry the code that computed them; a check says whether the present code still gives them."""

import json
import shutil
import textwrap

import pytest

from hippozoo_studies import check_study, check_units, reproduce
from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.progress import Silence
from hippozoo_studies.framework.registry import load


class Notes(Silence):
    def __init__(self):
        self.texts = []

    def note(self, text):
        self.texts.append(text)


def notes(out):
    told = Notes()
    reproduce("counting", out=out, progress=told)
    return [text for text in told.texts if "--check" in text]


def lines(out):
    return [json.loads(line) for line in (out / "counting" / "units.jsonl").read_text().splitlines()]


def rewrite(out, change):
    text = "".join(json.dumps(change(line)) + "\n" for line in lines(out))
    (out / "counting" / "units.jsonl").write_text(text)


def test_units_of_the_present_code_need_no_check(tmp_path):
    reproduce("counting", out=tmp_path)
    assert {line["code"] for line in lines(tmp_path)} == {code_hash(load("counting").module)}
    assert notes(tmp_path) == []
    assert check_units("counting", out=tmp_path) == {}


@pytest.mark.parametrize(("code", "words"), [(None, "do not say which code"), ("older", "before the code changed")])
def test_units_of_other_code_are_told_and_a_check_renews_them(tmp_path, code, words):
    reproduce("counting", out=tmp_path)

    def change(line):
        line = {name: value for name, value in line.items() if name != "code"}
        return line if code is None else line | {"code": code}

    rewrite(tmp_path, change)
    (note,) = notes(tmp_path)
    assert words in note
    assert "6 units" in note
    before = lines(tmp_path)
    (check,) = check_units("counting", out=tmp_path).values()
    assert check.equal
    assert check.code == code_hash(load("counting").module)
    assert lines(tmp_path) == before, "a check writes no unit"
    assert notes(tmp_path) == []
    assert sorted(path.name for path in (tmp_path / "counting").iterdir() if path.name.startswith(".")) == []


def test_a_result_that_changed_is_shown_and_renews_nothing(tmp_path, monkeypatch):
    reproduce("counting", out=tmp_path)
    rewrite(tmp_path, lambda line: line | {"code": "older"})
    module = load("counting").module
    run_unit = module.run_unit
    monkeypatch.setattr(
        module, "run_unit", lambda *given: run_unit(*given) | {"total": run_unit(*given)["total"] + 0.5}
    )
    (check,) = check_units("counting", out=tmp_path).values()
    assert not check.equal
    ((place, old, new),) = check.differences
    assert (place, new - old) == ("total", 0.5)
    assert len(notes(tmp_path)) == 1


def test_the_cheapest_unit_is_the_one_computed_again(tmp_path):
    reproduce("counting", out=tmp_path)
    cheap = {"length": 1000, "seed": 1}
    rewrite(tmp_path, lambda line: line | {"code": "older", "seconds": 0.001 if line["unit"] == cheap else 5.0})
    (check,) = check_units("counting", out=tmp_path).values()
    assert check.unit == cheap


def test_a_line_edited_by_hand_is_named(tmp_path):
    reproduce("counting", out=tmp_path)
    rewrite(tmp_path, lambda line: line | {"result": line["result"] | {"total": 7}})
    with pytest.raises(ValueError, match=r"line 1 .*units.jsonl"):
        reproduce("counting", out=tmp_path)


def test_no_units_no_check(tmp_path):
    with pytest.raises(ValueError, match="run counting first"):
        check_units("counting", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def hash_with(toys, tmp_path):
    """The hash of the toy with its source changed."""
    import importlib.util

    def changed(old="", new=""):
        path = tmp_path / "counting.py"
        source = (toys / "counting.py").read_text()
        assert old in source
        path.write_text(source.replace(old, new) if old else source)
        spec = importlib.util.spec_from_file_location("counting", path)
        module = importlib.util.module_from_spec(spec)
        module.__file__ = str(path)
        return code_hash(module)

    return changed


def test_words_and_pictures_do_not_change_the_hash_but_arithmetic_does(hash_with):
    plain = hash_with()
    assert hash_with("Count; the environment", "Counting; the environment") == plain
    assert hash_with("1000 > 10", "ten is less than a thousand") == plain, "what assembles computes no unit"
    assert hash_with("figsize=(2, 2)", "figsize=(3, 3)") == plain
    assert hash_with("# one long call", "# a long call") == plain
    assert hash_with("config.step * unit", "2 * config.step * unit") != plain
    assert hash_with("step: float = 1.0", "step: float = 2.0") != plain


@pytest.mark.parametrize(
    ("package", "place"), [("hippozoo", "systems/legt.py"), ("hippozoo_studies", "paper/_two_tasks.py")]
)
def test_the_modules_below_count_in_both_packages(package, place, tmp_path, monkeypatch):
    from hippozoo_studies.framework import code

    module = load("memory-tasks").module
    copy = tmp_path / package
    shutil.copytree(code._ROOTS[package], copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setitem(code._ROOTS, package, copy)

    def now():
        return code_hash(module)

    before = now()
    target = copy / place
    source = target.read_text()
    target.write_text(source + "\n# a comment\n")
    assert now() == before
    target.write_text(source + textwrap.dedent("\n\ndef more():\n    return 1\n"))
    assert now() != before


def test_the_command_says_which_models_still_come_out_the_same(tmp_path, capsys, monkeypatch):
    from hippozoo.apps.cli import main

    def said(*more):
        monkeypatch.setattr("sys.argv", ["hippozoo", "reproduce", "counting", "--check", "--out", str(tmp_path), *more])
        with pytest.raises(SystemExit) as end:
            main()
        written = capsys.readouterr()
        return end.value.code, written.out, written.err

    reproduce("counting", out=tmp_path)
    capsys.readouterr()
    code, out, _ = said()
    assert (code, out.splitlines()[0]) == (0, "counting: every unit agrees with this code already.")
    assert "all claims come out the same" in out
    rewrite(tmp_path, lambda line: line | {"code": "older"})
    code, out, _ = said()
    assert (code, out.startswith("counting: (all): the same (")) == (0, True)
    module = load("counting").module
    (tmp_path / "counting" / "checked.json").unlink()
    monkeypatch.setattr(module, "run_unit", lambda *_: {"total": 3.0})
    code, out, error = said()
    assert code == 1
    assert "differs" in out
    assert "delete those lines" in " ".join(error.split())
    assert said("--jobs", "2")[0] == 2


@pytest.mark.parametrize(("factor", "agrees"), [(1.001, True), (1.03, False)])
def test_a_headline_number_that_the_units_do_not_make_is_found(tmp_path, factor, agrees):
    reproduce("counting", out=tmp_path)
    path = tmp_path / "counting" / "metrics.json"
    document = json.loads(path.read_text())
    document["metrics"]["total"]["short"]["mean"] *= factor
    path.write_text(json.dumps(document))
    checks, whole = check_study("counting", out=tmp_path)
    assert (checks, whole.agrees) == ({}, agrees)
    assert [one[0] for one in whole.numbers] == ["total.short.mean"]


def test_a_unit_that_differs_in_its_last_digits_is_near(tmp_path, monkeypatch):
    reproduce("counting", out=tmp_path)
    rewrite(tmp_path, lambda line: line | {"code": "older"})
    module = load("counting").module
    run_unit = module.run_unit
    for factor, near in ((1 + 1e-14, True), (1.01, False)):
        monkeypatch.setattr(
            module, "run_unit", lambda *given, by=factor: run_unit(*given) | {"total": by * run_unit(*given)["total"]}
        )
        checks, _ = check_study("counting", out=tmp_path)
        assert [(one.equal, one.near) for one in checks.values()] == [(False, near)]


def test_a_part_so_far_counts_units_in_the_order_of_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(load("counting").module, "ASSEMBLES_PARTS", True, raising=False)
    whole = reproduce("counting", out=tmp_path)
    path = tmp_path / "counting" / "units.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert reproduce("counting", so_far=True, out=tmp_path)["metrics"] == whole["metrics"]


def test_a_file_is_parsed_once_in_its_life(tmp_path, monkeypatch):
    from hippozoo_studies.framework import code

    monkeypatch.setattr(code, "_KEPT", tmp_path / "facts.json")
    monkeypatch.setattr(code.sys, "dont_write_bytecode", False)
    module = load("memory-tasks").module
    first = code_hash(module)
    looked = []
    monkeypatch.setattr(code, "_look_at", lambda source, **_: looked.append(source))
    assert code_hash(module) == first
    assert looked == []
    (tmp_path / "facts.json").write_text('{"torn')
    monkeypatch.undo()
    assert code_hash(module) == first
