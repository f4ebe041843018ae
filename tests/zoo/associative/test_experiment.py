"""The experiment on associative recall: its quick run, and the pieces whose numbers stand in the results."""

import json

import numpy as np
import pytest
import torch

from hippozoo.experiments import associative_recall as experiment
from hippozoo.experiments import reproduce
from hippozoo.tasks.associative_recall import associative_recall, random_tokens


def test_the_quick_run_has_every_metric_and_figure(tmp_path):
    reproduce("associative-recall", quick=True, out=tmp_path)
    folder = next(tmp_path.rglob("metrics.json")).parent
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    for protocol in ("minibatch", "online"):
        for name in ("test_accuracy", "steps_to_solve", "address_spread"):
            assert len(metrics[protocol][name]["seeds"]) == 2
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

    assert experiment._accuracy(Knowing(), data, table) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("accuracies", "step"), [([0.5, 1.0, 0.9], 20), ([1.0, 1.0, 1.0], 10), ([0.5, 0.9, 0.99], None)]
)
def test_steps_to_solve_is_the_first_look_at_99_9_per_cent(accuracies, step):
    assert experiment._steps_to_solve([10, 20, 30], accuracies) == step
