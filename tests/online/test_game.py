"""Online games: the points are those of plain loops, the regret is the definition, and the bounds hold."""

import math

import numpy as np
import pytest
import torch

from o2nc import learners, oracles, sets
from o2nc.online import Ball, Box, Game, Simplex, Spectral, play
from o2nc.oracles import OGD, OMD, Hedge, full_adagrad
from o2nc.oracles.base import example, registry

T = 40
DOMAINS = {
    "simplex": Simplex(3),
    "box": Box(3, 0.0, 1.0),
    "wide box": Box(3, -1.0, 2.0),
    "ball": Ball(3, 2.0),
    "spectral": Spectral(3),
    "positive": Spectral(3, sets.PositiveContractions()),
    "wide spectral": Spectral(2, sets.WideSpectral(-3.0, 1.0)),
    "fantope": Spectral(3, sets.Fantope(1)),
}


def linear(domain, T=T, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, size=(T, *domain.shape))


def least(domain, G):
    """The least value of <G, u> over the domain, in closed form."""
    if isinstance(domain, Simplex):
        return G.min()
    if isinstance(domain, Box):
        return np.minimum(G * domain.low, G * domain.high).sum()
    if isinstance(domain, Ball):
        return -domain.radius * np.linalg.norm(G)
    w = np.linalg.eigvalsh((G + G.T) / 2)
    if isinstance(domain.matrices, sets.Fantope):
        return np.minimum(w, 0)[: domain.matrices.k].sum()
    return np.minimum(w * domain.matrices.low, w * domain.matrices.high).sum()


def maker(name, domain):
    return lambda S: example(name, S, domain.m, T)


def fits(name, domain):
    try:
        maker(name, domain)(domain.set).init(domain.m)
    except (TypeError, ValueError):
        return False
    return True


def hit(game, domain):
    """The losses of T rounds: by turns random ones, and ones that hit the point that was just played."""
    random, shown = linear(domain), []
    for t in range(T):
        g = game.point() - domain.set.minimize(random[0]) if t % 2 else random[t]
        shown.append(g / max(1.0, np.abs(g).max()))
        game.learn(shown[-1])
    return shown


TAKE_NO_SET = {"adaptive", "constant", *(name for name, entry in registry.items() if entry.facts.get("any_size"))}
LEAVE = {  # and those with such a one inside, or with a set for each block
    ("adaptive", "box"), ("constant", "simplex"), ("full-least-squares", "box"), ("over-oracles", "simplex"),
    ("over-oracles", "fantope"), ("product", "ball"),
}  # fmt: skip
PRACTICAL = {  # no bound is stated, or it counts more than is seen here, or the oracle is made of others
    "compared", "discounted-hedge", "fixed-share", "online-newton-step", "over-oracles", "prediction-hedge", "product",
    "short-memory-hedge",
}  # fmt: skip
FIT = [(name, kind) for name in registry for kind, domain in DOMAINS.items() if fits(name, domain)]
CASES = [case for case in FIT if case not in LEAVE and case[0] not in TAKE_NO_SET]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_oracle_that_fits_plays(name, kind, monkeypatch):
    """The regret is the definition, and below the bound."""
    monkeypatch.setattr(full_adagrad, "ROUNDS", 30)  # a rougher projection, still into the set
    domain = DOMAINS[kind]
    game = Game(maker(name, domain), domain)
    shown = hit(game, domain)
    outcome = game.outcome()
    G = np.sum(shown, axis=0)
    learned = sum(np.vdot(g, w) for g, w in zip(shown, outcome.points, strict=True))
    assert outcome.regret == pytest.approx(learned - least(domain, G), abs=1e-10)
    assert np.vdot(G, outcome.best) == pytest.approx(least(domain, G), abs=1e-10)
    assert outcome.certified == (name not in PRACTICAL)
    assert outcome.regret <= outcome.bound


@pytest.mark.parametrize(("name", "kind"), sorted(LEAVE))
def test_an_oracle_that_leaves_the_domain_is_stopped(name, kind):
    domain = DOMAINS[kind]
    with pytest.raises(ValueError, match="`oracle` must play points of the domain; the distance from"):
        hit(Game(maker(name, domain), domain), domain)


