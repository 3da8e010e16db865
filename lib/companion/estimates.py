"""Estimates with intervals, and the exponents of power laws.

Every interval is a 95 % interval over realisations (independent seeds) unless its ``method`` says otherwise. Each
realisation gives one sample (a number, a slope), from any number of points, so that sizes which share data are not
counted twice. Choose the estimator by the quantity:

- ``mean``, ``ratio``, ``exponent``: sums of many small effects, by Student's t over two or more realisations; exact for
  normal scatter (of the logarithms, for ``ratio`` and ``exponent``).
- ``median`` and ``exponent(centre="median")``: data with outliers. They assume only independence and need six
  realisations.
- ``jackknife``: a smooth function of means, such as a ratio of averages.
- ``proportion``: the probability of an event that happened in some realisations and not in others; exact.
- ``least``: the smallest of several means, such as "every step falls".

``tests/test_estimates.py`` checks that each interval covers the truth in 93 to 97 % of 2000 trials with the chapters'
scatter; ``least`` in 98 % if several means nearly tie, ``proportion`` in at least 95 %.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtr, betaincinv, ndtri, stdtrit

from regimes import validate
from regimes.validate import InputError

LEVEL = 0.95  # coverage of every interval over realisations
FEWEST = 5  # realisations: Student's interval of fewer rests on their scatter being normal
MOST = 1000  # realisations that a registered run may need
EXACT, SPAN = "no scatter", "range over settings"
MIXTURE = 3.0  # of a confidence sequence: realisations at which its mixture of means weighs as much as the data
PROPORTION, ANYTIME = "proportion, Clopper and Pearson", ", at any time"
NARROW = "\u202f"  # a narrow space at which no line breaks
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(words: str) -> str:
    """A number's words as a reader writes them: ``150`` for ``1.5e+02``, ``−2 × 10⁻⁵`` for ``-2e-05``, ``16 384``.

    The minus is a true one. A line breaks at none of the spaces.
    """
    digits, _, power = words.partition("e")
    if power and -1 < int(power) < 6:
        digits, power = f"{float(words):.0f}", ""
    if power:
        ten = f"10{str(int(power)).translate(RAISED)}"
        digits = digits[:-1] + ten if digits in ("1", "-1") else f"{digits}{NARROW}×{NARROW}{ten}"
    elif len(digits.lstrip("-").partition(".")[0]) > 4:
        digits = f"{int(digits):,}".replace(",", NARROW) if digits.lstrip("-").isdigit() else digits
    return digits.replace("-", "−").replace("inf", "∞")


def significant(number: float, digits: int = 2) -> str:
    """A number's words with so many digits, zeros among them: ``1.0``, ``0.50``, ``150``."""
    mantissa, e, power = f"{number:#.{digits}g}".partition("e")
    return plain(mantissa.removesuffix(".") + e + power)


