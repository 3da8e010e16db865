"""Modules of torch as others bring them, with the oracle: a backward pass for each output at each point.

``MODULES`` is the one table: modules of readers, blocks as they are written elsewhere, reduced inputs of public reports
to projects that compute the same (named by project and number), and layers that are no ``W h + b``.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.utils.prune
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import regimes


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(make, seed=0):
    """What a function builds with a seed of torch's, in float64, as it is used."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make().double().eval()


def jacobian(network, x, weights=None):
    """The oracle ``(p, C, P)``: backward passes at each point, of a batch of two equal ones.

    Some modules take no batch of one; a reentrant checkpoint takes ``backward`` alone.
    """
    weights = weights or [weight for weight in network.parameters() if weight.requires_grad]
    points = []
    for point in x:
        size = network(torch.stack([point, point])).numel() // 2
        points.append(torch.stack([_row(network, point, weights, i) for i in range(size)]))
    network.zero_grad()
    return torch.stack(points)


def _row(network, point, weights, i):
    network.zero_grad()
    network(torch.stack([point, point])).reshape(2, -1)[0, i].backward()
    gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad.to_dense() for weight in weights]
    return torch.cat([gradient.flatten() for gradient in gradients])


def rows(network, x, weights=None):
    """The oracle of a module of one output ``(p, P)``."""
    return jacobian(network, x, weights)[:, 0]


class Of(nn.Module):
    """A module from a forward function and its parts."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def net(forward, **makers):
    return lambda: Of(forward, **{name: make() for name, make in makers.items()})


def linear(*sizes, **options):
    return functools.partial(nn.Linear, *sizes, **options)


def last_of(kind):
    return net(lambda s, x: s.o(s.r(x)[0][:, -1]), r=lambda: kind(3, 4, batch_first=True), o=linear(4, 1))


def encoder():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return nn.TransformerEncoder(layer, 1)


class Doubling(torch.autograd.Function):
    """Of the old kind: neither for vmap nor for forward differentiation."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp() - 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].exp()


def asks(s, x):
    """Control flow on values, as of a mask in a language model."""
    h = s.l(x)
    if torch.all(torch.isfinite(h)).item():
        h = torch.tanh(h)
    return s.o(h)


def moved(s, x):
    x -= 0.5
    return s.o(torch.tanh(s.l(x)))


def keeps(s, x):
    s.h = s.l(x).relu()
    s.seen = [*getattr(s, "seen", []), s.h]
    return s.o(s.h)


def added(s, x):
    h = s.l(x)
    h += x.sum(1, keepdim=True)
    h[:, 0] = 0.0
    return s.o(F.relu_(h))


def checkpointed(s, x, reentrant=False):
    return s.o(checkpoint(lambda h: torch.tanh(s.l(h)), x, use_reentrant=reentrant))


def reentrant(s, x):
    return s.o(checkpoint(lambda h: torch.tanh(s.m(h)), s.l(x), use_reentrant=True))


def causal(s, x):
    return s.o(F.scaled_dot_product_attention(*s.q(x).chunk(3, -1), is_causal=True)[:, -1])


def by_parts(s, x):
    return torch.stack([s.o(torch.tanh(s.l(point))) for point in x])


def reused(s, x):
    h = torch.tanh(s.l(x))
    return s.o(torch.tanh(s.l(h)))


SMALL = {"l": linear(3, 3), "o": linear(3, 1)}
TWO = {"l": linear(3, 4), "o": linear(4, 1)}


def normed(wrap):
    return lambda: nn.Sequential(wrap(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 1))


# blocks as they are written elsewhere, in plain torch


