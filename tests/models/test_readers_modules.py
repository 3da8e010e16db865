"""Modules as readers bring them: each gives torch's own numbers point by point, or is refused in one line."""

import copy
import functools
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import regimes
from regimes.data.tasks import Task
from regimes.measures.matrices import sites
from regimes.measures.spectrum import tangent_components
from regimes.models import join
from regimes.models.realisation import Realisation
from regimes.models.tangents import Tangents
from regimes.training.gauss_newton import gauss_newton
from regimes.validate import InputError
from tests.cases import for_each, refused
from tests.models.modules import MODULES, TWO, Of, built, draw, keeps, linear, mlp, net, normed, of_tokens, rows

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*weight_norm.*:FutureWarning",
    "ignore:.*nested_tensor.*:UserWarning",
    "ignore:None of the inputs have requires_grad=True:UserWarning",
)


def features():
    made = Of(lambda s, x: s.o(torch.cos(x @ s.B)), o=nn.Linear(16, 1))
    made.B = torch.randn(3, 16).double()
    return made


def permuted():
    made = Of(lambda s, x: s.o(torch.tanh(s.l(x[:, s.order]))), l=nn.Linear(3, 4), o=nn.Linear(4, 1))
    made.order = torch.randperm(3)
    return made


def masked():
    made = Of(lambda s, x: s.o(torch.tanh(s.l(x) * s.parts["mask"][0])), l=nn.Linear(3, 8), o=nn.Linear(8, 1))
    made.parts = {"mask": [torch.rand(8).double().round()]}
    return made


def scaled():
    made = Of(lambda s, x: s.scale * s.o(torch.tanh(s.l(x))), l=nn.Linear(3, 4), o=nn.Linear(4, 1))
    made.scale = float(torch.rand(()))
    return made


def of_numpy():
    made = Of(lambda s, x: s.o(x * torch.from_numpy(s.scale)), o=nn.Linear(3, 1))
    made.scale = torch.rand(3).double().numpy()
    return made


def closure():
    B = torch.randn(3, 5).double()
    return Of(lambda s, x: s.o(torch.sin(x @ B)), o=nn.Linear(5, 1))


def nested():
    return nn.Sequential(features(), nn.Linear(1, 1))


def another_activation():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh() if torch.rand(()) < 0.5 else nn.Sigmoid(), nn.Linear(4, 1))


STATES = [features, permuted, masked, scaled, of_numpy, closure, nested, another_activation]


@for_each({make.__name__: make for make in STATES})
def test_each_realisation_has_its_own_state(make):
    def double():
        return make().double()

    x, seeds = draw(4, 3), [3, 4, 5, 6]
    model = regimes.module(double, seeds=seeds)
    for e, seed in enumerate(seeds):
        network = built(make, seed)
        J = rows(network, x)
        torch.testing.assert_close(model(x)[e], network(x).detach().reshape(4))
        for part in (model[e : e + 1], model[torch.tensor([e])], regimes.module(double, seeds=[seed])):
            torch.testing.assert_close(regimes.ntk(part, x)[0], J @ J.T)
    torch.testing.assert_close(join([model[2:], model[:2]])(x), model(x)[[2, 3, 0, 1]])


