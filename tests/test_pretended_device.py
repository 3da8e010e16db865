"""The pretended GPU against what a real one does."""

import numpy as np
import pytest
import torch

from regimes import devices
from tests.pretended_device import MixedDevices, Pretended, pretended_gpu


@pytest.fixture(autouse=True)
def gpu():
    with pretended_gpu():
        yield


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
