"""The rolling-origin back-test: forecasts made on the way, each knowing only what had come before it.

The ensemble issues a forecast after every step and scores it once its values have come; the back-test reads these
forecasts off. Its rivals are simple experts of the same ensemble. Columns are tested apart, so that a column is judged
alike in every table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo.apps.forecast.comparison import FORECAST, Comparison
from hippozoo.ensemble.state import Rolled
from hippozoo.zoo.forecasting import Forecast

__all__ = ["COVERAGES", "WARM_UP", "BackTest", "Bands"]

COVERAGES = (0.8, 0.95)
# A column is judged from so many horizons of values on.
WARM_UP = 3
# Experts that anybody could be; seasons that are repeated come to them.
_SIMPLE = ("last value", "mean", "drift", "damped trend")
# Errors are summed up by stretches of the table; when there are more, two become one.
_BINS = 96
# Origins whose bands are kept; when there are more, every second one is dropped and the rest is spaced wider.
_BANDS = 64
# Fewer errors do not say what is usual.
_FEWEST_JUDGED = 20
_GOLDEN = (math.sqrt(5) - 1) / 2
# Past forecasts that a picture shows.
_SHOWN = 10


def _rivals(names: Sequence[str], seasons: Sequence[int]) -> list[int]:
    wanted = {*_SIMPLE, *(f"season {period}" for period in seasons)}
    return [place for place, name in enumerate(names) if name in wanted]


@dataclass
class Bands:
    """Bands of one origin, and once all values have come, how many were inside; channels first."""

    step: int
    sides: np.ndarray | None
    inside: np.ndarray | None = None
    known: np.ndarray | None = None


@dataclass
class BackTest:
    """Forecasts of some columns that were made on the way, beside the simple ones, and what came."""

    horizon: int
    names: tuple[str, ...]  # of the experts, as in `hippozoo.ensemble.Mixer.names`
    seasons: tuple[int, ...]  # periods whose repetition is a rival
    coverages: tuple[float, ...]  # bands that are judged
    seen: Int[np.ndarray, " channels"]  # values of each column so far, and the largest absolute one
    largest: Float[np.ndarray, " channels"]
    recent: Float[np.ndarray, "steps channels"]  # the last steps, and how many values had come after each
    counted: Int[np.ndarray, "steps channels"]
    origins: Int[np.ndarray, " waiting"]  # forecasts whose values have not all come: after how many steps, and what
    made: Float[np.ndarray, "channels waiting leads methods"]
    # Absolute errors and their number, by classes of how many seasons had been seen: by stretches of the table, by
    # steps ahead; and how many origins were judged.
    sums: Float[np.ndarray, "channels classes bins methods"]
    counts: Float[np.ndarray, "channels classes bins"]
    lead_sums: Float[np.ndarray, "channels classes leads methods"]
    lead_counts: Float[np.ndarray, "channels classes leads"]
    judged: Int[np.ndarray, "channels classes"]
    steps: int = 0
    heard: int = 0  # steps with any value
    width: int = 1  # values of a stretch
    bands: list[Bands] = field(default_factory=list)
    stride: int = 1  # about how many steps bands are apart
    due: int = 0  # after how many steps with a value the next bands are due
    made_bands: int = 0
    past: list[tuple[int, np.ndarray]] = field(default_factory=list)  # the last that do not overlap, for a picture

    @classmethod
    def begin(
        cls,
        horizon: int,
        names: tuple[str, ...],
        seasons: tuple[int, ...],
        channels: int,
        coverages: tuple[float, ...] = COVERAGES,
    ) -> BackTest:
        """Nothing made, nothing judged, for so many columns."""
        C, K, H, M = channels, len(seasons) + 1, horizon, len(_rivals(names, seasons)) + 1
        return cls(
            horizon,
            names,
            seasons,
            coverages,
            seen=np.zeros(C, np.int64),
            largest=np.zeros(C),
            recent=np.empty((0, C)),
            counted=np.empty((0, C), np.int64),
            origins=np.empty(0, np.int64),
            made=np.empty((C, 0, H, M)),
            sums=np.zeros((C, K, _BINS, M)),
            counts=np.zeros((C, K, _BINS)),
            lead_sums=np.zeros((C, K, H, M)),
            lead_counts=np.zeros((C, K, H)),
            judged=np.zeros((C, K), np.int64),
            stride=H,
            due=WARM_UP * H,
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """The forecast and its rivals; several damped trends share a name."""
        return (FORECAST, *(self.names[place] for place in self.rivals))

    @property
    def rivals(self) -> list[int]:
        """Which of the experts are rivals."""
        return _rivals(self.names, self.seasons)

    # -- on the way -------------------------------------------------------------------------------------------------

    def take_in(self, values: Float[np.ndarray, "steps channels"], rolled: Rolled | None = None) -> None:
        """The next values, NaN where missing, and the forecasts that were issued after them."""
        known = np.isfinite(values)
        self.counted = np.concatenate([self.counted, self.seen + np.cumsum(known, axis=0)])
        self.seen, self.heard = self.seen + known.sum(axis=0), self.heard + int(known.any(axis=1).sum())
        self.largest = np.fmax(self.largest, np.fmax.reduce(np.abs(values), axis=0, initial=0.0))
        self.recent = np.concatenate([self.recent, values])
        self.steps += len(values)
        while self.seen.max(initial=0) > _BINS * self.width:
            self._merge_bins()
        if rolled is not None and len(rolled.origins):
            self._issue(rolled)
        self._score()
        self._score_bands()
        first = min([self.steps, *self.origins[:1].tolist(), *(one.step for one in self.bands if one.known is None)])
        keep = min(self.steps - first + 1, len(self.recent))
        self.recent, self.counted = (one[len(one) - keep :] for one in (self.recent, self.counted))

    def _issue(self, rolled: Rolled) -> None:
        made = np.concatenate([rolled.mean[..., None], rolled.experts[..., self.rivals]], axis=-1)
        self.origins = np.concatenate([self.origins, rolled.origins])
        self.made = np.concatenate([self.made, made], axis=1)
        for place, origin in enumerate(rolled.origins.tolist()):
            if not self.past or origin - self.past[-1][0] >= self.horizon:
                self.past = [*self.past[-_SHOWN:], (origin, rolled.mean[:, place].copy())]

    def _score(self) -> None:
        """Compare what is complete with what came."""
        done = int(np.searchsorted(self.origins, self.steps - self.horizon, side="right"))
        if not done:
            return
        origins, made = self.origins[:done], self.made[:, :done]
        self.origins, self.made = self.origins[done:], self.made[:, done:]
        begin = self.steps - len(self.recent)
        windows = np.lib.stride_tricks.sliding_window_view(self.recent, self.horizon, axis=0)
        truth = windows[origins - begin].transpose(1, 0, 2)
        seen = self.counted[origins - begin - 1].T
        usable = (seen >= WARM_UP * self.horizon) & np.isfinite(self.recent[origins - begin - 1].T)
        known = np.isfinite(truth) & usable[:, :, None]
        errors = np.where(known[..., None], np.abs(made - truth[..., None]), 0.0)
        group = (seen[:, :, None] > np.array(self.seasons, np.int64)).sum(axis=2)
        bins = np.minimum(seen // self.width, _BINS - 1)
        channel, place = np.nonzero(usable)
        group, bins = group[channel, place], bins[channel, place]
        np.add.at(self.sums, (channel, group, bins), errors.sum(axis=2)[channel, place])
        np.add.at(self.counts, (channel, group, bins), known.sum(axis=2)[channel, place])
        np.add.at(self.lead_sums, (channel, group), errors[channel, place])
        np.add.at(self.lead_counts, (channel, group), known[channel, place])
        np.add.at(self.judged, (channel, group), (known.sum(axis=2) > 0)[channel, place])

    def _merge_bins(self) -> None:
        """Stretches of twice the length."""
        self.width *= 2
        for name in ("sums", "counts"):
            old = getattr(self, name)
            new = np.zeros_like(old)
            new[:, :, : _BINS // 2] = old[:, :, ::2] + old[:, :, 1::2]
            setattr(self, name, new)

    # -- bands ------------------------------------------------------------------------------------------------------

    def steps_until_bands(self, known: Bool[np.ndarray, "steps channels"]) -> int:
        """How many of these steps, with True for a value, to take in before bands are asked for."""
        counted = np.cumsum(known.any(axis=1))
        return min(int(np.searchsorted(counted, max(self.due - self.heard, 1))) + 1, len(known))

    def bands_are_due(self) -> bool:
        """Whether bands are asked for now."""
        return self.heard >= self.due

    def add_bands(self, forecast: Forecast) -> None:
        """Bands of a forecast from the present."""
        leads = forecast.leads(self.horizon)
        sides = [np.stack(forecast.band(leads, share)) for share in self.coverages]
        self.bands.append(Bands(self.steps, np.stack(sides, axis=1)))
        if len(self.bands) > _BANDS:
            self.bands, self.stride = self.bands[::2], 2 * self.stride
        # Shifted a little, each by another amount, so that they fall on all phases of a season.
        shift = [int(k * _GOLDEN % 1 * self.stride) for k in (self.made_bands, self.made_bands + 1)]
        self.due = self.heard + max(1, self.stride + shift[1] - shift[0])
        self.made_bands += 1

    def _score_bands(self) -> None:
        begin = self.steps - len(self.recent)
        for one in self.bands:
            if one.sides is None or one.step + self.horizon > self.steps:
                continue
            truth = self.recent[one.step - begin : one.step - begin + self.horizon].T
            judged = (self.counted[one.step - begin - 1] >= WARM_UP * self.horizon) & np.isfinite(
                self.recent[one.step - begin - 1]
            )
            lower, upper = one.sides
            known = np.isfinite(truth) & np.isfinite(upper - lower) & judged[:, None]
            one.inside = ((lower <= truth) & (truth <= upper) & known).sum(axis=2).T
            one.known, one.sides = known.sum(axis=2).T, None

    def coverage(self, channel: int) -> dict[str, float | None]:
        """The share of a column's values inside each band; None where none came."""
        done = [one for one in self.bands if one.inside is not None and one.known is not None]
        if not done:
            return {}
        inside, known = (
            np.stack([getattr(one, name)[channel] for one in done]).sum(axis=0) for name in ("inside", "known")
        )
        return {
            f"{share * 100:g}%": float(inside[n] / known[n]) if known[n] else None
            for n, share in enumerate(self.coverages)
        }

    # -- in the end -------------------------------------------------------------------------------------------------

    def last_surprise(self, channel: int) -> tuple[float, float, float] | None:
        """The last value, what was expected of it, and the mean absolute error of such forecasts before it.

        None where the last step has no value, or too few forecasts like it were judged.
        """
        made = [(one, self.made[:, place, :, 0]) for place, one in enumerate(self.origins.tolist())]
        # One step ahead, all are judged at once, and the last ones are kept for the picture only.
        made = [one for one in (*self.past, *made) if one[0] < self.steps <= one[0] + self.horizon]
        if not made or not len(self.recent) or not np.isfinite(self.recent[-1, channel]):
            return None
        origin, mean = made[-1]
        lead = self.steps - 1 - origin
        judged = self.lead_counts[channel, :, lead].sum()
        if judged < _FEWEST_JUDGED:
            return None
        usual = self.lead_sums[channel, :, lead, 0].sum() / judged
        return float(self.recent[-1, channel]), float(mean[channel, lead]), float(usual)

    def compare(self, channel: int) -> Comparison | None:
        """All methods on the same origins; None where there is none yet.

        A season that has not been seen at an early origin is compared on the later ones, and so are all others. Only
        if fewer than half of the origins are left for it, it is left out, and that is said.
        """
        judged = self.judged[channel]
        total = int(judged.sum())
        if not total:
            return None
        since = np.cumsum(judged[::-1])[::-1]  # origins that had seen so many seasons
        seasons = max(place for place in range(len(judged)) if 2 * since[place] >= total)
        left_out = {
            f"season {period}": f"{period} steps were seen before {since[place + 1]} of {total} origins only"
            for place, period in enumerate(self.seasons)
            if place >= seasons
        }
        sums, leads = self.sums[channel, seasons:].sum(axis=0), self.lead_sums[channel, seasons:].sum(axis=0)
        counts, lead_counts = (one[channel, seasons:].sum(axis=0) for one in (self.counts, self.lead_counts))
        errors: dict[str, np.ndarray] = {}
        by_lead: dict[str, np.ndarray] = {}
        for place, name in enumerate(self.methods):
            # Of several of one name, the best one is the rival.
            if name in left_out or (name in errors and errors[name].sum() <= sums[:, place].sum()):
                continue
            errors[name] = sums[:, place]
            by_lead[name] = np.where(lead_counts > 0, leads[:, place] / np.maximum(lead_counts, 1), np.nan)
        origins, largest = int(since[seasons]), float(self.largest[channel])
        return Comparison(errors, counts, by_lead, self.width, self.horizon, origins, largest, left_out)

    def copy(self) -> BackTest:
        """Another one that goes on by itself."""
        changed = ("sums", "counts", "lead_sums", "lead_counts", "judged")  # in place
        arrays = {name: getattr(self, name).copy() for name in changed}
        return replace(self, bands=[replace(one) for one in self.bands], **arrays)

    def columns(self, which: Sequence[int]) -> BackTest:
        """Some of the columns by themselves."""
        chosen = np.asarray(which)
        names = ("seen", "largest", "made", "sums", "counts", "lead_sums", "lead_counts", "judged")
        bands = []
        for one in self.bands:
            inside, known = (None if some is None else some[chosen] for some in (one.inside, one.known))
            bands.append(Bands(one.step, None if one.sides is None else one.sides[:, :, chosen], inside, known))
        return replace(
            self,
            recent=self.recent[:, chosen],
            counted=self.counted[:, chosen],
            bands=bands,
            past=[(origin, mean[chosen]) for origin, mean in self.past],
            **{name: getattr(self, name)[chosen] for name in names},
        )
