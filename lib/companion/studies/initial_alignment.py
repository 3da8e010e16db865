"""Chapter 6, the half at initialisation: what theory says of the early C-NFA, and what networks show."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from companion.experiments.sweep import Rows, Setting, study
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
LOWEST = 1e-4  # floor of these data
MATRICES = 12  # square matrices of float64 that a realisation holds
READINGS = (*data.READINGS, FREE)
SEVERAL = "count from 2 to 1000"


def _fits(setting: Setting) -> Setting:
    """The setting, if the ring fits into its space, and memory holds square matrices, points, or what is averaged."""
    n, d, k, points, draws = (setting.get(name, 0) for name in ("n", "d", "k", "points", "draws"))
    if setting.get("rank", 0) > max(n, d):
        raise InputError(f"rank must be at most {max(n, d)}, the dimension, got {setting['rank']}")
    needed = 8 * MATRICES * max(n, k) ** 2 + 24 * points * d + 16 * draws * (n * k + k * d + n * d + 2 * d * d)
    validate.memory(needed, " with ".join(f"{name} = {size}" for name, size in setting.items() if type(size) is int))
    return setting


@study(
    version=1,
    axes={"rank": "count from 3 to 100", "d": SEVERAL, "points": "count from 100 to 1e7", "seeds": SEVERAL},
    complete=_fits,
    chunk=100,
    data="chain monomial of standard normal points, drawn here",
)
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


@study(
    version=1,
    axes={"n": SEVERAL, "d": SEVERAL, "k": SEVERAL, "draws": "count from 100 to 1e7", "seeds": SEVERAL},
    complete=_fits,
    chunk=4,
    data="standard normal points and labels, drawn here",
)
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
    formulas = {"nfm": free_probability.data_matrices(x, y)[0], "agop": predictions.expected_agop(x, y, k)}
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


@study(
    version=1,
    axes={"n": "count from 16 to 8192", "seeds": SEVERAL},
    complete=_fits,
    rtol=1e-4,
    data="Gaussian points of unit mean square and normal labels, drawn here",
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
    t = free_probability.matrix_traces(A, B)
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


@study(
    version=1,
    axes={
        "data": "one of normal, isotropic", "n": "count from 8 to 4096",
        "k": "each of 1 or more increasing counts from 2 to 16384", "networks": SEVERAL,
    },
    complete=_fits,
    rtol=1e-4,
    data="Gaussian points of unit mean square, or the rows of a rotation, and normal labels, drawn here",
)  # fmt: skip
def averages(setting: Setting, seeds: list[int]) -> Rows:
    """What becomes of the C-NFA's traces in the mean over quadratic networks of width ``k``; one row a data set.

    ``commutes``: mean of the networks' correlations over the correlation of their mean traces. ``eq20``: mean of
    observed over predicted ``tr(ARARBR)``, with each network's own moments of ``R``; Eq. 6 where ``XᵀX`` is 1.
    ``covariance``: the share of Eq. 5's second term in its left side, and ``free``, the same as all sizes grow.

    Source: paper D, Eqs. 5, 6 and 20, Assumption 9.
    """
    n, k, rows = setting["n"], setting["k"], []
    kinds = [draw_seeds(kind, seeds, size=n) for kind in ("train", "labels", "weights")]
    for seed, points, labels, drawn in zip(seeds, *kinds, strict=True):
        spread = setting["data"] == "normal"
        x = tasks.gaussian_points(n, n, seed=points) / n**0.5 if spread else tasks.rotation(n, seed=points)
        y, rng = tasks.gaussian_points(n, 1, seed=labels)[:, 0], np.random.default_rng(drawn)
        (A, B), found, own = free_probability.data_matrices(x, y), [], []
        t = free_probability.matrix_traces(A, B)
        for _ in range(setting["networks"]):
            R = free_probability.readout_matrix(*(torch.from_numpy(rng.standard_normal(s)) for s in ((k, n), k))) / k
            found.append(torch.stack(free_probability.observed_traces(A, B, R)))
            own.append(free_probability.numerator(t, free_probability.moments(R)))
        above, first, second = each = torch.stack(found, dim=1)
        mean = each.mean(1)
        row = {"commutes": (above / (first * second).sqrt()).mean() * (mean[1] * mean[2]).sqrt() / mean[0]}
        row["eq20"] = (above / torch.stack(own)).mean()
        term = (A * predictions.expected_agop(x, y, k)).sum() / n
        row |= {"covariance": 1 - term / mean[0], "free": free_probability.covariance_share(t, n / k)}
        rows.append({"seed": seed} | {name: float(value) for name, value in row.items()})
    return rows


def _parts_fit(setting: Setting) -> Setting:
    """The setting, if both parts of its data have points enough, and a floor to divide by where there are no spikes."""
    n, balance, free = setting["n"], setting["balance"], setting["reading"] == FREE
    least, most = (2, n // 2) if free else (1, n)
    if not least <= round(balance * n) <= most:
        raise InputError(f"balance must give the first part {least} to {most} of n = {n} points, got {balance:g}")
    if free and setting["floor"] < LOWEST:
        raise InputError(f"floor must be at least {LOWEST:g} without spikes, got {setting['floor']:g}")
    return _fits(setting)


@study(
    version=1, complete=_parts_fit, chunk=4, rtol=1e-3, nonfinite=["printed"],
    axes={
        "n": "count from 16 to 8192", "reading": f"one of {__name__}.READINGS", "balance": "positive to 1",
        "floor": "number from 0 to 1", "networks": "count to 1000", "seeds": SEVERAL,
    },
    columns={"observed": 2e-2, "first_order": 2e-2},  # where an inverse is taken in float32
)  # fmt: skip
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
        t = free_probability.matrix_traces(*free_probability.data_matrices(task.x, task.y))
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
    return _early(matrices.sites(model, x)[0], y)


def _early(site: Site, y: Tensor) -> Tensor:
    return matrices.uc_nfa(matrices.velocity(site.inputs, site.delta, y.expand(site.inputs.shape[:-1])), site.delta)


@study(
    version=2, complete=_fits, chunk=4, rtol=1e-4, data="Gaussian points of covariance 1/(1 + k^decay), drawn here",
    axes={
        "n": "count from 8 to 4096", "rank": "count from 2 to 100",
        "k": "each of 2 or more increasing counts from 8 to 16384", "sigma": "one of quadratic, relu",
        "target": "one of low rank, high rank", "decay": "each of 3 or more increasing numbers from 0 to 100",
        "seeds": SEVERAL,
    },
)  # fmt: skip
def decays(setting: Setting, seeds: list[int]) -> Rows:
    """Observed and first-order C-NFA of the first of two hidden layers at initialisation, against the data's decay.

    ``observed``: with labels for residuals; ``residual``: with the residuals; ``predicted``: with the kernel of an
    infinitely wide network, which is ``apart`` from a multiple of a projector, ``1 - ρ(𝒦, 𝒦²)``. As many points as
    dimensions.

    Source: paper D, Fig. 6 and App. C.
    """
    n, k, sigma, rows = setting["n"], setting["k"], setting["sigma"], []
    widths = [n, k, k, 1]
    kinds = [draw_seeds(kind, seeds) for kind in ("train", "rotation", "direction")]
    for seed, weights, *drawn in zip(seeds, draw_seeds("weights", seeds, size=k), *kinds, strict=True):
        task = _decaying(setting, *drawn)
        model = fully_connected(widths, seeds=[weights], sigma=sigma, parametrisation="standard", gain=1.0)
        site = matrices.sites(model, task.x)[0]
        kernel = predictions.expected_kernel(task.x, sigma=sigma, hidden=2)
        row = {"seed": seed, "observed": float(_early(site, task.y))}
        row["residual"] = float(_early(site, task.y - model(task.x)))
        row["apart"] = 1 - float(matrices.correlation(kernel, kernel @ kernel))
        rows.append(row | {"predicted": float(predictions.early_correlation(task.x, task.y, kernel))})
    return rows


def _decaying(setting: Setting, points: int, basis: int, mixing: int) -> Task:
    n, decay = setting["n"], setting["decay"]
    if setting["target"] == "low rank":
        return tasks.chain_monomial(n, n, r=setting["rank"], decay=decay, basis=basis, seed=points)
    return data.full_rank(n, n, decay=decay, basis=basis, mixing=mixing, seed=points)
