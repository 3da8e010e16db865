"""Studies of chapter 7: one gradient step, spiked random features, and where the two part."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from companion.lab.record import Count, Distinct, Number, Setting, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.one_step.theory import (
    fit_readout,
    given_samples,
    kernel_baseline,
    network,
    population,
    row_covariance,
    several_steps,
)
from companion.papers.one_step.theory.conditional_map import equivalent
from companion.papers.one_step.theory.functions import FUNCTIONS, Function, function, hermite
from companion.papers.one_step.theory.network import squared_error
from regimes import devices, gaussian, validate
from regimes.data import datasets
from regimes.validate import InputError

CHAPTER = "07"
TEST = 2000  # test points
SEEDS_PER_CASE = 1000  # seeds from one case to the next: no two cases share a draw, so that their scatter averages out
CHUNK = 8  # seeds that one call gets, at most
SMALL_CHUNK = 4  # of dear studies
POOL = 5000  # images, the number that an installed package ships
_drawn = functools.partial(
    study, data="Gaussian inputs and targets of one direction, drawn here", device="any", chunk=CHUNK
)
_few = functools.partial(_drawn, chunk=SMALL_CHUNK)

ODD = ("tanh", "erf", "erf(x/√2)", "sin")
Odd = Literal[*ODD]
Target = Literal[*FUNCTIONS]
Learner = Literal["network", "srf"]
Features = Literal["srf"]
Norms = Literal["sphere", "gauss", "orthogonal"]  # of the bulk's rows
Panel = Literal["r", "gamma", "size", "map"]
Size = Number[0.01, 100]
Grown = Number[1e-6, 1e9]  # a size, and what a completion makes of it
FromZero = Number[0, 100]
Penalty = Number[1e-6, 1e6]
Strength = Number[0, 20]
Part = Number[0.01, 0.99]
Sizes = Distinct[Size]
Values = Distinct[Number[-10, 10]]
Dimension = Count[2, 10_000]


@record
class Drawn(Setting):
    """Draws in ``d`` dimensions, the last field of a record: of what varies it varies fastest.

    Samples are counted in units of the dimension, and widths too (``beta``): ``alpha0`` of the step, ``alpha`` or
    ``alphas`` of the readout. Penalties are ``lam``.
    """

    batches: ClassVar[tuple[str, ...]] = ()  # fields that count samples or neurons
    smallest_batch: ClassVar[float] = 4.0  # samples over d for which memory is asked at least
    arrays: ClassVar[int] = 3  # of a realisation
    chunk: ClassVar[int] = CHUNK  # realisations of a call

    def completed(self, seeds: Sequence[int]) -> Self:
        """No batch is empty, and a call's features and inputs fit into the memory."""
        d = self.d
        sizes = {name: np.atleast_1d(getattr(self, name)) for name in self.batches}
        for name, values in sizes.items():
            if any(value and round(value * d) < 1 for value in values):
                wrong = f"{getattr(self, name)} times d = {d}"
                raise InputError(f"{name} must give at least one sample or neuron, got {wrong}")
        largest = {name: float(values.max()) for name, values in sizes.items()}
        samples = TEST + d * max([self.smallest_batch, *largest.values()])
        width = d * getattr(self, "beta", 1.0)
        words = "".join(f" with {name} = {value:g}" for name, value in largest.items())
        validate.memory(int(self.arrays * 8 * self.chunk * samples * (d + width)), f"d = {d}{words}")
        return self


@record
class OneDirection(Drawn):
    """An activation, a target of one direction of the inputs, and the readout's penalty."""

    activation: Odd
    target: Target
    lam: Penalty


@record
class AfterStep(OneDirection):
    """A network after a ``step``, whose size is in units of the width."""

    alpha0: Size
    step: Size


@record
class SpikedBulk(OneDirection):
    """Spiked features: spike of strength ``r`` and alignment ``gamma``, bulk of variance ``c``."""

    r: Strength
    c: Size
    gamma: Number[-1, 1]


@record
class FirstStep(Drawn):
    """A network after its step, without a readout."""

    activation: Odd
    target: Target
    alpha0: Size
    step: Size
    d: Dimension

    batches = ("alpha0",)


@record
class Case(AfterStep):
    """Features equivalent to a network: one ``case`` of those at which theory is judged."""

    alpha: Size
    beta: Size
    case: Count[0, 100]
    d: Dimension

    def realisations(self, seeds: Sequence[int]) -> list[int]:
        """No two cases share a seed."""
        return [SEEDS_PER_CASE * self.case + seed for seed in seeds]


