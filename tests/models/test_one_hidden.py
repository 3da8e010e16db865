"""The network against its formula, its seeds and its statistics."""

import math

import numpy as np
import pytest
import torch

from regimes.models import one_hidden
from regimes.validate import InputError


def test_output_is_the_papers_formula():
    net = one_hidden.one_hidden(3, 4, seeds=[1, 2])
    x = np.random.default_rng(0).standard_normal((5, 3))
    w, b, beta = (getattr(net, name).numpy()[1] for name in ("omega", "b", "beta"))
    by_hand = [sum(beta[n] * math.sqrt(2) * max(0, w[n] @ z / math.sqrt(3) + b[n]) for n in range(4)) / 4 for z in x]
    np.testing.assert_allclose(net(torch.from_numpy(x))[1].numpy(), by_hand, rtol=1e-12)


def test_a_seed_gives_the_same_weights_alone_and_among_others():
    alone = one_hidden.one_hidden(4, 7, seeds=5)
    among = one_hidden.one_hidden(4, 7, seeds=[3, 5, 9])
    assert torch.equal(alone.omega[0], among.omega[1]) and torch.equal(alone.beta[0], among.beta[1])
    assert not torch.equal(among.omega[0], among.omega[1])


def test_weights_and_activation_have_unit_variance():
    net = one_hidden.one_hidden(6, 20000, seeds=0)
    for weights in (net.omega, net.b, net.beta):
        assert abs(float(weights.mean())) < 0.03 and abs(float(weights.var()) - 1) < 0.04
    z = torch.from_numpy(np.random.default_rng(1).standard_normal(200_000))
    assert abs(float((one_hidden.GAIN * z.clamp(min=0)).square().mean()) - 1) < 0.02


def test_blocks_of_points_change_nothing(monkeypatch):
    net = one_hidden.one_hidden(3, 10, seeds=[0, 1])
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 23, 3)))
    monkeypatch.setattr(net.__class__, "_blocks", lambda self, p: [slice(a, a + 4) for a in range(0, p, 4)])
    blocked = net(x)
    monkeypatch.undo()
    torch.testing.assert_close(blocked, net(x))


@pytest.mark.parametrize("bad", [{"d": 0}, {"h": 0}, {"seeds": []}, {"seeds": [-1]}, {"seeds": [0.5]}])
def test_bad_sizes_get_one_line(bad):
    with pytest.raises(InputError, match="must be a whole number"):
        one_hidden.one_hidden(**({"d": 2, "h": 3, "seeds": 0} | bad))


def test_tangents_are_the_derivatives_by_hand():
    net = one_hidden.one_hidden(3, 4, seeds=[1])
    x = np.random.default_rng(0).standard_normal(3)
    ω, b, β = (getattr(net, name).numpy()[0] for name in ("omega", "b", "beta"))
    u = ω @ x / math.sqrt(3) + b
    gate = math.sqrt(2) / 4 * β * (u > 0)
    by_hand = [np.outer(gate, x / math.sqrt(3)).ravel(), gate, math.sqrt(2) / 4 * np.maximum(u, 0)]
    row = net.tangents(torch.from_numpy(x[None])).jacobian()[0, 0]
    np.testing.assert_allclose(row, np.concatenate(by_hand), rtol=1e-13, atol=1e-16)
