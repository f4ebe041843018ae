"""Recall scaling beyond the paper's table: which factors it takes, and what learnt positions change."""

from dataclasses import replace

import numpy as np
import pytest

from hippozoo_studies import Finished, over_seeds, reproduce
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper import recall_scaling as study
from hippozoo_studies.paper._recall_claims import CLAIMS
from hippozoo_studies.paper._recall_further import draw_seeds, same_weights, same_weights_text
from hippozoo_studies.paper._recall_rows import FACTORS, POSITIONS
from hippozoo_studies.report.verdicts import first_sentence


@pytest.mark.parametrize("name", FACTORS | POSITIONS)
def test_every_row_has_its_size(name):
    row = (FACTORS | POSITIONS)[name]
    count = sum(one.numel() for one in study.build_row(name).parameters())
    assert abs(count / (1000 * row.params) - 1) < 0.04


def test_all_proper_subsets_of_the_three_factors_are_there():
    for model, small in (("lstm", 25), ("s4d", 26)):
        rows = [row for name, row in FACTORS.items() if name.startswith(model)]
        found = {(row.params > small, row.data > 1, row.steps) for row in rows}
        assert found == {
            (capacity, data, steps)
            for capacity in (False, True)
            for data in (False, True)
            for steps in (1, 2)
            if 0 < capacity + data + (steps > 1) < 3
        } | {(False, True, 4)}


def finished(row, rate, seed=0, accuracy=50.0, loss=0.1):
    found = {"accuracy": accuracy, "train_accuracy": 60.0, "parameters": 25_244, "validation_loss": loss}
    return Finished({"row": row, "rate": rate, "seed": seed}, found, 1.0)


def test_variants_of_batch_and_loss_have_one_seed_at_the_rate_of_their_row_and_factors_three():
    config = replace(study.Config(), rows=("transformer_2_steps_pe", "transformer_2_capacity_pe"), beyond=())
    own = [*FACTORS, *config.rows, "transformer_2_steps_learnt", "transformer_2_capacity_learnt"]
    # Every row has a rate of its own: the variants must follow it.
    best = {name: config.rates[number % len(config.rates)] for number, name in enumerate(own)}
    tried = [finished(name, rate, loss=float(rate != best[name])) for name in own for rate in config.rates]
    more = study.more_units(config, tried)
    others = [unit for unit in more if unit["seed"]]
    assert {unit["row"] for unit in others} == set(own)
    assert all(unit["rate"] == best[unit["row"]] for unit in others)
    variants = [unit for unit in more if not unit["seed"]]
    assert more == others + variants  # the other seeds come first: they decide more
    assert {(unit["row"], unit["rate"]) for unit in variants} == {
        (f"{name}_{what}", best[name]) for name in own if name.startswith("transformer") for what in ("answer", "batch")
    }


def sentence(factor_accuracy, words):
    low, high = over_seeds([32.0]), over_seeds([80.0])
    rows = {"lstm": low, "lstm_2": low, "lstm_all": high, "lstm_2_all": high}
    further = {"lstm_data_steps_4": {"accuracy": over_seeds([factor_accuracy]), "parameters": 25_244}}
    told = answers(CLAIMS, {"accuracy": rows, "further": further})
    [claim] = [one for one in told if words in one.claim]
    return claim


def test_a_small_lstm_that_learns_with_more_data_and_steps_refutes_the_need_of_capacity():
    assert sentence(33.0, "pass 60 % only").verdict == "holds"
    claim = sentence(85.7, "pass 60 % only")
    assert claim.verdict != "holds"
    assert "ten times the data and four times the steps give 85.7 % (one seed)" in claim.evidence
    assert "takes four times the steps, beyond the paper's range" in first_sentence(claim.evidence)
    claim = sentence(33.0, "LSTMs need ten times")
    assert claim.verdict == "holds"
    assert "does not hold" not in claim.evidence
    claim = sentence(85.7, "LSTMs need ten times")
    assert claim.verdict == "holds in part"
    assert "it does not hold that more parameters are needed: of the small LSTMs" in first_sentence(claim.evidence)


def test_the_sentence_about_two_layers_says_first_that_they_can_solve_it_otherwise():
    rows = {"transformer_2_capacity_pe": over_seeds([32.0]), "transformer_2_steps_pe": over_seeds([31.0])}
    long = {"transformer_2_long_pe": {"accuracy": 100.0}}
    [claim] = [one for one in answers(CLAIMS, {"accuracy": rows, "beyond": long}) if "of two layers" in one.claim]
    assert claim.verdict == "does not hold"
    told = first_sentence(claim.evidence)
    assert told.startswith("As stated, it does not hold")
    assert "two layers with positions can solve it with twenty times the data" in told
    assert "100.0 % (one seed)" in told
    assert "{" not in claim.evidence


@pytest.mark.parametrize(("best", "longer", "expected"), [(4_000, 2_600, 1), (4_000, 4_200, 0), (3_000, 2_600, 1)])
def test_a_longer_run_that_was_best_before_the_shorter_one_ended_has_its_weights(best, longer, expected):
    config = replace(study.Config(), seeds=(0, 1))
    units = [
        replace(finished(row, 3e-4, seed), result=finished(row, 3e-4, seed).result | {"best_step": step})
        for row, step in (("lstm_capacity", best), ("lstm_capacity_steps", longer), ("lstm_steps", 10))
        for seed in config.seeds
    ]
    rates = {"lstm_capacity": 3e-4, "lstm_capacity_steps": 3e-4, "lstm_steps": 3e-4}
    pairs = same_weights(config, units, rates)
    assert pairs == [("lstm_capacity", "lstm_capacity_steps", 2)] * expected
    assert same_weights(config, units, rates | {"lstm_capacity": 1e-3}) == []  # trained otherwise
    assert ("by step 4,000 on both seeds" in same_weights_text(config, pairs)) == bool(expected)


def test_one_seed_is_drawn_without_a_mean_and_named():
    from matplotlib.figure import Figure

    for seeds, means in (([30.0], 0), ([30.0, 40.0], 1)):
        ax = Figure().subplots()
        draw_seeds(ax, 0, over_seeds(seeds), None)
        drawn = [line for line in ax.lines if line.get_marker() == "o" and np.isfinite(line.get_xdata()).all()]
        assert len(drawn) == means
    assert study._label("transformer_2_long_pe", 27_064, 1).startswith("Transformer, two layers, 27,064: ")
    assert study._label("transformer_2_long_pe", 27_064, 1).endswith(" (one seed)")


def test_the_page_counts_the_rows_of_one_seed():
    three, one = {"accuracy": over_seeds([1.0, 2.0, 3.0])}, {"accuracy": over_seeds([1.0])}
    metrics = {"accuracy": {"lstm": three["accuracy"]}, "further": {"a": three, "b": one}, "beyond": {"c": {}}}
    assert study.seeds_text(metrics) == "3; 1 in 2 of 3 rows beyond the paper's"


def test_a_small_run_draws_the_factors(tmp_path):
    config = replace(study.QUICK, rows=("lstm",), beyond=(), rates=(1e-3,), steps=2)
    document = reproduce("recall-scaling", quick=True, config=config, out=tmp_path)
    assert set(document["metrics"]["further"]) == {*config.factors, *config.positions}
    assert (tmp_path / "recall-scaling" / "factors.png").exists()
    text = (tmp_path / "recall-scaling" / "table.md").read_text()
    assert "| *Data 10x + Steps 4x* | LSTM | 1 | 25,244 |" in text
