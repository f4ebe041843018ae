"""One state for a continuum of timescales; the horizon is chosen when one asks."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo.memory import Memory
from hippozoo.memory.base import Held, Mask, PureMemory, Signal, Steps
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.bank_step import BankStep
from hippozoo.zoo.multiscale.constructions import CONSTRUCTIONS, Construction, ScaleExpansion
from hippozoo.zoo.multiscale.coverage import Coverage, measure_coverage

__all__ = ["MultiscaleMemory"]

State = Float[np.ndarray, "order scales"] | Float[np.ndarray, "channels order scales"]
Horizons = Float[np.ndarray, "*horizons"] | float

# How many numbers of states `follow` holds at a time: 16 MB.
_HELD_NUMBERS = 1 << 21


@dataclass(frozen=True)
class MultiscaleMemory(PureMemory):
    """Remembers a stream at every horizon between the system's timescale and `longest`; pure, the state is yours.

    The state is (order, scales), or (channels, order, scales): column m is the plain memory of ``windows[m]``. Any
    horizon in the range can be asked for afterwards: its coefficients, what they remember of the past, or the plain
    memory they belong to. Time is kept as everywhere: after sample t the present is t + 1 (in units of `dt`).

    Parameters
    ----------
    system
        What each window runs. Its timescale is the shortest horizon (the paper's base timescale).
    longest
        The longest horizon that can be asked for, in the same unit.
    scales
        How many windows are kept, M in the paper; by default as many as serve the range well.
    construction
        Where the windows stand and how to read between them: ``"log"`` (the paper's main one), ``"basic"``,
        ``"jeffreys"``, or ``"bank"``, beyond the paper and ten times smaller.
    dt
        Time between two samples.
    dtype
        Precision of the state, ``"float64"`` or ``"float32"``.

    Examples
    --------
    One state, asked for the last 20 and for the last 2000 samples.

    >>> from hippozoo.systems import LegT
    >>> memory = MultiscaleMemory(LegT(order=8, timescale=10.0), longest=1e4)
    >>> signal = np.sin(np.arange(30_000) / 1000) + 0.1 * np.sin(np.arange(30_000) / 5)
    >>> state = memory.final(signal)
    >>> bool(abs(memory.reconstruct(state, 10.5, horizon=20.0) - signal[-11]) < 0.001)  # both waves
    True
    >>> slow = np.sin(np.arange(30_000) / 1000)
    >>> bool(abs(memory.reconstruct(state, 1000.5, horizon=2000.0) - slow[-1001]) < 0.03)  # the slow one
    True

    References
    ----------
    Paper, section "Multiscale HiPPO" and its appendix. The paper writes one coupled system; it is this bank in other
    coordinates (see `scale_coefficients`).
    """

    system: HippoSystem
    longest: float
    scales: int | None = None
    construction: str = "log"
    dt: float = 1.0
    dtype: str = "float64"

    def __post_init__(self) -> None:
        self._check_fields("LegT(order=16, timescale=10.0)")
        built = build_construction(self.system, self.longest, self.scales, self.construction)
        object.__setattr__(self, "longest", built.longest)
        object.__setattr__(self, "scales", built.scales)

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def shortest(self) -> float:
        """The shortest horizon: the timescale of the system."""
        return self.system.timescale

    @property
    def windows(self) -> Float[np.ndarray, " scales"]:
        """The timescale that each column of the state keeps, short to long."""
        return self.layout.windows

    @property
    def size(self) -> int:
        """How many numbers the state of one channel holds."""
        return self.system.order * len(self.windows)

    @cached_property
    def layout(self) -> Construction:
        """Where the windows stand and how horizons are read: the construction itself."""
        return build_construction(self.system, self.longest, self.scales, self.construction)

    def plain(self, horizon: float) -> Memory:
        """The plain memory of a horizon, whose state `coefficients` gives."""
        return Memory(self.layout.plain_system(self._checked_horizon(horizon)), self.dt, dtype=self.dtype)

    # -- questions -----------------------------------------------------------------------------------------------

    def coefficients(
        self, state: Float[np.ndarray, "*batch order scales"], horizon: Horizons
    ) -> Float[np.ndarray, "*batch_and_horizons order"]:
        """The state of the plain memory of each horizon, as well as this memory knows it.

        Parameters
        ----------
        state
            A state, or any stack of them.
        horizon
            One horizon, or an array of them, whose axes then stand before the coefficients.
        """
        states = real_array("state", state)
        if states.shape[-2:] != self._shape:
            raise ValueError(
                f"state has shape {states.shape}, expected (..., {self._shape[0]}, {self._shape[1]}): order and scales "
                f"of this memory; pass a state that it returned."
            )
        asked = real_array("horizon", horizon)
        found = [self.layout.read(states, self._checked_horizon(one)) for one in asked.ravel().tolist()]
        if not found:
            return np.zeros((*states.shape[:-2], *asked.shape, self.system.order))
        stacked = np.stack(found, axis=-2)
        return stacked.reshape(*states.shape[:-2], *asked.shape, self.system.order)

    def follow(
        self,
        signal: Signal,
        horizon: Horizons,
        state: State | None = None,
        dt: Steps | None = None,
        mask: Mask = None,
        held: Held = 0.0,
    ) -> Float[np.ndarray, "time *channels_and_horizons order"]:
        """The coefficients of each horizon after every sample: ``coefficients(scan(signal), horizon)`` piece by piece.

        The states, which would fill the memory for long signals, are never held together.
        """
        values, before, steps = self._checked(signal, state, dt, mask, held)
        piece = max(1, _HELD_NUMBERS // before.size)
        found = []
        for begin in range(0, len(values), piece):
            now = slice(begin, begin + piece)
            states = self.scan(values[now], before, None if steps is None else steps[now])
            found.append(self.coefficients(states, horizon))
            before = states[-1]
        return np.concatenate(found)

    def reconstruct(
        self,
        state: Float[np.ndarray, "*batch order scales"],
        lags: Float[np.ndarray, "*lags"] | float,
        horizon: float | None = None,
    ) -> Float[np.ndarray, "*batch_and_lags"]:
        """What is remembered of the signal at each lag, asked through one horizon.

        Parameters
        ----------
        state
            A state, or any stack of them.
        lags
            How long ago, in your time unit; 0 is the present.
        horizon
            The shorter it is, the sharper the answer; by default the shortest one that reaches all the lags.
        """
        when = real_array("lags", lags)
        if horizon is None:
            furthest = float(when.max()) if when.size else self.shortest
            horizon = max(self.shortest, furthest)
            if np.isinf(self.system.window):
                # A fading memory reaches beyond its timescale.
                horizon = min(horizon, self.longest)
        system = self.layout.plain_system(self._checked_horizon(horizon))
        return system.reconstruct(self.coefficients(state, horizon), when)

    def reading(self, horizon: float) -> Float[np.ndarray, "order order scales"]:
        """The linear map behind `coefficients`: ``coefficients = tensordot(reading, state, axes=2)``."""
        units = np.eye(self.size).reshape(-1, *self._shape)
        return self.layout.read(units, self._checked_horizon(horizon)).T.reshape(-1, *self._shape)

    def scale_coefficients(
        self, state: Float[np.ndarray, "*batch order scales"]
    ) -> Float[np.ndarray, "*batch order degrees"]:
        """The paper's S: the state as polynomials in scale, ``s(u) = S psi(u)``."""
        if not isinstance(self.layout, ScaleExpansion):
            raise ValueError(
                f"construction={self.construction!r} has no polynomials in scale, its state is the windows themselves; "
                f"build with 'log', 'basic' or 'jeffreys' for the paper's coefficients."
            )
        return real_array("state", state) @ self.layout.scale_transform

    def coverage(self, horizons: Float[np.ndarray, " horizons"] | None = None, order: int | None = None) -> Coverage:
        """How well the whole range can be read: expected error at each horizon, against the plain memory of it.

        Expected over the reference signal of `hippozoo.zoo.multiscale.coverage`, exactly, not by simulation.

        Parameters
        ----------
        horizons
            Where to measure; 24 to the decade by default.
        order
            Of the plain memories, and how many coefficients are read; the memory's own by default.
        """
        asked = None
        if horizons is not None:
            asked = np.array([self._checked_horizon(one) for one in real_array("horizons", horizons).ravel().tolist()])
            if not asked.size:
                raise ValueError("horizons is empty; pass at least one, or none at all for 24 to the decade.")
        if order is not None and whole_number("order", order) > self.system.order:
            raise ValueError(
                f"order={order}, but this memory keeps {self.system.order} coefficients; pass at most those."
            )
        return measure_coverage(self.layout, self.dt, asked, order)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _coefficients(self) -> str:
        return "order and scales"

    @cached_property
    def _shape(self) -> tuple[int, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.system.order, len(self.windows)

    def _step(self, state: np.ndarray, sample: np.ndarray, duration: float | None) -> np.ndarray:
        if duration is not None:
            return self._final(sample[None], state, np.array([duration]))
        return self._engine.step(state.reshape(-1, *self._shape), sample.reshape(-1)).reshape(state.shape)

    def _scan(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        rows, streams = state.reshape(-1, *self._shape), values.reshape(len(values), -1)
        return self._engine.scan(streams, rows, durations).reshape(len(values), *state.shape)

    def _final(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        rows, streams = state.reshape(-1, *self._shape), values.reshape(len(values), -1)
        return self._engine.final(streams, rows, durations).reshape(state.shape)

    def _faded(self, states: np.ndarray, duration: float) -> np.ndarray:
        return self._engine.forget(states, duration)

    def _by_definition(self, values: np.ndarray) -> np.ndarray:
        plain = (Memory(self.layout.plain_system(window), self.dt).scan(values) for window in self.windows.tolist())
        return np.stack(list(plain), axis=-1)

    @cached_property
    def _engine(self) -> BankStep:
        return BankStep(self.system, self.windows, self.dt, np.dtype(self.dtype))

    def _checked_horizon(self, horizon: Any) -> float:
        value = positive_number("horizon", horizon, why="it is a duration in your time unit")
        # A grid like geomspace(shortest, longest) may end one rounding outside.
        if not self.shortest * (1 - 1e-12) <= value <= self.longest * (1 + 1e-12):
            what = f"longest>={value:g}" if value > self.longest else f"a system of timescale<={value:g}"
            raise ValueError(
                f"horizon={value:g} is outside the remembered range {self.shortest:g} to {self.longest:g}; "
                f"query within it or build with {what}."
            )
        return float(np.clip(value, self.shortest, self.longest))


def build_construction(system: HippoSystem, longest: Any, scales: Any, name: Any) -> Construction:
    """The construction of that name, with as many windows as serve it well where no number is given."""
    chosen = CONSTRUCTIONS.get(name) if isinstance(name, str) else None
    if chosen is None:
        close = get_close_matches(str(name), CONSTRUCTIONS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"construction={shorten(name)} is unknown; {hint}All: {', '.join(CONSTRUCTIONS)}.")
    if scales is None:
        furthest = positive_number("longest", longest, why="it is a horizon in your time unit")
        scales = chosen.comfortable_scales(system, max(furthest, system.timescale))
    return chosen(system, longest, scales)
