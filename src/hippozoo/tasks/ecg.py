"""An electrocardiogram of the MIT-BIH Arrhythmia Database: voltages, beats, and the heart rate they make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo._internal.extras import needs
from hippozoo.tasks.data_files import data_file

__all__ = ["Ecg", "heart_rate", "load_ecg"]

# The annotation codes that mark a beat; the others speak of rhythm, noise and quality.
BEATS = frozenset("NLRBAaJSVrFejnE/fQ?")


@dataclass(frozen=True, eq=False)
class Ecg:
    """A record: what was measured, how fast, and where the beats are.

    Examples
    --------
    >>> record = Ecg(np.zeros((3600, 1)), ("MLII",), 360.0, np.array([300, 590]), ("N", "N"))
    >>> float(np.diff(record.beats)[0] / record.rate)  # seconds from beat to beat
    0.8055555555555556
    """

    voltage: Float[np.ndarray, "time leads"]  #: In millivolts, one column per lead.
    leads: tuple[str, ...]  #: Their names, such as MLII.
    rate: float  #: Samples per second.
    beats: Int[np.ndarray, " beats"]  #: The sample of each beat, rising.
    kinds: tuple[str, ...]  #: What sort of beat each is: N normal, A premature atrial, V premature ventricular, …


def load_ecg(record: str = "100", data: str | Path | None = None) -> Ecg:
    """Read a record with its reference annotations; needs the extra ``hippozoo[data]`` (wfdb).

    Parameters
    ----------
    record
        Its name; ``ecg/100.hea``, ``.dat`` and ``.atr`` are looked for.
    data
        The data folder, else that of the environment variable HIPPOZOO_DATA.

    Examples
    --------
    >>> load_ecg("100", data="DIR").voltage.shape  # doctest: +SKIP
    (650000, 2)

    References
    ----------
    Moody and Mark (2001), The Impact of the MIT-BIH Arrhythmia Database.
    """
    if not isinstance(record, str) or not record or Path(record).name != record:
        raise ValueError(f"record={shorten(record)}; pass the name of a record, for example '100'.")
    files = {ending: data_file(f"ecg/{record}.{ending}", data) for ending in ("hea", "dat", "atr")}
    wfdb = needs("wfdb", extra="data", feature="reading records of PhysioNet")
    stem = str(files["hea"].with_suffix(""))
    try:
        found: Any = wfdb.rdrecord(stem)
        marks: Any = wfdb.rdann(stem, "atr")
    except Exception as error:  # wfdb raises whatever its parsing stumbles over
        raise ValueError(
            f"{stem}: not a readable record ({error}); put the whole files .hea, .dat, .atr there."
        ) from error
    voltage = np.asarray(found.p_signal, np.float64)
    if voltage.size == 0 or not np.isfinite(voltage).all():
        raise ValueError(f"{stem}: holds missing voltages; cut the record to a part without gaps.")
    is_beat = np.array([symbol in BEATS for symbol in marks.symbol], bool)
    beats = np.asarray(marks.sample, np.int64)[is_beat]
    kinds = tuple(symbol for symbol, beat in zip(marks.symbol, is_beat, strict=True) if beat)
    return Ecg(voltage, tuple(found.sig_name), float(found.fs), beats, kinds)


def heart_rate(beats: Int[np.ndarray, " beats"], n_steps: int, rate: float) -> Float[np.ndarray, " time"]:
    """Beats per minute at every sample, from the last interval between two beats; the first one also before it.

    Examples
    --------
    >>> heart_rate(np.array([2, 4, 7]), n_steps=9, rate=1.0).tolist()
    [30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 20.0, 20.0]
    """
    length = whole_number("n_steps", n_steps)
    per_second = positive_number("rate", rate, why="samples per second")
    places = np.asarray(beats)
    if places.ndim != 1 or places.size < 2 or (np.diff(places) <= 0).any():
        raise ValueError(f"beats={shorten(beats)}; pass the samples of at least two beats, in rising order.")
    last = np.searchsorted(places[1:], np.arange(length), side="right") - 1
    return (60 * per_second / np.diff(places))[np.maximum(last, 0)]
