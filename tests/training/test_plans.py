"""A plan is carried out to the letter: rates, clipping, orders, seeds, and the time that it took."""

import math
import time

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from hippozoo.training import Epochs, Plan, best_rate, seeded, step_rng, train
from hippozoo.training import loop as loop_module


def no_data(step, rng):
    return None


def rates_seen(plan, *shares):
    """The rates that the optimiser had at each step, one column per group of parameters."""
    model, seen = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in shares]), []

    class Watching(torch.optim.SGD):
        def step(self, closure=None):
            seen.append([group["lr"] for group in self.param_groups])
            return super().step(closure)

    def watching(parameters, plan):
        groups = [{"params": [one], "lr": share * plan.rate} for one, share in zip(parameters, shares, strict=True)]
        return Watching(groups)

    train(model, no_data, lambda model, _: torch.cat(list(model)).sum(), plan, optimiser=watching)
    return np.array(seen)


def test_a_cosine_falls_to_half_the_rate_midway_and_to_nothing_at_the_end():
    rates = rates_seen(Plan(steps=40, rate=0.2, schedule="cosine"), 1.0)[:, 0]
    assert_allclose(rates, [0.2 * (1 + math.cos(math.pi * step / 40)) / 2 for step in range(40)], rtol=1e-12)
    assert_allclose(rates[[0, 20]], [0.2, 0.1])
    assert rates[-1] < 0.001


def test_a_line_falls_to_half_the_rate_midway():
    rates = rates_seen(Plan(steps=40, rate=0.2, schedule="linear"), 1.0)[:, 0]
    assert_allclose(rates, [0.2 * (1 - step / 40) for step in range(40)], rtol=1e-12)


def test_after_a_warm_up_the_fall_takes_what_is_left_of_the_steps():
    rates = rates_seen(Plan(steps=50, rate=0.2, warm_up=10, schedule="cosine"), 1.0)[:, 0]
    assert_allclose(rates[:10], [0.2 * (step + 1) / 10 for step in range(10)], rtol=1e-12)
    assert_allclose(rates[[10, 30]], [0.2, 0.1])


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_groups_of_parameters_keep_the_ratio_of_their_rates(schedule):
    rates = rates_seen(Plan(steps=20, rate=0.03, warm_up=5, schedule=schedule), 1.0, 0.1)
    assert_allclose(rates[:, 0], 10 * rates[:, 1], rtol=1e-12)
    assert_allclose(rates[5], [0.03, 0.003])


@pytest.mark.parametrize(("clip", "longest"), [(None, math.inf), (1.0, 1.0), (1e3, 1e3)])
def test_a_step_is_the_whole_gradient_unless_it_is_clipped(clip, longest):
    model = nn.Linear(2, 1, bias=False)
    before, slope = model.weight.detach().clone(), torch.tensor([[30.0, -40.0]])

    def plain_descent(parameters, plan):
        return torch.optim.SGD(parameters, lr=plan.rate)

    plan = Plan(steps=1, rate=0.5, clip=clip)
    train(model, no_data, lambda model, _: (slope * model.weight).sum(), plan, optimiser=plain_descent)
    wanted = -0.5 * slope * min(1.0, longest / 50)
    torch.testing.assert_close(model.weight.detach() - before, wanted, rtol=1e-5, atol=1e-5)


def test_the_seconds_of_earlier_sittings_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "SECONDS_BETWEEN_SAVES", -1.0)  # after every step
    path, slept = tmp_path / "run.safetensors", 0.2

    def sit(batch):
        model = nn.Linear(1, 1)
        plan = Plan(steps=4, rate=0.1)
        return train(model, batch, lambda model, _: model.weight.square().sum(), plan, checkpoint=path)

    def killed_after_a_slow_start(step, rng):
        if step == 2:
            raise KeyboardInterrupt
        time.sleep(slept / 2)

    with pytest.raises(KeyboardInterrupt):
        sit(killed_after_a_slow_start)
    resumed = sit(no_data)
    assert resumed.steps == 4
    assert resumed.seconds > 0.9 * slept  # clocks are coarse on some machines
    assert sit(no_data).seconds > 0.9 * slept  # a finished run is only loaded


def test_two_seeds_are_two_orders():
    one, two = (np.concatenate([Epochs(40, 10, seed)(step) for step in range(4)]) for seed in (1, 2))
    assert sorted(one) == sorted(two) == list(range(40))
    assert one.tolist() != two.tolist()
    assert (one == Epochs(40, 40, seed=1)(0)).all()  # the size of a batch only cuts the order


@pytest.mark.parametrize("rates", [(1e-3, 3e-3), (3e-3, 1e-3)])
def test_of_two_rates_that_do_as_well_the_larger_wins(rates):
    assert best_rate(dict.fromkeys(rates, 0.25) | {1e-2: 0.5, 1e-4: math.nan}) == 3e-3


def noise_of_steps(seed):
    """What a model with dropout would draw at each of three steps."""
    drawn, model = [], nn.Linear(1, 1)

    def loss(model, _):
        drawn.append(torch.rand(4))
        return model.weight.sum()

    train(model, no_data, loss, Plan(steps=3, seed=seed))
    return drawn


def weights_of(seed):
    with seeded(seed):
        return torch.rand(4)


def test_weights_and_noise_of_every_seed_and_step_are_streams_of_their_own():
    streams = [weights_of(seed) for seed in range(3)] + [noise for seed in range(3) for noise in noise_of_steps(seed)]
    assert len({tuple(stream.tolist()) for stream in streams}) == 3 + 9
    assert torch.equal(weights_of(1), weights_of(1))


def test_data_and_orders_share_no_stream():
    for seed in range(3):
        orders = [Epochs(30, 30, seed)(epoch).tolist() for epoch in range(3)]
        assert step_rng(seed, 0).permutation(30).tolist() not in orders
