"""Nothing is believed that was right once: each answer is checked at its own points and weights, and others do it anew.

The oracle is a backward pass for each point, and autograd by a layer's input for its AGOP.
"""

import collections
import functools
import gc
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import regimes
from regimes.data.tasks import Task
from regimes.measures.matrices import agop, nfm, sites
from regimes.measures.spectrum import tangent_components
from regimes.models import layers as layers_of_modules
from regimes.models.realisation import Realisation
from regimes.models.tangents import Tangents
from regimes.training import kernel_flow
from regimes.training.gauss_newton import gauss_newton
from tests.cases import for_each, refused
from tests.models.modules import LAYERS, Of, around, built, draw, rows, uses_twice

pytestmark = pytest.mark.filterwarnings("ignore:left out of the layers:UserWarning")


def zero_head():
    made = Of(uses_twice, l=nn.Linear(6, 6, bias=False), o=nn.Linear(6, 1))
    nn.init.zeros_(made.o.weight)
    nn.init.zeros_(made.o.bias)
    return made


def test_a_way_that_was_right_at_a_zero_head_is_not_believed_after_training():
    network, x = built(zero_head), draw(12, 6)
    start = regimes.module(network)
    J = rows(network, x)
    torch.testing.assert_close(regimes.ntk(start, x)[0], J @ J.T)
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    trained = [now for now, _ in zip(gauss_newton(start, x, y, alpha=1.0), range(30))][-1].model
    for tensor, value in zip(network.parameters(), trained.parameters()):
        tensor.data = value[0].clone()
    J_then = rows(network, x)
    assert torch.dist(J_then, J) > 0.1 * J.norm()
    torch.testing.assert_close(regimes.ntk(trained, x)[0], J_then @ J_then.T)


@pytest.mark.parametrize("blank", [0, 2, 4])
def test_a_way_that_is_right_for_blank_pictures_is_not_believed_of_others(blank):
    network = built(
        lambda: Of(lambda s, x: (x - F.linear(s.l(x), s.l.weight.T)).square().sum(1), l=nn.Linear(5, 3, bias=False))
    )
    x = draw(6, 5)
    x[:blank] = 0.0
    J = rows(network, x)
    model = regimes.module(network)
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    torch.testing.assert_close(regimes.ntk(model, x[:2], x)[0], J[:2] @ J.T)


def test_products_are_the_backward_pass_where_forward_differentiation_has_another_derivative():
    """A padding index has no derivative backwards, but one forwards, and comes late among the points."""
    parts = {"e": lambda: nn.Embedding(9, 4, padding_idx=0), "o": lambda: nn.Linear(4, 1)}
    network = built(
        lambda: Of(lambda s, t: s.o(torch.tanh(s.e(t).mean(1))), **{k: make() for k, make in parts.items()})
    )
    x = torch.randint(1, 9, (8, 5), generator=torch.Generator().manual_seed(0))
    x[3:, 2:] = 0
    model = regimes.module(network)
    model.tangents(x[:2]).jvp(model.parameters())  # no padding there
    w = [draw(*t.shape, seed=3) for t in model.parameters()]
    J = rows(network, x)
    torch.testing.assert_close(model.tangents(x).jvp(w)[0], J @ torch.cat([t.flatten() for t in w]))
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)


# false fast ways, planted


def small():
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))


def with_factor():
    return nn.Sequential(nn.Linear(3, 6), nn.PReLU(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))


