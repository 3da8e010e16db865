"""What a reader hands in for an array: tensors and NumPy arrays give the same numbers, all else one clear line.

Over all public functions that take arrays, and the measures that the book's pages name.
"""

import functools

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import regimes
from regimes.data.tasks import Task
from regimes.measures import information, matrices, spectrum
from regimes.measures.kernel_pca import diagnose, separable
from regimes.measures.lazy import tangent_predictor
from regimes.models.one_hidden import Network
from regimes.training import kernel_flow
from regimes.training.state import locate, t_star
from regimes.validate import InputError
from tests.cases import for_each, refused


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


P = 12  # points
X = normal(P, 4)
Y = torch.tensor([1.0, -1.0]).repeat(P // 2).double()
GRAM = X @ X.T + 5 * torch.eye(P).double()
NET = regimes.one_hidden(4, 10, seeds=[0])
DEEP = regimes.fully_connected([4, 8, 1], seeds=[0], sigma="tanh")
SEVERAL = regimes.fully_connected([4, 8, 1], seeds=[0, 1, 2], sigma="tanh")
OWN = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
DELTA = normal(P, 5, seed=1)


def last(states, count=3):
    """The predictor after a few states."""
    for _, state in zip(range(count), states):
        values = state.F
    return values


def led(t):
    """An array with a leading axis of one realisation."""
    return t[None] if isinstance(t, np.ndarray | torch.Tensor) else t


def flow(x=X, y=Y):
    return last(regimes.gradient_flow(NET, Task(x, y, "own"), alpha=0.5))


def smooth(x=X, y=Y):
    return last(regimes.gauss_newton(DEEP, x, y, alpha=0.5))


def descent(x=X, y=Y, rate=0.1):
    return last(regimes.optimise(DEEP, x, y, rate=rate))


def lazily(x=X, y=Y, z=X, labels=Y):
    train, test = ((led(a), led(b)) for a, b in ((x, y), (z, labels)))
    return regimes.lazy(NET, Task(*train, "own"), Task(*test, "own")).f


def components(x=X, y=Y):
    return regimes.kernel_pca(OWN, x, y, count=3).projections


def counted(x=X, y=Y):
    return regimes.parameters_to_fit(SEVERAL, x, y, pairs=2, programs=1).own_labels


# function and argument -> a call with it, a good tensor, and whether whole numbers may stand there (None: some)
CALLS = {
    "ntk x": (lambda x: regimes.ntk(NET, x), X, False),
    "ntk z": (lambda z: regimes.ntk(NET, X, z), X, False),
    "infinite_ntk x": (lambda x: regimes.infinite_ntk(x, depth=3), X, False),
    "infinite_ntk z": (lambda z: regimes.infinite_ntk(X, z, depth=3), X, False),
    "residual_ntk x": (lambda x: regimes.residual_ntk(x, shares=[0.5]), X, False),
    "residual_ntk z": (lambda z: regimes.residual_ntk(X, z, shares=[0.5]), X, False),
    "kernel_flow gram": (lambda gram: kernel_flow.fit(gram, Y).F, GRAM, False),
    "kernel_flow y": (lambda y: kernel_flow.fit(GRAM, y).F, Y, True),
    "gradient_flow x": (lambda x: flow(x=x), X, False),
    "gradient_flow y": (lambda y: flow(y=y), Y, True),
    "gauss_newton x": (lambda x: smooth(x=x), X, False),
    "gauss_newton y": (lambda y: smooth(y=y), Y, True),
    "optimise x": (lambda x: descent(x=x), X, False),
    "optimise y": (lambda y: descent(y=y), Y, True),
    "optimise rate": (lambda rate: descent(rate=rate), torch.tensor([0.1]).double(), None),
    "kernel_pca x": (lambda x: components(x=x), X, False),
    "kernel_pca y": (lambda y: components(y=y), Y, True),
    "lazy train.x": (lambda x: lazily(x=x), X, False),
    "lazy train.y": (lambda y: lazily(y=y), Y, True),
    "lazy test.x": (lambda x: lazily(z=x), X, False),
    "mutual_information x": (lambda x: information.mutual_information(x, Y), X[:, 0], True),
    "mutual_information y": (lambda y: information.mutual_information(X[:, 0], y), Y, True),
    "paper_a_information x": (lambda x: information.paper_a_information(x, Y), X, True),
    "diagnose gram": (lambda gram: diagnose(gram, Y, count=2).norm, GRAM[None], False),
    "diagnose y": (lambda y: diagnose(GRAM[None], y, count=2).norm, Y, True),
    "separable points": (lambda points: separable(points, Y), X[:, :2], False),
    "components gram": (lambda gram: spectrum.components(gram, 2).values, GRAM, False),
    "tangent_components x": (lambda x: spectrum.tangent_components(NET, x, 2).values, X, False),
    "projections y": (lambda y: spectrum.projections(X, y), Y, False),
    "alignment gram": (lambda gram: spectrum.alignment(gram, Y), GRAM, False),
    "effective_dimension gram": (spectrum.effective_dimension, GRAM, False),
    "nfm weights": (matrices.nfm, X, False),
    "agop delta": (lambda delta: matrices.agop(normal(5, 4), delta), DELTA, False),
    "velocity residual": (lambda r: matrices.velocity(X, DELTA, r), Y, False),
    "correlation a": (lambda a: matrices.correlation(a, X), X, False),
    "pearson b": (lambda b: matrices.pearson(Y, b), X[:, 0], False),
    "parameters_to_fit x": (lambda x: counted(x=x), X, False),
    "parameters_to_fit y": (lambda y: counted(y=y), Y, True),
    "tangent_predictor c": (lambda c: tangent_predictor(NET, X[None], led(c), X[None]), Y, False),
}
# these take numbers, names or states
WITHOUT = {"activation", "convolutional", "fully_connected", "module", "one_hidden", "stripe", "run"}

# a good tensor -> what stands for the same numbers
ALIKE = {
    "a NumPy array": lambda t: t.numpy(),
    "a reversed view": lambda t: np.ascontiguousarray(t.numpy()[::-1])[::-1],
    "a strided view": lambda t: np.repeat(t.numpy(), 2, 0)[::2],
    "columns first": lambda t: np.asfortranarray(t.numpy()),
    "the other byte order": lambda t: t.numpy().astype(t.numpy().dtype.newbyteorder()),
    "a tensor made in inference mode": lambda t: _in_inference_mode(t),
    "a parameter": lambda t: nn.Parameter(t.clone()),
    "a strided tensor": lambda t: t.repeat_interleave(2, 0)[::2],
}
# a good tensor -> what is refused
BAD = {
    "None": lambda t: None,
    "a list": lambda t: t.tolist(),
    "a word": lambda t: "x",
    "objects": lambda t: t.numpy().astype(object),
    "words": lambda t: t.numpy().astype(str),
    "a masked array": lambda t: np.ma.masked_array(t.numpy(), mask=t.numpy() > 0),
    "a table": lambda t: pd.DataFrame(t.flatten(1).numpy() if t.ndim > 1 else t.numpy()),
    "complex": lambda t: t + 0j,
    "complex NumPy": lambda t: t.numpy() + 0j,
    "sparse": lambda t: t.to_sparse(),
    "meta": lambda t: t.to("meta"),
    "NaN": lambda t: torch.full_like(t, torch.nan),
    "infinite": lambda t: t / 0,
    "empty": lambda t: t[:0],
    "a single number": lambda t: t.flatten()[0],
}


def _in_inference_mode(t):
    with torch.inference_mode():
        return t.clone()


def takes(name, call, good, kinds):
    """The call with each of these kinds."""
    expected = torch.as_tensor(call(good))
    for kind, make in kinds.items():
        if kind == "a parameter" and name.startswith(("infinite_ntk", "residual_ntk")):
            continue  # refused with a remedy, because it would seem to carry a gradient
        try:
            computed = torch.as_tensor(call(make(good.clone())))
            torch.testing.assert_close(computed, expected, rtol=1e-9, atol=1e-9)
        except Exception as error:
            error.add_note(kind)
            raise


def refuses(name, call, good, kinds):
    """The call refuses each of these kinds in one line that is not torch's."""
    for kind, make in kinds.items():
        if (name, kind) == ("optimise rate", "a single number"):
            continue  # one for all
        if kind == "None" and name in ("ntk z", "infinite_ntk z", "residual_ntk z", "parameters_to_fit y"):
            continue  # stands for x, or for no labels
        try:
            bad = make(good.clone())
            with torch.no_grad():
                refused(lambda bad=bad: call(bad), name.split(" ")[1].partition(".")[2] or ".")
        except BaseException as error:
            error.add_note(kind)
            raise


def test_every_public_function_is_among_the_cases():
    assert {name.split(" ")[0] for name in CALLS} >= set(regimes.PUBLIC) - WITHOUT


@for_each({name: (name, call, good) for name, (call, good, _) in CALLS.items()})
def test_numpy_arrays_and_all_kinds_of_tensors_give_the_same(name, call, good):
    takes(name, call, good, ALIKE)


@for_each({name: (name, call, good) for name, (call, good, _) in CALLS.items()})
def test_what_holds_no_numbers_is_refused_in_one_line(name, call, good):
    refuses(name, call, good, BAD)


@for_each({name: (call, good, as_labels) for name, (call, good, as_labels) in CALLS.items()})
def test_whole_numbers_are_labels_and_nothing_else(call, good, as_labels):
    if as_labels is None:
        return
    if as_labels:
        call((2 * (good > 0) - 1).numpy())
        call(2 * (good > 0).int() - 1)
    else:
        refused(lambda: call(good.long()), "float|must be inputs|dtype")
        refused(lambda: call(good.long().numpy()), "float|must be inputs|dtype")


MODELS = {
    "a function": lambda x: x.sum(-1),
    "None": None,
    "a torch module": OWN,
    "a class": Network,
    "an array": np.ones((4, 1)),
}
WITH_MODEL = {
    "ntk": lambda model: regimes.ntk(model, X),
    "kernel_pca": lambda model: regimes.kernel_pca(model, X, Y),
    "gauss_newton": lambda model: regimes.gauss_newton(model, X, Y, alpha=1.0),
    "optimise": lambda model: regimes.optimise(model, X, Y, rate=0.1),
    "gradient_flow": lambda model: regimes.gradient_flow(model, Task(X, Y, "own"), alpha=1.0),
    "lazy": lambda model: regimes.lazy(model, Task(X[None], Y[None], "own"), Task(X[None], Y[None], "own")),
    "tangent_components": lambda model: spectrum.tangent_components(model, X, 2),
    "parameters_to_fit": lambda model: regimes.parameters_to_fit(model, X, Y),
}


@for_each({f"{name} of {kind}": (name, kind) for name in WITH_MODEL for kind in MODELS})
def test_what_is_no_model_is_refused_in_one_line(name, kind):
    if (name, kind) != ("kernel_pca", "a torch module"):
        refused(lambda: WITH_MODEL[name](MODELS[kind]), "(model|network) must be a model of E realisations, got")


def test_a_tuple_is_no_task():
    refused(lambda: regimes.gradient_flow(NET, (X, Y), alpha=1.0), "task must be a Task, got tuple")


TWO = regimes.one_hidden(4, 10, seeds=[0, 1])
TWO_DEEP = regimes.fully_connected([4, 8, 1], seeds=[0, 1], sigma="tanh")


@for_each(
    {
        "flow": lambda x, y: last(regimes.gradient_flow(TWO, Task(x, y, "own"), alpha=0.5, together=2)),
        "smooth flow": lambda x, y: last(regimes.gauss_newton(TWO_DEEP, x, y, alpha=0.5)),
        "descent": lambda x, y: last(regimes.optimise(TWO_DEEP, x, y, rate=0.1)),
    }
)
def test_points_and_labels_of_all_realisations_have_any_leading_axis(call):
    expected = call(X, Y)
    for x in (X, X[None], X[None].expand(2, -1, -1)):
        for y in (Y, Y[None], Y[None].expand(2, -1)):
            torch.testing.assert_close(call(x, y), expected)
    for y in (Y[None].expand(3, -1), Y[:-1], Y[:, None]):
        refused(lambda y=y: call(X, y), "label|y must have")


def test_a_rate_for_each_realisation_is_one_for_each():
    for rate in (np.array([0.1]), torch.tensor([0.1, 0.1, 0.1]), torch.tensor([0.1, torch.inf])):
        refused(lambda rate=rate: regimes.optimise(TWO_DEEP, X, Y, rate=rate), "rate")


@for_each(
    {
        "a huge ridge": (
            lambda: kernel_flow.kernel_flow(GRAM, Y, ridge=1e300),
            "ridge must be a number from 0 to 1e.12",
        ),
        "a huge scale": (lambda: kernel_flow.kernel_flow(GRAM, Y, alpha=1e300), "alpha must be a number from"),
    }
)
def test_scales_beyond_float64_are_refused(call, words):
    refused(call, words)


def test_a_rule_gives_one_number_a_realisation():
    (state,) = [state for _, state in zip(range(1), regimes.optimise(DEEP, X, Y, rate=0.1))]
    for rule in (lambda s: torch.zeros(7), lambda s: 1.0, lambda s: torch.tensor(1.0), lambda s: None):
        with pytest.raises(InputError, match=r"the rule must give one number a realisation, a tensor \(1,\), got"):
            locate(state, rule)
    assert locate(state, functools.partial(t_star)) is not None
