import io

import pytest
from rich.console import Console

from hippozoo_studies.framework.progress import Silence, Terminal
from hippozoo_studies.framework.summary import ROWS, leaves, summary


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_without_a_terminal_each_unit_is_a_line_with_the_time_left(clock):
    text = io.StringIO()
    progress = Terminal(Console(file=text, width=200), clock)
    progress.start("counting", total=5, done=1)
    progress.note("[1] is done")
    clock.now = 60.0
    progress.finished({"seed": 1}, 60.0)
    clock.now = 120.0
    progress.finished({"seed": 2}, 60.0)
    progress.stop()
    assert text.getvalue().splitlines() == [
        "counting: [1] is done",
        "counting: 2 of 5 units, 3 min left; seed=1 took 60 s",
        "counting: 3 of 5 units, 2 min left; seed=2 took 60 s",
    ]


def test_a_long_unit_speaks_up_now_and_then(clock):
    text = io.StringIO()
    progress = Terminal(Console(file=text, width=200), clock)
    progress.start("multiscale", total=1, done=0)
    for second in range(100):
        clock.now = float(second)
        progress.working({}, second / 100, "trajectories")
    assert text.getvalue().splitlines() == [
        "multiscale: 31 %, 69 s left; trajectories",
        "multiscale: 62 %, 38 s left; trajectories",
        "multiscale: 93 %, 7 s left; trajectories",
    ]


def test_a_terminal_shows_a_bar_and_leaves_nothing_behind(clock):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    progress = Terminal(console, clock)
    progress.start("counting", total=4, done=2)
    clock.now = 10.0
    progress.working({"model": "lstm"}, 0.5, "loss 0.3")
    assert progress.bar is not None
    progress.bar.refresh()
    assert "2 of 4 units" in text.getvalue()
    assert "30 s left" in text.getvalue()
    assert "model=lstm loss 0.3" in text.getvalue()
    clock.now = 15.0  # no news, but time passes
    progress.bar.refresh()
    assert "25 s left" in text.getvalue()
    progress.grow(9, found=3)  # of five more, three are there already
    progress.finished({"model": "lstm"}, 20.0)
    progress.bar.refresh()
    assert "6 of 9 units" in text.getvalue()
    assert "45 s left" in text.getvalue()  # one unit took 15 s; what was found took none
    progress.stop()
    assert progress.bar is None


def test_silence_says_nothing(capsys):
    silence = Silence()
    silence.start("counting", 2, 0)
    silence.working({}, 0.5, "")
    silence.finished({}, 1.0)
    silence.grow(3)
    silence.note("x")
    silence.stop()
    assert capsys.readouterr() == ("", "")


DOCUMENT = {
    "name": "multiscale",
    "quick": False,
    "seeds": [0],
    "metrics": {"mse": {"log": {"10": {"mean": 0.0309, "sem": 0.002}}}, "ratio": 1.00061, "list": [1, 2]},
    "paper": {"mse": {"log": {"10": 0.031}}},
    "claims": [{"claim": "log is best", "holds": False, "evidence": "1.2 [sic]"}],
    "seconds": 41.2,
    "versions": {},
}


def printed(document, tmp_path):
    console = Console(file=io.StringIO(), width=200)
    console.print(summary(document, tmp_path))
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_the_summary_sets_ours_beside_the_papers(tmp_path):
    lines = [line.split() for line in printed(DOCUMENT, tmp_path).splitlines()]
    assert ["mse.log.10", "0.0309", "±", "0.002", "0.031"] in lines
    assert ["ratio", "1.001"] in lines
    assert ["list", "1,", "2"] in lines
    assert ["does", "not", "hold:", "log", "is", "best", "(1.2", "[sic])"] in lines


def test_the_summary_says_that_a_quick_run_is_quick(tmp_path):
    assert "quick" not in printed(DOCUMENT, tmp_path)
    assert "(quick: " in printed({**DOCUMENT, "quick": True}, tmp_path)


def test_of_many_numbers_those_of_the_paper_are_shown(tmp_path):
    metrics = {f"m{index}": index for index in range(ROWS + 60)}
    text = printed({**DOCUMENT, "metrics": metrics, "paper": {"m99": 98.0}}, tmp_path)
    assert "m99" in text
    assert f"… and 60 more numbers in {tmp_path / 'metrics.json'}" in text
    assert len(list(leaves(metrics))) == ROWS + 60
