"""Chapter 6, the half at initialisation: what theory says of the early C-NFA, and what networks show."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from companion.experiments.sweep import Rows, Setting, product, study
from companion.theory.alignment import data, egop, free_probability, predictions
from regimes import validate
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.measures import matrices
from regimes.measures.matrices import Site
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.validate import InputError

CHAPTER = "06"
FREE = "without spikes"  # the reading of App. F that can be built and predicted
MATRICES = 12  # square matrices of float64 that a realisation holds
RANK_4 = 4  # the smallest ring whose EGOP loses rank: measured whatever else a reader asks for


def _needs_memory(name: str, size: int, together: int = 1) -> None:
    validate.memory(8 * MATRICES * together * size**2, f"{name} = {size}")


def _egop_grid(p: Mapping[str, Any]) -> list[Setting]:
    ranks = sorted({RANK_4, *p["egop_ranks"]})
    d = max(ranks) + 2
    validate.memory(24 * p["egop_points"] * d, f"egop_points = {p['egop_points']} with egop_ranks")
    return product(rank=ranks, d=d, points=p["egop_points"], seeds=range(p["egop_seeds"]))


@study(version=1, grid=_egop_grid, chunk=100, data="chain monomial of standard normal points, drawn here")
def outer_products(setting: Setting, seeds: list[int]) -> Rows:
    """The mean outer product of the chain monomial's gradients: its ``found`` rank, and how ``far`` the closed form is.

    ``far``: Frobenius norm of the difference over that of the closed form. Source: paper D, Eqs. 1 and 2.
    """
    rank, d = setting["rank"], setting["d"]
    closed, rows = egop.chain_monomial_egop(rank, d), []
    for seed, drawn in zip(seeds, draw_seeds("train", seeds), strict=True):
        sampled = egop.sampled_egop(tasks.chain_monomial(setting["points"], d, r=rank, seed=drawn))
        far = float((sampled - closed).norm() / closed.norm())
        rows.append({"seed": seed, "found": int(torch.linalg.matrix_rank(sampled, rtol=1e-9)), "far": far})
    return rows


def _expectations_grid(p: Mapping[str, Any]) -> list[Setting]:
    n, d, k = 6, 5, 4
    validate.memory(16 * p["mean_draws"] * (n * k + k * d + n * d + 2 * d * d), f"mean_draws = {p['mean_draws']}")
    return product(n=n, d=d, k=k, draws=p["mean_draws"], seeds=range(p["mean_seeds"]))


@study(version=1, grid=_expectations_grid, chunk=4, data="standard normal points and labels, drawn here")
def expectations(setting: Setting, seeds: list[int]) -> Rows:
    """Means of ``ẆᵀẆ`` and ``ẆᵀKẆ`` over ``draws`` quadratic networks, all on the same few points.

    ``nfm``, ``agop``: distance of the means from the formulas, Frobenius norm over that of the mean; ``agop_printed``,
    ``agop_over_k``: the same for Prop. 10 as printed, and divided by the width. ``nfm_ratio`` and so on: the mean along
    the formula over the formula. With ``δ = a ⊙ h``, as the paper writes it.

    Source: paper D, Prop. 10.
    """
    n, d, k = (setting[name] for name in ("n", "d", "k"))
    points, labels = draw_seeds("train", [0])[0], draw_seeds("labels", [0])[0]
    x, y = tasks.gaussian_points(n, d, seed=points), tasks.gaussian_points(n, 1, seed=labels)[:, 0]
    printed = predictions.expected_agop(x, y, k, printing="printed")
    formulas = {"nfm": predictions.expected_nfm(x, y), "agop": predictions.expected_agop(x, y, k)}
    formulas |= {"agop_printed": printed, "agop_over_k": printed / k}
    rows = []
    for seed, drawn in zip(seeds, draw_seeds("weights", seeds), strict=True):
        feature, outer = _mean_speeds(x, y, k, setting["draws"], drawn)
        row = {"seed": seed}
        for name, formula in formulas.items():
            mean = feature if name == "nfm" else outer
            row[name] = float((formula - mean).norm() / mean.norm())
            row[f"{name}_ratio"] = float((mean * formula).sum() / formula.square().sum())
        rows.append(row)
    return rows


def _mean_speeds(x: Tensor, y: Tensor, k: int, draws: int, seed: int) -> tuple[Tensor, Tensor]:
    """Means over networks drawn together: one generator for all, a million generators would cost more than the sum."""
    rng = np.random.default_rng(seed)
    weights = torch.from_numpy(rng.standard_normal((draws, k, x.shape[-1]))) / k**0.5
    delta = torch.from_numpy(rng.standard_normal((draws, 1, k))) * (x @ weights.mT)
    speed = delta.mT @ (x * y.unsqueeze(-1))
    return tuple(rows.flatten(0, 1).mT @ rows.flatten(0, 1) / draws for rows in (speed, delta @ speed))


def _traces_grid(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory("trace_n", p["trace_n"])
    return product(n=p["trace_n"], seeds=range(p["trace_seeds"]))


@study(
    version=1, grid=_traces_grid, rtol=1e-4, data="Gaussian points of unit mean square and normal labels, drawn here"
)
def traces(setting: Setting, seeds: list[int]) -> Rows:
    """The traces of the C-NFA over their free-probability formulas; one row a network with data of its own.

    ``eq20``, ``eq22``, ``eq28``: observed over predicted, with the network's own moments of ``R``; ``eq28_printed``,
    ``eq28_literal``, ``eq19``: with the last term as printed, as it reads with the square outside the trace, and with
    the last term of Eq. 19 in Eq. 20. ``r1 … r4``: moments of ``R`` over those of the closed form for its readout.

    Source: paper D, Eqs. 19, 20, 22 and 28.
    """
    n, rows = setting["n"], []
    kinds = [draw_seeds(kind, seeds, size=n) for kind in ("train", "labels", "weights")]
    for seed, points, labels, drawn in zip(seeds, *kinds, strict=True):
        x, y = tasks.gaussian_points(n, n, seed=points) / n**0.5, tasks.gaussian_points(n, 1, seed=labels)[:, 0]
        network = fully_connected([n, n, 1], seeds=[drawn], sigma="quadratic", parametrisation="standard", gain=1.0)
        # networks differ by per cents: single precision is enough, and twice as fast
        x, y, weights, a = (t.float() for t in (x, y, network.weights[0][0], network.weights[1][0, 0] * n**0.5))
        R = free_probability.readout_matrix(weights, a)
        A, B = free_probability.data_matrices(x, y)
        r = free_probability.moments(R)
        rows.append({"seed": seed} | _trace_ratios(A, B, R, r) | _moment_ratios(r, a))
    return rows


def _trace_ratios(A: Tensor, B: Tensor, R: Tensor, r: Sequence[Tensor]) -> dict[str, float]:
    t = free_probability.traces(A, B)
    above, first, second = free_probability.observed_traces(A, B, R)
    found = {"eq20": above / free_probability.numerator(t, r), "eq22": first / free_probability.first_denominator(t, r)}
    found["eq19"] = above / (free_probability.numerator(t, r) - t.a**2 * t.b * (r[2] - r[0] ** 3))
    for printing in free_probability.PRINTINGS:
        name = "eq28" if printing == "corrected" else f"eq28_{printing}"
        found[name] = second / free_probability.second_denominator(t, r, printing=printing)
    return {name: float(value) for name, value in found.items()}


def _moment_ratios(r: Sequence[Tensor], a: Tensor) -> dict[str, float]:
    own = free_probability.readout_moments(1.0, [float((a ** (2 * j)).mean()) for j in range(1, 5)])
    return {f"r{j}": float(found) / closed for j, (found, closed) in enumerate(zip(r, own), start=1)}


def _reversal_grid(p: Mapping[str, Any]) -> list[Setting]:
    sizes = p["reversal_n"]
    _needs_memory("reversal_n", sizes[-1])
    for name, least, n in (("reversal_balances", 1, sizes[-1]), ("free_balances", 2, sizes[0])):
        if round(p[name][0] * n) < least:
            enough = f"at least {least} of the points of reversal_n = {n}"
            raise InputError(f"{name} must give the first part {enough}, got {p[name][0]:g}")
    for n in sizes:
        if round(p["free_balances"][-1] * n) > n // 2:
            raise InputError(f"free_balances must leave half of the points of reversal_n = {n}, got 0.5")
    read = {"reading": list(data.READINGS), "balance": p["reversal_balances"], "floor": 0.0, "networks": 1}
    grid = product(n=sizes[-1], **read, seeds=range(p["reversal_seeds"]))
    free = {"reading": FREE, "balance": p["free_balances"], "floor": p["free_floors"]}
    return grid + product(n=sizes, **free, networks=p["reversal_networks"], seeds=range(p["reversal_seeds"]))


@study(
    version=1,
    grid=_reversal_grid,
    chunk=4,
    rtol=1e-3,
    columns={"observed": 2e-2, "first_order": 2e-2},  # where an inverse is taken in float32
    nonfinite=["printed"],
)
def reversal(setting: Setting, seeds: list[int]) -> Rows:
    """Observed and predicted C-NFA on alignment-reversing data; one row a data set and ``network``.

    Width and dimension are ``n`` too; the networks of a seed are the same for all its data sets. ``observed``: of the
    network at initialisation, with labels for residuals; ``predicted``: by free probability, with closed moments of
    ``R``; ``first_order``: with the expected kernel alone; ``printed``: with Eq. 28 as printed, on data without spikes.

    Source: paper D, Fig. 3 and App. F.
    """
    rows, n = [], setting["n"]
    r = free_probability.readout_moments(1.0)
    for seed, drawn in zip(seeds, draw_seeds("train", seeds), strict=True):
        task = _reversing(setting, drawn)
        t = free_probability.traces(*free_probability.data_matrices(task.x, task.y))
        about = {"seed": seed, "source": task.source, "predicted": float(free_probability.correlation(t, r))}
        if setting["reading"] == FREE:  # on spikes it can be the root of a negative number
            about["printed"] = float(free_probability.correlation(t, r, printing="printed"))
        kernel = predictions.expected_kernel(task.x, sigma="quadratic", hidden=1)
        about["first_order"] = float(predictions.early_correlation(task.x, task.y, kernel))
        for network in range(setting["networks"]):
            weights = draw_seeds("weights", [setting["networks"] * seed + network], size=n)
            found = early([n, n, 1], "quadratic", weights, task.x, task.y)
            rows.append(about | {"network": network, "observed": float(found)})
    return rows


def _reversing(setting: Setting, seed: int) -> Task:
    n, balance = setting["n"], setting["balance"]
    if setting["reading"] == FREE:
        return data.spike_free(n, balance=balance, floor=setting["floor"], seed=seed)
    return data.reversing(n, balance=balance, reading=setting["reading"], seed=seed)


def early(widths: Sequence[int], sigma: str, weights: Sequence[int], x: Tensor, y: Tensor) -> Tensor:
    """The C-NFA of networks at initialisation, first layer, with ``y`` for the residuals; weights N(0, 1/fan-in)."""
    model = fully_connected(widths, seeds=weights, sigma=sigma, parametrisation="standard", gain=1.0)
    return _early(matrices.site(model, x, 1), y)


def _early(site: Site, y: Tensor) -> Tensor:
    return matrices.uc_nfa(matrices.velocity(site.inputs, site.delta, y.expand(site.inputs.shape[:-1])), site.delta)


def _decays_grid(p: Mapping[str, Any]) -> list[Setting]:
    n, widest = p["decay_n"], p["decay_widths"][-1]
    _needs_memory("decay_widths", widest)
    _needs_memory("decay_n", n)
    if n < p["decay_rank"]:
        raise InputError(f"decay_rank must be at most decay_n = {n}, the dimension, got {p['decay_rank']}")
    axes = {"sigma": ["quadratic", "relu"], "target": ["low rank", "high rank"], "decay": p["decays"]}
    return product(n=n, rank=p["decay_rank"], k=p["decay_widths"], **axes, seeds=range(p["decay_seeds"]))


@study(
    version=1, grid=_decays_grid, chunk=4, rtol=1e-4, data="Gaussian points of covariance 1/(1 + k^decay), drawn here"
)
def decays(setting: Setting, seeds: list[int]) -> Rows:
    """Observed and first-order C-NFA of the first of two hidden layers at initialisation, against the data's decay.

    ``observed``: with labels for residuals; ``residual``: with the residuals; ``predicted``: with the kernel of an
    infinitely wide network. As many points as dimensions.

    Source: paper D, Fig. 6 and App. C.
    """
    n, k, sigma, rows = setting["n"], setting["k"], setting["sigma"], []
    widths = [n, k, k, 1]
    kinds = [draw_seeds(kind, seeds) for kind in ("train", "rotation", "direction")]
    for seed, weights, *drawn in zip(seeds, draw_seeds("weights", seeds, size=k), *kinds, strict=True):
        task = _decaying(setting, *drawn)
        model = fully_connected(widths, seeds=[weights], sigma=sigma, parametrisation="standard", gain=1.0)
        site = matrices.site(model, task.x, 1)
        kernel = predictions.expected_kernel(task.x, sigma=sigma, hidden=2)
        row = {"seed": seed, "observed": float(_early(site, task.y))}
        row["residual"] = float(_early(site, task.y - model(task.x)))
        rows.append(row | {"predicted": float(predictions.early_correlation(task.x, task.y, kernel))})
    return rows


def _decaying(setting: Setting, points: int, basis: int, mixing: int) -> Task:
    n, decay = setting["n"], setting["decay"]
    if setting["target"] == "low rank":
        return tasks.chain_monomial(n, n, r=setting["rank"], decay=decay, basis=basis, seed=points)
    return data.full_rank(n, n, decay=decay, basis=basis, mixing=mixing, seed=points)
