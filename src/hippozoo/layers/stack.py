"""Blocks one after the other, and a whole model around them: numbers or tokens in, answers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hippozoo._internal.arguments import one_of, whole_number
from hippozoo.layers.arguments import on_device, silent_in_padding, whole_numbers_up_to
from hippozoo.layers.block import Block, Container, Factory, made_for
from hippozoo.layers.blocks import pick
from hippozoo.layers.contract import advance, initial_state_of
from hippozoo.layers.types import Lengths, Mask, Steps, Timing

__all__ = ["PooledState", "SequenceModel", "Stack"]

Pool = Literal["last", "mean"]


class Stack(Container):
    """Blocks one after the other, with one state for all of them.

    Parameters
    ----------
    width
        Channels of every block.
    layers
        One per block: what makes a layer, ``width -> layer``, or the layer itself. A `Block` is taken as it is, any
        other layer gets one. They need not be of one kind.
    options
        Of the blocks that are made here; see `Block`. ``bidirectional=True`` holds for all of them.

    Examples
    --------
    >>> from hippozoo.memory import LagLayer
    >>> from hippozoo.systems import LegT
    >>> stack = Stack(16, [lambda width: LagLayer(LegT(8, 20.0), width, taps=4)] * 3, gate=False)
    >>> y, state = stack(torch.randn(2, 50, 16))
    >>> y.shape, len(state)
    (torch.Size([2, 50, 16]), 3)
    """

    def __init__(
        self,
        width: int,
        layers: Sequence[Factory],
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__(whole_number("width", width), device, dtype)
        self.width = width
        factories: list[Any] = [layers] if isinstance(layers, nn.Module) or callable(layers) else list(layers)
        if not factories:
            raise ValueError("layers=(): a stack has at least one; pass functions of the width that make them.")
        blocks = []
        for factory in factories:
            layer = made_for(width, factory)
            if not isinstance(layer, Block):
                # What reads backwards is made by the function too, with random weights of its own.
                layer = Block(width, factory if options.get("bidirectional") else layer, **options)
            elif options.get("bidirectional") and not layer.bidirectional:
                if layer is factory:
                    raise ValueError("bidirectional=True with a ready-made Block; build it with bidirectional=True.")
                layer = Block(**{**layer.configuration(), "bidirectional": True})
            blocks.append(layer)
        self.blocks = nn.ModuleList(blocks).to(**self._place)

    @property
    def layers(self) -> tuple[Any, ...]:
        """The blocks."""
        return tuple(self.blocks)

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the stack again."""
        return {"width": self.width, "layers": self.layers}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the stack is printed."""
        return f"width={self.width}"

    def _parts(self) -> list[nn.Module]:
        return list(self.blocks)

    def _start(self, batch: int, channels: int) -> tuple[Any, ...]:
        return tuple(initial_state_of(block, batch, channels) for block in self.blocks)

    def _roll(self, x: Tensor, state: Any, timing: Timing, step: bool = False) -> tuple[Tensor, tuple[Any, ...]]:
        after, first = [], silent_in_padding(x, timing.real)
        for block, before in zip(self.blocks, [None] * len(self.blocks) if state is None else state, strict=True):
            x, one = advance(block, x, before, timing, first, step=step)
            after.append(one)
        return x, tuple(after)


class PooledState(NamedTuple):
    """What a model carries on that answers once per sequence.

    `seen` is the last real sample, or the sum of all, as the readout sees it; `samples` how many there were, or for how
    long they were held, where calls say so by `dt`.
    """

    layers: tuple[Any, ...]
    seen: Float[Tensor, "batch width"]
    samples: Float[Tensor, " batch"]


class SequenceModel(Container):
    """A model to train: numbers or tokens in, a stack of blocks, answers at every sample or once per sequence.

    Parameters
    ----------
    inputs
        Numbers in a sample; None with `tokens`.
    outputs
        Numbers in an answer; by default as many as there are tokens.
    layers
        One per block, as in `Stack`: memories, members, baselines, or any mixture of them.
    width
        Channels inside; `match` varies it.
    tokens
        Size of the alphabet, for samples that are whole numbers below it, (batch, time), in place of `inputs`.
    tied
        Whether the readout uses the embedding of the tokens again, which saves as many parameters.
    pool
        None: an answer at every sample. ``"last"`` or ``"mean"``: one per sequence, from its last real sample or from
        the mean over its real samples, each for as long as it is held where there is a `dt`, (batch, outputs); more
        samples may follow, with the state handed on.
    device, dtype
        As in any torch layer; float32 or float64.
    options
        Of the blocks that are made here; see `Block`.

    Examples
    --------
    >>> from hippozoo.memory import LagLayer
    >>> from hippozoo.systems import LegT
    >>> windows = LegT(4, 8.0), LegT(4, 32.0), LegT(4, 128.0)
    >>> def recent(width):
    ...     return LagLayer(windows, width, taps=4, products=1)
    >>> model = SequenceModel.match(params=25_000, tokens=96, tied=True, layers=[recent] * 4)
    >>> y, state = model(torch.randint(96, (2, 50)))
    >>> y, state = model.step(torch.tensor([5, 17]), state)
    >>> model.width, y.shape
    (35, torch.Size([2, 96]))
    """

    matched = "width"
    numbers = "inputs"

    def __init__(
        self,
        inputs: int | None = None,
        outputs: int | None = None,
        layers: Sequence[Factory] = (),
        width: int = 64,
        tokens: int | None = None,
        tied: bool = False,
        pool: Pool | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        if (inputs is None) == (tokens is None):
            raise ValueError(f"inputs={inputs} and tokens={tokens}; pass inputs for numbers or tokens for an alphabet.")
        super().__init__(inputs if tokens is None else whole_number("width", width), device, dtype)
        self.inputs = None if inputs is None else whole_number("inputs", inputs)
        self.tokens = None if tokens is None else whole_number("tokens", tokens)
        if outputs is None and self.tokens is None:
            raise ValueError("outputs=None: pass how many numbers an answer has.")
        self.outputs = self.tokens or 0 if outputs is None else whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.tied = bool(tied)
        if self.tied and self.outputs != self.tokens:
            raise ValueError(
                f"tied=True with tokens={tokens} and outputs={outputs}: a readout that uses the embedding again "
                "answers with a token; leave outputs out, or pass tied=False."
            )
        self.pool: Pool | None = one_of("pool", pool, (None, *get_args(Pool)))
        if self.tokens:
            self.embedding = nn.Embedding(self.tokens, self.width, **self._place)
        else:
            self.encoder = nn.Linear(self.inputs or 0, self.width, **self._place)
        self.stack = Stack(self.width, layers, **self._place, **options)
        self.norm = nn.RMSNorm(self.width, eps=1e-5, **self._place)
        if self.tied:
            self.bias = nn.Parameter(torch.zeros(self.outputs, **self._place))
            # A norm comes before the readout, so that its products begin at about 1 / sqrt(width) each.
            nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
            # At one, the model would begin by saying every token again.
            nn.init.constant_(self.norm.weight, 0.25)
        else:
            self.readout = nn.Linear(self.width, self.outputs, **self._place)

    @property
    def layers(self) -> tuple[Any, ...]:
        """The blocks."""
        return self.stack.layers

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the model again."""
        return {n: getattr(self, n) for n in ("inputs", "outputs", "layers", "width", "tokens", "tied", "pool")}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the model is printed."""
        names = "inputs", "tokens", "outputs", "width", "tied", "pool"
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name))

    # -- the state in motion ---------------------------------------------------------------------------------

    def forward(
        self,
        x: Float[Tensor, "batch *time inputs"] | Int[Tensor, "batch *time"] | PackedSequence,
        state: Any = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, Any]:
        """Take in a sequence; give the answer at every sample, or one with `pool`, and the state after the last one.

        Samples are (batch, time, inputs), tokens (batch, time) and without a mask; the rest is as in `SequenceLayer`.
        """
        if self.tokens and mask is not None:
            raise TypeError("mask was given with tokens, of which none can be held; use a token that means missing.")
        if isinstance(x, PackedSequence):
            if self.pool:
                raise TypeError("x is a PackedSequence, but there is one answer per sequence; pass x and lengths.")
            x = x._replace(data=self._embedded(x.data, "(samples,)")) if self.tokens else x
        elif self.tokens:
            x = self._embedded(x, "(batch,)" if step else "(batch, time)")
        return super().forward(x, state, dt, lengths, mask=mask, step=step)

    def _streamed(self) -> Any:
        if not self.tokens:
            return self._single
        return lambda x, state, steps: self._single(self.embedding(x), state, steps)

    def _numbers_of(self, x: Any) -> Any:
        return self._embedded(x, "(batch, time)") if self.tokens else x

    def _embedded(self, x: Any, axes: str) -> Tensor:
        """The tokens as vectors, once they have been checked."""
        if not isinstance(x, Tensor):
            raise TypeError(f"x is a {type(x).__name__}; pass a tensor of tokens, {axes}, such as torch.as_tensor(x).")
        if x.ndim != axes.count(",") + (not axes.endswith(",)")):
            raise ValueError(
                f"x has shape {tuple(x.shape)}, expected tokens {axes}; pass x[None] for one sequence, and no one-hot "
                "vectors (x.argmax(-1) takes them back)."
            )
        if 0 in x.shape[1:]:
            raise ValueError(f"x has shape {tuple(x.shape)} and holds nothing; pass at least one token.")
        on_device("x", x, self.device)
        tokens = whole_numbers_up_to("x", x, tuple(x.shape), (self.tokens or 1) - 1, what="the tokens' numbers")
        return self.embedding(tokens)

    def _parts(self) -> list[nn.Module]:
        return [self.stack]

    def _start(self, batch: int, channels: int) -> Any:
        layers = initial_state_of(self.stack, batch, self.width)
        if not self.pool:
            return layers
        place = {"dtype": self.dtype, "device": self.device}
        return PooledState(layers, torch.zeros(batch, self.width, **place), torch.zeros(batch, **place))

    def _roll(self, x: Tensor, state: Any, timing: Timing, step: bool = False) -> tuple[Tensor, Any]:
        before = state.layers if self.pool and state is not None else state
        y, layers = advance(self.stack, x if self.tokens else self.encoder(x), before, timing, step=step)
        y = self.norm(y)
        if not self.pool:
            return self._answer(y), layers
        if step:
            steps = timing.steps
            y, timing = y[:, None], Timing(steps if steps is None or steps.ndim == 0 else steps[:, None])
        return self._pooled(y, layers, self._begin(x, state), timing)

    def _pooled(self, y: Tensor, layers: Any, before: PooledState, timing: Timing) -> tuple[Tensor, PooledState]:
        """One answer for all samples so far, and the state behind them."""
        batch, n_steps = y.shape[:2]
        seen = silent_in_padding(y, timing.real)
        lengths = timing.lengths
        arrived = torch.full((batch,), n_steps, device=y.device) if lengths is None else lengths
        if self.pool == "last":
            last = seen[:, -1] if lengths is None else pick(seen, (lengths - 1).clamp(min=0))
            total = torch.where((arrived > 0)[:, None], last, before.seen)
        elif timing.steps is None:
            total = before.seen + seen.sum(1)
        else:  # a sample counts for as long as it was held
            weight = timing.each(batch, n_steps).to(y).expand(batch, n_steps)
            arrived = weight.sum(1)
            total = before.seen + (weight[..., None] * seen).sum(1)
        state = PooledState(layers, total, before.samples + arrived.to(y))
        if self.pool == "last":
            return self._answer(total), state
        return self._answer(total / torch.where(state.samples > 0, state.samples, 1.0)[:, None]), state

    def _answer(self, seen: Tensor) -> Tensor:
        return nn.functional.linear(seen, self.embedding.weight, self.bias) if self.tied else self.readout(seen)

    def _whole(self, x: Tensor, state: Any, timing: Timing, *options: Any) -> tuple[Tensor, Any]:
        if self.pool:
            return self._roll(x, state, timing)
        return super()._whole(x, state, timing, *options)
