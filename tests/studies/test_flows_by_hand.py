"""Studies of chapters 1 and 2 at tiny size, each against a few lines of numpy: small steps, or a saved path."""

import math

import numpy as np
import pytest
import torch
from scipy import optimize, special

from companion.papers.compression.studies import compression, lazy_feature
from companion.papers.compression.theory import Stripe
from regimes.models.one_hidden import one_hidden
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run, snapshot
from regimes.training.state import fitted, satisfied, t_star

INTERFACES = [-0.3, 1.18549]
STRIPE = {"shape": "stripe", "interfaces": INTERFACES, "d": 3, "p": 12, "test": 2000}
WIDE = STRIPE | {"h": 10}
NET = WIDE | {"alpha": 1.0, "tolerance": 0.003}


def drawn(setting, kind, seed):
    """Points of the stripe and their labels: +1 left of the first interface, the sign turns at each."""
    n, size = (setting["test"], 0) if kind == "test" else (setting["p"],) * 2
    x = np.random.default_rng(draw_seeds(kind, [seed], size=size)[0]).standard_normal((n, setting["d"]))
    return x, (-1.0) ** np.searchsorted(INTERFACES, x[:, 0])


def network(setting, seed):
    """``ω, b, β`` at the start."""
    net = one_hidden(setting["d"], setting["h"], seeds=draw_seeds("weights", [seed], size=setting["p"]))
    return [w[0].double().numpy() for w in (net.omega, net.b, net.beta)]


def output(weights, x):
    omega, b, beta = weights
    return math.sqrt(2) * np.maximum(x @ omega.T / math.sqrt(x.shape[1]) + b, 0) @ beta / len(b)


def tangents(weights, x):
    """The derivatives of the output by all weights, a row a point."""
    weights = [torch.tensor(w) for w in weights]

    def f(omega, b, beta):
        return (torch.tensor(x) @ omega.T / x.shape[1] ** 0.5 + b).relu() @ beta * 2**0.5 / len(b)

    return torch.cat([j.flatten(1) for j in torch.autograd.functional.jacobian(f, tuple(weights))], 1).numpy()


def wide(x, z):
    """Of infinitely many neurons with standard normal weights and biases, up to a factor."""
    cov = x @ z.T / x.shape[1] + 1
    size = np.sqrt(np.outer((x**2).sum(1) / x.shape[1] + 1, (z**2).sum(1) / x.shape[1] + 1))
    phi = np.arccos(np.clip(cov / size, -1, 1))
    return size * (np.sin(phi) + (np.pi - phi) * np.cos(phi)) + (np.pi - phi) * cov


def frozen(kernel, x, y, z, labels):
    """The test error of a frozen kernel, by small steps on the hinge loss to the end."""
    gram, c = kernel(x, x), np.zeros(len(x))
    while (pushed := y * (gram @ c) < 1).any():
        c += 2e-3 / np.diag(gram).mean() * y * pushed
    return np.mean(kernel(z, x) @ c * labels <= 0)


def descended(setting, weights, x, y, until, dt=4e-3):
    """The network by small steps of the flow, its time and the largest amplification on the way."""
    (omega, b, beta), t, largest = [w.copy() for w in weights], 0.0, 0.0
    xt, base, h, d = (
        np.c_[x / math.sqrt(setting["d"]), np.ones(len(x))],
        output(weights, x),
        len(weights[1]),
        x.shape[1],
    )
    while True:
        now = [omega, b, beta]
        margins = setting["alpha"] * y * (output(now, x) - base)
        largest = max(largest, amplification(omega))
        if until(margins):
            return now, t, largest
        u = np.c_[omega, b]
        push = (u @ xt.T > 0) @ (xt * (y * (margins < 1))[:, None]) * math.sqrt(2) / (h * len(x))
        step = dt * h
        u, beta, t = u + step * beta[:, None] * push, beta + step * (u * push).sum(1), t + step
        omega, b = u[:, :d], u[:, d]


def amplification(omega, along=1):
    square = (omega**2).mean(0)
    return math.sqrt(square[:along].mean() / square[along:].mean())


def star(margins):
    return (margins >= 1).mean() >= 0.1


def test_lazy_curves_by_small_steps():
    for seed in (0, 1):
        (x, y), (z, labels) = (drawn(STRIPE, kind, seed) for kind in ("train", "test"))
        error = frozen(wide, x, y, z, labels)
        for study in (lazy_feature.infinite_width_lazy, lazy_feature.infinite_width_lazy_large_p):
            assert study(STRIPE, [seed])[0]["error"] == pytest.approx(error, abs=0.004)
        weights = network(NET, seed)
        kernel = lambda a, b, w=weights: tangents(w, a) @ tangents(w, b).T  # noqa: E731
        row = lazy_feature.finite_width_lazy(WIDE, [seed])[0]
        if row["ended"] == "zero loss":
            assert row["error"] == pytest.approx(frozen(kernel, x, y, z, labels), abs=0.004)
        small = [points / [1, 5, 5] for points in (x, z)]
        row = lazy_feature.compressed_by_factor(STRIPE | {"factor": 5.0}, [seed])[0]
        assert row["error"] == pytest.approx(frozen(wide, small[0], y, small[1], labels), abs=0.004)


