"""The toy experiments, put beside the real ones for a test and for the processes it starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hippozoo_studies.own

TOYS = Path(__file__).parent / "toys"

# A process started from a background job inherits "ignore Ctrl-C"; a terminal's does not.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from hippozoo.apps.cli import main; main()"
)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HIPPOZOO_EXPERIMENTS", str(TOYS))
    monkeypatch.setattr(hippozoo_studies.own, "__path__", [str(TOYS)])
    before = set(sys.modules)
    yield TOYS
    for name in set(sys.modules) - before:
        if name.startswith("hippozoo_studies.own."):
            del sys.modules[name]
            vars(hippozoo_studies.own).pop(name.rpartition(".")[2], None)


def start_hippozoo(*arguments: str, own_group: bool = False) -> subprocess.Popen[str]:
    """The command in a process of its own, with warnings as errors; `own_group` as a terminal starts it."""
    command = [sys.executable, "-W", "error", "-c", START, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=own_group
    )
