"""The graph of a chapter's claims is that of the code: what a claim takes, and what a study calls."""

import graphlib

import pytest
import yaml

from companion.book import ledger
from companion.lab import catalogue
from companion.site import graph, sources
from tests.references import ROOT


@pytest.mark.parametrize(
    ("study", "called", "left"),
    [
        ("lazy_feature.support_vectors", {"hard_margin", "compress"}, "gradient_flow"),
        ("compression.noise", set(), "amplification"),
    ],
)
def test_a_study_leads_to_the_laws_that_it_and_its_helpers_call(study, called, left):
    found = graph.laws(catalogue.find(study)[1].function)
    names = {one.__name__ for one in found}
    assert called <= names and left not in names and all("Source:" in one.__doc__ for one in found)


def test_a_claim_leads_to_the_designs_that_it_is_measured_on():
    ((study, designs),) = ledger.claims()["A.Sec4-ball-removed"].designs.items()
    assert (study.name, designs) == ("lazy_feature.support_vectors", {"ball"})
    assert ledger.claims()["C.Sec4-invertible"].designs == {}


def test_what_a_claim_rests_on_are_claims_and_no_circle():
    named = yaml.safe_load((ROOT / "book" / "rests.yml").read_text(encoding="utf-8"))
    assert {*named, *(one for on in named.values() for one in on)} <= {*ledger.claims()}
    assert len([*graphlib.TopologicalSorter(named).static_order()]) > len(named)
    entries = [ledger.entry_of(claim) for claim in ledger.claims().values()]
    found = sources.rests(entries)
    assert {*named} <= {name for name, one in found.items() if one["on"]} and "C.Thm2-rate" in found["C.Thm3-ridge"][
        "on"
    ]
    part = next(entry for entry in entries if entry["part_of"])
    assert part["id"] in found[part["part_of"]]["on"] and found[part["id"]]["address"].endswith(f"#{part['id']}")
