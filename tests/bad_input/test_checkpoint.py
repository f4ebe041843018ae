"""A file that is not the checkpoint it should be is refused with a reason, and nothing it names is run."""

import json
import pickle
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from hippozoo.checkpoint import CheckpointError, load, load_state, register, save, save_state
from hippozoo.checkpoint.modules import describe_module
from hippozoo.checkpoint.registry import name_of
from hippozoo.checkpoint.storage import Contents, checksum, write
from hippozoo.memory import GrowingMemory, GrowingState, Memory, MemoryLayer
from hippozoo.systems import LegS, LegT


@register
@dataclass(frozen=True)
class Owner:
    system: Any
    taps: Any = field(default_factory=lambda: np.arange(2.0))

    def initial_state(self, channels=None):
        leading = () if channels is None else (channels,)
        return {"bank": np.zeros((*leading, self.system.order)), "clock": 0.0}


@register
@dataclass(frozen=True)
class Choir:
    """Keeps one part of its state per channel."""

    def initial_state(self, channels):
        return [np.zeros(3) for _ in range(channels)]


@register
@dataclass(frozen=True)
class Impostor:
    coefficients: Any
    elapsed: float


@register
class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.map = torch.nn.Linear(width, width)


def readable(value):
    """The message of a case; never an address in memory, which would differ between test processes."""
    return value[:40] if isinstance(value, str) else type(value).__name__


def forged(path, tree, **arrays):
    """A file with a right checksum, such as an attacker would write."""
    write(path, Contents(tree if isinstance(tree, str) else json.dumps(tree), arrays))
    return path


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.safetensors"
    save(
        path, {"system": LegT(3, timescale=1.0), "state": [np.arange(3.0), torch.ones(2, 2)], "layer": Layer(2), "n": 7}
    )
    return path


def outcome(path):
    """What load gives: a readable copy of the result, or the error that is promised."""
    try:
        return repr(load(path)["state"])
    except CheckpointError:
        return "refused"


def test_a_file_cut_anywhere_is_refused(good):
    whole = good.read_bytes()
    for end in range(len(whole)):
        good.write_bytes(whole[:end])
        assert outcome(good) == "refused", f"cut after {end} of {len(whole)} bytes"


def test_a_flipped_bit_anywhere_is_refused_or_harmless(good, rng):
    whole, expected = good.read_bytes(), outcome(good)
    refused = 0
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        good.write_bytes(flipped)
        found = outcome(good)
        assert found in ("refused", expected), f"byte {place} changed the result"
        refused += found == "refused"
    # Only the padding of the header means nothing.
    assert refused > len(whole) - 16


def test_appended_bytes_are_refused(good):
    good.write_bytes(good.read_bytes() + b"\0")
    with pytest.raises(CheckpointError, match="truncated or damaged"):
        load(good)


def test_random_bytes_are_refused(tmp_path, rng):
    for size in (0, 1, 7, 8, 9, 50, 1000):
        (tmp_path / "x").write_bytes(rng.bytes(size))
        with pytest.raises(CheckpointError, match=f"truncated .{size} bytes"):
            load(tmp_path / "x")


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was run",))

    (tmp_path / "pickle").write_bytes(pickle.dumps(Bomb()))
    torch.save({"weight": torch.ones(2)}, tmp_path / "torch")
    for name in ("pickle", "torch"):
        with pytest.raises(CheckpointError, match=r"torch\.save file"):
            load(tmp_path / name)


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "x", {"format": "pt"})
    with pytest.raises(CheckpointError, match="file of another"):
        load(tmp_path / "x")
    save_file({"hippozoo-checkpoint": np.ones(3)}, tmp_path / "x")
    with pytest.raises(CheckpointError, match="file of another"):
        load(tmp_path / "x")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("2", "format version 2 .written by hippozoo 9.9.*install a newer"),
        ("9" * 5000, "install a newer"),
        *[(version, "damaged: its format version") for version in ("0", "-1", "", "²", "1.0")],
    ],
    ids=lambda value: value[:20],
)
def test_a_file_of_another_version_is_refused(tmp_path, version, message):
    metadata = {
        "format": "hippozoo-checkpoint",
        "version": version,
        "written_by": "hippozoo 9.9",
        "content": "1",
    }
    save_file({}, tmp_path / "x", metadata | {"sha256": checksum(metadata, {})})
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path / "x")


