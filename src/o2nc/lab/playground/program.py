"""Settings as a program: the code that makes the same picture."""

import dataclasses
import inspect
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import numpy as np

import o2nc

from ...constants import PaperSmooth
from ...constants.tuned import Tuned
from ...oracles import mirrors
from .methods import Method, Settings

# where a public name is looked for, and how it is then spelled
ROOMS = (o2nc, o2nc.conversions, o2nc.rivals, o2nc.oracles, o2nc.learners, o2nc.sets, o2nc.operators, o2nc.directions)


def code(settings: Settings, methods: Mapping[str, Method]) -> str:
    """A program that runs the methods and draws them as the page does, for a fresh interpreter.

    Args:
        settings: the landscape, the noise and the rounds.
        methods: the methods by the names that the picture gives them.

    Reference: none.

    >>> print(code(Settings("f4", T=100), {"A": Method("sgd", step=0.01)}).splitlines()[10])
        return f.gradient(x) + noise(rng)
    """
    noise, made = settings.noise, {name: method.made(settings) for name, method in methods.items()}
    listed = "\n".join(f'    "{name}": {_on_lines(conversion)},' for name, conversion in made.items())
    return dedent("""\
        import matplotlib.pyplot as plt{numpy}

        import o2nc
        from o2nc.lab import playground

        f = playground.landscape("{landscape}")
        noise = playground.Noise("{law}", sigma={sigma!r}, on="{on}")


        def gradient(x, rng):
            return f.gradient(x) + noise(rng)


        conversions = {{
        {listed}
        }}
        figure, axes = plt.subplots(1, len(conversions), squeeze=False, sharex=True, sharey=True)
        results = {{}}
        for ax, (name, conversion) in zip(axes[0], conversions.items()):
            result = o2nc.minimize(gradient, f.start, conversion, rounds={T}, seed={seed}, record=True)
            results[name] = result
            print(f"{{name}}: {{type(conversion).__name__}}\\n{{result}}\\n")
            ax.contour(*f.grid(), levels=24, linewidths=0.5)
            ax.plot(*result.trajectory.T, marker=".")
            U = playground.matrix(conversion, result.state)
            if U is not None:
                ax.plot(*playground.ellipse(U, result.last, playground.radius(f)))
            ax.set(title=name, xlabel=f.axes[0], ylabel=f.axes[1])
        plt.show()
        """).format(
        numpy="\nimport numpy as np" if "np." in listed else "",
        landscape=settings.landscape, law=noise.law, sigma=noise.sigma, on=noise.on,
        listed=listed, T=settings.T, seed=settings.seed,
    )  # fmt: skip


def spelled(thing: Any) -> str:
    """The call that makes a dataclass of the library, without what is there by default or was derived.

    Reference: none.

    >>> from o2nc.operators import Diagonal
    >>> spelled(o2nc.oracles.AdaHedge([Diagonal(np.asarray([1.0, 0.0]))]))
    'o2nc.oracles.AdaHedge([o2nc.operators.Diagonal(np.asarray([1.0, 0.0]))])'
    """
    if isinstance(thing, np.ndarray):
        return f"np.asarray({thing.tolist()!r})"
    if isinstance(thing, tuple):
        return f"[{', '.join(map(spelled, thing))}]"
    if not dataclasses.is_dataclass(thing):
        return repr(thing)
    if isinstance(thing, PaperSmooth):
        return f"o2nc.{thing!r}"
    if isinstance(thing, o2nc.oracles.OverExperts):  # its short spelling
        hull: Any = thing.experts
        given = [spelled(hull.operators), *_given(thing.learner)]
        return f"o2nc.oracles.{type(thing.learner).__name__}({', '.join(given)})"
    return f"{_path(type(thing))}({', '.join(_given(thing))})"


def _on_lines(conversion: Any) -> str:
    arguments = "".join(f"        {argument},\n" for argument in _given(conversion))
    return f"{_path(type(conversion))}(\n{arguments}    )"


def _given(thing: Any) -> list[str]:
    """The arguments of the call that makes a dataclass; those that come first and have no default are not named."""
    found, named = [], False
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        value = getattr(thing, name)
        if isinstance(value, Tuned) or (parameter.default is not parameter.empty and _same(value, parameter.default)):
            named = True
            continue
        named = named or parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty
        found.append(f"{name}={spelled(value)}" if named else spelled(value))
    return found


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _path(kind: type) -> str:
    for room in ROOMS:
        if getattr(room, kind.__name__, None) is kind:
            return f"{room.__name__}.{kind.__name__}"
    if getattr(mirrors, kind.__name__, None) is kind:
        return f"{mirrors.__name__}.{kind.__name__}"
    raise TypeError(f"`spelled` must be given a public class of the library; got {kind.__qualname__}.")
