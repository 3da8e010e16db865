"""No number of a study hangs on what a library is free to return, and each column says what round-off does to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
import torch

from companion.lab import catalogue, parameters
from companion.lab.compare import differences
from companion.papers.depth.theory import finite, last_layer
from companion.papers.one_step.theory import network
from regimes.data.tasks import stripe
from regimes.kernels import infinite_ntk, wide_one_hidden_ntk
from regimes.training import kernel_flow
from tests import freedoms
from tests.references import ROOT

SEED = 20261129
CHAPTERS = {name: number for number in parameters.chapters() for name in catalogue.of(number)}  # of each study
# half of the seconds that signs take all studies are theirs
LONG = {
    "counting.architectures", "voting.votes", "jamming.steps_to_fit", "rest.minima_at_jamming", "rest.peak_at_jamming",
    "depth_scales.one_depth", "large_p.own_images", "placing.placed",
}  # fmt: skip
# their further cells cost more than all others together
DEAR = {
    "depth.layer_kernels", "depth.layer_prediction", "fitting.exclusion", "hard_margin.star_kernel",
    "jamming.ensembles", "kernel_pca.image_curves", "kernel_pca.kernel_along_training",
    "lazy_feature.networks", "selection.boundary", "spiked.white_images",
}  # fmt: skip
# a tenth of the studies that noise does not slow down, of each chapter
NOISY_DAILY = {
    "lazy_feature.compressed_by_factor", "compression.noise", "jamming.initialisation", "separability.random_labels",
    "isotropic.initial_components", "depth.projectors", "depth.finite_last_layer", "depth_scales.finite_networks",
    "depth_scales.ensembles", "alignment.lazy_predictions", "initial_alignment.reversal", "initial_alignment.decays",
    "spiked.readout_vocabulary", "spiked.agreement", "spiked.multiple_steps",
}  # fmt: skip
EACH = [name if name in NOISY_DAILY else pytest.param(name, marks=pytest.mark.weekly) for name in CHAPTERS]


def apart(study, cell, free):
    """Where the rows under a freedom are not those of this process, to the tolerance of each column."""
    freedoms.forget()
    return differences(freedoms.declared(study), {cell: freedoms.rows(study, cell)}, {cell: free})


def turned(study, chosen):
    """The differences that other signs make to cells; those that ask for no decomposition are computed once."""
    found = []
    for cell in chosen:
        with freedoms.turned(SEED) as calls:
            rows = freedoms.rows(study, cell)
        found += apart(study, cell, rows) if calls else []
    return found


def test_noise_reaches_what_runs_in_c():
    """Every module of C is one that the noise knows; a path and layers with biases move by round-off, not more."""
    named = {path for path in (ROOT / "lib/regimes").rglob("*.py") if "= compiler.Code(" in path.read_text()}
    assert named == {Path(module.__file__) for module in freedoms.COMPILED}
    task = stripe(60, 4, seed=0)
    x, kernel = task.x.reshape(60, 4), wide_one_hidden_ntk(task.x.reshape(60, 4))

    def computed():
        end = kernel_flow.fit(kernel, task.y.flatten())
        return infinite_ntk(x, depth=3, bias=0.5), end.coefficients, end.t

    before = computed()
    with freedoms.noisy(SEED) as calls:
        after = computed()
    assert calls["event"] > 60
    for one, other in zip(before, after, strict=True):
        assert 0 < float((one - other).abs().max() / one.abs().max()) < 1e-10


@pytest.mark.parametrize("number", parameters.chapters())
def test_no_study_depends_on_the_signs_of_eigenvectors(number):
    """15 CPU seconds for the seven chapters."""
    sample = freedoms.sample(number)
    found = []
    for name, (study, chosen) in sample.items():
        if name not in LONG:
            found += turned(study, chosen[:1] if name in DEAR else chosen)
    assert sample and not found, "\n".join(found)


@pytest.mark.weekly
@pytest.mark.parametrize("name", sorted(DEAR | LONG))
def test_no_dear_cell_depends_on_them(name):
    study, chosen = freedoms.sample(CHAPTERS[name])[name]
    found = turned(study, chosen if name in LONG else chosen[1:])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", EACH)
def test_round_off_stays_within_what_each_column_declares(name):
    """Monte Carlo arithmetic: each sum, product, factorisation and exponential an ulp off, in the first cell."""
    study, (first, *_) = freedoms.sample(CHAPTERS[name])[name]
    with freedoms.noisy(SEED):
        rows = freedoms.rows(study, first)
    assert not apart(study, first, rows)


@pytest.mark.weekly
@pytest.mark.parametrize("processor", freedoms.processors())
def test_another_processor_computes_the_first_cell_of_each_study(processor, tmp_path):
    there = computed_on(processor, tmp_path / "rows.json")
    for name, (study, first) in freedoms.first_cells().items():
        assert not apart(study, first, there[name])


def computed_on(processor, path):
    """The rows of each study's first cell in a process with the vector units of another processor."""
    run([sys.executable, "-m", "tests.freedoms", str(path)], processor)
    return json.loads(path.read_text(encoding="utf-8"))


def run(command, processor):
    env = os.environ | freedoms.processors()[processor]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("processor", freedoms.processors())
