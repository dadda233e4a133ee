"""The sharp theorem against runs: exact second moments on quadratics, and replications on a nonconvex function."""

import numpy as np
import pytest

from o2nc.certificates import (
    decreasing_weight,
    sharp_step,
    theorem_sharp,
    theorem_sharp_decreasing,
    theorem_sharp_least_squares,
)

NODES = 0.5 + np.asarray([-0.5, 0.5]) / np.sqrt(3)  # Gauss and Legendre: exact for squares of what is linear in r


def moments(curvatures, x, m, noise, a, c, operators, kappa, r=0.0):
    """Exact S, GR, gap, first, V_T for f = x' diag(curvatures) x / 2, beta = 1, and the operators of the rounds."""
    d, H = len(x), np.diag(curvatures)
    places = NODES if r is None else np.asarray([r, r])
    C = np.outer(z := np.concatenate([x, m]), z)
    S = regret = 0.0
    for U in operators:
        step = np.hstack([np.zeros((d, d)), U])
        keep = np.hstack([np.zeros((d, d)), np.eye(d)])
        at = np.hstack([np.eye(d), np.zeros((d, d))])
        gradients = [H @ (at - p * a / c * step) for p in places]
        S += np.mean([np.trace(g @ C @ g.T) for g in gradients])
        size = [np.trace(v @ C @ v.T) for v in (step, keep)]
        regret += np.mean([np.trace(g @ C @ (keep - step).T) for g in gradients])
        regret += kappa * a / 2 / c * (size[0] - size[1])
        moves = [np.vstack([at - a / c * step, (1 - a) * keep + a * g]) for g in gradients]
        C = np.mean([move @ C @ move.T for move in moves], axis=0)
        C[d:, d:] += a**2 * noise
    gap = (curvatures * x**2).sum() / 2
    return S, regret, gap, ((m - curvatures * x) ** 2).sum(), np.trace(noise) * len(operators)


def setting(rng, prediction):
    d, T = int(rng.integers(1, 4)), int(rng.choice([1, 3, 10, 30]))
    a = float(rng.choice([1.0, 0.9, 0.5, 0.2, 0.05]))
    curvatures = rng.choice([1.0, 1.0, 0.5, 0.01], size=d)
    x = rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0])
    m = np.zeros(d) if rng.random() < 0.5 else rng.normal(size=d)
    root = rng.normal(size=(d, d)) * rng.choice([0.0, 0.1, 1.0])
    scale = rng.choice([1.0, -1.0, 3.0, 1.5, 0.0]) if prediction else rng.choice([1.0, -1.0, 0.5])
    kind = rng.integers(3)
    fixed = np.linalg.qr(rng.normal(size=(d, d)))[0]
    operators = []
    for _ in range(T):
        turned = np.linalg.qr(rng.normal(size=(d, d)))[0] if kind == 2 else fixed if kind == 1 else np.eye(d)
        operators.append(scale * turned)
    return curvatures, x, m, root @ root.T, a, operators


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0, None])
@pytest.mark.parametrize("prediction", [False, True])
def test_no_operator_on_a_quadratic_breaks_it(r, prediction):
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(60):
        curvatures, x, m, noise, a, operators = setting(rng, prediction)
        c, _ = sharp_step(1.0, a, r=r)
        kappa = c / a if prediction else rng.choice([0.0, 1.0, c / a])
        S, regret, gap, first, V_T = moments(curvatures, x, m, noise, a, c, operators, kappa, r)
        T = len(operators)
        bound = theorem_sharp(gap=gap, beta=1.0, sigma=0.0, T=T, regret=regret, a=a, first=first, V_T=V_T, r=r).bound
        assert bound * (1 + 1e-9) >= S / T
        ratios.append(S / T / bound)
    assert max(ratios) > 0.5


def test_with_noise_it_is_attained_too_at_a_1():
    """U = I, f = |x|^2 / 2: what is left at the end does not grow with T."""
    c, _ = sharp_step(1.0, 1.0)
    run = moments(np.ones(1), np.ones(1), np.zeros(1), np.eye(1), 1.0, c, [np.eye(1)] * 2000, 0.0)
    S, _, gap, first, V_T = run
    bound = theorem_sharp(gap=gap, beta=1.0, sigma=1.0, T=2000, regret=0.0, a=1.0, first=first, V_T=V_T).bound
    assert 0.99 < S / 2000 / bound <= 1


def play(factor, a, c, T, replications=2000, sigma=0.5, weights=None, d=3, seed=0):
    """Means over replications on f = sum(1 - cos x), beta = 1; ``factor(m, history)`` names the diagonal of U_t."""
    rng = np.random.default_rng(seed)
    x = np.broadcast_to(np.linspace(0.5, 2.5, d), (replications, d)).copy()
    m, history = np.zeros_like(x), []
    gap, first = (1 - np.cos(x[0])).sum(), (np.sin(x[0]) ** 2).sum()
    squares, regrets = np.zeros(replications), np.zeros(replications)
    for t in range(1, T + 1):
        g = np.sin(x)
        s = g + sigma / np.sqrt(d) * rng.choice([-1.0, 1.0], size=x.shape)
        played = factor(m, history) * m
        squares += (g**2).sum(1)
        regrets += ((played - s) ** 2 - (m - s) ** 2).sum(1) / 2
        history.append((m, s))
        rate = a if weights is None else weights(a, t)
        x, m = x - a / c * played, (1 - rate) * m + rate * s
    factor(m, history)  # a learner learns from the last round too
    return squares, regrets, gap, first


