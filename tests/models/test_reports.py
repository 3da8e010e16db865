"""Reduced inputs of public reports to the projects that compute the same: each as plain autograd, point by point.

The names are those of the reports: project and number.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import regimes
from regimes.validate import InputError
from tests.cases import for_each

EXACT = 1e-13  # relative, of sums of some thousand products


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Of(nn.Module):
    """A module of parts and a function ``(parts, x)``."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


class WrongForward(torch.autograd.Function):
    """Of functorch/207: its ``jvp`` gives the slope, whatever the tangent."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, slope):
        return torch.where(ctx.saved_tensors[0] > 0, slope, 0 * slope)

    @staticmethod
    def jvp(ctx, tangent):
        return (ctx.saved_tensors[0] > 0).to(tangent)


class InPlace(torch.autograd.Function):
    """Of pytorch/91280: it changes what it takes."""

    @staticmethod
    def forward(x):
        return x.tanh_()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, slope):
        return slope * (1 - ctx.saved_tensors[0] ** 2)


def layers(function, *sizes):
    """A module of linear layers ``a``, ``b`` of these sizes."""
    pairs = zip(sizes, sizes[1:])
    return Of(function, **{name: nn.Linear(n, m) for name, (n, m) in zip("ab", pairs)})


def in_place_output(s, x):
    f = s.a(x)
    f[:, 0] += 3
    f[:, 1:].mul_(2.0)
    return f


def log_determinant(s, x):
    x = x.unsqueeze(-1)
    pairs = torch.cat([x, x.mean(1, keepdim=True).expand_as(x)], 2)
    return torch.slogdet(s.b(s.a(pairs).tanh()) + 2 * torch.eye(3).to(x))[1]


def quiet_factor(s, x):
    h = s.a(x)
    with torch.no_grad():
        factor = h**2
    return s.b(h * factor)


def zero_factor(s, x):
    h = s.a(x) * torch.tensor([1.0, 0.0, 1.0, 1.0]).to(x)
    return s.b(h.cumprod(1))


def by_cholesky(s, x):
    h = s.a(x).unflatten(1, (3, 3))
    root = torch.linalg.cholesky(h @ h.mT + torch.eye(3).to(x))
    return torch.cholesky_solve(s.b(x).unsqueeze(-1), root).sum((1, 2))


def placed(s, x):
    h = F.softplus(s.a(x))
    mask = torch.zeros_like(h)
    mask[torch.arange(len(x)), h.argmax(1)] = 1.5
    return s.b(torch.gather(h * mask + h, 1, h.argsort(1)))


def likelihood(s, x):
    h, before, total = x.new_zeros(len(x), 5), x.new_zeros(len(x), 1), 0.0
    for now in (x > 0).to(x).unsqueeze(-1).unbind(1):
        h = s.cell(before, h)
        total = total - F.binary_cross_entropy_with_logits(s.out(h), now, reduction="none").squeeze(1)
        before = now
    return total


def residual(s, x):
    h = s.second(s.act(s.norm(s.first(x))))
    h += x
    return s.out(s.act(h).mean((2, 3)))


def of_residual():
    first, second = nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.Conv2d(3, 3, 3, padding=1)
    act, out = nn.ReLU(inplace=True), nn.Linear(3, 4)
    made = Of(residual, first=first, norm=nn.BatchNorm2d(3), second=second, act=act, out=out)
    made.norm.running_mean.copy_(draw(3))
    return made


def two_names():
    made = Of(lambda s, x: torch.tanh(x @ s.w) @ s.again, w=nn.Parameter(draw(4, 4)))
    made.again = made.w
    return made


def tied():
    tokens, out = nn.Embedding(9, 5), nn.Linear(5, 9)
    out.weight = tokens.weight
    return Of(lambda s, x: s.out(s.tokens(x)).squeeze(1), tokens=tokens, out=out)


def frozen():
    made = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 3))
    made[0].weight.requires_grad_(False)
    return made


def normed():
    weight_norm, spectral_norm = nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm
    return nn.Sequential(weight_norm(nn.Linear(4, 6)), nn.Tanh(), spectral_norm(nn.Linear(6, 2)))


REPORTS = {  # module, shape of a point, number of tokens
    "functorch/381": (lambda: layers(in_place_output, 4, 5), (4,), 0),
    "functorch/296": (lambda: layers(log_determinant, 2, 8, 3), (3,), 0),
    "functorch/207": (lambda: layers(lambda s, x: s.b(WrongForward.apply(s.a(x))), 4, 6, 1), (4,), 0),
    "functorch/292": (lambda: nn.Linear(3, 3), (3,), 0),
    "functorch/247": (lambda: layers(lambda s, x: s.b(s.a(x).clamp_(-0.5, 0.5)), 4, 6, 1), (4,), 0),
    "pytorch/68538": (lambda: layers(placed, 4, 6, 2), (4,), 0),
    "pytorch/80951": (tied, (1,), 9),
    "pytorch/86708": (two_names, (4,), 0),
    "pytorch/91280": (lambda: layers(lambda s, x: s.b(InPlace.apply(s.a(x) * 0.5)), 4, 6, 1), (4,), 0),
    "pytorch/95738": (
        lambda: layers(lambda s, x: torch.take(s.a.weight, torch.tensor([1, 1, 2])) * s.a(x), 4, 3),
        (4,),
        0,
    ),
    "pytorch/103161": (
        lambda: Of(lambda s, x: s.lstm(x)[0].mean((1, 2)), lstm=nn.LSTM(3, 4, batch_first=True)),
        (6, 3),
        0,
    ),
    "pytorch/118742": (normed, (4,), 0),
    "pytorch/121261": (
        lambda: nn.Sequential(
            nn.Conv1d(3, 4, 1), nn.InstanceNorm1d(4, affine=True), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten()
        ),
        (3, 7),
        0,
    ),
    "pytorch/124533": (lambda: nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 1)), (4,), 0),
    "pytorch/128600": (lambda: layers(quiet_factor, 4, 6, 1), (4,), 0),
    "pytorch/198017 of cumprod": (lambda: layers(zero_factor, 3, 4, 1), (3,), 0),
    "pytorch/198017 of cholesky_solve": (lambda: Of(by_cholesky, a=nn.Linear(4, 9), b=nn.Linear(4, 3)), (4,), 0),
    "tutorials/2566": (lambda: Of(likelihood, cell=nn.RNNCell(1, 5), out=nn.Linear(5, 1)), (4,), 0),
    "Laplace/113": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Conv2d(2, 1, 2)), (1, 5, 5), 0),
    "Laplace/128": (of_residual, (3, 5, 5), 0),
    "Laplace/217": (frozen, (2,), 0),
    "backpack/149": (
        lambda: Of(lambda s, x: s.out(x * s.scale).mean(1), scale=nn.Parameter(draw(())), out=nn.Linear(3, 2)),
        (2, 3),
        0,
    ),
    "backpack/248": (lambda: layers(lambda s, x: s.a(x[:, :5]).tanh() - s.a(x[:, 5:]).tanh() ** 2, 5, 1), (10,), 0),
    "curvlinops/59": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 2, bias=False),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(27, 4, bias=False),
            nn.Hardtanh(inplace=True),
            nn.Linear(4, 2),
        ),
        (2, 4, 4),
        0,
    ),
    "neural-tangents/122": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(27, 1)
        ),
        (1, 6, 6),
        0,
    ),
    "neural-tangents/155": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4), nn.LogSoftmax(dim=1)),
        (5,),
        0,
    ),
}

WITHOUT_LAYERS = ("pytorch/86708", "pytorch/103161", "pytorch/121261")  # no Linear or Conv2d among them


def made(make, shape, tokens):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make().double().eval()
    x = torch.arange(5).remainder(tokens).unsqueeze(1) if tokens else draw(5, *shape, seed=1)
    return network, regimes.module(network, shape=shape if len(shape) > 1 else None), x


def jacobian(network, x):
    """The oracle ``(p, C, P)``: a forward pass for each point, a backward pass for each of its numbers."""
    weights = [w for w in network.parameters() if w.requires_grad]
    points = []
    for i in range(len(x)):
        f = network(x[i : i + 1].clone()).flatten()
        rows = [torch.autograd.grad(value, weights, retain_graph=True, materialize_grads=True) for value in f]
        points.append(torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]))
    return torch.stack(points)


def same(found, expected):
    return float((found - expected).norm()) <= EXACT * float(expected.norm())


@for_each(REPORTS)
def test_a_reports_module_has_the_derivatives_of_autograd(*case):
    network, model, x = made(*case)
    J = jacobian(network, x)
    kernel = torch.einsum("icP,jdP->icjd", J, J)
    for memory in (2**14, 2**24):  # in blocks of a few points, and at once
        assert same(regimes.ntk(model, x, outputs="all", memory=memory)[0].view_as(kernel), kernel)
        assert same(regimes.ntk(model, x, memory=memory)[0], torch.einsum("icjc->ij", kernel))
    tangents, J = model.tangents(x), J.flatten(0, 1)
    w, v = [draw(*tensor.shape, seed=2) for tensor in model.parameters()], draw(len(J), seed=3)
    assert same(tangents.jvp(w)[0], J @ torch.cat([part.flatten() for part in w]))
    assert same(torch.cat([part.flatten() for part in tangents.vjp(v[None])]), v @ J)


@pytest.mark.filterwarnings("ignore:left out of the layers:UserWarning")
@for_each({name: case for name, case in REPORTS.items() if name not in WITHOUT_LAYERS})
def test_a_reports_layers_have_the_derivatives_of_autograd(*case):
    network, model, x = made(*case)
    J = jacobian(network, x)
    columns = dict(zip(model.names, J[:, -1].split([tensor[0].numel() for tensor in model.tensors], 1)))
    for layer in (model if J.shape[1] == 1 else model.output(J.shape[1] - 1)).layers(x):
        seen = layer.only([name for name in layer.names if name in columns])
        assert seen.names and same(seen.jacobian()[0], torch.cat([columns[name] for name in seen.names], 1))


def test_weights_that_are_taken_out_of_the_graph_are_refused():
    """Of pytorch/182842: ``stack_module_state`` gives copies, by which the module's output has no derivative."""

    class Stacked(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))

        def forward(self, x):
            weights, _ = torch.func.stack_module_state(list(self.heads))

            def head(weights):
                return torch.func.functional_call(self.heads[0], weights, (x,))

            return torch.vmap(head)(weights).sum(0)

    with pytest.raises(InputError, match=r"uses a tensor of shape .* outside of its named_par"):
        regimes.ntk(regimes.module(Stacked().double()), draw(5, 4))
