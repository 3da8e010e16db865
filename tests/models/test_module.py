"""A torch module as a model against torch's own autograd, point by point."""

import contextlib

import pytest
import torch
from torch import nn

from regimes.models import fully_connected as fc
from regimes.models.differentiated import Differentiated
from regimes.models.module import module
from regimes.models.tangents import Tangents
from regimes.validate import InputError

# torch's own, on a kernel of even side with padding "same"
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")


def perceptron():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).double()


def images():
    """Convolutions of every kind, in float64."""
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1),
        nn.BatchNorm2d(4).eval(),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, (2, 3), padding="same", groups=2, bias=False),
        nn.Softplus(),
        nn.Conv2d(6, 3, 2, dilation=2, padding=(1, 2), padding_mode="circular"),
        nn.Flatten(),
        nn.Linear(3 * 5 * 6, 1),
    ).double()


class Tokens(nn.Module):
    """A linear layer on every position."""

    def __init__(self):
        super().__init__()
        self.each, self.last = nn.Linear(3, 5), nn.Linear(5, 1, bias=False)

    def forward(self, x):
        return self.last(torch.sigmoid(self.each(x)).mean(1))


CASES = {"perceptron": (perceptron, (4,)), "images": (images, (2, 9, 8)), "tokens": (lambda: Tokens().double(), (7, 3))}


@pytest.fixture(params=CASES)
def case(request):
    build, shape = CASES[request.param]
    return build, shape, module(build, seeds=[3, 4], shape=shape)


def points(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(build, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()


def jacobian(net, x):
    rows = [torch.autograd.grad(net(point[None]).squeeze(), list(net.parameters())) for point in x]
    return torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])


def flat(tensors):
    return torch.cat([tensor.flatten(1) for tensor in tensors], 1)


def test_outputs_and_tangents_are_those_of_each_module(case):
    build, shape, model = case
    x = points(2, 6, *shape)
    z = points(4, *shape, seed=1)
    v = points(2, 6, seed=2)
    tangents, shared = model.tangents(x), model.tangents(z)
    w = [points(*tensor.shape, seed=3) for tensor in model.parameters()]
    assert [tensor.shape for tensor in tangents.vjp(v)] == [tensor.shape for tensor in model.parameters()]
    for e, seed in enumerate((3, 4)):
        net = built(build, seed)
        rows, columns = jacobian(net, x[e]), jacobian(net, z)
        torch.testing.assert_close(model(x)[e], net(x[e]).detach().squeeze(1))
        torch.testing.assert_close(model(z)[e], net(z).detach().squeeze(1))
        torch.testing.assert_close(tangents.jacobian()[e], rows)
        torch.testing.assert_close(tangents.gram()[e], rows @ rows.T)
        torch.testing.assert_close(tangents.gram(shared)[e], rows @ columns.T)
        torch.testing.assert_close(flat(tangents.vjp(v))[e], v[e] @ rows)
        torch.testing.assert_close(tangents.jvp(w)[e], rows @ flat(w)[e])


def test_the_layers_are_the_tangents_of_their_weights(case):
    _, shape, model = case
    x, v = points(2, 6, *shape), points(2, 6, seed=2)
    layers, everything = model.layers(x), model.tangents(x)
    names = [name for layer in layers for name in layer.names]
    pulled = dict(zip(model.names, everything.vjp(v)))
    for name, tensor in zip(names, Tangents(tuple(layers)).vjp(v), strict=True):
        torch.testing.assert_close(tensor, pulled[name].reshape(tensor.shape))
    trained = model.only(names)  # all but the batch norm's
    torch.testing.assert_close(Tangents(tuple(layers)).gram(), trained.tangents(x).gram())
    for layer in layers:
        assert layer.h.shape[:3] == layer.delta.shape[:3] and layer.h.shape[:2] == (2, 6)


def test_probing_leaves_the_module_as_it_is(case):
    _, shape, model = case
    x = points(6, *shape)
    before = model(x)
    model.layers(x)
    assert torch.equal(model(x), before)
    assert not any(part._forward_hooks for skeleton in model.skeletons for part in skeleton.module.modules())


