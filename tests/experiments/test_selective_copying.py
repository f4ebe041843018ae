"""The quick run of selective copying exercises every line, and resumes to the same numbers."""

from dataclasses import replace

from hippozoo.experiments import reproduce
from hippozoo.experiments.selective_copying import QUICK


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
    assert len(found["claims"]) == 8
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
