"""Salience sample by sample: one update matrix per item from the update table, with a backward pass of its own.

The clock is shared by the channels of an item, so one matrix moves them all. States are kept for a segment of time;
of earlier segments only the first state is, and the backward pass rolls them again, their salience now being known.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from hippozoo.layers.derivatives import with_own_backward
from hippozoo.zoo.salience._kernels import add_and_dot, advance_rows, pull_rows, tanh_in_place, update_matrices
from hippozoo.zoo.salience.update_table import Tables, updates_at

__all__ = ["Fixed", "Network", "roll_stepwise"]

# Numbers of states in a segment: they stay in the cache.
SEGMENT = 1 << 20
# Numbers of states kept for the backward pass; of longer sequences only the first of every segment. Rolling them again
# in the cache takes no longer than fetching them from memory, and costs the same per sample at any length.
KEPT = 1 << 22


class Fixed(NamedTuple):
    """What a roll needs besides tensors with gradients."""

    tables: Tables
    readout: str
    largest: float


class Network(NamedTuple):
    """The salience network with a summary of the memory, as tensors."""

    part: Tensor  # (time, batch, hidden)
    pool_weight: Tensor  # (summary, order)
    pool_bias: Tensor
    summary_weight: Tensor  # (summary, hidden)
    out_weight: Tensor  # (saliences, hidden)
    out_bias: Tensor


def roll_stepwise(
    fixed: Fixed,
    x: Tensor,
    clock: Tensor,
    state: Tensor,
    weight: Tensor | None,
    salience: Tensor | Network,
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, state and salience of a sequence, time first.

    `x` is (time, batch, channels), `clock` (time, batch, 1), in timescales, `state` (batch, channels, order), `weight`
    what reads the states: (order,) for the shared readout, (outputs, channels * order) for the full one. `salience` is
    (time, batch, saliences), or the network that finds it from sample and state.
    """
    network = salience if isinstance(salience, Network) else (salience,)
    forward, backward, definition = (partial(one, fixed) for one in (_roll, _pull, roll_plainly))
    return with_own_backward(forward, backward, definition, x, clock, state, weight, *network)


# -- the definition -----------------------------------------------------------------------------------------------


