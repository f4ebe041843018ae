"""Torch models: ours, torch's own recurrent layers, mambapy and transformers, alone or inside another module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hippozoo._internal.nests import leaves
from hippozoo.baselines import Transformer
from hippozoo.baselines.base import Baseline
from hippozoo.layers import Block, SequenceLayer, SequenceModel, Stack
from hippozoo.layers.calls import given_to
from hippozoo.memory import MemoryLayer
from hippozoo.microscope.recording import KINDS, Recording, Subject, at_moments, columns_of
from hippozoo.zoo.multiscale import MultiscaleLayer

__all__ = ["TorchSubject", "torch_subject"]

ATTENTION = (Transformer, nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoder, nn.TransformerEncoderLayer)
Parts = list[tuple[str, Tensor]]


class TorchSubject(Subject):
    """A torch model: `advance` takes one sample, `whole` a sequence, `parts` names what is carried.

    The model is run in evaluation mode and comes back as it was; where looking changed parameters, an error says so.
    """

    no_sensitivity = ""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.name = model, type(model).__name__
        first = next(iter([*model.parameters(), *model.buffers()]), torch.empty(0))
        self.device, self.dtype = first.device, first.dtype if first.is_floating_point() else torch.get_default_dtype()

    def start(self, batch: int, channels: int) -> Any:
        """The state before any sample; None where the model makes it."""

    def advance(self, sample: Tensor, state: Any) -> Any:
        """The state after one more sample."""
        raise NotImplementedError

    def whole(self, x: Tensor) -> Any:
        """The state after a sequence."""
        state = self.start(x.shape[0], x.shape[-1])
        for t in range(x.shape[1]):
            state = self.advance(x[:, t], state)
        return state

    def parts(self, state: Any) -> Parts:
        """What a state holds: the layer that each part belongs to, and its numbers, (batch, ...)."""
        raise NotImplementedError

    def record(self, x: np.ndarray, moments: np.ndarray) -> Recording:  # noqa: D102 - as in Subject
        sizes: list[tuple[str, int]] = []

        def states() -> Iterator[Any]:
            given = self.tensor(x)
            state = self.start(len(given), x.shape[-1])
            for sample in given.unbind(1):
                state = self.advance(sample, state)
                if not sizes:
                    sizes.extend((name, part.shape[1]) for name, part in self.numbers(state))
                yield state

        with looked_at(self.model), torch.no_grad():
            found = at_moments(states(), moments, lambda state: self.flat(state).cpu().double().numpy())
        return Recording(found, columns_of(sizes))

    def respond(self, x: np.ndarray) -> np.ndarray:  # noqa: D102 - as in Subject
        with looked_at(self.model), torch.no_grad():
            return self.flat(self.whole(self.tensor(x))).cpu().double().numpy()

    def tensor(self, x: np.ndarray) -> Tensor:
        """Samples where the model is and in what it computes in; tokens stay whole numbers."""
        dtype = torch.int64 if x.dtype.kind in "iu" else self.dtype
        return torch.from_numpy(np.ascontiguousarray(x)).to(self.device, dtype)

    def numbers(self, state: Any) -> Parts:
        """The parts that are real numbers, flattened; counters of whole numbers are no part of what is remembered."""
        parts = [(name, torch.view_as_real(part) if part.is_complex() else part) for name, part in self.parts(state)]
        if not parts:
            raise TypeError(f"the state of {self.name} is a {type(state).__name__} without tensors; {KINDS}.")
        return [(name, part.reshape(len(part), -1)) for name, part in parts if part.is_floating_point()]

    def flat(self, state: Any) -> Tensor:
        """Everything carried, (batch, size)."""
        return torch.cat([part for _, part in self.numbers(state)], 1)

    def batch_first(self, inputs: Tensor) -> Tensor:
        """Inputs as the model is given them, turned to (batch, time, ...)."""
        return inputs

    def backward(self, x: np.ndarray, directions: Callable[[int], Any]) -> Iterator[np.ndarray]:
        """Gradients with respect to x of ``direction · state`` after the last sample, for each of the directions."""
        # cuDNN has no gradients of recurrent layers in evaluation mode.
        with looked_at(self.model), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            given = self.tensor(x).requires_grad_()
            state = self.flat(self.whole(given))
            for direction in directions(state.shape[1]):
                weight = torch.from_numpy(direction).to(state)
                (gradient,) = torch.autograd.grad((state * weight).sum(), given, retain_graph=True)
                yield gradient.cpu().double().numpy()


class LayerSubject(TorchSubject):
    """Layers, members, stacks and baselines of ours."""

    def __init__(self, model: SequenceLayer) -> None:
        super().__init__(model)
        self.layer = model
        self.device, self.dtype = model.device, model.dtype
        self.tokens = getattr(model, "tokens", None)
        self.channels = None if self.tokens else model.channels

    def start(self, batch: int, channels: int) -> Any:
        return self.layer.initial_state(batch, None if self.layer.channels else channels)

    def advance(self, sample: Tensor, state: Any) -> Any:
        return self.layer.step(sample, state)[1]

    def whole(self, x: Tensor) -> Any:
        return self.layer(x)[1]

    def parts(self, state: Any) -> Parts:
        return layer_parts(self.layer, state, "")

    def impulse(self, n_steps: int) -> np.ndarray | None:
        if not isinstance(self.layer, (MemoryLayer, MultiscaleLayer)):
            return None
        x = np.zeros((1, n_steps, self.layer.channels or 1))
        x[0, 0, 0] = 1.0
        states = self.record(x, np.arange(n_steps)).states[0]
        return states[:, np.abs(states).max(0) > 0]  # the numbers of the first channel


def layer_parts(layer: SequenceLayer, state: Any, place: str) -> Parts:
    """What is carried, block by block where there are blocks."""
    if isinstance(layer, SequenceModel):
        found = layer_parts(layer.stack, state.layers if layer.pool else state, place)
        return found + ([("pool", state.seen), ("pool", state.samples)] if layer.pool else [])
    if isinstance(layer, Stack):
        found = []
        for number, (block, one) in enumerate(zip(layer.layers, state, strict=True)):
            found += layer_parts(block, one, f"{place}block {number + 1}")
        return found
    if isinstance(layer, Block):
        sides, found = [part for part in layer.layers if isinstance(part, SequenceLayer)], []
        for side, one in zip(sides, state, strict=True):
            kind = type(side).__name__
            found += layer_parts(side, one, f"{place}, {kind}" if len(sides) > 1 or isinstance(side, Block) else place)
        return found
    tensors = [leaf for _, leaf in leaves(state)]
    if isinstance(layer, Baseline) and layer.layers > 1:  # baselines have their layers on the second axis
        prefix = f"{place}, " if place else ""
        return [(f"{prefix}layer {n + 1}", tensor[:, n]) for n in range(layer.layers) for tensor in tensors]
    return [(place or "state", tensor) for tensor in tensors]


class RecurrentSubject(TorchSubject):
    """``nn.LSTM``, ``nn.GRU`` and ``nn.RNN``, h and c of every layer; or a cell of them."""

    def __init__(self, model: nn.RNNBase | nn.RNNCellBase) -> None:
        super().__init__(model)
        self.cells: Any = model
        self.channels, self.is_cell = model.input_size, isinstance(model, nn.RNNCellBase)

    def advance(self, sample: Tensor, state: Any) -> Any:
        if self.is_cell:
            return self.cells(sample, state)
        return self.cells(sample[:, None] if self.cells.batch_first else sample[None], state)[1]

    def whole(self, x: Tensor) -> Any:
        return super().whole(x) if self.is_cell else self.cells(self.batch_first(x))[1]

    def batch_first(self, inputs: Tensor) -> Tensor:
        return inputs if self.is_cell or self.cells.batch_first else inputs.transpose(0, 1)

    def parts(self, state: Any) -> Parts:
        tensors = [one[None] if self.is_cell else one for one in (state if isinstance(state, tuple) else (state,))]
        names = ["state"] if len(tensors[0]) == 1 else [f"layer {number + 1}" for number in range(len(tensors[0]))]
        return [(name, tensor[number]) for number, name in enumerate(names) for tensor in tensors]


class MambaPySubject(TorchSubject):
    """A ``Mamba`` or block of mambapy: its caches hold the scan's state and the last samples of every layer."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.mamba: Any = model
        self.layers = getattr(model, "layers", None)
        self.channels = self.mamba.config.d_model

    def start(self, batch: int, channels: int) -> Any:
        config, place = self.mamba.config, {"device": self.device, "dtype": self.dtype}
        inputs = torch.zeros(batch, config.d_inner, config.d_conv - 1, **place)
        memory = torch.zeros(batch, config.d_inner, config.d_state, **place)
        return [(memory, inputs)] * (1 if self.layers is None else len(self.layers))

    def advance(self, sample: Tensor, state: Any) -> Any:
        if self.layers is None:
            return [self.mamba.step(sample, state[0])[1]]
        return self.mamba.step(sample, list(state))[1]

    def parts(self, state: Any) -> Parts:
        return [(f"layer {number + 1}", part) for number, cache in enumerate(state) for part in cache]