class Decoder(nn.Module):
    """One block of a language model: tied embeddings, a mask that is no part of its state, one logit."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.places = nn.Embedding(6, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.Dropout(0.1))
        self.head.weight = self.tokens.weight
        self.register_buffer("mask", torch.ones(6, 6).tril().bool(), persistent=False)

    def forward(self, t):
        h = self.tokens(t) + self.places(torch.arange(t.shape[1]))
        q, k, v = self.qkv(self.norm(h)).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        weights = (q @ k.mT / 2).masked_fill(~self.mask, -math.inf).softmax(-1)
        h = h + self.out((weights @ v).transpose(1, 2).flatten(2))
        return self.head((h + self.mlp(h))[:, -1])[:, 3]


class Rotary(nn.Module):
    """Rotary places by a complex buffer, a norm of the mean square, a gated layer."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(6, 6, bias=False)
        self.k = nn.Linear(6, 6, bias=False)
        self.gate = nn.Linear(6, 10)
        self.up = nn.Linear(6, 10)
        self.down = nn.Linear(10, 6)
        self.scale, self.out = nn.Parameter(torch.ones(6)), nn.Linear(6, 1)
        angles = torch.arange(4.0).double()[:, None] * torch.tensor([1.0, 0.1, 0.01]).double()
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        def turned(a):
            return torch.view_as_real(torch.view_as_complex(a.unflatten(-1, (3, 2)).contiguous()) * self.turn).flatten(
                2
            )

        h = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scale
        x = x + F.scaled_dot_product_attention(turned(self.q(h)), turned(self.k(h)), h, is_causal=True)
        return self.out((x + self.down(F.silu(self.gate(x)) * self.up(x))).mean(1))


class Experts(nn.Module):
    """The two best of three experts for each point, each expert called once on its own points."""

    def __init__(self):
        super().__init__()
        self.choice, self.out = nn.Linear(5, 3), nn.Linear(4, 1)
        self.experts = nn.ModuleList(nn.Linear(5, 4) for _ in range(3))

    def forward(self, x):
        share, chosen = self.choice(x).softmax(-1).topk(2, -1)
        mixture = x.new_zeros(len(x), 4)
        for i, expert in enumerate(self.experts):
            row, place = torch.where(chosen == i)
            if len(row):
                mixture.index_add_(0, row, torch.tanh(expert(x[row])) * share[row, place, None])
        return self.out(mixture)


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def force(s, x):
    """The squared force of an energy, whose own derivative is taken inside."""
    with torch.enable_grad():
        x = x.requires_grad_()
        (slope,) = torch.autograd.grad(s.energy(x).sum(), x, create_graph=True)
    return slope.square().sum(1)


def functional_force(s, x):
    return torch.func.vmap(torch.func.grad(lambda point: s.energy(point).squeeze()))(x).square().sum(1)


def packed(s, t):
    lengths = (t != 0).sum(1).clamp(min=1).cpu()
    rows = nn.utils.rnn.pack_padded_sequence(s.e(t), lengths, batch_first=True, enforce_sorted=False)
    return s.o(s.r(rows)[1][0][-1])


def pruned():
    network = mlp()
    torch.nn.utils.prune.random_unstructured(network[0], "weight", 0.4)
    return network


def frozen_part():
    base = nn.Linear(3, 4).requires_grad_(False)
    network = Of(lambda s, x: s.o(s.base(x) + x @ s.a @ s.b), base=base, o=nn.Linear(4, 1))
    network.a = nn.Parameter(torch.randn(3, 2))
    network.b = nn.Parameter(torch.randn(2, 4))
    return network


def in_numbers():
    """A temperature and a gate that are single numbers, lists and dictionaries of parameters."""
    network = Of(lambda s, x: torch.tanh(x @ s.p[0] / s.t + s.p[1]) @ s.d["o"] + s.g * x.sum(1, keepdim=True))
    network.t = nn.Parameter(torch.tensor(1.5))
    network.g = nn.Parameter(torch.tensor(0.0))
    network.p = nn.ParameterList([nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(4))])
    network.d = nn.ParameterDict({"o": nn.Parameter(torch.randn(4, 1))})
    return network


def of_tokens(embedding):
    return lambda: Of(lambda s, t: s.o(s.e(t).mean(1).tanh()), e=embedding(7, 4), o=nn.Linear(4, 1))


def with_unused():
    return Of(lambda s, x: s.net(x), net=mlp(), unused=nn.Linear(7, 7))


def by_branch(s, x):
    """Each point by one of two layers."""
    h, first = x.new_zeros(len(x), 4), x[:, 0] > 0
    h[first], h[~first] = s.a(x[first]), s.b(x[~first])
    return s.o(torch.tanh(h))


