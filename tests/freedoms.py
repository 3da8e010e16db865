"""What a library is free to return, drawn at random: another processor in one process.

Two libraries that are both right differ in three ways. An eigenvector has no sign, and where eigenvalues are equal no
direction of its own (:func:`turned`). The order of a sum and the last bit of a product, a factorisation or an
exponential are nobody's promise (:func:`noisy`). Vector units are those of the process (:func:`processors`).
``python -m tests.freedoms FILE`` writes the rows of :func:`first_cells` as this process computes them.

Source: Stott Parker, Monte Carlo Arithmetic (UCLA, 1997), for the noise.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from companion.lab import catalogue, parameters
from companion.lab.store import Cell
from companion.lab.study import Rows, Study
from companion.lab.sweep import cells
from companion.papers.depth.studies import depth_scales
from regimes.kernels import biased
from regimes.training.gradient_flow import pairs
from regimes.training.kernel_flow import hinge

ORDERED = {  # what adds or eliminates in an order of the library's own
    "mm", "bmm", "addmm", "addbmm", "baddbmm", "mv", "addmv", "dot", "vdot", "convolution", "convolution_backward",
    "sum", "mean", "cumsum", "cumprod", "prod", "var", "std", "var_mean", "std_mean", "linalg_vector_norm", "norm",
    "logsumexp", "_softmax", "_log_softmax", "_cdist_forward", "_euclidean_dist", "native_layer_norm",
    "native_batch_norm", "linalg_cholesky_ex", "cholesky", "cholesky_solve", "_linalg_solve_ex",
    "linalg_solve_triangular", "triangular_solve", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_inv_ex",
    "_linalg_eigh", "_linalg_svd", "_linalg_eigvals", "linalg_eig", "linalg_qr", "linalg_lstsq", "_linalg_det",
    "_linalg_slogdet",
}  # fmt: skip
ROUNDED = {  # what a library computes to the last bit or so, by its own polynomials
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "erfinv", "softplus", "gelu", "elu",
    "silu", "log_sigmoid_forward", "lgamma", "digamma", "special_erfcx", "special_ndtri", "special_log_ndtr", "rsqrt",
    "tanh_backward", "sigmoid_backward", "gelu_backward", "softplus_backward", "elu_backward",
}  # fmt: skip
COMPILED = {pairs, hinge, biased}  # the modules of C, and so of no noise; each has its own in :func:`noisy`
# margins that are zero but for round-off, and how far below its stop a training ends, of which only the stop is meant;
# their studies are registered as they are, and will declare it when they change next
ZEROS = {
    "counting.architectures": {"margin": (1e-6, 1e-9)},
    "depth_scales.trained_networks": {"residual": (2e-2, depth_scales.FITTED_DISTANCE)},
}
SOLVERS = ("solve", "eigh", "eigvalsh", "inv", "pinv", "lstsq", "svd", "cholesky", "qr")  # of numpy and scipy


def processors() -> dict[str, dict[str, str]]:
    """Environments in which numpy's sorts and sums, torch's, MKL's and the flow's C take other instructions."""
    units = np._core._multiarray_umath.__cpu_dispatch__
    wide = [unit for unit in units if "512" in unit or unit == "X86_V4"]
    narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(wide), "ATEN_CPU_CAPABILITY": "avx2", "CFLAGS": "-mno-avx512f"}
    none = {"NPY_DISABLE_CPU_FEATURES": " ".join(units), "ATEN_CPU_CAPABILITY": "default"}
    return {"no AVX-512": narrow, "no vectors": none | {"MKL_CBWR": "COMPATIBLE", "REGIMES_COMPILED": "0"}}


@functools.cache
def sample(number: str) -> dict[str, tuple[Study, list[Cell]]]:
    """Of each study of a chapter the first smoke cell, and those that add a word to its settings, by its name."""
    chosen: dict[str, tuple[Study, list[Cell]]] = {}
    for study, grid in catalogue.grids(number, parameters.resolve(number, "smoke")).items():
        known: set[tuple[str, Any]] = set()
        found = []
        for cell in cells(study, grid):
            words = {entry for entry in cell.setting.items() if isinstance(entry[1], (str, bool))}
            if not found or words - known:
                found.append(cell)
                known |= words
        chosen[study.name] = study, found
    return chosen


def first_cells() -> dict[str, tuple[Study, Cell]]:
    """The first smoke cell of each study, by its name."""
    chosen = itertools.chain.from_iterable(sample(number).items() for number in parameters.chapters())
    return {name: (study, found[0]) for name, (study, found) in chosen}


def rows(study: Study, cell: Cell) -> Rows:
    """The rows of one cell, as a store would hold them."""
    return study(cell.setting, [cell.seed])


def declared(study: Study) -> Study:
    """A study with the tolerances of its zeros."""
    return dataclasses.replace(study, columns={**study.columns, **ZEROS.get(study.name, {})})


def forget() -> None:
    """Empties what the library and the companion keep of earlier calls, all but data sets and compiled code."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("regimes", "companion.papers")) and not name.endswith((".datasets", "flow.pairs")):
            for kept in vars(module).values():
                if type(kept) is functools._lru_cache_wrapper:
                    kept.cache_clear()


