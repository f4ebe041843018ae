"""The long-term forecasting protocol: splits, scaling, windows, and the last batch that the literature drops."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.data.long_term import PUBLISHED, load_long_term, split_series


def test_columns_are_standardised_by_the_training_rows_only(rng):
    data = split_series(rng.normal(size=(100, 3)) * 5 + 7, (60, 80, 100))
    assert_allclose(data.values[:60].mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(data.values[:60].std(axis=0), 1.0)
    assert abs(data.values[60:].mean()) > 1e-3


def test_every_window_lies_in_its_split(rng):
    data = split_series(rng.normal(size=(100, 1)), (60, 80, 100))
    for split, first, last in (("train", 10, 60), ("validation", 60, 80), ("test", 80, 100)):
        origins = data.origins(split, horizon=4, lookback=10)
        assert origins[0] + 1 == first
        assert origins[-1] + 4 == last - 1
        assert len(origins) == last - first - 4 + 1
    assert_allclose(data.futures(np.array([83]), 3)[0, 0], data.values[84:87, 0])


def test_dropping_the_last_batch_keeps_whole_batches_of_32(rng):
    data = split_series(rng.normal(size=(200, 1)), (60, 100, 200))
    assert len(data.origins("test", 5)) == 96
    assert len(data.origins("test", 6)) == 95
    assert len(data.origins("test", 6, drop_last=True)) == 64


@pytest.mark.parametrize(("weeks", "ends"), [(966, (676, 773, 966)), (970, (679, 776, 970))])
def test_illness_is_split_by_shares(weeks, ends, tmp_path):
    rows = "\n".join(f"2002-01-{i},{i},{i * 2}" for i in range(weeks))
    (tmp_path / "national_illness.csv").write_text("date,a,OT\n" + rows)
    data = load_long_term("illness", tmp_path)
    assert data.ends == ends
    assert data.values.shape == (weeks, 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ETTh1", "2016-07-01,1,2\n" * 100, r"ETTh1\.csv holds 100 rows .* expected at least 14,400 .* original file"),
        ("ETTm1", "2016-07-01,1,2\n" * 15_000, r"ETTm1\.csv holds 15000 rows .* expected at least 57,600"),
        ("illness", "2002-01-01,1,2\n" * 965, r"national_illness\.csv holds 965 rows .* at least 966"),
        ("illness", "2002-01-01,1,2\n" * 980 + "2002-01-01,1,\n", r"csv, row 981, column 'OT': '' is not a fin"),
        ("illness", "2002-01-01,1,2\n" * 980 + "2002-01-01,1\n", r"csv, row 981 has 2 fields, the header has 3"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_named_with_its_row(tmp_path, name, text, message):
    file = {"illness": "national_illness.csv"}.get(name, f"{name}.csv")
    (tmp_path / file).write_text("date,a,OT\n" + text)
    with pytest.raises(ValueError, match=message):
        load_long_term(name, tmp_path)


@pytest.mark.skipif("HIPPOZOO_DATA" not in os.environ, reason="the published data sets are the user's own files")
@pytest.mark.parametrize(("name", "horizon"), [("ETTh1", 96), ("ETTm1", 336), ("illness", 24)])
def test_repeating_the_last_value_gives_the_published_error(name, horizon):
    try:
        data = load_long_term(name)
    except MissingDataError as error:
        pytest.skip(str(error))
    origins = data.origins("test", horizon, drop_last=True)
    errors = data.futures(origins, horizon) - data.values[origins][..., None]
    assert_allclose(np.square(errors).mean(), PUBLISHED[name]["repeat-last"][horizon], atol=6e-4)