@record
class GaussianMap(SpikedBulk):
    """Spiked features beside Gaussian ones."""

    alpha: Size
    beta: Size
    d: Dimension


@record
class NetworkCurve(AfterStep):
    """The network, or the features equivalent to it, on batches of several sizes."""

    alpha0: FromZero
    model: Learner
    beta: Size
    alphas: Sizes
    d: Dimension

    batches = ("alpha0", "alphas")
    arrays = 2


@record
class SpikeCurve(SpikedBulk):
    """Spiked features on batches of several sizes; ``panel`` of the figure."""

    panel: Panel
    model: Features
    beta: Size
    alphas: Sizes
    d: Dimension

    batches = ("alphas",)


@record
class WidthCurve(OneDirection):
    """Networks of a width, whose step is in proportion to what the ``rule`` names: the width p, or d."""

    beta: Size
    step: Grown
    rule: Literal["p", "d"]
    model: Learner
    alpha0: Size
    alphas: Sizes
    d: Dimension

    batches = ("alpha0", "alphas", "beta")

    def completed(self, seeds: Sequence[int]) -> Self:
        """``eta = step * p`` keeps the spike; ``eta = step * d`` divides it by beta."""
        completed = super().completed(seeds)
        if self.rule == "p":
            return completed
        return replace(completed, step=self.step / self.beta)


@record
class Profile(AfterStep):
    """The network's output along the target's direction."""

    alpha0: FromZero
    alpha: Size
    d: Dimension

    batches = ("alpha0", "alpha")


@record
class PoolProfile(AfterStep):
    """The output of wide networks along the target's direction; ``bound`` that the penalty is for."""

    step: Grown
    bound: Literal["upper", "lower"]
    alpha: Size
    beta: Size
    d: Dimension

    batches = ("alpha0",)
    smallest_batch = 8.0
    chunk = SMALL_CHUNK

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the step that makes a spike of the strength which the design gives in its place."""
        unit = equivalent(self.activation, self.target, alpha0=self.alpha0, step=1.0)
        return replace(super().completed(seeds), step=self.step / unit.r)


@record
class Vocabulary(OneDirection):
    """As many spiked features as dimensions, whose spike takes the readout's ``values`` in equal shares."""

    values: Values
    d: Dimension
    r: Strength
    c: Size
    alphas: Sizes
    rows: Norms

    batches = ("alphas",)

    def completed(self, seeds: Sequence[int]) -> Self:
        """Each readout value has a neuron, and a bulk of its own variance."""
        for u in self.values:
            validate.positive(**{f"1 + u²(c - 1) for u = {u:g} of values, c = {self.c:g}": 1 + u**2 * (self.c - 1)})
        _neuron_each(self.values, self.d)
        return super().completed(seeds)


@record
class Spectrum(Drawn):
    """As many spiked features as dimensions, whose spike has the strength ``r``, without a target."""

    d: Dimension
    activation: Odd
    r: Strength
    alpha: Size

    batches = ("alpha",)
    chunk = SMALL_CHUNK


@record
class ConvexLoss(SpikedBulk):
    """Spiked features under a convex loss.

    Attributes:
        noise: variance of the labels' noise.
        bias: of the features.
        delta: of the Huber loss.
    """

    activation: Literal[*ODD, "softplus"]
    model: Features
    alpha: Size
    beta: Size
    loss: Literal["logistic", "huber", "square", "hinge"]
    noise: FromZero
    bias: Number[-10, 10]
    delta: Size
    d: Dimension

    batches = ("alpha",)


@record
class BestBias(SpikedBulk):
    """Spiked features whose bias is chosen."""

    alpha: Size
    beta: Size
    model: Features
    d: Dimension

    batches = ("alpha",)


@record
class Departure(AfterStep):
    """The network beside features and theories; ``panel`` of the figure."""

    panel: Panel
    alpha: Size
    beta: Size
    d: Dimension

    batches = ("alpha0", "alpha")
    chunk = SMALL_CHUNK


@record
class SeveralSteps(AfterStep):
    """A network after ``count`` steps, of ``alpha0`` samples and size ``step`` in all."""

    count: Count[1000]
    alpha: Size
    d: Dimension

    batches = ("alpha0", "alpha")
    chunk = SMALL_CHUNK

    def completed(self, seeds: Sequence[int]) -> Self:
        """Each step has a sample."""
        if round(self.alpha0 * self.d) < self.count:
            steps = f"each of count = {self.count} steps"
            raise InputError(f"alpha0 times d = {self.d} must give {steps} a sample")
        return super().completed(seeds)


