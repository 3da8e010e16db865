"""Derivatives by the parameters: each form against autograd or the full Jacobian, for models of every kind."""

import torch

from regimes.models import blocks
from tests.cases import for_each
from tests.models.cases import MODELS, PAIRS, POINTS, draw


def autograd_rows(model, x):
    """``J (E, p, P)``, one output at a time."""
    weights = [tensor.clone().requires_grad_() for tensor in model.parameters()]
    f = model.with_parameters(weights)(x)
    jacobians = []
    for e, outputs in enumerate(f):
        gradients = [torch.autograd.grad(output, weights, retain_graph=True) for output in outputs]
        jacobians.append(torch.stack([torch.cat([g[e].flatten() for g in gradient]) for gradient in gradients]))
    return torch.stack(jacobians)


def flat(tensors):
    return torch.cat([tensor.flatten(1) for tensor in tensors], -1)


def weights_like(model, seed=5):
    return [draw(*tensor.shape, seed=seed + i) for i, tensor in enumerate(model.parameters())]


def close(computed, expected):
    torch.testing.assert_close(computed, expected, rtol=1e-11, atol=1e-12)


@for_each(PAIRS)
def test_rows_are_the_gradients_of_autograd(model, x):
    close(model.tangents(x).jacobian(), autograd_rows(model, x))


@for_each(PAIRS)
def test_products_are_those_of_the_full_jacobian(model, x):
    z = draw(4, 3, seed=9)
    tangents, tangents_z = model.tangents(x), model.tangents(z)
    J = tangents.jacobian()
    J_z = tangents_z.jacobian()
    v = draw(2, 7, seed=3)
    w = weights_like(model)
    close(tangents.gram(tangents_z), J @ J_z.mT)
    close(tangents.gram(), J @ J.mT)
    pulled = tangents.vjp(v)
    assert [p.shape for p in pulled] == [p.shape for p in model.parameters()]
    close(flat(pulled), (v[:, None] @ J)[:, 0])
    close(tangents.jvp(w), (J @ flat(w)[..., None])[..., 0])


@for_each(MODELS)
def test_some_of_the_parameters_are_columns_of_the_jacobian(model):
    x, v = POINTS["own"], draw(2, 7, seed=3)
    tangents = model.tangents(x)
    ends = [0, *torch.tensor([p[0].numel() for p in model.parameters()]).cumsum(0).tolist()]
    assert tangents.names == model.names and len(model.names) == len(model.parameters())
    columns = {name: tangents.jacobian()[..., a:b] for name, a, b in zip(model.names, ends, ends[1:])}
    for names in [{name} for name in model.names] + [set(model.names[-2:]), set(model.names[::2])]:
        some = tangents.only(names)
        wanted = [name for name in model.names if name in names]
        J = torch.cat([columns[name] for name in wanted], -1)
        assert list(some.names) == wanted
        close(some.jacobian(), J)
        close(some.gram(), J @ J.mT)
        close(flat(some.vjp(v)), (v[:, None] @ J)[:, 0])
        w = [tensor for tensor, name in zip(weights_like(model), model.names) if name in names]
        close(some.jvp(w), (J @ flat(w)[..., None])[..., 0])


DIVISIBLE = {name: model for name, model in MODELS.items() if model.tangents(POINTS["own"]).divisible}


@for_each(DIVISIBLE)
def test_at_some_points_of_each_realisation_are_those_of_the_points(model):
    x = POINTS["own"]
    index = torch.tensor([[5, 0, 2], [1, 1, 6]])
    v = draw(2, 3, seed=3)
    tangents = model.tangents(x)
    some = tangents.at(index)
    chosen = model.tangents(torch.stack([points[rows] for points, rows in zip(x, index)]))
    close(some.jacobian(), chosen.jacobian())
    close(some.gram(tangents), chosen.gram(tangents))
    close(flat(some.vjp(v)), flat(chosen.vjp(v)))


@for_each(MODELS)
def test_realisations_do_not_meet(model):
    x = POINTS["own"]
    for e in range(2):
        alone = model[e : e + 1]
        close(alone(x[e]), model(x)[e : e + 1])
        close(alone.tangents(x[e]).jacobian(), model.tangents(x).jacobian()[e : e + 1])


@for_each(MODELS)
def test_a_model_in_single_precision_is_the_same_model(model):
    single, x = model.to(dtype=torch.float32), POINTS["own"]
    assert {tensor.dtype for tensor in single.parameters()} == {torch.float32}
    jacobian = single.tangents(x.float()).jacobian()
    torch.testing.assert_close(jacobian.double(), model.tangents(x).jacobian(), rtol=1e-4, atol=1e-4)


@for_each(MODELS)
def test_a_point_holds_what_the_model_says(model):
    parts = model.tangents(POINTS["own"]).parts
    tensors = [tensor for part in parts for tensor in (part.h, getattr(part, "delta", None)) if tensor is not None]
    assert model.tangent_size == sum(tensor.shape[-1] for tensor in tensors)


def test_blocks_cover_all_points_within_the_memory():
    model, x = MODELS["one-hidden"], draw(1, 50, 3)  # 15 numbers per point, two realisations, four times while at work
    for memory, size in ((1, 1), (15 * 2 * 4 * 8 * 7 + 8, 7), (10**9, 50)):
        sizes = [x[:, rows].shape[1] for rows in blocks(model, x, memory)]
        assert sum(sizes) == 50 and sizes[0] == size


@for_each(MODELS)
def test_other_parameters_and_back(model):
    x = POINTS["own"]
    changed = model.with_parameters(weights_like(model))
    assert not torch.allclose(changed(x), model(x))
    assert torch.equal(changed.with_parameters(model.parameters())(x), model(x))
