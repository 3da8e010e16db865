"""Modules of several outputs and points of several tensors, against torch.func and against sums by hand."""

import re
from collections import UserDict

import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap
from torch.utils.data import default_collate

import regimes
from regimes.data.tasks import Task
from regimes.kernels import tangent
from regimes.measures import matrices
from regimes.models import realisation
from regimes.models.outputs import Form
from regimes.training import kernel_flow
from regimes.validate import InputError

EXACT = 3e-14  # relative, of sums of some thousand products


def perceptron():
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 4))


def convolution():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4))


def normalised():
    return nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.GELU(), nn.Linear(12, 4), nn.LogSoftmax(-1))


class Recurrent(nn.Module):
    """Without ``vmap``: gradients by backward passes of single points."""

    def __init__(self):
        super().__init__()
        self.inner = nn.GRU(2, 5, batch_first=True)
        self.head = nn.Linear(5, 4)

    def forward(self, x):
        return self.head(self.inner(x)[0][:, -1])


class Pictures(nn.Module):
    """Outputs of a shape of their own: two maps of two pixels."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 5)

    def forward(self, x):
        return self.conv(x.unsqueeze(1)).tanh()


KINDS = {
    "perceptron": (perceptron, (6,)),
    "convolution": (convolution, (1, 6, 6)),
    "normalised": (normalised, (6,)),
    "recurrent": (Recurrent, (3, 2)),
    "pictures": (Pictures, (6,)),
}


def drawn(kind, seed=0):
    make, shape = KINDS[kind]
    torch.manual_seed(seed)
    return make().double(), torch.randn(7, *shape).double(), torch.randn(5, *shape).double()


def jacobian(net, x):
    """``(p, C, P)`` by torch.func, or by single backward passes where it cannot."""
    weights = {name: value.detach() for name, value in net.named_parameters()}

    def outputs(weights, point):
        return functional_call(net, weights, (point.unsqueeze(0),)).flatten()

    if any(isinstance(part, nn.GRU) for part in net.modules()):
        rows = []
        for point in x:
            f = net(point.unsqueeze(0)).flatten()
            grads = [torch.autograd.grad(value, list(net.parameters()), retain_graph=True) for value in f]
            rows.append(torch.stack([torch.cat([g.flatten() for g in grad]) for grad in grads]))
        return torch.stack(rows)
    jacobians = vmap(jacrev(outputs), (None, 0))(weights, x)
    return torch.cat([value.reshape(len(x), value.shape[1], -1) for value in jacobians.values()], -1)


def oracle(net, x, z=None):
    mine = jacobian(net, x)
    theirs = mine if z is None else jacobian(net, z)
    return torch.einsum("icP,jdP->icjd", mine, theirs)


def same(found, expected):
    return found.shape == expected.shape and float((found - expected).abs().max()) <= EXACT * float(
        expected.abs().max()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_are_those_of_torch_func(kind):
    net, x, z = drawn(kind)
    model = regimes.module(net, shape=x.shape[1:])
    full, cross = oracle(net, x), oracle(net, x, z)
    found = regimes.ntk(model, x, outputs="all")[0]
    assert same(found, full) and torch.equal(found, found.permute(2, 3, 0, 1))
    assert same(regimes.ntk(model, x, z, outputs="all")[0], cross)
    assert same(regimes.ntk(model, x, outputs="each")[0], torch.einsum("icjc->cij", full))
    assert same(regimes.ntk(model, x, z)[0], torch.einsum("icjc->ij", cross))
    assert same(regimes.ntk(model.output(2), x)[0], full[:, 2, :, 2])
    assert torch.equal(regimes.ntk(model.output(2), x), regimes.ntk(model, x, outputs="each")[:, 2])
    names = model.names[-1:]
    only = jacobian(net, x)[..., -dict(net.named_parameters())[names[0]].numel() :]
    last = regimes.ntk(model, x, params=names, outputs="all")[0]
    assert same(last, torch.einsum("icP,jdP->icjd", only, only))


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_tangents_are_those_of_torch_func(kind):
    net, x, _ = drawn(kind)
    model = regimes.module(net, shape=x.shape[1:])
    J = jacobian(net, x).flatten(0, 1)
    f = net(x).detach().flatten(1)
    assert same(model(x)[0], f)
    tangents = model.tangents(x)
    assert same(tangents.jacobian()[0], J) and same(tangents.gram()[0], J @ J.mT)
    w = [torch.randn_like(value) for value in model.parameters()]
    flat = torch.cat([value.flatten() for value in w])
    assert same(tangents.jvp(w)[0], J @ flat)
    v = torch.randn(1, len(J), dtype=torch.float64)
    assert same(torch.cat([value.flatten() for value in tangents.vjp(v)]), v[0] @ J)


def test_each_seed_is_a_network_of_its_own():
    model = regimes.module(lambda: perceptron().double(), seeds=[3, 8])
    x = torch.randn(2, 6, 6).double()
    for e, seed in enumerate((3, 8)):
        torch.manual_seed(seed)
        assert same(regimes.ntk(model, x, outputs="all")[e], oracle(perceptron().double(), x[e]))


def test_gradients_of_all_pairs_call_the_module_once_a_point(monkeypatch):
    net, x, _ = drawn("pictures")
    model = regimes.module(net)
    regimes.ntk(model, x, outputs="all")
    original = Form.parts
    sizes = []

    def noted(self, points):
        sizes.append(len(points))
        return original(self, points)

    monkeypatch.setattr(Form, "parts", noted)
    J = jacobian(net, x)
    same(regimes.ntk(model, x, outputs="all")[0], torch.einsum("ncp,mdp->ncmd", J, J))
    assert sizes == [1, len(x)]  # one point of many by vmap; then all of them, to certify


def test_where_all_outputs_cannot_be_had_together_pairs_are_taken_alone(monkeypatch):
    net, x, _ = drawn("pictures")

    def failing(outputs):
        raise NotImplementedError

    monkeypatch.setattr(realisation, "jacrev", lambda outputs: failing)
    model = regimes.module(net)
    J = jacobian(net, x)
    same(regimes.ntk(model, x, outputs="all")[0], torch.einsum("ncp,mdp->ncmd", J, J))
    assert model.skeletons[0].slow == {"whole"}


def test_one_output_has_these_forms_too():
    model = regimes.fully_connected([6, 9, 1], seeds=[0, 1])
    x = torch.randn(4, 6).double()
    base = regimes.ntk(model, x)
    assert torch.equal(regimes.ntk(model, x, outputs="each"), base[:, None])
    assert torch.equal(regimes.ntk(model, x, outputs="all"), base[:, :, None, :, None])
    alone = regimes.module(nn.Linear(6, 1).double())
    assert regimes.ntk(alone, x, outputs="all").shape == (1, 4, 1, 4, 1) and alone(x).shape == (1, 4)


@pytest.mark.parametrize("outputs", ["sum", "each", "all"])
def test_the_bound_on_memory_holds(outputs):
    """300,000 parameters, 5 outputs, 12 points: the whole Jacobian would have 150 MB."""
    net = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2048), nn.Tanh())
    net = nn.Sequential(*net, nn.Linear(2048, 5)).double()
    model, x = regimes.module(net), torch.randn(12, 64).double()
    peaks = []
    inner = tangent.Differentiated.gram

    def gram(self, other):
        peaks.append(self.memory)
        return inner(self, other)

    tangent.Differentiated.gram = gram
    try:
        bounded = regimes.ntk(model, x, outputs=outputs, memory=2**25)
    finally:
        tangent.Differentiated.gram = inner
    assert peaks and set(peaks) == {2**25}
    assert same(bounded[0, 0], regimes.ntk(model, x, outputs=outputs, memory=2**31)[0, 0])


class Masked(nn.Module):
    """Tokens, of which a mask says which count, and a number beside them."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 5)
        self.head = nn.Linear(6, 3)

    def forward(self, tokens, mask, size=None):
        inner = (self.embedding(tokens) * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return self.head(torch.cat([inner.tanh(), size], 1))


class OfOne(Masked):
    """The same, called with what a loader gives."""

    def forward(self, batch):
        if isinstance(batch, dict | UserDict):
            return super().forward(**batch)
        return super().forward(*batch)


def tokens(n):
    return (
        torch.randint(0, 11, (n, 4)),
        torch.tensor([[True] * (1 + i % 4) + [False] * (3 - i % 4) for i in range(n)]),
        torch.randn(n, 1).double(),
    )


@pytest.mark.parametrize("make", [Masked, OfOne])
@pytest.mark.parametrize("kind", ["tuple", "list", "dict", "mapping", "collated", "nested"])
def test_points_of_several_tensors_are_what_forward_takes(make, kind):
    torch.manual_seed(0)
    net, parts = make().double(), tokens(6)
    forms = {
        "tuple": parts,
        "list": list(parts),
        "dict": dict(zip(("tokens", "mask", "size"), parts)),
        "collated": default_collate([tuple(part[i] for part in parts) for i in range(6)]),
        "mapping": UserDict(zip(("tokens", "mask", "size"), parts)),
        "nested": {"batch": list(parts)},
    }
    if kind == "nested" and make is Masked:
        pytest.skip("this forward has no argument that holds several tensors")
    model = regimes.module(net)
    rows = []
    for i in range(6):
        f = Masked.forward(net, *(part[i : i + 1] for part in parts))[0]
        grads = [torch.autograd.grad(value, list(net.parameters()), retain_graph=True) for value in f]
        rows.append(torch.stack([torch.cat([g.flatten() for g in grad]) for grad in grads]))
    J = torch.stack(rows)
    full = torch.einsum("icP,jdP->icjd", J, J)
    assert same(regimes.ntk(model, forms[kind], outputs="all")[0], full)
    assert same(regimes.ntk(model, forms[kind])[0], torch.einsum("icjc->ij", full))
    assert same(model(forms[kind])[0], Masked.forward(net, *parts).detach())
    assert same(regimes.ntk(model.output(1), forms[kind])[0], full[:, 1, :, 1])
    assert same(model.tangents(forms[kind]).jacobian()[0], J.flatten(0, 1))


def test_a_lazy_classifier_is_the_flow_of_all_pairs():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 3)).double()
    model = regimes.module(net)
    x, z = torch.randn(24, 5).double(), torch.randn(60, 5).double()
    rule = torch.randn(5, 3).double()
    train, test = Task(x, (x @ rule).argmax(1), "drawn"), Task(z, (z @ rule).argmax(1), "drawn")
    found = regimes.lazy(model, train, test, ridge=1e-6)
    signs = 2.0 * nn.functional.one_hot(train.y, 3).double() - 1
    flow = kernel_flow.fit(regimes.ntk(model, x, outputs="all")[0], signs, ridge=1e-6)
    f = flow.model(regimes.ntk(model, z, x, outputs="all")[0])
    assert f.shape == (1, 60, 3) and torch.allclose(found.f, f, rtol=0, atol=1e-9)
    assert abs(float(found.error) - float((f[0].argmax(1) != test.y).double().mean())) < 1e-12
    assert float(found.error) < 0.4, "chance is 2/3"
    assert found.ended == ("zero loss",)
    on_train = regimes.lazy(model, train, train, ridge=1e-6)
    assert float(on_train.error) == 0