def sorted_inside(s, x):
    """Points that are sorted, computed and put back, as sequences by their lengths."""
    order = x.norm(dim=1).argsort()
    outputs = s.net(x[order])
    return torch.empty_like(outputs).index_copy(0, order, outputs)


SPARSE = [lambda n, k: nn.Embedding(n, k, sparse=True), lambda n, k: nn.EmbeddingBag(n, k, padding_idx=0)]


# of public reports


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


def two_norms():
    weight_norm, spectral_norm = nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm
    return nn.Sequential(weight_norm(nn.Linear(4, 6)), nn.Tanh(), spectral_norm(nn.Linear(6, 2)))


# layers that are no W h + b


class Masked(nn.Linear):
    """Of a density estimator."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mask", torch.rand(self.weight.shape).round())

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)


class LoRA(nn.Linear):
    """A linear layer with an addition of low rank."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.a, self.b = nn.Parameter(torch.randn(2, sizes[0])), nn.Parameter(torch.randn(sizes[1], 2))

    def forward(self, x):
        return super().forward(x) + x @ self.a.T @ self.b.T


class LoRAOfLayers(nn.Linear):
    """The same of layers within the layer, which are seen for themselves."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.a, self.b = nn.Linear(sizes[0], 2, bias=False), nn.Linear(2, sizes[1], bias=False)

    def forward(self, x):
        return super().forward(x) + self.b(self.a(x))


class Standardised(nn.Linear):
    def forward(self, x):
        w = self.weight - self.weight.mean(1, keepdim=True)
        return F.linear(x, w / w.std(1, keepdim=True), self.bias)


class Scale(nn.Linear):
    """In the parametrisation of the tangent kernel."""

    def forward(self, x):
        return F.linear(x, self.weight / self.in_features**0.5, 0.1 * self.bias)


class Readout(nn.Linear):
    """Of maximal updates: the input is divided."""

    def forward(self, x):
        return super().forward(x / 7)


class Quantised(nn.Linear):
    """Weights that are rounded, with the derivative straight through."""

    def forward(self, x):
        return F.linear(x, self.weight + ((4 * self.weight).round() / 4 - self.weight).detach(), self.bias)


class Detached(nn.Linear):
    """Weights that have no derivative."""

    def forward(self, x):
        return F.linear(x, self.weight.detach(), self.bias)


class Gained(nn.Linear):
    """A gain for each output, a parameter of its own."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.gain = nn.Parameter(torch.rand(sizes[1]))

    def forward(self, x):
        return super().forward(x) * self.gain


class Symmetric(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.weight + self.weight.flip(0), self.bias)


class Positive(nn.Linear):
    def forward(self, x):
        return F.linear(x, F.softplus(self.weight), self.bias)


class Keyword(nn.Linear):
    def forward(self, *, given):
        return F.linear(given, 2 * self.weight, self.bias)


class Called(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(given=x)


def hooked(before=None, after=None):
    def make(*sizes):
        layer = nn.Linear(*sizes)
        if before:
            layer.register_forward_pre_hook(lambda _, given: (before(given[0]),))
        if after:
            layer.register_forward_hook(lambda _, given, output: after(output))
        return layer

    return make


def pruned_layer(*sizes):
    layer = nn.Linear(*sizes)
    torch.nn.utils.prune.random_unstructured(layer, "weight", 0.4)
    return layer


def again(s, x):
    return s.o(torch.tanh(s.l(torch.tanh(s.l(x)))))


def tied_layers():
    made = nn.Sequential(
        nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 1)
    )
    made[2].weight = made[0].weight
    return made


def tied_with_biases():
    made = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    made[2].weight = made[0].weight
    return made


def convolved_twice():
    return Of(
        lambda s, x: s.o(torch.tanh(s.c(torch.tanh(s.c(x[:, None, :, None])))).flatten(1)),
        c=nn.Conv2d(1, 1, (3, 1), padding=(1, 0)),
        o=nn.Linear(4, 1),
    )


def uses_twice(s, x):
    return s.o(torch.tanh(F.linear(torch.tanh(s.l(x)), s.l.weight)))


# the table