def test_which_oracles_play():
    played = {kind: {name for name, other in FIT if other == kind} for kind in DOMAINS}
    assert {name for name, _ in FIT} == {*registry} - {"least-squares"}  # which starts from the identity
    experts = {"adahedge", "squint", "hedge-self-tuned", "fixed-share", "optimistic-hedge", "discounted-hedge"}
    assert experts <= played["simplex"]
    assert not experts & played["box"]
    euclidean = {"ogd", "omd", "ftrl", "solo-ftrl", "coin-betting", "full-adagrad", "frank-wolfe", "optimistic-omd"}
    for kind in DOMAINS:
        assert euclidean <= played[kind]
    assert {"adagrad", "omd-entropic", "omd-binary"} <= played["box"]
    assert "omd-binary" in played["positive"]
    assert "omd-binary" not in played["spectral"]


def simplex_projection(v):
    """Sort, and find the shift."""
    s = np.sort(v)[::-1]
    shifts = (np.cumsum(s) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - shifts[np.flatnonzero(s > shifts)[-1]], 0)


PROJECTIONS = {
    "simplex": (simplex_projection, np.full(3, 1 / 3), 2**0.5),
    "wide box": (lambda v: np.clip(v, -1, 2), np.full(3, 0.5), 3 * 3**0.5),
    "ball": (lambda v: v * min(1, 2 / max(np.linalg.norm(v), 1e-300)), np.zeros(3), 4.0),
}


@pytest.mark.parametrize("kind", PROJECTIONS)
@pytest.mark.parametrize("eta", [None, 0.1])
def test_online_gradient_descent_is_the_plain_loop(kind, eta):
    project, w, D = PROJECTIONS[kind]
    losses, E, points = linear(DOMAINS[kind]), 0.0, []
    for g in losses:
        points.append(w)
        E += g @ g
        w = project(w - (eta or D / math.sqrt(2 * E)) * g)
    outcome = play(lambda S: OGD(S, eta), losses, DOMAINS[kind])
    np.testing.assert_allclose(outcome.points, points, rtol=0, atol=1e-12)
    if kind == "simplex":  # the library bounds |g|_2 there by sqrt(d) |g|_inf
        E = 3 * np.sum(np.abs(losses).max(axis=1) ** 2)
    r = np.linalg.norm(outcome.best - points[0])
    assert outcome.bound == pytest.approx(r**2 / (2 * eta) + eta / 2 * E if eta else D * math.sqrt(2 * E))


def test_hedge_is_the_plain_loop():
    losses, C, points = linear(DOMAINS["simplex"]), np.zeros(3), []
    for loss in losses:
        weights = np.exp(-0.3 * C)
        points.append(weights / weights.sum())
        C += loss
    outcome = play(lambda S: Hedge(S, gamma=0.3), losses, DOMAINS["simplex"])
    np.testing.assert_allclose(outcome.points, points, rtol=0, atol=1e-12)
    assert outcome.regret == pytest.approx(np.sum(losses * points) - C.min(), abs=1e-12)
    peaks = np.sum(np.abs(losses).max(axis=1) ** 2)
    assert outcome.bound == pytest.approx(math.log(3) / 0.3 + 0.15 * peaks)


def test_bounds_that_count_more_than_the_energy():
    domain, losses = DOMAINS["wide box"], linear(DOMAINS["wide box"])
    norms = np.linalg.norm(losses, axis=1)
    for make, stated in (
        (lambda S: oracles.FrankWolfe(S, 0.1), frank_wolfe_bound), (oracles.CoinBetting, coin_betting_bound)
    ):  # fmt: skip
        outcome = play(make, losses, domain)
        r = np.linalg.norm(outcome.best - outcome.points[0])
        assert outcome.bound == pytest.approx(stated(norms, r, 3 * 3**0.5))
    assert play(oracles.CoinBetting, np.zeros((2, 3)), domain).bound == 0


def frank_wolfe_bound(norms, r, D):
    return r**2 / 0.2 + 2 * (D**2 * 0.1 * norms.sum()) ** (1 / 3) * np.sum(norms**1.5) ** (2 / 3)


