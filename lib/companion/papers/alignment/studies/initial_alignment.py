"""Chapter 6, the half at initialisation: what theory says of the early C-NFA, and what networks show."""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from companion.lab.record import Count, Each, Increasing, Number, Positive, Setting, record
from companion.lab.sweep import Rows, study
from companion.papers.alignment.theory import data, egop, free_probability, predictions
from regimes import validate
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.measures import matrices
from regimes.measures.matrices import Site
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.validate import InputError

CHAPTER = "06"
SPIKE_FREE = "without spikes"  # the reading of App. F that can be built and predicted
LOWEST = 1e-4  # floor of these data
MATRICES = 12  # square matrices of float64 that a realisation holds
READINGS = (*data.READINGS, SPIKE_FREE)
REALISATIONS = Count[2, 1000]
Few = Count[2, 1000]


@record
class Ring(Setting):
    """``points`` in ``d`` dimensions, whose label is the chain monomial of the first ``rank``."""

    rank: Count[3, 100]
    d: Few
    points: Count[100, 10_000_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """The ring fits into its space, and memory holds the points."""
        _ring_fits(self.rank, self.d)
        validate.memory(24 * self.points * self.d, f"d = {self.d} with points = {self.points}")
        return self


@record
class FewPoints(Setting):
    """``n`` points in ``d`` dimensions, and ``draws`` quadratic networks of width ``k`` on them."""

    n: Few
    d: Few
    k: Few
    draws: Count[100, 10_000_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds what is averaged."""
        n, d, k = self.n, self.d, self.k
        bytes_per_draw = 16 * (n * k + k * d + n * d + 2 * d * d)
        needed = _square(max(n, k)) + self.draws * bytes_per_draw
        validate.memory(needed, f"n = {n} with d = {d}, k = {k}, draws = {self.draws}")
        return self


@record
class SquareData(Setting):
    """As many points and neurons as dimensions, ``n``."""

    n: Count[16, 8192]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds square matrices."""
        validate.memory(_square(self.n), f"n = {self.n}")
        return self


@record
class ReversingData(SquareData):
    """As many points and neurons as dimensions; the data reverse the alignment.

    Attributes:
        reading: of what the paper says of these data.
        balance: share of the points that are in the first part.
        floor: smallest eigenvalue of data without spikes.
        networks: of a data set.
    """

    reading: Literal[*READINGS]
    balance: Positive[1]
    floor: Number[0, 1]
    networks: Count[1000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Both parts of the data have points enough, and without spikes there is a floor to divide by."""
        n, balance, free = self.n, self.balance, self.reading == SPIKE_FREE
        low, high = (2, n // 2) if free else (1, n)
        if not low <= round(balance * n) <= high:
            raise InputError(f"balance must give the first part {low} to {high} of n = {n} points, got {balance:g}")
        if free and self.floor < LOWEST:
            raise InputError(f"floor must be at least {LOWEST:g} without spikes, got {self.floor:g}")
        return super().completed(seeds)


@record
class Ensembles(Setting):
    """``networks`` of width ``k`` on one data set of ``n`` points in ``n`` dimensions, normal or a rotation's rows."""

    data: Literal["normal", "isotropic"]
    n: Count[8, 4096]
    k: Each[Increasing[Count[2, 16_384]]]
    networks: Count[2, 10_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds square matrices."""
        validate.memory(_square(max(self.n, self.k)), f"n = {self.n} with k = {self.k}")
        return self


@record
class DecayingData(Setting):
    """Networks of width ``k`` on ``n`` points in ``n`` dimensions, of covariance ``1/(1 + i^decay)``.

    Attributes:
        rank: of the low-rank target.
        sigma: activation.
    """

    n: Count[8, 4096]
    rank: Count[2, 100]
    k: Each[Increasing[Count[8, 16_384], 2]]
    sigma: Literal["quadratic", "relu"]
    target: Literal["low rank", "high rank"]
    decay: Each[Increasing[Number[0, 100], 3]]

    def completed(self, seeds: Sequence[int]) -> Self:
        """The ring fits into its space, and memory holds square matrices."""
        _ring_fits(self.rank, self.n)
        validate.memory(_square(max(self.n, self.k)), f"n = {self.n} with k = {self.k}")
        return self


def _ring_fits(rank: int, d: int) -> None:
    if rank > d:
        raise InputError(f"rank must be at most {d}, the dimension, got {rank}")


def _square(n: int) -> int:
    """Bytes of the square matrices of a realisation."""
    return 8 * MATRICES * n**2


@study(version=1, seeds=REALISATIONS, chunk=100, data="chain monomial of standard normal points, drawn here")
def outer_products(s: Ring, seeds: list[int]) -> Rows:
    """The mean outer product of the chain monomial's gradients: its ``found`` rank, and how ``far`` the closed form is.

    ``far``: Frobenius norm of the difference over that of the closed form. Source: paper D, Eqs. 1 and 2.
    """
    closed = egop.chain_monomial_egop(s.rank, s.d)
    rows = []
    for seed, drawn in zip(seeds, draw_seeds("train", seeds), strict=True):
        sampled = egop.sampled_egop(tasks.chain_monomial(s.points, s.d, r=s.rank, seed=drawn))
        rank = int(torch.linalg.matrix_rank(sampled, rtol=1e-9))
        distance = float((sampled - closed).norm() / closed.norm())
        rows.append({"seed": seed, "found": rank, "far": distance})
    return rows


@study(version=1, seeds=REALISATIONS, chunk=4, data="standard normal points and labels, drawn here")
def expectations(s: FewPoints, seeds: list[int]) -> Rows:
    """Means of ``ẆᵀẆ`` and ``ẆᵀKẆ`` over ``draws`` quadratic networks, all on the same few points.

    ``nfm``, ``agop``: distance of the means from the formulas, Frobenius norm over that of the mean; ``agop_printed``,
    ``agop_over_k``: the same for Prop. 10 as printed, and divided by the width. ``nfm_ratio`` and so on: the mean along
    the formula over the formula. With ``δ = a ⊙ h``, as the paper writes it.

    Source: paper D, Prop. 10.
    """
    n, d, k = s.n, s.d, s.k
    x = tasks.gaussian_points(n, d, seed=draw_seeds("train", [0])[0])
    y = tasks.gaussian_points(n, 1, seed=draw_seeds("labels", [0])[0])[:, 0]
    printed = predictions.expected_agop(x, y, k, printing="printed")
    formulas = {
        "nfm": free_probability.data_matrices(x, y)[0],
        "agop": predictions.expected_agop(x, y, k),
        "agop_printed": printed,
        "agop_over_k": printed / k,
    }
    rows = []
    for seed, drawn in zip(seeds, draw_seeds("weights", seeds), strict=True):
        mean_nfm, mean_agop = _mean_velocities(x, y, k, s.draws, drawn)
        row = {"seed": seed}
        for name, formula in formulas.items():
            mean = mean_nfm if name == "nfm" else mean_agop
            row[name] = float((formula - mean).norm() / mean.norm())
            row[f"{name}_ratio"] = float((mean * formula).sum() / formula.square().sum())
        rows.append(row)
    return rows


def _mean_velocities(x: Tensor, y: Tensor, k: int, draws: int, seed: int) -> tuple[Tensor, Tensor]:
    """Means of ``ẆᵀẆ`` and ``ẆᵀKẆ`` over networks drawn together.

    One generator is for all of them: a million generators would cost more than the sum.
    """
    rng = np.random.default_rng(seed)
    weights = torch.from_numpy(rng.standard_normal((draws, k, x.shape[-1]))) / k**0.5
    delta = torch.from_numpy(rng.standard_normal((draws, 1, k))) * (x @ weights.mT)
    velocity = delta.mT @ (x * y.unsqueeze(-1))
    gradients = (delta @ velocity).flatten(0, 1)
    velocity = velocity.flatten(0, 1)
    return velocity.mT @ velocity / draws, gradients.mT @ gradients / draws


@study(
    version=1, seeds=REALISATIONS, rtol=1e-4, data="Gaussian points of unit mean square and normal labels, drawn here"
)
def traces(s: SquareData, seeds: list[int]) -> Rows:
    """The traces of the C-NFA over their free-probability formulas; one row per network, which has its own data.

    ``eq20``, ``eq22``, ``eq28``: observed over predicted, with the network's own moments of ``R``; ``eq28_printed``,
    ``eq28_literal``, ``eq19``: with the last term as printed, as it reads with the square outside the trace, and with
    the last term of Eq. 19 in Eq. 20. ``r1 … r4``: moments of ``R`` over those of the closed form for its readout.

    Source: paper D, Eqs. 19, 20, 22 and 28.
    """
    n = s.n
    rows = []
    kinds = [draw_seeds(kind, seeds, size=n) for kind in ("train", "labels", "weights")]
    for seed, points, labels, drawn in zip(seeds, *kinds, strict=True):
        network = fully_connected([n, n, 1], seeds=[drawn], sigma="quadratic", parametrisation="standard", gain=1.0)
        # networks differ by per cents: single precision is enough, and twice as fast
        x = (tasks.gaussian_points(n, n, seed=points) / n**0.5).float()
        y = tasks.gaussian_points(n, 1, seed=labels)[:, 0].float()
        weights = network.weights[0][0].float()
        a = (network.weights[1][0, 0] * n**0.5).float()
        R = free_probability.readout_matrix(weights, a)
        A, B = free_probability.data_matrices(x, y)
        r = free_probability.moments(R)
        rows.append({"seed": seed} | _trace_ratios(A, B, R, r) | _moment_ratios(r, a))
    return rows


def _trace_ratios(A: Tensor, B: Tensor, R: Tensor, r: Sequence[Tensor]) -> dict[str, float]:
    """The observed traces over their formulas."""
    t = free_probability.matrix_traces(A, B)
    numerator, first, second = free_probability.observed_traces(A, B, R)
    formula = free_probability.numerator(t, r)
    ratios = {"eq20": numerator / formula, "eq22": first / free_probability.first_denominator(t, r)}
    ratios["eq19"] = numerator / (formula - t.a**2 * t.b * (r[2] - r[0] ** 3))
    for printing in free_probability.PRINTINGS:
        name = "eq28" if printing == "corrected" else f"eq28_{printing}"
        ratios[name] = second / free_probability.second_denominator(t, r, printing=printing)
    return {name: float(value) for name, value in ratios.items()}


def _moment_ratios(r: Sequence[Tensor], a: Tensor) -> dict[str, float]:
    """The moments of ``R`` over those of the closed form for its readout."""
    powers = [float((a ** (2 * j)).mean()) for j in range(1, 5)]
    closed_moments = free_probability.readout_moments(1.0, powers)
    pairs = zip(r, closed_moments)
    return {f"r{j}": float(observed) / closed for j, (observed, closed) in enumerate(pairs, start=1)}


@study(
    version=1,
    seeds=REALISATIONS,
    rtol=1e-5,
    data="Gaussian points of unit mean square, or the rows of a rotation, and normal labels, drawn here",
)
def averages(s: Ensembles, seeds: list[int]) -> Rows:
    """What becomes of the C-NFA's traces in the mean over quadratic networks of width ``k``; one row per data set.

    ``commutes``: mean of the networks' correlations over the correlation of their mean traces. ``eq20``: mean of
    observed over predicted ``tr(ARARBR)``, with each network's own moments of ``R``; Eq. 6 where ``XᵀX`` is 1.
    ``covariance``: the share of Eq. 5's second term in its left side, and ``free``, the same as all sizes grow.

    Source: paper D, Eqs. 5, 6 and 20, Assumption 9.
    """
    n, k = s.n, s.k
    rows = []
    kinds = [draw_seeds(kind, seeds, size=n) for kind in ("train", "labels", "weights")]
    for seed, points, labels, drawn in zip(seeds, *kinds, strict=True):
        if s.data == "normal":
            x = tasks.gaussian_points(n, n, seed=points) / n**0.5
        else:
            x = tasks.rotation(n, seed=points)
        y = tasks.gaussian_points(n, 1, seed=labels)[:, 0]
        rng = np.random.default_rng(drawn)
        A, B = free_probability.data_matrices(x, y)
        t = free_probability.matrix_traces(A, B)
        observed = []
        predicted_numerators = []
        for _ in range(s.networks):
            weights = torch.from_numpy(rng.standard_normal((k, n)))
            a = torch.from_numpy(rng.standard_normal(k))
            R = free_probability.readout_matrix(weights, a) / k
            observed.append(torch.stack(free_probability.observed_traces(A, B, R)))
            predicted_numerators.append(free_probability.numerator(t, free_probability.moments(R)))
        traces_of_networks = torch.stack(observed, dim=1)  # (3, networks)
        numerator, first, second = traces_of_networks
        mean = traces_of_networks.mean(1)
        first_term = (A * predictions.expected_agop(x, y, k)).sum() / n  # of Eq. 5
        row = {
            "commutes": (numerator / (first * second).sqrt()).mean() * (mean[1] * mean[2]).sqrt() / mean[0],
            "eq20": (numerator / torch.stack(predicted_numerators)).mean(),
            "covariance": 1 - first_term / mean[0],
            "free": free_probability.covariance_share(t, n / k),
        }
        rows.append({"seed": seed} | {name: float(value) for name, value in row.items()})
    return rows


@study(
    version=1,
    seeds=REALISATIONS,
    chunk=4,
    rtol=1e-3,
    nonfinite=["printed"],
    columns={"observed": 2e-2, "first_order": 2e-2},  # where an inverse is taken in float32
)
def reversal(s: ReversingData, seeds: list[int]) -> Rows:
    """Observed and predicted C-NFA on alignment-reversing data; one row per data set and ``network``.

    Width and dimension are ``n`` too; the networks of a seed are the same for all its data sets. ``observed``: of the
    network at initialisation, with labels for residuals; ``predicted``: by free probability, with closed moments of
    ``R``; ``first_order``: with the expected kernel alone; ``printed``: with Eq. 28 as printed, on data without spikes.

    Source: paper D, Fig. 3 and App. F.
    """
    n = s.n
    rows = []
    r = free_probability.readout_moments(1.0)
    for seed, drawn in zip(seeds, draw_seeds("train", seeds), strict=True):
        task = _reversing(s, drawn)
        t = free_probability.matrix_traces(*free_probability.data_matrices(task.x, task.y))
        of_data = {"seed": seed, "source": task.source, "predicted": float(free_probability.correlation(t, r))}
        if s.reading == SPIKE_FREE:  # on spikes it can be the root of a negative number
            of_data["printed"] = float(free_probability.correlation(t, r, printing="printed"))
        kernel = predictions.expected_kernel(task.x, sigma="quadratic", hidden=1)
        of_data["first_order"] = float(predictions.early_correlation(task.x, task.y, kernel))
        for network in range(s.networks):
            weights = draw_seeds("weights", [s.networks * seed + network], size=n)
            observed = early([n, n, 1], "quadratic", weights, task.x, task.y)
            rows.append(of_data | {"network": network, "observed": float(observed)})
    return rows


def _reversing(s: ReversingData, seed: int) -> Task:
    if s.reading == SPIKE_FREE:
        return data.spike_free(s.n, balance=s.balance, floor=s.floor, seed=seed)
    return data.reversing(s.n, balance=s.balance, reading=s.reading, seed=seed)


def early(widths: Sequence[int], sigma: str, weights: Sequence[int], x: Tensor, y: Tensor) -> Tensor:
    """The C-NFA of networks at initialisation, first layer, with ``y`` for the residuals; weights N(0, 1/fan-in)."""
    model = fully_connected(widths, seeds=weights, sigma=sigma, parametrisation="standard", gain=1.0)
    return _early(matrices.sites(model, x)[0], y)


def _early(site: Site, y: Tensor) -> Tensor:
    velocity = matrices.velocity(site.inputs, site.delta, y.expand(site.inputs.shape[:-1]))
    return matrices.uc_nfa(velocity, site.delta)


@study(
    version=2, seeds=REALISATIONS, chunk=4, rtol=1e-5, data="Gaussian points of covariance 1/(1 + k^decay), drawn here"
)
def decays(s: DecayingData, seeds: list[int]) -> Rows:
    """Observed and first-order C-NFA of the first of two hidden layers at initialisation, against the data's decay.

    ``observed``: with labels for residuals; ``residual``: with the residuals; ``predicted``: with the kernel of an
    infinitely wide network, which is ``apart`` from a multiple of a projector, ``1 - ρ(𝒦, 𝒦²)``. As many points as
    dimensions.

    Source: paper D, Fig. 6 and App. C.
    """
    n, k, sigma = s.n, s.k, s.sigma
    rows = []
    widths = [n, k, k, 1]
    kinds = [draw_seeds(kind, seeds) for kind in ("train", "rotation", "direction")]
    for seed, weights, *drawn in zip(seeds, draw_seeds("weights", seeds, size=k), *kinds, strict=True):
        task = _decaying(s, *drawn)
        model = fully_connected(widths, seeds=[weights], sigma=sigma, parametrisation="standard", gain=1.0)
        site = matrices.sites(model, task.x)[0]
        kernel = predictions.expected_kernel(task.x, sigma=sigma, hidden=2)
        row = {
            "seed": seed,
            "observed": float(_early(site, task.y)),
            "residual": float(_early(site, task.y - model(task.x))),
            "apart": 1 - float(matrices.correlation(kernel, kernel @ kernel)),
            "predicted": float(predictions.early_correlation(task.x, task.y, kernel)),
        }
        rows.append(row)
    return rows


def _decaying(s: DecayingData, points: int, basis: int, mixing: int) -> Task:
    if s.target == "low rank":
        return tasks.chain_monomial(s.n, s.n, r=s.rank, decay=s.decay, basis=basis, seed=points)
    return data.full_rank(s.n, s.n, decay=s.decay, basis=basis, mixing=mixing, seed=points)
