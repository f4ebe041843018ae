"""Save and load systems, memories, layers and states: one safetensors file, written whole or not at all.

The numbers of a thing are ordinary safetensors tensors; the header says, as JSON, what they belong to, and a
checksum covers both. There is no pickle anywhere: loading builds only public classes of hippozoo and those
that the running program has registered, through their constructors, which check their arguments as ever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.checkpoint import registry, storage
from hippozoo.checkpoint.agreement import demand_expected, demand_state_of, first_difference
from hippozoo.checkpoint.bounds import LIMIT
from hippozoo.checkpoint.error import CheckpointError
from hippozoo.checkpoint.nest import decode, encode
from hippozoo.checkpoint.registry import register

__all__ = ["CheckpointError", "dumps", "load", "load_state", "loads", "register", "save", "save_state"]


@dataclass(frozen=True)
class _OwnedState:
    """A state and whose it is: the owner's class and configuration, without its trained numbers."""

    owner: str
    configuration: dict[str, Any]
    state: Any


register(_OwnedState, name="hippozoo.checkpoint.OwnedState")


def save(path: str | os.PathLike[str], thing: Any) -> None:
    """Write a system, memory, layer, state, or any nest of these, to one file.

    A nest is made of dicts, lists, tuples, NamedTuples and dataclasses around NumPy arrays, torch tensors,
    numbers, texts and None; kinds and dtypes are kept. Tensors are stored detached. Classes of your own join by
    `register`. A file that exists is replaced in one moment: it is the old one or the new one, whatever crashes.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from hippozoo.systems import LegT
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.safetensors"
    ...     save(path, {"system": LegT(order=3, timescale=1.0), "state": np.ones(3, np.float32), "seen": 120})
    ...     found = load(path)
    >>> found
    {'system': LegT(order=3, timescale=1.0), 'state': array([1., 1., 1.], dtype=float32), 'seen': 120}
    """
    with _at(path) as place:
        storage.write(place, encode(thing))


def load(path: str | os.PathLike[str], expected: Any = None, *, limit: int = LIMIT) -> Any:
    """Read what `save` wrote; tensors come back on the CPU.

    Nothing that the file names is imported or run, except constructors of public hippozoo classes and of
    classes registered by this program.

    Parameters
    ----------
    expected
        What must be in it, else the file is refused: a class; an object, whose configuration must agree
        (trained weights may differ); or a dict of these for the keys that matter.
    limit
        Largest order, width or number of layers that the file may ask for beyond the sizes of its own arrays: a
        few bytes can name matrices that fill the memory. Raise it for files that you trust.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hippozoo.systems import LegS, LegT
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "system.safetensors"
    ...     save(path, LegT(order=3, timescale=1.0))
    ...     try:
    ...         load(path, expected=LegS)
    ...     except CheckpointError as error:
    ...         print("refused:", str(error).removeprefix(str(path)))
    refused: : it is a LegT, expected a LegS.
    """
    with _at(path) as place:
        thing = decode(storage.read(place), whole_number("limit", limit))
        if isinstance(thing, _OwnedState):
            thing = thing.state
        if expected is not None:
            demand_expected(thing, expected)
    return thing


def dumps(thing: Any) -> bytes:
    """What `save` would write, as bytes: for a database or a message.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> loads(dumps(LegT(order=3, timescale=1.0)))
    LegT(order=3, timescale=1.0)
    """
    return storage.pack(encode(thing))


def loads(data: bytes) -> Any:
    """Read what `dumps` gave; as careful as `load`.

    Examples
    --------
    >>> loads(dumps({"seen": 120}))
    {'seen': 120}
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data={shorten(data)}: pass the bytes that dumps gave.")
    try:
        return decode(storage.unpack(bytes(data)))
    except CheckpointError as error:
        raise CheckpointError(f"the bytes: this {error}") from error


def save_state(path: str | os.PathLike[str], state: Any, owner: Any) -> None:
    """Write a state together with what it is a state of, so that it can only be loaded where it belongs.

    The state is any nest of arrays or tensors; of its owner, the memory or layer that made it, the configuration is
    stored, not its trained numbers.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from hippozoo.systems import LegT
    >>> system = LegT(order=3, timescale=20.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "state.safetensors"
    ...     save_state(path, np.ones(3), system)
    ...     print(load_state(path, system))
    [1. 1. 1.]
    """
    with _at(path) as place:
        name = registry.name_of(type(owner))
        if name is None:
            raise CheckpointError(
                f"cannot say whose state it is: checkpoints do not know the class of {shorten(owner)}; "
                "decorate the class with hippozoo.checkpoint.register."
            )
        storage.write(place, encode(_OwnedState(name, registry.configuration(owner), state)))


def load_state(path: str | os.PathLike[str], owner: Any, *, limit: int = LIMIT) -> Any:
    """Read what `save_state` wrote, if it is a finite state of just this memory or layer.

    The configuration of the owner must agree with the one in the file, and the state must have the form of its
    ``initial_state``. `limit` is as for `load`.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from hippozoo.systems import LegT
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "state.safetensors"
    ...     save_state(path, np.ones(3), LegT(order=3, timescale=20.0))
    ...     try:
    ...         load_state(path, LegT(order=3, timescale=30.0))
    ...     except CheckpointError as error:
    ...         print(str(error).removeprefix(str(path)))
    : its owner's timescale=20.0, expected 30.0; load it with the memory or layer that it was saved with.
    """
    with _at(path) as place:
        found = decode(storage.read(place), whole_number("limit", limit))
        if not isinstance(found, _OwnedState):
            raise CheckpointError("does not say whose state it holds; write it by save_state, or read it by load.")
        expected_name = registry.name_of(type(owner))
        if found.owner != expected_name:
            raise CheckpointError(f"holds a state of {found.owner}, expected one of {expected_name or type(owner)}.")
        expected = registry.configuration(owner)
        for name, value in expected.items():
            difference = first_difference(found.configuration.get(name), value, f"its owner's {name}")
            if difference:
                raise CheckpointError(f"{difference}; load it with the memory or layer that it was saved with.")
        demand_state_of(found.state, owner)
    return found.state


@contextmanager
def _at(path: Any) -> Iterator[Path]:
    """The path of a file; what is wrong with a checkpoint there is said in its name."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path={shorten(path)}: pass the path of a file first, then what belongs to it.")
    try:
        yield Path(path)
    except CheckpointError as error:
        raise CheckpointError(f"{os.fspath(path)}: {error}") from error.__cause__
