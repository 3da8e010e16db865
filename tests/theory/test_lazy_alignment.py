"""The alignment of lazy training: the closed form against descent, step by step and of a network."""

import numpy as np
import pytest
import torch
from torch import nn

from companion.papers.alignment.studies import alignment as studies
from companion.papers.alignment.theory.lazy import FrozenFlow, lazy_alignment
from regimes import ntk
from regimes.data import tasks
from regimes.measures import matrices
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module
from regimes.training.optimise import optimise
from regimes.validate import InputError


def test_dual_coefficients_are_the_integral_of_the_residuals_of_the_flow():
    """Against descent in small steps; the kernel has a null space."""
    rng, dt = np.random.default_rng(0), 1e-4
    factor = rng.standard_normal((3, 8, 5))
    kernel = torch.tensor(factor @ factor.transpose(0, 2, 1))
    residual = torch.tensor(rng.standard_normal((3, 8)))
    remaining = residual.clone()
    total = torch.zeros_like(residual)
    for step in range(1, 20_001):
        total += dt * remaining
        remaining = remaining - dt * torch.einsum("eij,ej->ei", kernel, remaining) / 8
        if step in (10, 1000, 20_000):
            assert torch.allclose(FrozenFlow.of(kernel, residual).duals(step * dt), total, rtol=1e-3, atol=1e-4)


RATE = 0.002


def trained(scale, steps, k=256):
    """The C-NFA of both layers of a network, and its frozen law, after some numbers of steps."""
    model = fully_connected([6, k, k, 1], seeds=[0], parametrisation="standard", gain=1.0).to(dtype=torch.float64)
    task = tasks.chain_monomial(24, 6, r=2, seed=1)
    x = task.x.double()[None]
    y = scale * task.y.double()[None]
    flow = FrozenFlow.of(ntk(model, x), y)
    initial_sites = matrices.sites(model, x)
    result = {}
    for step, state in enumerate(optimise(model, x, y, rate=RATE, centred=True)):
        if step in steps:
            pairs = zip(matrices.sites(state.model, x), initial_sites, strict=True)
            alignment = [float(matrices.measure(site, start)["c"]) for site, start in pairs]
            law = [float(flow.c_nfa(start, RATE * step)) for start in initial_sites]
            result[step] = alignment[:2], law[:2]
        if step == max(steps):
            return result


def test_a_lazy_network_follows_the_law_at_every_step_and_one_that_learns_features_does_not():
    """Small targets leave the kernel as it is: the network need not move. With large ones it turns."""
    for alignment, law in trained(1e-3, (1, 200, 1000)).values():
        assert alignment == pytest.approx(law, abs=2e-3)
    first, last = trained(1e-3, (1, 1000)).values()
    assert first[1][1] - last[1][1] > 0.1, "the law is not constant in time"
    alignment, law = trained(30.0, (200,), k=32)[200]
    assert law[0] - alignment[0] > 0.05


def test_any_torch_module_has_the_law_and_follows_it_if_its_targets_are_small():
    """Trained by torch's own descent, with biases; with large targets the module leaves the law."""
    x = torch.tensor(np.random.default_rng(0).standard_normal((24, 6)))
    hidden = [nn.Linear(6, 256), nn.Tanh(), nn.Linear(256, 128), nn.ReLU()]
    torch.manual_seed(0)
    net = nn.Sequential(*hidden, nn.Linear(128, 1)).double()
    initial_outputs = net(x).squeeze(-1).detach()
    state = {name: values.clone() for name, values in net.state_dict().items()}
    off = {}
    for size in (1e-3, 30.0):
        net.load_state_dict(state)
        y = initial_outputs + size * x[:, 0] * x[:, 1]
        law = lazy_alignment(net, x, y, [RATE * 50, RATE * 1000])
        initial_sites = matrices.sites(module(net), x)
        result = []
        descent = torch.optim.SGD(net.parameters(), lr=RATE)
        for step in range(1, 1001):
            descent.zero_grad()
            ((net(x).squeeze(-1) - y).square().mean() / 2).backward()
            descent.step()
            if step in (50, 1000):
                pairs = zip(matrices.sites(module(net), x), initial_sites, strict=True)
                result.append([float(matrices.measure(site, start)["c"]) for site, start in pairs])
        assert law.shape == (2, 1, 2)
        off[size] = np.abs(np.array(result).T - law[:, 0].numpy()).max()
    assert off[1e-3] < 0.005 and off[30.0] > 0.02


def test_the_time_at_which_a_share_of_the_loss_is_left():
    """Of one eigenvalue it is a logarithm; a null direction keeps its share for ever."""
    flow = FrozenFlow.of(3 * 2.0 * torch.eye(3), torch.ones(3))
    assert flow.time_of_share(0.01) == pytest.approx(np.log(100) / 4)
    assert float(flow.remaining_share(flow.time_of_share(0.3))) == pytest.approx(0.3)
    null = FrozenFlow.of(torch.diag(torch.tensor([1.0, 1.0, 0.0])), torch.ones(3))
    with pytest.raises(InputError, match=r"no time at which a share of 0\.1"):
        null.time_of_share(0.1)


def test_lazy_ends_are_read_from_the_start_to_what_is_left():
    """Early the law is that of the velocity; later less is left at a later time."""
    setting = {"n": 40, "k": 64, "left": [0.5, 0.1]}
    for task in studies.LAZY_TASKS:
        rows = studies.lazy_predictions(setting | {"task": task} | ({} if task == "digits" else {"d": 6}), [0])
        assert [row["remains"] for row in rows if row["layer"] == 1] == [1.0, 0.5, 0.1]
        times = [row["time"] for row in rows if row["layer"] == 2]
        assert times == sorted(times) and all(0 < row["c"] <= 1 for row in rows), task
    with pytest.raises(InputError, match="d must be given"):
        studies.LazyPredictions(**setting, task="digits", d=6).completed([0])


def test_the_centred_term_is_all_of_the_numerator_where_the_weights_began_at_zero():
    rng = np.random.default_rng(1)
    weights, inputs, delta = (torch.tensor(rng.standard_normal((1, *s))) for s in ((4, 3), (5, 3), (5, 4)))
    site = matrices.Site(weights, inputs, delta)
    for factor, share in ((0.0, 1.0), (1.0, 0.0), (0.5, 0.5**4)):
        start = matrices.Site(factor * weights, inputs, delta)
        assert float(studies.contained(site, start)) == pytest.approx(share)


def test_times_and_shapes_are_checked():
    with pytest.raises(InputError, match="time must be"):
        FrozenFlow.of(torch.eye(3), torch.ones(3)).duals(0.0)
    with pytest.raises(InputError, match="residual"):
        FrozenFlow.of(torch.eye(3), torch.ones(4))
