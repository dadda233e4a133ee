"""The pictures of the gallery: every oracle on one landscape in the plane. A hook of mkdocs; nothing is stored."""

import io
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from o2nc import SegmentConversion, Smooth, oracles
from o2nc.directions import Adam, Function, Momentum
from o2nc.lab.runner.charts import canvas
from o2nc.operators import Identity, Projector, act
from o2nc.oracles.base import example
from o2nc.sets import Box, Fantope, Hull, PositiveContractions, SpectralBall

ANGLE = math.radians(30)
ALONG = np.asarray([math.cos(ANGLE), math.sin(ANGLE)])  # the valley
ACROSS = np.asarray([-math.sin(ANGLE), math.cos(ANGLE)])  # its walls, and the noise
STEEP, NOISE = 6.0, 2.5
START = 5.0 * ALONG + 0.9 * ACROSS
GUESSED = Smooth.paper(
    M=1875.0, beta=0.01, sigma=NOISE, T=300
)  # a = 0.1, eta = 0.156; with the true beta = 6 nothing moves
COLOURS = {  # of the lines by label, from those of the other figures
    "valley": "#0072B2", "walls": "#D55E00", "$I$": "#000000", "momentum": "#000000", "Adam's": "#CC79A7",
    "box": "#CC79A7", "Fantope": "#009E73",
}  # fmt: skip
MOMENTS = {1: "#BBBBBB", 30: "#E69F00", GUESSED.T: "#0072B2"}  # whose operators are drawn


def height(p: Any, q: Any) -> Any:
    """f at p along the valley and q across it: a nonconvex egg crate, steep one way."""
    return 2 * (1 - np.cos(p / 2)) + STEEP * (1 - np.cos(q))


def gradient(x: Any) -> Any:
    """The gradient of f."""
    return np.sin(x @ ALONG / 2) * ALONG + STEEP * np.sin(x @ ACROSS) * ACROSS


class Case(NamedTuple):
    """An oracle, and what the middle panel shows of it."""

    oracle: Any
    title: str
    labels: Sequence[str]
    lines: Callable[[Any, Any], Any]  # from the oracle's state and the matrix of U_t to a number a label


def weights(oracle: Any, *labels: str) -> Case:
    """A learner with weights."""
    return Case(oracle, "weights", labels or ("$I$", "valley", "walls"), lambda state, U: oracle.weights(state))


def factors(oracle: Any) -> Case:
    """A learner over a set: what its operator leaves of a step along the valley and across it."""
    return Case(
        oracle,
        r"factors $\langle v,U_tv\rangle$",
        ("valley", "walls"),
        lambda state, U: (ALONG @ U @ ALONG, ACROSS @ U @ ACROSS),
    )


def regrets(oracle: Any, *labels: str) -> Case:
    """`Compared`: its regrets."""
    return Case(oracle, "regrets", labels, lambda state, U: state.regrets)


VALLEY, WALLS = (Projector(v[:, None]) for v in (ALONG, ACROSS))
HULL = Hull((Identity(), VALLEY, WALLS))
STAGES = (PositiveContractions(), Box(), HULL)  # where an oracle is shown: the first that it takes
CHOSEN = {  # where another choice shows more
    "Squint": weights(oracles.Squint(HULL, scale=2.0)),
    "FixedShare": weights(oracles.FixedShare(HULL, gamma=1.0, alpha=0.02)),
    "DiscountedHedge": weights(oracles.DiscountedHedge(HULL, gamma=1.0, rho=0.95)),
    "PredictionHedge": weights(oracles.PredictionHedge(HULL)),
    "LeastSquares": factors(oracles.LeastSquares(HULL)),
    "LeftLeastSquares": factors(oracles.LeftLeastSquares((1, 1))),
    "Adaptive": weights(
        oracles.Adaptive([Momentum(), Adam(), Function(lambda m: act(VALLEY, m))]), "momentum", "Adam's", "valley"
    ),
    "OMD": factors(oracles.OMD(Box(), eta=0.1, mirror=oracles.Entropic())),
    "FTRL": factors(oracles.FTRL(PositiveContractions(), eta=0.5, mirror=oracles.BinaryEntropic())),
    "OptimisticOMD": factors(oracles.OptimisticOMD(SpectralBall(), eta=0.1)),
    "FrankWolfe": factors(oracles.FrankWolfe(PositiveContractions(), eta=0.1)),
    "FullAdaGrad": factors(oracles.FullAdaGrad(Box())),
    "Product": factors(oracles.Product([oracles.Constant(), oracles.OGD(Box())], shapes=[(1,), (1,)])),
    "OverOracles": weights(
        oracles.OverOracles([oracles.Constant(), oracles.OGD(Box()), oracles.OGD(Fantope(1))]), "$I$", "box", "Fantope"
    ),
    "Compared": regrets(oracles.Compared(oracles.AdaHedge(HULL), HULL.operators), "$I$", "valley", "walls"),
}