@record
class KernelBaseline(OneDirection):
    """The network's kernels at penalties ``lams``, and the network, for whose step a ``share`` of the samples is."""

    step: Size
    alphas: Sizes
    lams: Distinct[Penalty]
    share: Part
    beta: Size
    d: Dimension

    chunk = 2

    def completed(self, seeds: Sequence[int]) -> Self:
        """Both batches have a sample, and memory holds the kernels."""
        d = self.d
        share = self.share
        fewest_samples = min(self.alphas) * d
        if round(fewest_samples * min(share, 1 - share)) < 1:
            samples = f"the {fewest_samples:g} samples, alphas times d"
            raise InputError(f"share must leave each batch one of {samples}, got {share:g}")
        largest = max(self.alphas)
        n = round(largest * d)
        validate.memory(6 * 8 * self.chunk * n * (n + TEST), f"d = {d} with alphas = {largest:g}")
        return self


@record
class RowNorms(AfterStep):
    """The network, or features equivalent to it, whose rows have one norm, fluctuating norms or are orthogonal."""

    model: Learner
    beta: Size
    alphas: Sizes
    rows: Norms
    d: Dimension

    batches = ("alphas",)


@record
class Reuse(OneDirection):
    """A network whose step and readout share ``alpha d`` samples in one of several ways.

    Attributes:
        samples: ``same``, all of them in both; ``split``, a ``share`` in the step and the rest in the readout;
            ``fresh``, all of them in the step and as many others in the readout.
        kernels: penalties of the network's kernels on these samples, if any.
        observe: ``spike`` for the network with the spike of other samples, and for theory given the samples.
    """

    alpha: Size
    samples: Literal["same", "split", "fresh"]
    share: Part
    step: Size
    kernels: Distinct[Penalty] | None = None
    observe: Literal["spike"] | None = None
    d: Dimension

    batches = ("alpha",)
    chunk = 2

    def completed(self, seeds: Sequence[int]) -> Self:
        """Both batches of a split have a sample, and memory holds the kernels."""
        if round(self.alpha * self.d * min(self.share, 1 - self.share)) < 1:
            raise InputError(f"share must leave each batch one of {self.alpha * self.d:g} samples, got {self.share:g}")
        if self.observe and self.samples != "same":
            raise InputError(f"observe = {self.observe} needs the same samples in both, got samples = {self.samples}")
        if self.kernels or self.observe:
            n = round(self.alpha * self.d)
            validate.memory(6 * 8 * self.chunk * n * (n + TEST), f"d = {self.d} with alpha = {self.alpha:g}")
        return super().completed(seeds)


@record
class GrowingSpike(OneDirection):
    """Features or a network of several readout ``values``, whose spike's strength ``r`` grows with the dimension."""

    values: Values
    exponent: Number[0, 1]
    r: Number[0, 1e6]
    model: Learner
    alpha0: Size
    smallest: Dimension | None = None
    alpha: Size
    d: Dimension

    chunk = SMALL_CHUNK

    @property
    def batches(self) -> tuple[str, ...]:
        """Features have no batch of a step."""
        return ("alpha0", "alpha") if self.model == "network" else ("alpha",)

    def completed(self, seeds: Sequence[int]) -> Self:
        """The strength at the ``smallest`` size, at the setting's own; each readout value has a neuron."""
        _neuron_each(self.values, self.d)
        growth = (self.d / (self.smallest or self.d)) ** (self.exponent - 1)
        return replace(super().completed(seeds), r=self.r * growth, smallest=None)


