"""NumPy arrays and torch tensors as the plain arrays a file can hold, and back, every dtype kept."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.checkpoint.error import CheckpointError

_WHOLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
_DTYPES = [*_WHOLE, "float16", "float32", "float64", "complex64", "complex128"]
_CODES = {code for name in _DTYPES for code in (np.dtype(name).str, np.dtype(name).newbyteorder("S").str)}
# Two real numbers for a complex one, on a last axis of their own; bits for what NumPy does not know.
_REAL_PART = {"complex64": "float32", "complex128": "float64"}
_BITS = {1: "uint8", 2: "int16"}


def loaded_torch() -> Any:
    """The torch module if the program has loaded it, else None: then nothing can be a tensor."""
    return sys.modules.get("torch")


def is_tensor(value: Any) -> bool:
    """Tell torch tensors and parameters from everything else, without loading torch."""
    torch = loaded_torch()
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)


def is_storable_dtype(dtype: np.dtype) -> bool:
    """Real or complex numbers of a size that every machine has."""
    return dtype.newbyteorder("=").name in _DTYPES and dtype.names is None


def store_array(array: np.ndarray | np.generic) -> tuple[np.ndarray, str]:
    """The array as a file holds it, and the dtype to give back."""
    if not is_storable_dtype(array.dtype):
        raise CheckpointError(f"an array of dtype {array.dtype} cannot be saved; convert it to numbers first.")
    native = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    real = _REAL_PART.get(native.dtype.name)
    return (native if real is None else _as_pairs(native, real)), array.dtype.str


def restore_array(stored: np.ndarray, dtype: Any) -> np.ndarray:
    """The array that `store_array` was given."""
    wanted = numpy_dtype(dtype)
    name = wanted.newbyteorder("=").name
    _demand(stored, _REAL_PART.get(name, name), pairs=name in _REAL_PART)
    array = np.require(stored, requirements=["C", "W"])
    if name in _REAL_PART:
        array = array.view(name)[..., 0]
    return array.astype(wanted, copy=False)


def store_tensor(tensor: Any) -> tuple[np.ndarray, str]:
    """The values of a torch tensor as a file holds them, and the dtype to give back."""
    torch = loaded_torch()
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        raise CheckpointError(
            f"a {tensor.layout} tensor on {tensor.device} cannot be saved; make it dense, with values, first."
        )
    values = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _DTYPES:
        return store_array(values.numpy())[0], name
    bits = _BITS.get(values.element_size()) if values.is_floating_point() else None
    if bits is None:
        raise CheckpointError(f"a tensor of dtype {tensor.dtype} cannot be saved; convert it to numbers first.")
    return values.view(getattr(torch, bits)).numpy(), name


def restore_tensor(stored: np.ndarray, dtype: Any) -> Any:
    """The tensor that `store_tensor` was given, on the CPU and detached."""
    import torch

    wanted = torch_dtype(dtype)
    if dtype in _DTYPES:
        return torch.from_numpy(restore_array(stored, np.dtype(dtype).str))
    bits = _BITS.get(wanted.itemsize) if wanted.is_floating_point else None
    if bits is None:
        raise CheckpointError(f"names a tensor dtype {dtype!r}, which cannot be loaded.")
    _demand(stored, bits)
    return torch.from_numpy(np.require(stored, requirements=["C", "W"])).view(wanted)


def torch_dtype(name: Any) -> Any:
    """The torch dtype of this name, found in a list: a file's text is never looked up as an attribute."""
    import torch

    known = {
        str(value).removeprefix("torch."): value for value in vars(torch).values() if isinstance(value, torch.dtype)
    }
    if not isinstance(name, str) or name not in known:
        raise CheckpointError(f"names a tensor dtype {shorten(name)}, which this torch does not know.")
    return known[name]


def numpy_dtype(code: Any) -> np.dtype:
    """The NumPy dtype of this code, such as "<f8", found in a list like the torch ones."""
    if not isinstance(code, str) or code not in _CODES:
        raise CheckpointError(f"names an array dtype {shorten(code)}, which this hippozoo does not know.")
    return np.dtype(code)


def _as_pairs(array: np.ndarray, real: str) -> np.ndarray:
    return array.reshape(-1).view(real).reshape(*array.shape, 2)


def _demand(stored: np.ndarray, dtype: str, *, pairs: bool = False) -> None:
    if stored.dtype.name != dtype or (pairs and stored.shape[-1:] != (2,)):
        raise CheckpointError(
            f"holds values of dtype {stored.dtype} and shape {stored.shape} where {dtype} was announced."
        )
