"""Finding files of the user's own: data sets that hippozoo reads but does not ship."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

VARIABLE = "HIPPOZOO_DATA"


class MissingDataError(FileNotFoundError):
    """A data file is not where it was looked for; the message says what it is and who publishes it."""


@dataclass(frozen=True)
class DataSet:
    """What a data set is and where it comes from."""

    folder: str  #: Its folder below the data folder.
    what: str  #: What it holds, in one line.
    origin: str  #: Who publishes it: authors, title, publication.
    files: tuple[str, ...]  #: The files that hippozoo reads.


DATA_SETS = (
    DataSet(
        folder="ett",
        what="transformer temperature and load over two years, 7 columns; ETTh1 hourly, ETTm1 every 15 min",
        origin="Zhou et al. (2021), Informer: Beyond Efficient Transformer for Long Sequence Time-Series "
        "Forecasting, AAAI; published by its authors as the Electricity Transformer Dataset (ETDataset)",
        files=("ETTh1.csv", "ETTm1.csv"),
    ),
    DataSet(
        folder="illness",
        what="influenza-like illness in the United States, weekly, 966 rows, 7 columns",
        origin="US Centers for Disease Control and Prevention, FluView (ILINet); in this form by Wu et al. "
        "(2021), Autoformer: Decomposition Transformers with Auto-Correlation for Long-Term Series "
        "Forecasting, NeurIPS",
        files=("national_illness.csv",),
    ),
    DataSet(
        folder="m4",
        what="hourly and weekly series of the M4 competition, a series per line, and the 48 or 13 values after it",
        origin="Makridakis, Spiliotis and Assimakopoulos (2020), The M4 Competition: 100,000 time series and 61 "
        "forecasting methods, International Journal of Forecasting 36(1); published by its organisers",
        files=("hourly-train.csv", "hourly-test.csv", "weekly-train.csv", "weekly-test.csv"),
    ),
    DataSet(
        folder="wiener-hammerstein",
        what="a Wiener-Hammerstein circuit, input and output voltage, 188,000 samples at 51.2 kHz",
        origin="Schoukens, Suykens and Ljung (2009), Wiener-Hammerstein Benchmark, 15th IFAC Symposium on "
        "System Identification; published among the Nonlinear Benchmarks for system identification",
        files=("WienerHammerBenchmark.csv",),
    ),
    DataSet(
        folder="silverbox",
        what="the Silverbox, an electronic Duffing oscillator: V1 in, V2 out, 131,072 samples at 610.35 Hz",
        origin="Wigren and Schoukens (2013), Three Free Data Sets for Development and Benchmarking in "
        "Nonlinear System Identification, European Control Conference; published among the Nonlinear "
        "Benchmarks for system identification",
        files=("SNLS80mV.csv",),
    ),
    DataSet(
        folder="ecg",
        what="an electrocardiogram, record 100, two leads at 360 Hz, 650,000 samples, with beat annotations",
        origin="Moody and Mark (2001), The Impact of the MIT-BIH Arrhythmia Database, IEEE Engineering in "
        "Medicine and Biology 20(3); published by PhysioNet as the MIT-BIH Arrhythmia Database",
        files=("100.hea", "100.dat", "100.atr", "100.qrs"),
    ),
    DataSet(
        folder="wikitext-2",
        what="WikiText-2 in the word-level version with <unk>, official splits of Wikipedia articles",
        origin="Merity et al. (2017), Pointer Sentinel Mixture Models, ICLR; published as the WikiText "
        "Language Modeling Dataset",
        files=("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
    ),
    DataSet(
        folder="wikitext-2-raw",
        what="WikiText-2 in the raw, character-level version, official splits of Wikipedia articles",
        origin="Merity et al. (2017), Pointer Sentinel Mixture Models, ICLR; published as the WikiText "
        "Language Modeling Dataset",
        files=("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"),
    ),
    DataSet(
        folder="mnist",
        what="handwritten digits, 60,000 images to learn from and 10,000 to report, 28 by 28, four gzipped idx files",
        origin="LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition, "
        "Proceedings of the IEEE 86(11); published by its authors as the MNIST Database",
        files=(
            "train-images-idx3-ubyte.gz",
            "train-labels-idx1-ubyte.gz",
            "t10k-images-idx3-ubyte.gz",
            "t10k-labels-idx1-ubyte.gz",
        ),
    ),
    DataSet(
        folder="nab",
        what="the Numenta Anomaly Benchmark 1.1: streams with labelled anomalies, one folder per kind, and "
        "windows.json with first and last time of each labelled window by file",
        origin="Lavin and Ahmad (2015), Evaluating Real-time Anomaly Detection Algorithms: the Numenta Anomaly "
        "Benchmark, IEEE ICMLA; published by Numenta",
        files=("windows.json",),
    ),
    DataSet(
        folder="recordings",
        what="the Free Spoken Digit Dataset: 3,000 recordings of ten digits by six speakers at 8 kHz, "
        "fsdd/recordings/{digit}_{speaker}_{index}.wav",
        origin="Jackson et al. (2018), Free Spoken Digit Dataset, version 1.0.8; published by its authors",
        files=("0_george_0.wav",),
    ),
)


def data_file(name: str, data: str | Path | None = None) -> Path:
    """Where a data file is on this machine.

    Looked for in the folder given, then in that of the environment variable HIPPOZOO_DATA; in each as
    ``ett/ETTh1.csv`` and as plain ``ETTh1.csv``.

    Parameters
    ----------
    name
        Folder and file, as in ``"ett/ETTh1.csv"``.
    data
        The folder that the user gave (``--data``), if any.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ETTh1.csv").write_text("date,OT")
    ...     data_file("ett/ETTh1.csv", folder).name
    'ETTh1.csv'
    """
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or not relative.name:
        raise ValueError(f"name={name!r}: a data file is named by folder and file; pass for example 'ett/ETTh1.csv'.")
    folders = _folders(data)
    spellings = list(dict.fromkeys([relative.as_posix(), relative.name]))
    for folder in folders:
        for spelling in spellings:
            path = folder / spelling
            if path.is_file():
                if path.stat().st_size == 0:
                    raise ValueError(f"{path} is empty; put the whole file there.\n{_about(relative)}")
                return path
    raise MissingDataError(_missing(relative, folders, spellings))


def _folders(data: str | Path | None) -> list[Path]:
    given = [] if data is None else [Path(data).expanduser()]
    variable = os.environ.get(VARIABLE)
    return list(dict.fromkeys([*given, *([Path(variable).expanduser()] if variable else [])]))


def _missing(relative: PurePosixPath, folders: list[Path], spellings: list[str]) -> str:
    looked = " or ".join(spellings)
    if folders:
        tried = ", ".join(f"{folder}{'' if folder.is_dir() else ' (no such folder)'}" for folder in folders)
        first = f"data file {relative} not found: looked for {looked} in {tried}."
    else:
        first = f"data file {relative} not found: no data folder was given ({VARIABLE} is not set either)."
    do = f"Put it into DIR/{relative} and pass --data DIR (data=DIR in Python), or set {VARIABLE}=DIR."
    return "\n".join(text for text in (first, _about(relative), do) if text)


def _about(relative: PurePosixPath) -> str:
    for known in DATA_SETS:
        if known.folder == relative.parent.name or relative.name in known.files:
            return f"It is {known.what}. Origin: {known.origin}."
    return ""
