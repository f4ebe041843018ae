"""Compiled loops run with a good cache, a damaged one and none; what goes wrong is said once."""

import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import numba
import pytest

import hippozoo
from hippozoo._internal import compiled as _compiled

SOURCE = """
from typing import NamedTuple
from hippozoo._internal.compiled import compiled

@compiled()
def add(a, b):
    return a + b

class Pair(NamedTuple):
    left: float
    right: float

@compiled(tuples={"pair": Pair})
def dot(pair, weights):
    return pair.left * weights[0] + pair.right * weights[1]
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Loads the same small module as if in a new process, with a cache of its own."""
    (tmp_path / "loops.py").write_text(SOURCE)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def load(name="add"):
        monkeypatch.setattr(_compiled, "_told", False)
        spec = util.spec_from_file_location("loops", tmp_path / "loops.py")
        assert spec is not None
        assert spec.loader is not None
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)

    return load


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc"))


def hits(dispatcher) -> int:
    return sum(dispatcher.stats.cache_hits.values())


def test_machine_code_is_kept_for_the_next_start(start, tmp_path):
    assert start()(2, 3) == 5
    assert len(kept(tmp_path / "cache")) == 2
    again = start()
    assert again(2, 3) == 5
    assert hits(again) == 1


def test_named_tuples_go_in_field_by_field_and_their_loop_is_kept(start, tmp_path):
    dot = start("dot")
    pair = dot.__globals__["pair_"](2.0, 3.0)
    assert dot(pair, (10.0, 1.0)) == 23.0
    assert len(kept(tmp_path / "cache")) == 2
    again = start("dot")
    assert again(pair, (10.0, 1.0)) == 23.0
    assert hits(again.__globals__["outside"]) == 1


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "one bit", "foreign"])
def test_a_damaged_cache_is_said_once_and_made_again(start, tmp_path, ending, damage):
    start()(2, 3)
    for path in kept(tmp_path / "cache"):
        if path.suffix == ending:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 16
            spoilt = {"empty": b"", "truncated": bytes(content[:-9]), "one bit": bytes(content), "foreign": b"x" * 99}
            path.write_bytes(spoilt[damage])
    add = start()
    with pytest.warns(RuntimeWarning, match="held is compiled") as told:
        found = [add(2, 3), add(2.5, 3.0)]
    assert found == [5, 5.5]
    assert len(told) == 1
    again = start()
    assert again(2, 3) == 5
    assert hits(again) == 1, "the cache was not made again"


def test_where_nothing_can_be_kept_it_is_said_once(start, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the folder should be")
    (tmp_path / "__pycache__").write_text("here too")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache" / "x"))
    with pytest.warns(RuntimeWarning, match=r"NUMBA_CACHE_DIR") as told:
        assert start()(2, 3) == 5
    assert len(told) == 1


def test_a_cache_that_fails_later_costs_nothing_but_time(start, tmp_path):
    add = start()
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("gone")
    with pytest.warns(RuntimeWarning, match=r"compiled code"):
        assert add(2, 3) == 5


def test_a_change_of_any_loop_makes_all_of_them_new(start, monkeypatch):
    start()(2, 3)
    monkeypatch.setattr(_compiled, "_sources", lambda: "another version")
    changed = start()
    assert changed(2, 3) == 5
    assert hits(changed) == 0


FILES = {
    "__init__.py": "",
    "constants.py": "RATE = 0.5\n",
    "experts/trend.py": """
from hippozoo._internal.compiled import compiled
from hippozoo.constants import RATE

@compiled()
def damped(x):
    return RATE * x
""",
    "table.py": """
from hippozoo._internal.compiled import compiled
from hippozoo.experts.trend import damped

@compiled()
def forecast(x):
    return 1.0 + damped(x)
""",
    "plain.py": "from hippozoo.table import forecast\n",
}


@pytest.mark.parametrize(
    ("edited", "before", "after", "expected"),
    [
        ("experts/trend.py", "RATE * x", "RATE * x + 10.0", 14.0),
        ("constants.py", "0.5", "2.0", 13.0),
        ("plain.py", "forecast", "forecast as ahead", 4.0),
    ],
)
def test_the_caller_of_an_edited_expert_is_compiled_anew(tmp_path, edited, before, after, expected):
    """A copy of the package in small: `forecast` calls `damped` of another file, which reads a constant of a third."""
    package, own = tmp_path / "hippozoo", Path(_compiled.__file__)
    for name, text in FILES.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    (package / own.parent.name).mkdir()
    (package / own.parent.name / "__init__.py").write_text("")
    shutil.copy(own, package / own.parent.name / own.name)
    program = (
        "import hippozoo.plain; from hippozoo.table import forecast; "
        "print(forecast(6.0), sum(forecast.stats.cache_hits.values()))"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> tuple[float, int]:
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        value, hits = done.stdout.split()
        return float(value), int(hits)

    assert run() == (4.0, 0)
    assert run() == (4.0, 1)
    changed = (package / edited).read_text().replace(before, after)
    (package / edited).write_text(changed)
    # A file without a compiled function that none of these reads from leaves the cache as it is.
    assert run() == (expected, int(edited == "plain.py"))


def test_every_file_that_uses_the_decorator_is_in_the_fingerprint(tmp_path):
    package = Path(hippozoo.__file__).parent
    copied = tmp_path / "hippozoo"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__", "*.json", "*.js", "*.npz"))
    before = _compiled._fingerprint(copied)
    users = [path for path in copied.rglob("*.py") if "\n@compiled(" in path.read_text()]
    assert len(users) > 5
    for path in users:
        text = path.read_text()
        path.write_text(text + "# edited\n")
        assert _compiled._fingerprint(copied) != before, path
        path.write_text(text)
    assert _compiled._fingerprint(copied) == before


def test_the_package_works_where_nothing_can_be_written(tmp_path):
    shutil.copytree(
        Path(hippozoo.__file__).parent, tmp_path / "site" / "hippozoo", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in (tmp_path / "site").rglob("_kernels.py"):
        (folder.parent / "__pycache__").write_text("no folder, so that nothing can be written here, not even by root")
    nowhere = str(tmp_path / "site" / "hippozoo" / "__init__.py" / "home")
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "NUMBA_CACHE_DIR": nowhere,
    }
    program = (
        "import numpy as np; from hippozoo.memory import Memory; from hippozoo.systems import LegT; "
        "memory = Memory(LegT(2, timescale=1.0), dt=50.0); print(memory.scan(np.ones(3))[-1].round(3) + 0.0)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1. 0.]\n"
    assert done.stderr.count("RuntimeWarning") == 1
    assert "no folder can be written to keep compiled code" in done.stderr
