"""The Hedge lemma against a literal Hedge, on sequences that come close to its bounds."""

import math

import numpy as np
import pytest

from o2nc.certificates import hedge_constant, hedge_self_tuned, hedge_tuned


def hedge(losses, prior, rate):
    """Algorithm 3: cumulative regret against every expert; ``rate`` maps the energy before the round to gamma_t."""
    C, energy, learner = np.zeros(len(prior)), 0.0, 0.0
    for l in losses:
        potentials = np.log(prior) - rate(energy) * C
        w = np.exp(potentials - potentials.max())
        w /= w.sum()
        learner += l @ w
        C = C + l
        energy += np.abs(l).max() ** 2
    return learner - C


def energy_and_peak(losses):
    sizes = np.abs(losses).max(axis=1)
    return float((sizes**2).sum()), float(sizes.max())


def alternate_then_drive(pairs, drive):
    """Each swap costs tanh(gamma) to a learner that stands at 1/2; the drive then costs log 2 / gamma more."""
    swap = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.concatenate([np.tile(swap, (pairs, 1)), np.tile([[-1.0, 1.0]], (drive, 1))])


def random_sequences():
    rng = np.random.default_rng(0)
    for K in (2, 3, 8):
        for T in (1, 5, 300):
            scale = np.exp(rng.normal(size=(T, 1)))
            yield rng.uniform(-1, 1, (T, K)) * scale
            yield rng.choice([-1.0, 1.0], (T, K))
            yield rng.normal(size=(T, K)) + np.linspace(0, 0.5, K)
            yield np.eye(K)[rng.integers(K, size=T)] * scale


def adversarial(T, prior, rate):
    """The currently heaviest expert always loses."""
    C, energy, losses = np.zeros(len(prior)), 0.0, []
    for _ in range(T):
        heaviest = np.argmax(np.log(prior) - rate(energy) * C)
        losses.append(np.where(np.arange(len(prior)) == heaviest, 1.0, -1.0))
        C = C + losses[-1]
        energy += 1.0
    return np.array(losses)


@pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0, 5.0])
def test_constant_rate(gamma):
    for losses in [*random_sequences(), adversarial(300, np.ones(3) / 3, lambda energy: gamma)]:
        K = losses.shape[1]
        for prior in (np.ones(K) / K, np.arange(1.0, K + 1) / np.arange(1.0, K + 1).sum()):
            regret = hedge(losses, prior, lambda energy: gamma)
            energy, _ = energy_and_peak(losses)
            for j in range(K):
                assert regret[j] <= hedge_constant(-math.log(prior[j]), gamma, energy) + 1e-9
            u = np.arange(K, 0.0, -1) / np.arange(K, 0.0, -1).sum()
            assert u @ regret <= hedge_constant(float(u @ np.log(u / prior)), gamma, energy) + 1e-9


def test_constant_rate_is_tight_in_both_terms():
    """97% of the bound with the two terms equal, so neither KL/gamma nor gamma/2 can be halved."""
    gamma = 0.01
    losses = alternate_then_drive(pairs=round(math.log(2) / gamma**2), drive=300)
    regret, (energy, _) = hedge(losses, np.ones(2) / 2, lambda energy: gamma), energy_and_peak(losses)
    kl = math.log(2)
    assert gamma * energy / 2 == pytest.approx(kl / gamma, rel=0.03)
    assert 0.97 < regret[0] / hedge_constant(kl, gamma, energy) <= 1
    assert regret[0] > kl / gamma + gamma * energy / 4
    assert regret[0] > kl / gamma / 2 + gamma * energy / 2


def test_tuned_rate_is_tight():
    """97% of sqrt(2 log K energy)."""
    losses = alternate_then_drive(pairs=7000, drive=300)
    energy, _ = energy_and_peak(losses)
    gamma = math.sqrt(2 * math.log(2) / energy)
    regret = hedge(losses, np.ones(2) / 2, lambda energy: gamma)
    assert 0.97 < regret.max() / hedge_tuned(2, energy) <= 1


def test_tuned_rate_on_random_sequences():
    for losses in random_sequences():
        K = losses.shape[1]
        energy, _ = energy_and_peak(losses)
        gamma = math.sqrt(2 * math.log(K) / energy)
        assert hedge_tuned(K, energy) == pytest.approx(hedge_constant(math.log(K), gamma, energy))
        assert hedge(losses, np.ones(K) / K, lambda energy: gamma).max() <= hedge_tuned(K, energy) + 1e-9  # noqa: B023


def self_tuned_rate(log_prior, gamma0):
    return lambda energy: gamma0 * math.sqrt(2 * log_prior / (1 + energy))


