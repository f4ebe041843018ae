"""docs/add-an-expert.md, word for word: the file and the line in a copy of the package, and the expert takes weight."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hippozoo

PAGE = Path(__file__).parents[2] / "docs" / "add-an-expert.md"
RUN = """
import numpy as np
from hippozoo.ensemble import forecaster_for, history_weights

rng = np.random.default_rng(0)
series = np.cumsum(0.1 * rng.normal(size=600)) + 30.0 * (rng.random(600) < 0.2)
forecaster = forecaster_for(6)
state = forecaster.learn(forecaster.initial_state(), series)
by = forecaster.forecast(state).by[0]
weights = history_weights(forecaster.mixer, state.mixture, 0, 40)
print(by["median of three"], by["last value"], sum(by.values()), weights.shape)
"""


def _python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_an_expert_that_the_page_adds_takes_weight(tmp_path: Path) -> None:
    file, table, *_ = _python_blocks()
    package = Path(hippozoo.__file__).parent
    copy = tmp_path / "hippozoo"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    experts = copy / "ensemble" / "experts"
    (experts / "median_of_three.py").write_text(file)
    text = (experts / "__init__.py").read_text()
    text = re.sub(r"TABLE: tuple.*?\n\)\n", lambda _: table, text, count=1, flags=re.DOTALL)
    text = text.replace("    mean,\n    naive,", "    mean,\n    median_of_three,\n    naive,", 1)
    (experts / "__init__.py").write_text(text)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    median, last, total = map(float, ran.stdout.split()[:3])
    assert abs(total - 1) < 1e-9
    assert median > last  # on spikes the median beats the last value


def test_the_page_is_short_enough_to_follow() -> None:
    assert len(PAGE.read_text().split()) <= 900
