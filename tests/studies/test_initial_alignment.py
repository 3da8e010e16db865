"""Chapter 6's studies at initialisation, at tiny sizes: what they measure and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.lab import parameters
from companion.lab.results import Results
from companion.papers.alignment.studies import initial_alignment as studies
from companion.papers.alignment.theory import agreement, data, predictions
from regimes.data import tasks
from regimes.measures import matrices
from regimes.seeds import draw_seeds
from regimes.validate import InputError


def test_outer_products_find_the_rank_of_every_sample():
    for rank, expected_rank in ((4, 2), (5, 5), (8, 6)):
        rows = studies.outer_products({"rank": rank, "d": 10, "points": 2000}, list(range(6)))
        assert {row["found"] for row in rows} == {expected_rank}
        assert max(row["far"] for row in rows) < 0.2


def test_expectations_tell_the_printings_apart():
    rows = pd.DataFrame(studies.expectations({"n": 6, "d": 5, "k": 4, "draws": 20000}, list(range(12))))
    error = rows.std() / 12**0.5
    for name in ("nfm_ratio", "agop_ratio"):
        assert abs(rows[name].mean() - 1) < 3 * error[name]
    for name in ("agop_printed_ratio", "agop_over_k_ratio"):
        assert abs(rows[name].mean() - 1) > 10 * error[name]
    assert rows.agop.mean() < 0.05 < 0.1 < rows.agop_over_k.mean() < rows.agop_printed.mean()


def test_means_of_more_networks_are_nearer():
    setting = {"n": 6, "d": 5, "k": 4}
    many_draws = studies.expectations(setting | {"draws": 40000}, list(range(6)))
    few_draws = studies.expectations(setting | {"draws": 400}, list(range(6)))
    assert np.mean([row["nfm"] for row in many_draws]) < np.mean([row["nfm"] for row in few_draws]) / 3


def test_traces_reject_the_printed_equations():
    rows = pd.DataFrame(studies.traces({"n": 256}, list(range(80))))
    error = rows.std() / 80**0.5
    for name in ("eq20", "eq22", "eq28"):  # corrections to the limit are of order 1/n
        assert abs(rows[name].mean() - 1) < 3 * error[name] + 8 / 256
    for name in ("eq19", "eq28_printed", "eq28_literal"):
        assert abs(rows[name].mean() - 1) > 3 * error[name] + 8 / 256
    assert np.allclose(rows[["r1", "r2", "r3", "r4"]].mean(), 1, atol=0.06)


SPIKE_FREE = {"n": 64, "reading": studies.SPIKE_FREE, "balance": 0.5, "floor": 0.1, "networks": 3}


def test_reversal_meets_each_data_set_with_the_networks_of_its_seed():
    rows = pd.DataFrame(studies.reversal(SPIKE_FREE, [0, 1]))
    assert list(rows.seed) == [0, 0, 0, 1, 1, 1] and rows.observed.nunique() == 6
    alone = pd.DataFrame(studies.reversal(SPIKE_FREE, [1]))
    assert np.allclose(alone.observed, rows.observed[3:], rtol=1e-12, atol=0)
    weights = draw_seeds("weights", [4], size=64)
    task = data.spike_free(64, balance=0.5, floor=0.1, seed=draw_seeds("train", [1])[0])
    assert float(studies.early([64, 64, 1], "quadratic", weights, task.x, task.y)) == pytest.approx(rows.observed[4])
    assert rows.predicted.std() < 1e-9  # the spectra do not depend on the draw
    assert (rows.first_order < rows.predicted).all() and (rows.predicted < rows.printed).all()


@pytest.mark.parametrize("reading", data.READINGS)
@pytest.mark.parametrize("balance", [1 / 64, 0.5, 1.0])
def test_every_reading_gives_correlations(reading, balance):
    setting = SPIKE_FREE | {"reading": reading, "balance": balance, "floor": 0.0, "networks": 1}
    (row,) = studies.reversal(setting, [0])
    for name in ("observed", "predicted", "first_order"):
        assert 0 < row[name] <= 1 + 1e-12, name
    assert "printed" not in row


@pytest.mark.parametrize("reading", data.READINGS)
def test_the_agops_own_term_is_not_near_the_identity_on_the_data_of_app_f(reading):
    """Its rank is at most that of the first part, whatever the second part is: the smaller the balance the further."""
    for balance in (0.125, 0.5):
        task = data.reversing(64, balance=balance, reading=reading, seed=3)
        first = task.x * (task.y > 0.5).unsqueeze(-1)  # without the shift of all labels by 1e-5
        M = first.mT @ first
        own = M @ task.x.mT @ task.x @ M
        assert float(torch.linalg.matrix_rank(M, rtol=1e-12)) <= balance * 64
        assert float(matrices.correlation(own, torch.eye(64).to(own))) <= balance**0.5 + 1e-12
    free = data.spike_free(64, balance=0.5, floor=0.01, seed=3)
    first = free.x * free.y.unsqueeze(-1)
    M = first.mT @ first
    own = M @ free.x.mT @ free.x @ M
    assert torch.allclose(own @ own, own, atol=1e-9), "a projector"


def _decays(setting):
    return pd.DataFrame(studies.decays(setting, [0, 1, 2]))


def test_strong_decay_makes_the_kernel_a_projector():
    for sigma in ("quadratic", "relu"):
        rows = _decays({"n": 24, "rank": 5, "decay": 30.0, "sigma": sigma, "target": "high rank", "k": 24})
        assert (rows.observed > 0.999).all() and (rows.predicted > 0.999).all()
        assert (rows.apart < (1e-3 if sigma == "quadratic" else 0.05)).all()  # two cones of points: two projectors


def test_how_far_a_kernel_is_from_a_projector_is_a_matter_of_its_eigenvalues():
    (row,) = studies.decays({"n": 24, "rank": 5, "decay": 1.0, "sigma": "relu", "target": "low rank", "k": 24}, [1])
    points, basis = (draw_seeds(kind, [1])[0] for kind in ("train", "rotation"))
    task = tasks.chain_monomial(24, 24, r=5, decay=1.0, basis=basis, seed=points)
    values = np.linalg.eigvalsh(predictions.expected_kernel(task.x, sigma="relu", hidden=2).numpy())
    cosine = (values**3).sum() / np.sqrt((values**2).sum() * (values**4).sum())
    assert row["apart"] == pytest.approx(1 - cosine, rel=1e-9) and row["apart"] > 0.01


# estimates point by point


def table(slope, seeds=8, noise=0.0):
    rng = np.random.default_rng(0)
    rows = [{"seed": s, "at": i, "predicted": i + rng.standard_normal()} for s in range(seeds) for i in range(5)]
    return pd.DataFrame(rows).assign(
        observed=lambda t: slope * t.predicted + noise * rng.standard_normal(len(t)) + 10 * (t["at"] == 2)
    )


def test_the_error_of_a_seed_is_over_its_points():
    rows = table(1.0).assign(observed=lambda t: t.predicted + 3.0 * (t["at"] == 4) + 0.5 * (t["at"] == 1))
    assert agreement.root_mean_square(rows) == pytest.approx(np.full(8, np.sqrt((9 + 0.25) / 5)))


def test_a_dip_is_measured_from_the_lower_end():
    curves = pd.DataFrame([[3.0, 0.0, 2.0], [3.0, 1.0, 4.0]], columns=[0.0, 1.0, 2.0])
    assert agreement.dip(curves).tolist() == [2.0, 2.0]
    assert agreement.dip(curves.iloc[:, ::-1].sort_index(axis=1) * 0 + [1.0, 2.0, 3.0]).tolist() == [0.0, 0.0]  # no dip


# bad input


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"06.reversal.spike_free.balance": 0.01}, "balance must give the first part 2 to 32 of n = 64 points"),
        ({"reversal_n": 35}, r"n = \$reversal_n\): balance must give the first part 2 to 17 of n = 35 points"),
        ({"06.reversal.spike_free.balance": [0.5, 1.5]}, r"balance\[1\] must be a number above 0 and at most 1"),
        (
            {"06.reversal.spike_free.balance": 0.75},
            "balance must give the first part 2 to 32 of n = 64 points, got 0.75",
        ),
        ({"06.reversal.spike_free.floor": [0.0, 1.0]}, "floor must be at least 0.0001 without spikes, got 0"),
        ({"06.reversal.spike_free.reading": "scale"}, "reading must be one of pseudo-inverse"),
        ({"06.decays.main.rank": 40}, "06.decays.main.*: rank must be at most 32, the dimension"),
        ({"06.decays.main.rank": 1}, "rank must be a whole number from 2"),
        ({"decay_rates": [0.0, 1.0]}, "decay_rates must hold at least 3 values"),
        ({"06.outer_products.rings.rank": [2]}, r"06.outer_products.rings.rank\[0\] must be a whole number from 3"),
        ({"06.outer_products.rings.d": 5}, "06.outer_products.rings: rank must be at most 5, the dimension, got 8"),
        ({"06.traces.main.n": 8}, "06.traces.main.n must be a whole number from 16"),
    ],
)
def test_bad_parameters_get_one_line(given, named):
    with pytest.raises(InputError, match=named) as raised:
        values = parameters.resolve("06", "smoke", given)
        for study in (studies.reversal, studies.decays, studies.outer_products, studies.traces, studies.expectations):
            study.grid(values)
    assert "\n" not in str(raised.value)


def test_free_probability_gives_the_share_of_the_covariance_at_every_width():
    """Of the stored means over networks: without the covariance the shares themselves would be the difference."""
    rows = Results(studies.averages).rows
    rows = rows[(rows.data == "normal") & (rows.k >= rows.n) & (rows.networks > 100)]
    assert rows.k.nunique() == 3 and rows.covariance.max() > 0.4
    assert np.sqrt(((rows.covariance - rows.free) ** 2).mean()) < 0.04
