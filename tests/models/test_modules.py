"""Every module of the table against autograd: outputs, kernels, products with the Jacobian, layers, training."""

import pytest
import torch

import regimes
from regimes.data.tasks import Task
from regimes.measures.spectrum import tangent_components
from regimes.models.tangents import Tangents
from regimes.training import kernel_flow
from regimes.training.gauss_newton import gauss_newton
from tests.cases import for_each, refused
from tests.models.modules import BLOCKS, LAYERED, MODULES, REPORTS, TWICE, built, draw, jacobian, rows

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*weight_norm.*:FutureWarning",
    "ignore:.*nested_tensor.*:UserWarning",
    "ignore:None of the inputs have requires_grad=True:UserWarning",
    "ignore:left out of the layers:UserWarning",
)
EXACT = 1e-12  # relative, of sums of some thousand products


def same(found, expected):
    assert found.shape == expected.shape
    apart = float((found - expected).detach().norm())
    assert apart <= EXACT * float(expected.norm()), (found, expected)


@for_each({name: (case,) for name, case in MODULES.items()})
def test_outputs_kernels_and_products_are_autograds(case):
    network = built(case.make)
    model, x, z = case.model(network), case.points(5), case.points(4, seed=1)
    with torch.random.fork_rng():
        before, state = x.clone(), torch.get_rng_state()
        J, J_z = jacobian(network, x), jacobian(network, z)
        outputs = torch.cat([network(torch.stack([point, point])).detach().reshape(2, -1)[:1] for point in x])
        same(model(x)[0].reshape(5, -1), outputs)
        kernel, cross = torch.einsum("icP,jdP->icjd", J, J), torch.einsum("icP,jcP->ij", J, J_z)
        same(regimes.ntk(model, x)[0], torch.einsum("icjc->ij", kernel))
        same(regimes.ntk(model, x.flatten(1), z, memory=2**12)[0], cross)  # in blocks of a few points
        if J.shape[1] > 1:
            same(regimes.ntk(model, x, outputs="all", memory=2**14)[0].view_as(kernel), kernel)
        same(regimes.ntk(model, x[:1])[0], torch.einsum("icP,jcP->ij", J[:1], J[:1]))
        tangents, J = model.tangents(x), J.flatten(0, 1)
        w, v = [draw(*tensor.shape, seed=2) for tensor in model.parameters()], draw(len(J), seed=3)
        same(tangents.jacobian()[0], J)
        same(tangents.jvp(w)[0], J @ torch.cat([part.flatten() for part in w]))
        same(torch.cat([part.flatten() for part in tangents.vjp(v[None])]), v @ J)
        assert torch.equal(x, before) and torch.equal(torch.get_rng_state(), state)


ALIKE = [name for name, case in MODULES.items() if name not in REPORTS]  # one output


@for_each({name: (MODULES[name],) for name in ALIKE})
def test_each_seed_is_a_module_of_its_own_in_either_precision(case):
    x = case.points(4)
    J = rows(built(case.make, 0), x)
    model = case.model(lambda: case.make().double().eval(), seeds=[1, 0])
    same(regimes.ntk(model, x)[1], J @ J.T)
    single = regimes.ntk(model.to(dtype=torch.float32), x if case.tokens else x.float())
    torch.testing.assert_close(single[1].double(), J @ J.T, rtol=1e-4, atol=1e-4)


NONE = "no Linear or Conv2d layers to be seen"
WITHOUT_LAYERS = {  # why
    "sorted inside": "layer net.0 takes the points in another order",
    "energy by torch.func": "layer energy.0 is called inside a transform of torch.func",
    "reentrant checkpoint": "layer m runs under torch.no_grad or in a reentrant checkpoint",
    "a loop over points": "layer l takes 4 rows for 5 points",
    **dict.fromkeys(("single numbers", "pytorch/86708", "pytorch/103161", "pytorch/121261"), NONE),
}


@for_each({name: (MODULES[name], words) for name, words in WITHOUT_LAYERS.items()})
def test_a_module_without_layers_to_be_seen_says_why(case, words):
    model = case.model(built(case.make))
    refused(lambda: model.output(0).layers(case.points(5)), words)


