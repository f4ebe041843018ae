"""What came of the microscope's study, part by part: metrics, and a verdict in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippozoo_studies import Claim, Finished, over_seeds, select
from hippozoo_studies.beyond import _microscope_tasks as tasks_work
from hippozoo_studies.paper import _two_tasks, memory_tasks

TITLE = {
    "memory": "Memory",
    "s4d": "S4D",
    "mamba": "Mamba",
    "lstm": "LSTM",
    "gru": "GRU",
    "deltanet": "DeltaNet",
    "explicit": "Our stack",
    "salience": "Salience",
    "present": "Present character alone",
}
#: Largest errors that the closed forms allow, by samples.
ALLOWED = {20_000: 0.02, 200_000: 0.01}
# Per cent from which a task counts as solved, and tokens as held.
SOLVED = 90.0


def chosen_rate(config: Any, finished: list[Finished], name: str) -> float | None:
    """The rate of the smallest validation loss with the first seed; None until all have been tried."""
    tried = select(finished, part="speech", model=name, seed=config.seeds[0])
    losses = {one.unit["rate"]: one.result["validation_loss"] for one in tried}
    if not set(config.speech_rates) <= set(losses):
        return None
    return min(config.speech_rates, key=losses.__getitem__)


def _closed_forms(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["largest_error"] = {}
    for one in select(finished, part="closed forms"):
        if one.unit["system"] in config.systems and one.unit["samples"] in config.samples:
            found.setdefault(one.unit["samples"], {})[one.unit["system"]] = one.result["largest_error"]
    for samples, errors in found.items():
        worst = max(errors, key=errors.__getitem__)
        claims.append(
            Claim(
                f"target: every lag of every linear memory is within {ALLOWED[samples]} of the closed form at "
                f"{samples:,} samples",
                errors[worst] <= ALLOWED[samples],
                f"largest error {errors[worst]:.4f} ({worst})",
            )
        )


def _bands(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["coverage"] = {}
    held, counted, lowest = 0.0, 0.0, 1.0
    for system in config.systems:
        done = select(finished, part="bands", system=system)
        if not done:
            continue
        exact = np.array(done[0].result["exact"])
        between = (exact > 0.02) & (exact < 0.98)
        if not between.any():
            continue  # a delay line holds a sample or does not
        times = np.sum([one.result["held"] for one in done], 0)[between]
        repetitions = sum(one.result["repetitions"] for one in done)
        found[system] = {
            "pooled": float(times.mean() / repetitions),
            "lowest_lag": float(times.min() / repetitions),
            "repetitions": repetitions,
        }
        held, counted = held + times.sum(), counted + repetitions * between.sum()
        lowest = min(lowest, float(times.min() / repetitions))
    if found:
        fewest = min(one["repetitions"] for one in found.values())
        pooled = found["all"] = held / counted
        claims.append(
            Claim.judged(
                "target: 95 % bands cover the exact value in 93 to 97 %, pooled over lags, and no lag below 90 %",
                [0.93 <= pooled <= 0.97, lowest >= 0.9],
                f"pooled {pooled:.1%}, lowest lag {lowest:.1%}, over {fewest} repetitions",
            )
        )


def _measure(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["measure"] = {}
    for name in ("salience", "mamba"):
        done = [one.result for one in select(finished, part="measure", model=name) if one.unit["seed"] in config.seeds]
        for label in done[0] if done else ():
            rows = [one[label] for one in done]
            row = found.setdefault(label, {})[name] = {"accuracy": over_seeds(one["accuracy"] for one in rows)}
            row["code_accuracy"] = over_seeds(one["after"]["code_accuracy"] for one in rows)
            for what in ("code_r2", "place_r2"):
                row[what] = {
                    f"{noise:g}": over_seeds(one["after"][what][number] for one in rows)
                    for number, noise in enumerate(tasks_work.PRECISIONS)
                }
            for kind in ("measure", "sensitivity"):
                row[f"code_over_noise_by_{kind}"] = over_seeds(
                    one[kind]["share_of_a_code"] / one[kind]["share_of_noise"] for one in rows
                )
    short = found.get("6 noise entries", {})
    if len(short) == 2:
        ratio = {name: short[name]["code_over_noise_by_sensitivity"]["mean"] for name in short}
        steps = {name: short[name]["code_over_noise_by_measure"]["mean"] for name in short}
        seeds = f"; seeds: {min(len(one['accuracy']['seeds']) for one in short.values())}"
        claims.append(
            Claim(
                "ours: a code moves the state more than a noise entry does, and in salience more so than in Mamba",
                ratio["salience"] > ratio["mamba"] > 1,
                f"by sensitivity {ratio['salience']:.3g} times (salience) and {ratio['mamba']:.3g} times (Mamba); "
                f"by the history measure {steps['salience']:.0f} and {steps['mamba']:.2g} times, where Mamba's time "
                f"steps do not see that its short convolution lets an entry in up to three samples late{seeds}",
            )
        )
        fine, coarse = (f"{tasks_work.PRECISIONS[number]:g}" for number in (0, 4))
        place = {name: [short[name]["place_r2"][noise]["mean"] for noise in (fine, coarse)] for name in short}
        code = {name: [short[name]["code_r2"][noise]["mean"] for noise in (fine, coarse)] for name in short}
        claims.append(
            Claim.judged(
                f"ours: salience keeps codes robustly and places as a trace: above noise of {coarse} codes are still "
                "read, and places are read better from Mamba's state",
                [code["salience"][1] > 0.95, place["salience"][1] < place["mamba"][1]],
                "; ".join(
                    f"{TITLE[name]}: codes R² {code[name][0]:.2f} above noise {fine} and {code[name][1]:.2f} above "
                    f"{coarse}, places {place[name][0]:.2f} and {place[name][1]:.2f}"
                    for name in short
                )
                + seeds,
            )
        )


def _speech(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["speech"] = {}
    for name in config.speech_models:
        rate = chosen_rate(config, finished, name)
        done = [] if rate is None else select(finished, part="speech", model=name, rate=rate)
        results = [one.result for one in done if one.unit["seed"] in config.seeds]
        if not results:
            continue
        found[name] = {
            "rate": rate,
            "parameters": results[0]["parameters"],
            "numbers": results[0]["after"]["size"],
            "accuracy": over_seeds(one["accuracy"] for one in results),
        }
        for when in ("before", "after"):
            found[name][when] = {
                "r2_29_frames_ago": over_seeds(one[when]["profile"]["value"][29] for one in results),
                "capacity": over_seeds(one[when]["capacity"]["value"] for one in results),
                "half_life": [one[when]["half_life"] for one in results],
                "answer_accuracy": over_seeds(one[when]["answer"]["accuracy"][0] for one in results),
            }
    if {"lstm", "memory", "s4d"} <= set(found):
        past = {name: row["after"]["r2_29_frames_ago"]["mean"] for name, row in found.items()}
        answer = {name: row["after"]["answer_accuracy"]["mean"] for name, row in found.items()}
        holds = [past[one] > past["lstm"] for one in ("memory", "s4d")]
        holds += [answer["lstm"] > answer[one] for one in ("memory", "s4d")]
        claims.append(
            Claim.judged(
                "ours: memory and S4D are archives, an LSTM keeps the answer: from their trained states the frame 29 "
                "ago is easier to read than from the LSTM's, and the digit is harder",
                holds,
                "; ".join(
                    f"{TITLE[name]} R² {past[name]:.2f}, digit {100 * answer[name]:.0f} %"
                    for name in ("memory", "s4d", "lstm")
                ),
            )
        )


def _noise(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["noise"] = {}
    for one in select(finished, part="noise"):
        if one.unit["model"] in config.speech_models:
            found[one.unit["model"]] = {
                when: {degree: held["value"] for degree, held in one.result[when]["degrees"].items()}
                for when in ("before", "after")
            }


def _tasks(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["tasks"] = {}
    for one in select(finished, part="tasks"):
        task, name = one.unit["task"], one.unit["model"]
        if task not in config.tasks or name not in config.task_models:
            continue
        row = found.setdefault(task, {})[name] = {"accuracy": one.result["accuracy"]}
        for when in ("before", "after"):
            look = one.result[when]
            row[f"readable_{when}"] = 100 * float(np.mean(look["answers"]["accuracy"]))
            row[f"tokens_{when}"] = 100 * float(np.sum(look["tokens"]["value"]) / np.sum(look["tokens"]["chance_bits"]))
    for task, rows in found.items():
        claims += _task_claims(_two_tasks.TITLES[task], rows, len(config.task_models))


def _task_claims(title: str, rows: dict[str, Any], models: int) -> list[Claim]:
    """Whether the answer stands in the state, of those that give it and of those that do not."""

    def told(names: list[str]) -> str:
        each = [
            f"{memory_tasks.TITLE[name]} {rows[name]['accuracy']:.0f} % answered, {rows[name]['readable_after']:.0f} % "
            f"decodable, {rows[name]['tokens_after']:.0f} % of the tokens"
            for name in names
        ]
        if len(rows) < models:
            each.append(f"{len(rows)} of {models} models have been examined")
        return "; ".join(each)

    solve, fail = (
        [name for name, row in rows.items() if (row["accuracy"] >= SOLVED) is good] for good in (True, False)
    )
    found = []
    if solve:
        found.append(
            Claim.judged(
                f"ours: models that solve {title} have the answer linearly in their state when it is queried",
                [rows[name]["readable_after"] >= SOLVED for name in solve],
                f"{told(solve)}; the nonlinear part is read by a product: of a query and a bank, or of two gates",
            )
        )
    if fail:
        whole = [name for name in fail if rows[name]["tokens_after"] > SOLVED]
        found += [
            Claim(
                f"ours: models that fail at {title} lack the answer: a linear readout of their state finds it no more "
                "than 10 points more often than they give it",
                all(rows[name]["readable_after"] <= rows[name]["accuracy"] + 10 for name in fail),
                told(fail),
            ),
            Claim.judged(
                f"ours: models that fail at {title} have not forgotten the tokens: nine tenths of their bits can be "
                "decoded from the state",
                [len(whole) == len(fail), bool(whole)],
                f"{len(whole)} of {len(fail)}: {told(fail)}",
            ),
        ]
    return found


def _characters_part(config: Any, finished: list[Finished], metrics: dict[str, Any], claims: list[Claim]) -> None:
    found = metrics["characters"] = {}
    for one in select(finished, part="characters"):
        if one.unit["model"] in config.character_models:
            profile = one.result["after"]["profile"]
            found[one.unit["model"]] = {
                "validation_perplexity": one.result.get("validation_perplexity"),
                "numbers": one.result["after"]["size"],
                "bits": float(np.sum(profile["value"])),
                "bits_before": float(np.sum(one.result["before"]["profile"]["value"]))
                if "before" in one.result
                else None,
                "next_bits": one.result["after"]["next"]["value"][0],
                "half_life": next(
                    (
                        lag
                        for lag, (value, full) in enumerate(zip(profile["value"], profile["chance_bits"], strict=True))
                        if value < 0.5 * full
                    ),
                    None,
                ),
            }
    trained = {name: row for name, row in found.items() if row["validation_perplexity"]}
    if len(trained) >= 2:
        by_bits = sorted(trained, key=lambda name: -trained[name]["bits"])
        by_text = sorted(trained, key=lambda name: trained[name]["validation_perplexity"])
        claims.append(
            Claim(
                "ours: the model that predicts characters best also has the most bits of past ones in its state",
                by_bits[0] == by_text[0],
                "; ".join(
                    f"{TITLE[name]} {trained[name]['bits']:.0f} bits of 24 characters, perplexity "
                    f"{trained[name]['validation_perplexity']:.2f}"
                    for name in by_bits
                ),
            )
        )


PARTS = (_closed_forms, _bands, _measure, _speech, _noise, _tasks, _characters_part)
