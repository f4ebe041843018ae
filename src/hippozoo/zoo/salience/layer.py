"""Salience HiPPO as a torch layer: a memory whose clock runs faster where the input matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils.checkpoint import checkpoint

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.discretise import LONGEST_STEP, longest_step
from hippozoo.layers import Lengths, Mask, SequenceLayer, State, Steps, Timing
from hippozoo.layers.arguments import finest_dtype
from hippozoo.layers.derivatives import inside_torch_func
from hippozoo.layers.linear import weight_and_bias
from hippozoo.layers.uneven.series import series_for
from hippozoo.layers.updates import augmented_generator, roll_varying, updates
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience._compiled_forms import chosen_method, roll_compiled
from hippozoo.zoo.salience._lookup import cubics, read, states_at
from hippozoo.zoo.salience._scanned import Step, roll_scanned, scan_compiles
from hippozoo.zoo.salience._side_by_side import roll_side_by_side
from hippozoo.zoo.salience._streaming import streamed
from hippozoo.zoo.salience.network import SalienceNetwork
from hippozoo.zoo.salience.table import lag_table

__all__ = ["Form", "Readout", "SalienceLayer"]

Readout = Literal["shared", "full", "states"]
Form = Literal["table", "stepwise", "chunkwise", "recurrent"]

# Error of a coefficient of G between knots.
TOLERANCE = {torch.float32: 5e-7, torch.float64: 1e-10}
# Lags looked up at a time; a longer sequence goes in chunks, and its cost grows linearly from there on.
LOOKUPS = 1 << 21
NUMBERS_OF_STATES = 1 << 22
BUFFERS = ("_rule", "_values", "_slopes", "_edges", "_jumps_of", "_terms")


class Rolled(NamedTuple):
    """What a stretch of time gives."""

    y: Tensor
    state: Tensor | None
    salience: Tensor


class SalienceLayer(SequenceLayer):
    r"""A memory under an input-dependent clock: ``state' = g(t) (A state + b x) / timescale``.

    The salience g is learnt from the sample and, if wanted, from a summary of the memory. A moment of large g takes up
    much of what is remembered, one of small g next to nothing. Everything the memory does is a plain HiPPO system on
    the warped clock :math:`\varphi(t) = \int g`, exact for samples that are held.

    **Cost.** Four forms that agree to 1e-4 of the largest value in float32 and 1e-7 in float64 (a gradient that goes
    back through a carried state of Leg-T at order 64 to 1e-3, where the form is ``"table"``). ``"stepwise"`` takes one
    update matrix per item and sample from a fixed table in the step; ``"chunkwise"``, where the salience is known
    beforehand and one functional reads, does so once in 32 samples and looks up numbers between. Both are compiled,
    exact to rounding, and cost the same per sample at any length. ``"table"`` reads the lags between all pairs of
    samples in a fixed table: T²/2 lookups, no state in memory, the best for short sequences and high orders. A long
    sequence goes in chunks, each of which takes over the state as the staircase that would have left it.
    ``"recurrent"`` takes one exact matrix exponential per item and sample; it is the check on the others. Without
    `form` the layer takes the cheapest of the first three; inside torch.func and compilers, and on other devices than
    the CPU, it is the table, or, for a system without a good one, the recurrent form. The table's second derivatives
    are those of the cubics between its entries: good to about 1e-3 in float32, 1e-5 in float64.

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
        self.readout = _one_of("readout", readout, get_args(Readout))
        self.outputs = None if outputs is None else whole_number("outputs", outputs)
        if self.readout == "full" and self.outputs is None:
            raise ValueError("readout='full' without outputs; pass the number of values to read, such as outputs=1.")
        if self.readout == "states" and self.outputs is not None:
            raise ValueError(f"readout='states' gives the states themselves; leave out outputs={outputs}.")
        self.form: Form | None = None if form is None else _one_of("form", form, get_args(Form))
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

    def forward(
        self,
        x: Float[Tensor, "batch *time channels"] | PackedSequence,
        state: State | None = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        keep_state: bool = True,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, State | None]:
        """As every `SequenceLayer`; without `keep_state` the state is None, and its computation is saved."""
        return self._call(x, state, dt, lengths, step, *(() if step else (keep_state,)), mask=mask)

    def salience(
        self,
        x: Float[Tensor, "batch time channels"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch time saliences"]:
        """The salience of every sample: (batch, time, 1), or (batch, time, channels) if each has its own.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> layer = SalienceLayer(LegT(order=8, timescale=10.0), channels=2)
        >>> layer.salience(torch.zeros(1, 5, 2)).shape
        torch.Size([1, 5, 1])
        """
        return self._enter(self._saliences, x, state, dt, lengths)

    def warped_time(
        self,
        x: Float[Tensor, "batch time channels"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch time saliences"]:
        """Where the warped clock stands after every sample, in timescales since the first one began.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> layer = SalienceLayer(LegT(order=8, timescale=10.0), channels=2)
        >>> bool((layer.warped_time(torch.randn(1, 5, 2)).diff(dim=1) > 0).all())
        True
        """
        return self._enter(self._warp, x, state, dt, lengths)

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
        tick = self.dt / self.system.timescale
        state, _ = Step(self, x)(state, x, self.network.sample_part(x), tick)
        return self._mapped(self._read(state[:, None]))[:, 0], state

    def _streamed(self) -> Any:
        return streamed(self)

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
        roll = self._table if form == "table" else self._recurrent
        if form == "table" and not self.summary and chunk < n_steps:
            roll, chunk = self._side_by_side(chunk, batch)
        pieces, saliences = [], []
        # Split at once: a slice per chunk would have a gradient as long as the sequence, and the cost its square.
        chunks = list(zip(x.split(chunk, 1), clock.split(chunk, 1), strict=True))
        for number, (now, ticks) in enumerate(chunks, start=1):
            arguments = now, state, ticks, keep_state or number < len(chunks)
            if chunk < n_steps and torch.is_grad_enabled() and not inside_torch_func():
                rolled = Rolled(*checkpoint(roll, *arguments, use_reentrant=False, preserve_rng_state=False))
            else:
                rolled = roll(*arguments)
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

    # -- the table form --------------------------------------------------------------------------------------

    def _table(self, x: Tensor, state: Tensor | None, clock: Tensor, keep_state: bool) -> Rolled:
        """A chunk as a staircase: where it jumps on the warped clock, by how much, and what each jump leaves."""
        batch, _, channels = x.shape
        jumps = torch.diff(x, dim=1, prepend=torch.zeros_like(x[:, :1]))
        clocks = channels if self.per_channel else 1
        before = x.new_zeros(batch, 0, clocks)
        if state is not None:
            # The past as the staircase of `order` levels that would have left just this state.
            jumps = torch.cat([self._jumps_of @ state.mT, jumps], 1)
            before = -self._edges[None, :, None].expand(batch, -1, clocks)
        part = self.network.sample_part(x)
        if self.summary:
            salience, edges = self._salience_of_the_state(part, jumps, before, clock)
        else:
            salience = self.network.from_sample(part)
            warped = torch.cumsum(salience * clock, 1)
            edges = torch.cat([before, torch.zeros_like(warped[:, :1]), warped], 1)
        starts, ends = edges[:, :-1], edges[:, before.shape[1] + 1 :]
        y = self._read_staircase(jumps, starts, ends)
        after = None
        if keep_state:
            after = self._states(jumps, starts, ends[:, -1:])[:, 0]
        return Rolled(y, after, salience)

    def _side_by_side(self, chunk: int, batch: int) -> tuple[Callable[..., Rolled], int]:
        """Chunks side by side, and as many samples of them as memory allows."""
        clocks = self.channels if self.per_channel else 1
        lags = batch * clocks * chunk * (chunk + self.system.order + 1)

        def roll(x: Tensor, state: Tensor | None, clock: Tensor, keep_state: bool) -> Rolled:
            salience = self.network.from_sample(self.network.sample_part(x))
            return Rolled(*roll_side_by_side(self, chunk, x, state, salience * clock), salience)

        return roll, chunk * max(1, LOOKUPS // lags)

    def _salience_of_the_state(
        self, part: Tensor, jumps: Tensor, before: Tensor, clock: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Sample by sample: the summary of what is there, the salience, and where the warped clock then stands."""
        pooling = self.network.pooling(jumps)
        cubic = cubics(self._values, self._slopes, pooling.weight.mT)
        edges, now = before, torch.zeros_like(jumps[:, :1, : before.shape[2]])
        old, saliences = before.shape[1], []
        for t, (hidden, ticks) in enumerate(zip(part.unbind(1), clock.split(1, 1), strict=True)):
            there = old + t
            if there == 0:
                pooled = jumps.new_zeros(len(jumps), self.channels, self.summary)
            elif self.per_channel:
                rows = read(cubic, now - edges, self._root_step)
                pooled = (jumps[:, :there, :, None] * rows).sum(1)
            else:
                rows = read(cubic, (now - edges)[..., 0], self._root_step)
                pooled = jumps[:, :there].mT @ rows
            salience = self.network.with_summary(hidden, pooled, pooling)[:, None]
            saliences.append(salience)
            edges = torch.cat([edges, now], 1)
            now = torch.addcmul(now, salience, ticks)
        return torch.cat(saliences, 1), torch.cat([edges, now], 1)

    def _read_staircase(self, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        if self.readout != "shared":
            return self._read_states(jumps, starts, ends)
        cubic = cubics(self._values, self._slopes, self.functional)
        if self.per_channel:
            left = read(cubic, ends[:, :, None] - starts[:, None], self._root_step)
            return (left * jumps[:, None]).sum(2)
        lags = ends - starts.mT
        return read(cubic, lags, self._root_step) @ jumps

    def _read_states(self, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """States moment by moment, as many at a time as memory allows; read at once where there is a readout."""
        clocks = starts.shape[2]
        numbers = max(1, len(jumps) * starts.shape[1] * clocks * self.system.order)
        stretch = max(1, NUMBERS_OF_STATES // numbers)

        def one(jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
            states = self._states(jumps, starts, ends)
            return states.flatten(2) @ self._output()[0].mT if self.outputs else states

        pieces = []
        for some_ends in ends.split(stretch, 1):
            arguments = jumps, starts, some_ends
            if stretch < ends.shape[1] and torch.is_grad_enabled() and not inside_torch_func():
                pieces.append(checkpoint(one, *arguments, use_reentrant=False, preserve_rng_state=False))
            else:
                pieces.append(one(*arguments))
        return torch.cat(pieces, 1)

    def _states(self, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """The state at each end: (batch, time, channels, order)."""
        lags = ends[:, :, None] - starts[:, None]  # (batch, time, edges, clocks)
        table = self._values, self._slopes, self._root_step, self._rule
        if self.per_channel:
            return torch.einsum("bec,btecn->btcn", jumps, states_at(lags, *table))
        return jumps.mT[:, None] @ states_at(lags[..., 0], *table)

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


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        raise ValueError(f"{name}={shorten(value)}; choose from {', '.join(map(repr, choices))}.")
    return value
