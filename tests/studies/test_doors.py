"""Doors: one's own model in a study, a part of a study, and what a study costs."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import hippozoo_studies as experiments
from hippozoo.apps.cli import main
from hippozoo.baselines import LSTM
from hippozoo_studies import Result, WrongSizeError, contest, load, reproduce
from hippozoo_studies.framework import costs
from hippozoo_studies.framework.check import compare
from hippozoo_studies.framework.costs import cost_lines, there_text
from hippozoo_studies.framework.entrants import contests, imported


class Bare(nn.Module):
    """A stranger's module: torch's own parts, a pair of outputs and state, nothing else of ours."""

    def __init__(self, inputs, outputs, width):
        super().__init__()
        self.cell = nn.GRU(inputs, width, batch_first=True)
        self.out = nn.Linear(width, outputs)

    def forward(self, x, state=None):
        y, state = self.cell(x, state)
        return self.out(y), state


def make(inputs, outputs, length, params):
    """The width that comes nearest to what is asked for."""

    def count(width):
        return 3 * width * (inputs + width + 2) + outputs * (width + 1)

    return Bare(inputs, outputs, min(range(2, 200), key=lambda width: abs(count(width) - params)))


def make_large(inputs, outputs, length):
    return LSTM.match(60_000, inputs=inputs, outputs=outputs)


class Flat(nn.Module):
    """Returns its outputs alone, without a state."""

    def __init__(self, inputs):
        super().__init__()
        self.wide = nn.Linear(inputs, 25_000 // (inputs + 1))

    def forward(self, x):
        return self.wide(x)


FIELDS = {"memory-tasks": "models", "recall-scaling": "rows", "multi-query-recall": "models", "digits": "models"}


def test_the_doors_are_those_of_the_papers_tables_and_three_more():
    assert {*FIELDS, "psmnist"} <= set(contests())


@pytest.mark.parametrize("name", list(FIELDS))
def test_a_model_of_ones_own_takes_part_beside_what_is_there(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = load(name).module
    own = getattr(module.QUICK, FIELDS[name])[0]
    only_own = {"models": (own,)} if FIELDS[name] == "models" else {"rows": (own,), "beyond": ()}
    small = dataclasses.replace(module.QUICK, **only_own, seeds=(0,))
    if hasattr(small, "variants"):
        small = dataclasses.replace(small, variants=(), wider_rates=())
    monkeypatch.setattr(module, "QUICK", small)
    reproduce(name, quick=True)
    before = (tmp_path / "results-quick" / name / "units.jsonl").read_text()
    document = contest(name, {"mine": make}, quick=True)
    folder = tmp_path / "results-contest" / name
    assert {"mine", own} <= {
        unit["unit"][module.DOOR.key] for unit in map(json.loads, (folder / "units.jsonl").read_text().splitlines())
    }
    assert '"mine"' in json.dumps(document["metrics"]["accuracy"])
    assert "mine" in (folder / "table.md").read_text()
    assert "mine" in (folder / "accuracy.svg").read_text(), "its row is in the figure"
    assert (tmp_path / "results-quick" / name / "units.jsonl").read_text() == before, "what is there stays"
    assert not experiments.entered(), "afterwards nobody takes part"


def test_a_wrong_number_of_parameters_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(WrongSizeError, match=r"22,500 to 27,500"):
        contest("memory-tasks", {"large": make_large}, quick=True, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


class Changed(Bare):
    """As `Bare` is, with an answer that cannot take part."""

    def __init__(self, inputs, outputs, length, params, change):
        super().__init__(inputs, outputs, make(inputs, outputs, length, params).cell.hidden_size)
        self.change = change

    def forward(self, x, state=None):
        return self.change(*super().forward(x, state))


def breaks(*_, **__):
    raise RuntimeError("the stranger's own words")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, state: y, r"no pair, but outputs of shape \(2, 12, 24\)"),
        (lambda y, state: (y[:, -1], state), r"outputs of shape \(2, 24\).* of shape \(2, 12, 24\), and a state"),
        (lambda y, state: 3, "returns int"),
        (lambda y, state: (y * float("nan"), state), "returns NaN"),
        (breaks, r"cannot be called with samples of shape \(2, 12, 24\).*the stranger's own words"),
    ],
)
def test_what_answers_in_another_way_is_refused(change, words, tmp_path):
    def made(inputs, outputs, length, params):
        return Changed(inputs, outputs, length, params, change)

    with pytest.raises(ValueError, match=f"^mine {words}" if change is breaks else words):
        contest("memory-tasks", {"mine": made}, quick=True, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("maker", "words"),
    [
        (breaks, "mine cannot be made for inputs=24, .*the stranger's own words"),
        (lambda inputs: None, "mine cannot be made .* by name"),
        (lambda inputs, outputs, length: 3, "returned a int; return a torch.nn.Module"),
    ],
)
def test_what_cannot_be_made_is_refused(maker, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        contest("memory-tasks", {"mine": maker}, quick=True, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_contest_and_only_do_not_name_models_at_once(tmp_path):
    with pytest.raises(ValueError, match="your models alone"):
        contest("memory-tasks", {"mine": make}, only={"model": "lstm"}, quick=True, out=tmp_path)


def make_again(inputs, outputs, length, params):
    return make(inputs, outputs, length, params)


def test_another_function_or_another_size_under_the_same_name_is_trained_anew(tmp_path):
    file = tmp_path / "recall-scaling" / "units.jsonl"

    def lines(maker):
        document = contest("recall-scaling", {"mine": maker}, quick=True, out=tmp_path)
        assert "units_missing" not in document, "rows of the study are not counted as missing"
        return file.read_text()

    first = lines(make)
    assert lines(make) == first
    assert lines(make_again) != first
    more = 0

    def grown(inputs, outputs, length, params):
        return make(inputs, outputs, length, params + more)

    small = lines(grown)
    more = 900
    assert lines(grown) != small, "the same function makes another model now"


@pytest.mark.parametrize(
    ("name", "models", "words"),
    [
        ("volterra", {"mine": make}, "takes no models of your own; choose from"),
        ("memory-tasks", {}, "models is empty"),
        ("memory-tasks", {"lstm": make}, "--model lstm: memory-tasks already has a model of that name"),
    ],
)
def test_who_cannot_enter_hears_why(name, models, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        contest(name, models, out=tmp_path)


def test_a_function_that_a_module_lacks_is_named():
    with pytest.raises(ValueError, match="module 'json' has no function 'nofun'"):
        imported("mine=json:nofun")


def test_a_contest_runs_the_users_models_alone(tmp_path):
    with pytest.raises(ValueError, match="--only model=lstm: a contest runs your models alone"):
        contest("memory-tasks", {"mine": make}, only={"model": "lstm"}, out=tmp_path)


def test_a_check_names_the_options_that_go_with_it(capsys):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "counting", "--check", "--so-far"])
    assert end.value.code == 2
    assert "--check accepts only --quick, --data and --out." in capsys.readouterr().err


def test_a_model_whose_source_has_changed_is_trained_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "their_models.py"
    source = "from hippozoo.baselines import LSTM\n\ndef make(inputs, outputs, length):\n"
    file.write_text(source + "    return LSTM.match(25_000, inputs=inputs, outputs=outputs)\n")
    arguments = ["reproduce", "recall-scaling", "--quick", "--model", "theirs=their_models:make", "--json"]
    units = tmp_path / "results-contest" / "recall-scaling" / "units.jsonl"

    def lines():
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 0
        return units.read_text()

    first = lines()
    assert lines() == first
    file.write_text(source + "    return LSTM.match(24_000, inputs=inputs, outputs=outputs)\n")
    importlib.reload(sys.modules["their_models"])
    assert lines() != first


@pytest.mark.parametrize(
    "text", ["mine", "mine=no_such_module:make", "mine=json:nothing", "mine=math:pi", "mine=a.py:make", "mine=./a:make"]
)
def test_a_model_that_cannot_be_found_is_wrong_usage(text, capsys):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "memory-tasks", "--model", text])
    assert end.value.code == 2
    assert text in capsys.readouterr().err


def test_a_name_for_two_models_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "memory-tasks", "--model", "one=json:loads", "--model", "one=json:dumps"])
    assert end.value.code == 2
    assert "twice" in capsys.readouterr().err


@pytest.mark.parametrize("only", ["seed=0,seed=2,length=10", "length=10,seed=2 --only seed=0"])
def test_a_part_named_twice_runs_both(only, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(load("counting").module, "ASSEMBLES_PARTS", True, raising=False)
    monkeypatch.setattr(load("counting").module, "assemble", lambda config, finished: Result({}, []))
    monkeypatch.setattr(load("counting").module, "report", lambda result, folder: None)
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "counting", "--only", *only.split(), "--out", str(tmp_path)])
    assert end.value.code == 0
    units = (tmp_path / "counting" / "units.jsonl").read_text().splitlines()
    assert [json.loads(line)["unit"] for line in units] == [{"length": 10, "seed": seed} for seed in (0, 2)]
    with pytest.raises(ValueError, match="--only seed=7: no such seed; choose from 0, 1, 2"):
        reproduce("counting", only={"seed": ("0", "7")}, out=tmp_path)


def test_only_a_part_of_a_study_is_run_and_shown(tmp_path):
    document = reproduce("memory-tasks", quick=True, only={"model": "lstm", "task": "copying"}, out=tmp_path)
    lines = (tmp_path / "memory-tasks" / "units.jsonl").read_text().splitlines()
    assert {(unit["model"], unit["task"]) for unit in (json.loads(line)["unit"] for line in lines)} == {("lstm", "sc")}
    assert set(document["metrics"]["accuracy"]) == {"lstm"}
    assert document["units_missing"] > 0


def test_a_part_that_follows_from_another_can_be_run_once_that_is_there(tmp_path):
    base, variant = "transformer_2_steps_learnt", "transformer_2_steps_learnt_batch"
    with pytest.raises(ValueError, match=f"--only row={variant}: no such row; choose from .*; more may follow"):
        reproduce("recall-scaling", quick=True, only={"row": variant}, out=tmp_path)
    for row in (base, variant):
        reproduce("recall-scaling", quick=True, only={"row": row}, out=tmp_path)
    lines = (tmp_path / "recall-scaling" / "units.jsonl").read_text().splitlines()
    rows = [json.loads(line)["unit"]["row"] for line in lines]
    assert rows == [base] * 2 + [variant]


@pytest.mark.parametrize("only", [{"colour": "red"}, {"model": "nonsense"}])
def test_a_part_that_is_not_there_is_refused_with_what_is(only, tmp_path):
    with pytest.raises(ValueError, match=r"choose from .*lstm|have model, task"):
        reproduce("memory-tasks", quick=True, only=only, out=tmp_path)


def test_quick_figures_carry_the_word_and_others_do_not(tmp_path):
    reproduce("counting", quick=True, out=tmp_path / "a")
    reproduce("counting", out=tmp_path / "b")
    pictures = [(tmp_path / place / "counting" / "count.svg").read_text() for place in "ab"]
    assert ["<!-- quick -->" in picture for picture in pictures] == [True, False]


def test_the_help_says_what_studies_cost_and_the_list_what_is_there(tmp_path):
    assert all(name in cost_lines() for name in ("memory-tasks", "wikitext"))
    reproduce("counting", out=tmp_path)
    assert there_text(tmp_path / "counting") == "all (6 units)"
    assert there_text(tmp_path / "nothing") == "nothing"


def document(metrics, verdict="holds"):
    return {"metrics": metrics, "claims": [{"claim": "it works", "verdict": verdict}]}


def test_a_comparison_forgives_rounding_and_no_turned_claim():
    old = document({"error": 6e-29, "accuracy": 97.31, "train_seconds": 3.0})
    new = document({"error": 1.5e-30, "accuracy": 97.32, "train_seconds": 9.0})
    found = compare(old, new)
    assert found.agrees
    assert [one[0] for one in found.numbers] == ["error", "accuracy"]
    assert found.numbers[1][3] == 3, "digits that are the same"
    assert not compare(old, new | {"claims": [{"claim": "it works", "verdict": "does not hold"}]}).agrees
    apart = compare(old, document({"error": 1.5e-30, "accuracy": 91.0}))
    assert [one[0] for one in apart.apart] == ["accuracy"]


def test_a_model_is_made_for_the_shapes_of_its_study():
    module = load("memory-tasks").module
    shapes = module.DOOR.shapes(module.Config())
    with torch.no_grad():
        for shape in shapes:
            y, _ = make(shape.inputs, shape.outputs, shape.length, shape.params)(
                torch.zeros(1, shape.length, shape.inputs)
            )
            assert y.shape == (1, shape.length, shape.outputs)


def test_units_that_are_missing_count_as_much_as_the_others(tmp_path, monkeypatch):
    for name, missing in (("whole", {}), ("half", {"units_missing": 2})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "units.jsonl").write_text("{}\n{}\n")
        document = {"name": name, "quick": False, "seconds": 60.0, **missing}
        (tmp_path / name / "metrics.json").write_text(json.dumps(document))
    monkeypatch.setattr(costs, "_FILE", tmp_path / "costs.json")
    costs.write_costs(tmp_path)
    assert json.loads((tmp_path / "costs.json").read_text()) == {"half": 120, "whole": 60}


def test_all_with_a_model_enters_it_wherever_it_can_go(monkeypatch, tmp_path):
    went = []
    monkeypatch.setattr(
        experiments, "contest", lambda name, **_: went.append(name) or reproduce("counting", out=tmp_path)
    )
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "all", "--model", "mine=json:loads", "--json", "--out", str(tmp_path)])
    assert (end.value.code, went) == (0, contests())


def test_every_study_that_has_a_full_result_has_a_cost():
    results = Path(__file__).parents[2] / "results"
    full = [name for name in experiments.names() if (results / name / "metrics.json").is_file()]
    assert [name for name in full if costs.cost_text(name) == "?"] == [], "python -m hippozoo_studies.framework.costs"
