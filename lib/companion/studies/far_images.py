"""Chapter 4, learning curves on images at a size beyond those of ``kernel_pca.curves``: the network and its kernel."""

from companion.experiments.sweep import Rows, Setting, study
from companion.studies.kernel_pca import curves, statistical_columns

CHAPTER = "04"
SHARED = "data alpha softness max_turn max_move h n test descent"
AXES = {name: curves.grid.axes[name] for name in SHARED.split()} | {"p": "count from 20 to 1e5"}


def _large(setting: Setting) -> Setting:
    """A setting as one of ``curves``, at which no components are measured and no kernel on the way."""
    return curves.grid.complete(setting | {"sizes": [setting["p"], None], "stops": []})


@study(version=1, axes=AXES, complete=_large, chunk=1, rtol=2e-2, device="any", columns=statistical_columns())
def far(setting: Setting, seeds: list[int]) -> Rows:
    """As ``kernel_pca.curves``, errors alone: the network at the end, its kernels at the start and at the end.

    Source: paper A, Fig. 9; paper B, Sec. 5.
    """
    return curves.function(setting, seeds)
