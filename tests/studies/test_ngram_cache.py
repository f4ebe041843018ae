"""A cache of n-grams beside a model of characters: its guesses, its size, and how it is mixed in."""

import numpy as np
import pytest
import torch

from hippozoo_studies import Finished
from hippozoo_studies.data.text import ALPHABET, Split, WikiText
from hippozoo_studies.paper import wikitext as study
from hippozoo_studies.paper._character_hybrids import build_unit
from hippozoo_studies.paper._character_models import build_stack
from hippozoo_studies.paper._characters import score
from hippozoo_studies.paper._ngram_cache import (
    CACHE_NUMBERS,
    cache_guesses,
    character_losses,
    choose_cache,
    mixed_loss,
    with_cache,
)


@pytest.mark.parametrize("context", [1, 3])
def test_the_cache_says_what_followed_last_time(context, rng):
    codes = rng.integers(4, size=300)
    guesses, known = cache_guesses(codes, context, places=100_003)
    last = {}
    for place in range(context, len(codes)):
        before = tuple(codes[place - context : place])
        assert known[place] == (before in last)
        assert not known[place] or guesses[place] == last[before]
        last[before] = codes[place]


def test_guesses_come_from_the_past_alone(rng):
    codes = rng.integers(5, size=200)
    changed = codes.copy()
    changed[120:] = 0
    for one, other in zip(cache_guesses(codes, 2), cache_guesses(changed, 2), strict=True):
        np.testing.assert_array_equal(one[:121], other[:121])


def test_the_cache_holds_no_more_numbers_than_the_bank():
    assert CACHE_NUMBERS == 10_115


def test_character_losses_add_up_to_the_score(rng):
    model = build_stack("lstm", 1, 3_000, tied=True)
    codes = rng.integers(len(ALPHABET), size=600).astype(np.uint8)
    assert character_losses(model, codes).mean() == pytest.approx(score(model, codes).loss, rel=1e-5)


def test_a_mixture_is_a_distribution(rng):
    symbols = 5
    scores = torch.log_softmax(torch.from_numpy(rng.normal(size=symbols)), 0)
    total = 0.0
    for code in range(symbols):
        one = mixed_loss(np.array([-scores[code].item()]), np.array([code]), np.array([3]), np.array([True]), 0.3)
        total += np.exp(-one)
    assert total == pytest.approx(1.0)


def test_a_text_that_repeats_itself_chooses_a_cache_and_noise_chooses_none(rng):
    period = np.tile(rng.integers(90, size=50), 20)
    losses = np.full(len(period), np.log(90.0))
    chosen = choose_cache(losses, period)
    assert chosen.weight == 0.4
    assert chosen.loss < losses.mean()
    noise = rng.integers(90, size=3000)
    assert choose_cache(np.full(3000, np.log(90.0)), noise).weight <= 0.01


def test_the_cache_joins_the_stack_that_was_chosen_without_it():
    config = study.Config(rows=(), families=("lstm", "lstm_cache"), sizes=(25_000,), seeds=(0,), ablations=())
    done, units = [], study.units(config)
    while units:
        done += [Finished(unit, {"validation_perplexity": 5 + unit["rate"]}, 1.0) for unit in units]
        units = [unit for unit in study.more_units(config, done) if unit not in [one.unit for one in done]]
    contest = {one.unit["family"]: one.unit for one in done if one.unit["stage"] == "contest"}
    assert contest["lstm_cache"] == contest["lstm"] | {"family": "lstm_cache"}
    one, other = (build_unit(unit) for unit in contest.values())
    assert str(one) == str(other)


def test_a_cache_of_a_model_that_knows_nothing_helps_on_a_text_that_repeats():
    line = np.array([ALPHABET.index(one) for one in "the quick brown fox jumps over the lazy dog\n"], np.uint8)
    split = Split(np.tile(line, 30), 0, 0, 0)
    found = with_cache(build_stack("lstm", 1, 3_000, tied=True), WikiText("tokens", split, split, split))
    assert found["cache"]["numbers"] == CACHE_NUMBERS
    assert found["cache"]["weight"] == 0.4
    assert found["test_perplexity"] < 10
