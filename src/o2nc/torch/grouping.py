"""Groups of parameters by what they are."""

from typing import Any

import torch

TABLES = (torch.nn.Embedding, torch.nn.EmbeddingBag)


def groups(model: torch.nn.Module, *, weight_decay: float = 0.0, **options: Any) -> list[dict[str, Any]]:
    """The parameters of a model in up to three groups for `Hedged`.

    "matrices" are all with two axes or more, the weights of linear layers and convolutions. "embeddings" are the tables
    of embedding layers, also where an output layer is tied to one: their rows are seen one by one, so that "polar" does
    not take them as matrices. "vectors" are the rest, biases, norms and scalars: they do not decay.

    Only parameters that require gradients are in them, each once, with their names. An output layer of its own is among
    the matrices; the dicts can be changed before they are given to an optimizer.

    Args:
        model: any module.
        weight_decay: of matrices and embeddings.
        options: for all groups, as ``lr=3e-3``.

    Reference: the custom of AdamW and Muon, Jordan et al. (2024).

    >>> model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5))
    >>> for group in groups(model, weight_decay=0.1):
    ...     print(group["name"], [name for name, _ in group["params"]], group["weight_decay"], group["matrices"])
    matrices ['1.weight'] 0.1 True
    embeddings ['0.weight'] 0.1 False
    vectors ['1.bias'] 0.0 False
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module; got a {type(model).__name__}.")
    tables = {id(module.weight) for module in model.modules() if isinstance(module, TABLES)}
    found: dict[str, list[tuple[str, torch.Tensor]]] = {"matrices": [], "embeddings": [], "vectors": []}
    for name, p in model.named_parameters():
        if p.requires_grad:
            kind = "embeddings" if id(p) in tables else "matrices" if p.ndim >= 2 else "vectors"
            found[kind].append((name, p))
    if not any(found.values()):
        raise ValueError("`model` must have parameters that require gradients; it has none.")
    return [
        {
            "params": params,
            "name": name,
            "weight_decay": 0.0 if name == "vectors" else weight_decay,
            "matrices": name == "matrices",
            **options,
        }
        for name, params in found.items()
        if params
    ]