@record
class OnDigits(Setting):
    """A network of ``p`` neurons on ``d`` components of digits, ``n0`` for its step and ``n`` for the readout.

    Attributes:
        target: the label: a random direction's sign, the first component's, or the parity of the digit.
    """

    data: str = derived()
    activation: Odd
    target: Literal["random", "leading", "parity"]
    d: Count[2, 400]
    p: Dimension
    n0: Count[2000]
    n: Count[2000]
    step: Size
    lam: Penalty

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images; memory holds these and normal inputs."""
        validate.memory(3 * 8 * 2 * POOL * self.d, f"d = {self.d}")
        return replace(self, data=datasets.identity("mnist"))


def _neuron_each(values: Sequence[float], d: int) -> None:
    if len(values) > d:
        raise InputError(f"values must be at most d = {d}, one neuron each, got {len(values)}")


def _fields(s: Setting, names: str) -> dict[str, Any]:
    return {name: getattr(s, name) for name in names.split()}


def _rows(measured: Mapping[str, Tensor], seeds: Sequence[int], **fixed: Any) -> Rows:
    """One row per seed from tensors ``(S,)``."""
    rows = []
    for i, seed in enumerate(seeds):
        values = {name: float(value[i]) for name, value in measured.items()}
        rows.append({**fixed, "seed": seed, **values})
    return rows


class Stepping(Protocol):
    """What a ``step`` is taken at."""

    activation: str
    target: str
    step: float
    d: int


def trained_network(s: Stepping, seeds: Sequence[int], *, alpha0: float, beta: float = 1.0) -> network.Weights:
    """Networks of width ``beta d`` after one step on ``alpha0 d`` samples."""
    setting = _fields(s, "activation target step d")
    return network.one_step(**setting, n0=round(alpha0 * s.d), p=round(beta * s.d), seeds=seeds, device="auto")


def _features_of(
    s: SpikedBulk | AfterStep | WidthCurve, seeds: Sequence[int], spike: Mapping[str, float], rows: str = "sphere"
) -> network.Weights:
    """Spiked features, ``beta d`` of them."""
    return network.spiked_features(d=s.d, p=round(s.beta * s.d), **spike, rows=rows, seeds=seeds, device="auto")


def _spiked_features(s: SpikedBulk, seeds: Sequence[int]) -> network.Weights:
    return _features_of(s, seeds, _fields(s, "r c gamma"))


def _equivalent_features(s: AfterStep | WidthCurve, seeds: Sequence[int], rows: str = "sphere") -> network.Weights:
    """Spiked features equivalent to the network after its step."""
    spike = equivalent(**_fields(s, "activation target alpha0 step"))
    return _features_of(s, seeds, vars(spike), rows)


def _weights_of(s: NetworkCurve | WidthCurve | RowNorms, seeds: Sequence[int], rows: str = "sphere") -> network.Weights:
    """The network after its step, or the features equivalent to it."""
    if s.model == "network":
        return trained_network(s, seeds, alpha0=s.alpha0, beta=s.beta)
    return _equivalent_features(s, seeds, rows)


def curve(s: OneDirection, seeds: Sequence[int], drawn: network.Weights, alphas: Sequence[float]) -> Rows:
    """Errors and overlaps at each of ``alphas``, rows for every seed."""
    names = _fields(s, "activation target lam")
    rows = []
    for alpha, point in zip(alphas, network.learning_curve(weights=drawn, alphas=alphas, seeds=seeds, **names)):
        rows += _rows(point, seeds, alpha=alpha)
    return rows


def _second_batch(
    s: OneDirection, drawn: network.Weights, seeds: Sequence[int], alpha: float, noise: float = 0.0
) -> tuple[Function, Function, Tensor, Tensor]:
    """Activation, target, and the samples of the readout."""
    target = function(s.target)
    x, y = network.second_batch(target, drawn, round(alpha * s.d), seeds, noise)
    return function(s.activation), target, x, y


@_drawn(version=2)
def parameters(s: FirstStep, seeds: list[int]) -> Rows:
    """Measured ``r, gamma, c`` of the trained weights, each over the formula (Result 3.1: ``*_ratio``)."""
    measured = network.measured_parameters(trained_network(s, seeds, alpha0=s.alpha0))
    formula = equivalent(**_fields(s, "activation target alpha0 step"))
    ratios = {f"{name}_ratio": values / getattr(formula, name) for name, values in measured.items()}
    return _rows(measured | ratios, seeds)


@_drawn(version=3)
def agreement(s: Case, seeds: list[int]) -> Rows:
    """Errors and overlaps of spiked features at settings spread over all that the theory takes (Result 3.3)."""
    rows = curve(s, seeds, _equivalent_features(s, seeds), [s.alpha])
    for row in rows:
        del row["alpha"]  # it is a setting here
    return rows


@_drawn(version=2)
def gaussian_map(s: GaussianMap, seeds: list[int]) -> Rows:
    """Test error of ridge on the true features and on the conditional Gaussian ones, same inputs (Result 3.2)."""
    drawn = _spiked_features(s, seeds)
    activation, target, x, y = _second_batch(s, drawn, seeds, s.alpha)
    n, d = x.shape[1:]
    p = drawn.w.shape[1]
    test_x, clean = network.test_set(target, drawn, seeds, TEST)
    noise, test_noise = network.draw(seeds, "fresh", n + TEST, p, d=d, device=x.device).split([n, TEST], dim=1)

    def error(phi: Tensor, test_phi: Tensor) -> Tensor:
        return squared_error(test_phi, network.ridge(phi, y, s.lam), clean)

    true = error(network.feature_map(activation, drawn, x), network.feature_map(activation, drawn, test_x))
    gaussian = error(
        network.draw_conditional(activation, drawn, x, noise, c=s.c),
        network.draw_conditional(activation, drawn, test_x, test_noise, c=s.c),
    )
    return _rows({"true": true, "gaussian": gaussian}, seeds)


@_drawn(version=2)
def learning_curves(s: NetworkCurve, seeds: list[int]) -> Rows:
    """Test error against ``alpha`` for several sizes ``alpha0`` of the first batch (Fig. 2)."""
    return curve(s, seeds, _weights_of(s, seeds), s.alphas)


@_drawn(version=2)
def spikes(s: SpikeCurve, seeds: list[int]) -> Rows:
    """Test error of spiked features against ``alpha`` for several strengths and alignments (Fig. 4)."""
    return curve(s, seeds, _spiked_features(s, seeds), s.alphas)


@_drawn(version=2)
def widths(s: WidthCurve, seeds: list[int]) -> Rows:
    """Test error of the network against its width, under both readings of the step size (Fig. 5)."""
    return curve(s, seeds, _weights_of(s, seeds), s.alphas)


@_drawn(version=2)
def profiles(s: Profile, seeds: list[int]) -> Rows:
    """Mean of the network's output given ``theta·x = t``: rows of ``t``, ``output`` (Fig. 1)."""
    return _profile(s, trained_network(s, seeds, alpha0=s.alpha0), seeds)


