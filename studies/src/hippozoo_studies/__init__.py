'''The paper's figures and tables, and studies on real data: one module each, one command away.

``hippozoo reproduce selective-copying`` runs ``paper/selective_copying.py`` of this package. The module is found
by its name and imported only when it is run. It writes ``OUT/NAME/metrics.json``, ``config.json`` and its
figures. Modules whose name begins with an underscore are helpers, no experiments. Experiments of one's own,
in a folder named by the environment variable HIPPOZOO_EXPERIMENTS, are found in the same way.

How to write an experiment
==========================
A module has a docstring whose first line says what it shows and where it stands in the paper, and:

``PAPER``
    The paper's figures, with the keys of the metrics where it has them.
``Config``
    A frozen dataclass: everything that may change the outcome, full size by default. If anything is random
    it has a field ``seeds: tuple[int, ...]`` (``--seeds 0,1,2`` replaces it). Fields hold what JSON can.
``QUICK``
    ``Config(...)`` small enough for seconds. It exercises every line; CI runs it.
``report(result, folder)``
    Draws: figures by `save_figure` (PNG and SVG) in the style of `hippozoo.plotting`; tables, ours beside the
    paper's, as ``table.md``. metrics.json and config.json are written by the framework, before it is called.
    ``hippozoo report`` sets all of it on one page.
``DEPARTURES`` (optional)
    A tuple of `Departure`: where it does otherwise than the paper, or fills in what the paper leaves open.

and then one of two forms. They compute; they print and draw nothing.

**In one go**, for a study of seconds or minutes: ``run(config, context=QUIET) -> Result``. The result may
carry arrays of any kind for `report`.

**Unit by unit**, for a long study: it can be interrupted at any time (also by kill -9), resumed, spread over
processes (``--jobs 2``) and committed as it grows.

``units(config) -> list[dict]``
    The keys of all units, such as ``{"model": "lstm", "task": "sc", "lr": 1e-3, "seed": 0}``.
``run_unit(config, unit, context) -> dict``
    Computes one unit from its key. The result must be JSON-able (arrays become lists; NaN is refused, so
    write None for what diverged) and lands as one line in ``OUT/NAME/units.jsonl``; keep it small enough to
    commit. It must depend on nothing but config and unit, so that any order and any process gives the same.
``assemble(config, finished) -> Result``
    Turns the list of `Finished` (``.unit``, ``.result``, ``.seconds``; in the order of `units`) into metrics,
    claims and arrays. Results have been through JSON: keys are strings, arrays are lists.
    ``select(finished, model="lstm")`` filters.

Optional, for units:

``SELECTS = ("seeds", "models")``
    The config fields that only choose *which* units there are (default: ``("seeds",)``). All other fields
    enter the fingerprint that each line carries: change one, and the old lines no longer count (they stay in
    the file). So adding a seed runs one seed, and changing the order runs everything.
``REVISION = 2``
    Raise it when the code changes so that old lines are wrong (default 1).
``more_units(config, finished) -> list[dict]``
    Called when all units are done; returns further ones that depend on them, for example all seeds at the
    learning rate that was best on validation. Called again until it returns nothing new.
``MORE_AT_ANY_TIME = True``
    `more_units` may be called before all units are done, and lists only what is needed whatever comes of the others.
    Then no process waits for the slowest unit of a round.

``MODEL = "row"``
    The part of a unit's key that names its model (default ``"model"``). Each line carries a hash of the code that
    computed it; when the code has changed, a run warns, and ``--check`` computes the cheapest unit of each model again.
    Where it comes out the same, the other lines of that model count as renewed.
``WORDS = {"task": {"copying": "sc"}}``
    Words that ``--only`` takes for values of a key.
``DOOR = Door("model", "models", shapes)``
    Models of the user's own take part: `contest` lists them in that field of the configuration. `run_unit` builds a
    model that is among `entered()` with `made_by`.
``ASSEMBLES_PARTS = True``
    `assemble` can be called with some of the units: then ``--so-far`` writes metrics and figures of what is there,
    without running anything.

`Context` carries what must not change the outcome: ``context.data`` (hand it to
``hippozoo.tasks.data_files.data_file(name, context.data)``), ``context.progress(fraction, text="")``,
``context.scratch`` (a folder for this unit's checkpoints: still there when a killed unit starts again,
removed when it is written down; None without the framework), ``context.jobs``.

A unit that raises does not stop the others: the run ends with an error that names it, and the same command
tries it again. Missing data stops at once. In worker processes each unit has one thread (torch, BLAS, Numba);
with ``jobs=1`` it runs in the caller's process with one torch thread.

Numbers: ``over_seeds(values)`` gives ``{"mean", "sem", "seeds"}`` (also of equally nested dicts, leaf by
leaf), ``mean_and_sem(values)`` the same over trajectories, without the single values. The sem of one value is
None.
Numeric keys may be numbers: ``{1e3: …}`` is written as "1000".

A complete example, ``coin_flips.py`` in a folder of your own::

    """Coin flips: the mean comes closer to one half as flips add up (an example, no part of the paper)."""

    from __future__ import annotations

    from dataclasses import dataclass
    from pathlib import Path
    from typing import Any

    import numpy as np

    from hippozoo_studies import QUIET, Claim, Context, Finished, Result, drawing, over_seeds, select

    PAPER = {"error": {"1000": 0.0126}}
    SELECTS = ("seeds", "lengths")


    @dataclass(frozen=True)
    class Config:
        """Everything that may change the outcome."""

        seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
        lengths: tuple[int, ...] = (1_000, 100_000)
        probability: float = 0.5


    QUICK = Config(seeds=(0, 1), lengths=(10, 1_000))


    def units(config: Config) -> list[dict[str, Any]]:
        """One unit per length and seed."""
        return [{"length": length, "seed": seed} for length in config.lengths for seed in config.seeds]


    def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
        """Flip the coins of one unit."""
        rng = np.random.default_rng(unit["seed"])
        flips = rng.random(unit["length"]) < config.probability
        context.progress(1.0, "flipped")
        return {"error": abs(flips.mean() - 0.5)}


    def assemble(config: Config, finished: list[Finished]) -> Result:
        """Errors over seeds, and the claim about them."""
        error = {
            length: over_seeds(one.result["error"] for one in select(finished, length=length))
            for length in config.lengths
        }
        short, long = error[config.lengths[0]]["mean"], error[config.lengths[-1]]["mean"]
        evidence = f"The error falls from {short:.3g} to {long:.3g}."
        claim = Claim("more flips, smaller error", long < short, evidence, quote="the law of large numbers")
        return Result(metrics={"error": error}, claims=[claim])


    def report(result: Result, folder: Path) -> None:
        """Error against the number of flips."""
        error = result.metrics["error"]
        with drawing(folder, "error", (4, 3)) as figure:
            ax = figure.subplots()
            ax.loglog(list(error), [one["mean"] for one in error.values()], "o-")
            ax.set(xlabel="flips", ylabel="error of the mean")

Test it with ``reproduce("coin-flips", quick=True, out=tmp_path)``, which returns the content of metrics.json.
Heavy imports (matplotlib, pandas) go inside functions; torch and numpy may stand at the top of an experiment.
'''

