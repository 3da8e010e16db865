"""No headline without rows on which its rival is refused."""

import pytest

from companion.book import ledger
from tests.claims import test_exponents, test_jamming_claims, test_levels, test_ratios
from tests.claims.made import Made, refused, table

MADE = [module.made for module in (test_exponents, test_jamming_claims, test_levels, test_ratios)]
# of formulas, which take no rows: tests of their own in test_levels hold them against their rivals
FORMULAS = {"C.Sec4-invertible", "C.Thm3-powers"}


def test_every_headline_is_tried_on_made_rows_or_is_a_formula():
    claims = ledger.claims()
    tried = {name for made in MADE for name in made}
    assert tried <= claims.keys() and sum(map(len, MADE)) == len(tried), "each claim has one maker"
    assert all(not claims[name].tables for name in FORMULAS)
    headlines = {name for name, claim in claims.items() if claim.headline}
    assert not headlines - tried - FORMULAS


def test_a_maker_whose_rows_are_no_rival_is_noticed():
    """Rows with the statement's number in place of the rival's, and the other way round."""
    made = Made()
    made("A.AppC-noise", fails=1.0)(lambda number, other: {"noises": noises(number)})
    with pytest.raises(AssertionError):
        made.check("A.AppC-noise")
    made = Made()
    made("A.AppC-noise")(lambda number, other: {"noises": noises(other)})
    with pytest.raises(AssertionError):
        made.check("A.AppC-noise")


def noises(exponent):
    return table(lambda row: {"exponent": exponent}, seed=range(12))


def test_what_is_said_of_a_rival():
    """The corrected number of an error is corrected; that of a reading, and any other, is not reproduced."""
    noise, rate = ledger.claims()["A.AppC-noise"], ledger.claims()["A.Fig6-star-d5"]
    assert refused(noise, 0.5) == "corrected" and refused(noise, 0.7) == refused(rate, 0.0) == "not reproduced"
