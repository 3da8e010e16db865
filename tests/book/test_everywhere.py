"""A claim on all rows that it could read: where these contradict it, its words name the condition."""

import functools
from dataclasses import replace

import pytest

from companion import __main__ as command
from companion.book import claims, ledger
from companion.book.everywhere import Elsewhere, everywhere, stale, unnamed
from companion.estimates import Estimate
from companion.lab import catalogue, parameters
from tests.references import ROOT


@pytest.fixture(scope="module")
def of_norm():
    """What the estimator of a divergence finds: it is one of lazy networks, and none of others."""
    (norm,) = [one for one in claims.claims_of("03") if one.id == "B.Fig4-change-diverges"]
    return everywhere(norm, command.Rows("03", parameters.resolve("03")))


def test_other_designs_and_other_settings_are_looked_at(of_norm):
    judged, others = of_norm
    by_rows = {other.rows: other for other in others}
    assert judged.low < -1.09 < judged.high
    agrees, lazy = by_rows["design map for slices"], by_rows["scale = 12.0"]
    assert not agrees.contradicts(judged), "at fewer sizes"
    assert lazy.contradicts(judged) and -0.5 < lazy.estimate.value < -0.2, "with features the change hardly diverges"
    assert lazy.differs == {"scale": ([1048576.0], [12.0])}


def test_a_selection_with_the_same_cells_is_no_other(of_norm):
    assert "scale = 1048576.0" not in {other.rows for other in of_norm[1]}, "the claim is judged at this scale"


def test_disjoint_means_a_gap_on_either_side():
    judged = Estimate(1.0, 0.9, 1.1)
    for low, high, gap in ((0.5, 0.89, True), (1.11, 1.2, True), (0.5, 0.9, False), (1.05, 1.06, False)):
        assert Elsewhere("", Estimate((low + high) / 2, low, high)).contradicts(judged) == gap


SIZE, SMALLER = {"p": ([250], [1000])}, {"p": ([1000], [250])}
SCALE, SHARES = {"scale": ([12.0], [0.5])}, {"shares": ([[0.9, 1.0]], [[1.0]])}
PLANES = {"interfaces": ([[0.0]], [[-1.0, 0.0, 1.0]])}


@pytest.mark.parametrize(
    ("differs", "at", "condition"),
    [
        ({}, {}, True),
        (SIZE, {"p": 250}, True),
        (SMALLER, {}, False),
        (SIZE | {"members": ([20], [5])}, {}, True),
        (SIZE | {"members": ([20], [5])}, {"members": 20}, False),
        (SCALE, {}, True),
        (SCALE | SIZE, {"p": 250}, True),
        (SCALE, {"scale": 12}, False),
        (SCALE | {"data": (["mnist"], ["digits"])}, {}, False),
        (SHARES | SMALLER, {}, False),
        (SHARES | SCALE, {}, True),
        (PLANES, {}, True),
        (PLANES, {"interfaces": [0.0]}, False),
    ],
)
def test_a_condition_is_one_setting_that_the_words_do_not_name(differs, at, condition):
    assert Elsewhere("", Estimate.exact(1), differs).is_condition(at) == condition


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("on 1000 points 3.1", True),
        ("on 1000 points 3.11", True),
        ("on 1000 points 3.2", False),
        ("on 2000 points 3.1", False),
        ("3.1", False),
        (r"at scale $2^{-8}$ and 12 3.1", True),
        (r"at scale $3.90625\times10^{-3}$ 3.1", True),
        (r"at scale $2^{-7}$ 3.1", False),
        ("", False),
    ],
)
def test_words_hold_the_number_and_the_setting(words, said):
    differs = {"scale": ([12.0], [0.00390625])} if "scale" in words else SIZE
    other = Elsewhere("", Estimate(3.113, 2, 4), differs)
    assert other.is_said(words) == said


def test_a_number_of_these_words_that_nothing_gives_is_stale():
    (tail,) = [one for one in claims.claims_of("03") if one.id == "B.Sec2-norm-index"]
    found = [(Estimate(0.84, 0.7, 1), [Elsewhere("", Estimate(3.113, 2, 4), SIZE)])]
    for words, left in (("1000 points 3.1", []), ("1000 points 3.2", ["3.2"]), ("250 0.84, 3.113 [7, 9]", ["7", "9"])):
        assert stale([replace(tail, elsewhere=words)], found) == left


class Stored:
    """The rows of a chapter that ``results/`` holds alone."""

    def __init__(self, number):
        self.parameters = parameters.resolve(number)
        self.asked = functools.cache(lambda study: catalogue.asked(number, study, self.parameters))
        self.known = {}

    def results(self, study):
        """What is stored of a study."""
        return self.asked(study).results

    def rows(self, study, design=""):
        """As ``Chapter.rows``; LookupError where a run would compute some of them."""
        asked = self.asked(study)
        if {*(asked.designs[design] if design else asked.cells)} - {*asked.results.finished}:
            raise LookupError
        if (study, design) not in self.known:
            self.known[study, design] = asked.rows(design)
        return self.known[study, design].copy()


WEEKLY = {"03", "07"}  # a minute of the processor each; half of it all others together


@pytest.mark.parametrize(
    "number",
    [
        number if number not in WEEKLY else pytest.param(number, marks=pytest.mark.weekly)
        for number in parameters.chapters()
    ],
)
def test_words_name_where_a_claim_does_not_hold(number):
    """A setting of which the words name the judged value, or what is found at the other: to the digits written."""
    kept = {record["id"]: record for record in ledger.read(ROOT / "results" / "ledger.json")}
    page, found = Stored(number), {}
    for claim in claims.claims_of(number):
        found[claim.id] = (claim, everywhere(claim, page, kept=kept.get(claim.id), stored=page.results))
    lines = [
        f"{name}: {other.rows}: {other.estimate} is disjoint from {result[0]}, and neither at nor Elsewhere name it"
        for name, (claim, result) in found.items()
        if result
        for other in unnamed(claim, *result)
    ]
    shared = {}
    for claim, result in found.values():
        if claim.elsewhere:
            shared.setdefault((claim.function, claim.elsewhere), []).append((claim, result))
    for pairs in shared.values():
        if not all(result and result[1] for _, result in pairs):
            continue  # a run computes some of its rows, so that nothing is found here
        of = [claim for claim, _ in pairs]
        found_of = [result for _, result in pairs]
        lines += [f"{of[0].id}: nothing gives the {it} of Elsewhere" for it in stale(of, found_of)]
    assert not lines, "\n".join(lines)
