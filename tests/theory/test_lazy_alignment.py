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
from regimes.seeds import draw_seeds
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
        assert [*law] == ["0", "2"]
        off[size] = np.abs(np.array(result).T - torch.cat([*law.values()]).numpy()).max()
    assert off[1e-3] < 0.005 and off[30.0] > 0.02


class Tokens(nn.Module):
    """A perceptron at each of several tokens, and the mean over them."""

    def __init__(self):
        super().__init__()
        layers = [nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)]
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x).mean(-2)


class Block(nn.Module):
    """Attention between tokens with a norm, a layer on top, and the mean over tokens."""

    def __init__(self):
        super().__init__()
        self.norm, self.top = nn.LayerNorm(8), nn.LayerNorm(16)
        self.q, self.k, self.v = (nn.Linear(8, 16) for _ in range(3))
        self.u, self.out = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x):
        x = self.norm(x)
        scores = self.q(x) @ self.k(x).mT / 4
        mixed = scores.softmax(-1) @ self.v(x)
        return self.out(torch.relu(self.u(self.top(mixed)))).mean(-2)


def convolutional():
    """A convolution and a dense layer."""
    body = [nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 16, 24), nn.ReLU()]
    return nn.Sequential(*body, nn.Linear(24, 1))


POSITIONS = {
    "tokens": (Tokens, (4, 8), ["body.0", "body.2"]),
    "attention": (Block, (4, 8), ["q", "k", "v", "u"]),
    "convolutions": (convolutional, (2, 4, 4), ["0", "3"]),
}


def tokens(shape, n=24):
    """Points of a shape, and targets that are not linear in them."""
    x = torch.tensor(np.random.default_rng(1).standard_normal((n, *shape)))
    flat = x.flatten(1)
    return x, flat[:, 0] * flat[:, 1] + flat[:, 2]


@pytest.mark.parametrize("kind", POSITIONS)
def test_layers_at_positions_follow_the_law_when_lazy(kind):
    """Trained by torch's own descent: all positions of a point have its dual; the patches of a convolution are some."""
    build, shape, names = POSITIONS[kind]
    torch.manual_seed(0)
    net = build().double()
    x, y = tokens(shape)
    model = module(net, shape=shape)
    start = {site.name: site for site in matrices.sites(model, x, convolutions=True)}
    before, alpha, steps = net(x).squeeze(-1).detach(), 1e5, 1000
    rate = float(len(x) / torch.linalg.eigvalsh(alpha * ntk(model, x))[0, -1])
    law = lazy_alignment(model, x, y, [1e-3 * rate, rate * steps], alpha=alpha, centred=True)
    descent = torch.optim.SGD(net.parameters(), lr=rate)
    losses = []
    for _ in range(steps):
        descent.zero_grad()
        loss = (alpha * (net(x).squeeze(-1) - before) - y).square().mean() / 2
        (loss / alpha).backward()
        descent.step()
        losses.append(float(loss.detach()))
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.2 * losses[0]
    assert [*law] == names == [*start]
    for site in matrices.sites(module(net, shape=shape), x, convolutions=True):
        alignment = float(matrices.measure(site, start[site.name])["c"])
        assert alignment == pytest.approx(float(law[site.name][0, 1]), abs=1e-3), site.name
        assert abs(float(law[site.name][0, 0]) - alignment) > 0.003, "the law moves by more than the tolerance"


def test_the_law_starts_at_the_residuals_of_the_scaled_output():
    """With the outputs as they are the first step's is that of ``y - α f``, centred that of ``y``."""
    torch.manual_seed(0)
    net = Tokens().double()
    x, y = tokens((4, 8))
    model = module(net, shape=(4, 8))
    first = matrices.sites(model, x)[0]
    for alpha, centred in ((1.0, False), (5.0, False), (5.0, True)):
        residual = y - (0.0 if centred else alpha * net(x).squeeze(-1).detach())
        velocity = matrices.velocity(first.inputs, first.delta, residual.repeat_interleave(4)[None])
        law = lazy_alignment(model, x, y, [1e-7], alpha=alpha, centred=centred)
        assert float(law["body.0"]) == pytest.approx(float(matrices.uc_nfa(velocity, first.delta)), abs=1e-4)


