"""Salience HiPPO as a torch layer: a memory whose clock runs faster where the input matters."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import one_of, positive_number, shorten, whole_number
from hippozoo.discretise import LONGEST_STEP, longest_step
from hippozoo.layers import State, Timing
from hippozoo.layers.arguments import finest_dtype
from hippozoo.layers.derivatives import make_again
from hippozoo.layers.reading import weight_and_bias
from hippozoo.layers.uneven.tables import series_for
from hippozoo.layers.updates import augmented_generator, roll_varying, updates
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience._compiled_forms import chosen_method, roll_compiled
from hippozoo.zoo.salience._salient import Salient
from hippozoo.zoo.salience._scanned import Step, roll_scanned, scan_compiles
from hippozoo.zoo.salience._table_form import Rolled, roll_side_by_side, roll_table
from hippozoo.zoo.salience.network import SalienceNetwork
from hippozoo.zoo.salience.table import lag_table

__all__ = ["Form", "Readout", "SalienceLayer"]

Readout = Literal["shared", "full", "states"]
Form = Literal["table", "stepwise", "chunkwise", "recurrent"]

# Error of a coefficient of G between knots.
TOLERANCE = {torch.float32: 5e-7, torch.float64: 1e-10}
# Lags looked up at a time; a longer sequence goes in chunks, and its cost grows linearly from there on.
LOOKUPS = 1 << 21
BUFFERS = ("_rule", "_values", "_slopes", "_edges", "_jumps_of", "_terms")


class SalienceLayer(Salient):
    r"""A memory under an input-dependent clock: ``state' = g(t) (A state + b x) / timescale``.

    The salience g is learnt from the sample and, if wanted, from a summary of the memory. A moment of large g takes up
    much of what is remembered, one of small g next to nothing. Everything the memory does is a plain HiPPO system on
    the warped clock :math:`\varphi(t) = \int g`, exact for samples that are held.

    **Forms.** Four forms agree to 1e-4 of the largest value in float32 and 1e-7 in float64. ``"stepwise"`` takes one
    update matrix per item and sample from a fixed table; ``"chunkwise"``, where one clock is known beforehand and one
    functional reads, does so once in 32 samples. ``"table"`` reads the lags between all pairs of samples in a fixed
    table, the best for short sequences and high orders; its second derivatives are good to 1e-3 in float32, 1e-5 in
    float64. ``"recurrent"`` takes one exact matrix exponential per item and sample; it is the check on the others.
    Without `form` the layer takes the cheapest of the first three; inside torch.func and compilers, and on other
    devices than the CPU, the table, or, for a system without a good one, the recurrent form.

    Parameters
    ----------
    system
        The memory on the warped clock, for example ``LegT(order=256, timescale=30.0)``.
    channels
        Of the input; every channel has a memory of its own.
    dt
        Time from one sample to the next, where a call does not say otherwise.
    readout
        ``"shared"``: one lag functional, ``functional`` of shape (order,), read from every channel, which starts as a
        smooth bump half a timescale ago; the output is (batch, time, channels), or with `outputs` a linear map of it.
        ``"full"``: a linear map of all coefficients of all channels to `outputs` values. ``"states"``: the states.
    outputs
        Number of output values.
    summary
        Numbers in the pooled summary of the memory that the salience sees; 0: the salience sees the sample alone,
        which needs no loop over time.
    hidden
        Width of the salience network.
    largest
        Upper end of the salience; it starts at 1.
    per_channel
        A salience, and so a clock, for every channel.
    form
        ``"table"``, ``"stepwise"``, ``"chunkwise"`` or ``"recurrent"`` to insist on one.
    device, dtype
        As in any torch layer; float32 or float64.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> layer = SalienceLayer(LegT(order=16, timescale=20.0), channels=3, outputs=2)
    >>> x = torch.randn(4, 50, 3)
    >>> y, state = layer(x)
    >>> y.shape, state.shape
    (torch.Size([4, 50, 2]), torch.Size([4, 3, 16]))

    Two chunks, the state handed on, are one long call.

    >>> first, state = layer(x[:, :20])
    >>> second, state = layer(x[:, 20:], state)
    >>> torch.allclose(torch.cat([first, second], 1), y, atol=1e-4)
    True

    References
    ----------
    Paper, section "Salience HiPPO" and appendix "Selective Copying Experiment".
    """

    matched = "hidden"
    state_axes = "(batch, channels, order)"

    channels: int  # pyright: ignore[reportIncompatibleVariableOverride]
    _values: Tensor
    _slopes: Tensor
    _edges: Tensor
    _jumps_of: Tensor
    _rule: Tensor
    # Series of the steps that the layer takes of itself, up to its largest salience; empty where it would be too long.
    _terms: Tensor
    _reach: float

    def __init__(
        self,
        system: HippoSystem,
        channels: int,
        *,
        outputs: int | None = None,
        readout: Readout = "shared",
        summary: int = 32,
        hidden: int = 128,
        largest: float = 2.0,
        per_channel: bool = False,
        form: Form | None = None,
        dt: float = 1.0,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(whole_number("channels", channels), device, dtype)
        if not isinstance(system, HippoSystem):
            raise TypeError(f"system={shorten(system)}; pass a system such as LegT(order=64, timescale=100.0).")
        self.system = system
        self.dt = positive_number("dt", dt, why="it is the time from sample to sample")
        self.readout = one_of("readout", readout, get_args(Readout))
        self.outputs = None if outputs is None else whole_number("outputs", outputs)
        if self.readout == "full" and self.outputs is None:
            raise ValueError("readout='full' without outputs; pass the number of values to read, such as outputs=1.")
        if self.readout == "states" and self.outputs is not None:
            raise ValueError(f"readout='states' gives the states themselves; leave out outputs={outputs}.")
        self.form: Form | None = None if form is None else one_of("form", form, get_args(Form))
        self.per_channel = bool(per_channel)
        #: Whether one clock, of the sample alone, is read by one functional.
        self.reads_in_chunks = not summary and self.readout == "shared" and not self.per_channel
        if self.form == "chunkwise" and not self.reads_in_chunks:
            raise ValueError(
                "form='chunkwise' reads one salience of the sample alone by one functional; pass summary=0, "
                "readout='shared' and per_channel=False, or leave out the form."
            )
        self.network = SalienceNetwork(channels, system.order, summary, hidden, largest, per_channel)
        self.summary, self.hidden, self.largest = self.network.summary, hidden, self.network.largest
        self._generator = augmented_generator(system)
        self._longest = longest_step(system)
        if self.readout == "shared":
            self.functional = nn.Parameter(torch.from_numpy(bump(system)))
            if self.outputs:
                self.output = nn.Linear(self.channels, self.outputs)
        elif self.outputs:
            self.output = nn.Linear(self.channels * system.order, self.outputs)
        self.to(**self._place)
        self._make_tables(torch.empty((), **self._place), *BUFFERS)

    # -- what it is ------------------------------------------------------------------------------------------

    def chosen_form(self, n_steps: int, batch: int = 1) -> tuple[Form, int]:
        """The form that a call takes, and how many samples go in one chunk.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> layer = SalienceLayer(LegT(order=64, timescale=30.0), channels=8)
        >>> layer.chosen_form(30, batch=64)
        ('table', 30)
        """
        fast = chosen_method(self, n_steps, self.dt / self.system.timescale)
        return self._slow_form(n_steps, batch) if fast is None else (fast[0], n_steps)

    def _slow_form(self, n_steps: int, batch: int) -> tuple[Form, int]:
        """The form in plain torch, which compilers and transforms see through."""
        if self.form == "recurrent" or not self._has_table:
            return "recurrent", n_steps
        clocks = self.channels if self.per_channel else 1
        lags = max(1, LOOKUPS // (batch * clocks))
        edges = self.system.order + 1
        # A carried state costs as many lags as it has coefficients: up to about there, one piece is cheaper.
        if n_steps <= 2 * edges and n_steps**2 <= 8 * lags:
            return "table", n_steps
        chunk = int((np.sqrt(edges**2 + 4 * lags) - edges) / 2)  # chunk * (chunk + edges) = lags
        # However small the batch: lags within a chunk should not outgrow those of the carried state.
        return "table", min(n_steps, max(16, min(chunk, 2 * edges)))

    # -- the state in motion ---------------------------------------------------------------------------------

    def _start(self, batch: int, channels: int) -> State:
        return torch.zeros(batch, channels, self.system.order, dtype=self.dtype, device=self.device)

    def _roll(
        self, x: Tensor, state: Tensor | None, timing: Timing, keep_state: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        rolled = self._rolled(x, state, timing, keep_state)
        return self._mapped(rolled.y), rolled.state

    def _mapped(self, y: Tensor) -> Tensor:
        """Of reads by one functional their linear map; of a full readout the bias that is left to add."""
        if self.readout == "shared" and self.outputs:
            return self.output(y)
        bias = self._output()[1] if self.outputs else None
        return y if bias is None else y + bias

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        if steps is not None or not torch.compiler.is_compiling() or not self._terms.numel():
            return super()._single(x, state, steps)
        return self._one_step(Step(self, x), x, state)

    def _one_step(self, step: Step, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state, _ = step(state, x, self.network.sample_part(x), self.dt / self.system.timescale)
        return self._mapped(self._read(state[:, None]))[:, 0], state

    def _streamed(self) -> Any:
        if not self._terms.numel():
            return self._single
        step = Step(self, self._rule)

        def one(x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
            return self._one_step(step, x, state) if steps is None else self._single(x, state, steps)

        return one

    def _saliences(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        return self._rolled(x, state, timing, keep_state=False).salience

    def _warp(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        return torch.cumsum(self._saliences(x, state, timing) * self._clock(x, timing), 1)

    def _rolled(self, x: Tensor, state: Tensor | None, timing: Timing, keep_state: bool) -> Rolled:
        batch, n_steps, _ = x.shape
        if self.summary and n_steps > 1 and torch.compiler.is_compiling() and not torch.compiler.is_exporting():
            return self._rolled_in_a_graph(x, state, timing, keep_state)
        clock = self._clock(x, timing)
        fast = roll_compiled(self, x, state, clock)
        if fast is not None:
            y, after, salience = fast
            return Rolled(y, after if keep_state else None, salience)
        form, chunk = self._slow_form(n_steps, batch)
        roll = partial(roll_table, self) if form == "table" else self._recurrent
        if form == "table" and not self.summary and chunk < n_steps:
            lags = batch * (self.channels if self.per_channel else 1) * chunk * (chunk + self.system.order + 1)
            roll, chunk = partial(roll_side_by_side, self, chunk), chunk * max(1, LOOKUPS // lags)
        pieces, saliences = [], []
        # Split at once: a slice per chunk would have a gradient as long as the sequence, and the cost its square.
        chunks = list(zip(x.split(chunk, 1), clock.split(chunk, 1), strict=True))
        for number, (now, ticks) in enumerate(chunks, start=1):
            arguments = now, state, ticks, keep_state or number < len(chunks)
            rolled = Rolled(*make_again(roll, *arguments, when=chunk < n_steps))
            state = rolled.state
            pieces.append(rolled.y)
            saliences.append(rolled.salience)
        y = pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)
        return Rolled(y, state if keep_state else None, torch.cat(saliences, 1))

    def _rolled_in_a_graph(self, x: Tensor, state: Tensor | None, timing: Timing, keep_state: bool) -> Rolled:
        """By the scan operator where the compiler takes it; else a compiled model leaves its graph here."""
        if timing.steps is not None or not self._terms.numel() or not scan_compiles():
            return Rolled(*_outside(self._rolled, x, state, timing, keep_state))
        clock = self._clock(x, timing).expand(len(x), -1, -1)
        y, after, salience = roll_scanned(self, x, self._begin(x, state), clock)
        return Rolled(y, after if keep_state else None, salience)

    def _clock(self, x: Tensor, timing: Timing) -> Tensor:
        """Time per sample in timescales, (batch or 1, time, 1); none passes in the padding."""
        steps = timing.each(*x.shape[:2], default=self.dt).clamp(max=LONGEST_STEP * self.system.timescale)
        return (steps.to(x.device, self.dtype) / self.system.timescale)[..., None]

    # -- the recurrent form ----------------------------------------------------------------------------------

    def _recurrent(self, x: Tensor, before: Tensor | None, clock: Tensor, keep_state: bool) -> Rolled:
        state: Tensor = self._begin(x, before)
        part = self.network.sample_part(x)
        if not self.summary:
            salience = self.network.from_sample(part)
            y, state = self._advance(x, state, salience * clock)
            return Rolled(y, state, salience)
        pieces, saliences, pooling = [], [], self.network.pooling(x)
        for hidden, now, ticks in zip(part.unbind(1), x.split(1, 1), clock.split(1, 1), strict=True):
            pooled = state @ pooling.weight.mT
            salience = self.network.with_summary(hidden, pooled, pooling)[:, None]
            y, state = self._advance(now, state, salience * ticks)
            pieces.append(y)
            saliences.append(salience)
        return Rolled(torch.cat(pieces, 1), state, torch.cat(saliences, 1))

    def _advance(self, x: Tensor, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Exact steps of a warped clock, one matrix exponential each."""
        batch, n_steps, channels = x.shape

        def update(steps: Tensor) -> tuple[Tensor, Tensor]:
            return updates(steps.to(finest_dtype(steps.device)), self._generator, "zoh", x.dtype, longest=self._longest)

        if not self.per_channel:
            return roll_varying(x, state, steps[..., 0], update, self._read)
        # Channels with clocks of their own are items of their own.
        rows = batch * channels
        each = (t.transpose(1, 2).reshape(rows, n_steps) for t in (x, steps))
        own_x, own_steps = each
        states, after = roll_varying(own_x[..., None], state.reshape(rows, 1, -1), own_steps, update, lambda s: s)
        states = states.view(batch, channels, n_steps, -1).transpose(1, 2)
        return self._read(states), after.view(batch, channels, -1)

    def _read(self, states: Tensor) -> Tensor:
        if self.readout == "shared":
            return states @ self.functional
        return states.flatten(2) @ self._output()[0].mT if self.outputs else states

    def _output(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias of the map of all coefficients, or of what stands in its place."""
        return weight_and_bias(self.output, self.channels * self.system.order, self._values)

    # -- tables ----------------------------------------------------------------------------------------------

    def _compute_tables(self, place: Tensor) -> None:
        self._rule = self._generator[:-1].to(place)
        series = series_for(self.system, self.largest * self.dt / self.system.timescale, place.dtype)
        self._terms = torch.empty(0).to(place) if series is None else series.terms.to(place)
        self._reach = 0.0 if series is None else series.reach
        table = lag_table(self.system, TOLERANCE.get(place.dtype, 5e-7)) if self.form != "recurrent" else None
        stairs = None if table is None else table.staircase
        self._has_table = table is not None and stairs is not None
        if table is None or stairs is None:
            if self.form == "table":
                raise ValueError(
                    f"{self.system!r} has no well-conditioned table; leave out form='table' "
                    "(LagT has one up to order 8 or so, LegT, LegS and FouT at any order)."
                )
            return
        self._root_step = table.root_step
        arrays = table.values, table.slopes, stairs.lags, stairs.jumps_of
        for name, array in zip(BUFFERS[1:-1], arrays, strict=True):
            setattr(self, name, torch.from_numpy(np.ascontiguousarray(array)).to(place))


@torch.compiler.disable()
def _outside(rolled: Any, *arguments: Any) -> Rolled:
    return rolled(*arguments)


def bump(system: HippoSystem, at: float = 0.5, finest: float = 12.0) -> Float[np.ndarray, " order"]:
    """A lag functional that reads a smooth stretch of the past around `at` timescales ago.

    A start from which selective copying is learnt at every seed; random functionals fail at some (study
    ``salience-start``).

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> w = bump(LegT(64, timescale=30.0))
    >>> seen = LegT(64, timescale=30.0).reconstruct(w, np.array([3.0, 15.0, 27.0]))
    >>> bool(seen[1] > 10 * abs(seen[[0, 2]]).max())
    True
    """
    n = np.arange(system.order)
    return system.basis(at * system.timescale) * np.exp(-((n / finest) ** 2))
