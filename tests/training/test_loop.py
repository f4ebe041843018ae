"""Same seed, same numbers; killed or not; stopped where the plan says so."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from hippozoo.checkpoint import load, save
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.training import Plan, best_rate, detached, seeded, train, train_online
from hippozoo.training import loop as loop_module


class Noisy(nn.Module):
    """A small network with dropout, so that torch's own randomness takes part."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)


def batch(step, rng):
    x = torch.from_numpy(rng.normal(size=(16, 3))).float()
    return x, x.prod(1, keepdim=True)


def loss(model, data):
    return ((model(data[0]) - data[1]) ** 2).mean()


HELD_OUT = batch(0, np.random.default_rng(99))


def validate(model):
    return loss(model, HELD_OUT).item()


def fresh(seed=0):
    with seeded(seed):
        return Noisy()


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


PLAN = Plan(steps=60, rate=0.02, seed=3, validate_every=10)


class KilledError(Exception):
    pass


def killed_at(n_calls):
    """A `batch` that dies when it has been asked this many times."""
    calls = []

    def dying(step, rng):
        calls.append(step)
        if len(calls) > n_calls:
            raise KilledError
        return batch(step, rng)

    return dying


def test_same_seed_gives_the_same_numbers_whatever_ran_before():
    one, two, other = fresh(), fresh(), fresh()
    first = train(one, batch, loss, PLAN, validate=validate)
    torch.manual_seed(1234)
    torch.rand(17)
    second = train(two, batch, loss, PLAN, validate=validate)
    train(other, batch, loss, replace(PLAN, seed=4), validate=validate)
    assert first.looks == second.looks
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


def test_training_leaves_the_callers_randomness_and_threads_alone():
    threads = torch.get_num_threads()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(fresh(), batch, loss, PLAN)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_a_killed_run_goes_on_to_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "SECONDS_BETWEEN_SAVES", -1.0)  # after every step
    whole = fresh()
    expected = train(whole, batch, loss, PLAN, validate=validate)
    path = tmp_path / "run.safetensors"
    for calls in (7, 26, 1):
        with pytest.raises(KilledError):
            train(fresh(), killed_at(calls), loss, PLAN, validate=validate, checkpoint=path)
    resumed = fresh(seed=77)  # whatever its weights are: the checkpoint's count
    found = train(resumed, batch, loss, PLAN, validate=validate, checkpoint=path)
    assert found.looks == expected.looks
    assert found.best_step == expected.best_step
    assert torch.equal(weights(resumed), weights(whole))


def test_a_file_from_before_models_were_described_still_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "SECONDS_BETWEEN_SAVES", -1.0)
    whole, resumed, path = fresh(), fresh(), tmp_path / "run.safetensors"
    train(whole, batch, loss, PLAN, validate=validate)
    with pytest.raises(KilledError):
        train(fresh(), killed_at(20), loss, PLAN, validate=validate, checkpoint=path)
    found = load(path)
    del found["description"]
    save(path, found)
    train(resumed, batch, loss, PLAN, validate=validate, checkpoint=path)
    assert torch.equal(weights(resumed), weights(whole))


def test_a_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / "run.safetensors"
    model = fresh()
    first = train(model, batch, loss, PLAN, validate=validate, checkpoint=path)
    again = fresh(seed=1)
    second = train(again, killed_at(0), loss, PLAN, validate=validate, checkpoint=path)
    assert second.looks == first.looks
    assert torch.equal(weights(again), weights(model))


def test_a_killed_stream_goes_on_from_its_state(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "SECONDS_BETWEEN_SAVES", -1.0)

    def layer():
        with seeded(0):
            return MemoryLayer(LegT(6, timescale=15.0), outputs=1, channels=1)

    def chunk(step, rng):
        return torch.from_numpy(rng.normal(size=(1, 11, 1))).float()

    def predict(model, chunk, state):
        y, after = model(chunk[:, 1:], None if state is None else state["memory"])
        return ((y - chunk[:, :-1]) ** 2).mean(), {"memory": after}

    plan = Plan(steps=30, rate=0.01, validate_every=7)
    whole, resumed, path = layer(), layer(), tmp_path / "run.safetensors"
    expected = train_online(whole, chunk, predict, plan)
    drawn = []

    def dying(step, rng):
        drawn.append(step)
        if len(drawn) > 12:
            raise KilledError
        return chunk(step, rng)

    with pytest.raises(KilledError):
        train_online(layer(), dying, predict, plan, checkpoint=path)
    found = train_online(resumed, chunk, predict, plan, checkpoint=path)
    assert found.looks == expected.looks
    assert torch.equal(found.state["memory"], expected.state["memory"])
    assert torch.equal(weights(resumed), weights(whole))


def test_the_gradient_ends_at_the_chunk_and_the_state_does_not():
    scale = nn.Parameter(torch.tensor(1.0))
    model = nn.ParameterList([scale])
    seen = []

    def grow(model, _, state):
        state = torch.ones(()) if state is None else state
        seen.append((state.item(), state.requires_grad))
        state = state * 2 + 0 * model[0]
        return 0 * model[0] + state.sum() * 0, state

    train_online(model, lambda step, rng: None, grow, Plan(steps=4, weight_decay=0.0))
    assert seen == [(1.0, False), (2.0, False), (4.0, False), (8.0, False)]


def test_the_model_ends_with_the_weights_that_were_best_on_validation():
    scores = iter([5.0, 1.0, 3.0, 2.0, 4.0, 6.0])
    kept = []

    def score(model):
        kept.append(weights(model))
        return next(scores)

    model = fresh()
    run = train(model, batch, loss, PLAN, validate=score)
    assert (run.best_step, run.best_loss, run.ending) == (20, 1.0, "steps")
    assert torch.equal(weights(model), kept[1])


