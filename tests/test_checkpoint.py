"""What is loaded is what was saved, and a file is there whole or not at all."""

import json
import os
import stat
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import load_file

from hippozoo._internal.nests import children
from hippozoo.checkpoint import load, load_state, register, save, save_state, storage
from hippozoo.memory import GrowingMemory, GrowingState, Memory, MemoryLayer
from hippozoo.systems import LegS, LegT


@register
class Pair(NamedTuple):
    first: Any
    second: Any


@register
@dataclass(frozen=True)
class Bank:
    values: Any
    clock: Any = 0


@register
class Readout(torch.nn.Module):
    """Tied weights, a persistent buffer, a rebuilt one, and a configuration that is no attribute."""

    def __init__(self, system, width, *, rate=0.5):
        super().__init__()
        self.system, self.width, self.rate = system, width, rate
        self.encode = torch.nn.Linear(system.order, width)
        self.decode = torch.nn.Linear(system.order, width, bias=False)
        self.decode.weight = self.encode.weight
        self.dropout = torch.nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("A", torch.tensor(system.A, dtype=torch.float32), persistent=False)

    def forward(self, x):
        return self.encode(x @ self.A) + self.decode(x)


def identical(one: Any, other: Any) -> bool:
    """Same kinds, dtypes and bits all the way down; NaN is itself, and -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and _bits(one) == _bits(other)
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        keys = zip(one, other, strict=False)
        if len(one) != len(other) or not all(identical(a, b) for a, b in keys):
            return False
    parts, others = children(one), children(other)
    if parts is None or others is None:
        return repr(one) == repr(other)
    return len(parts) == len(others) and all(identical(a, b) for (_, a), (_, b) in zip(parts, others, strict=True))


def _bits(tensor: torch.Tensor) -> bytes:
    flat = tensor.contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""


NUMPY_DTYPES = st.one_of(
    arrays_of.boolean_dtypes(),
    arrays_of.integer_dtypes(endianness="?"),
    arrays_of.unsigned_integer_dtypes(endianness="?"),
    arrays_of.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    arrays_of.complex_number_dtypes(endianness="?", sizes=(64, 128)),
)
SHAPES = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = arrays_of.arrays(NUMPY_DTYPES, SHAPES)
TENSORS = st.builds(
    lambda values, dtype: torch.from_numpy(values).to(dtype),
    arrays_of.arrays(np.float64, SHAPES, elements=st.floats(-100, 100)),
    st.sampled_from(
        [
            *[torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn],
            *[torch.int8, torch.int64, torch.uint16, torch.bool, torch.complex64, torch.complex128],
        ]
    ),
)
SYSTEMS = st.builds(
    lambda cls, order, timescale: cls(order, timescale),
    st.sampled_from([LegT, LegS]),
    st.integers(1, 9),
    st.floats(1e-6, 1e6),
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters()),
    st.sampled_from([np.dtype("float32"), np.dtype(">i2"), torch.bfloat16, np.float32(0.1), np.bool_(True)]),
)
KEYS = st.one_of(st.text(), st.integers(), st.tuples(st.integers(), st.none()), st.just("__metadata__"))
NESTS = st.recursive(
    st.one_of(PLAIN, ARRAYS, TENSORS, SYSTEMS),
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.lists(inside, max_size=3).map(tuple),
        st.dictionaries(KEYS, inside, max_size=3),
        st.dictionaries(KEYS, inside, max_size=3).map(OrderedDict),
        st.builds(Pair, inside, inside),
        st.builds(Bank, inside, inside),
    ),
    max_leaves=8,
)


@given(NESTS)
def test_what_is_loaded_is_what_was_saved(tmp_path_factory, thing):
    path = tmp_path_factory.mktemp("nest") / "thing.safetensors"
    save(path, thing)
    assert identical(load(path), thing)


def test_a_torch_module_comes_back_with_its_tensors_dtypes_and_modes(tmp_path, rng):
    layer = Readout(LegT(4, timescale=1.0), 3, rate=0.25).double()
    layer.encode.bias.requires_grad_(False)
    layer.dropout.eval()
    layer.seen += 7
    save(tmp_path / "layer", layer)
    found = load(tmp_path / "layer")
    x = torch.from_numpy(rng.normal(size=(5, 4)))
    assert torch.equal(found(x), layer(x))
    assert (found.system, found.width, found.rate, found.seen.item()) == (LegT(4, timescale=1.0), 3, 0.25, 7)
    assert found.A.dtype == torch.float64
    assert found.decode.weight is found.encode.weight, "tied weights came back untied"
    assert [p.requires_grad for p in found.parameters()] == [p.requires_grad for p in layer.parameters()]
    assert (found.training, found.dropout.training) == (True, False)


def test_matrices_of_a_float64_layer_are_not_rounded_to_float32_on_the_way(tmp_path):
    layer = MemoryLayer(LegT(5, timescale=7.0)).double()
    save(tmp_path / "layer", layer)
    assert torch.equal(load(tmp_path / "layer").A_d, layer.A_d)


def as_files_once_were(path, module):
    """The file that named every table of the module among its tensors."""
    save(path, module)
    contents = storage.read(path)
    tree = json.loads(contents.text)
    told = tree["object"]["module"]
    del told["tables"]
    every = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
    told["dtypes"] = {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in every.items()}
    storage.write(path, storage.Contents(json.dumps(tree), contents.arrays))


@pytest.mark.parametrize("write", [save, as_files_once_were])
@pytest.mark.parametrize(
    "module",
    [
        MemoryLayer(LegT(5, timescale=7.0), dtype=torch.float64),
        MemoryLayer(LegT(5, timescale=7.0), outputs=2, channels=4),
        Readout(LegT(4, timescale=1.0), 3).double(),
    ],
    ids=["tables only, float64", "tables and weights", "float64"],
)
def test_older_files_hold_the_same_modules(tmp_path, module, write):
    write(tmp_path / "module", module)
    found = load(tmp_path / "module")
    tensors = dict(module.named_parameters()) | dict(module.named_buffers())
    assert identical(dict(found.named_parameters()) | dict(found.named_buffers()), tensors)


@pytest.mark.parametrize("write", [save, as_files_once_were])
def test_a_table_may_be_called_something_else_by_the_next_version(tmp_path, write):
    def version(name, dtype):
        @register(name="lab.Versioned")
        class Versioned(torch.nn.Module):
            def __init__(self, width=3):
                super().__init__()
                self.width, self.map = width, torch.nn.Linear(width, 1)
                self.register_buffer(name, torch.ones(width, dtype=dtype), persistent=False)

        return Versioned

    first = version("_rule", torch.float64)()  # a table of another dtype than the weights
    write(tmp_path / "module", first)
    version("_generator", torch.float32)
    found = load(tmp_path / "module")
    assert torch.equal(found.map.weight, first.map.weight)
    assert (found._generator.dtype, found.map.weight.dtype) == (torch.float64, torch.float32)


def test_awkward_names_are_kept(tmp_path):
    thing = {
        "__metadata__": np.ones(1),
        "\ud800": np.ones(2),
        "é": np.ones(3),
        "a.b": np.ones(4),
        "a": {"b": np.ones(5)},
    }
    save(tmp_path / "x", thing)
    assert identical(load(tmp_path / "x"), thing)


def test_saving_leaves_the_layer_alone_and_loading_leaves_the_random_numbers_alone(tmp_path):
    layer = Readout(LegT(4, timescale=1.0), 3)
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    save(tmp_path / "layer", layer)
    assert all(torch.equal(before[name], tensor) for name, tensor in layer.state_dict().items())
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(tmp_path / "layer")
    assert torch.equal(torch.rand(3), expected)


def test_loaded_arrays_can_be_written_to_and_share_nothing(tmp_path):
    one = np.arange(3.0)
    save(tmp_path / "x", [one, one, torch.ones(2)])
    first, second, tensor = load(tmp_path / "x")
    first[0], tensor[0] = 9.0, 9.0
    assert second[0] == 0.0


def test_views_and_conjugates_are_saved_as_the_values_they_show(tmp_path):
    grid = np.arange(12.0).reshape(3, 4)
    tensor = torch.tensor([1 + 2j, 3 - 1j])
    thing = [grid.T, grid[::2, ::-1], tensor.conj(), torch.arange(6).reshape(2, 3).T, tensor.conj().imag]
    save(tmp_path / "x", thing)
    for found, saved in zip(load(tmp_path / "x"), thing, strict=True):
        assert found.tolist() == saved.tolist()


def test_an_optimiser_in_mid_training_goes_on_as_if_never_stopped(tmp_path):
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(layer.parameters())

    def train():
        optimiser.zero_grad()
        layer(torch.ones(1, 3)).sum().backward()
        optimiser.step()
        return [parameter.detach().clone() for parameter in layer.parameters()]

    train()
    save(tmp_path / "run", {"weights": layer.state_dict(), "optimiser": optimiser.state_dict()})
    expected = train()
    found = load(tmp_path / "run")
    layer.load_state_dict(found["weights"])
    optimiser.load_state_dict(found["optimiser"])
    assert all(map(torch.equal, train(), expected))


def test_other_programs_can_read_the_tensors_by_name(tmp_path):
    save(
        tmp_path / "x.safetensors", {"state": [np.ones(2), torch.zeros(3)], "layer": Readout(LegT(2, timescale=1.0), 1)}
    )
    found = load_file(tmp_path / "x.safetensors")
    assert {"state.0", "state.1", "layer.encode.weight", "layer.seen"} <= set(found)


def test_a_state_goes_back_to_its_owner(tmp_path):
    @register(name="tests.Owner")
    @dataclass(frozen=True)
    class Owner:
        system: LegT

        def initial_state(self, channels=None):
            leading = () if channels is None else (channels,)
            return {"bank": np.zeros((*leading, self.system.order)), "clock": 0.0}

    owner = Owner(LegT(3, timescale=1.0))
    for state in ({"bank": np.ones((4, 3)), "clock": 2.5}, {"bank": np.ones(3), "clock": 1.0}):
        save_state(tmp_path / "state", state, owner)
        assert identical(load_state(tmp_path / "state", Owner(LegT(3, timescale=1.0))), state)
        assert identical(load(tmp_path / "state"), state)


@pytest.mark.parametrize(
    ("owner", "states"),
    [
        (Memory(LegT(3, 9.0), dt=0.5, method="bilinear"), [np.ones(3), np.ones((2, 3))]),
        (Memory(LegS(3, timescale=1.0), dtype="float32"), [np.ones(3, np.float32)]),
        (GrowingMemory(3), [GrowingState(np.ones((2, 3)), 4.5), GrowingState(np.ones(3), 0.1)]),
        (MemoryLayer(LegT(3, 9.0)), [torch.ones(1, 1, 3), torch.ones(4, 2, 3)]),
        (MemoryLayer(LegT(3, 9.0), outputs=2, channels=5, dtype=torch.float64), [torch.ones(4, 5, 3).double()]),
    ],
    ids=["memory", "memory-float32", "growing", "layer", "layer-readout"],
)
def test_every_memory_gets_its_own_states_back(tmp_path, owner, states):
    for state in states:
        save_state(tmp_path / "state", state, owner)
        assert identical(load_state(tmp_path / "state", owner), state)
        save(tmp_path / "both", {"owner": owner, "state": state})
        found = load(tmp_path / "both", expected={"owner": owner})
        assert identical(found["state"], state)
        assert found["owner"] == owner or isinstance(owner, torch.nn.Module)


def test_expected_things_may_differ_in_what_was_learnt_only(tmp_path):
    save(tmp_path / "run", {"layer": Readout(LegT(4, timescale=1.0), 3), "system": LegT(4, timescale=1.0), "epoch": 3})
    found = load(tmp_path / "run", expected={"layer": Readout(LegT(4, timescale=1.0), 3), "system": LegT})
    assert found["epoch"] == 3
    assert load(tmp_path / "run", expected=dict)["system"] == LegT(4, timescale=1.0)


# ---------------------------------------------------------------------------------------------- the file


@pytest.mark.parametrize("crashing", ["write", "fsync", "replace"])
def test_a_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch, crashing):
    path = tmp_path / "state"
    save(path, np.zeros(3))

    write = os.write

    def crash(*arguments):
        if crashing == "write":
            write(arguments[0], arguments[1][:40])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, crashing, crash)
        with pytest.raises(KeyboardInterrupt):
            save(path, np.ones(3))
    assert np.array_equal(load(path), np.zeros(3))
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"], "a temporary file was left behind"


def test_the_same_thing_gives_the_same_bytes(tmp_path):
    thing = {
        "system": LegT(4, timescale=1.0),
        "names": ["ä", "\u2028", '"'],
        "weights": np.arange(5.0),
        "more": torch.ones(3),
    }
    written = set()
    for _ in range(12):
        save(tmp_path / "x", thing)
        written.add((tmp_path / "x").read_bytes())
    assert len(written) == 1


def test_the_new_file_reaches_the_disk_before_its_name_does(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def record_replace(source, target):
        done.append("rename")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    save(tmp_path / "x", 1)
    assert done == ["file", "rename", "folder"]


def test_a_new_file_gets_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    umask = os.umask(0o022)
    try:
        save(tmp_path / "new", 1)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644
        (tmp_path / "new").chmod(0o660)
        save(tmp_path / "new", 2)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o660
    finally:
        os.umask(umask)


def test_a_link_stays_a_link(tmp_path):
    save(tmp_path / "real", 1)
    (tmp_path / "latest").symlink_to("real")
    save(tmp_path / "latest", 2)
    assert (tmp_path / "latest").is_symlink()
    assert load(tmp_path / "real") == 2


def test_a_numpy_user_never_loads_torch(tmp_path):
    program = f"""
