"""The parameters of a model in groups by their roles."""

import difflib
import fnmatch
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from ..checks import brief
from ..operators.polar_factor import check_steps
from .parameter_groups import OPTIONS, check_choice, check_keys, tensors
from .roles import LINES, ROLES, Place, places, roles

Pattern = str | re.Pattern[str]
COLUMNS = ("group", "tensors", "entries", "decay", "split", "names")
WIDTH = 80  # of the names in the table


class Groups(list[dict[str, Any]]):
    """A list of groups for an optimizer. Printed, it is a table of what is where; layers of one kind are one name.

    Reference: none.

    >>> block = {"params": [(f"blocks.{i}.up.weight", torch.ones(8, 2)) for i in range(12)], "name": "matrices"}
    >>> print(Groups([block]))
    group     tensors  entries  decay  split  names
    matrices       12      192      -      1  blocks.*.up.weight
    """

    def __str__(self) -> str:
        rows = [COLUMNS, *(row for i, group in enumerate(self) for row in _rows(str(i), group))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        sides = "<>>>><"  # numbers to the right
        lines = (zip(row, sides, widths, strict=True) for row in rows)
        return "\n".join("  ".join(f"{cell:{side}{n}}" for cell, side, n in line).rstrip() for line in lines)


def groups(
    model: torch.nn.Module,
    *,
    weight_decay: float | None = None,
    patterns: Mapping[Pattern, str] | None = None,
    split: Mapping[Pattern, int] | None = None,
    **options: Any,
) -> Groups:
    """The parameters of a model in groups for `Hedged`, by their roles. Printed, it says what went where.

    - "matrices" are the hidden ones: weights of linear, convolutional, recurrent and attention layers, factors of LoRA,
      matrices in a parameter of its own, and stacks of them, of shape (E, M, N).
    - "embeddings" are tables, whose rows are seen one by one: embedding layers, also where an output layer is tied to
      one, and parameters of other modules whose name says so (a word of it is pos, embed, token, cls, table, wte, wpe,
      latent, prompt, codebook or the like), with a first axis of 1, or at least 8 times as many rows as columns.
    - "heads" are the output layers: the last layer of each module whose name says so (a word of it is head, classifier,
      score, output or logits, or it is out, fc_out or proj_out) outside of attention and of the blocks in a list. If
      no name does, the linear or convolutional layer that is registered last, unless that is in attention or a block.
    - "vectors" are the rest, which do not decay: biases, gains, scalars, all of norms (the class has norm in its name),
      and what has one axis but for axes of 1.

    Directions of matrices are for the matrices alone; the others have Adam. Each parameter that requires gradients is
    there once, with its name. Names are guesses: print the groups, and tell by ``patterns`` what is otherwise.

    Queries, keys and values of ``torch.nn.MultiheadAttention`` are in one tensor, and are split by 3. Matrices that are
    split have groups of their own with the option "split", and so have convolutions in one dimension, with "stacks":
    False, since a tensor with three axes would be taken as a stack.

    Args:
        model: any module.
        weight_decay: of all but the vectors; None leaves it to the optimizer.
        patterns: roles by patterns of names, as ``{"*.gate": "matrices"}``: strings as those of ``fnmatch``, or
            compiled regular expressions, for the whole name. The first that matches counts.
        split: the number of matrices, one below the other, in matrices with such names, as ``{"*.qkv.weight": 3}``.
            Of a stack, it is that of each of its matrices. The first that matches counts.
        options: for all groups, as ``lr=3e-3``.

    Reference: the custom of Muon, Jordan et al. (2024); for weight decay, that of AdamW.

    >>> block = lambda: torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.MultiheadAttention(4, 2))
    >>> model = torch.nn.Sequential(torch.nn.Embedding(9, 4), block(), block(), torch.nn.Linear(4, 9))
    >>> print(groups(model, weight_decay=0.1))
    group             tensors  entries  decay  split  names
    matrices                2       32    0.1      1  *.1.out_proj.weight
    matrices split 3        2       96    0.1      3  *.1.in_proj_weight
    embeddings              1       36    0.1      1  0.weight
    heads                   1       36    0.1      1  3.weight
    vectors                 9       57      0      1  *.0.weight, *.0.bias, *.1.in_proj_bias, *.1.out_proj.bias, 3.bias
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module; got a {type(model).__name__}.")
    check_keys("groups(...)", options, OPTIONS)
    for name, given in (("patterns", patterns), ("split", split)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"`{name}` must be a dict from patterns of names; got {brief(given)}.")
    found = places(model)
    if lazy := [place.name for place in found if is_lazy(place.p)]:
        raise ValueError(f"`model` must know its shapes; run it once, since {lazy[0]!r} has none.")
    known = _told(found, roles(found), patterns or {})
    parts = _parts(found, known, split or {})
    first: dict[int, Place] = {}
    for place in found:
        first.setdefault(id(place.p), place)
    sorts: dict[tuple[str, int, bool], list[tuple[str, torch.Tensor]]] = {}
    for key, place in first.items():
        if place.p.requires_grad:
            is_flat = known[key] == "matrices" and isinstance(place.owner, LINES)
            sorts.setdefault((known[key], parts.get(key, 1), is_flat), []).append((place.name, place.p))
    if not sorts:
        raise ValueError("`model` must have parameters that require gradients; it has none.")
    return Groups(
        {
            "params": sorts[role, n, is_flat],
            "name": role + " flat" * is_flat + (f" split {n}" if n > 1 else ""),
            **({} if decay is None else {"weight_decay": decay}),
            "matrices": role == "matrices",
            **({"split": n} if n > 1 else {}),
            **({"stacks": False} if is_flat else {}),
            **options,
        }
        for role, n, is_flat in sorted(sorts, key=lambda key: (ROLES.index(key[0]), key[2], key[1]))
        for decay in (0.0 if role == "vectors" else weight_decay,)
    )


def _told(found: Sequence[Place], known: dict[int, str], patterns: Mapping[Pattern, str]) -> dict[int, str]:
    """The roles, with those that patterns tell."""
    told: dict[int, str] = {}
    for pattern, role in patterns.items():
        check_choice("patterns[...]", role, ROLES)
        for place in _matching("patterns", pattern, found):
            if role == "matrices" and place.p.ndim < 2:
                raise ValueError(
                    f"`patterns` must have as matrices what has two axes; {_text(pattern)} matches {place.name!r}, "
                    f"of shape {tuple(place.p.shape)}."
                )
            told.setdefault(id(place.p), role)
    return {**known, **told}


def _parts(found: Sequence[Place], known: dict[int, str], split: Mapping[Pattern, int]) -> dict[int, int]:
    """How many matrices are in each of those that are split, by id."""
    told: dict[int, int] = {}
    for pattern, n in split.items():
        check_steps("split[...]", n)
        matrices = [place for place in _matching("split", pattern, found) if known[id(place.p)] == "matrices"]
        if not matrices:
            raise ValueError(f"`split` must match matrices; {_text(pattern)} matches none of them.")
        for place in matrices:
            _check_rows(place, n)
            told.setdefault(id(place.p), n)
    own = (place for place in found if isinstance(place.owner, torch.nn.MultiheadAttention))
    fused = (id(place.p) for place in own if place.parts[-1] == "in_proj_weight" and known[id(place.p)] == "matrices")
    return {**dict.fromkeys(fused, 3), **told}


def _check_rows(place: Place, n: int) -> None:
    """Raise unless a matrix has rows for n, in a tensor whose rows are outputs."""
    shape = tuple(place.p.shape)
    if n > 1 and type(place.owner).__name__ == "Conv1D":  # of transformers
        raise ValueError(f"`split` is for rows, and those of {place.name!r} are inputs, as in every Conv1D; got {n}.")
    rows = shape[1] if len(shape) == 3 and not isinstance(place.owner, LINES) else shape[0]
    if rows % n:
        raise ValueError(f"`split` must divide the rows of a matrix; got {n} for {place.name!r} of shape {shape}.")


def _matching(name: str, pattern: Pattern, found: Sequence[Place]) -> list[Place]:
    """The parameters that a pattern matches; raise if there are none."""
    if not isinstance(pattern, (str, re.Pattern)):
        raise TypeError(f"`{name}` must have patterns of names as keys; got {brief(pattern)}.")
    matcher = re.compile(fnmatch.translate(pattern)) if isinstance(pattern, str) else pattern
    if matching := [place for place in found if matcher.fullmatch(place.name)]:
        return matching
    near = difflib.get_close_matches(_bare(pattern), _short([place.name for place in found]), 3, 0.0)
    raise ValueError(
        f"`{name}` must match names; {_text(pattern)} matches none, and the nearest are {', '.join(near)}."
    )


def _bare(pattern: Pattern) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


def _text(pattern: Pattern) -> str:
    return brief(_bare(pattern))


def _rows(i: str, group: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """A group in the table: its numbers beside the first line of its names."""
    params = tensors(group)
    numbers = (len(params), sum(p.numel() for p in params), group.get("weight_decay", "-"), group.get("split", 1))
    first = (group.get("name", i), *(f"{number:g}" if isinstance(number, float) else str(number) for number in numbers))
    names = [p[0] if isinstance(p, tuple) else str(tuple(p.shape)) for p in group["params"]]
    wrapped = textwrap.wrap(", ".join(_short(names)), WIDTH, break_on_hyphens=False, break_long_words=False)
    for n, line in enumerate(wrapped or [""]):
        yield (*(("",) * len(first) if n else first), line)


def _short(names: Sequence[str]) -> list[str]:
    """Names that differ in numbers only as one, with stars in their places.

    >>> _short(["a.0.b", "a.1.b", "c.0.d"])
    ['a.*.b', 'c.0.d']
    """
    kinds: dict[str, list[list[str]]] = {}
    for name in names:
        parts = name.split(".")
        kinds.setdefault(".".join("*" if part.isdecimal() else part for part in parts), []).append(parts)
    columns = ([set(column) for column in zip(*those, strict=True)] for those in kinds.values())
    return [".".join(min(column) if len(column) == 1 else "*" for column in each) for each in columns]
