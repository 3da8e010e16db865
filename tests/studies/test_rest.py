"""Networks at rest, by hand: the same networks trained here, their landscape by autograd."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from companion.data import images
from companion.lab.results import Results
from companion.papers.jamming.studies import jamming, rest
from companion.papers.jamming.theory import jamming as theory
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton
from regimes.training.newton import newton
from regimes.training.run import run

SETTING = {"data": "digits", "components": 4, "test": 50, "kernel_p": 1, "layers": 2, "members": 3, "p": 100, "h": 2}
SETTING |= {"loss": "quadratic_hinge", "steps": 40, "scale": 10.0, "rounds": [20, 400]}


@pytest.fixture(scope="module")
def setting():
    return SETTING | {"words": images.identity("digits")}


@pytest.fixture(scope="module")
def by_hand(setting):
    """The training set and the test set; networks at the start, after the flow, after 20 and 400 rounds."""
    sets = jamming.draw_sets(rest.PeakAtJamming.of(setting), 1)
    sigma = activation("swish", steepness=10.0, normalised=True)
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    start = fully_connected([4, 2, 2, 1], seeds=draw_seeds("weights", [3, 4, 5], size=2), **kind)
    # the same points for each, as the studies hand them over: a path of many steps does not forgive a rounding
    x, y = sets.train.x.expand(3, -1, -1).contiguous(), sets.train.y.expand(3, -1).contiguous()
    flow = run(gauss_newton(start, x, y, alpha=10.0, rule="settle", steps=40))
    ends = [run(newton(flow.model, x, y, alpha=10.0, initial=start, steps=n)) for n in (20, 400)]
    return sets, start, [flow, *ends]


def test_ensembles_on_their_way(setting, by_hand):
    sets, start, ends = by_hand
    rows = rest.peak_at_jamming(setting, [1])
    assert [row["newton_steps"] for row in rows] == [0, 20, 400]
    for row, done in zip(rows, ends, strict=True):
        F = 10.0 * (done.model(sets.test.x) - start(sets.test.x))
        gaps = (1 - 10.0 * sets.train.y * (done.model(sets.train.x) - start(sets.train.x))).clamp(min=0)
        kinds = [str(why.kind) for why in done.ended]
        assert row["fitted"] == pytest.approx(np.mean([kind == "fitted" for kind in kinds]))
        jammed = np.mean([kind == "jammed" for kind in kinds]) if row["newton_steps"] else 0
        assert row["jammed"] == pytest.approx(jammed)
        assert row["quadratic_hinge"] == pytest.approx(float(gaps.square().mean() / 2), rel=1e-2)
        assert row["norm"] == pytest.approx(float(F.square().mean(-1).sqrt().mean()), rel=1e-2)
        assert row["error"] == pytest.approx(float((F * sets.test.y <= 0).double().mean()), abs=0.01)
        assert row["ensemble_error"] == pytest.approx(float((F.mean(0) * sets.test.y <= 0).double().mean()), abs=0.01)
        assert row["fluctuation"] == pytest.approx(float(F.var(0).mean().sqrt()), rel=1e-2)
        assert row["unsatisfied"] == pytest.approx(float((gaps > 1e-4).sum(-1).double().mean()), abs=0.4)
    assert rows[0]["quadratic_hinge"] > rows[1]["quadratic_hinge"] > rows[2]["quadratic_hinge"]


def test_a_network_that_ends_in_the_last_round_of_a_stage_has_ended(setting, by_hand):
    sets, start, (_, _, done) = by_hand
    x, y = sets.train.x.expand(3, -1, -1).contiguous(), sets.train.y.expand(3, -1).contiguous()
    last = int(done.t[0])
    assert done.ended[0].kind != "given up" and 1 < last < 400
    for rounds in ([last], [last, 400]):
        assert rest._to_rest(rest.PeakAtJamming.of(setting), x, y, start, rounds)[last][1][0] == done.ended[0].kind
    assert rest._to_rest(rest.PeakAtJamming.of(setting), x, y, start, [last - 1, 400])[last - 1][1][0] == "given up"


def test_a_falling_decay_holds_networks_at_a_minimum(setting, by_hand):
    x, y = by_hand[0].train.x, by_hand[0].train.y
    rows = rest.minima_at_jamming(setting | {"h": 4, "rounds": 1000, "decays": [0.01, 0.1]}, [1])
    assert [row["decay"] for row in rows] == 3 * [0.1] + 3 * [0.01]
    sigma = activation("swish", steepness=10.0, normalised=True)
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    for k, row in enumerate(rows[:3]):
        start = fully_connected([4, 4, 4, 1], seeds=draw_seeds("weights", [3 + k], size=4), **kind)
        flow = run(gauss_newton(start, x, y, alpha=10.0, rule="settle", steps=40)).model
        first, w0 = (torch.cat([w.flatten() for w in net.parameters()]) for net in (flow, start))

        def margins(w, start=start):
            parts = w.split([w.numel() for w in start.parameters()])
            f = start.with_parameters([part.view_as(w) for part, w in zip(parts, start.parameters())])(x)[0]
            return y * 10.0 * (f - start(x)[0])

        def cost(w, w0=w0, margins=margins):  # a decay of 0.1 is 0.1 alpha / (h p), and pulls alpha times as much
            w = torch.tensor(w, requires_grad=True)
            pull = 10.0 * 0.1 * 10.0 / (4 * len(y)) / 2 * (w - w0).square().sum()
            found = (1 - margins(w)).clamp(min=0).square().mean() / 2 + pull
            return found.item(), torch.autograd.grad(found, w)[0].numpy()

        best = torch.from_numpy(minimize(cost, first.numpy(), jac=True, method="BFGS", options={"maxiter": 4000}).x)
        gaps = (1 - margins(best)).clamp(min=0)
        slopes = torch.autograd.functional.jacobian(margins, best)[gaps > 0]
        whole = torch.autograd.functional.hessian(lambda w: (1 - margins(w)).clamp(min=0).square().sum() / 2, best)
        values, bent = torch.linalg.eigvalsh(slopes.T @ slopes), torch.linalg.eigvalsh(whole - slopes.T @ slopes)
        own = values[values > 1e-9 * values.max()]
        assert row["ended"] == "jammed" and row["parameters"] == len(w0)
        assert row["unsatisfied"] == int((gaps > 0).sum())
        assert row["quadratic_hinge"] == pytest.approx(float(gaps.square().mean() / 2), rel=1e-4)
        assert row["eigenvalues"] == pytest.approx(own.tolist(), rel=1e-2, abs=1e-5 * float(values.max()))
        assert row["flat"] == pytest.approx(1 - len(own) / len(w0))
        assert row["strength"] == pytest.approx(float(bent.abs().max() / values.max()), rel=1e-2)
        assert abs(row["negative"] - int((bent < -1e-9 * bent.abs().max()).sum())) <= 1
        assert rows[k + 3]["quadratic_hinge"] < row["quadratic_hinge"]


def output(start, weights, points):
    """The output of one network of two hidden layers."""
    h = points
    for w in weights[:-1]:
        h = start.sigma(h @ w.T / w.shape[1] ** 0.5)
    return (h @ weights[-1].T).squeeze(-1) / weights[-1].shape[1]


def by_autograd(start, x, y, scale, rate, batches):
    """The weights of each network after descent at its batches, by automatic differentiation."""
    found = []
    for e, steps in enumerate(batches):
        weights = [w[e].clone().requires_grad_() for w in start.weights]
        first = output(start, weights, x)
        slopes = [torch.autograd.grad(value, weights, retain_graph=True) for value in first]
        kernel = sum(float(g.square().sum()) for one in slopes for g in one) / len(x)
        for chosen in steps:
            gaps = (1 - y[chosen] * scale * (output(start, weights, x[chosen]) - first[chosen].detach())).clamp(min=0)
            slopes = torch.autograd.grad(gaps.square().mean() / 2, weights)
            moved = [w - rate / (scale**2 * kernel) * g for w, g in zip(weights, slopes, strict=True)]
            weights = [w.detach().requires_grad_() for w in moved]
        found.append([w.detach() for w in weights])
    return found


def test_stochastic_descent_by_automatic_differentiation():
    names = "data words components test kernel_p layers members p scale h".split()
    setting = {k: v for k, v in (SETTING | {"words": images.identity("digits"), "h": 3}).items() if k in names}
    setting |= {"batch": 7, "rate": 0.8, "looks": [2, 30]}
    rows, own = rest.stochastic(setting, [1, 2]), rest.Stochastic.of(setting)
    assert [(row["seed"], row["look"]) for row in rows] == [(1, 2), (2, 2), (1, 30), (2, 30)]
    sets, start = jamming.draw_sets(own, 2), jamming.swish_networks(own, 3, [2])
    draws = [np.random.default_rng(seed) for seed in draw_seeds("batch", [6, 7, 8])]
    batches = [[rng.integers(100, size=7) for _ in range(30)] for rng in draws]
    found = by_autograd(start, sets.train.x, sets.train.y, 10.0, 0.8, batches)
    outputs = torch.stack([output(start, weights, sets.test.x) for weights in found])
    F = 10.0 * (outputs - start(sets.test.x))
    assert rows[-1]["norm"] == pytest.approx(float(F.square().mean(-1).sqrt().mean()), rel=1e-6)
    assert rows[-1]["error"] == pytest.approx(float((F * sets.test.y <= 0).double().mean()), abs=1e-9)
    assert rows[-1]["parameters"] == 4 * 3 + 3 * 3 + 3


def test_motion_of_pre_activations_by_hand(setting):
    usual = {k: v for k, v in setting.items() if k != "rounds"}
    (row,) = rest.preactivations(usual, [1])
    own = jamming.Networks.of(usual)
    sets, start = jamming.draw_sets(own, 1), jamming.swish_networks(own, 2, [1])
    x, y = sets.train.x.expand(3, -1, -1).contiguous(), sets.train.y.expand(3, -1).contiguous()
    end = jamming.train_to_verdict(own, start, x, y).model
    first = [sets.train.x @ net.weights[0].mT / 2 for net in (start, end)]
    second = [start.sigma(a) @ net.weights[1].mT / 2**0.5 for a, net in zip(first, (start, end))]
    ratio = [float(((b - a).square().mean() / a.square().mean()).sqrt()) for a, b in (first, second)]
    assert row["moved"] == pytest.approx(ratio, rel=1e-2)
    fits = usual | {"steps": 200, "h": 16, "p": 30}
    lazy = [rest.preactivations(fits | {"scale": scale}, [1])[0]["moved"] for scale in (1e3, 1e4)]
    assert [one / ten for one, ten in zip(*lazy)] == pytest.approx([10, 10], rel=0.1)


def test_stored_minima_keep_the_bound_of_paper_b_and_networks_at_jamming_lie_far_below_it():
    """A stable end needs as many unsatisfied points as negative curvatures, so that ``N C_0 / P`` is 1 at most."""
    rows = Results(rest.minima_at_jamming).rows
    minima = rows[rows.ended == "jammed"]
    assert len(minima) > 500 and (minima.negative <= minima.unsatisfied).all()
    jammed = theory.networks_at_jamming(rows)
    assert len(jammed) > 40 and 0.05 < (jammed.negative / jammed.p).mean() < 0.15
