"""The theory of spiked features for the studies' tables, and limits of their columns in ``1/d``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from companion.papers.one_step.theory import bounds, ridge_theory
from companion.papers.one_step.theory.conditional_map import channel, equivalent
from companion.papers.one_step.theory.functions import function
from companion.papers.one_step.theory.saddle_point import Solution

_SOLVED = ("alpha", "beta", "lam", "r", "c", "gamma", "width", "noise", "bias")


def theory(row: Mapping[str, Any], **changed: Any) -> Solution:
    """The theory of spiked features at the setting of a row, ``changed`` in places by numbers or arrays.

    It takes ``alpha``, ``beta``, ``lam``, either ``r``, ``c``, ``gamma`` or ``alpha0``, ``step``, and ``width``,
    ``noise``, ``bias`` if given.
    """
    at = _spiked(row, changed)
    return ridge_theory.solve(at["activation"], at["target"], **{name: at[name] for name in _SOLVED if name in at})


def learned(row: Mapping[str, Any], t: np.ndarray, **changed: Any) -> np.ndarray:
    """The function that spiked features learn at a row's setting, by theory: the mean output at ``theta·x = t``."""
    solution = theory(row, **changed)
    at = _spiked(row, changed)
    e = channel(function(at["activation"]), function(at["target"]), r=at["r"], c=at["c"], gamma=at["gamma"])
    overlaps = {name: float(getattr(solution, name)) for name in ("m", "zeta", "psi")}
    return bounds.learned_function(e, t, gamma=at["gamma"], **overlaps)


def _spiked(row: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """A row's setting as changed, with the spike and bulk that follow from ``alpha0`` and ``step``."""
    at = {**row, **changed}
    if "r" in at:
        return at
    alpha0, step = np.broadcast_arrays(at["alpha0"], at["step"])
    spikes = []
    for batch, size in zip(alpha0.ravel().tolist(), step.ravel().tolist(), strict=True):
        spikes.append(equivalent(at["activation"], at["target"], alpha0=batch, step=size))
    for name in ("c", "r", "gamma"):
        at[name] = np.reshape([getattr(spike, name) for spike in spikes], alpha0.shape)[()]
    return at


def predicted(table: pd.DataFrame, **fixed: Any) -> pd.DataFrame:
    """The theory of spiked features for each row of a study's table, one column per order parameter.

    The columns are the arguments of ``theory``; ``fixed`` overrides or adds some.
    """
    table = table.assign(**fixed)
    numbers = [name for name in (*_SOLVED, "alpha0", "step") if name in table]
    parts = []
    for names, group in table.groupby(["activation", "target"], sort=False):
        distinct, inverse = np.unique(group[numbers].to_numpy(float), axis=0, return_inverse=True)
        setting = dict(zip(("activation", "target", *numbers), (*names, *distinct.T)))
        solution = theory(setting)
        columns = {name: getattr(solution, name)[inverse.reshape(-1)] for name in ridge_theory.ORDER_PARAMETERS}
        parts.append(pd.DataFrame(columns, index=group.index))
    return pd.concat(parts).loc[table.index]


def block_count(table: pd.DataFrame, keys: Sequence[str]) -> int:
    """The number of realisations (``seed``) that every key has at every size ``d``: blocks for :func:`limits`."""
    return int(table.groupby([*keys, "d"])["seed"].nunique().min())


def limits(table: pd.DataFrame, column: str, keys: Sequence[str], *, blocks: int) -> pd.DataFrame:
    """Intercepts ``a`` of ``column = a + b/d``: one row per group of seeds (``blocks``), one column per key.

    Least squares are weighted by ``d``, as a realisation's variance falls like ``1/d``. Groups share no seeds, so that
    intercepts are independent realisations.
    """
    rows = table.assign(block=table["seed"] % blocks)

    def intercept(part: pd.DataFrame) -> float:
        root = np.sqrt(part["d"].to_numpy(float))
        design = np.stack([root, 1 / root], axis=1)
        return float(np.linalg.lstsq(design, root * part[column].to_numpy(), rcond=None)[0][0])

    intercepts = {key: intercept(part) for key, part in rows.groupby(["block", *keys], sort=False)}
    index = pd.MultiIndex.from_tuples(intercepts, names=["block", *keys])
    return pd.Series([*intercepts.values()], index=index).unstack(list(keys))


def controlled(table: pd.DataFrame, column: str, control: str, keys: Sequence[str]) -> pd.Series:
    """``column`` minus its regression, within each key and size, on a ``control`` whose mean tends to 1."""
    parts = []
    for _, part in table.groupby(list(keys), sort=False):
        y, x = (part[name] - part.groupby("d")[name].transform("mean") for name in (column, control))
        parts.append(part[column] - float((x * y).sum() / (x * x).sum()) * (part[control] - 1))
    return pd.concat(parts).loc[table.index]
