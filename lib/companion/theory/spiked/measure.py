"""What the studies measure on simulated networks and features; a setting is a dictionary of plain values."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from companion.theory.spiked import bounds, fit_readout, network, population, ridge_theory
from companion.theory.spiked import row_covariance as own
from companion.theory.spiked.conditional_map import Spiked, channel, equivalent, feature_moments, stack
from companion.theory.spiked.functions import function
from companion.theory.spiked.triangle import Solution
from regimes import devices

Setting = Mapping[str, Any]


def rows(measured: Mapping[str, Tensor], seeds: Sequence[int], **fixed: Any) -> list[dict[str, Any]]:
    """One row a seed from tensors ``(S,)``."""
    return [fixed | {"seed": s} | {name: float(v[i]) for name, v in measured.items()} for i, s in enumerate(seeds)]


def weights(setting: Setting, seeds: Sequence[int]) -> network.Weights:
    """The network after one step, or spiked features, as ``setting["model"]`` says; on CUDA where a study may use it.

    Features take ``r``, ``c``, ``gamma`` where the setting has them, else those equivalent to its ``alpha0``, ``step``.
    """
    d, p = setting["d"], round(setting["beta"] * setting["d"])
    if setting["model"] == "network":
        n0 = round(setting["alpha0"] * d)
        names = {name: setting[name] for name in ("activation", "target", "step")}
        return network.one_step(**names, d=d, p=p, n0=n0, seeds=seeds, device="auto")
    if "r" in setting:
        kind = {name: setting[name] for name in ("r", "c", "gamma")}
    else:
        s = equivalent(setting["activation"], setting["target"], alpha0=setting["alpha0"], step=setting["step"])
        kind = {"r": s.r, "c": s.c, "gamma": s.gamma}
    kind |= {"rows": setting.get("rows", "sphere"), "device": "auto"}
    return network.spiked_features(d=d, p=p, seeds=seeds, **kind)


def curve(setting: Setting, seeds: Sequence[int], drawn: network.Weights | None = None) -> list[dict[str, Any]]:
    """Errors and overlaps at each of ``setting["alphas"]``, rows for every seed."""
    names = {name: setting[name] for name in ("activation", "target", "alphas", "lam")}
    points = network.learning_curve(weights=drawn or weights(setting, seeds), seeds=seeds, **names)
    return [row for alpha, point in zip(setting["alphas"], points) for row in rows(point, seeds, alpha=alpha)]


def gaussian_pair(setting: Setting, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Test error on the true features and on the conditional Gaussian ones, same inputs: ``true``, ``gaussian``."""
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    n, p = round(setting["alpha"] * setting["d"]), drawn.w.shape[1]
    x, y = network.second_batch(target, drawn, n, seeds)
    x_test, y_test = network.test_set(target, drawn, seeds, 2000)
    noise = network.draw(seeds, "fresh", n + 2000, p, d=setting["d"], device=x.device)

    def mapped(x: Tensor, noise: Tensor) -> Tensor:
        shift = setting["r"] * (x @ drawn.v[..., None]).squeeze(-1).cpu().numpy()
        moments = feature_moments(activation, shift, setting["c"])
        kappa0, kappa1, kappa2 = (torch.from_numpy(k).to(x)[..., None] for k in moments)
        return (kappa0 + kappa1 * (x @ drawn.bulk.mT) + kappa2.sqrt() * noise) / p**0.5

    def error(phi: Tensor, phi_test: Tensor) -> Tensor:
        a = network.ridge(phi, y, setting["lam"])
        return ((phi_test @ a[..., None]).squeeze(-1) - y_test).square().mean(-1)

    return {
        "true": error(network.feature_map(activation, drawn, x), network.feature_map(activation, drawn, x_test)),
        "gaussian": error(mapped(x, noise[:, :n]), mapped(x_test, noise[:, n:])),
    }


