"""Which parameters of a model are hidden matrices, and which of them decay; the same for all rivals."""

from collections.abc import Iterable

from torch import nn

LINEAR = (nn.Linear, nn.modules.conv._ConvNd)  # with one weight
FUSED = (nn.RNNBase, nn.MultiheadAttention)  # with several matrices
LAST = ("head", "last")  # what a last layer is called


def owner(name: str) -> str:
    """The path of the layer that has a parameter."""
    return name.rpartition(".")[0]


def is_listed(model: nn.Module, path: str) -> bool:
    """Whether a layer is in a list of alike ones."""
    while path:
        path = owner(path)
        if isinstance(model.get_submodule(path), nn.ModuleList):
            return True
    return False


def hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The weights of linear layers, convolutions, attention and recurrent networks, but for the last layer.

    Convolutions have more than two axes. Tables are not hidden, nor what is tied to one, nor parameters that belong to
    no such layer. The last layer is the one that is called so, else the last that was registered, if this one is not in
    a list of layers: then the head is tied to a table.
    """
    found: dict[str, nn.Parameter] = {}
    for path, module in model.named_modules():
        for name, p in module.named_parameters(path, recurse=False):
            linear = isinstance(module, LINEAR) and name.endswith("weight")
            if linear or (isinstance(module, FUSED) and p.ndim == 2):
                found[name] = p
    layers = [owner(name) for name in found]
    last = [layer for layer in layers if layer.rpartition(".")[2] in LAST]
    if not last:
        last = [layer for layer in layers[-1:] if not is_listed(model, layer)]
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    chosen = {id(p): p for name, p in found.items() if owner(name) not in last and id(p) not in tables}
    return [*chosen.values()]


def decaying(params: Iterable[nn.Parameter], weight_decay: float) -> list[dict]:
    """Groups of an optimizer: matrices, convolutions and tables decay; biases, norms and scalars do not."""
    found = [*params]
    groups = [
        {"params": [p for p in found if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in found if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
