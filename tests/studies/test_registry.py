import dataclasses
import subprocess
import sys
from types import ModuleType

import pytest

import hippozoo_studies as experiments
from hippozoo_studies.framework.registry import _check_parts


def test_an_experiment_is_found_by_the_name_of_its_module():
    assert {"counting", "one-go"} <= set(experiments.names())
    assert experiments.load("one-go").module.__name__ == "hippozoo_studies.own.one_go"


def test_the_list_tells_the_first_line_and_survives_a_broken_extra():
    described = experiments.describe()
    assert described["one-go"] == "One go: a study without units and without randomness."
    assert described["broken-extra"].startswith("Broken extra")


def test_helpers_are_no_experiments():
    assert not [name for name in experiments.names() if name.startswith(("_", "-")) or "helper" in name]


def test_a_missing_package_is_named():
    with pytest.raises(experiments.BrokenExperimentError, match="'broken-extra' needs"):
        experiments.load("broken-extra")


@pytest.mark.parametrize("typo", ["cuonting", "counting-", "Counting"])
def test_an_unknown_name_gets_the_nearest_one(typo):
    with pytest.raises(
        experiments.UnknownExperimentError,
        match=rf"^unknown experiment '{typo}'",
    ):
        experiments.load(typo)


def test_a_name_like_no_other_gets_the_list_alone():
    with pytest.raises(experiments.UnknownExperimentError, match=r"experiment 'zzzz'\. All"):
        experiments.check_name("zzzz")


@pytest.mark.parametrize("part", ["PAPER", "Config", "QUICK", "report", "run_unit", "assemble"])
def test_a_missing_part_is_named(part):
    module = ModuleType("copy")
    vars(module).update(vars(experiments.load("counting").module))
    delattr(module, part)
    with pytest.raises(experiments.BrokenExperimentError, match=f"lacks {part};"):
        _check_parts("copy", module)


def test_an_experiment_in_one_go_needs_run():
    module = ModuleType("copy")
    vars(module).update(vars(experiments.load("one-go").module))
    del module.run
    with pytest.raises(experiments.BrokenExperimentError, match="lacks run;"):
        _check_parts("copy", module)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("Config", dict, "not a frozen dataclass"),
        ("SELECTS", ("lengths",), "leaves out 'seeds'"),
        ("SELECTS", ("seeds", "sizes"), r"names \['sizes'\]"),
        ("PAPER", [1.0], "is no dict"),
    ],
)
def test_a_wrong_part_is_explained(name, value, message):
    module = ModuleType("copy")
    vars(module).update(vars(experiments.load("counting").module))
    setattr(module, name, value)
    with pytest.raises(experiments.BrokenExperimentError, match=message):
        _check_parts("copy", module)


def test_the_fingerprint_tells_configurations_apart_but_not_choices_of_units(monkeypatch):
    counting = experiments.load("counting")
    config = counting.module.Config()
    same = dataclasses.replace(config, seeds=(7, 8), lengths=(5,))
    other = dataclasses.replace(config, step=1.5)
    assert counting.fingerprint(config) == counting.fingerprint(same) != counting.fingerprint(other)
    before = counting.fingerprint(config)
    monkeypatch.setattr(counting.module, "REVISION", 2, raising=False)
    assert counting.fingerprint(config) != before


def test_importing_the_framework_loads_neither_torch_nor_matplotlib():
    code = "import sys, hippozoo_studies, hippozoo.tasks.data_files; print({'torch', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