def test_fully_connected_networks_are_modules():
    closed = fc.fully_connected([4, 6, 1], seeds=[0], sigma="tanh", parametrisation="standard")
    net = nn.Sequential(nn.Linear(4, 6, bias=False), nn.Tanh(), nn.Linear(6, 1, bias=False)).double()
    for mine, theirs in zip(net.parameters(), closed.weights):
        mine.data = theirs[0].clone()
    model, x = module(net), points(5, 4)
    torch.testing.assert_close(model(x), closed(x))
    torch.testing.assert_close(model.tangents(x).gram(), closed.tangents(x).gram())
    for layer, expected in zip(model.layers(x), closed.layers(x), strict=True):
        torch.testing.assert_close(layer.h.squeeze(2), expected.h)
        torch.testing.assert_close(layer.delta.squeeze(2), expected.delta)


def test_little_memory_changes_nothing(case):
    _, shape, model = case
    part, other = (model.tangents(points(p, *shape, seed=p)).parts[0] for p in (7, 5))
    for points_at_a_time in (1, 3):
        size = 8 * 2 * model.tangent_size * 8 * points_at_a_time
        little = Differentiated(model, part.x, size)
        few = Differentiated(model, other.x, size)
        torch.testing.assert_close(little.gram(few), part.gram(other))
        torch.testing.assert_close(little.gram(little), part.gram(part))
        assert torch.equal(little.gram(little), little.gram(little).mT)