@contextlib.contextmanager
def turned(seed: int) -> Iterator[Counter]:
    """Within it each decomposition has other signs, and another basis where values are equal; counts the calls."""
    rng, calls = np.random.default_rng(seed), Counter()

    def with_signs(name: str, function: Callable, change: Callable) -> Callable:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            calls[name] += 1
            return change(result, rng) if isinstance(result, tuple) else result

        return called

    with pytest.MonkeyPatch.context() as patch:
        for library in (torch.linalg, torch, np.linalg, scipy.linalg):
            for name, change in ("eigh", _eigh), ("svd", _svd), ("qr", _qr):
                if hasattr(library, name):
                    function = getattr(library, name)
                    patch.setattr(library, name, with_signs(f"{library.__name__}.{name}", function, change))
        lanczos = scipy.sparse.linalg.eigsh
        other = with_signs("eigsh", lanczos, _eigh)
        for module in [m for m in sys.modules.values() if getattr(m, "eigsh", None) is lanczos]:
            patch.setattr(module, "eigsh", other)
        forget()
        yield calls
    forget()


def _eigh(result: tuple, rng: np.random.Generator) -> Any:
    values, vectors = result
    return _like(result, (values, _product(vectors, _turns(values, vectors.shape[-1], rng))))


def _svd(result: tuple, rng: np.random.Generator) -> Any:
    """``(U, s, V*)``; the vectors of values that are zero, and those of none, turn each on its own."""
    u, values, vh = result
    left = _turns(values, u.shape[-1], rng)
    right = _turns(values, vh.shape[-2], rng)
    sizes = _numpy(values)
    for index in np.ndindex(sizes.shape[:-1]):
        shared = int((sizes[index] > _round_off(sizes[index])).sum())
        right[index][:shared, :shared] = left[index][:shared, :shared]
    vh_turned = _product(vh.mT if isinstance(vh, Tensor) else np.swapaxes(vh, -1, -2), right)
    vh_turned = vh_turned.mT if isinstance(vh, Tensor) else np.swapaxes(vh_turned, -1, -2)
    return _like(result, (_product(u, left), values, vh_turned))


def _qr(result: tuple, rng: np.random.Generator) -> Any:
    q, r = result[:2]
    signs = rng.choice([-1.0, 1.0], r.shape[-2])
    like = torch.as_tensor(signs).to(r) if isinstance(r, Tensor) else signs.astype(r.dtype)
    return _like(result, (q * like[: q.shape[-1]] if q.shape[-1] else q, r * like[:, None], *result[2:]))


