"""The quick run of selective copying exercises every line, and resumes to the same numbers."""

from dataclasses import replace

import pytest

from hippozoo_studies import Finished, reproduce
from hippozoo_studies.paper import selective_copying
from hippozoo_studies.paper.selective_copying import QUICK


def test_the_quick_run_keeps_the_protocols_apart(tmp_path):
    found = reproduce("selective-copying", quick=True, out=tmp_path)
    metrics = found["metrics"]
    for part in (metrics, metrics["with_summary"]):
        for protocol in ("minibatch", "online"):
            accuracy = part[protocol]["test_accuracy"]["seeds"]
            assert all(0 <= value <= 1 for value in accuracy)
            assert part[protocol]["salience_ratio"]["mean"] > 0
            assert set(part[protocol]["generalisation"]) == {"distractors_30_delay_0", "distractors_3_delay_10"}
    assert metrics["with_summary"]["online"]["parameters"] > metrics["online"]["parameters"]
    assert len(found["claims"]) == 16
    pictures = {path.name for path in (tmp_path / "selective-copying").glob("*.png")}
    assert pictures == {"episode-minibatch.png", "episode-online.png", "time-warp.png", "generalisation.png"}


def test_a_small_task_is_learnt(tmp_path):
    config = replace(
        QUICK,
        seeds=(0,),
        summary_seeds=(),
        protocols=("minibatch",),
        minibatch_steps=400,
        order=32,
        rate=1e-2,
        general=(),
    )
    found = reproduce("selective-copying", config=config, out=tmp_path)
    # Chance is 1 in 16. Three distractors can also be read around, so nothing is said of the salience here.
    assert found["metrics"]["minibatch"]["test_accuracy"]["mean"] > 0.5


@pytest.mark.parametrize(("kinds", "shown"), [(("input", "state"), "state"), (("input",), "input")])
def test_the_episode_shown_is_that_of_the_papers_model_and_says_so(tmp_path, kinds, shown):
    config = replace(QUICK, seeds=(0,), summary_seeds=(0,) if "state" in kinds else ())
    finished = [
        Finished(unit, selective_copying.run_unit(replace(config, minibatch_steps=1, online_steps=1), unit), 1.0)
        for unit in selective_copying.units(config)
    ]
    result = selective_copying.assemble(config, finished)
    for protocol in ("minibatch", "online"):
        (one,) = (each for each in finished if each.unit == {"protocol": protocol, "salience": shown, "seed": 0})
        assert result.arrays["examples"][protocol] == one.result["example"]
        assert f"{one.result['parameters']:,} parameters" in result.arrays["titles"][protocol]
    selective_copying.report(result, tmp_path)
    words = {"state": "token and memory", "input": "token alone"}[shown]
    assert f"online: salience from {words}" in (tmp_path / "episode-online.svg").read_text()
