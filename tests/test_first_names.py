"""The names that people try first, `from hippozoo import …`."""

import subprocess
import sys

import pytest

import hippozoo

NEEDS_NO_TORCH = ["LegT", "LegS", "LagT", "FouT", "Memory", "Stream", "Forecaster", "MultiscaleMemory", "VolterraModel"]
NEEDS_NO_TORCH += ["forecaster_for", "ForecastStream", "Detector"]


def loaded_by(statement: str) -> set[str]:
    """Which modules a new interpreter holds after the statement."""
    printed = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(printed.stdout.split())


@pytest.mark.parametrize("name", [name for name in hippozoo.__all__ if not name.startswith("__")])
def test_a_first_name_is_the_one_of_its_package(name):
    thing = getattr(hippozoo, name)
    home = sys.modules[thing.__module__.rpartition(".")[0]]
    assert getattr(home, name) is thing
    assert name in dir(hippozoo)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import hippozoo") & {"torch", "matplotlib", "numba", "scipy", "numpy"}


def test_names_without_torch_load_no_torch():
    assert not loaded_by(f"from hippozoo import {', '.join(NEEDS_NO_TORCH)}") & {"torch", "matplotlib"}


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(ImportError, match="'LegX' from 'hippozoo'"):
        from hippozoo import LegX  # noqa: F401