def test_the_axes_of_points_are_never_guessed():
    flat = nn.Sequential(nn.Flatten(), nn.Linear(64, 1)).double()
    model = regimes.module(flat, shape=(8, 8))
    x = draw(1, 8, 8)
    J = rows(flat, x)
    for given in (x, x.flatten(1), x[None], x.flatten(1)[None]):
        torch.testing.assert_close(regimes.ntk(model, given)[0], J @ J.T)
    two = regimes.module(lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 1)).double(), seeds=[0, 1], shape=(8, 8))
    x = draw(2, 8, 8)  # two points for both, not one for each
    assert regimes.ntk(two, x).shape == (2, 2, 2) and two(x).shape == (2, 2)
    points = draw(2, 3, 8, 8)
    torch.testing.assert_close(regimes.ntk(two, points)[1], regimes.ntk(two[1:], points[1])[0])
    torch.testing.assert_close(regimes.ntk(two, points, points.flatten(2)[:, :2]), regimes.ntk(two, points)[..., :2])
    task = Task(x, torch.tensor([1.0, -1]).double(), "")
    assert regimes.lazy(model, task, task).f.shape == (1, 2)
    for call in (model, functools.partial(regimes.ntk, model), lambda x: sites(model, x)):
        refused(functools.partial(call, draw(8, 9)), r"x must be inputs \(p, 8, 8\) or \(1, p, 8, 8\) or \(p, 64\)")
        refused(functools.partial(call, draw(3, 4, 8, 8)), "x must hold 1 realisation")
    refused(lambda: regimes.module(nn.Linear(16, 1).double())(draw(3, 1, 4, 4)), r"x.flatten\(1\)|shape=")


