"""Chapter 5: the normalised kernel against depth, what it predicts, and what a finite width changes."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from regimes import check, datasets
from regimes.depth import rate, regression
from regimes.kernels import deep_relu, infinite_ntk
from regimes.sweep import Rows, Setting, product, study
from regimes.tasks import Task

CHAPTER = "05"
CORPORA = ("mnist", "fashion_mnist", "cifar10", "digits")
EXACT = "none, the kernel is a function of one correlation"


@functools.lru_cache(maxsize=2)
def _pool(corpus: str) -> Task:
    """All images of a corpus, on the sphere."""
    return datasets.to_sphere(datasets.load(corpus))


def check_parameters(p: Mapping[str, Any]) -> None:
    """Depths are whole numbers from 1 on and increase."""
    check.one_of(CORPORA, corpus=p["corpus"])
    for name in ("tab2_depths",):
        check.increasing(**{name: p[name]})
        check.integer(1, **{f"{name}[{i}]": depth for i, depth in enumerate(p[name])})


def _kernel_grid(p: Mapping[str, Any]) -> list[Setting]:
    check.integer(1000, curve_depth=p["curve_depth"])
    rate.angle(torch.tensor(p["curve_rho"], dtype=torch.float64))
    return product(rho=p["curve_rho"], depth_max=p["curve_depth"], seeds=[0])


@study(version=1, grid=_kernel_grid, data=EXACT)
def normalised_kernel(setting: Setting, seeds: list[int]) -> Rows:
    """The kernel of one pair against depth: ``kernel``, ``gap = 1 - rho^(L)``, ``offset`` c, ``predicted`` excess.

    Depths are eight a decade, with the last one's neighbour and tenth. Source: paper C, Prop. 5 and Theorem 2.
    """
    rho, deepest = torch.tensor([setting["rho"]], dtype=torch.float64), setting["depth_max"]
    phi = rate.angle(rho)
    depths = {int(d) for d in np.geomspace(1, deepest, 1 + round(8 * np.log10(deepest)))}
    rows = []
    for depth in sorted({*range(1, 31), *depths, deepest // 10, deepest - 1, deepest}):
        kernel, gap = deep_relu.kernel_of_angle(phi, depth)
        row = {"seed": seeds[0], "depth": depth, "kernel": float(kernel), "gap": float(gap)}
        rows.append(
            row | {"offset": float(deep_relu.offset(phi)), "predicted": float(rate.predicted_excess(rho, depth))}
        )
    return rows


def _layer_map_grid(p: Mapping[str, Any]) -> list[Setting]:
    check.integer(3, map_points=p["map_points"])
    return product(points=p["map_points"], seeds=[0])


@study(version=1, grid=_layer_map_grid, data=EXACT)
def layer_map(setting: Setting, seeds: list[int]) -> Rows:
    """``h(z)`` on an even grid of [-1, 1]. Source: paper C, Definition 5 and Fig. 3."""
    z = torch.linspace(-1, 1, setting["points"], dtype=torch.float64)
    return [{"seed": seeds[0], "z": float(a), "h": float(b)} for a, b in zip(z, rate.layer_map(z))]


def _regression_grid(p: Mapping[str, Any]) -> list[Setting]:
    check.integer(1, tab2_n=p["tab2_n"], tab2_test=p["tab2_test"], tab2_splits=p["tab2_splits"])
    corpus = {"corpus": p["corpus"], "data": datasets.identity(p["corpus"])}
    sizes = {"n": p["tab2_n"], "test": p["tab2_test"]}
    return product(**corpus, **sizes, depths=[p["tab2_depths"]], seeds=range(p["tab2_splits"]))


@study(version=1, grid=_regression_grid)
def mnist_regression(setting: Setting, seeds: list[int]) -> Rows:
    """One-hot regression from ``f_0 = 0`` to infinite time on disjoint stratified splits, one a seed.

    Rows hold ``accuracy``, macro ``f1``, ``mse`` (squared residual norm a point) and ``residual`` (its mean norm)
    for each depth. Source: paper C, Tab. 2.
    """
    task, rows = _pool(setting["corpus"]), []
    for seed in seeds:
        train, test = datasets.split(task, [setting["n"], setting["test"]], seed=seed)
        y, target = regression.one_hot(train.y, 10), regression.one_hot(test.y, 10)
        for layers in setting["depths"]:
            gram, cross = infinite_ntk(train.x, depth=layers), infinite_ntk(test.x, train.x, depth=layers)
            f = regression.predict(gram, cross, y)
            row = {"seed": seed, "depth": layers, "source": task.source, "accuracy": regression.accuracy(f, test.y)}
            row |= {"f1": regression.macro_f1(f, test.y, 10), "mse": regression.squared_error(f, target)}
            rows.append(row | {"residual": float((f - target).norm(dim=-1).mean())})
    return rows
