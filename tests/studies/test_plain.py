import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hippozoo_studies.framework.plain import canonical, key, plain, write_json


def test_numeric_keys_are_plain_integers():
    numbers = [1e3, 1000, np.int64(1000), np.float64(1e3), "1000"]
    assert {key(number) for number in numbers} == {"1000"}
    assert key(1e7) == "10000000"
    assert key(0.25) == "0.25"


def test_arrays_tensors_and_dataclasses_become_plain():
    given = {"a": np.arange(3), "t": torch.ones(2), "n": np.float32(0.5), "b": np.bool_(True), "p": Path("x/y")}
    assert plain(given) == {"a": [0, 1, 2], "t": [1.0, 1.0], "n": 0.5, "b": True, "p": "x/y"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float64("-inf"), np.array([1.0, np.nan])])
def test_what_is_not_finite_is_refused_by_its_place(bad):
    with pytest.raises(ValueError, match=r"^metrics\.mse\.1000\[1\]\.log(\[1\])? is (nan|inf|-inf), which JSON"):
        plain({"mse": {1e3: [0.5, {"log": bad}]}}, "metrics")


def test_a_key_given_as_number_and_as_text_is_refused():
    with pytest.raises(ValueError, match="key '10' twice"):
        plain({10: 1, "10": 2}, "metrics")


@pytest.mark.parametrize("bad", [{None: 1}, {True: 1}, {float("nan"): 1}, {"x": object()}, {"x": b"bytes"}])
def test_what_json_cannot_hold_is_refused(bad):
    with pytest.raises(TypeError, match="value"):
        plain(bad)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_what_is_written_is_read_back(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "value.json"
    write_json(path, value)
    assert json.loads(path.read_text(encoding="utf-8")) == value


def test_lists_of_numbers_stand_on_one_line(tmp_path):
    write_json(tmp_path / "a.json", {"seeds": [1, 2, 3], "deep": [[1, 2], []]})
    assert '"seeds": [1, 2, 3]' in (tmp_path / "a.json").read_text()


def test_a_refused_document_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1})
    with pytest.raises(ValueError, match=r"document\.x is nan"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}


def test_the_order_of_keys_does_not_matter():
    assert canonical({"a": 1, "b": {"c": 2, "d": 3}}) == canonical({"b": {"d": 3, "c": 2}, "a": 1})
