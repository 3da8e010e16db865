"""Learning curves: the cheap predictor against the kernel, compression, exponents, and the limit of infinite width."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from companion.papers.compression.theory import learning_curves
from regimes.data import tasks
from regimes.kernels import ntk, wide_one_hidden_ntk
from regimes.measures.errors import line_error, wrong
from regimes.measures.lazy import lazy, tangent_predictor, wide_lazy, wide_predictor
from regimes.models import WORK, one_hidden
from regimes.models.activations import activation
from regimes.models.fully_connected import PARAMETRISATIONS, fully_connected
from regimes.training import kernel_flow
from regimes.validate import InputError
from tests.models.cases import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_the_predictor_through_moved_weights_is_that_of_the_kernel(name):
    net = MODELS[name]
    x = tasks.gaussian_points(40, 3, seed=[2, 3])
    z = tasks.gaussian_points(55, 3, seed=[4, 5])
    c = torch.randn(2, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    expected = (ntk(net, z, x) @ c[..., None])[..., 0]
    for points in (7, 100):  # blocks of seven points, the last one smaller; all at once
        predictor = tangent_predictor(net, x, c, z, memory=points * 2 * 8 * WORK * net.tangent_size)
        torch.testing.assert_close(predictor, expected, rtol=1e-10, atol=1e-11)


def test_the_wide_predictor_is_that_of_the_kernel(monkeypatch):
    x = tasks.gaussian_points(40, 3, seed=2)
    z = tasks.gaussian_points(55, 3, seed=4)
    c = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    monkeypatch.setattr("regimes.measures.lazy.BLOCK", 7 * 40)
    predictor = wide_predictor(x, c, z)
    assert torch.allclose(predictor, wide_one_hidden_ntk(z, x) @ c, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_lazy_learning_of_deep_networks(parametrisation):
    """The learnt function is that of the frozen kernel, and its margins reach 1 on the training set."""
    train = tasks.stripe(30, 3, seed=[1, 2])
    test = tasks.stripe(40, 3, seed=[3, 4])
    net = fully_connected([3, 60, 50, 1], seeds=[5, 6], parametrisation=parametrisation, bias=True)
    learnt = lazy(net, train, test)
    of_train = lazy(net, train, train)
    assert learnt.ended == ("zero loss", "zero loss") and of_train.error.tolist() == [0, 0]
    assert float((of_train.f * train.y).min()) > 1 - 1e-9
    c = kernel_flow.fit(ntk(net, train.x), train.y).coefficients
    torch.testing.assert_close(learnt.f, (ntk(net, test.x, train.x) @ c[..., None])[..., 0], rtol=1e-8, atol=1e-9)


def test_the_lazy_solution_is_that_of_either_model_of_one_hidden_layer():
    train = tasks.stripe(30, 3, seed=[1])
    test = tasks.stripe(40, 3, seed=[3])
    sigma = activation("relu", normalised=True)
    deep = fully_connected([3, 90, 1], seeds=[5], sigma=sigma, parametrisation="mean-field", gain=1.0, bias=True)
    net = one_hidden.Network(deep.weights[0], deep.biases[0], deep.weights[1][:, 0])
    predictors = [lazy(model, train, test).f for model in (deep, net)]
    torch.testing.assert_close(*predictors, rtol=1e-9, atol=1e-10)


def peak(work):
    """The largest number of bytes that tensors hold at once during ``work()``, beyond what they hold before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        work()
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns()))
    return max(held)


def test_the_bound_on_memory_holds_for_kernel_and_predictor_alike():
    """The kernel itself, of 200² numbers, is no temporary. With the bounds of each they take 49 MiB."""
    net = one_hidden.one_hidden(20, 4000, seeds=[0])
    train = tasks.stripe(200, 20, seed=0)
    test = tasks.stripe(500, 20, seed=1)
    assert peak(lambda: lazy(net, train, test, ridge=1e-3, memory=2**22)) < 2**22 + 8 * 200**2


