"""A device that is none: tensors that say they are elsewhere, and refuse to meet one of the CPU, as those of CUDA do.

Their entries are on the CPU, so that everything is computed. It is named "meta", since torch looks for a real CUDA.
"""

import array_api_compat.torch
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")
COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default, torch.ops.aten._foreach_copy_.default)
CONSTRUCTORS = [(torch, "asarray"), (torch, "tensor"), (array_api_compat.torch, "asarray")]


class Far(torch.Tensor):
    """A tensor on the pretended device; ``near`` has its entries."""

    @staticmethod
    def __new__(cls, near):
        options = {"strides": near.stride(), "storage_offset": near.storage_offset(), "dtype": near.dtype}
        far = torch.Tensor._make_wrapper_subclass(cls, near.shape, device=DEVICE, **options)
        far.near = near
        return far

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return called(function, args, kwargs or {})

    def tolist(self):
        return self.near.tolist()


def near(a):
    return a.near if isinstance(a, Far) else a


def is_far(device):
    return torch.device(device).type == DEVICE.type


def called(function, args, kwargs):
    """What the function makes of the entries; an error if tensors of both devices meet, numbers apart."""
    tensors = [a for a in tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
    far = [a for a in tensors if isinstance(a, Far)]
    if far and function not in COPIES:
        written = [a for a in tree_leaves((args[:1], kwargs.get("out"))) if isinstance(a, torch.Tensor)]
        is_written = function._schema.is_mutable and any(not isinstance(a, Far) for a in written)
        if is_written or any(a.ndim and not isinstance(a, Far) for a in tensors):
            raise RuntimeError(f"Expected all tensors of {function} to be on the same device.")
    device = kwargs.get("device")
    goes_far = bool(far) if device is None else is_far(device)
    kwargs = {**kwargs, "device": torch.device("cpu")} if device is not None else kwargs
    found = function(*tree_map(near, args), **tree_map(near, kwargs))
    known = {id(near(a)): a for a in tensors}  # what was changed in its place is returned

    def brought(a):
        return known.get(id(a)) if id(a) in known else Far(a) if goes_far and isinstance(a, torch.Tensor) else a

    return tree_map(brought, found)


class Pretended(TorchDispatchMode):
    """Within it, tensors may be made on the device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return called(function, args, kwargs or {})


def making(make):
    """A function that makes tensors of numbers, for this device too: torch would make them without entries."""

    def made(values, *args, device=None, **options):
        if device is None or not is_far(device) or isinstance(values, Far):
            return (
                make(values, *args, **options)
                if isinstance(values, Far)
                else make(values, *args, device=device, **options)
            )
        return Far(make(values, *args, **options))

    return made
