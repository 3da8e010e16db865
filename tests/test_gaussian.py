"""Gaussian expectations against closed forms and scipy's adaptive quadrature."""

import numpy as np
import pytest
from scipy import integrate, special

from regimes import gaussian
from regimes.validate import InputError


@pytest.mark.parametrize("power, value", [(0, 1), (1, 0), (2, 1), (4, 3), (6, 15), (8, 105)])
def test_monomials(power, value):
    assert gaussian.expect(lambda z: z**power) == pytest.approx(value, rel=1e-11, abs=1e-12)


def test_discontinuous_function_needs_its_break():
    jump = 0.3
    exact = 1 - 2 * special.ndtr(jump)
    with_break = gaussian.expect(lambda z: np.sign(z - jump), breaks=[jump])
    without = gaussian.expect(lambda z: np.sign(z - jump))
    assert with_break == pytest.approx(exact, abs=1e-13)
    assert abs(without - exact) > 1e-4  # the trap is real


def test_a_node_at_the_jump_is_refused():
    with pytest.raises(InputError, match="even"):
        gaussian.trapezoid(401)
    assert (gaussian.trapezoid(400)[0] != 0).all()


@pytest.mark.parametrize("mean, std", [(0.0, 1.0), (0.7, 0.4), (-2.1, 3.0), (5.0, 0.5)])
def test_moments_against_adaptive_quadrature(mean, std):
    moments = [m.item() for m in gaussian.moments(np.tanh, np.array([mean]), std)]
    weights = (lambda z, y: y, lambda z, y: z * y, lambda z, y: y**2)
    for value, weight in zip(moments, weights):

        def integrand(z, weight=weight):
            return weight(z, np.tanh(mean + std * z)) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

        assert value == pytest.approx(integrate.quad(integrand, -9, 9, epsabs=1e-13)[0], abs=2e-9)


@pytest.mark.parametrize("std", [0.0, 1e-3, 0.6])
def test_moments_of_a_sign_in_closed_form(std):
    mean = np.array([-1.0, -0.2, 0.1, 2.0])
    first, with_z, second = gaussian.moments(np.sign, mean, std, breaks=[0.0])
    ratio = mean / std if std else np.sign(mean) * np.inf
    np.testing.assert_allclose(first, 1 - 2 * special.ndtr(-ratio), atol=1e-11)
    np.testing.assert_allclose(with_z, 2 * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi), atol=1e-11)
    np.testing.assert_allclose(second, 1, atol=1e-11)


def test_moments_do_not_depend_on_how_they_are_chunked(monkeypatch):
    mean = np.linspace(-3, 3, 50)
    unchunked = gaussian.moments(np.sin, mean, 0.7)
    monkeypatch.setattr(gaussian, "_CHUNK", 500)
    for a, b in zip(unchunked, gaussian.moments(np.sin, mean, 0.7)):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("width", [1e-3, 0.05])
def test_blurred_break_is_resolved(width):
    x, w = gaussian.rule([0.4], [width])
    exact = special.ndtr(-0.4 / np.sqrt(1 + width**2))
    assert w @ special.ndtr((x - 0.4) / width) == pytest.approx(exact, abs=1e-9)