def test_as_many_points_as_pixels_are_trained_on_as_points():
    network = nn.Sequential(nn.Flatten(), nn.Linear(9, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def build():
        return copy.deepcopy(network)

    y = torch.tensor([1.0, -1, 1]).double()
    model = regimes.module(build, seeds=[0, 1, 2], shape=(3, 3))
    x = draw(3, 3, 3)
    flat = regimes.module(build, seeds=[0, 1, 2], shape=(3, 3))
    for train in (lambda m, x: regimes.optimise(m, x, y, rate=0.1), lambda m, x: gauss_newton(m, x, y, alpha=1.0)):
        ends = [
            [now for now, _ in zip(train(m, given), range(4))][-1] for m, given in ((model, x), (flat, x.flatten(1)))
        ]
        torch.testing.assert_close(*[end.F for end in ends])


def test_a_solver_hands_models_back_in_the_callers_precision():
    task = regimes.stripe(12, 3, seed=0)
    for dtype in (torch.float64, torch.float32):
        start = regimes.one_hidden(3, 8, seeds=[0, 1]).to(dtype=dtype)
        path = regimes.run(regimes.gradient_flow(start, task, alpha=0.1, dtype=torch.float32))
        assert {t.dtype for model in (path.model, path.initial) for t in model.parameters()} == {dtype}
        assert torch.equal(path.initial.omega, start.omega.float().to(dtype))
        at_event = path.at("t_star")[2]
        assert regimes.ntk(path.model, task.x.to(dtype)).dtype == regimes.ntk(at_event, task.x.to(dtype)).dtype == dtype


def tokens():
    return nn.Sequential(nn.Embedding(7, 4), nn.Flatten(), nn.Linear(12, 3), nn.Tanh(), nn.Linear(3, 1))


def test_tokens_are_points():
    network = built(tokens)
    x = torch.randint(7, (5, 3), generator=torch.Generator().manual_seed(0))
    J = rows(network, x)
    for given in (x, x.int(), x.numpy()):
        torch.testing.assert_close(regimes.ntk(regimes.module(network), given)[0], J @ J.T)
    torch.testing.assert_close(sites(regimes.module(network), x)[0].inputs[0], network[:2](x).detach())
    refused(lambda: regimes.ntk(regimes.module(built(TWO["l"])), x), "the module (cannot take points|must give one)")
    refused(lambda: regimes.ntk(regimes.fully_connected([3, 1], seeds=[0]), x), "x must be inputs")


class Quiet(nn.Module):
    """Without derivatives, in the way that is asked for."""

    def __init__(self, change):
        super().__init__()
        self.change, self.l, self.o = change, nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.change(self, x)


def silent(s, x):
    with torch.no_grad():
        return s.o(torch.tanh(s.l(x)))


def dropped(s, x):
    return s.o(F.dropout(s.l(x), 0.5, s.training))


def noise_of_numpy(s, x):
    return s.o(s.l(x)) * np.random.rand()  # noqa: NPY002


def counted_up(s, x):
    s.count += 1.0
    return s.count * s.o(s.l(x))


def with_count():
    made = Quiet(counted_up)
    made.register_buffer("count", torch.zeros(()))
    return made


def generator():
    made = Quiet(lambda s, x: s.o(s.l(x)) + torch.randn(len(x), 1, generator=s.g, dtype=x.dtype))
    made.g = torch.Generator().manual_seed(0)
    return made


def unregistered():
    made = Quiet(lambda s, x: s.o(s.layers[0](s.l(x))))
    made.layers = [nn.Linear(4, 4).double()]
    return made


def not_batch_first():
    return Of(lambda s, x: s.o(s.r(x)[0][:, -1]), r=nn.LSTM(3, 4), o=nn.Linear(4, 1))


REFUSED = {  # module, shape, words
    "dropout by function": (lambda: Quiet(dropped), (3,), "random numbers"),
    "rrelu": (lambda: nn.Sequential(nn.Linear(3, 4), nn.RReLU(), nn.Linear(4, 1)), (3,), "random numbers"),
    "noise": (lambda: Quiet(lambda s, x: s.o(s.l(x) + 0.1 * torch.randn_like(s.l(x)))), (3,), "random numbers"),
    "noise of numpy": (lambda: Quiet(noise_of_numpy), (3,), "random numbers"),
    "a generator of its own": (generator, (3,), "two outputs for the same points"),
    "spectral norm": (
        lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 1)),
        (3,),
        r"changes its own 0\.parametrizations.* call \.eval\(\)",
    ),
    "a buffer": (with_count, (3,), "changes its own count"),
    "instance norm": (
        lambda: nn.Sequential(nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten(), nn.Linear(8, 1)),
        (2, 4),
        r"changes its own 0\.running_mean",
    ),
    "mean over the batch": (
        lambda: Quiet(lambda s, x: s.o(torch.tanh(s.l(x) - s.l(x).mean(0)))),
        (3,),
        "must not depend on the others",
    ),
    "softmax over the batch": (
        lambda: Quiet(lambda s, x: s.o(torch.softmax(s.l(x), 0))),
        (3,),
        "must not depend on the others",
    ),
    "size of the batch": (lambda: Quiet(lambda s, x: s.o(s.l(x)) / len(x)), (3,), "must not depend on the others"),
    "a batch that seems a sequence": (not_batch_first, (5, 3), "batch_first"),
    "no_grad": (lambda: Quiet(silent), (3,), "no derivative by l.weight"),
    "detach": (lambda: Quiet(lambda s, x: s.o(s.l(x)).detach()), (3,), "no derivative"),
    "sign": (lambda: Quiet(lambda s, x: torch.sign(s.o(s.l(x)))), (3,), "zero derivatives"),
    "rounded": (lambda: Quiet(lambda s, x: s.o(s.l(x)).round()), (3,), "zero derivatives"),
    "argmax": (lambda: Quiet(lambda s, x: s.l(x).argmax(1).double()), (3,), "no derivative"),
    "whole numbers": (lambda: Quiet(lambda s, x: s.l(x).argmax(1)), (3,), "numbers, it gives torch.int64"),
    "complex": (lambda: Quiet(lambda s, x: torch.complex(s.o(s.l(x)), s.o(s.l(x)))), (3,), "gives torch.complex128"),
    "sparse": (lambda: Quiet(lambda s, x: s.o(s.l(x)).to_sparse()), (3,), "sparse"),
    "a tuple": (lambda: Quiet(lambda s, x: (s.o(s.l(x)),)), (3,), "one number a point, it gives a tuple"),
    "an unregistered layer": (unregistered, (3,), "outside of its named_parameters"),
}


@for_each(REFUSED)
def test_what_would_be_a_wrong_number_is_refused(make, shape, words):
    model = regimes.module(built(make).train(), shape=shape if len(shape) > 1 else None)
    x = draw(6, *shape)
    state = torch.get_rng_state()
    for call in (functools.partial(regimes.ntk, model), model, lambda x: model.tangents(x), lambda x: sites(model, x)):
        refused(functools.partial(call, x), words)
        assert torch.equal(torch.get_rng_state(), state)


