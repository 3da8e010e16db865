"""Chapter 5, scales set by depth: the width at which a network shows its limit, the angle below which pairs merge."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import torch

from companion.lab.record import Count, Number, Positive, Setting, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.depth.studies._clouds import CloudOrImages, clouds, images_on_sphere, relative_distance
from companion.papers.depth.theory import curves, deep_limit, finite, pairs, regression, residual
from regimes import devices, validate
from regimes.data import datasets
from regimes.kernels import infinite_ntk, ntk, residual_ntk
from regimes.kernels.residual import flow_ntk
from regimes.models import Model
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton
from regimes.training.run import run
from regimes.training.state import fitted
from regimes.validate import InputError

CHAPTER = "05"
BYTES_PER_NUMBER = 8
CLASSES = 10  # of the images
MEMBERS = 100  # of an ensemble, at most
REALISATIONS = Count[0, 1000]
# from its label, at which a point counts as fitted: some hundredth of the smallest distance measured
FITTED_DISTANCE = 1e-3


@record
class FiniteNetwork(CloudOrImages):
    """Networks of a ``depth`` and a ``width``, on ``n`` points to learn and others to ``test`` on.

    ``architecture``: of the layers but the last, which is a readout; plain if it is not given.
    """

    cloud: Literal["sphere", "images"]
    n: Count[10, 2000]
    test: Count[10, 2000]
    depth: Count[2, 1000]
    width: Count[20, 1_000_000]
    architecture: Literal["pre-norm", "skip, scale 1"] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, if these and the memory suffice; a layer is as wide as there are points."""
        together = self.n + self.test
        if self.width < together:
            raise InputError(f"width must be at least n + test = {together}, got {self.width}")
        needed = BYTES_PER_NUMBER * self.depth * together * (self.width + together)
        validate.memory(needed, f"depth = {self.depth} with width = {self.width}")
        return replace(self, data=self._words("n + test", together))


@study(version=2, seeds=REALISATIONS, nonfinite=("accuracy", "wide_accuracy"))
def finite_networks(s: FiniteNetwork, seeds: list[int]) -> Rows:
    """The tangent kernel of a network at its start against that of infinite width; one row per network.

    ``distance`` of the predictors on fresh points, over the variation there of that of infinite width; ``signal``: the
    spread of the infinite kernel over pairs of training points; ``noise``: that of the difference of the kernels;
    ``accuracy`` and ``wide_accuracy``: of the finite and the infinite network, on images of ten classes. On the sphere
    the target is the first coordinate. Source: derived here; compare Hanin and Nica 2020.
    """
    n = s.n
    rows = []
    i, j = torch.triu_indices(n, n, 1)
    shares = None
    if s.architecture:
        shares = np.append(residual.layer_shares(s.architecture, s.depth - 1), 1.0)
    for x, labels, start, draw in _drawn(s, seeds):
        infinite = infinite_ntk(x, depth=s.depth) if shares is None else residual_ntk(x, shares=shares)
        kernel = finite.finite_kernel(x, depth=s.depth, width=s.width, seed=draw, shares=shares)
        if labels is None:
            y = math.sqrt(s.n0) * x[:, :1]
        else:
            y = torch.nn.functional.one_hot(labels, CLASSES).double()
        f = regression.kernel_flow_prediction(infinite[:n, :n], infinite[n:, :n], y[:n])
        g = regression.kernel_flow_prediction(kernel[:n, :n], kernel[n:, :n], y[:n])
        row = {
            "distance": relative_distance(g, f),
            "signal": float(infinite[i, j].std()),
            "noise": float((kernel - infinite)[i, j].std()),
            "accuracy": math.nan if labels is None else regression.accuracy(g, labels[n:]),
            "wide_accuracy": math.nan if labels is None else regression.accuracy(f, labels[n:]),
        }
        rows.append(start | row)
    return rows


def _drawn(
    s: FiniteNetwork, seeds: list[int]
) -> Iterator[tuple[torch.Tensor, torch.Tensor | None, dict[str, Any], int]]:
    """For each seed its points, their classes if they are images, how its row begins, and the seed of its weights."""
    together = s.n + s.test
    if s.cloud == "sphere":
        for (x, start), draw in zip(clouds("sphere", s.n0, together, seeds), draw_seeds("weights", seeds)):
            yield x, None, start, draw
    else:
        pool = images_on_sphere(s.corpus)
        for seed, points, weights in zip(seeds, draw_seeds("train", seeds), draw_seeds("weights", seeds)):
            (task,) = datasets.split(pool, [together], seed=points)
            yield task.x, task.y.long(), {"seed": seed, "source": pool.source}, weights