class LeastSquares:
    """theta = 1 + H / A, one number (axis -1 summed) or one a coordinate."""

    def __init__(self, lam, diagonal):
        self.total = (lambda v: v) if diagonal else (lambda v: v.sum(1, keepdims=True))
        self.lam, self.A, self.H = lam, lam, 0.0
        self.sum = self.bound = 0.0  # the right side of step 6, without and with its last term

    def __call__(self, m, history):
        if history:
            before, s = history[-1]
            h = self.total(before * (s - before))
            self.sum, self.H = self.sum + (h**2 / self.A / 2).sum(1), self.H + h
            self.bound = self.sum - (self.H**2 / self.A / 2).sum(1)
        self.A = self.A + self.total(m**2)
        return 1 + self.H / self.A


def upper(values):
    return values.mean() + 4 * values.std() / np.sqrt(len(values))


FACTORS = {
    "identity": lambda m, history: 1.0,
    "minus": lambda m, history: -1.0,
    "three": lambda m, history: 3.0,
    "random": lambda m, history: np.random.default_rng(len(history)).uniform(-2, 4, size=m.shape),
    "one factor": LeastSquares(1.0, diagonal=False),
    "diagonal": LeastSquares(1.0, diagonal=True),
}


@pytest.mark.parametrize("a", [1.0, 0.3, 0.08])
@pytest.mark.parametrize("name", FACTORS)
def test_the_prediction_loss_allows_everything(name, a):
    factor = FACTORS[name]
    if isinstance(factor, LeastSquares):
        factor = LeastSquares(factor.lam, name == "diagonal")
    c, _ = sharp_step(1.0, a)
    squares, regrets, gap, first = play(factor, a, c, T=60)
    known = dict(gap=gap, beta=1.0, sigma=0.5, T=60, a=a, first=first)
    slack = squares / 60 - 2 * regrets / 60  # the theorem bounds its mean by what was known before
    rest = theorem_sharp(**known, regret=0.0).bound
    assert slack.mean() <= rest + 4 * slack.std() / np.sqrt(len(slack))
    if isinstance(factor, LeastSquares):
        assert slack.mean() > 0.2 * rest
    squares, regrets, gap, first = play(FACTORS["identity"], a, c, T=60, weights=decreasing_weight)
    assert squares.mean() / 60 <= theorem_sharp_decreasing(**known, regret=0.0).bound


@pytest.mark.parametrize("lam", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("T", [20, 200])
def test_least_squares_has_no_unknown_left(lam, diagonal, T):
    gap = (1 - np.cos(np.linspace(0.5, 2.5, 3))).sum()
    known = dict(gap=gap, beta=1.0, sigma=0.5, T=T)
    for a in (0.5, 0.1):
        learner = LeastSquares(lam, diagonal)
        c, _ = sharp_step(1.0, a, tracked=2)
        squares, regrets, _, first = play(learner, a, c, T, replications=400)
        bound = theorem_sharp_least_squares(**known, lam=lam, a=a, first=first).bound
        assert upper(squares) / T <= bound
        assert squares.mean() / T > 0.1 * bound
        assert (regrets <= learner.bound + 1e-9).all()


def test_least_squares_over_operators_on_each_path():
    """K = 2 columns: the regret is below half the sum of h' A^-1 h, round by round."""
    rng = np.random.default_rng(5)
    for lam in (0.1, 2.0):
        A, H, lost, bound, trace = lam * np.eye(2), np.zeros(2), 0.0, 0.0, 0.0
        for _ in range(40):
            m, s = rng.normal(size=4), rng.normal(size=4) * 3
            columns = np.stack([m * [1, 1, 0, 0], m * [0, 1, 1, 0]], axis=1)
            before = np.linalg.slogdet(A)[1]
            A = A + columns.T @ columns
            played, h = m + columns @ np.linalg.solve(A, H), columns.T @ (s - m)
            lost += (((played - s) ** 2).sum() - ((m - s) ** 2).sum()) / 2
            bound += h @ np.linalg.solve(A, h) / 2
            assert np.trace(np.linalg.solve(A, columns.T @ columns)) <= np.linalg.slogdet(A)[1] - before + 1e-12
            assert np.linalg.eigvalsh(columns @ np.linalg.solve(A, columns.T)).max() <= 1 + 1e-12
            trace += (columns**2).sum()
            H = H + h
            assert lost <= bound - H @ np.linalg.solve(A, H) / 2 + 1e-9
        assert np.linalg.slogdet(A / lam)[1] <= 2 * np.log1p(trace / 2 / lam) + 1e-12
