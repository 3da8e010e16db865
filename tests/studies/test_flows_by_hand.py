"""Studies of chapters 1 and 2 at tiny size, each against a few lines of numpy: small steps, or a saved path."""

import math

import numpy as np
import pytest
import torch
from scipy import special

from companion.papers.compression.studies import compression
from companion.papers.compression.theory import Stripe
from regimes.models.one_hidden import one_hidden
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run, snapshot
from regimes.training.state import fitted, satisfied, t_star

INTERFACES = [-0.3, 1.18549]


def drawn(setting, kind, seed):
    """Points of the stripe and their labels: +1 left of the first interface, the sign turns at each."""
    n, size = (setting["test"], 0) if kind == "test" else (setting["p"],) * 2
    x = np.random.default_rng(draw_seeds(kind, [seed], size=size)[0]).standard_normal((n, setting["d"]))
    return x, (-1.0) ** np.searchsorted(INTERFACES, x[:, 0])


def output(weights, x):
    omega, b, beta = weights
    return math.sqrt(2) * np.maximum(x @ omega.T / math.sqrt(x.shape[1]) + b, 0) @ beta / len(b)


def amplification(omega, along=1):
    square = (omega**2).mean(0)
    return math.sqrt(square[:along].mean() / square[along:].mean())


def star(margins):
    return (margins >= 1).mean() >= 0.1


PLANE = {"shape": "stripe", "interfaces": INTERFACES, "d": 2, "p": 60, "h": 40, "alpha": 1e-6, "tolerance": 0.02}


def saved(setting, seed, until):
    """All states of the flow, weights as arrays, and the training set."""
    net = one_hidden(setting["d"], setting["h"], seeds=draw_seeds("weights", [seed], size=setting["p"]))
    x, y = drawn(setting, "train", seed)
    from regimes.data.tasks import Task

    task = Task(torch.from_numpy(x), torch.from_numpy(y), "", d_parallel=1)
    flow = gradient_flow(net, task, alpha=setting["alpha"], tolerance=setting["tolerance"])
    path = run(flow, until=until, save=snapshot)
    models = [m.model.to(dtype=torch.float64) for m in path.saved[0]]
    weights = [[w[0].numpy() for w in (m.omega, m.b, m.beta)] for m in models]
    unit = setting["h"] * math.sqrt(setting["d"] / 2)
    return x, y, [m.t / unit for m in path.saved[0]], [m.margins.double().numpy() for m in path.saved[0]], weights


def test_the_largest_amplification_and_that_of_a_tenth_of_the_points_satisfied():
    """The largest is that of the end of a path, which no stored row repeats on another processor."""
    sizes = [amplification(w[0]) for w in saved(PLANE, 1, fitted)[4]]
    (row,) = compression.amplification_scaling(PLANE | {"until": "end"}, [1])
    assert row["largest"] == pytest.approx(max(sizes), rel=1e-4) and row["ended"] == "fitted"
    omega = saved(PLANE, 1, t_star)[4][-1][0]
    (row,) = compression.characteristic_time(PLANE | {"until": "star"}, [1])
    assert row["star_code"] == pytest.approx(np.divide(*np.sqrt((omega**2).mean(0))), rel=1e-2)
    assert row["rate"] == max(a.rate for a in Stripe(INTERFACES, 2).attractors())


def test_paths_of_the_neurons_that_see_a_point():
    """At the start; the equations of motion beside them are those of the stored study of neurons."""
    setting = PLANE | {"until": "star"}
    x, _, t, margins, weights = saved(setting, 1, t_star)
    (row,), paths = compression.neurons(setting, [1]), compression.neuron_paths(setting, [1])
    seen = (x @ weights[0][0].T / math.sqrt(2) + weights[0][1]).max(0) > 0
    assert len(paths) == seen.sum() == round(row["sees_data"] * 40) and row["t_star"] == pytest.approx(t[-1], rel=1e-4)
    errors = []
    for n, path in zip(np.flatnonzero(seen), paths):
        own = np.array([[*w[0][n], w[1][n], w[2][n]] for w in weights[1:]])
        np.testing.assert_allclose(path["weights"], own, rtol=1e-3, atol=1e-4)
        assert path["t"] == pytest.approx(t[1:], rel=1e-4)
        apart = abs(np.array(path["predicted"]) - path["weights"])
        errors.append((apart / np.sqrt((own**2).sum(1))[:, None]).max(1))
    free = sum(m.max() < 1 for m in margins[1:])  # moments at which no point is satisfied
    assert row["error"] == pytest.approx(np.median([e.max() for e in errors]), rel=1e-3)
    assert row["error_free"] == pytest.approx(np.median([e[:free].max() for e in errors]), rel=1e-3)


