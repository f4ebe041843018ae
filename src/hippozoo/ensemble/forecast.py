"""A forecast cell by cell, weighted from many, with calibrated bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from hippozoo._internal.arguments import whole_number
from hippozoo.ensemble.calibration import Calibration, beginning
from hippozoo.ensemble.doubt import odds_of_outlier
from hippozoo.ensemble.explanation import by_name
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.records import Channel
from hippozoo.ensemble.state import Issued, Mixture
from hippozoo.forecasts.forecast import Forecast, Leads, checked_probability
from hippozoo.forecasts.leads import checked_leads, lead_basis, usual_order
from hippozoo.systems import LegT

__all__ = ["EnsembleForecast"]

# The mean absolute error of a Gaussian is this share of its standard deviation.
_MEAN_OF_DEVIATION = float(np.sqrt(2 / np.pi))
# Changes over a lead before the largest of them limits a band.
_FEWEST_CHANGES = 16
# Shares of errors beyond which the distribution of a mixture is worked out.
_TAILS = np.array([1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleForecast(Forecast):
    """What an ensemble expects, read where it has values: in the middles of its cells, by lines in between.

    Parameters
    ----------
    mixer, mixture
        What is weighted, and how it has done.
    issued
        Every expert's forecast, their weighted mean and the size of its errors, as `Mixer.issue` gives them.
    horizon
        The longest lead.
    single
        Whether channels are left out.
    calibrated
        Whether bands follow the errors that were made, or are Gaussian.
    bound
        A bound that values cannot fall below. If None, 0 is found for channels of whole-number counts.
    upper
        A bound that values cannot rise above.
    """

    mixer: Mixer
    mixture: Mixture
    issued: Issued
    horizon: float
    single: bool
    calibrated: bool
    bound: float | int | None
    upper: float | int | None = None

    def __repr__(self) -> str:
        made_by = ", ".join(f"{name} {share:.0%}" for name, share in list(self.by[0].items())[:3])
        return f"EnsembleForecast(horizon={self.horizon}, by {made_by}, …)"

    # -- what is inside ---------------------------------------------------------------------------------------------

    @property
    def dt(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Time between samples."""
        return self.mixer.dt

    @cached_property
    def lower(self) -> float | int | None:
        """The bound that was given; 0 if all channels are whole-number counts; else None."""
        if self.bound is not None:
            return self.bound
        return 0.0 if len(self._counts) and bool(self._counts.all()) else None

    @cached_property
    def _channels(self) -> Channel:
        return self.mixer.open(self.mixture)

    @cached_property
    def _counts(self) -> Bool[np.ndarray, " channels"]:
        """Which channels hold whole-number counts."""
        return self.mixture.is_count

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """The values, channels first (or of the one channel), none beyond what can be; counts are bounded by 0."""
        if self.upper is not None:
            values = np.minimum(values, self.upper)
        if self.lower is not None:
            return np.asarray(np.maximum(values, self.lower))
        if not self._counts.any():
            return values
        found = np.array(values)
        found[self._counts] = np.maximum(found[self._counts], 0.0)
        return found

    @cached_property
    def by(self) -> tuple[dict[str, float], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the forecast of each channel was made by, and the share of each over the horizon, largest first."""
        return tuple(by_name(self.mixer, one.mean(axis=0)) for one in self.mixer.weights(self.mixture))

    @property
    def cells(self) -> Float[np.ndarray, "channels leads"]:
        """The mean of each cell to come."""
        return self.issued.mean

    @property
    def sizes(self) -> Float[np.ndarray, "channels leads"]:
        """The absolute error to expect in each."""
        found = self.issued.size
        unknown = self._channels.scale.step["weight"][:, :, 0] == 0
        return np.where(unknown, np.inf, found) if unknown.any() else found

    @cached_property
    def _calibration(self) -> Calibration:
        return Calibration(
            self._channels.errors["counts"], self._alike, beginning.py_func(self.mixer.horizon) / self.mixer.stride
        )

    @cached_property
    def coefficients(self) -> Float[np.ndarray, "*channels order"]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The cells in the basis of System 1, by least squares."""
        found = self.cells @ self._projection.T
        return found[0] if self.single else found

    @cached_property
    def covariance(self) -> Float[np.ndarray, "*channels order order"]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of the coefficients, errors of neighbouring leads being as alike as they were."""
        deviation = self._deviations[:, :, None]
        alike = np.stack([_chain(one) for one in self._alike])
        spread = deviation * alike * deviation.transpose(0, 2, 1)
        found = self._projection @ spread @ self._projection.T
        return found[0] if self.single else found

    def sample_covariance(self) -> Float[np.ndarray, "*channels leads leads"]:
        """Of the errors of the samples that fit into the horizon, by way of the basis of System 1."""
        basis = lead_basis(self.future, self.leads())
        return basis @ self.covariance @ basis.T

    @cached_property
    def future(self) -> LegT:
        """System 1: the basis in which `coefficients` are written."""
        return LegT(usual_order(self.horizon, self.dt), self.horizon)

    @cached_property
    def _projection(self) -> Float[np.ndarray, "order leads"]:
        return np.linalg.pinv(lead_basis(self.future, self.leads()))

    @cached_property
    def _deviations(self) -> Float[np.ndarray, "channels leads"]:
        """Standard deviations: from the middle two thirds of the errors, which outliers do not move."""
        if not self.calibrated:
            return self.sizes / _MEAN_OF_DEVIATION
        tail = float(ndtr(-1.0))
        return self.sizes * np.minimum(self._calibration.reach(tail).mean(axis=2), self._farthest(tail))

    @cached_property
    def _alike(self) -> Float[np.ndarray, "channels leads"]:
        """The correlation of the error at each lead with that at the lead before."""
        errors = self._channels.errors
        # Ten errors' worth of a random walk before there are any.
        lead = np.arange(self.mixer.horizon)
        usual = np.sqrt(lead / (lead + 1.0))
        return np.clip((errors["product"] + 10 * usual) / (errors["square"] + 10), -0.999, 0.999)

    # -- what is asked ----------------------------------------------------------------------------------------------

    def mean(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """The expected value at each lead; channels first."""
        if type(lead) is float and self.single and 0.5 * self.dt <= lead <= self.horizon:
            return self.bounded(self._read_one(lead))
        return self.bounded(self._read(self.cells, lead))

    def _read_one(self, lead: float) -> np.ndarray:
        """The same as `_read` for one number, for those who ask after every sample."""
        row = self.issued.mean[0]
        place = lead / self.dt + self.mixture.offset / self.dt - 0.5
        below = min(max(int(place + 1e-12), 0), len(row) - 1)
        part = min(max(place - below, 0.0), 1.0)
        value = row[below]
        return np.asarray(value + part * (row[min(below + 1, len(row) - 1)] - value) if part > 0 else value)

    def variance(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """Expected squared error at each lead; channels first."""
        return self._read(self._deviations**2, lead)

    def quantile(self, lead: Leads, probability: float) -> Float[np.ndarray, "..."]:
        """The value that the signal stays below with this probability."""
        share = checked_probability(probability)
        if share == 0.5:
            return self.mean(lead)
        found = self.bounded(self._read(self.cells + self.sizes * self._reach(share), lead))
        if not self._counts.any():
            return found
        # Between two whole numbers there is no count: a band of rare ones would lie above 0 and below 1.
        whole = np.floor(found) if share < 0.5 else np.ceil(found)
        if self.single:
            return np.asarray(whole)
        return np.where(self._counts.reshape(-1, *[1] * (found.ndim - 1)), whole, found)

    def _reach(self, share: float) -> Float[np.ndarray, "channels leads"]:
        """How far a quantile lies from the mean, in expected sizes, with its sign."""
        if not self.calibrated:
            return np.full(self.cells.shape, float(ndtri(share)) / _MEAN_OF_DEVIATION)
        side, sign, tail = (0, 1.0, 1 - share) if share > 0.5 else (1, -1.0, share)
        limit = np.minimum(self._farthest(tail), self._room[side])
        found = sign * np.minimum(self._calibration.reach(tail)[:, :, side], limit)
        for c in np.flatnonzero(self.doubted).tolist():
            found[c] = (self._of_both(c, share) - self.cells[c]) / self.sizes[c]
        return found

    @cached_property
    def _room(self) -> Float[np.ndarray, "two channels leads"]:
        """How far above and below the mean a band may reach, in expected sizes."""
        lowest, highest = self._limits(slice(None), slice(None), self.cells)
        room = np.stack([highest - self.cells, self.cells - lowest])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((self.sizes > 0) & np.isfinite(self.sizes), room / self.sizes, np.inf)

    def _limits(self, channel: int | slice, lead: int | slice, mean: np.ndarray | float) -> tuple[np.ndarray, ...]:
        """The lowest and the highest value that a band may hold.

        Beyond all that was seen, and beyond the mean where that drifts further, it reaches no further than the signal
        has ever moved over that lead. A lead at which few values were compared says nothing.
        """
        errors, cleaner = self._channels.errors[channel, lead], self.mixture.cleaner[channel, None]
        is_known = errors["weight"] >= _FEWEST_CHANGES
        rise, fall = (np.where(is_known, errors[name], np.inf) for name in ("rise", "fall"))
        return np.minimum(cleaner["lowest"], mean) - fall, np.maximum(cleaner["highest"], mean) + rise

    @property
    def doubted(self) -> Float[np.ndarray, " channels"]:
        """By how many expected errors the last reading of each channel is off, if no reading has confirmed it; else 0.

        Such a reading is an outlier, a level shift, or not complete yet; bands hold both, and the mean is the likelier.

        Examples
        --------
        >>> from hippozoo.ensemble import forecaster_for
        >>> forecaster, noise = forecaster_for(8), np.random.default_rng(0).normal(size=500)
        >>> forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), np.append(noise, -9999.0)))
        >>> lower, upper = forecast.band(4.5, coverage=0.95)
        >>> bool(forecast.doubted[0] > 5000), bool(lower < -9999 < 0 < upper), bool(abs(forecast.mean(4.5)) < 1)
        (True, True, True)
        """
        return self._channels.doubt.last["surprise"][:, 0]

    def _of_both(self, channel: int, share: float) -> Float[np.ndarray, " leads"]:
        """A quantile of the mixture of two forecasts, for a reading that is an outlier or a level shift."""
        last, leads = self._channels.doubt.last[channel, 0], self._channels.doubt.leads[channel]
        odds = odds_of_outlier.py_func(last["returned"], last["stayed"])
        passed, H = int(self.mixture.cell - 1 - last["cell"]), self.mixer.horizon
        below, above, shares = self._knots
        found = np.empty(H)
        for k in range(H):
            both = leads[min(k + passed, H - 1)]
            reach = np.concatenate([-below[channel, k], above[channel, k]])
            outlier, shift = (
                np.clip(both[one] + both[f"{one}_size"] * reach, *self._limits(channel, k, both[one]))
                for one in ("outlier", "shift")
            )
            place = np.sort(np.concatenate([outlier, shift]))
            reached = odds * np.interp(place, outlier, shares, left=0.0, right=1.0)
            reached += (1 - odds) * np.interp(place, shift, shares, left=0.0, right=1.0)
            found[k] = np.interp(share, reached, place)
        return found

    @cached_property
    def _knots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How far below and above the mean errors lie, (channels, leads, knots), and the share of errors below each."""
        reach = np.stack([self._calibration.reach(tail) for tail in _TAILS], axis=-1)
        return reach[:, :, 1], reach[:, :, 0, ::-1], np.concatenate([_TAILS, 1 - _TAILS[::-1]])

    def _farthest(self, tail: float, leads: slice = slice(None)) -> Float[np.ndarray, "channels leads"]:
        """How far out a quantile may lie, in expected sizes: about as far as the largest error that was made.

        Errors are counted in units of what was expected before them. After a step that is far less than what is
        expected now, and both together would make a band many times as wide as anything that ever came. What few
        errors cannot have shown is left room for.
        """
        errors, mean = self._channels.errors, self._channels.scale.leads["errors"]
        largest, weight = errors["largest"], errors["weight"]
        # A lead that was never compared: as the longest one before it that was, growing as a random walk does.
        lead = np.arange(self.mixer.horizon)
        known = np.maximum.accumulate(np.where(weight > 0, lead, -1), axis=1)
        at = np.maximum(known, 0)
        grown = np.sqrt((lead + 1) / (at + 1))
        largest, weight, mean = (np.take_along_axis(one, at, axis=1) for one in (largest, weight, mean))
        number = np.maximum(weight, 1.0)
        rare = np.sqrt(np.maximum(1.0, 1 / (tail * number)))
        usual = mean / number * grown
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where more is expected now than usually was, errors may be larger in proportion; few errors tell little
            # of what is usual.
            more = np.clip(self.sizes / usual, 1.0, 1.0 + number)
            limit = largest * grown * more * (1 + 2 / np.sqrt(number)) * rare / self.sizes
        # Where no size is known, or none is expected, there is nothing to measure a reach by.
        told = (known >= 0) & (largest > 0) & (self.sizes > 0) & np.isfinite(self.sizes) & (usual > 0)
        return np.where(told, limit, np.inf)[:, leads]

    def next_reading(self) -> tuple[Float[np.ndarray, " channels"], Float[np.ndarray, " channels"]]:
        """Mean and expected absolute error of the next reading of each channel: what a stream asks for every time."""
        if not self.mixture.offset:
            return self.bounded(self.cells[:, 0]), self.sizes[:, 0]
        middle = self.dt / 2
        return np.atleast_1d(self.mean(middle)), np.atleast_1d(self._read(self.sizes, middle))

    def next_reach(self, tail: float) -> Float[np.ndarray, "2 channels"]:
        """How far above and below its mean the next reading may lie, in expected errors; `tail` lies beyond each."""
        if not self.calibrated:
            return np.full((2, len(self.cells)), -float(ndtri(tail)) / _MEAN_OF_DEVIATION)
        first = slice(0, 1)
        return np.minimum(self._calibration.reach(tail, first)[:, 0], self._farthest(tail, first)).T

    def paths(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count *channels leads"]:
        """Futures that may come, cell by cell: each value as its band says, each error as like the last as they were.

        Examples
        --------
        >>> from hippozoo.ensemble import forecaster_for
        >>> forecaster = forecaster_for(8)
        >>> signal = np.random.default_rng(0).normal(size=500)
        >>> forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), signal))
        >>> forecast.paths(3, np.random.default_rng(1)).shape
        (3, 8)
        """
        number = whole_number("count", count)
        C, H = self.cells.shape
        alike, normal = self._alike, rng.normal(size=(number, C, H))
        for k in range(1, H):
            rho = alike[:, k]
            normal[:, :, k] = rho * normal[:, :, k - 1] + np.sqrt(1 - rho**2) * normal[:, :, k]
        # Quantiles at fixed probabilities, and straight lines between them.
        knots = np.linspace(-3.3, 3.3, 45)
        table = np.stack([self._reach(float(ndtr(one))) if one else np.zeros((C, H)) for one in knots])
        drawn = np.empty_like(normal)
        for c in range(C):
            for k in range(H):
                drawn[:, c, k] = np.interp(normal[:, c, k], knots, table[:, c, k])
        found = np.stack([self.bounded(one) for one in self.cells + self.sizes * drawn])
        return found[:, 0] if self.single else found

    def channel(self, number: int) -> EnsembleForecast:
        """The forecast of one channel by itself."""
        place = slice(number, number + 1)
        issued = Issued(*(one[place] for one in self.issued))
        return replace(self, mixture=self.mixture.channels(place), issued=issued, single=True)

    def _read(self, cells: Float[np.ndarray, "channels leads"], lead: np.ndarray | float) -> np.ndarray:
        """Values at leads, from those in the middles of cells."""
        leads = checked_leads(self.horizon, lead)
        place = leads / self.dt + self.mixture.offset / self.dt - 0.5
        below = np.clip(np.floor(place + 1e-12).astype(int), 0, cells.shape[1] - 1)
        above = np.minimum(below + 1, cells.shape[1] - 1)
        part = np.clip(place - below, 0.0, 1.0)
        with np.errstate(invalid="ignore"):
            between = cells[:, below] + part * (cells[:, above] - cells[:, below])
        # A line between infinities is one, and no number.
        found = np.where(part > 0, np.where(np.isnan(between), cells[:, below], between), cells[:, below])
        return np.asarray(found[0] if self.single else found)


def _chain(alike: Float[np.ndarray, " leads"]) -> Float[np.ndarray, "leads leads"]:
    """Correlations of a chain in which each error depends on the last one only."""
    total = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(np.abs(alike[1:]), 1e-6)))])
    signs = np.concatenate([[1.0], np.cumprod(np.where(alike[1:] < 0, -1.0, 1.0))])
    return np.exp(-np.abs(total[:, None] - total)) * signs[:, None] * signs