def dead():
    made = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1, bias=False))
    nn.init.constant_(made[0].bias, -100.0)
    return made


def centred():
    made = Quiet(lambda s, x: s.o(torch.tanh(s.l(x))) - s.start(x).detach())
    made.start = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    made.start[0].load_state_dict(made.l.state_dict())
    made.start[2].load_state_dict(made.o.state_dict())
    return made


def zero_head():
    made = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    nn.init.zeros_(made[2].weight)
    return made


@for_each({make.__name__: make for make in (dead, centred, zero_head)})
def test_derivatives_may_vanish_where_they_are(make):
    network, x = built(make), draw(5, 3)
    J = rows(network, x)
    torch.testing.assert_close(regimes.ntk(regimes.module(network), x)[0], J @ J.T)


def test_black_pictures_without_a_bias_have_the_zero_kernel():
    network = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False)).double()
    assert not regimes.ntk(regimes.module(network), torch.zeros(3, 3).double()).any()


def test_layers_have_names_frozen_and_computed_ones_too():
    network = built(lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)))
    all_sites = sites(regimes.module(network), draw(5, 6))
    x = draw(5, 6)
    network[0].requires_grad_(False)
    layers = sites(regimes.module(network), x)
    assert [site.name for site in layers] == ["0", "2"]
    for mine, theirs in zip(layers, all_sites):
        torch.testing.assert_close(mine.weights, theirs.weights)
        torch.testing.assert_close(mine.delta, theirs.delta)
    first = torch.func.vmap(torch.func.grad(lambda point: network(point).squeeze()))(x)
    torch.testing.assert_close(layers[0].gradients[0], first)
    for wrap in (nn.utils.parametrizations.weight_norm, nn.utils.weight_norm, nn.utils.parametrizations.orthogonal):
        network = built(lambda: nn.Sequential(nn.Linear(6, 3), normed(wrap)()))  # noqa: B023
        layers = sites(regimes.module(network), x)
        given = network[0](x).detach().requires_grad_()
        assert [site.name for site in layers] == ["0", "1.0"]
        torch.testing.assert_close(layers[1].gradients[0], torch.autograd.grad(network[1](given).sum(), given)[0])
    assert [site.name for site in sites(regimes.fully_connected([6, 4, 3, 1], seeds=[0]), x)] == ["W1", "W2"]
    named = Of(lambda s, x: s.head(s.body(x)), body=nn.Sequential(nn.Linear(6, 4), nn.Tanh()), head=nn.Linear(4, 1))
    assert [site.name for site in sites(regimes.module(named.double()), x)] == ["body.0"]


def test_a_residual_that_changes_a_layers_input_leaves_the_site_alone():
    def forward(s, x):
        h = s.l(x)
        h += s.m(h).detach()
        return s.o(torch.tanh(h))

    network = built(net(forward, m=linear(4, 4), **TWO))
    network.m.requires_grad_(False)
    x = draw(4, 3)
    layers = sites(regimes.module(network), x)
    torch.testing.assert_close(layers[1].inputs[0], network.l(x).detach())


def test_a_trained_module_that_keeps_its_features_is_copied():
    network, x = built(net(keeps, **TWO)), draw(5, 3)
    network(x).sum().backward()
    before = len(network.seen)
    model = regimes.module(network)
    J = rows(regimes_free(network), x)
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    assert len(network.seen) == before
    copy.deepcopy(model)


def regimes_free(network):
    """The same module without what it keeps."""
    copied = built(net(keeps, **TWO))
    copied.load_state_dict(network.state_dict())
    return copied


class Locked:
    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle a lock")


def with_lock():
    made = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    made[0].lock = Locked()
    return made