def roll_plainly(
    fixed: Fixed, x: Tensor, clock: Tensor, state: Tensor, weight: Tensor | None, *network: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same in plain torch: slow, and differentiable as often as one likes."""
    states, saliences = [], []
    for t in range(len(x)):
        if len(network) == 1:
            salience = network[0][t]
        else:
            part, pool_weight, pool_bias, summary_weight, out_weight, out_bias = network
            summary = torch.tanh(state @ pool_weight.mT + pool_bias).mean(1)
            hidden = functional.softplus(part[t] + summary @ summary_weight)
            salience = fixed.largest * torch.sigmoid(hidden @ out_weight.mT + out_bias)
        both = updates_at(salience * clock[t], fixed.tables)  # (batch, saliences, order + 1, order)
        if salience.shape[-1] == 1:
            state = state @ both[:, 0, :-1] + x[t][..., None] * both[:, 0, -1:]
        else:
            state = (state[..., None, :] @ both[..., :-1, :])[..., 0, :] + x[t][..., None] * both[..., -1, :]
        states.append(state)
        saliences.append(salience)
    return read(fixed, torch.stack(states), weight), state, torch.stack(saliences)


def read(fixed: Fixed, states: Tensor, weight: Tensor | None) -> Tensor:
    """What the readout makes of states, (time, batch, channels, order)."""
    if weight is None:
        return states
    return states @ weight if fixed.readout == "shared" else states.flatten(2) @ weight.mT


# -- the compiled way ---------------------------------------------------------------------------------------------


class Mover:
    """Moves states by the compiled table; keeps the room it works in.

    Fresh memory is dear (the system clears every page), so what a segment needs is asked for once and used again.
    """

    def __init__(self, tables: Tables, batch: int, channels: int, per_channel: bool) -> None:
        self._rooms: dict[str, Tensor] = {}
        self.plain = tables.b
        self.root_step, self.per_channel = tables.root_step, per_channel
        knots = tables.knots
        self.order = knots.shape[-1]
        self.rows, self.A_T = batch * channels, tables.A_T
        if per_channel:
            self.knots = knots[:, 0].contiguous().numpy()
            self.knots_T = knots[:, 0].mT.contiguous().numpy()
            self.work = knots.new_empty(3, self.rows, self.order)
        else:
            self.knots = knots.flatten(0, 1).flatten(1).numpy()
            self.both = knots.new_empty(batch, self.order + 1, self.order)
            self.flat = self.both.flatten(1).numpy()
            self.E_T, self.G = self.both[:, :-1], self.both[:, -1:]

    def room(self, name: str, n_steps: int, *shape: int) -> Tensor:
        """Room for so many steps, its content anything."""
        if name not in self._rooms or len(self._rooms[name]) < n_steps:
            self._rooms[name] = self.plain.new_empty(n_steps, *shape)
        return self._rooms[name][:n_steps]

    def forwards(self, steps: Tensor, x: Tensor, state: Tensor, out: Tensor) -> None:
        """``out = E state + G x``."""
        if self.per_channel:
            # The derivatives by the step are products with A, which commutes with everything here.
            first, second = self.work[0], self.work[1]
            torch.mm(state.view(self.rows, -1), self.A_T, out=first)
            first.addcmul_(x.reshape(-1, 1), self.plain)
            torch.mm(first, self.A_T, out=second)
            rows = (t.view(self.rows, -1).numpy() for t in (state, first, second, out))
            advance_rows(self.knots, self.root_step, steps.reshape(-1).numpy(), x.reshape(-1).numpy(), *rows)
            return
        update_matrices(self.knots, self.root_step, steps.reshape(-1).numpy(), self.flat)
        torch.mul(x[..., None], self.G, out=out)
        torch.baddbmm(out, state, self.E_T, out=out)

    def backwards(self, steps: Tensor, gradient: Tensor, for_x: Tensor, for_state: Tensor) -> None:
        """Adds to `for_state` what `gradient` is worth there; sets `for_x`."""
        if self.per_channel:
            first, second, spare = self.work
            rows = (t.view(self.rows, -1).numpy() for t in (gradient, for_state, first, second))
            pull_rows(self.knots_T, self.root_step, steps.reshape(-1).numpy(), *rows, for_x.view(-1).numpy())
            torch.addmm(first, second, self.A_T.mT, out=spare)
            for_x.view(-1).add_(spare @ self.plain)
            for_state.view(self.rows, -1).addmm_(spare, self.A_T.mT)
            return
        update_matrices(self.knots, self.root_step, steps.reshape(-1).numpy(), self.flat)
        torch.bmm(gradient, self.G.mT, out=for_x[..., None])
        torch.baddbmm(for_state, gradient, self.E_T.mT, out=for_state)


def _tanh_(values: Tensor) -> None:
    if values.dtype == torch.float32:
        tanh_in_place(values.view(-1).numpy())
    else:
        values.tanh_()


def _find(
    fixed: Fixed, mover: Mover, x: Tensor, clock: Tensor, states: Tensor, network: Network, salience: Tensor
) -> None:
    """Fill in the states of a segment after the first, and the salience, which is found on the way."""
    _, batch, channels = x.shape
    order, rows = states.shape[-1], batch * channels
    activity = mover.room("one_activity", batch, channels, len(network.pool_bias))
    steps = torch.empty_like(salience[0])
    mean = states.new_full((batch, 1, channels), 1 / channels)
    pool_T, out_T = network.pool_weight.mT, network.out_weight.mT
    pooled = activity.view(rows, -1)
    each = states.unbind()
    moments = zip(each, each[1:], network.part.unbind(), salience.unbind(), clock.unbind(), x.unbind(), strict=False)
    for state, after, part, found, ticks, now in moments:
        torch.addmm(network.pool_bias, state.view(rows, order), pool_T, out=pooled)
        _tanh_(activity)
        hidden = torch.addmm(part, torch.bmm(mean, activity)[:, 0], network.summary_weight)
        score = torch.addmm(network.out_bias, functional.softplus(hidden), out_T)
        torch.mul(score.sigmoid_(), fixed.largest, out=found)
        torch.mul(found, ticks, out=steps)
        mover.forwards(steps, now, state, after)


def _follow(mover: Mover, x: Tensor, steps: Tensor, states: Tensor) -> None:
    """Fill in the states of a segment after the first."""
    each = states.unbind()
    for step, now, state, after in zip(steps.unbind(), x.unbind(), each, each[1:], strict=False):
        mover.forwards(step, now, state, after)


class _NetworkBack:
    """The salience network of a segment, backwards."""

    def __init__(
        self, fixed: Fixed, mover: Mover, network: Network, back: Network, states: Tensor, salience: Tensor
    ) -> None:
        """`network` and `back`, which its gradients are added to, with the part of this segment."""
        _, batch, channels, order = states.shape
        shape = len(states) - 1, batch, channels, len(network.pool_bias)
        self.network, self.back, self.before = network, back, states[:-1]
        self.activity, self.damp, self.for_pooled = (mover.room(n, *shape) for n in ("activity", "damp", "for_pooled"))
        pooled = self.activity.view(-1, shape[-1])
        torch.addmm(network.pool_bias, self.before.reshape(-1, order), network.pool_weight.mT, out=pooled)
        _tanh_(self.activity)
        # tanh' / channels
        torch.mul(self.activity, self.activity, out=self.damp).sub_(1).mul_(-1 / channels)
        self.summary = self.activity.mean(2)
        self.hidden = network.part + self.summary @ network.summary_weight
        self.rise = torch.sigmoid(self.hidden)  # softplus'
        self.gain = salience * (1 - salience / fixed.largest)

    def pull(self, t: int, for_salience: Tensor, for_state: Tensor) -> None:
        """Set the gradient of the state before sample t."""
        network, for_part = self.network, self.back.part[t]
        torch.mm(for_salience * self.gain[t], network.out_weight, out=for_part)
        for_part *= self.rise[t]
        torch.mul((for_part @ network.summary_weight.mT)[:, None], self.damp[t], out=self.for_pooled[t])
        order = for_state.shape[-1]
        torch.mm(self.for_pooled[t].flatten(0, 1), network.pool_weight, out=for_state.view(-1, order))

    def finish(self, for_salience: Tensor) -> None:
        """Once all samples have been pulled: add to the gradients of the weights."""
        scores, for_part = (for_salience * self.gain).flatten(0, 1), self.back.part.flatten(0, 1)
        self.back.pool_weight.add_(self.for_pooled.flatten(0, 2).mT @ self.before.flatten(0, 2))
        self.back.pool_bias.add_(self.for_pooled.sum((0, 1, 2)))
        self.back.summary_weight.add_(self.summary.flatten(0, 1).mT @ for_part)
        self.back.out_weight.add_(scores.mT @ functional.softplus(self.hidden).flatten(0, 1))
        self.back.out_bias.add_(scores.sum(0))


def _roll(
    fixed: Fixed, x: Tensor, clock: Tensor, state: Tensor, weight: Tensor | None, *given: Tensor
) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, ...]]:
    """`roll_plainly`, compiled; kept are the salience and all states, or the first of every segment."""
    differentiable = any(one is not None and one.requires_grad for one in (x, clock, state, weight, *given))
    x, clock, state = (t.contiguous() for t in (x, clock, state))
    network = None if len(given) == 1 else Network(given[0].contiguous(), *given[1:])
    n_steps, batch, channels = x.shape
    clocks = given[0].shape[-1] if network is None else len(network.out_bias)
    salience = x.new_empty(n_steps, batch, clocks) if network is not None else given[0].contiguous()
    mover = Mover(fixed.tables, batch, channels, clocks > 1)
    # A readout of states hands them out, and so keeps them anyway.
    keep = (differentiable and n_steps * state.numel() <= KEPT) or weight is None
    every = state.new_empty(n_steps + 1 if keep else 0, *state.shape)
    starts, pieces = [], []
    for here in segments(n_steps, state):
        count = here.stop - here.start + 1
        states = every[here.start : here.stop + 1] if keep else mover.room("states", count, *state.shape)
        if here.start == 0 or not keep:
            states[0] = state
        if not keep:
            starts.append(state)
        if network is None:
            _follow(mover, x[here], salience[here] * clock[here], states)
        else:
            local = network._replace(part=network.part[here])
            _find(fixed, mover, x[here], clock[here], states, local, salience[here])
        if weight is not None:
            pieces.append(read(fixed, states[1:], weight))
        state = states[-1] if keep else states[-1].clone()
    kept = (salience, *((every,) if keep else starts)) if differentiable else ()
    if network is None:
        salience = salience.clone()  # an output is not an input
    y = every[1:].clone() if weight is None else torch.cat(pieces)
    return (y, state.clone(), salience), kept


def segments(n_steps: int, state: Tensor) -> list[slice]:
    """Stretches of time whose states stay in the cache."""
    length = min(n_steps, max(8, SEGMENT // state.numel()))
    return [slice(begin, min(begin + length, n_steps)) for begin in range(0, n_steps, length)]


def _pull(fixed: Fixed, gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor | None, ...]:
    """Gradients of all inputs, segment by segment from the last."""
    (x, clock, state, weight, *given), (salience, *kept) = inputs, kept
    x, clock = x.contiguous(), clock.contiguous()
    n_steps, batch, channels = x.shape
    order, rows = len(fixed.tables.b), salience[0].numel()
    network = back = None
    if len(given) > 1:
        network = Network(given[0].contiguous(), *given[1:])
        back = Network(torch.empty_like(network.part), *map(torch.zeros_like, network[1:]))
    for_y, carried, for_salience = gradients[0].contiguous(), gradients[1].clone(), gradients[2].clone()
    carried, for_salience = carried.contiguous(), for_salience.contiguous()
    mover = Mover(fixed.tables, batch, channels, salience.shape[-1] > 1)
    for_x, for_steps = torch.empty_like(x), torch.empty_like(salience)
    for_weight = None if weight is None else torch.zeros_like(weight)
    spare = torch.empty_like(carried)
    for number, here in reversed([*enumerate(segments(n_steps, state))]):
        steps = salience[here] * clock[here]
        if kept[0].ndim == 4:
            states = kept[0][here.start : here.stop + 1]
        else:
            states = mover.room("states", here.stop - here.start + 1, batch, channels, order)
            states[0] = kept[number]
            _follow(mover, x[here], steps, states)
        learner = None
        if network is not None and back is not None:
            now, for_now = (n._replace(part=n.part[here]) for n in (network, back))
            learner = _NetworkBack(fixed, mover, now, for_now, states, salience[here])
        reads = _pull_reads(fixed, mover, for_y[here], weight, for_weight, states[1:])
        velocity = mover.room("velocity", *reads.shape)
        torch.mm(states[1:].flatten(0, 2), fixed.tables.A_T, out=velocity.view(-1, order))
        velocity.addcmul_(x[here][..., None], fixed.tables.b)
        flat = [t.reshape(len(reads), rows, -1).numpy() for t in (reads, velocity, for_steps[here])]
        moments = (t[here].unbind() for t in (for_salience, for_steps, clock, for_x))
        each = zip(*moments, steps.unbind(), *flat, strict=True)
        for t, (for_found, for_step, ticks, for_now, step, read_now, moving, slot) in reversed([*enumerate(each)]):
            add_and_dot(carried.view(rows, -1).numpy(), read_now, moving, slot[:, 0])
            for_found.addcmul_(for_step, ticks)
            if learner is None:
                spare.zero_()
            else:
                learner.pull(t, for_found, spare)
            mover.backwards(step, carried, for_now, spare)
            carried, spare = spare, carried
        if learner is not None:
            learner.finish(for_salience[here])
    for_clock = (for_steps * salience).sum(-1, keepdim=True)
    return for_x, for_clock, carried, for_weight, *((for_salience,) if back is None else back)


def _pull_reads(
    fixed: Fixed, mover: Mover, for_y: Tensor, weight: Tensor | None, for_weight: Tensor | None, states: Tensor
) -> Tensor:
    """The gradient that every state gets from its own readout; adds to that of the weight."""
    if weight is None or for_weight is None:
        return for_y
    reads = mover.room("reads", *states.shape)
    if fixed.readout == "shared":
        for_weight += for_y.reshape(-1) @ states.flatten(0, 2)
        return torch.mul(for_y[..., None], weight, out=reads)
    for_weight += for_y.flatten(0, 1).mT @ states.flatten(2).flatten(0, 1)
    torch.mm(for_y.flatten(0, 1), weight, out=reads.view(-1, weight.shape[1]))
    return reads