@pytest.mark.parametrize(
    "start",
    [b"\xff" * 8, (2**62).to_bytes(8, "little"), (99_000_000).to_bytes(8, "little"), bytes(8)],
    ids=["2^64", "2^62", "99 MB", "0"],
)
def test_a_header_that_claims_another_length_is_refused(good, start):
    good.write_bytes(start + good.read_bytes()[8:])
    with pytest.raises(CheckpointError, match="hippozoo checkpoint"):
        load(good)


def test_a_header_nested_to_exhaust_the_stack_is_refused(tmp_path):
    header = b'{"hippozoo-checkpoint":' + b'{"a":' * 100_000
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError):
        load(tmp_path / "x")
    with pytest.raises(CheckpointError, match="nests too deeply"):
        load(forged(tmp_path / "x", "[" * 100_000 + "]" * 100_000))
    with pytest.raises(CheckpointError, match="nests deeper than 60"):
        load(forged(tmp_path / "x", "[" * 70 + "]" * 70))


@pytest.mark.parametrize(
    "name",
    [
        *[
            "os.system",
            "subprocess.Popen",
            "builtins.eval",
            "antigravity.fly",
            "../../evil",
            "/etc/passwd",
            "",
        ],
        *["hippozoo.memory.hold_missing", "hippozoo.memory.response", "hippozoo.checkpoint.save"],
        *["hippozoo.apps.cli.main", "hippozoo.systems.legt.LegT", "hippozoo.systems.__class__", "LegT", ".LegT"],
        *[7, None, ["hippozoo.systems.LegT"], {}],
    ],
    ids=str,
)
def test_a_class_that_is_not_registered_is_neither_built_nor_imported(tmp_path, name):
    modules = set(sys.modules)
    forged(tmp_path / "x", {"object": {"class": name, "arguments": {}}})
    with pytest.raises(CheckpointError, match="public class"):
        load(tmp_path / "x")
    assert "antigravity" not in set(sys.modules) - modules


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            {"object": {"class": "hippozoo.systems.LegT", "arguments": {"order": 0, "timescale": 1.0}}},
            "cannot rebuild LegT.*order=0",
        ),
        (
            {"object": {"class": "hippozoo.systems.LegT", "arguments": {"size": 3}}},
            "cannot rebuild LegT: this version of it has no 'size', so another version",
        ),
        (
            {"object": {"class": "hippozoo.systems.LegT", "arguments": {"order": "3", "timescale": 1.0}}},
            "cannot rebuild LegT",
        ),
        (
            {"object": {"class": "hippozoo.systems.HippoSystem", "arguments": {"order": 3, "timescale": 1.0}}},
            "cannot rebuild Hippo",
        ),
        ({"object": {"class": "hippozoo.systems.LegT", "arguments": [3]}}, "malformed"),
        ({"object": {"class": "hippozoo.systems.LegT"}}, "malformed"),
        ({"object": "hippozoo.systems.LegT"}, "malformed"),
        ({"array": ["value", "<f8"]}, "does not hold"),
        ({"array": ["x", "<f4"]}, "float64 and shape .2,. where float32 was announced"),
        ({"array": ["x", "<c8"]}, "where float32 was announced"),
        ({"array": ["x", "O"]}, "dtype 'O'"),
        ({"array": ["x", "V8"]}, "dtype 'V8'"),
        ({"array": ["x", ["<f8"]]}, "does not know"),
        ({"array": "x"}, "malformed"),
        ({"array": [["x"], "<f8"]}, "malformed"),
        ({"tensor": ["x", "load"]}, "dtype 'load'"),
        ({"tensor": ["x", "bfloat16"]}, "where int16 was announced"),
        ({"tensor": ["x", "complex32"]}, "cannot be loaded"),
        ({"torch_dtype": "hub"}, "dtype 'hub'"),
        ({"numpy_dtype": "f8,f8"}, "does not know"),
        ([{"array": ["x", "<f8"]}, {"array": ["x", "<f8"]}], "twice to one"),
        (1, "nothing refers to"),
        ({"float": "1e400"}, "malformed"),
        ({"complex": [1]}, "malformed"),
        ({"dict": [[[], 1]]}, "malformed"),
        ({"dict": 5}, "malformed"),
        ({"eval": "1+1"}, "holds a 'eval'"),
        ({}, "malformed"),
        ({"tuple": [], "list": []}, "malformed"),
        ("[1, NaN]", "no JSON"),
        ("{", "no JSON"),
        ("9" * 5000, "no JSON"),
    ],
    ids=readable,
)
def test_a_forged_file_is_refused_with_a_reason(tmp_path, tree, message):
    with pytest.raises(CheckpointError, match=message):
        load(forged(tmp_path / "x", tree, x=np.ones(2)))