def shown(name: str) -> Case:
    """A registered oracle on the first stage that it takes."""
    for S in STAGES:
        try:
            oracle = example(name, S, START, GUESSED.T)
            oracle.init(START)
        except TypeError:
            continue
        return weights(oracle) if isinstance(oracle, oracles.OverExperts) else factors(oracle)
    raise TypeError(f"The oracle {name!r} takes no set of the gallery.")


def title(oracle: Any) -> str:
    """The name that users call it by."""
    return oracle.name if isinstance(oracle, oracles.OverExperts) else type(oracle).__name__


def cases() -> dict[str, Case]:
    """Every oracle of the registry, once a class."""
    found: dict[str, Case] = {}
    for case in map(shown, oracles.registry):
        found.setdefault(title(case.oracle), case)
    return found | CHOSEN


CASES = cases()


class Path(NamedTuple):
    """A run."""

    x: Any  # the points of the samples, (T + 1, 2)
    U: Any  # the operators that were played, (T, 2, 2)
    lines: Any  # what the middle panel shows, (T, labels)


def run(case: Case) -> Path:
    """T rounds, each with the sample at the end of its step, where a step that overshoots is charged for it."""
    rng, conversion = np.random.default_rng(0), SegmentConversion(case.oracle, GUESSED, r=1.0)
    x, state = START, conversion.init(START)
    points, operators, lines = [x], [], []
    for _ in range(GUESSED.T):
        dx, state = conversion.update(gradient(x) + NOISE * rng.choice([-1.0, 1.0]) * ACROSS, state)
        x = x + dx
        played = case.oracle.play(state.run.oracle, state.run.m)
        U = np.stack([act(played, e) for e in np.eye(2)], axis=-1)
        points.append(x)
        operators.append(U)
        lines.append(case.lines(state.run.oracle, U))
    return Path(np.asarray(points), np.asarray(operators), np.asarray(lines))


@cache
def still() -> Path:
    """The run with the identity, the grey line of every picture."""
    return run(CASES["Constant"])


def picture(case: Case) -> Any:
    """Three panels: the landscape and the points, what the oracle learned, and the unit circle under its operators."""
    path = run(case)
    titles = ("points", case.title, "$U_t$ of the unit circle")
    figure, (land, middle, circle) = canvas(titles)
    X = np.stack(np.meshgrid(np.linspace(-1.2, 4.9, 160), np.linspace(-1.7, 4.0, 160)), axis=-1)
    land.contourf(X[..., 0], X[..., 1], height(X @ ALONG, X @ ACROSS), levels=14, cmap="Blues", alpha=0.45)
    land.plot(*still().x.T, color="#666666", linewidth=0.8, label="identity")
    land.plot(*path.x.T, color="#D55E00", linewidth=1.1, label="with the oracle")
    land.plot(*START, "o", color="black", markersize=3)
    land.plot(0, 0, "+", color="black", markersize=5)
    land.legend(frameon=False, fontsize=7, loc="lower right")
    for line, label in zip(path.lines.T, case.labels, strict=True):
        middle.plot(np.arange(1, GUESSED.T + 1), line, color=COLOURS[label], linewidth=1.2, label=label)
    middle.set_ylim(min(-0.05, path.lines.min()), max(1.05, path.lines.max()))
    middle.legend(frameon=False, fontsize=7)
    angles = np.linspace(0, 2 * math.pi, 200)
    ring = np.stack([np.cos(angles), np.sin(angles)])
    circle.plot(*np.outer(ALONG, [-1.1, 1.1]), color="black", linewidth=0.5, linestyle=(0, (4, 4)))
    for t, colour in MOMENTS.items():
        circle.plot(*(path.U[t - 1] @ ring), color=colour, linewidth=1.5, label=f"t = {t}")
    circle.legend(frameon=False, fontsize=7, loc="lower center", ncols=3, columnspacing=1.0, handlelength=1.2)
    for panel in (land, circle):
        panel.set_aspect("equal")
        panel.set_xlabel("")
    circle.set(xlim=(-1.15, 1.15), ylim=(-1.45, 1.15))
    return figure


@cache
def png(name: str) -> bytes:
    """The picture of an oracle."""
    picture(CASES[name]).savefig(target := io.BytesIO(), format="png", dpi=130)
    return target.getvalue()


def on_files(files: Any, config: Any) -> Any:
    """Add the pictures to the pages; mkdocs calls this before it looks for broken links."""
    from mkdocs.structure.files import File

    for name in CASES:
        files.append(File.generated(config, f"assets/gallery/{name}.png", content=png(name)))
    return files
