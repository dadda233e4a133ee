"""The landscapes are restrictions of the objectives, and their constants hold on the plane."""

import numpy as np
import pytest

from o2nc.lab.playground import landscape
from o2nc.lab.playground.landscapes import registry
from o2nc.lab.playground.noise import PLACES, Noise, laws

FAR = np.linspace(-8.0, 8.0, 81)  # beyond every window, and several periods of the cosines
PLANE = np.stack(np.meshgrid(FAR, FAR), axis=-1)


@pytest.mark.parametrize("name", registry)
def test_directions_are_orthonormal(name):
    rows = landscape(name).directions
    np.testing.assert_allclose(rows @ rows.T, np.eye(2), atol=1e-14)


@pytest.mark.parametrize("name", registry)
def test_the_gradient_is_that_of_the_height(name):
    f, h = landscape(name), 1e-6
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
    slopes = [(f.value(x + h * e) - f.value(x - h * e))[:, 0] / (2 * h) for e in np.eye(2)]
    error = np.abs(np.stack(slopes, axis=-1) - f.gradient(x)).max(axis=-1)
    assert np.median(error) < 1e-7 * f.L  # the few differences across a kink aside
    assert (error < 1e-7 * f.L).mean() > (0.99 if f.beta else 0.95)


@pytest.mark.parametrize("name", registry)
def test_range_slope_and_curvature_are_bounded(name):
    f = landscape(name)
    value, gradient = f.value_and_gradient(PLANE)
    slopes = np.linalg.norm(gradient, axis=-1)
    assert 0.3 * f.M < value.max() - value.min() <= f.M * (1 + 1e-12)
    assert 0.4 * f.L < slopes.max() <= f.L * (1 + 1e-12)
    if f.beta is not None:
        turn = np.linalg.norm(np.diff(gradient, axis=0), axis=-1) / (FAR[1] - FAR[0])
        assert 0.2 * f.beta < turn.max() <= f.beta


@pytest.mark.parametrize("name", registry)
def test_the_start_is_inside_the_window(name):
    f = landscape(name)
    left, right, bottom, top = f.window
    assert left < f.start[0] < right
    assert bottom < f.start[1] < top
    assert f.grid(7)[2].shape == (7, 7)


def test_the_saddle_is_one():
    f = landscape("saddle")
    assert np.linalg.norm(f.gradient(np.zeros(2))) == 0
    h = 1e-3 * np.eye(2)
    curvatures = [float((f.value(e) + f.value(-e) - 2 * f.value(0 * e))[0]) for e in h]
    assert curvatures[0] < 0 < curvatures[1]


@pytest.mark.parametrize("on", PLACES)
@pytest.mark.parametrize("law", laws)
def test_noise_has_the_declared_variance(law, on):
    noise, rng = Noise(law, sigma=2.0, on=on), np.random.default_rng(1)
    drawn = np.stack([noise(rng) for _ in range(2_000)])
    squares = (drawn**2).sum(axis=-1)
    if law == "signs":
        np.testing.assert_allclose(squares, 4.0)
    elif law == "gaussian":
        assert abs(squares.mean() - 4.0) < 5 * squares.std() / np.sqrt(len(squares))
    assert abs(drawn.mean(axis=0)).max() < 5 * 2.0 / np.sqrt(len(drawn))
    if on != "both":
        assert not (drawn @ noise.quiet).any()


def test_heavy_noise_is_students():
    """Its fourth moment is infinite, so quantiles are compared: those of t_3, divided by the root of its variance."""
    rng = np.random.default_rng(2)
    drawn = np.abs([Noise("heavy", sigma=1.0, on="first")(rng)[0] for _ in range(2_000)])
    assert np.quantile(drawn, [0.5, 0.95, 0.99]) == pytest.approx(
        np.asarray([0.7649, 3.1824, 5.8409]) / 3**0.5, rel=0.1
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"law": "pink"}, "`noise` must be one of signs, gaussian, heavy; got 'pink'."),
        ({"sigma": -1.0}, "`Noise.sigma=...." + "` must be finite and nonnegative; got -1.0."),
        ({"on": "third"}, "`Noise.on=...." + "` must be one of first, second, both; got 'third'."),
    ],
)
def test_wrong_noise_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Noise(**options)