def modes(dtypes):
    return {"dtypes": dtypes, "frozen": [], "evaluating": []}


def module_tree(**changes):
    module = modes({"map.weight": "float32", "map.bias": "float32"})
    state = {"dict": [["map.weight", {"tensor": ["w", "float32"]}], ["map.bias", {"tensor": ["b", "float32"]}]]}
    name = f"{Layer.__module__}.{Layer.__qualname__}"
    return {"object": {"class": name, "arguments": {"width": 2}, "state": state, "module": module} | changes}


@pytest.mark.parametrize(
    ("changes", "shape", "message"),
    [
        ({}, (3, 2), "size mismatch"),
        ({"arguments": {"width": -2}}, (2, 2), "cannot rebuild Layer"),
        ({"state": None}, (2, 2), "cannot rebuild Layer"),
        ({"module": None}, (2, 2), "cannot rebuild Layer"),
        ({"module": modes({})}, (2, 2), "about its tensors"),
        ({"module": modes({"map.weight": "int64", "map.bias": "int64"})}, (2, 2), "floating point"),
        ({"module": modes({"map.weight": "hub", "map.bias": "float32"})}, (2, 2), "dtype 'hub'"),
    ],
    ids=readable,
)
def test_a_forged_layer_is_refused_with_a_reason(tmp_path, changes, shape, message):
    arrays = {"w": np.ones(shape, np.float32), "b": np.ones(2, np.float32)}
    with pytest.raises(CheckpointError, match=message):
        load(forged(tmp_path / "x", module_tree(**changes), **arrays))


def test_the_forgery_used_above_is_otherwise_right(tmp_path):
    arrays = {"w": np.ones((2, 2), np.float32), "b": np.ones(2, np.float32)}
    assert load(forged(tmp_path / "x", module_tree(), **arrays)).map.weight.sum() == 4


def test_paths_that_are_no_files_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="such file"):
        load(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="folder or a device"):
        load(tmp_path)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load("a\0b")
    with pytest.raises(CheckpointError, match=r"create it first"):
        save(tmp_path / "missing" / "x", 1)
    for path, kind in ((tmp_path, "a folder"), ("/dev/null", "a device")):
        with pytest.raises(CheckpointError, match=f"{path}: .*it is {kind}"):
            save(path, 1)
    with pytest.raises(CheckpointError, match="name is too"):
        save(tmp_path / ("n" * 256), 1)
    for swapped in (
        lambda: save(LegT(3, timescale=1.0), "x"),
        lambda: load(LegT(3, timescale=1.0)),
        lambda: load_state(LegT(3, timescale=1.0), "x"),
    ):
        with pytest.raises(TypeError, match=r"path=LegT"):
            swapped()
    assert list(tmp_path.iterdir()) == []


