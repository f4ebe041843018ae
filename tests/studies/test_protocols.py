"""Who learns from what, who chooses by what, and what a claim takes to hold."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from hippozoo.tasks.selective_copying import SelectiveCopying
from hippozoo.training import Plan
from hippozoo_studies import QUIET, Context, over_seeds
from hippozoo_studies.beyond import long_term_forecasting as long_term
from hippozoo_studies.data.long_term import PUBLISHED
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper import _two_tasks
from hippozoo_studies.paper import memory_tasks as table_one
from hippozoo_studies.paper import recall_scaling as follow_up
from hippozoo_studies.paper._two_tasks import LEVELS, Data, Episodes, learn, make_data

# -- data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more_training", [1, 3])
@pytest.mark.parametrize("task", ["sc", "ar"])
def test_every_episode_drawn_is_in_one_part_and_in_one_only(task, more_training, monkeypatch):
    drawn = []

    def watched(draw):
        def draw_and_tell(*arguments):
            drawn.append(draw(*arguments))
            return drawn[-1]

        return draw_and_tell

    monkeypatch.setattr(SelectiveCopying, "draw", watched(SelectiveCopying.draw))
    monkeypatch.setattr(_two_tasks, "associative_recall", watched(_two_tasks.associative_recall))
    data = make_data(task, 0, sequences=40, more_training=more_training)
    (everything,) = drawn
    parts = (data.train, data.validation, data.test)
    joined = torch.cat([part.inputs for part in parts])
    assert torch.equal(joined, data.vectors[torch.from_numpy(everything.tokens)])
    assert [len(part) for part in parts] == [28 * more_training, 6, 6]
    for field in ("targets", "answers", "counted"):
        assert len(torch.cat([getattr(part, field) for part in parts])) == len(joined)


class Echo(nn.Module):
    """Says what it hears, only louder or softer."""

    def __init__(self):
        super().__init__()
        self.loudness = nn.Parameter(torch.tensor(0.9))

    def forward(self, x):
        return self.loudness * x, None


@pytest.mark.parametrize("right", ["train", "validation", "test"])
def test_each_accuracy_is_that_of_its_own_part(right):
    vectors = torch.eye(4)
    tokens = torch.arange(12).reshape(4, 3) % 4

    def part(name):
        answers = tokens if name == right else (tokens + 1) % 4  # an echo is right here and wrong there
        return Episodes(vectors[tokens], vectors[tokens], answers, torch.ones_like(tokens, dtype=torch.bool))

    data = Data(part("train"), part("validation"), part("test"), vectors)
    found = learn(Echo(), data, Plan(steps=2, validate_every=1), batch=2, context=QUIET)
    accuracies = {"train": "train_accuracy", "validation": "validation_accuracy", "test": "accuracy"}
    assert {name: found[key] for name, key in accuracies.items()} == {
        name: 100.0 if name == right else 0.0 for name in accuracies
    }


def test_the_weights_are_chosen_by_validation():
    vectors = torch.eye(4)
    tokens = torch.arange(12).reshape(4, 3) % 4

    def part(loudness):
        return Episodes(vectors[tokens], loudness * vectors[tokens], tokens, torch.ones_like(tokens).bool())

    # What is learnt from the first part leads away from the second, and towards the third.
    data = Data(part(2.0), part(0.9), part(2.0), vectors)
    found = learn(Echo(), data, Plan(steps=5, rate=0.1, validate_every=1), batch=2, context=QUIET)
    assert found["best_step"] == 1
    assert found["looks"]["validation"] == sorted(found["looks"]["validation"])
    assert found["validation_loss"] == pytest.approx(found["looks"]["validation"][0], rel=1e-3)


@pytest.mark.parametrize(
    ("module", "config", "unit"),
    [
        (table_one, replace(table_one.QUICK, sequences=20), {"model": "lstm", "task": "ar", "rate": 1e-3}),
        (follow_up, replace(follow_up.QUICK, sequences=20), {"row": "lstm", "rate": 1e-3}),
    ],
    ids=["memory-tasks", "recall-scaling"],
)
def test_the_first_weights_depend_on_the_seed_and_on_nothing_else(module, config, unit, monkeypatch):
    def first_weights(model, data, plan, batch, context):
        return {"weights": torch.cat([one.detach().flatten() for one in model.parameters()]), "seed": plan.seed}

    monkeypatch.setattr(module, "learn", first_weights)
    one, again, other = (module.run_unit(config, unit | {"seed": seed}) for seed in (4, 4, 5))
    assert (one["seed"], other["seed"]) == (4, 5)
    assert torch.equal(one["weights"], again["weights"])
    # Biases may begin at the same number; the drawn ones do not.
    assert (one["weights"] != other["weights"]).double().mean() > 0.9


# -- long-term forecasting -----------------------------------------------------------------------------------------


def write_illness(folder, values):
    """The rows as the published file has them: a date and numbers."""
    rows = "\n".join(f"week {week}," + ",".join(map(repr, map(float, row))) for week, row in enumerate(values))
    (folder / "national_illness.csv").write_text("date,a,OT\n" + rows)
    return Context(data=folder)


def test_the_test_rows_choose_nothing(tmp_path, rng):
    values = np.cumsum(rng.normal(size=(966, 2)), axis=0)
    config = replace(
        long_term.QUICK,
        lookbacks=(("illness", 24),),
        order_shares=(1 / 4, 1 / 2),
        ridges=(1e-4, 10.0),
        together=("shared", "independent"),
        refreshes=2,
    )
    unit = {"dataset": "illness", "horizon": 6}
    first = long_term.run_unit(config, unit, write_illness(tmp_path, values))
    values[773:] = 5 * rng.normal(size=(193, 2))  # the last fifth, which is reported
    second = long_term.run_unit(config, unit, write_illness(tmp_path, values))
    assert first["tried"] == second["tried"]
    assert first["chosen"] == second["chosen"] == min(first["tried"], key=lambda one: one["validation"])
    assert first["all_windows"]["mse"] != second["all_windows"]["mse"]
    values[676:773] = 5 * rng.normal(size=(97, 2))  # those before them do choose
    assert long_term.run_unit(config, unit, write_illness(tmp_path, values))["tried"] != first["tried"]


# -- claims --------------------------------------------------------------------------------------------------------


def holds(claims, words):
    """Whether the one claim that speaks of this holds."""
    (claim,) = [one for one in claims if words in one.claim]
    return claim.holds


NEAR = LEVELS["ar"]["copy_last"]


TABLE_ONE_CLAIMS = [
    ("Salience solves selective copying", {"salience": {"sc": [100.0, 99.9]}}, "holds"),
    ("Salience solves selective copying", {"salience": {"sc": [100.0, 50.0]}}, "does not hold"),
    ("Assoc. Memory solves associative recall", {"assoc": {"ar": [99.9, 100.0]}}, "holds"),
    ("Assoc. Memory solves associative recall", {"assoc": {"ar": [99.8, 100.0]}}, "does not hold"),
    ("one scalar salience", {"salience": {"sc": [99.0]}, "mamba": {"sc": [58.0]}}, "holds"),
    ("one scalar salience", {"salience": {"sc": [57.0]}, "mamba": {"sc": [58.0]}}, "does not hold"),
    ("Mamba solves selective copying", {"mamba": {"sc": [100.0, 100.0]}}, "holds"),
    ("Mamba solves selective copying", {"mamba": {"sc": [50.0, 100.0]}}, "cannot be told"),
    ("stay near chance", {"lstm": {"ar": [NEAR, NEAR + 6]}, "s4d_2": {"ar": [NEAR + 4.9]}}, "holds in part"),
    ("stay near chance", {"lstm": {"ar": [NEAR]}, "s4d_2": {"ar": [NEAR + 5.1]}}, "does not hold"),
    ("stay near chance", {"lstm": {"ar": [NEAR]}, "mamba": {"ar": [100.0]}}, "holds in part"),  # not one of them
    ("well below Salience", {"salience": {"sc": [98.0, 100.0]}, "s4d": {"sc": [92.0]}}, "holds"),
    ("well below Salience", {"salience": {"sc": [98.0, 100.0]}, "s4d": {"sc": [93.5]}}, "does not hold"),
    (
        "well below Salience",
        {"salience": {"sc": [98.0]}, "s4d": {"sc": [20.0]}, "lstm": {"sc": [97.0]}},
        "holds in part",
    ),
    ("well below Salience", {"salience": {"sc": [98.0]}, "s4d": {"sc": [20.0]}, "lstm_2": {"sc": [97.0]}}, "holds"),
    (
        "only S4D comes close",
        {"lstm_2": {"sc": [89.0, 89.9]}, "s4d_2": {"sc": [90.0, 95.0]}, "transformer_2": {"sc": [50.0]}},
        "holds",
    ),
    (
        "only S4D comes close",
        {"lstm_2": {"sc": [89.0, 90.1]}, "s4d_2": {"sc": [90.0, 95.0]}, "transformer_2": {"sc": [50.0]}},
        "holds in part",
    ),
    (
        "only S4D comes close",
        {"lstm_2": {"sc": [80.0]}, "s4d_2": {"sc": [89.0]}, "transformer_2": {"sc": [50.0]}},
        "does not hold",
    ),
]


def verdict(claims, words):
    """The verdict on the one claim that speaks of this."""
    (claim,) = [one for one in claims if words in one.claim]
    return claim.verdict


def table_one_claims(rows, **more):
    config = table_one.Config()
    metrics = {"accuracy": rows, "steps": config.steps, "wider_rates": {}, "variants": {}} | more
    return answers(table_one.CLAIMS, metrics, config.rates)


@pytest.mark.parametrize(("words", "accuracy", "expected"), TABLE_ONE_CLAIMS)
def test_a_claim_of_table_one_is_judged(words, accuracy, expected):
    rows = {
        model: {task: over_seeds(values) for task, values in by_task.items()} for model, by_task in accuracy.items()
    }
    assert verdict(table_one_claims(rows), words) == expected


TRANSFORMERS = dict.fromkeys((n for n, r in follow_up.ROWS.items() if r.title == "Transformer" and r.layers == 1), NEAR)
ALL_TRANSFORMERS = dict.fromkeys((n for n, r in follow_up.ROWS.items() if r.title == "Transformer"), NEAR)
LSTMS = {"lstm": 59.0, "lstm_2": 30.0, "lstm_all": 61.0, "lstm_2_all": 78.0}
# The two settings in which transformers solve the task in the paper, as ours came out.
IN_THE_PAPER = {"transformer_2_capacity_pe": 32.3, "transformer_2_steps_pe": 30.8}
S4DS = {"s4d": NEAR, "s4d_2": NEAR, "s4d_all": NEAR, "s4d_2_all": NEAR + 9.9}
FOLLOW_UP_CLAIMS = [
    ("Transformers of one layer", TRANSFORMERS | {"transformer_all": NEAR + 9.9}, "holds"),
    ("Transformers of one layer", TRANSFORMERS | {"transformer_all": NEAR + 10.1}, "holds in part"),
    ("Transformers of one layer", TRANSFORMERS | {"transformer_2_all": 100.0}, "holds"),
    ("Transformers of one layer", dict.fromkeys(TRANSFORMERS, 100.0), "does not hold"),
    ("of two layers with positions", {"transformer_2_capacity_pe": 95.1, "transformer_2_steps_pe": 99.0}, "holds"),
    (
        "of two layers with positions",
        {"transformer_2_capacity_pe": 99.0, "transformer_2_steps_pe": 94.9},
        "holds in part",
    ),
    (
        "of two layers with positions",
        {"transformer_2_capacity_pe": 33.0, "transformer_2_steps_pe": 33.0},
        "does not hold",  # as ours do: not as stated
    ),
    ("LSTMs pass 60 % only", LSTMS, "holds"),
    ("LSTMs pass 60 % only", LSTMS | {"lstm_2": 61.0}, "holds in part"),
    ("LSTMs pass 60 % only", LSTMS | {"lstm_all": 59.0}, "holds in part"),
    ("far from 100 %", LSTMS | IN_THE_PAPER, "holds"),
    ("far from 100 %", LSTMS | IN_THE_PAPER | {"lstm_all": 94.4}, "holds in part"),  # as ours are
    ("far from 100 %", LSTMS | IN_THE_PAPER | {"lstm_all": 94.4, "lstm_2_all": 99.0}, "does not hold"),
    ("LSTMs need ten times", LSTMS | {"lstm": 33.0}, "holds"),
    ("LSTMs need ten times", LSTMS | {"lstm": 33.0, "lstm_all": 94.4}, "holds in part"),  # as ours do
    ("LSTMs need ten times", dict.fromkeys(LSTMS, 100.0), "does not hold"),
    ("Transformers need positions", ALL_TRANSFORMERS, "cannot be told"),  # none solves it, as ours
    ("Transformers need positions", ALL_TRANSFORMERS | {"transformer_2_steps_pe": 99.0}, "holds"),
    ("Transformers need positions", ALL_TRANSFORMERS | {"transformer_all": 99.0}, "does not hold"),
    ("Transformers need positions", dict.fromkeys(ALL_TRANSFORMERS, 99.0), "holds in part"),
    ("S4D does not solve recall", S4DS, "holds"),
    ("S4D does not solve recall", S4DS | {"s4d_2_all": NEAR + 10.1}, "holds in part"),
    ("S4D does not solve recall", S4DS | {"s4d_2_all": 95.1}, "holds in part"),
    ("S4D cannot bind pairs", S4DS, "holds"),
    ("S4D cannot bind pairs", S4DS | {"s4d_2_all": NEAR + 10.1}, "does not hold"),
    ("Associative Memory solves it", {"assoc": 99.9}, "holds"),
    ("Associative Memory solves it", {"assoc": 99.8}, "does not hold"),
]


@pytest.mark.parametrize(("words", "accuracy", "expected"), FOLLOW_UP_CLAIMS)
def test_a_claim_of_the_follow_up_is_judged(words, accuracy, expected):
    rows = {name: over_seeds([value]) for name, value in accuracy.items()}
    assert verdict(answers(follow_up.CLAIMS, {"accuracy": rows}), words) == expected


def linear_best(name):
    """The better of the two linear models at each horizon, as printed."""
    return {h: min(PUBLISHED[name][model][h] for model in ("DLinear", "NLinear")) for h in PUBLISHED[name]["DLinear"]}


@pytest.mark.parametrize("key", ["mse", "mse_drop_last"])
@pytest.mark.parametrize(
    ("name", "factor", "added", "expected"),
    [
        ("ETTh1", 1.0, 0.0004, True),  # as printed, it is the same number
        ("ETTh1", 1.0, 0.0006, False),
        ("ETTm1", 1.009, -0.0005, True),
        ("ETTm1", 1.012, 0.0005, False),
        ("illness", 1.0, 0.0004, True),
        ("illness", 1.0, 0.0006, False),
    ],
)
def test_a_claim_of_long_term_forecasting_is_judged_by_its_worst_horizon(key, name, factor, added, expected):
    best = linear_best(name)
    worst = list(best)[-1]
    row = {horizon: factor * value + added if horizon == worst else value for horizon, value in best.items()}
    other = "mse_drop_last" if key == "mse" else "mse"
    windows = {"mse": "all test windows", "mse_drop_last": "last incomplete batch dropped"}
    claims = answers(long_term.CLAIMS, {key: {name: row}, other: {name: best}})
    assert holds(claims, f"({windows[key]})") is expected
    assert holds(claims, f"({windows[other]})")


def test_every_claim_has_a_table_where_it_holds_and_one_where_it_does_not():
    rows = {model: {task: over_seeds([50.0]) for task in ("sc", "ar")} for model in table_one.TITLE}
    lines = {name: over_seeds([50.0]) for name in follow_up.ROWS}
    for claims, cases in (
        (table_one_claims(rows), TABLE_ONE_CLAIMS),
        (answers(follow_up.CLAIMS, {"accuracy": lines}), FOLLOW_UP_CLAIMS),
    ):
        for claim in claims:
            found = {expected for words, _, expected in cases if words in claim.claim}
            # That one third is chance is false whatever the rows are.
            assert len(found) > 1, claim.claim
            assert "holds" in found or "near chance" in claim.claim, claim.claim
            assert claim.quote, claim.claim
    errors = {name: linear_best(name) for name in PUBLISHED}
    assert len(answers(long_term.CLAIMS, {"mse": errors, "mse_drop_last": errors})) == 6


@pytest.mark.parametrize(
    ("rate", "lstm", "expected"), [(1e-2, 91.0, "holds in part"), (1e-2, 89.0, "holds"), (3e-3, 91.0, "holds")]
)
def test_a_rate_beyond_the_tables_counts_where_it_is_better(rate, lstm, expected):
    rows = {"lstm_2": [80.0], "s4d_2": [95.0], "transformer_2": [50.0]}
    told = table_one_claims(
        {model: {"sc": over_seeds(values)} for model, values in rows.items()},
        wider_rates={"lstm_2": {"sc": {"rate": rate, "accuracy": over_seeds([lstm])}}},
    )
    assert verdict(told, "only S4D comes close") == expected
    evidence = next(one.evidence for one in told if "only S4D" in one.claim)
    assert (f"LSTM {lstm:.1f} %" in evidence) is (rate == 1e-2)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [([100.0, 98.0], "holds"), ([99.0, 98.0], "cannot be told"), ([100.0, 60.0], "cannot be told")],
)
def test_a_deeper_mamba_may_show_what_the_row_does_not(seeds, expected):
    rows = {"mamba": {"sc": over_seeds([50.0])}}
    variants = {
        "deeper": {"model": "mamba", "task": "sc", "change": "two layers", "seeds": seeds},
        "other": {"model": "mamba", "task": "ar", "change": "three times the steps", "seeds": [100.0]},
    }
    told = table_one_claims(rows, variants=variants)
    assert verdict(told, "Mamba solves selective copying") == expected
    [one] = [one for one in told if one.claim == "Mamba solves selective copying"]
    assert f"after 4,000 steps; two layers: {seeds[0]:.1f}, {seeds[1]:.1f} % (two seeds); " in one.evidence


def test_a_row_beyond_the_paper_is_trained_on_its_answers_alone():
    config = replace(follow_up.QUICK, rows=(), factors=(), positions=(), beyond=("transformer_2_long_pe",))
    [unit] = follow_up.units(config)
    found = follow_up.run_unit(config, unit)
    # Tokens have length one and 24 numbers; silent outputs would bring the error down to a twelfth.
    assert found["validation_loss"] > 0.02


@pytest.mark.parametrize(
    ("long", "one_layer", "two_layers", "choices"),
    [
        ((100.0, 33.0, 34.0), "holds", "does not hold", "holds"),
        ((100.0, 33.0, 99.0), "holds", "does not hold", "holds in part"),
        ((100.0, 99.0, 99.0), "holds in part", "does not hold", "does not hold"),
        ((60.0, 33.0, 34.0), "holds", "does not hold", "cannot be told"),
        ((100.0,), "holds", "does not hold", "cannot be told"),
    ],
)
def test_longer_training_settles_what_attention_needs(long, one_layer, two_layers, choices):
    beyond = {name: {"accuracy": value} for name, value in zip(follow_up.BEYOND, long, strict=False)}
    rows = {name: over_seeds([33.0]) for name in ALL_TRANSFORMERS}
    told = answers(follow_up.CLAIMS, {"accuracy": rows, "beyond": beyond})
    assert verdict(told, "Transformers of one layer") == one_layer
    assert verdict(told, "of two layers with positions") == two_layers
    assert verdict(told, "Transformers need positions") == choices
    assert all("{" not in one.evidence for one in told)
    assert sum(f"{long[0]:.1f} %" in one.evidence for one in told) == (2 if len(long) == 3 else 1)
