"""Jamming's observables against autograd, closed forms and known thresholds."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize

from companion.papers.jamming.theory import jamming
from regimes.kernels import ntk
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.validate import InputError


def net(*widths, seeds=(0, 1), sigma="tanh", **kwargs):
    kwargs = {"parametrisation": "mean-field", "gain": 1.0} | kwargs
    return fully_connected(list(widths), seeds=list(seeds), sigma=sigma, **kwargs)


def problem(p=9, d=3):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((p, d)))
    return x, torch.from_numpy(np.sign(rng.standard_normal(p)))


def moved(model, size=0.5):
    torch.manual_seed(3)
    return model.with_parameters([w + size * torch.randn_like(w) for w in model.parameters()])


@pytest.mark.parametrize("sigma", ["tanh", "relu", "quadratic"])
def test_both_parts_add_up_to_the_hessian_of_autograd(sigma):
    x, y = problem()
    start = net(3, 4, 3, 1, sigma=activation(sigma, normalised=True))
    model, alpha = moved(start), 1.7
    f0 = start(x)
    H0, Hp = jamming.hessian(model, x, y, alpha=alpha, start=f0)
    for e in range(2):
        shapes = [w[e : e + 1].shape for w in model.parameters()]

        def energy(flat, e=e, shapes=shapes):
            parts = flat.split([s.numel() for s in shapes])
            network = model[e : e + 1].with_parameters([p.view(s) for p, s in zip(parts, shapes)])
            gaps = 1 - alpha * y * (network(x)[0] - f0[e])
            return gaps.clamp(min=0).square().sum() / 2

        flat = torch.cat([w[e].flatten() for w in model.parameters()])
        direct = torch.autograd.functional.hessian(energy, flat)
        torch.testing.assert_close(H0[e] + Hp[e], direct, atol=1e-9, rtol=1e-9)
        rank = torch.linalg.matrix_rank(H0[e])
        assert rank <= (alpha * y * (model(x) - f0) < 1).sum(-1)[e]
        assert (torch.linalg.eigvalsh(H0[e]) > -1e-9).all()


def test_a_linear_model_has_no_curvature():
    x, y = problem()
    model = net(3, 1)
    _, Hp = jamming.hessian(model, x, y, alpha=1.0, start=torch.zeros(2, 9, dtype=torch.float64))
    assert not Hp.any()


def test_at_the_start_half_of_the_curvatures_are_negative_for_relu_and_random_labels():
    """The sign of every ``y`` is even odds, so the spectrum of ``H_p`` is symmetric on average."""
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.standard_normal((200, 10)))
    y = torch.from_numpy(np.sign(rng.standard_normal(200)))
    model = net(10, 8, 8, 1, seeds=range(6), sigma=activation("relu", normalised=True))
    _, Hp = jamming.hessian(model, x, y, alpha=1.0, start=model(x))
    below, nonzero = jamming.negative(Hp)
    assert float((below / nonzero - 0.5).abs().max()) < 0.05  # of every network
    positive = net(10, 8, 8, 1, sigma="quadratic", seeds=range(2))  # curved one way where all labels agree
    _, same = jamming.hessian(positive[:1], x, torch.ones_like(y), alpha=1.0, start=positive[:1](x))
    assert abs(float((jamming.negative(same)[0] / jamming.negative(same)[1])[0]) - 0.5) > 0.02


def test_signs_of_eigenvalues_are_counted_with_zeros_apart():
    rng = np.random.default_rng(2)
    turn = torch.from_numpy(np.linalg.qr(rng.standard_normal((6, 6)))[0])
    matrix = turn @ torch.diag(torch.tensor([-2.0, -1e-3, 0, 0, 1, 5], dtype=torch.float64)) @ turn.T
    below, nonzero = jamming.negative(matrix)
    assert (int(below), int(nonzero)) == (2, 4)


def test_unsatisfied_points():
    margins = torch.tensor([[0.5, 1 - 1e-5, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64)
    assert jamming.unsatisfied(margins).tolist() == [1, 0]


def test_the_change_of_the_kernel_is_that_of_autograd():
    x, _ = problem(5)
    start = net(3, 6, 1)
    trained = moved(start, 0.3)
    changes = jamming.kernel_change(ntk(start, x), ntk(trained, x))
    for e in range(2):
        grams = []
        for model in (start, trained):
            leaves = [w.clone().requires_grad_(True) for w in model.parameters()]
            out = model.with_parameters(leaves)(x)[e]
            rows = [torch.cat([g.flatten() for g in torch.autograd.grad(f, leaves, retain_graph=True)]) for f in out]
            grams.append(torch.stack(rows) @ torch.stack(rows).T)
        assert float(changes[e]) == pytest.approx(float((grams[1] - grams[0]).norm() / grams[0].norm()), rel=1e-10)


def test_fluctuations_of_independent_members_are_their_deviation():
    F = 3 * torch.randn(4000, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 7
    assert float(jamming.fluctuation(F)) == pytest.approx(3, rel=0.02)
    pairs = torch.stack([jamming.fluctuation(F[i : i + 2]).square() for i in range(0, 4000, 2)])
    assert float(pairs.mean().sqrt()) == pytest.approx(3, rel=0.02)  # unbiased at two members


@pytest.mark.parametrize("width", [0.02, 0.3])
def test_the_transition_is_the_median_of_the_thresholds(width):
    """Thresholds log-normal about 50, seen through the shares of a grid."""
    sizes = np.geomspace(10, 250, 40)
    rng = np.random.default_rng(0)
    thresholds = 50 * np.exp(width * rng.standard_normal(20_000))
    shares = (thresholds[:, None] <= sizes).mean(0)
    assert jamming.transition(sizes, shares) == pytest.approx(50, rel=0.02)


def test_shares_that_fall_are_pooled():
    sizes = np.array([1.0, 2, 4, 8, 16])
    assert jamming.transition(sizes, [0, 0.6, 0.4, 1, 1]) == jamming.transition(sizes, [0, 0.5, 0.5, 1, 1])
    assert jamming.transition(sizes, [0, 0.5, 0.5, 1, 1]) == pytest.approx(math.sqrt(8))
    assert jamming.transition(sizes, [0, 0, 1, 1, 1]) == pytest.approx(math.sqrt(8))
    assert jamming.transition(sizes, [0, 0.2, 0.8, 0.9, 0.95]) == pytest.approx(math.sqrt(8))  # all need not fit
    # pooled shares of one half, which their mean misses by rounding: 60 of 120 and 7.5 of 15
    noisy_rows = jamming.transition(2.0 ** np.arange(8), np.array([0, 17, 19, 1, 1, 10, 9, 19]) / 19)
    assert noisy_rows == pytest.approx(2**3.5)
    assert jamming.transition(2.0 ** np.arange(10), np.array([0, 2, 1, 1, 3, 2, 0, 1, 3, 3]) / 3) == pytest.approx(
        2**5.5
    )


def test_a_random_perceptron_of_any_width_stores_two_points_a_weight():
    """Cover: ``P`` random points with random labels are separable with probability one half at ``P = 2N``."""
    rng = np.random.default_rng(5)
    p = 40
    sizes = np.arange(8, 34, 2)
    shares = []
    for n in sizes:
        fits = 0
        for _ in range(30):
            x = rng.standard_normal((p, n))
            y = np.sign(rng.standard_normal(p))
            fits += _separable(x * y[:, None])
        shares.append(fits / 30)
    assert jamming.transition(sizes, shares) == pytest.approx(p / 2, rel=0.06)


def _separable(z):
    from scipy.optimize import linprog

    return linprog(np.zeros(z.shape[1]), A_ub=-z, b_ub=-np.ones(len(z)), bounds=(None, None)).status == 0


def test_height_of_a_peak_between_two_widths():
    cells = itertools.product((0, 1), (0, 9), (6, 4))
    rows = pd.DataFrame(cells, columns=["seed", "newton_steps", "h"])
    rows["error"] = 0.1 + 0.01 * rows.seed + 0.02 * ((rows.h == 6) & (rows.newton_steps == 9))
    np.testing.assert_allclose(jamming.peak_height(rows, 9), [2, 2], atol=1e-9)
    np.testing.assert_allclose(jamming.peak_height(rows, 0), [0, 0], atol=1e-9)
    with pytest.raises(InputError, match=r"two widths h, got \[6\]"):
        jamming.peak_height(rows[rows.h == 6], 0)


def test_crossings_are_exact_for_power_laws():
    scales = np.geomspace(1e-3, 1e3, 9)
    assert jamming.crossing(scales, 5 * scales**-1.3) == pytest.approx(5 ** (1 / 1.3), rel=1e-12)
    assert math.isnan(jamming.crossing(scales, 2 + scales**-1))
    assert jamming.crossing([1.0, 10 / 1.09], [10.0, 1.09]) == pytest.approx(10, rel=1e-12), "followed on"
    assert math.isnan(jamming.crossing([1.0, 10 / 1.11], [10.0, 1.11])) and math.isnan(
        jamming.crossing([1.0, 2.0], [1.05, 1.06])
    )

    levels = pd.Series({3: 5.0, 7: 0.2, 8: 1e9})  # of three training sets, the last of which is never lazy
    rows = [{"seed": s, "scale": a, "kernel_change": b * a**-1.3} for a in scales[::-1] for s, b in levels.items()]
    crossings = jamming.crossings(pd.DataFrame(rows))
    assert crossings[[3, 7]].to_list() == pytest.approx((np.log10(levels) / 1.3)[[3, 7]].to_list())
    assert math.isnan(crossings[8])


H = [4, 6, 8, 12, 16, 24, 32, 48]


def curves(**columns):
    """Two training sets with transitions at widths 7 and 9, and columns that are functions of the size."""
    rows = []
    for seed, h_star in enumerate((7.0, 9.0)):
        for scale in (1.0, 100.0):
            for h in H:
                row = {"seed": seed, "scale": scale, "h": h, "parameters": h * h, "fitted": float(h > h_star)}
                rows.append(row | {name: f(h, h_star) for name, f in columns.items()})
    return pd.DataFrame(rows)


def test_transitions_of_a_table():
    table = curves()
    transitions = jamming.transitions(table, "h")
    assert transitions.shape == (2, 2) and transitions.loc[0, 1.0] == pytest.approx(48**0.5)
    never = table.assign(fitted=np.where(table["scale"] == 100, 0.0, table.fitted))
    transitions = jamming.transitions(never, "h")
    assert transitions[100.0].isna().all() and not transitions[1.0].isna().any()


def test_a_straight_curve_has_no_bump_and_a_peak_has_its_height(monkeypatch):
    monkeypatch.setattr(jamming, "FACTOR", 2.0)
    table = curves(straight=lambda h, _: 5 - 3 * np.log(h), peak=lambda h, s: 5 - 3 * np.log(h) + 2.0 * (h == 12))
    single = table[table["scale"] == 1]
    at = pd.Series({0: 12.0, 1: 12.0})
    np.testing.assert_allclose(jamming.bump(single, "straight", at), 0, atol=1e-12)
    np.testing.assert_allclose(jamming.bump(single, "peak", at), 2.0, atol=1e-12)
    np.testing.assert_allclose(jamming.rise(single, "straight", at), -3 * np.log(2), atol=1e-12)
    np.testing.assert_allclose(jamming.rise(single, "peak", at), 2 - 3 * np.log(2), atol=1e-12)
    with pytest.raises(InputError, match="widths must hold 3, where straight is asked for: add some below 4"):
        jamming.at_width(single, "straight", pd.Series({0: 3.0}))


def test_what_averaging_and_width_gain_is_known_for_a_noise_that_falls_as_one_over_the_parameters():
    """Single networks err by a floor and a noise ``1/N``, an ensemble of five by a fifth of the noise."""
    single = curves(error=lambda h, _: 0.1 + 1 / h**2, ensemble_error=lambda h, _: 0.1 + 0.2 / h**2).query("scale == 1")
    at = pd.Series({0: 8.0, 1: 12.0})
    np.testing.assert_allclose(jamming.gain_of_averaging(single, at), 80 / at**2)
    falls = jamming.gain_of_width(single, at)
    np.testing.assert_allclose(falls, np.outer(100 / at**2 - 100 / 48**2, [0.2, 1]))
    exact = single.assign(error=np.log(single.parameters))  # linear in the logarithm: interpolation is exact
    single_errors = jamming.against_one(exact, at, 5) + 100 * jamming.at_width(exact, "ensemble_error", at)
    np.testing.assert_allclose(single_errors, 100 * np.log(5 * at**2))
    at_widest = jamming.against_one(single, at, 100)  # no network is as large as a hundred
    np.testing.assert_allclose(at_widest, 100 / 48**2 - 20 / at**2)


def test_slopes_and_divergences_are_those_of_power_laws():
    n_star = {0: 49.0, 1: 81.0}

    def power(h, h_star):
        return 7 * (h * h) ** -0.3

    def diverging(h, h_star):
        return 3 * abs(h * h - h_star * h_star) ** -1.2 if h > h_star else 1.0

    single = curves(power=power, diverging=diverging).query("scale == 1")
    sizes = pd.Series(n_star)
    np.testing.assert_allclose(jamming.slopes_beyond(single, "power", 4 * sizes), -0.3)
    np.testing.assert_allclose(jamming.slopes_beyond(single, "power", 1e9 * sizes), -0.3)  # the largest three
    np.testing.assert_allclose(jamming.divergence(single, "diverging", sizes), -1.2)


def test_curves_of_different_levels_share_an_exponent():
    rng = np.random.default_rng(0)
    N = np.array([10.0, 20.0, 40.0, 80.0])
    certain = pd.DataFrame(5.0 * N**-0.5 * rng.lognormal(0, 0.05, (40, 4)), columns=N)
    N = np.array([30.0, 60.0, 120.0, 240.0])
    uncertain = pd.DataFrame(0.1 * N**-0.5 * rng.lognormal(0, 0.5, (40, 4)), columns=N)
    common = jamming.common_exponent([certain, uncertain])
    alone = jamming.common_exponent([certain])
    assert common.low < -0.5 < common.high and common.value == pytest.approx(alone.value, abs=0.02)
    # an uncertain curve adds little, and takes nothing away
    assert common.high - common.low < 1.1 * (alone.high - alone.low)
    steep = uncertain * N**-1.0
    assert jamming.common_exponent([certain, steep]).value == pytest.approx(-0.5, abs=0.05)
    with pytest.raises(InputError, match="mean must be a number above 0"):
        jamming.common_exponent([-certain])
    with pytest.raises(InputError, match="mean must be a number above 0"):
        jamming.common_exponent([certain * [1, 1, 1, -1]])  # a single one of four
    with pytest.raises(InputError, match="realisations must be"):
        jamming.common_exponent([certain[:1]])


def test_curves_share_an_exponent_in_what_was_measured_beside_them():
    """An excess that is the square of a fluctuation, times a level of each curve; the abscissae scatter, too."""
    rng = np.random.default_rng(1)
    N = np.array([30.0, 60.0, 120.0, 240.0])
    sizes = [pd.DataFrame(a * N**-0.3 * rng.lognormal(0, 0.05, (60, 4)), columns=N) for a in (4.0, 0.3)]
    squares = [b * size**2 * rng.lognormal(0, 0.1, (60, 4)) for b, size in zip((0.2, 9.0), sizes)]
    exponent = jamming.common_exponent(squares, against=sizes)
    assert exponent.low < 2 < exponent.high and exponent.high - exponent.low < 0.2
    assert jamming.common_exponent(squares).value == pytest.approx(-0.6, abs=0.05)
    with pytest.raises(InputError, match="abscissae must be a number above 0"):
        jamming.common_exponent(squares, against=[-size for size in sizes])


def test_local_exponents_are_those_of_each_part_of_a_bent_curve():
    """N^-1 up to a width of 12, N^-1/4 beyond; means, so that a realisation may be negative."""
    bent = curves(value=lambda h, _: 144.0 / h**2 if h <= 12 else math.sqrt(12 / h)).query("scale == 1")
    rng = np.random.default_rng(2)
    noisy_rows = pd.concat([bent.assign(seed=bent.seed + 2 * k) for k in range(50)])
    noisy_rows["value"] *= 1 + 0.3 * rng.standard_normal(len(noisy_rows))
    exact = jamming.exponents_by_width(bent, "value")
    np.testing.assert_allclose(exact.h, [math.sqrt(a * b) for a, b in zip(H, (6, 12, 12, 24, 24, 48, 48))])
    np.testing.assert_allclose(exact.exponent, 3 * [-1] + 4 * [-0.25])
    noisy = jamming.exponents_by_width(noisy_rows, "value")
    inside = (noisy.low < exact.exponent) & (exact.exponent < noisy.high)
    assert inside.sum() >= 6 and len(noisy) == 7
    assert jamming.exponents_by_width(bent.assign(value=-bent.value), "value").empty


def test_sizes_beyond_a_number_are_kept():
    single = curves(power=lambda h, _: 7.0 / h).query("scale == 1")
    sizes = sorted(single.parameters.unique())
    assert list(jamming.beyond(single, "power", sizes[1]).columns) == sizes[1:]
    assert list(jamming.beyond(single, "power", 1e9).columns) == sizes[-3:]


def test_the_gap_leaves_out_zeros():
    assert jamming.gap(np.array([0.0, 1e-14, 1.0, 3.0])) == pytest.approx(0.5)
    with pytest.raises(InputError, match="largest must be"):
        jamming.gap(np.zeros(3))


def test_relative_fluctuations_of_a_known_scatter():
    samples = 2 + 0.5 * np.random.default_rng(0).standard_normal((4000, 20))
    assert jamming.relative_fluctuation(samples) == pytest.approx(0.25, rel=0.01)
    with pytest.raises(InputError, match="samples must be"):
        jamming.relative_fluctuation(samples[:1])


X, Y = problem()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jamming.fluctuation(torch.ones(1, 3)), "at least 2 networks, got 1"),
        (lambda: jamming.transition([3, 2], [0, 1]), "sizes must be positive and increase"),
        (lambda: jamming.transition([2, 3], [0, 1.5]), "satisfied must hold shares"),
        (lambda: jamming.transition([2, 3, 4], [0, 0, 0.4]), "add some above 4, where 40% of"),
        (lambda: jamming.transition([2, 3, 4], [0.75, 1, 1]), "add some below 2, where 75% of"),
        (lambda: jamming.kernel_change(torch.zeros(2, 2), torch.ones(2, 2)), "before must not be zero"),
        (lambda: jamming.kernel_change(torch.ones(2, 2), torch.ones(3, 3)), "after must have shape"),
        (lambda: jamming.crossing([2, 1], [1, 2]), "scales must be positive and increase"),
        (lambda: jamming.hessian(net(3, 4, 1), X, Y, alpha=-1.0, start=torch.zeros(2, 9).double()), "alpha must be"),
        (lambda: jamming.hessian(net(3, 4, 1), X, Y[:3], alpha=1.0, start=torch.zeros(2, 9).double()), "y must have"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message):
        call()


def overlaps(centres, diameters):
    """Pairs of disks in a periodic box of side 1: first, second, vector, distance, sum of the radii."""
    i, j = np.triu_indices(len(centres), 1)
    vectors = centres[i] - centres[j]
    vectors -= np.round(vectors)
    return i, j, vectors, np.sqrt(np.square(vectors).sum(-1)), (diameters[i] + diameters[j]) / 2


def energy(flat, diameters):
    """Half the squared overlaps, and the gradient."""
    i, j, vectors, r, s = overlaps(flat.reshape(-1, 2), diameters)
    gap = np.clip(1 - r / s, 0, None)
    force = (gap / s / r)[:, None] * vectors
    gradient = np.zeros((len(diameters), 2))
    np.add.at(gradient, i, -force)
    np.add.at(gradient, j, force)
    return np.square(gap).sum() / 2, gradient.ravel()


def test_disks_at_jamming_have_as_many_contacts_as_degrees_of_freedom():
    # what is asked of networks, asked of the system that paper B compares them with: isostatic, N_Δ/N = 1
    radii = np.where(np.arange(16) % 2, 1.4, 1.0)
    options = {"maxiter": 20000, "maxfun": 40000, "gtol": 1e-15, "ftol": 0}
    centres = np.random.default_rng(1).random(32)
    fraction = 0.95
    gap = np.ones(1)
    while gap.mean() > 1e-4:
        sizes = 2 * radii * np.sqrt(fraction / (np.pi * np.square(radii).sum()))
        centres = minimize(energy, centres, (sizes,), "L-BFGS-B", jac=True, options=options).x
        i, j, _, r, s = overlaps(centres.reshape(-1, 2), sizes)
        gap = np.clip(1 - r / s, 0, None)
        touching = gap > 1e-9
        gap, i, j = gap[touching], i[touching], j[touching]
        fraction *= (1 - 0.5 * gap.mean()) ** 2  # decompressed towards jamming
    caged = np.bincount(np.concatenate([i, j]), minlength=16) >= 3
    contacts = int(jamming.unsatisfied(torch.from_numpy(1 - gap / gap.mean())))
    # two translations cost nothing, and one contact more makes the packing rigid
    assert contacts == 2 * caged.sum() - 1


def test_networks_at_jamming_are_those_whose_loss_vanishes_with_the_decay():
    """Two networks per width: their losses go with the decay to the power given, where 2 is to fit."""
    powers = {(2, 0): 0.1, (2, 1): 0.2, (3, 0): 1.9, (3, 1): 0.1, (4, 0): 2.0, (4, 1): 2.0}
    rows = []
    for (h, member), power in powers.items():
        for decay in (1e-2, 1e-1, 1e-3):
            row = {"p": 10, "h": h, "seed": 0, "member": member, "decay": decay, "ended": "jammed"}
            rows.append(row | {"quadratic_hinge": decay**power})
    table = pd.DataFrame(rows)
    assert table[jamming.can_fit(table)].groupby("h").member.unique().map(list).to_dict() == {3: [0], 4: [0, 1]}
    jammed = jamming.networks_at_jamming(table)
    # at width 3 half of the networks can fit: the first
    assert jammed[["h", "member", "decay"]].to_numpy().tolist() == [[3, 0, 1e-3]]
    moving = table.assign(ended=lambda t: np.where((t.h == 3) & (t.decay == 1e-3), "given up", "jammed"))
    assert jamming.networks_at_jamming(moving).empty
    assert jamming.networks_at_jamming(table, share=0.75).h.tolist() == [4, 4]