from __future__ import annotations

from hippozoo_studies.framework.check import Check, Comparison, check_study, check_units
from hippozoo_studies.framework.door import Door, Shape, entered, made_by
from hippozoo_studies.framework.duration import duration_text as duration_text
from hippozoo_studies.framework.entrants import CONTEST_FOLDER, WrongSizeError, contest
from hippozoo_studies.framework.figures import drawing, save_figure
from hippozoo_studies.framework.progress import Terminal as Terminal
from hippozoo_studies.framework.protocol import QUIET, Claim, Context, Departure, Finished, Result, Verdict, select
from hippozoo_studies.framework.registry import (
    BrokenExperimentError,
    Experiment,
    UnknownExperimentError,
    check_name,
    describe,
    load,
    names,
)
from hippozoo_studies.framework.run import FULL_FOLDER, QUICK_FOLDER, FullResultInTheWayError, reproduce
from hippozoo_studies.framework.spread import mean_and_sem, over_seeds
from hippozoo_studies.framework.summary import summary as summary
from hippozoo_studies.framework.tables import markdown_table, spread_text
from hippozoo_studies.framework.unit_log import ResultsInUseError
from hippozoo_studies.framework.units import Interrupted, UnitsFailedError

__all__ = [
    "reproduce",
    "check_units",
    "check_study",
    "Check",
    "Comparison",
    "contest",
    "CONTEST_FOLDER",
    "WrongSizeError",
    "Door",
    "Shape",
    "entered",
    "made_by",
    "names",
    "describe",
    "check_name",
    "load",
    "Experiment",
    "Context",
    "QUIET",
    "Finished",
    "Result",
    "Claim",
    "Verdict",
    "Departure",
    "select",
    "over_seeds",
    "mean_and_sem",
    "drawing",
    "save_figure",
    "markdown_table",
    "spread_text",
    "Interrupted",
    "UnitsFailedError",
    "UnknownExperimentError",
    "BrokenExperimentError",
    "ResultsInUseError",
    "FullResultInTheWayError",
    "FULL_FOLDER",
    "QUICK_FOLDER",
]