class Mixed(nn.Module):
    """Layers with and without a law: an embedding, positions, groups, packed attention, a weight norm, a plain one."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(9, 8), nn.Parameter(torch.randn(4, 8))
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)
        self.groups = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.plain, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, tokens):
        x = self.words(tokens) + self.places
        x = x + self.mix(x, x, x, need_weights=False)[0]
        x = x + self.groups(x.unsqueeze(-1).expand(-1, -1, -1, 3)).mean(-1)[:, :4]
        return self.out(torch.tanh(self.plain(torch.relu(self.normed(x))))).mean(-2)


def test_all_layers_without_a_law_are_named_in_one_error():
    torch.manual_seed(0)
    model = module(Mixed().double().eval(), shape=4)
    x = torch.randint(9, (6, 4))
    y = torch.ones(6, dtype=torch.float64)
    with pytest.raises(InputError) as refused:
        lazy_alignment(model, x, y, [1.0])
    for name in ("words.weight", "places", "mix.in_proj_weight", "groups", "normed"):
        assert name in str(refused.value), name
    assert "plain:" not in str(refused.value)
    law = lazy_alignment(model, x, y, [1.0, 2.0], layers=["plain"])
    assert [*law] == ["plain"] and law["plain"].shape == (1, 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"times": []}, "times must hold at least one"),
        ({"times": [1.0, 0.0]}, r"times\[1\] must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"y": torch.ones(5).double()}, "y must hold a target for each of 24 points"),
        ({"layers": ["body.4"]}, r"layers must be some of body\.0, body\.2; got \['body\.4'\]"),
        ({"layers": "body.0"}, "layers must be some of"),
        ({"model": nn.Sequential(nn.Flatten(), nn.Linear(32, 2)).double()}, "one number a point, it gives 2"),
    ],
)
def test_bad_input_of_the_law_is_refused(wrong, message):
    x, y = tokens((4, 8))
    good = {"model": Tokens().double(), "y": y, "times": [1.0]} | wrong
    model = module(good.pop("model"), shape=(4, 8))
    with pytest.raises(InputError, match=message):
        lazy_alignment(model, x, **good)


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


@pytest.mark.parametrize("architecture", studies.ARCHITECTURES)
def test_lazy_ends_of_layers_at_positions_are_those_of_the_law(architecture):
    """Of the module that torch draws from the seed of its realisation, on tokens of unit variance."""
    setting = {"architecture": architecture, "n": 20, "side": 2, "d": 5, "k": 8, "left": [0.5, 0.1]}
    rows = studies.lazy_layers(setting, [3])
    points, weights = (draw_seeds(kind, [3])[0] for kind in ("train", "weights"))
    x = tasks.gaussian_points(20, 20, seed=points).unflatten(-1, (4, 5))
    y = (x[..., 0] * x[..., 1] + x[..., 1] * x[..., 2] + x[..., 3] ** 3).sum(-1)
    torch.manual_seed(weights)
    net = studies.ARCHITECTURES[architecture](5, 8, 2).double()
    times = sorted({row["time"] for row in rows})
    law = lazy_alignment(module(net, shape=(4, 5)), x, y / y.square().mean().sqrt(), times)
    assert {row["layer"] for row in rows} == {*law} and len(rows) == 3 * len(law)
    for row in rows:
        assert row["c"] == pytest.approx(float(law[row["layer"]][0, times.index(row["time"])]), abs=1e-9)


def test_the_centred_term_is_all_of_the_numerator_where_the_weights_began_at_zero():
    rng = np.random.default_rng(1)
    weights, inputs, delta = (torch.tensor(rng.standard_normal((1, *s))) for s in ((4, 3), (5, 3), (5, 4)))
    site = matrices.Site(weights, inputs, delta)
    for factor, share in ((0.0, 1.0), (1.0, 0.0), (0.5, 0.5**4)):
        start = matrices.Site(factor * weights, inputs, delta)
        assert float(studies.contained(site, start)) == pytest.approx(share)


def test_weights_at_rest_under_decay_are_those_of_the_theorem():
    """``W = Σ r δ xᵀ / (nλ)``: the correlation is 1, and that of the residuals' signs is not."""
    rng = np.random.default_rng(1)
    inputs, delta = (torch.tensor(rng.standard_normal((1, *s))) for s in ((5, 3), (5, 4)))
    residual = torch.tensor(rng.standard_normal((1, 5)))
    site = matrices.Site(matrices.velocity(inputs, delta, residual) / 0.03, inputs, delta)
    assert float(studies.fact(site, residual)) == pytest.approx(1)
    assert float(studies.fact(site, residual.abs())) < 0.9


def test_times_and_shapes_are_checked():
    with pytest.raises(InputError, match="time must be"):
        FrozenFlow.of(torch.eye(3), torch.ones(3)).duals(0.0)
    with pytest.raises(InputError, match="residual"):
        FrozenFlow.of(torch.eye(3), torch.ones(4))
