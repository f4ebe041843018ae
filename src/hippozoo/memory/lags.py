"""Each channel's past through a few learnt lag functionals: several windows, free recent taps, products of reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.discretise import discretise, longest_step
from hippozoo.layers import SequenceLayer, State, Timing
from hippozoo.layers.arguments import finest_dtype
from hippozoo.layers.blocks import BlockTables, block_tables, fixed_tables, levels_needed
from hippozoo.layers.lag_functionals import functionals_of_states, lag_functionals
from hippozoo.layers.uneven.rolling import Readout, goes_fast, roll_uneven
from hippozoo.layers.updates import augmented_generator, one_where_all_are_equal, roll_varying, updates
from hippozoo.systems import HippoSystem

__all__ = ["LagLayer"]

# Long blocks are few and cost more products; measured at 32 items, 128 samples, 36 channels, order 20.
BLOCK = 16


class LagLayer(SequenceLayer):
    """Reads each channel's past by learnt functionals of memories of several windows and of the last few samples.

    A read of a channel is a weighted sum of its coefficients in all windows and of its last `taps` samples: a lag
    kernel that one can draw (`kernels`). Products of two more reads may be added. No channel sees another one, so the
    layer belongs between linear maps, as in `hippozoo.layers.Block`. The states of a sequence are never held.

    Parameters
    ----------
    systems
        The memories of every channel: one or several, such as ``(LegT(4, 8.0), LegT(4, 32.0), LegT(4, 128.0))``; none,
        ``()``, for taps alone.
    channels, reads
        Channels of the input, and outputs of each of them.
    taps
        So many of the latest samples are weighted freely, the present one included. They count samples, not time.
    products
        Products of two functionals that are added to each read.
    shapes
        Make every functional a mixture of so many lag kernels, which all channels share and `shape_kernels` draws:
        fewer parameters, so that a model of equal size can be wider or deeper. By default each has a kernel of its own.
    dt
        Time from one sample to the next, where a call does not say otherwise.
    device, dtype
        As in any torch layer; float32 or float64.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> layer = LagLayer((LegT(4, 8.0), LegT(6, 32.0)), channels=3, taps=4, products=1)
    >>> y, state = layer(torch.randn(5, 50, 3))
    >>> y.shape, state.shape  # 4 + 6 coefficients and 4 samples
    (torch.Size([5, 50, 3]), torch.Size([5, 3, 14]))

    What a functional makes of the sample of each lag:

    >>> layer.kernels(100).shape  # one linear read and the two factors of its product
    torch.Size([3, 3, 100])
    """

    state_axes = "(batch, channels, order)"

    A_d: Tensor
    b_d: Tensor
    _within: Tensor
    _carries: Tensor

    def __init__(
        self,
        systems: HippoSystem | Sequence[HippoSystem],
        channels: int,
        taps: int = 0,
        reads: int = 1,
        products: int = 0,
        shapes: int | None = None,
        dt: float = 1.0,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(whole_number("channels", channels), device, dtype)
        self.systems = (systems,) if isinstance(systems, HippoSystem) else tuple(systems)
        for system in self.systems:
            if not isinstance(system, HippoSystem):
                raise TypeError(f"systems holds {shorten(system)}; pass systems such as LegT(order=6, timescale=32.0).")
        self.taps = whole_number("taps", taps, minimum=0)
        if not self.systems and not self.taps:
            raise ValueError("systems=() and taps=0: nothing is remembered; pass a system, or taps >= 1.")
        self.reads = whole_number("reads", reads)
        self.products = whole_number("products", products, minimum=0)
        self.shapes = None if shapes is None else whole_number("shapes", shapes)
        self.dt = positive_number("dt", dt, why="it is the time from sample to sample")
        self.order = sum(system.order for system in self.systems) + self.taps
        self._generators = [augmented_generator(system) for system in self.systems]
        place = torch.empty((), **self._place)
        self._make_tables(place, "b_d", "A_d", "_within", "_carries")
        functionals = self.reads * (1 + 2 * self.products)
        if self.shapes is None:
            self.weight = nn.Parameter(place.new_empty(functionals, channels, self.order))
        else:
            self.mixture = nn.Parameter(place.new_empty(functionals, channels, self.shapes))
            self.shape_weight = nn.Parameter(place.new_empty(self.shapes, self.order))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Functionals at random, of about the size of a sample."""
        with torch.no_grad():
            if self.shapes is None:
                self.weight.normal_(0.0, self.order**-0.5, generator=generator)
            else:
                self.mixture.normal_(0.0, self.shapes**-0.5, generator=generator)
                self.shape_weight.normal_(0.0, self.order**-0.5, generator=generator)

    @property
    def outputs(self) -> int:
        """Numbers that come out at every sample."""
        return self.reads * (self.channels or 0)

    @property
    def functionals(self) -> Float[Tensor, "functionals channels order"]:
        """What each functional weighs coefficients and recent samples by."""
        return self.weight if self.shapes is None else self.mixture @ self.shape_weight

    @torch.no_grad()
    def kernels(self, n_lags: int) -> Float[Tensor, "functionals channels lags"]:
        """What a sample adds to each functional, the more samples ago the further along; for a sample of 1.

        Of each read first the linear functional, then the factors of its products, two by two.
        """
        return self.functionals @ self._responses(n_lags).mT

    @torch.no_grad()
    def shape_kernels(self, n_lags: int) -> Float[Tensor, "shapes lags"]:
        """The lag kernels that all functionals are mixtures of, in a layer that has some."""
        if self.shapes is None:
            raise ValueError("shapes=None: every functional has a kernel of its own; see kernels, or pass shapes.")
        return self.shape_weight @ self._responses(n_lags).mT

    def _responses(self, n_lags: int) -> Float[Tensor, "lags order"]:
        """What a sample of 1 leaves in coefficients and taps, the more samples ago the further along."""
        n_lags = whole_number("n_lags", n_lags)
        self.refresh_tables()
        levels = max(1, (n_lags - 1).bit_length())
        A_d, b_d = (part.to(finest_dtype(part.device)) for part in (self.A_d, self.b_d))
        tables = block_tables(A_d, b_d, n_lags, levels)
        return tables.within[self.order].to(self.dtype)

    # -- the state in motion ---------------------------------------------------------------------------------

    def _start(self, batch: int, channels: int) -> State:
        return torch.zeros(batch, channels, self.order, dtype=self.dtype, device=self.device)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        batch, n_steps, _ = x.shape
        steps = None if timing.steps is None else one_where_all_are_equal(timing.steps)
        if steps is None or steps.ndim == 0:
            tables = self._tables(steps, n_steps)
            found, state = lag_functionals(x, state, self.functionals, tables, BLOCK, timing.lengths)
        else:
            first, each = self._begin(x, state), timing.each(batch, n_steps).to(x.device)
            fast = self._roll_uneven(x, first, each, timing.lengths)
            found, state = roll_varying(x, first, each, self._updates, self._read) if fast is None else fast
        return self._joined(found), state

    def _roll_uneven(
        self, x: Tensor, state: Tensor, steps: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor] | None:
        """Window by window, and the taps, which count samples; None where plain torch is the only way."""
        if not goes_fast(x):
            return None
        weight, begin = self.functionals, 0
        total, states = x.new_zeros(*x.shape[:2], *weight.shape[:2]), []
        for system, generator in zip(self.systems, self._generators, strict=True):
            own, begin = slice(begin, begin + system.order), begin + system.order
            scaled = steps.clamp(max=longest_step(system) * system.timescale) / system.timescale
            readout = Readout("per_channel", weight[..., own].contiguous())
            fast = roll_uneven(system, generator, x, state[..., own], scaled, readout)
            assert fast is not None
            total, states = total + fast[0], [*states, fast[1]]
        samples = torch.cat([state[..., begin:].flip(-1).mT, x], 1)
        for tap in range(self.taps):
            total = total + samples[:, self.taps - tap : len(samples[0]) - tap, None] * weight[..., begin + tap]
        seen = torch.full((len(x), 1), x.shape[1]) if lengths is None else lengths[:, None]
        latest = seen + self.taps - 1 - torch.arange(self.taps)  # the newest first
        states.append(samples.gather(1, latest[..., None].expand(-1, -1, x.shape[2])).mT)
        return total, torch.cat(states, -1)

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        A_d, b_d = (self.A_d, self.b_d) if steps is None else self._updates(steps.to(self.device))
        state = state @ A_d.mT + x[..., None] * (b_d if b_d.ndim == 1 else b_d[:, None])
        return self._joined(self._read(state)), state

    def _read(self, states: Tensor) -> Tensor:
        return functionals_of_states(states, self.functionals)

    def _joined(self, found: Float[Tensor, "*moments functionals channels"]) -> Float[Tensor, "*moments outputs"]:
        """Each read with its products added."""
        if not self.products:
            return found.flatten(-2)
        linear, *factors = found.unflatten(-2, (self.reads, -1)).unbind(-2)
        for one, other in zip(factors[::2], factors[1::2], strict=True):
            linear = torch.addcmul(linear, one, other)
        return linear.flatten(-2)

    # -- tables ----------------------------------------------------------------------------------------------

    def _compute_tables(self, place: Tensor) -> None:
        rules = [tuple(map(torch.from_numpy, discretise(system, self.dt, "zoh"))) for system in self.systems]
        shift, newest = delay_line(self.taps)
        A_d = torch.block_diag(*(A for A, _ in rules), shift)
        b_d = torch.cat([*(b for _, b in rules), newest])
        self.A_d, self.b_d = A_d.to(place), b_d.to(place)
        self._within, self._carries = fixed_tables(A_d, b_d, BLOCK, place)

    def _tables(self, dt: Tensor | None, n_steps: int) -> BlockTables:
        if dt is None:
            return BlockTables(self._within, self._carries)
        tables = block_tables(*self._updates(dt, torch.float64), min(BLOCK, n_steps), levels_needed(n_steps))
        return BlockTables(*(table.to(self.device, self.dtype) for table in tables))

    def _updates(self, steps: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
        """A_d and b_d for other steps; a step of 0 leaves the state as it is."""
        dtype = dtype or self.dtype
        # A single number may have stayed on the host, and what follows from it is computed there.
        place = {"dtype": dtype, "device": steps.device}
        A_d = torch.zeros(*steps.shape, self.order, self.order, **place)
        b_d = torch.zeros(*steps.shape, self.order, **place)
        begin = 0
        for system, generator in zip(self.systems, self._generators, strict=True):
            longest = longest_step(system)
            some = steps.clamp(max=longest * system.timescale) / system.timescale
            own = slice(begin, begin + system.order)
            A_d[..., own, own], b_d[..., own] = updates(some, generator, "zoh", dtype, longest=longest)
            begin += system.order
        shift, newest = (part.to(A_d) for part in delay_line(self.taps))
        passes = (steps > 0).to(dtype)
        stays = torch.eye(self.taps, **place)
        A_d[..., begin:, begin:] = torch.where(passes[..., None, None] > 0, shift, stays)
        b_d[..., begin:] = passes[..., None] * newest
        return A_d, b_d


def delay_line(taps: int) -> tuple[Float[Tensor, "taps taps"], Float[Tensor, " taps"]]:
    """The last samples, the newest first, as an update rule."""
    place = {"dtype": torch.float64, "device": "cpu"}  # with values, wherever the layer itself is made
    newest = torch.zeros(taps, **place)
    newest[:1] = 1.0
    return torch.diag(torch.ones(max(0, taps - 1), **place), -1)[:taps, :taps], newest
