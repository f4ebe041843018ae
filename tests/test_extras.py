"""What is not installed is named in one sentence, with the extra that brings it."""

import json
import subprocess
import sys

import pytest

TABLE = "from pathlib import Path; Path('t.csv').write_text('load\\n' + '\\n'.join(map(str, range(90)))); "
MAIN = "from hippozoo.apps.cli import main; "
WATCH = MAIN + TABLE + "\ntry: main(['watch', 't.csv', '--out', 't.db', '--column', 'load'])\nexcept SystemExit: pass\n"

ECG = (
    "from pathlib import Path; from hippozoo.tasks.ecg import load_ecg; Path('ecg').mkdir(); "
    "[Path(f'ecg/100.{end}').write_text('x') for end in ('hea', 'dat', 'atr')]; "
)

# What is asked for, the package that is missing, and the extra that the sentence names.
FEATURES = [
    ("import hippozoo; hippozoo.MemoryLayer", "torch", "torch"),
    ("import hippozoo; hippozoo.VolterraLayer", "torch", "torch"),
    ("import hippozoo; hippozoo.MultiscaleLayer", "torch", "torch"),
    ("import hippozoo; hippozoo.SalienceLayer", "torch", "torch"),
    ("import hippozoo; hippozoo.AssociativeMemory", "torch", "torch"),
    ("import hippozoo; hippozoo.SequenceModel", "torch", "torch"),
    ("from hippozoo.memory import LagLayer", "torch", "torch"),
    ("import hippozoo.layers", "torch", "torch"),
    ("import hippozoo.baselines", "torch", "torch"),
    ("import hippozoo.models", "torch", "torch"),
    ("import hippozoo.training", "torch", "torch"),
    ("import hippozoo.zoo.salience", "torch", "torch"),
    ("import hippozoo.zoo.associative", "torch", "torch"),
    ("import hippozoo.plotting", "matplotlib", "plot"),
    ("import hippozoo.memory.plots", "matplotlib", "plot"),
    ("import hippozoo.zoo.volterra.plots", "matplotlib", "plot"),
    ("import hippozoo.zoo.multiscale.plots", "matplotlib", "plot"),
    ("from hippozoo.suggestion.plots import plot_suggestion", "matplotlib", "plot"),
    (MAIN + "main(['tour'])", "torch", "torch,plot,pages"),
    (MAIN + "main(['tour'])", "matplotlib", "torch,plot,pages"),
    (MAIN + "main(['tour'])", "bokeh", "torch,plot,pages"),
    (MAIN + "main(['explore'])", "panel", "explore"),
    (MAIN + "main(['explore'])", "torch", "explore"),
    (MAIN + TABLE + "main(['forecast', 't.csv', '--open'])", "bokeh", "pages"),
    (WATCH + "main(['watch', '--show', 't.db'])", "bokeh", "pages"),
    (MAIN + "main(['serve', 't.db'])", "starlette", "serve"),
    (MAIN + "main(['serve', 't.db'])", "uvicorn", "serve"),
    (MAIN + "main(['watch', '--mqtt', 'mqtt://127.0.0.1:9/t', '--out', 't.db'])", "paho", "mqtt"),
    (MAIN + TABLE + "main(['watch', 't.csv', '--mqtt-alarms', 'mqtt://127.0.0.1:9/t', '--out', 'm.db'])",
     "paho", "mqtt"),
    ("from hippozoo.apps.pages import new_figure; new_figure('lag')", "bokeh", "pages"),
    ("from hippozoo.tables import read_table; open('t.parquet', 'w').write('x'); read_table('t.parquet')",
     "pyarrow", "data"),
    ("import hippozoo; hippozoo.forecast([float(n % 7) for n in range(60)], 3).frame", "narwhals", "frames"),
    ("import hippozoo, pandas as pd; hippozoo.forecast(pd.Series(range(60)), 3)", "narwhals", "frames"),
    (ECG + "load_ecg('100', data='.')", "wfdb", "data"),
    ("from hippozoo.tasks.digits import load_digits; load_digits()", "sklearn", "sklearn"),
    ("from hippozoo.scale import connect; connect('tcp://127.0.0.1:9')", "distributed", "dask"),
    ("from hippozoo import LegT, Memory; from hippozoo.scale import states; states(Memory(LegT(4, 9.0)), [])",
     "dask", "dask"),
    ("from hippozoo.estimators import RiverHippoForecaster", "river", "river"),
    ("from hippozoo.estimators import RiverHippoDetector", "river", "river"),
    ("from hippozoo.estimators import RiverVolterraRegressor", "river", "river"),
    ("from hippozoo.estimators import MemoryFeatures", "sklearn", "sklearn"),
    ("from hippozoo.estimators import SklearnVolterraRegressor", "sklearn", "sklearn"),
    ("from hippozoo.estimators import HippoForecaster", "sktime", "sktime"),
    ("from hippozoo.estimators import HippoForecaster", "pandas", "sktime"),
]  # fmt: skip


BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""

# Each feature in turn, in one process: what it raised, or what the command said last.
TRY_ALL = """
import contextlib, io, json
told = []
for code in {codes!r}:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            exec(code, {{}})
        told.append("no error")
    except SystemExit:
        told.append(errors.getvalue().strip().splitlines()[-1])
    except Exception as error:
        told.append(str(error))
print(json.dumps(told))
"""


def run_without(packages, code, folder):
    """Run `code` in a process in which `packages` cannot be imported."""
    blocked = BLOCK.format(packages=packages)
    return subprocess.run(
        [sys.executable, "-c", blocked + code], capture_output=True, text=True, cwd=folder, timeout=300
    )


@pytest.mark.parametrize("package", sorted({package for _, package, _ in FEATURES}))
def test_a_missing_package_is_named_with_its_extra(package, tmp_path):
    asked = [(code, extra) for code, needed, extra in FEATURES if needed == package]
    found = run_without([package], TRY_ALL.format(codes=[code for code, _ in asked]), tmp_path)
    assert found.returncode == 0, found.stderr
    for (code, extra), said in zip(asked, json.loads(found.stdout.splitlines()[-1]), strict=True):
        assert f"pip install 'hippozoo[{extra}]'" in said, f"{code}: {said}"
        assert "No module named" not in said


EXTRAS = [
    "torch",
    "matplotlib",
    "bokeh",
    "panel",
    "starlette",
    "uvicorn",
    "paho",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "wfdb",
    "river",
    "sklearn",
    "sktime",
    "dask",
]

CORE = """
import hippozoo
import numpy as np
from hippozoo import Detector, ForecastStream, LegT, Memory, MultiscaleMemory, VolterraModel, forecaster_for, suggest
from hippozoo.zoo.volterra import fit_system, PolynomialReadout, RidgeRLS
memory = Memory(LegT(order=8, timescale=50.0))
signal = np.sin(np.arange(400) / 7)
assert memory.verify(signal) < 1e-10
stream = ForecastStream(forecaster_for(12.0))
for value in signal:
    stream.push(float(value))
assert np.isfinite(stream.forecast.samples()).all()
assert hippozoo.forecast(signal, 12).verdict["value"].kind
"""


def test_memory_learners_and_forecasts_need_no_extra(tmp_path):
    found = run_without(EXTRAS, CORE, tmp_path)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("dated", [True, False])
def test_watch_needs_no_extra(tmp_path, dated):
    rows = [f"2024-01-{1 + h // 24:02d} {h % 24:02d}:00,{(h * 7) % 24}" if dated else str((h * 7) % 24)
            for h in range(300)]  # fmt: skip
    (tmp_path / "t.csv").write_text(("when,load\n" if dated else "load\n") + "\n".join(rows) + "\n")
    found = run_without(EXTRAS, MAIN + "main(['watch', 't.csv', '--out', 't.db'])", tmp_path)
    assert found.returncode == 0, found.stderr


def test_without_pages_a_forecast_is_a_table_and_text_that_says_what_a_page_needs(tmp_path):
    rows = [f"2024-01-{1 + h // 24:02d} {h % 24:02d}:00,{h % 24}" for h in range(480)]
    (tmp_path / "t.csv").write_text("when,load\n" + "\n".join(rows) + "\n")
    found = run_without(EXTRAS, MAIN + "main(['forecast', 't.csv', '--horizon', '24'])", tmp_path)
    assert found.returncode == 0, found.stderr
    assert "load:" in found.stdout
    assert (tmp_path / "forecast" / "forecast.csv").read_text().count("\n") == 25
    assert not (tmp_path / "forecast" / "index.html").exists()
    assert "pip install 'hippozoo[pages]'" in found.stderr


def test_the_tour_needs_no_studies(tmp_path):
    code = (
        "from hippozoo.apps.tour import write_tour\nfrom hippozoo.apps.tour.section import discover_sections\n"
        "write_tour('tour', sections=discover_sections()[:1])"
    )
    found = run_without(["hippozoo_studies"], code, tmp_path)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "tour" / "index.html").exists()


def test_without_the_studies_reproduce_says_how_to_get_them(tmp_path):
    # Entry points are metadata: a package that cannot be imported may still be named by one.
    hidden = "import importlib.metadata as m; m.entry_points = lambda **given: m.EntryPoints()\n"
    found = run_without(["hippozoo_studies"], hidden + MAIN + "main(['reproduce', 'volterra'])", tmp_path)
    assert found.returncode == 2, found.stderr
    assert "pip install ./studies" in found.stderr
