"""Studies of chapter 7: one gradient step, spiked random features, and where the two part."""

from collections.abc import Mapping
from typing import Any

from regimes import check
from regimes.spiked import measure, network
from regimes.spiked.channel import equivalent, needs_alignment
from regimes.spiked.functions import function, odd
from regimes.sweep import product, study

CHAPTER = "07"
DATA = "Gaussian inputs and targets of one direction, drawn here"
Setting = dict[str, Any]
Rows = list[dict[str, Any]]


def check_parameters(p: Mapping[str, Any]) -> None:
    """Every number and name of the chapter, before anything is computed.

    Raises:
        InputError: for the first that makes no sense.
    """
    odd(function(p["activation"], "activation"))
    for name, value in p.items():
        values = value if isinstance(value, list) else [value]
        if name.endswith("_target") or name.endswith("_targets"):
            for one in values:
                function(one, name)
        elif name.endswith(("_alpha", "_alphas", "_beta", "_betas", "_lam", "_delta")):
            for one in values:
                check.positive(**{name: one})
        elif name.endswith("_gammas"):
            for one in values:
                needs_alignment(one)
        elif name.endswith(("_d", "_seeds")):
            for one in values:
                check.integer(2, **{name: one})
        elif name.endswith(("_alpha0", "_step", "_r", "_rs", "_noise")):
            for one in values:
                check.at_least(0, **{name: one})


def _grid_parameters(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        activation=p["activation"],
        target=p["res1_targets"],
        alpha0=p["res1_alpha0"],
        step=p["res1_step"],
        d=p["res1_d"],
        seeds=range(p["res1_seeds"]),
    )


@study(version=2, grid=_grid_parameters, chunk=8, data=DATA)
def parameters(setting: Setting, seeds: list[int]) -> Rows:
    """Measured ``r, gamma, c`` of the trained weights, each over the formula (Result 3.1: ``*_ratio``)."""
    weights = measure.weights(setting | {"model": "network", "beta": 1.0}, seeds)
    measured = network.measured_parameters(weights)
    formula = equivalent(setting["activation"], setting["target"], alpha0=setting["alpha0"], step=setting["step"])
    return [
        {"seed": seed}
        | {name: float(values[i]) for name, values in measured.items()}
        | {f"{name}_ratio": float(values[i]) / getattr(formula, name) for name, values in measured.items()}
        for i, seed in enumerate(seeds)
    ]


def _grid_agreement(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        model=["srf", "network"],
        activation=p["activation"],
        target=p["res3_targets"],
        alpha0=p["res3_alpha0"],
        step=p["res3_step"],
        beta=1.0,
        lam=p["res3_lam"],
        d=p["res3_d"],
        alphas=[p["res3_alphas"]],
        seeds=range(p["res3_seeds"]),
    )


@study(version=2, grid=_grid_agreement, chunk=8, data=DATA)
def agreement(setting: Setting, seeds: list[int]) -> Rows:
    """Errors and overlaps of spiked features and of the network, at many settings (Result 3.3)."""
    return measure.curve(setting, seeds)


def _grid_gaussian(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        activation=p["activation"],
        target=p["res3_targets"],
        r=p["res2_r"],
        c=1.2,
        gamma=0.8,
        alpha=2.0,
        beta=1.0,
        lam=p["res3_lam"],
        d=p["res3_d"],
        seeds=range(p["res3_seeds"]),
    )


