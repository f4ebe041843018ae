"""MNIST as sequences of 784 pixels: row by row, or in the order of one fixed permutation."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int, UInt8

from hippozoo._internal.arguments import shorten
from hippozoo.tasks.data_files import data_file

__all__ = ["PIXELS", "Mnist", "PixelOrder", "load_mnist", "pixel_permutation"]

PixelOrder = Literal["sequential", "permuted"]
SIDE = 28
PIXELS = SIDE * SIDE
#: Seed of the permutation in scoRNN (Helfrich, Willmott and Ye, 2018), which others took over.
PERMUTATION_SEED = 92_916
#: More images than this are no MNIST; a file that claims more is not unpacked.
MOST_IMAGES = 1_000_000
#: The two parts, as their files are named.
PARTS = ("train", "t10k")
_IMAGES, _LABELS = 0x803, 0x801  # unsigned bytes along three axes, and along one


@dataclass(frozen=True, eq=False)
class Mnist:
    """Images as sequences, and what they show."""

    pixels: UInt8[np.ndarray, "images time"]
    labels: Int[np.ndarray, " images"]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, items: slice | np.ndarray) -> Mnist:
        return Mnist(self.pixels[items], self.labels[items])


def pixel_permutation() -> Int[np.ndarray, " time"]:
    """Which pixel is shown at each time in permuted sequential MNIST: ``RandomState(92916).permutation(784)``.

    Published numbers were measured with several permutations; this one is scoRNN's.

    Examples
    --------
    >>> order = pixel_permutation()
    >>> len(order), bool((np.sort(order) == np.arange(784)).all())
    (784, True)

    References
    ----------
    Helfrich, Willmott and Ye (2018), Orthogonal recurrent neural networks with scaled Cayley transform.
    """
    return np.random.RandomState(PERMUTATION_SEED).permutation(PIXELS)


def load_mnist(order: PixelOrder = "sequential", data: str | Path | None = None) -> tuple[Mnist, Mnist]:
    """Images to learn from (60,000) and to report (10,000), as sequences of 784 pixels.

    Parameters
    ----------
    order
        ``"sequential"``, row by row, or ``"permuted"``, in the order of `pixel_permutation`.
    data
        The data folder; HIPPOZOO_DATA by default. It holds the four gzipped files as they are published,
        ``mnist/train-images-idx3-ubyte.gz`` and so on.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition.
    """
    if order not in get_args(PixelOrder):
        raise ValueError(f"order={shorten(order)}; choose from 'sequential', 'permuted'.")
    train, test = (_load_part(part, data) for part in PARTS)
    if order == "sequential":
        return train, test
    places = pixel_permutation()
    return Mnist(train.pixels[:, places], train.labels), Mnist(test.pixels[:, places], test.labels)


def _load_part(part: str, data: str | Path | None) -> Mnist:
    images, labels = (data_file(f"mnist/{part}-{name}-ubyte.gz", data) for name in ("images-idx3", "labels-idx1"))
    pixels = _read_idx(images, _IMAGES).reshape(-1, PIXELS)
    digits = _read_idx(labels, _LABELS)
    if len(pixels) != len(digits):
        raise ValueError(
            f"{images} has {len(pixels):,} images and {labels} {len(digits):,} labels; "
            f"put the two files of one publication there."
        )
    if digits.size and digits.max() > 9:
        place = int(np.argmax(digits > 9))
        raise ValueError(f"{labels}: label {place} is {digits[place]}, expected 0 to 9; put the whole file there.")
    return Mnist(pixels, digits.astype(np.int64))


def _read_idx(path: Path, kind: int) -> np.ndarray:
    """The bytes of an idx file; images must be of 28 by 28 pixels."""
    sides = (SIDE, SIDE) if kind == _IMAGES else ()
    advice = "put the file there as it is published"
    try:
        with gzip.open(path) as file:
            header = file.read(4 * (2 + len(sides)))
            if len(header) < 4 * (2 + len(sides)):
                raise ValueError(f"{path} ends within its header; {advice}.")
            found, count, *shape = struct.unpack(f">{len(header) // 4}I", header)
            if found != kind or tuple(shape) != sides:
                expected = "images of 28 by 28 bytes" if sides else "labels"
                raise ValueError(
                    f"{path} begins with {[found, count, *shape]}, expected [{kind}, how many"
                    f"{''.join(f', {side}' for side in sides)}] ({expected}); {advice}."
                )
            if not 1 <= count <= MOST_IMAGES:
                raise ValueError(f"{path} claims {count:,} items, expected 1 to {MOST_IMAGES:,}; {advice}.")
            size = count * (PIXELS if sides else 1)
            content = file.read(size + 1)  # one more shows whether the file goes on
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked ({error}); {advice}, gzipped.") from error
    if len(content) != size:
        more = "more" if len(content) > size else f"{len(content):,}"
        raise ValueError(f"{path} claims {size:,} bytes of data and holds {more}; {advice}.")
    return np.frombuffer(content, np.uint8)
