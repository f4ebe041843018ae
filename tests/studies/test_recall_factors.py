"""Recall scaling beyond the paper's table: which factors it takes, and what learnt positions change."""

from dataclasses import replace

import pytest

from hippozoo_studies import Finished, over_seeds, reproduce
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper import recall_scaling as study
from hippozoo_studies.paper._recall_claims import CLAIMS
from hippozoo_studies.paper._recall_rows import FACTORS, POSITIONS


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
    assert "Data 10x + Steps 4x (25,244 parameters) 85.7 %" in claim.evidence
    assert sentence(33.0, "LSTMs need ten times").verdict == "holds"
    assert sentence(85.7, "LSTMs need ten times").verdict != "holds"


def test_a_small_run_draws_the_factors(tmp_path):
    config = replace(study.QUICK, rows=("lstm",), beyond=(), rates=(1e-3,), steps=2)
    document = reproduce("recall-scaling", quick=True, config=config, out=tmp_path)
    assert set(document["metrics"]["further"]) == {*config.factors, *config.positions}
    assert (tmp_path / "recall-scaling" / "factors.png").exists()
    text = (tmp_path / "recall-scaling" / "table.md").read_text()
    assert "| *Data 10x + Steps 4x* | LSTM | 1 | 25,244 |" in text
