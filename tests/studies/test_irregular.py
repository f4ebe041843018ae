"""The study of uneven times asks for what can be known, and gives every model the same time."""

import numpy as np
import pytest
import torch

from hippozoo_studies.beyond import irregular
from hippozoo_studies.beyond.irregular import FASTEST, SLOWEST, Config, Heart, build, sine, thinned


def test_the_frequency_can_be_read_from_the_samples():
    """Least squares over a grid of frequencies, the best there is: the target is what it claims to be."""
    some = sine(np.random.default_rng(0), 20)
    times = (some.dt.cumsum(1) - some.dt).numpy()
    grid = np.linspace(SLOWEST, FASTEST, 400)
    best = []
    for t, x in zip(times, some.x[..., 0].numpy(), strict=True):
        waves = np.exp(2j * np.pi * grid[:, None] * t)
        best.append(grid[np.abs(waves @ x).argmax()])
    said = (np.array(best) - grid.mean()) / ((FASTEST - SLOWEST) / np.sqrt(12))
    assert np.abs(said - some.target.numpy()).mean() < 0.1


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_thinning_makes_gaps_longer_and_keeps_the_time(factor):
    record = Heart(np.arange(2000.0), {"learn": (np.array([7, 500]), np.array([0.5, -0.5]))})
    some = thinned(record, "learn", np.random.default_rng(0), 5, factor)
    assert some.x.shape == (5, round(irregular.LEFT / factor), 1)
    # Voltage is time here: a gap is how far the next sample is away.
    torch.testing.assert_close(some.x.diff(dim=1)[..., 0].double() / 3, some.dt[:, :-1])
    assert abs(float(some.dt.mean()) / factor - 1) < 0.05


def test_every_model_has_about_the_same_size_and_answers_once():
    for task in irregular.TASKS:
        for name in irregular.TITLE:
            model = build(name, task, 3_000)
            assert abs(irregular.parameter_count(model) - 3_000) < 400
            assert model(sine(np.random.default_rng(0), 4)).shape == (4,)


def test_the_rate_is_chosen_on_validation_and_then_used_for_all_seeds():
    config = Config(models=("gru",), tasks=("sine",), rates=(0.1, 0.2))
    done = [
        irregular.Finished({"task": "sine", "model": "gru", "rate": rate, "seed": 0}, {"validation": error}, 1.0)
        for rate, error in ((0.1, 0.5), (0.2, 0.3))
    ]
    assert irregular.more_units(config, done[:1]) == []
    assert {(one["rate"], one["seed"]) for one in irregular.more_units(config, done)} == {(0.2, 1), (0.2, 2)}