KINDS = {
    "lazy": (lambda: nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1)), "0.weight has no shape yet"),
    "script": (lambda: torch.jit.script(nn.Sequential(nn.Linear(3, 1))), "torch.jit"),
    "trace": (lambda: nn.Sequential(torch.jit.trace(nn.Linear(3, 1), torch.ones(2, 3))), "layer 0 .* torch.jit"),
    "parallel": (lambda: nn.DataParallel(nn.Linear(3, 1)), r"give its \.module"),
    "a lock": (with_lock, "cannot be copied, its attribute 0.lock is the reason: TypeError: cannot pickle a lock"),
    "a number": (lambda: 3, "source must be a torch module"),
    "a function": (lambda: torch.tanh, "source must be a torch module, or a function that builds one with seeds"),
}


@for_each(KINDS)
def test_modules_that_cannot_be_taken_get_one_line(make, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = make()
    refused(lambda: regimes.module(network), words)


POINTS = {
    "sparse": (lambda: draw(4, 3).to_sparse(), r"to_dense\(\)"),
    "complex": (lambda: draw(4, 3).to(torch.complex128), "complex"),
    "words": (lambda: "points", "tensor"),
    "single precision": (lambda: draw(4, 3).float(), "in torch.float64, got .4, 3. in torch.float32"),
    "none": (lambda: draw(0, 3), "at least one point"),
    "infinite": (lambda: draw(4, 3) / 0, "finite"),
}


@for_each(POINTS)
def test_points_that_cannot_be_taken_get_one_line(make, words):
    refused(lambda: regimes.ntk(regimes.module(built(linear(3, 1))), make()), words)


def test_what_is_no_model_is_named():
    task = regimes.stripe(8, 3, seed=[0])
    for given in (nn.Linear(3, 1), torch.tanh, 3):
        for call in (
            functools.partial(regimes.ntk, given, task.x),
            functools.partial(regimes.lazy, given, task, task),
            functools.partial(sites, given, task.x),
            functools.partial(gauss_newton, given, task.x, task.y, alpha=1.0),
            functools.partial(regimes.optimise, given, task.x, task.y, rate=0.1),
        ):
            refused(call, r"must be a model of E realisations, got a .*module\(\.\.\.\) makes one")


def test_inference_mode_is_left_or_named():
    network = built(net(lambda s, x: s.o(torch.tanh(s.l(x))), **TWO))
    x = draw(4, 3)
    J = rows(network, x)
    with torch.inference_mode():
        model, made = regimes.module(network), x.clone()
        torch.testing.assert_close(model(made)[0], network(x).squeeze(1))
        refused(lambda: regimes.ntk(model, x), "torch.inference_mode")
    torch.testing.assert_close(regimes.ntk(model, made)[0], J @ J.T)
    torch.testing.assert_close(model.tangents(made).vjp(torch.ones(1, 4).double())[0][0].flatten(), J.sum(0)[:12])


def test_the_readers_own_traceback_is_kept():
    def the_readers_line(s, x):
        return s.o(x @ x)

    model = regimes.module(built(net(the_readers_line, **TWO)))
    with pytest.raises(
        InputError, match=r"the module cannot take points of shape \(3,\) in float64: RuntimeError"
    ) as error:
        regimes.ntk(model, draw(4, 3))
    assert len(str(error.value)) < 300 and "\n" not in str(error.value)
    assert "the_readers_line" in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize(
    ("words", "message"), [((), ""), (("  ",), ""), (("too\n long",), ": too"), (("a  b",), ": a b")]
)
def test_an_exception_without_words_is_named_alone(words, message):
    def refuses(s, x):
        raise ZeroDivisionError(*words)

    model = regimes.module(built(net(refuses, **TWO)))
    with pytest.raises(InputError, match=rf"of shape \(3,\) in float64: ZeroDivisionError{message}$"):
        regimes.ntk(model, draw(4, 3))


def test_warnings_of_torch_do_not_reach_a_reader():
    model = MODULES["transformer"].model(built(MODULES["transformer"].make))
    x = draw(4, 12)
    task = Task(x, torch.tensor([1.0, -1.0, 1.0, -1.0]).double(), "drawn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="left out of the layers: .*in_proj_weight is used")
        kernel = regimes.ntk(model, x)
        regimes.lazy(model, task, task)
        model.layers(x)
        model.tangents(x).jvp(model.parameters())
        tangent_components(model, x, 2)
    assert torch.backends.mha.get_fastpath_enabled()
    assert kernel.shape == (1, 4, 4) and not model.skeletons[0].slow


def counting(monkeypatch):
    made = []
    original = Realisation.rows

    def noted(self, x, **options):
        made.append(len(x))
        return original(self, x, **options)

    monkeypatch.setattr(Realisation, "rows", noted)
    return made


def test_each_gradient_is_made_once_where_all_fit_and_never_more_with_more_memory(monkeypatch):
    made = counting(monkeypatch)
    # wide, so that the tile of a product, which is within the memory too, is less than one gradient
    model = regimes.module(built(lambda: nn.Sequential(nn.Linear(9, 2000), nn.PReLU(), nn.Linear(2000, 1))))
    x = draw(32, 9)
    z = draw(12, 9, seed=1)
    point_bytes = model.tangent_size * 8
    counts = []
    expected = regimes.ntk(model, x), regimes.ntk(model, x, z)
    for memory in [point_bytes * n for n in (8, 32, 36, 40, 64, 512)]:
        made.clear()
        torch.testing.assert_close(regimes.ntk(model, x, memory=memory), expected[0])
        counts.append(sum(made))
        torch.testing.assert_close(regimes.ntk(model, x, z, memory=memory), expected[1])
        torch.testing.assert_close(regimes.ntk(model, z, x, memory=memory), expected[1].mT)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == counts[-4] == 32 and counts[-5] <= 36


def perceptron():
    return nn.Sequential(
        nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 6, bias=False), nn.ReLU(inplace=True), nn.Linear(6, 1)
    )


def tied():
    made = perceptron()
    made.append(nn.Linear(1, 1))
    return Of(lambda s, x: s.made(x) + s.made[2](s.made[2](x @ s.made[0].weight.T)).sum(1, keepdim=True), made=made)


DENSE = {  # modules, and whether layers' inputs and derivatives are all that a kernel needs
    "perceptron": (perceptron, True),
    "frozen": (lambda: perceptron().requires_grad_(False).append(nn.Linear(1, 1)), True),
    "a trained factor": (lambda: perceptron().append(nn.PReLU()), False),
    "a layer called three times, weights in a product": (tied, False),
    "weights of other weights": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 1)), False),
    "positions": (lambda: Of(lambda s, x: s.a(x[:, :, None]).tanh().mean((1, 2)), a=nn.Linear(1, 4)), False),
    "two rows a point": (
        lambda: Of(lambda s, x: s.a(torch.cat([x, -x])).view(2, -1).prod(0), a=nn.Linear(3, 1)),
        False,
    ),
}


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("memory", [1, 2**28])
def test_a_kernel_needs_no_gradients_where_linear_layers_hold_all_parameters(name, memory, monkeypatch):
    source, dense = DENSE[name]
    model = regimes.module(lambda: source().double(), seeds=[0, 1])
    x = draw(5, 3)
    z = draw(4, 3, seed=1)
    J, J_z = (model.tangents(points).jacobian() for points in (x, z))
    made = counting(monkeypatch)
    torch.testing.assert_close(regimes.ntk(model, x, memory=memory), J @ J.mT)
    torch.testing.assert_close(regimes.ntk(model, x, z, memory=memory), J @ J_z.mT)
    assert bool(made) != dense


