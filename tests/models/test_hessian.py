"""Second derivatives of fully connected networks against those of autograd."""

import pytest
import torch

from regimes.models import hessian as module
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.models.hessian import hessian
from regimes.validate import InputError

SWISH = activation("swish", steepness=10.0, normalised=True)


def nets(*widths, sigma="tanh", **kwargs):
    kind = {"parametrisation": "mean-field", "gain": 1.0} | kwargs
    return fully_connected(widths, seeds=[0, 1], sigma=sigma, **kind)


def drawn(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def by_autograd(model, x, u, v):
    """Of each realisation: the Hessian of ``Σ u f`` and the sum of ``v`` times products of gradients."""
    hessians = []
    for e in range(len(u)):
        network = model[e : e + 1]
        shapes = [weight.shape for weight in network.parameters()]

        def outputs(w, network=network, shapes=shapes):
            parts = w.split([shape.numel() for shape in shapes])
            return network.with_parameters([part.view(shape) for part, shape in zip(parts, shapes)])(x)[0]

        w = torch.cat([weight.flatten() for weight in network.parameters()])
        J = torch.autograd.functional.jacobian(outputs, w)
        bent = torch.autograd.functional.hessian(lambda w, e=e: (u[e] * outputs(w)).sum(), w)
        hessians.append(bent + J.T @ (v[e][:, None] * J))
    return torch.stack(hessians)


@pytest.mark.parametrize("sigma", ["tanh", "relu", "quadratic", SWISH], ids=str)
@pytest.mark.parametrize("widths", [(3, 1), (3, 4, 1), (3, 5, 4, 1), (3, 4, 2, 5, 1)], ids=str)
def test_it_is_that_of_autograd(widths, sigma):
    model = nets(*widths, sigma=sigma)
    x = drawn(7, 3)
    u = drawn(2, 7, seed=1)
    v = drawn(2, 7, seed=2)
    wanted = by_autograd(model, x, u, v)
    torch.testing.assert_close(hessian(model, x, u, v), wanted, rtol=1e-10, atol=1e-10 * float(wanted.abs().max()))


def test_points_of_its_own_and_parts_of_them_add_up(monkeypatch):
    model = nets(3, 4, 4, 1)
    x = drawn(2, 200, 3)
    u = drawn(2, 200, seed=1)
    v = drawn(2, 200, seed=2)
    alone = [hessian(model[e : e + 1], x[e], u[e : e + 1], v[e : e + 1]) for e in range(2)]
    monkeypatch.setattr(module, "HELD", 1)  # parts of 64 points, one network at a time
    torch.testing.assert_close(hessian(model, x, u, v), torch.cat(alone), rtol=1e-10, atol=1e-10)


def test_what_it_cannot_do_is_said():
    x, u = drawn(7, 3), drawn(2, 7)
    for model in (nets(3, 4, 1, bias=True), nets(3, 4, 2)):
        with pytest.raises(InputError, match="without biases and with one output"):
            hessian(model, x, u, u)
    with pytest.raises(InputError, match="v must"):
        hessian(nets(3, 4, 1), x, u, u[:, :3])
