"""Activations and targets: functions of one variable, with the properties that theory needs."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regimes import gaussian
from regimes.validate import InputError


@dataclass(frozen=True)
class Function:
    """A function of one variable, for simulation (torch) and for quadrature (numpy).

    Attributes:
        name: in captions and errors.
        tensor: the function on torch tensors.
        breaks: where it jumps or has a kink.
    """

    name: str
    tensor: Callable[[Tensor], Tensor]
    breaks: tuple[float, ...] = ()

    @functools.cached_property
    def odd(self) -> bool:
        """Whether ``f(-x) = -f(x)``, at a few points."""
        x = np.array([0.1, 0.5, 1.0, 2.0, 3.0])
        return np.allclose(self.array(-x), -self.array(x), rtol=1e-9, atol=1e-12)

    def array(self, x: np.ndarray) -> np.ndarray:
        """The function on numpy arrays."""
        if self.tensor is torch.tanh:  # the book's main activation: three times as fast
            return np.tanh(x)
        return self.tensor(torch.as_tensor(x, dtype=torch.float64)).numpy()


# the names stand here in full: a chapter's help reads them without loading torch
FUNCTIONS = {
    "tanh": Function("tanh", torch.tanh),
    "erf": Function("erf", torch.erf),
    "erf(x/√2)": Function("erf(x/√2)", lambda x: torch.erf(x / math.sqrt(2))),
    "sin": Function("sin", torch.sin),
    "sign": Function("sign", torch.sign, breaks=(0.0,)),
    "relu": Function("relu", torch.relu, breaks=(0.0,)),
    "softplus": Function("softplus", torch.nn.functional.softplus),
    "identity": Function("identity", lambda x: x),
    "He1+He3": Function("He1+He3", lambda x: x + (x**3 - 3 * x) / math.sqrt(6)),
    "He1+He2": Function("He1+He2", lambda x: x + (x**2 - 1) / math.sqrt(2)),
    "tanh(x+1)": Function("tanh(x+1)", lambda x: torch.tanh(x + 1)),
}


def function(name: str | Function, role: str = "function") -> Function:
    """The function of that name; a :class:`Function` as it is. Its second moment under ``N(0, 1)`` must be finite."""
    if not isinstance(name, Function) and (not isinstance(name, str) or name not in FUNCTIONS):
        raise InputError(f"{role} must be one of {', '.join(FUNCTIONS)}; got {name!r}")
    f = FUNCTIONS[name] if isinstance(name, str) else name
    if not _has_second_moment(f):
        raise InputError(f"{role} {f.name} has no finite second moment under the standard normal measure")
    return f


def needs_slope(activation: Function) -> None:
    """Raises :class:`InputError` if ``E σ'`` is not ``E z σ``: at a jump, whose part of the gradient autograd drops.

    A gradient step moves the first layer by ``σ'`` of the neurons: with ``sign`` it does not move.
    """
    by_parts, by_slope = _mean_slopes(activation)
    if abs(by_parts - by_slope) > 1e-6 * max(1.0, abs(by_parts)):
        raise InputError(
            f"activation {activation.name} jumps: its gradient holds E σ' = {by_slope:.4g} of {by_parts:.4g} = E z σ; "
            "use a continuous activation for a gradient step"
        )


@functools.lru_cache(maxsize=64)
def _mean_slopes(f: Function) -> tuple[float, float]:
    return gaussian.expect(lambda z: z * f.array(z), breaks=f.breaks), gaussian.expect(derivative(f), breaks=f.breaks)


def needs_step(activation: Function) -> None:
    """Raises :class:`InputError` for an activation that a gradient step does not give a single spike.

    It must be odd, and pass :func:`needs_slope`.
    """
    needs_odd(activation)
    needs_slope(activation)


def needs_odd(activation: Function) -> None:
    """Raises :class:`InputError` for an activation that is not odd."""
    if not activation.odd:
        raise InputError(
            f"activation {activation.name} is not odd: its mean E σ and curvature E σ'' would add a part along each "
            "neuron's own weights to the gradient, which one spike does not describe; use an odd activation, or give "
            "the spiked features a bias"
        )


@functools.lru_cache(maxsize=64)
def _has_second_moment(f: Function) -> bool:
    """The integrand of ``E f^2`` must be finite, vanish at the ends, and integrate to the same on two grids."""
    with np.errstate(all="ignore"):
        tail = f.array(np.array([-1.0, 1.0]) * 8.0) ** 2 * math.exp(-32)
        grids = [gaussian.rule(f.breaks, step=step) for step in (0.5, 0.3)]
        coarse, fine = (float(w @ f.array(x) ** 2) for x, w in grids)
        ok = np.isfinite([coarse, fine, *tail]).all() and max(tail) <= 1e-4 * fine and abs(coarse - fine) <= 1e-3 * fine
    return bool(ok or fine == 0)


@dataclass(frozen=True)
class Hermite:
    """Gaussian coefficients of activation and target.

    ``h1 = E σ'``, ``h1_check = E σ'^2 - h1^2``, ``h3 = E σ'''`` of the activation; ``t1 = E[z σ*]``, ``t2 = E σ*^2``
    of the target.

    Source: paper E, Eq. 12.
    """

    h1: float
    h1_check: float
    h3: float
    t1: float
    t2: float


@functools.lru_cache(maxsize=256)
def hermite(activation: Function, target: Function) -> Hermite:
    """The coefficients of Result 3.1, by quadrature."""
    s, t = activation, target
    slope = derivative(s)
    h1 = gaussian.expect(lambda z: z * s.array(z), breaks=s.breaks)
    return Hermite(
        h1=h1,
        h1_check=gaussian.expect(lambda z: slope(z) ** 2, breaks=s.breaks) - h1**2,
        h3=gaussian.expect(lambda z: (z**3 - 3 * z) * s.array(z), breaks=s.breaks),
        t1=gaussian.expect(lambda z: z * t.array(z), breaks=t.breaks),
        t2=gaussian.expect(lambda z: t.array(z) ** 2, breaks=t.breaks),
    )


def derivative(f: Function) -> Callable[[np.ndarray], np.ndarray]:
    """The derivative of ``f`` on numpy arrays, by automatic differentiation of its torch form."""
    return lambda x: derivative_at(f, torch.tensor(x, dtype=torch.float64)).numpy()


def derivative_at(f: Function, x: Tensor) -> Tensor:
    """``f'(x)``, elementwise."""
    if f.name == "tanh":  # the book's main activation: one tanh instead of a graph
        return 1 - torch.tanh(x) ** 2
    x = x.detach().requires_grad_()
    return torch.autograd.grad(f.tensor(x).sum(), x)[0]