def coin_betting_bound(norms, r, D):
    C, a = norms.max(), norms.sum() / norms.max()
    b = 1 / math.sqrt(1 + math.pi / 2 * a)
    return C * (1 - b + r * math.sqrt((1 + a) * math.log(1 + (1 + a) * r**2 / b**2)) + D)


def test_a_promise_that_was_broken_leaves_no_bound():
    squint = lambda scale: lambda S: oracles.OverExperts(learners.Squint(scale), S)
    losses = linear(DOMAINS["simplex"])
    assert play(squint(2.0), losses, DOMAINS["simplex"]).certified
    assert not play(squint(0.5), losses, DOMAINS["simplex"]).certified


def squared(z):
    return (lambda w: 0.5 * float(np.sum((w - z) ** 2)), lambda w: w - z)


@pytest.mark.parametrize("kind", DOMAINS)
def test_the_best_point_for_squared_losses_is_the_projected_mean(kind):
    domain, targets = DOMAINS[kind], 2 * linear(DOMAINS[kind])
    targets = (targets + targets.swapaxes(1, 2)) / 2 if targets.ndim == 3 else targets
    outcome = play(OGD, map(squared, targets), domain)
    best = domain.set.project(targets.mean(axis=0))
    total = sum(squared(z)[0](best) for z in targets)
    assert outcome.loss == pytest.approx(sum(squared(z)[0](w) for z, w in zip(targets, outcome.points, strict=True)))
    assert total - 1e-8 <= outcome.best_loss <= total + 1e-8
    assert outcome.best_loss - outcome.slack <= total + 1e-10
    assert outcome.slack <= 1e-6 * total
    assert outcome.regret + outcome.slack <= outcome.bound


def test_losses_with_kinks_have_an_honest_slack():
    """Absolute losses: the best point is a median in every coordinate, and here it is inside the box."""
    domain, targets = Box(3, -1.0, 1.0), linear(Box(3), T=61)
    losses = [(lambda w, z=z: float(np.abs(w - z).sum()), lambda w, z=z: np.sign(w - z)) for z in targets]
    outcome = play(OGD, losses, domain)
    least = np.abs(targets - np.median(targets, axis=0)).sum()
    assert outcome.best_loss - outcome.slack - 1e-10 <= least <= outcome.best_loss + 1e-10
    given = play(OGD, losses, domain, comparator=np.median(targets, axis=0))
    assert given.best_loss == pytest.approx(least, rel=1e-14)
    assert given.slack == 0
    assert given.regret == pytest.approx(outcome.loss - least)
    assert given.regret <= given.bound


def test_one_point_is_asked_for_twice():
    game = Game(OGD, Ball(2))
    game.learn([1.0, 0.0])
    w = game.point()
    w[:] = 7.0  # a copy
    np.testing.assert_array_equal(game.point(), [-1.0, 0.0])


def test_losses_may_be_written_into_one_array():
    losses, buffer, game = linear(Ball(3)), np.zeros(3), Game(OGD, Ball(3))
    for loss in losses:
        buffer[:] = loss
        game.learn(buffer)
    assert game.outcome().regret == play(OGD, losses, Ball(3)).regret


