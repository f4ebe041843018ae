"""A pretend accelerator: tensors that claim another device, refuse to mix, and count what the host waits for.

A stand-in where no accelerator is at hand. Inside ``with PretendDevice("cuda:0") as device:`` whatever is made there or
moved there is marked. Marked tensors say that they are on that device; they meet no tensor of the CPU with more than
one number, become no NumPy array, and where asked (``float64=False``, as on MPS) have no double precision. Each time
the host would wait for a value (``item``, ``bool``, ``tolist``, ``nonzero``, ``unique``, a copy back) is counted in
`waits`, by name. Kernels, memory and speed of a real device are another matter: nothing here has run on one.
"""

import collections
import contextlib
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as nests
from torch.utils import checkpoint


class Marked(Tensor):
    """A tensor that claims to be on the pretend device."""

    __torch_function__ = torch._C._disabled_torch_function_impl


WAITING = {
    Tensor.item, Tensor.tolist, Tensor.__bool__, Tensor.__float__, Tensor.__int__, Tensor.__index__,
    Tensor.nonzero, torch.nonzero, Tensor.unique, torch.unique, torch.equal, Tensor.equal, torch.allclose,
}  # fmt: skip
# What looks at a tensor without computing, or is done in place on a leaf: passed on as it is.
PASSED_ON = {
    Tensor.requires_grad_, Tensor.backward, Tensor.register_hook, Tensor.as_subclass, Tensor.__repr__, Tensor.dim,
    Tensor.size, Tensor.numel, Tensor.is_floating_point, Tensor.is_complex,
}  # fmt: skip
# Indices may stand on the host; lengths of packed sequences must.
PACKING = {"_pack_padded_sequence", "_pad_packed_sequence"}
MIXING_ALLOWED = {"__getitem__", "__setitem__", "copy_", *PACKING, "_has_compatible_shallow_copy_type"}


def unmarked(value):
    return value.as_subclass(Tensor) if isinstance(value, Marked) else value


class PretendDevice(TorchFunctionMode):
    def __init__(self, name="cuda:0", *, float64=True):
        super().__init__()
        self.device = torch.device(name)
        self.float64 = float64
        self.waits = collections.Counter()
        self._backward = False

    def __enter__(self):
        # A module that is moved gets new parameters: a parameter whose data is replaced would keep its old class.
        self._before = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        # What is computed again in a backward pass comes without its mark, and torch would miss it.
        self._checks = mock.patch.dict(checkpoint._allowed_determinism_checks_to_fns, default=lambda tensor: None)
        self._checks.start()
        super().__enter__()
        return self

    def __exit__(self, *error):
        self._checks.stop()
        torch.__future__.set_overwrite_module_params_on_conversion(self._before)
        return super().__exit__(*error)

    @contextlib.contextmanager
    def backward(self):
        """Around ``loss.backward()``: what autograd keeps loses its mark, so that mixtures are not looked for."""
        self._backward = True
        try:
            yield
        finally:
            self._backward = False

    def mark(self, value):
        if not isinstance(value, Tensor) or isinstance(value, Marked):
            return value
        if not self.float64 and value.dtype == torch.float64:
            raise TypeError(f"Cannot convert a tensor to float64 on {self.device}: it has no double precision.")
        return value.as_subclass(Marked)

    def marked(self, tree):
        return nests.tree_map(self.mark, tree)

    def is_here(self, device):
        return device is not None and torch.device(device).type == self.device.type

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [one for one in nests.tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        here = [one for one in tensors if isinstance(one, Marked)]
        first = args[0] if args else None
        name = getattr(function, "__name__", str(function))
        if function == Tensor.device.__get__:
            return self.device if isinstance(first, Marked) else function(first)
        if function in (Tensor.is_cuda.__get__, Tensor.is_cpu.__get__, Tensor.is_mps.__get__):
            kind = self.device.type if isinstance(first, Marked) else "cpu"
            return {Tensor.is_cuda.__get__: "cuda", Tensor.is_cpu.__get__: "cpu"}.get(function, "mps") == kind
        if name in ("__get__", "__set__"):
            found = function(*args, **kwargs)
            return self.marked(found) if here and isinstance(found, Tensor) else found
        if function in PASSED_ON:
            return function(*args, **kwargs)
        if function in (Tensor.numpy, Tensor.__array__) and here:
            raise TypeError(f"can't convert {self.device} device type tensor to numpy; use Tensor.cpu() first.")
        if function in (Tensor.to, Tensor.cpu, Tensor.double, Tensor.float):
            return self._moved(function, first, args, kwargs)
        if function in WAITING and here:
            self.waits[name] += 1
        made_here = self.is_here(kwargs.get("device"))
        elsewhere = kwargs.get("device") is not None and not made_here
        if made_here:
            kwargs["device"] = "cpu"
        if here and not self._backward and name not in MIXING_ALLOWED:
            self._refuse_mixture(name, first, tensors)
        found = function(*nests.tree_map(unmarked, args), **nests.tree_map(unmarked, kwargs))
        if function in (Tensor.item, Tensor.tolist):
            return found
        if name in PACKING:  # the sizes of packed batches stay on the host
            return self.mark(found[0]), found[1]
        return self.marked(found) if (here or made_here) and not elsewhere else found

    def _moved(self, function, tensor, args, kwargs):
        target, dtype = isinstance(tensor, Marked), kwargs.get("dtype")
        if function == Tensor.cpu:
            target = False
        given = [*args[1:], *(kwargs.get(key) for key in ("device", "other"))]
        for one in given:
            if isinstance(one, torch.dtype):
                dtype = one
            elif isinstance(one, Tensor):
                target, dtype = isinstance(one, Marked), one.dtype
            elif isinstance(one, (str, int, torch.device)) and not isinstance(one, bool):
                target = self.is_here(one)
        dtype = {Tensor.double: torch.float64, Tensor.float: torch.float32}.get(function, dtype)
        if isinstance(tensor, Marked) and not target:
            self.waits["copy to the host"] += 1
        found = unmarked(tensor)
        if kwargs.get("copy"):
            found = found.clone()
        found = found if dtype is None else found.to(dtype)
        return self.mark(found) if target else found

    def _refuse_mixture(self, name, first, tensors):
        strangers = [one for one in tensors if not isinstance(one, Marked) and one.dim() > 0]
        if name in ("lstm", "gru", "rnn_tanh"):  # which take the sizes of packed batches from the host
            strangers = [one for one in strangers if one.is_floating_point()]
        in_place = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i")
        if strangers or (in_place and isinstance(first, Tensor) and not isinstance(first, Marked)):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found {self.device} and cpu! ({name})"
            )