def test_a_task_of_points_of_several_tensors_says_what_gives_the_lazy_function():
    """The line of the message, on points of one tensor, gives what ``lazy`` gives; on points of two, it runs."""
    torch.manual_seed(0)
    net = nn.Bilinear(3, 2, 1).double()
    x, z = ((torch.randn(p, 3).double(), torch.randn(p, 2).double()) for p in (6, 5))
    y = torch.tensor([1.0, -1, 1, -1, 1, -1]).double()
    instead = "kernel_flow.fit(ntk(model, x)[0], y).model(ntk(model, z, x)[0])"
    for points in (x, [*x], {"input1": x[0], "input2": x[1]}):
        with pytest.raises(InputError, match=re.escape(instead)) as said:
            Task(points, y, "")
        assert "\n" not in str(said.value)
    names = {"kernel_flow": kernel_flow, "ntk": regimes.ntk, "y": y}
    found = eval(instead, names | {"model": regimes.module(net), "x": x, "z": z})

    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def forward(self, x):
            return self.inner(x[:, :3], x[:, 3:])

    joined = (torch.cat(points, 1) for points in (x, z))
    train, test = (Task(points, labels, "") for points, labels in zip(joined, (y, y[:5])))
    assert torch.allclose(found, regimes.lazy(regimes.module(Joined()), train, test).f, rtol=0, atol=1e-12)


