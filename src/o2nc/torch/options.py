"""What the options of a group of `Hedged` must be."""

from typing import Any

from ..checks import check_number, check_share
from .arguments import check_group, tensors
from .experts import Expert, Mask, check_experts

SCOPES = ("shared", "group", "tensor")


def check_options(group: dict[str, Any], others: list[dict[str, Any]]) -> tuple[Expert, ...]:
    """The experts of a group; raise unless its options are what they must be, also beside those of other groups."""
    check_group(group)
    betas = group["betas"]
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise ValueError(f"`betas` must be two numbers; got {betas!r}.")
    for name, value in (("betas[0]", betas[0]), ("betas[1]", betas[1]), ("rho", group["rho"])):
        check_share(name, value)
    for name in ("eps", "c"):
        check_number(name, group[name], positive=True)
    for name in ("maximize", "matrices"):
        if not isinstance(group[name], bool):
            raise TypeError(f"`{name}` must be True or False; got {group[name]!r}.")
    if group["weights"] not in SCOPES:
        raise ValueError(f"`weights` must be among {SCOPES}; got {group['weights']!r}.")
    experts = check_experts(group["experts"])
    for mask in (expert for expert in experts if isinstance(expert, Mask)):
        for p in tensors(group):
            mask.factors(p)  # raises if it does not fit
    for other in others:
        if {other["weights"], group["weights"]} == {"shared"} and other["experts"] == names(experts):
            _check_learner(other, group)
    return experts


def names(experts: tuple[Expert, ...]) -> tuple[str, ...]:
    """The names of experts."""
    return tuple(expert.name for expert in experts)


def _check_learner(one: dict[str, Any], two: dict[str, Any]) -> None:
    for name in ("rho", "c"):
        if one[name] != two[name]:
            raise ValueError(
                f"Groups with the same experts and `weights='shared'` must have the same `{name}`; got {one[name]} and "
                f"{two[name]}."
            )