@record
class NetworkEnsemble(Setting):
    """Ensembles of ``draws`` networks of a ``depth`` and ``width``, on ``n`` points of a sphere; ``test`` others."""

    n0: Count[3, 50]
    n: Count[10, 1000]
    test: Count[10, 1000]
    depth: Count[3, 1000]
    width: Count[20, 100_000]
    draws: Count[1, MEMBERS]

    def completed(self, seeds: Sequence[int]) -> Self:
        """A layer is as wide as there are points; memory holds those of one network of all the neurons."""
        together = self.n + self.test
        if self.width < together:
            raise InputError(f"width must be at least n + test = {together}, got {self.width}")
        neurons = self.draws * self.width
        validate.memory(BYTES_PER_NUMBER * self.depth * together * (neurons + together), f"draws * width = {neurons}")
        return self


@study(version=2, seeds=REALISATIONS)
def ensembles(s: NetworkEnsemble, seeds: list[int]) -> Rows:
    """The mean predictor of several networks' own kernels, beside one network of as many neurons a layer in all.

    ``ensemble`` and ``single``: their distances on fresh points from the predictor of infinite width, over its
    variation there; the target is the first coordinate. One row per data set. Source: derived here.
    """
    n = s.n
    rows = []
    for (x, start), seed in zip(clouds("sphere", s.n0, n + s.test, seeds), seeds):
        y = math.sqrt(s.n0) * x[:n, :1]

        def predictor(kernel: torch.Tensor, y: torch.Tensor = y) -> torch.Tensor:
            return regression.kernel_flow_prediction(kernel[:n, :n], kernel[n:, :n], y)

        infinite = predictor(infinite_ntk(x, depth=s.depth))
        first_draw = (MEMBERS + 1) * seed
        *members, single_draw = draw_seeds("weights", range(first_draw, first_draw + s.draws + 1))
        predictors = [predictor(finite.finite_kernel(x, depth=s.depth, width=s.width, seed=draw)) for draw in members]
        single = predictor(finite.finite_kernel(x, depth=s.depth, width=s.draws * s.width, seed=single_draw))
        mean = torch.stack(predictors).mean(0)
        rows.append(
            start | {"ensemble": relative_distance(mean, infinite), "single": relative_distance(single, infinite)}
        )
    return rows


