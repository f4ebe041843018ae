"""A memory for people who push values as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo.memory.base import PureMemory

__all__ = ["Stream"]

_ROOM = 2.0**-20  # below the largest float, for sums over some hundred coefficients


class Stream:
    """Remembers what is pushed: holds the state, the last value and the clock.

    Without time stamps every value holds for the memory's `dt`. With time stamps a value holds from its own time
    until the next one, so the newest value enters the state when the next one comes, or when `advance` says how
    late it is. A missing value (None, NaN or masked) lets time pass and holds the last value seen. A refused value
    (wrong shape, infinite or nearly so, time running backwards) changes nothing.

    Parameters
    ----------
    memory
        How to remember: a `Memory`, or a multiscale one.
    channels
        Values are single numbers by default, vectors of this length otherwise.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> stream = Stream(Memory(LegT(order=8, timescale=10.0)))
    >>> for value in (1.0, 1.0, None, 1.0) * 5:
    ...     stream.push(value)
    >>> stream.time
    20.0
    >>> stream.reconstruct(np.array([0.0, 5.0])).round(3).tolist()
    [1.0, 1.0]

    Irregular samples come with their time.

    >>> stream = Stream(Memory(LegT(order=8, timescale=10.0)))
    >>> for time in (0.0, 0.7, 13.1, 32.0):
    ...     stream.push(2.0, time=time)
    >>> float(stream.reconstruct(5.0).round(3))
    2.0
    """

    def __init__(self, memory: PureMemory, channels: int | None = None) -> None:
        if not isinstance(memory, PureMemory):
            raise TypeError(f"memory={shorten(memory)} is not a Memory; pass Memory(system, dt=…).")
        self._memory = memory
        self._shape = () if channels is None else (whole_number("channels", channels),)
        self._state: np.ndarray = memory.initial_state(channels)
        # A single number is held as one: steps of numbers are the fast ones.
        self._held: float | np.ndarray = 0.0 if channels is None else np.zeros(self._shape)
        self._largest = float(_ROOM * np.finfo(memory.dtype).max)
        self._time: float | None = None
        self._timed: bool | None = None
        self._advanced = False

    @property
    def memory(self) -> PureMemory:
        """How this stream remembers."""
        return self._memory

    @property
    def state(self) -> Float[np.ndarray, "..."]:
        """The coefficients now; a copy, so that nothing done to it reaches the stream."""
        return self._state.copy()

    @property
    def time(self) -> float:
        """The present: where lag 0 is. 0 before the first value."""
        return 0.0 if self._time is None else self._time

    @property
    def held(self) -> Float[np.ndarray, "*channels"]:
        """The last value seen, which holds until the next one; 0 before the first."""
        return np.array(self._held)

    def push(self, value: Any, time: float | None = None) -> None:
        """Take in one value, or None for a missing one; `time` says when it came."""
        newest = self._checked_value(value)
        if self._timed is not None and self._timed != (time is not None):
            used = "with" if self._timed else "without"
            raise ValueError(f"this stream was begun {used} time stamps; go on {used} them or begin a new Stream.")
        if time is None:
            state, present = self._memory.step(self._state, newest), self.time + self._memory.dt
        else:
            present = self._checked_time(time, now_is_free=self._advanced)
            state = self._after(present)
        self._state, self._time, self._held, self._timed = state, present, newest, time is not None
        self._advanced = False

    def advance(self, time: float) -> None:
        """Let time pass: the last value holds until `time`, when the next one may come."""
        present = self._checked_time(time)
        self._state, self._time, self._advanced = self._after(present), present, True

    def reconstruct(self, lags: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "..."]:
        """What is remembered at each lag before the present."""
        return self._memory.reconstruct(self._state, lags)

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with `state_dict` they make the stream again."""
        return {"memory": self._memory, "channels": self._shape[0] if self._shape else None}

    def state_dict(self) -> dict[str, Any]:
        """All that the stream has come to know: its state, the value held, and its clock."""
        clock = {"time": self._time, "timed": self._timed, "advanced": self._advanced}
        return {"state": self.state, "held": self.held, **clock}

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another stream of the same configuration stood; what does not fit is refused."""
        wanted = {"state", "held", "time", "timed", "advanced"}
        # Streams saved by the first versions do not say whether a value came at the present: then one did.
        known = {"advanced": False, **known}
        if set(known) != wanted:
            raise ValueError(
                f"a stream knows {sorted(wanted)}, given {sorted(known)}; pass what state_dict() returned."
            )
        state = real_array("state", known["state"], self._memory.dtype)
        held = self._storable("held", real_array("held", known["held"]))
        if state.shape != self._state.shape or held.shape != self._shape:
            raise ValueError(
                f"state and held have shapes {state.shape} and {held.shape}, but this stream has "
                f"{self._state.shape} and {self._shape}; load into a stream of the same configuration."
            )
        time = None if known["time"] is None else float(real_array("time", known["time"]))
        timed = None if known["timed"] is None else bool(known["timed"])
        self._state, self._held, self._time, self._timed = state.copy(), self._kept(held), time, timed
        self._advanced = bool(known["advanced"])

    def _after(self, present: float) -> np.ndarray:
        if self._time is None or present == self._time:
            return self._state
        return self._memory.step(self._state, self._held, dt=present - self._time)

    def _checked_time(self, time: Any, *, now_is_free: bool = False) -> float:
        if isinstance(time, float) and math.isfinite(time):
            present = float(time)
        else:
            present = float(real_array("time", time).reshape(())) if np.ndim(time) == 0 else math.nan
        if math.isnan(present):
            raise ValueError(f"time={shorten(time)}; pass one finite number, in the unit of the timescale.")
        if self._time is None or present > self._time or (now_is_free and present == self._time):
            return present
        before, advice = "the time of the value before", "sort the values and keep one per time"
        if self._advanced:
            before = "to which the stream has advanced"
            advice = "pass the values up to a time first, then advance to it"
        raise ValueError(f"time={present} is not after {self._time}, {before}; time only runs forwards: {advice}.")

    def _checked_value(self, value: Any) -> float | np.ndarray:
        """The value with its gaps filled by what is held."""
        if value is None:
            return self._held
        # The usual case; NaN compares as false.
        if not self._shape and isinstance(value, float) and abs(value) <= self._largest:
            return float(value)
        if isinstance(value, np.ma.MaskedArray) and value.dtype.kind in "iufb":
            value = np.ma.filled(value.astype(float), np.nan)
        try:
            given = np.asarray(value, float) if np.asarray(value).dtype.kind in "iufb" else None
        except ValueError:
            given = None
        if given is None:
            raise TypeError(f"value={shorten(value)} is not a number; pass numbers, or None for a missing value.")
        if given.shape != self._shape:
            raise ValueError(
                f"value has shape {given.shape}, but this stream takes {self._shape or 'single numbers'}; "
                f"for vectors build Stream(memory, channels=…)."
            )
        if np.asarray(value).dtype.kind in "iu":
            real_array("value", value)  # refuses whole numbers that would be rounded
        if np.isinf(given).any():
            raise ValueError(f"value={shorten(value)} is infinite; pass finite numbers, or None if it is missing.")
        return self._kept(self._storable("value", np.where(np.isnan(given), self._held, given)))

    def _kept(self, value: np.ndarray) -> float | np.ndarray:
        """A copy that nobody else writes into."""
        return value.copy() if self._shape else float(value)

    def _storable(self, name: str, value: np.ndarray) -> np.ndarray:
        """The value itself, if sums over it stay within the precision of the memory: once held, it stays for good."""
        if np.abs(value).max(initial=0.0) > self._largest:
            raise ValueError(
                f"{name}={shorten(value.tolist())} is too large for a memory of {self._memory.dtype}, which takes up "
                f"to {self._largest:.0e}; scale the values down"
                + (", or build the memory with dtype='float64'." if self._memory.dtype != "float64" else ".")
            )
        return value
