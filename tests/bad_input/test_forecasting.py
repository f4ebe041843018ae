"""Forecasting refuses what it cannot use, says why, and nothing changes."""

import numpy as np
import pytest

from hippozoo.apps.cli import main
from hippozoo.ensemble import find_seasons, forecaster_for
from hippozoo.systems import LegT
from hippozoo.tables import TableError, read_table
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Candidate, Forecaster, explain, future_metric, lead_basis
from hippozoo_studies.data.long_term import load_long_term, split_series


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"history": 3}, "history=3: pass a system of hippozoo.systems"),
        ({"history": ()}, r"history=\(\): there is no past"),
        ({"horizon": 0}, "horizon=0: how far to forecast"),
        ({"horizon": "long"}, "horizon='long'"),
        ({"dt": -1.0}, "dt=-1.0: time only runs forwards"),
        ({"rank": 0}, "rank=0: a forecast reads at least one number"),
        ({"rank": ()}, r"rank=\(\): pass a whole number"),
        ({"ridge": ()}, r"ridge=\(\): pass a number"),
        ({"ridge": -1e-3}, "ridge=-0.001: a ridge holds the map back"),
        ({"ridge": float("nan")}, "ridge=nan"),
        ({"future_order": 0}, "future_order=0"),
        ({"anchor": "first"}, "anchor='first' is unknown"),
        ({"together": "both"}, "together='both' is unknown"),
        ({"delay": "none"}, "delay='none' is unknown"),
        ({"forgetting": 0.0}, "forgetting=0.0: a time"),
        ({"warmup": -1.0}, "warmup=-1.0"),
        ({"future_metric": np.eye(3)}, r"future_metric has shape \(3, 3\), expected \(16, 16\)"),
        ({"future_metric": -np.eye(16)}, "future_metric has the eigenvalue -1"),
        ({"future_metric": np.zeros((16, 16))}, "future_metric has the eigenvalue 0"),
        ({"future_metric": np.triu(np.ones((16, 16)))}, "future_metric is not symmetric"),
        ({"anchor": ["last"]}, r"anchor=\['last'\] is unknown"),
    ],
)
def test_a_forecaster_that_cannot_be_is_refused(arguments, message):
    settings = {"history": LegT(8, 20.0), "horizon": 2.0} | arguments
    with pytest.raises((ValueError, TypeError), match=message):
        Forecaster(**settings)


@pytest.mark.parametrize("settings", [{"horizon": 3.0}, {"history": LegT(6, 20.0)}, {"ridge": (0.0, 1.0)}])
def test_states_of_different_forecasters_do_not_merge(settings):
    forecaster = Forecaster(LegT(8, 20.0), horizon=2.0)
    other = Forecaster(**{"history": LegT(8, 20.0), "horizon": 2.0} | settings)
    states = [one.learn(one.initial_state(), np.sin(np.arange(60.0))) for one in (forecaster, other)]
    for two in (states[1], other.initial_state()):
        with pytest.raises(ValueError, match="different forecasters"):
            forecaster.merge(states[0], two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signal": np.ones((5, 2))}, r"signal has shape \(5, 2\), but this state was begun for \(time,\)"),
        ({"signal": np.array([1.0, np.nan])}, r"signal\[1\] is nan.*pass mask="),
        ({"signal": np.ones(3), "dt": np.ones(2)}, r"dt has shape \(2,\), but the signal has 3 samples"),
        ({"signal": np.ones(3), "dt": -1.0}, "time only runs forwards"),
        ({"signal": np.ones(3), "mask": np.ones(2, bool)}, r"mask has shape \(2,\)"),
        ({"signal": np.array(["a"])}, "dtype"),
    ],
)
def test_bad_samples_are_refused_and_change_nothing(arguments, message):
    forecaster = Forecaster(LegT(8, 20.0), horizon=2.0)
    state = forecaster.learn(forecaster.initial_state(), np.arange(50.0))
    before = state.learnt[0][0].yx.copy()
    with pytest.raises((ValueError, TypeError), match=message):
        forecaster.learn(state, **arguments)
    assert (state.learnt[0][0].yx == before).all()


def test_questions_outside_what_was_learnt_are_refused():
    forecaster = Forecaster(LegT(8, 20.0), horizon=2.0)
    state = forecaster.learn(forecaster.initial_state(), np.arange(50.0))
    forecast = forecaster.forecast(state)
    with pytest.raises(ValueError, match=r"lead=2.5 is outside"):
        forecast.mean(2.5)
    with pytest.raises(ValueError, match=r"lead=-1.0 is outside"):
        lead_basis(forecaster.future, -1.0)
    with pytest.raises(ValueError, match="count=3"):
        forecast.samples(3)
    with pytest.raises(ValueError, match=r"coverage=1.5"):
        forecast.band(1.0, coverage=1.5)
    with pytest.raises(ValueError, match="probability=0"):
        forecast.quantile(1.0, 0.0)
    with pytest.raises(ValueError, match="among the candidates"):
        forecaster.forecast(state, Candidate(5))
    with pytest.raises(ValueError, match="channel=1"):
        explain(forecaster, state, channel=1)
    with pytest.raises(ValueError, match="do not merge"):
        forecaster.merge(state, forecaster.initial_state(2))
    with pytest.raises(ValueError, match="season=-1"):
        forecaster_for(4.0, season=-1)


