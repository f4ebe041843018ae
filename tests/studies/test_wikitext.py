"""Models of text by characters: every character scored once, chunks as one text, choices by validation alone."""

import json
import math
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors import safe_open
from safetensors.torch import load_file

from hippozoo import checkpoint
from hippozoo.training import loop
from hippozoo.zoo.associative import Recall
from hippozoo_studies import Context, Finished, over_seeds, reproduce
from hippozoo_studies.data.text import encode
from hippozoo_studies.framework.summary import summary
from hippozoo_studies.framework.tables import spread_text
from hippozoo_studies.generate import load_characters
from hippozoo_studies.paper import wikitext as study
from hippozoo_studies.paper._character_addresses import MOST, latest_in_common, look_at_addresses
from hippozoo_studies.paper._character_bank import ASKED, TEXT, carriers_of
from hippozoo_studies.paper._character_claims import RULE
from hippozoo_studies.paper._character_hybrids import HYBRIDS, build_hybrid
from hippozoo_studies.paper._character_models import (
    ABLATIONS,
    OTHER_FORMS,
    ROWS,
    STACKS,
    build_explicit,
    build_row,
    build_stack,
    state_of,
)
from hippozoo_studies.paper._character_study import recipe
from hippozoo_studies.paper._character_tables import SINGLE, tables
from hippozoo_studies.paper._characters import CharacterModel, Emptied, Reading, score

#: Without what comes beside rows, contests and ablations.
NO_MORE = {"hybrids": (), "as_paper": (), "reset": False}
ROOT = Path(__file__).parents[2]
WORDS = ["the", "cat", "sat", "on", "a", "<unk>", "mat", "and", "then", "was", "gone", "–", ",", "1987", "."]


@pytest.fixture
def texts(tmp_path):
    rng = np.random.default_rng(0)
    for split, length in (("train", 900), ("valid", 200), ("test", 200)):
        words = " ".join(rng.choice(WORDS, length))
        (tmp_path / f"wiki.{split}.tokens").write_text(words, encoding="utf-8")
    return tmp_path


class Bigram(torch.nn.Module):
    """Fixed scores by the character before, and a state that counts."""

    def __init__(self):
        super().__init__()
        self.table = torch.randn(96, 96, generator=torch.Generator().manual_seed(0))

    def forward(self, codes, state=None):
        return self.table[codes], (0 if state is None else state) + codes.shape[1]


@pytest.mark.parametrize(("side_by_side", "chunk"), [(1, 256), (1, 7), (3, 5), (8, 1000)])
def test_every_character_is_scored_once_given_the_one_before(side_by_side, chunk):
    text = "\nThe <unk> sat. The mat <unk><unk> gone"
    model, codes = Bigram(), encode(text)
    before = np.concatenate([encode("\n"), codes[:-1]])
    losses = -torch.log_softmax(model.table, -1)[before.astype(int), codes.astype(int)].numpy()
    outside = np.array(
        [not any(text[k : k + 5] == "<unk>" for k in range(max(0, i - 4), i + 1)) for i in range(len(text))]
    )
    found = score(model, codes, side_by_side, chunk)
    assert found.perplexity == pytest.approx(math.exp(losses.mean()), rel=1e-5)
    assert found.perplexity_outside_unknown == pytest.approx(math.exp(losses[outside].mean()), rel=1e-5)


def test_a_score_does_not_depend_on_chunks_because_the_state_is_handed_on():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build_stack("gru", 2, 25_000, tied=True)
    codes = encode("the cat sat on the mat, and then it was gone again. ")
    whole, pieces = score(model, codes, chunk=1000), score(model, codes, chunk=9)
    assert whole.loss == pytest.approx(pieces.loss, rel=1e-5)


