"""What counts of a function: its code, and all that it names, by value, and neither words nor places nor addresses."""

import dataclasses
import functools
import inspect
import linecache
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from companion import estimates
from companion.book import claims, ledger
from companion.book.ledger import EXACT, SPAN
from companion.lab import closure, digest
from companion.papers.compression.claims import learning_curves
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.theory import jamming
from tests.references import ROOT

SOURCE = '''
"""A module."""
import functools
import math
import statistics
WINDOW = (1.1, 4.0)
SIZES = {3: 1, 5: 2}
KINDS = {"cylinder", "stripe", "ball", "ring"}
UNUSED = 1
def half(x):
    """Half."""
    return x / 2
def third(x):
    return x / 3
def traced(function):
    @functools.wraps(function)
    def inner(x):
        return function(x)
    return inner
def scaled(by):
    def inner(x):
        return by * x
    return inner
double, cubed = scaled(2), functools.partial(pow, exp=3)
WAYS = {"half": half, "root": math.sqrt, "square": lambda x: x * x}
class Line:
    """A line."""
    slope: float = 1.0
    def __init__(self, slope):
        self.slope = slope
    def at(self, x):
        return self.slope * x
    def other(self, x):
        return third(x)
    def __str__(self):
        return f"{self.slope:.2g}"
@traced
def measured(x, low=0.5, *, names=("a", "b")):
    """A number."""
    inside = [it for it in x if WINDOW[0] < it < WINDOW[1]]  # why
    assert f"{x[0]:{SIZES[3]}}" not in KINDS
    WAYS["half"](double(cubed(2)))
    return statistics.mean(inside) * Line(2).at(low) * SIZES[3]
'''


def made(text=SOURCE, name="made", **values):
    """The parts of ``measured`` of a module with this text, some of whose values are others."""
    linecache.cache["<made>"] = (len(text), None, text.splitlines(True), "<made>")
    module = ModuleType(f"companion.{name}")
    sys.modules[module.__name__] = module
    exec(compile(text, "<made>", "exec"), vars(module))
    vars(module).update(values)
    return closure.parts_of(module.measured, lambda module: module.startswith("companion.made"))[0]


