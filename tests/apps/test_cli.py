import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hippozoo
import hippozoo_studies as experiments
from hippozoo.apps.cli import COMMANDS, main
from studies.toy_shop import toys as toys


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command line in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return command


def test_the_version(run):
    assert run("--version") == (0, f"hippozoo {hippozoo.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_each_command_in_one_line_and_gives_an_example(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    lines = [line.strip(" │") for line in out.splitlines()]
    for name in (*COMMANDS, "reproduce", "report"):
        assert any(line.startswith(f"{name} ") for line in lines)
    assert all(any(line.startswith(f"{name} ") and line.endswith(".") for line in lines) for name in COMMANDS)
    assert "Example: hippozoo" in out


def test_the_help_of_reproduce_says_where_results_go(run):
    code, out, _ = run("reproduce", "--help")
    assert code == 0
    assert "results; with --quick results-quick" in out
    assert "units.jsonl" in out


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"], ["reproduce", "--list"], ["--version"]])
def test_looking_around_loads_nothing_heavy(arguments):
    code = (
        "import sys\nfrom hippozoo.apps.cli import main\ntry:\n    main()\nexcept SystemExit:\n"
        "    print('heavy:', {'torch', 'scipy', 'numba', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "heavy: set()"


@pytest.mark.parametrize(("chosen", "found"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "None")])
def test_a_forecast_takes_one_thread_unless_the_user_has_chosen(chosen, found):
    code = (
        "import os\nfrom hippozoo.apps.cli import main\ntry:\n    main(['forecast', 'nothing.csv'])\n"
        "except SystemExit:\n    print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    others = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=others | chosen)
    assert done.stdout == f"{found}\n"
    assert done.stderr == "hippozoo: nothing.csv: there is no such file; check the path.\n"  # and no empty line


def test_the_installed_command_is_this_one():
    done = subprocess.run(
        [Path(sys.executable).with_name("hippozoo"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"hippozoo {hippozoo.__version__}\n"


def test_the_list_names_experiments_with_their_first_line(run):
    code, out, err = run("reproduce", "--list")
    assert (code, err) == (0, "")
    assert "one-go" in out.split()
    assert "One go: a study" in " ".join(out.split())
    lines = out.splitlines()
    assert lines[0].split() == ["study", "core", "time", "computed", "in", "results"]
    assert len(lines) == 2 * len(experiments.describe()) + 2  # two lines each, with the header and the sum
    listed = json.loads(run("reproduce", "--list", "--json")[1])
    assert listed == experiments.describe()


def test_reproduce_prints_ours_beside_the_papers(run, tmp_path):
    code, out, err = run("reproduce", "counting")
    assert code == 0
    assert ["total.long.1000", "1001", "±", "0.58", "1000"] in [line.split() for line in out.splitlines()]
    assert "holds: counting further gives more (1000 > 10)" in out
    assert "does not hold: counting ends (it goes on)" in out
    assert "6 of 6 units" in err
    assert (tmp_path / "results" / "counting" / "metrics.json").exists()


def test_json_is_all_that_stands_on_stdout(run, tmp_path):
    code, out, err = run("reproduce", "counting", "--json", "--out", "there")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "there" / "counting" / "metrics.json").read_text())
    assert "an experiment that prints" in err


def test_json_of_several_is_a_list(run):
    code, out, _ = run("reproduce", "counting", "one-go", "counting", "--json", "--quick")
    assert code == 0
    assert [document["name"] for document in json.loads(out)] == ["counting", "one-go"]


def test_quick_goes_to_a_folder_of_its_own_and_says_so(run, tmp_path):
    _, out, _ = run("reproduce", "counting", "--quick")
    assert "counting (quick: " in out
    assert "written to results-quick/counting" in out
    assert not (tmp_path / "results").exists()


def test_seeds_jobs_and_data_reach_the_experiment(run, monkeypatch, tmp_path):
    seen = {}

    def reproduce(name, **arguments):
        seen.update(arguments, name=name)
        raise RuntimeError("enough")

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    (tmp_path / "data").mkdir()
    arguments = ["--seeds", "3, 4", "--jobs", "2", "--data", "data", "--out", "there", "--quick"]
    assert run("reproduce", "counting", *arguments)[0] == 1
    assert (seen["seeds"], seen["jobs"], seen["data"], seen["out"]) == ([3, 4], 2, Path("data"), Path("there"))
    assert seen["quick"]


def test_of_all_the_others_go_on_when_one_fails(run, monkeypatch):
    monkeypatch.setattr(experiments, "names", lambda: ["broken-extra", "counting", "one-go"])
    code, out, err = run("reproduce", "all", "--quick", "--seeds", "1")
    assert code == 1
    assert "written to results-quick/counting" in out
    assert "written to results-quick/one-go" in out  # it has no randomness, and the seeds of all pass it by
    assert "hippozoo: broken-extra: experiment 'broken-extra' needs the package 'no_such_package'" in err
    assert "hippozoo: 1 of 3 experiments failed: broken-extra." in err


def test_ctrl_c_ends_with_130(run, monkeypatch):
    def run_unit(config, unit, context):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments.load("counting").module, "run_unit", run_unit)
    code, out, err = run("reproduce", "counting", "one-go")
    assert (code, out) == (130, "")
    assert "hippozoo: stopped with 0 of 6 units of counting done" in err


def test_ctrl_c_in_the_tour_ends_with_130(run, monkeypatch):
    def interrupted(folder, report):
        raise KeyboardInterrupt

    monkeypatch.setattr("hippozoo.apps.tour.write_tour", interrupted)
    code, _, err = run("tour")
    assert code == 130
    assert err.endswith("hippozoo: stopped.\n")


def test_tour_writes_its_page_and_opens_it_when_asked(run, monkeypatch, tmp_path):
    opened = []

    def write_tour(folder, report):
        report("1 of 1: a question")
        folder.mkdir()
        (folder / "index.html").write_text("")
        return folder / "index.html"

    monkeypatch.setattr("hippozoo.apps.tour.write_tour", write_tour)
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run("tour") == (0, f"wrote {os.path.join('tour', 'index.html')}\n", "1 of 1: a question\n")  # noqa: PTH118
    assert opened == []
    assert run("tour", "--out", "here", "--open")[0] == 0
    assert opened == [(tmp_path / "here" / "index.html").as_uri()]