def _profile(s: Profile | PoolProfile, drawn: network.Weights, seeds: list[int]) -> Rows:
    """Mean output over all inputs with ``theta·x = t``, at 25 values of ``t`` in ``[-3, 3]``."""
    activation, _, x, y = _second_batch(s, drawn, seeds, s.alpha)
    a = network.ridge(network.feature_map(activation, drawn, x), y, s.lam)
    t = torch.linspace(-3, 3, 25, dtype=a.dtype).to(a)
    outputs = population.mean_output(activation, drawn.w, drawn.theta, a, t)
    rows = []
    for i, level in enumerate(t):
        rows += _rows({"output": outputs[:, i]}, seeds, t=float(level))
    return rows


@_drawn(version=3)
def readout_vocabulary(s: Vocabulary, seeds: list[int]) -> Rows:
    """Test error of spiked features whose spike takes several values, ``p = d``, equal shares (Fig. 6)."""
    u = network.readout_values(s.d, s.values)
    c = 1 + u**2 * (s.c - 1)  # of each row
    drawn = network.spiked_features(d=s.d, p=s.d, r=s.r, c=c, gamma=1.0, u=u, rows=s.rows, seeds=seeds, device="auto")
    return curve(s, seeds, drawn, s.alphas)


@_few(version=2)
def spectra(s: Spectrum, seeds: list[int]) -> Rows:
    """Eigenvalues of ``Phi^T Phi / p`` of spiked features, ``p = d``: the largest, and the rest as a list (Fig. 8)."""
    d = s.d
    drawn = network.spiked_features(d=d, p=d, r=s.r, c=1.0, gamma=1.0, seeds=seeds, device="auto")
    x = network.draw(seeds, "train", round(s.alpha * d), d, d=d, device=drawn.w.device)
    phi = network.feature_map(function(s.activation), drawn, x)
    rows = []
    for seed, values in zip(seeds, torch.linalg.eigvalsh(phi.mT @ phi).tolist()):
        bulk = [round(value, 6) for value in values[:-1]]
        rows.append({"seed": seed, "top": values[-1], "second": values[-2], "bulk": bulk})
    return rows


