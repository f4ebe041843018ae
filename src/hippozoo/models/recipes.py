"""A layer of each kind with good defaults, by name; and models of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, cast

from hippozoo._internal.arguments import one_of, shorten, whole_number
from hippozoo.baselines import GRU, LSTM, S4D, DeltaNet, Mamba
from hippozoo.layers import Block, Factory, SequenceLayer, SequenceModel
from hippozoo.memory.lags import LagLayer
from hippozoo.memory.layer import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer
from hippozoo.zoo.volterra import VolterraLayer

__all__ = ["RECIPES", "build_model", "recipe"]


def memory(width: int, history: int) -> SequenceLayer:
    """The whole sequence in one window, a few lag functionals of each channel."""
    return MemoryLayer(LegT(order(history), float(history)), channels=width, readout="per_channel", reads=2)


def lags(width: int, history: int) -> SequenceLayer:
    """Windows of a quarter of one another, the longest one finest, free recent samples, and a product of two reads."""
    *shorter, whole = windows(history)
    systems = [*(LegT(4, window) for window in shorter), LegT(order(history), whole)]
    return LagLayer(systems, width, taps=min(4, history), products=1)


def multiscale(width: int, history: int) -> SequenceLayer:
    """Windows from four samples to the whole sequence in one state, two functionals of each channel."""
    bank = MultiscaleMemory(LegT(4, min(4.0, history / 2)), longest=float(history), scales=5)
    return MultiscaleLayer(bank, channels=width, readout="per_channel", reads=2)


def salience(width: int, history: int) -> SequenceLayer:
    """A learnt clock beside lag functionals of a clock that goes evenly; alone it would be slow to learn."""

    def clock(width: int) -> SequenceLayer:
        return SalienceLayer(LegT(order(history), float(history)), width, summary=0, hidden=16)

    even = LagLayer(LegT(order(history), float(history)), width, taps=min(4, history))
    return Block(width, even, beside=clock)


def associative(width: int, history: int) -> SequenceLayer:
    """Values under addresses that depend on the last two samples."""
    return AssociativeMemory(width, width=min(16, width), system=LegT(8, 2.0), hidden=width)


def volterra(width: int, history: int) -> SequenceLayer:
    """Products of two functionals of all coefficients of all channels."""
    return VolterraLayer(LegT(min(4, order(history)), float(history)), width, outputs=width, rank=1)


# Names of the constructors that are no options of `build_model`.
TAKEN = {"inputs", "tokens", "outputs", "layers", "layer", "beside", "options"}

#: What makes a layer for so many channels and sequences of about so many samples.
RECIPES: dict[str, Callable[[int, int], SequenceLayer]] = {
    "memory": memory,
    "lags": lags,
    "multiscale": multiscale,
    "salience": salience,
    "associative": associative,
    "volterra": volterra,
    "gru": lambda width, history: GRU(width, width, width),
    "lstm": lambda width, history: LSTM(width, width, width),
    "mamba": lambda width, history: Mamba(width, width, width),
    "s4d": lambda width, history: S4D(width, width, width),
    "deltanet": lambda width, history: DeltaNet(width, width, width, heads=1),
}


def recipe(name: str, history: int) -> Callable[[int], SequenceLayer]:
    """What makes a layer of a kind for any width: a factory for `hippozoo.layers.Block` and the like.

    Parameters
    ----------
    name
        One of `RECIPES`.
    history
        Samples in a usual sequence, or how many samples back it matters.

    Examples
    --------
    >>> from hippozoo.layers import Stack
    >>> stack = Stack(16, [recipe("lags", 64), recipe("salience", 64)])
    >>> stack.layers[1].beside[0].system
    LegT(order=16, timescale=64.0)
    """
    make, history = RECIPES[one_of("name", name, RECIPES)], whole_number("history", history)
    return lambda width: make(width, history)


def build_model(
    names: str | Sequence[str],
    *,
    history: int,
    inputs: int | None = None,
    tokens: int | None = None,
    outputs: int | None = None,
    params: int | None = None,
    layers: int | None = None,
    **options: Any,
) -> SequenceModel:
    """A model by the names of its layers.

    Parameters
    ----------
    names
        One of `RECIPES` for all layers, or one for each.
    history
        Samples in a usual sequence.
    inputs, tokens, outputs, options
        Of `hippozoo.layers.SequenceModel` and its blocks, such as ``pool="last"`` or ``width=64``.
    params
        Parameters wanted: the width that comes nearest is chosen.
    layers
        Blocks, where there is one name; 2 by default.

    Examples
    --------
    >>> from hippozoo.layers import parameter_count
    >>> model = build_model("memory", history=64, inputs=1, outputs=10, params=17_000, pool="last")
    >>> parameter_count(model), model.width
    (16919, 37)
    """
    if isinstance(names, str):
        names = [names] * whole_number("layers", 2 if layers is None else layers)
    elif layers is not None and layers != len(names):
        raise ValueError(f"layers={layers}, but there are {len(names)} names; leave layers out.")
    known = {*inspect.signature(SequenceModel).parameters, *inspect.signature(Block).parameters} - TAKEN
    for name in options:
        if name not in known:
            near = get_close_matches(name, sorted(known), n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise TypeError(f"unknown option {name}={shorten(options[name])}; {hint}All: {', '.join(sorted(known))}.")
    arguments = {"inputs": inputs, "tokens": tokens, "outputs": outputs, **options}
    arguments["layers"] = cast(list[Factory], [recipe(name, history) for name in names])
    return SequenceModel(**arguments) if params is None else SequenceModel.match(params, **arguments)


def order(history: int) -> int:
    """Coefficients for a window of so many samples: enough to tell a quarter of them apart."""
    return max(2, min(16, history))


def windows(history: int) -> list[float]:
    """The whole history, a quarter of it and so on, down to 8 samples or so; the longest comes last."""
    found = [float(history)]
    while found[-1] >= 32:
        found.append(found[-1] / 4)
    return found[::-1]