def test_lazy_learning_fits_the_training_set_and_counts_its_errors():
    train = tasks.stripe(60, 3, seed=[1, 2])
    test = tasks.stripe(500, 3, seed=[3, 4])
    learnt = lazy(one_hidden.one_hidden(3, 400, seeds=[5, 6]), train, test)
    assert learnt.ended == ("zero loss", "zero loss")
    for f, y, error in zip(learnt.f.tolist(), test.y.tolist(), learnt.error.tolist()):
        right = sum(a * b > 0 for a, b in zip(f, y))
        assert error == pytest.approx(1 - right / 500)
    of_train = lazy(one_hidden.one_hidden(3, 400, seeds=[5, 6]), train, train)
    assert float((of_train.f * train.y).min()) > 1 - 1e-9 and of_train.error.tolist() == [0, 0]


def test_points_that_activate_no_neuron_are_reported_and_the_others_fitted():
    net = one_hidden.one_hidden(2, 6, seeds=[0])
    net = replace(net, omega=net.omega.abs(), b=torch.zeros_like(net.b))  # the third quadrant activates nothing
    x = torch.tensor([[[1.0, 0.5], [-1.0, -1.0], [0.2, 1.0], [-0.3, 2.0]]], dtype=torch.float64)
    task = tasks.Task(x, torch.tensor([[1.0, 1.0, -1.0, -1.0]], dtype=torch.float64), "")
    learnt = lazy(net, task, task)
    assert learnt.ended == ("zero loss, but for points that activate no neuron: 1",)
    margins = (learnt.f * task.y)[0]
    assert float(margins[1]) == 0 and float(margins[[0, 2, 3]].min()) > 1 - 1e-9
    assert float(learnt.error) == 0.25


def test_finite_networks_tend_to_the_wide_one():
    train = tasks.stripe(50, 3, seed=[1])
    test = tasks.stripe(2000, 3, seed=[3])
    infinite = wide_lazy(train, test).f

    def distance(h):
        gaps = []
        for seed in range(4):
            f = lazy(one_hidden.one_hidden(3, h, seeds=[seed]), train, test).f
            gaps.append(float((f - infinite).norm() / infinite.norm()))
        return np.mean(gaps)

    assert 2.5 < distance(200) / distance(3200) < 6  # 1/√h: a factor 4 for 16 times the width


def test_a_tie_is_an_error():
    f = torch.tensor([1.0, -1.0, 0.0, 2.0])
    y = torch.tensor([1.0, 1.0, 1.0, 1.0])
    assert float(wrong(f, y)) == 0.5


def test_compression_divides_the_uninformative_coordinates_of_each_realisation():
    x = tasks.gaussian_points(6, 4, seed=[0, 1])
    small = learning_curves.compress(x, 2, torch.tensor([2.0, 10.0], dtype=torch.float64))
    assert torch.equal(small[..., :2], x[..., :2])
    assert torch.equal(small[0, :, 2:] * 2, x[0, :, 2:]) and torch.allclose(small[1, :, 2:] * 10, x[1, :, 2:])
    assert torch.equal(learning_curves.compress(x, 1, torch.ones(2, dtype=torch.float64)), x)


def test_kernels_do_not_know_the_informative_direction_but_compressed_data_helps():
    train = tasks.stripe(200, 5, seed=[1, 2, 3])
    test = tasks.stripe(2000, 5, seed=[4, 5, 6])
    plain = wide_lazy(train, test).error
    factor = torch.full((3,), 20.0, dtype=torch.float64)
    small = [tasks.Task(learning_curves.compress(t.x, 1, factor), t.y, "") for t in (train, test)]
    assert (wide_lazy(*small).error < 0.5 * plain).all()
    turn = torch.linalg.qr(tasks.gaussian_points(5, 5, seed=9)).Q
    turned = [tasks.Task(t.x @ turn, t.y, "") for t in (train, test)]
    assert torch.allclose(wide_lazy(*turned).error, plain, atol=2e-3)


