"""Studies of chapter 7: one gradient step, spiked random features, and where the two part."""

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.experiments.sweep import Rows, Setting, study
from companion.theory.spiked import kernel_baseline, measure, network, several_steps
from companion.theory.spiked.conditional_map import equivalent
from regimes import validate
from regimes.data import datasets
from regimes.validate import InputError

CHAPTER = "07"
TEST = 2000  # test points
APART = 1000  # seeds from one case to the next: no two cases share a draw, so that their scatter averages out
CHUNK = 8  # seeds that one call gets, at most
POOL = 5000  # images, the number that an installed package ships
DRAWN: dict[str, Any] = {
    "data": "Gaussian inputs and targets of one direction, drawn here", "device": "any", "chunk": CHUNK,
}  # fmt: skip
FEW = DRAWN | {"chunk": 4}


def _fits(batches: str = "", *, least: float = 4.0, chunk: int = CHUNK, each: int = 3) -> Callable[[Setting], Setting]:
    """What completes a setting: a chunk's features and inputs, so many of ``each``, must fit into the memory.

    Args:
        batches: the axes that count samples of a batch, in units of the dimension.
        least: the smallest batch that is counted.
        chunk: realisations of a call.
        each: arrays of them.
    """

    def complete(setting: Setting) -> Setting:
        d, sizes = setting["d"], {name: float(np.max(setting[name])) for name in batches.split()}
        few = [name for name in sizes if any(one and round(one * d) < 1 for one in np.atleast_1d(setting[name]))]
        if few:
            raise InputError(f"{few[0]} must give at least one sample or neuron, got {setting[few[0]]} times d = {d}")
        samples, width = TEST + d * max([least, *sizes.values()]), d * setting.get("beta", 1.0)
        what = "".join(f" with {name} = {value:g}" for name, value in sizes.items())
        validate.memory(int(each * 8 * chunk * samples * (d + width)), f"d = {d}{what}")
        return setting

    return complete


ODD, LARGE, SIZE = "one of tanh, erf, erf(x/√2), sin", "number from 0 to 100", "number from 0.01 to 100"
KINDS = {
    "activation": ODD, "target": "one of companion.theory.spiked.functions.FUNCTIONS", "model": "one of network, srf",
    "loss": "one of logistic, huber, square", "rows": "one of sphere, gauss, orthogonal", "rule": "one of p, d",
    "panel": "one of r, gamma, size, order, map", "bound": "one of upper, lower", "lam": "number from 1e-6 to 1e6",
    "alpha0": SIZE, "alpha": SIZE, "beta": SIZE, "step": SIZE, "c": SIZE, "delta": SIZE, "noise": LARGE,
    "r": "number from 0 to 20", "gamma": "number from -1 to 1", "bias": "number from -10 to 10",
    "exponent": "number from 0 to 3", "total": "number from 0.5 to 100", "share": "number from 0.01 to 0.99",
    "d": "count from 2 to 1e4", "smallest": "count from 2 to 1e4", "p": "count from 2 to 1e4", "n": "count to 2000",
    "n0": "count to 2000", "count": "count to 100", "case": "count from 0 to 100",
    "values": "distinct numbers from -10 to 10", "alphas": "distinct numbers from 0.01 to 100",
    "lams": "distinct numbers from 1e-6 to 1e6",
}  # fmt: skip


def _axes(names: str, **own: str) -> dict[str, str]:
    """The kinds of some axes; ``own`` are those of one study."""
    return {name: (KINDS | own)[name] for name in names.split()}


def _of_case(setting: Setting) -> Setting:
    """No two cases share a seed."""
    return _fits()(setting) | {"seeds": [APART * setting["case"] + seed for seed in setting["seeds"]]}


def _of_rule(setting: Setting) -> Setting:
    """``eta = step * p`` keeps the spike; ``eta = step * d`` divides it by beta."""
    share = 1.0 if setting["rule"] == "p" else setting["beta"]
    return _fits("alpha0 alphas beta")(setting) | {"step": setting["step"] / share}


