"""WikiText-2 as characters: nothing lost, strangers counted, official splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.data.text import (
    ALPHABET,
    STAND_IN,
    decode,
    encode,
    in_unknown,
    load_wikitext,
    outside_alphabet,
    streams,
)

TEXTS = {"train": "The cat – <unk> .\n", "valid": "<unk><unk>", "test": "_é\x7f\t"}


def write(folder, version="tokens", texts=TEXTS):
    for split, text in texts.items():
        (folder / f"wiki.{split}.{version}").write_bytes(text.encode())


def test_the_alphabet_has_96_symbols_and_each_keeps_its_own_place():
    assert len(ALPHABET) == len(set(ALPHABET)) == 96
    assert decode(encode(ALPHABET)) == ALPHABET


@given(st.text())
def test_each_character_becomes_one_symbol_and_strangers_become_the_stand_in(text):
    expected = "".join(symbol if symbol in ALPHABET else STAND_IN for symbol in text)
    assert decode(encode(text)) == expected
    assert set(outside_alphabet(text)) == set(text) - set(ALPHABET)


@given(st.text(alphabet="<unk>a", max_size=40))
def test_unknown_words_are_marked_where_they_stand(text):
    marks = ["."] * len(text)
    for start in range(len(text)):
        if text[start : start + 5] == "<unk>":
            marks[start : start + 5] = "#####"
    assert in_unknown(encode(text)).tolist() == [mark == "#" for mark in marks]


@pytest.mark.parametrize("version", ["tokens", "raw"])
def test_the_three_splits_are_read_and_counted(tmp_path, version):
    write(tmp_path, version)
    text = load_wikitext(version, tmp_path)
    assert decode(text.train.codes) == "The cat _ <unk> .\n"
    assert text.counts() == {
        "train": {"characters": 18, "replaced": 1, "own_stand_ins": 0, "unknown": 5},
        "valid": {"characters": 10, "replaced": 0, "own_stand_ins": 0, "unknown": 10},
        "test": {"characters": 4, "replaced": 3, "own_stand_ins": 1, "unknown": 0},
    }


def test_line_ends_are_read_as_they_stand(tmp_path):
    write(tmp_path, texts={**TEXTS, "train": "a\r\nb"})
    assert decode(load_wikitext("tokens", tmp_path).train.codes) == "a_\nb"


def test_missing_files_are_all_named_with_where_they_were_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    (tmp_path / "wiki.valid.raw").write_text("a")
    with pytest.raises(MissingDataError) as told:
        load_wikitext("raw", tmp_path)
    for part in ("wikitext-2-raw/wiki.train.raw, wikitext-2-raw/wiki.test.raw", str(tmp_path), "Found: ", "Merity"):
        assert part in str(told.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    write(tmp_path)
    (tmp_path / "wiki.test.tokens").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"text in UTF-8"):
        load_wikitext("tokens", tmp_path)


def test_an_unknown_version_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="version='words'"):
        load_wikitext("words")


def test_symbols_out_of_range_are_refused():
    with pytest.raises(ValueError, match="numbered 0 to 95"):
        decode(np.array([3, 96]))


@given(st.integers(0, 50), st.integers(1, 9))
def test_streams_hold_every_place_once_and_in_order(length, count):
    rows = streams(np.zeros(length, np.uint8), count)
    assert len(rows) == count
    assert rows[rows >= 0].tolist() == list(range(length))
    assert rows.size - length < count


def test_the_real_text_has_the_published_size():
    try:
        text = load_wikitext("tokens")
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[0])
    counts = text.counts()
    assert [counts[split]["characters"] for split in ("train", "valid", "test")] == [10_780_437, 1_120_192, 1_255_018]
    assert counts["test"]["unknown"] == 5 * 15_218
    assert counts["train"]["replaced"] == 10_364
