"""Compiled steps: one character after the other, without torch, from the same explicit state."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import shorten
from hippozoo.layers import Block, SequenceModel
from hippozoo.memory import LagLayer
from hippozoo.zoo.associative import Recall
from hippozoo_studies.generate import _kernels

__all__ = ["FastSteps"]

Scores = Float[np.ndarray, " symbols"]


class FastSteps:
    """The steps of a model of characters at batch 1, compiled: what ``model.step`` says, many times faster.

    States are lists with the arrays of each block, explicit and never changed in place. The weights are copied.

    Parameters
    ----------
    model
        A float32 `SequenceModel` of tokens whose blocks hold one `LagLayer` or `Recall` each, with an rms norm and no
        network behind the layer, such as `hippozoo.models.explicit_characters` gives.

    Examples
    --------
    >>> import torch
    >>> from hippozoo.models import explicit_characters
    >>> model = explicit_characters(params=3_000)
    >>> fast = FastSteps(model)
    >>> scores, state = fast.step(7, fast.initial_state())
    >>> wanted, _ = model.step(torch.tensor([7]), model.initial_state(1))
    >>> bool(np.allclose(scores, wanted.detach()[0], atol=1e-5))
    True
    """

    def __init__(self, model: SequenceModel) -> None:
        fits = isinstance(model, SequenceModel) and model.tokens and not model.pool and model.dtype == torch.float32
        if not fits:
            raise ValueError(
                f"{shorten(model)} cannot be compiled; "
                "pass a float32 SequenceModel of tokens that answers at every step."
            )
        self._embedding = _array(cast(nn.Embedding, model.embedding).weight)
        head = None if model.tied else cast(nn.Linear, model.readout)
        self._symbols = self._embedding if head is None else _array(head.weight)
        self._bias = _array(model.bias if head is None else head.bias)
        self._norm = _array(model.norm.weight)
        self._blocks = [_weights(block) for block in model.layers]
        self._starts = [_start(block) for block in model.layers]

    def initial_state(self) -> list[tuple[np.ndarray, ...]]:
        """The state before any character."""
        return list(self._starts)

    def step(self, code: int, state: list[tuple[np.ndarray, ...]]) -> tuple[Scores, list[tuple[np.ndarray, ...]]]:
        """Take in one character; give the scores of every symbol as the next one, and the new state."""
        x = first = self._embedding[code]
        after: list[tuple[np.ndarray, ...]] = []
        for weights, one in zip(self._blocks, state, strict=True):
            if len(one) == 1:
                x, memory = _kernels.lag_block(x, *weights, *one)
                after.append((memory,))
            else:
                x, address, bank = _kernels.recall_block(x, first, *weights, *one)
                after.append((address, bank))
        return _kernels.answer(x, self._norm, self._symbols, self._bias), after


def _array(tensor: Any) -> np.ndarray:
    return np.ascontiguousarray(cast(Tensor, tensor).detach().numpy()).copy()


def _weights(block: Block) -> tuple[Any, ...]:
    """What the kernels take, in their order."""
    layer = block.layer
    known = isinstance(layer, Recall) or (isinstance(layer, LagLayer) and layer.reads == 1)
    if not known or block.beside or block.hidden or block.norm != "rms" or not block.around:
        raise ValueError(
            f"a block of {type(layer).__name__} cannot be compiled: only one LagLayer of one read or one Recall, with "
            "an rms norm, a way around and no network; take model.step."
        )
    around = _array(block.before.weight), _array(block.enter.weight), _array(block.enter.bias)
    leave = _array(block.leave.weight), _array(block.leave.bias)
    if isinstance(layer, Recall):
        gate = layer.write_gate
        return *around, _array(gate.weight)[0], np.float32(gate.bias.item()), *leave
    return *around, _array(layer.A_d.mT), _array(layer.b_d), _array(cast(LagLayer, layer).functionals), *leave


def _start(block: Block) -> tuple[np.ndarray, ...]:
    begin = block.layer.initial_state(1, block.width)
    return tuple(_array(part[0]) for part in (begin if isinstance(begin, tuple) else (begin,)))
