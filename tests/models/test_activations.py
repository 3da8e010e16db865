"""Activations: slopes by autograd, normalisation by an independent quadrature, limits."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from regimes.models.activations import ACTIVATIONS, activation

CASES = {name: {} for name in ACTIVATIONS} | {"soft": {"steepness": 0.3}, "steep": {"steepness": 300.0}}
CASES |= {"steepest": {"steepness": 1e3}}


def case(name, **options):
    return activation(name if name in ACTIVATIONS else "swish", **CASES[name], **options)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_slope_is_the_derivative(name, normalised):
    sigma = case(name, normalised=normalised)
    z = torch.linspace(-3, 3, 200, dtype=torch.float64).requires_grad_()  # 0 is not among them
    (slope,) = torch.autograd.grad(sigma(z).sum(), z)
    torch.testing.assert_close(sigma.slope(z.detach()), slope, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_a_normalised_activation_has_unit_second_moment(name):
    sigma = case(name, normalised=True)

    def density(z):
        value = float(sigma(torch.tensor(z, dtype=torch.float64)))
        return value**2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    edges = [-12, -1, -0.05, -0.005, 0, 0.005, 0.05, 1, 12]
    moment = sum(quad(density, a, b, epsabs=1e-13, epsrel=1e-12)[0] for a, b in zip(edges, edges[1:]))
    assert moment == pytest.approx(1, abs=1e-11)


def test_known_factors():
    unit = torch.ones((), dtype=torch.float64)
    for name, second in {"relu": 1 / 2, "quadratic": 3.0, "linear": 1.0, "erf": 2 / math.pi * math.asin(2 / 3)}.items():
        sigma = activation(name, normalised=True)
        assert float(sigma(unit) / activation(name)(unit)) == pytest.approx(second**-0.5, rel=1e-13)


def test_a_steep_swish_tends_to_the_relu_as_one_over_its_steepness():
    """``z/(1 + e^(-βz))`` differs from ``max(0, z)`` by at most ``W(1/e)/β``."""
    z = torch.linspace(-5, 5, 100_001, dtype=torch.float64)
    for steepness in (1.0, 10.0, 1000.0):
        gap = (activation("swish", steepness=steepness)(z) - torch.relu(z)).abs().max()
        assert float(gap) == pytest.approx(0.278464542761074 / steepness, rel=1e-2)


def test_a_kink_has_the_left_slope():
    assert float(ACTIVATIONS["relu"].slope(torch.zeros(1, dtype=torch.float64))) == 0


def test_the_same_name_is_the_same_object_and_an_activation_is_handed_back():
    assert activation("tanh", normalised=True) is activation("tanh", normalised=True)
    assert activation("swish", steepness=2.0) is activation("swish", steepness=2)
    mine = activation("erf")
    assert activation(mine) is mine
    z = torch.from_numpy(np.linspace(-2, 2, 9))
    torch.testing.assert_close(activation(mine, normalised=True)(z), activation("erf", normalised=True)(z))
