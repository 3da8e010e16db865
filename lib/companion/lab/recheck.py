"""Changed code: a sample of the stored cells is computed again, and if numbers differ the cells are void.

A digest of code is compared within one class of device, on the fastest cell of each value of each setting. Agreement is
noted, so that a value is compared once for each change. Each column has its tolerance
(``companion.lab.compare``). The numbers of a cell that was computed alone or in a batch that is always whole,
on this kind of processor, must repeat.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from companion.lab.cluster import Cluster
from companion.lab.compare import differences
from companion.lab.progress import say
from companion.lab.store import Cell, Result, Store, free
from companion.lab.study import Rows, Study
from companion.lab.workers import Chunk, Local

SECONDS = 10.0  # for the comparison of one digest; one cell is compared in any case

Held = dict[Cell, Result | None]


def drop_changed(study: Study, store: Store, held: Held, pool: Cluster | Local) -> Held:
    """The stored cells that are still valid under the present code; the others are moved to ``void/`` in the store."""
    if not _older(study, held):
        return held
    lock = store.claim(f"{study.name}-check", wait=True)
    try:
        held = {cell: store.load(cell) for cell in held}  # another sweep may just have compared them
        for (code, kind), cells in _older(study, held).items():
            if not _stands(study, store, cells, pool):
                made = {"digest": code, "class": kind}
                count = store.void(study.name, study.version, lambda entry, made=made: made.items() <= entry.items())
                say(f"{study.name}: the code and its rows changed; {count} stored cells are void")
                held |= dict.fromkeys(cells)
    finally:
        free(lock)
    return held


def _older(study: Study, held: Mapping[Cell, Result | None]) -> dict[tuple[str, str], dict[Cell, Result]]:
    """Cells of other code by its digest and the class of device that computed them."""
    groups: dict[tuple[str, str], dict[Cell, Result]] = defaultdict(dict)
    for cell, result in held.items():
        if result is not None and result.provenance["digest"] != study.code.digest:
            groups[result.provenance["digest"], result.provenance["class"]][cell] = result
    return groups


def _stands(study: Study, store: Store, cells: Mapping[Cell, Result], pool: Cluster | Local) -> bool:
    """Whether a sample of cells of one digest and class has the numbers that the present code gives."""
    made = next(iter(cells.values())).provenance
    old, new = f"{made['digest']}-{made['class']}", study.code.digest
    sample = _sample(cells, store.accepted(study.name, old, new))
    if not sample:
        return True
    if any(pool.kind(study, cell.setting) != made["class"] for cell in sample):
        say(f"{study.name}: {len(cells)} cells of a {made['class']} machine under other code are taken as they are")
        return True
    begin, stored = time.monotonic(), {cell: result.rows for cell, result in cells.items()}
    recomputed: dict[Cell, Rows] = {}
    repeated: set[Cell] = set()
    for cell in sample:
        if recomputed and time.monotonic() - begin + cells[cell].provenance["seconds"] > SECONDS:
            done = f"{len(recomputed)} of {len(sample)} cells agree, more take over {SECONDS:g} s"
            say(f"{study.name}: the code changed; {done}")
            break
        ((_, result),) = pool.results(iter([Chunk(study, [cell])]), 1, 0.0)
        recomputed[cell] = result.rows
        if study.repeats and result.provenance["versions"] == cells[cell].provenance["versions"]:
            repeated.add(cell)
        if differences(study, stored, {cell: result.rows}, repeated=repeated):
            return False
    if differences(study, stored, recomputed, repeated=repeated):
        return False
    store.accept(study.name, old, new, {value for cell in cells for value in _values(cell)})
    return True


def _sample(cells: Mapping[Cell, Result], noted: set[str]) -> list[Cell]:
    """The fastest cell of each value of each setting that is not noted, fastest first."""
    sample, seen = [], set(noted)
    for cell in sorted(cells, key=lambda cell: cells[cell].provenance["seconds"]):
        new_values = set(_values(cell)) - seen
        if new_values:
            sample.append(cell)
            seen |= new_values
    return sample


def _values(cell: Cell) -> Iterator[str]:
    """``name=value`` of each setting; of a study without settings its name, so that one cell is compared."""
    yield cell.study
    yield from (f"{name}={json.dumps(value, sort_keys=True)}" for name, value in cell.setting.items())
