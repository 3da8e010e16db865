"""Chapter 4's studies at tiny sizes: what they measure, and what must hold of it."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.lab import parameters
from companion.papers.kernel_pca.studies import kernel_pca as studies
from regimes.measures import information
from regimes.measures.errors import wrong
from regimes.training.run import run
from regimes.validate import InputError
from tests.sizes import computable

STRIPE = studies.STRIPE_TASK | {"d": 3, "p": 40, "h": 60, "n": 120, "alpha": 1e-6, "tolerance": 0.1, "test": 100}
MANY = STRIPE | {"many": 240, "stops": [0.5]}


def test_networks_at_the_largest_size_alone_have_panels():
    table = pd.DataFrame(studies.image_curves.grid(parameters.resolve("04", "smoke")))
    groups = [group for _, group in table.groupby(["data", "h"])]
    assert any(group.p.nunique() > 2 for group in groups)
    for group in groups:
        assert (group.panels == (group.p == group.p.max())).all()


@pytest.fixture(scope="module")
def images():
    return {
        "data": "digits", "words": studies.identity("digits"), "h": 2, "p": 24, "n": 60, "test": 60, "alpha": 10.0,
        "softness": 3.0, "max_turn": 0.3, "max_move": 0.5,
    }  # fmt: skip


def test_sets_are_disjoint_and_do_not_depend_on_each_others_size(images):
    sets = studies.draw_images(studies.ImageKernels(**images), [0, 1])
    rows = torch.cat([task.x[0] for task in sets.values()])
    assert len(rows.unique(dim=0)) == len(rows) == 60 + 60 + 2 * 24
    more = studies.draw_images(studies.ImageKernels(**images | {"p": 80}), [0])
    for name in ("test", "points"):
        torch.testing.assert_close(sets[name].x[:1], more[name].x)
    assert {tuple(task.y[0].unique().tolist()) for task in sets.values()} == {(-1.0, 1.0)}


def of_moment(rows, moment):
    return [row for row in rows if row["moment"] == moment]


def of_kernel(rows, kernel, moment):
    """The first row of a kernel at a moment."""
    return next(row for row in of_moment(rows, moment) if row["kernel"] == kernel)


def test_stripes_have_every_kernel_at_every_moment():
    rows = studies.stripes(MANY, [0, 1])
    moments = {"full": ["0.5", "end", "start"], "last": ["0.5", "end", "start"], "network": ["0.5", "end"]}
    for kernel, expected in moments.items():
        assert sorted(row["moment"] for row in rows if (row["seed"], row["kernel"]) == (1, kernel)) == expected
    for row in rows:
        assert 0 <= row["error"] <= 1
        if row["kernel"] != "network":
            assert len(row["information"]) == len(row["projections"]) == 10 and sum(row["projections"]) <= 1 + 1e-9
            assert np.all(np.diff(row["values"]) <= 1e-12) and 0 <= row["alignment"] <= 1
    start, end = of_kernel(rows, "full", "start"), of_kernel(rows, "full", "end")
    assert end["amplification"] > 3 * start["amplification"] and end["departure"] < start["departure"]
    assert end["alignment"] > start["alignment"]


def test_second_harmonics_become_even_or_odd():
    """Before training 5 of the 14 of an isotropic kernel in five dimensions are, and what comes before them."""
    setting = MANY | {"d": 5, "p": 128, "h": 400, "many": 1500}
    rows = studies.stripe_spectra(setting, [0, 1, 2, 3])
    start = np.array([row["kinds"] for row in of_moment(rows, "start")]).sum(-1)
    end = np.array([row["kinds"] for row in of_moment(rows, "end")]).sum(-1)
    assert start.shape == (4, 12) and start[:, :6].min() > 0.95
    assert start[:, 6:].mean() == pytest.approx(5 / 14, abs=0.1)
    assert end[:, 6:].mean() > 0.7
    before = np.log([row["norms"] for row in of_moment(rows, "start")]).mean(0)  # at half of the label, at a tenth
    after = np.log([row["norms"] for row in of_moment(rows, "end")]).mean(0)
    assert after[0] < before[0] - 1 < before[1]


def test_norms_fall_where_much_of_the_loss_is_left_and_the_span_shrinks():
    rows = studies.stripe_norms(STRIPE | {"d": 5, "p": 128, "h": 400, "n": 200, "stops": [0.5]}, [0, 1])
    for before, after in zip(of_moment(rows, "start"), of_moment(rows, "end"), strict=True):
        assert before["span"][0] > 150 > 100 > after["span"][0] and before["span"][1] < 0.05 < after["span"][1] < 1
        assert after["norms"][0] < before["norms"][0] / 3 and before["norms"][:3] == sorted(before["norms"][:3])
        assert before["own"] == after["own"] and 0 < after["own"][0] < 0.5 and 0 < after["own"][1] < 1


def test_curves_judge_the_last_layer_of_the_same_network(images):
    images = images | {"descent": "settle", "stops": [0.5]}
    rows = studies.image_curves(images | {"panels": True}, [0])
    full, last = of_kernel(rows, "full", "end"), of_kernel(rows, "last", "end")
    assert last["dimension"] < full["dimension"] + 1 and full["ended"] == "zero loss"
    bare = studies.image_curves(images | {"panels": False}, [0])
    assert [row["error"] for row in bare] == [row["error"] for row in rows] and "information" not in bare[0]


def test_frames_begin_and_end_where_the_training_does(images):
    rows = studies.kernel_along_training(images | {"shape": "images", "descent": "settle", "frames": 3}, [0])
    assert [row["frame"] for row in rows] == list(range(len(rows)))
    assert rows[0]["t"] == 0 and rows[0]["satisfied"] == 0 and rows[-1]["satisfied"] == 1
    assert rows[0]["network"] == 1.0  # F = 0 everywhere: ties are errors
    rows = studies.kernel_along_training(STRIPE | {"frames": 3}, [0])
    assert rows[0]["t"] == 0 and rows[-1]["satisfied"] == 1 and rows[-1]["alignment"] > rows[0]["alignment"]


def test_both_descents_train_the_same_networks(images):
    s = studies.ImageKernels(**images)
    sets = studies.draw_images(s, [0])
    model = studies.convolutional_networks(s, [0])
    test = sets["test"]
    errors = {}
    for how in studies.DESCENTS:
        path = run(studies.descend(s, model, sets["train"], how))
        assert bool((path.F * sets["train"].y >= 1).all())
        errors[how] = float(wrong(path.model(test.x) - path.initial(test.x), test.y)[0])
    assert abs(errors["momentum"] - errors["settle"]) < 0.1


def test_one_component_is_right_less_often_than_two():
    """The label of two planes needs two thresholds along one direction; one gets the larger side of a plane right."""
    stripe = {"d": 2, "p": 200, "h": 100, "n": 400, "alpha": 1e-6, "tolerance": 0.05, "test": 60}
    setting = studies.StripeKernels(**stripe).completed([0]).entries()
    rows = {row["kernel"]: row for row in studies.stripe_lines(setting, [0])}
    assert {*rows} == {"full", "last"}
    assert 0.8 < rows["last"]["one"] < rows["last"]["two"] - 0.02 and rows["last"]["two"] > 0.95


@pytest.mark.parametrize("case", studies.CASES)
def test_synthetic_cases_have_the_information_that_they_say(case):
    """By a histogram of a million points, which is unbiased enough."""
    x, y, exact = studies._case(case, 400_000, 1, np.random.default_rng(0))
    edges = np.quantile(x.numpy(), np.linspace(0, 1, 401))
    place = np.searchsorted(edges[1:-1], x.numpy())
    share = np.bincount(place, y.numpy() > 0) / np.bincount(place)
    assert 1 - information.entropy(share).mean() == pytest.approx(exact, abs=0.012)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"04.stripes.main.many": 60}, r"stripes.main .*many must be at least 104 for the splines of d = 3"),
        ({"04.stripes.main.p": 10**5}, "p = 100000 would take"),
        ({"image_p": [20, 40, 5000]}, r"test \+ n \+ 2 p must be at most 1797, the images of digits here, got 10160"),
        ({"04.image_curves.main.p": [20, 21, 23]}, r"image_curves.main .*p must be one of 20, 22, 24; got 21"),
        ({"04.kernel_along_training.images.p": 5000}, r"kernel_along_training.images .*2 p must be at most 1797"),
        (
            {"04.kernel_along_training.stripe.shape": "images"},
            r"kernel_along_training.stripe .*shape = images takes the axes data, alpha",
        ),
        (
            {"neighbours": 50},
            r"neighbours = \$neighbours.*neighbours must be at most 20, a quarter of n = 100 less five",
        ),
        ({"04.estimators.one_dimension.d": 2}, "d must be 1 where case = null, got 2"),
        ({"data": "cifar10"}, "data must be one of"),
    ],
)
def test_bad_parameters_get_one_line(given, message):
    with pytest.raises(InputError, match=message) as raised:
        computable("04", parameters.resolve("04", "smoke", given))
    assert "\n" not in str(raised.value)


def test_every_draw_of_the_stripe_holds_both_labels():
    with pytest.raises(InputError, match="p must give both labels in every draw: 4 points of the stripe in d = 3"):
        studies.AtStops(**STRIPE | {"p": 4, "stops": [0.5]}).completed(range(91))
