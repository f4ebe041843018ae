"""What a look has found; each question is computed when it is asked, and kept."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hippozoo.memory import Memory
from hippozoo.microscope.classifier import ClassScores, classify
from hippozoo.microscope.closed_form import NearestSystem, exact_profile, nearest_system
from hippozoo.microscope.crossfit import DRAWS, Crossfit, Progress, Scores, canonical, recent_window
from hippozoo.microscope.probes import Probe, degree_targets, variables_within
from hippozoo.microscope.recording import Recording, Subject, as_array, refuse_large
from hippozoo.microscope.results import Capacity, ClassProfile, Profile, band
from hippozoo.microscope.sensitivity import measure_sensitivity
from hippozoo.microscope.states import States, prepare_states, standardised
from hippozoo.systems import HippoSystem

__all__ = ["Asked", "View"]

NOT_FORGOTTEN = "Not linearly readable is not forgotten: the profile is what a linear readout finds."
NOT_WHITE = (
    "The input is not white: part of the profile is the input's own correlation. See view.partial for what the state "
    "adds to the present sample."
)
# Random features of the nonlinear readout, at most a tenth of the rows.
RANDOM_FEATURES = 512
# Leading components of the state that they are made of.
RANDOM_INPUTS = 32
# Runs of products that share a ridge penalty.
GROUPS = 64
# Standard deviation of what counts as known exactly, relative to the state's.
KNOWN = 100.0
# Noise where it has been drawn already: enough for rounding.
NONE = 1e-12


class Asked(NamedTuple):
    """What was asked of a look: inputs, lags and moments, and how strictly."""

    x: Any
    lags: int
    moments: Int[np.ndarray, " moments"]
    noise: float
    seed: int
    probe: Probe | None
    tokens: int | None
    components: int | None
    progress: Progress
    notes: tuple[str, ...]


class View:
    """What a model remembers of its input. Made by `hippozoo.microscope.look`.

    `columns` says which numbers of the subject's state these are, for the view of one layer; by default all.

    Examples
    --------
    >>> from hippozoo.microscope import look
    >>> from hippozoo.systems import LegT
    >>> view = look(LegT(8, 20.0), "noise", lags=32)
    >>> round(float(view.capacity)), view.size
    (8, 8)
    """

    def __init__(
        self, subject: Subject, recording: Recording, asked: Asked, name: str, columns: np.ndarray | None = None
    ) -> None:
        self.name, self.asked = name, asked
        self._subject, self._recording, self._columns = subject, recording, columns
        self.states: States = prepare_states(recording.states, asked.noise, asked.components)

    def __repr__(self) -> str:
        return f"<View of {self.name}: {self.size} numbers, {self.asked.lags} lags; print it for its report>"

    def __str__(self) -> str:
        return self.report()

    @property
    def size(self) -> int:
        """Numbers of the state that depend on the input."""
        return self.states.size

    @property
    def is_white(self) -> bool:
        """Whether the input was a noise probe, whose samples are independent."""
        return self.asked.probe is not None

    @cached_property
    def _channels(self) -> Float[np.ndarray, "batch time channels"]:
        x = self.asked.x
        return standardised(x[:, :, np.ptp(x, (0, 1)) > 0])

    def _past(self, values: np.ndarray) -> np.ndarray:
        """Past samples of every moment, most recent first: (sequences, moments, lags, ...)."""
        places = self.asked.moments[:, None] - np.arange(self.asked.lags)
        refuse_large(len(values), len(places), self.asked.lags * int(np.prod(values.shape[2:])))
        return values[:, places]

    def _fresh(self, what: int) -> np.random.Generator:
        """Randomness of each question is its own, so that the order of questions does not matter."""
        return np.random.default_rng([self.asked.seed, what])

    def _crossfit(self, what: int, features: np.ndarray) -> Crossfit:
        """Readouts of these features, under the noise that the state is under."""
        return Crossfit(features, self.asked.noise, self._fresh(what), self.asked.progress, self.states.scale)

    @cached_property
    def _fit(self) -> Crossfit:
        return self._crossfit(0, self.states.features)

    def _read_past(self, fit: Crossfit) -> Scores:
        past = self._past(self._channels)
        groups = np.repeat(np.arange(self.asked.lags), past.shape[3])
        return fit.scores(past.reshape(*past.shape[:2], -1), groups)

    @cached_property
    def _scores(self) -> Scores:
        return self._read_past(self._fit)

    @cached_property
    def profile(self) -> Profile | ClassProfile:
        """R² of the sample k steps ago by lag; of tokens, the bits that can be read of it."""
        if not self.asked.tokens:
            return Profile.of(self._scores)
        return ClassProfile.of(self._token_scores)

    @cached_property
    def _token_scores(self) -> ClassScores:
        return self._classified(self.states, self._past(self.asked.x))

    @cached_property
    def partial(self) -> Profile:
        """What the state adds to the present sample: 1 - SSE(state and x(t)) / SSE(x(t)); undefined at lag 0."""
        self._demand_numbers("a partial profile")
        # The present sample is known exactly: it is so large that the noise on the state does not reach it.
        present = KNOWN * self._channels[:, self.asked.moments]
        alone = self._read_past(Crossfit(present, self.asked.noise, self._fresh(1), self.asked.progress, 1.0))
        both = np.concatenate([self.states.features, np.sqrt(self.states.scale) * present], -1)
        joint = self._read_past(self._crossfit(1, both))

        def added(joint: np.ndarray, alone: np.ndarray) -> np.ndarray:
            return 1 - (1 - joint) / np.maximum(1 - alone, 1e-12)

        value = added(joint.r2(), alone.r2())
        low, high = band(value, added(joint.r2_without_each(), alone.r2_without_each()), of_r2=True)
        value[0] = low[0] = high[0] = np.nan
        return Profile(value, low, high, joint.chance)

    @cached_property
    def nonlinear(self) -> Profile:
        """R² by lag of a readout that also sees random nonlinear functions of the state."""
        self._demand_numbers("a nonlinear profile")
        rng, states = self._fresh(2), self.states
        # Here the noise is drawn: what a nonlinear function makes of it has no simple expectation.
        seen = rng.normal(size=states.features.shape)
        seen *= np.sqrt(self.asked.noise * states.scale)
        seen += states.features
        leading = seen @ states.whitening[:, :RANDOM_INPUTS]
        sequences, moments, size = seen.shape
        width = max(1, min(RANDOM_FEATURES, sequences * moments // 10 - size))
        slopes = rng.normal(size=(leading.shape[2], width)) / np.sqrt(leading.shape[2])
        bent = np.tanh(leading @ slopes + rng.normal(size=width))
        seen = np.concatenate([seen, np.sqrt(states.scale) * bent], -1)
        return Profile.of(self._read_past(Crossfit(seen, NONE, rng, self.asked.progress, states.scale, size)))

    @property
    def half_life(self) -> int | float:
        """The smallest lag with R² below .5 (of tokens, with less than half of the bits)."""
        return self.profile.half_life()

    @property
    def window(self) -> int:
        """How many lags, from the present, hold 95 % of the capacity."""
        held = np.maximum(self._held[0], 0).cumsum()
        return int(np.searchsorted(held, 0.95 * held[-1]) + 1) if held[-1] > 0 else 0

    @property
    def rank(self) -> float:
        """Participation ratio of the state's covariance: in how many directions it moves."""
        return self.states.rank

    @cached_property
    def _held(self) -> tuple[np.ndarray, np.ndarray]:
        """What each lag adds to the capacity, and the same without each sequence; of tokens, bits."""
        if self.asked.tokens:
            return self._token_scores.readable(), self._token_scores.readable_without_each()
        past = self._past(self._channels)
        if self.is_white:
            return past.shape[3] * self._scores.r2(), past.shape[3] * self._scores.r2_without_each()
        past = recent_window(past)
        groups = np.repeat(np.arange(past.shape[2]), past.shape[3])
        window = past.reshape(*past.shape[:2], -1)
        held, _, each = canonical(self._fit, window, self.asked.noise, groups, "counting what is held")
        return held, each

    @cached_property
    def capacity(self) -> Capacity:
        """Samples held: the sum of squared canonical correlations of the state and the past window.

        It is cross-fitted as the profile is. For a noise probe it is the sum of the profile. Of tokens: the sum of
        readable bits.
        """
        held, each = self._held
        if isinstance(self.profile, ClassProfile):
            most = float(self.profile.chance_bits.sum())
        else:
            most = float(min(self.size, self.asked.lags * self._channels.shape[2]))
        return Capacity.of(held.sum(), each.sum(1), most, len(held))

    @cached_property
    def degrees(self) -> dict[int, Capacity]:
        """Capacity by degree, 1 to 3, under a noise probe: products of past samples that can be read off the state.

        Higher degrees are counted within the most recent lags (`Capacity.lags`), so that they are lower bounds.
        """
        self._demand_numbers("a capacity by degree")
        probe = self.asked.probe
        if probe is None:
            raise ValueError(
                "degrees are counted under independent samples only, where products of the past are uncorrelated; for "
                "this input they would count its own correlation. Call look(model, 'noise') or look(model, 'uniform')."
            )
        found = {1: self.capacity}
        past = self._past(self._channels)
        channels, flat = past.shape[3], past.reshape(*past.shape[:2], -1)
        for degree in (2, 3):
            variables = variables_within(degree, flat.shape[2])
            targets = degree_targets(probe, degree, flat[:, :, :variables])
            groups = np.arange(targets.shape[2]) // -(-targets.shape[2] // GROUPS)
            scores, sizes = self._fit.scores(targets, groups, f"degree {degree}"), np.bincount(groups)
            held, each = float(scores.r2() @ sizes), scores.r2_without_each() @ sizes
            found[degree] = Capacity.of(held, each, float(self.size), max(1, variables // channels))
        return found

    @cached_property
    def exact(self) -> Float[np.ndarray, " lags"] | None:
        """The closed form of the profile, for a linear memory of ours under a noise probe; None elsewhere."""
        is_whole = self.is_white and self._columns is None
        impulse = self._subject.impulse(int(self.asked.moments[-1]) + 1) if is_whole else None
        return None if impulse is None else exact_profile(impulse, self.asked.lags, self.asked.noise, self._seen())

    def _seen(self) -> Float[np.ndarray, " lags"]:
        """Share of the moments at which a sample so many steps ago had been seen."""
        steps = np.arange(int(self.asked.moments[-1]) + 1)
        return 1 - np.searchsorted(self.asked.moments, steps) / len(self.asked.moments)

    def as_system(self) -> NearestSystem:
        """The plain memory that remembers most alike: LegT, LegS, LagT or FouT, with order and timescale."""
        return self._nearest

    @cached_property
    def _nearest(self) -> NearestSystem:
        if not self.is_white:
            raise ValueError(
                "as_system compares profiles under white noise, where ours have a closed form; call "
                "look(model, 'noise').as_system()."
            )
        most = max(1, self.size // self._channels.shape[2])
        profile = np.asarray(self.profile.value)
        system, explained, exact = nearest_system(profile, most, self._seen(), self.asked.noise)
        targets = self._coefficients_of(Memory(system))
        targets = targets.reshape(*targets.shape[:2], -1)
        together = np.zeros(targets.shape[2], int)
        held, of, _ = canonical(self._fit, targets, self.asked.noise, together, "comparing states")
        return NearestSystem(system, explained, float(held[0] / of[0]), tuple(exact.tolist()))

    def _coefficients_of(self, memory: Memory) -> Float[np.ndarray, "sequences moments channels order"]:
        batch, n_steps, channels = self._channels.shape
        streams = np.moveaxis(self._channels, 1, 0).reshape(n_steps, -1)
        states = memory.scan(streams)[self.asked.moments]
        return np.moveaxis(states.reshape(len(states), batch, channels, -1), 0, 1)

    def coefficients(self, system: HippoSystem | Memory) -> Profile:
        """R² of each coefficient of a memory of the same input, such as ``LegT(16, 64.0)``, pooled over channels."""
        self._demand_numbers("coefficients")
        memory = system if isinstance(system, Memory) else Memory(system)
        targets = standardised(self._coefficients_of(memory))
        groups = np.tile(np.arange(targets.shape[3]), targets.shape[2])
        return Profile.of(self._fit.scores(targets.reshape(*targets.shape[:2], -1), groups, "coefficients"))

    @cached_property
    def sensitivity(self) -> Profile:
        """E ‖Σ^(-1/2) d state / d x(t - k)‖² by lag, the effective history; of a linear memory on noise its profile."""
        self._demand_numbers("a sensitivity")
        columns = slice(None) if self._columns is None else self._columns
        whiten, lags = self.states.basis @ self.states.whitening, self.asked.lags
        return measure_sensitivity(self._subject, self.asked.x, columns, whiten, lags, self._fresh(3))

    def decode(self, targets: Any) -> Profile | ClassProfile:
        """How well any labelled quantity can be read off the state.

        Parameters
        ----------
        targets
            One per sequence, (batch,), read off the state at the last moment; several per sequence, (batch, k); or
            one per sample, (batch, time). Whole numbers are classes, real numbers are regressed.
        """
        values, states = as_array(targets), self.states
        batch, n_steps = self.asked.x.shape[:2]
        if values.ndim not in (1, 2) or len(values) != batch:
            raise ValueError(
                f"targets have shape {values.shape}, expected ({batch},), ({batch}, k) or ({batch}, {n_steps})."
            )
        if values.ndim == 2 and values.shape[1] == n_steps:
            answers = values[:, self.asked.moments, None]
        else:
            answers = values.reshape(batch, 1, -1)
            if len(self.asked.moments) > 1:
                states = prepare_states(self._recording.states[:, -1:], self.asked.noise, self.asked.components)
        if answers.dtype.kind in "iub":
            answers = answers.astype(np.int64)
            if answers.min() < 0:
                raise ValueError(f"targets hold the class {answers.min()}; classes are whole numbers from 0.")
            return ClassProfile.of(self._classified(states, answers))
        if answers.dtype.kind != "f" or not np.isfinite(answers).all():
            raise ValueError(f"targets have dtype {answers.dtype}; pass finite real numbers, or classes as integers.")
        if (answers.std((0, 1)) == 0).any():
            raise ValueError("targets do not change; there is nothing to read.")
        answers = standardised(answers)
        fit = Crossfit(states.features, self.asked.noise, self._fresh(4), self.asked.progress, states.scale)
        return Profile.of(fit.scores(answers, np.arange(answers.shape[2]), "decoding"))

    def _classified(self, states: States, answers: np.ndarray) -> ClassScores:
        noise = self.asked.noise * states.scale
        return classify(states.features, answers, noise, self._fresh(5), self.asked.progress)

    @cached_property
    def by_layer(self) -> dict[str, View]:
        """A view of what each layer carries, in the order of the model."""
        found = {}
        layers = self._recording.layers or {"state": np.arange(self._recording.states.shape[2])}
        for name, columns in layers.items():
            part = Recording(self._recording.states[:, :, columns], {name: np.arange(len(columns))})
            if part.states.std((0, 1)).max() > 0:
                found[name] = View(self._subject, part, self.asked, f"{self.name}, {name}", columns)
        return found

    @cached_property
    def by_unit(self) -> Float[np.ndarray, "units lags"]:
        """R² of each lag from each number of the state alone, pooled over channels and corrected for chance."""
        self._demand_numbers("a profile by unit")
        past, states = (standardised(part) for part in (self._past(self._channels), self._recording.states))
        flat = states.reshape(-1, states.shape[2])

        def squared(past: np.ndarray) -> np.ndarray:
            """Squared correlations of all units with all lags, the mean over channels."""
            cross = flat.T @ past.reshape(len(flat), -1) / len(flat)
            return (cross**2).reshape(-1, *past.shape[2:]).mean(-1)

        shifts = self._fresh(6).permutation(np.arange(1, len(past)))[:DRAWS]
        chance = np.mean([squared(np.roll(past, shift, 0)) for shift in shifts], 0)
        return 1 - (1 - squared(past)) / (1 - chance)

    def _demand_numbers(self, what: str) -> None:
        if self.asked.tokens:
            raise ValueError(f"tokens have no {what.removeprefix('a ')}; look at the bits in view.profile.")

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind when reading the numbers."""
        found = [NOT_FORGOTTEN, *self.asked.notes, *self.states.notes]
        if not self.asked.tokens and not self.is_white:
            x = self._channels
            if np.abs((x[:, 1:] * x[:, :-1]).mean((0, 1))).max() > 4 / np.sqrt(x[:, 1:, 0].size):
                found.append(NOT_WHITE)
        return tuple(found)

    def report(self) -> str:
        """The numbers in sentences."""
        batch, moments = self.states.features.shape[:2]
        unit, bent = ("bits", "") if self.asked.tokens else ("samples", f"; {self.nonlinear.half_life():g} nonlinearly")
        lines = [
            f"{self.name}: {self.size} numbers, seen at {moments} moments of {batch} sequences.",
            f"It holds {self.capacity} {unit} and moves in {self.rank:.1f} directions.",
            f"Half-life in samples: {self.half_life:g}{bent}. Lags that hold 95 % of the capacity: {self.window}.",
        ]
        if self.is_white and not self.asked.tokens:
            lines.append(f"It remembers {self.as_system()}.")
        return "\n".join([*lines, *self.notes])

    def numbers(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "name": self.name,
            "size": self.size,
            "lags": self.asked.lags,
            "input": self.asked.probe or ("tokens" if self.asked.tokens else "data"),
            "profile": self.profile.numbers(),
            "capacity": self.capacity.numbers(),
            "half_life": None if self.half_life == float("inf") else self.half_life,
            "window": self.window,
            "rank": self.rank,
            "notes": list(self.notes),
        }
