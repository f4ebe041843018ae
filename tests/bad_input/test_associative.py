"""What the associative memory says to arguments it cannot take."""

import numpy as np
import pytest
import torch

from hippozoo.polynomials import Laguerre, Legendre, Tabulated
from hippozoo.systems import LegT
from hippozoo.tasks.associative_recall import multi_query_recall, random_tokens
from hippozoo.zoo.associative import (
    AssociativeMemory,
    AssociativeState,
    PolynomialBank,
    capacity,
    layout_addresses,
    mean_fourth_overlap,
    recall_matrix,
    sample_reader,
    trace,
)

BANK = PolynomialBank(channels=2, family=Legendre(4))
EMPTY = BANK.initial_state(3)
WHERE, WHAT = torch.full((3,), 0.5), torch.zeros(3, 2)
LAYER = AssociativeMemory(channels=3, width=4, hidden=5)
UNKNOWN = Tabulated(*Legendre(4).recurrence, (0.0, 1.0))
RNG = np.random.default_rng(0)


def spoilt(shape, value=float("nan")):
    tensor = torch.zeros(shape)
    tensor.view(-1)[-1] = value
    return tensor


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PolynomialBank(0), r"channels=0.*channels >= 1"),
        (lambda: PolynomialBank(2, family=32), r"family=32.*Legendre\(32\)"),
        (
            lambda: PolynomialBank(2, family=Legendre(4, interval=(-1.0, 1.0))),
            r"\(-1.0, 1.0\).*build it on \(0.0, 1.0\)",
        ),
        (lambda: PolynomialBank(2, family=Laguerre(4)), r"build it on \(0.0, 1.0\)"),
        (lambda: PolynomialBank(2, epsilon=-1.0), r"epsilon=-1.0.*epsilon >= 0"),
        (lambda: PolynomialBank(2, dtype=torch.float16), r"float32 or float64"),
        (lambda: BANK.write(EMPTY, torch.full((3,), 1.5), WHAT), r"address\[0\] is 1.5.*0 to 1.*sigmoid"),
        (lambda: BANK.write(EMPTY, spoilt(3), WHAT), r"address\[2\] is nan.*0 to 1"),
        (lambda: BANK.write(EMPTY, WHERE, spoilt((3, 2))), r"value\[2, 1\] is nan"),
        (lambda: BANK.write(EMPTY, WHERE, WHAT, torch.full((3,), 2.0)), r"gate\[0\] is 2.*1 writes in full"),
        (lambda: BANK.write(EMPTY, WHERE, WHAT[:2]), r"value has shape \(2, 2\), expected \(3, 2\)"),
        (lambda: BANK.write(EMPTY.double(), WHERE, WHAT), r"state has dtype torch.float64"),
        (lambda: BANK.write(EMPTY[:, :1], WHERE, WHAT), r"state has shape \(3, 1, 4\).*\(batch, 2, 4\)"),
        (lambda: BANK.read(EMPTY, torch.rand(2, 5)), r"address has shape \(2, 5\).*batch=3"),
        (lambda: BANK.read([1.0], WHERE), r"state is a list; pass a tensor"),
        (lambda: BANK(torch.rand(3, 6), torch.zeros(3, 5, 2), torch.rand(3, 5)), r"write_address has shape \(3, 6\)"),
        (lambda: BANK(torch.rand(3, 5), torch.zeros(3, 5, 1), torch.rand(3, 5)), r"value has shape.*channels=2"),
        (lambda: BANK(torch.rand(3, 0), torch.zeros(3, 0, 2), torch.rand(3, 0)), r"at least one time"),
        (lambda: AssociativeMemory(0), r"channels=0"),
        (lambda: AssociativeMemory(3, start="warm"), r"start='warm'; pass 'previous', 'present' or 'random'"),
        (lambda: AssociativeMemory(3, system="legt"), r"system='legt'; pass a system"),
        (lambda: AssociativeMemory(3, dt=0.0), r"dt=0.0"),
        (lambda: AssociativeMemory(3, dtype=torch.bfloat16), r"float32 or float64"),
        (lambda: LAYER(torch.zeros(2, 5)), r"x has shape \(2, 5\), expected \(batch, time, channels\).*x\[None\]"),
        (lambda: LAYER(torch.zeros(2, 5, 4)), r"x has 4 channels.*this layer has 3"),
        (lambda: LAYER(spoilt((2, 5, 3))), r"x\[1, 4, 2\] is nan.*lengths="),
        (
            lambda: LAYER(torch.zeros(2, 5, 3), LAYER.initial_state(3)),
            r"state.memory has shape \(3, 4, 32\).*\(2, 4, 32\)",
        ),
        (lambda: LAYER(torch.zeros(2, 5, 3), torch.zeros(2, 4, 32)), r"is a Tensor; pass the AssociativeState"),
        (
            lambda: LAYER(torch.zeros(2, 5, 3), AssociativeState(torch.zeros(2, 4, 32), torch.zeros(2, 4, 31))),
            r"state.bank has shape \(2, 4, 31\).*\(2, 4, 32\)",
        ),
        (lambda: LAYER(torch.zeros(2, 5, 3), lengths=torch.tensor([5, 6])), r"lengths\[1\] is 6.*0 to 5"),
        (lambda: LAYER(torch.zeros(2, 5, 3), lengths="55"), r"lengths='55'; pass a list or a tensor of whole numbers"),
        (lambda: LAYER(torch.zeros(2, 5, 3), dt=-1.0), r"dt=-1.0"),
        (lambda: LAYER.step(torch.zeros(2, 3), None), r"state=None.*initial_state"),
        (lambda: sample_reader(LegT(4, timescale=1.0), 1.0, lag=4), r"lag=4.*among=4.*lag < among"),
        (lambda: trace(LAYER, torch.zeros(1, 5, 3)), r"x is \(1, 5, 3\).*\(time, channels\)"),
        (lambda: recall_matrix(Legendre(4), np.zeros((2, 2))), r"addresses has shape \(2, 2\).*one number per pair"),
        (lambda: recall_matrix(Legendre(4), np.array([0.5]), np.ones(2)), r"gates has shape \(2,\)"),
        (
            lambda: recall_matrix(Legendre(4), np.array([0.2, 0.5]), np.array([1.0, -1.0])),
            r"gates\[1\] is -1: pass values from 0 to 1",
        ),
        (lambda: recall_matrix(Legendre(4), np.array([0.5]), np.array([2.0])), r"gates\[0\] is 2: pass values"),
        (lambda: recall_matrix(Legendre(4), np.array([1.5])), r"x=1.5 is outside"),
        (lambda: layout_addresses(Legendre(4), 3, "best", RNG), r"layout='best'; choose from 'gauss'"),
        (lambda: layout_addresses(UNKNOWN, 3, "random", RNG), r"family=Tabulated\(order=4.*pass one.*or the layout"),
        (lambda: mean_fourth_overlap(UNKNOWN), r"family=Tabulated\(order=4.*which is known of Legendre and Chebyshev"),
        (lambda: capacity(Legendre(4), [0]), r"pairs=0"),
        (lambda: multi_query_recall(1, RNG, queries=0), r"queries=0"),
        (lambda: random_tokens(RNG, size=2.5), r"size=2.5.*whole number"),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_a_refused_write_leaves_the_bank_as_it_was():
    state = BANK.write(EMPTY, WHERE, torch.ones(3, 2))
    kept = state.clone()
    with pytest.raises(ValueError, match="address"):
        BANK.write(state, torch.full((3,), -0.1), WHAT)
    assert torch.equal(state, kept)