def test_patience_is_lost_after_so_many_looks_without_progress():
    scores = iter([3.0, 2.0, 2.5, 2.2, 9.0, 9.0])
    run = train(fresh(), batch, loss, replace(PLAN, patience=2), validate=lambda model: next(scores))
    assert (run.ending, run.steps, run.best_step) == ("patience", 40, 20)


def test_reaching_the_target_stops_the_run():
    scores = iter([3.0, 0.1, 9.0])
    run = train(fresh(), batch, loss, replace(PLAN, stop_at=0.1), validate=lambda model: next(scores))
    assert (run.ending, run.steps) == ("stop_at", 20)


def test_a_loss_that_is_not_finite_ends_the_run_with_the_last_good_weights():
    model, start = fresh(), weights(fresh())
    run = train(model, batch, lambda model, data: loss(model, data) * math.nan, PLAN)
    assert (run.ending, run.steps, run.best_loss) == ("diverged", 0, math.inf)
    assert torch.equal(weights(model), start)


def test_the_gradient_is_never_longer_than_the_clip():
    model = nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()

    def plain_descent(parameters, plan):
        return torch.optim.SGD(parameters, lr=plan.rate)

    plan = Plan(steps=1, rate=1.0, clip=0.5)
    train(model, lambda step, rng: None, lambda m, _: 100 * m.weight.sum(), plan, optimiser=plain_descent)
    assert torch.linalg.norm(model.weight - before).item() == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_rate_rises_and_falls_as_planned(schedule):
    plan = Plan(steps=40, rate=0.1, warm_up=10, schedule=schedule)
    model, rates = nn.Linear(1, 1), []

    class Watching(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    def watching(parameters, plan):
        return Watching(parameters, lr=plan.rate)

    train(model, lambda step, rng: None, lambda m, _: m.weight.sum(), plan, optimiser=watching)
    assert rates == [plan.rate_at(step) for step in range(40)]
    assert rates[9] == rates[10] == 0.1
    assert all(np.diff(rates[:10]) > 0)
    assert all(np.diff(rates[10:]) < 0)


def test_the_validation_sees_the_model_without_dropout_or_gradients():
    seen = []

    def look(model):
        seen.append((model.training, torch.is_grad_enabled()))
        return 1.0

    model = fresh().eval()
    train(model, batch, loss, PLAN, validate=look)
    assert set(seen) == {(False, False)}
    assert not model.training  # as it was before


def test_what_was_put_into_evaluation_mode_by_itself_stays_there():
    inner = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    model = nn.Sequential(inner, nn.Dropout(0.1), nn.Linear(3, 1))
    inner.eval()
    inner[1].train()  # whatever was said of the parts of a part still holds
    modes, seen = [part.training for part in model.modules()], []

    def watched(model, data):
        seen.append([part.training for part in model.modules()])
        return loss(model, data)

    train(model, batch, watched, Plan(steps=3, validate_every=1), validate=validate)
    assert inner[0].running_mean.tolist() == [0.0] * 3
    assert seen == [modes] * 3
    assert [part.training for part in model.modules()] == modes


def test_a_model_in_evaluation_mode_is_trained_and_left_as_it_was():
    model, seen = fresh().eval(), []
    model.layers[0].train()
    modes = [part.training for part in model.modules()]

    def watched(model, data):
        seen.append({part.training for part in model.modules()})
        return loss(model, data)

    train(model, batch, watched, Plan(steps=2))
    assert seen == [{True}] * 2
    assert [part.training for part in model.modules()] == modes


@pytest.mark.parametrize(("threads", "during"), [(1, 1), (2, 2), (None, 3)])
def test_a_run_has_the_threads_it_asks_for(threads, during):
    before, seen = torch.get_num_threads(), set()

    def watched(model, data):
        seen.add(torch.get_num_threads())
        return loss(model, data)

    torch.set_num_threads(3)
    try:
        train(fresh(), batch, watched, Plan(steps=2), threads=threads)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == {during}


def test_a_rate_is_chosen_by_validation_and_divergence_never_wins():
    def train_at(rate):
        factor = math.nan if rate > 0.5 else 1.0
        return train(fresh(), batch, lambda m, b: factor * loss(m, b), replace(PLAN, rate=rate), validate=validate)

    runs = {rate: train_at(rate) for rate in (1e-6, 0.02, 1.0)}
    assert best_rate({rate: run.best_loss for rate, run in runs.items()}) == 0.02
    assert runs[1.0].ending == "diverged"


def test_progress_counts_up_to_the_end():
    seen = []
    train(fresh(), batch, loss, PLAN, validate=validate, on_progress=seen.append)
    assert seen[-1].fraction == 1.0
    assert seen[-1].seconds_left == 0.0
    assert math.isfinite(seen[-1].loss)


def test_what_is_frozen_stays_frozen():
    model = fresh()
    model.layers[0].weight.requires_grad_(False)
    before = model.layers[0].weight.clone()
    train(model, batch, loss, PLAN)
    assert torch.equal(model.layers[0].weight, before)


def test_detaching_keeps_the_form_of_a_state():
    x = torch.ones(2, requires_grad=True) * 3
    state = detached([{"bank": x}, (x, None), 4])
    assert torch.equal(state[0]["bank"], x)
    assert not state[1][0].requires_grad
    assert state[1][1] is None
    assert state[2] == 4