def test_a_joint_map_has_no_past_per_channel():
    forecaster = Forecaster(LegT(8, 20.0), horizon=2.0, together="joint")
    state = forecaster.learn(forecaster.initial_state(2), np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(ValueError, match="reads all channels"):
        explain(forecaster, state)


def test_the_endpoint_knows_equal_steps_only():
    forecaster = Forecaster(LegT(8, 20.0), horizon=2.0, delay="endpoint")
    with pytest.raises(ValueError, match="knows equal steps"):
        forecaster.learn(forecaster.initial_state(), np.ones(3), dt=np.array([1.0, 2.0, 1.0]))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda lead: -lead, "must be >= 0"),
        (lambda lead: 0 * lead, "> 0 somewhere"),
        (lambda lead: lead[:3], "return one number each"),
    ],
)
def test_a_weight_that_is_none_is_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        future_metric(LegT(4, 2.0), weight)


def test_a_process_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="2 lengthscales and 1 weights"):
        GaussianMixture((1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="lengthscales must be > 0"):
        GaussianMixture((-1.0,), (1.0,))


def test_long_term_data_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    with pytest.raises(ValueError, match="data set 'ETTh9'"):
        load_long_term("ETTh9")
    with pytest.raises(FileNotFoundError, match=r"ETTh1\.csv"):
        load_long_term("ETTh1", tmp_path)
    with pytest.raises(ValueError, match="do not cut 10"):
        split_series(np.ones((10, 1)), (5, 8, 12))
    with pytest.raises(ValueError, match="horizon=5 does"):
        split_series(np.ones((10, 1)), (5, 8, 10)).origins("test", 5)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("a,b\n", {}, "has a header and no rows"),
        ("a\n1\n2\nx\n", {"columns": ["a"]}, "row 3, column 'a': 'x' is not a number"),
        ("a\n1\ninf\n", {"columns": ["a"]}, "row 2, column 'a': 'inf' is beyond"),
        ("a\n1\n", {"columns": ["b"]}, "has no column 'b'; it has 'a'"),
        ("a\nx\n", {}, "has no column of numbers"),
        ("t,a\n1,1\n2,1\n2,1\n", {"time": "t"}, "row 3, column 't': '2' is the same time as the row before"),
        ("t,a\n1,1\n3,1\n2,1\n", {"time": "t"}, "row 3, column 't': '2' is an earlier time than"),
        ("t,a\n2024-01-01,1\nsoon,1\n", {"time": "t"}, "row 2, column 't': 'soon' is not a date"),
        ("t,a\n1,1\n,1\n", {"time": "t"}, "row 2, column 't': there is no time"),
    ],
)
@pytest.mark.parametrize("chunk_rows", [2, 1000])
def test_a_table_that_cannot_be_used_is_refused_by_row(tmp_path, text, options, message, chunk_rows):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        list(read_table(path, chunk_rows=chunk_rows, **options).chunks)


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "table.xlsx").write_text("x")
    (tmp_path / "table.parquet").write_text("no parquet")
    with pytest.raises(TableError, match=r"ending in '.xlsx'"):
        read_table(tmp_path / "table.xlsx")
    with pytest.raises(TableError, match="Parquet"):
        read_table(tmp_path / "table.parquet")
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a\n" + "1\n" * 9, ["--horizon", "20"], "9 steps are too few to learn a horizon of 20"),
        ("a,b\n" + "1,\n" * 90, ["--column", "b", "--horizon", "2"], "column 'b'"),
        ("a\n1\nx\n", ["--column", "a"], "row 2, column 'a'"),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(tmp_path, capsys, text, arguments, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(SystemExit) as exit_code:
        main(["forecast", str(path), "--out", str(tmp_path / "out"), *arguments])
    assert exit_code.value.code == 1
    told = capsys.readouterr().err
    assert message in " ".join(told.split())
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(1)])
def test_numbers_of_numpy_are_numbers(number):
    assert Forecaster(LegT(8, 20.0), horizon=2.0, ridge=number, warmup=number).ridges == (number,)


@pytest.mark.parametrize("wrong", [np.ones((3, 3, 3)), np.array([1.0, np.inf] * 20), ["a", "b"], np.array([1j] * 20)])
def test_seasons_are_looked_for_in_series_only(wrong):
    with pytest.raises((ValueError, TypeError), match="values"):
        find_seasons(wrong)
    with pytest.raises(ValueError, match="usual=-1"):
        find_seasons(np.arange(40.0), usual=(-1,))