def _turns(values: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random orthogonal matrices ``(..., count, count)`` that mix equal values only, and what has no value."""
    sizes = _numpy(values)
    turns = np.zeros((*sizes.shape[:-1], count, count))
    for index in np.ndindex(sizes.shape[:-1]):
        own = sizes[index]
        start, bound = 0, _round_off(own)
        while start < count:
            end = start + 1
            if start >= len(own):
                end = count
            else:
                while end < min(count, len(own)) and abs(own[end] - own[start]) <= bound:
                    end += 1
            block = rng.standard_normal((end - start, end - start))
            if end - start > 1:
                block = _ORTHOGONAL(block)[0]
            turns[index][start:end, start:end] = np.sign(block) if end - start == 1 else block
            start = end
    return turns


_ORTHOGONAL = np.linalg.qr  # the library's own, before any turn


def _round_off(values: np.ndarray) -> float:
    """How far apart two values may be that are equal but for rounding."""
    eps = np.finfo(values.dtype).eps
    return float(math.sqrt(values.shape[-1]) * eps * abs(values).max(initial=0.0))


def _numpy(values: Any) -> np.ndarray:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _product(vectors: Any, turns: np.ndarray) -> Any:
    return vectors @ (
        torch.from_numpy(turns).to(vectors) if isinstance(vectors, Tensor) else turns.astype(vectors.dtype)
    )


def _like(result: tuple, parts: tuple) -> Any:
    """A tuple of the kind that the library returns."""
    if type(result) is tuple:
        return parts
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


class _Noise(TorchDispatchMode):
    """Adds up to an ulp at random to what sums take and give, and to what elementary functions give.

    Whole numbers stay: their sums and products are exact in any order.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = torch.Generator().manual_seed(seed)
        self.random_start = random.Random(seed)
        self.held: dict[torch.dtype, Tensor] = {}
        self.calls: Counter = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__.removesuffix("_")
        ordered = name in ORDERED
        if ordered:  # a sum's error is that of its parts, and its own last bit
            changed = func._schema.name.endswith("_")  # its first argument is where the result goes
            args = tuple(arg if changed and i == 0 else self._moved(arg) for i, arg in enumerate(args))
        result = func(*args, **kwargs)
        if ordered or name in ROUNDED:
            self.calls[name] += 1
            for part in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(part, Tensor) and part.is_floating_point() and part.numel():
                    part.add_(self._ulps(part))
        return result

    def _moved(self, arg: Any) -> Any:
        if isinstance(arg, Tensor):
            return arg + self._ulps(arg) if arg.is_floating_point() and arg.numel() else arg
        return [self._moved(entry) for entry in arg] if isinstance(arg, list) else arg

    def _ulps(self, array: Tensor) -> Tensor:
        """An ulp up or down, at random; of whole numbers and infinities nothing."""
        size, held = array.numel(), self.held.get(array.dtype)
        if held is None or len(held) < 2 * size:
            eps = torch.finfo(array.dtype).eps
            held = torch.empty(max(2 * size, 1 << 16), dtype=array.dtype).uniform_(-eps, eps, generator=self.random)
            self.held[array.dtype] = held
        start = self.random_start.randrange(len(held) - size + 1)  # a part of one long draw: to draw takes longer
        noise = held[start : start + size].view(array.shape) * array
        return noise.masked_fill_(array == array.round(), 0.0)


@contextlib.contextmanager
def noisy(seed: int) -> Iterator[Counter]:
    """Within it every sum, product, factorisation and exponential of torch, and numpy's solvers, are an ulp off.

    What is compiled has no noise: sums over pairs and layers with biases are taken on tensors. The path of a frozen
    kernel, which is not on tensors, has its margins, velocities, forces and inverse an ulp off after each event.
    """
    rng = np.random.default_rng(seed)
    walk = hinge.HingePath.step

    def step(path: hinge.HingePath, count: float = 1) -> None:
        until = path.events + count
        while path.ended is None and path.events < until:
            walk(path, 1)
            noise.calls["event"] += 1
            for array in (*path.state, *path.rate, path.held.inverse) if path.ended is None else ():
                array[...] = _ulps_off(array, rng)

    def with_noise(function: Callable) -> Callable:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return function(*(_ulps_off(arg, rng) for arg in args), **kwargs)

        return called

    with pytest.MonkeyPatch.context() as patch, _Noise(seed) as noise:
        patch.setattr(pairs, "routines", lambda: None)
        patch.setattr(biased, "compiled", lambda: None)
        patch.setattr(hinge.HingePath, "step", step)
        for library in (np.linalg, scipy.linalg):
            for name in SOLVERS:
                if hasattr(library, name):
                    patch.setattr(library, name, with_noise(getattr(library, name)))
        for name in ("dot", "einsum", "tensordot"):  # of the operator ``@`` and of sums there is none
            patch.setattr(np, name, with_noise(getattr(np, name)))
        forget()
        yield noise.calls
    forget()


def _ulps_off(arg: Any, rng: np.random.Generator) -> Any:
    if not isinstance(arg, np.ndarray) or arg.dtype.kind != "f":
        return arg
    noise = (rng.uniform(-1, 1, arg.shape) * np.finfo(arg.dtype).eps).astype(arg.dtype)
    return np.where(arg == np.round(arg), arg, arg + arg * noise)


def main(file: str) -> None:
    """Writes the rows of the first cell of each study, by the study's name."""
    first = {name: rows(*chosen) for name, chosen in first_cells().items()}
    Path(file).write_text(json.dumps(first, default=lambda value: np.asarray(value).tolist()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