def test_a_seed_builds_the_same_module_alone_and_among_others():
    state = torch.random.get_rng_state()
    alone = module(perceptron, seeds=[5])
    among = module(perceptron, seeds=[3, 5])
    assert torch.equal(torch.random.get_rng_state(), state)
    for a, b in zip(alone.parameters(), among[1:].parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(alone(points(3, 4)), among[torch.tensor([1])](points(3, 4)))


def test_the_readers_module_is_copied():
    net = perceptron()
    model, x = module(net), points(3, 4)
    before = model(x)
    for parameter in net.parameters():
        parameter.data.zero_()
    net[1] = nn.ReLU()
    assert torch.equal(model(x), before)
    changed = model.with_parameters([2 * w for w in model.parameters()])
    assert torch.equal(model(x), before) and not torch.equal(changed(x), before)
    assert not any(bool(parameter.any()) for parameter in net.parameters())


def test_frozen_parameters_and_buffers_are_kept():
    net = images()
    net[0].weight.requires_grad_(False)
    model = module(net, shape=(2, 9, 8))
    assert "0.weight" not in model.names and "1.running_mean" in model.fixed_names
    x = points(3, 2, 9, 8)
    torch.testing.assert_close(model(x)[0], net(x).detach().squeeze(1))
    last = module(net, shape=(2, 9, 8), params=["7.weight"])
    assert last.names == ("7.weight",)
    torch.testing.assert_close(last.tangents(x).gram(), model.only(["7.weight"]).tangents(x).gram())
    h = model.layers(x)[-1].h.squeeze(2)
    torch.testing.assert_close(last.tangents(x).gram(), h @ h.mT)


def test_a_parameter_that_does_not_matter_has_zero_derivatives():
    net = perceptron()
    net.register_parameter("unused", nn.Parameter(torch.ones(3, dtype=torch.float64)))
    model, x = module(net), points(3, 4)
    without = module(net, params=[name for name in model.names if name != "unused"])
    v = torch.ones(1, 3, dtype=torch.float64)
    assert module(net, params=model.names).names == model.names, "all of them are some of them"
    assert not dict(zip(model.names, model.tangents(x).vjp(v)))["unused"].any()
    torch.testing.assert_close(model.tangents(x).gram(), without.tangents(x).gram())


def test_float32_is_float64_rounded(case):
    _, shape, double = case
    single = double.to(dtype=torch.float32)
    x = points(5, *shape)
    assert {tensor.dtype for tensor in single.parameters()} == {torch.float32}
    torch.testing.assert_close(single(x.float()), double(x).float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        single.tangents(x.float()).gram(), double.tangents(x).gram().float(), rtol=1e-3, atol=1e-4
    )
    assert all(tensor.dtype != torch.float64 for tensor in single.fixed)


def test_points_may_come_as_vectors_where_their_shape_is_said():
    model = module(images, seeds=[0, 1], shape=(2, 9, 8))
    x = points(2, 3, 2, 9, 8)
    assert torch.equal(model(x.flatten(2)), model(x)) and torch.equal(model(x[0].flatten(1)), model(x[0]))
    assert torch.equal(model(x[:1]), model(x[0]))


def test_no_grad_outside_changes_nothing(case):
    _, shape, model = case
    x, v = points(5, *shape), points(2, 5, seed=1)
    with torch.no_grad():
        quiet = model.tangents(x)
        computed = [quiet.gram(), quiet.jvp(model.parameters()), *quiet.vjp(v), model.layers(x)[0].delta]
    loud = model.tangents(x)
    expected = [loud.gram(), loud.jvp(model.parameters()), *loud.vjp(v), model.layers(x)[0].delta]
    for a, b in zip(computed, expected, strict=True):
        torch.testing.assert_close(a, b)


def mixed():
    net = perceptron()
    net[0].float()
    return net


def varied():
    return nn.Linear(int(torch.randint(2, 10**6, ())), 1)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ((nn.Tanh(), {}), "the module has no parameters to train"),
        ((mixed(), {}), "one precision, float32 or float64, got torch.float32, torch.float64"),
        ((nn.Linear(2, 1).half(), {}), "one precision"),
        (
            (nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.1)), {}),
            "module's layer 1 draws at random in training mode: call .eval",
        ),
        ((nn.LSTM(2, 3, num_layers=2, dropout=0.5), {}), "draws at random"),
        (
            (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), {}),
            "module's layer 1 makes a point depend on the others: call .eval",
        ),
        ((nn.BatchNorm1d(3, track_running_stats=False).eval(), {}), "take a norm of each point alone"),
        ((perceptron(), {"seeds": [0]}), "seeds need a function"),
        ((perceptron, {}), "source must be a torch module, or a function"),
        ((perceptron, {"seeds": []}), "each of seeds must be"),
        ((3, {"seeds": [0]}), "source must be a torch module"),
        ((dict, {"seeds": [0]}), "source must build torch modules"),
        ((varied, {"seeds": [0, 1]}), "the same parameters for all seeds"),
        ((perceptron(), {"params": ["omega"]}), "params must be some of 0.weight, 0.bias"),
        ((perceptron(), {"params": "0.weight"}), "params must be some of"),
        ((perceptron(), {"shape": (0,)}), r"shape\[0\] must be a whole number"),
    ],
)
def test_bad_modules_get_one_line(given, line):
    source, options = given
    with pytest.raises(InputError, match=line) as raised:
        module(source, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "shape", "x", "line"),
    [
        (perceptron(), None, points(3, 5), r"cannot take points of shape \(5,\) in float64"),
        (perceptron(), None, points(3, 4).float(), r"x must be inputs \(p, 4\) or \(1, p, 4\) in torch.float64"),
        (perceptron(), None, points(4), "x must be inputs"),
        (perceptron(), None, [[0.0]], "x must be a torch tensor"),
        (perceptron(), None, points(3, 2, 4), "x must hold 1 realisation, got 3"),
        (
            images(),
            (2, 9, 8),
            points(3, 1, 9, 8),
            r"x must be inputs \(p, 2, 9, 8\) .*; module\(shape=...\) says the shape",
        ),
    ],
)
def test_bad_points_get_one_line(source, shape, x, line):
    model = module(source, shape=shape)
    for call in (
        model,
        model.layers,
        lambda x: model.tangents(x).vjp(torch.ones(1, 3)),
        lambda x: model.tangents(x).gram(),
    ):
        with pytest.raises(InputError, match=line) as raised:
            call(x)
        assert "\n" not in str(raised.value)


def test_outputs_may_lack_or_have_an_axis_of_length_one():
    x = points(3, 4)
    for last, line in ((nn.Flatten(0), None), (nn.Unflatten(0, (1, -1)), "one number a point, it gives")):
        model = module(nn.Sequential(perceptron(), last))
        with pytest.raises(InputError, match=line) if line else contextlib.nullcontext():
            assert model(x).shape == (1, 3)


def test_layers_need_a_layer_and_take_rows_that_are_folded_points():
    split = (nn.Unflatten(1, (2, 2)), nn.Flatten(0, 1))
    merged = (nn.Unflatten(0, (-1, 2)), nn.Flatten())
    rows = nn.Sequential(*split, nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), *merged, nn.Linear(2, 1)).double()
    model, x = module(rows), points(3, 4)
    layers = model.layers(x)
    assert [layer.h.shape[1:3] for layer in layers] == [(3, 2), (3, 2), (3, 1)]
    torch.testing.assert_close(Tangents(tuple(layers)).gram(), model.tangents(x).gram())
    scale = nn.PReLU(dtype=torch.float64)
    with pytest.raises(InputError, match="no Linear or Conv2d"):
        module(scale).layers(points(3, 1))