def test_the_zeros_of_labels_do_not_hang_on_a_sort(processor):
    """A sort keeps -0 or 0 of the two by its vector unit; the message names the label, and so shows it."""
    program = (
        "import torch; from regimes.measures.information import needs_repeated, _points_and_labels\n"
        "y = torch.tensor([1.0, -1.0, -1.0, 1.0]).repeat(12)\n"
        "for zeros in (0 * y, -0 * y, 0 * y[:8], 0 * y[2:10]):\n"
        "    try: needs_repeated(_points_and_labels(torch.zeros(len(zeros)), zeros)[1])\n"
        "    except ValueError as error: assert 'got 0.0 alone' in str(error), error\n"
    )
    run([sys.executable, "-c", program], processor)


def test_a_study_that_depends_on_signs_is_noticed():
    """The root that finite networks had: of the right law, and another draw with each library."""
    gram = torch.cov(torch.randn(5, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    one = torch.ones(5, dtype=torch.float64)

    def old_root():
        values, vectors = torch.linalg.eigh(gram)
        return values.sqrt()[:, None] * vectors.mT

    before, root = old_root(), finite.symmetric_root(gram)
    with freedoms.turned(SEED):
        other, turned_root = old_root(), finite.symmetric_root(gram)
    torch.testing.assert_close(other.mT @ other, before.mT @ before)  # the same covariance
    assert float((one @ other - one @ before).norm()) > 0.1
    torch.testing.assert_close(turned_root, root, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(root @ root, gram)


def test_draws_of_a_layer_have_its_covariance():
    """Within five standard errors of the theory: the variance of ``C_ij`` is ``(C_ii C_jj + C_ij²)/n``; singular."""
    frame = torch.randn(6, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rho = frame @ frame.mT
    width = 20_000
    z, readout = last_layer.gaussian_layer(rho, width, seed=2)
    error = (rho.diagonal().outer(rho.diagonal()) + rho**2).div(width).sqrt()
    assert float(((z @ z.mT / width - rho) / error).abs().max()) < 5
    assert float((z @ readout / width).abs().max()) < 5 * float((rho.diagonal().max() / width).sqrt())


def test_orthogonal_rows_are_uniform():
    """Each entry has mean 0 over draws: the signs of a library's factorisation are not uniform, here all negative."""
    w = network.spiked_features(d=8, p=4, r=0.0, c=1.0, gamma=1.0, seeds=range(400), rows="orthogonal").w
    torch.testing.assert_close(w @ w.mT, torch.eye(4, dtype=w.dtype).expand(400, 4, 4))
    assert float(w.mean(0).abs().max()) < 5 * (1 / 8 / 400) ** 0.5


MATRIX = np.random.default_rng(3).standard_normal((2, 6, 4))


@pytest.mark.parametrize("library", [torch.linalg, np.linalg], ids=["torch", "numpy"])
def test_turned_decompositions_are_decompositions(library):
    given = torch.from_numpy(MATRIX) if library is torch.linalg else MATRIX
    gram = given.swapaxes(-1, -2) @ given
    plain = [library.eigh(gram)[1], library.svd(given)[0], library.qr(given)[0]]
    with freedoms.turned(SEED) as calls:
        values, vectors = library.eigh(gram)
        u, s, vh = library.svd(given)  # with two columns that belong to no value
        q, r = library.qr(given)
    assert sum(calls.values()) == 3
    for other, made in zip((vectors, u, q), plain, strict=True):
        assert float(abs(other - made).max()) > 0.1
    eye = np.eye(6)
    for product, wanted in (
        ((vectors * values[:, None]) @ vectors.swapaxes(-1, -2), gram),
        ((u[..., :4] * s[:, None]) @ vh, given),
        (u @ u.swapaxes(-1, -2), np.broadcast_to(eye, (2, 6, 6))),
        (q @ r, given),
    ):
        np.testing.assert_allclose(np.asarray(product), np.asarray(wanted), atol=1e-12)


def test_equal_values_have_no_basis_of_their_own():
    matrix = np.diag([1.0, 2.0, 2.0, 2.0, 5.0])
    with freedoms.turned(SEED):
        found = [np.linalg.eigh(matrix), scipy.linalg.eigh(matrix), scipy.sparse.linalg.eigsh(matrix, 4)]
    for values, vectors in found:
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    vectors = found[0][1]
    assert np.allclose(abs(vectors[0]), [1, 0, 0, 0, 0]) and abs(vectors[1:4, 1:4]).max() < 0.99


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_noise_is_of_an_ulp_and_spares_whole_numbers(dtype):
    x = torch.rand(50, 50, generator=torch.Generator().manual_seed(4), dtype=dtype) + 0.5
    counts = torch.arange(2500.0, dtype=dtype).reshape(50, 50) % 7
    plain = [x @ x, x.exp(), x.sum(0), torch.linalg.inv(x), counts @ counts, counts.sum()]
    with freedoms.noisy(SEED):
        noisy = [x @ x, x.exp(), x.sum(0), torch.linalg.inv(x), counts @ counts, counts.sum()]
    eps = torch.finfo(dtype).eps
    sizes = [float(((a - b).abs() / b.abs().max()).max()) / eps for a, b in zip(noisy, plain, strict=True)]
    assert all(0 < size < 10 for size in sizes[:3]) and sizes[4:] == [0, 0]
    assert 1 < sizes[3] < 1e5  # a factorisation multiplies it by the condition of the matrix
