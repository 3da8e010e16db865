"""Agreement of predictions and observations, point by point: estimates over seeds.

Every table has the columns ``seed``, ``observed`` and ``predicted``, and the columns ``keys``, which identify a point
of a seed; all seeds have the same points.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from companion import estimates
from companion.estimates import Estimate
from regimes.validate import InputError


def paired(rows: pd.DataFrame, keys: Sequence[str]) -> np.ndarray:
    """``(seeds, points, 2)``: the prediction and the observation of every point."""
    predicted = rows.pivot_table(index="seed", columns=list(keys), values="predicted")
    observed = rows.pivot_table(index="seed", columns=list(keys), values="observed")
    missing = any(values.isna().to_numpy().any() for values in (predicted, observed))
    if predicted.size != len(rows) or missing:
        raise InputError(f"every seed must have each point of {', '.join(keys)} once")
    return np.stack([predicted.to_numpy(), observed.to_numpy()], axis=-1)


def root_mean_square(rows: pd.DataFrame) -> np.ndarray:
    """The root mean square of observed minus predicted over the points of each seed, ``(seeds,)``."""
    square = (rows.observed - rows.predicted) ** 2
    return np.sqrt(square.groupby(rows.seed).mean().to_numpy())


def slope(rows: pd.DataFrame, keys: Sequence[str], *, within: bool = False) -> Estimate:
    """The least-squares slope of observed on predicted over all points.

    Args:
        rows: the table.
        keys: the columns that identify a point of a seed.
        within: whether each point's mean over seeds is subtracted first, which leaves the differences between seeds.
    """
    axes = 0 if within else (0, 1)

    def fitted(points: np.ndarray) -> float:
        predicted, observed = np.moveaxis(points - points.mean(axis=axes, keepdims=True), -1, 0)
        return float((predicted * observed).sum() / (predicted**2).sum())

    return estimates.jackknife(paired(rows, keys), fitted)


def furthest(rows: pd.DataFrame, keys: Sequence[str]) -> Estimate:
    """The largest distance of a point's mean over seeds from its prediction."""
    predicted, observed = np.moveaxis(paired(rows, keys), -1, 0)
    gaps = observed - predicted
    return -estimates.least(np.hstack([gaps, -gaps]))


def dip(curves: pd.DataFrame) -> np.ndarray:
    """The lower end of each seed's curve minus its value where the mean curve is lowest, ``(seeds,)``.

    Args:
        curves: one row per seed, one column per abscissa, in order.
    """
    lower_end = curves.iloc[:, [0, -1]].min(axis=1)
    lowest = curves.mean().idxmin()
    return (lower_end - curves[lowest]).to_numpy()
