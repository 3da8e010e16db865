"""Chapter 5: its parameters, its studies against theory, and that it judges every claim of paper C."""

import re

import pytest

from companion.book import claims, figures
from companion.lab import parameters
from companion.papers.depth.studies import depth
from companion.papers.depth.theory import pairs, spectrum
from regimes.seeds import draw_seeds
from regimes.validate import InputError
from tests.sizes import computable


def test_the_chapter_shows_every_claim_of_paper_c():
    declared = [claim for claim in claims.claims_of("05") if claim.id.startswith("C.")]
    assert {claim.figure for claim in declared} <= figures.figures("05").keys()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("corpus", "mnits", "corpus must be one of mnist"),
        ("text", "text8", "text must be one of"),
        ("tab2_depths", [0, 30], "tab2_depths[0] must be a whole number from 1 to 1000000, got 0"),
        ("05.smallest_eigenvalue.main.depths", [0, 1], "05.smallest_eigenvalue.main.depths[0] must be a whole number"),
        ("curve_rho", [0.0, 1.5], "curve_rho[1] must be a number from -1 to 0.999999, got 1.5"),
        ("curve_depth", 10, "curve_depth must be a whole number from 1000 to"),
        ("eigen_n", [50, 10**6], "main (n0 = $n0, n = $eigen_n): n = 1000000 with n0 = 128 would take 80"),
        ("05.projection_norm.sphere.n", [64, 64], "05.projection_norm.sphere.n must hold no value twice"),
        ("eigen_n", [], "eigen_n must hold at least 1 value"),
        ("tab2_n", 4900, "n + test must be at most 5000, the images of mnist here (make data fetches 70000)"),
        ("05.projection_norm.images.n", [16, 4990], "images (n0 = $n0, corpus = $corpus): n + fresh must be at most"),
        ("05.text_training.gd_ntk.vocabulary", 10**5, "the words of text pydoc"),
    ],
)
def test_bad_input_is_one_line_before_any_computing(name, value, message):
    with pytest.raises(InputError, match=re.escape(message)):
        computable("05", parameters.resolve("05", "smoke", {name: value}))


def test_rows_do_not_depend_on_the_chunk():
    settings = {
        "closest_pair": {"n": 20, "n0": 4, "delta": 0.1, "measure": "angle"},
        "text_training": {
            "text": "pydoc", "vocabulary": 8, "width": 12, "looks": [3], "dtype": "float32",
            "optimiser": "adam", "parametrisation": "standard", "targets": "words",
        },
    }  # fmt: skip
    for name, setting in settings.items():
        study = getattr(depth, name)
        together, alone = study(setting, [0, 1, 2]), study(setting, [1])
        for key, value in alone[0].items():
            assert together[1][key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-9)), (
                name,
                key,
            )


def test_draws_follow_the_convention_of_seeds():
    """The same data for all studies of one kind and realisation, and no realisation's network shares its generator."""
    (draw,) = draw_seeds("train", [3])
    points = pairs.sphere(40, 16, seed=draw)
    setting = {"cloud": "sphere", "n": 40, "n0": 16}
    bound = depth.depth_bound(setting, [3])[0]["bound"]
    assert bound == pytest.approx(pairs.separation_depth(pairs.largest_correlation(points)), rel=1e-12)
    (row,) = depth.smallest_eigenvalue({**setting, "depths": [4]}, [3])
    assert row["smallest"] == pytest.approx(spectrum.smallest_kernel_eigenvalue(points, depth=4), abs=1e-12)
    assert draw not in draw_seeds("weights", range(100)) + draw_seeds("labels", range(100))


def test_nested_data_have_interlacing_eigenvalues():
    p = {"cloud": "sphere", "n0": 8, "depths": [2, 7]}
    rows = [depth.smallest_eigenvalue({**p, "n": n}, [0]) for n in (40, 41, 80)]
    for small, large in zip(rows, rows[1:]):
        assert all(b["smallest"] <= a["smallest"] + 1e-12 for a, b in zip(small, large))


def test_curves_hold_what_is_judged():
    rows = depth.normalised_kernel({"rho": 0.5, "depth_max": 10**6}, [0])
    depths = [row["depth"] for row in rows]
    assert {1, 30, 10**5, 10**6 - 1, 10**6} <= set(depths) and depths == sorted(depths)
    assert rows[0]["kernel"] == pytest.approx(0.5, abs=1e-15)
    assert rows[-1]["kernel"] - 0.25 == pytest.approx(rows[-1]["predicted"], rel=1e-4)
