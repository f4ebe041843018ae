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
    tensors = _tensors(module)
    return {
        "dtypes": {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in tensors.items()},
        "frozen": [name for name, parameter in _parameters(module).items() if not parameter.requires_grad],
        "evaluating": [name for name, part in module.named_modules() if not part.training],
    }


def restore_module(module: Any, state: dict[str, Any], description: dict[str, Any]) -> None:
    """Give a module just built the dtypes, tensors, frozen parameters and modes of the one that was saved."""
    tensors, parameters = _tensors(module), _parameters(module)
    dtypes, frozen = description["dtypes"], description["frozen"]
    if set(dtypes) != set(tensors) or not set(frozen) <= set(parameters):
        different = sorted(map(str, set(dtypes) ^ set(tensors) or set(frozen) - set(parameters)))
        raise CheckpointError(f"disagrees with {type(module).__name__} about its tensors {different}.")
    wanted = {name: torch_dtype(dtype) for name, dtype in dtypes.items()}
    floating = {dtype for dtype in wanted.values() if dtype.is_floating_point}
    if len(floating) == 1:
        module.to(floating.pop())  # the usual way, which lets the module prepare itself for the new dtype
    for name, tensor in _tensors(module).items():
        if tensor.dtype != wanted[name]:
            tensor.data = tensor.data.to(wanted[name])  # in place, so that tied parameters stay tied
    module.load_state_dict(state)
    for name, parameter in _parameters(module).items():
        parameter.requires_grad_(name not in frozen)
    for name, part in module.named_modules():
        part.training = name not in description["evaluating"]


def _parameters(module: Any) -> dict[str, Any]:
    return dict(module.named_parameters(remove_duplicate=False))


def _tensors(module: Any) -> dict[str, Any]:
    return _parameters(module) | dict(module.named_buffers(remove_duplicate=False))
