"""The first ten components of a Gram matrix by Lanczos against full and partial decompositions, side by side.

CPU seconds of one core; what the diagnosis of a network adds to its kernel; four times the points without the matrix.

    python benchmarks/bench_kernel_pca.py [tiny | SIZE ...]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time

import torch
from scipy.linalg import eigh

from regimes.data import tasks
from regimes.kernels import ntk
from regimes.measures import spectrum
from regimes.measures.kernel_pca import diagnose
from regimes.measures.spectrum import tangent_components
from regimes.models.one_hidden import one_hidden


def seconds(run):
    started = time.process_time()
    found = run()
    return found, time.process_time() - started


def report(n):
    task = tasks.stripe(n, 10, seed=0)
    net, more = one_hidden(10, 300, seeds=[0]), tasks.stripe(4 * n, 10, seed=0).x
    gram, making = seconds(lambda: ntk(net, task.x))
    floor = spectrum.round_off(gram)
    few, fast = seconds(lambda: spectrum._scaled(*spectrum._lanczos(gram, 10), floor))
    full, slow = seconds(lambda: spectrum._scaled(*spectrum._lapack(gram, 10), floor))
    _, part = seconds(lambda: eigh(gram[0].numpy(), subset_by_index=[n - 10, n - 1]))
    _, products = seconds(lambda: tangent_components(net, more, 10))
    apart = float(((few.values - full.values) / full.values).abs().max())
    _, whole = seconds(lambda: diagnose(gram, task.y))
    print(
        f"n={n}: Lanczos {fast:.2f} CPU s; full decomposition {slow:.1f}, speed-up {slow / fast:.0f}; LAPACK's ten "
        f"largest {part:.1f}, speed-up {part / fast:.0f}; eigenvalues differ by {apart:.0e}; the kernel {making:.2f}, "
        f"all of its diagnosis {whole:.2f} CPU s; ten components on {4 * n} points by products {products:.2f} CPU s",
        flush=True,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for n in [40] if "tiny" in sys.argv else [int(size) for size in sys.argv[1:]] or [1000, 5000]:
        report(n)