PEAK = """
import re, sys, torch
from pathlib import Path
import regimes

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

torch.set_num_threads(1)
last = (torch.nn.PReLU,) if sys.argv[1] == "gradients" else (torch.nn.ReLU,)
layers = torch.nn.Linear(20, 980), last[0](), torch.nn.Linear(980, 1000), torch.nn.ReLU(), torch.nn.Linear(1000, 1)
model, x = regimes.module(torch.nn.Sequential(*layers)), torch.randn(512, 20)
regimes.ntk(model, x[:4])
begun = peak()
regimes.ntk(model, x, memory=286 * 10**6)
print(sum(w.numel() for w in model.parameters()), peak() - begun)
"""


@pytest.mark.weekly
@pytest.mark.parametrize("way", ["layers", "gradients"])
def test_a_million_parameters_at_512_points_stay_within_the_memory(way):
    done = subprocess.run([sys.executable, "-c", PEAK, way], capture_output=True, text=True, check=True)
    count, taken = map(int, done.stdout.split())
    assert count > 10**6 and taken < 1.1 * 286 * 10**6


class Scaled(nn.Module):
    """Points scaled by the largest number of the batch, where that is large: not so of any point alone."""

    def __init__(self, asks):
        super().__init__()
        self.asks = asks
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))

    def forward(self, x):
        largest = x.abs().max()
        if self.asks and largest > 2.5:  # vmap cannot ask
            return self.layers(x / largest)
        return self.layers(x if self.asks else x / largest.clamp(min=2.5))