@dataclass(frozen=True)
class Estimate:
    """A measured number with its interval: ``value`` in ``[low, high]`` from ``n`` realisations, none of them NaN.

    ``method`` describes the interval; ``numerical`` is the share of its half-width that is numerical error, 1 for a
    number without scatter.
    """

    value: float
    low: float
    high: float
    n: int = 1
    method: str = EXACT
    numerical: float = 0.0

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InputError(f"an estimate needs low <= value <= high, got {self.low!r}, {self.value!r}, {self.high!r}")

    def __str__(self) -> str:
        """The value with its interval, or alone, to four digits, if they agree to five."""
        width, digits = self.high - self.low, 3
        if math.isfinite(width):
            scale = max(abs(self.low), abs(self.high))
            if width <= 1e-5 * scale:
                return plain(f"{self.value:.4g}")
            digits = max(2, 2 + math.floor(math.log10(2 * scale / width)))
        value, low, high = (plain(f"{number:.{digits}g}") for number in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"

    def __format__(self, spec: str) -> str:
        """The value alone in a format such as ``.2g``; without one the words of ``str``."""
        return plain(format(self.value, spec)) if spec else str(self)

    @property
    def judges(self) -> bool:
        """Whether a claim may be judged on it, not on fewer than ``FEWEST`` realisations or equal ones."""
        drawn = self.method.removesuffix(ANYTIME) not in (EXACT, SPAN, PROPORTION)
        return not drawn or (self.n >= FEWEST and self.low < self.high)

    def __neg__(self) -> "Estimate":
        """The estimate of ``-value``, e.g. a learning-curve exponent ``beta`` from a slope."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    def anytime(self) -> "Estimate":
        """The same estimate with an interval that stays valid at any number of looks while realisations are added.

        Both halves are multiplied by ``√((n+ρ)/n · ln((n+ρ)/(ρα²)))/1.96`` with ``ρ = 3``, ``α = 0.05``: 1.55 to 1.7
        times from 6 to 200 realisations. For the sum ``S`` of ``n`` normal samples of mean 0, ``exp(λS − nλ²/2)``
        averaged over a normal ``λ`` of variance ``1/ρ`` is a martingale, ``√(ρ/(n+ρ)) exp(S²/(2(n+ρ)))``, and by
        Ville's inequality it ever reaches ``1/α`` with a probability of ``α`` at most. Student's quantile stays for the
        scatter.

        Source: Robbins, Annals of Mathematical Statistics 41 (1970) 1397.
        """
        if self.method in (EXACT, SPAN):
            return self
        wider = anytime_factor(self.n)
        low, high = self.value - wider * (self.value - self.low), self.value + wider * (self.high - self.value)
        return replace(self, low=low, high=high, method=self.method + ANYTIME)

    @classmethod
    def exact(cls, value: float, error: float = 0.0) -> "Estimate":
        """A number known to ``± error`` without sampling (``error``: a bound on its numerical error)."""
        return cls(float(value), float(value) - error, float(value) + error, numerical=float(error > 0))

    @classmethod
    def span(cls, values: np.ndarray) -> "Estimate":
        """The mean and the whole range of numbers without scatter, one per setting."""
        values = _samples(values)
        return cls(float(values.mean()), float(values.min()), float(values.max()), len(values), SPAN)


@dataclass(frozen=True)
class Drift:
    """A quantity of large sizes, estimated over all sizes and over the larger ones alone.

    Attributes:
        whole: the estimate over all sizes.
        late: the same over the larger half of them, or over even larger ones.
        sizes: the sizes of ``whole``, increasing and positive.
        late_sizes: the sizes of ``late``, larger on average.
    """

    whole: Estimate
    late: Estimate
    sizes: tuple[float, ...]
    late_sizes: tuple[float, ...]

    def __post_init__(self) -> None:
        validate.increasing(sizes=self.sizes, late_sizes=self.late_sizes)
        if min(self.sizes[0], self.late_sizes[0]) <= 0 or self._span() <= 0:
            raise InputError(f"late_sizes must be positive and larger than sizes, got {self.late_sizes}, {self.sizes}")

    def __neg__(self) -> "Drift":
        """The drift of ``-value``."""
        return Drift(-self.whole, -self.late, self.sizes, self.late_sizes)

    def anytime(self) -> "Drift":
        """Both estimates with intervals that are valid at any number of looks."""
        return Drift(self.whole.anytime(), self.late.anytime(), self.sizes, self.late_sizes)

    def disjoint(self) -> bool:
        """Whether the two intervals are disjoint: the number still changes with the size."""
        return self.late.high < self.whole.low or self.late.low > self.whole.high

    def size(self, band: tuple[float, float]) -> float:
        """The size at which a straight line in the logarithm of the size, through the two, enters or leaves ``band``.

        It is at least twice the largest size, and infinite if the line moves away from the band.
        """
        rate = (self.late.value - self.whole.value) / self._span()
        ends = [(end - self.late.value) / rate for end in band if math.isfinite(end) and rate]
        ahead = [step for step in ends if step > 0]
        if not ahead:
            return math.inf
        with np.errstate(over="ignore"):  # infinite, too, where hardly any drift is seen
            reached = float(np.exp(np.log(self.late_sizes).mean() + min(ahead)))
        return max(reached, 2 * max(self.late_sizes))

    def _span(self) -> float:
        return float(np.log(self.late_sizes).mean() - np.log(self.sizes).mean())


def mean(samples: np.ndarray) -> Estimate:
    """The mean over realisations, with Student's t interval.

    Args:
        samples: ``(n,)``, one finite number per realisation. A single one has an infinite interval.
    """
    return _student(_samples(samples), "mean, Student's t")


def ratio(samples: np.ndarray) -> Estimate:
    """The geometric mean over realisations: Student's t on the logarithms.

    Args:
        samples: ``(n,)`` positive numbers, one per realisation, such as one error over another.
    """
    samples = _samples(samples)
    if not (samples > 0).all():
        raise InputError(f"a geometric mean needs samples above 0, got {samples.min():g}")
    logs = _student(np.log(samples), "")
    return Estimate(*(math.exp(v) for v in (logs.value, logs.low, logs.high)), logs.n, "geometric mean, Student's t")


def proportion(samples: np.ndarray) -> Estimate:
    """The probability of an event, from whether it happened in each realisation: Clopper and Pearson's exact interval.

    If it happened always or never, the interval still has a width: ``[0.025^(1/n), 1]`` for ``n`` of ``n``.

    Args:
        samples: ``(n,)`` zeros and ones.
    """
    samples = _samples(samples)
    if not np.isin(samples, (0, 1)).all():
        raise InputError(f"samples of an event must be 0 or 1, got {samples.min():g} to {samples.max():g}")
    n, k, tail = len(samples), int(samples.sum()), (1 - LEVEL) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, low, high, n, PROPORTION)


def median(samples: np.ndarray) -> Estimate:
    """The median over realisations, with the interval between two order statistics.

    The interval from the k-th smallest to the k-th largest sample holds the median with a binomial probability, and is
    interpolated between the two ``k`` around 95 %. With fewer than six realisations it is infinite.

    Source: Hettmansperger and Sheather, Statistics & Probability Letters 4 (1986) 75.
    """
    samples = np.sort(_samples(samples))
    n = len(samples)
    value = float(np.median(samples))
    method = "median, order statistics"
    covers = lambda k: 1 - 2 * bdtr(k - 1, n, 0.5)  # noqa: E731 of [x_(k), x_(n+1-k)]
    if n < 2 or covers(1) < LEVEL:
        return Estimate(value, -math.inf, math.inf, n, method)
    k = next(k for k in range(1, n) if covers(k + 1) < LEVEL)
    share = (covers(k) - LEVEL) / (covers(k) - covers(k + 1))
    weight = (n - k) * share / (k + (n - 2 * k) * share)
    low = (1 - weight) * samples[k - 1] + weight * samples[k]
    high = (1 - weight) * samples[n - k] + weight * samples[n - k - 1]
    return Estimate(value, min(float(low), value), max(float(high), value), n, method)


def jackknife(samples: np.ndarray, statistic: Callable[[np.ndarray], float]) -> Estimate:
    """A smooth function of averages over realisations, with Student's t interval on the jackknife's error.

    Args:
        samples: ``(n, ...)``, one row per realisation.
        statistic: maps an array of that shape, with any number of rows, to a number: smooth in the rows' averages (no
            median, no maximum).
    """
    samples = _samples(samples, "... n")
    n, value = len(samples), float(statistic(samples))
    if n < 2:
        return Estimate(value, -math.inf, math.inf, n, "jackknife, Student's t")
    without = np.array([statistic(np.delete(samples, row, axis=0)) for row in range(n)])
    error = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = _quantile(n) * error
    return Estimate(value, value - half, value + half, n, "jackknife, Student's t")


def least(samples: np.ndarray) -> Estimate:
    """The smallest of several means over the same realisations.

    The low end is the lowest of Student's intervals of all ``k`` means. The high end is the lowest of one-sided
    intervals at ``0.05/k``, which holds for any number of ties.

    Args:
        samples: ``(n, k)``, one row per realisation; the claim "each of ``k`` differences is positive" needs the least.
    """
    samples = _samples(samples, "n k")
    n, k = samples.shape
    means = samples.mean(0)
    if n < 2:
        return Estimate(float(means.min()), -math.inf, math.inf, n, "least of means, Student's t")
    errors = samples.std(0, ddof=1) / math.sqrt(n)
    high = (means + float(stdtrit(n - 1, 1 - (1 - LEVEL) / k)) * errors).min()
    low = (means - _quantile(n) * errors).min()
    return Estimate(float(means.min()), float(low), float(high), n, "least of means, Student's t")


def exponent(
    x: np.ndarray, y: np.ndarray, *, window: tuple[float, float] | None = None, centre: str = "mean"
) -> Estimate:
    """The exponent ``b`` of ``y ~ x^b``: each realisation's least-squares slope of ``log y`` on ``log x``, averaged.

    The mean slope is the pooled least-squares fit over all points, with a level for each realisation. Its interval is
    Student's t over realisations. A learning curve ``error ~ p^(-β)`` has ``β = -exponent(p, error)``.

    Args:
        x: ``(k,)`` positive abscissae, at least two in the window.
        y: ``(n, k)`` positive, one row per realisation, or ``(k,)`` for a single one (whose interval is infinite).
        window: use only ``window[0] <= x <= window[1]``; ``None``: all.
        centre: ``"mean"`` of the slopes, or ``"median"`` against outliers.
    """
    validate.one_of(("mean", "median"), centre=centre)
    found = slopes(x, y, window=window)
    if centre == "median":
        return median(found)
    return _student(found, "pooled fit of logarithms, Student's t")


def slopes(x: np.ndarray, y: np.ndarray, *, window: tuple[float, float] | None = None) -> np.ndarray:
    """The exponent of each realisation, ``(n,)``, for differences of exponents; arguments as of ``exponent``."""
    x, y = np.asarray(x, dtype=float), np.atleast_2d(np.asarray(y, dtype=float))
    if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x) or len(y) == 0:
        raise InputError(f"y must have shape (realisations, len(x)), got x {x.shape} and y {y.shape}")
    if window is not None:
        kept = (window[0] <= x) & (x <= window[1])
        x, y = x[kept], y[:, kept]
    for name, values in {"x": x, "y": y}.items():
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise InputError(f"{name} must be positive and finite to have a logarithm")
    if len(np.unique(x)) < 2:
        raise InputError(f"an exponent needs at least two distinct x in the window {window}, got {len(np.unique(x))}")
    log_x = np.log(x) - np.log(x).mean()
    return np.log(y) @ log_x / (log_x @ log_x)


def anytime_factor(n: int) -> float:
    """By how much an interval from ``n`` realisations is wider at any number of looks (``Estimate.anytime``)."""
    wider = math.sqrt((n + MIXTURE) / n * math.log((n + MIXTURE) / MIXTURE / (1 - LEVEL) ** 2))
    return wider / float(ndtri((1 + LEVEL) / 2))


def deciding(estimate: Estimate, accept: tuple[float, float]) -> float:
    """The factor by which more realisations would decide at this value: ``(half-width / distance to the bound)²``.

    The distance is from the value to the nearest end of ``accept``. The factor is infinite for one realisation, for a
    value on the bound, or without a bound.
    """
    end = min(accept, key=lambda end: abs(estimate.value - end))
    distance = abs(estimate.value - end)
    half = estimate.high - estimate.value if end > estimate.value else estimate.value - estimate.low
    return (half / distance) ** 2 if 0 < distance < math.inf and math.isfinite(half) else math.inf


def seeds_to_decide(estimate: Estimate, accept: tuple[float, float], rival: float) -> float:
    """How many realisations decide a claim in nine of ten draws, by the scatter of an ``estimate``.

    A draw decides if its 95 % interval lies inside ``accept``, or outside. With one realisation's scatter ``s`` the
    interval of ``n`` has the half-width ``t s/√n``, ``t`` Student's quantile, and its centre lies in nine of ten draws
    within ``1.64 s/√n`` of the truth. So a truth at the centre of a band of half-width ``B`` needs
    ``(t + 1.64) s/√n <= B``. Of a band with one end the truth is the rival's, at a distance ``B`` from that end, and
    only one side counts: ``(t + 1.28) s/√n <= B``. So it is for a truth where the estimate is, at a distance ``B``
    from the nearest end; the easier of the two counts, as a claim that is far from its band needs no more than that.
    Geometric means are taken by their logarithms.

    Returns:
        The least ``n`` from ``FEWEST`` on; that of the estimate if it has no scatter; infinity if none up to ``MOST``.
    """
    method = estimate.method.removesuffix(ANYTIME)
    if method in (EXACT, SPAN) or estimate.n < 2:
        return estimate.n
    scale = math.log if method.startswith("geometric") else float
    ends = [scale(end) for end in accept if math.isfinite(end) and (scale is float or end > 0)]
    if not ends or (scale is math.log and rival <= 0):
        return estimate.n
    scatter = _error(estimate, scale(estimate.low), scale(estimate.high)) * math.sqrt(estimate.n)
    declared = ((ends[1] - ends[0]) / 2, 0.95) if len(ends) == 2 else (abs(ends[0] - scale(rival)), 0.9)
    seen = (min(abs(end - scale(estimate.value)) for end in ends), 0.9)
    return min(_enough(scatter, margin, float(ndtri(share))) for margin, share in (declared, seen))


def standard_error(estimate: Estimate) -> float:
    """The standard error behind an interval over realisations, without what several looks add to its width."""
    return _error(estimate, estimate.low, estimate.high)


def _error(estimate: Estimate, low: float, high: float) -> float:
    wider = anytime_factor(estimate.n) if estimate.method.endswith(ANYTIME) else 1.0
    return (high - low) / 2 / wider / _quantile(estimate.n)


def _enough(scatter: float, margin: float, within: float) -> float:
    """The least ``n`` with ``(t + within) scatter/√n <= margin``."""
    counts = range(FEWEST, MOST + 1)
    return next((n for n in counts if scatter * (_quantile(n) + within) <= margin * math.sqrt(n)), math.inf)


def _samples(samples: np.ndarray, shape: str = "n") -> np.ndarray:
    samples = np.asarray(samples, dtype=float)
    validate.arrays(samples=(shape, samples))
    return samples


def _quantile(n: int) -> float:
    return float(stdtrit(n - 1, (1 + LEVEL) / 2))


def _student(samples: np.ndarray, method: str) -> Estimate:
    n, value = len(samples), float(samples.mean())
    half = _quantile(n) * float(samples.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return Estimate(value, value - half, value + half, n, method)