@pytest.mark.parametrize("gamma0", [0.3, 0.5**0.5, 1.0, 3.0])
def test_self_tuned_rate(gamma0):
    uniform = np.ones(3) / 3
    for losses in [*random_sequences(), adversarial(300, uniform, self_tuned_rate(math.log(3), gamma0))]:
        K = losses.shape[1]
        for prior in (np.ones(K) / K, np.arange(1.0, K + 1) / np.arange(1.0, K + 1).sum()):
            log_prior = -math.log(prior.min())
            regret = hedge(losses, prior, self_tuned_rate(log_prior, gamma0))
            energy, peak = energy_and_peak(losses)
            assert regret.max() <= hedge_self_tuned(log_prior, energy, peak, gamma0) + 1e-9
            for j in range(K):
                for largest in (peak, None):
                    known = dict(peak=largest, gamma0=gamma0, kl=-math.log(prior[j]))
                    assert regret[j] <= hedge_self_tuned(log_prior, energy, **known) + 1e-9


@pytest.mark.parametrize("gamma0", [0.5, 0.5**0.5, 1.0])
def test_self_tuned_rate_is_tight_in_both_terms(gamma0):
    """More than 96% of the bound, with a third at least in each term."""
    losses = alternate_then_drive(pairs=20_000, drive=1200)
    energy, peak = energy_and_peak(losses)
    l = math.log(2)
    regret = hedge(losses, np.ones(2) / 2, self_tuned_rate(l, gamma0))[0]
    bound, without_kl = (hedge_self_tuned(l, energy, peak, gamma0, kl=kl) for kl in (l, 0.0))
    assert 0.96 < regret / bound <= 1
    assert 1 / 3 - 0.01 < without_kl / bound < 0.68
    assert regret > bound - without_kl / 2
    assert regret > bound - (bound - without_kl) / 2


def test_self_tuned_bound_is_root_two_times_the_tuned_one_for_large_energy():
    ratio = hedge_self_tuned(math.log(2), 1e12, 1.0, gamma0=0.5**0.5) / hedge_tuned(2, 1e12)
    assert ratio == pytest.approx(2**0.5, rel=1e-5)


@pytest.mark.parametrize("sizes", [[1e-3], [1.0] * 10**5, [0.1] * 10**5, [8**0.5 * 3.0**k for k in range(12)]])
def test_the_sum_over_the_rates_is_tight(sizes):
    """sum min(gamma_t x_t / 2, 2 sqrt(x_t)) reaches 90% of its bound: one tiny loss, many, and losses that grow.

    l = 1 has g = 2^-1/2 and y = 2 / g = sqrt 8: the losses that grow hit the worst case of step 3 in every round.
    """
    energy, total = 0.0, 0.0
    for size in sizes:
        total += min(0.5 * math.sqrt(2 / (1 + energy)) * size**2, 2 * size)
        energy += size**2
    assert 0.9 < total / hedge_self_tuned(1.0, energy, max(sizes), kl=0.0) <= 1 + 1e-12


@pytest.mark.parametrize("gamma0", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("l", [0.3, math.log(2), 5.0])
def test_a_round_costs_at_most_a_times_the_growth_of_the_root(gamma0, l):
    """Step 3, with equality at y = 2 / g."""
    g = gamma0 * math.sqrt(l / 2)
    A = g + math.sqrt(g**2 + 4)
    y = np.geomspace(1e-3, 1e3, 2001)
    growth = y**2 / (1 + np.sqrt(1 + y**2))
    assert (np.minimum(g * y**2, 2 * y) <= A * growth * (1 + 1e-12)).all()
    y = 2 / g
    assert 2 * y == pytest.approx(A * (math.sqrt(1 + y**2) - 1), rel=1e-12)
    root = math.sqrt(51.0)
    bound = kl_term = 0.4 * root / (gamma0 * math.sqrt(2 * l))
    bound += A * (root - 1)
    assert hedge_self_tuned(l, 50.0, gamma0=gamma0, kl=0.4) == pytest.approx(bound, rel=1e-12)
    tiny = kl_term + g * 2 * (root - 1)
    assert hedge_self_tuned(l, 50.0, 0.0, gamma0, kl=0.4) == pytest.approx(tiny, rel=1e-12)


def test_the_peak_is_needed():
    """A huge first loss meets the rate of an empty history: without the last term the sum exceeds its bound."""
    total = 0.5 * math.sqrt(2) * 100.0**2
    assert total > 30 * hedge_self_tuned(1.0, 100.0**2, peak=0.0, kl=0.0)


def test_one_expert_has_no_regret():
    assert hedge_self_tuned(0.0, energy=100.0, peak=3.0) == 0
    assert hedge_tuned(1, energy=100.0) == 0


def test_no_losses():
    assert hedge_tuned(2, 0.0) == 0
    assert hedge_self_tuned(math.log(2), 0.0, 0.0, kl=0.0) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: hedge_constant(1.0, 0.0, 1.0), "`gamma` must be finite and positive; got 0.0."),
        (lambda: hedge_constant(-1.0, 1.0, 1.0), "`kl` must be finite and nonnegative; got -1.0."),
        (lambda: hedge_tuned(0, 1.0), "`K` must be at least 1; got 0."),
        (lambda: hedge_self_tuned(1.0, math.inf, 1.0), "`energy` must be finite and nonnegative; got inf."),
    ],
)
def test_errors(call, sentence):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == sentence
