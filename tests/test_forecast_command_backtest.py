"""Where the command forecasts on the way: as often at the end of a table as at its beginning."""

import numpy as np
import pytest

from hippozoo.forecast_command import backtest, forecast_table


@pytest.mark.parametrize(("rows", "times_thinned"), [(45, 0), (75, 1), (140, 2), (260, 3)])
def test_the_origins_of_a_back_test_are_evenly_spaced(rows, times_thinned, tmp_path, monkeypatch, rng):
    monkeypatch.setattr(backtest, "_ORIGINS", 8)
    path, horizon = tmp_path / "table.csv", 4
    path.write_text("value\n" + "\n".join(f"{value:.3f}" for value in rng.normal(size=rows)))
    test = forecast_table(path, horizon=horizon, season=1).backtest
    steps = [one["step"] for one in test.done + test.waiting]
    apart = horizon * 2**times_thinned
    assert test.stride == apart
    assert set(np.diff(steps)) == {apart}
    assert len(steps) <= 8