import sys
import numpy as np
from hippozoo.checkpoint import load, save
from hippozoo.systems import LegT
from hippozoo.memory import GrowingMemory, Memory
thing = {{"memory": Memory(LegT(3, timescale=1.0)), "growing": GrowingMemory(2), "state": np.ones(3)}}
save({str(tmp_path / "x")!r}, thing)
assert load({str(tmp_path / "x")!r})["memory"] == Memory(LegT(3, timescale=1.0))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# -------------------------------------------------------------------------------------------- the registry


def test_a_class_may_be_defined_again_and_the_newer_one_counts(tmp_path):
    def define():
        @register
        @dataclass(frozen=True)
        class Cell:
            size: int

        return Cell

    older, newer = define(), define()
    save(tmp_path / "cell", newer(3))
    assert type(load(tmp_path / "cell")) is newer
    with pytest.raises(ValueError, match="cannot be saved"):
        save(tmp_path / "cell", older(3))


def test_configuration_and_state_dict_of_any_object_are_kept(tmp_path):
    @register(name="tests.Counter")
    class Counter:
        def __init__(self, *steps):
            self._steps, self.total = steps, 0

        def configuration(self):
            return {}

        def state_dict(self):
            return {"total": self.total}

        def load_state_dict(self, state):
            self.total = state["total"]

    counter = Counter()
    counter.total = 11
    save(tmp_path / "counter", counter)
    assert load(tmp_path / "counter").total == 11
