"""The M4 files and their scores, on small files made here."""

import numpy as np
import pytest

from hippozoo_studies.data.m4 import load_m4, mase, msis, naive2


def written(folder, test_length=13):
    (folder / "m4").mkdir()
    train, test = np.arange(1.0, 31.0), np.arange(31.0, 31.0 + test_length)
    for part, values in (("train", train), ("test", test)):
        line = ",".join(["W1", *(f"{one:g}" for one in values)])
        (folder / "m4" / f"weekly-{part}.csv").write_text(f"series,values oldest first\n{line}\n")
    return folder


def test_a_series_and_what_came_after_it_are_read(tmp_path):
    (series,) = load_m4("weekly", written(tmp_path))
    assert series.name == "W1"
    assert series.train[-1] + 1 == series.test[0]
    assert mase(series.test, np.full(13, 30.0), series.train, 1) == 7.0


def test_a_test_file_of_another_length_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'W1'.*has 12 values, expected 13"):
        load_m4("weekly", written(tmp_path, 12))


def test_naive2_repeats_a_season_and_scales_it_with_the_level():
    day = np.array([1.0, 2.0, 4.0, 2.0])
    series = np.concatenate([np.tile(day, 10), 2 * day])
    ahead = naive2(series, 4, season=4)
    np.testing.assert_allclose(ahead / ahead[0], day / day[0], rtol=0.05)


def test_an_interval_pays_for_its_width_and_forty_times_for_what_it_misses():
    train, truth = np.arange(5.0), np.array([2.0, 9.0])
    assert msis(truth, np.zeros(2), np.full(2, 8.0), train, 1) == (8 + 8 + 40) / 2
