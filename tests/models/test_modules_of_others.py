"""Blocks as they are written elsewhere, in plain torch: each gives what autograd gives point by point, or one line."""

import copy
import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.utils.prune
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import regimes
from regimes.data.tasks import Task
from regimes.measures.matrices import sites
from regimes.models.tangents import Tangents
from tests.cases import for_each, refused

pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True:UserWarning")


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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


class Of(nn.Module):
    """A module from a forward function and its parts, made at once."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


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
MODULES = {  # module, shape of a point, number of tokens
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


def made(make, shape, tokens, count=5):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make().double().eval()
    if tokens:
        x = torch.randint(1, tokens, (2 * count, *shape), generator=torch.Generator().manual_seed(0))
    else:
        x = draw(2 * count, *shape)
        near = x.flatten(1).norm(dim=1)[:2].argsort()
        x[:2] = x[near]  # two first points in the order that a module may sort them into
    return network, regimes.module(network, shape=shape if len(shape) > 1 else None), x[:count], x[count:]


def rows(network, x, *, weights=None):
    """The oracle: a forward and a backward pass for each point alone."""
    weights = weights or [w for w in network.parameters() if w.requires_grad]
    gradients = []
    for point in x:
        slopes = torch.autograd.grad(network(point[None].clone()).reshape(()), weights, allow_unused=True)
        dense = [torch.zeros_like(w) if g is None else g.to_dense() for g, w in zip(slopes, weights)]
        gradients.append(torch.cat([g.flatten() for g in dense]))
    return torch.stack(gradients)


@for_each(MODULES)
def test_kernels_and_products_are_autograds(*case):
    network, model, x, z = made(*case)
    J = rows(network, x)
    J_z = rows(network, z)
    w = [draw(*t.shape, seed=3) for t in model.parameters()]
    v = torch.arange(1.0, 6).double()
    torch.testing.assert_close(model(x)[0], torch.cat([network(p[None].clone()).detach().reshape(1) for p in x]))
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    torch.testing.assert_close(regimes.ntk(model, x, z, memory=2**12)[0], J @ J_z.T)
    torch.testing.assert_close(torch.cat([t.flatten() for t in model.tangents(x).vjp(v[None])]), v @ J)
    torch.testing.assert_close(model.tangents(x).jvp(w)[0], J @ torch.cat([t.flatten() for t in w]))


@for_each(MODULES)
def test_each_seed_is_a_module_of_its_own_in_either_precision(make, shape, tokens):
    *_, x = made(make, shape, tokens)
    model = regimes.module(lambda: make().double().eval(), seeds=[1, 0], shape=shape if len(shape) > 1 else None)
    J = rows(made(make, shape, tokens)[0], x)
    torch.testing.assert_close(regimes.ntk(model, x)[1], J @ J.T)
    single = regimes.ntk(model.to(dtype=torch.float32), x if tokens else x.float())
    torch.testing.assert_close(single[1].double(), J @ J.T, rtol=1e-4, atol=1e-4)


@for_each(MODULES)
def test_optimisers_and_the_flow_take_torchs_steps(*case):
    network, model, x, _ = made(*case)
    y = torch.tensor([1.0, -1, 1, -1, 1]).double()
    two = network
    if "pruned" not in str(case[0]):
        two = copy.deepcopy(network)  # a pruned module keeps what it computed, and is trained last
    end = [state for state, _ in zip(regimes.optimise(model, x, y, rate=0.05), range(4))][-1].model
    assert [s for s, _ in zip(regimes.optimise(model, x, y, method="momentum"), range(3))]
    assert [s for s, _ in zip(regimes.gauss_newton(model, x, y, alpha=1.0), range(3))]
    weights = [w for w in two.parameters() if w.requires_grad]
    for _ in range(3):
        f = torch.cat([two(p[None].clone()).detach().reshape(1) for p in x])
        slope = (f - y) @ rows(two, x) / 5
        with torch.no_grad():
            for w, part in zip(weights, slope.split([w.numel() for w in weights])):
                w -= 0.05 * part.view_as(w)
    for w, trained in zip(weights, end.parameters()):
        torch.testing.assert_close(trained[0], w.detach())


@for_each({name: MODULES[name] for name in ("checkpoints", "a frozen part", "language model", "an unused layer")})
def test_layers_have_the_derivatives_of_their_inputs(*case):
    """The sum of the gradients of a layer's weights is the product of its derivatives and inputs."""
    network, model, x, _ = made(*case)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="left out of the layers: [ab] is used")
        seen = sites(model, x)
    for site in seen:
        layer = network.get_submodule(site.name)
        layer.weight.requires_grad_()
        if sum(value is layer.weight for value in network.state_dict(keep_vars=True).values()) == 1:
            expected = rows(network, x, weights=[layer.weight]).sum(0).view_as(layer.weight)
            torch.testing.assert_close(site.delta[0].mT @ site.inputs[0], expected)