class Paired(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 1)

    def forward(self, tokens, mask):
        return self.inner(tokens * mask)


class Optional(Paired):
    def forward(self, tokens, mask=None):
        return self.inner(tokens if mask is None else tokens * mask)


@pytest.mark.parametrize(
    ("kind", "points", "message"),
    [
        (Paired, ("tokens", "mask", "labels"), "forward takes tokens, mask, not these points (got an unexpected"),
        (Paired, ("tokens", "mask", "labels"), ": leave 'labels' out of the points"),
        (Paired, ("tokens",), "(missing a required argument: 'mask')"),
        (Paired, 3, "forward takes tokens, mask, not these points (too many positional arguments)"),
        (Optional, ("tokens", "labels"), ": leave 'labels' out of the points"),
    ],
)
def test_points_that_are_not_the_arguments_of_forward_are_refused_by_name(kind, points, message):
    x = torch.rand(4, 6).double()
    given = [x] * points if isinstance(points, int) else dict.fromkeys(points, x)
    with pytest.raises(InputError, match=re.escape(message)) as said:
        regimes.ntk(regimes.module(kind().double()), given)
    assert "\n" not in str(said.value)


def test_the_flow_of_all_pairs_is_that_of_the_flat_matrix():
    torch.manual_seed(0)
    J = torch.randn(4, 3, 30).double()
    gram = torch.einsum("icP,jdP->icjd", J, J)
    y = torch.randn(4, 3).double().sign()
    y[0] = torch.tensor([1.0, -1.0, 1.0])
    by_pairs, flat = kernel_flow.fit(gram, y), kernel_flow.fit(gram.reshape(12, 12), y.flatten())
    assert torch.equal(by_pairs.coefficients, flat.coefficients)
    ensemble = kernel_flow.fit(gram.expand(2, 4, 3, 4, 3), y.expand(2, 4, 3))
    assert torch.equal(ensemble.coefficients[1], flat.coefficients[0])
    assert torch.equal(ensemble.model(gram)[0], flat.model(gram.reshape(12, 12))[0].reshape(4, 3))


