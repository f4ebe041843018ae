"""Gated DeltaNet: its solve is the rule, one write after the other, and without fading it is DeltaNet's."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from hippozoo.baselines import GatedDeltaNet
from hippozoo.layers.delta_rule import STRETCH, delta_rule, fading_delta_rule
from oracles import fading_delta_rule as slow_fading_delta_rule


def drawn(rng, n_steps):
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape))  # noqa: E731
    keys = nn.functional.normalize(draw(2, 3, n_steps, 4), dim=-1)
    gates, fading = (torch.from_numpy(rng.uniform(size=(2, 3, n_steps))) for _ in range(2))
    return keys, draw(2, 3, n_steps, 5), gates, fading, draw(2, 3, n_steps, 4), draw(2, 3, 5, 4)


@pytest.mark.parametrize("n_steps", [1, 9, STRETCH + 7])
def test_the_solve_is_the_rule_one_write_after_the_other(n_steps, rng):
    keys, values, gates, fading, queries, before = drawn(rng, n_steps)
    reads, after = fading_delta_rule(keys, values, gates, fading, queries, before)
    for item in np.ndindex(2, 3):
        parts = (part[item].numpy() for part in (keys, values, gates, fading))
        banks = slow_fading_delta_rule(*parts, before[item].numpy())
        assert_allclose(after[item], banks[-1], atol=1e-10)
        assert_allclose(reads[item], np.einsum("tcn,tn->tc", banks, queries[item].numpy()), atol=1e-10)


def test_without_fading_it_is_deltanets_rule(rng):
    keys, values, gates, fading, queries, before = drawn(rng, 80)
    ours = fading_delta_rule(keys, values, gates, torch.zeros_like(fading), queries, before)
    for one, other in zip(ours, delta_rule(keys, values, gates, queries, before), strict=True):
        torch.testing.assert_close(one, other)


def test_a_fast_fading_memory_overflows_nowhere(rng):
    keys, values, gates, _, queries, before = drawn(rng, 2 * STRETCH)
    fading = torch.full_like(gates, 500.0).requires_grad_()
    reads, after = fading_delta_rule(keys, values, gates, fading, queries, before)
    (reads.sum() + after.sum()).backward()
    assert torch.isfinite(reads).all()
    assert torch.isfinite(fading.grad).all()


def test_gradients_are_those_of_finite_differences(rng):
    parts = [part.requires_grad_() for part in drawn(rng, 5)]
    assert torch.autograd.gradcheck(fading_delta_rule, parts)


def test_a_width_that_the_heads_do_not_share_is_refused():
    with pytest.raises(ValueError, match="multiple of heads=2"):
        GatedDeltaNet(3, 2, width=9)
