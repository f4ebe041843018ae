"""`look`: run a model on sequences, and see what it remembers of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo.microscope.probes import PROBES, draw_probe
from hippozoo.microscope.recording import Recording, Subject, as_array, subject_for
from hippozoo.microscope.view import Asked, View

__all__ = ["look"]

# Fewer sequences leave too few to resample, and a fold of one.
FEWEST_SEQUENCES = 8
PROBE_SEQUENCES, PROBE_MOMENTS = 40, 500
# A state counts as settled where sequences that began differently leave it this near, relative to its variance.
SETTLED, PILOTS = 1e-3, 8


def look(
    model: Any,
    x: Any,
    lags: int | None = None,
    *,
    at: Iterable[int] | None = None,
    noise: float = 1e-6,
    components: int | None = None,
    sequences: int = PROBE_SEQUENCES,
    length: int | None = None,
    channels: int | None = None,
    seed: int = 0,
    name: str | None = None,
    progress: bool | None = None,
) -> View:
    """See what a sequence model remembers of its input.

    Nothing about the model is changed: it runs in evaluation mode and comes back in the mode and on the device it
    was in.

    Parameters
    ----------
    model
        A layer, member, stack or baseline of hippozoo; a `Memory` or a system; ``nn.LSTM``, ``nn.GRU``, ``nn.RNN``; a
        Mamba of mambapy or transformers; a module of yours that has one of these inside; a reservoirpy reservoir; a
        pair ``(step, initial_state)`` with ``state = step(state, sample)``; a function of sequences that returns their
        states; or an array of recorded states, (batch, time, size). If `initial_state` is a function, it is called with
        the number of sequences, and `step` takes them all at once.
    x
        Sequences, (batch, time, channels); tokens, whole numbers (batch, time); or a probe, ``"noise"`` (normal) or
        ``"uniform"``, of independent samples (uniform tokens for a model of tokens).
    lags
        How many lags, from 0, the present sample; by default 64, 16 for tokens, or half the samples if those are fewer.
    at
        Moments at which the state is looked at, as indices of samples, such as ``[-1]``; by default all that have
        `lags` samples before them. A probe also gives the state time to forget how it began.
    noise
        Variance of the noise on the state that a readout must rise above, relative to the state's mean variance.
    components
        Principal components of the state to look at, at most a tenth of the rows; by default all numbers.
    sequences, length, channels
        Of a probe: how many sequences, samples in each, and channels where the model does not say.
    seed
        Of the probe, the folds and the chance level.
    name
        What the model is called in tables and pictures.
    progress
        Whether progress is shown on stderr; by default where that is a terminal.

    Examples
    --------
    A window of 20 samples, kept in 8 numbers, and what can be read off them.

    >>> from hippozoo.systems import LegT
    >>> print(look(LegT(8, 20.0), "noise", lags=32).as_system())
    as LegT(order=8, timescale=20), 100 % explained
    """
    subject = subject_for(model)
    probe: Any = x if isinstance(x, str) else None
    if probe is not None and probe not in PROBES:
        raise ValueError(f"x={shorten(x)}; pass sequences (batch, time, channels), tokens, 'noise' or 'uniform'.")
    if probe and type(subject) is Subject:
        raise ValueError(f"x={probe!r}: recorded states cannot be run on a probe; pass the inputs they came from.")
    given = None if probe else as_array(x)
    is_tokens = bool(subject.tokens) if given is None else given.dtype.kind in "iub" and given.ndim == 2
    if lags is None:
        lags = 16 if is_tokens else 64
        lags = lags if given is None or given.ndim < 2 else max(1, min(lags, given.shape[1] // 2))
    lags, noise = whole_number("lags", lags), positive_number("noise", noise)
    components = None if components is None else whole_number("components", components)
    rng = np.random.default_rng([seed, 7])
    notes: tuple[str, ...] = ()
    if given is None:
        count, pilot = whole_number("sequences", sequences), np.random.default_rng([seed, 8])
        warmup, notes = _settling(subject, lags, lambda n: _probe(subject, probe, (PILOTS, n), channels, pilot))
        length = warmup + PROBE_MOMENTS if length is None else whole_number("length", length, minimum=lags + 1)
        warmup = max(lags, min(warmup, length // 2))
        values = _probe(subject, probe, (count, length), channels, rng)
    else:
        warmup, values = lags, given.astype(np.int64) if is_tokens else _checked_numbers(given)
    _refuse_few(values, lags)
    subject.refuse_shape(values)
    tokens = (subject.tokens or int(values.max()) + 1) if is_tokens else None
    moments = _moments(at, lags, warmup, values.shape[1])
    show = _show if (sys.stderr.isatty() if progress is None else progress) else lambda phrase, share: None
    asked = Asked(values, lags, moments, noise, seed, None if is_tokens else probe, tokens, components, show, notes)
    asked.progress("running the model", 0.0)
    recording = subject.record(values, moments)
    _refuse_changing(subject, values, moments, recording)
    view = View(subject, recording, asked, subject.name if name is None else name)
    asked.progress("", 1.0)
    return view


def _probe(
    subject: Subject, probe: Any, shape: tuple[int, int], channels: int | None, rng: np.random.Generator
) -> np.ndarray:
    if subject.tokens:
        return rng.integers(subject.tokens, size=shape)
    channels = whole_number("channels", subject.channels or 1 if channels is None else channels)
    if subject.channels and channels != subject.channels:
        raise ValueError(f"channels={channels}, but the model takes {subject.channels}; leave channels out.")
    return draw_probe(probe, (*shape, channels), rng)


def _settling(subject: Subject, lags: int, draw: Callable[[int], np.ndarray]) -> tuple[int, tuple[str, ...]]:
    """Samples after which a state no longer depends on how it began, four times the lags at least; and what to note.

    Two sequences that differ in their first `lags` samples are run, with doubled length until their states agree.
    """
    warmup = 2 * lags
    for _ in range(5):
        warmup *= 2
        one = draw(warmup)
        other = np.concatenate([draw(lags), one[:, lags:]], 1)
        states = subject.respond(np.concatenate([one, other]))
        apart = states[:PILOTS] - states[PILOTS:]
        if (apart**2).mean(0).sum() <= SETTLED * states.var(0).sum():
            return warmup, ()
    return warmup, (
        f"After {warmup} samples the state still depends on the first {lags}: it had not settled under the probe, and "
        "its profile would differ in a longer run (length=).",
    )


def _checked_numbers(x: np.ndarray) -> np.ndarray:
    values = real_array("x", x, what_to_do="Cut out or fill missing samples first.")
    if values.ndim != 3:
        raise ValueError(
            f"x has shape {values.shape}, expected (batch, time, channels), or whole numbers (batch, time) for tokens; "
            "pass x[None] for one sequence, x[..., None] for one channel."
        )
    if values.size and (np.ptp(values, (0, 1)) == 0).all():
        raise ValueError("x is constant, so there is no past to tell apart; pass sequences that change, or 'noise'.")
    return values


def _refuse_few(values: np.ndarray, lags: int) -> None:
    batch, n_steps = values.shape[:2]
    if batch < FEWEST_SEQUENCES:
        raise ValueError(
            f"x has {batch} sequences; readouts are fitted on some and scored on others, which takes at least "
            f"{FEWEST_SEQUENCES}. Cut long sequences into pieces: x.reshape(-1, pieces, channels)."
        )
    if n_steps < lags + 1:
        raise ValueError(f"x has {n_steps} samples, but lags={lags} needs at least {lags + 1}; pass fewer lags.")
    if values.ndim == 2 and (values.min() < 0 or np.ptp(values) == 0):
        raise ValueError(
            f"x holds tokens from {values.min()} to {values.max()}; pass whole numbers from 0, more than one of them."
        )


def _moments(at: Iterable[int] | None, lags: int, warmup: int, n_steps: int) -> np.ndarray:
    if at is None:
        return np.arange(warmup - 1, n_steps)
    given = [at] if isinstance(at, (int, np.integer)) else list(at)
    moments = np.array([whole_number("at", one, minimum=-n_steps) for one in given])
    moments = np.unique(np.where(moments < 0, moments + n_steps, moments))
    if not len(moments) or moments[0] < lags - 1 or moments[-1] >= n_steps:
        raise ValueError(
            f"at={shorten(given)}; pass indices from {lags - 1}, where {lags} lags have been seen, to {n_steps - 1}."
        )
    return moments


def _refuse_changing(subject: Subject, values: np.ndarray, moments: np.ndarray, recording: Recording) -> None:
    """An error where the same input gives another state when it is run again."""
    if type(subject) is Subject:
        return
    both = (recording, subject.record(values[:1], moments[:1]))
    first, again = (np.nan_to_num(one.states[0, 0]) for one in both)  # NaN is told about later
    scale = np.abs(first).max() + np.abs(again).max()
    # Wide enough for single precision, whose rounding depends on the size of the batch.
    if not np.allclose(first, again, rtol=1e-3, atol=1e-4 * scale):
        raise ValueError(
            "the same input gives another state when it is run again: the model changed while it was looked at, or it "
            "is random; switch learning and dropout off."
        )


def _show(phrase: str, share: float) -> None:
    """One line on stderr that is written over."""
    text = f"{phrase} {share:.0%}" if phrase else ""
    sys.stderr.write(f"\r{text:<40}" + ("" if phrase else "\r"))
    sys.stderr.flush()
