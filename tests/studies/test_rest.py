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


def for_each_member(task):
    """The same points for each, as the studies hand them over: a path of many steps does not forgive a rounding."""
    return task.x.expand(3, -1, -1).contiguous(), task.y.expand(3, -1).contiguous()


@pytest.fixture(scope="module")
def by_hand(setting):
    """The training set and the test set; networks at the start, after the flow, after 20 and 400 rounds."""
    sets = jamming.draw_sets(rest.PeakAtJamming.of(setting), 1)
    sigma = activation("swish", steepness=10.0, normalised=True)
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    start = fully_connected([4, 2, 2, 1], seeds=draw_seeds("weights", [3, 4, 5], size=2), **kind)
    x, y = for_each_member(sets.train)
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
    x, y = for_each_member(sets.train)
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
            value = (1 - margins(w)).clamp(min=0).square().mean() / 2 + pull
            return value.item(), torch.autograd.grad(value, w)[0].numpy()

        best = torch.from_numpy(minimize(cost, first.numpy(), jac=True, method="BFGS", options={"maxiter": 4000}).x)
        gaps = (1 - margins(best)).clamp(min=0)
        slopes = torch.autograd.functional.jacobian(margins, best)[gaps > 0]
        H = torch.autograd.functional.hessian(lambda w: (1 - margins(w)).clamp(min=0).square().sum() / 2, best)
        H0 = slopes.T @ slopes
        values = torch.linalg.eigvalsh(H0)
        values_p = torch.linalg.eigvalsh(H - H0)
        nonzero = values[values > 1e-9 * values.max()]
        assert row["ended"] == "jammed" and row["parameters"] == len(w0)
        assert row["unsatisfied"] == int((gaps > 0).sum())
        assert row["quadratic_hinge"] == pytest.approx(float(gaps.square().mean() / 2), rel=1e-4)
        assert row["eigenvalues"] == pytest.approx(nonzero.tolist(), rel=1e-2, abs=1e-5 * float(values.max()))
        assert row["flat"] == pytest.approx(1 - len(nonzero) / len(w0))
        assert row["strength"] == pytest.approx(float(values_p.abs().max() / values.max()), rel=1e-2)
        negative = int((values_p < -1e-9 * values_p.abs().max()).sum())
        assert abs(row["negative"] - negative) <= 1
        assert rows[k + 3]["quadratic_hinge"] < row["quadratic_hinge"]


def output(start, weights, points):
    """The output of one network of two hidden layers."""
    h = points
    for w in weights[:-1]:
        h = start.sigma(h @ w.T / w.shape[1] ** 0.5)
    return (h @ weights[-1].T).squeeze(-1) / weights[-1].shape[1]


def by_autograd(start, x, y, scale, rate, batches):
    """The weights of each network after descent at its batches, by automatic differentiation."""
    trained = []
    for e, steps in enumerate(batches):
        weights = [w[e].clone().requires_grad_() for w in start.weights]
        f0 = output(start, weights, x)
        gradients = [torch.autograd.grad(value, weights, retain_graph=True) for value in f0]
        kernel = sum(float(g.square().sum()) for gradient in gradients for g in gradient) / len(x)
        for batch in steps:
            gaps = (1 - y[batch] * scale * (output(start, weights, x[batch]) - f0[batch].detach())).clamp(min=0)
            slopes = torch.autograd.grad(gaps.square().mean() / 2, weights)
            moved = [w - rate / (scale**2 * kernel) * g for w, g in zip(weights, slopes, strict=True)]
            weights = [w.detach().requires_grad_() for w in moved]
        trained.append([w.detach() for w in weights])
    return trained


def test_stochastic_descent_by_automatic_differentiation():
    names = "data words components test kernel_p layers members p scale h".split()
    setting = {k: v for k, v in (SETTING | {"words": images.identity("digits"), "h": 3}).items() if k in names}
    setting |= {"batch": 7, "rate": 0.8, "looks": [2, 30]}
    rows = rest.stochastic(setting, [1, 2])
    assert [(row["seed"], row["look"]) for row in rows] == [(1, 2), (2, 2), (1, 30), (2, 30)]
    s = rest.Stochastic.of(setting)
    sets = jamming.draw_sets(s, 2)
    start = jamming.swish_networks(s, 3, [2])
    generators = [np.random.default_rng(seed) for seed in draw_seeds("batch", [6, 7, 8])]
    batches = [[rng.integers(100, size=7) for _ in range(30)] for rng in generators]
    trained = by_autograd(start, sets.train.x, sets.train.y, 10.0, 0.8, batches)
    outputs = torch.stack([output(start, weights, sets.test.x) for weights in trained])
    F = 10.0 * (outputs - start(sets.test.x))
    assert rows[-1]["norm"] == pytest.approx(float(F.square().mean(-1).sqrt().mean()), rel=1e-6)
    assert rows[-1]["error"] == pytest.approx(float((F * sets.test.y <= 0).double().mean()), abs=1e-9)
    assert rows[-1]["parameters"] == 4 * 3 + 3 * 3 + 3


def test_training_moves_pre_activations_by_one_over_the_output_scale(setting):
    """In the lazy regime (paper B, Sec. 4)."""
    entries = {k: v for k, v in setting.items() if k != "rounds"} | {"steps": 200, "h": 16, "p": 30}
    moved = {}
    for scale in (1e3, 1e4):
        s = jamming.Networks.of(entries | {"scale": scale})
        start = jamming.swish_networks(s, 16, [1])
        x, y = for_each_member(jamming.draw_sets(s, 1).train)
        end = jamming.train_to_verdict(s, start, x, y).model
        motions = zip(end.preactivations(x), start.preactivations(x), strict=True)
        moved[scale] = [float((b - a).square().mean().sqrt()) for b, a in motions]
    assert np.divide(moved[1e3], moved[1e4]) == pytest.approx([10, 10], rel=0.1)


def test_stored_minima_keep_the_bound_of_paper_b_and_networks_at_jamming_lie_far_below_it():
    """A stable end needs as many unsatisfied points as negative curvatures, so that ``N C_0 / P`` is 1 at most."""
    rows = Results(rest.minima_at_jamming).rows
    minima = rows[rows.ended == "jammed"]
    assert len(minima) > 500 and (minima.negative <= minima.unsatisfied).all()
    jammed = theory.networks_at_jamming(rows)
    assert len(jammed) > 40 and 0.05 < (jammed.negative / jammed.p).mean() < 0.15
