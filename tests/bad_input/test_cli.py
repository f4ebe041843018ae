import pytest

import hippozoo_studies as experiments
from hippozoo.apps.cli import main
from studies.toy_shop import toys as toys


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HIPPOZOO_DEBUG", raising=False)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["turr"], "No such command 'turr'. Did you mean 'tour'?"),
        (["--frobnicate"], "No such option: --frobnicate"),
        (["reproduce"], "no experiment named; pass names or 'all'"),
        (["reproduce", "couting"], "unknown experiment 'couting'; did you mean 'counting'? All: "),
        (["reproduce", "counting", "one_go"], "unknown experiment 'one_go'; did you mean 'one-go'?"),
        (["reproduce", "counting", "--seeds", "0,a"], "--seeds 0,a: seeds are whole numbers"),
        (["reproduce", "counting", "--seeds", "0,-1"], "--seeds 0,-1: seeds are whole numbers"),
        (["reproduce", "counting", "--seeds", "1.5"], "--seeds 1.5: seeds are whole numbers"),
        (["reproduce", "counting", "--seeds", ""], "--seeds : seeds are whole numbers"),
        (["reproduce", "counting", "--seeds", "1,1"], "--seeds 1,1: a seed stands there twice"),
        (["reproduce", "one-go", "--seeds", "1"], "experiment 'one-go' has no randomness"),
        (["reproduce", "counting", "--jobs", "0"], "'--jobs'"),
        (["reproduce", "counting", "--jobs", "two"], "'--jobs'"),
        (["reproduce", "counting", "--data", "nowhere"], "--data nowhere: there is no such folder"),
    ],
)
def test_wrong_usage_is_one_sentence_on_stderr_and_code_2(run, tmp_path, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"hippozoo: {message}") or message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_quick_run_into_a_full_result_is_wrong_usage(run, tmp_path):
    assert run("reproduce", "one-go")[0] == 0
    before = (tmp_path / "results" / "one-go" / "metrics.json").read_bytes()
    code, out, err = run("reproduce", "one-go", "--quick", "--out", "results")
    assert (code, out) == (2, "")
    assert "is a full result, and a quick run would overwrite it" in err
    assert (tmp_path / "results" / "one-go" / "metrics.json").read_bytes() == before


def failing(error: Exception):
    def run(config, context):
        raise error

    return run


def test_a_failure_is_one_sentence_and_code_1(run, monkeypatch):
    monkeypatch.setattr(experiments.load("one-go").module, "run", failing(ValueError("order=0: pass order >= 1.")))
    assert run("reproduce", "one-go") == (1, "", "hippozoo: order=0: pass order >= 1.\n")


def test_an_unforeseen_failure_names_its_kind(run, monkeypatch):
    monkeypatch.setattr(experiments.load("one-go").module, "run", failing(KeyError("lr")))
    assert run("reproduce", "one-go") == (1, "", "hippozoo: KeyError: 'lr' (--debug shows where)\n")


@pytest.mark.parametrize("how", ["before", "after", "variable"])
def test_debug_shows_the_traceback(run, monkeypatch, how):
    monkeypatch.setattr(experiments.load("one-go").module, "run", failing(ValueError("order=0")))
    arguments = ["reproduce", "one-go"]
    if how == "before":
        arguments = ["--debug", *arguments]
    elif how == "after":
        arguments += ["--debug"]
    else:
        monkeypatch.setenv("HIPPOZOO_DEBUG", "1")
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert "Traceback" in err
    assert err.endswith("ValueError: order=0\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_debug_shows_where_a_unit_failed(run, monkeypatch, jobs):
    monkeypatch.setenv("COUNTING_FAILS", "10/0")
    code, _, err = run("reproduce", "counting", "--quick", "--jobs", jobs, "--debug")
    assert code == 1
    assert "counting.py" in err
    assert 'raise ArithmeticError("cannot count that far.")' in err


def test_missing_data_says_what_it_is_and_what_to_do(run, monkeypatch, tmp_path):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    module = experiments.load("one-go").module
    monkeypatch.setattr(module, "QUICK", module.Config(file="ett/ETTh1.csv"))
    (tmp_path / "data").mkdir()
    code, out, err = run("reproduce", "one-go", "--quick", "--data", "data")
    assert (code, out) == (1, "")
    assert "data file ett/ETTh1.csv not found: looked for ett/ETTh1.csv or ETTh1.csv in data." in err
    assert "Zhou et al. (2021)" in err
    assert "pass --data DIR" in err


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True])
def test_python_callers_hear_about_wrong_jobs_before_anything_runs(tmp_path, jobs):
    with pytest.raises((TypeError, ValueError), match="least one process"):
        experiments.reproduce("counting", out=tmp_path, jobs=jobs)
    assert list(tmp_path.iterdir()) == []


def test_python_callers_hear_about_a_wrong_configuration(tmp_path):
    with pytest.raises(TypeError, match=r"config is a dict"):
        experiments.reproduce("counting", out=tmp_path, config={"seeds": (0,)})
    assert list(tmp_path.iterdir()) == []
