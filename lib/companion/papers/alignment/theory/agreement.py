"""Agreement of predictions and observations, point by point: estimates over seeds.

Every table has the columns ``seed``, ``observed`` and ``predicted``.
"""

import numpy as np
import pandas as pd


def root_mean_square(rows: pd.DataFrame) -> np.ndarray:
    """The root mean square of observed minus predicted over the points of each seed, ``(seeds,)``."""
    square = (rows.observed - rows.predicted) ** 2
    return np.sqrt(square.groupby(rows.seed).mean().to_numpy())


def dip(curves: pd.DataFrame) -> np.ndarray:
    """The lower end of each seed's curve minus its value where the mean curve is lowest, ``(seeds,)``.

    Args:
        curves: one row per seed, one column per abscissa, in order.
    """
    lower_end = curves.iloc[:, [0, -1]].min(axis=1)
    lowest = curves.mean().idxmin()
    return (lower_end - curves[lowest]).to_numpy()