class Stranger:
    pass


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ({"a": [Stranger()]}, r"thing\['a'\]\[0\] is .* of type .*Stranger, which cannot be saved"),
        (LegT, "cannot be saved"),
        (Owner, "cannot be saved"),
        ({1, 2}, "convert it, or decorate its class"),
        (np.array(["a"]), "thing: an array of dtype <U1 cannot be saved"),
        ([np.array([None])], r"thing\[0\]: an array of dtype object"),
        (np.zeros(2, [("a", "f8")]), "cannot be saved"),
        (np.zeros(2, np.longdouble), "cannot be saved"),
        (np.zeros(1, "M8[s]"), "cannot be saved"),
        (np.dtype("O"), "cannot be saved"),
        (np.ma.masked_array([1.0]), "cannot be saved"),
        (torch.ones(2).to_sparse(), "make it dense"),
        (torch.ones(2, device="meta"), "make it dense"),
        (torch.nn.Linear(2, 2), "cannot be saved"),
        (10**5000, "cannot be written"),
        (lambda: 1, "cannot be saved"),
    ],
    ids=readable,
)
def test_what_cannot_be_saved_is_named_and_the_old_file_stays(tmp_path, thing, message):
    save(tmp_path / "x", "old")
    with pytest.raises(CheckpointError, match=message):
        save(tmp_path / "x", thing)
    assert load(tmp_path / "x") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_a_thing_that_contains_itself_is_refused(tmp_path):
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match="deeper than 60 levels"):
        save(tmp_path / "x", endless)


def test_a_class_that_hides_its_arguments_is_refused(tmp_path):
    @register(name="tests.Hiding")
    class Hiding:
        def __init__(self, width):
            self._width = width

        def state_dict(self):
            return {}

    with pytest.raises(CheckpointError, match=r"Hiding takes width"):
        save(tmp_path / "x", Hiding(3))


def test_a_class_that_may_hold_more_than_its_arguments_is_refused(tmp_path):
    @register(name="tests.Counting")
    class Counting:
        def __init__(self, width):
            self.width, self.count = width, 0

    with pytest.raises(CheckpointError, match=r"state_dict\(\)"):
        save(tmp_path / "x", Counting(3))


def test_register_takes_classes_under_names_that_are_free():
    with pytest.raises(TypeError, match="pass a class"):
        register(LegT(3, timescale=1.0))
    with pytest.raises(ValueError, match=r"another name="):
        register(Stranger, name="hippozoo.systems.LegT")
    with pytest.raises(ValueError, match=r"belongs to .*Owner"):
        register(Stranger, name=f"{Owner.__module__}.Owner")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (LegS, "it is a LegT, expected a LegS"),
        (LegS(3, timescale=1.0), r"it is LegT\(order=3, timescale=1.0\), expected LegS\(order=3"),
        (LegT(4, timescale=1.0), "it.order=3, expected 4"),
        ({"a": LegT}, "it is a LegT, expected a dict with"),
        (dict, "it is a LegT, expected a dict"),
    ],
    ids=str,
)
def test_another_thing_than_expected_is_refused(tmp_path, expected, message):
    save(tmp_path / "x", LegT(3, timescale=1.0))
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path / "x", expected)


