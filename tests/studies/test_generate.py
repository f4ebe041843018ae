"""The example `generate`: text from one state, what carried it, and clear refusals."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hippozoo import checkpoint
from hippozoo.memory import LagLayer
from hippozoo.models import explicit_characters
from hippozoo.systems import LegT
from hippozoo_studies.data.text import ALPHABET, encode
from hippozoo_studies.generate import what_carried, write, write_text
from hippozoo_studies.generate.fast import FastSteps
from hippozoo_studies.generate.write import load_characters


@pytest.fixture
def model():
    torch.manual_seed(0)
    return explicit_characters(params=4_000).eval()


@pytest.fixture
def file(model, tmp_path):
    checkpoint.save(tmp_path / "model.safetensors", model)
    return tmp_path / "model.safetensors"


EXAMPLE = Path(__file__).parents[2] / "studies" / "examples" / "generate.py"


def run(capsys, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(EXAMPLE), *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
    told = capsys.readouterr()
    return end.value.code or 0, told.out, " ".join(told.err.split())


def test_each_character_is_drawn_from_what_the_model_says_of_all_before_it(model):
    text = "".join(write_text(model, "The cat", length=12, temperature=0.01))
    assert len(text) == 12
    whole = torch.from_numpy(encode("\nThe cat" + text).astype("int64"))
    scores, _ = model(whole[None])
    wanted = "".join(ALPHABET[code] for code in scores[0, 7:-1].argmax(-1))
    assert text == wanted  # at this temperature the likeliest is drawn


def test_a_seed_beyond_64_bits_is_refused_before_anything_is_written(model, file, capsys):
    code, out, told = run(capsys, "--checkpoint", file, "--prompt", "The ", "--seed", 99999999999999999999999)
    assert code
    assert out == ""
    assert "seed=99999999999999999999999 has more than 64 bits; pass one of at most 18446744073709551615." in told
    assert len("".join(write_text(model, "a", 3, seed=2**64 - 1))) == 3


def test_a_seed_says_what_is_written(model):
    first, again, other = ("".join(write_text(model, "a", 30, 1.5, seed)) for seed in (3, 3, 4))
    assert first == again != other


def test_the_command_writes_the_prompt_and_what_follows_and_draws_its_carriers(file, tmp_path, capsys):
    code, out, err = run(
        capsys, "--checkpoint", file, "--prompt", "The cat", "--length", 9, "--explain", tmp_path / "why.png"
    )
    assert code == 0
    assert out.startswith("The cat")
    assert len(out) == len("The cat") + 9 + 1
    assert "what carried the last character" in err
    assert (tmp_path / "why.png").stat().st_size > 5_000


def test_influence_is_the_change_of_the_score_for_a_small_change_of_a_character(model):
    text = "the cat sat on the ca"
    found = what_carried(model.double(), text, "t")
    codes = torch.from_numpy(encode(text).astype("int64"))
    with torch.no_grad():
        x = model.embedding(codes[None])
        for place in (3, 12, 20):
            scores = []
            for factor in (1 + 1e-6, 1 - 1e-6):
                changed = x.clone()
                changed[0, place] *= factor
                y, _ = model.stack(changed)
                scores.append(model._answer(model.norm(y))[0, -1, ALPHABET.index("t")].item())
            assert found.influence[place] == pytest.approx((scores[0] - scores[1]) / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [("", "prompt='' holds no character"), ("caf\u00e9 \u2013", "prompt holds 'é' '–', outside the alphabet")],
)
def test_prompts_that_cannot_be_read_are_refused_in_a_sentence(file, capsys, prompt, words):
    code, out, err = run(capsys, "--checkpoint", file, "--prompt", prompt)
    assert code != 0
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def test_a_checkpoint_of_another_model_is_refused(tmp_path, capsys):
    checkpoint.save(tmp_path / "other.safetensors", LagLayer(LegT(4, 8.0), 3))
    code, _, err = run(capsys, "--checkpoint", tmp_path / "other.safetensors", "--prompt", "a")
    assert code != 0
    assert "holds a LagLayer, no model of characters" in err
    checkpoint.save(tmp_path / "small.safetensors", explicit_characters(params=2_000, tokens=20))
    code, _, err = run(capsys, "--checkpoint", tmp_path / "small.safetensors", "--prompt", "a")
    assert code != 0
    assert "tokens=20" in err
    code, _, err = run(capsys, "--checkpoint", tmp_path / "none.safetensors", "--prompt", "a")
    assert code != 0
    assert "there is no such checkpoint" in err


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_of_full_size_survives_the_count_of_what_a_file_may_make(tied, tmp_path):
    model = explicit_characters(params=25_000, tied=tied)
    checkpoint.save(tmp_path / "model.safetensors", model)
    codes = torch.randint(0, 96, (1, 9))
    torch.testing.assert_close(load_characters(tmp_path / "model.safetensors")(codes), model.eval()(codes))


def test_a_saved_model_writes_what_the_model_writes(model, file):
    pair = ("".join(write_text(one, "On ", 20)) for one in (model, load_characters(file)))
    assert len(set(pair)) == 1


@pytest.mark.parametrize("options", [{}, {"recall": False, "products": 2}, {"gate": False, "tied": False, "taps": 0}])
def test_compiled_steps_say_what_the_model_says_from_an_explicit_state(options):
    torch.manual_seed(0)
    model = explicit_characters(params=4_000, **options).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    fast = FastSteps(model)
    codes = encode("the cat sat on the mat; the cat was gone").astype("int64")
    wanted, _ = model(torch.from_numpy(codes)[None])
    state, kept, found = fast.initial_state(), None, []
    for place, code in enumerate(codes):
        if place == 7:
            kept = state, [[part.copy() for part in one] for one in state]
        scores, state = fast.step(int(code), state)
        found.append(scores)
    np.testing.assert_allclose(np.stack(found), wanted[0].detach(), rtol=1e-3, atol=1e-4)
    for one, copies in zip(*kept, strict=True):  # a state is never changed in place
        for part, copy in zip(one, copies, strict=True):
            np.testing.assert_array_equal(part, copy)


def test_a_long_text_is_written_by_compiled_steps_and_is_the_same(model, monkeypatch):
    plain = "".join(write_text(model, "On ", 40, 0.01))
    monkeypatch.setattr(write, "LONG", 1)
    assert "".join(write_text(model, "On ", 40, 0.01)) == plain
    other = explicit_characters(params=4_000, hidden=4).eval()  # cannot be compiled, and is stepped as it is
    assert len("".join(write_text(other, "On ", 5))) == 5


def test_what_cannot_be_compiled_says_so():
    with pytest.raises(ValueError, match=r"block of LagLayer"):
        FastSteps(explicit_characters(params=4_000, hidden=4))
    with pytest.raises(ValueError, match="pass a float32 SequenceModel"):
        FastSteps(explicit_characters(params=4_000, dtype=torch.float64))