def profile(setting: Setting, seeds: Sequence[int], *, points: int) -> dict[float, Tensor]:
    """Mean output ``(S,)`` over all inputs with ``theta·x = t``, at ``points`` values of ``t`` in ``[-3, 3]``."""
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * setting["d"]), seeds)
    a = network.ridge(network.feature_map(activation, drawn, x), y, setting["lam"])
    t = torch.linspace(-3, 3, points, dtype=a.dtype).to(a)
    outputs = population.mean_output(activation, drawn.w, drawn.theta, a, t)
    return {float(level): outputs[:, i] for i, level in enumerate(t)}


def eigenvalues(setting: Setting, seeds: Sequence[int]) -> Tensor:
    """Eigenvalues of ``Phi^T Phi / p``, ascending, ``(S, p)``."""
    drawn = weights(setting, seeds)
    n, d = round(setting["alpha"] * setting["d"]), setting["d"]
    x = network.draw(seeds, "train", n, d, d=d, device=drawn.w.device)
    phi = network.feature_map(function(setting["activation"]), drawn, x)
    return torch.linalg.eigvalsh(phi.mT @ phi)


def convex_errors(setting: Setting, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Squared error and share of wrong signs of the readout under ``setting["loss"]``, and the ridge ``objective``.

    The penalty is ``lam/2 |a|^2`` beside losses with a half, so the square loss here is the ridge of the theory.
    """
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * setting["d"]), seeds, setting["noise"])
    phi = network.feature_map(activation, drawn, x, setting["bias"])
    a = fit_readout.readout(phi, y, setting["loss"], setting["lam"], delta=setting["delta"])
    x_test, y_test = network.test_set(target, drawn, seeds)
    f = (network.feature_map(activation, drawn, x_test, setting["bias"]) @ a[..., None]).squeeze(-1)
    fit = (phi @ a[..., None]).squeeze(-1) - y
    return {
        "test_error": (f - y_test).square().mean(-1),
        "sign_error": (f * y_test < 0).double().mean(-1),
        "objective": fit.square().mean(-1) + setting["lam"] * a.square().sum(-1) / y.shape[-1],
    }


def network_beside_features(setting: Setting, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Test errors of the network and of spiked features on the same draws, and three theories at each first batch.

    ``network``, ``features``; ``srf``, ``rows``, ``corrected``.
    """
    drawn = weights({**setting, "model": "network"}, seeds)
    names = {name: setting[name] for name in ("activation", "target", "lam")}
    models = {
        "network": drawn,
        "features": network.equivalent_features(setting["activation"], drawn, setting["step"], seeds),
    }
    measured = {
        label: network.learning_curve(weights=w, alphas=[setting["alpha"]], seeds=seeds, **names)[0]["test_error"]
        for label, w in models.items()
    }
    for label, (rows, norms) in {"srf": (False, False), "rows": (True, False), "corrected": (True, True)}.items():
        measured[label] = torch.tensor([_own(setting, drawn, i, rows, norms) for i in range(len(seeds))])
    return measured


def _own(setting: Setting, drawn: network.Weights, i: int, rows: bool, norms: bool) -> float:
    """The theory at the first batch of realisation ``i``."""
    x0, y0, theta = (part[i].cpu().numpy() for part in (*drawn.batch, drawn.theta))
    names = {name: setting[name] for name in ("activation", "target", "lam", "step", "alpha", "beta")}
    return float(own.predict_network(**names, x0=x0, y0=y0, theta=theta, rows=rows, norms=norms).test_error)


def trained_bias(setting: Setting, seeds: Sequence[int], *, reach: float = 4.0) -> dict[str, Tensor]:
    """The uniform bias in ``[-reach, reach]`` at which each realisation's training objective is smallest: ``bias``.

    Ridge regression at every bias of a grid of 33, then a parabola through the lowest three.
    """
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * setting["d"]), seeds)
    z, p = x @ drawn.w.mT, drawn.w.shape[1]
    biases = torch.linspace(-reach, reach, 33, dtype=z.dtype).to(z)

    def objective(bias: Tensor) -> Tensor:
        phi = activation.tensor(z + bias) / p**0.5
        a = network.ridge(phi, y, setting["lam"])
        fit = (phi @ a[..., None]).squeeze(-1) - y
        return fit.square().sum(-1) + setting["lam"] * a.square().sum(-1)

    values = torch.stack([objective(b) for b in biases], dim=-1)  # (S, 33)
    best = values.argmin(-1, keepdim=True).clamp(1, len(biases) - 2)
    left, centre, right = (values.gather(-1, best + shift).squeeze(-1) for shift in (-1, 0, 1))
    step = (biases[1] - biases[0]) * (left - right) / (2 * (left - 2 * centre + right))
    return {"bias": biases[best.squeeze(-1)] + step}