@pytest.mark.parametrize("kind", ["simplex", "ball", "spectral"])
@pytest.mark.parametrize("convert", [torch.from_numpy, np.asarray])
def test_in_another_library(kind, convert):
    domain = DOMAINS[kind]
    other = type(domain)(domain.d, *(() if kind != "ball" else (domain.radius,)), like=torch.zeros(1).double())
    losses = linear(domain)
    here, there = play(OGD, losses, domain), play(OGD, convert(losses), other)
    assert isinstance(there.points, torch.Tensor)
    np.testing.assert_allclose(there.points, here.points, rtol=0, atol=1e-12)
    assert there.regret == pytest.approx(here.regret, abs=1e-10)
    assert there.bound == pytest.approx(here.bound)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: Simplex(0), ValueError, r"`Simplex\(d=...\)` must be at least 1; got 0"),
        (lambda: Box(2, 1.0, -1.0), ValueError, r"`Box\(low=...\)` must not exceed `high`; got 1.0 > -1.0"),
        (lambda: Ball(2, -1.0), ValueError, r"`Ball\(radius=...\)` must be finite and positive; got -1.0"),
        (lambda: Ball(2, like=[0.0]), TypeError, r"`Ball\(like=...\)` must be an array with a real floating dtype"),
        (lambda: Spectral(2, sets.Box()), TypeError, r"`Spectral\(matrices=...\)` must be a set of matrices"),
        (lambda: Game(OGD(sets.Box()), Ball(2)), TypeError, "`oracle` must make an oracle from a set, as `OGD`"),
        (lambda: Game(lambda S: 3, Ball(2)), TypeError, r"`oracle\(S\)` must be an oracle, with init, play and learn"),
        (lambda: Game(OGD, sets.Box()), TypeError, "`domain` must be a Simplex, Box, Ball or Spectral"),
        (lambda: Game(Hedge, Ball(2)), TypeError, r"`Hedge\(experts=...\)` must be a sequence of operators"),
        (lambda: play(OGD, 3, Ball(2)), TypeError, "`losses` must be a sequence of losses, one a round; got 3"),
        (lambda: play(OGD, [], Ball(2)), ValueError, "An outcome needs one round at least"),
        (lambda: play(OGD, [[1.0]], Ball(2)), ValueError, r"`loss` must have the shape of a point, \(2,\); got \(1,\)"),
        (lambda: play(OGD, ["ab"], Ball(2)), TypeError, "`loss` must be a vector of numbers, or a pair of functions"),
        (lambda: play(OGD, [[1.0, np.nan]], Ball(2)), ValueError, "`loss` must be finite"),
        (
            lambda: play(OGD, [(lambda w: math.inf, lambda w: w)], Ball(2)),
            ValueError,
            "A loss must be finite on the domain; got inf",
        ),
        (
            lambda: play(OGD, [(lambda w: 0.0, lambda w: w[:1])], Ball(2)),
            ValueError,
            r"`loss\[1\]\(w\)` must have the shape of a point",
        ),
        (
            lambda: play(OGD, [(lambda w: w, lambda w: w)], Ball(2)),
            TypeError,
            r"`loss\[0\]\(w\)` must be one number; got array",
        ),
        (
            lambda: play(OGD, torch.ones(1, 2), Ball(2)),
            TypeError,
            "`loss` must be an array of the library of the domain, NumPy unless `like` is given; got tensor",
        ),
        (
            lambda: play(OGD, [[1.0, 0.0]], Ball(2), comparator=[3.0, 0.0]),
            ValueError,
            "`comparator` must be a point of the domain; the distance from the ball of radius 1 in R.2 is 2",
        ),
    ],
)
def test_errors_are_sentences(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_what_is_printed():
    text = str(play(lambda S: OMD(S, eta=0.5), linear(Simplex(3)), Simplex(3)))
    assert text.startswith("OMD on the simplex of 3 experts, 40 rounds\nloss of the learner     ")
    assert "certified: " in text
    practical = str(play(oracles.DiscountedHedge, linear(Simplex(3)), Simplex(3)))
    assert practical.endswith("bound on the regret     none known: practical")


@pytest.mark.parametrize("oracle", [oracles.SoloFTRL, oracles.CoinBetting, oracles.OGD, oracles.AdaGrad])
def test_a_reference_is_a_whole_sentence_without_formulas(oracle):
    reference = play(oracle, linear(Box(3, 0.0, 1.0)), Box(3, 0.0, 1.0)).reference
    assert reference.endswith(")") or reference.endswith("for the set") or reference.endswith("FTRL")
    assert "$" not in reference


@pytest.mark.parametrize("learner", [oracles.Hedge, oracles.AdaHedge])
def test_a_bound_is_stated_whether_an_oracle_takes_the_set_or_its_operators(learner):
    losses = linear(Simplex(3))
    one, other = (play(make, losses, Simplex(3)) for make in (learner, lambda S: learner(S.operators)))
    assert one.bound == other.bound < math.inf
    assert one.regret <= one.bound