def test_expectations_look_inside(tmp_path):
    save(tmp_path / "x", {"owner": Owner(LegT(3, timescale=1.0), np.array([1.0, np.nan])), "layer": Layer(3)})
    load(tmp_path / "x", {"owner": Owner(LegT(3, timescale=1.0), np.array([1.0, np.nan])), "layer": Layer(3)})
    for expected, message in [
        (
            {"owner": Owner(LegT(3, 2.0), np.array([1.0, np.nan]))},
            r"it\['owner'\].system.timescale=1.0, expected 2.0",
        ),
        (
            {"owner": Owner(LegT(3, timescale=1.0), np.array([1.0, 2.0]))},
            r"it\['owner'\].taps=ndarray of dtype float64",
        ),
        ({"owner": Owner(LegT(3, timescale=1.0), np.array([1.0]))}, r"shape \(1,\)"),
        ({"owner": Owner(LegT(3, timescale=1.0), [1.0])}, r"expected \[1.0\]"),
        ({"layer": Layer(4)}, r"it\['layer'\].width=3, expected 4"),
        ({"memory": LegT}, r"a dict of \['owner', 'layer'\], expected a dict with \['memory'\]"),
    ]:
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / "x", expected)
    with pytest.raises(TypeError, match="pass a class"):
        load(tmp_path / "x", "owner")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owner": Owner(LegT(4, timescale=1.0))}, "its owner's system.order=3, expected 4"),
        ({"owner": Owner(LegS(3, timescale=1.0))}, "its owner's system is LegT"),
        ({"owner": Owner(LegT(3, timescale=1.0), np.ones(3))}, "its owner's taps=ndarray"),
        ({"owner": LegT(3, timescale=1.0)}, r"holds a state of .*Owner, expected one of hippozoo.systems.LegT"),
        ({"owner": Stranger()}, r"expected one of .*Stranger"),
        ({"bank": np.array([1.0, np.nan, 1.0])}, r"state\['bank'\] has values that are NaN or infinite"),
        ({"bank": np.array([1.0, -np.inf, 1.0])}, "NaN or infinite"),
        ({"clock": float("nan")}, r"state\['clock'\] has values that are NaN"),
        ({"bank": np.ones((2, 4))}, r"shape \(2, 4\), but Owner keeps \(any, 3\)"),
        ({"bank": np.ones((1, 2, 3))}, r"shape \(1, 2, 3\)"),
        ({"bank": np.ones(())}, r"shape \(\)"),
        ({"bank": np.ones(3, np.float32)}, "float32 and shape"),
        ({"bank": torch.ones(3, dtype=torch.float64)}, "Tensor of dtype"),
        ({"bank": [1.0, 2.0, 3.0]}, r"the state holds .*\['bank'\]\[0\].*, but Owner keeps"),
        ({"clock": None}, r"state\['clock'\] is None, but Owner keeps 0.0"),
        ({"extra": 1}, r"\['extra'\]"),
    ],
    ids=readable,
)
def test_a_state_that_does_not_fit_its_owner_is_refused(tmp_path, change, message):
    state = {"bank": np.ones((2, 3)), "clock": 1.0} | {key: x for key, x in change.items() if key != "owner"}
    save_state(tmp_path / "x", state, Owner(LegT(3, timescale=1.0)))
    with pytest.raises(CheckpointError, match=message):
        load_state(tmp_path / "x", change.get("owner", Owner(LegT(3, timescale=1.0))))


@pytest.mark.parametrize(
    ("owner", "state", "message"),
    [
        (Memory(LegT(3, timescale=1.0)), np.ones(4), r"shape \(4,\), but Memory keeps \(any, 3\)"),
        (Memory(LegT(3, timescale=1.0)), np.ones((2, 5, 3)), r"shape \(2, 5, 3\)"),
        (Memory(LegT(3, timescale=1.0)), np.ones(3, np.float32), "dtype float32"),
        (Memory(LegT(3, timescale=1.0)), {"state": np.ones(3)}, "the state is a dict, but Memory keeps a ndarray"),
        (GrowingMemory(3), np.ones(3), "the state is a ndarray, but GrowingMemory keeps a GrowingState"),
        (GrowingMemory(3), GrowingState(np.ones((2, 4)), 1.0), r"shape \(2, 4\)"),
        (GrowingMemory(3), Impostor(np.ones((2, 3)), 1.0), "the state is a Impostor"),
        (Choir(), (np.ones(3),), "the state is a tuple, but Choir keeps a list"),
        (Choir(), [np.array([1.0, np.nan, 0.0])], "NaN or infinite"),
        (
            MemoryLayer(LegT(3, timescale=1.0)),
            torch.ones(2, 5, 4),
            r"shape \(2, 5, 4\), but MemoryLayer keeps \(any, any, 3\)",
        ),
        (MemoryLayer(LegT(3, timescale=1.0), channels=5), torch.ones(2, 4, 3), r"but MemoryLayer keeps \(any, 5, 3\)"),
        (MemoryLayer(LegT(3, timescale=1.0)).double(), torch.ones(2, 5, 3), "dtype torch.float32"),
        # A layer has an axis for sequences; only a memory may serve a single stream without one.
        (MemoryLayer(LegT(3, timescale=1.0)), torch.ones(3), r"shape \(3,\), but MemoryLayer keeps \(any, any, 3\)"),
        (MemoryLayer(LegT(3, timescale=1.0), channels=5), torch.ones(5, 3), r"but MemoryLayer keeps \(any, 5, 3\)"),
    ],
    ids=readable,
)
def test_a_state_of_another_form_is_refused(tmp_path, owner, state, message):
    save_state(tmp_path / "x", state, owner)
    with pytest.raises(CheckpointError, match=message):
        load_state(tmp_path / "x", owner)


