"""How the headline claims of a chapter hang together, read off the code: laws, the studies that use them, the claims.

A claim leads to its studies by the tables that its function takes; both lead to laws by the functions that they call.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from companion import studies as registry
from companion.experiments import digest
from companion.experiments.study import Design
from companion.report import views
from companion.report.claims import Claim, claims_of

LAWS = ("companion.theory.", "regimes.kernels.", "regimes.measures.")  # not what trains, nor data


def chapter_graph(number: str, records: Mapping[str, Mapping[str, Any]], pages: Mapping[str, str]) -> str:
    """The graph of a chapter as HTML, its other claims counted at their studies.

    Args:
        number: of the chapter.
        records: of the ledger, by claim.
        pages: of the interface, by module.
    """
    on = {claim.id: measured_on(claim) for claim in claims_of(number)}
    calls = {claim.id: laws(claim.function) for claim in claims_of(number) if claim.headline}
    designs: dict[str, set[str]] = {}
    for study, own in (pair for name in calls for pair in on[name].items()):
        designs.setdefault(study, set()).update(own)
    heads = sorted(calls, key=lambda name: min(map([*designs].index, on[name]), default=len(on)))
    calls |= {study: laws(registry.find(study)[1].function) for study in designs}
    used: dict[str, set[str]] = {}
    for law in (law for name in (*designs, *heads) for law in sorted(calls[name], key=lambda one: one.__module__)):
        used.setdefault(law.__module__, set()).add(law.__name__)
    edges = {(law.__module__, name) for name, found in calls.items() for law in found}
    edges |= {(study, name) for name in heads for study in on[name]}
    at = {name: (i + 0.5) / len(column) for column in (used, designs, heads) for i, name in enumerate(column)}
    others = [study for name in on.keys() - set(heads) for study in on[name]]
    shown = {"used": used, "designs": designs, "others": others, "edges": sorted(edges), "at": at, "pages": pages}
    return views.show("graph", [records[name] for name in heads], **shown)


def measured_on(claim: Claim) -> dict[str, list[str]]:
    """The designs that a claim is measured on, by study; one without a name stands for all."""
    found: dict[str, list[str]] = {}
    for table in claim.tables.values():
        study, design = table if isinstance(table, Design) else (table, "")
        found.setdefault(study.name, []).append(design)
    return found


def laws(function: Callable[..., Any], seen: frozenset[Any] = frozenset()) -> set[Callable[..., Any]]:
    """The functions of theory, kernels and measures with a source that a function calls, by way of its helpers too."""
    names = digest.names_used(function)
    named = [function.__globals__.get(name) for name in names]
    ours = [one for one in named if inspect.ismodule(one) and one.__name__.startswith(digest.OURS)]
    named += [getattr(module, name, None) for module in ours for name in names]
    called = {one for one in map(inspect.unwrap, filter(callable, named)) if inspect.isfunction(one)} - seen
    helpers = [one for one in called if one.__module__.startswith(("companion.claims.", "companion.studies."))]
    found = {one for one in called if one.__module__.startswith(LAWS) and "Source:" in (one.__doc__ or "")}
    return found.union(*(laws(one, seen | called) for one in helpers))