def left_out(call, words):
    """What a call gives that warns of layers that it leaves out, or ``None`` where no layer is left."""
    with pytest.warns(UserWarning, match=words):
        return call()


def test_layers_whose_rows_are_not_the_points_are_left_out_by_name():
    _, model, x, _ = made(*MODULES["sorted inside"])
    refused(lambda: sites(model, x), "layer net.0 takes the points in another order")
    assert sites(model, x[:2])[0].name == "net.0"  # these are in order
    network, model, x, _ = made(*MODULES["two branches"])
    (last,) = left_out(lambda: model.layers(x), "left out .*layer a takes . rows for 5 points.*layer b takes")
    assert last.layer == "o"
    network, model, x, _ = made(*MODULES["experts"])
    (choice,) = left_out(lambda: sites(model, x), "layer experts.0 takes . rows for 5 points")
    expected = rows(network, x, weights=[network.choice.weight]).sum(0).view(3, 5)
    torch.testing.assert_close(choice.delta[0].mT @ choice.inputs[0], expected)
    _, model, x, _ = made(*MODULES["a frozen part"])
    (base,) = left_out(lambda: sites(model, x), "left out .*: a is used, but not .*; b is used")
    assert base.name == "base"


@pytest.mark.parametrize("count", [4, 5])
def test_points_on_any_axis_of_a_layers_input_are_found(count):
    places_first = Of(lambda s, x: s.o(s.l(x.transpose(0, 1)).tanh().mean(0)), l=nn.Linear(3, 4), o=nn.Linear(4, 1))
    folded = Of(
        lambda s, x: s.o(s.l(x.reshape(-1, 3)).tanh().view(len(x), -1, 4).mean(1)), l=nn.Linear(3, 4), o=nn.Linear(4, 1)
    )
    folded_places_first = Of(
        lambda s, x: s.o(s.l(x.transpose(0, 1).reshape(-1, 3)).tanh().view(5, -1, 4).mean(0)),
        l=nn.Linear(3, 4),
        o=nn.Linear(4, 1),
    )
    x = draw(count, 5, 3)
    for network in (places_first, folded, folded_places_first):
        model = regimes.module(network.double(), shape=(5, 3))
        J = rows(network, x)
        layers = model.layers(x)
        torch.testing.assert_close(layers[0].h[0], x)
        torch.testing.assert_close(Tangents(tuple(layers)).jacobian()[0], J)


class Heads(nn.Module):
    """Several heads at once by ``vmap``, as torch's page on ensembles has them, with weights that are trained."""

    def __init__(self, shared):
        super().__init__()
        self.base = nn.Linear(4, 5)
        self.heads = nn.ModuleList(nn.Linear(5, 1) for _ in range(3))
        self.shared = shared

    def forward(self, x):
        h = self.base(x).tanh()
        named = [dict(head.named_parameters()) for head in self.heads]
        stacked = {name: torch.stack([one[name] for one in named]) for name in named[0]}
        points = h if self.shared else h.expand(3, -1, -1)

        def head(weights, h):
            return torch.func.functional_call(self.heads[0], weights, (h,))

        return torch.vmap(head, (0, None if self.shared else 0))(stacked, points).sum(0)


@pytest.mark.parametrize("shared", [True, False])
def test_layers_inside_of_vmap_are_left_out_by_name(shared):
    net, x = Heads(shared).double(), draw(6, 4)
    model = regimes.module(net)
    (seen,) = left_out(lambda: model.layers(x), "left out .*layer heads.0 is called inside a transform .*heads.1")
    jacobian = rows(net, x)
    assert torch.allclose(regimes.ntk(model, x)[0], jacobian @ jacobian.T, rtol=1e-12, atol=1e-12)
    assert seen.layer == "base"
    assert torch.allclose(seen.jacobian()[0], jacobian[:, :25], rtol=1e-12, atol=1e-12)


