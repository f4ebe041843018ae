"""WikiText-2 by characters: the paper's ten rows, and a contest of thin stacks (paper, appendix on language modelling).

The paper uses the raw text, whose training part has no `<unk>`; here the tokenised one is the default. Perplexities of
the two cannot be compared, ratios between models can.

What the paper leaves open, and what is done differently, stands in the tables. Everything is chosen on the validation
split; the test split is read once, by the finished model. Units come in the order of what they tell: whether embeddings
are tied, trials of the contest, the cheap rows, then what takes hours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import nn

from hippozoo import checkpoint
from hippozoo._internal.files import write_whole
from hippozoo.tasks.data_files import MissingDataError
from hippozoo.training import seeded
from hippozoo_studies import QUIET, Context, Finished, Result
from hippozoo_studies.data.text import WikiText, load_split
from hippozoo_studies.paper._character_addresses import look_at_addresses
from hippozoo_studies.paper._character_claims import PAPER, claims, seeds_text
from hippozoo_studies.paper._character_hybrids import build_unit
from hippozoo_studies.paper._character_models import CACHED, OURS
from hippozoo_studies.paper._character_results import assembled
from hippozoo_studies.paper._character_settings import QUICK, Config, narrowed
from hippozoo_studies.paper._character_study import more_units, units
from hippozoo_studies.paper._character_tables import DEPARTURES, draw, tables
from hippozoo_studies.paper._characters import SIDE_BY_SIDE, Emptied, learn, score
from hippozoo_studies.paper._ngram_cache import with_cache

__all__ = [
    "DEPARTURES",
    "PAPER",
    "QUICK",
    "Config",
    "assemble",
    "claims",
    "more_units",
    "narrowed",
    "report",
    "run_unit",
    "seeds_text",
    "units",
]

# Where searches go decides which units there are; a unit itself names its rate, size and depth.
SELECTS = (
    "seeds",
    "rows",
    "forms",
    "families",
    "sizes",
    "larger",
    "hybrids",
    "as_paper",
    "paper_rate",
    "paper_passes",
    "reset",
    "ablations",
    "rates",
    "first_rate",
    "layers",
    "first_layers",
    "tying_rate",
)
ASSEMBLES_PARTS = True
MORE_AT_ANY_TIME = True

# -- one unit --------------------------------------------------------------------------------------------------------

#: Stages whose finished models are scored on the test split; trials and ablations never see it.
TESTED = ("row", "contest", "hybrid", "reset", "as paper")
#: Stages that train nothing: they look at models of other units.
LOOKS = ("addresses", "cached")
RAW_SPLITS = {"validation_perplexity": "valid", "test_perplexity": "test"}
#: Characters after which a trained model is made to forget, to see how far back its memory serves.
EMPTIED_EVERY = (128, 1_024, 8_192)


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train one model; the test split is read by finished rows, and by no trial."""
    text = config.text(context)
    stage, rate, seed = unit["stage"], unit["rate"], unit["seed"]
    if stage in LOOKS:
        model = trained(config, unit, text, context)
        if stage == "addresses":
            return look_at_addresses(model, text.valid.codes)
        return with_cache(model, text) | {"raw": on_raw_text(model, config, context)}
    with seeded(seed):
        model = build_unit(unit)
    if stage == "as paper":
        plan = config.papers_plan(text, rate, seed, unit["passes"])
    else:
        plan = config.plan(text, rate, seed, 1 if stage in ("tying", "trial") else config.passes)
    found = learn(model, text, config, plan, context, test=stage in TESTED)
    if found["validation_perplexity"] is not None and stage in TESTED:
        if unit.get("family") == CACHED:
            found |= with_cache(model, text)
        else:
            found["raw"] = on_raw_text(model, config, context)
    if found["validation_perplexity"] is not None and stage in ("hybrid", "span"):
        found["emptied"] = emptied(model, text)
    if stage == "contest" and unit["family"] == OURS and seed == config.seeds[0] and context.folder:
        checkpoint.save(context.folder / f"{OURS}-{unit['size']}.safetensors", model)
    if stage in TESTED and context.folder:
        keep_weights(model, unit, context.folder)
    return found | {"width": model.width, "counts": text.counts() if stage == "tying" else None}


def trained(config: Config, unit: dict[str, Any], text: WikiText, context: Context) -> nn.Module:
    """The finished model of a hybrid or of a contest: its weights if they are kept, and else trained once more."""
    finished = unit | {"stage": "hybrid" if "hybrid" in unit else "contest"}
    if context.folder:
        whole = context.folder / f"{OURS}-{unit['size']}.safetensors"
        if unit.get("family") == OURS and whole.exists():
            return checkpoint.load(whole)
        if (path := weights_file(finished, context.folder)).exists():
            model = build_unit(finished)
            model.load_state_dict(load_file(path))
            return model
    with seeded(unit["seed"]):
        model = build_unit(finished)
    plan = config.plan(text, unit["rate"], unit["seed"], config.passes)
    learn(model, text, config, plan, context, test=False)
    if context.folder:
        keep_weights(model, finished, context.folder)
    return model.eval()


def weights_file(unit: dict[str, Any], folder: Path) -> Path:
    """Where the weights of a unit are kept."""
    name = unit.get("hybrid") or unit.get("model") or f"{unit['family']}-{unit['size']}"
    return folder / "weights" / f"{unit['stage'].replace(' ', '-')}-{name}-seed{unit['seed']}.safetensors"


def keep_weights(model: nn.Module, unit: dict[str, Any], folder: Path) -> Path:
    """Save the weights of a unit below the folder of the study; ``build_unit(unit)`` makes the model that takes them.

    The unit stands in the file as metadata.
    """
    path = weights_file(unit, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: one.contiguous() for name, one in model.state_dict().items()}
    save_file(weights, path, metadata={"unit": json.dumps(unit)})
    return path


def on_raw_text(model: Any, config: Config, context: Context) -> dict[str, float] | None:
    """Perplexities of the raw text, which has no ``<unk>``, by a model of the tokenised one; None without that text."""
    try:
        splits = {name: load_split(split, "raw", context.data) for name, split in RAW_SPLITS.items()}
    except MissingDataError:
        return None
    return {
        name: score(model, split.codes[: config.characters], SIDE_BY_SIDE).perplexity for name, split in splits.items()
    }


def emptied(model: Any, text: WikiText) -> dict[str, float]:
    """Validation perplexity if everything remembered is forgotten again and again: how far back memory serves."""
    lengths = [every for every in EMPTIED_EVERY if every < len(text.valid.codes) // SIDE_BY_SIDE]
    return {str(every): score(Emptied(model, every), text.valid.codes, SIDE_BY_SIDE).perplexity for every in lengths}


# -- what came of it -------------------------------------------------------------------------------------------------


def assemble(config: Config, finished: list[Finished]) -> Result:
    """The table, the contest and the ablations, as far as their units are there."""
    metrics, arrays = assembled(config, finished)
    return Result(metrics, claims(config, metrics), arrays)


def report(result: Result, folder: Path) -> None:
    """The tables as text, and pictures."""
    write_whole(folder / "table.md", tables(result, PAPER).encode())
    draw(result, folder, PAPER["ratio_to_lstm"])