def bent(d, stretch, seed):
    """Networks that have learnt something like a boundary across the first directions, and those they began from."""
    first = one_hidden.one_hidden(d, 60, seeds=[seed, seed + 1])
    second = one_hidden.one_hidden(d, 60, seeds=[8, 9])
    scale = torch.tensor([20.0] * stretch + [1.0] * (d - stretch), dtype=torch.float64)
    return one_hidden.Network(second.omega * scale, 3 * second.b, 9 * second.beta), first


@pytest.mark.parametrize("interfaces", [(-0.3, 1.2), (0.4,), (-1.0, 0.1, 0.9)])
def test_errors_on_lines_by_counting_points_along_them(interfaces):
    net, first = bent(4, 1, 2)
    across = tasks.gaussian_points(3, 3, seed=[5, 6])
    edges = torch.tensor(interfaces).double().expand(2, 3, -1)
    x = torch.special.ndtri((torch.arange(40_000).double() + 0.5) / 40_000)
    for i in range(3):
        points = torch.cat([x[None, :, None].expand(2, -1, 1), across[:, i, None].expand(-1, len(x), -1)], -1)
        label = 1 - 2 * (torch.bucketize(points[..., 0].contiguous(), edges[0, 0].contiguous()) % 2)
        counted = wrong(net(points) - first(points), label.double())
        error = line_error(net, first, across[:, i : i + 1], edges[:, i : i + 1])
        torch.testing.assert_close(error, counted, rtol=0, atol=6e-4)  # a point for each of a few dozen zeros


def test_errors_on_lines_are_those_on_test_points():
    net, first = bent(3, 2, 4)
    test = tasks.cylinder(400_000, 3, seed=[1, 2])
    counted = wrong(net(test.x) - first(test.x), test.y)
    across = tasks.gaussian_points(4000, 2, seed=[3, 4])
    half = (tasks.RADIUS**2 - across[..., 0].square()).clamp(min=0).sqrt()
    error = line_error(net, first, across, torch.stack([-half, half], -1))
    torch.testing.assert_close(error, counted, rtol=0, atol=0.012)


def test_a_network_that_is_right_everywhere_and_its_opposite():
    """``f - f_0`` is ``0.5 - x`` right of 0 and 0.5 left of it; a neuron constant along the line does nothing."""
    omega = torch.tensor([[[2**0.5, 0.0], [0.0, 1.0], [0.0, -1.0]]], dtype=torch.float64)
    b = torch.tensor([[0.0, 0.5, 0.5]]).double()
    beta = torch.tensor([[-1.0, 0.5, 0.5]]).double()
    net = one_hidden.Network(omega, b, beta)
    zero = one_hidden.Network(omega, b, 0 * beta)
    across = torch.zeros(1, 1, 1).double()
    edge = torch.full((1, 1, 1), 0.5).double()
    assert float(line_error(net, zero, across, edge)) == pytest.approx(0, abs=1e-15)
    assert float(line_error(zero, net, across, edge)) == pytest.approx(1, abs=1e-15)
    moved = float(line_error(net, zero, across, edge + 1))
    assert moved == pytest.approx(float(torch.special.ndtr(edge + 1) - torch.special.ndtr(edge)), abs=1e-15)
    assert float(line_error(zero, zero, across, edge)) == pytest.approx(1, abs=1e-15)  # ties are errors


def test_exponents_of_the_papers():
    assert learning_curves.lazy_exponent(5) == pytest.approx(5 / 13)
    assert learning_curves.feature_exponent(5, 1) == pytest.approx(9 / 13)
    assert learning_curves.feature_exponent(10, 1) == pytest.approx(19 / 28)
    assert learning_curves.feature_exponent(3, 2) == pytest.approx(0.5)
    assert learning_curves.lazy_exponent(5, 2.0) == pytest.approx(6 / 14)


