"""Studies of chapter 7: one gradient step, spiked random features, and where the two part."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from companion.experiments.sweep import Rows, Setting, study
from companion.theory.spiked import fit_readout, kernel_baseline, network, population, row_covariance, several_steps
from companion.theory.spiked.conditional_map import equivalent
from companion.theory.spiked.functions import Function, function
from companion.theory.spiked.network import squared_error
from regimes import devices, gaussian, validate
from regimes.data import datasets
from regimes.validate import InputError

CHAPTER = "07"
TEST = 2000  # test points
APART = 1000  # seeds from one case to the next: no two cases share a draw, so that their scatter averages out
CHUNK = 8  # seeds that one call gets, at most
POOL = 5000  # images, the number that an installed package ships
_drawn = functools.partial(
    study, data="Gaussian inputs and targets of one direction, drawn here", device="any", chunk=CHUNK
)
_few = functools.partial(_drawn, chunk=4)


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
    "loss": "one of logistic, huber, square, hinge", "rows": "one of sphere, gauss, orthogonal", "rule": "one of p, d",
    "panel": "one of r, gamma, size, order, map", "bound": "one of upper, lower", "lam": "number from 1e-6 to 1e6",
    "alpha0": SIZE, "alpha": SIZE, "beta": SIZE, "step": SIZE, "c": SIZE, "delta": SIZE, "noise": LARGE,
    "r": "number from 0 to 20", "gamma": "number from -1 to 1", "bias": "number from -10 to 10",
    "exponent": "number from 0 to 3", "total": "number from 0.5 to 100", "share": "number from 0.01 to 0.99",
    "d": "count from 2 to 1e4", "smallest": "count from 2 to 1e4", "p": "count from 2 to 1e4", "n": "count to 2000",
    "n0": "count to 2000", "count": "count to 1000", "case": "count from 0 to 100",
    "values": "distinct numbers from -10 to 10", "alphas": "distinct numbers from 0.01 to 100",
    "lams": "distinct numbers from 1e-6 to 1e6",
}  # fmt: skip


def _axes(names: str, **own: str) -> dict[str, str]:
    """The kinds of some axes, of which the first varies slowest; ``own`` are those of one study."""
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


def _of_growth(setting: Setting) -> Setting:
    """The spike's strength at the setting's own size; each readout value has a neuron."""
    values, d, low = setting["values"], setting["d"], setting.pop("smallest")
    if len(values) > d:
        raise InputError(f"values must be at most d = {d}, one neuron each, got {len(values)}")
    complete = _fits("alpha0 alpha", chunk=4) if setting["model"] == "network" else _fits("alpha", chunk=4)
    return complete(setting) | {"r": setting["r"] * (d / low) ** (setting["exponent"] - 1)}


def _of_strength(setting: Setting) -> Setting:
    """The step that makes a spike of the strength which the design gives in its place."""
    names = {name: setting[name] for name in ("activation", "target", "alpha0")}
    unit = equivalent(names.pop("activation"), names.pop("target"), **names, step=1.0)
    return _fits("alpha0", least=8.0, chunk=4)(setting) | {"step": setting["step"] / unit.r}


def _of_digits(setting: Setting) -> Setting:
    validate.memory(3 * 8 * 2 * POOL * setting["d"], f"d = {setting['d']}")  # images and normal inputs
    return {"data": datasets.identity("mnist")} | setting


def _of_readout_values(setting: Setting) -> Setting:
    """Each readout value has a neuron, and a bulk of its own variance."""
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


def _named(setting: Setting, names: str) -> dict[str, Any]:
    return {name: setting[name] for name in names.split()}


def _rows(measured: Mapping[str, Tensor], seeds: Sequence[int], **fixed: Any) -> Rows:
    """One row a seed from tensors ``(S,)``."""
    return [fixed | {"seed": s} | {name: float(v[i]) for name, v in measured.items()} for i, s in enumerate(seeds)]


def weights(setting: Setting, seeds: Sequence[int]) -> network.Weights:
    """The network after one step, or spiked features, as ``setting["model"]`` says.

    Features take ``r``, ``c``, ``gamma`` where the setting has them, else those equivalent to its ``alpha0``, ``step``.
    """
    d = setting["d"]
    size = {"d": d, "p": round(setting.get("beta", 1.0) * d), "seeds": seeds, "device": "auto"}
    if setting.get("model", "network") == "network":
        return network.one_step(**_named(setting, "activation target step"), n0=round(setting["alpha0"] * d), **size)
    if "r" in setting:
        kind = _named(setting, "r c gamma")
    else:
        kind = vars(equivalent(**_named(setting, "activation target alpha0 step")))
    return network.spiked_features(**kind, rows=setting.get("rows", "sphere"), **size)


def curve(setting: Setting, seeds: Sequence[int], drawn: network.Weights | None = None) -> Rows:
    """Errors and overlaps at each of ``setting["alphas"]``, rows for every seed."""
    names = _named(setting, "activation target alphas lam")
    points = network.learning_curve(weights=drawn or weights(setting, seeds), seeds=seeds, **names)
    return [row for alpha, point in zip(setting["alphas"], points) for row in _rows(point, seeds, alpha=alpha)]


def _second_batch(setting: Setting, seeds: Sequence[int]) -> tuple[Function, Function, network.Weights, Tensor, Tensor]:
    """Activation, target, weights, and the samples of the readout."""
    activation, target, drawn = function(setting["activation"]), function(setting["target"]), weights(setting, seeds)
    n = round(setting["alpha"] * setting["d"])
    return activation, target, drawn, *network.second_batch(target, drawn, n, seeds, setting.get("noise", 0.0))


@_drawn(version=2, axes=_axes("activation target alpha0 step d"), complete=_fits("alpha0"))
def parameters(setting: Setting, seeds: list[int]) -> Rows:
    """Measured ``r, gamma, c`` of the trained weights, each over the formula (Result 3.1: ``*_ratio``)."""
    measured = network.measured_parameters(weights(setting, seeds))
    formula = equivalent(**_named(setting, "activation target alpha0 step"))
    ratios = {f"{name}_ratio": values / getattr(formula, name) for name, values in measured.items()}
    return _rows(measured | ratios, seeds)


@_drawn(version=3, axes=_axes("activation target alpha0 step alpha beta lam case d"), complete=_of_case)
def agreement(setting: Setting, seeds: list[int]) -> Rows:
    """Errors and overlaps of spiked features at settings spread over all that the theory takes (Result 3.3)."""
    rows = curve(setting | {"model": "srf", "alphas": [setting["alpha"]]}, seeds)
    return [{name: value for name, value in row.items() if name != "alpha"} for row in rows]  # it is a setting here


@_drawn(version=2, axes=_axes("activation target r c gamma alpha beta lam d"), complete=_fits())
def gaussian_map(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of ridge on the true features and on the conditional Gaussian ones, same inputs (Result 3.2)."""
    activation, target, drawn, x, y = _second_batch(setting | {"model": "srf"}, seeds)
    (n, d), p = x.shape[1:], drawn.w.shape[1]
    fresh, clean = network.test_set(target, drawn, seeds, TEST)
    noise = network.draw(seeds, "fresh", n + TEST, p, d=d, device=x.device)

    def error(features: Callable[..., Tensor], *rest: Tensor) -> Tensor:
        phi, tested = (features(activation, drawn, z, *part) for z, *part in zip((x, fresh), *rest))
        return squared_error(tested, network.ridge(phi, y, setting["lam"]), clean)

    true = error(network.feature_map)
    gaussian = error(functools.partial(network.draw_conditional, c=setting["c"]), noise.split([n, TEST], dim=1))
    return _rows({"true": true, "gaussian": gaussian}, seeds)


