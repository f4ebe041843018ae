"""What an experiment is given and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _say_nothing(fraction: Any, text: str = "") -> None:
    """Progress for callers that did not ask for any."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, and whether our numbers bear it out.

    Parameters
    ----------
    claim
        What the paper says, in words.
    holds
        Whether it held here. A claim that does not hold is reported as such.
    evidence
        The number that decides it.

    Examples
    --------
    >>> Claim("the linear readout fails", holds=True, evidence="relative error 0.98").holds
    True
    """

    claim: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Parameters
    ----------
    metrics
        Nested numbers; they become ``metrics`` in metrics.json. Keys may be numbers.
    claims
        The paper's claims, one by one.
    arrays
        What `report` draws. It is handed to `report` and written nowhere else.

    Examples
    --------
    >>> Result(metrics={"mse": {1000: 0.25}}).metrics["mse"][1000]
    0.25
    """

    metrics: Mapping[str, Any]
    claims: Sequence[Claim] = ()
    arrays: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """One unit that has been computed, now or in an earlier sitting.

    Parameters
    ----------
    unit
        The key, as `units` listed it.
    result
        What `run_unit` returned, as JSON keeps it: keys are strings, arrays are lists.
    seconds
        How long it took to compute.

    Examples
    --------
    >>> Finished({"seed": 0}, {"loss": 0.5}, seconds=1.0).result["loss"]
    0.5
    """

    unit: dict[str, Any]
    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Context:
    """What surrounds a run without changing its outcome.

    Parameters
    ----------
    data
        The folder given by ``--data``, for `hippozoo.tasks.data_files.data_file`.
    scratch
        A folder for checkpoints of *this* unit (or of the whole run, without units). It is still there
        when an interrupted unit starts again, and removed once the unit is written down.
    jobs
        How many processes the caller allows; units are spread over them already.
    progress
        ``progress(fraction, text="")``: how much of this unit is done, 0 to 1.

    Examples
    --------
    Called without a context, an experiment is quiet.

    >>> QUIET.progress(0.5, "half way")
    """

    data: Path | None = None
    scratch: Path | None = None
    jobs: int = 1
    progress: Callable[..., None] = _say_nothing


QUIET = Context()


def select(finished: Iterable[Finished], **key: Any) -> list[Finished]:
    """The finished units whose key agrees with every value given.

    Examples
    --------
    >>> done = [Finished({"model": m, "seed": s}, {"loss": s}, 1.0) for m in "ab" for s in (0, 1)]
    >>> [one.result["loss"] for one in select(done, model="b")]
    [0, 1]
    """
    return [one for one in finished if all(name in one.unit and one.unit[name] == value for name, value in key.items())]
