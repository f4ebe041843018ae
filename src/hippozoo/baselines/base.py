"""What all baselines share: the contract, its checks, and the search for the width that a budget allows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hippozoo._arguments import shorten, whole_number
from hippozoo._nests import leaves
from hippozoo.memory._torch_arguments import (
    finite_samples,
    finite_state,
    in_own_precision,
    samples,
    silent_in_padding,
    without_padding,
)

__all__ = ["Baseline", "parameter_count"]

# Not typing.Self, which the checker of the tests does not know inside a decorated method.
Model = TypeVar("Model", bound="Baseline")
Steps = Float[Tensor, "*steps"] | Int[Tensor, "*steps"] | float | int


def parameter_count(module: nn.Module) -> int:
    """How many numbers are trained.

    Examples
    --------
    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


class Baseline(nn.Module, ABC):
    """A sequence model with an explicit state, called as our layers are: ``y, state = model(x, state, dt, lengths)``.

    A linear map takes samples of `inputs` numbers to `width`, blocks follow, a linear map gives `outputs` numbers
    at every sample. States go in and come out, are never changed in place, and have the batch first. A model of its own
    writes `_roll` and `_start`; checking, padding, steps and the search for a width are here. One that knows time says
    so (`knows_time`), takes `dt` as the last argument of `_roll`, and writes `_single` too.

    Parameters
    ----------
    inputs, outputs
        Numbers in a sample and in an answer.
    width
        Channels inside.
    layers
        Blocks one after the other.
    device, dtype
        As in any torch layer; float32 or float64. Under ``torch.autocast`` a model keeps to its own dtype.

    Examples
    --------
    A model of one's own: the running sum of everything, read linearly.

    >>> class Sum(Baseline):
    ...     def __init__(self, inputs, outputs, width, layers=1):
    ...         super().__init__(inputs, outputs, width, layers)
    ...         self.enter, self.leave = nn.Linear(inputs, width), nn.Linear(width, outputs)
    ...     def _start(self, batch):
    ...         return torch.zeros(batch, self.width)
    ...     def _roll(self, x, state, lengths, real):
    ...         added = self.enter(x) if real is None else self.enter(x) * real[..., None]
    ...         sums = added.cumsum(1) + (0 if state is None else state[:, None])
    ...         return self.leave(sums), sums[:, -1]
    >>> model = Sum.match(params=1_000, inputs=3, outputs=2)
    >>> y, state = model(torch.ones(4, 10, 3))
    >>> y, state = model.step(torch.ones(4, 3), state)
    >>> model.width, y.shape
    (166, torch.Size([4, 2]))
    """

    #: The constructor's arguments, without device and dtype.
    arguments: ClassVar[tuple[str, ...]] = ("inputs", "outputs", "width", "layers")
    #: The argument that `match` varies, and the smallest step in which it can be varied.
    matched: ClassVar[str] = "width"
    #: Whether a sample may be held for a `dt` of its own; without that only None is taken.
    knows_time: ClassVar[bool] = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int,
        layers: int = 1,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.inputs = self.channels = whole_number("inputs", inputs)
        self.outputs = whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.layers = whole_number("layers", layers)
        made = torch.empty((), device=device, dtype=dtype)
        if made.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"dtype={made.dtype}; pass torch.float32 or torch.float64.")
        self._place: dict[str, Any] = {"device": made.device, "dtype": made.dtype}

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """What the model computes in, and what samples and states are given in."""
        return next(self.parameters()).dtype

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.parameters()).device

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the model again."""
        return {name: getattr(self, name) for name in self.arguments}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the model is printed."""
        return ", ".join(f"{name}={value}" for name, value in self.configuration().items())

    @classmethod
    def match(cls: type[Model], params: int = 25_000, *, inputs: int, outputs: int, **options: Any) -> Model:
        """The model whose number of parameters is nearest to `params`.

        Parameters
        ----------
        params
            Parameters wanted.
        inputs, outputs
            Numbers in a sample and in an answer.
        options
            Any other argument of the constructor, such as ``layers=2``; they stay as they are.

        Examples
        --------
        >>> from hippozoo.baselines import LSTM, parameter_count
        >>> model = LSTM.match(params=25_000, inputs=32, outputs=32)
        >>> model.width, parameter_count(model)
        (61, 25164)
        """
        params = whole_number("params", params)
        if cls.matched in options:
            raise ValueError(f"{cls.matched}={options[cls.matched]}: match chooses it; leave it out.")
        step = cls._matched_step(options)

        def build(size: int) -> Model:
            return cls(**{"inputs": inputs, "outputs": outputs, cls.matched: size * step, **options})

        def count(size: int) -> int:
            with torch.random.fork_rng(devices=[]):  # the search draws no randomness of the caller's
                return parameter_count(build(size))

        below, above = 1, 2
        if count(below) > params:
            raise ValueError(
                f"params={params}: the smallest {cls.__name__} of these sizes has {count(below)}; pass more, "
                "or smaller inputs, outputs and options."
            )
        while count(above) < params:
            below, above = above, 2 * above
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if count(middle) <= params else (below, middle)
        return build(min((below, above), key=lambda size: abs(count(size) - params)))

    @classmethod
    def _matched_step(cls, options: dict[str, Any]) -> int:
        """The matched argument is a multiple of this."""
        return 1

    def initial_state(self, batch: int) -> Any:
        """The state before any sample."""
        return self._start(whole_number("batch", batch))

    @abstractmethod
    def _start(self, batch: int) -> Any:
        """The state before any sample, of a batch that has been checked."""

    @abstractmethod
    def _roll(self, x: Tensor, state: Any, lengths: Tensor | None, real: Tensor | None) -> tuple[Tensor, Any]:
        """Outputs at every sample and the state after the last real one; everything has been checked.

        `real` is (batch, time), true at the samples before `lengths`; padding comes in as zeros.
        """

    # -- the state in motion ---------------------------------------------------------------------------------

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        state: Any = None,
        dt: Steps | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch time outputs"], Any]:
        """Take in a sequence; give the output at every sample, and the state after the last one.

        Parameters
        ----------
        x
            Samples, (batch, time, inputs); finite.
        state
            Where to go on from; without it, from nothing.
        dt
            How long samples are held, as in `hippozoo.memory.MemoryLayer`, if the model `knows_time`; None if not.
        lengths
            Number of real samples of each item, (batch,), from 0. In the padding behind them no time passes, whatever
            stands there, and the output is zero.
        """
        return in_own_precision(self.dtype, self._whole, x, state, dt, lengths)

    def step(
        self, x: Float[Tensor, "batch inputs"], state: Any, dt: Steps | None = None
    ) -> tuple[Float[Tensor, "batch outputs"], Any]:
        """Take in one sample per item, held for `dt` if the model `knows_time`; give output and new state."""
        return in_own_precision(self.dtype, self._single, x, state, dt)

    def _whole(self, x: Tensor, state: Any, dt: Steps | None, lengths: Tensor | None) -> tuple[Tensor, Any]:
        """A sequence, checked."""
        samples(x, self.dtype, self.inputs, "(batch, time, inputs)", "x[None] for one sequence", self.device)
        x, lengths, real = without_padding(x, lengths)
        self._check_values(x, state)
        y, state = self._roll(x, state, lengths, real, *self._time(dt))
        return silent_in_padding(y, real), state

    def _single(self, x: Tensor, state: Any, dt: Steps | None) -> tuple[Tensor, Any]:
        """One sample per item, checked."""
        self._check_sample(x, state)
        y, state = self._roll(x[:, None], state, None, None, *self._time(dt))
        return y[:, 0], state

    def _time(self, dt: Steps | None) -> tuple[()] | tuple[Steps]:
        """What `_roll` is told of time: nothing, or what a model that knows time was told."""
        if dt is None:
            return ()
        if not self.knows_time:
            raise TypeError(
                f"dt={shorten(dt)}: {type(self).__name__} knows no time between samples; leave dt out, or take a model "
                "that does, such as VanillaHippo."
            )
        return (dt,)

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_sample(self, x: Tensor, state: Any) -> None:
        hint = "x[:, 0] for the first sample of a sequence"
        samples(x, self.dtype, self.inputs, "(batch, inputs)", hint, self.device)
        if state is None:
            raise TypeError("state=None: step goes on from a state; pass model.initial_state(batch).")
        self._check_values(x, state)

    def _check_values(self, x: Tensor, state: Any) -> None:
        finite_samples(x)
        if state is None:
            return
        model, begin = self._start(1), f"initial_state({len(x)})"
        if type(state) is not type(model):
            raise TypeError(
                f"state={shorten(state)} is a {type(state).__name__}; pass what this layer returned, or {begin}."
            )
        for (place, leaf), (_, wanted) in zip(leaves(state), leaves(model), strict=True):
            finite_state(place, leaf, wanted.dtype, (len(x), *wanted.shape[1:]), "", begin, x.device)