def on_images(setting: Setting, seeds: Sequence[int], inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Test error after one step and ridge regression when inputs are white components of images, and when normal.

    One realisation shuffles the pool ``inputs (N, d)`` into first batch, second batch and test points. ``target`` says
    the label: ``random``, the sign along a random direction; ``leading``, along the first component; ``parity``,
    ``labels (N,)``. The normal inputs get labels of the same kind; for parity a sign along one direction, with as much
    noise as gives the linear part the images' labels have.

    Returns:
        ``images`` and ``normal``, mean squared errors ``(S,)``.
    """
    found = {"images": [], "normal": []}
    d, n0, n = inputs.shape[1], setting["n0"], setting["n"]
    linear = (labels @ inputs / len(labels)).norm() ** 2 - d / len(labels)  # less what chance adds
    for seed in seeds:
        rng = np.random.default_rng([seed, d])
        order = torch.from_numpy(rng.permutation(len(inputs)))
        theta = network.unit(torch.from_numpy(rng.standard_normal(d)))
        theta = torch.eye(d, dtype=inputs.dtype)[0] if setting["target"] == "leading" else theta
        normal = torch.from_numpy(rng.standard_normal(inputs.shape))
        share = float((linear * np.pi / 2).clamp(0, 1)) if setting["target"] == "parity" else 1.0
        noise = torch.from_numpy(rng.standard_normal(len(inputs)))
        along = torch.sign(inputs[order] @ theta)
        kinds = {
            "images": (inputs[order], labels[order] if setting["target"] == "parity" else along),
            "normal": (normal, torch.sign(share**0.5 * normal @ theta + (1 - share) ** 0.5 * noise)),
        }
        w0 = network.unit(torch.from_numpy(rng.standard_normal((setting["p"], d))))
        for name, (x, y) in kinds.items():
            found[name].append(_trained(setting, x, y, w0, n0, n))
    return {name: torch.stack(values) for name, values in found.items()}


def _trained(setting: Setting, x: Tensor, y: Tensor, w0: Tensor, n0: int, n: int) -> Tensor:
    """Error on the points after the first ``n0 + n``: a step on the first, ridge regression on the second batch."""
    x, y, w0 = (part.to(devices.pick()) for part in (x, y, w0))
    w = network.gradient_step(setting["activation"], w0, x[:n0], y[:n0], setting["step"])
    phi = function(setting["activation"]).tensor(x[n0:] @ w.mT) / len(w0) ** 0.5
    a = network.ridge(phi[None, :n], y[None, n0 : n0 + n], setting["lam"])[0]
    return (phi[n:] @ a - y[n0 + n :]).square().mean()


def theory(row: Mapping[str, Any], **changed: Any) -> Solution:
    """The theory of spiked features at the setting of a row, ``changed`` in places by numbers or arrays.

    Takes ``alpha``, ``beta``, ``lam`` and either ``r``, ``c``, ``gamma`` or ``alpha0``, ``step``; and ``width``,
    ``noise``, ``bias`` where they are there.
    """
    at = _spiked(row, changed)
    return ridge_theory.solve(at["activation"], at["target"], **{name: at[name] for name in _SOLVED if name in at})


def learned(row: Mapping[str, Any], t: np.ndarray, **changed: Any) -> np.ndarray:
    """What spiked features learn along the target at a row's setting, by theory: the mean output at ``theta·x = t``."""
    found, at = theory(row, **changed), _spiked(row, changed)
    kind = {name: at[name] for name in ("r", "c", "gamma")}
    e = channel(function(at["activation"]), function(at["target"]), **kind)
    overlaps = {name: float(getattr(found, name)) for name in ("m", "zeta", "psi")}
    return bounds.learned_function(e, t, gamma=at["gamma"], **overlaps)


def _spiked(row: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """A row's setting as changed, with the spike and bulk that follow from ``alpha0`` and ``step``."""
    at = {**row, **changed}
    if "r" in at:
        return at
    names = at["activation"], at["target"]
    kinds = np.vectorize(lambda alpha0, step: (*vars(equivalent(*names, alpha0=alpha0, step=step)).values(),), "ddd")
    return at | {name: one[()] for name, one in zip(("c", "r", "gamma"), kinds(at["alpha0"], at["step"]))}


def predicted(table: pd.DataFrame, **fixed: Any) -> pd.DataFrame:
    """The theory of spiked features beside each row of a study's table, every order parameter a column.

    The columns are what ``theory`` takes; ``fixed`` overrides them or adds to them.
    """
    table = table.assign(**fixed)
    numbers = [name for name in (*_SOLVED, "alpha0", "step") if name in table]
    parts = []
    for names, group in table.groupby(["activation", "target"], sort=False):
        distinct, inverse = np.unique(group[numbers].to_numpy(float), axis=0, return_inverse=True)
        found = theory(dict(zip(("activation", "target"), names)) | dict(zip(numbers, distinct.T)))
        columns = {name: getattr(found, name)[inverse.reshape(-1)] for name in ridge_theory.ORDER_PARAMETERS}
        parts.append(pd.DataFrame(columns, index=group.index))
    return pd.concat(parts).loc[table.index]


def without_zeta(
    activation: str, target: str, *, alpha: np.ndarray, beta: float, lam: float, spiked: Spiked
) -> Solution:
    """The saddle point whose overlap ``zeta`` is left out, one an ``alpha``."""
    one = channel(function(activation), function(target), **vars(spiked))
    e = stack([dataclasses.replace(one, k=0 * one.k)] * len(alpha))
    numbers = dict(beta=beta, lam=lam, c=spiked.c, width=np.inf, noise=0.0)
    arrays = {name: np.full(len(alpha), value) for name, value in numbers.items()}
    return ridge_theory.saddle_point(e, alpha=np.asarray(alpha, float), **arrays)


_SOLVED = ("alpha", "beta", "lam", "r", "c", "gamma", "width", "noise", "bias")


def fewest(table: pd.DataFrame, keys: Sequence[str]) -> int:
    """The number of realisations (``seed``) that every key has at every size ``d``: blocks for :func:`limits`."""
    return int(table.groupby([*keys, "d"])["seed"].nunique().min())


def limits(table: pd.DataFrame, column: str, keys: Sequence[str], *, blocks: int) -> pd.DataFrame:
    """Intercepts ``a`` of ``column = a + b/d``: a row for each of ``blocks`` groups of seeds, a column for each key.

    Weighted least squares with the weight ``d``, as a realisation's variance falls like ``1/d``. The groups share no
    seed, so that each intercept is one independent realisation.
    """
    rows = table.assign(block=table["seed"] % blocks)

    def intercept(part: pd.DataFrame) -> float:
        root = np.sqrt(part["d"].to_numpy(float))
        design = np.stack([root, 1 / root], axis=1)
        return float(np.linalg.lstsq(design, root * part[column].to_numpy(), rcond=None)[0][0])

    found = [(key, intercept(part)) for key, part in rows.groupby(["block", *keys], sort=False)]
    index = pd.MultiIndex.from_tuples([key for key, _ in found], names=["block", *keys])
    return pd.Series([value for _, value in found], index=index).unstack(list(keys))


def controlled(table: pd.DataFrame, column: str, control: str, keys: Sequence[str]) -> pd.Series:
    """``column`` less what a ``control`` whose mean tends to 1 explains of it: the slope within each key and size."""
    parts = []
    for _, part in table.groupby(list(keys), sort=False):
        y, x = (part[name] - part.groupby("d")[name].transform("mean") for name in (column, control))
        parts.append(part[column] - float((x * y).sum() / (x * x).sum()) * (part[control] - 1))
    return pd.concat(parts).loc[table.index]
