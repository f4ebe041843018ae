"""Salience beside Mamba: regressions that are right, characters in words, and a study that runs."""

import numpy as np
import pytest
import torch

from hippozoo_studies import reproduce
from hippozoo_studies.data.text import encode
from hippozoo_studies.paper import salience_vs_mamba as study
from hippozoo_studies.paper._clock_claims import clock_claims
from hippozoo_studies.paper._mamba_parts import PARTS

WORDS = ["the", "cat", "sat", "on", "a", "<unk>", "mat", "and", "then", "was", "gone", "–", ",", "1987", "."]


def test_regressions_agree_with_least_squares_by_definition():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
    salience = steps @ [0.3, -1.0, 0.0] + rng.normal(size=500)
    found = study.compare(steps, salience)

    def r2(inputs, wanted):
        design = np.column_stack([np.ones(len(inputs)), inputs])
        rest = wanted - design @ np.linalg.solve(design.T @ design, design.T @ wanted)
        return 1 - (rest**2).sum() / ((wanted - wanted.mean(0)) ** 2).sum()

    assert found["r2_salience_from_steps"] == pytest.approx(r2(steps, salience))
    assert found["r2_steps_from_salience"] == pytest.approx(r2(salience[:, None], steps))
    values = np.linalg.eigvalsh(np.cov(steps.T))
    assert found["first_component"] == pytest.approx(values[-1] / values.sum())


def test_every_character_has_a_kind_that_a_reader_knows():
    text = "A cat, 19\n<unk>"
    assert study.kinds_of(text) == [
        "first letter of a word",
        "space",
        "first letter of a word",
        "letter inside a word",
        "letter inside a word",
        "punctuation",
        "space",
        "digit",
        "digit",
        "newline",
        "punctuation",
        "first letter of a word",
        "letter inside a word",
        "letter inside a word",
        "punctuation",
    ]


@pytest.mark.parametrize("variant", ["mamba_shared", "salience_scalar", "salience_full"])
def test_time_taken_does_not_depend_on_the_chunks_it_is_read_in(variant, monkeypatch):
    torch.manual_seed(0)
    model = study.build(variant, tied=True)
    assert abs(sum(parameter.numel() for parameter in model.parameters()) - 25_000) < 600
    codes = encode("the cat sat on the mat, and then it was gone. ")
    whole = study.time_taken(model, codes)
    monkeypatch.setattr(study, "CHUNK", 11)
    np.testing.assert_allclose(study.time_taken(model, codes), whole, rtol=1e-4)
    assert whole.min() > 0


def test_the_quick_study_compares_both_and_ranks_the_variants(tmp_path):
    rng = np.random.default_rng(0)
    for split in ("train", "valid", "test"):
        (tmp_path / f"wiki.{split}.tokens").write_text(" ".join(rng.choice(WORDS, 500)), encoding="utf-8")
    document = reproduce("salience-vs-mamba", quick=True, data=tmp_path, out=tmp_path / "out")
    metrics = document["metrics"]
    assert 0 < metrics["first_component"] <= 1
    assert metrics["r2_salience_from_steps"] >= metrics["r2_steps_from_salience"] - 1e-9
    assert set(metrics["validation_perplexity"]) == {"mamba_shared", "mamba_state", "mamba", "salience_full"}
    drawn = {file.stem for file in (tmp_path / "out" / "salience-vs-mamba").glob("*.png")}
    assert drawn == {"characters", "kinds", "excerpt"}
    assert set(metrics["compared"]) == {"0.001", "0.008"}
    assert metrics["first_component"] == metrics["compared"]["0.001"]["first_component"]
    assert (
        "| at rate 0.001 | at rate 0.008 | paper |" in (tmp_path / "out" / "salience-vs-mamba" / "table.md").read_text()
    )


def test_a_sentence_that_holds_at_one_rate_only_holds_in_part():
    numbers = {"r2_salience_from_steps": 0.4, "r2_steps_from_salience": 0.02}
    compared = {"0.008": numbers | {"first_component": 0.34}, "0.001": numbers | {"first_component": 0.72}}
    first, *others = study.clock_claims(compared, {"validation_perplexity": {}})
    assert first.verdict == "holds in part"
    assert "72% at rate 0.001, 34% at rate 0.008" in first.evidence
    assert [one.verdict for one in others] == ["holds", "holds"]


@pytest.mark.parametrize(("taps", "verdict"), [(5.2, "holds"), (5.9, "holds in part")])
def test_a_part_that_takes_most_of_the_lead_with_it_is_said_to_carry_it(taps, verdict):
    found = {"mamba": 5.0, "salience": 6.0, **{f"mamba_without_{part}": 5.1 for part in PARTS}}
    [claim] = clock_claims({}, {"validation_perplexity": found | {"mamba_without_taps": taps}})
    assert claim.verdict == verdict
    assert f"short convolution {taps:.3f} ({taps - 5:.0%})" in claim.evidence
