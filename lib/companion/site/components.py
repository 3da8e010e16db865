"""Pictures of kernel principal components: what each tells, and points in the plane of the first two."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from companion.estimates import mean
from companion.report import plots
from regimes.measures.kernel_pca import Diagnosis


def by_rank(ax: Axes, values: np.ndarray, **style: object) -> None:
    """Means over realisations ``(E, r)`` against the rank 1 … r, with 95 % intervals where there are several."""
    values = np.atleast_2d(np.asarray(values, dtype=float))
    rank, found = np.arange(1, values.shape[1] + 1), [mean(column) for column in values.T]
    (line,) = ax.plot(rank, [one.value for one in found], **{"marker": "o", "markersize": 4} | style)
    if len(values) > 1:
        low, high = [max(one.low, 0) for one in found], [one.high for one in found]
        ax.fill_between(rank, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.set_xticks(rank)
    top = max(one.high if len(values) > 1 else one.value for one in found)
    ax.set(xlabel="rank $r$", ylim=(0, max(1.05 * top, ax.get_ylim()[1] if len(ax.lines) > 1 else 0)))


def plane(ax: Axes, points: Sequence[Sequence[float]], labels: Sequence[float], *, reach: float = 3.5) -> None:
    """Points ``(n, 2)`` in the plane of two components, coloured by label; those beyond ``reach`` at the edge."""
    plots.data_points(ax, np.clip(points, -reach, reach), labels, markersize=3, markeredgewidth=None)
    ax.set(xlim=(-1.05 * reach, 1.05 * reach), ylim=(-1.05 * reach, 1.05 * reach), aspect="equal")
    ax.set(xlabel=r"$\varphi_1$", ylabel=r"$\varphi_2$")


def diagnosis_panels(axes: Sequence[Axes], found: Diagnosis, labels: Sequence[float], **style: object) -> None:
    """Three panels of a diagnosis: information and projection by rank, and the plane of its first realisation."""
    by_rank(axes[0], found.information.numpy(), **style)
    by_rank(axes[1], found.projections.numpy(), **style)
    plane(axes[2], found.vectors[0, :, :2].tolist(), labels)
    axes[0].set_ylabel(r"information $\hat I(\varphi_r;y)$ (bits)")
    axes[1].set_ylabel(r"projection $\omega_r^2$")
