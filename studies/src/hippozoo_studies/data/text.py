"""WikiText-2 as characters: an alphabet of 96 symbols, fixed in advance, and the official splits.

The alphabet is the newline and the 95 printable characters of ASCII. Every other character becomes one symbol, the
stand-in ``_``, so that no character is lost and lengths stay what they were; how many there were is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int, UInt8

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.tasks.data_files import MissingDataError, data_file

__all__ = [
    "ALPHABET",
    "STAND_IN",
    "SPLITS",
    "Split",
    "WikiText",
    "decode",
    "encode",
    "in_unknown",
    "load_split",
    "load_wikitext",
    "outside_alphabet",
    "streams",
]

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
STAND_IN = "_"
SPLITS = ("train", "valid", "test")
# What the tokenised version writes for a word outside its vocabulary.
UNKNOWN = "<unk>"

_FOLDERS = {"tokens": "wikitext-2", "raw": "wikitext-2-raw"}
_CODES = np.full(128, ALPHABET.index(STAND_IN), np.uint8)
_CODES[[ord(symbol) for symbol in ALPHABET]] = np.arange(len(ALPHABET))

Codes = UInt8[np.ndarray, " time"]


@dataclass(frozen=True, eq=False)
class Split:
    """A part of the text as numbers, and what was counted while reading it.

    Parameters
    ----------
    codes
        One number below 96 per character: its place in `ALPHABET`.
    replaced
        Characters outside the alphabet, which became the stand-in.
    own_stand_ins
        Characters that were the stand-in already.
    unknown
        Characters inside an ``<unk>``, brackets and all.
    """

    codes: Codes
    replaced: int
    own_stand_ins: int
    unknown: int

    def counts(self) -> dict[str, int]:
        """Characters in all, replaced, and inside ``<unk>``."""
        own = {"replaced": self.replaced, "own_stand_ins": self.own_stand_ins, "unknown": self.unknown}
        return {"characters": len(self.codes), **own}


@dataclass(frozen=True, eq=False)
class WikiText:
    """The three official splits."""

    version: str
    train: Split
    valid: Split
    test: Split

    def counts(self) -> dict[str, dict[str, int]]:
        """What each split holds, by name."""
        return {name: getattr(self, name).counts() for name in SPLITS}


def encode(text: str) -> Codes:
    r"""Characters as numbers; those outside the alphabet become the stand-in.

    Examples
    --------
    >>> encode("a\n–").tolist() == [ALPHABET.index(symbol) for symbol in "a\n_"]
    True
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    # Beyond ASCII all are strangers, and so is the last code of ASCII, which is no printable character.
    return _CODES[np.minimum(points, 127)]


def decode(codes: Int[np.ndarray, " time"] | UInt8[np.ndarray, " time"]) -> str:
    """Numbers as characters.

    Examples
    --------
    >>> decode(encode("the cat"))
    'the cat'
    """
    places = np.asarray(codes)
    if places.size and (places.min() < 0 or places.max() >= len(ALPHABET)):
        raise ValueError(f"codes={shorten(codes)}; symbols are numbered 0 to {len(ALPHABET) - 1}.")
    return "".join(ALPHABET[place] for place in places.tolist())


def outside_alphabet(text: str) -> list[str]:
    """The characters that `encode` would replace, each once, in order of appearance.

    Examples
    --------
    >>> outside_alphabet("naïve – très naïve")
    ['ï', '–', 'è']
    """
    return [symbol for symbol in dict.fromkeys(text) if symbol not in ALPHABET]


def in_unknown(codes: Codes) -> Bool[np.ndarray, " time"]:
    """Which characters belong to an ``<unk>``.

    Examples
    --------
    >>> in_unknown(encode("a <unk> b")).astype(int).tolist()
    [0, 0, 1, 1, 1, 1, 1, 0, 0]
    """
    pattern = encode(UNKNOWN)
    inside = np.zeros(len(codes), bool)
    if len(codes) >= len(pattern):
        found = (np.lib.stride_tricks.sliding_window_view(codes, len(pattern)) == pattern).all(1)
        for offset in range(len(pattern)):
            inside[offset : offset + len(found)] |= found
    return inside


def load_wikitext(version: str = "tokens", data: str | Path | None = None) -> WikiText:
    r"""Read the three splits of WikiText-2 from the user's data folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for split in SPLITS:
    ...         _ = (Path(folder) / f"wiki.{split}.tokens").write_text("a – <unk>\n", encoding="utf-8")
    ...     text = load_wikitext("tokens", folder)
    >>> decode(text.train.codes), text.train.counts()["replaced"]
    ('a _ <unk>\n', 1)

    References
    ----------
    Merity et al. (2017), Pointer Sentinel Mixture Models.
    """
    names = {split: _file_name(split, version) for split in SPLITS}
    found: dict[str, Path] = {}
    missing: dict[str, MissingDataError] = {}
    for split, name in names.items():
        try:
            found[split] = data_file(name, data)
        except MissingDataError as error:
            missing[name] = error
    if missing:
        first = next(iter(missing.values()))
        here = [str(path) for path in found.values()]
        there = f"\nFound: {', '.join(here)}." if here else ""
        raise MissingDataError(f"{first}{there}\nAll three splits are needed; missing: {', '.join(missing)}.")
    return WikiText(version, *(_read(found[split]) for split in SPLITS))


def load_split(split: str, version: str = "tokens", data: str | Path | None = None) -> Split:
    r"""Read one split of WikiText-2, where not all three are there or wanted.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "wiki.test.raw").write_text("a cat\n", encoding="utf-8")
    ...     decode(load_split("test", "raw", folder).codes)
    'a cat\n'
    """
    if split not in SPLITS:
        raise ValueError(f"split={shorten(split)}; choose from {', '.join(map(repr, SPLITS))}.")
    return _read(data_file(_file_name(split, version), data))


def _file_name(split: str, version: str) -> str:
    if version not in _FOLDERS:
        raise ValueError(f"version={shorten(version)}; choose from {', '.join(map(repr, _FOLDERS))}.")
    return f"{_FOLDERS[version]}/wiki.{split}.{version}"


def _read(path: Path) -> Split:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8 ({error}); put the original file there.") from error
    codes = encode(text)
    own = text.count(STAND_IN)
    replaced = int((codes == ALPHABET.index(STAND_IN)).sum()) - own
    return Split(codes, replaced, own, int(in_unknown(codes).sum()))


def streams(codes: Codes, count: int) -> Int[np.ndarray, "count length"]:
    """The places of a text, cut into `count` stretches of equal length that follow each other; a row each.

    What does not fill the last stretch is marked by -1, so that every character stands in exactly one place.

    Examples
    --------
    >>> streams(encode("abcdefg"), 3).tolist()
    [[0, 1, 2], [3, 4, 5], [6, -1, -1]]
    """
    count = whole_number("count", count)
    length = -(-len(codes) // count)
    places = np.arange(count * length)
    return np.where(places < len(codes), places, -1).reshape(count, length)