def test_a_pass_reads_every_stream_in_order_and_the_next_begins_elsewhere():
    codes = np.arange(96, dtype=np.uint8)
    reading = Reading(codes, batch=2, length=8, seed=3)
    assert reading.steps == 6
    first = torch.cat([reading(step)[0] for step in range(6)], 1)
    steps = (first[:, 1:] - first[:, :-1]) % 96
    assert (steps == 1).all()
    assert sorted(first.flatten().tolist()) == list(range(96))
    assert not torch.equal(reading(6)[0], reading(0)[0])
    assert torch.equal(reading(6)[0], Reading(codes, 2, 8, seed=3)(6)[0])
    assert not torch.equal(reading(0)[0], Reading(codes, 2, 8, seed=4)(0)[0])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", [*ROWS, *OTHER_FORMS])
def test_rows_have_the_papers_sizes_and_hand_on_their_state(name, tied):
    torch.manual_seed(0)
    model = build_row(name, tied)
    count = sum(parameter.numel() for parameter in model.parameters())
    wanted = study.PAPER["params"][name if name in ROWS else name.rpartition("_")[0]]
    assert abs(count - wanted) < 0.031 * wanted
    codes = torch.randint(0, 96, (2, 12))
    with torch.no_grad():
        whole, _ = model(codes)
        first, state = model(codes[:, :5])
        second, _ = model(codes[:, 5:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("family", STACKS)
@pytest.mark.parametrize("layers", [1, 4])
def test_stacks_are_the_widest_within_their_size(family, layers):
    model = build_stack(family, layers, 25_000, tied=True)
    count = sum(parameter.numel() for parameter in model.parameters())
    wider = CharacterModel(STACKS[family](model.width + 1, layers), model.width + 1, tied=True)
    assert count <= 25_000 < sum(parameter.numel() for parameter in wider.parameters())


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_our_stack_stays_within_its_size_whatever_is_taken_away(ablation):
    model = build_explicit(25_000, True, ablation)
    assert 24_000 < sum(parameter.numel() for parameter in model.parameters()) <= 25_000
    scores, _ = model(torch.randint(0, 96, (2, 9)))
    assert scores.shape == (2, 9, 96)


@pytest.mark.parametrize("name", HYBRIDS)
def test_hybrids_stay_within_their_size_and_hand_on_their_state(name):
    torch.manual_seed(0)
    form = {"around": False, **HYBRIDS[name].form} if name.startswith("lstm") else {}
    model = build_hybrid(name, 2, 25_000, tied=True, **form)
    assert 23_500 < sum(parameter.numel() for parameter in model.parameters()) <= 25_000
    codes = torch.randint(0, 96, (2, 12))
    with torch.no_grad():
        whole, _ = model(codes)
        first, state = model(codes[:, :5])
        second, _ = model(codes[:, 5:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=1e-3, atol=1e-4)


def test_a_bank_stores_the_characters_that_followed_moments_like_this_one():
    torch.manual_seed(0)
    model = build_hybrid("lstm_recent_bank", 1, 25_000, tied=True, around=True)
    codes = torch.randint(0, 96, (1, 200))
    with torch.no_grad():
        (before, _), (_, state) = model(codes), model(codes[:, :100])
        # What the LSTM and the latest characters say is the same; only the bank has forgotten.
        core, recent, _ = state
        after, _ = model(codes[:, 100:], (core, recent, None))
    assert not torch.allclose(after, before[:, 100:], atol=1e-3)


def test_moments_have_the_characters_in_common_that_a_loop_counts(rng):
    codes = rng.integers(0, 2, 60)
    wanted = np.zeros((60, 60), int)
    for one in range(60):
        for other in range(60):
            while wanted[one, other] < min(one, other) + 1 and wanted[one, other] < MOST:
                if codes[one - wanted[one, other]] != codes[other - wanted[one, other]]:
                    break
                wanted[one, other] += 1
    assert wanted.max() == MOST
    np.testing.assert_array_equal(latest_in_common(torch.from_numpy(codes)).numpy(), wanted)


class LastCharacters(torch.nn.Module):
    """A bank whose addresses are the last two characters, exactly; what it recalls is all that it says."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.eye(96, 192)
        self.bank = Recall(192, factors=2, directions=96)
        torch.nn.init.constant_(self.bank.write_gate.bias, 20.0)

    def forward(self, codes, state=None):
        x = self.embedding[codes]
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        recalled, state = self.bank(torch.cat([x[..., :96], before[..., :96]], -1), None, first=x)
        return 30 * recalled @ self.embedding.T, state


def test_addresses_of_two_characters_agree_where_two_characters_do(rng):
    codes = np.tile(rng.permutation(96)[:20], 40)  # after one round every pair of characters has been seen
    found = look_at_addresses(LastCharacters(), codes, pieces=2, length=300)
    # The first moment of a piece has no character before it, so its address is nowhere.
    assert found["overlap"] == {"0": 0.0, "1": 0.0} | {str(count): 1.0 for count in range(2, MOST + 1)}
    assert found["bank_right"] == pytest.approx(1 - 21 / 300, abs=0.01)
    assert found["perplexity_silenced"] == pytest.approx(96, rel=1e-3)
    assert found["perplexity"] < 2


def test_a_memory_that_is_emptied_begins_anew_wherever_chunks_are_cut():
    torch.manual_seed(0)
    model = build_stack("lstm", 1, 5_000, tied=True)
    codes = torch.randint(0, 96, (2, 20))
    with torch.no_grad():
        wanted = torch.cat([model(codes[:, begin : begin + 8])[0] for begin in (0, 8, 16)], 1)
        emptied = Emptied(model, 8)
        torch.testing.assert_close(emptied(codes)[0], wanted)
        first, state = emptied(codes[:, :11])
        torch.testing.assert_close(torch.cat([first, emptied(codes[:, 11:], state)[0]], 1), wanted)


def test_only_names_a_part_of_the_study_with_what_it_depends_on(texts, tmp_path):
    config = study.Config(families=("lstm", "mamba"), sizes=(25_000, 43_000), rows=("s4d",))
    some = study.narrowed(config, {"hybrid": ["mamba_bank"], "seed": ["1"]})
    units = finish(some, lambda unit: 5.0 + unit.get("layers", 0))
    assert {unit.get("family", unit.get("hybrid")) for unit in units if "model" not in unit} == {"mamba", "mamba_bank"}
    assert [unit["seed"] for unit in units if unit["stage"] == "hybrid"] == [0, 1]
    with pytest.raises(ValueError, match="--only family=mambo: no such family; choose from lstm, mamba"):
        study.narrowed(config, {"family": ["mambo"]})
    with pytest.raises(ValueError, match="--only reset=no: no such reset; choose from yes"):
        study.narrowed(config, {"reset": ["no"]})
    with pytest.raises(ValueError, match="--only layers: no such part; choose from model, family"):
        study.narrowed(config, {"layers": ["2"]})
    document = reproduce("wikitext", quick=True, only={"ablation": "no bank"}, data=texts, out=tmp_path / "out")
    assert set(document["metrics"]["ablations"]) == {"no bank"}
    assert not document["metrics"]["test_perplexity"]


def test_a_tied_model_compares_with_its_own_embedding():
    model = CharacterModel(STACKS["gru"](5, 1), 5, tied=True)
    model(torch.zeros(1, 3, dtype=torch.long))[0].sum().backward()
    assert (model.embedding.grad.abs().sum(1) > 0).all()  # of every symbol, though only one was read


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: build_stack("lstm", 2, 25_000, tied=True), 1.0),
        (lambda: build_stack("mamba", 1, 25_000, tied=True), 1.0),
        (lambda: build_row("mamba", True), 1.0),
        (lambda: build_stack("gru", 2, 25_000, tied=True, around=False), None),
        (lambda: build_row("lstm", True), None),
    ],
    ids=["LSTM stack", "Mamba stack", "Mamba", "GRU stack, no way around", "LSTM"],
)
def test_characters_drown_nothing_that_is_added_to_them(make, size):
    torch.manual_seed(0)
    model = make()
    lengths = model.embedded(torch.arange(96)).norm(dim=-1)
    assert lengths.mean().item() == pytest.approx(math.sqrt(model.width) if size is None else size, rel=0.1)


def finish(config, perplexity):
    """Run the study with made-up validation perplexities; give the units in order."""
    units = study.units(config)
    done = [Finished(unit, {"validation_perplexity": perplexity(unit)}, 1.0) for unit in units]
    for _ in range(1000):
        more = [unit for unit in study.more_units(config, done) if unit not in units]
        if not more:
            return units
        units += more
        done += [Finished(unit, {"validation_perplexity": perplexity(unit)}, 1.0) for unit in more]
    raise AssertionError("the study does not end")


def test_rates_depth_and_tying_are_chosen_on_validation_and_the_winner_starts_anew():
    config = study.Config(
        rows=("lstm", "s4d"),
        families=("gru", "explicit"),
        sizes=(25_000, 43_000),
        seeds=(0, 1),
        larger=("gru", "explicit"),
        ablations=("no bank",),
        first_rate=8e-3,
        **NO_MORE,
    )
    best = {"lstm": 1.6e-2, "s4d": 2e-3, "gru": 4e-3, "explicit": 8e-3}

    def perplexity(unit):
        tied = 0.0 if unit["tied"] else 1.0
        name = unit.get("model", unit.get("family"))
        form = 0.1 if unit.get("around") else 0.0
        return 5 + tied + form + abs(math.log(unit["rate"] / best[name])) + abs(unit.get("layers", 3) - 3)

    units = finish(config, perplexity)
    whole = [unit for unit in units if unit["stage"] in ("row", "contest")]
    assert all(unit["tied"] for unit in units if unit["stage"] != "tying")
    rows = {(unit["model"], unit["rate"], unit["seed"]) for unit in whole if unit["stage"] == "row"}
    assert rows == {(name, rate, seed) for name, rate in (("lstm", 1.6e-2), ("s4d", 2e-3)) for seed in config.seeds}
    grus = [unit for unit in whole if unit.get("family") == "gru"]
    assert [(unit["size"], unit["layers"], unit["rate"], unit["seed"]) for unit in grus] == [
        (size, 3, 4e-3, seed) for size in config.sizes for seed in config.seeds
    ]
    assert {(unit["recipe"], unit["around"]) for unit in grus} == {(recipe("gru"), False)}

    def tried(**wanted):
        of = [unit for unit in units if unit["stage"] == "trial" and wanted.items() <= unit.items()]
        return [(unit["rate"], unit.get("layers")) for unit in of]

    assert tried(model="s4d") == [(8e-3, None), (1.6e-2, None), (4e-3, None), (2e-3, None), (1e-3, None)]
    # Rates at two layers first, then depths at the best rate; the larger size begins where the smaller one ended.
    assert tried(family="gru", size=25_000) == [
        *((rate, 2) for rate in (8e-3, 1.6e-2, 4e-3, 2e-3)),
        *((4e-3, layers) for layers in (3, 4, 3)),  # three layers once more, with no way around them
    ]
    assert set(tried(family="gru", size=43_000)) == {(rate, 3) for rate in (2e-3, 4e-3, 8e-3)} | {(4e-3, 2), (4e-3, 4)}
    assert [unit["rate"] for unit in units if unit["stage"] == "ablation"] == [8e-3]


def test_the_form_of_a_row_is_chosen_on_validation_and_stands_for_the_row():
    config = study.Config(rows=("salience", "lstm"), families=(), sizes=(), ablations=(), **NO_MORE)
    forms = {"salience": 8.2, "salience_12": 8.1, "salience_full": 6.4, "lstm": 5.0}
    units = finish(config, lambda unit: forms[unit["model"]] + abs(math.log(unit["rate"] / 1.6e-2)))
    tried = [(unit["model"], unit["rate"]) for unit in units if unit["stage"] == "trial" and unit["model"] != "lstm"]
    assert tried[:3] == [(form, 1.6e-2) for form in ("salience", "salience_12", "salience_full")]
    assert {form for form, rate in tried if rate != 1.6e-2} == {"salience_full"}
    assert [unit["model"] for unit in units if unit["stage"] == "row"] == ["salience_full", "lstm"] * 3
    units.append({"stage": "row", "model": "salience", "tied": True, "rate": 3.2e-2, "seed": 0})  # trained before
    numbers = {"parameters": 25_000, "characters_seen": 1, "training_seconds": 1.0, "counts": {}, "looks": {}}
    done = [
        Finished(unit, dict.fromkeys(SINGLE, forms[unit["model"]]) | numbers, 1.0)  # the same for every rate
        for unit in units
    ]
    metrics = study.assemble(config, done).metrics
    assert metrics["test_perplexity"]["salience"]["mean"] == pytest.approx(6.4)
    assert metrics["form"] == {"salience": "salience_full"}
    assert metrics["other_forms"]["salience"]["test_perplexity"] == 8.2
    text = tables(study.assemble(config, done), study.PAPER)
    assert "Chosen on validation: Salience HiPPO, order and window 12, reads all coefficients." in text
    assert "| Salience HiPPO | 25,000 | 6.400 " in text
    assert "| Salience HiPPO, order and window 32, reads one functional | 25,000 | 8.200 |" in text


def test_untied_embeddings_win_where_they_are_better():
    config = study.Config(rows=("lstm",), families=(), sizes=(), ablations=(), **NO_MORE)
    units = finish(config, lambda unit: 6.0 if unit["tied"] else 5.0)
    assert not any(unit["tied"] for unit in units if unit["stage"] != "tying")


def test_a_diverged_rate_is_not_chosen():
    config = study.Config(rows=("lstm",), families=(), sizes=(), ablations=(), **NO_MORE)
    units = finish(config, lambda unit: None if unit["rate"] > 1e-3 and unit["stage"] == "trial" else 5.0)
    assert [unit["rate"] for unit in units if unit["stage"] == "row"] == [1e-3] * 3


def test_a_quick_study_runs_resumes_and_shows_what_is_there_so_far(texts, tmp_path):
    out = tmp_path / "out"
    document = reproduce("wikitext", quick=True, data=texts, out=out)
    metrics = document["metrics"]
    assert set(metrics["test_perplexity"]) == {"lstm", "vanilla_mlp"}
    assert 1 < metrics["test_perplexity"]["lstm"]["mean"] < 97
    assert metrics["ratio_to_lstm"]["lstm"] == 1
    assert len(metrics["contest"]["25000"]["explicit"]["test_perplexity"]["seeds"]) == 2
    assert 1 < metrics["ablations"]["no bank"]["validation_perplexity"] < 97
    assert metrics["not_yet"] == []
    assert load_characters(out / "wikitext" / "explicit-25000.safetensors").tokens == 96
    assert "| LSTM |" in (out / "wikitext" / "table.md").read_text()
    lines = (out / "wikitext" / "units.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in lines if '"rate"' in line and json.loads(line)["unit"]["stage"] == "trial"]
    assert trials
    assert not any("test_perplexity" in trial["result"] for trial in trials)  # no choice has seen the test split

    again = reproduce("wikitext", quick=True, data=texts, out=out)
    assert again["metrics"] == metrics
    (out / "wikitext" / "units.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    part = reproduce("wikitext", quick=True, out=out, so_far=True)
    assert part["metrics"]["not_yet"]
    assert part["metrics"]["trials"]["LSTM stack, at most 25,000, 2 layers"]["0.008"] > 1
    Console(file=StringIO()).print(summary(part, out))  # as the command shows it
    assert len((out / "wikitext" / "units.jsonl").read_text().splitlines()) == len(lines) - 2


@pytest.mark.parametrize(
    "unit",
    [
        {"stage": "as paper", "model": "lstm", "tied": True, "rate": 2e-3, "passes": 1, "seed": 0},
        {"stage": "hybrid", "hybrid": "mamba_bank", "size": 4_000, "tied": True, "layers": 1, "rate": 4e-3, "seed": 1},
    ],
)
def test_weights_that_are_kept_make_the_model_that_was_scored(unit, texts, tmp_path):
    config = replace(study.QUICK, passes=1)
    scratch = tmp_path / "wikitext" / "unfinished" / "unit"
    scratch.mkdir(parents=True)
    context = Context(texts, scratch)
    found = study.run_unit(config, unit, context)
    (path,) = (tmp_path / "wikitext" / "weights").iterdir()
    with safe_open(path, "pt") as file:
        kept = json.loads(file.metadata()["unit"])
    model = study.build_unit(kept)
    model.load_state_dict(load_file(path))
    assert kept == unit
    again = score(model, config.text(context).test.codes).perplexity
    assert again == pytest.approx(found["test_perplexity"], rel=1e-6)


def test_a_unit_that_was_stopped_goes_on_to_the_same_result(texts, tmp_path):
    config = replace(study.QUICK, passes=3)
    unit = {"stage": "row", "model": "lstm", "tied": True, "rate": 2e-3, "seed": 0}

    class StopError(Exception):
        pass

    def stop_halfway(fraction, text=""):
        if fraction > 0.5:
            raise StopError

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    whole = study.run_unit(config, unit, Context(data=texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
        with pytest.raises(StopError):
            study.run_unit(config, unit, Context(data=texts, scratch=scratch, progress=stop_halfway))
        assert list(scratch.iterdir())
        resumed = study.run_unit(config, unit, Context(data=texts, scratch=scratch))
    for found in (whole, resumed):
        found.pop("training_seconds")
    assert resumed == whole


def told_by(test):
    """What is said of a table with these perplexities, by claim."""
    metrics = {"test_perplexity": {name: {"mean": value} for name, value in test.items()}, "contest": {}}
    return {one.claim: one for one in study.claims(study.Config(), metrics)}


def test_the_papers_own_table_bears_out_every_sentence_about_it():
    told = told_by(study.PAPER["test_perplexity"])
    assert len(told) == 11
    assert {one.verdict for one in told.values()} == {"holds"}


@pytest.mark.parametrize(
    ("salience", "verdict"),
    [
        (5.54 * 1.19, "holds"),
        (5.54 * 1.1, "holds in part"),
        (5.54 * 1.8, "holds in part"),
        (5.4, "does not hold"),
    ],
)
def test_a_gap_of_another_size_holds_in_part_and_none_does_not(salience, verdict):
    told = told_by({"mamba": 5.54, "salience": salience})
    [gap] = [one for claim, one in told.items() if claim.startswith("Salience is behind Mamba")]
    assert gap.verdict == verdict
    assert len(told) == 1, "sentences about missing rows are not judged"
    assert gap.evidence.endswith("(0 seeds); " + RULE + ".")  # where the page finds it, to say it once


@pytest.mark.parametrize(("reset", "verdict"), [(20.0, "holds"), (10.0, "holds in part"), (9.0, "holds in part")])
def test_addresses_are_to_blame_only_if_a_bank_that_cannot_fill_up_is_as_far_behind(reset, verdict):
    test = {name: {"mean": study.PAPER["test_perplexity"][name]} for name in ("assoc", "vanilla")}
    metrics = {"test_perplexity": test, "contest": {}, "reset": {"test_perplexity": reset}}
    [told] = [one for one in study.claims(study.Config(), metrics) if "continuous addressing" in one.quote]
    assert told.verdict == verdict
    assert f"emptied every 128 characters {reset:.2f}" in told.evidence
    assert told.evidence.endswith(RULE + ".")


@pytest.mark.parametrize(
    ("overlaps", "verdict"),
    [((0.98, 0.06), "holds"), ((0.06, 0.06), "holds in part"), ((0.06, 0.98), "does not hold")],
)
def test_a_bank_that_helps_has_addresses_that_tell_moments_apart(overlaps, verdict):
    names = ("lstm_bank", "lstm_skip_bank")
    perplexities = {"explicit": 3.73, "lstm": 4.11} | dict(zip(names, (4.20, 3.85), strict=True))
    found = {name: {"test_perplexity": over_seeds([value]), "state": 1} for name, value in perplexities.items()}
    metrics = {
        "test_perplexity": {},
        "contest": {25_000: {name: found[name] for name in ("explicit", "lstm")}},
        "hybrids": {name: found[name] for name in names},
        "addresses": {name: {"overlap": {"0": one}} for name, one in zip(names, overlaps, strict=True)},
    }
    [told] = [one for one in study.claims(study.Config(), metrics) if "just where its addresses" in one.claim]
    assert told.verdict == verdict
    assert "-2.2%" in told.evidence


def test_one_member_ahead_of_a_modern_model_is_said():
    told = told_by(study.PAPER["test_perplexity"] | {"vanilla_mlp": 5.6})
    some = [one for claim, one in told.items() if "S4D and Mamba" in claim and one.verdict == "holds in part"]
    assert some
    assert all("5.60" in one.evidence for one in some)


def test_an_experiment_without_parts_says_so(tmp_path):
    with pytest.raises(ValueError, match="'volterra' can"):
        reproduce("volterra", so_far=True, out=tmp_path)


def test_numbers_of_state_are_those_carried_on():
    assert state_of(build_stack("lstm", 2, 25_000, tied=True)) == 2 * 2 * build_stack("lstm", 2, 25_000, True).width
    model = build_stack("deltanet", 1, 25_000, tied=True)
    assert state_of(model) == model.width**2 + 3 * 3 * model.width  # a square memory, and three samples of three parts


def test_a_contest_without_one_of_its_entrants_is_not_judged():
    def entrant(value):
        return {"test_perplexity": over_seeds([value] * 3), "state": 100}

    metrics = {"test_perplexity": {}, "contest": {25_000: {"explicit": entrant(4.0), "lstm": entrant(4.4)}}}
    config = study.Config(families=("lstm", "explicit", "deltanet"))
    (claim,) = study.claims(config, metrics)
    assert claim.verdict == "cannot be told"
    assert "not run yet: DeltaNet stack" in claim.evidence
    (claim,) = study.claims(study.Config(families=("lstm", "explicit")), metrics)
    assert claim.verdict == "holds"
    metrics["contest"][25_000]["lstm_cache"] = entrant(4.1)
    (claim,) = study.claims(config, metrics)
    assert claim.verdict == "does not hold"  # whoever is missing can only be nearer


def test_the_page_says_over_how_many_seeds_the_rows_are():
    def text(*counts):
        return study.seeds_text({"test_perplexity": {str(count): {"seeds": [4.0] * count} for count in counts}})

    assert text(3) == "3 for the rows of Table 4, 3 for the contests"
    assert text(3, 1, 2) == "1 to 3 for the rows of Table 4, 3 for the contests"


def test_the_page_shows_the_committed_perplexities():
    page = (ROOT / "docs" / "studies" / "characters.md").read_text(encoding="utf-8")
    metrics = json.loads((ROOT / "results" / "wikitext" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    stacks = [*metrics["hybrids"].values(), *(one for size in metrics["contest"].values() for one in size.values())]
    tested = [one["test_perplexity"] for one in stacks] + list(metrics["test_perplexity"].values())
    missing = [text for one in tested if (text := f" {spread_text(one, '.3f')} |") not in page]
    assert not missing


def test_the_bank_recalls_what_followed_the_same_characters_before():
    model = checkpoint.load(Path(__file__).parents[2] / "results" / "wikitext" / "explicit-25000.safetensors")
    carriers = carriers_of(model, TEXT)
    assert (np.triu(carriers, 1) == 0).all()  # the future carries nothing
    for asked in ASKED:
        now = TEXT.rfind(asked) + len(asked) - 1
        most = int(np.abs(carriers[now]).argmax())
        assert TEXT[: most + 1].endswith(asked + TEXT[now + 1])
