"""scikit-learn's digits as sequences: 1,797 images of 8 by 8, pixel by pixel or row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs

__all__ = ["Digits", "View", "load_digits"]

View = Literal["pixels", "rows"]
#: Images to choose by, and to report; the rest is to learn from.
HELD_OUT = 300


@dataclass(frozen=True, eq=False)
class Digits:
    """Images as sequences, and what they show.

    Examples
    --------
    >>> digits = Digits(np.zeros((10, 64, 1)), np.arange(10))
    >>> digits.images.shape
    (10, 64, 1)
    """

    #: (images, time, numbers): 64 samples of one number, or 8 of eight; about zero, none beyond one.
    images: Float[np.ndarray, "images time numbers"]
    labels: Int[np.ndarray, " images"]  #: The digits, 0 to 9.


def load_digits(view: View = "pixels", seed: int = 0) -> tuple[Digits, Digits, Digits]:
    """Images to learn from (1,197), to choose by (300) and to report (300).

    The images to report are the same for every seed: none of them took part when the recipes of `hippozoo.models` were
    chosen. The others are split at random by `seed`.

    The images come with scikit-learn and need no download; they are a part of the Optical Recognition of Handwritten
    Digits set of the UCI repository (Alpaydin and Kaynak, 1998).

    Parameters
    ----------
    view
        ``"pixels"``: one pixel after the other, line by line; ``"rows"``: one row of eight after the other.
    seed
        Of the split between learning and choosing.

    Examples
    --------
    >>> train, validation, test = load_digits("rows")
    >>> train.images.shape, len(validation.labels), len(test.labels)
    ((1197, 8, 8), 300, 300)
    """
    if view not in get_args(View):
        raise ValueError(f"view={shorten(view)}; choose from 'pixels', 'rows'.")
    found: Any = needs("sklearn.datasets", extra="sklearn", feature="load_digits").load_digits()
    images = (found.data / 16.0 - 0.3).astype(np.float32).reshape(-1, *((64, 1) if view == "pixels" else (8, 8)))
    order = np.random.default_rng(0).permutation(len(images))
    order, to_report = order[:-HELD_OUT], order[-HELD_OUT:]
    order = np.random.default_rng([21, seed]).permutation(order)
    parts = order[:-HELD_OUT], order[-HELD_OUT:], to_report
    train, validation, test = (Digits(images[part], found.target[part].astype(np.int64)) for part in parts)
    return train, validation, test