@pytest.mark.parametrize("wrong", [[0], [17], [29], [3, 4, 20], [*range(0, 30, 2)]])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_wrong_rows_among_many_are_caught(wrong, dtype, monkeypatch):
    """One or few, as rounding makes at kinks, are taken from single backward passes; what has failed is dropped."""
    network, x = built(with_factor), draw(64, 3)
    wrong = [2 * row for row in wrong]
    J = rows(network, x)
    original, single = Realisation._vmapped, Realisation.backwards
    calls, alone = [], []

    def planted(self, x):
        made = original(self, x)
        calls.append(len(x))
        for part in made:
            part[wrong] *= 1.5
        return made

    def counted(self, x):
        alone.append(len(x))
        return single(self, x)

    monkeypatch.setattr(Realisation, "_vmapped", planted)
    monkeypatch.setattr(Realisation, "backwards", counted)
    model = regimes.module(network).to(dtype=dtype)
    for _ in range(2):
        torch.testing.assert_close(regimes.ntk(model, x.to(dtype))[0].double(), J @ J.T, rtol=1e-4, atol=1e-4)
    few = len(wrong) <= 4
    assert (calls, alone) == (([64, 64], 2 * [len(wrong)]) if few else ([64], [64, 64]))


def test_rows_that_differ_are_compared_again_where_they_are_made_again(monkeypatch):
    network, x = built(with_factor), draw(64, 3)
    J = rows(network, x)
    original = Realisation._vmapped

    def planted(self, points):
        made = original(self, points)
        for part in made:
            part[(points[:, None] == x[40]).all(-1).any(-1)] *= 1.5
        return made

    monkeypatch.setattr(Realisation, "_vmapped", planted)
    model = regimes.module(network)
    regimes.ntk(model, x[:2])
    one = 8 * sum(tensor.numel() for tensor in model.tensors)
    torch.testing.assert_close(regimes.ntk(model, x, memory=2**17 + 40 * one)[0], J @ J.T)  # most rows are made twice


@pytest.mark.parametrize("built_by", [small, with_factor])
def test_wrong_layers_are_caught(built_by, monkeypatch):
    network, x = built(built_by), draw(30, 3)
    J = rows(network, x)
    original = layers_of_modules.Layer
    calls = []

    def planted(h, *args, **options):
        calls.append(h.shape)
        h = h.clone()
        h[0, 11] *= 1.2
        return original(h, *args, **options)

    monkeypatch.setattr(layers_of_modules, "Layer", planted)
    model = regimes.module(network)
    for _ in range(2):
        torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    assert len(calls) == 3


def test_layers_of_vectors_that_see_the_batch_at_these_points_only_are_caught():
    def mixed(s, x):
        h = s.c(x.unsqueeze(1)).flatten(1)
        return s.o(torch.tanh(s.l(h + (x.amax() > 5) * h.detach().mean(0))))

    network = built(lambda: Of(mixed, c=nn.Conv1d(1, 2, 3), l=nn.Linear(8, 20), o=nn.Linear(20, 1)))
    x = draw(9, 6)
    model = regimes.module(network)
    regimes.ntk(model, x)
    assert not model.skeletons[0].slow
    x = x + 6.0
    J = rows(network, x)
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    assert ("dense", ("l.weight", "l.bias", "o.weight", "o.bias")) in model.skeletons[0].slow


def test_a_wrong_pass_of_forward_differentiation_is_caught(monkeypatch):
    network, x = built(with_factor), draw(30, 3)
    model = regimes.module(network)
    w = [draw(*t.shape, seed=3) for t in model.parameters()]
    J = rows(network, x)
    original = Realisation.push

    def planted(self, x, w):
        pushed = original(self, x, w)
        if pushed is not None:
            pushed[11] *= 1.1
        return pushed

    monkeypatch.setattr(Realisation, "push", planted)
    torch.testing.assert_close(model.tangents(x).jvp(w)[0], J @ torch.cat([t.flatten() for t in w]))
    assert "forward" in model.skeletons[0].slow


def test_a_wrong_formula_of_a_layer_is_caught(monkeypatch):
    network = built(lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 1)))
    x = draw(5, 1, 4, 4)
    J = rows(network, x)
    original = layers_of_modules._patches
    monkeypatch.setattr(layers_of_modules, "_patches", lambda layer, h: original(layer, h).flip(1))
    layers = regimes.module(network, shape=(1, 4, 4)).layers(x)
    torch.testing.assert_close(Tangents(tuple(layers)).gram()[0], J @ J.T)