def test_a_state_with_one_part_per_channel_is_taken_for_any_number_of_them(tmp_path):
    for channels in (1, 2, 5):
        save_state(tmp_path / "x", Choir().initial_state(channels), Choir())
        assert len(load_state(tmp_path / "x", Choir())) == channels


def test_a_state_without_an_owner_is_refused(tmp_path):
    save(tmp_path / "x", np.ones(3))
    with pytest.raises(CheckpointError, match="save_state"):
        load_state(tmp_path / "x", LegT(3, timescale=1.0))
    with pytest.raises(CheckpointError, match="know the class"):
        save_state(tmp_path / "x", np.ones(3), Stranger())


# ---------------------------------------------------------------------------------------------- what a file may make


def system_tree(order):
    return {"object": {"class": "hippozoo.systems.LegT", "arguments": {"order": order, "timescale": 1.0}}}


def forged_layer(order, **arguments):
    tree = {"class": "hippozoo.memory.MemoryLayer", "arguments": {"system": system_tree(order), **arguments}}
    return {"object": tree | {"state": {"dict": []}, "module": describe_module(MemoryLayer(LegT(2, timescale=1.0)))}}


@register
class Wide(torch.nn.Module):
    """Built by the numbers of a file; what it would hold is counted before."""

    built = 0

    def __init__(self, width, layers=1):
        super().__init__()
        self.width, self.layers = width, layers
        self.maps = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False) for _ in range(layers))
        Wide.built += not self.maps[0].weight.is_meta


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (system_tree(8000), r"a LegT with order=8000, and this file may ask for 1024; .* load it with limit=8000"),
        (forged_layer(8000), r"a LegT with order=8000"),
        ([system_tree(900), system_tree(900)], r"matrices of 1620000 numbers in all, .* a limit above 1024"),
        (forged_layer(4, channels=10**9, outputs=10**9), r"a MemoryLayer with channels=1000000000"),
        (forged_layer(128, channels=1000, outputs=1000), r"a MemoryLayer of 5\d{8} bytes, .* a limit above 1024"),
    ],
    ids=readable,
)
def test_a_small_file_cannot_ask_for_much(tmp_path, tree, message):
    with pytest.raises(CheckpointError, match=message):
        load(forged(tmp_path / "x", tree))


def test_a_module_is_counted_before_it_is_built(tmp_path):
    tree = {"class": name_of(Wide), "arguments": {"width": 1000, "layers": 1000}, "state": {"dict": []}, "module": {}}
    before = Wide.built
    with pytest.raises(CheckpointError, match=r"a Wide of 4000000000 bytes"):
        load(forged(tmp_path / "x", {"object": tree}))
    assert Wide.built == before


def test_whoever_trusts_a_file_raises_the_limit(tmp_path):
    save(tmp_path / "x", [LegT(1500, timescale=1.0), Memory(LegT(1200, timescale=1.0))])
    with pytest.raises(CheckpointError, match="limit=1500"):
        load(tmp_path / "x")
    assert load(tmp_path / "x", limit=2000)[0] == LegT(1500, timescale=1.0)
    with pytest.raises(ValueError, match="limit=0"):
        load(tmp_path / "x", limit=0)
    save_state(tmp_path / "state", np.zeros(1500), Memory(LegT(1500, timescale=1.0)))
    with pytest.raises(CheckpointError, match="limit=1500"):
        load_state(tmp_path / "state", Memory(LegT(1500, timescale=1.0)))
    assert len(load_state(tmp_path / "state", Memory(LegT(1500, timescale=1.0)), limit=1500)) == 1500


def test_what_a_file_holds_itself_needs_no_limit(tmp_path):
    save(tmp_path / "x", torch_layer := Wide(1500))
    assert torch.equal(load(tmp_path / "x").maps[0].weight, torch_layer.maps[0].weight)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_spoilt_weights_are_loaded_with_a_warning(tmp_path, value):
    layer = Layer(2)
    layer.map.weight.data[0, 1] = value
    save(tmp_path / "x", layer)
    with pytest.warns(RuntimeWarning, match=r"NaN or infinity"):
        found = load(tmp_path / "x")
    assert torch.equal(found.map.weight.isfinite(), layer.map.weight.isfinite())