CHANGES = {
    "WINDOW": ("(1.1, 4.0)", "(1.1, 1.6)"),
    "SIZES": ("5: 2", "5: 3"),
    "half": ("x / 2", "x / 2.5"),
    "scaled.<locals>.inner": ("by * x", "by + x"),
    "value scaled.<locals>.inner": ("scaled(2)", "scaled(3)"),
    "cubed": ("exp=3", "exp=4"),
    "WAYS": ("math.sqrt", "math.exp"),
    "<lambda>": ("x * x", "x * x * x"),
    "Line": ("slope: float = 1.0", "slope: float = 2.0"),
    "Line.__init__": ("self.slope = slope", "self.slope = 2 * slope"),
    "Line.at": ("self.slope * x", "self.slope + x"),
    "traced": ("function(x)", "2 * function(x)"),
    "measured": ("statistics.mean", "statistics.median"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_and_named(name):
    before, after = made(), made(SOURCE.replace(*CHANGES[name]))
    assert digest.of_parts(before) != digest.of_parts(after)
    changed = digest.differing(after, digest.brief(before))
    names = {part.removeprefix("companion.made.").partition(" ")[0] for part in changed}
    assert name.removeprefix("value ") in names and len(names) <= 2


@pytest.mark.parametrize(
    "change",
    [
        ('"""A number."""', '"""A number\n\n    of several lines."""'),
        ("  # why", "  # for this reason"),
        ("UNUSED = 1", "UNUSED = 2"),
        ("x / 3", "x / 4"),
        (":.2g}", ":.3g}"),
        ("def half", "\n\n\ndef half"),
        ('"""Half."""\n', ""),
        ("(1.1, 4.0)", "(1.1, 8 / 2)"),
    ],
)
def test_words_places_and_what_nobody_names_do_not_count(change):
    assert made(SOURCE.replace(*change)) == made() and change[0] in SOURCE


def values():
    """Pairs of a constant and another, each made anew."""
    return {
        "set": ({"b", "a", "c"}, {"b", "a"}),
        "frozen set": (frozenset({2, 1}), frozenset({3})),
        "array": (np.linspace(0, 1, 3), np.linspace(0, 2, 3)),
        "precision": (np.ones(2), np.ones(2, np.float32)),
        "tensor": (torch.arange(3.0), torch.arange(4.0)),
        "scalar": (np.float64(2), np.float64(3)),
        "nested": ((1, (2, 3)), ((1, 2), 3)),
        "true": (True, 1),
        "text": ("1", 1),
        "nothing": (None, 0),
        "function": (studies.at_end, jamming.divergence),
        "functions": ([studies.at_end], [jamming.divergence]),
        "class": (estimates.Estimate, estimates.Drift),
        "object": (estimates.Estimate(1, 0, 2), estimates.Estimate(1, 0, 3)),
        "method": (estimates.Estimate.anytime, estimates.Drift.anytime),
        "partial": (functools.partial(pow, exp=2), functools.partial(pow, exp=3)),
        "study": (studies.ensembles, studies.ensembles["slices"]),
        "design": (studies.ensembles["slices"], studies.ensembles["cross_over"]),
        "precision of torch": (torch.float32, torch.float64),
        "slice": (slice(1, 2), slice(1, 3)),
    }


@pytest.mark.parametrize("name", values())
def test_a_constant_counts_by_its_value(name):
    (one, other), (same, _) = values()[name], values()[name]
    found = made(SIZES=one)
    assert found == made(SIZES=same) != made(SIZES=other)
    assert digest.differing(made(SIZES=other), digest.brief(found))[0].startswith("companion.")


def test_a_study_counts_by_its_name_and_version():
    newer = dataclasses.replace(studies.ensembles, version=studies.ensembles.version + 1)
    assert made(SIZES=studies.ensembles) != made(SIZES=newer)


def test_a_last_bit_does_not_count():
    assert made(SIZES=np.array([0.1 + 0.2])) == made(SIZES=np.array([0.3]))


def test_the_digest_is_that_of_every_python():
    """The words of syntax trees differ from version to version; the order of a set from process to process."""
    assert digest.of_parts(made()) == "bbcc22dca46b1298"
    assert digest._bare_digest(SOURCE) == "b9e55f74597d13e4"


def of_all():
    """The digest of each claim."""
    return {claim.id: claim.measured_by["digest"] for _, claim in claims.all_claims()}


@pytest.fixture(scope="module")
def before():
    return of_all()


def changed_by(before):
    return {name for name, own in of_all().items() if own != before[name]}


DIVERGE = {
    "B.Sec2-norm-law", "B.Fig8D-quadratic-law", "B.Fig4-change-diverges", "B.Sec2-early-stopping",
    "B.Sec2-weight-decay", "B.Sec2-norm-middle-points", "B.Sec2-stochastic", "B.Sec2-gardner-near",
}  # fmt: skip


def test_a_constant_of_another_module_changes_the_claims_that_name_it(before, monkeypatch):
    monkeypatch.setattr(jamming, "WINDOW", (1.1, 1.6))
    assert changed_by(before) == DIVERGE


def test_a_constant_of_the_claims_own_module_changes_the_claims_that_name_it(before, monkeypatch):
    monkeypatch.setattr(learning_curves, "LAST_SIZES", 4)
    assert changed_by(before) == {"A.Fig3-beta-lazy-d5", "A.Fig3-beta-lazy-d10"}


def test_the_level_of_intervals_changes_every_claim_with_one(before, monkeypatch):
    monkeypatch.setattr(estimates, "LEVEL", 0.5)
    records = ledger.read(ROOT / "results" / "ledger.json")
    drawn = {record["id"] for record in records if record["interval"] not in (None, EXACT, SPAN)}
    changed = changed_by(before)
    assert drawn <= changed and len(drawn) > 350
    assert len(changed - drawn) < 9, "estimators that may draw an interval"


@pytest.mark.parametrize("words", ["the formula", "words"])
def test_the_formula_of_an_estimator_changes_its_claims(words, before, monkeypatch):
    text = inspect.getsource(jamming)
    formula = "np.log(window.parameters - sizes[seed])"
    edited = text.replace(formula, "np.log(window.parameters)") if words == "the formula" else f"# why\n{text}"
    assert edited != text
    linecache.cache["<edited>"] = (len(edited), None, edited.splitlines(True), "<edited>")
    space = vars(jamming) | {}
    exec(compile(edited, "<edited>", "exec"), space)
    monkeypatch.setattr(jamming.divergence, "__code__", space["divergence"].__code__)
    own = {"B.Sec2-gardner-near", "B.Sec2-norm-law", "B.Fig8D-quadratic-law"}
    calling = DIVERGE - own  # which have a window of their own between the same ends
    assert changed_by(before) == (calling if words == "the formula" else set())
