"""Any optimizer of PyTorch as an expert of `Hedged`."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import torch

from ..checks import check_number
from .inner_state import Tree, flat, form_of, made, parts

Tensor = torch.Tensor
LR = 1e-3  # of a class that has none
SHAPE = (2, 2)  # of the parameter that every class must be able to step


class Shadow:
    r"""An optimizer class as an expert of `Hedged`: where it would go from the current point, over its learning rate.

    $$d=\frac{x-x'}{lr'},$$

    $x'$ the parameter after a step of the class from x with the gradient s, and $lr'$ its learning rate. Alone, at a
    fixed scale and with the same ``lr``, `Hedged` is that optimizer. Each parameter has an optimizer of its own: what a
    class does for all of them together, as clipping by the norm of all gradients, it does for each. The class sees
    gradients, not the tracker, and its weight decay is part of its direction. $x-x'$ is rounded as x is: for short
    steps, as those of SGD, a larger ``lr`` gives more digits.

    What the class keeps lies in the state of `Hedged`. A class that keeps points of its own, as Lookahead does, does
    not know that the mixture went elsewhere. Those that say so, by ``train`` and ``eval``, are refused, and so are
    those that need a closure, and those that keep numbers elsewhere than in their state or their group.

    Args:
        optimizer: a class that derives from ``torch.optim.Optimizer``. It must step without a closure.
        name: its name among the experts, by default that of the class.
        matrices: whether it takes matrices only, as ``torch.optim.Muon`` does. Then it sees the tensors that `Hedged`
            takes as matrices, those with more axes as (first axis, the rest); on others it is "adam".
        options: of the class. Its ``lr`` is by default that of the class, or 0.001 if it has none.

    Reference: none; a direction of Algorithm 1 may depend on all of the past.

    >>> sgd = Shadow(torch.optim.SGD, lr=0.5, momentum=0.9)
    >>> x, s = torch.tensor([1.0, 2.0]), torch.tensor([4.0, -2.0])
    >>> d, kept = sgd.step({}, x, s)
    >>> d, kept
    (tensor([ 4., -2.]), {'SGD.state.momentum_buffer': tensor([ 4., -2.])})
    >>> sgd.step(kept, x, s)[0]
    tensor([ 7.6000, -3.8000])
    """

    whole: ClassVar[bool] = True  # it may need all of a parameter

    def __init__(self, optimizer: Any, *, name: str | None = None, matrices: bool = False, **options: Any):
        check_class(optimizer)
        if name is not None and (not isinstance(name, str) or not name):
            raise TypeError(f"`Shadow(name=...)` must be a string that is not empty; got {name!r}.")
        if not isinstance(matrices, bool):
            raise TypeError(f"`Shadow(matrices=...)` must be True or False; got {matrices!r}.")
        if options.get("maximize"):
            raise ValueError("`Shadow(maximize=...)` must be False; `Hedged(maximize=True)` turns the gradients.")
        self.optimizer, self.options, self.matrices = optimizer, options, matrices
        self.name: str = name or optimizer.__name__
        arguments = inspect.signature(optimizer).parameters
        self._arguments = frozenset(arguments)
        if "lr" in arguments and arguments["lr"].default is inspect.Parameter.empty:
            self.options = {"lr": LR, **options}
        self._forms: dict[Any, Tree] = {}  # of the inner state, by shape, dtype and device
        self.form(SHAPE, torch.float32, "cpu")
        inner, _ = self._inner(torch.zeros(SHAPE), torch.zeros(SHAPE))
        lr = inner.param_groups[0].get("lr")
        self.lr = LR if lr is None else float(lr)
        check_number("Shadow(lr=...)", self.lr, positive=True)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Shadow({self.optimizer.__name__}{options})"

    def form(self, shape: tuple[int, ...], dtype: torch.dtype, device: Any) -> Tree:
        """The form of what is kept of a parameter, by two steps from 0; raise if the class refuses it."""
        key = (tuple(shape), dtype, "cpu" if str(device) == "meta" else str(device))
        if key not in self._forms:
            self._forms[key] = self._probed(*key)
        return self._forms[key]

    def entry(self, shape: tuple[int, ...], dtype: torch.dtype, device: Any) -> dict[str, Tensor]:
        """Zeros in the form of what is kept, before the first step."""
        leaves = parts(self.form(shape, dtype, device), self.name)
        return {key: torch.zeros(a.shape, dtype=a.dtype, device=device) for key, a in leaves if a.dtype}

    def dtypes(self, shape: tuple[int, ...], dtype: torch.dtype, device: Any) -> dict[str, torch.dtype]:
        """The dtype of all that is kept."""
        return {key: a.dtype for key, a in parts(self.form(shape, dtype, device), self.name) if a.dtype}

    def step(self, kept: Mapping[str, Tensor], x: Tensor, s: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The direction at x with the gradient s, and what is kept then; ``kept`` is empty before the first step."""
        form = self.form(x.shape, x.dtype, x.device)
        inner, p = self._inner(x, s)
        group = inner.param_groups[0]
        if kept:
            tree = made(form, kept, self.name)
            inner.state[p] = tree["state"]
            group.update(tree["group"])
        before = numbers(group)
        inner.step()
        changed = differing(before, numbers(group)) - set(form["group"])
        tree = {"state": inner.state.get(p, {}), "group": {key: group.get(key) for key in form["group"]}}
        if changed or form_of(tree) != form:
            what = f"its option {min(changed)!r}" if changed else "the form of its state"
            raise ValueError(
                f"The expert {self.name!r} must keep in every step what it kept in the first ones; {what} has changed."
            )
        d = (x - p.detach().reshape(x.shape)) / self.lr
        return d, flat(form, tree, self.name)

    @torch.enable_grad()
    def _inner(self, x: Tensor, s: Tensor) -> tuple[torch.optim.Optimizer, Tensor]:
        """An optimizer of the class for a shadow of x, with the gradient s."""
        shape = (len(x), -1) if self.matrices else x.shape
        p = torch.nn.Parameter(x.detach().clone().reshape(shape))
        p.grad = s.detach().clone().reshape(shape)
        return self.optimizer([p], **self.options), p

    def _probed(self, shape: tuple[int, ...], dtype: torch.dtype, device: str) -> Tree:
        """The form, by two steps from 0 with gradients of 1."""
        s = torch.ones(shape, dtype=dtype, device=device)
        try:
            with torch.random.fork_rng(devices=[]):
                inner, p = self._inner(torch.zeros_like(s), s)
                group, attributes = inner.param_groups[0], numbers(vars(inner))
                before, forms = numbers(group), []
                for _ in range(2):
                    p.grad = s.clone().reshape(p.shape)
                    inner.step()
                    forms.append(form_of(inner.state.get(p, {})))
        except Exception as error:
            raise self._refusal(shape, error) from error
        if changed := differing(before, numbers(group)):  # its counters are there
            changed |= numbers(group).keys() - self._arguments
        elsewhere = differing(attributes, numbers(vars(inner)))
        if elsewhere or set(inner.state) - {p} or forms[0] != forms[1]:
            where = f"its attribute {min(elsewhere)!r}" if elsewhere else "what it kept in one step and not in the next"
            raise ValueError(
                f"The expert {self.name!r} must keep what it needs in the state of the parameter, or in its group, "
                f"from the first step on; found {where}."
            )
        return {"state": forms[1], "group": form_of({key: group[key] for key in sorted(changed)})}

    def _refusal(self, shape: tuple[int, ...], error: Exception) -> ValueError:
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        hint = (
            f" With `Shadow({self.optimizer.__name__}, matrices=True)` it is 'adam' where a parameter is no matrix; "
            "groups may have experts of their own."
        )
        return ValueError(
            f"The expert {self.name!r} must be able to step a parameter of shape {shape} without a closure; it said: "
            f"{said}.{'' if len(shape) == 2 else hint}"
        )