@record
class DeepNetwork(Setting):
    """Networks of a ``depth`` and a ``width``, on ``n`` points of a sphere; others to ``test`` on."""

    n0: Count[3, 50]
    n: Count[10, 1000]
    test: Count[10, 1000]
    depth: Count[3, 100]
    width: Count[20, 4096]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the weights, of which a step has some ten copies."""
        validate.memory(
            10 * BYTES_PER_NUMBER * self.depth * self.width**2, f"depth = {self.depth} with width = {self.width}"
        )
        return self


@record
class TrainedNetwork(DeepNetwork):
    """Deep networks, their output times ``scale``."""

    scale: Positive


@record
class LinearisedNetwork(DeepNetwork):
    """Deep networks of an ``activation``, with a kink or without; ``observe`` which neurons of two layers switch."""

    depth: Count[2, 100]
    activation: Literal["relu", "swish"]
    observe: Literal["switched"] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """What switches is counted in one hidden layer of ReLUs."""
        if self.observe and (self.depth != 2 or self.activation != "relu"):
            raise InputError(f"depth must be 2, of relu, to count neurons, got {self.depth}, {self.activation}")
        return super().completed(seeds)


@study(version=1, seeds=REALISATIONS, rtol=2e-2, device="any")
def trained_networks(s: TrainedNetwork, seeds: list[int]) -> Rows:
    """Networks trained to the end by gradient flow, beside their linearisation and infinite width; a row per network.

    The labels are the first coordinate's sign; the predictor is ``scale (f - f_0)``, ``f_0`` of variance 1 at every
    depth. ``start``: distance of the predictor of the network's own kernel at its start from that of infinite width,
    on fresh points, over the variation there of the latter; ``trained``: that of the trained network; ``moved``: of
    these two finite predictors from each other, in the same unit. ``kernel_change``: relative, Frobenius. ``residual``:
    of the training points, the largest. ``error``, ``start_error`` and ``wide_error``: mean squares on fresh points.
    Source: derived here; compare paper C, Sec. 5, and Hanin and Nica 2020.
    """
    n = s.n
    rows = []
    for (x, start), draw in zip(clouds("sphere", s.n0, n + s.test, seeds), draw_seeds("weights", seeds)):
        x = x.to(devices.pick())
        y = x[:, 0].sign()
        infinite = infinite_ntk(x, depth=s.depth)
        z = math.sqrt(s.n0 / 2) * x  # at which outputs have variance 1
        net = fully_connected([s.n0, *[s.width] * (s.depth - 1), 1], seeds=[draw], device=x.device)
        kernel = ntk(net, z)[0]
        f = regression.kernel_flow_prediction(infinite[:n, :n], infinite[n:, :n], y[:n, None])[:, 0]
        g = regression.kernel_flow_prediction(kernel[:n, :n], kernel[n:, :n], y[:n, None])[:, 0]
        end = run(gauss_newton(net, z[:n], y[:n], alpha=s.scale, loss="square", slack=FITTED_DISTANCE), until=fitted)
        h = s.scale * (end.model(z[n:]) - net(z[n:]))[0]
        row = {
            "start": relative_distance(g, f),
            "trained": relative_distance(h, f),
            "moved": relative_distance(f + h - g, f),
            "kernel_change": float((ntk(end.model, z)[0] - kernel).norm() / kernel.norm()),
            "residual": float((end.F[0] - y[:n]).abs().max()),
            "error": float((h - y[n:]).square().mean()),
            "start_error": float((g - y[n:]).square().mean()),
            "wide_error": float((f - y[n:]).square().mean()),
        }
        rows.append(start | row)
    return rows


@study(version=1, seeds=REALISATIONS, rtol=2e-2, device="any")
def linearisations(s: LinearisedNetwork, seeds: list[int]) -> Rows:
    """Networks trained to the end by gradient flow, beside their linearisation; one row per network.

    The labels are the first coordinate's sign; activations have unit square mean, so that outputs have variance 1.
    ``moved``: distance of the trained predictor from that of the network's kernel at its start, on fresh points, over
    the variation there of the latter; ``kernel_change``: relative, Frobenius. Of two layers, if asked: ``switched``,
    the neurons that are active at a fresh point at the end and were not at the start, or the reverse, mean over points;
    ``balance``: those less these, each with the square of its readout weight at the start, over the width, root mean
    square; ``excess``: how many more switch off than on at points that were learned, over all that switch there.
    Source: derived here; compare Hanin and Nica 2020, whose networks have kinks, and Dyer and Gur-Ari 2020.
    """
    n = s.n
    rows = []
    sigma = activation(s.activation, normalised=True)
    for (x, start), draw in zip(clouds("sphere", s.n0, n + s.test, seeds), draw_seeds("weights", seeds)):
        x = x.to(devices.pick())
        y = x[:, 0].sign()
        z = math.sqrt(s.n0) * x
        widths = [s.n0, *[s.width] * (s.depth - 1), 1]
        net = fully_connected(widths, seeds=[draw], sigma=sigma, gain=1.0, device=x.device)
        kernel = ntk(net, z)[0]
        linear = regression.kernel_flow_prediction(kernel[:n, :n], kernel[n:, :n], y[:n, None])[:, 0]
        end = run(gauss_newton(net, z[:n], y[:n], alpha=1.0, loss="square", slack=FITTED_DISTANCE), until=fitted)
        trained = (end.model(z[n:]) - net(z[n:]))[0]
        change = (ntk(end.model, z)[0] - kernel).norm() / kernel.norm()
        row = {"moved": relative_distance(trained, linear), "kernel_change": float(change)}
        rows.append(start | row | (_switched(net, end.model, z, n) if s.observe else {}))
    return rows


def _switched(net: Model, trained: Model, z: torch.Tensor, n: int) -> dict[str, float]:
    """What :func:`linearisations` counts in a hidden layer; the first ``n`` points were learned."""
    first, second = (dict(zip(net.names, model.parameters())) for model in (net, trained))
    before, after = ((weights["W1"][0] @ z.mT > 0).double() for weights in (first, second))
    change = after - before  # (width, points)
    square = first["W2"][0].flatten().square()
    balance = (square @ change[:, n:]) / len(square)
    return {
        "switched": float(change[:, n:].abs().sum(0).mean()),
        "balance": float(balance.square().mean().sqrt()),
        "excess": float(-change[:, :n].sum() / change[:, :n].abs().sum()),
    }


@record
class SpherePrediction(Setting):
    """Points of the sphere in ``n0`` dimensions, ``n`` to learn, others to ``test`` on; the ``depth`` of networks."""

    n0: Count[3, 50]
    n: Count[10, 10_000]
    test: Count[10, 10_000]
    depth: Count[deep_limit.SHALLOWEST, 1_000_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the kernels."""
        validate.memory(32 * self.n * (self.n + self.test), f"n = {self.n} with test = {self.test}")
        return self


