"""What cannot be looked at is refused in a sentence, and nothing is changed."""

import numpy as np
import pytest
import torch
from torch import nn

from hippozoo.baselines import Transformer
from hippozoo.microscope import compare, look
from hippozoo.systems import LegT

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 60, 1))
STATES = np.concatenate([X, np.roll(X, 1, 1)], -1)
SMALL = {"sequences": 12, "length": 120}
TOKENS = nn.Sequential(nn.Embedding(7, 3), nn.GRU(3, 4, batch_first=True))


def nan_states():
    states = STATES.copy()
    states[3, 50, 1] = np.nan
    return states


@pytest.mark.parametrize(
    ("model", "x", "options", "message"),
    [
        (STATES[:5], X[:5], {}, "x has 5 sequences; .* takes at least 8"),
        (STATES, np.ones_like(X), {}, "x is constant"),
        (np.ones_like(STATES), X, {}, "states do not change with the input"),
        (np.arange(60.0)[None, :, None] + 0 * STATES, X, {}, "states do not change with the input"),
        (nan_states(), X, {}, "sequence 3 is nan at its 44. moment, number 1"),
        (lambda x: np.full((len(x), 60, 2), np.nan), X, {}, "is nan"),
        (STATES, np.where(X > 2, np.nan, X), {}, "x.* is nan; all values must be finite"),
        (STATES, X[:, :, 0], {}, r"x has shape \(20, 60\), expected \(batch, time, channels\)"),
        (STATES[:, :50], X, {}, "the inputs that they were recorded from"),
        (STATES, "noise", {}, "recorded states cannot be run on a probe"),
        (STATES, "pink", {}, "x='pink'"),
        (STATES[..., 0], X, {}, r"states have shape \(20, 60\)"),
        (STATES, X, {"lags": 0}, "lags"),
        (STATES, X, {"lags": 60}, "x has 60 samples, but lags=60"),
        (STATES, X, {"lags": 2.5}, "lags"),
        (STATES, X, {"noise": 0.0}, "noise"),
        (STATES, X, {"at": [2]}, "pass indices from 7"),
        (STATES, X, {"at": [60]}, "to 59"),
        (STATES, X, {"at": []}, "pass indices"),
        (STATES, X, {"components": 0}, "components"),
        (lambda x: x[:, 0], X, {}, "expected \\(batch, time, size\\)"),
        (lambda x: x[:, 1:], X, {}, "there must be one state after every sample"),
        ((lambda s, x: x, lambda batch: np.zeros((batch, 1))), X, {}, "the same state whatever state it is given"),
        ((lambda s, x: s[:3] + x[:3], lambda batch: np.zeros((batch, 1))), X, {}, "batch comes first|could not be"),
        (nn.LSTM(1, 4, bidirectional=True), "noise", {}, "bidirectional"),
        (Transformer(1, 1, width=8), "noise", {}, "attends"),
        (nn.TransformerEncoderLayer(4, 2), "noise", {}, "attends"),
        (nn.Linear(1, 4), "noise", {}, "torch module of which no state is known"),
        (nn.GRU(2, 4), "noise", {"channels": 3}, "channels=3, but the model takes 2"),
        (nn.GRU(2, 4), X, {}, "x has 1 channels, but the model takes 2 numbers"),
        (nn.GRU(2, 4), np.zeros((20, 60), int) + np.arange(60), {}, "x holds tokens, but the model takes 2 numbers"),
        (LegT(4, 8.0), np.zeros((20, 60), int) + np.arange(60), {}, "x holds tokens, but a memory takes numbers"),
        (TOKENS, np.zeros((20, 60), int) + np.arange(60), {}, "x holds the token 59, but .* from 0 to 6"),
        (TOKENS, X, {}, "but the model reads tokens from 0 to 6"),
        (nn.Sequential(nn.Flatten(), nn.Linear(60, 4)), X, {}, "of which no state is known"),
        (nn.Sequential(nn.Flatten(0, 1), nn.Unflatten(0, (1, -1)), nn.GRU(1, 4)), X, {}, "does not give '2' one"),
        (nn.GRU, "noise", {}, "pass a layer, member, stack"),
        ("lstm", "noise", {}, "pass a layer, member, stack"),
        (STATES, np.zeros((20, 60), int), {}, "more than one of them"),
        (STATES, -np.ones((20, 60), int), {}, "whole numbers from 0"),
    ],
)
def test_bad_input_is_told_in_a_sentence(model, x, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        look(model, x, **({"lags": 8} | options)).profile  # noqa: B018


def test_too_many_numbers_name_the_rows_that_are_needed():
    with pytest.raises(ValueError, match=r"pass at least 3000"):
        look(RNG.normal(size=(20, 60, 300)), X, 8)


def test_a_model_that_learns_while_it_is_looked_at_is_put_back():
    class Restless(nn.GRU):
        def forward(self, *given):
            with torch.no_grad():
                self.bias_hh_l0 += 0.1
            return super().forward(*given)

    model = Restless(1, 4)
    before = model.bias_hh_l0.clone()
    with pytest.raises(ValueError, match="changed 'bias_hh_l0'"):
        look(model, "noise", 4, **SMALL)
    assert (model.bias_hh_l0 == before).all()
    assert model.training


def test_modes_come_back_after_an_error_too():
    class Broken(nn.GRU):
        def forward(self, *given):
            raise RuntimeError("no")

    model = nn.Sequential()
    model = Broken(1, 4)
    model.eval()
    with pytest.raises(RuntimeError, match="no"):
        look(model, "noise", 4, **SMALL)
    assert not model.training


def test_a_step_that_learns_or_is_random_is_refused():
    rng = np.random.default_rng(0)
    noisy = (lambda s, x: 0.5 * s + x + rng.normal(size=s.shape), lambda batch: np.zeros((batch, 2)))
    with pytest.raises(ValueError, match="gives another state"):
        look(noisy, "noise", 4, **SMALL)


def test_questions_that_have_no_answer_are_refused_in_words():
    view = look(STATES, X, 8)
    with pytest.raises(ValueError, match="recorded states"):
        view.sensitivity  # noqa: B018
    with pytest.raises(ValueError, match="under independent samples"):
        view.degrees  # noqa: B018
    with pytest.raises(ValueError, match="look\\(model, 'noise'\\)"):
        view.as_system()
    with pytest.raises(ValueError, match=r"targets have shape \(3,\)"):
        view.decode(np.zeros(3))
    with pytest.raises(ValueError, match="do not change"):
        view.decode(np.zeros(20))
    with pytest.raises(ValueError, match="whole numbers from 0"):
        view.decode(np.arange(20) - 5)
    with pytest.raises(ValueError, match="finite real numbers"):
        view.decode(np.full(20, np.nan))


def test_tokens_have_no_numbers_to_ask_for():
    tokens = RNG.integers(4, size=(20, 60))
    view = look(np.eye(4)[tokens], tokens, 4)
    for name in ("sensitivity", "partial", "nonlinear", "degrees", "by_unit"):
        with pytest.raises(ValueError, match="tokens have no"):
            getattr(view, name)
    with pytest.raises(ValueError, match="tokens have no"):
        view.coefficients(LegT(4, 8.0))


def test_comparisons_name_their_models_and_share_an_input():
    for models in ({}, [LegT(4, 8.0)]):
        with pytest.raises(TypeError, match="pass a dictionary"):
            compare(models, "noise")
    tokens = RNG.integers(4, size=(20, 60))
    with pytest.raises(ValueError, match="some views"):
        compare({"a": look(np.eye(4)[tokens], tokens, 4), "b": LegT(4, 8.0)}, X, 8)


def test_states_beyond_the_bound_of_memory_are_refused(monkeypatch):
    from hippozoo.microscope import recording

    monkeypatch.setattr(recording, "MOST_BYTES", 10_000)
    with pytest.raises(ValueError, match="records at most"):
        look(LegT(4, 8.0), X, 8).profile  # noqa: B018
    with pytest.raises(ValueError, match="at=range"):
        look(nn.GRU(1, 8), X, 8).profile  # noqa: B018