def check_class(optimizer: Any) -> None:
    """Raise unless this is the class of an optimizer that steps without a closure, and has one point.

    >>> check_class(torch.optim.LBFGS)
    Traceback (most recent call last):
        ...
    ValueError: `Shadow(optimizer=...)` must step without a closure; LBFGS needs one.
    """
    is_class = isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer)
    if not is_class or optimizer is torch.optim.Optimizer:
        raise TypeError(
            "`Shadow(optimizer=...)` must be a class that derives from `torch.optim.Optimizer`, as `torch.optim.NAdam`"
            f"; got {optimizer.__name__ if isinstance(optimizer, type) else f'one of {type(optimizer).__name__}'}."
        )
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise ValueError(f"`Shadow(optimizer=...)` must step without a closure; {optimizer.__name__} needs one.")
    if callable(getattr(optimizer, "eval", None)) and callable(getattr(optimizer, "train", None)):
        raise ValueError(
            f"`Shadow(optimizer=...)` must have one point; {optimizer.__name__} has `train` and `eval`, for two."
        )


def shadowed(expert: Any) -> Any:
    """What was given as an expert, with a `Shadow` in the place of a class, a class with options, or an optimizer.

    >>> shadowed(torch.optim.NAdam), shadowed(partial(torch.optim.RMSprop, alpha=0.9)), shadowed("adam")
    (Shadow(NAdam), Shadow(RMSprop, alpha=0.9), 'adam')
    """
    given, options = (expert.func, expert.keywords) if isinstance(expert, partial) else (expert, {})
    is_class = isinstance(given, type) and issubclass(given, torch.optim.Optimizer)
    return Shadow(given, **options) if is_class or isinstance(given, torch.optim.Optimizer) else expert


def numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers among options or attributes, and tensors with one entry, as copies."""
    found = {key: a for key, a in options.items() if isinstance(a, (bool, int, float)) and not key.startswith("_")}
    tensors = {key: a.clone() for key, a in options.items() if isinstance(a, Tensor) and a.numel() == 1}
    return found | tensors


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The keys of what has changed or is new.

    >>> differing({"lr": 0.1, "k": 0}, {"lr": 0.1, "k": 1, "d": 2.0}) == {"k", "d"}
    True
    """
    return {key for key, a in after.items() if key not in before or bool(before[key] != a)}
