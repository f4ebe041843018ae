"""The short form of ``make trust``: a few kills and faults of every job."""

import os

import pytest

from trust.crashes import faults, kills
from trust.jobs import JOBS, Job

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the harness forks"),
    # Python warns of forks beside threads; those of torch and of the test runner do nothing here.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.mark.parametrize("name", [name for name in JOBS if name not in ("reproduce --jobs 2", "watch")])
def test_a_killed_job_comes_to_the_same_end_and_leaves_nothing_over(name):
    found = kills(JOBS[name], times=2)
    assert found["mishaps"] == []
    assert found["kills"] == sum(found["kills_in_each_tenth"]) == 2


@pytest.mark.parametrize("name", ["save", "reproduce --jobs 1"])
def test_a_failing_disk_is_said_and_leaves_the_job_as_it_was(name):
    found = faults(JOBS[name], most=1)
    assert found["mishaps"] == []
    assert found["said"] >= 6


def test_the_harness_sees_what_goes_wrong(tmp_path):
    def spoil(folder):
        with (folder / "log").open("a") as file:  # goes on, but from wherever it was
            for _ in range(30):
                file.write("line\n")
                file.flush()
                os.fsync(file.fileno())

    job = Job(spoil, lambda folder: (folder / "log").read_text(), frozenset({"log"}))
    half = kills(job, times=4)
    assert any("the end is another one" in one for one in half["mishaps"])
    assert kills(job, times=5, known=half)["kills"] == 5  # goes on where it was
    untidy = Job(lambda folder: (folder / "x").write_text(""), lambda folder: None, frozenset())
    assert "left over: ['x']" in kills(untidy, times=1)["mishaps"][0]