# layers that are no W h + b


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@for_each(LAYERS)
def test_the_agop_of_a_layer_is_that_of_its_inputs_whatever_its_forward_is(make):
    network = built(around(make))
    x = draw(9, 5)
    model = regimes.module(network)
    name = "2.layer" if hasattr(network[2], "layer") else "2"
    (site,) = [site for site in sites(model, x) if site.name == name]
    h = network[:2](x).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(network[2:](h).sum(), h)
    torch.testing.assert_close(agop(site.weights, site.delta)[0], slopes.T @ slopes / 9)
    torch.testing.assert_close(site.gradients[0], slopes)
    inputs = h[:1].detach().requires_grad_()
    effective = torch.stack([torch.autograd.grad(network[2](inputs)[0, i], inputs)[0][0] for i in range(6)])
    torch.testing.assert_close(nfm(site.weights)[0], effective.T @ effective)


def test_what_is_used_but_not_called_is_named():
    by_function = Of(lambda s, x: s.h(torch.tanh(F.linear(x, s.l.weight))), l=nn.Linear(3, 4), h=nn.Linear(4, 2))
    by_function.o = nn.Linear(2, 1)
    network = nn.Sequential(by_function.double(), nn.Linear(2, 1).double())
    with pytest.warns(UserWarning, match=r"left out of the layers: 0\.l\.weight is used, but not by the call"):
        assert [site.name for site in sites(regimes.module(network), draw(5, 3))] == ["0.h"]
    attention = Of(
        lambda s, x: s.h(s.a(x, x, x, need_weights=False)[0]).sum((1, 2)),
        a=nn.MultiheadAttention(4, 2, batch_first=True),
        h=nn.Linear(4, 2),
    ).double()
    with pytest.warns(UserWarning, match="a.in_proj_weight is used, .*; a.out_proj.weight is used"):
        sites(regimes.module(attention, shape=(3, 4)), draw(5, 3, 4))


def test_a_layer_that_is_not_affine_is_left_out_by_name():
    class Curved(nn.Linear):
        def forward(self, x):
            return super().forward(x).tanh()

    network = built(lambda: nn.Sequential(Curved(3, 4), nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 1)))
    with pytest.warns(UserWarning, match="layer 0 has a forward that is no affine map"):
        assert [site.name for site in sites(regimes.module(network), draw(5, 3))] == ["1"]


def test_layers_called_by_keyword_are_seen():
    network = built(lambda: Of(lambda s, x: s.o(input=torch.tanh(s.l(input=x))), l=nn.Linear(3, 4), o=nn.Linear(4, 1)))
    x = draw(5, 3)
    J = rows(network, x)
    torch.testing.assert_close(Tangents(tuple(regimes.module(network).layers(x))).gram()[0], J @ J.T)
    torch.testing.assert_close(regimes.ntk(regimes.module(network), x)[0], J @ J.T)


# the reader's own


def test_the_readers_activations_stay_as_they_are():
    acts, log, per_layer = {}, [], collections.defaultdict(list)
    counter = types.SimpleNamespace(calls=0)

    class Recorder:
        def __init__(self):
            self.seen = []

        def hook(self, layer, given, output):
            self.seen.append(output)

    def note(name):
        def hook(layer, given, output):
            counter.calls += 1
            per_layer[name].append(output.detach())

        return hook

    recorder = Recorder()
    make = lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 1))  # noqa: E731
    network = built(make)
    network[0].register_forward_hook(lambda m, i, o: acts.update(h=o))
    network[1].register_forward_hook(recorder.hook)
    network[2].register_forward_hook(note("flat"))
    network[3].register_forward_pre_hook(lambda m, i: log.append(len(i[0])))
    x = draw(4, 1, 4, 4)
    network(x)
    before = acts["h"], list(log), list(per_layer["flat"]), counter.calls, list(recorder.seen)
    J = rows(network, x)
    acts["h"], log[:], per_layer["flat"][:], counter.calls, recorder.seen[:] = before
    model = regimes.module(network, shape=(1, 4, 4))
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    model.layers(x)
    model.tangents(x).jvp(model.parameters())
    assert acts["h"] is before[0] and acts["h"].sum().isfinite()
    assert (log, per_layer["flat"], counter.calls) == (before[1], before[2], 1)
    assert len(recorder.seen) == 1 and recorder.seen[0] is before[4][0]


