"""What the studies measure on simulated networks and features; a setting is a dictionary of plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from regimes.themes.spiked import fit_readout, network, ridge_theory
from regimes.themes.spiked import row_covariance as own
from regimes.themes.spiked.conditional_map import equivalent, feature_moments
from regimes.themes.spiked.functions import function

Setting = Mapping[str, Any]


def rows(measured: Mapping[str, Tensor], seeds: Sequence[int], **fixed: Any) -> list[dict[str, Any]]:
    """One row a seed from tensors ``(S,)``."""
    return [fixed | {"seed": s} | {name: float(v[i]) for name, v in measured.items()} for i, s in enumerate(seeds)]


def weights(setting: Setting, seeds: Sequence[int]) -> network.Weights:
    """The network after one step, or spiked features, as ``setting["model"]`` says.

    Features take ``r``, ``c``, ``gamma`` where the setting has them, else those equivalent to its ``alpha0``, ``step``.
    """
    d, p = setting["d"], round(setting["beta"] * setting["d"])
    if setting["model"] == "network":
        n0 = round(setting["alpha0"] * d)
        names = {name: setting[name] for name in ("activation", "target", "step")}
        return network.one_step(**names, d=d, p=p, n0=n0, seeds=seeds)
    if "r" in setting:
        kind = {name: setting[name] for name in ("r", "c", "gamma")}
    else:
        s = equivalent(setting["activation"], setting["target"], alpha0=setting["alpha0"], step=setting["step"])
        kind = {"r": s.r, "c": s.c, "gamma": s.gamma}
    return network.spiked_features(d=d, p=p, seeds=seeds, rows=setting.get("rows", "sphere"), **kind)


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
    noise = network.draw(seeds, "fresh", n + 2000, p, d=setting["d"])

    def mapped(x: Tensor, noise: Tensor) -> Tensor:
        shift = setting["r"] * (x @ drawn.v[..., None]).squeeze(-1).numpy()
        kappa0, kappa1, kappa2 = (
            torch.from_numpy(k)[..., None] for k in feature_moments(activation, shift, setting["c"])
        )
        return (kappa0 + kappa1 * (x @ drawn.bulk.mT) + kappa2.sqrt() * noise) / p**0.5

    def error(phi: Tensor, phi_test: Tensor) -> Tensor:
        a = network.ridge(phi, y, setting["lam"])
        return ((phi_test @ a[..., None]).squeeze(-1) - y_test).square().mean(-1)

    return {
        "true": error(network.features(activation, drawn, x), network.features(activation, drawn, x_test)),
        "gaussian": error(mapped(x, noise[:, :n]), mapped(x_test, noise[:, n:])),
    }


def profile(setting: Setting, seeds: Sequence[int], *, points: int) -> dict[float, Tensor]:
    """Mean output given ``theta·x = t`` at ``points`` values of ``t`` in ``[-3, 3]``: ``(S,)`` each."""
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * setting["d"]), seeds)
    a = network.ridge(network.features(activation, drawn, x), y, setting["lam"])
    z = network.draw(seeds, "test", 500, setting["d"], d=setting["d"])
    across = z - (z @ drawn.theta[..., None]) * drawn.theta[:, None, :]
    return {
        float(t): (network.features(activation, drawn, across + t * drawn.theta[:, None, :]) @ a[..., None]).mean(
            (1, 2)
        )
        for t in np.linspace(-3, 3, points)
    }


def eigenvalues(setting: Setting, seeds: Sequence[int]) -> Tensor:
    """Eigenvalues of ``Phi^T Phi / p``, ascending, ``(S, p)``."""
    drawn = weights(setting, seeds)
    x = network.draw(seeds, "train", round(setting["alpha"] * setting["d"]), setting["d"], d=setting["d"])
    phi = network.features(function(setting["activation"]), drawn, x)
    return torch.linalg.eigvalsh(phi.mT @ phi)


def convex_errors(setting: Setting, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Squared error and share of wrong signs of the readout under ``setting["loss"]``, and the ridge ``objective``.

    The penalty is ``lam/2 |a|^2`` beside losses with a half, so the square loss here is the ridge of the theory.
    """
    activation, target = function(setting["activation"]), function(setting["target"])
    drawn = weights(setting, seeds)
    x, y = network.second_batch(target, drawn, round(setting["alpha"] * setting["d"]), seeds, setting["noise"])
    phi = network.features(activation, drawn, x, setting["bias"])
    a = fit_readout.readout(phi, y, setting["loss"], setting["lam"], delta=setting["delta"])
    x_test, y_test = network.test_set(target, drawn, seeds)
    f = (network.features(activation, drawn, x_test, setting["bias"]) @ a[..., None]).squeeze(-1)
    fit = (phi @ a[..., None]).squeeze(-1) - y
    return {
        "test_error": (f - y_test).square().mean(-1),
        "sign_error": (f * y_test < 0).double().mean(-1),
        "objective": fit.square().mean(-1) + setting["lam"] * a.square().sum(-1) / y.shape[-1],
    }


def departure(setting: Setting, seeds: Sequence[int]) -> dict[str, Tensor]:
    """The network's test error and three theories at each seed's own first batch: ``srf``, ``rows``, ``corrected``."""
    drawn = weights({**setting, "model": "network"}, seeds)
    names = {name: setting[name] for name in ("activation", "target", "lam")}
    point = network.learning_curve(weights=drawn, alphas=[setting["alpha"]], seeds=seeds, **names)[0]
    measured = {"network": point["test_error"]}
    for label, kept in {"srf": (False, False), "rows": (True, False), "corrected": (True, True)}.items():
        measured[label] = torch.tensor(
            [
                own.predict(
                    **names,
                    x0=drawn.batch[0][i].numpy(),
                    y0=drawn.batch[1][i].numpy(),
                    theta=drawn.theta[i].numpy(),
                    step=setting["step"],
                    alpha=setting["alpha"],
                    beta=setting["beta"],
                    rows=kept[0],
                    norms=kept[1],
                ).test_error
                for i in range(len(seeds))
            ]
        )
    return measured


def predicted(table: pd.DataFrame, **fixed: Any) -> pd.DataFrame:
    """The theory of spiked features beside each row of a study's table, every order parameter a column.

    Takes ``alpha``, ``beta``, ``lam`` and either ``r``, ``c``, ``gamma`` or ``alpha0``, ``step`` from the columns;
    ``fixed`` overrides them or adds ``width``, ``noise``, ``bias``.
    """
    table = table.assign(**fixed)
    if "r" not in table:
        table = table.join(_equivalents(table), on=["activation", "target", "alpha0", "step"])
    numbers = [name for name in _SOLVED if name in table]
    parts = []
    for (activation, target), group in table.groupby(["activation", "target"], sort=False):
        distinct, inverse = np.unique(group[numbers].to_numpy(float), axis=0, return_inverse=True)
        found = ridge_theory.solve(activation, target, **dict(zip(numbers, distinct.T)))
        columns = {name: np.asarray(getattr(found, name))[inverse.reshape(-1)] for name in vars(found)}
        parts.append(pd.DataFrame(columns, index=group.index))
    return pd.concat(parts).loc[table.index]


_SOLVED = ("alpha", "beta", "lam", "r", "c", "gamma", "width", "noise", "bias")


def _equivalents(table: pd.DataFrame) -> pd.DataFrame:
    names = ["activation", "target", "alpha0", "step"]
    distinct = table[names].drop_duplicates().set_index(names)
    found = [vars(equivalent(a, t, alpha0=float(a0), step=float(st))) for a, t, a0, st in distinct.index]
    return pd.DataFrame(found, index=distinct.index)