def test_layers_without_derivatives_are_left_out_by_name():
    def quiet(s, x):
        with torch.no_grad():
            h = torch.tanh(s.l(x))
        return s.o(h)

    def recomputed(s, x):
        return s.o(checkpoint(lambda h: torch.tanh(s.l(h)), x, use_reentrant=True))

    words = "layer l runs under torch.no_grad or in a reentrant checkpoint"
    for forward in (quiet, recomputed):
        model = regimes.module(Of(forward, l=nn.Linear(3, 4), o=nn.Linear(4, 1)).double())
        assert [layer.layer for layer in left_out(lambda: model.layers(draw(5, 3)), words)] == ["o"]  # noqa: B023
    _, model, x, _ = made(*MODULES["energy by torch.func"])
    refused(lambda: sites(model, x), "layer energy.0 is called inside a transform of torch.func")


def whole_batch(s, x):
    return s.o(torch.tanh((s.a if x[:, 0].max() > 0 else s.b)(x)))


def until_all_rest(s, x):
    z = torch.zeros_like(x)
    for _ in range(100):
        new = torch.tanh(0.3 * s.l(z) + s.u(x))
        moved, z = (new - z).norm(), new
        if moved < 1e-3:
            break
    return s.o(z)


def rounding(s, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return s.net(x)


def test_a_branch_of_the_whole_batch_is_found_beyond_two_points():
    x = draw(40, 3)
    x[:, 0] = -x[:, 0].abs()
    x[20, 0] = 1.0  # neither the first nor the last
    make = lambda: Of(whole_batch, a=nn.Linear(3, 4), b=nn.Linear(3, 4), o=nn.Linear(4, 1)).double()  # noqa: E731
    refused(lambda: regimes.module(make())(x), "for a point in a batch.*must not depend on the others")
    parts = {"l": nn.Linear(3, 3), "u": nn.Linear(3, 3), "o": nn.Linear(3, 1)}
    refused(lambda: regimes.module(Of(until_all_rest, **parts).double())(draw(40, 3)), "must not depend on the others")


def test_many_points_of_the_first_batch_are_taken_within_memory():
    counts = torch.zeros(2)  # not a list, which would be put back after the call

    def noting(s, x):
        counts[0] = max(counts[0], len(x))
        return s.o(torch.relu(s.c(x)).mean((2, 3)))

    network = Of(noting, c=nn.Conv2d(1, 16, 3, padding=1), o=nn.Linear(16, 1)).double()
    regimes.module(network, shape=(1, 32, 32)).points(draw(300, 1, 32, 32))
    assert 2 < counts[0] < 40


def test_numbers_of_a_coarser_precision_are_named_as_such():
    wide_network = nn.Sequential(nn.Linear(3, 256), nn.Tanh(), nn.Linear(256, 1))
    model = regimes.module(lambda: Of(rounding, net=wide_network), seeds=[0])
    refused(lambda: model(draw(5, 3).float()), "other derivatives at a point in a batch than without.*autocast")


def test_embeddings_that_depend_on_the_batch_or_change_are_refused():
    for options, words in (({"max_norm": 0.5}, "max_norm"), ({"scale_grad_by_freq": True}, "scale_grad_by_freq")):
        network = of_tokens(lambda n, k: nn.Embedding(n, k, **options))()  # noqa: B023
        refused(lambda: regimes.module(network), f"the module's e .*{words}")  # noqa: B023


def test_labels_of_whole_numbers_are_labels_everywhere():
    model = regimes.module(mlp().double())
    x = draw(6, 3)
    y = torch.tensor([1, -1, 1, -1, 1, -1])
    expected = regimes.lazy(model, Task(x, y.double(), ""), Task(x, y.double(), ""))
    for given in (y, y.to(torch.int8), y.numpy()):
        learnt = regimes.lazy(model, Task(x, given, ""), Task(x, given, ""))
        assert torch.equal(learnt.f, expected.f) and torch.equal(learnt.error, expected.error)
    refused(lambda: regimes.lazy(model, Task(x, (y + 1) // 2, ""), Task(x, y, "")), "labels must be -1 or \\+1")
    refused(
        lambda: regimes.optimise(model, x, y.view(1, 6, 1).double(), rate=0.1), "one label a point for a model of one"
    )


def test_one_module_for_several_seeds_is_refused():
    shared = nn.Linear(3, 1)
    refused(lambda: regimes.module(lambda: shared, seeds=[0, 1]), "a new module for each seed")
    assert regimes.module(lambda: shared, seeds=[0]).names == ("weight", "bias")


def test_a_kernel_that_sees_one_label_says_so():
    """A single neuron, which is active at the points of one label, at none, or at all of them."""
    x = torch.tensor([[1.0], [2.0], [-1.0], [-2.0]]).double()
    y = torch.tensor([1.0, 1, -1, -1]).double()
    network = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU(), nn.Linear(1, 1, bias=False)).double()
    nn.init.constant_(network[0].weight, 1.0)
    nn.init.constant_(network[2].weight, 1.0)
    model, task = regimes.module(network), Task(x, y, "")
    refused(lambda: regimes.lazy(model, task, task), "2 of 4 training points activate a neuron, .* both labels")
    refused(lambda: regimes.lazy(model, Task(-x[:2], y[::2].clone(), ""), task), "0 of 2 training points")
    assert regimes.lazy(model, task, task, ridge=0.1).error.shape == (1,)
    learnt = regimes.lazy(
        model, Task(x.abs() + 0 * x, y * 0 + torch.tensor([1.0, -1, 1, -1]).double(), ""), task, ridge=0.1
    )
    assert learnt.f.isfinite().all()


def of_weights(stored):
    """A module that keeps something made of its first weights and uses it in place of these."""
    network = Of(lambda s, x: s.b(torch.tanh(x @ s.kept[0].mT)), a=nn.Linear(3, 4), b=nn.Linear(4, 1)).double()
    network.kept = [stored(network.a.weight)]
    return network


def test_weights_by_another_name_are_refused_if_they_are_used():
    """A view or a product that was made of weights has derivatives by them, which a value would not have."""
    x = draw(5, 3)
    words = r"outside of its named_parameters: .*compute it in forward"
    for stored in (lambda w: w.mT.mT, lambda w: 2 * w, lambda w: w[:]):
        refused(lambda: regimes.ntk(regimes.module(of_weights(stored)), x), words)  # noqa: B023
    for train in (True, False):
        network = of_weights(lambda w: w.requires_grad_(train))  # noqa: B023
        refused(lambda: regimes.ntk(regimes.module(network), x), "one of its parameters under another name")  # noqa: B023
    network = of_weights(lambda w: w.detach())
    J = rows(network, x)
    torch.testing.assert_close(regimes.ntk(regimes.module(network), x)[0], J @ J.T)
    unused = Of(lambda s, x: s.net(x), net=mlp()).double()
    unused.kept = [2 * unused.net[0].weight, unused.net[0].weight]
    J = rows(unused, x)
    torch.testing.assert_close(regimes.ntk(regimes.module(unused), x)[0], J @ J.T)


@pytest.mark.parametrize("first", [0, 3])
def test_products_are_those_of_backward_passes_where_forward_ones_are_not_numbers(first):
    """The root of a rectified number: its backward derivative is cut to 0, its forward one is 0/0."""
    network = Of(lambda s, x: s.o(torch.sqrt(s.l(x).relu())), l=nn.Linear(3, 1, bias=False), o=nn.Linear(1, 1)).double()
    nn.init.ones_(network.l.weight)
    x = torch.cat([draw(3, 3).abs(), -draw(3, 3).abs()]).roll(first, 0)
    model, J = regimes.module(network), rows(network, x)
    w = [draw(*t.shape, seed=3) for t in model.parameters()]
    torch.testing.assert_close(model.tangents(x).jvp(w)[0], J @ torch.cat([t.flatten() for t in w]))
    assert J.isfinite().all()


def test_arrays_of_any_layout_are_points():
    model, x = regimes.module(mlp().double()), draw(6, 3)
    kernel, given = regimes.ntk(model, x), x.numpy().copy()
    given.setflags(write=False)
    for same in (given, np.asfortranarray(given), given.astype(">f8"), x.clone().requires_grad_()):
        assert torch.equal(regimes.ntk(model, same), kernel)
    assert torch.equal(regimes.ntk(model, given[::-1]), regimes.ntk(model, x.flip(0)))
    refused(lambda: regimes.ntk(model, x[0, 0]), "x must hold at least one point")
