"""The convolutional network against the same table written as a plain torch module."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d

from regimes.models import activations, windows
from regimes.models import convolutional as cnn
from regimes.models.convolutional import convolutional
from regimes.models.tangents import Tangents
from regimes.validate import InputError

SWISH = 1.6768  # of the public code: a mean over 1e5 draws, hence right to a few 1e-4
#  kernel, stride, padding, channels as multiples of h (None: those of the input), groups, activation, residual
TABLE = [
    (5, 2, 2, None, 4, False, True, False),
    (5, 1, 2, 4, 4, True, True, False),
    (1, 1, 0, 4, 2, False, True, False),
    (1, 1, 0, 2, 6, False, True, False),
    (5, 2, 2, 6, 6, True, True, False),
    (1, 1, 0, 6, 1, False, False, False),
    (1, 1, 0, 1, 3, False, True, False),
    (5, 1, 2, 3, 3, True, True, False),
    (1, 1, 0, 3, 1, False, False, True),
    (1, 1, 0, 1, 3, False, True, False),
    (5, 2, 2, 3, 3, True, True, False),
    (1, 1, 0, 3, 3, False, False, False),
    (1, 1, 0, 3, 9, False, True, False),
    (5, 1, 2, 9, 9, True, True, False),
    (1, 1, 0, 9, 3, False, False, True),
    (1, 1, 0, 3, 20, False, True, False),
]


class Plain(torch.nn.Module):
    """The table with torch's own convolutions, layer after layer."""

    def __init__(self, h, channels, constant):
        super().__init__()
        self.constant, self.layers = constant, torch.nn.ModuleList()
        for kernel, stride, padding, into, out, depthwise, _, _ in TABLE:
            into = channels if into is None else into * h
            groups = into if depthwise else 1
            self.layers.append(
                torch.nn.Conv2d(into, out * h, kernel, stride, padding, groups=groups, bias=False).double()
            )
        self.last = torch.nn.Linear(20 * h, 1).double()

    def forward(self, x):
        inputs = []
        for layer, (*_, active, residual) in zip(self.layers, TABLE):
            inputs.append(x)
            fan_in = layer.weight[0].numel()
            x = layer(x) / math.sqrt(fan_in)
            x = self.constant * x / (1 + torch.exp(-x)) if active else x
            x = (x + inputs[-3]) / math.sqrt(2) if residual else x
        pooled = x.mean((2, 3))
        weight, bias = self.last.weight, self.last.bias
        return (pooled @ weight.T / weight.shape[1] + bias).squeeze(1)

    def take(self, model):
        """The weights of a model with one realisation."""
        for mine, theirs in zip(self.parameters(), model.parameters(), strict=True):
            mine.data = theirs.reshape(mine.shape).clone()
        return self


def constant():
    z = np.linspace(-12, 12, 20001)
    second = np.trapezoid((z / (1 + np.exp(-z))) ** 2 * np.exp(-z * z / 2) / math.sqrt(2 * math.pi), z)
    return 1 / math.sqrt(second)


def plain(model, e=0):
    return Plain(model.h, model.shape[0], constant()).take(model[e : e + 1])


def images(p, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((p, *shape)))


def jacobian(module, x):
    """``(p, P)``, row by row."""
    rows = [torch.autograd.grad(module(point[None])[0], list(module.parameters())) for point in x]
    return torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])


def trained(model, seed=9):
    """Other parameters than at the start: the bias is not zero."""
    generator = torch.Generator().manual_seed(seed)
    moved = [w + torch.randn(w.shape, generator=generator, dtype=w.dtype) for w in model.parameters()]
    return model.with_parameters(moved)


SHAPES = {(1, 28, 28): 2, (3, 11, 8): 3, (1, 4, 4): 2, (2, 1, 5): 1}  # inputs -> width


@pytest.fixture(params=SHAPES, ids=str)
def case(request):
    model = trained(convolutional(SHAPES[request.param], seeds=[3], shape=request.param))
    return model, images(5, *request.param), plain(model)


def test_the_papers_network_has_its_count_of_parameters_and_sizes_of_maps():
    model = convolutional(10, seeds=[0])
    assert sum(w.numel() for w in model.parameters()) == 23251
    module, sizes = plain(model), []
    for layer in module.layers:
        layer.register_forward_hook(lambda _, __, out: sizes.append(tuple(out.shape[1:])))
    module(images(1, 1, 28, 28))
    assert [size[1] for size in sizes] == [14, 14, 14, 14, 7, 7, 7, 7, 7, 7, 4, 4, 4, 4, 4, 4]
    assert [size[0] for size in sizes] == [40, 40, 20, 60, 60, 10, 30, 30, 10, 30, 30, 30, 90, 90, 30, 200]
    assert [(stage.out, *stage.window.size) for stage in model.stages] == sizes
    assert (model.h, model.shape) == (10, (1, 28, 28))