def _of_exponent(setting: Setting) -> Setting:
    """The step of the ``smallest`` size, at the setting's own."""
    low, s = setting.pop("smallest"), setting["exponent"]
    return _fits("alpha0 alphas")(setting) | {"step": setting["step"] * (setting["d"] / low) ** (s - 1)}


def _of_strength(setting: Setting) -> Setting:
    """The step that makes a spike of the strength which the design gives in its place."""
    names = {name: setting[name] for name in ("activation", "target", "alpha0")}
    unit = equivalent(names.pop("activation"), names.pop("target"), **names, step=1.0)
    return _fits("alpha0", least=8.0, chunk=4)(setting) | {"step": setting["step"] / unit.r}


def _of_digits(setting: Setting) -> Setting:
    validate.memory(3 * 8 * 2 * POOL * setting["d"], f"d = {setting['d']}")  # images and normal inputs
    return {"data": datasets.identity("mnist")} | setting


def _of_letters(setting: Setting) -> Setting:
    """Each letter has a neuron, and a bulk of its own variance."""
    values, c = setting["values"], setting["c"]
    for u in values:
        validate.positive(**{f"1 + u²(c - 1) for u = {u:g} of values, c = {c:g}": 1 + u**2 * (c - 1)})
    if len(values) > setting["d"]:
        raise InputError(f"values must be at most d = {setting['d']}, one neuron each, got {len(values)}")
    return _fits("alphas")(setting)


def _of_count(setting: Setting) -> Setting:
    """Each step has a sample."""
    if round(setting["alpha0"] * setting["d"]) < setting["count"]:
        raise InputError(f"alpha0 times d = {setting['d']} must give each of count = {setting['count']} steps a sample")
    return _fits("alpha0 alpha", chunk=4)(setting)


def _kernels_fit(setting: Setting) -> Setting:
    low, share = min(setting["alphas"]) * setting["d"], setting["share"]
    if round(low * min(share, 1 - share)) < 1:
        raise InputError(f"share must leave each batch one of the {low:g} samples, alphas times d, got {share:g}")
    most = round(max(setting["alphas"]) * setting["d"])
    what = f"d = {setting['d']} with alphas = {max(setting['alphas']):g}"
    validate.memory(6 * 8 * 2 * most * (most + TEST), what)
    return setting


@study(version=2, axes=_axes("activation target alpha0 step d"), complete=_fits("alpha0"), **DRAWN)
def parameters(setting: Setting, seeds: list[int]) -> Rows:
    """Measured ``r, gamma, c`` of the trained weights, each over the formula (Result 3.1: ``*_ratio``)."""
    weights = measure.weights(setting | {"model": "network", "beta": 1.0}, seeds)
    measured = network.measured_parameters(weights)
    formula = equivalent(setting["activation"], setting["target"], alpha0=setting["alpha0"], step=setting["step"])
    return [
        {"seed": seed}
        | {name: float(values[i]) for name, values in measured.items()}
        | {f"{name}_ratio": float(values[i]) / getattr(formula, name) for name, values in measured.items()}
        for i, seed in enumerate(seeds)
    ]


@study(version=3, axes=_axes("activation target alpha0 step alpha beta lam case d"), complete=_of_case, **DRAWN)
def agreement(setting: Setting, seeds: list[int]) -> Rows:
    """Errors and overlaps of spiked features at settings spread over all that the theory takes (Result 3.3)."""
    return measure.curve(setting | {"model": "srf", "alphas": [setting["alpha"]]}, seeds)


