"""Groups of parameters: what they and their options must be."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

import torch

from ..checks import check_decay, check_known, check_number, check_share
from ..conversions.scales import SCALES
from ..operators.polar_factor import check_precision, check_steps
from .shards import local

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
LARGEST = 1e15  # of a rate: the product of two is a number of float32
SCOPES = ("shared", "group", "tensor")
OPTIONS = (
    "lr",
    "experts",
    "betas",
    "eps",
    "weight_decay",
    "scale",
    "weights",
    "matrices",
    "sight",
    "precision",
    "rho",
    "c",
    "maximize",
)  # of `Hedged`
OPTIONAL = ("split", "stacks")  # of groups of matrices: fields of `o2nc.directions.OnMatrices` that are told
TRAINERS = (  # what schedulers and trainers write into groups
    "params", "param_names", "name", "initial_lr", "max_lr", "min_lr", "base_lr", "swa_lr", "lr_scale", "lr_mult",
    "momentum", "base_momentum", "max_momentum", "foreach", "fused", "capturable", "differentiable", "version",
    "skipped",
)  # fmt: skip


def listed(params: Any) -> list[Any]:
    """Parameters, named parameters or groups as a list; raise unless they are an ordered collection.

    >>> listed(p for p in [1, 2])
    [1, 2]
    >>> listed(torch.nn.Linear(1, 1))
    Traceback (most recent call last):
        ...
    TypeError: `params` must be tensors, as of `model.parameters()`, or `groups(model)`; got a Linear.
    """
    if isinstance(params, torch.nn.Module) and not isinstance(params, torch.nn.ParameterList):
        name = type(params).__name__
        raise TypeError(f"`params` must be tensors, as of `model.parameters()`, or `groups(model)`; got a {name}.")
    if isinstance(params, torch.Tensor):
        return [params]
    if isinstance(params, (str, set, dict)) or not isinstance(params, Iterable):
        raise TypeError(f"`params` must be tensors, named tensors or groups, in order; got a {type(params).__name__}.")
    return list(params)


def listed_group(group: Any) -> dict[str, Any]:
    """A group with its parameters as a list; raise unless it is a dict that has some."""
    if not isinstance(group, dict) or "params" not in group:
        got = sorted(map(str, group)) if isinstance(group, dict) else f"a {type(group).__name__}"
        raise TypeError(f"A group must be a dict with the key 'params'; got {got}.")
    return {**group, "params": listed(group["params"])}


def check_keys(name: str, given: Iterable[Any], known: Iterable[str], is_full: bool = False) -> None:
    """Raise unless all keys are options (and all of them, if it ``is_full``), or what trainers write beside them.

    >>> check_keys("A group", {"weight_dekay": 0.1}, OPTIONS)
    Traceback (most recent call last):
        ...
    ValueError: A group must have known options; got 'weight_dekay', and the nearest is 'weight_decay'.
    """
    known, given = tuple(known), tuple(given)
    check_known(name, (key for key in given if key not in OPTIONAL and key not in TRAINERS), known)
    if is_full and (missing := [key for key in known if key not in given]):
        raise ValueError(f"{name} must have {missing[0]!r}; it has not.")


def tensors(group: dict[str, Any]) -> list[Any]:
    """The parameters of a group without their names."""
    return [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in group["params"]]


def check_device(params: Iterable[torch.Tensor]) -> None:
    """Raise unless parameters are on one device."""
    if len(devices := {str(p.device) for p in params}) > 1:
        raise ValueError(f"All parameters must be on one device; got {', '.join(sorted(devices))}.")


def check_dense(grad: torch.Tensor) -> None:
    """Raise unless a gradient is dense."""
    if grad.layout != torch.strided:
        raise TypeError(f"Gradients must be dense; got one with layout {grad.layout}.")


def check_group(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are nonnegative, and ``params`` real floating tensors.

    Of what is no tensor it says what PyTorch says.
    """
    check_rates(group)
    for p in tensors(group):
        if not isinstance(p, torch.Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {torch.typename(p)}")
        if p.dtype not in DTYPES:
            raise TypeError(f"`params` must have one of the dtypes {', '.join(map(str, DTYPES))}; got {p.dtype}.")


def check_rates(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are finite and nonnegative, and less than all of a weight decays.

    A scheduler may have set them.
    """
    found = []
    for name in ("lr", "weight_decay"):
        value = group[name]
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise ValueError(f"`{name}` must have one entry; got a tensor of shape {tuple(value.shape)}.")
            value = value.item()
        check_rate(name, value)
        found.append(value)
    check_decay("lr", *found)


def check_rate(name: str, value: Any, *, positive: bool = False) -> None:
    """Raise unless ``value`` is a number, and one whose products with others are numbers of float32.

    >>> check_rate("lr", 1e38)
    Traceback (most recent call last):
        ...
    ValueError: `lr` must be at most 1e+15; got 1e+38.
    """
    check_number(name, value, positive=positive)
    if value > LARGEST:
        raise ValueError(f"`{name}` must be at most {LARGEST:g}; got {value:g}.")


def is_rounding(p: torch.Tensor, x: torch.Tensor) -> bool:
    """Whether ``p`` is ``x``, rounded to its dtype, or first to that of a model from which it was loaded.

    >>> x = torch.tensor([0.1], dtype=torch.float64)
    >>> is_rounding(x.to(torch.bfloat16), x), is_rounding(x.to(torch.float16).to(torch.float32), x)
    (True, True)
    >>> is_rounding(x + 1e-16, x)
    False
    """
    return any(torch.equal(p, x.to(dtype).to(p.dtype)) for dtype in (p.dtype, *DTYPES))


def width(p: torch.Tensor) -> torch.dtype:
    """The dtype of the state of a parameter: float64 for float64, else float32."""
    return torch.float64 if p.dtype == torch.float64 else torch.float32


def check_fits(p: torch.Tensor, entry: Mapping[str, torch.Tensor], numbers: Container[str]) -> None:
    """Raise if a model was cast to a dtype in which its state, besides the numbers, is not finite."""
    for key, tensor in entry.items():
        if tensor.dtype == torch.float64 != width(p) and key not in numbers:
            a = local(tensor)
            cast = a.to(width(p))
            if key == "m" or key.startswith("e."):
                cast = cast.square().sum()  # of which a step needs inner products
            if not bool(cast.isfinite().all()) and bool(a.isfinite().all()):
                raise ValueError(
                    f"The state of a parameter must fit into {width(p)}, to which its model was cast; {key!r} has "
                    f"numbers up to {float(a.abs().max()):.3g}. Nothing was changed."
                )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"`{name}` must be among {choices}; got {value!r}.")


def check_flags(flags: dict[str, Any]) -> None:
    """Raise unless all are True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"`{name}` must be True or False; got {value!r}.")


def check_implementation(given: dict[str, Any]) -> None:
    """Raise unless ``foreach`` and ``fused``, as far as they are given, are what torch's optimizers take.

    >>> check_implementation({"foreach": True, "fused": True})
    Traceback (most recent call last):
        ...
    RuntimeError: `fused` and `foreach` cannot be `True` together.
    """
    flags = {name: given[name] for name in ("foreach", "fused") if given.get(name) is not None}
    check_flags(flags)
    if len(flags) == 2 and all(flags.values()):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")  # the words of torch


def check_options(group: dict[str, Any]) -> None:
    """Raise unless the options of a group of `Hedged` are what they must be; its experts are another matter."""
    check_rates(group)
    betas = group["betas"]
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise ValueError(f"`betas` must be two numbers; got {betas!r}.")
    shares = {"betas[0]": betas[0], "betas[1]": betas[1], "rho": group["rho"]}
    for name, value in shares.items():
        check_share(name, value)
    check_rate("eps", group["eps"], positive=True)
    for name in ("sight", "c") if group["sight"] is not None else ("c",):
        check_number(name, group[name])
    check_flags({"maximize": group["maximize"]})
    if group["matrices"] is not None:
        check_flags({"matrices": group["matrices"]})
    check_precision("precision", group["precision"])
    check_choice("scale", group["scale"], tuple(SCALES))
    check_choice("weights", group["weights"], SCOPES)
    check_steps("split", group.get("split", 1))
    check_flags({name: group[name] for name in ("stacks",) if name in group})


def check_shared(group: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise unless groups that have one learner have one discount and one rate."""
    for name in ("rho", "c"):
        if other[name] != group[name]:
            raise ValueError(
                f"Groups with the same experts and `weights='shared'` must have the same `{name}`; got "
                f"{other[name]} and {group[name]}."
            )