@for_each({name: (case,) for name, case in MODULES.items() if name not in WITHOUT_LAYERS})
def test_layers_are_the_tangents_of_their_parameters(case):
    network = built(case.make)
    model, x, z = case.model(network), case.points(5), case.points(4, seed=1)
    J, J_z = jacobian(network, x), jacobian(network, z)
    own = model if J.shape[1] == 1 else model.output(J.shape[1] - 1)
    sizes = [tensor[0].numel() for tensor in model.tensors]
    columns, columns_z = (dict(zip(model.names, one[:, -1].split(sizes, 1))) for one in (J, J_z))
    mine, theirs = (Tangents(tuple(seen(layer, columns) for layer in own.layers(points))) for points in (x, z))
    J, J_z = (torch.cat([one[name] for name in mine.names], 1) for one in (columns, columns_z))
    assert len(mine.names) == len({*mine.names})
    same(mine.gram()[0], J @ J.T)
    same(mine.gram(theirs)[0], J @ J_z.T)
    v = draw(1, 5, seed=2)
    pulled = mine.vjp(v)
    same(torch.cat([part.flatten() for part in pulled]), v[0] @ J)
    same(mine.jvp(pulled)[0], J @ J.T @ v[0])
    if case.make in WHOLE:
        assert sorted(mine.names) == sorted(model.names)


def seen(layer, columns):
    """A layer with those of its weights that are trained."""
    return layer.only([name for name in layer.names if name in columns])


WHOLE = [make for make, *_ in [*TWICE.values(), *LAYERED.values()]]  # layers hold all of their parameters


@for_each({name: (MODULES[name],) for name in BLOCKS})
def test_optimisers_and_the_flow_take_torchs_steps(case):
    network = built(case.make)
    model, x = case.model(network), case.points(5)
    y = torch.tensor([1.0, -1, 1, -1, 1]).double()
    end = [state for state, _ in zip(regimes.optimise(model, x, y, rate=0.05), range(4))][-1].model
    assert [s for s, _ in zip(regimes.optimise(model, x, y, method="momentum"), range(3))]
    assert [s for s, _ in zip(regimes.gauss_newton(model, x, y, alpha=1.0), range(3))]
    weights = [w for w in network.parameters() if w.requires_grad]
    for _ in range(3):
        f = torch.cat([network(point[None].clone()).detach().reshape(1) for point in x])
        slope = (f - y) @ rows(network, x) / 5
        with torch.no_grad():
            for w, part in zip(weights, slope.split([w.numel() for w in weights])):
                w -= 0.05 * part.view_as(w)
    for w, trained in zip(weights, end.parameters()):
        torch.testing.assert_close(trained[0], w.detach())


LEARNING = ("lstm", "transformer", "asks for an item", "squeezed head", "checkpoint")


@for_each({name: (MODULES[name],) for name in LEARNING})
def test_learning_with_the_frozen_kernel_and_training_work(case):
    network = built(case.make)
    model, x, z = case.model(network), case.points(6), case.points(4, seed=1)
    y = torch.tensor([1.0, -1, 1, -1, 1, -1]).double()
    learnt = regimes.lazy(model, Task(x, y, ""), Task(z, y[:4], ""), ridge=1e-2)
    J, J_z = rows(network, x), rows(network, z)
    c = kernel_flow.fit((J @ J.T)[None], y[None], ridge=1e-2).coefficients[0]
    torch.testing.assert_close(learnt.f[0], J_z @ J.T @ c, rtol=1e-5, atol=1e-7)
    components = tangent_components(model, x.flatten(1), 2)
    torch.testing.assert_close(components.values[0], torch.linalg.eigvalsh(J @ J.T / 6).flip(0)[:2])
    state = [now for now, _ in zip(gauss_newton(model, x, y, alpha=1.0), range(3))][-1]
    assert float(state.loss) < 1.0
    torch.testing.assert_close(rows(network, x), J)  # the reader's module has not moved
