"""States as plain data, which every checkpoint format can store.

A state is a named tuple of arrays, of tuples, and of other such states. Formats that know dicts, lists and arrays only
(``torch.save`` with ``weights_only``, ``numpy.savez``, JSON with an encoder for arrays) take it packed.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

State = Any  # a NamedTuple of arrays, tuples and States
Packed = Any  # nested dicts and lists of arrays


def is_named_tuple(value: Any) -> bool:
    """Whether ``value`` is an instance of a NamedTuple class."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


class ByBlock(NamedTuple):
    """States of which the k-th is about block k of a vector, and about no other.

    Reference: none; a front end that keeps state per parameter puts each where it belongs.

    >>> list(leaves(ByBlock((1.0, 2.0)), "x"))
    [('x.parts[0]', 1.0), ('x.parts[1]', 2.0)]
    """

    parts: tuple[State, ...]


def leaves(state: State, name: str = "state", kept: type | tuple[type, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Everything in a state that is no tuple, with the path that leads to it, in the order of the fields.

    Tuples of a class in ``kept`` are not taken apart.

    >>> from o2nc import Blocks
    >>> list(leaves(Blocks((1.0, 2.0)), "x"))
    [('x.arrays[0]', 1.0), ('x.arrays[1]', 2.0)]
    >>> list(leaves(Blocks((1.0, 2.0)), "x", kept=Blocks))
    [('x', Blocks(arrays=(1.0, 2.0)))]
    """
    if is_named_tuple(state) and not isinstance(state, kept):
        for field, value in zip(state._fields, state, strict=True):
            yield from leaves(value, f"{name}.{field}", kept)
    elif isinstance(state, tuple) and not isinstance(state, kept):
        for k, value in enumerate(state):
            yield from leaves(value, f"{name}[{k}]", kept)
    else:
        yield name, state


def rebuild(like: State, values: Iterator[Any], kept: type | tuple[type, ...] = ()) -> State:
    """The structure of ``like`` with ``values`` in the place of its leaves, in their order.

    >>> rebuild((1, (2, 3)), iter("abc"))
    ('a', ('b', 'c'))
    """
    if isinstance(like, kept) or not isinstance(like, tuple):
        return next(values)
    parts = [rebuild(value, values, kept) for value in like]
    return type(like)(*parts) if is_named_tuple(like) else tuple(parts)


def pack(state: State, convert: Callable[[Any], Any] = lambda array: array) -> Packed:
    """A state as nested dicts (of named tuples) and lists (of tuples), each array through ``convert``.

    Reference: none; `unpack` is the inverse.

    >>> import numpy as np
    >>> from o2nc.oracles import Hedge
    >>> from o2nc.operators import Identity
    >>> state = Hedge([Identity(), Identity()]).init(np.zeros(3))
    >>> pack(state, lambda array: array.tolist())
    {'learner': {'C': [0.0, 0.0], 'E': [0.0], 't': [1]}, 't': [1]}
    """
    if is_named_tuple(state):
        return {field: pack(value, convert) for field, value in zip(state._fields, state, strict=True)}
    if isinstance(state, tuple):
        return [pack(value, convert) for value in state]
    return convert(state)


def unpack(packed: Packed, like: State, convert: Callable[[Any, Any], Any] = lambda array, like: array) -> State:
    """The state that was packed, in the structure of ``like``: a state of the same object, such as ``init`` makes.

    Args:
        packed: what `pack` returned.
        like: a state with the same fields.
        convert: from a stored array, and the one at its place in ``like``, to an array of the state.

    Reference: none; the inverse of `pack`.

    >>> import numpy as np
    >>> from o2nc.oracles import Hedge
    >>> from o2nc.operators import Identity
    >>> state = Hedge([Identity(), Identity()]).init(np.zeros(3))
    >>> unpack(pack(state), like=state) == state
    True
    """
    if is_named_tuple(like):
        if not isinstance(packed, dict) or set(packed) != set(like._fields):
            found = sorted(packed) if isinstance(packed, dict) else type(packed).__name__
            raise ValueError(f"`packed` must have the fields of {type(like).__name__}, {like._fields}; got {found}.")
        return type(like)(
            *(unpack(packed[field], value, convert) for field, value in zip(like._fields, like, strict=True))
        )
    if isinstance(like, tuple):
        if not isinstance(packed, (list, tuple)) or len(packed) != len(like):
            raise ValueError(f"`packed` must have a list of {len(like)} here; got {packed!r}.")
        return tuple(unpack(part, value, convert) for part, value in zip(packed, like, strict=True))
    return convert(packed, like)
