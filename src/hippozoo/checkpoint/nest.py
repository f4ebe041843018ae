"""Things as text and arrays: a JSON tree that says what everything is, and where its numbers are.

In the tree, None, booleans, whole numbers, finite floats, texts and lists stand for themselves. Everything
else is an object with one key, its tag.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.checkpoint import registry, tensors
from hippozoo.checkpoint.bounds import LIMIT, Bounds
from hippozoo.checkpoint.error import CheckpointError
from hippozoo.checkpoint.modules import describe_module, is_module, restore_module
from hippozoo.checkpoint.storage import Contents

# A thing that contains itself would never end; no state of ours nests a tenth as deep.
DEEPEST = 60
_DICTS = {"dict": dict, "ordered_dict": OrderedDict}


def encode(thing: Any) -> Contents:
    """The thing as one text and named arrays."""
    arrays: dict[str, np.ndarray] = {}
    tree = _Encoder(arrays).tree(thing, (), "thing")
    try:
        text = json.dumps(tree, allow_nan=False)
    except ValueError as error:  # a whole number beyond Python's limit of digits
        raise CheckpointError(f"a number in it cannot be written ({error}).") from error
    return Contents(text, arrays)


def decode(contents: Contents, limit: int = LIMIT) -> Any:
    """The thing that `encode` was given; only registered classes are built, by their constructors.

    Sizes that the text names are bounded by the file's own, and by `limit`.
    """
    size = len(contents.text) + sum(array.nbytes for array in contents.arrays.values())
    try:
        tree = json.loads(contents.text, parse_constant=_refuse_constant)
        decoder = _Decoder(dict(contents.arrays), Bounds(limit, size, contents.arrays))
        thing = decoder.thing(tree, 0)
    except RecursionError as error:
        raise CheckpointError("nests too deeply to be a checkpoint.") from error
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"is damaged: its text is no JSON ({error}).") from error
    if decoder.arrays:
        raise CheckpointError(f"holds arrays that nothing refers to: {shorten(sorted(decoder.arrays))}.")
    return thing


class _Encoder:
    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._in_module = False

    def tree(self, thing: Any, path: tuple[str, ...], place: str) -> Any:
        """The JSON tree of a thing; `path` names its arrays in the file, `place` names it in errors."""
        if len(path) > DEEPEST:
            raise CheckpointError(f"{place[:60]}… nests deeper than {DEEPEST} levels, or contains itself.")
        kind = type(thing)
        if thing is None or kind in (bool, int, str) or (kind is float and math.isfinite(thing)):
            return thing
        if kind is float:
            return {"float": repr(thing)}
        if kind is complex:
            return {"complex": [self.tree(part, path, place) for part in (thing.real, thing.imag)]}
        if kind is list:
            return self._items(thing, path, place)
        if kind is tuple:
            return {"tuple": self._items(thing, path, place)}
        if kind in _DICTS.values():
            tag = "dict" if kind is dict else "ordered_dict"
            return {tag: [self._pair(key, value, path, place) for key, value in thing.items()]}
        return self._tensor(thing, path, place) or self._object(thing, path, place)

    def _items(self, things: Any, path: tuple[str, ...], place: str) -> list[Any]:
        return [self.tree(item, (*path, str(i)), f"{place}[{i}]") for i, item in enumerate(things)]

    def _pair(self, key: Any, value: Any, path: tuple[str, ...], place: str) -> list[Any]:
        inside = f"{place}[{shorten(key)}]"
        return [self.tree(key, (*path, "key"), inside), self.tree(value, (*path, str(key)), inside)]

    def _tensor(self, thing: Any, path: tuple[str, ...], place: str) -> Any:
        torch = tensors.loaded_torch()
        try:
            if type(thing) is np.ndarray:
                return {"array": self._store(path, *tensors.store_array(thing))}
            if isinstance(thing, np.generic):
                return {"scalar": self._store(path, *tensors.store_array(thing))}
            if tensors.is_tensor(thing):
                return {"tensor": self._store(path, *tensors.store_tensor(thing))}
        except CheckpointError as error:
            raise CheckpointError(f"{place}: {error}") from None
        if isinstance(thing, np.dtype) and tensors.is_storable_dtype(thing):
            return {"numpy_dtype": thing.str}
        if torch is not None and isinstance(thing, torch.dtype):
            return {"torch_dtype": str(thing).removeprefix("torch.")}
        return None

    def _store(self, path: tuple[str, ...], array: np.ndarray, dtype: str) -> list[str]:
        # A label for other readers of the file; surrogates and the reserved word cannot stand there.
        wanted = ".".join(path).encode("ascii", "backslashreplace").decode() or "value"
        name, count = wanted, 1
        while name in self.arrays or name == "__metadata__":
            name, count = f"{wanted}~{count}", count + 1
        self.arrays[name] = array
        return [name, dtype]

    def _object(self, thing: Any, path: tuple[str, ...], place: str) -> Any:
        cls = type(thing)
        name = None if isinstance(thing, type) else registry.name_of(cls)
        if name is None:
            raise CheckpointError(
                f"{place} is {shorten(thing)} of type {cls.__module__}.{cls.__qualname__}, which cannot be "
                "saved. Numbers, texts, None, lists, tuples, dicts, NumPy arrays, torch tensors, dtypes and "
                "registered classes can: convert it, or decorate its class with hippozoo.checkpoint.register."
            )
        arguments = registry.configuration(thing).items()
        inside, self._in_module = self._in_module, self._in_module or is_module(thing)
        node: dict[str, Any] = {
            "class": name,
            "arguments": {key: self.tree(value, (*path, key), f"{place}.{key}") for key, value in arguments},
        }
        self._in_module = inside
        if inside and is_module(thing):  # a module's own state holds the tensors of its parts
            return {"object": node}
        if callable(getattr(thing, "state_dict", None)):
            node["state"] = self.tree(dict(thing.state_dict()), path, f"{place}.state_dict()")
        if is_module(thing):
            node["module"] = describe_module(thing)
        return {"object": node}


class _Decoder:
    def __init__(self, arrays: dict[str, np.ndarray], bounds: Bounds) -> None:
        self.arrays = arrays
        self._in_module = False
        self.bounds = bounds

    def thing(self, tree: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise CheckpointError(f"nests deeper than {DEEPEST} levels.")
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if isinstance(tree, list):
            return [self.thing(item, depth + 1) for item in tree]
        # A malformed node fails in one of many ways, each of them a KeyError, TypeError or ValueError.
        try:
            ((tag, content),) = tree.items()
            return self._tagged(tag, content, depth)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(f"holds something malformed: {shorten(tree)}.") from error

    def _tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
        if tag == "complex":
            real, imaginary = (self.thing(part, depth + 1) for part in content)
            return complex(real, imaginary)
        if tag == "tuple":
            return tuple(self.thing(item, depth + 1) for item in content)
        if tag in _DICTS:
            pairs = ((self.thing(key, depth + 1), self.thing(value, depth + 1)) for key, value in content)
            return _DICTS[tag](pairs)
        if tag in ("array", "scalar", "tensor"):
            return self._numbers(tag, *content)
        if tag == "numpy_dtype":
            return tensors.numpy_dtype(content)
        if tag == "torch_dtype":
            return tensors.torch_dtype(content)
        if tag == "object":
            return self._object(content, depth)
        raise CheckpointError(f"holds a {shorten(tag)}, which this hippozoo does not know.")

    def _numbers(self, kind: str, name: str, dtype: str) -> Any:
        if name not in self.arrays:
            raise CheckpointError(f"refers to an array {shorten(name)} that it does not hold, or twice to one.")
        stored = self.arrays.pop(name)  # used once: a small file cannot unfold into endless copies
        if kind == "tensor":
            return tensors.restore_tensor(stored, dtype)
        array = tensors.restore_array(stored, dtype)
        return array[()] if kind == "scalar" else array

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        cls = registry.class_of(node["class"])
        inside, self._in_module = self._in_module, self._in_module or "module" in node
        arguments = {str(key): self.thing(value, depth + 1) for key, value in node["arguments"].items()}
        self._in_module = inside
        state: Any = self.thing(node["state"], depth) if "state" in node else None
        self.bounds.check(cls, arguments)
        with _undisturbed_randomness(), _failures_of(cls, arguments):
            built = cls(**arguments)
            if is_module(built) and not (inside and "module" not in node):
                restore_module(built, state, node["module"])
                _warn_of_spoilt_weights(cls, state)
            elif state is not None:
                built.load_state_dict(state)
        return built


def _warn_of_spoilt_weights(cls: type, state: dict[str, Any]) -> None:
    spoilt = [name for name, value in state.items() if tensors.is_tensor(value) and not value.isfinite().all()]
    if spoilt:
        warnings.warn(
            f"the {cls.__name__} that was loaded has NaN or infinity in {shorten(spoilt)}: its training had diverged "
            "when it was saved; go back to an earlier checkpoint.",
            RuntimeWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def _failures_of(cls: type, arguments: dict[str, Any]) -> Any:
    """Whatever a constructor makes of wrong arguments, the caller learns that the file is to blame."""
    try:
        yield
    except Exception as error:
        if isinstance(error, CheckpointError):
            raise
        unknown = sorted(set(arguments) - set(inspect.signature(cls).parameters))
        if unknown:
            raise CheckpointError(
                f"cannot rebuild {cls.__name__}: this version of it has no {shorten(unknown[0])}, so another version "
                f"of hippozoo wrote the file; load it with that one, or learn the data again."
            ) from error
        raise CheckpointError(f"cannot rebuild {cls.__name__} from {shorten(arguments)}: {error}") from error


def _undisturbed_randomness() -> Any:
    """New layers draw random weights before the saved ones replace them; nobody else shall notice."""
    torch = tensors.loaded_torch()
    return torch.random.fork_rng(devices=[]) if torch is not None else contextlib.nullcontext()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
