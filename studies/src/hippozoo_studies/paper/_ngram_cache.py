"""A cache of n-grams beside a model of characters: what followed these characters last time.

Every context of n characters has one place, by its number modulo the places there are; a place holds the character that
followed last, one number. The model's distribution and the cache's guess are mixed by one weight, which is chosen on
validation together with n. As many places as a bank has numbers is what makes the two comparable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch.nn import functional

from hippozoo_studies.data.text import ALPHABET, WikiText, in_unknown

__all__ = ["CACHE_NUMBERS", "Cached", "cache_guesses", "choose_cache", "character_losses", "mixed_loss", "with_cache"]

#: Numbers that the cache may hold: those of the explicit stack's bank, 35 channels by 17 * 17 addresses.
CACHE_NUMBERS = 35 * 289
#: Contexts and weights that validation chooses among; 0 is no cache.
CONTEXTS = (1, 2, 3, 4, 5, 6, 8)
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class Cached:
    """What validation chose: characters in a context, the weight of the cache, and the loss with it.

    ``by_context`` has the smallest loss of every context.
    """

    context: int
    weight: float
    loss: float
    by_context: dict[int, float]


def cache_guesses(
    codes: Int[np.ndarray, " characters"], context: int, places: int = CACHE_NUMBERS
) -> tuple[Int[np.ndarray, " characters"], Bool[np.ndarray, " characters"]]:
    """What the cache expects at every character, from those before it; and where it expects anything.

    Parameters
    ----------
    codes
        The text.
    context
        Characters that name a place.
    places
        Numbers that the cache holds.

    Examples
    --------
    >>> guesses, known = cache_guesses(np.array([1, 2, 3, 1, 2, 3, 1]), context=2)
    >>> guesses[known].tolist(), known.tolist()
    ([3, 1], [False, False, False, False, False, True, True])
    """
    symbols = len(ALPHABET)
    keys = np.zeros(len(codes), np.int64)
    for back in range(1, context + 1):
        # Reduced at every character, so that no product overflows.
        keys[context:] = (keys[context:] * symbols + codes[context - back : len(codes) - back] + 1) % places
    table = [-1] * places
    guesses = np.full(len(codes), -1, np.int64)
    for place, (key, code) in enumerate(zip(keys.tolist(), codes.tolist(), strict=True)):
        if place >= context:
            guesses[place] = table[key]
            table[key] = code
    return np.maximum(guesses, 0), guesses >= 0


@torch.no_grad()
def character_losses(model: Any, codes: np.ndarray, chunk: int = 256) -> Float[np.ndarray, " characters"]:
    """The loss of every character, each given all before it; the first one is given a newline."""
    text = torch.from_numpy(np.concatenate([[ALPHABET.index("\n")], codes]).astype(np.int64))
    state, found = None, []
    for begin in range(0, len(codes), chunk):
        here = text[begin : begin + chunk + 1]
        scores, state = model(here[None, :-1], state)
        found.append(functional.cross_entropy(scores[0], here[1:], reduction="none").double())
    return torch.cat(found).numpy()


def mixed_loss(
    losses: Float[np.ndarray, " characters"],
    codes: Int[np.ndarray, " characters"],
    guesses: Int[np.ndarray, " characters"],
    known: Bool[np.ndarray, " characters"],
    weight: float,
    counted: Bool[np.ndarray, " characters"] | None = None,
) -> float:
    """Mean loss per character of the mixture; where the cache knows nothing, the model speaks alone.

    `counted` says which characters the mean is over; all by default.

    Examples
    --------
    >>> sure = np.zeros(3, bool)
    >>> mixed_loss(np.array([1.0, 2.0, 3.0]), np.zeros(3, int), np.zeros(3, int), sure, 0.5)
    2.0
    """
    share = np.where(known, weight, 0.0)
    probability = (1 - share) * np.exp(-losses) + share * (guesses == codes)
    return float(-np.log(probability[slice(None) if counted is None else counted]).mean())


def choose_cache(
    losses: Float[np.ndarray, " characters"],
    codes: Int[np.ndarray, " characters"],
    contexts: Sequence[int] = CONTEXTS,
    weights: Sequence[float] = WEIGHTS,
) -> Cached:
    """The context and the weight of the smallest loss: for validation characters and the model's losses there."""
    best: dict[int, tuple[float, float]] = {}
    for context in contexts:
        guesses, known = cache_guesses(codes, context)
        best[context] = min((mixed_loss(losses, codes, guesses, known, weight), weight) for weight in weights)
    context = min(best, key=lambda one: best[one][0])
    loss, weight = best[context]
    return Cached(context, weight, loss, {one: found for one, (found, _) in best.items()})


def with_cache(model: Any, text: WikiText, contexts: Sequence[int] = CONTEXTS) -> dict[str, Any]:
    """Perplexities of a trained model with the cache: context and weight by validation, then the test split once."""
    model.eval()
    valid, test = (part.codes.astype(np.int64) for part in (text.valid, text.test))
    on_valid, losses = character_losses(model, valid), character_losses(model, test)
    chosen = choose_cache(on_valid, valid, contexts)
    guesses, known = cache_guesses(test, chosen.context)
    told = {
        name: math.exp(mixed_loss(losses, test, guesses, known, chosen.weight, counted))
        for name, counted in (
            ("test_perplexity", None),
            ("test_perplexity_outside_unknown", ~in_unknown(text.test.codes)),
        )
    }
    return {
        "validation_perplexity": math.exp(chosen.loss),
        **told,
        "cache": {
            "context": chosen.context,
            "weight": chosen.weight,
            "numbers": CACHE_NUMBERS,
            "validation_by_context": {str(one): math.exp(loss) for one, loss in chosen.by_context.items()},
        },
        "without_cache": {
            "validation_perplexity": math.exp(on_valid.mean()),
            "test_perplexity": math.exp(losses.mean()),
        },
    }
