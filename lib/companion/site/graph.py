"""How the headline claims of a chapter hang together, read off the code: laws, the studies that use them, the claims.

A claim leads to its studies by the tables that its function takes; both lead to laws by the functions that they call.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from companion.book import views
from companion.book.claims import claims_of
from companion.lab import closure
from companion.lab.study import Study

LAWS = re.compile(r"companion\.papers\.\w+\.theory\b|regimes\.(kernels|measures)\.")  # not what trains, nor data
HELPERS = re.compile(r"companion\.papers\.\w+\.(claims|studies)\b|companion\.papers\.tasks$")


def chapter_graph(number: str, entries: Mapping[str, Any], pages: Mapping[str, str]) -> str:
    """The graph of a chapter as HTML, from ``entries`` of the ledger by claim and ``pages`` of the interface by module.

    Its other claims are counted at their studies.
    """
    heads = [claim for claim in claims_of(number) if claim.headline]
    designs: dict[Study, set[str]] = {}
    for study, names in (pair for claim in heads for pair in claim.designs.items()):
        designs.setdefault(study, set()).update(names)
    heads.sort(key=lambda claim: min(map([*designs].index, claim.designs), default=len(designs)))
    edges = [(study.name, claim.id) for claim in heads for study in claim.designs]
    used: dict[str, set[str]] = {}
    for name, function in [(it.name, it.function) for it in designs] + [(it.id, it.function) for it in heads]:
        for law in sorted(laws(function), key=lambda law: law.__module__):
            used.setdefault(law.__module__, set()).add(law.__name__)
            edges += [(law.__module__, name)] if (law.__module__, name) not in edges else []
    others = [study.name for claim in claims_of(number) if not claim.headline for study in claim.designs]
    named = {study.name: names for study, names in designs.items()}
    return views.show("graph", [entries[claim.id] for claim in heads], named, others, used, edges, pages)


def laws(function: Callable[..., Any], seen: frozenset[Any] = frozenset()) -> set[Callable[..., Any]]:
    """The functions of theory, kernels and measures with a source that a function calls, by way of its helpers too."""
    names = closure.names_used(function)
    named = [function.__globals__.get(name) for name in names]
    ours = [callee for callee in named if inspect.ismodule(callee) and callee.__name__.startswith(closure.OURS)]
    named += [getattr(module, name, None) for module in ours for name in names]
    called = {callee for callee in map(inspect.unwrap, filter(callable, named)) if inspect.isfunction(callee)} - seen
    helpers = [callee for callee in called if HELPERS.match(callee.__module__)]
    sourced = {callee for callee in called if LAWS.match(callee.__module__) and "Source:" in (callee.__doc__ or "")}
    return sourced.union(*(laws(callee, seen | called) for callee in helpers))
