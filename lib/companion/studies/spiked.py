"""Studies of chapter 7: one gradient step, spiked random features, and where the two part."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from companion.experiments.sweep import product, study
from companion.theory.spiked import kernel_baseline, measure, network, several_steps
from companion.theory.spiked.conditional_map import equivalent
from regimes import validate
from regimes.data import datasets
from regimes.validate import InputError

CHAPTER = "07"
TEST = 2000  # test points
BULK = 1.2  # bulk variance of drawn features where a figure does not scan it
STRONG = ("He1+He3", 8.0, 4.0)  # target, first batch and step whose rows' norms matter most
CHUNK = 8  # seeds that one call gets, at most
POOL = 5000  # images, the number that an installed package ships
DATA = "Gaussian inputs and targets of one direction, drawn here"
Setting = dict[str, Any]
Rows = list[dict[str, Any]]


def check_parameters(p: Mapping[str, Any]) -> None:
    """Cases have all their parts, batches and widths hold something.

    Raises:
        InputError: for the first that does not.
    """
    for names in (
        ("fig2_targets", "fig2_lam", "fig2_step"),
        ("net_targets", "net_alpha0", "net_step"),
        _COURSES,
        *_SIZES,
    ):
        lengths = [len(p[name]) for name in names]
        if len(set(lengths)) > 1:
            raise InputError(f"{' and '.join(names)} must be lists of one length, got {lengths}")
    cases = list(zip(p["net_targets"], p["net_alpha0"], p["net_step"]))
    validate.distinct(**{"net_targets with net_alpha0 and net_step": cases})
    validate.distinct(**{"fig2_targets with fig2_lam and fig2_step": list(zip(*(p[f"fig2_{n}"] for n in _CASE)))})
    for d, names in _BATCHES.items():
        _needs_samples(p, d, names)
    low, least = min(p["kernels_alphas"]) * min(p["kernels_d"]), min(p["kernels_share"], 1 - p["kernels_share"])
    if round(low * least) < 1:
        few = f"one of the {low:g} samples of kernels_alphas times kernels_d"
        raise InputError(f"kernels_share must leave each batch {few}, got {p['kernels_share']:g}")
    if round(min(p["steps_alpha0"]) * min(p["steps_d"])) < max(p["steps_counts"]):
        most = max(p["steps_counts"])
        raise InputError(f"steps_alpha0 times steps_d must give each of steps_counts = {most} steps a sample")
    for i, u in enumerate(p["fig6_letters"]):
        validate.positive(**{f"1 + u²(fig6_c - 1) for u = fig6_letters[{i}] = {u:g}": 1 + u**2 * (p["fig6_c"] - 1)})
    for name in ("image_n0", "image_n"):
        if p[name] > 2000:
            raise InputError(f"{name} must leave test points among 5000 images, at most 2000, got {p[name]}")
    if len(p["fig6_letters"]) > min(p["fig6_d"]):
        raise InputError(f"fig6_letters must be at most fig6_d = {min(p['fig6_d'])} values, one neuron each")


_SIZES = tuple(
    (f"{name}_d", f"{name}_seeds") for name in ("res3", "fig2", "fig6", "fig8", "loss", "net", "order", "steps")
)
_CASE = ("targets", "lam", "step")
_COURSES = ("steps_targets", "steps_alpha0", "steps_step")
# what is counted in units of each dimension: batches, and widths
_BATCHES = {
    "res1_d": ("res1_alpha0",),
    "order_d": ("order_alpha0", "net_alpha"),
    "split_d": ("split_total",),
    "scale_d": ("scale_alpha0", "scale_alpha"),
    "pool_d": ("pool_alpha0",),
    "fig1_d": ("fig1_alpha0", "fig1_alpha"),
    "fig2_d": ("fig2_alpha0", "fig2_alphas"),
    "fig4_d": ("fig4_alphas",),
    "fig5_d": ("fig5_alpha0", "fig5_alpha", "fig5_betas"),
    "fig6_d": ("fig6_alphas",),
    "fig8_d": ("fig8_alpha",),
    "loss_d": ("loss_alpha",),
    "net_d": ("net_alpha0", "net_alpha"),
    "norms_d": ("net_alpha",),
    "map_d": ("map_alpha0", "net_alpha"),
    "steps_d": ("steps_alpha0", "net_alpha"),
}


def _needs_samples(p: Mapping[str, Any], d: str, names: tuple[str, ...]) -> None:
    """Every batch (but for one that is left out, 0) and width must hold a sample or neuron."""
    low = int(np.min(p[d]))
    for name in names:
        for one in np.atleast_1d(p[name]):
            if one and round(one * low) < 1:
                raise InputError(f"{name} must give at least one sample or neuron in {d} = {low}, got {one:g}")


def _needs_memory(
    p: Mapping[str, Any], d: str, *, least: float = 4.0, width: float = 1.0, chunk: int = CHUNK, each: int = 3
) -> None:
    """The features and inputs of a chunk's batches and test points must fit into the memory, so many of ``each``."""
    high, most = int(np.max(p[d])), {name: float(np.max(p[name])) for name in _BATCHES.get(d, ())}
    samples, width = TEST + high * max([least, *most.values()]), high * most.get("fig5_betas", width)
    what = " and ".join(f"{name} = {value:g}" for name, value in most.items())
    validate.memory(int(each * 8 * chunk * samples * (high + width)), f"{d} = {high}{what and f' with {what}'}")