@study(version=2, seeds=REALISATIONS, columns=dict.fromkeys(deep_limit.ORDERS, 1e-4))
def sphere_laws(s: SpherePrediction, seeds: list[int]) -> Rows:
    """The deep predictor on a sphere of few dimensions against its laws; one row per data set.

    ``first``, ``uniform``: distances on fresh points from regression with the law's kernel
    (``deep_limit.ridge_kernels``), over the predictor's variation; the targets are the first coordinate's sign and the
    product of the first two. ``nearest``: the angle of the nearest pair over ``3π/L``. ``smallest``: the smallest
    eigenvalue of the law of first order. Source: derived here.
    """
    n = s.n
    rows = []
    for x, start in clouds("sphere", s.n0, n + s.test, seeds):
        y = torch.stack([x[:, 0].sign(), x[:, 0] * x[:, 1]], 1)
        offsets = deep_limit.offsets(x[:n]), deep_limit.offsets(x[n:], x[:n])
        gram = infinite_ntk(x[:n], depth=s.depth)
        cross = infinite_ntk(x[n:], x[:n], depth=s.depth)
        f = regression.kernel_flow_prediction(gram, cross, y[:n])
        row = {"nearest": math.acos(pairs.largest_correlation(x[:n])) * s.depth / (3 * math.pi)}
        for order in deep_limit.ORDERS:
            gram, cross = deep_limit.ridge_kernels(*offsets, s.depth, order)
            row[order] = relative_distance(cross @ torch.linalg.solve(gram, y[:n]), f)
            if order == "first":
                row["smallest"] = float(torch.linalg.eigvalsh(gram)[0])
        rows.append(start | row)
    return rows


@record
class SharedDepth(Setting):
    """Networks of a ``depth`` and ``architecture``; ``n`` points of a sphere of ``n0`` dimensions, ``test`` others."""

    n0: Count[3, 1000]
    n: Count[3, 2000]
    test: Count[1, 2000]
    depth: Count[2, 1_000_000]
    architecture: Literal[*residual.ARCHITECTURES]


CONTROL = 3  # times tau, at which another flow is a control


@study(
    version=1,
    seeds=REALISATIONS,
    columns={"smallest": 1e-6, "ridge": 1e-5, "flow": 1e-4, "beyond": 1e-4},
    nonfinite=("smallest", "ridge", "flow", "beyond"),
)
def one_depth(s: SharedDepth, seeds: list[int]) -> Rows:
    """What kinds of layers have in common at one ``tau``, the sum of their shares; one row per data set.

    ``tau``, ``ridge`` and ``smallest``: :func:`companion.papers.depth.theory.residual.ridge_reading`; ``kernel``: of
    inputs of correlation 1/2. ``flow``: distance on fresh points from the predictor of the flow's kernel at ``tau``,
    over that predictor's variation, for the targets of :func:`sphere_laws`; ``beyond``: from the flow at three times
    ``tau``. With a norm after the ReLU, whose pairs part, no ridge and no flow are asked for. Source: derived here.
    """
    shares = residual.layer_shares(s.architecture, s.depth)
    half = torch.tensor([math.pi / 3], dtype=torch.float64)
    kernel = float(residual.kernel_and_angle(half, depth=s.depth, architecture=s.architecture)[0])
    rows = []
    for x, start in clouds("sphere", s.n0, s.n + s.test, seeds):
        points, fresh = x[: s.n], x[s.n :]
        row = residual.ridge_reading(points, depth=s.depth, architecture=s.architecture)
        row |= {"kernel": kernel, "flow": math.nan, "beyond": math.nan}
        if s.architecture != residual.NORM_AFTER:
            y = torch.stack([points[:, 0].sign(), points[:, 0] * points[:, 1]], 1)
            f = regression.kernel_flow_prediction(
                residual_ntk(points, shares=shares), residual_ntk(fresh, points, shares=shares), y
            )
            for name, times in (("flow", 1), ("beyond", CONTROL)):
                gram, cross = (flow_ntk(*of, tau=times * row["tau"]) for of in ((points,), (fresh, points)))
                row[name] = relative_distance(f, regression.kernel_flow_prediction(gram, cross, y))
        rows.append(start | row)
    return rows


