"""The digits study: what is chosen on validation, and what is reported."""

import json

import pytest

from hippozoo_studies import Finished, reproduce
from hippozoo_studies.beyond import digits as study

pytest.importorskip("sklearn")


def finished(model, rate, pool, loss, seed=0, accuracy=90.0):
    found = {"accuracy": accuracy, "validation_accuracy": 91.0, "validation_loss": loss}
    return Finished(
        {"model": model, "view": "rows", "rate": rate, "pool": pool, "seed": seed},
        found | {"parameters": 17_000, "seconds_per_epoch": 0.5},
        1.0,
    )


def test_rate_and_pool_are_chosen_by_validation_and_not_by_accuracy():
    config = study.Config(models=("gru",), views=("rows",), seeds=(0, 1), rates=(3e-3, 1e-2))
    tried = [
        finished("gru", 3e-3, "last", 0.5, accuracy=99.0),
        finished("gru", 3e-3, "mean", None),
        finished("gru", 1e-2, "last", 0.2, accuracy=80.0),
    ]
    assert study.more_units(config, tried) == []
    tried.append(finished("gru", 1e-2, "mean", 0.3))
    assert [unit["rate"] for unit in study.more_units(config, tried)] == [1e-2]
    result = study.assemble(config, [*tried, finished("gru", 1e-2, "last", 0.4, seed=1, accuracy=84.0)])
    assert result.metrics["accuracy"]["rows"]["gru"]["seeds"] == [80.0, 84.0]


@pytest.mark.parametrize("view", study.SHAPES)
def test_all_models_are_of_one_size(view):
    counts = [
        sum(weight.numel() for weight in study.build(model, view, 17_000, "mean").parameters()) for model in study.TITLE
    ]
    assert max(abs(count - 17_000) for count in counts) < 500


def test_a_small_study_runs_to_the_end(tmp_path):
    config = study.Config((0, 1), ("lags", "gru"), ("rows",), (1e-2,), params=2_000, epochs=1, images=64)
    document = reproduce("digits", config=config, out=tmp_path)
    assert set(document["metrics"]["accuracy"]["rows"]) == {"lags", "gru"}
    assert "| GRU |" in (tmp_path / "digits" / "table.md").read_text()
    assert (tmp_path / "digits" / "accuracy.png").exists()
    lines = (tmp_path / "digits" / "units.jsonl").read_text().splitlines()
    assert len({json.dumps(json.loads(line)["unit"]) for line in lines}) == 5
