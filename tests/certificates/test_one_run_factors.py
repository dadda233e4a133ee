"""The factors of a certificate for one run meet every side condition of its proof, for constants of any size."""

import math
import random
from dataclasses import dataclass

import pytest

import o2nc
from o2nc.certificates import one_run, one_run_factors
from o2nc.noise import Bounded, Guess, HeavyTailed, SubGaussian, Tracking


def kinds(rng):
    size, L = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-3, 3)
    sigma, q = size * 10 ** rng.uniform(-3, 0), rng.uniform(1.1, 2.0)
    return [
        Bounded(size),
        Bounded(size, sigma=sigma, L=L),
        SubGaussian(p=sigma, d=10 ** rng.uniform(0, 4)),
        HeavyTailed(v=sigma, L=L, R=L * (1 + 10 ** rng.uniform(-2, 2)), q=q),
    ]


def settings(count):
    rng = random.Random(0)
    while count:
        gap, beta, T = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-2, 2), int(10 ** rng.uniform(0, 6))
        noise = kinds(rng)[count % 4]
        tuned = o2nc.Smooth.one_run(gap=gap, beta=beta, noise=noise, T=T)
        a, eta = float(tuned.a), tuned.eta
        if count % 3 == 0:  # any a and eta have a certificate
            a, eta = rng.choice([1.0, 10 ** rng.uniform(-5, 0)]), 10 ** rng.uniform(-4, 1) / beta
        count -= 1
        yield {"a": a, "eta": eta, "beta": beta, "first": 2 * beta * gap, "T": T, "noise": noise}


def test_the_factors_meet_the_side_conditions_for_constants_of_any_size():
    for known in settings(3000):
        a, noise = known["a"], known["noise"]
        kappa, nu, gamma, added = one_run_factors(**known, horizon=known["T"])
        expected = {
            "squares": 4 * known["first"] / (2 * known["beta"] * known["eta"]) + a * noise.sigma**2 * known["T"] / 2
        }
        guess = Guess(known["T"], **expected, length=nu)
        assert noise.tracking(a, known["T"], 0.01, guess) == (gamma, added), "this is the inequality of another y_t"
        assert nu > 0
        assert gamma >= 1
        assert added >= 0
        assert gamma * (1 - a) ** 2 < 1
        assert kappa * nu * (a - (gamma - 1) * (1 - a)) == pytest.approx(1, rel=1e-12)
        rho = kappa * (1 - gamma * (1 - a) ** 2) - 1
        assert rho > 0 or (a == 1 and rho == 0), known
        N = known["first"] / (2 * known["beta"] * known["eta"]) + a * noise.sigma**2 * known["T"] / 2
        assert math.isfinite(one_run(**known, Q=N, N=N, W=N).bound), known


def test_the_constants_that_had_no_bound():
    known = {"beta": 1.0, "first": 0.06, "T": 1417, "noise": Bounded(30.0, sigma=15.0, L=4.7)}
    tuned = o2nc.Smooth.one_run(gap=0.03, beta=1.0, noise=known["noise"], T=1417)
    known |= {"a": float(tuned.a), "eta": tuned.eta}
    assert one_run(**known, Q=1.0, N=1.0, W=1.0).bound < 10
    still = one_run(**known, Q=1.0, N=1.0, W=0.0)
    assert still.terms["drift"] == 0
    assert one_run_factors(**known, horizon=1417).rho(known["a"]) > 0


@dataclass(frozen=True)
class Jumps:
    """A noise of a user whose growth jumps with the length, or with the rounds."""

    rounds: int = 0
    sigma: float = 1.0
    bias: float = 0.0

    def tracking(self, a, T, delta, guess):
        return Tracking(1 + a * (0.5 if guess.length > 1 and self.rounds <= T else 0.01), 1.0 + guess.length)


def test_a_growth_that_jumps_has_factors_of_its_own_and_one_that_changes_with_T_no_bound():
    known = {"a": 0.1, "eta": 0.1, "beta": 1.0, "first": 1.0}
    assert one_run_factors(**known, T=100, horizon=100, noise=Jumps()).rho(0.1) > 0
    late = Jumps(rounds=50)  # tuned for 100 rounds, asked for 20: the growth is another, and nothing is proved
    assert one_run_factors(**known, T=20, horizon=100, noise=late).rho(0.1) < 0
    for W in (0.0, 1.0):
        assert one_run(**known, Q=1.0, N=1.0, W=W, T=20, horizon=100, noise=late).bound == math.inf


@pytest.mark.parametrize("noise", [Bounded(2.0), Bounded(2.0, sigma=1.0, L=1.0), SubGaussian(p=1.0, d=3)])
def test_where_a_is_1_there_is_nothing_to_turn(noise):
    known = {"a": 1.0, "eta": 0.1, "beta": 1.0, "first": 1.0, "T": 100, "noise": noise}
    factors = one_run_factors(**known, horizon=100)
    assert 0 <= factors.rho(1.0) < 1e-12
    assert factors.kappa == pytest.approx(1)
    assert math.isfinite(one_run(**known, Q=1.0, N=1.0, W=1.0).bound)