def _grid_parameters(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "res1_d")
    return product(
        activation=p["activation"],
        target=p["res1_targets"],
        alpha0=p["res1_alpha0"],
        step=p["res1_step"],
        d=p["res1_d"],
        seeds=range(p["res1_seeds"]),
    )


@study(version=2, grid=_grid_parameters, chunk=8, data=DATA, device="any")
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


# what the comparison with theory spreads over: activation, target, alpha0, step, alpha, beta, lam
CASES = (
    ("tanh", "sin", 4.0, 2.0, 2.0, 1.0, 0.1),
    ("tanh", "sign", 1.0, 2.0, 0.7, 1.0, 0.1),
    ("tanh", "He1+He3", 16.0, 2.0, 4.0, 2.0, 0.01),
    ("tanh", "tanh", 1.0, 4.0, 2.0, 2.0, 0.01),
    ("erf", "sign", 4.0, 1.0, 2.0, 1.0, 0.01),
    ("erf", "He1+He3", 4.0, 1.0, 2.0, 0.5, 1.0),
    ("erf", "sin", 1.0, 2.0, 4.0, 0.5, 0.1),
    ("erf", "tanh", 4.0, 1.0, 0.7, 2.0, 0.1),
    ("sin", "sign", 4.0, 1.0, 4.0, 2.0, 1.0),
    ("sin", "sin", 1.0, 2.0, 0.7, 0.5, 1.0),
    ("sin", "He1+He3", 16.0, 1.0, 4.0, 2.0, 0.01),
    ("sin", "tanh", 4.0, 1.0, 4.0, 1.0, 1.0),
)
_CASE_NAMES = ("activation", "target", "alpha0", "step", "alpha", "beta", "lam")
APART = 1000  # seeds from one case to the next: no two cases share a draw, so that their scatter averages out


def _grid_agreement(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "res3_d", width=2.0)
    return [
        setting
        for d, seeds in zip(p["res3_d"], p["res3_seeds"])
        for i, case in enumerate(CASES)
        for setting in product(**dict(zip(_CASE_NAMES, case)), case=i, d=d, seeds=range(APART * i, APART * i + seeds))
    ]


@study(version=3, grid=_grid_agreement, chunk=8, data=DATA, device="any")
def agreement(setting: Setting, seeds: list[int]) -> Rows:
    """Errors and overlaps of spiked features at settings spread over all that the theory takes (Result 3.3)."""
    return measure.curve(setting | {"model": "srf", "alphas": [setting["alpha"]]}, seeds)


def _grid_gaussian(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "res2_d")
    return product(
        activation=p["activation"],
        target=p["res2_targets"],
        r=p["res2_r"],
        c=BULK,
        gamma=0.8,
        alpha=2.0,
        beta=1.0,
        lam=0.1,
        d=p["res2_d"],
        seeds=range(p["res2_seeds"]),
    )


