"""The rounds that are drawn are those of the algorithm, and methods with the same settings see the same noise."""

import numpy as np
import pytest

from o2nc.lab.playground import Method, Noise, Settings, ellipse, run
from o2nc.lab.playground.methods import has_own_step, losses, playable, players, tunings

SETTINGS = Settings("f1", Noise("gaussian", sigma=0.5, on="both"), T=12, seed=3)


@pytest.mark.parametrize("oracle", players())
@pytest.mark.parametrize("loss", ["linear", "prediction"])
def test_every_step_is_the_image_of_the_tracker(oracle, loss, a_set):
    """Line 6 of Algorithm 1 in plain NumPy: x_{t+1} = x_t - eta U_t m_t with m_{t+1} = (1 - a) m_t + a s_t."""
    found = run(SETTINGS, Method(oracle=oracle, set=a_set(oracle), loss=loss))
    c, m = found.result.conversion.constants, np.zeros(2)
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([SETTINGS.seed, 0])))
    x = np.concatenate([found.x, found.result.last[None]])
    for t in range(SETTINGS.T):
        step = -c.eta * found.U[t] @ m
        np.testing.assert_allclose(x[t + 1] - x[t], step, rtol=1e-9, atol=1e-13 * np.abs(x).max())
        m = (1 - c.a) * m + c.a * (SETTINGS.f.gradient(x[t]) + SETTINGS.noise(rng))


def test_algorithm_2_too_with_an_oracle_that_looks_at_the_direction():
    settings = Settings("bowl", Noise(sigma=0.25), T=60)
    found = run(settings, Method("nonsmooth", oracle="least-squares", set="box"))
    c = found.result.conversion.constants
    m, rng = np.zeros(2), np.random.Generator(np.random.Philox(np.random.SeedSequence([0, 0])))
    y = np.concatenate([found.x, found.result.last[None]])
    coins = np.random.Generator(np.random.Philox(np.random.SeedSequence([0, 1])))
    coins.random(1)  # tau
    x, r = y[0], 0.0  # x_1 = y_1
    for t in range(settings.T):
        z = c.b * m / np.sqrt(c.b**2 * m @ m + c.rho**2)
        step = -c.eta * found.U[t] @ z
        np.testing.assert_allclose(y[t], x + r * step, rtol=1e-9, atol=1e-12)
        x, r = x + step, coins.random(1)[0]
        m = c.b * m + c.a * (settings.f.gradient(y[t]) + settings.noise(rng))
        m = m * min(1.0, c.L / np.linalg.norm(m))


def test_the_average_is_that_of_the_squared_gradients():
    found = run(SETTINGS, Method())
    squares = [np.sum(SETTINGS.f.gradient(x) ** 2) for x in found.x]
    assert found.measured == pytest.approx([np.mean(squares[: t + 1]) for t in range(SETTINGS.T)], rel=1e-12)


def test_local_stationarity_is_the_expectation_over_the_output():
    """By the weights of Lemma 13, written out, and the law of line 12."""
    settings = Settings("bowl", Noise(sigma=0.25, on="both"), T=50)
    found = run(settings, Method("nonsmooth", oracle="ogd", set="box"))
    c, g = found.result.conversion.constants, settings.f.gradient(found.x)
    expected = 0.0
    for t in range(1, c.T + 1):
        q = c.a * c.b ** (t - np.arange(1, t + 1)) / (1 - c.b**t)
        mean = q @ found.x[:t]
        measure = np.linalg.norm(q @ g[:t]) + c.lam * q @ ((found.x[:t] - mean) ** 2).sum(axis=-1)
        chance = (1 - c.b**t) / c.T if t < c.T else 1 - sum(1 - c.b**s for s in range(1, c.T)) / c.T
        expected += chance * measure
    assert found.measured[-1] == pytest.approx(expected, rel=1e-9)
    assert found.name == "average local stationarity"


def test_two_methods_see_the_same_noise():
    """The points differ, so the samples do; what is left without the gradients is the same."""
    drawn = []
    for method in (Method("sgd", step=0.01), Method("sgd", step=0.02)):
        found = run(SETTINGS, method)
        x = np.concatenate([found.x, found.result.last[None]])
        drawn.append(-np.diff(x, axis=0) / method.step - SETTINGS.f.gradient(found.x))
    assert np.ptp(drawn[0]) > 1
    np.testing.assert_allclose(*drawn, atol=1e-11)


@pytest.mark.parametrize("conversion", playable())
def test_every_conversion_runs(conversion):
    name = "bowl" if conversion == "nonsmooth" else "f1"
    step = 0.01 if has_own_step(conversion) else 1.0
    found = run(Settings(name, T=30), Method(conversion, step=step, oracle="ogd", set="spectral"))
    assert found.x.shape == (30, 2)
    assert np.isfinite(found.measured).all()
    assert (found.U is None) == (found.regret is None)


@pytest.mark.parametrize("constants", tunings)
@pytest.mark.parametrize("loss", losses)
def test_the_certificate_holds(constants, loss):
    """The theorem is about the mean of runs; here is the mean of ten, without error bars since the bound is far."""
    method, runs = Method(constants=constants, loss=loss), []
    for seed in range(10):
        runs.append(run(Settings("f4", Noise(sigma=2.0, on="both"), T=60, seed=seed), method))
    measured = np.mean([found.measured[-1] for found in runs])
    bound = np.mean([found.result.certificate.bound for found in runs])
    assert measured < bound


def test_a_smaller_step_is_certified_and_a_larger_one_refused():
    half = Method(step=0.5).made(SETTINGS).constants
    full = Method().made(SETTINGS).constants
    assert half.eta == pytest.approx(full.eta / 2)
    assert run(SETTINGS, Method(step=0.5)).result.certificate is not None
    with pytest.raises(ValueError, match="`c` must be at least"):
        Method(step=20.0).made(SETTINGS)


def test_the_ellipse_is_the_image_of_the_circle():
    U, centre = np.asarray([[0.5, -0.2], [0.1, 0.8]]), np.asarray([1.0, -2.0])
    back = np.linalg.solve(U, ellipse(U, centre, radius=0.3) - centre[:, None]) / 0.3
    np.testing.assert_allclose(np.linalg.norm(back, axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "method", "sentence"),
    [
        (Settings("bowl"), Method(), "The landscape bowl has kinks, and smooth needs a smooth one: choose"),
        (SETTINGS, Method(oracle="adahedge", set="box"), "`AdaHedge.experts=....` must be a sequence of operators"),
        (SETTINGS, Method(oracle="adahedge", rate=0.1), "`rate` must be empty for the oracle adahedge"),
        (SETTINGS, Method(constants="paper", step=0.5), "`step` must be 1 with the constants of the paper"),
        (SETTINGS, Method("untuned", step=0.5), "`step` must be 1 for untuned, which chooses its own"),
        (SETTINGS, Method(step=0.0), "`step` must be finite and positive; got 0.0"),
        (SETTINGS, Method("nonsmooth", loss="descent"), "The descent loss needs a conversion with a kappa"),
        (SETTINGS, Method("segment", loss="prediction"), "The prediction loss needs the conversion smooth"),
        (SETTINGS, Method("smoth"), "`conversion` must be one of .* Did you mean 'smooth'"),
        (SETTINGS, Method(loss="square"), "`loss` must be one of linear, descent, prediction"),
    ],
)
def test_settings_that_do_not_go_together_are_sentences(settings, method, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        run(settings, method)
