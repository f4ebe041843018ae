"""What a torch module remembers beside its tensors: dtypes, what is frozen, what is in evaluation mode."""

from __future__ import annotations

from typing import Any

from hippozoo.checkpoint.error import CheckpointError
from hippozoo.checkpoint.tensors import loaded_torch, torch_dtype


def is_module(value: Any) -> bool:
    """Tell torch modules from everything else, without loading torch."""
    torch = loaded_torch()
    return torch is not None and isinstance(value, torch.nn.Module)


def describe_module(module: Any) -> dict[str, Any]:
    """What neither the constructor's arguments nor ``state_dict`` say."""
    saved, tables = set(module.state_dict()), {}
    dtypes = {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in _tensors(module).items()}
    for name, tensor in _tensors(module).items():
        if name not in saved and tensor.is_floating_point():
            # By the part that owns them: what it calls its tables is its own affair, and may change.
            tables.setdefault(_owner(name), set()).add(dtypes[name])
    return {
        "dtypes": {name: dtype for name, dtype in dtypes.items() if name in saved},
        "tables": {owner: sorted(found) for owner, found in tables.items()},
        "frozen": [name for name, parameter in _parameters(module).items() if not parameter.requires_grad],
        "evaluating": [name for name, part in module.named_modules() if not part.training],
    }


def restore_module(module: Any, state: dict[str, Any], description: dict[str, Any]) -> None:
    """Give a module just built the dtypes, tensors, frozen parameters and modes of the one that was saved."""
    own, parameters, frozen = (
        set(module.state_dict()) & set(_tensors(module)),
        _parameters(module),
        description["frozen"],
    )
    dtypes = {name: torch_dtype(dtype) for name, dtype in description["dtypes"].items() if name in state}
    if set(dtypes) != own or not set(frozen) <= set(parameters):
        different = sorted(map(str, set(dtypes) ^ own or set(frozen) - set(parameters)))
        raise CheckpointError(f"disagrees with {type(module).__name__} about its tensors {different}.")
    tables = _tables(state, description)
    everywhere = set().union(dtypes.values(), *tables.values())
    floating = {dtype for dtype in everywhere if dtype.is_floating_point}
    if len(floating) == 1:
        module.to(floating.pop())  # the usual way, which lets the module prepare itself for the new dtype
    for name, tensor in _tensors(module).items():
        dtype = dtypes.get(name, tensor.dtype)
        if name not in own and tensor.is_floating_point() and len(tables.get(_owner(name), ())) == 1:
            (dtype,) = tables[_owner(name)]
        if tensor.dtype != dtype:
            tensor.data = tensor.data.to(dtype)  # in place, so that tied parameters stay tied
    module.load_state_dict(state)
    for name, parameter in _parameters(module).items():
        parameter.requires_grad_(name not in frozen)
    for name, part in module.named_modules():
        part.training = name not in description["evaluating"]


def _tables(state: dict[str, Any], description: dict[str, Any]) -> dict[str, set[Any]]:
    """The dtypes of tables that are not saved, by the part that owns them."""
    if "tables" in description:
        return {owner: {torch_dtype(name) for name in names} for owner, names in description["tables"].items()}
    tables: dict[str, set[Any]] = {}
    for name, dtype in description["dtypes"].items():  # as files once were: tables by name, among all the others
        if name not in state and torch_dtype(dtype).is_floating_point:
            tables.setdefault(_owner(name), set()).add(torch_dtype(dtype))
    return tables


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def _parameters(module: Any) -> dict[str, Any]:
    return dict(module.named_parameters(remove_duplicate=False))


def _tensors(module: Any) -> dict[str, Any]:
    return _parameters(module) | dict(module.named_buffers(remove_duplicate=False))
