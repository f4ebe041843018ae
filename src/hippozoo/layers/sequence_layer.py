"""The contract of every torch layer: state in and out, `forward` equals `step`, padding, time, precision, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo._internal.nests import leaves, map_leaves
from hippozoo.layers.arguments import (
    above_zero,
    finest_dtype,
    finite_values,
    in_own_precision,
    on_device,
    real_tensor,
    refuse_low_precision,
    samples,
    samples_with_finite_powers,
    silent_in_padding,
    steps_of_time,
    without_padding,
)
from hippozoo.layers.configured import Configured, parameter_count
from hippozoo.layers.stepping import LayerStream, Scanner, Stepper, Time, exportable
from hippozoo.layers.types import Lengths, Mask, Steps, Timing, hold_missing

__all__ = ["SequenceLayer", "parameter_count"]

Outcome = TypeVar("Outcome")


class SequenceLayer(Configured, ABC):
    """A torch layer with an explicit state: ``y, state = layer(x, state, dt, lengths)``, or one `step` at a time.

    States go in and come out, are never changed in place, and have the batch first; ``state.detach()`` cuts the
    gradient. A whole sequence, the same in chunks with the state handed on, and one `step` after another agree.

    A layer of its own writes `_start` and `_roll`, and `_single` where one sample is another computation than a
    sequence of one. Tables that are computed from the configuration are made by ``_make_tables(place, *names)`` in the
    constructor, and filled by `_compute_tables`. Every argument of the constructor stays in an attribute of its name.
    Checks, padding, steps of time, precision, devices, checkpoints and the search for a size are here.

    Parameters
    ----------
    channels
        Numbers in a sample; None where any number will do.
    device, dtype
        As in any torch layer; float32 or float64. Under ``torch.autocast`` a layer keeps to its own dtype.

    Examples
    --------
    The running sum of everything, read linearly.

    >>> from torch import nn
    >>> class Sum(SequenceLayer):
    ...     matched = "width"
    ...     def __init__(self, channels, outputs, width=8, device=None, dtype=None):
    ...         super().__init__(channels, device, dtype)
    ...         self.outputs, self.width = outputs, width
    ...         self.enter = nn.Linear(channels, width, **self._place)
    ...         self.leave = nn.Linear(width, outputs, **self._place)
    ...     def _start(self, batch, channels):
    ...         return torch.zeros(batch, self.width, dtype=self.dtype, device=self.device)
    ...     def _roll(self, x, state, timing):
    ...         added = self.enter(x) * timing.each(*x.shape[:2]).to(x)[..., None]
    ...         sums = added.cumsum(1) + (0 if state is None else state[:, None])
    ...         return self.leave(sums), sums[:, -1]
    >>> layer = Sum.match(params=1_000, channels=3, outputs=2)
    >>> y, state = layer(torch.ones(4, 10, 3))
    >>> y, state = layer.step(torch.ones(4, 3), state)
    >>> layer.configuration(), y.shape
    ({'channels': 3, 'outputs': 2, 'width': 166}, torch.Size([4, 2]))
    """

    #: Whether a sample may be held for a `dt` of its own; without that only None is taken.
    knows_time: ClassVar[bool] = True
    #: Whether `forward` takes, as ``first``, what entered the stack that the layer stands in.
    wants_first: ClassVar[bool] = False
    #: Whether `forward` takes a `Timing`, which has been checked, in place of `dt`, and ``step=True`` for one sample.
    takes_timing: ClassVar[bool] = True
    #: What the numbers of a sample are called, in messages.
    numbers: ClassVar[str] = "channels"
    #: The axes of a state that is one tensor, in messages.
    state_axes: ClassVar[str] = ""
    # The highest power of the samples that the layer takes, as a norm takes squares: larger samples are refused.
    power: int = 1

    channels: int | None

    def __init__(
        self,
        channels: int | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = None if channels is None else whole_number(self.numbers, channels)
        made = torch.empty((), device=device, dtype=dtype)
        refuse_low_precision(made.dtype)
        # Where parts are made; and where the layer is, if it has neither parameters nor tables.
        self._place: dict[str, Any] = {"device": made.device, "dtype": made.dtype}

    # -- what a layer writes ---------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, batch: int, channels: int) -> Any:
        """The state before any sample, for sizes that have been checked."""

    @abstractmethod
    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, Any]:
        """Outputs at every sample and the state after the last real one; everything has been checked.

        Padding comes in as zeros and its outputs are set to zero; the state may be None.
        """

    def _single(self, x: Tensor, state: Any, steps: Tensor | None) -> tuple[Tensor, Any]:
        """One sample per item; `steps` is None, one number, or one per item."""
        each = steps if steps is None or steps.ndim == 0 else steps[:, None]
        y, state = self._roll(x[:, None], state, Timing(each))
        return y[:, 0], state

    def _begin(self, x: Tensor, state: Any) -> Any:
        """The state that was given, or the one before any sample."""
        return self._start(x.shape[0], x.shape[-1]) if state is None else state

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """What the layer computes in, and what samples and states are given in."""
        here = self._here
        return self._place["dtype"] if here is None else here.dtype

    @property
    def device(self) -> torch.device:
        """Where the layer is."""
        here = self._here
        return self._place["device"] if here is None else here.device

    @property
    def _here(self) -> Tensor | None:
        parameter = self._parameter
        return self._one_table if parameter is None else parameter

    def initial_state(self, batch: int, channels: int | None = None) -> Any:
        """The state before any sample; `channels` is for layers that take any number of them."""
        batch = whole_number("batch", batch, minimum=0)
        channels = self.channels if channels is None else whole_number("channels", channels)
        if channels is None:
            raise ValueError("channels=None, and this layer takes any number of them; pass channels.")
        if self.channels and channels != self.channels:
            raise ValueError(f"channels={channels}, but this layer has {self.channels}; leave channels out.")
        self.refresh_tables(self._home(None))
        return self._start(batch, channels)

    def stream(self, batch: int = 1, channels: int | None = None) -> LayerStream:
        """The layer for single samples in motion: checked once, then only computed; see `LayerStream`."""
        return LayerStream(self, self.initial_state(batch, channels))

    def _streamed(self) -> Callable[[Any, Any, Tensor | None], tuple[Tensor, Any]]:
        """What takes one sample like one that has been checked."""
        return self._single

    def exportable(self, time: Time = "any") -> Scanner | Stepper:
        """A copy of the layer for ``torch.export`` and ONNX: in evaluation mode, without gradients.

        Parameters
        ----------
        time
            ``"any"``: its graph takes any batch and any length, ``module(x, state)``, by torch's scan operator.
            ``"one"``: a graph of one `step`, for a loop outside.

        Examples
        --------
        >>> from hippozoo.memory import MemoryLayer
        >>> from hippozoo.systems import LegT
        >>> layer = MemoryLayer(LegT(order=8, timescale=20.0), channels=1)
        >>> x, state = torch.ones(1, 1), layer.initial_state(1)
        >>> program = torch.export.export(layer.exportable("one"), (x, state))
        >>> program.module()(x, state)[0].shape
        torch.Size([1, 1, 8])
        """
        return exportable(self, time)

    def _numbers_of(self, x: Any) -> Any:
        """A sequence as the numbers that `_roll` and `_single` take; they are what was given, but for tokens."""
        return x

    # -- the state in motion ---------------------------------------------------------------------------------

    def forward(
        self,
        x: Float[Tensor, "batch *time channels"] | PackedSequence,
        state: Any = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, Any]:
        """Take in a sequence; give the output at every sample, and the state after the last one.

        Parameters
        ----------
        x
            Samples, (batch, time, channels). They must be finite; a compiled or exported layer does not look,
            and there a NaN spoils the item it stands in. A `PackedSequence` is given back as one.
        state
            Where to go on from, as this layer returned it or `initial_state` gives it; without it, from nothing.
        dt
            How long samples are held, if the layer `knows_time`: one number, or one per sample as (time,) or
            (batch, time). From a stack comes a `Timing`, and nothing is checked again.
        lengths
            Number of real samples of each item, (batch,), from 0. No time passes in the padding behind them,
            whatever stands there: the output is zero, the state stays as it was after the last real sample.
        mask
            True where there is a sample, (batch, time) or (batch, time, channels). Elsewhere time passes and the last
            value is held, zero before the first; what stands there, NaN included, is never looked at.
        step
            Whether `x` is one sample per item, (batch, channels): so the method `step` calls the module, and hooks,
            wrappers and sharding see it.
        """
        return self._call(x, state, dt, lengths, step, mask=mask)

    def step(
        self, x: Shaped[Tensor, "batch *channels"], state: Any, dt: Steps | None = None
    ) -> tuple[Float[Tensor, "batch *output"], Any]:
        """Take in one sample per item, held for `dt`: one number, or one per item; give output and new state."""
        return self(x, state, dt, step=True)

    def _call(
        self, x: Any, state: Any, dt: Any, lengths: Any, step: bool, *options: Any, mask: Any = None
    ) -> tuple[Any, Any]:
        """A call; `options` are what `_roll` and `_single` of a layer take beyond the contract."""
        if mask is not None:
            x = hold_missing(x, mask, goes_on=state is not None, step=step)
        if isinstance(dt, Timing):
            return self._single(x, state, dt.steps, *options) if step else self._whole(x, state, dt, *options)
        if step:
            return in_own_precision(self.dtype, self._check_sample, x, state, dt, *options)
        if not isinstance(x, PackedSequence):
            return self._enter(self._whole, x, state, dt, lengths, *options)
        if lengths is not None:
            raise ValueError("lengths was given with a PackedSequence, which has its own; leave it out.")
        padded, lengths = pad_packed_sequence(x, batch_first=True)
        y, state = self._enter(self._whole, padded, state, dt, lengths, *options)
        order = x.sorted_indices
        if order is not None:
            y, lengths = y[order], lengths[order.to(lengths.device)]
        return x._replace(data=pack_padded_sequence(y, lengths, batch_first=True).data), state

    def _enter(
        self, run: Callable[..., Outcome], x: Any, state: Any, dt: Steps | None, lengths: Any, *options: Any
    ) -> Outcome:
        """``run(x, state, timing, *options)`` of a sequence that has been checked, in the layer's own precision."""
        return in_own_precision(self.dtype, self._check_sequence, x, run, state, dt, lengths, *options)

    def _whole(self, x: Tensor, state: Any, timing: Timing, *options: Any) -> tuple[Tensor, Any]:
        y, state = self._roll(x, state, timing, *options)
        return silent_in_padding(y, timing.real), state

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_sequence(
        self, x: Tensor, run: Callable[..., Outcome], state: Any, dt: Steps | None, lengths: Any, *options: Any
    ) -> Outcome:
        if torch.compiler.is_exporting() and isinstance(x.shape[1], torch.SymInt):
            raise ValueError(
                f"time is dynamic in this export, but a graph of {type(self).__name__} itself has one fixed length; "
                f"export layer.exportable(), which takes any batch and length, or layer.exportable('one') and loop "
                f"outside, or leave time out of dynamic_shapes."
            )
        self._check_shape(x, f"(batch, time, {self.numbers})", "x[None] for one sequence, x[..., None] for one channel")
        if x.shape[0] == 0:
            return self._of_nothing(run, x, Timing(), *options)
        x, lengths, real, given = without_padding(x, lengths)
        self._check_values(x, state)
        batch, n_steps = x.shape[:2]
        steps = self._check_steps(dt, x, {"(time,)": (n_steps,), "(batch, time)": (batch, n_steps)}, real)
        return run(x, state, Timing(steps, lengths, real, given), *options)

    def _check_sample(self, x: Tensor, state: Any, dt: Steps | None, *options: Any) -> tuple[Tensor, Any]:
        self._check_shape(x, f"(batch, {self.numbers})", "x[:, 0] for the first sample of a sequence")
        if state is None:
            raise TypeError("state=None: step goes on from a state; pass layer.initial_state(batch).")
        if x.shape[0] == 0:
            return self._of_nothing(self._single, x, None, *options)
        self._check_values(x, state)
        return self._single(x, state, self._check_steps(dt, x, {"(batch,)": (x.shape[0],)}, None), *options)

    def _of_nothing(self, run: Callable[..., Any], x: Tensor, *more: Any) -> Any:
        """What an empty batch gives: what one item of zeros gives, without the item."""
        with torch.no_grad():
            found = run(x.new_zeros(1, *x.shape[1:]), self._start(1, x.shape[-1]), *more)
        return map_leaves(lambda leaf: leaf[:0] if isinstance(leaf, Tensor) else leaf, found)

    def _check_shape(self, x: Tensor, axes: str, hint: str) -> None:
        home = self._home(x)
        samples(x, self.dtype, self.channels, axes, hint, home)
        self.refresh_tables(home)

    def _check_values(self, x: Tensor, state: Any) -> None:
        finite_values("x", x, what_to_do="mark missing samples with mask=, padding with lengths=.")
        samples_with_finite_powers(x, self.power)
        if state is None:
            return
        # Neither len(x) nor a text: both would fix the batch in an exported graph.
        batch, channels = x.shape[0], x.shape[-1]
        template = self._start(1, channels)
        sizes = "batch" if torch.compiler.is_compiling() else f"{batch}" if self.channels else f"{batch}, {channels}"
        begin = f"initial_state({sizes})"
        found, wanted = list(leaves(state)), list(leaves(template))
        kind = Tensor if isinstance(template, Tensor) else type(template)
        if not isinstance(state, kind) or [place for place, _ in found] != [place for place, _ in wanted]:
            raise TypeError(
                f"state={shorten(state)} is a {type(state).__name__}; pass the {kind.__name__} that this layer "
                f"returned, or {begin}."
            )
        axes = f"{self.state_axes} = " if self.state_axes else ""
        for (place, leaf), (_, like) in zip(found, wanted, strict=True):
            real_tensor(place, leaf, like.dtype)
            on_device(place, leaf, x.device)
            expected = (batch, *like.shape[1:])
            if tuple(leaf.shape) != expected:
                raise ValueError(
                    f"{place} has shape {tuple(leaf.shape)}, expected {axes}{expected}; "
                    f"pass what this layer returned, or {begin}."
                )
            if leaf.is_floating_point():
                finite_values(place, leaf, what_to_do="go on from an earlier state.")

    def _check_steps(
        self, dt: Steps | None, x: Tensor, shapes: dict[str, tuple[int, ...]], real: Tensor | None
    ) -> Tensor | None:
        if dt is None:
            return None
        if not self.knows_time:
            raise TypeError(
                f"dt={shorten(dt)}: {type(self).__name__} knows no time between samples; leave dt out, or take a model "
                "that does, such as VanillaHippo."
            )
        steps = steps_of_time("dt", dt, shapes)
        # A number stays on the host: what follows from it alone is computed there, and nothing waits.
        if isinstance(dt, Tensor):
            steps = steps.to(x.device, finest_dtype(x.device))
        above_zero("dt", steps if real is None or steps.ndim == 0 else torch.where(real, steps, 1.0))
        return steps

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        there = fn(torch.empty(0, **self._place))
        self._place = {"device": there.device, "dtype": there.dtype}
        return super()._apply(fn, recurse)