def test_the_activation_is_the_papers():
    assert constant() == pytest.approx(SWISH, abs=5e-4)
    assert float(convolutional(1, seeds=[0]).sigma(torch.tensor(30.0))) == pytest.approx(30 * constant(), rel=1e-6)


def test_the_start_is_standard_normal_with_a_bias_of_zero():
    model = convolutional(10, seeds=[0])
    drawn = torch.cat([w.flatten() for w in model.parameters()[:-1]])
    assert abs(float(drawn.mean())) < 0.03 and abs(float(drawn.var()) - 1) < 0.04
    assert not model.bias.any()


def test_outputs_are_the_plain_modules(case):
    model, x, module = case
    torch.testing.assert_close(model(x)[0], module(x).detach(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("by_points", [False, True])
def test_gradients_of_the_outputs_are_the_plain_modules(case, by_points):
    """By the parameters through the tangents; where the points have a gradient too, through the layers."""
    model, x, module = case
    v, x = images(5, seed=1), x.requires_grad_(by_points)
    leaves = [weight.clone().requires_grad_(True) for weight in model.parameters()]
    ours = torch.autograd.grad((model.with_parameters(leaves)(x)[0] * v).sum(), [*leaves, *[x] * by_points])
    theirs = torch.autograd.grad((module(x) * v).sum(), [*module.parameters(), *[x] * by_points])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.flatten(), b.flatten(), rtol=1e-9, atol=1e-12)


def test_tangents_are_autograds(case):
    model, x, module = case
    rows, tangents = jacobian(module, x), model.tangents(x)
    torch.testing.assert_close(tangents.jacobian()[0], rows, rtol=1e-10, atol=1e-13)
    torch.testing.assert_close(tangents.gram()[0], rows @ rows.T, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(tangents.gram(model.tangents(x[2:]))[0], rows @ rows[2:].T, rtol=1e-11, atol=1e-13)
    v = images(5, seed=1)
    pulled = torch.cat([w.flatten() for w in tangents.vjp(v[None])])
    torch.testing.assert_close(pulled, v @ rows, rtol=1e-10, atol=1e-12)
    assert [w.shape for w in tangents.vjp(v[None])] == [w.shape for w in model.parameters()]
    w = [torch.from_numpy(np.random.default_rng(2).standard_normal(w.shape)) for w in model.parameters()]
    flat = torch.cat([tensor.flatten() for tensor in w])
    torch.testing.assert_close(tangents.jvp(w)[0], rows @ flat, rtol=1e-10, atol=1e-12)


def test_the_tangent_kernel_is_symmetric_to_the_last_bit():
    gram = convolutional(2, seeds=[0, 1], shape=(1, 9, 9)).tangents(images(80, 1, 9, 9)).gram()
    assert torch.equal(gram, gram.mT)


@pytest.mark.parametrize("points", [1, 5, 7])
def test_blocks_of_points_and_of_columns_change_nothing(monkeypatch, points):
    model = trained(convolutional(2, seeds=[0, 1], shape=(2, 9, 6)))
    x = images(11, 2, 9, 6)
    other = images(4, 2, 9, 6, seed=1)
    v = images(2, 11, seed=2)
    expected = [
        model(x),
        model.tangents(x).gram(),
        model.tangents(x).gram(model.tangents(other)),
        model.tangents(x).jacobian(),
    ]
    expected += [model.tangents(x).jvp(model.parameters()), *model.tangents(x).vjp(v)]
    monkeypatch.setitem(cnn.POINTS, "cpu", 2 * points)
    monkeypatch.setattr(windows, "ENTRIES", 400)
    monkeypatch.setattr(windows, "CACHED", 30)
    tangents = model.tangents(x)
    parts = [model(x), tangents.gram(), tangents.gram(model.tangents(other)), tangents.jacobian()]
    parts += [tangents.jvp(model.parameters()), *tangents.vjp(v)]
    for a, b in zip(parts, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)


def test_pairs_of_positions_and_gradients_give_one_kernel():
    rng, chosen = np.random.default_rng(0), set()

    def drawn(p, positions, bias):
        h, delta = (torch.from_numpy(rng.standard_normal((2, p, positions, n))) for n in (9, 12))
        return windows.Convolution(h, delta, 0.4, bias, names=("W", "b"))

    for positions, bias in itertools.product((1, 3, 20), (False, True)):
        mine = drawn(5, positions, bias)
        theirs = drawn(3, positions, bias)
        rows, columns = mine.jacobian(), theirs.jacobian()
        torch.testing.assert_close(mine.pairs(theirs), rows @ columns.mT, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(mine.gram(theirs), rows @ columns.mT, rtol=1e-12, atol=1e-12)
        chosen.add(mine.by_pairs)
    assert chosen == {True, False}


def test_grouped_tangents_are_autograds():
    conv = torch.nn.Conv2d(4, 6, 3, padding=1, groups=2).double()
    x, weights = images(5, 4, 7, 7), images(5, 6, 7, 7, seed=1)

    def output(point, weight):
        return (conv(point[None]) * weight).sum()

    rows = [torch.autograd.grad(output(*pair), [conv.weight, conv.bias]) for pair in zip(x, weights)]
    rows = torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])
    h = torch.nn.functional.unfold(x, 3, padding=1).mT
    part = windows.Convolution(h[None], weights.flatten(2).mT[None], 1.0, True, groups=2, names=("W", "b"))
    torch.testing.assert_close(part.jacobian()[0], rows)
    torch.testing.assert_close(part.gram(part)[0], rows @ rows.T)
    v = images(1, 5, seed=2)
    w = [images(*tensor.shape, seed=3)[None] for tensor in (conv.weight.flatten(1), conv.bias)]
    torch.testing.assert_close(torch.cat([g.flatten() for g in part.vjp(v)]), v[0] @ rows)
    torch.testing.assert_close(part.jvp(w)[0], rows @ torch.cat([tensor.flatten() for tensor in w]))


@pytest.mark.parametrize(
    ("kernel", "stride", "height", "width"), [(5, 2, 9, 6), (3, 1, 4, 5), (5, 3, 7, 2), (1, 2, 3, 3)]
)
def test_a_window_is_torchs_depthwise_convolution(kernel, stride, height, width):
    window = windows.Window(kernel, stride, height, width)
    w = images(4, kernel**2)
    h = images(4, 3, height * width, seed=1).requires_grad_()
    w.requires_grad_()
    maps = h.unflatten(2, (height, width)).transpose(0, 1)
    expected = conv2d(maps, w.unflatten(1, (1, kernel, kernel)).squeeze(2).reshape(4, 1, kernel, kernel), None, stride,
                      kernel // 2, groups=4)  # fmt: skip
    assert tuple(expected.shape[2:]) == window.size
    expected = expected.flatten(2).transpose(0, 1)
    delta = images(*expected.shape, seed=2)
    by_w, by_h = torch.autograd.grad(expected, (w, h), delta)
    torch.testing.assert_close(window.apply(w, h), expected)
    torch.testing.assert_close(window.back(w, delta), by_h)
    torch.testing.assert_close(window.correlate(delta, h), by_w)
    torch.testing.assert_close(window.correlations(delta, h).sum(1), by_w)
    for index in range(3):
        alone = window.correlate(delta[:, index : index + 1], h[:, index : index + 1])
        torch.testing.assert_close(window.correlations(delta, h)[:, index], alone)
        torch.testing.assert_close(window.correlations(delta.float(), h.detach().float())[:, index].double(), alone,
                                   rtol=1e-5, atol=1e-5)  # fmt: skip
        torch.testing.assert_close(window.correlations(delta, h.detach())[:, index], alone)


def test_the_last_parts_kernel_is_that_of_the_averages():
    model = trained(convolutional(2, seeds=[0]))
    x = images(6, 1, 28, 28)
    pooled, module = [], plain(model)
    module.layers[-1].register_forward_hook(lambda _, __, out: pooled.append(out / math.sqrt(6)))
    module(x)
    a = (constant() * pooled[0] * torch.sigmoid(pooled[0])).mean((2, 3)).detach()
    tangents = model.tangents(x)
    last = Tangents(tangents.parts[-1:])
    torch.testing.assert_close(last.gram()[0], a @ a.T / 40**2 + 1)
    torch.testing.assert_close(last.jvp(model.parameters()[-2:]), model(x))
    for names, expected in (({"w"}, a @ a.T / 40**2), ({"b"}, torch.ones(6, 6, dtype=torch.float64))):
        part = tangents.parts[-1].only(names)
        torch.testing.assert_close(part.gram(part)[0], expected)
        assert part.names == tuple(names) and len(part.vjp(model(x))) == 1


def test_images_may_come_as_vectors_and_parameters_have_names():
    model = convolutional(2, seeds=[0, 1], shape=(2, 5, 6))
    x = images(2, 4, 2, 5, 6)
    for points in (x, x[0]):
        assert torch.equal(model(points.flatten(-3)), model(points))
    assert len(model.names) == len(set(model.names)) == len(model.parameters())
    assert [name for part in model.tangents(x).parts for name in part.names] == list(model.names)
    parts = [part.parts[0] if isinstance(part, windows.Blocks) else part for part in model[:1].tangents(x[0, :1]).parts]
    assert sum(part.h.numel() + part.delta.numel() for part in parts) == model.tangent_size


def test_realisations_are_separate_networks():
    model = convolutional(2, seeds=[5, 3], shape=(1, 9, 9))
    x = images(2, 4, 1, 9, 9)
    for e, seed in enumerate((5, 3)):
        alone = convolutional(2, seeds=[seed], shape=(1, 9, 9))
        for a, b in zip(alone.parameters(), model[e : e + 1].parameters(), strict=True):
            assert torch.equal(a, b)
        torch.testing.assert_close(model(x)[e], alone(x[e])[0])
        torch.testing.assert_close(model(x[0])[e], alone(x[0])[0])
        torch.testing.assert_close(model.tangents(x).gram()[e], alone.tangents(x[e]).gram()[0])
        torch.testing.assert_close(model.tangents(x[0]).jacobian()[e], alone.tangents(x[0]).jacobian()[0])


def test_float32_is_float64_rounded():
    double = convolutional(3, seeds=[0, 1])
    x = images(5, 1, 28, 28)
    single = double.to(dtype=torch.float32)
    scale = float(double(x).abs().max())
    torch.testing.assert_close(single(x.float()).double(), double(x), rtol=0, atol=2e-6 * scale)
    gram = double.tangents(x).gram()
    rounded = single.tangents(x.float()).gram()
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.double(), gram, rtol=1e-5, atol=1e-5 * float(gram.abs().max()))


def test_a_step_down_the_gradient_lowers_the_loss_as_its_length_says():
    model = convolutional(2, seeds=[0, 1], shape=(1, 9, 9))
    x = images(6, 1, 9, 9)
    residual = model(x) - images(6, seed=3).sign()
    gradient, step = model.tangents(x).vjp(residual), 1e-5
    moved = model.with_parameters([w - step * g for w, g in zip(model.parameters(), gradient)])
    after = moved(x) - images(6, seed=3).sign()
    fell = (residual.square() - after.square()).sum(1) / 2
    square = sum(g.flatten(1).square().sum(1) for g in gradient)
    torch.testing.assert_close(fell, step * square, rtol=1e-3, atol=0)


GOOD = {"h": 2, "seeds": [0], "shape": (1, 9, 9)}


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        ({"h": 0}, "h must be a whole number of at least 1, got 0"),
        ({"h": 2.5}, "h must be"),
        ({"seeds": []}, "seeds must be"),
        ({"shape": (28, 28)}, r"shape must hold at least 3 values, got \(28, 28\)"),
        ({"shape": (1, 0, 9)}, r"shape\[1\] must be a whole number"),
        ({"sigma": "sine"}, "activation must be one of"),
        ({"device": "tpu"}, "device must be"),
    ],
)
def test_bad_networks_get_one_line(bad, line):
    with pytest.raises(InputError, match=line):
        convolutional(**(GOOD | bad))