@_drawn(
    version=2,
    axes=_axes("target lam step alpha0 d model activation beta alphas", alpha0=LARGE),
    complete=_fits("alpha0 alphas", each=2),
)
def learning_curves(setting: Setting, seeds: list[int]) -> Rows:
    """Test error against ``alpha`` for several sizes ``alpha0`` of the first batch (Fig. 2)."""
    return curve(setting, seeds)


@_drawn(version=2, axes=_axes("r gamma panel model activation target c beta lam d alphas"), complete=_fits("alphas"))
def spikes(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features against ``alpha`` for several strengths and alignments (Fig. 4)."""
    return curve(setting, seeds)


@_drawn(version=2, axes=_axes("beta step rule model activation target alpha0 lam d alphas"), complete=_of_rule)
def widths(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network against its width, under both readings of the step size (Fig. 5)."""
    return curve(setting, seeds)


@_drawn(
    version=2, axes=_axes("activation target step alpha0 alpha lam d", alpha0=LARGE), complete=_fits("alpha0 alpha")
)
def profiles(setting: Setting, seeds: list[int]) -> Rows:
    """Mean of the network's output given ``theta·x = t``: rows of ``t``, ``output`` (Fig. 1)."""
    return _profile(setting, seeds)


def _profile(setting: Setting, seeds: list[int]) -> Rows:
    """Mean output over all inputs with ``theta·x = t``, at 25 values of ``t`` in ``[-3, 3]``."""
    activation, _, drawn, x, y = _second_batch(setting, seeds)
    a = network.ridge(network.feature_map(activation, drawn, x), y, setting["lam"])
    t = torch.linspace(-3, 3, 25, dtype=a.dtype).to(a)
    outputs = population.mean_output(activation, drawn.w, drawn.theta, a, t)
    return [row for i, level in enumerate(t) for row in _rows({"output": outputs[:, i]}, seeds, t=float(level))]


@_drawn(version=2, axes=_axes("values d activation target r c lam alphas rows"), complete=_of_readout_values)
def vocabulary(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features whose spike takes several values, ``p = d``, equal shares (Fig. 6)."""
    d, values = setting["d"], setting["values"]
    u = network.readout_values(d, values)
    kind = _named(setting, "r rows") | {"c": 1 + u**2 * (setting["c"] - 1), "gamma": 1.0, "u": u}
    return curve(setting, seeds, network.spiked_features(d=d, p=d, seeds=seeds, device="auto", **kind))


@_few(version=2, axes=_axes("d activation r alpha"), complete=_fits("alpha", chunk=4))
def spectra(setting: Setting, seeds: list[int]) -> Rows:
    """Eigenvalues of ``Phi^T Phi / p`` of spiked features, ``p = d``: the largest, and the rest as a list (Fig. 8)."""
    d, drawn = setting["d"], weights(setting | {"model": "srf", "c": 1.0, "gamma": 1.0}, seeds)
    x = network.draw(seeds, "train", round(setting["alpha"] * d), d, d=d, device=drawn.w.device)
    phi = network.feature_map(function(setting["activation"]), drawn, x)
    values = torch.linalg.eigvalsh(phi.mT @ phi).tolist()
    return [
        {"seed": seed, "top": row[-1], "second": row[-2], "bulk": [round(v, 6) for v in row[:-1]]}
        for seed, row in zip(seeds, values)
    ]


@_drawn(
    version=3,
    axes=_axes(
        "model activation alpha beta lam r c loss target gamma noise bias delta d", activation=f"{ODD}, softplus"
    ),
    complete=_fits("alpha"),
)
def losses(setting: Setting, seeds: list[int]) -> Rows:
    """Squared error and share of wrong signs of spiked features: convex losses, noise, uniform bias (App. C).

    The penalty is ``lam/2 |a|^2`` beside losses with a half, so the square loss here is the ridge of the theory, whose
    value at the readout is the ``objective``.
    """
    activation, target, drawn, x, y = _second_batch(setting, seeds)
    phi = network.feature_map(activation, drawn, x, setting["bias"])
    a = fit_readout.readout(phi, y, setting["loss"], setting["lam"], delta=setting["delta"])
    fresh, clean = network.test_set(target, drawn, seeds, TEST)
    tested = network.feature_map(activation, drawn, fresh, setting["bias"])
    found = {
        "test_error": squared_error(tested, a, clean),
        "sign_error": ((tested @ a[..., None]).squeeze(-1) * clean < 0).double().mean(-1),
        "objective": squared_error(phi, a, y) + setting["lam"] * a.square().sum(-1) / y.shape[-1],
    }
    return _rows(found, seeds)


@_drawn(version=1, axes=_axes("activation target alpha beta gamma model lam r c d"), complete=_fits("alpha"))
def biases(setting: Setting, seeds: list[int]) -> Rows:
    """The uniform bias in [-4, 4] at which each realisation's training objective is smallest (App. C.8).

    Ridge regression at every bias of a grid of 33, then a parabola through the lowest three.
    """
    activation, _, drawn, x, y = _second_batch(setting, seeds)
    grid = torch.linspace(-4, 4, 33, dtype=x.dtype).to(x)

    def objective(bias: Tensor) -> Tensor:
        phi = network.feature_map(activation, drawn, x, float(bias))
        a = network.ridge(phi, y, setting["lam"])
        return squared_error(phi, a, y) * y.shape[-1] + setting["lam"] * a.square().sum(-1)

    values = torch.stack([objective(bias) for bias in grid], dim=-1)  # (S, 33)
    best = values.argmin(-1, keepdim=True).clamp(1, len(grid) - 2)
    left, centre, right = (values.gather(-1, best + shift).squeeze(-1) for shift in (-1, 0, 1))
    step = (grid[1] - grid[0]) * (left - right) / (2 * (left - 2 * centre + right))
    return _rows({"bias": grid[best.squeeze(-1)] + step}, seeds)


@_few(
    version=3,
    axes=_axes("panel target alpha0 step d activation alpha beta lam"),
    complete=_fits("alpha0 alpha", chunk=4),
)
def departure(setting: Setting, seeds: list[int]) -> Rows:
    """The network's error beside that of spiked features on the same draws, and three theories at its first batch.

    ``network``, ``features``; ``srf``, ``rows``, ``corrected``.
    """
    drawn, names = weights(setting, seeds), _named(setting, "activation target lam")
    same = network.equivalent_features(setting["activation"], drawn, setting["step"], seeds)
    found = {
        label: network.learning_curve(weights=w, alphas=[setting["alpha"]], seeds=seeds, **names)[0]["test_error"]
        for label, w in {"network": drawn, "features": same}.items()
    }
    names |= _named(setting, "step alpha beta")
    batches = [part.cpu().numpy() for part in (*drawn.batch, drawn.theta)]
    for label, (rows, norms) in {"srf": (False, False), "rows": (True, False), "corrected": (True, True)}.items():
        kind = names | {"rows": rows, "norms": norms}
        errors = [
            row_covariance.predict_network(**kind, x0=x0, y0=y0, theta=theta).test_error
            for x0, y0, theta in zip(*batches)
        ]
        found[label] = torch.tensor(errors, dtype=torch.float32)  # as the stored results are
    return _rows(found, seeds)


@_few(version=1, axes=_axes("target alpha0 step count d activation alpha lam"), complete=_of_count)
def several(setting: Setting, seeds: list[int]) -> Rows:
    """Spike, singular values and test error after several steps with one step's samples and size in all, ``p = d``.

    ``r``, ``gamma``, ``c`` as in ``parameters``; the others as in ``several_steps.spectrum``.
    """
    d, names = setting["d"], _named(setting, "activation target step count")
    drawn = several_steps.train(**names, d=d, p=d, n0=round(setting["alpha0"] * d), seeds=seeds)
    names = _named(setting, "activation target lam")
    (readout,) = network.learning_curve(weights=drawn, alphas=[setting["alpha"]], seeds=seeds, **names)
    found = network.measured_parameters(drawn) | several_steps.spectrum(drawn, seeds)
    return _rows(found | {"test_error": readout["test_error"]}, seeds)


@_drawn(version=1, axes=_axes("d target step lam alphas lams share activation beta"), complete=_kernels_fit, chunk=2)
def kernels(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network's kernels at several penalties, and of the network after a step, on as many samples.

    ``learner``: ``conjugate``, ``tangent`` or ``network``, which spends a ``share`` of the ``alpha d`` samples on its
    step and has the penalty ``lam`` of the setting; ``penalty``: the one of the row.
    """
    found = []
    for name, alpha, lam, errors in kernel_baseline.errors(
        **_named(setting, "activation target d alphas lams"), seeds=seeds
    ):
        found += _rows({"test_error": errors}, seeds, learner=name, alpha=alpha, penalty=lam)
    for alpha in setting["alphas"]:
        split = {"alpha0": setting["share"] * alpha, "alphas": [(1 - setting["share"]) * alpha]}
        for row in curve(setting | split, seeds):
            kind = {"learner": "network", "alpha": alpha, "penalty": setting["lam"]}
            found.append(kind | {name: row[name] for name in ("seed", "test_error")})
    return found


@_drawn(version=2, axes=_axes("model activation target alpha0 step beta lam alphas rows d"), complete=_fits("alphas"))
def norms(setting: Setting, seeds: list[int]) -> Rows:
    """Spiked features whose rows have one norm, or the fluctuating norms of Gaussian rows; same seeds."""
    return curve(setting, seeds)


@_drawn(version=1, axes=_axes("total share d activation target step lam"), complete=_fits("total"))
def budget(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network when a share of ``total d`` samples pays for the step and the rest for the readout."""
    first = setting["share"] * setting["total"]
    return curve(setting | {"alpha0": first, "alphas": [setting["total"] - first]}, seeds)


@_drawn(version=1, axes=_axes("activation target alpha0 lam exponent step d alphas smallest"), complete=_of_exponent)
def scaling(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of networks whose step size grows like ``eta ~ p^s``, ``p = d``."""
    return curve(setting, seeds)


@_few(
    version=1,
    axes=_axes("values exponent r model activation target alpha0 smallest alpha lam d", exponent="number from 0 to 1"),
    complete=_of_growth,
)
def thresholds(setting: Setting, seeds: list[int]) -> Rows:
    """Test error and learned share of the third degree, several readout values, at the strength ``r``; ``p = d``."""
    d, alpha0 = setting["d"], setting["alpha0"]
    size = {"d": d, "p": d, "seeds": seeds, "device": "auto", "u": network.readout_values(d, setting["values"])}
    if setting["model"] == "srf":
        drawn = network.spiked_features(r=setting["r"], c=1.0, gamma=1.0, **size)
    else:
        names = _named(setting, "activation target")
        step = setting["r"] / equivalent(**names, alpha0=alpha0, step=1.0).r
        drawn = network.one_step(**names, step=step, n0=round(alpha0 * d), **size)
    activation, target = function(setting["activation"]), function(setting["target"])
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * d), seeds)
    a = network.ridge(network.feature_map(activation, drawn, x), y, setting["lam"])
    error = population.population_error(activation, target, drawn.w, drawn.theta, a[:, None])[:, 0]
    t, weight = (torch.tensor(column).to(a) for column in gaussian.trapezoid(60))
    third = weight * (t**3 - 3 * t)
    share = population.mean_output(activation, drawn.w, drawn.theta, a, t) @ third / (target.tensor(t) @ third)
    return _rows({"test_error": error, "share": share}, seeds)


@_few(
    version=1,
    axes=_axes("target step bound lam alpha beta activation alpha0 d", step="number from 0.1 to 5"),
    complete=_of_strength,
)
def pool(setting: Setting, seeds: list[int]) -> Rows:
    """Mean output given ``theta·x = t`` of wide networks with many samples, at a large and a small penalty (Fig. 3)."""
    return _profile(setting, seeds)


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
    return on_images(setting, seeds, x, task.y[:POOL])


def on_images(setting: Setting, seeds: list[int], inputs: Tensor, labels: Tensor) -> Rows:
    """Test error after one step and ridge regression when inputs are white components of images, and when normal.

    One realisation shuffles the pool ``inputs (N, d)`` into first batch, second batch and test points. ``target`` says
    the label: ``random``, the sign along a random direction; ``leading``, along the first component; ``parity``,
    ``labels (N,)``. The normal inputs get labels of the same kind; for parity a sign along one direction, with as much
    noise as gives the linear part the images' labels have.
    """
    (count, d), target = inputs.shape, setting["target"]
    linear = (labels @ inputs / count).norm() ** 2 - d / count  # less what chance adds
    share = float((linear * np.pi / 2).clamp(0, 1)) if target == "parity" else 1.0
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([seed, d])
        order = torch.from_numpy(rng.permutation(count))
        theta = network.unit(torch.from_numpy(rng.standard_normal(d)))
        theta = torch.eye(d, dtype=inputs.dtype)[0] if target == "leading" else theta
        normal, noise = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((count, d), count))
        w0 = network.unit(torch.from_numpy(rng.standard_normal((setting["p"], d))))
        kinds = {
            "images": (inputs[order], labels[order] if target == "parity" else torch.sign(inputs[order] @ theta)),
            "normal": (normal, torch.sign(share**0.5 * normal @ theta + (1 - share) ** 0.5 * noise)),
        }
        rows.append({"seed": seed} | {name: _error_on(setting, x, y, w0) for name, (x, y) in kinds.items()})
    return rows


def _error_on(setting: Setting, x: Tensor, y: Tensor, w0: Tensor) -> float:
    """Error on the points after both batches: a step on the first, ridge regression on the second."""
    x, y, w0 = (part.to(devices.pick()) for part in (x, y, w0))
    n0, n = setting["n0"], setting["n"]
    w = network.gradient_step(setting["activation"], w0, x[:n0], y[:n0], setting["step"])
    phi = function(setting["activation"]).tensor(x[None, n0:] @ w.mT) / len(w0) ** 0.5
    a = network.ridge(phi[:, :n], y[None, n0 : n0 + n], setting["lam"])
    return float(squared_error(phi[:, n:], a, y[None, n0 + n :]))
