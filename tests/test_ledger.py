"""The rule of verdicts on its boundaries, and the merged file."""

import json
import math

import pytest

from regimes import ledger
from regimes.check import InputError
from regimes.estimates import Estimate
from regimes.ledger import Claim, judge

PLAIN = Claim("Z.Fig1-a", "Z.Fig1", "…", "paper Z", (0.4, 0.6), ("laptop",))
WRONG = Claim("Z.Fig1-b", "Z.Fig1", "…", "paper Z", (0.4, 0.6), ("laptop",), corrected=(0.9, math.inf))


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        (PLAIN, 0.4, 0.6, "reproduced"),
        (PLAIN, 0.45, 0.61, "undecided"),
        (PLAIN, 0.3, 0.9, "undecided"),
        (PLAIN, 0.61, 0.9, "not reproduced"),
        (PLAIN, 0.6, 0.9, "undecided"),
        (WRONG, 0.45, 0.5, "reproduced"),
        (WRONG, 0.9, 1e9, "corrected"),
        (WRONG, 0.8, 1.0, "undecided"),
        (WRONG, 0.5, 1.0, "undecided"),
        (WRONG, 0.7, 0.8, "not reproduced"),
        (WRONG, 0.1, 0.2, "not reproduced"),
    ],
)
def test_rule(claim, low, high, verdict):
    assert judge(claim, Estimate((low + high) / 2, low, high, 5), "laptop") == verdict


def test_a_profile_that_may_not_judge_gives_no_verdict():
    assert judge(PLAIN, Estimate.exact(0.5), "smoke") is None


def test_merge_holds_every_claim_once(mini_book):
    folder = mini_book / "build" / "smoke"
    claim = ledger.claims()["Z.Fig1-size"]
    ledger.write(
        folder / "99.ledger.json", [ledger.record(claim, value=3.0, low=3.0, high=3.0, n=1, verdict="reproduced")]
    )
    merged = ledger.merge(folder)
    assert [r["id"] for r in merged] == ["Z.Fig1-size", "Z.Fig2-none"]
    assert merged[0]["verdict"] == "reproduced" and merged[1]["verdict"] is None
    assert ledger.read(folder / "ledger.json") == merged
    assert json.loads((folder / "ledger.json").read_text())[1]["accept"] == [0, None]  # strict JSON: no Infinity
    keys = (
        "id item statement source accept corrected value low high n verdict profile "
        "data settings figure seconds device revision versions"
    )
    assert set(merged[0]) == set(merged[1]) == set(keys.split())
    assert ledger.summary(merged) == (
        "2 claims: 1 reproduced, 0 corrected, 0 not reproduced, 0 undecided; 1 not measured yet."
    )


def test_a_record_without_a_declaration_is_named(mini_book):
    folder = mini_book / "build" / "smoke"
    ledger.write(folder / "99.ledger.json", [{"id": "Z.Fig9-gone"}])
    with pytest.raises(InputError, match=r"Z\.Fig9-gone"):
        ledger.merge(folder)


def test_declared_twice_or_badly(mini_book):
    path = mini_book / "book" / "claims.yml"
    path.write_text(path.read_text() + path.read_text())
    with pytest.raises(InputError, match="twice"):
        ledger.claims()
    path.write_text("- {id: Z.Fig1-a, item: Z.Fig1, accept: [0, 1], profiles: [smoke]}\n")
    ledger.claims.cache_clear()
    with pytest.raises(InputError, match=r"Z\.Fig1-a.*statement"):
        ledger.claims()


def test_bands_read_as_words():
    assert ledger.band((0.4, 0.6)) == "0.4 … 0.6"
    assert (
        ledger.band([None, 1]) == "≤ 1" and ledger.band((0, math.inf)) == "≥ 0" and ledger.band([None, None]) == "any"
    )