def test_components_are_those_of_the_summed_kernel():
    net, _, _ = drawn("perceptron")
    torch.manual_seed(1)
    x = torch.randn(30, 6).double()
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    found = regimes.kernel_pca(net, x, y, count=3)
    values = torch.linalg.eigvalsh(torch.einsum("icjc->ij", oracle(net, x))).flip(0)[:3] / 30
    assert same(found.values[0], values)


def test_agop_of_a_classifier_is_the_sum_over_its_outputs():
    net, x, _ = drawn("perceptron")
    first = matrices.sites(regimes.module(net), x)[0]
    assert first.delta.shape == (1, 28, 12)
    slopes = torch.stack([torch.autograd.functional.jacobian(lambda p: net(p[None])[0], point) for point in x])
    agop = torch.einsum("icd,ice->de", slopes, slopes) / len(x)
    assert same(matrices.agop(first.weights, first.delta)[0] * 4, agop)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: regimes.ntk(m, x, outputs="mean"), "outputs must be one of sum, each, all"),
        (lambda m, x: regimes.ntk(m.output(4), x), "output 4 is asked for, the module gives 4 a point"),
        (lambda m, x: m.output(-1), "number must be a whole number of at least 0"),
        (
            lambda m, x: m.points(x),
            "the module must give one number a point, it gives 4: ntk, kernel_pca, lazy and sites",
        ),
        (lambda m, x: list(regimes.gauss_newton(m, x, x[:, 0].sign(), alpha=1.0)), "must give one number a point"),
        (lambda m, x: regimes.ntk(m, (x, x[:3])), "all tensors of x must have one row a point, got [3, 7] rows"),
        (lambda m, x: regimes.ntk(m, {"a": x, "b": "text"}), "x['b'] must be a torch tensor"),
        (lambda m, x: regimes.ntk(m, ()), "x must be a torch tensor"),
        (lambda m, x: regimes.ntk(m, [x.float()]), "x must be in the weights' precision, torch.float64"),
        (lambda m, x: regimes.ntk(m, [x], x), "all points must be made of the same tensors"),
        (lambda m, x: regimes.lazy(m, Task(x, -torch.ones(7), ""), Task(x, torch.ones(7), "")), "the class of each"),
        (lambda m, x: regimes.lazy(m, Task(x, torch.zeros(7), ""), Task(x, torch.zeros(7), "")), "it lacks [1, 2, 3]"),
    ],
)
def test_bad_input_is_one_line(call, message):
    net, x, _ = drawn("perceptron")
    with pytest.raises(InputError, match=re.escape(message)) as said:
        call(regimes.module(net), x)
    assert "\n" not in str(said.value)


