"""Lazy and feature learning: gradient flow, tangent kernels and what to measure on both.

The engine behind the book, a library of its own that needs only numpy, scipy and torch. Its modules form layers, listed
here from the bottom up; each imports only from its own layer and those below. ``import regimes`` costs nothing: a
public name loads its module at first use. A function refuses bad input before it computes anything, with one line that
names the argument: :class:`regimes.validate.InputError`.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

LAYERS = {
    "validate devices compiler gaussian seeds": "errors a reader sees, where tensors live, small mathematics",
    "data": "what is learned: synthetic tasks and real data",
    "models": "what learns, and the losses",
    "kernels": "tangent kernels of finite and infinite networks",
    "training": "gradient flow, the flow of a frozen kernel, optimisers",
    "measures": "what is measured on models and kernels",
}

# name -> the module that holds it
PUBLIC = {
    "activation": "models.activations",
    "convolutional": "models.convolutional",
    "fully_connected": "models.fully_connected",
    "gauss_newton": "training.gauss_newton",
    "gradient_flow": "training.gradient_flow",
    "infinite_ntk": "kernels.infinite",
    "kernel_flow": "training.kernel_flow",
    "kernel_pca": "measures.kernel_pca",
    "lazy": "measures.lazy",
    "module": "models.module",
    "ntk": "kernels.tangent",
    "one_hidden": "models.one_hidden",
    "optimise": "training.optimise",
    "parameters_to_fit": "measures.separability",
    "residual_ntk": "kernels.residual",
    "run": "training.run",
    "stripe": "data.tasks",
}


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'regimes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"regimes.{PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
