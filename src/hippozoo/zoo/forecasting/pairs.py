"""Systems 1, 2 and 3 over a block of samples: every past beside the future that came after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.leads import cell_count
from hippozoo.memory import Memory
from hippozoo.zoo.forecasting.state import Detail, ForecasterState

__all__ = ["Pairs", "missed_detail", "move", "observed_time"]

# How many times per horizon the detail is measured: neighbouring windows say nearly the same.
_PROBES = 8


@dataclass(frozen=True, eq=False)
class Pairs:
    """What a block teaches, for each sample of it."""

    pasts: tuple[Float[np.ndarray, "_ channels _"], ...]  # System 2, one array per history system
    futures: Float[np.ndarray, "time channels outputs"]  # System 1 at the same time: what came after that past
    levels: Float[np.ndarray, "time channels"]  # the last value of that past
    weights: Float[np.ndarray, "time channels"]  # its duration in steps, times the share that was observed
    covered: Float[np.ndarray, "time channels"]  # that share
    # Rows at which System 1 is compared with the samples that it holds, its readings of them, and where its window
    # begins, counted from the beginning of the delay line before this block.
    probes: np.ndarray
    readings: Float[np.ndarray, "probes channels cells"]
    begins: Float[np.ndarray, " probes"]


def observed_time(
    steps: Float[np.ndarray, " time"], observed: Float[np.ndarray, "time channels"]
) -> Float[np.ndarray, " time"]:
    """How much time of these samples was observed in any channel, up to each of them."""
    return np.cumsum(steps * observed.any(axis=1))


def _silence(
    before: Float[np.ndarray, " channels"],
    steps: Float[np.ndarray, " time"],
    observed: Float[np.ndarray, "time channels"],
) -> Float[np.ndarray, " channels"]:
    """How long ago the last sample of each channel ended, after these rows."""
    left = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    after = len(steps) - (observed[::-1] > 0).argmax(axis=0)
    return np.where(observed.any(axis=0), left[after], before + left[0])


def move(
    state: ForecasterState,
    recent: Memory,
    pasts: tuple[Memory, ...],
    values: Float[np.ndarray, "time channels"],
    steps: Float[np.ndarray, " time"],
    observed: Float[np.ndarray, "time channels"],
    *,
    endpoint: bool,
    warmup: float,
) -> tuple[ForecasterState, Pairs]:
    """The state after these samples, its statistics not yet among it, and the pairs that they make."""
    equal = bool((steps == recent.dt).all())
    out, line = state.line.push(values, steps, observed)
    futures = recent.scan(values, state.recent, None if equal else steps)
    if endpoint:
        # Read before System 1 takes in the sample; read after it, it would hold a sample of the target (erratum 11).
        before = np.concatenate([state.recent[None], futures[:-1]])
        delayed_values = before @ recent.system.basis(recent.system.window)
    else:
        delayed_values = out.values
    one_to_one = endpoint or (equal and len(out.ends) == len(out.durations))
    delayed, aligned, x = [], [], []
    for memory, before_delayed, before_aligned in zip(pasts, state.delayed, state.aligned, strict=True):
        states = memory.scan(delayed_values, before_delayed, None if one_to_one and equal else out.durations)
        x.append(states if one_to_one else states[out.ends])
        delayed.append(states[-1])
        aligned.append(memory.final(values, before_aligned, None if equal else steps))

    elapsed = np.cumsum(steps)
    horizon = recent.system.timescale
    age = state.age + elapsed[:, None]
    # Pasts that have seen something only: before the first sample of its channel a past is invented.
    begun = state.begun & (age > (horizon + warmup) * (1 + 1e-9))
    moved = replace(
        state,
        time=state.time + float(elapsed[-1]),
        seen=state.seen + float(observed_time(steps, observed)[-1]),
        age=np.where(state.begun, age[-1], 0.0),
        silent=_silence(state.silent, steps, observed),
        held=values[-1],
        recent=futures[-1],
        delayed=tuple(delayed),
        aligned=tuple(aligned),
        line=line,
    )
    levels = delayed_values if one_to_one else delayed_values[out.ends]
    probes = _probe_rows(state.time + elapsed, steps, horizon, recent.dt)
    leads = (np.arange(cell_count(horizon, recent.dt)) + 0.5) * recent.dt
    readings = futures[probes] @ recent.system.basis(np.maximum(horizon - leads, 0.0)).T
    weights = begun * out.covered * (steps / recent.dt)[:, None]
    return moved, Pairs(tuple(x), futures, levels, weights, out.covered, probes, readings, elapsed[probes])


def _probe_rows(clock: Float[np.ndarray, " time"], steps: Float[np.ndarray, " time"], horizon: float, dt: float):
    """The rows at which the detail is measured: fixed by the clock, however the stream is cut into pieces."""
    stride = max(1, round(cell_count(horizon, dt) / _PROBES)) * dt
    # Half a step off the samples, so that rounding of the clock decides nothing.
    return np.flatnonzero(np.floor((clock - dt / 2) / stride) > np.floor((clock - steps - dt / 2) / stride))


def missed_detail(
    content: Float[np.ndarray, "pieces channels"],
    lengths: Float[np.ndarray, " pieces"],
    begins: Float[np.ndarray, " probes"],
    dt: float,
    readings: Float[np.ndarray, "probes channels cells"],
    weights: Float[np.ndarray, "probes channels"],
) -> Detail:
    """Compare readings of windows that begin at `begins` with the held signal itself, in the middle of each cell.

    `content` and `lengths` are the pieces of the signal; time counts from the beginning of the first.
    """
    edges = np.cumsum(lengths)
    middles = begins[:, None] + (np.arange(readings.shape[2]) + 0.5) * dt
    place = np.minimum(np.searchsorted(edges, middles, side="right"), len(edges) - 1)
    missed = content[place].transpose(0, 2, 1) - readings
    return Detail(np.einsum("pc,pck->ck", weights, missed**2), weights.sum(axis=0))
