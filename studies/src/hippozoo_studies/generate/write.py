"""Writing: a prompt goes in, then every character that is drawn, one step of the model each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hippozoo import checkpoint
from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.checkpoint import CheckpointError
from hippozoo.layers import SequenceModel
from hippozoo_studies.data.text import ALPHABET, encode, outside_alphabet
from hippozoo_studies.generate.fast import FastSteps

__all__ = ["demand_characters", "load_characters", "write_text"]

# From so many characters on, compiled steps save more time than compiling them takes.
LONG = 20_000
# What a generator of torch takes.
_LARGEST_SEED = 2**64 - 1


def load_characters(path: str | Path) -> SequenceModel:
    """A model of characters from a checkpoint; anything else is refused.

    Parameters
    ----------
    path
        A file that `hippozoo.checkpoint.save` wrote, with a `SequenceModel` of 96 tokens that answers with scores of
        all of them.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such checkpoint; pass one that a training wrote.")
    found = checkpoint.load(file)
    told = f"a {type(found).__name__}"
    if isinstance(found, SequenceModel):
        if found.tokens == found.outputs == len(ALPHABET) and found.pool is None:
            return found.eval()
        told += f" with tokens={found.tokens}, outputs={found.outputs}, pool={found.pool}"
    raise CheckpointError(
        f"{file} holds {told}, no model of characters; pass the checkpoint of a SequenceModel with "
        f"tokens={len(ALPHABET)} that answers at every sample, such as hippozoo.models.explicit_characters()."
    )


def demand_characters(prompt: str) -> None:
    """Refuse a prompt that is empty or has characters outside the alphabet.

    Examples
    --------
    >>> demand_characters("The town of ")
    """
    if not isinstance(prompt, str) or not prompt:
        raise ValueError(f"prompt={shorten(prompt)} holds no character; pass some text to go on from.")
    strangers = outside_alphabet(prompt)
    if strangers:
        raise ValueError(
            f"prompt holds {' '.join(map(repr, strangers[:5]))}, outside the alphabet of newline and printable ASCII; "
            "leave them out or write them in ASCII."
        )


def write_text(
    model: SequenceModel, prompt: str, length: int = 400, temperature: float = 0.8, seed: int = 0
) -> Iterator[str]:
    """The characters that follow a prompt, one after the other.

    Parameters
    ----------
    model
        As `load_characters` gives it.
    prompt
        Text to go on from.
    length
        Characters to write.
    temperature
        Below 1 likely characters become likelier; the smaller, the fewer surprises.
    seed
        Of the draws, below 2^64.

    Examples
    --------
    >>> from hippozoo.models import explicit_characters
    >>> _ = torch.manual_seed(0)
    >>> text = "".join(write_text(explicit_characters(params=3_000), "The ", length=5))
    >>> len(text)
    5
    """
    demand_characters(prompt)
    length = whole_number("length", length)
    temperature = positive_number("temperature", temperature)
    seed = whole_number("seed", seed, minimum=0)
    if seed > _LARGEST_SEED:
        raise ValueError(f"seed={shorten(seed)} has more than 64 bits; pass one of at most {_LARGEST_SEED}.")
    generator = torch.Generator().manual_seed(seed)
    return _written(model, prompt, length, temperature, generator)


@torch.no_grad()
def _written(
    model: SequenceModel, prompt: str, length: int, temperature: float, generator: torch.Generator
) -> Iterator[str]:
    # A newline first, as at the beginning of a text; then one state for everything.
    codes = encode("\n" + prompt).tolist()
    step, state = _steps(model, len(codes) + length)
    scores = torch.empty(0)
    for code in codes:
        scores, state = step(code, state)
    for _ in range(length):
        chances = torch.softmax(scores.double() / temperature, -1)
        drawn = int(torch.multinomial(chances, 1, generator=generator))
        yield ALPHABET[drawn]
        scores, state = step(drawn, state)


def _steps(model: SequenceModel, length: int) -> tuple[Callable[[int, Any], tuple[Tensor, Any]], Any]:
    """One character in, scores of the next one out; and the state before any."""
    if length >= LONG:
        with suppress(ValueError):  # a model that cannot be compiled is stepped as it is
            fast = FastSteps(model)

            def compiled_step(code: int, state: Any) -> tuple[Tensor, Any]:
                scores, state = fast.step(code, state)
                return torch.from_numpy(scores), state

            return compiled_step, fast.initial_state()

    def plain_step(code: int, state: Any) -> tuple[Tensor, Any]:
        scores, state = model.step(torch.tensor([code]), state)
        return scores[0], state

    return plain_step, model.initial_state(1)