@pytest.mark.parametrize(
    ("x", "line"),
    [
        (
            images(3, 9, 9),
            r"x must be inputs \(p, 1, 9, 9\) or \(1, p, 1, 9, 9\) or \(p, 81\) in torch.float64, got \(3, 9, 9\)",
        ),
        (images(3, 2, 9, 9), "x must be inputs"),
        (images(3, 1, 9, 9).float(), "torch.float64"),
        (images(3, 2, 1, 9, 9), "x must hold 1 realisation, got 3"),
        ([[0.0]], "x must be a torch tensor or a NumPy array of real numbers, got a list"),
    ],
)
def test_bad_images_get_one_line(x, line):
    model = convolutional(**GOOD)
    for call in (model, model.tangents):
        with pytest.raises(InputError, match=line):
            call(x)


def test_more_points_than_memory_get_one_line(monkeypatch):
    monkeypatch.setattr("regimes.validate.free_memory", lambda device: 2**20)
    with pytest.raises(InputError, match="the layers of 1 networks at 500 points would take"):
        convolutional(**GOOD).tangents(images(500, 1, 9, 9))


def test_the_activation_is_an_argument():
    model = convolutional(2, seeds=[0], shape=(1, 9, 9), sigma=activations.activation("relu", normalised=True))
    x = images(3, 1, 9, 9)
    torch.testing.assert_close(model(3 * x), 3 * model(x))  # homogeneous of degree one
