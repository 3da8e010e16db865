"""Lazy and feature learning: the numerics behind the book.

The modules form floors, listed here from the bottom up; each imports only from its own and those below. Nothing is
imported with the package, so that ``import regimes`` costs nothing and a study needs only what it uses: the names of
the public face load their module when they are first asked for.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

FLOORS = {
    "validate devices estimates gaussian seeds paths": "errors a reader sees, where tensors live, small mathematics",
    "data": "what is learned: synthetic tasks and real data",
    "models": "what learns, and the losses",
    "kernels": "tangent kernels of finite and infinite networks",
    "training": "gradient flow, the flow of a frozen kernel, optimisers",
    "themes": "observables and theory, one package a theme",
    "sweeps": "studies, the grid runner, its stored cells and their provenance, parameters, command lines",
    "studies": "the studies of each chapter: grids and calls, no mathematics",
    "book runner": "running a chapter; verdicts, figures, pages (``regimes[book]``)",
}

# name -> the module that holds it
FACE = {
    "activation": "models.activations",
    "convolutional": "models.convolutional",
    "fully_connected": "models.fully_connected",
    "gauss_newton": "training.gauss_newton",
    "gradient_flow": "training.gradient_flow",
    "infinite_ntk": "kernels.infinite",
    "kernel_flow": "training.kernel_flow",
    "kernel_pca": "themes.kernel_pca.diagnosis",
    "lazy": "themes.learning_curves",
    "module": "models.module",
    "ntk": "kernels.tangent",
    "one_hidden": "models.one_hidden",
    "optimise": "training.optimise",
    "product": "sweeps.study",
    "run": "training.run",
    "stripe": "data.tasks",
    "study": "sweeps.study",
    "sweep": "sweeps.sweep",
}


def __getattr__(name: str) -> Any:
    if name not in FACE:
        raise AttributeError(f"module 'regimes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"regimes.{FACE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *FACE})
