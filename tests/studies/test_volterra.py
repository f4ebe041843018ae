"""The Volterra experiments run, and their small versions already show the direction."""

import json

import numpy as np
import pytest

from hippozoo.tasks.data_files import MissingDataError
from hippozoo.tasks.system_identification import BENCHMARKS, load_benchmark
from hippozoo_studies import reproduce
from hippozoo_studies.paper.volterra import QUICK, _points


def test_the_quick_run_bears_out_what_it_can(tmp_path):
    document = reproduce("volterra", quick=True, out=tmp_path)
    errors = document["metrics"]["cumulative_error"]
    at_the_end = {model: errors[model]["10000"]["mean"] for model in ("linear", "quadratic", "mlp", "nlms", "low_rank")}
    order = sorted(at_the_end, key=at_the_end.get)
    assert order == ["low_rank", "nlms", "quadratic", "mlp", "linear"]
    assert document["metrics"]["kernel_relative_error"]["mean"] < 0.1
    assert document["metrics"]["printed_kernel_relative_error"]["mean"] > 0.2
    folder = tmp_path / "volterra"
    assert {"cumulative-error.png", "kernels.png", "metrics.json"} <= {file.name for file in folder.iterdir()}
    assert json.loads((folder / "metrics.json").read_text())["seeds"] == list(QUICK.seeds)


def test_powers_of_ten_are_among_the_points():
    points = _points(20_000)
    assert {1, 10, 100, 1000, 10_000, 20_000} <= set(points.tolist())
    assert (np.diff(points) > 0).all()


def test_the_quick_identification_finds_the_right_structures(tmp_path):
    try:
        for name in BENCHMARKS:
            load_benchmark(name)
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[0])
    document = reproduce("system-identification", quick=True, out=tmp_path)
    errors = document["metrics"]["rmse_mv"]
    assert errors["wiener-hammerstein"]["test"]["cascade"] < 0.3 * errors["wiener-hammerstein"]["test"]["linear"]
    assert errors["silverbox"]["multisine"]["loop"] < 0.5
    assert (tmp_path / "system-identification" / "silverbox.png").exists()
