"""Hybrids: sizes, what can be drawn, Mamba without its parts, and a small study to the end."""

import re

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.baselines import parameter_count
from hippozoo.systems import LegT
from hippozoo_studies import reproduce
from hippozoo_studies.beyond import hybrids as study
from hippozoo_studies.beyond._hybrid_claims import _in_points
from hippozoo_studies.beyond._hybrid_figures import _draw, decay_rate, episode_of, measure_of_steps
from hippozoo_studies.beyond._hybrid_layers import AttentiveMemory, SelectiveWindows, history_weights
from hippozoo_studies.paper._mamba_parts import without

ALL = [*study.TITLE, *(f"without_{part}" for part in study.PARTS)]


@pytest.mark.parametrize("name", ALL)
def test_all_models_have_one_size(name):
    for task in ("sc", "ar"):
        assert abs(parameter_count(study.build(name, task, 25_000)) - 25_000) < 900


@pytest.mark.parametrize(
    "layer", [AttentiveMemory(8, LegT(6, 20.0), heads=2), SelectiveWindows(8, 30, 3, 3)], ids=["attention", "windows"]
)
def test_pieces_and_steps_are_the_whole_and_the_future_is_invisible(layer):
    layer = layer.double()
    x = torch.randn(3, 40, 8, dtype=torch.float64)
    whole, last = layer(x)
    first, state = layer(x[:, :17])
    second, after = layer(x[:, 17:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(after, last)
    one, _ = layer.step(x[:, 17], state)
    torch.testing.assert_close(one, whole[:, 17])
    changed = x.clone()
    changed[:, 30:] += 1
    torch.testing.assert_close(layer(changed)[0][:, :30], whole[:, :30])


def test_attention_reads_the_memory_by_a_function_of_the_lag():
    layer = AttentiveMemory(4, LegT(6, 20.0)).double()
    x = torch.randn(2, 30, 4, dtype=torch.float64)
    weights = layer.attention(x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 30, dtype=torch.float64))
    states, _ = layer.memory(x)
    wanted = layer.value(torch.einsum("bto,btco->btc", weights[:, 0], states))
    torch.testing.assert_close(layer(x)[0], wanted)
    assert history_weights(layer, x, torch.arange(20.0)).shape == (2, 30, 20)


def test_a_part_that_is_taken_away_no_longer_depends_on_the_sample():
    x = torch.randn(2, 9, 10)
    for part, (begin, end) in {"write": (1, 17), "read": (17, 33), "clock": (0, 1)}.items():
        block = without(part, 5).blocks[0]
        values = block.select(x)
        assert values.shape == (2, 9, 33)
        assert (values[..., begin:end] == values[:1, :1, begin:end]).all()
        rest = torch.cat([values[..., :begin], values[..., end:]], -1)
        assert (rest[:, 0] != rest[:, 1]).all()
    entered = without("gate", 5).blocks[0].enter(torch.randn(2, 9, 5))
    torch.testing.assert_close(torch.nn.functional.silu(entered[..., 10:]), torch.ones(2, 9, 10))
    assert without("taps", 5).taps == 1
    with pytest.raises(ValueError, match="choose from write"):
        without("memory", 5)


@pytest.mark.parametrize("name", study.MADE_OF)
def test_every_hybrid_has_something_to_draw(name):
    found = study.shown(study.build(name, "ar", 3_000), torch.randn(1, 12, 24))
    assert len(found["values"][0]) == 12
    assert ("one clock" in found["title"]) == (name == "mamba_clock")


def test_a_small_study_runs_to_the_end(tmp_path):
    document = reproduce("hybrids", quick=True, out=tmp_path)
    rows = {*study.TITLE, "without_gate", "without_write"}
    assert set(document["metrics"]["accuracy"]["sc"]) == set(document["metrics"]["accuracy"]["ar"]) == rows
    assert "| LSTM + bank |" in (tmp_path / "hybrids" / "table.md").read_text()
    assert {"accuracy.png", "shown-copying.png", "shown-recall.png"} <= {
        path.name for path in (tmp_path / "hybrids").iterdir()
    }
    assert any("costs Mamba the most" in claim["claim"] for claim in document["claims"])
    [middle] = [claim["evidence"] for claim in document["claims"] if "middle ground" in claim.get("quote", "")]
    assert "on selective copying and associative recall" in middle
    # One number a task, in this order: four hybrids, and a second layer of LSTM and of Mamba.
    assert len(re.findall(r"[+-][\d.]+ and [+-][\d.]+", middle)) == 6
    state = document["metrics"]["state"]["sc"]
    assert f"LSTM {state['lstm']:,}, LSTM + bank {state['lstm_bank']:,}" in middle
    [windows] = [claim["evidence"] for claim in document["claims"] if "(no convolution)" in claim["claim"]]
    assert "neither Mamba's short convolution nor its input-dependent time" in windows


def test_the_measure_of_a_clock_is_what_its_steps_leave():
    steps, rate = np.array([0.02, 0.05, 1e-4, 0.3]), 8.5
    shares = measure_of_steps(steps, rate)
    assert_allclose(shares.sum(axis=0), 1.0)
    assert (np.tril(shares, -1) == 0).all()  # nothing is remembered before it is written
    clock = np.append(0.0, np.cumsum(rate * steps))
    left = np.exp(-(clock[-1] - clock[1:])) - np.exp(-(clock[-1] - clock[:-1]))  # of each step, by definition
    assert_allclose(shares[:, -1], left / left.sum(), rtol=0.3)  # taken at the middle of each step
    assert_allclose(measure_of_steps(steps / 1000, rate)[:, -1], steps / steps.sum(), rtol=0.01)
    assert decay_rate() == 8.5


def test_every_picture_of_a_hybrid_marks_the_answers():
    from matplotlib.figure import Figure

    episode = episode_of("ar", 0, 60)
    count = len(episode.names)
    for model, values in {
        "mamba_clock": np.full((1, count), 0.1),
        "mamba_windows": np.ones((4, count)),
        "lstm_bank": np.eye(count),
    }.items():
        figure = Figure()
        _draw(figure, figure.subplots(), model, values, "ar", episode)
        [marked] = [line for line in figure.axes[0].lines if line.get_marker() == "s"]
        asked, held = episode.answers[0]
        assert marked.get_xdata()[0] == asked
        if model != "mamba_windows":
            assert marked.get_ydata()[0] == held


def test_a_task_that_was_not_run_leaves_a_dash_in_its_place():
    tasks = ("sc", "ar")
    assert _in_points({"ar": 1.0}, tasks) == "– and +1.0"
    assert _in_points({"sc": -2.0}, tasks) == "-2.0 and –"