@study(version=2, grid=_grid_gaussian, chunk=8, data=DATA)
def gaussian_map(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of ridge on the true features and on the conditional Gaussian ones, same inputs (Result 3.2)."""
    return measure.rows(measure.gaussian_pair(setting | {"model": "srf"}, seeds), seeds)


def _grid_steps(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(activation=p["activation"], beta=1.0, alphas=[p["fig2_alphas"]], d=p["fig2_d"])
    seeds = range(p["fig2_seeds"])
    return [
        setting
        for target, lam, step in zip(p["fig2_targets"], p["fig2_lam"], p["fig2_step"])
        for setting in product(
            model=["network", "srf"], target=target, lam=lam, step=step, alpha0=p["fig2_alpha0"], seeds=seeds, **common
        )
    ]


@study(version=2, grid=_grid_steps, chunk=8, data=DATA)
def learning_curves(setting: Setting, seeds: list[int]) -> Rows:
    """Test error against ``alpha`` for several sizes ``alpha0`` of the first batch (Fig. 2)."""
    return measure.curve(setting, seeds)


def _grid_spikes(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(
        model="srf",
        activation=p["activation"],
        target=p["fig4_target"],
        c=1.0,
        beta=1.0,
        lam=p["fig4_lam"],
        d=p["fig4_d"],
        alphas=[p["fig4_alphas"]],
        seeds=range(p["fig4_seeds"]),
    )
    return [
        *product(r=p["fig4_rs"], gamma=p["fig4_gamma"], panel="r", **common),
        *product(r=p["fig4_r"], gamma=p["fig4_gammas"], panel="gamma", **common),
    ]


@study(version=2, grid=_grid_spikes, chunk=8, data=DATA)
def spikes(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features against ``alpha`` for several strengths and alignments (Fig. 4)."""
    return measure.curve(setting, seeds)


def _grid_width(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(
        model="network",
        activation=p["activation"],
        target=p["fig5_target"],
        alpha0=p["fig5_alpha0"],
        lam=p["fig5_lam"],
        d=p["fig5_d"],
        alphas=[[p["fig5_alpha"]]],
        seeds=range(p["fig5_seeds"]),
    )
    # eta = step * p keeps the spike; eta = step * d divides it by beta
    return [
        setting
        for beta in p["fig5_betas"]
        for rule, step in (("p", p["fig5_step"]), ("d", p["fig5_step"] / beta))
        for setting in product(beta=beta, step=step, rule=rule, **common)
    ]


@study(version=2, grid=_grid_width, chunk=8, data=DATA)
def widths(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network against its width, under both readings of the step size (Fig. 5)."""
    return measure.curve(setting, seeds)


def _grid_profiles(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        activation=p["activation"],
        target=p["fig1_target"],
        step=p["fig1_step"],
        alpha0=p["fig1_alpha0"],
        alpha=p["fig1_alpha"],
        lam=p["fig1_lam"],
        d=p["fig1_d"],
        seeds=range(p["fig1_seeds"]),
    )


@study(version=2, grid=_grid_profiles, chunk=8, data=DATA)
def profiles(setting: Setting, seeds: list[int]) -> Rows:
    """Mean of the network's output given ``theta·x = t``: rows of ``t``, ``output`` (Fig. 1)."""
    outputs = measure.profile(setting | {"model": "network", "beta": 1.0}, seeds, points=25)
    return [row for t, out in outputs.items() for row in measure.rows({"output": out}, seeds, t=t)]


def _grid_vocabulary(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(
        activation=p["activation"],
        target=p["fig6_target"],
        r=p["fig6_r"],
        c=p["fig6_c"],
        lam=p["fig6_lam"],
        d=p["fig6_d"],
        alphas=[p["fig6_alphas"]],
        seeds=range(p["fig6_seeds"]),
    )
    values = [[p["fig6_letters"]], [[1.0]]]
    return [s for v in values for rows in ("sphere", "orthogonal") for s in product(values=v, rows=rows, **common)]


@study(version=2, grid=_grid_vocabulary, chunk=8, data=DATA)
def vocabulary(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features whose spike takes several values, ``p = d``, equal shares (Fig. 6)."""
    d, values = setting["d"], setting["values"]
    u = network.letters(d, values, [1.0] * len(values))
    c = 1 + u**2 * (setting["c"] - 1)
    weights = network.spiked_features(d=d, p=d, r=setting["r"], c=c, gamma=1.0, seeds=seeds, u=u, rows=setting["rows"])
    return measure.curve(setting, seeds, weights)


def _grid_spectra(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        activation=p["activation"], r=p["fig8_rs"], alpha=p["fig8_alpha"], d=p["fig8_d"], seeds=range(p["fig8_seeds"])
    )


@study(version=2, grid=_grid_spectra, chunk=4, data=DATA)
def spectra(setting: Setting, seeds: list[int]) -> Rows:
    """Eigenvalues of ``Phi^T Phi / p`` of spiked features, ``p = d``: the largest, and the rest as a list (Fig. 8)."""
    values = measure.eigenvalues(setting | {"model": "srf", "c": 1.0, "gamma": 1.0, "beta": 1.0}, seeds)
    return [
        {"seed": seed, "top": float(row[-1]), "second": float(row[-2]), "bulk": [round(float(v), 6) for v in row[:-1]]}
        for seed, row in zip(seeds, values)
    ]


def _grid_losses(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(
        model="srf",
        activation=p["activation"],
        alpha=p["loss_alpha"],
        beta=1.0,
        lam=p["loss_lam"],
        r=p["loss_r"],
        c=1.2,
        d=p["loss_d"],
        seeds=range(p["loss_seeds"]),
    )
    cases = [
        {"loss": "logistic", "target": "sign", "gamma": 0.8, "noise": 0.0, "bias": 0.0, "delta": 1.0},
        {"loss": "huber", "target": "sign", "gamma": 0.8, "noise": 0.0, "bias": 0.0, "delta": p["loss_delta"]},
        {"loss": "square", "target": "sign", "gamma": 0.8, "noise": 0.0, "bias": 0.0, "delta": 1.0},
        {"loss": "square", "target": "sin", "gamma": 0.8, "noise": p["loss_noise"], "bias": 0.0, "delta": 1.0},
        *(
            {"loss": "square", "target": p["loss_bias_target"], "gamma": 1.0, "noise": 0.0, "bias": b, "delta": 1.0}
            for b in p["loss_biases"]
        ),
    ]
    return [setting for case in cases for setting in product(**case, **common)]


@study(version=2, grid=_grid_losses, chunk=8, data=DATA)
def losses(setting: Setting, seeds: list[int]) -> Rows:
    """Squared error and share of wrong signs of spiked features: convex losses, noise, uniform bias (App. C)."""
    return measure.rows(measure.convex_errors(setting, seeds), seeds)


def _grid_departure(p: Mapping[str, Any]) -> list[Setting]:
    common = dict(activation=p["activation"], alpha=p["net_alpha"], beta=1.0, lam=p["net_lam"])
    sizes = [
        setting
        for target, alpha0, step in zip(p["net_targets"], p["net_alpha0"], p["net_step"])
        for d, seeds in zip(p["net_d"], p["net_seeds"])
        for setting in product(panel="size", target=target, alpha0=alpha0, step=step, d=d, seeds=range(seeds), **common)
    ]
    return sizes + product(
        panel="map",
        target=p["map_target"],
        alpha0=p["map_alpha0"],
        step=p["map_step"],
        d=p["map_d"],
        seeds=range(p["map_seeds"]),
        **common,
    )


@study(version=2, grid=_grid_departure, chunk=8, data=DATA)
def departure(setting: Setting, seeds: list[int]) -> Rows:
    """The network's error beside three theories at the same first batch: ``srf``, ``rows``, ``corrected``."""
    return measure.rows(measure.departure(setting, seeds), seeds)


def _grid_norms(p: Mapping[str, Any]) -> list[Setting]:
    return product(
        model="srf",
        activation=p["activation"],
        target="He1+He3",
        alpha0=8.0,
        step=4.0,
        beta=1.0,
        lam=p["norms_lam"],
        alphas=[[p["net_alpha"]]],
        rows=["sphere", "gauss"],
        d=p["norms_d"],
        seeds=range(p["norms_seeds"]),
    )


@study(version=2, grid=_grid_norms, chunk=8, data=DATA)
def norms(setting: Setting, seeds: list[int]) -> Rows:
    """Spiked features whose rows have one norm, or the fluctuating norms of Gaussian rows; same seeds."""
    return measure.curve(setting, seeds)
