"""Which role a parameter of a model has: matrix, embedding, head or vector."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.parametrize import ParametrizationList

from ..directions.matrices import is_table

ROLES = ("matrices", "embeddings", "heads", "vectors")
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
LINES = (nn.Conv1d, nn.ConvTranspose1d)  # with three axes, and no stack of matrices
CONVOLUTIONS = (*LINES, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.ConvTranspose3d)
LAYERS = (nn.Linear, nn.Bilinear, *CONVOLUTIONS, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)
SEVERAL = (nn.ModuleList, nn.ModuleDict)
WEIGHT = re.compile(r"weight|weight_v|kernel|[wW]")  # of a layer; the module says what it is for
TABLE = re.compile(
    r"pos|posit.*|posemb.*|pe|ape|emb|embs|embed.*|tokens?|cls|wte|wpe|tables?|latents?|prompts?|codebooks?"
)
GAINS = {"bias", "biases", "gain", "gains", "gamma", "beta", "scale", "scales", "log"}  # act entry by entry
HEAD = re.compile(r"heads?|classifiers?|scores?|outputs?|logits|unembed.*")
OUT = ("out", "fc_out", "proj_out")
ATTENTION = re.compile(r".*(attention|attn)\d*", re.IGNORECASE)


class Place(NamedTuple):
    """A parameter in a model, once for each of its names."""

    name: str
    p: torch.Tensor
    parts: tuple[str, ...]  # of the name, without those of a parametrization
    modules: tuple[nn.Module, ...]  # from the model to the one that has the parameter, one for each part

    @property
    def owner(self) -> nn.Module:
        """The module that has it."""
        return self.modules[-1]


def places(model: nn.Module) -> list[Place]:
    """All parameters of a model, in order, a tied one as often as it has names."""
    return [_place(model, name, p) for name, p in model.named_parameters(remove_duplicate=False)]


def roles(found: Sequence[Place]) -> dict[int, str]:
    """The role of each parameter, by its id.

    A tied one is an embedding if one of its places is; else it is a head if one of them is, else what the first is.

    Reference: the custom of Muon, Jordan et al. (2024): hidden matrices are its own, Adam has the rest.

    >>> model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 5))
    >>> list(roles(places(model)).values())
    ['embeddings', 'matrices', 'vectors', 'heads', 'vectors']
    """
    alone = [(place, role_alone(place)) for place in found]
    heads = set(_heads([place for place, role in alone if role == "matrices"]))
    known: dict[int, str] = {}
    for place, role in alone:
        key, new = id(place.p), "heads" if role == "matrices" and id(place.p) in heads else role
        known[key] = new if key not in known or new == "embeddings" else known[key]
    return known


def role_alone(place: Place) -> str:
    """The role of a parameter by itself: a head is among the matrices.

    In a layer of PyTorch it is known. A parameter of another module goes by its name, then by its shape. The name is
    that of the parameter, or if this is only ``weight``, that of the module and of its class.

    >>> class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.pos_embed, self.mix = nn.Parameter(torch.ones(8, 4)), nn.Parameter(torch.ones(8, 4))
    >>> [role_alone(place) for place in places(Model())]
    ['embeddings', 'matrices']
    """
    p, owner = place.p, place.owner
    is_thin = sum(n > 1 for n in p.shape) < 2
    is_weight = WEIGHT.fullmatch(place.parts[-1]) is not None
    is_gain = is_thin and place.name.endswith(("original0", "weight_g"))  # of weight norm
    own = words(place.parts[-1])
    if isinstance(owner, EMBEDDINGS):
        return "embeddings"
    if p.ndim < 2 or is_gain or (GAINS.intersection(own) and "table" not in own) or is_bias_of_stack(place):
        return "vectors"
    if isinstance(owner, LAYERS):
        return "matrices"
    if "norm" in type(owner).__name__.lower():
        return "vectors"
    if is_weight or isinstance(owner, (nn.ParameterList, nn.ParameterDict)):
        own = own + words(type(owner).__name__) + words(place.parts[-2] if len(place.parts) > 1 else "")
    if any(TABLE.fullmatch(word) for word in own):
        return "embeddings"
    if is_weight or "lora" in own:
        return "matrices"
    if is_thin:
        return "vectors"
    return "embeddings" if p.shape[0] == 1 or is_table(p.shape) else "matrices"


def is_bias_of_stack(place: Place) -> bool:
    """Whether this is b, b1, fc_b or the like, of shape (experts, width), beside a stack of so many matrices.

    >>> class Experts(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w1, self.b1 = nn.Parameter(torch.ones(3, 4, 8)), nn.Parameter(torch.ones(3, 8))
    ...         self.b = nn.Parameter(torch.ones(8, 8))
    >>> [is_bias_of_stack(place) for place in places(Experts())]
    [False, True, False]
    """
    own, shape = words(place.parts[-1]), place.p.shape
    if place.p.ndim < 2 or "b" not in own or "lora" in own:
        return False
    beside = (p.shape for p in place.owner.parameters(recurse=False) if p.ndim == place.p.ndim + 1)
    return any(shape[:-1] == other[:-2] and shape[-1] in other[-2:] for other in beside)


def words(name: str) -> list[str]:
    """The words of a name.

    >>> words("TokenEmbedding"), words("rel_pos_w"), words("lora_A")
    (['token', 'embedding'], ['rel', 'pos', 'w'], ['lora', 'a'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _place(model: nn.Module, name: str, p: torch.Tensor) -> Place:
    parts, modules = tuple(name.split(".")), [model]
    for part in parts[:-1]:
        modules.append(modules[-1]._modules[part])  # type: ignore[arg-type]
    if isinstance(modules[-1], ParametrizationList):  # layer.parametrizations.weight.original
        parts, modules = (*parts[:-3], parts[-2]), modules[:-2]
    return Place(name, p, parts, tuple(modules))


def _heads(matrices: Sequence[Place]) -> Iterator[int]:
    """The ids of the weights of output layers, among the matrices.

    By name, outside of blocks and attention: the last layer of each module that has the name of a head, and of each
    child of a list of them. If no name is one, the last layer of all, unless it is in a block.
    """
    matrices = [place for place in matrices if not any("lora" in words(part) for part in place.parts)]
    last: dict[tuple[str, ...], Place] = {}
    for place in matrices:
        n = next((n for n, part in enumerate(place.parts) if _is_head(part) and not _is_inside(place, n)), None)
        if n is not None and (n == len(place.parts) - 1 or WEIGHT.fullmatch(place.parts[-1])):
            several = n + 1 < len(place.modules) and isinstance(place.modules[n + 1], SEVERAL)
            last[place.parts[: n + 1 + several]] = place
    if not last and matrices:
        place = matrices[-1]
        if WEIGHT.fullmatch(place.parts[-1]) and not _is_inside(place, len(place.parts) - 1):
            last[place.parts] = place
    return (id(place.p) for place in last.values())


def _is_head(part: str) -> bool:
    return part in OUT or any(HEAD.fullmatch(word) for word in words(part))


def _is_inside(place: Place, n: int) -> bool:
    """Whether the module that holds part ``n`` of the name is in attention, or in one of several blocks."""
    above = place.modules[: n + 1]
    names = (*place.parts[:n], *(type(module).__name__ for module in above[1:]))
    return any(map(ATTENTION.fullmatch, names)) or any(_is_block(*pair) for pair in pairwise(above))


def _is_block(container: nn.Module, child: nn.Module) -> bool:
    """Whether a child that has children itself is in a list, or in a sequence with others of its class."""
    if not any(child.children()):
        return False
    if not isinstance(container, nn.Sequential):
        return isinstance(container, SEVERAL)
    return type(child) is not nn.Sequential and sum(type(other) is type(child) for other in container) > 1