@study(version=2, axes=_axes("activation target r c gamma alpha beta lam d"), complete=_fits(), **DRAWN)
def gaussian_map(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of ridge on the true features and on the conditional Gaussian ones, same inputs (Result 3.2)."""
    return measure.rows(measure.gaussian_pair(setting | {"model": "srf"}, seeds), seeds)


@study(
    version=2,
    axes=_axes("target lam step alpha0 d model activation beta alphas", alpha0=LARGE),
    complete=_fits("alpha0 alphas", each=2),
    **DRAWN,
)
def learning_curves(setting: Setting, seeds: list[int]) -> Rows:
    """Test error against ``alpha`` for several sizes ``alpha0`` of the first batch (Fig. 2)."""
    return measure.curve(setting, seeds)


@study(
    version=2,
    axes=_axes("r gamma panel model activation target c beta lam d alphas"),
    complete=_fits("alphas"),
    **DRAWN,
)
def spikes(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features against ``alpha`` for several strengths and alignments (Fig. 4)."""
    return measure.curve(setting, seeds)


@study(version=2, axes=_axes("beta step rule model activation target alpha0 lam d alphas"), complete=_of_rule, **DRAWN)
def widths(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network against its width, under both readings of the step size (Fig. 5)."""
    return measure.curve(setting, seeds)


@study(
    version=2,
    axes=_axes("activation target step alpha0 alpha lam d", alpha0=LARGE),
    complete=_fits("alpha0 alpha"),
    **DRAWN,
)
def profiles(setting: Setting, seeds: list[int]) -> Rows:
    """Mean of the network's output given ``theta·x = t``: rows of ``t``, ``output`` (Fig. 1)."""
    outputs = measure.profile(setting | {"model": "network", "beta": 1.0}, seeds, points=25)
    return [row for t, out in outputs.items() for row in measure.rows({"output": out}, seeds, t=t)]


@study(version=2, axes=_axes("values d activation target r c lam alphas rows"), complete=_of_letters, **DRAWN)
def vocabulary(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features whose spike takes several values, ``p = d``, equal shares (Fig. 6)."""
    d, values = setting["d"], setting["values"]
    u = network.letters(d, values, [1.0] * len(values))
    c = 1 + u**2 * (setting["c"] - 1)
    names = {name: setting[name] for name in ("r", "rows")}
    weights = network.spiked_features(d=d, p=d, c=c, gamma=1.0, seeds=seeds, u=u, device="auto", **names)
    return measure.curve(setting, seeds, weights)


@study(version=2, axes=_axes("d activation r alpha"), complete=_fits("alpha", chunk=4), **FEW)
def spectra(setting: Setting, seeds: list[int]) -> Rows:
    """Eigenvalues of ``Phi^T Phi / p`` of spiked features, ``p = d``: the largest, and the rest as a list (Fig. 8)."""
    values = measure.eigenvalues(setting | {"model": "srf", "c": 1.0, "gamma": 1.0, "beta": 1.0}, seeds)
    return [
        {"seed": seed, "top": float(row[-1]), "second": float(row[-2]), "bulk": [round(float(v), 6) for v in row[:-1]]}
        for seed, row in zip(seeds, values)
    ]


@study(
    version=2,
    axes=_axes(
        "model activation alpha beta lam r c loss target gamma noise bias delta d", activation=f"{ODD}, softplus"
    ),
    complete=_fits("alpha"),
    **DRAWN,
)
def losses(setting: Setting, seeds: list[int]) -> Rows:
    """Squared error and share of wrong signs of spiked features: convex losses, noise, uniform bias (App. C)."""
    return measure.rows(measure.convex_errors(setting, seeds), seeds)


@study(version=1, axes=_axes("activation target alpha beta gamma model lam r c d"), complete=_fits("alpha"), **DRAWN)
def biases(setting: Setting, seeds: list[int]) -> Rows:
    """The uniform bias that each realisation's training objective chooses (App. C.8)."""
    return measure.rows(measure.trained_bias(setting, seeds), seeds)


@study(
    version=3,
    axes=_axes("panel target alpha0 step d activation alpha beta lam"),
    complete=_fits("alpha0 alpha", chunk=4),
    **FEW,
)
def departure(setting: Setting, seeds: list[int]) -> Rows:
    """The network's error beside that of spiked features on the same draws, and three theories at its first batch."""
    return measure.rows(measure.network_beside_features(setting, seeds), seeds)


@study(version=1, axes=_axes("target alpha0 step count d activation alpha lam"), complete=_of_count, **FEW)
def several(setting: Setting, seeds: list[int]) -> Rows:
    """Spike, singular values and test error after several steps with one step's samples and size in all, ``p = d``."""
    return measure.rows(several_steps.measured(setting, seeds), seeds)


@study(
    version=1,
    axes=_axes("d target step lam alphas lams share activation beta"),
    complete=_kernels_fit,
    **DRAWN | {"chunk": 2},
)
def kernels(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network's kernels at several penalties, and of the network after a step, on as many samples.

    ``learner``: ``conjugate``, ``tangent`` or ``network``, which spends a ``share`` of the ``alpha d`` samples on its
    step and has the penalty ``lam`` of the setting; ``penalty``: the one of the row.
    """
    names = {name: setting[name] for name in ("activation", "target", "d", "alphas", "lams")}
    found = []
    for name, alpha, lam, errors in kernel_baseline.errors(**names, seeds=seeds):
        found += measure.rows({"test_error": errors}, seeds, learner=name, alpha=alpha, penalty=lam)
    for alpha in setting["alphas"]:
        split = {"alpha0": setting["share"] * alpha, "alphas": [(1 - setting["share"]) * alpha], "model": "network"}
        for row in measure.curve(setting | split, seeds):
            kind = {"learner": "network", "alpha": alpha, "penalty": setting["lam"]}
            found.append(kind | {name: row[name] for name in ("seed", "test_error")})
    return found


@study(
    version=2,
    axes=_axes("model activation target alpha0 step beta lam alphas rows d"),
    complete=_fits("alphas"),
    **DRAWN,
)
def norms(setting: Setting, seeds: list[int]) -> Rows:
    """Spiked features whose rows have one norm, or the fluctuating norms of Gaussian rows; same seeds."""
    return measure.curve(setting, seeds)


@study(version=1, axes=_axes("total share d activation target step lam"), complete=_fits("total"), **DRAWN)
def budget(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network when a share of ``total d`` samples pays for the step and the rest for the readout."""
    first = setting["share"] * setting["total"]
    split = {"model": "network", "beta": 1.0, "alpha0": first, "alphas": [setting["total"] - first]}
    return measure.curve(setting | split, seeds)


@study(
    version=1,
    axes=_axes("activation target alpha0 lam exponent step d alphas smallest"),
    complete=_of_exponent,
    **DRAWN,
)
def scaling(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of networks whose step size grows like ``eta ~ p^s``, ``p = d``."""
    return measure.curve(setting | {"model": "network", "beta": 1.0}, seeds)


@study(
    version=1,
    axes=_axes("target step bound lam alpha beta activation alpha0 d", step="number from 0.1 to 5"),
    complete=_of_strength,
    **FEW,
)
def pool(setting: Setting, seeds: list[int]) -> Rows:
    """Mean output given ``theta·x = t`` of wide networks with many samples, at a large and a small penalty (Fig. 3)."""
    outputs = measure.profile(setting | {"model": "network"}, seeds, points=25)
    return [row for t, out in outputs.items() for row in measure.rows({"output": out}, seeds, t=t)]


@study(
    version=1,
    axes=_axes("activation target d p n0 n step lam", target="one of random, leading, parity", d="count from 2 to 400"),
    complete=_of_digits,
    chunk=8,
    data="white principal components of digits",
    device="any",
)
def images(setting: Setting, seeds: list[int]) -> Rows:
    """Test error on white principal components of digits and on normal inputs, three kinds of labels."""
    task = datasets.load("mnist", labels="parity")
    x = datasets.principal_components(task, setting["d"]).x[:POOL]
    x = (x - x.mean(0)) / x.std(0)
    return measure.rows(measure.on_images(setting, seeds, x, task.y[:POOL]), seeds)
