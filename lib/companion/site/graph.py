"""How the headline claims of a chapter hang together, read off the code: laws, the studies that use them, the claims.

A claim leads to its studies by the tables that its function takes; both lead to laws by the functions that they call.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import mean
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
    head = [claim for claim in claims_of(number) if claim.headline]
    designs: dict[str, set[str]] = {}
    for study, names in (pair for claim in head for pair in on[claim.id].items()):
        designs.setdefault(study, set()).update(names)
    calls = {claim.id: laws(claim.function) for claim in head}
    calls |= {study: laws(registry.find(study)[1].function) for study in designs}
    used: dict[str, set[str]] = {}
    for law in sorted(set().union(*calls.values()), key=lambda one: one.__module__):
        used.setdefault(law.__module__, set()).add(law.__name__)
    edges = {(law.__module__, name) for name, found in calls.items() for law in found}
    edges |= {(study, claim.id) for claim in head for study in on[claim.id]}
    ids = sorted((claim.id for claim in head), key=lambda name: min(map([*designs].index, on[name]), default=len(on)))
    at = heights([[*used], [*designs], ids], edges)
    others = [study for name in on.keys() - set(ids) for study in on[name]]
    used, designs = ({name: own[name] for name in at if name in own} for own in (used, designs))  # from above
    shown = {"used": used, "designs": designs, "others": others, "edges": sorted(edges), "at": at, "pages": pages}
    return views.show("graph", [records[name] for name in ids], **shown)


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


def heights(columns: Sequence[Sequence[str]], edges: Collection[tuple[str, str]]) -> dict[str, float]:
    """Where nodes stand, from 0 at the top to 1: each column from the right, in the order of what its nodes lead to."""
    at: dict[str, float] = {}
    for column in reversed(columns):
        ends = {name: [at[end] for start, end in edges if start == name] for name in column}
        order = sorted(column, key=lambda name: mean(ends[name]) if ends[name] else 0.0)
        at |= {name: (i + 0.5) / len(order) for i, name in enumerate(order)}
    return at
