"""The machinery of the paper's two tables: data, scores, sizes, choices and verdicts."""

from dataclasses import replace

import pytest
import torch

from hippozoo_studies import Finished, reproduce
from hippozoo_studies.paper import _variants as variants
from hippozoo_studies.paper import memory_tasks as table_one
from hippozoo_studies.paper import recall_scaling as follow_up
from hippozoo_studies.paper._two_tasks import LEVELS, accuracy, judge, make_data, squared_error


class Says(torch.nn.Module):
    """A model that says what it is told to."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x), None


@pytest.mark.parametrize("task", ["sc", "ar"])
def test_the_data_are_split_as_in_the_paper_and_depend_on_the_seed(task):
    data, again, other = make_data(task, 0), make_data(task, 0), make_data(task, 1)
    assert [len(part) for part in (data.train, data.validation, data.test)] == [2450, 525, 525]
    assert torch.equal(data.test.inputs, again.test.inputs)
    assert not torch.equal(data.test.inputs, other.test.inputs)
    more = make_data(task, 0, more_training=10)
    assert [len(part) for part in (more.train, more.validation, more.test)] == [24_500, 525, 525]


@pytest.mark.parametrize("task", ["sc", "ar"])
def test_who_says_what_is_wanted_has_no_error_and_full_marks(task):
    data = make_data(task, 0)
    perfect = Says(lambda x: data.test.targets)
    assert accuracy(perfect, data.test, data.vectors) == 100
    assert squared_error(perfect, data.test) == 0
    assert accuracy(Says(lambda x: -data.test.targets), data.test, data.vectors) < 1


def test_saying_the_last_value_scores_as_theory_says():
    data = make_data("ar", 0, more_training=10)
    # The last pair's B stands three samples before the end: B, the queried A, WRITE.
    last = Says(lambda x: x[:, [-3]].expand_as(x))
    found = accuracy(last, data.train, data.vectors)
    assert abs(found - LEVELS["ar"]["copy_last"]) < 1.2  # four standard deviations of 24,500 answers


def test_copying_counts_the_answers_and_recall_counts_all_outputs():
    for task, silence_matters in (("sc", False), ("ar", True)):
        data = make_data(task, 0, sequences=100)
        loud = data.test.targets + (data.test.answers < 0)[..., None]
        assert (squared_error(Says(lambda x, loud=loud: loud), data.test).item() > 0) is silence_matters


@pytest.mark.parametrize("model", table_one.PAPER["params"])
def test_the_models_of_table_one_have_its_sizes(model):
    # Salience of order 256 is slow to make; that of selective copying is counted in tests/zoo/salience.
    tasks = ("ar",) if model == "salience" else ("sc", "ar")
    counts = [sum(parameter.numel() for parameter in table_one.build(model, task).parameters()) for task in tasks]
    wanted = table_one.PAPER["params"][model]
    assert all(abs(count - wanted) < 0.05 * wanted for count in counts), counts


@pytest.mark.parametrize("name", follow_up.ROWS)
def test_the_models_of_the_follow_up_have_its_sizes(name):
    model = follow_up.build_row(name)
    wanted = 1000 * follow_up.ROWS[name].params
    assert abs(sum(parameter.numel() for parameter in model.parameters()) - wanted) < 0.05 * wanted


def test_all_rows_of_both_tables_are_there():
    assert (
        set(table_one.Config().models)
        == set(table_one.TITLE)
        == set(table_one.PAPER["accuracy"])
        | {
            "mamba",
            "deltanet",
        }
    )
    assert len(follow_up.ROWS) == 19


def test_the_rate_is_chosen_by_validation_with_the_first_seed_and_by_nothing_else():
    config = replace(table_one.QUICK, models=("lstm",), tasks=("ar",), rates=(1e-3, 3e-3), seeds=(4, 5))
    results = {
        (1e-3, 4): {"validation_loss": 0.2, "accuracy": 10.0},
        (3e-3, 4): {"validation_loss": 0.3, "accuracy": 90.0},  # better on test, which must not count
        (3e-3, 5): {"validation_loss": 0.1, "accuracy": 90.0},
    }
    finished = [
        Finished({"model": "lstm", "task": "ar", "rate": rate, "seed": seed}, result, 1.0)
        for (rate, seed), result in results.items()
    ]
    assert config.chosen_rate(finished, model="lstm", task="ar") == 1e-3
    assert table_one.more_units(config, finished) == [{"model": "lstm", "task": "ar", "rate": 1e-3, "seed": 5}]


def test_variants_run_after_the_rows_at_their_rate_and_only_where_the_row_runs():
    config = replace(
        table_one.QUICK, models=("lstm",), tasks=("sc",), variants=("lstm_steps", "s4d_steps"), rates=(1e-3, 3e-3)
    )
    config = replace(config, wider_rates=())
    finished = [
        Finished(
            {"model": "lstm", "task": "sc", "rate": rate, "seed": 0}, {"validation_loss": loss, "accuracy": 9.0}, 1.0
        )
        for rate, loss in ((1e-3, 0.3), (3e-3, 0.2))
    ]
    assert table_one.more_units(config, finished)[1:] == [
        {"variant": "lstm_steps", "rate": 3e-3, "seed": 0},
    ]


def test_a_variant_may_name_its_own_rate_and_start():
    config = replace(
        table_one.QUICK, models=("assoc",), tasks=("sc",), variants=("assoc_random",), rates=(1e-3,), wider_rates=()
    )
    done = {"validation_loss": 0.3, "accuracy": 20.0}
    finished = [Finished({"model": "assoc", "task": "sc", "rate": 1e-3, "seed": 0}, done, 1.0)]
    assert table_one.more_units(config, finished)[1:] == [{"variant": "assoc_random", "rate": 3e-3, "seed": 0}]
    assert variants.build_variant(variants.VARIANTS["assoc_random"]).start == "random"
    assert variants.build_variant(variants.VARIANTS["assoc_window_20"]).start == "previous"


@pytest.mark.parametrize("field", ["models", "tasks", "variants"])
def test_a_name_that_is_unknown_is_refused_before_anything_runs(field, tmp_path):
    config = replace(table_one.QUICK, **{field: ("nonsense",)})
    with pytest.raises(ValueError, match=f"^{field} has 'nonsense'"):
        reproduce("memory-tasks", quick=True, config=config, out=tmp_path)
    with pytest.raises(ValueError, match=r"^rows has 'nonsense'"):
        follow_up.units(replace(follow_up.QUICK, rows=("nonsense",)))


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_a_variant_is_as_large_as_its_row(name):
    variant = variants.VARIANTS[name]
    row = table_one.build(variant.model, variant.task)
    model = variants.build_variant(variant) or row
    sizes = [sum(parameter.numel() for parameter in one.parameters()) for one in (row, model)]
    if variant.token_alone:
        assert sizes[1] < sizes[0]  # what the summary needs is gone
    elif variant.params is not None:
        assert sizes[1] == pytest.approx(variant.params, rel=0.02)
        assert model.layers == variant.layers
    else:
        assert abs(sizes[1] - sizes[0]) < 0.02 * sizes[0]


def test_a_variant_may_learn_from_more_and_is_scored_as_the_row_is(monkeypatch):
    seen = []
    monkeypatch.setattr(table_one, "learn", lambda model, data, plan, batch, context: seen.append((data, plan)) or {})
    for name in ("mamba_2", "mamba_data"):
        table_one.run_unit(table_one.QUICK, {"variant": name, "rate": 1e-3, "seed": 0})
    (few, short), (many, long) = seen
    assert len(many.train) == 20 * len(few.train)
    assert len(many.test) == len(few.test)
    assert long.steps == 8 * short.steps


def test_a_variant_may_count_every_output():
    data = make_data("sc", 0, sequences=100)
    loud = Says(lambda x: data.test.targets + (data.test.answers < 0)[..., None])
    assert squared_error(loud, data.test) == 0
    assert squared_error(loud, variants.count_all(data).test) > 0


@pytest.mark.parametrize(
    ("ours", "paper", "task", "expected"),
    [
        ([33.0, 32.0, 34.0], 33.2, "ar", "at the floor, as in the paper"),
        ([33.0, 32.0, 34.0], 40.0, "ar", "differs (-7.0)"),  # at the floor here, but not there
        ([50.0, 51.0, 50.5], 50.2, "sc", "agrees"),
        ([50.0, 51.0, 50.5], 53.0, "sc", "agrees"),  # the difference is sure, and smaller than five points
        ([50.0, 51.0, 50.5], 57.0, "sc", "differs (-6.5)"),
        ([51.7, 52.4, 28.6], 57.5, "sc", "cannot be told (-46."),  # a wide spread buys no agreement
        ([60.0, 80.0], 70.0, "sc", "cannot be told (-127."),  # nor does a mean that happens to be equal
        ([25.0], 32.7, "sc", "cannot be told: one seed (-7.7)"),
        ([100.0, 100.0], 100.0, "ar", "agrees"),
        ([50.0], None, "sc", "no figure in the paper"),
    ],
)
def test_a_verdict_is_that_of_the_interval_of_the_difference(ours, paper, task, expected):
    assert judge(ours, paper, task).verdict.startswith(expected)


def test_the_interval_has_the_papers_own_sampling_and_shrinks_with_seeds():
    steady = judge([50.0, 50.0, 50.0], 50.0, "ar")
    # 525 answers of the paper at one half: 1.96 * 50 / sqrt(525), and no spread of ours
    assert steady.high == pytest.approx(1.96 * 50 / 525**0.5)
    assert steady.low == -steady.high
    three, five = (judge([48.0, 50.0, 52.0, 49.0, 51.0][:n], 50.0, "sc") for n in (3, 5))
    assert five.high < three.high


def finished_rows(accuracies, rates=(3e-4, 1e-3, 3e-3), best=3e-3, model="lstm_2", task="sc"):
    """One row of the table: all rates with the first seed, then the other seeds at the best."""
    tried = [
        Finished(
            {"model": model, "task": task, "rate": rate, "seed": 0},
            {"validation_loss": abs(rate - best), "accuracy": accuracies[0]},
            1.0,
        )
        for rate in rates
    ]
    others = [
        Finished({"model": model, "task": task, "rate": best, "seed": seed}, {"accuracy": value}, 1.0)
        for seed, value in enumerate(accuracies[1:], start=1)
    ]
    return tried + others


ONE_ROW = replace(table_one.Config(), models=("lstm_2",), tasks=("sc",), variants=())


def asked_beyond(finished, config=ONE_ROW):
    known = [one.unit for one in finished]
    return [unit for unit in table_one.more_units(config, finished) if unit not in known]


def test_two_more_seeds_are_run_where_three_cannot_tell_and_nowhere_else():
    config = replace(ONE_ROW, wider_rates=())
    key = {"model": "lstm_2", "task": "sc", "rate": 3e-3}
    assert asked_beyond(finished_rows([89.5, 81.1, 87.9]), config) == [key | {"seed": 3}, key | {"seed": 4}]
    assert asked_beyond(finished_rows([60.0, 60.5, 61.0]), config) == []  # differs from 78.8
    assert asked_beyond(finished_rows([89.5, 81.1]), config) == [key | {"seed": 2}]  # first the usual ones


def test_rates_are_widened_until_the_best_is_inside():
    config = replace(ONE_ROW, more_seeds=())
    done = finished_rows([60.0, 60.5, 61.0])
    assert asked_beyond(done, config) == [{"model": "lstm_2", "task": "sc", "rate": 1e-2, "seed": 0}]
    worse = finished_rows([60.0, 60.5, 61.0], rates=(3e-4, 1e-3, 3e-3, 1e-2))
    assert asked_beyond(worse, config) == []
    better = finished_rows([60.0], rates=(3e-4, 1e-3, 3e-3, 1e-2), best=1e-2)
    assert {"model": "lstm_2", "task": "sc", "rate": 3e-2, "seed": 0} in asked_beyond(better, config)
    inside = finished_rows([60.0], rates=(3e-4, 1e-3, 3e-3, 1e-2, 3e-2), best=1e-2)
    wider = [{"model": "lstm_2", "task": "sc", "rate": 1e-2, "seed": seed} for seed in (1, 2)]
    assert asked_beyond(inside, config)[-2:] == wider  # the other seeds, once the choice is made
    small = finished_rows([60.0, 60.5, 61.0], best=3e-4)
    assert asked_beyond(small, config) == [{"model": "lstm_2", "task": "sc", "rate": 1e-4, "seed": 0}]
    solved = finished_rows([100.0, 100.0, 100.0])
    assert asked_beyond(solved, config) == []


def test_the_rate_of_the_table_stays_one_of_its_own():
    better = finished_rows([60.0], rates=(3e-4, 1e-3, 3e-3, 1e-2), best=1e-2)
    assert ONE_ROW.chosen_rate(better, model="lstm_2", task="sc") == 3e-3


def test_a_small_run_writes_both_tables_with_levels_and_says_that_it_is_small(tmp_path):
    config = replace(
        table_one.QUICK, models=("lstm", "vanilla"), variants=("lstm_batch_32",), rates=(1e-3,), sequences=100, steps=2
    )
    document = reproduce("memory-tasks", quick=True, config=config, out=tmp_path)
    assert document["quick"]
    assert len(document["metrics"]["accuracy"]["lstm"]["ar"]["seeds"]) == 2
    assert document["metrics"]["params"] == {"lstm": 24_512, "vanilla": 25_664}
    text = (tmp_path / "memory-tasks" / "table.md").read_text()
    assert "always answers with the last B* |  | *32.78*" in text
    assert "not a result" in text
    assert "| LSTM | selective copying | batches of 32, not 64 | 24,512 |" in text
    variant = document["metrics"]["variants"]["lstm_batch_32"]
    assert variant["unchanged"] == document["metrics"]["accuracy"]["lstm"]["sc"]["seeds"][0]
    assert "Rows not run here: Vanilla + MLP, Salience" in text
    assert (tmp_path / "memory-tasks" / "accuracy.png").exists()

    scaling = replace(follow_up.QUICK, rows=("lstm", "transformer_2_steps_pe"), rates=(1e-3,), steps=2)
    document = reproduce("recall-scaling", quick=True, config=scaling, out=tmp_path)
    assert set(document["metrics"]["verdict"].values()) == {"none: too few steps"}
    text = (tmp_path / "recall-scaling" / "table.md").read_text()
    assert "| Steps 2x + PE | Transformer | 2 | 27,064 |" in text