@_drawn(version=3)
def losses(s: ConvexLoss, seeds: list[int]) -> Rows:
    """Squared error and share of wrong signs of spiked features: convex losses, noise, uniform bias (App. C).

    The penalty is ``lam/2 |a|^2`` beside losses with a half, so the square loss here is the ridge of the theory, whose
    value at the readout is the ``objective``.
    """
    drawn = _spiked_features(s, seeds)
    activation, target, x, y = _second_batch(s, drawn, seeds, s.alpha, s.noise)
    phi = network.feature_map(activation, drawn, x, s.bias)
    a = fit_readout.readout(phi, y, s.loss, s.lam, delta=s.delta)
    test_x, clean = network.test_set(target, drawn, seeds, TEST)
    test_phi = network.feature_map(activation, drawn, test_x, s.bias)
    outputs = (test_phi @ a[..., None]).squeeze(-1)
    measured = {
        "test_error": squared_error(test_phi, a, clean),
        "sign_error": (outputs * clean < 0).double().mean(-1),
        "objective": squared_error(phi, a, y) + s.lam * a.square().sum(-1) / y.shape[-1],
    }
    return _rows(measured, seeds)


@_drawn(version=1)
def biases(s: BestBias, seeds: list[int]) -> Rows:
    """The uniform bias in [-4, 4] at which each realisation's training objective is smallest (App. C.8).

    Ridge regression at every bias of a grid of 33, then a parabola through the lowest three.
    """
    drawn = _spiked_features(s, seeds)
    activation, _, x, y = _second_batch(s, drawn, seeds, s.alpha)
    grid = torch.linspace(-4, 4, 33, dtype=x.dtype).to(x)

    def objective(bias: Tensor) -> Tensor:
        phi = network.feature_map(activation, drawn, x, float(bias))
        a = network.ridge(phi, y, s.lam)
        return squared_error(phi, a, y) * y.shape[-1] + s.lam * a.square().sum(-1)

    values = torch.stack([objective(bias) for bias in grid], dim=-1)  # (S, 33)
    best = values.argmin(-1, keepdim=True).clamp(1, len(grid) - 2)
    below, centre, above = (values.gather(-1, best + shift).squeeze(-1) for shift in (-1, 0, 1))
    step = (grid[1] - grid[0]) * (below - above) / (2 * (below - 2 * centre + above))
    return _rows({"bias": grid[best.squeeze(-1)] + step}, seeds)


@_few(version=3)
def departure(s: Departure, seeds: list[int]) -> Rows:
    """The network's error beside that of spiked features on the same draws, and three theories at its first batch.

    ``network``, ``features``; ``srf``, ``rows``, ``corrected``.
    """
    drawn = trained_network(s, seeds, alpha0=s.alpha0, beta=s.beta)
    features = network.equivalent_features(s.activation, drawn, s.step, seeds)
    names = _fields(s, "activation target lam")
    errors = {}
    for label, weights in (("network", drawn), ("features", features)):
        (point,) = network.learning_curve(weights=weights, alphas=[s.alpha], seeds=seeds, **names)
        errors[label] = point["test_error"]
    setting = _fields(s, "activation target lam step alpha beta")
    x0s, y0s, thetas = (part.cpu().numpy() for part in (*drawn.batch, drawn.theta))
    for label, rows, norms in (("srf", False, False), ("rows", True, False), ("corrected", True, True)):
        predict = functools.partial(row_covariance.predict_network, **setting, rows=rows, norms=norms)
        theory = [predict(x0=x0, y0=y0, theta=theta).test_error for x0, y0, theta in zip(x0s, y0s, thetas)]
        errors[label] = torch.tensor(theory, dtype=torch.float32)  # as the stored results are
    return _rows(errors, seeds)


@_few(version=1)
def multiple_steps(s: SeveralSteps, seeds: list[int]) -> Rows:
    """Spike, singular values and test error after several steps with one step's samples and size in all, ``p = d``.

    ``r``, ``gamma``, ``c`` as in ``parameters``; the others as in ``several_steps.spectrum``.
    """
    names = _fields(s, "activation target step count d")
    drawn = several_steps.train(**names, p=s.d, n0=round(s.alpha0 * s.d), seeds=seeds)
    names = _fields(s, "activation target lam")
    (readout,) = network.learning_curve(weights=drawn, alphas=[s.alpha], seeds=seeds, **names)
    measured = network.measured_parameters(drawn) | several_steps.spectrum(drawn, seeds)
    measured["test_error"] = readout["test_error"]
    return _rows(measured, seeds)


