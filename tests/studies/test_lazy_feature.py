"""Studies of chapter 1: their draws, the limits in which curves must coincide, and what bad parameters get."""

from dataclasses import replace

import pytest
import torch

from companion.lab import catalogue, parameters
from companion.papers import tasks
from companion.papers.compression.studies import lazy_feature as studies
from companion.papers.compression.studies import sensitivity
from regimes.data.tasks import rotation
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run
from regimes.validate import InputError

STRIPE = {"shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 3, "p": 40, "test": 500}
TUBE = tasks.TaskSet(shape="cylinder", d=4, d_parallel=3, radius=1.5, p=10)
NET = STRIPE | {"h": 80, "tolerance": 0.05}
SHARES = {"shares": [0.1, 0.9, 1.0], "frozen": [0.1, 1.0], "lines": 200}


def of(rows, **values):
    """The rows that have these values."""
    return [row for row in rows if row.items() >= values.items()]


def test_draws_are_independent_and_more_test_points_extend_fewer():
    stripe = studies.LazyCurve(**STRIPE)
    drawn = [tasks.draw_task(stripe, kind, 40, [0, 1]).x for kind in ("train", "fresh")]
    assert drawn[0].shape == (2, 40, 3)
    assert not torch.isin(drawn[0], drawn[1]).any() and not torch.isin(drawn[0][0], drawn[0][1]).any()
    assert not torch.isin(tasks.draw_task(stripe, "train", 50, [0]).x, drawn[0]).any()
    test = [tasks.draw_task(stripe, "test", size, [3]).x for size in (300, 500)]
    assert torch.equal(test[0], test[1][:, :300]) and not torch.isin(test[0], drawn[0]).any()
    assert [task.x.shape[1] for task in tasks.draw_tasks(stripe, [0], "train", "fresh", "test")] == [40, 40, 500]
    assert tasks.draw_task(TUBE, "train", 10, [0]).d_parallel == 3


def test_a_realisation_does_not_depend_on_its_company():
    setting = NET | SHARES | {"alpha": 1e-4}
    of_two = studies.networks(setting, [0, 1])
    alone = studies.networks(setting, [1])
    assert len(alone) == 5
    for row in alone:
        (same,) = of(of_two, seed=1, curve=row["curve"], share=row["share"])
        assert same["error"] == pytest.approx(row["error"], rel=1e-6)
        assert same["amplification"] == pytest.approx(row["amplification"], rel=1e-4)


def test_at_large_alpha_the_network_is_its_frozen_kernel():
    rows = studies.networks(NET | SHARES | {"alpha": 1e6, "lines": 2000}, [0, 1, 2])
    assert {row["ended"] for row in rows} == {"zero loss"} and len(rows) == 3 * 5
    frozen = studies.finite_width_lazy(STRIPE | {"h": 80, "test": 20_000}, [0, 1, 2])
    for row, kernel in zip(of(rows, curve="feature", share=1.0), frozen, strict=True):
        assert row["error"] == pytest.approx(kernel["error"], abs=0.01)  # lines against points
        assert row["amplification"] == pytest.approx(row["amplification_star"], rel=1e-3)
    (row,) = studies.scale_scan(NET | {"alpha": 1e6}, [0])
    (kernel,) = studies.finite_width_lazy(STRIPE | {"h": 80}, [0])
    assert row["error"] == pytest.approx(kernel["error"], abs=0.02)


def test_lines_have_the_labels_edges():
    of_task = {"alpha": 1.0, "dtype": "float64", "processor": "this one", "h": 10, "p": 40, "tolerance": 0.1}
    stripe = {name: value for name, value in STRIPE.items() if name != "test"} | of_task
    across, edges = studies.lines(sensitivity.Numerics(**stripe, lines=15), [0, 1])
    assert across.shape == (2, 15, 2) and edges.shape == (2, 15, 2) and edges[0, 0].tolist() == STRIPE["interfaces"]
    fewer, _ = studies.lines(sensitivity.Numerics(**stripe, lines=13), [1])
    assert torch.equal(fewer[0], across[1, :13])
    across, edges = studies.lines(sensitivity.Numerics(**TUBE.entries() | of_task, lines=50), [0])
    task = tasks.draw_task(TUBE, "test", 10, [0])
    for side in (0, 1):
        inside = edges[0, :, side] != 0
        at = torch.cat([edges[0, inside, side, None] * (1 - 1e-9), across[0, inside]], -1)
        assert (task.label(at) == -1).all() and (task.label(at * (1 + 1e-8)) == 1).all()


def test_rotated_data_and_weights_have_the_rotated_path_so_that_isotropic_weights_know_no_axis():
    """Paper A, App. A: the initial weights are isotropic, so that rotating the data alone changes no distribution."""
    s = studies.Learning(**NET | {"h": 60, "p": 16, "alpha": 1e-4})
    (train,), start = tasks.draw_tasks(s, [2], "train"), tasks.networks_of(s, [2])
    train, start = train.to(dtype=torch.float64), start.to(dtype=torch.float64)
    turn = rotation(3, seed=4)[None].double()
    turned = start.with_parameters([start.omega @ turn.mT, start.b, start.beta])
    flows = ((start, train), (turned, replace(train, x=train.x @ turn.mT)))
    drawn, rotated = (run(gradient_flow(*flow, alpha=s.alpha, tolerance=0.02)) for flow in flows)
    assert float(drawn.t) == pytest.approx(float(rotated.t), rel=1e-6)
    torch.testing.assert_close(drawn.model.omega @ turn.mT, rotated.model.omega, rtol=1e-6, atol=1e-8)


def test_the_infinitely_wide_kernel_learns_the_training_sets_of_the_networks_too():
    values = parameters.resolve("01", "smoke")

    def training_sets(settings):
        return {(s["shape"], s["d"], s["p"], seed) for s in settings for seed in s["seeds"]}

    trained = [s for shape in studies.OWN for s in studies.networks.grid.settings(values, shape)]
    networks = training_sets(trained)
    assert networks <= training_sets(studies.infinite_width_lazy.grid(values))


def test_the_stop_and_the_end_are_looked_at_whatever_else_is():
    grid = studies.networks.grid
    values = parameters.resolve("01", "laptop", {"stop": 0.97, "01.networks.cylinder.frozen": [1.0]})
    stripe, cylinder = (grid.settings(values, name)[0] for name in ("stripe", "cylinder"))
    assert stripe["shares"] == [0.1, 0.5, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0] and "stop" not in stripe
    assert cylinder["frozen"] == [1.0] and {0.97, 1.0} <= set(cylinder["shares"])


def test_the_registered_run_trains_wide_networks_without_a_kernel_where_no_claim_has_one():
    grid, drawn = studies.networks.grid, [parameters.designs("01", name) for name in ("stored", "registered")]
    values = parameters.resolve("01", "laptop", *drawn)
    wide, ring = (grid.settings(values, name)[0] for name in ("wide_largest", "wide_cylinder"))
    assert wide.get("frozen") is None and wide["until"] == 1.0 and 1.0 in wide["shares"]
    assert ring["frozen"] == [0.1] == ring["shares"], "until t*"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("interfaces", [1.0, -1.0], "interfaces must be a strictly increasing"),
        ("interfaces", [3.8, 3.9], r"interfaces = \$interfaces.*: p must give both labels .* or other interfaces"),
        (
            "01.compressed_by_factor.cylinder.d_parallel",
            3,
            "01.compressed_by_factor.cylinder.*: d_parallel must be below d = 3",
        ),
        (
            "01.infinite_width_lazy.cylinder.radius",
            0.0,
            "01.infinite_width_lazy.cylinder.radius must be a number above 0 and at most 20",
        ),
        ("01.networks.cylinder.radius", 9.0, "take more points or other radius"),
        ("01.networks.stripe.shape", "cylinder", "01.networks.stripe.*: a cylinder needs d_parallel and radius"),
        (
            "01.infinite_width_lazy_large_p.stripe.p",
            [2, 200, 400],
            "01.infinite_width_lazy_large_p.stripe.*: p must give both labels in every draw: 2 points",
        ),
        (
            "01.infinite_width_lazy_large_p.stripe.p",
            [200, 400],
            "01.infinite_width_lazy_large_p.stripe.p must hold at least 3",
        ),
        ("curve_p", [100, 200], r"\(\$curve_p\) must hold at least 3 sizes"),
        ("wide_p", [400, 200, 200], "wide_p must hold no value twice"),
        ("curve_p", [1, 200, 300, 400], "curve_p"),
        ("fit_from", 10**5, "01.finite_width_lazy.stripe.p must hold at least 3 sizes from fit_from on"),
        ("01.networks.cylinder.p", [100, 200], "01.networks.cylinder.p must hold at least 3 sizes from fit_from on"),
        ("01.scale_scan.main.alpha", [1e-4, 1.0, 1e4], "01.scale_scan.main.alpha must hold at least 6"),
        ("curve_alpha", -1.0, "curve_alpha must be"),
        ("lazy_h", [0], "lazy_h"),
        ("curve_h", 0, "curve_h"),
        ("tolerance", 1.0, "tolerance"),
        ("test", 0, "test must be"),
        ("01.networks.stripe.lines", 0, "01.networks.stripe.lines must be"),
        (
            "01.networks.stripe.shares",
            [0.5, 0.9],
            r"01.networks.stripe.shares must hold \[0.9, 0.95\], got \[0.5, 0.9\]",
        ),
        ("01.networks.stripe.shares", [0.0, 1.0], r"shares\[0\] must be a number above 0 and at most 1, got 0.0"),
        ("01.networks.stripe.frozen", [1.0], r"01.networks.stripe.frozen must hold \[0.9\], got \[1.0\]"),
        ("stop", 1.0, "stop must be a number strictly between 0 and 1"),
        (
            "01.compressed_by_factor.stripe.factor",
            [2.0, 4.0, 8.0],
            "01.compressed_by_factor.stripe.factor must be 3 or more and begin with 1",
        ),
        (
            "01.compressed_by_factor.stripe.factor",
            [1.0, 4.0],
            "01.compressed_by_factor.stripe.factor must be 3 or more and begin with 1",
        ),
        (
            "01.numerics.tolerances.processor",
            "another",
            "01.numerics.tolerances.processor must be one of this one, no vector",
        ),
    ],
)
def test_bad_parameters_get_one_line_before_any_run(name, value, says):
    with pytest.raises(InputError, match=says) as error:
        catalogue.grids("01", parameters.resolve("01", "smoke", {name: value}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "shape",
    [
        {"shape": "stripe", "d": 3, "interfaces": [-0.3, 1.2, 2.0]},
        {"shape": "cylinder", "d": 4, "d_parallel": 3, "radius": 1.3},
    ],
)
def test_share_of_labels_is_that_of_the_draws(shape):
    s = tasks.TaskSet(p=2, **shape)
    y = tasks.draw_task(s, "test", 10**5, [0]).y
    assert tasks.Shape.of(s).positive_share() == pytest.approx(float((y == 1).double().mean()), abs=0.005)


@pytest.mark.parametrize(("p", "kinds"), [(4, ("train",)), (5, ("train", "fresh")), (100, ("train",))])
def test_the_first_draw_of_a_single_label_is_found(p, kinds):
    setting = tasks.StripeSet(shape="stripe", d=3, interfaces=[1.2], p=p)
    seeds = range(40)

    def has_one_label(kind, seed):
        return len(tasks.draw_task(setting, kind, p, [seed]).y.unique()) == 1

    single = [seed for seed in seeds if any(has_one_label(kind, seed) for kind in kinds)]
    assert tasks._single(tasks.Shape.of(setting), p, seeds, kinds) == (single[0] if single else None)


def test_where_kernels_learn_afresh_that_draw_has_both_labels_too():
    given = STRIPE | {"p": 5, "interfaces": [1.2], "h": 10, "alpha": 1.0, "tolerance": 0.1}
    shape = tasks.Shape("stripe", 3, (1.2,))

    def single_draws(kind):
        return {seed for seed in range(40) if tasks._single(shape, 5, [seed], [kind]) == seed}

    seed = min(single_draws("fresh") - single_draws("train"))
    assert studies.Learning(**given).completed([seed]).shape == "stripe"
    with pytest.raises(InputError, match=f"have a single one in draw {seed}"):
        studies.FreshSets(**given).completed([seed])
