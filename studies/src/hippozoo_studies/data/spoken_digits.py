"""The Free Spoken Digit Dataset as sequences: 3,000 recordings of ten digits, 24 log-mel bands, official split."""

from __future__ import annotations

import re
import wave
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import whole_number
from hippozoo.tasks.data_files import data_file

__all__ = ["BANDS", "FRAME", "HOP", "SpokenDigits", "load_spoken_digits", "log_mel"]

RATE = 8_000
#: Samples of a frame, 25 ms, and from one frame to the next, 10 ms.
FRAME, HOP = 200, 80
#: Mel bands between 60 Hz and half the sampling rate.
BANDS = 24
_LOWEST = 60.0
_TRANSFORM = 256
# Power of a silent frame, in units of a full-scale one: digital silence has a logarithm too.
_FLOOR = 1e-6
_NAME = re.compile(r"(\d)_([a-z]+)_(\d+)\.wav")
# Recordings 0 to 4 of every digit and speaker are the official test set.
_TEST = 5


@dataclass(frozen=True, eq=False)
class SpokenDigits:
    """Recordings as frames, and what was said.

    Parameters
    ----------
    frames
        (recordings, time, 24): log-mel bands, each standardised by the training recordings. A recording ends with the
        last frame; before a short one there is silence, of a long one the beginning is cut off.
    labels
        The digits, 0 to 9.
    speakers
        Who said it.
    lengths
        Frames of speech, at the end of the sequence.
    """

    frames: Float[np.ndarray, "recordings time bands"]
    labels: Int[np.ndarray, " recordings"]
    speakers: tuple[str, ...]
    lengths: Int[np.ndarray, " recordings"]


def load_spoken_digits(data: str | Path | None = None, time: int = 64) -> tuple[SpokenDigits, SpokenDigits]:
    """Recordings to learn from (2,700) and to report (300), by the official split.

    References
    ----------
    Jackson et al. (2018), Free Spoken Digit Dataset, version 1.0.8.
    """
    time = whole_number("time", time)
    folder = data_file("fsdd/recordings/0_george_0.wav", data).parent
    found = sorted((match, path) for path in folder.glob("*.wav") if (match := _parts(path)))
    frames = np.empty((len(found), time, BANDS), np.float32)
    lengths = np.empty(len(found), int)
    for number, (_, path) in enumerate(found):
        signal = _read(path)
        lengths[number] = min(time, 1 + max(0, len(signal) - FRAME) // HOP)
        frames[number] = log_mel(_fitted(signal, time))
    index = np.array([one[0][2] for one in found])
    labels = np.array([one[0][0] for one in found])
    is_test = index < _TEST
    if is_test.all() or not is_test.any():
        raise ValueError(
            f"{folder} holds {len(found)} recordings, all of them {'test' if is_test.all() else 'training'} ones; the "
            f"test set is those with index 0 to {_TEST - 1}, the training set the others. Put all files there."
        )
    mean, spread = frames[~is_test].mean((0, 1)), frames[~is_test].std((0, 1))
    frames = (frames - mean) / np.where(spread > 1e-4, spread, 1.0)  # a band that is silent throughout stays at zero
    train, test = (
        SpokenDigits(
            frames[part],
            labels[part],
            tuple(found[number][0][1] for number in np.flatnonzero(part)),
            lengths[part],
        )
        for part in (~is_test, is_test)
    )
    return train, test


def log_mel(signal: Float[np.ndarray, " samples"]) -> Float[np.ndarray, "time bands"]:
    """The logarithm of the power in 24 mel bands, frames of 200 samples (25 ms) every 80 (10 ms), Hann window.

    Examples
    --------
    Silence has the power of the floor in every band.

    >>> log_mel(np.zeros(360)).round(2)[0, :2].tolist(), len(log_mel(np.zeros(360)))
    ([-6.0, -6.0], 3)
    """
    starts = np.arange(1 + (len(signal) - FRAME) // HOP) * HOP
    pieces = signal[starts[:, None] + np.arange(FRAME)] * np.hanning(FRAME)
    power = np.abs(np.fft.rfft(pieces, _TRANSFORM)) ** 2 / FRAME
    return np.log10(power @ _filters().T + _FLOOR)


@lru_cache(maxsize=1)
def _filters() -> Float[np.ndarray, "bands frequencies"]:
    """Triangles that are equally wide on the mel scale, 2595 log10(1 + f / 700), and half overlap."""
    lowest, highest = 2595 * np.log10(1 + np.array([_LOWEST, RATE / 2]) / 700)
    corners = 700 * (10 ** (np.linspace(lowest, highest, BANDS + 2) / 2595) - 1)
    frequency = np.fft.rfftfreq(_TRANSFORM, 1 / RATE)
    rising = (frequency - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falling = (corners[2:, None] - frequency) / np.diff(corners)[1:, None]
    return np.maximum(0.0, np.minimum(rising, falling))


def _parts(path: Path) -> tuple[int, str, int] | None:
    match = _NAME.fullmatch(path.name)
    return (int(match[1]), match[2], int(match[3])) if match else None


def _read(path: Path) -> np.ndarray:
    try:
        with wave.open(str(path)) as file:
            form = file.getnchannels(), file.getsampwidth(), file.getframerate()
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError(f"{path} is no readable wav file ({error}); put the published file there.") from None
    if form != (1, 2, RATE):
        raise ValueError(
            f"{path} has {form[0]} channel(s) of {8 * form[1]} bits at {form[2]} Hz; expected one of 16 bits at {RATE}."
        )
    if not content:
        raise ValueError(f"{path} holds no samples; put the published file there.")
    return np.frombuffer(content[: len(content) // 2 * 2], "<i2").astype(float) / 2**15


def _fitted(signal: np.ndarray, time: int) -> np.ndarray:
    """The last samples that make so many frames, with silence before them where there are too few."""
    wanted = FRAME + (time - 1) * HOP
    return np.concatenate([np.zeros(max(0, wanted - len(signal))), signal[-wanted:]])
