"""The pretended GPU against what a real one does."""

import itertools

import numpy as np
import pytest
import torch

from regimes import devices
from regimes.data import tasks
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.models.one_hidden import one_hidden
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow
from regimes.training.newton import newton
from regimes.training.optimise import optimise
from tests.pretended_device import MixedDevices, Pretended, pretended_gpu


@pytest.fixture(autouse=True)
def gpu():
    with pretended_gpu() as pretence:
        yield pretence


HERE = torch.arange(6.0).reshape(3, 2)


def on_gpu():
    return HERE.to(devices.pick())


def test_what_comes_from_the_gpu_is_on_it():
    x = on_gpu()
    values, order = x.sort(0)
    made = (x @ x.mT, x[0], x[0, 0], x[x > 1], x.double(), x.new_zeros(3), torch.zeros_like(x), values, order,
            torch.zeros(2, device=x.device), torch.stack([x, x]), *x.split(1), *torch.linalg.eigh(x.mT @ x), HERE.to(x),
            torch.ones(()).to(x), x.to(torch.float64), x.to(dtype=torch.float64), HERE.to("cuda", torch.float64),
            x.clone().requires_grad_(), HERE.to(dtype=torch.float64, device="cuda"),
            torch.ops.aten.silu_backward(x, x), torch.tensor([1.0], device="cuda"))  # fmt: skip
    for tensor in made:
        assert isinstance(tensor, Pretended) and tensor.device.type == "cuda" and tensor.is_cuda
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda and not torch.from_numpy(np.ones(2)).is_cuda


def test_what_is_brought_back_is_on_the_cpu():
    x = on_gpu()
    for tensor in (x.cpu(), x.to("cpu"), x.to(device="cpu", dtype=torch.float64), x.to(HERE), HERE, HERE[0]):
        assert not isinstance(tensor, Pretended) and tensor.device.type == "cpu" and not tensor.is_cuda
        tensor.numpy()
    assert x.tolist() == HERE.tolist() and float(x[1, 0]) == 2 and bool((x >= 0).all()) and len(x) == 3


def test_views_and_changes_in_place_reach_the_tensor_itself():
    x = on_gpu().clone()
    x[0] = 7.0
    x[1:].add_(1)
    x[torch.tensor([2]), 0] = 5.0
    x.diagonal().mul_(2)
    x[1] += x[0]
    assert x.tolist() == [[14.0, 7.0], [17.0, 15.0], [5.0, 6.0]]


def test_gradients_stay_on_the_gpu():
    x = on_gpu().requires_grad_()
    (slope,) = torch.autograd.grad(x.square().sum(), x)
    assert slope.is_cuda and slope.tolist() == (2 * HERE).tolist()


@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x + HERE,
        lambda x: HERE + x,
        lambda x: x[0, 0] * HERE,
        lambda x: HERE @ x.mT,
        lambda x: torch.cat([x, HERE]),
        lambda x: torch.stack([x[0, 0], HERE[0, 0]]),
        lambda x: torch.where(HERE > 0, x, 0.0),
        lambda x: HERE[x > 1],
        lambda x: HERE[x[:, 0].long()],
        lambda x: x.gather(0, HERE.long()),
        lambda x: x.add_(HERE),
        lambda x: HERE.clone().add_(x),
        lambda x: x.__setitem__(0, HERE[0]),
        lambda x: HERE.clone().__setitem__(0, x[0]),
        lambda x: torch.linalg.solve(x.mT @ x, HERE[:2]),
        lambda x: torch.zeros(3, 2).lerp(x, 0.5),
    ],
)
def test_two_devices_do_not_mix(mix):
    with pytest.raises(MixedDevices, match="expected all tensors on one device"):
        mix(on_gpu())


def test_a_number_meets_any_device_and_an_index_may_be_on_the_cpu():
    x = on_gpu()
    for tensor in (x * torch.tensor(2.0), x[torch.tensor([0, 1])], torch.where(x > 1, x, torch.tensor(0.0))):
        assert tensor.is_cuda


@pytest.mark.parametrize("read", [lambda x: x.numpy(), np.asarray, lambda x: np.sign(x), lambda x: x.data_ptr()])
def test_numpy_does_not_read_the_gpu(read):
    with pytest.raises(TypeError, match="to numpy"):
        read(on_gpu())


def test_what_the_cpu_waits_for_is_counted(gpu):
    x = on_gpu()
    for wait in (lambda: float(x[0, 0]), lambda: x[x > 1], lambda: bool((x > 1).all()), lambda: x.nonzero(), x.tolist):
        before = gpu.waits
        wait()
        assert gpu.waits == before + 1
    x @ x.mT, x[0], torch.where(x > 1, x, 0.0), HERE[HERE > 1].tolist()
    assert gpu.waits == before + 1


SWISH = {"sigma": activation("swish", steepness=10.0, normalised=True), "parametrisation": "mean-field", "gain": 1.0}
# a state's waits: 21, 13 and 2 before they were counted
STEPS = {
    "flow": (12.0, lambda task: gradient_flow(one_hidden(5, 60, seeds=range(8), device="auto"), task, alpha=1e-3)),
    "gauss_newton": (4.2, lambda task: gauss_newton(swish(), task.x, task.y, alpha=1.0)),
    "newton": (8.0, lambda task: newton(swish(), task.x[0], task.y[0], alpha=1.0)),
    "adam": (1.0, lambda task: optimise(swish(), task.x, task.y, method="adam", rate=1e-3)),
}


def swish():
    return fully_connected([5, 12, 12, 1], seeds=range(8), device="auto", **SWISH)


@pytest.mark.parametrize("solver", STEPS)
def test_a_step_of_an_ensemble_seldom_waits_for_the_gpu(gpu, solver):
    most, start = STEPS[solver]
    states = start(tasks.stripe(100, 5, seed=range(8)).to(device=devices.pick()))
    next(states)
    before, taken = gpu.waits, sum(1 for _ in itertools.islice(states, 40))
    assert taken == 40 and gpu.waits - before <= most * taken


def test_a_flow_takes_as_many_realisations_together_as_half_of_the_gpu_holds(monkeypatch):
    each = 4 * 60 * 100 * 4
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device=None: (2**36, 4 * each))
    task = tasks.stripe(100, 5, seed=range(5)).to(device=devices.pick())
    states = gradient_flow(one_hidden(5, 60, seeds=range(5), device="auto"), task, alpha=1e-3)
    assert [state.rows for state in itertools.islice(states, 3)] == [(0, 1), (2, 3), (4,)]


def test_a_card_takes_what_is_large_enough_or_what_it_is_told_to(monkeypatch):
    monkeypatch.setattr(devices, "WORTH", 1000)
    assert [devices.kind("any", pairs) for pairs in (10, 999, 1000)] == ["cpu", "cpu", "cuda"]
    assert devices.kind("any") == "cuda" and devices.kind("cpu", 1e9) == "cpu"
    monkeypatch.setenv("REGIMES_DEVICE", "cuda")
    assert devices.kind("any", 10) == "cuda"
