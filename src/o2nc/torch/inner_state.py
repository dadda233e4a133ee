"""The state of an optimizer inside another one: nested dicts and lists of tensors and numbers, as tensors by key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

Tensor = torch.Tensor
Tree = Any  # dicts, lists and tuples of tensors, numbers, strings and None; or of a `Leaf` for each
NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64}  # how they are kept


@dataclass(frozen=True)
class Leaf:
    """What a tensor or a number of a tree is; of a string or None, its value."""

    kind: type
    shape: tuple[int, ...] = ()
    dtype: Any = None  # in which it is kept; None if it need not be
    device: str = "cpu"
    value: Any = None

    def made(self, kept: Tensor) -> Any:
        """The tensor, as a copy, or the number that was kept."""
        return kept.to(self.device, self.dtype, copy=True) if self.kind is Tensor else self.kind(kept.item())


def form_of(tree: Tree, path: str = "state") -> Tree:
    """The structure of a tree, with a `Leaf` for each tensor and number; raise if there is something else.

    >>> form_of({"step": 3, "basis": None})["step"].dtype
    torch.int64
    >>> form_of({"sums": {1, 2}})
    Traceback (most recent call last):
        ...
    TypeError: `state.sums` must be a dense real tensor or a number; got one of set.
    """
    if isinstance(tree, Mapping):
        return {key: form_of(part, f"{path}.{key}") for key, part in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(form_of(part, f"{path}.{k}") for k, part in enumerate(tree))
    if type(tree) in (Tensor, torch.nn.Parameter) and tree.layout is torch.strided and not tree.is_complex():
        return Leaf(Tensor, tuple(tree.shape), tree.dtype, str(tree.device))
    if type(tree) in NUMBERS:
        return Leaf(type(tree), (), NUMBERS[type(tree)])
    if tree is None or isinstance(tree, str):
        return Leaf(type(tree), value=tree)
    raise TypeError(f"`{path}` must be a dense real tensor or a number; got one of {type(tree).__name__}.")


def parts(tree: Tree, path: str) -> Iterator[tuple[str, Any]]:
    """Everything in a tree that is no dict, list or tuple, with its key.

    >>> list(parts({"step": 3, "basis": [1.0, 2.0]}, "state"))
    [('state.step', 3), ('state.basis.0', 1.0), ('state.basis.1', 2.0)]
    """
    if isinstance(tree, Mapping) or type(tree) in (list, tuple):
        for key, part in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            yield from parts(part, f"{path}.{key}")
    else:
        yield path, tree


def flat(form: Tree, tree: Tree, path: str) -> dict[str, Tensor]:
    """The tensors and numbers of a tree as tensors, by key.

    >>> state = {"step": 3, "basis": None}
    >>> flat(form_of(state), state, "soap")
    {'soap.step': tensor(3)}
    """
    pairs = zip(parts(form, path), parts(tree, path), strict=True)
    return {key: torch.as_tensor(a, dtype=leaf.dtype).detach() for (key, leaf), (_, a) in pairs if leaf.dtype}


def made(form: Tree, kept: Mapping[str, Tensor], path: str) -> Tree:
    """The inverse of `flat`: a tree of copies.

    >>> state = {"step": 3, "basis": [None, 0.5]}
    >>> made(form_of(state), flat(form_of(state), state, "soap"), "soap") == state
    True
    """
    if isinstance(form, Leaf):
        return form.value if form.dtype is None else form.made(kept[path])
    if isinstance(form, dict):
        return {key: made(part, kept, f"{path}.{key}") for key, part in form.items()}
    return type(form)(made(part, kept, f"{path}.{k}") for k, part in enumerate(form))