@record
class Walk(Setting):
    """Pairs of inputs of a correlation ``rho`` in ``networks`` of a ``depth``, ``width`` and ``architecture``."""

    rho: Number[-0.99, 0.9999]
    depth: Count[2, 10_000]
    width: Count[20, 100_000]
    architecture: Literal["plain", "skip, scale 1", "skip, scale 0.3", "pre-norm"]
    networks: Count[10, 10_000]


@study(version=1, seeds=REALISATIONS, columns={"variance": STATISTICAL})
def walks(s: Walk, seeds: list[int]) -> Rows:
    """How far the offset of a pair of inputs walks from network to network; a row for each of some groups of networks.

    ``variance``: of ``3π/phi_L`` over the networks of a group (``finite.pair_angle``); ``law``: of plain ones
    ``finite.offset_variance``, of others ``finite.small_angle_walk``, which is ``small`` for all. Source: derived here.
    """
    shares = residual.layer_shares(s.architecture, s.depth)
    phi = math.acos(s.rho)
    angle = torch.tensor(phi, dtype=torch.float64)
    small = float(finite.small_angle_walk(angle, shares=shares, width=s.width))
    law = float(finite.offset_variance(angle, depth=s.depth, width=s.width)) if s.architecture == "plain" else small
    rows = []
    for seed, draw in zip(seeds, draw_seeds("weights", seeds)):
        angles = finite.pair_angle(phi, shares=shares, width=s.width, draws=s.networks, seed=draw)
        variance = float(np.var(3 * math.pi / angles, ddof=1))
        rows.append({"seed": seed, "source": "pairs of Gaussians", "variance": variance, "law": law, "small": small})
    return rows


@record
class SphereCurve(Setting):
    """Points of the sphere, ``n`` to learn, others to ``test`` on, a ``depth``, and the ``power`` of a target.

    ``features``: a control, in which Gaussians are in place of the sphere's harmonics.
    """

    n0: Count[3, 50]
    n: Count[10, 10_000]
    test: Count[10, 10_000]
    depth: Count[3, 100_000]
    power: Number[1, 10]
    features: Literal["Gaussian"] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the kernels."""
        validate.memory(48 * self.n * (self.n + self.test), f"n = {self.n} with test = {self.test}")
        return self


@study(version=1, seeds=REALISATIONS, columns={"error": 1e-4})
def sphere_curves(s: SphereCurve, seeds: list[int]) -> Rows:
    """What the deep predictor leaves of targets with power-law spectra, and its law; one row per data set.

    ``error``: share of the variance on fresh points, averaged over Gaussian targets; ``law``:
    :func:`companion.papers.depth.theory.curves.ridgeless_error`. Source: derived here.
    """
    law = curves.ridgeless_error(s.n, s.depth, s.n0, s.power)
    rows = []
    if s.features:
        source = f"independent Gaussians with the spectrum of the unit sphere of R^{s.n0}"
        for seed, draw in zip(seeds, draw_seeds("train", seeds)):
            error = curves.gaussian_error(s.n, s.test, s.depth, s.n0, s.power, seed=draw)
            rows.append({"seed": seed, "source": source, "error": error, "law": law})
        return rows
    for x, start in clouds("sphere", s.n0, s.n + s.test, seeds):
        error = curves.field_error(x[: s.n], x[s.n :], depth=s.depth, power=s.power)
        rows.append(start | {"error": error, "law": law})
    return rows