GLOBAL = []
COUNT = 0


def growing(s, x):
    global COUNT
    COUNT += 1
    GLOBAL.append(x)
    s.own.append(x)
    s.deep["a"].append(x)
    return s.o(torch.tanh(s.l(x)))


def test_lists_that_grow_in_forward_are_put_back():
    network = built(lambda: Of(growing, l=nn.Linear(3, 4), o=nn.Linear(4, 1)))
    network.own, network.deep = [], {"a": []}
    model, x = regimes.module(network), draw(5, 3)
    regimes.ntk(model, x)
    assert (GLOBAL, COUNT, network.own, network.deep) == ([], 0, [], {"a": []})
    inner, _ = model.skeletons[0].own()
    assert (inner.own, inner.deep) == ([], {"a": []})


def test_the_reason_why_a_module_cannot_be_copied_is_kept():
    class Writer:
        def __init__(self):
            self.lock = threading.Lock()

    network = small()
    network[2].writer = Writer()
    refused(
        lambda: regimes.module(network), "its attribute 2.writer is the reason: TypeError: cannot pickle '_thread.lock'"
    )


# nothing stays behind


def everyday(x):
    y = torch.where(x.flatten(1)[:, 0] > 0, 1.0, -1.0).to(x)
    task = Task(x, y, "")
    shape = x.shape[1:]
    network = nn.Sequential(nn.Flatten(), nn.Linear(shape.numel(), 8), nn.ReLU(), nn.Linear(8, 1), nn.PReLU()).to(x)
    taken = lambda: regimes.module(network, shape=tuple(shape))  # noqa: E731
    return {
        "call": lambda: taken()(x),
        "ntk": lambda: regimes.ntk(taken(), x),
        "layers": lambda: taken().layers(x),
        "sites": lambda: sites(taken(), x),
        "tangents": lambda: (t := taken().tangents(x)).jvp(t.vjp(torch.ones(1, len(x)).to(x))),
        "components": lambda: tangent_components(taken(), x, 2),
        "lazy": lambda: regimes.lazy(taken(), task, task, ridge=0.1),
        "kernel_pca": lambda: regimes.kernel_pca(network, x, y, count=2),
        "gauss_newton": lambda: [s for s, _ in zip(gauss_newton(taken(), x, y, alpha=1.0), range(3))],
        "gradient_flow": lambda: regimes.run(
            regimes.gradient_flow(regimes.one_hidden(shape.numel(), 6, seeds=[0]), Task(x.flatten(1), y, ""), alpha=1.0)
        ),
        "optimise": lambda: [s for s, _ in zip(regimes.optimise(taken(), x, y, rate=0.1), range(3))],
        "kernel_flow": lambda: kernel_flow.fit(regimes.infinite_ntk(x.flatten(1), depth=2)[None], y[None], ridge=0.1),
        "fully_connected": lambda: regimes.ntk(regimes.fully_connected([shape.numel(), 4, 1], seeds=[0]), x.flatten(1)),
        "convolutional": lambda: regimes.ntk(regimes.convolutional(2, seeds=[0], shape=(1, 6, 6)), draw(2, 1, 6, 6)),
        "infinite_ntk": lambda: regimes.infinite_ntk(x.flatten(1), depth=3),
    }


def kept(calls):
    """Tensors and modules, and bytes, that five calls of functions leave, after two."""
    for call in calls * 2:
        call()
    before = alive()
    for call in calls * 5:
        call()
    return tuple(after - first for first, after in zip(before, alive()))


def alive():
    """How many tensors and modules Python knows of, and the bytes of all tensors."""
    gc.collect()
    found = [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor | nn.Module)]
    stored = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in found if is_dense(t)}
    return len(found), sum(stored.values())


