"""The microscope: closed forms and bands, and what trained models remember of tasks, speech and text.

Five parts. *Closed forms*: measured profiles of linear memories beside the exact ones, and how often bands hold them.
*Tasks*: the recurrent models of Table 1 before and after training, at the rates recorded there. *Speech*: six models of
20,000 parameters on spoken digits; the rate is chosen on validation with the first seed, test recordings are looked at.
*Characters*: the stacks of the contest of 25,000 parameters; bits that can be read of the character k ago. *Measure*:
Mamba's effective history measure beside salience's exact one, on the task of docs/your-own-task.md. Weights are kept in
the study's folder, so that another look needs no training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippozoo_studies import QUIET, Claim, Context, Finished, Result
from hippozoo_studies.beyond import _microscope_parts as work
from hippozoo_studies.beyond import _microscope_tasks as tasks_work
from hippozoo_studies.beyond import _microscope_verdicts as verdicts
from hippozoo_studies.paper import _characters, _two_tasks

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "parts", "systems", "speech_models", "task_models", "tasks", "character_models", "samples")
ASSEMBLES_PARTS = True
PARTS = ("closed forms", "measure", "speech", "noise", "bands", "tasks", "characters")
DELAY_LINE = "delay line of 12"
SYSTEMS = (DELAY_LINE, "LegT(16, 40)", "LegS(16, 20)", "random reservoir of 24", "multiscale bank of 16")
SPEECH, TABLE_1, THREE_PASSES = work.SpeechPlan(), _two_tasks.Protocol(), _characters.Protocol()


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    parts: tuple[str, ...] = PARTS
    systems: tuple[str, ...] = SYSTEMS
    samples: tuple[int, ...] = (20_000, 200_000)
    repetitions: int = 500
    speech_models: tuple[str, ...] = ("lstm", "memory", "gru", "s4d", "deltanet", "mamba")
    speech_rates: tuple[float, ...] = (3e-3, 1e-2)
    speech_plan: work.SpeechPlan = SPEECH
    task_models: tuple[str, ...] = tuple(tasks_work.TASK_RATES)
    tasks: tuple[str, ...] = ("sc", "ar")
    task_protocol: _two_tasks.Protocol = TABLE_1
    episodes: int = 4_000
    character_models: tuple[str, ...] = (tasks_work.PRESENT, *tasks_work.CHARACTER_MODELS)
    character_protocol: _characters.Protocol = THREE_PASSES
    pieces: int = 128
    measure_steps: int = 600
    measure_rate: float = 1e-2


QUICK = Config(
    seeds=(0, 1),
    parts=("closed forms", "bands", "measure", "speech", "noise"),
    systems=("LegT(16, 40)",),
    samples=(20_000,),
    repetitions=2,
    speech_models=("lstm",),
    speech_rates=(1e-2,),
    speech_plan=work.SpeechPlan(params=3_000, epochs=1, recordings=120),
    task_protocol=_two_tasks.Protocol(steps=8, sequences=400, validate_every=4),
    measure_steps=8,
)
# Repetitions of one unit of the bands.
BATCH_OF_BANDS = 100


def units(config: Config) -> list[dict[str, Any]]:
    """Everything but what depends on the rate that speech chooses."""
    _two_tasks.check_names("parts", config.parts, PARTS)
    _two_tasks.check_names("systems", config.systems, SYSTEMS)
    first = config.seeds[0]
    found: dict[str, list[dict[str, Any]]] = {
        "closed forms": [{"system": name, "samples": n} for n in config.samples for name in config.systems],
        "bands": [
            {"system": name, "first": start}
            for start in range(0, config.repetitions, BATCH_OF_BANDS)
            for name in config.systems
            if name != DELAY_LINE  # it holds a sample or does not: no lag is in between
        ],
        "measure": [{"model": name, "seed": seed} for seed in config.seeds for name in ("salience", "mamba")],
        "speech": [
            {"model": name, "rate": rate, "seed": first}
            for name in config.speech_models
            for rate in config.speech_rates
        ],
        "noise": [],
        "tasks": [{"model": name, "task": task, "seed": first} for task in config.tasks for name in config.task_models],
        "characters": [{"model": name, "seed": first} for name in config.character_models],
    }
    return [{"part": part, **unit} for part in PARTS if part in config.parts for unit in found[part]]


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """Speech at the rate that was best on validation: the other seeds, and the same model on noise."""
    found = []
    for name in config.speech_models if "speech" in config.parts else ():
        rate = verdicts.chosen_rate(config, finished, name)
        if rate is None:
            continue
        found += [{"part": "speech", "model": name, "rate": rate, "seed": seed} for seed in config.seeds[1:]]
        if "noise" in config.parts:
            found.append({"part": "noise", "model": name, "rate": rate, "seed": config.seeds[0]})
    return found


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Measure, or train and look."""
    part = unit["part"]
    if part == "closed forms":
        return work.closed_form(unit["system"], unit["samples"])
    if part == "bands":
        return work.coverage(unit["system"], unit["first"], min(BATCH_OF_BANDS, config.repetitions - unit["first"]))
    if part == "measure":
        return tasks_work.measure(unit["model"], unit["seed"], config.measure_steps, config.measure_rate, context)
    if part == "speech":
        return work.speech(unit["model"], unit["rate"], unit["seed"], config.speech_plan, context)
    if part == "noise":
        return work.speech_on_noise(unit["model"], unit["seed"], unit["rate"], config.speech_plan, context)
    if part == "tasks":
        return tasks_work.task_unit(
            unit["model"], unit["task"], unit["seed"], config.task_protocol, config.episodes, context
        )
    return tasks_work.character_unit(unit["model"], unit["seed"], config.character_protocol, config.pieces, context)


def assemble(config: Config, finished: list[Finished]) -> Result:
    """What is there of every part, with a verdict each."""
    metrics: dict[str, Any] = {}
    claims: list[Claim] = []
    for add in verdicts.PARTS:
        add(config, finished, metrics, claims)
    return Result(metrics, claims, {"config": config, "finished": finished})


def report(result: Result, folder: Path) -> None:
    """A table, and a figure for every part that is there."""
    from hippozoo_studies.beyond import _microscope_figures as figures

    figures.write(result, folder)