def test_the_fit_after_t_star():
    setting = PLANE | {"until": 0.9, "alpha": 1e-3, "test": 2000}
    _, _, t, margins, weights = saved(setting, 1, satisfied(0.9))
    z, labels = drawn(setting, "test", 1)
    (row,) = compression.late_training(setting, [1])
    loss, first = [np.maximum(1 - m, 0).mean() for m in margins], next(i for i, m in enumerate(margins) if star(m))
    error = [np.mean((output(w, z) - output(weights[0], z)) * labels <= 0) for w in weights]
    assert row["t"] == pytest.approx(t, rel=1e-4) and row["loss"] == pytest.approx(loss, abs=1e-4)
    assert row["error"] == pytest.approx(error, abs=0.002)
    assert row["error_star"] == row["error"][first] and row["error_end"] == row["error"][-1]
    half = math.sqrt(loss[first] * loss[-1])
    middle = first + int(np.argmin([abs(one - half) for one in loss[first:]]))
    assert first < middle < len(t) - 1
    assert row["profile_t"] == pytest.approx([t[first], t[middle], t[-1]], rel=1e-4)
    axis = np.c_[np.linspace(-3, 3, 121), np.zeros(121)]
    for profile, zeta, i in zip(row["profile"], row["zeta"], (first, middle, -1)):
        F = 1e-3 * (output(weights[i], axis) - output(weights[0], axis))
        np.testing.assert_allclose(profile, F, atol=1e-3 * abs(F).max())
        np.testing.assert_allclose(zeta, -math.sqrt(2) * weights[i][1] / weights[i][0][:, 0], rtol=1e-2)


def test_frames_of_the_weights():
    setting = PLANE | {"until": "end", "frames": 4}
    _, _, t, margins, weights = saved(setting, 1, fitted)
    rows = compression.weight_snapshots(setting, [1])
    for row in rows:
        i = int(np.argmin(abs(np.array(t) - row["t"])))
        omega, _, beta = weights[i]
        arrows = beta[:, None] * omega
        assert row["share"] == pytest.approx((arrows[:, 0] ** 2).sum() / (arrows**2).sum(), rel=1e-3)
        np.testing.assert_allclose(row["arrows"], arrows / math.sqrt((arrows**2).sum(1).mean()), atol=1e-3)
        assert row["inflation"] == pytest.approx(amplification(omega) / amplification(weights[0][0]), rel=1e-3)
        assert row["star"] == (i == next(k for k, m in enumerate(margins) if star(m)))
    assert {0.0, rows[-1]["t"]} <= {row["t"] for row in rows} and rows[-1]["t"] == pytest.approx(t[-1], rel=1e-4)


def test_the_force_across_over_training_sets():
    """Its standard deviation is the root of the share of points beyond the hyperplane: by hand on the same draws."""
    (row,) = compression.noise({"interfaces": INTERFACES, "p": 50, "sets": 40}, [2])
    x = np.random.default_rng(draw_seeds("noise", [2], size=50)[0]).standard_normal((40, 50, 2))
    spread, places = [], [-1.5, -0.7, 0.0, 0.7, 1.5]
    for z in places:
        y = (-1.0) ** np.searchsorted(INTERFACES, x[..., 0])
        spread.append(np.std([sum(y[s][x[s, :, 0] > z] * x[s, x[s, :, 0] > z, 1]) / 50 for s in range(40)]))
    at = np.log(special.ndtr(-np.array(places)))
    slope = np.cov(at, np.log(spread))[0, 1] / np.var(at, ddof=1)
    assert row["exponent"] == pytest.approx(slope, rel=1e-9)