def test_whole_numbers_that_the_precision_does_not_hold_are_refused():
    with pytest.raises(InputError, match=r"holds whole numbers that torch\.float32 does not"):
        regimes.ntk(regimes.module(Masked()), (torch.tensor([[2**24 + 1]]), torch.ones(1, 1), torch.ones(1, 1)))


def test_outputs_that_depend_on_other_points_are_refused():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 4)

        def forward(self, x):
            return self.inner(x - x.mean(0))

    with pytest.raises(InputError, match="must not depend on the others"):
        regimes.ntk(regimes.module(Mixed().double()), torch.randn(5, 6).double())


def test_a_function_and_its_own_derivative_are_two_outputs():
    class WithSlope(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            x = x.requires_grad_()
            f = self.inner(x)
            return torch.cat([f, torch.autograd.grad(f.sum(), x, create_graph=True)[0]], 1)

    torch.manual_seed(0)
    net, x = WithSlope().double(), torch.randn(5, 1).double()
    rows = []
    for point in x:
        f = net(point.unsqueeze(0).clone())[0]
        grads = [
            torch.autograd.grad(value, list(net.parameters()), retain_graph=True, allow_unused=True) for value in f
        ]
        filled = [[torch.zeros_like(p) if g is None else g for g, p in zip(grad, net.parameters())] for grad in grads]
        rows.append(torch.stack([torch.cat([g.flatten() for g in grad]) for grad in filled]))
    J = torch.stack(rows)
    kernel = regimes.ntk(regimes.module(net), x, outputs="all")[0]
    assert same(kernel, torch.einsum("icP,jdP->icjd", J, J))


def test_dropout_and_its_generator_are_not_moved_by_counting():
    net = nn.Sequential(nn.Linear(6, 4), nn.Dropout())
    state = torch.get_rng_state()
    with pytest.raises(InputError, match="eval"):
        regimes.ntk(regimes.module(net), torch.randn(5, 6, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(torch.get_rng_state(), state)