@study(version=2, grid=_grid_gaussian, chunk=8, data=DATA, device="any")
def gaussian_map(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of ridge on the true features and on the conditional Gaussian ones, same inputs (Result 3.2)."""
    return measure.rows(measure.gaussian_pair(setting | {"model": "srf"}, seeds), seeds)


def _grid_steps(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig2_d", each=2)
    common = dict(model="network", activation=p["activation"], beta=1.0, alphas=[p["fig2_alphas"]])
    return [
        setting
        for target, lam, step in zip(p["fig2_targets"], p["fig2_lam"], p["fig2_step"])
        for d, seeds in zip(p["fig2_d"], p["fig2_seeds"])
        for setting in product(
            target=target, lam=lam, step=step, alpha0=p["fig2_alpha0"], d=d, seeds=range(seeds), **common
        )
    ]


@study(version=2, grid=_grid_steps, chunk=8, data=DATA, device="any")
def learning_curves(setting: Setting, seeds: list[int]) -> Rows:
    """Test error against ``alpha`` for several sizes ``alpha0`` of the first batch (Fig. 2)."""
    return measure.curve(setting, seeds)


def _grid_spikes(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig4_d")
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


@study(version=2, grid=_grid_spikes, chunk=8, data=DATA, device="any")
def spikes(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features against ``alpha`` for several strengths and alignments (Fig. 4)."""
    return measure.curve(setting, seeds)


def _grid_width(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig5_d")
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


@study(version=2, grid=_grid_width, chunk=8, data=DATA, device="any")
def widths(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network against its width, under both readings of the step size (Fig. 5)."""
    return measure.curve(setting, seeds)


def _grid_profiles(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig1_d")
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


@study(version=2, grid=_grid_profiles, chunk=8, data=DATA, device="any")
def profiles(setting: Setting, seeds: list[int]) -> Rows:
    """Mean of the network's output given ``theta·x = t``: rows of ``t``, ``output`` (Fig. 1)."""
    outputs = measure.profile(setting | {"model": "network", "beta": 1.0}, seeds, points=25)
    return [row for t, out in outputs.items() for row in measure.rows({"output": out}, seeds, t=t)]


def _grid_vocabulary(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig6_d")
    common = dict(
        activation=p["activation"],
        target=p["fig6_target"],
        r=p["fig6_r"],
        c=p["fig6_c"],
        lam=p["fig6_lam"],
        alphas=[p["fig6_alphas"]],
        rows=["sphere", "orthogonal"],
    )
    return [
        setting
        for d, seeds in zip(p["fig6_d"], p["fig6_seeds"])
        for values, count in ((p["fig6_letters"], seeds), ([1.0], min(seeds, p["fig6_uniform_seeds"])))
        for setting in product(values=[values], d=d, seeds=range(count), **common)
    ]


@study(version=2, grid=_grid_vocabulary, chunk=8, data=DATA, device="any")
def vocabulary(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of spiked features whose spike takes several values, ``p = d``, equal shares (Fig. 6)."""
    d, values = setting["d"], setting["values"]
    u = network.letters(d, values, [1.0] * len(values))
    c = 1 + u**2 * (setting["c"] - 1)
    names = {name: setting[name] for name in ("r", "rows")}
    weights = network.spiked_features(d=d, p=d, c=c, gamma=1.0, seeds=seeds, u=u, device="auto", **names)
    return measure.curve(setting, seeds, weights)


def _grid_spectra(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "fig8_d", chunk=4)
    common = dict(activation=p["activation"], r=p["fig8_rs"], alpha=p["fig8_alpha"])
    sizes = zip(p["fig8_d"], p["fig8_seeds"])
    return [setting for d, seeds in sizes for setting in product(d=d, seeds=range(seeds), **common)]


@study(version=2, grid=_grid_spectra, chunk=4, data=DATA, device="any")
def spectra(setting: Setting, seeds: list[int]) -> Rows:
    """Eigenvalues of ``Phi^T Phi / p`` of spiked features, ``p = d``: the largest, and the rest as a list (Fig. 8)."""
    values = measure.eigenvalues(setting | {"model": "srf", "c": 1.0, "gamma": 1.0, "beta": 1.0}, seeds)
    return [
        {"seed": seed, "top": float(row[-1]), "second": float(row[-2]), "bulk": [round(float(v), 6) for v in row[:-1]]}
        for seed, row in zip(seeds, values)
    ]


def _grid_losses(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "loss_d")
    common = dict(
        model="srf",
        activation=p["activation"],
        alpha=p["loss_alpha"],
        beta=1.0,
        lam=p["loss_lam"],
        r=p["loss_r"],
        c=BULK,
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
    bent = {"loss": "square", "activation": "softplus", "target": p["loss_bias_target"], "gamma": 0.8, "noise": 0.0}
    cases.append(bent | {"bias": 0.5, "delta": 1.0})
    sizes = list(zip(p["loss_d"], p["loss_seeds"]))
    return [
        setting for case in cases for d, seeds in sizes for setting in product(**common | case, d=d, seeds=range(seeds))
    ]


@study(version=2, grid=_grid_losses, chunk=8, data=DATA, device="any")
def losses(setting: Setting, seeds: list[int]) -> Rows:
    """Squared error and share of wrong signs of spiked features: convex losses, noise, uniform bias (App. C)."""
    return measure.rows(measure.convex_errors(setting, seeds), seeds)


def _grid_biases(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "loss_d")
    common = dict(activation=p["activation"], target=p["loss_bias_target"], alpha=p["loss_alpha"], beta=1.0, gamma=1.0)
    common |= dict(model="srf", lam=p["loss_lam"], r=p["loss_r"], c=BULK)
    sizes = zip(p["loss_d"], p["loss_seeds"])
    return [setting for d, seeds in sizes for setting in product(**common, d=d, seeds=range(seeds))]


@study(version=1, grid=_grid_biases, chunk=8, data=DATA, device="any")
def biases(setting: Setting, seeds: list[int]) -> Rows:
    """The uniform bias that each realisation's training objective chooses (App. C.8)."""
    return measure.rows(measure.trained_bias(setting, seeds), seeds)


def _grid_departure(p: Mapping[str, Any]) -> list[Setting]:
    for d in ("net_d", "map_d", "order_d"):
        _needs_memory(p, d, chunk=4)
    common = dict(activation=p["activation"], alpha=p["net_alpha"], beta=1.0, lam=p["net_lam"])
    sizes = [
        setting
        for target, alpha0, step in zip(p["net_targets"], p["net_alpha0"], p["net_step"])
        for d, seeds in zip(p["net_d"], p["net_seeds"])
        for setting in product(panel="size", target=target, alpha0=alpha0, step=step, d=d, seeds=range(seeds), **common)
    ]
    order = [
        setting
        for d, seeds in zip(p["order_d"], p["order_seeds"])
        for setting in product(
            panel="order",
            target=p["order_target"],
            alpha0=p["order_alpha0"],
            step=p["order_step"],
            d=d,
            seeds=range(seeds),
            **common,
        )
    ]
    return [
        *sizes,
        *order,
        *product(
            panel="map",
            target=p["map_target"],
            alpha0=p["map_alpha0"],
            step=p["map_step"],
            d=p["map_d"],
            seeds=range(p["map_seeds"]),
            **common,
        ),
    ]


@study(version=3, grid=_grid_departure, chunk=4, data=DATA, device="any")
def departure(setting: Setting, seeds: list[int]) -> Rows:
    """The network's error beside that of spiked features on the same draws, and three theories at its first batch."""
    return measure.rows(measure.departure(setting, seeds), seeds)


def _grid_several(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "steps_d", chunk=4)
    common = dict(activation=p["activation"], alpha=p["net_alpha"], lam=p["net_lam"])
    return [
        setting
        for target, alpha0, step in zip(*(p[name] for name in _COURSES))
        for d, seeds in zip(p["steps_d"], p["steps_seeds"])
        for setting in product(
            target=target, alpha0=alpha0, step=step, count=p["steps_counts"], d=d, seeds=range(seeds), **common
        )
    ]


@study(version=1, grid=_grid_several, chunk=4, data=DATA, device="any")
def several(setting: Setting, seeds: list[int]) -> Rows:
    """Spike, singular values and test error after several steps with one step's samples and size in all, ``p = d``."""
    return measure.rows(several_steps.measured(setting, seeds), seeds)


def _grid_kernels(p: Mapping[str, Any]) -> list[Setting]:
    most = round(max(p["kernels_alphas"]) * max(p["kernels_d"]))
    needed = 6 * 8 * 2 * most * (most + TEST)
    validate.memory(needed, f"kernels_d = {max(p['kernels_d'])} with kernels_alphas = {max(p['kernels_alphas']):g}")
    names = {name: p[f"split_{name}"] for name in ("target", "step", "lam")}
    common = dict(alphas=[p["kernels_alphas"]], lams=[p["kernels_lams"]], share=p["kernels_share"])
    common |= dict(activation=p["activation"], beta=1.0, seeds=range(p["kernels_seeds"]))
    return product(d=p["kernels_d"], **names, **common)


@study(version=1, grid=_grid_kernels, chunk=2, data=DATA, device="any")
def kernels(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network's kernels at several penalties, and of the network after a step, on as many samples.

    ``learner``: ``conjugate``, ``tangent`` or ``network``, which spends a ``share`` of the ``alpha d`` samples on its
    step and has the penalty ``lam`` of the setting; ``penalty``: the one of the row.
    """
    names = {name: setting[name] for name in ("activation", "target", "d", "alphas", "lams")}
    found = []
    for name, alpha, lam, errors in kernel_baseline.errors(**names, seeds=seeds):
        found += measure.rows({"test_error": errors}, seeds, learner=name, alpha=alpha, penalty=lam)
    for alpha in setting["alphas"]:
        split = {"alpha0": setting["share"] * alpha, "alphas": [(1 - setting["share"]) * alpha], "model": "network"}
        for row in measure.curve(setting | split, seeds):
            kind = {"learner": "network", "alpha": alpha, "penalty": setting["lam"]}
            found.append(kind | {name: row[name] for name in ("seed", "test_error")})
    return found


def _grid_norms(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "norms_d")
    return product(
        model="srf",
        activation=p["activation"],
        **dict(zip(("target", "alpha0", "step"), STRONG)),
        beta=1.0,
        lam=p["norms_lam"],
        alphas=[[p["net_alpha"]]],
        rows=["sphere", "gauss"],
        d=p["norms_d"],
        seeds=range(p["norms_seeds"]),
    )


@study(version=2, grid=_grid_norms, chunk=8, data=DATA, device="any")
def norms(setting: Setting, seeds: list[int]) -> Rows:
    """Spiked features whose rows have one norm, or the fluctuating norms of Gaussian rows; same seeds."""
    return measure.curve(setting, seeds)


def _grid_budget(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "split_d")
    common = dict(activation=p["activation"], target=p["split_target"], step=p["split_step"], lam=p["split_lam"])
    return product(
        total=p["split_total"], share=p["split_shares"], d=p["split_d"], seeds=range(p["split_seeds"]), **common
    )


@study(version=1, grid=_grid_budget, chunk=8, data=DATA, device="any")
def budget(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of the network when a share of ``total d`` samples pays for the step and the rest for the readout."""
    first = setting["share"] * setting["total"]
    split = {"model": "network", "beta": 1.0, "alpha0": first, "alphas": [setting["total"] - first]}
    return measure.curve(setting | split, seeds)


def _grid_scaling(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "scale_d")
    low = min(p["scale_d"])
    return [
        setting
        for s in p["scale_exponents"]
        for d in p["scale_d"]
        for setting in product(
            activation=p["activation"],
            target=p["scale_target"],
            alpha0=p["scale_alpha0"],
            lam=p["scale_lam"],
            exponent=s,
            step=p["scale_step"] * (d / low) ** (s - 1),
            d=d,
            alphas=[[p["scale_alpha"]]],
            seeds=range(p["scale_seeds"]),
        )
    ]


@study(version=1, grid=_grid_scaling, chunk=8, data=DATA, device="any")
def scaling(setting: Setting, seeds: list[int]) -> Rows:
    """Test error of networks whose step size grows like ``eta ~ p^s``, ``p = d``."""
    return measure.curve(setting | {"model": "network", "beta": 1.0}, seeds)


def _grid_pool(p: Mapping[str, Any]) -> list[Setting]:
    _needs_memory(p, "pool_d", least=8.0, width=4.0, chunk=4)
    common = dict(activation=p["activation"], alpha0=p["pool_alpha0"], d=p["pool_d"], seeds=range(p["pool_seeds"]))
    lams = {"upper": p["pool_upper_lam"], "lower": p["pool_lower_lam"]}
    settings = []
    for target in ("sign", "He1+He3"):
        unit = equivalent(p["activation"], target, alpha0=p["pool_alpha0"], step=1.0)
        for bound, lam in lams.items():
            settings += product(
                target=target, step=p["pool_r"] / unit.r, bound=bound, lam=lam, alpha=8.0, beta=4.0, **common
            )
    return settings


@study(version=1, grid=_grid_pool, chunk=4, data=DATA, device="any")
def pool(setting: Setting, seeds: list[int]) -> Rows:
    """Mean output given ``theta·x = t`` of wide networks with many samples, at a large and a small penalty (Fig. 3)."""
    outputs = measure.profile(setting | {"model": "network"}, seeds, points=25)
    return [row for t, out in outputs.items() for row in measure.rows({"output": out}, seeds, t=t)]


def _grid_images(p: Mapping[str, Any]) -> list[Setting]:
    validate.memory(3 * 8 * 2 * POOL * p["image_d"], f"image_d = {p['image_d']}")  # images and normal inputs
    return product(
        data=datasets.identity("mnist"),
        activation=p["activation"],
        target=["random", "leading", "parity"],
        d=p["image_d"],
        p=p["image_d"],
        n0=p["image_n0"],
        n=p["image_n"],
        step=p["image_step"],
        lam=p["image_lam"],
        seeds=range(p["image_seeds"]),
    )


@study(version=1, grid=_grid_images, chunk=8, data="white principal components of digits", device="any")
def images(setting: Setting, seeds: list[int]) -> Rows:
    """Test error on white principal components of digits and on normal inputs, three kinds of labels."""
    task = datasets.load("mnist", labels="parity")
    x = datasets.principal_components(task, setting["d"]).x[:POOL]
    x = (x - x.mean(0)) / x.std(0)
    return measure.rows(measure.on_images(setting, seeds, x, task.y[:POOL]), seeds)
