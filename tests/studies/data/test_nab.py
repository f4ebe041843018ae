"""The benchmark's loader and its scoring rule."""

import json
import math

import numpy as np
import pytest

from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.data.nab import load_stream, outcome, stream_names, total_score


def benchmark(folder, rows=200):
    (folder / "nab" / "some").mkdir(parents=True)
    lines = [f"2024-01-01 {k // 60:02d}:{k % 60:02d}:00,{k * 0.5}" for k in range(rows)]
    (folder / "nab" / "some" / "a.csv").write_text("timestamp,value\n" + "\n".join(lines) + "\n")
    labels = {"some/a.csv": [["2024-01-01 01:40:00.000000", "2024-01-01 01:49:00.000000"]]}
    (folder / "nab" / "windows.json").write_text(json.dumps(labels))
    return folder


def test_windows_are_rows_with_both_ends(tmp_path):
    stream = load_stream("some/a.csv", benchmark(tmp_path))
    assert stream.windows == ((100, 109),)
    assert stream.probation == 30
    np.testing.assert_array_equal(stream.values, np.arange(200) * 0.5)
    assert stream_names(tmp_path) == ["some/a.csv"]


def test_the_score_is_the_published_rule():
    def sigmoid(y):
        return -1.0 if y > 3 else 2 / (1 + math.exp(5 * y)) - 1

    windows = [(400, 499), (700, 749)]
    found = outcome(1000, windows, [450, 480, 520, 300])
    best = max(sigmoid(-(499 - row + 1) / 100) for row in (450, 480)) / sigmoid(-1)
    expected = best - 1 + 0.11 * sigmoid((520 - 499) / 99) + 0.11 * -1
    assert found.score == pytest.approx(expected)
    assert (found.windows, found.found, found.outside) == (2, 1, 2)
    low_fn = outcome(1000, windows, [450, 480, 520, 300], "low_fn")
    assert low_fn.score == pytest.approx(expected - 1)
    low_fp = outcome(1000, windows, [450, 480, 520, 300], "low_fp")
    assert low_fp.score == pytest.approx(best - 1 + 0.22 * sigmoid((520 - 499) / 99) - 0.22)


def test_the_probation_counts_for_nothing():
    assert outcome(1000, [(500, 520)], [10, 149]).outside == 0
    assert outcome(1000, [(100, 120)], []).windows == 0


@pytest.mark.parametrize("profile", ["standard", "low_fp", "low_fn"])
def test_nothing_scores_0_and_perfection_100(profile):
    windows = [[(400, 499)], [(200, 250), (800, 810)], []]
    nothing = [outcome(1000, some, [], profile) for some in windows]
    perfect = [outcome(1000, some, [first for first, _ in some], profile) for some in windows]
    assert total_score(nothing) == pytest.approx(0)
    assert total_score(perfect) == pytest.approx(100)


def test_missing_and_foreign_files_are_said(tmp_path, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    with pytest.raises(MissingDataError, match="Numenta"):
        stream_names(tmp_path)
    benchmark(tmp_path)
    with pytest.raises(ValueError, match="has no labels"):
        load_stream("some/b.csv", tmp_path)
    (tmp_path / "nab" / "some" / "a.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ValueError, match="file of the benchmark"):
        load_stream("some/a.csv", tmp_path)


def test_a_truncated_file_is_noticed(tmp_path):
    benchmark(tmp_path, rows=90)
    with pytest.raises(ValueError, match="it is cut"):
        load_stream("some/a.csv", tmp_path)
