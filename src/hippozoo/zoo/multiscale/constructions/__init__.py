"""Where the windows stand and how to read between them: three constructions of the paper and one beyond it."""

from hippozoo.zoo.multiscale.constructions.base import Construction, ScaleExpansion
from hippozoo.zoo.multiscale.constructions.expansions import BasicRate, JeffreysRate, LogTimescale
from hippozoo.zoo.multiscale.constructions.geometric_bank import GeometricBank

__all__ = [
    "CONSTRUCTIONS",
    "BasicRate",
    "Construction",
    "GeometricBank",
    "JeffreysRate",
    "LogTimescale",
    "ScaleExpansion",
]

#: By the names that a memory is built with; a construction of one's own joins by one more line.
CONSTRUCTIONS: dict[str, type[Construction]] = {
    "log": LogTimescale,
    "basic": BasicRate,
    "jeffreys": JeffreysRate,
    "bank": GeometricBank,
}
