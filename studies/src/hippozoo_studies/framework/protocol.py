"""What an experiment is given and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

Verdict = Literal["holds", "holds in part", "does not hold", "cannot be told"]
_OF_HOLDS: dict[bool | None, Verdict] = {True: "holds", False: "does not hold", None: "cannot be told"}


def _say_nothing(fraction: Any, text: str = "") -> None:
    """Progress for callers that did not ask for any."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, and whether our numbers bear it out.

    Parameters
    ----------
    claim
        What is claimed, in words. ``target: …`` and ``ours: …`` begin what the paper does not say.
    holds
        Whether it held here; None where our numbers cannot tell. What holds in part does not hold: False.
    evidence
        The number that decides it, in words that can be read alone.
    verdict
        By default what `holds` says: "holds", "does not hold" or "cannot be told"; "holds in part" goes with False.
    quote
        The paper's own words, where the claim is the paper's.

    Examples
    --------
    >>> Claim("the linear readout fails", holds=True, evidence="relative error 0.98").verdict
    'holds'
    >>> Claim("it fails at every ridge", False, "at two of four", verdict="holds in part").holds
    False
    """

    claim: str
    holds: bool | None
    evidence: str
    verdict: Verdict | None = None
    quote: str = ""

    def __post_init__(self) -> None:
        usual = _OF_HOLDS[None if self.holds is None else bool(self.holds)]
        verdict = usual if self.verdict is None else self.verdict
        if verdict not in get_args(Verdict):
            raise ValueError(f"verdict={verdict!r}; choose from {', '.join(get_args(Verdict))}.")
        if verdict != usual and (verdict, usual) != ("holds in part", "does not hold"):
            raise ValueError(f"verdict={verdict!r} contradicts holds={self.holds}, which says {usual!r}; change one.")
        object.__setattr__(self, "verdict", verdict)

    @classmethod
    def judged(cls, claim: str, parts: Sequence[bool], evidence: str, quote: str = "") -> Claim:
        """Holds if every part does, does not if none does, and else in part.

        Examples
        --------
        >>> Claim.judged("broader at every ridge", [True, False], "at ridge 0.01").verdict
        'holds in part'
        """
        if not all(parts) and any(parts):
            return cls(claim, False, evidence, "holds in part", quote)
        return cls(claim, bool(parts) and all(parts), evidence, quote=quote)


@dataclass(frozen=True)
class Departure:
    """Where an experiment does otherwise than the paper, or fills in what the paper leaves open.

    Parameters
    ----------
    what
        In a word or two: loss, start, gates, clipping, batch, budget.
    paper
        What the paper says about it.
    here
        What is done here.
    effect
        Why, and what it changes as far as is known.

    Examples
    --------
    >>> Departure("batch", "not given", "64", "LSTM on copying hangs on it").here
    '64'
    """

    what: str
    paper: str
    here: str
    effect: str


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
    code
        A hash of the code that computed it; None for lines from before that was written down.

    Examples
    --------
    >>> Finished({"seed": 0}, {"loss": 0.5}, seconds=1.0).result["loss"]
    0.5
    """

    unit: dict[str, Any]
    result: dict[str, Any]
    seconds: float
    code: str | None = field(default=None, compare=False)


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

    @property
    def folder(self) -> Path | None:
        """The experiment's own folder, for what outlives a unit, such as a trained model; None without the framework.

        A unit's result must not depend on what lies there.
        """
        return None if self.scratch is None else self.scratch.parent.parent


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
