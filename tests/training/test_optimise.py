"""Plain descent and fully connected networks against closed forms and autograd."""

import itertools

import numpy as np
import pytest
import torch

from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import descend
from regimes.validate import InputError


def task(n=5, d=3, k=2):
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal((n, k)))


def last(states, steps):
    return list(itertools.islice(states, steps + 1))


def test_linear_network_follows_the_exact_recursion():
    """One layer: f_t - y = (1 - rate Θ/n)^t (f_0 - y)."""
    x, y = task(k=1)
    net = fully_connected([3, 1], seeds=[3], gain=1.0)
    start, rate = net.outputs(x).clone(), 0.3
    (*_, state) = last(descend(net, x, y, rate=rate), 20)
    decay = torch.linalg.matrix_power(torch.eye(5).double() - rate * (x @ x.T / 3) / 5, 20)
    assert torch.allclose(state.output[0], y + decay @ (start[0] - y), atol=1e-12)


def test_parametrisations_start_alike_and_follow_each_other_at_matched_rates():
    """With all widths equal to n, standard descent at rate/n is NTK descent at rate (gain 1)."""
    x, y = task(d=6)
    states = {}
    for kind, rate in (("ntk", 1.0), ("standard", 1.0 / 6)):
        net = fully_connected([6, 6, 6, 2], seeds=[0], parametrisation=kind, gain=1.0)
        states[kind] = last(descend(net, x, y, rate=rate), 30)
    for a, b in zip(states["ntk"], states["standard"]):
        assert torch.allclose(a.output, b.output, atol=1e-12)


def test_realisations_do_not_interact():
    x, y = task()
    for optimiser, rate in (("gd", 0.2), ("adam", 0.01)):
        net = fully_connected([3, 8, 2], seeds=[0, 1, 2])
        together = last(descend(net, x, y, rate=rate, optimiser=optimiser), 15)[-1]
        alone = fully_connected([3, 8, 2], seeds=[1])
        single = last(descend(alone, x, y, rate=rate, optimiser=optimiser), 15)[-1]
        assert torch.allclose(together.output[1], single.output[0], atol=1e-12)


def test_one_rate_a_realisation():
    x, y = task()
    net = fully_connected([3, 8, 2], seeds=[0, 0])
    state = last(descend(net, x, y, rate=torch.tensor([0.1, 0.2]).double()), 5)[-1]
    for k, rate in enumerate((0.1, 0.2)):
        alone = last(descend(fully_connected([3, 8, 2], seeds=[0]), x, y, rate=rate), 5)[-1]
        assert torch.allclose(state.output[k], alone.output[0], atol=1e-12)


def test_adam_takes_its_first_step_by_the_sign():
    x, y = task()
    net = fully_connected([3, 8, 2], seeds=[0])
    before = [w.clone() for w in net.parameters()]
    last(descend(net, x, y, rate=0.01, optimiser="adam"), 1)
    for old, new in zip(before, net.parameters()):
        moved = (new - old).detach().abs()
        assert torch.allclose(moved[moved > 0], torch.full_like(moved[moved > 0], 0.01), rtol=1e-4)


def test_bad_input_is_one_line():
    x, y = task()
    net = fully_connected([3, 4, 2], seeds=[0])
    with pytest.raises(InputError, match="optimiser must be one of gd, adam"):
        descend(net, x, y, rate=0.1, optimiser="sgd")
    with pytest.raises(InputError, match="rate must be a number above 0"):
        descend(net, x, y, rate=0)
    with pytest.raises(InputError, match="one rate a realisation is for gd alone"):
        descend(net, x, y, rate=torch.ones(1), optimiser="adam")
    with pytest.raises(InputError, match="parametrisation must be one of ntk, standard"):
        fully_connected([3, 4, 2], seeds=[0], parametrisation="mup")
    with pytest.raises(InputError, match=r"widths\[1\] must be a whole number of at least 1"):
        fully_connected([3, 0, 2], seeds=[0])
    with pytest.raises(InputError, match="a network with one output is needed here, this one has 2"):
        net(x)