def test_ratios_of_errors_are_those_of_sizes_and_seeds_that_both_have():
    first = pd.DataFrame({"p": [10, 10, 10, 20], "seed": [0, 1, 2, 0], "error": [0.2, 0.8, 0.5, 0.1]})
    second = pd.DataFrame({"p": [10, 10, 40], "seed": [0, 1, 0], "error": [0.1, 0.1, 0.1]})
    ratios = learning_curves.error_ratios(first, second)
    assert [*ratios] == [10] and ratios[10].value == pytest.approx(4) and ratios[10].n == 2


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: learning_curves.feature_exponent(3, 3), "d_parallel must be below d = 3"),
        (lambda: learning_curves.feature_exponent(3, 0), "d_parallel"),
        (lambda: learning_curves.lazy_exponent(0), "d must be"),
        (lambda: learning_curves.lazy_exponent(5, 0.0), "cusp must be"),
        (lambda: learning_curves.compress(torch.ones(1, 2, 3), 1, torch.zeros(1)), "positive"),
        (lambda: line_error(*bent(3, 1, 0), torch.ones(2, 5, 3).double(), torch.ones(2, 5, 1)), "across"),
        (lambda: line_error(*bent(3, 1, 0), torch.ones(2, 5, 2), torch.ones(2, 4, 1)), "edges must have shape"),
        (lambda: wide_lazy(*[tasks.stripe(9, 3, interfaces=[50.0], seed=[0])] * 2), "both classes"),
    ],
)
def test_bad_input_gets_one_line(call, names):
    with pytest.raises(InputError, match=names) as error:
        call()
    assert "\n" not in str(error.value)


def test_the_coefficients_are_those_of_the_frozen_flow():
    task = tasks.stripe(30, 3, seed=[0])
    learnt = wide_lazy(task, task)
    fitted = kernel_flow.fit(wide_one_hidden_ntk(task.x), task.y)
    assert torch.allclose(learnt.f * task.y, fitted.margins, atol=1e-9)


def test_the_gain_of_an_imposed_compression_counts_each_realisation_once_whatever_its_sizes():
    rows = []
    for p, s, factor in itertools.product((100, 200), (0, 1), (4.0, 1.0, 2.0)):
        rows.append({"p": p, "seed": s, "factor": factor, "error": (1 + s) / p * factor**-0.4})
    factors, errors = learning_curves.by_factor(pd.DataFrame(rows))
    assert factors.tolist() == [1, 2, 4] and errors[:, 0] == pytest.approx([0.01 / 2**0.5, 0.01 * 2**0.5])
    gain = learning_curves.gain(pd.DataFrame(rows))
    assert gain.value == pytest.approx(0.4) and gain.n == 2


def test_a_change_of_the_error_is_that_of_the_same_realisation_at_each_size_and_share():
    reference = pd.DataFrame({"p": [10, 10, 20], "seed": [0, 1, 0], "share": 1.0, "error": [0.1, 0.2, 0.3]})
    errors_of_two_processors = [0.1, 0.2 * np.e, 0.1, 0.2 / np.e]
    changed = pd.concat([reference[:2], reference[:2]]).assign(error=errors_of_two_processors)
    change = learning_curves.error_change(changed, reference)
    assert change.to_dict() == {(10, 1.0): pytest.approx(0.5**0.5)}
    assert learning_curves.error_change(reference, reference).tolist() == [1e-16, 1e-16]


def falling(exponents, sizes=(100, 200, 400, 800)):
    """Errors whose local exponents from size to size are given, a little different in each realisation."""
    logs = np.concatenate([[0.0], -np.cumsum(np.array(exponents) * np.diff(np.log(sizes)))])
    rows = [(seed, p, np.exp(log * (1 + 1e-3 * seed))) for seed in range(6) for p, log in zip(sizes, logs)]
    return pd.DataFrame(rows, columns=["seed", "p", "error"])