def test_five_calls_of_every_function_leave_no_object_and_no_memory():
    calls = everyday(draw(8, 6))
    assert kept([*calls.values()]) == (0, 0), {name: kept([call]) for name, call in calls.items()}


def is_dense(value):
    return issubclass(type(value), torch.Tensor) and value.layout == torch.strided


MEMORY = """
import gc, re, torch, regimes
from pathlib import Path
from torch import nn

def resident():
    gc.collect()
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

torch.set_num_threads(1)
network = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1))
x = torch.randn(4, 256)
for _ in range(4):
    regimes.module(network)(x)
begun = resident()
for _ in range(40):
    regimes.module(network)(x)
print(resident() - begun)
"""


def test_a_network_that_was_used_is_freed():
    """Operations that save their own result, as ReLU, kept themselves alive: nothing that Python counts."""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100e6  # half of the forty networks of 5 MB that were made: what stays is the allocator's


# threads


def test_one_model_in_four_threads_gives_the_numbers_of_one():
    def make():
        return nn.Sequential(nn.Conv1d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, 1))

    model = regimes.module(built(make), shape=(1, 6))
    xs = [draw(6, 1, 6, seed=seed) for seed in range(5)]
    models = [model, model.with_parameters([2 * w for w in model.parameters()])]
    jobs = [(m, x) for m in models for x in xs] * 6

    def results(job):
        m, x = job
        return regimes.ntk(m, x), m(x), *m.tangents(x).vjp(torch.ones(1, 6).double()), m.layers(x)[1].delta

    expected = [results(job) for job in jobs[:10]] * 6
    fresh = regimes.module(built(make), shape=(1, 6))
    models[:] = [fresh, fresh.with_parameters([2 * w for w in fresh.parameters()])]
    jobs = [(m, x) for m in models for x in xs] * 6
    fast = torch.backends.mha.get_fastpath_enabled()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(results, jobs))
    for mine, theirs in zip(found, expected):
        for a, b in zip(mine, theirs, strict=True):
            torch.testing.assert_close(a, b)
    assert torch.backends.mha.get_fastpath_enabled() == fast


# overflow


def test_overflow_is_said_of_the_dtype_and_a_diverged_weight_by_name():
    network = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1))
    x = draw(5, 3).float()
    large = regimes.module(network).with_parameters([1e20 * w[None].detach() for w in network.parameters()])
    task = Task(x, torch.tensor([1.0, -1, 1, -1, 1]), "")
    for call in (lambda: regimes.ntk(large, x), lambda: regimes.lazy(large, task, task)):
        refused(call, "the model's outputs .*overflows? float32.*: model.to\\(dtype=torch.float64\\)")
    bad = regimes.module(network).with_parameters([w[None].detach() / 0 for w in network.parameters()])
    words = "the model's 0.weight holds NaN or infinity: did its training diverge"
    y = task.y
    for call in (
        lambda: regimes.ntk(bad, x),
        lambda: regimes.lazy(bad, task, task),
        lambda: next(gauss_newton(bad, x, y, alpha=1.0)),
        lambda: regimes.run(regimes.gradient_flow(bad, task, alpha=1.0, loss="soft_hinge")),
        lambda: next(regimes.optimise(bad, x, y, rate=0.1)),
    ):
        refused(call, words)
    closed = regimes.one_hidden(3, 4, seeds=[0])
    huge = closed.with_parameters([1e200 * w for w in closed.parameters()])
    refused(lambda: regimes.ntk(huge, x.double()), "the model.s outputs.* overflows? float64")
    start = functools.partial(gauss_newton, huge, x.double(), y.double(), alpha=1.0)
    refused(lambda: next(start()), "the model.s outputs.* overflows? float64")