@_drawn(version=1, chunk=2)
def network_kernels(s: KernelBaseline, seeds: list[int]) -> Rows:
    """Test error of the network's kernels at several penalties, and of the network after a step, on as many samples.

    ``learner``: ``conjugate``, ``tangent`` or ``network``, which spends a ``share`` of the ``alpha d`` samples on its
    step and has the penalty ``lam`` of the setting; ``penalty``: the one of the row.
    """
    rows = []
    names = _fields(s, "activation target d alphas lams")
    for name, alpha, lam, errors in kernel_baseline.errors(**names, seeds=seeds):
        rows += _rows({"test_error": errors}, seeds, learner=name, alpha=alpha, penalty=lam)
    for alpha in s.alphas:
        drawn = trained_network(s, seeds, alpha0=s.share * alpha, beta=s.beta)
        for point in curve(s, seeds, drawn, [(1 - s.share) * alpha]):
            learner = {"learner": "network", "alpha": alpha, "penalty": s.lam}
            rows.append({**learner, "seed": point["seed"], "test_error": point["test_error"]})
    return rows


@_drawn(version=2)
def norms(s: RowNorms, seeds: list[int]) -> Rows:
    """Spiked features whose rows have one norm, or the fluctuating norms of Gaussian rows; same seeds."""
    return curve(s, seeds, _weights_of(s, seeds, s.rows), s.alphas)


@_drawn(version=1, chunk=2)
def reuse(s: Reuse, seeds: list[int]) -> Rows:
    """Test errors of the network, and of the best learners without a step on the same ``alpha d`` samples.

    ``test_error`` of the network; ``linear``, of ridge regression on the inputs; ``conjugate`` and ``tangent``, of the
    network's kernels. What has no step has the penalty that is best on its own test error, for each seed.
    Of a network that uses its samples twice also ``swapped``, with the spike alone of other samples, and ``given``, by
    theory given the samples.
    """
    activation = function(s.activation)
    target = function(s.target)
    n = round(s.alpha * s.d)
    start = network.one_step(s.activation, target, d=s.d, p=s.d, n0=0, step=0.0, seeds=seeds, device="auto")
    x, y = network.second_batch(target, start, n * (2 if s.samples == "fresh" else 1), seeds)
    n0 = round(s.share * n) if s.samples == "split" else n
    first_of_readout = 0 if s.samples == "same" else n0
    drawn = replace(start, w=network.gradient_step(activation, start.w, x[:, :n0], y[:, :n0], s.step))
    phi = network.feature_map(activation, drawn, x[:, first_of_readout:])
    a = network.ridge(phi, y[:, first_of_readout:], s.lam)
    measured = {
        "test_error": population.population_error(activation, target, drawn.w, drawn.theta, a[:, None])[:, 0],
        "linear": kernel_baseline.best_ridge(target, x[:, :n], y[:, :n], start.theta),
    }
    for name, _, _, errors in _kernels_of(s, seeds):
        measured[name] = torch.minimum(measured.get(name, errors), errors)
    if s.observe:
        both_batches = network.second_batch(target, start, 2 * n, seeds)
        measured["swapped"] = _with_the_spike_of_others(s, drawn.w, start, *both_batches)
        samples = zip(*(part.cpu().numpy() for part in (x, y, start.theta)))
        names = _fields(s, "activation target step lam") | {"width": s.d}
        given = [given_samples.predict_reuse_given(**names, x=x, y=y, theta=theta) for x, y, theta in samples]
        measured["given"] = torch.tensor(given, dtype=torch.float64)
    return _rows(measured, seeds)


def _with_the_spike_of_others(s: Reuse, w: Tensor, start: network.Weights, x: Tensor, y: Tensor) -> Tensor:
    """Test errors ``(S,)`` of the network ``w`` after a step on the first half of ``x (S, 2n, d)``, with the second's
    spike.

    All else stays that of the first half: the noise of the bulk, and at each sample its own part of the spike.
    """
    activation = function(s.activation)
    n = y.shape[1] // 2
    residual = y - activation.tensor(x @ start.w.mT).mean(-1)
    scale = s.step / n * hermite(activation, activation).h1
    own, other = ((residual[:, None, part] @ x[:, part]) for part in (slice(n), slice(n, None)))
    w = w + scale * (other - own)
    x, y = x[:, :n], y[:, :n]
    at_sample = scale * (residual[:, :n] * x.square().sum(-1))[..., None]
    phi = activation.tensor(x @ w.mT + at_sample) / w.shape[1] ** 0.5
    a = network.ridge(phi, y, s.lam)
    return population.population_error(activation, function(s.target), w, start.theta, a[:, None])[:, 0]


def _kernels_of(s: Reuse, seeds: Sequence[int]) -> list[tuple[str, float, float, Tensor]]:
    """The network's kernels on the first ``alpha d`` samples of the readout, which are those of :func:`reuse`."""
    if not s.kernels:
        return []
    return kernel_baseline.errors(s.activation, s.target, d=s.d, alphas=[s.alpha], lams=s.kernels, seeds=seeds)


