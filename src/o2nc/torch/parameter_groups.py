"""Groups of parameters: what they and their options must be."""

import difflib
from collections.abc import Iterable
from typing import Any

import torch

from ..checks import check_number, check_share
from ..operators.polar_factor import check_steps

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
SCALES = ("learned", "fixed")
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
    "rho",
    "c",
    "maximize",
)  # of `Hedged`
OPTIONAL = ("split", "stacks")  # of groups of matrices: fields of `o2nc.directions.OnMatrices` that are told
TRAINERS = (  # what schedulers and trainers write into groups
    "params", "param_names", "name", "initial_lr", "max_lr", "min_lr", "base_lr", "swa_lr", "lr_scale", "lr_mult",
    "momentum", "base_momentum", "max_momentum", "foreach", "fused", "capturable", "differentiable", "version",
)  # fmt: skip


def listed(params: Any) -> list[Any]:
    """Parameters, named parameters or groups as a list; raise unless they are an ordered collection.

    >>> listed(p for p in [1, 2])
    [1, 2]
    >>> listed(torch.nn.Linear(1, 1))
    Traceback (most recent call last):
        ...
    TypeError: `params` must be tensors, named tensors or groups, in order; got a Linear.
    """
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
    if unknown := [key for key in given if key not in known and key not in OPTIONAL and key not in TRAINERS]:
        near = difflib.get_close_matches(str(unknown[0]), known, 1)
        hint = f"the nearest is {near[0]!r}" if near else f"there are {', '.join(known)}"
        raise ValueError(f"{name} must have known options; got {unknown[0]!r}, and {hint}.")
    if is_full and (missing := [key for key in known if key not in given]):
        raise ValueError(f"{name} must have {missing[0]!r}; it has not.")


def tensors(group: dict[str, Any]) -> list[Any]:
    """The parameters of a group without their names."""
    return [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in group["params"]]


def check_device(params: Iterable[torch.Tensor]) -> None:
    """Raise unless parameters are on one device."""
    if len(devices := {str(p.device) for p in params}) > 1:
        raise ValueError(f"All parameters must be on one device; got {', '.join(sorted(devices))}.")


def check_dense(p: torch.Tensor) -> None:
    """Raise unless the gradient of a parameter is dense, if it has one."""
    if p.grad is not None and p.grad.layout != torch.strided:
        raise TypeError(f"Gradients must be dense; got one with layout {p.grad.layout}.")


def check_group(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are nonnegative, and ``params`` real floating tensors, each once."""
    check_rates(group)
    params = tensors(group)
    for p in params:
        if not isinstance(p, torch.Tensor):
            raise TypeError(f"`params` must be tensors; got a {type(p).__name__} among them.")
        if p.dtype not in DTYPES:
            raise TypeError(f"`params` must have one of the dtypes {', '.join(map(str, DTYPES))}; got {p.dtype}.")
    if len({id(p) for p in params}) < len(params):
        raise ValueError("`params` must hold every parameter once; a group has one of them twice.")


def check_rates(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are finite and nonnegative: a scheduler may have set them."""
    for name in ("lr", "weight_decay"):
        value = group[name]
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise ValueError(f"`{name}` must have one entry; got a tensor of shape {tuple(value.shape)}.")
            value = value.item()
        check_number(name, value)


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


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"`{name}` must be among {choices}; got {value!r}.")


def check_flags(flags: dict[str, Any]) -> None:
    """Raise unless all are True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"`{name}` must be True or False; got {value!r}.")


def check_options(group: dict[str, Any]) -> None:
    """Raise unless the options of a group of `Hedged` are what they must be; its experts are another matter."""
    check_rates(group)
    betas = group["betas"]
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise ValueError(f"`betas` must be two numbers; got {betas!r}.")
    shares = {"betas[0]": betas[0], "betas[1]": betas[1], "rho": group["rho"]}
    for name, value in shares.items():
        check_share(name, value)
    check_number("eps", group["eps"], positive=True)
    for name in ("sight", "c"):
        check_number(name, group[name])
    check_flags({"maximize": group["maximize"]})
    if group["matrices"] is not None:
        check_flags({"matrices": group["matrices"]})
    check_choice("scale", group["scale"], SCALES)
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
