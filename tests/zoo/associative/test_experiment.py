"""The experiment on associative recall: its quick run, and the pieces whose numbers stand in the results."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from hippozoo.polynomials import Legendre
from hippozoo.tasks.associative_recall import associative_recall, random_tokens
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo_studies import Finished, reproduce
from hippozoo_studies.paper import associative_recall as experiment


def test_the_quick_run_has_every_metric_and_figure(tmp_path):
    reproduce("associative-recall", quick=True, out=tmp_path)
    folder = next(tmp_path.rglob("metrics.json")).parent
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    for protocol in ("minibatch", "episodes", "online", "random_start"):
        for name in ("test_accuracy", "last_validation_accuracy", "steps_to_solve", "address_spread"):
            assert len(metrics[protocol][name]["seeds"]) == 2
        assert set(metrics[protocol]["write_gate"]) == {"A", "B", "WRITE"}
    assert len(metrics["after_write"]["overlap"]["seeds"]) == 2
    assert metrics["capacity"]["gauss"] == {"8": 8, "16": 16}
    for name in ("recall", "kernel", "learning", "generalisation", "capacity"):
        assert (folder / f"{name}.png").stat().st_size > 10_000


def test_streams_are_the_episodes_one_after_the_other(rng):
    data = associative_recall(6, rng)
    streams = experiment._in_streams(data, 3)
    assert streams.tokens.shape == (2, 36)
    np.testing.assert_array_equal(streams.tokens[1, 12:24], data.tokens[4])
    np.testing.assert_array_equal(streams.answers[0, :12], data.answers[0])


def test_accuracy_counts_nearest_tokens_at_the_questions_alone(rng):
    table = random_tokens(rng)
    data = associative_recall(40, rng)

    class Knowing(torch.nn.Module):
        """Says the target at the questions, anything elsewhere; wrong in a quarter of the episodes."""

        def forward(self, x):
            said = np.where(data.asked[..., None], data.targets(table), 1.0)
            said[::4, -1] = table.vectors[0]
            return torch.from_numpy(said), None

    assert experiment.score_answers(Knowing(), data, table) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("accuracies", "step"), [([0.5, 1.0, 0.9], 20), ([1.0, 1.0, 1.0], 10), ([0.5, 0.9, 0.99], None)]
)
def test_steps_to_solve_is_the_first_look_at_99_9_per_cent(accuracies, step):
    assert experiment._steps_to_solve([10, 20, 30], accuracies) == step


@pytest.mark.parametrize(("protocol", "carried"), [("episodes", False), ("online", True)])
def test_of_the_two_ways_to_train_online_the_papers_begins_each_episode_with_nothing(monkeypatch, protocol, carried):
    states = []
    forward = AssociativeMemory.forward

    def remember(self, x, state=None, *rest):
        if self.training:
            states.append(state)
        return forward(self, x, state, *rest)

    monkeypatch.setattr(AssociativeMemory, "forward", remember)
    experiment.run_unit(replace(experiment.QUICK, online_steps=4), {"protocol": protocol, "seed": 0})
    assert [state is not None for state in states] == [False, carried, carried, carried]


def test_at_the_papers_constant_rate_a_longer_run_begins_as_the_shorter_one():
    runs = [
        experiment.run_unit(replace(experiment.QUICK, online_steps=steps), {"protocol": "episodes", "seed": 0})
        for steps in (30, 60)
    ]
    assert runs[1]["steps"][:1] == runs[0]["steps"] == [30]
    assert runs[1]["validation_accuracy"][:1] == runs[0]["validation_accuracy"]


def test_an_unknown_protocol_is_named_with_the_choice():
    with pytest.raises(ValueError, match="protocols has 'batches'"):
        experiment.units(replace(experiment.QUICK, protocols=("batches",)))


def test_write_gates_are_averaged_by_kind_of_token_and_open_ones_at_an_a_are_told_apart():
    episode = {
        "labels": ["a1", "b1", "a2", "b1", "a1", "WRITE"],
        "write_gate": [0.9, 1.0, 0.2, 0.8, 0.1, 0.3],
        "write_address": [0.2, 0.0, 0.5, 0.0, 0.5, 0.0],
    }
    found = experiment.summarise_writes(
        experiment.QUICK, [Finished({}, {"episode": episode, "mean_address": {"a1": 0.5, "a2": 0.9}}, 1.0)]
    )
    means = {kind: spread["mean"] for kind, spread in found["write_gate"].items()}
    assert means == pytest.approx({"A": 0.4, "B": 0.9, "WRITE": 0.3})
    at_a = found["writes_at_A"]
    assert (at_a["open"], at_a["of"]) == (1, 3)
    # Both shut ones stand on the key a1 itself, and the open one on none.
    assert at_a["median_overlap_shut"] == pytest.approx(1.0)
    assert at_a["median_overlap_open"] < 0.2


@torch.no_grad()
def test_the_address_after_write_is_that_of_write_and_the_key_it_hits_is_the_nearest(rng):
    layer = experiment._layer(experiment.QUICK, "minibatch", 0)
    table = random_tokens(rng)
    found = experiment.probe_after_write(experiment.QUICK, layer, associative_recall(100, rng), table, rng)

    def address_of(token):
        shown = torch.from_numpy(table.vectors[[0, 13, token, 5]]).float()
        return layer.signals(shown[None]).write_address[0, -1].item()

    # An untrained layer reads the token before; what is further back shines through a little.
    assert found["write_address"] == pytest.approx(address_of(table.write), abs=0.02)
    assert found["nearest_address"] == pytest.approx(address_of(int(found["nearest"][1:]) - 1), abs=0.02)
    family = Legendre(experiment.QUICK.coefficients)
    others = np.array([address_of(key) for key in range(12)])
    kernel = family.reproducing_kernel(np.array([found["write_address"]]), others, normalised=True)
    assert found["overlap"] == pytest.approx(np.abs(kernel).max(), abs=0.1)