class TransformersSubject(TorchSubject):
    """A recurrent model of the transformers library, such as MambaModel; tokens in, its cache is the state."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.tokens = int(getattr(model, "config").vocab_size)  # noqa: B009 - a module's attributes are untyped

    def advance(self, sample: Tensor, state: Any) -> Any:
        return self.model(sample[:, None], cache_params=state, use_cache=True).cache_params

    def parts(self, state: Any) -> Parts:
        found: Parts = []
        for number, layer in enumerate(getattr(state, "layers", None) or [state]):
            held = [getattr(layer, name, None) for name in ("conv_states", "recurrent_states", "ssm_states")]
            tensors = [leaf for one in held if one is not None for _, leaf in leaves(one) if isinstance(leaf, Tensor)]
            found += [(f"layer {number + 1}", tensor) for tensor in tensors]
        return found


class InsideSubject(TorchSubject):
    """Recurrent layers inside another module, such as an LSTM between an embedding and a readout.

    The module is run once on whole sequences. What its recurrent layers are given there is given to each of them again,
    sample by sample. Everything before them must be causal, as it is where samples are embedded one by one.
    """

    def __init__(self, model: nn.Module, inside: dict[str, TorchSubject]) -> None:
        super().__init__(model)
        self.inside = inside
        entries = [module for module in model.modules() if not list(module.children())]
        self.tokens = next((one.num_embeddings for one in entries if isinstance(one, nn.Embedding)), None)
        sizes = (getattr(one, name, None) for one in entries for name in ("in_features", "input_size", "in_channels"))
        self.channels = None if self.tokens else next((size for size in sizes if size), None)

    def refuse_shape(self, x: np.ndarray) -> None:
        if self.tokens:  # but `channels` is a guess from the first layer, for probes
            super().refuse_shape(x)

    def inputs(self, x: Tensor) -> dict[str, Tensor]:
        """What each recurrent layer is given, (batch, time, ...)."""
        heard = given_to({name: subject.model for name, subject in self.inside.items()}, lambda: self.model(x))
        found = {}
        for name in self.inside:
            calls = [given for caller, given in heard if caller == name]
            given = calls[0][0] if len(calls) == 1 and calls[0] else None
            given = self.inside[name].batch_first(given) if isinstance(given, Tensor) and given.ndim == 3 else None
            if given is None or given.shape[:2] != x.shape[:2]:
                raise ValueError(
                    f"{type(self.model).__name__} does not give {name!r} one sequence of {x.shape[1]} samples for each "
                    f"of {x.shape[0]} in one call; pass a function of sequences that returns states, (batch, time, "
                    "size), or a pair (step, initial_state)."
                )
            found[name] = given
        return found

    def record(self, x: np.ndarray, moments: np.ndarray) -> Recording:
        with looked_at(self.model), torch.no_grad():
            given = {name: one.cpu().numpy() for name, one in self.inputs(self.tensor(x)).items()}
        parts = {name: subject.record(given[name], moments) for name, subject in self.inside.items()}
        sizes = [(self._named(n, layer), len(c)) for n, part in parts.items() for layer, c in part.layers.items()]
        return Recording(np.concatenate([part.states for part in parts.values()], 2), columns_of(sizes))

    def whole(self, x: Tensor) -> Any:
        return {name: self.inside[name].whole(one) for name, one in self.inputs(x).items()}

    def parts(self, state: Any) -> Parts:
        return [(self._named(n, layer), part) for n, one in self.inside.items() for layer, part in one.parts(state[n])]

    def _named(self, name: str, layer: str) -> str:
        return layer if len(self.inside) == 1 else name if layer == "state" else f"{name}, {layer}"


def known_subject(model: nn.Module) -> TorchSubject | None:
    """How a model of a known kind is run; None for others."""
    if isinstance(model, SequenceLayer):
        return LayerSubject(model)
    if isinstance(model, (nn.RNNBase, nn.RNNCellBase)):
        return RecurrentSubject(model)
    library = type(model).__module__.partition(".")[0]
    if library == "mambapy" and hasattr(model, "step") and hasattr(model, "config"):
        return MambaPySubject(model)
    if library == "transformers" and hasattr(getattr(model, "config", None), "state_size"):
        return TransformersSubject(model)
    return None


def subjects_inside(model: nn.Module, place: str = "") -> dict[str, TorchSubject]:
    """The outermost modules of a known kind, by their names."""
    found: dict[str, TorchSubject] = {}
    for name, child in model.named_children():
        subject = known_subject(child)
        found |= subjects_inside(child, f"{place}{name}.") if subject is None else {f"{place}{name}": subject}
    return found


def torch_subject(model: nn.Module) -> TorchSubject:
    """How a torch model is run; attention and models that read backwards are refused, they have no state."""
    model = getattr(model, "_orig_mod", model)  # a compiled one runs as it was before
    for module in model.modules():
        if isinstance(module, ATTENTION) or "attention" in type(module).__name__.lower():
            raise TypeError(
                f"{type(model).__name__} attends ({type(module).__name__}): it looks at past samples again and has no "
                "state of fixed size to look at; pass a recurrent model."
            )
        if getattr(module, "bidirectional", False):
            raise TypeError(
                f"{type(model).__name__} is bidirectional: half of what it carries comes from the future, so that it "
                "has no state after a sample; pass a model with bidirectional=False."
            )
    subject = known_subject(model)
    if subject is not None:
        return subject
    if inside := subjects_inside(model):
        return InsideSubject(model, inside)
    raise TypeError(
        f"{type(model).__name__} is a torch module of which no state is known; pass a pair (step, initial_state), or a "
        "function of sequences that returns states (batch, time, size)."
    )


@contextmanager
def looked_at(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block; afterwards modes as before, and parameters unchanged or put back."""
    modes = [(module, module.training) for module in model.modules()]
    held = [(name, one, one.detach().clone()) for name, one in [*model.named_parameters(), *model.named_buffers()]]
    model.eval()
    changed: list[str] = []
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        with torch.no_grad():
            for name, one, before in held:
                if not ((one == before) | (one.isnan() & before.isnan())).all():
                    changed.append(name)
                    one.copy_(before)
    if changed:
        raise ValueError(
            f"{type(model).__name__} changed {changed[0]!r} while it was looked at, and has been put back; pass a "
            "model whose call does not train it."
        )
