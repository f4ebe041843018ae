"""What a forecaster carries along: three systems, the delay line, what was learnt, and how forecasts did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["DelayLine", "Delayed", "Detail", "ForecasterState", "Validation"]

Learnt = tuple[tuple[Moments, ...], ...]


@dataclass(frozen=True, eq=False)
class Validation:
    """Forecasts scored on data they were not learnt from, stretch by stretch of the stream."""

    boundary: float  #: When the present stretch ends, by the time that was observed.
    stretch: Learnt  #: Moments of the present stretch: [group][history].
    #: What was known when the stretch before it began, one horizon or more before the present one: the maps that are
    #: scored on it.
    learnt_then: Learnt
    learnt_before: Learnt  #: What was known when the present stretch began.
    #: Sums of products of errors, for every group and candidate; each stretch halves what came before it.
    errors: Float[np.ndarray, "groups candidates outputs outputs"]
    weight: Float[np.ndarray, " groups"]  #: Their weight, for every group.


@dataclass(frozen=True, eq=False)
class Detail:
    """Squared differences between samples and System 1's reading of them, for each cell of the horizon.

    What System 1 is too coarse to hold belongs to the uncertainty of a sample, though not to that of the curve.
    """

    #: Weighted sums, (channels, cells); the first cell is the first sample after the past.
    squares: Float[np.ndarray, "channels cells"]
    weight: Float[np.ndarray, " channels"]  #: Of each channel.

    @property
    def variance(self) -> Float[np.ndarray, "channels cells"]:
        """Mean squared differences; 0 where nothing was measured."""
        return self.squares / np.where(self.weight > 0, self.weight, 1.0)[:, None]

    def merge(self, other: Detail, kept: float = 1.0) -> Detail:
        """Both together, `kept` being how much of this one counts."""
        return Detail(self.squares * kept + other.squares, self.weight * kept + other.weight)


@dataclass(frozen=True, eq=False)
class Delayed:
    """What left the line while samples came in."""

    # The delayed signal as pieces; a piece ends whenever a sample of the input or of the output ends.
    values: Float[np.ndarray, "pieces channels"]
    durations: Float[np.ndarray, " pieces"]
    ends: np.ndarray  # for each sample that came in, the number of the piece that ends with it
    covered: Float[np.ndarray, "time channels"]  # the share of the line's content after it that was observed


@dataclass(frozen=True, eq=False)
class DelayLine:
    """The last `horizon` of a held signal, oldest piece first.

    Examples
    --------
    >>> line = DelayLine.constant(np.array([5.0]), horizon=2.0, dt=1.0)
    >>> out, line = line.push(np.array([[1.0], [2.0], [3.0]]), np.ones(3), np.ones((3, 1)))
    >>> out.values[:, 0].tolist(), line.values[:, 0].tolist()
    ([5.0, 5.0, 1.0], [2.0, 3.0])
    """

    values: Float[np.ndarray, "pieces channels"]  #: The pieces.
    durations: Float[np.ndarray, " pieces"]  #: They add up to the horizon.
    observed: Float[np.ndarray, "pieces channels"]  #: 1 where the value was seen, 0 where it was filled in.

    @staticmethod
    def constant(value: Float[np.ndarray, " channels"], horizon: float, dt: float) -> DelayLine:
        """A line full of one value that nobody observed, in pieces of `dt`."""
        whole = round(horizon / dt)
        if whole >= 1 and abs(whole * dt - horizon) <= 1e-9 * horizon:
            durations = np.full(whole, dt)
        else:
            durations = np.full(int(horizon // dt) + 1, dt)
            durations[0] = horizon - dt * (len(durations) - 1)
        values = np.tile(value, (len(durations), 1))
        return DelayLine(values, durations, np.zeros_like(values))

    def push(
        self,
        values: Float[np.ndarray, "time channels"],
        durations: Float[np.ndarray, " time"],
        observed: Float[np.ndarray, "time channels"],
    ) -> tuple[Delayed, DelayLine]:
        """Let samples in at one end, and what is older than the horizon out at the other."""
        content = np.concatenate([self.values, values])
        seen = np.concatenate([self.observed, observed])
        lengths = np.concatenate([self.durations, durations])
        time = len(values)
        if (lengths == lengths[0]).all():
            # Equal steps: one sample in, one sample out.
            total = np.concatenate([np.zeros((1, seen.shape[1])), np.cumsum(seen, axis=0)])
            covered = (total[len(self.values) + 1 :] - total[1 : time + 1]) / len(self.values)
            return (
                Delayed(content[:time], durations, np.arange(time), covered),
                DelayLine(content[time:], lengths[time:], seen[time:]),
            )
        return self._push_unevenly(content, lengths, seen, durations)

    def _push_unevenly(
        self, content: np.ndarray, lengths: np.ndarray, seen: np.ndarray, durations: np.ndarray
    ) -> tuple[Delayed, DelayLine]:
        horizon = float(self.durations.sum())
        arrived = np.cumsum(durations)
        left = np.cumsum(lengths)
        left = left[left < arrived[-1]]
        # Times that differ by rounding are one time: no piece shorter than that is cut.
        nearest = np.minimum(np.searchsorted(arrived, left), len(arrived) - 1)
        gap = np.minimum(np.abs(left - arrived[nearest]), np.abs(left - arrived[np.maximum(nearest - 1, 0)]))
        cuts = np.sort(np.concatenate([arrived, left[gap > 1e-9 * durations.min()]]))
        pieces = np.diff(cuts, prepend=0.0)
        middle = cuts - pieces / 2
        edges = np.cumsum(lengths)
        source = np.minimum(np.searchsorted(edges, middle), len(edges) - 1)

        time = np.concatenate([[0.0], edges])
        total = np.concatenate([np.zeros((1, seen.shape[1])), np.cumsum(seen * lengths[:, None], axis=0)])
        covered = np.stack(
            [np.interp(horizon + arrived, time, one) - np.interp(arrived, time, one) for one in total.T], axis=1
        )
        first = int(np.searchsorted(edges, arrived[-1] * (1 + 1e-12)))
        kept = lengths[first:].copy()
        kept[0] = edges[first] - arrived[-1]
        return (
            Delayed(content[source], pieces, np.searchsorted(cuts, arrived), np.clip(covered / horizon, 0.0, 1.0)),
            DelayLine(content[first:], kept * (horizon / kept.sum()), seen[first:]),
        )


@dataclass(frozen=True, eq=False)
class ForecasterState:
    """Everything a `Forecaster` needs to go on, as arrays; it is never changed, each step gives a new one."""

    single: bool  #: Whether samples are single numbers; arrays have a channel axis of length 1 then.
    time: float  #: The present: how much time has passed since the beginning.
    seen: float  #: How much of it was observed, in any channel: gaps do not count.
    begun: Bool[np.ndarray, " channels"]  #: Which channels have had their first sample.
    age: Float[np.ndarray, " channels"]  #: How long ago that was.
    silent: Float[np.ndarray, " channels"]  #: How long ago the last sample of each channel ended.
    held: Float[np.ndarray, " channels"]  #: The last value seen in each channel.
    recent: Float[np.ndarray, "channels outputs"]  #: System 1, the past on [t - horizon, t].
    #: System 2, the past before that, one array per history system.
    delayed: tuple[Float[np.ndarray, "channels _"], ...]
    #: System 3, the same systems as System 2 but up to the present.
    aligned: tuple[Float[np.ndarray, "channels _"], ...]
    line: DelayLine  #: What lies between System 2 and the present.
    learnt: Learnt  #: Second-order statistics: [group][history].
    validation: Validation  #: How forecasts did on data they were not learnt from.
    detail: Detail  #: What System 1 is too coarse to hold of the samples.

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        return len(self.held)

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from, counted by their weight."""
        return sum(group[0].weight for group in self.learnt)
