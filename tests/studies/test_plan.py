"""What a profile would take: laws of known exponents are found, what nobody measured is called a guess."""

import math

import numpy as np
import pytest

from regimes import validate
from regimes.studies import _plan as plan
from regimes.studies.__main__ import main
from regimes.sweeps.store import Cell
from regimes.sweeps.study import study
from regimes.validate import InputError


@study(version=1, grid=lambda p: [])
def nothing(setting, seeds):
    """Nothing."""


def took(p, h, loss="hinge"):
    return 1e-6 * p**2 * h * (3.0 if loss == "square" else 1.0)


KNOWN = [
    ({"p": p, "h": h, "alpha": 1e-6, "loss": loss, "d": 5}, took(p, h, loss))
    for p in (16, 64, 256, 1024)
    for h in (10, 100, 1000)
    for loss in ("hinge", "square")
]


def test_a_power_law_is_found_and_extrapolated():
    law = plan.fit(KNOWN)
    assert law.off < 1.05
    for loss in ("hinge", "square"):
        far = {"p": 8192, "h": 5000, "alpha": 1e-6, "loss": loss, "d": 5}
        assert law.seconds(far) == pytest.approx(took(8192, 5000, loss), rel=0.3)


def test_noise_is_told_by_settings_left_out():
    rng = np.random.default_rng(0)
    law = plan.fit([(setting, seconds * 2 ** rng.normal()) for setting, seconds in KNOWN])
    assert 1.2 < law.off < 3


def test_how_far_a_law_is_off_is_measured_on_settings_it_was_not_fitted_to():
    """Where each setting has a name of its own, a fit can follow all that it holds, and tells nothing about others."""
    known = [({"p": 16, "name": str(i)}, 4.0 ** (-1) ** i) for i in range(10)]
    assert plan.fit(known).off == pytest.approx(4, rel=0.2)


def test_one_cell_gives_a_law_without_its_error_and_few_exponents():
    law = plan.fit(KNOWN[:1])
    assert math.isnan(law.off) and law.seconds(KNOWN[0][0]) == pytest.approx(KNOWN[0][1])
    assert law.seconds(KNOWN[0][0] | {"p": 32}) == pytest.approx(2 * KNOWN[0][1])  # a guess


def test_a_plan_counts_what_is_left_and_names_what_is_guessed():
    setting = KNOWN[-1][0] | {"d": 50}
    held = {Cell(nothing.name, 1, setting, 0).key()}
    found = plan.plan(nothing, [setting | {"seeds": range(4)}], KNOWN, held, 2**30)
    assert (found.cells, found.stored, found.memory, found.guessed) == (4, 1, 2**30, ("d",))
    assert found.longest == pytest.approx(10 * KNOWN[-1][1], rel=0.1) and found.hours == pytest.approx(
        3 * found.longest / 3600
    )
    whole = plan.plan(nothing, [setting | {"seeds": [0]}], KNOWN, held, 0)
    assert whole.hours == 0 and whole.longest == 0 and not whole.guessed
    unknown = plan.plan(nothing, [setting | {"seeds": [1]}], [], held, 0)
    assert math.isnan(unknown.hours) and "?" in plan.table({"01": ([unknown], {})})


def test_memory_is_asked_for_and_not_refused():
    with validate.memory_asked() as asked:
        validate.memory(10**18, "a universe")
    assert asked == [10**18]
    with pytest.raises(InputError, match="a universe"):
        validate.memory(10**18, "a universe")


@pytest.mark.parametrize("profile", ["smoke", "paper"])
def test_the_command_lists_every_study_of_a_chapter(capsys, profile):
    assert main(["plan", "03", "--profile", profile]) == 0
    said = capsys.readouterr().out
    for name in ("ensembles", "thresholds", "landscapes", "starts", "stripes"):
        assert f"`jamming.{name}`" in said
    assert "cells are to be computed" in said


def test_an_unknown_chapter_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plan", "77"])
    assert capsys.readouterr().err.startswith("error: chapter must be one of")