@_few(version=1)
def third_degree_share(s: GrowingSpike, seeds: list[int]) -> Rows:
    """Test error and learned share of the third degree, several readout values, at the strength ``r``; ``p = d``."""
    size = {"d": s.d, "p": s.d, "seeds": seeds, "device": "auto", "u": network.readout_values(s.d, s.values)}
    if s.model == "srf":
        drawn = network.spiked_features(r=s.r, c=1.0, gamma=1.0, **size)
    else:
        names = _fields(s, "activation target")
        step = s.r / equivalent(**names, alpha0=s.alpha0, step=1.0).r
        drawn = network.one_step(**names, step=step, n0=round(s.alpha0 * s.d), **size)
    activation, target, x, y = _second_batch(s, drawn, seeds, s.alpha)
    a = network.ridge(network.feature_map(activation, drawn, x), y, s.lam)
    error = population.population_error(activation, target, drawn.w, drawn.theta, a[:, None])[:, 0]
    t, weight = (torch.tensor(column).to(a) for column in gaussian.trapezoid(60))
    third = weight * (t**3 - 3 * t)
    share = population.mean_output(activation, drawn.w, drawn.theta, a, t) @ third / (target.tensor(t) @ third)
    return _rows({"test_error": error, "share": share}, seeds)


@_few(version=1)
def learned_function_bounds(s: PoolProfile, seeds: list[int]) -> Rows:
    """Mean output given ``theta·x = t`` of wide networks with many samples, at a large and a small penalty (Fig. 3)."""
    return _profile(s, trained_network(s, seeds, alpha0=s.alpha0, beta=s.beta), seeds)


@study(version=1, chunk=8, data="white principal components of digits", device="any")
def white_images(s: OnDigits, seeds: list[int]) -> Rows:
    """Test error on white principal components of digits and on normal inputs, three kinds of labels."""
    task = datasets.load("mnist", labels="parity")
    x = datasets.principal_components(task, s.d).x[:POOL]
    x = (x - x.mean(0)) / x.std(0)
    return on_images(s, seeds, x, task.y[:POOL])


def on_images(s: OnDigits, seeds: list[int], inputs: Tensor, labels: Tensor) -> Rows:
    """Test error after one step and ridge regression when inputs are white components of images, and when normal.

    One realisation shuffles the pool ``inputs (N, d)`` into first batch, second batch and test points. ``target`` says
    the label: ``random``, the sign along a random direction; ``leading``, along the first component; ``parity``,
    ``labels (N,)``. The normal inputs get labels of the same kind; for parity a sign along one direction, with as much
    noise as gives the linear part the images' labels have.
    """
    count, d = inputs.shape
    target = s.target
    linear = (labels @ inputs / count).norm() ** 2 - d / count  # less what chance adds
    share = float((linear * np.pi / 2).clamp(0, 1)) if target == "parity" else 1.0
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([seed, d])
        order = torch.from_numpy(rng.permutation(count))
        theta = network.unit(torch.from_numpy(rng.standard_normal(d)))
        if target == "leading":
            theta = torch.eye(d, dtype=inputs.dtype)[0]
        normal = torch.from_numpy(rng.standard_normal((count, d)))
        noise = torch.from_numpy(rng.standard_normal(count))
        w0 = network.unit(torch.from_numpy(rng.standard_normal((s.p, d))))
        images = inputs[order]
        image_labels = labels[order] if target == "parity" else torch.sign(images @ theta)
        normal_labels = torch.sign(share**0.5 * normal @ theta + (1 - share) ** 0.5 * noise)
        row = {
            "seed": seed,
            "images": _error_on(s, images, image_labels, w0),
            "normal": _error_on(s, normal, normal_labels, w0),
        }
        rows.append(row)
    return rows


def _error_on(s: OnDigits, x: Tensor, y: Tensor, w0: Tensor) -> float:
    """Error on the points after both batches: a step on the first, ridge regression on the second."""
    x, y, w0 = (part.to(devices.pick()) for part in (x, y, w0))
    n0, n = s.n0, s.n
    w = network.gradient_step(s.activation, w0, x[:n0], y[:n0], s.step)
    phi = function(s.activation).tensor(x[None, n0:] @ w.mT) / len(w0) ** 0.5
    a = network.ridge(phi[:, :n], y[None, n0 : n0 + n], s.lam)
    return float(squared_error(phi[:, n:], a, y[None, n0 + n :]))