class Case(NamedTuple):
    """A module: what makes it, the shape of a point, and the number of tokens where points are whole numbers."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    tokens: int = 0

    def model(self, source: Any, **options: Any) -> Any:
        """It as a model, from the module or from what makes it."""
        return regimes.module(source, shape=self.shape if len(self.shape) > 1 else None, **options)

    def points(self, count: int, seed: int = 0) -> torch.Tensor:
        """The first two in the order that a module may sort them into."""
        if self.tokens:
            generator = torch.Generator().manual_seed(seed)
            return torch.randint(min(1, self.tokens - 1), self.tokens, (count, *self.shape), generator=generator)
        x = draw(count, *self.shape, seed=seed)
        x[:2] = x[x.flatten(1).norm(dim=1)[:2].argsort()]
        return x


READERS = {  # module, shape of a point
    "lstm": (last_of(nn.LSTM), (5, 3)),
    "gru": (last_of(nn.GRU), (5, 3)),
    "rnn": (last_of(nn.RNN), (5, 3)),
    "two-way lstm": (
        net(
            lambda s, x: s.o(s.r(x)[0].mean(1)),
            r=lambda: nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True),
            o=linear(4, 1),
        ),
        (5, 3),
    ),
    "lstm cell": (net(lambda s, x: s.o(s.r(x)[0]), r=lambda: nn.LSTMCell(3, 4), o=linear(4, 1)), (3,)),
    "transformer": (net(lambda s, x: s.o(s.e(x).mean(1)), e=encoder, o=linear(4, 1)), (3, 4)),
    "attention": (
        net(
            lambda s, x: s.o(s.a(x, x, x, need_weights=False)[0].sum(1)),
            a=lambda: nn.MultiheadAttention(4, 2, batch_first=True),
            o=linear(4, 1),
        ),
        (3, 4),
    ),
    "causal attention": (net(causal, q=linear(4, 12), o=linear(4, 1)), (3, 4)),
    "asks for an item": (net(asks, **TWO), (3,)),
    "squeezed head": (net(lambda s, x: s.o(torch.tanh(s.l(x))).squeeze(), **TWO), (3,)),
    "squeezed inside": (
        net(
            lambda s, x: s.o(s.n(s.p(s.c(x)).squeeze())),
            c=lambda: nn.Conv2d(1, 4, 3),
            p=lambda: nn.AdaptiveAvgPool2d(1),
            n=lambda: nn.BatchNorm1d(4),
            o=linear(4, 1),
        ),
        (1, 5, 5),
    ),
    "checkpoint": (net(checkpointed, **TWO), (3,)),
    "reentrant checkpoint": (net(reentrant, m=linear(4, 4), **TWO), (3,)),
    "old function": (net(lambda s, x: s.o(Doubling.apply(s.l(x))), **TWO), (3,)),
    "changes its points": (net(moved, **TWO), (3,)),
    "keeps features": (net(keeps, **TWO), (3,)),
    "in-place": (net(added, **TWO), (3,)),
    "a loop over points": (net(by_parts, **TWO), (3,)),
    "layer used twice": (net(reused, **SMALL), (3,)),
    "old weight norm": (normed(nn.utils.weight_norm), (3,)),
    "old spectral norm": (normed(nn.utils.spectral_norm), (3,)),
    "weight norm": (normed(nn.utils.parametrizations.weight_norm), (3,)),
    "orthogonal": (normed(nn.utils.parametrizations.orthogonal), (3,)),
    "spectral norm": (normed(nn.utils.parametrizations.spectral_norm), (3,)),
    "batch norm": (lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)), (3,)),
    "group norm": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten(), nn.Linear(16, 1)),
        (2, 4, 4),
    ),
    "grey pictures": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.ReLU(), nn.Linear(3, 1)), (8, 8)),
    "upsampling": (
        lambda: nn.Sequential(nn.ConvTranspose2d(1, 2, 2, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 1)),
        (1, 2, 2),
    ),
}
BLOCKS = {  # module, shape of a point, number of tokens
    "language model": (Decoder, (6,), 11),
    "rotary": (Rotary, (4, 6), 0),
    "experts": (Experts, (5,), 0),
    "energy": (lambda: Of(force, energy=mlp()), (3,), 0),
    "energy by torch.func": (lambda: Of(functional_force, energy=mlp()), (3,), 0),
    "tied autoencoder": (
        lambda: Of(lambda s, x: (F.linear(torch.tanh(s.l(x)), s.l.weight.T) - x).square().sum(-1), l=nn.Linear(3, 2)),
        (3,),
        0,
    ),
    "weights by a network": (
        lambda: Of(
            lambda s, x: s.o((s.h(x).unflatten(1, (4, 3)) @ x[:, :, None]).squeeze(-1)), h=nn.Linear(3, 12), o=mlp()[2]
        ),
        (3,),
        0,
    ),
    "pruned": (pruned, (3,), 0),
    "a frozen part": (frozen_part, (3,), 0),
    "single numbers": (in_numbers, (3,), 0),
    "sparse derivatives": (of_tokens(SPARSE[0]), (5,), 7),
    "packed sequences": (
        lambda: Of(packed, e=nn.Embedding(7, 4), r=nn.LSTM(4, 5, batch_first=True, proj_size=2), o=nn.Linear(2, 1)),
        (5,),
        7,
    ),
    "an unused layer": (with_unused, (3,), 0),
    "two branches": (lambda: Of(by_branch, a=nn.Linear(3, 4), b=nn.Linear(3, 4), o=nn.Linear(4, 1)), (3,), 0),
    "sorted inside": (lambda: Of(sorted_inside, net=mlp()), (3,), 0),
    "checkpoints": (
        lambda: Of(lambda s, x: checkpoint_sequential(s.net, 2, x, use_reentrant=False), net=mlp()),
        (3,),
        0,
    ),
    "circular windows": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, (3, 2), padding="same", padding_mode="circular", dilation=(1, 2)),
            nn.Tanh(),
            nn.Conv2d(4, 4, 3, padding=(1, 2), padding_mode="reflect", groups=2, stride=(2, 1)),
            nn.Flatten(),
            nn.Linear(72, 1),
        ),
        (2, 5, 4),
        0,
    ),
    "straight through": (
        lambda: Of(lambda s, x: s.o((h := s.l(x)) + (h.round() - h).detach()), l=nn.Linear(3, 4), o=nn.Linear(4, 1)),
        (3,),
        0,
    ),
}
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
    "pytorch/118742": (two_norms, (4,), 0),
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
LAYERS = {
    "plain": nn.Linear,
    "masked": Masked,
    "lora": LoRA,
    "lora of layers": LoRAOfLayers,
    "weight standardised": Standardised,
    "scaled": Scale,
    "readout": Readout,
    "quantised": Quantised,
    "detached": Detached,
    "gained": Gained,
    "symmetric": Symmetric,
    "positive": Positive,
    "by keyword": lambda *sizes: Called(Keyword(*sizes)),
    "hook on the output": hooked(after=lambda z: 3 * z),
    "hook on the input": hooked(before=lambda h: h / 2),
    "a shift by a hook": hooked(after=lambda z: z + 0.3),
    "pruned": pruned_layer,
    "weight norm": lambda *sizes: nn.utils.parametrizations.weight_norm(nn.Linear(*sizes)),
    "old weight norm": lambda *sizes: nn.utils.weight_norm(nn.Linear(*sizes)),
    "orthogonal": lambda *sizes: nn.utils.parametrizations.orthogonal(nn.Linear(*sizes)),
}
TWICE = {  # layers that are called more than once, or whose weights are used elsewhere, too
    "called twice": (lambda: Of(again, l=nn.Linear(4, 4), o=nn.Linear(4, 1)), (4,)),
    "called and used": (lambda: Of(uses_twice, l=nn.Linear(4, 4, bias=False), o=nn.Linear(4, 1)), (4,)),
    "two layers of the same weights": (tied_layers, (4,)),
    "two layers of the same weights and other biases": (tied_with_biases, (4,)),
    "a convolution twice": (convolved_twice, (4,)),
}


def around(make):
    """A network with a layer in its middle."""
    return lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), make(4, 6), nn.Tanh(), nn.Linear(6, 1))


LAYERED = {f"layer: {name}": (around(make), (5,)) for name, make in LAYERS.items()}
MODULES = {name: Case(*case) for name, case in (READERS | BLOCKS | REPORTS | TWICE | LAYERED).items()}
