"""Measured circuits: read whole, cut as published."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.tasks import system_identification
from hippozoo.tasks.data_files import MissingDataError
from hippozoo.tasks.system_identification import BENCHMARKS, load_benchmark, rmse_mv


def write_record(folder, rows):
    (folder / "silverbox").mkdir()
    lines = ['"V1","V2",', *(f"{i * 0.001},{-i * 0.002}," for i in range(rows))]
    (folder / "silverbox" / "SNLS80mV.csv").write_text("\n".join(lines))


def test_a_record_is_read_as_input_and_output(tmp_path):
    write_record(tmp_path, 131_072)
    benchmark = load_benchmark("silverbox", tmp_path)
    assert_allclose(benchmark.signal[:3], [0, 0.001, 0.002])
    assert_allclose(benchmark.target, -2 * benchmark.signal)


def test_a_record_cut_short_is_refused(tmp_path):
    write_record(tmp_path, 500)
    with pytest.raises(ValueError, match=r"holds 500 rows.*131,072"):
        load_benchmark("silverbox", tmp_path)


def test_an_unknown_benchmark_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="'pendulum'"):
        load_benchmark("pendulum")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_no_test_row_is_a_training_row(name):
    _, length, known = system_identification._KNOWN[name]
    train = set(range(known["train"].start, known["train"].stop))
    for rows in known["tests"].values():
        assert not train & set(range(rows.start, rows.stop))
        assert rows.stop <= length


def test_errors_are_millivolts_after_the_known_samples():
    simulated, measured = np.zeros(100), np.zeros(100)
    measured[:50], measured[50:] = 7.0, 0.003
    assert rmse_mv(simulated, measured) == pytest.approx(3.0)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_real_record_has_the_published_shape(name):
    try:
        benchmark = load_benchmark(name)
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[0])
    assert benchmark.signal.shape == benchmark.target.shape == (system_identification._KNOWN[name][1],)
    assert 0.01 < benchmark.target[benchmark.train].std() < 1
