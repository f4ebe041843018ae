"""Randomness depends on a seed and a place alone."""

import numpy as np
import torch

from hippozoo.training import Epochs, seeded, step_rng


def test_every_epoch_takes_every_item_once_in_a_new_order():
    order = Epochs(items=12, size=4, seed=5)
    first, second = (np.concatenate([order(3 * epoch + k) for k in range(3)]) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(12))
    assert first.tolist() != second.tolist()


def test_a_resumed_epoch_has_the_order_it_would_have_had():
    straight, resumed = Epochs(10, 3, seed=1), Epochs(10, 3, seed=1)
    expected = [straight(step).tolist() for step in range(8)]
    assert resumed(7).tolist() == expected[7]
    assert resumed(2).tolist() == expected[2]


def test_steps_and_seeds_do_not_share_numbers():
    draws = {float(step_rng(seed, step).random()) for seed in range(5) for step in range(5)}
    assert len(draws) == 25


def test_a_seeded_block_leaves_no_trace():
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    with seeded(3):
        torch.rand(100)
    assert torch.equal(torch.rand(2), expected)
