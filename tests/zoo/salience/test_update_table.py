"""The update table is the exact hold at every step."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.linalg import expm

from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.salience.update_table import tables_for, update_table, updates_at

SYSTEMS = [LegT(12, timescale=1.0), LegS(12, timescale=1.0), LagT(7, timescale=1.0), FouT(9, timescale=1.0)]


def by_definition(system, step):
    generator = np.zeros((system.order + 1,) * 2)
    generator[:-1, :-1], generator[:-1, -1] = system.A, system.b
    return expm(step * generator)[:-1].T


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_step_is_a_matrix_exponential(system, dtype):
    steps = np.concatenate([[0.0, 1e-9, 0.5], np.random.default_rng(0).uniform(0, 0.5, 20)])
    tables = tables_for(system, 0.5, dtype)
    found = updates_at(torch.tensor(steps, dtype=dtype), tables)
    wanted = np.stack([by_definition(system, float(np.asarray(step).astype(str(dtype)[6:]))) for step in steps])
    assert_allclose(found, wanted, rtol=0, atol=1e-6 if dtype == torch.float32 else 2e-11)


def test_a_table_that_would_not_fit_is_none():
    assert update_table(LegT(256, timescale=1.0), 2.0, 1e-10) is None


def test_updates_are_differentiable_as_often_as_one_likes():
    tables = tables_for(LegT(5, timescale=1.0), 0.5, torch.float64)
    steps = torch.tensor([0.01, 0.2, 0.43], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: updates_at(h, tables), steps, atol=1e-6)
    assert torch.autograd.gradgradcheck(lambda h: updates_at(h, tables), steps, atol=1e-5)
