"""Estimates with intervals, and the power laws of learning curves.

Intervals are 95 % intervals over realisations (independent seeds) unless a function says otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regimes.check import InputError

LEVEL = 0.95  # coverage of every interval in the book


@dataclass(frozen=True)
class Estimate:
    """A measured number with its interval: ``value`` in ``[low, high]`` from ``n`` realisations.

    Raises:
        InputError: if a number is NaN or the interval does not hold the value.
    """

    value: float
    low: float
    high: float
    n: int = 1

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InputError(f"an estimate needs low <= value <= high, got {self.low!r}, {self.value!r}, {self.high!r}")

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:.6g}"
        width = (self.high - self.low) / 2
        scale = max(abs(self.low), abs(self.high), abs(self.value))
        digits = 2 if not width or not scale or math.isinf(scale) else max(2, 2 + math.floor(math.log10(scale / width)))
        return f"{self.value:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]"

    @classmethod
    def exact(cls, value: float, error: float = 0.0, n: int = 1) -> "Estimate":
        """A number known to ``± error`` without sampling (``error``: a bound on its numerical error)."""
        return cls(float(value), float(value) - error, float(value) + error, n)


def bootstrap(
    samples: np.ndarray, statistic: Callable[[np.ndarray], float] = np.mean, *, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Percentile-bootstrap interval of ``statistic`` over realisations.

    Args:
        samples: ``(n, ...)``, one realisation a row; rows are resampled whole.
        statistic: maps an array of the same shape to a number.
        resamples: number of bootstrap draws.
        seed: seed of the draws.

    Raises:
        InputError: if there is no realisation or a sample is NaN.
    """
    samples = np.asarray(samples, dtype=float)
    if samples.ndim == 0 or len(samples) == 0 or np.isnan(samples).any():
        raise InputError(f"samples must hold at least one realisation and no NaN, got shape {samples.shape}")
    rng = np.random.default_rng(seed)
    draws = [statistic(samples[rng.integers(len(samples), size=len(samples))]) for _ in range(resamples)]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value = float(statistic(samples))
    return Estimate(value, min(float(low), value), max(float(high), value), len(samples))