def test_support_vectors_by_the_dual_problem():
    """The largest margin: ``min c'(yKy)c/2 - sum c`` over ``c >= 0``, ``c'y = 0``, by a general solver."""
    (x, y), (z, labels) = (drawn(STRIPE, kind, 2) for kind in ("train", "test"))
    x, z = x / [1, 5, 5], z / [1, 5, 5]
    q = wide(x, x) * np.outer(y, y)
    dual = optimize.minimize(
        lambda c: c @ q @ c / 2 - c.sum(),
        np.zeros(len(y)),
        jac=lambda c: q @ c - 1,
        bounds=[(0, None)] * len(y),
        constraints={"type": "eq", "fun": lambda c: c @ y, "jac": lambda c: y},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    held = dual.x > 1e-6 * dual.x.max()
    offset = np.mean((y - wide(x, x) @ (dual.x * y))[held])
    f = wide(z, x) @ (dual.x * y) + offset
    (row,) = lazy_feature.support_vectors(STRIPE | {"factor": 5.0}, [2])
    assert dual.success and row["vectors"] == held.sum() and row["ended"] == "separated"
    assert row["error"] == pytest.approx(np.mean(f * labels <= 0), abs=1e-9)


def test_networks_by_small_steps():
    x, y = drawn(NET, "train", 3)
    z, labels = drawn(NET | {"test": 20_000}, "test", 3)
    begun = network(NET, 3)
    end, _, largest = descended(NET, begun, x, y, lambda margins: (margins >= 1).all())
    then, t, _ = descended(NET, begun, x, y, star)
    error = np.mean((output(end, z) - output(begun, z)) * labels <= 0)
    (row,) = lazy_feature.scale_scan(NET | {"test": 20_000}, [3])
    assert row["ended"] == "zero loss" and row["error"] == pytest.approx(error, abs=0.01)
    assert row["t_star"] == pytest.approx(t, rel=0.02)
    assert row["amplification_start"] == pytest.approx(amplification(begun[0]))
    assert row["amplification_star"] == pytest.approx(amplification(then[0]), rel=0.01)
    assert row["amplification_max"] == pytest.approx(largest, rel=0.02)

    rows = lazy_feature.networks(NET | {"shares": [0.1, 1.0], "frozen": [0.1], "lines": 4000}, [3])
    early, last = (next(r for r in rows if (r["curve"], r["share"]) == ("feature", share)) for share in (0.1, 1.0))
    assert last["error"] == pytest.approx(error, abs=0.015)
    assert early["error"] == pytest.approx(np.mean((output(then, z) - output(begun, z)) * labels <= 0), abs=0.015)
    assert early["amplification"] == pytest.approx(amplification(then[0]), rel=0.01)
    assert last["amplification"] == pytest.approx(amplification(end[0]), rel=0.02)
    (final,) = (r for r in rows if r["curve"] == "final")
    fresh, signs = drawn(NET, "fresh", 3)
    if final["ended"] == "zero loss":
        kernel = lambda a, b: tangents(then, a) @ tangents(then, b).T  # noqa: E731
        assert final["error"] == pytest.approx(frozen(kernel, fresh, signs, *drawn(NET, "test", 3)), abs=0.015)

    found = {row["curve"]: row for row in lazy_feature.compressed_by_network(NET, [3])}
    points, truth = drawn(NET, "test", 3)
    for curve, factor in (("compressed", 1), ("compressed_code", math.sqrt(2))):
        scale = np.array([1, *[amplification(then[0]) / factor] * 2])
        assert found[curve]["error"] == pytest.approx(frozen(wide, x / scale, y, points / scale, truth), abs=0.006)
        assert found[curve]["star"] == pytest.approx(amplification(then[0]), rel=0.01)
    (row,) = (row for row in lazy_feature.star_kernel_by_width(NET, [3]) if row["curve"] == "compressed")
    scale = np.array([1, *[amplification(then[0])] * 2])
    assert row["error"] == pytest.approx(frozen(wide, fresh / scale, signs, points / scale, truth), abs=0.006)


PLANE = {"shape": "stripe", "interfaces": INTERFACES, "d": 2, "p": 60, "h": 40, "alpha": 1e-6, "tolerance": 0.02}


def saved(setting, seed, until, dtype="auto"):
    """All states of the flow, weights as arrays, and the training set."""
    net = one_hidden(setting["d"], setting["h"], seeds=draw_seeds("weights", [seed], size=setting["p"]))
    x, y = drawn(setting, "train", seed)
    from regimes.data.tasks import Task

    task = Task(torch.from_numpy(x), torch.from_numpy(y), "", d_parallel=1)
    flow = gradient_flow(net, task, alpha=setting["alpha"], tolerance=setting["tolerance"], dtype=dtype)
    path = run(flow, until=until, save=snapshot)
    models = [m.model.to(dtype=torch.float64) for m in path.saved[0]]
    weights = [[w[0].numpy() for w in (m.omega, m.b, m.beta)] for m in models]
    unit = setting["h"] * math.sqrt(setting["d"] / 2)
    return x, y, [m.t / unit for m in path.saved[0]], [m.margins.double().numpy() for m in path.saved[0]], weights


def near(z, weights, attractors):
    """The distance of hyperplanes from the attractors of their sign."""
    gaps = [np.where(np.sign(weights[0][:, 0]) == a.sign, np.hypot(z[:, 0] - a.z, z[:, 1]), np.inf) for a in attractors]
    return np.min(gaps, axis=0)


def hyperplane(weights):
    omega, b, _ = weights
    return -math.sqrt(2) * b[:, None] * omega / (omega**2).sum(1, keepdims=True)


def test_growth_of_the_amplification():
    _, _, t, margins, weights = saved(PLANE, 1, fitted, torch.float32)  # as the stored rows
    sizes = [amplification(w[0]) for w in weights]
    (row,), (path,) = (
        run(PLANE | {"until": "end"}, [1])
        for run in (compression.amplification_scaling, compression.amplification_along_training)
    )
    shown = [round(i * (len(t) - 1) / (compression.SHOWN - 1)) for i in range(compression.SHOWN)]
    assert path["time"] == pytest.approx([t[i] for i in shown], rel=1e-4) and path["t_star"] == row["t_star"]
    assert path["size"] == pytest.approx([sizes[i] for i in shown], rel=1e-4)
    assert row["largest"] == pytest.approx(max(sizes), rel=1e-4) and row["start"] == pytest.approx(sizes[0], rel=1e-4)
    first = next(i for i, m in enumerate(margins) if star(m))
    assert t[first - 1] <= row["t_star"] <= t[first] * (1 + 1e-6)
    assert min(sizes[first - 1 : first + 1]) * 0.999 <= row["star"] <= max(sizes[first - 1 : first + 1]) * 1.001
    omega = saved(PLANE, 1, t_star)[4][-1][0]
    (row,) = compression.characteristic_time(PLANE | {"until": "star"}, [1])
    assert row["star_code"] == pytest.approx(np.divide(*np.sqrt((omega**2).mean(0))), rel=1e-2)
    assert row["rate"] == max(a.rate for a in Stripe(INTERFACES, 2).attractors())


def test_neurons_against_the_equations_of_motion():
    setting, attractors = PLANE | {"until": "star"}, Stripe(INTERFACES, 2).attractors()
    x, _, t, margins, weights = saved(setting, 1, t_star)
    (row,), paths = compression.neurons(setting, [1]), compression.neuron_paths(setting, [1])
    (there,) = compression.attractor_shares(setting, [1])
    seen = (x @ weights[0][0].T / math.sqrt(2) + weights[0][1]).max(0) > 0
    sees = (x @ weights[-1][0].T / math.sqrt(2) + weights[-1][1]).max(0) > 0
    assert len(paths) == seen.sum() == round(row["sees_data"] * 40) and row["t_star"] == pytest.approx(t[-1], rel=1e-4)
    for n, path in zip(np.flatnonzero(seen), paths):
        own = [[*w[0][n], w[1][n], w[2][n]] for w in weights[1:]]
        np.testing.assert_allclose(path["weights"], own, rtol=1e-3, atol=1e-4)
        assert path["t"] == pytest.approx(t[1:], rel=1e-4)
    errors = []  # by neuron: the largest distance of each of the four over the norm of all four
    for path in paths:
        network, ode = np.array(path["weights"]), np.array(path["predicted"])
        errors.append(abs(ode - network) / np.sqrt((network**2).sum(1))[:, None])
    largest, free = [e.max() for e in errors], sum(m.max() < 1 for m in margins[1:])
    assert row["error"] == pytest.approx(np.median(largest), rel=1e-3)
    assert row["error_90"] == pytest.approx(np.quantile(largest, 0.9), rel=1e-3)
    assert row["error_free"] == pytest.approx(np.median([e[:free].max() for e in errors]), rel=1e-3)
    for i, name in enumerate(("omega_1", "omega_perp", "b", "beta")):
        assert row[f"error_{name}"] == pytest.approx(np.median([e[:, i].max() for e in errors]), rel=1e-3)
    distance = near(hyperplane(weights[-1]), weights[-1], attractors)
    arrived = (distance < 0.2) & sees
    assert row["near"] == pytest.approx(arrived[seen].mean()) == pytest.approx(there["near"])
    assert there["blind"] == pytest.approx((~sees)[seen].mean())
    assert there["near_seeing"] == pytest.approx(arrived[seen & sees].mean())
    omega, b, beta = (w[seen] for w in weights[-1])
    gap = near(np.c_[-math.sqrt(2) * b / omega[:, 0], 0 * b], (omega,), attractors)
    share = beta**2 * (omega**2).sum(1)
    there = np.isfinite(gap)
    assert row["off"] == pytest.approx(np.sum((gap * share)[there]) / share[there].sum(), rel=1e-3)


def test_the_fit_after_t_star():
    setting = PLANE | {"until": 0.9, "alpha": 1e-3, "test": 2000}
    _, _, t, margins, weights = saved(setting, 1, satisfied(0.9), torch.float32)  # as the stored rows
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