@pytest.mark.parametrize("asks", [True, False])
def test_a_batch_that_changes_its_points_only_later_gives_the_kernel_of_single_points(asks):
    """At the points of the first look nothing depends on the others."""
    net, x = built(lambda: Scaled(asks)), draw(30, 6)
    x[:2] /= 10
    assert (x.abs().amax(1) > 2.5).sum() > 1
    rows = [torch.autograd.grad(net(point[None]).squeeze(), [*net.parameters()]) for point in x]
    flat = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    refused(lambda: regimes.ntk(regimes.module(net), x), "must not depend on the others")
    model = regimes.module(net)
    model(x[:2])
    torch.testing.assert_close(regimes.ntk(model, x)[0], flat @ flat.mT)
    torch.testing.assert_close(regimes.ntk(model, x[:2], x)[0], flat[:2] @ flat.mT)


def test_memory_holds_what_a_forward_pass_keeps(monkeypatch):
    """A network of few parameters on large pictures: its points are differentiated a few at a time."""
    made = counting(monkeypatch)
    layers = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)
    model = regimes.module(built(lambda: nn.Sequential(*layers)), shape=(1, 16, 16))
    x = draw(40, 256)
    kernel = regimes.ntk(model, x)
    made.clear()
    torch.testing.assert_close(regimes.ntk(model, x, memory=2**20), kernel)
    activation_bytes = 8 * 8 * 256  # bytes of the activations of a point
    assert max(made) * 2 * activation_bytes <= 2**20 and sum(made) == 40
    assert activation_bytes <= 8 * model.tangent_size <= 3 * activation_bytes


# layers, batches, weights: what is left out or refused by its name


def taken(name):
    case = MODULES[name]
    network = built(case.make)
    return network, case.model(network), case.points(5)


def left_out(call, words):
    """What a call gives that warns of layers that it leaves out, or ``None`` where no layer is left."""
    with pytest.warns(UserWarning, match=words):
        return call()


def test_layers_whose_rows_are_not_the_points_are_left_out_by_name():
    _, model, x = taken("sorted inside")
    refused(lambda: sites(model, x), "layer net.0 takes the points in another order")
    assert sites(model, x[:2])[0].name == "net.0"  # these are in order
    network, model, x = taken("two branches")
    (last,) = left_out(lambda: model.layers(x), "left out .*layer a takes . rows for 5 points.*layer b takes")
    assert last.layer == "o"
    network, model, _ = taken("experts")
    x = draw(5, 5, seed=3)  # of which no expert takes all
    (choice,) = left_out(lambda: sites(model, x), "layer experts.0 takes . rows for 5 points")
    expected = rows(network, x, weights=[network.choice.weight]).sum(0).view(3, 5)
    torch.testing.assert_close(choice.delta[0].mT @ choice.inputs[0], expected)
    _, model, x = taken("a frozen part")
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
    _, model, x = taken("energy by torch.func")
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
