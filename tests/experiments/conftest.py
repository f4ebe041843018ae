from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hippozoo.experiments

TOYS = Path(__file__).parent / "toys"


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The toy experiments beside the real ones, here and in processes started from here."""
    monkeypatch.setenv("HIPPOZOO_EXPERIMENTS", str(TOYS))
    monkeypatch.setattr(hippozoo.experiments, "__path__", [*hippozoo.experiments.__path__, str(TOYS)])
    yield TOYS
    for name in ("counting", "one_go"):
        sys.modules.pop(f"hippozoo.experiments.{name}", None)