def test_a_drift_is_the_exponent_over_all_sizes_and_over_the_larger_half():
    table = falling([0.9, 0.7, 0.5])
    drift = learning_curves.drift(learning_curves.beta, table)
    assert drift.whole == learning_curves.beta(table)
    assert drift.late.value == pytest.approx(0.5, rel=0.01) and drift.disjoint()
    assert (drift.sizes, drift.late_sizes) == ((100, 200, 400, 800), (400, 800))
    assert not learning_curves.drift(learning_curves.beta, falling([0.5, 0.5, 0.5])).disjoint()
    beyond = falling([0.3], (1600, 3200))
    assert learning_curves.drift(learning_curves.beta, table, late=[beyond]).late == learning_curves.beta(beyond)


def test_two_sizes_show_no_drift_nor_do_smaller_ones():
    two = falling([0.5], (100, 200))
    assert learning_curves.drift(learning_curves.beta, two) == learning_curves.beta(two)
    table = falling([0.9, 0.7, 0.5])
    assert learning_curves.drift(learning_curves.beta, table, late=[falling([0.3], (10, 20))]) == learning_curves.beta(
        table
    )


def power_law(exponent, factor=1.0, sizes=(400, 100, 200, 800), seeds=4):
    """Errors ``factor p^(-β)``, times a constant for each seed."""
    rows = [(seed, p, factor * (1 + 0.1 * seed) * p**-exponent) for p in sizes for seed in range(seeds)]
    return pd.DataFrame(rows, columns=["seed", "p", "error"])


def test_curves_are_compared_seed_by_seed():
    lazy_curve, feature_curve = power_law(0.3, 2.0), power_law(0.8)
    sizes, errors = learning_curves.by_size(feature_curve)
    assert sizes.tolist() == [100, 200, 400, 800] and errors.shape == (4, 4)
    assert errors[1] == pytest.approx(1.1 * sizes**-0.8)
    assert learning_curves.beta(feature_curve).value == pytest.approx(0.8)
    assert learning_curves.beta_difference(feature_curve, lazy_curve).value == pytest.approx(0.5)
    ratio = learning_curves.error_ratio(lazy_curve, feature_curve)
    between = np.exp(np.mean(np.log(2 * sizes**0.5)))  # a geometric mean over sizes
    assert ratio.value == pytest.approx(between)
    assert ratio.low == pytest.approx(ratio.high), "each seed's own constant drops out"


def test_curves_that_cannot_be_compared_are_refused():
    curve = power_law(0.3)
    with pytest.raises(InputError, match="error must be measured at every size of every realisation"):
        learning_curves.by_size(curve[1:])
    for other in (power_law(0.3, sizes=(100, 200, 400)), power_law(0.3, seeds=3), power_law(0.3, sizes=(1, 2, 3, 4))):
        for compare in (learning_curves.beta_difference, learning_curves.error_ratio):
            with pytest.raises(InputError, match="the same sizes and realisations"):
                compare(curve, other)
    zero = curve.assign(error=curve.error * (curve.p != 100))
    for pair in ((zero, curve), (curve, zero)):
        with pytest.raises(InputError, match="errors above 0"):
            learning_curves.error_ratio(*pair)


@pytest.mark.parametrize(("d", "d_parallel", "gain"), [(2, 1, 2 / 4), (5, 1, 8 / 13), (5, 2, 3 / 13), (5, 4, 1 / 13)])
def test_the_gain_from_compressing_the_uninformative_directions(d, d_parallel, gain):
    assert learning_curves.compression_gain(d, d_parallel) == pytest.approx(gain)


@pytest.mark.parametrize(("d", "d_parallel"), [(5, 5), (5, 6), (5, 0), (1, 1)])
def test_there_is_a_direction_to_compress(d, d_parallel):
    with pytest.raises(InputError, match=r"(d_parallel|d) must"):
        learning_curves.compression_gain(d, d_parallel)