def test_a_scale_beyond_round_off_is_refused():
    model, x = regimes.module(built(small)), draw(6, 3)
    y = torch.tensor([1.0, -1, 1, -1, 1, -1]).double()
    task = Task(x, y, "")
    one = regimes.one_hidden(3, 6, seeds=[0])
    assert next(gauss_newton(model, x, y, alpha=1e12))
    for alpha in (1e30, 1e100):
        for call in (
            lambda: next(gauss_newton(model, x, y, alpha=alpha)),  # noqa: B023
            lambda: regimes.run(regimes.gradient_flow(one, task, alpha=alpha)),  # noqa: B023
        ):
            refused(call, "alpha must be a number from 1e-200 to 1e.12")
    single = model.to(dtype=torch.float32)
    words = r"alpha must be at most .*: beyond, alpha \(f - f_0\) is round-off in float32"
    refused(lambda: next(gauss_newton(single, x.float(), y.float(), alpha=1e9)), words)
    refused(lambda: next(regimes.optimise(single, x.float(), y.float(), alpha=1e9, rate=0.1, centred=True)), words)
    flow = functools.partial(regimes.gradient_flow, one, task, alpha=1e9)
    refused(lambda: regimes.run(flow(dtype=torch.float32)), words)


# false refusals


def residual(s, x):
    x = x.requires_grad_()
    (slope,) = torch.autograd.grad(s.u(x).sum(), x, create_graph=True)
    return slope[:, 0] - x[:, 1].detach()


def test_a_residual_of_derivatives_by_the_input_is_a_module():
    network, x = built(lambda: Of(residual, u=small())), draw(6, 3)
    model = regimes.module(network)
    J = rows(network, x)
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    with torch.no_grad():
        outputs = model(x)
    assert not outputs.requires_grad
    torch.testing.assert_close(outputs[0], network(x.clone()).detach())
    y = torch.tensor([1.0, -1, 1, -1, 1, -1]).double()
    assert next(gauss_newton(model, x, y, alpha=1.0)).loss.isfinite().all()


@pytest.mark.parametrize("layout", ["to_dense", "to_sparse", "to_sparse_csr"])
def test_sparse_buffers_are_buffers(layout):
    network = built(
        lambda: Of(
            lambda s, x: s.o(torch.tanh(s.l((s.adjacency @ x.mT).mT)))[:, 0], l=nn.Linear(4, 3), o=nn.Linear(3, 1)
        )
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        matrix = getattr(torch.eye(4).roll(1, 0).double() + 0.5 * torch.eye(4), layout)()
        network.register_buffer("adjacency", matrix)
        x = draw(5, 4)
        J = rows(network, x)
        torch.testing.assert_close(regimes.ntk(regimes.module(network), x)[0], J @ J.T)


def test_a_compiled_module_with_donated_buffers_is_taken():
    network = built(small)
    compiled = torch.compile(network, backend="aot_eager")
    x = draw(5, 3)
    J = rows(network, x)
    model = regimes.module(compiled)
    torch.testing.assert_close(regimes.ntk(model, x)[0], J @ J.T)
    torch.testing.assert_close(
        torch.cat([t.flatten() for t in model.tangents(x).vjp(torch.ones(1, 5).double())]), J.sum(0)
    )


def test_a_point_is_a_whole_number_of_numbers():
    model = regimes.module(built(small), shape=3)
    assert model.shape == (3,) and model(draw(4, 3)).shape == (1, 4)


def test_messages_say_what_to_do():
    model = regimes.module(built(small))
    refused(lambda: model(draw(4, 3).half()), r"x.to\(torch.float64\) converts")
    refused(
        lambda: model(torch.ones(4, 3, dtype=torch.uint8)), r"x.to\(torch.float64\) converts, or x.long\(\) for tokens"
    )
    refused(lambda: regimes.module(small().half()), r"module.float\(\) converts")
    network = Of(lambda s, x: s.o(x * s.scale), o=nn.Linear(3, 1)).double()
    network.scale = torch.ones(3).double()
    refused(lambda: regimes.module(network).to(dtype=torch.float32)(draw(4, 3).float()), "its scale is no buffer")
