"""Errata: findings against a statement of a paper, in one of three classes.

An *error* is false as printed, by a proof or a computation. A *limit* is where a model or an approximation ends. A
*reading* is our interpretation where the paper is open or ambiguous. Only an error gives a claim the verdict
"corrected" (``companion.book.ledger.judge``).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from companion import paths
from regimes import validate
from regimes.validate import InputError

DRAWERS = {
    "error": "Errors: false as printed, by proof or computation",
    "limit": "Limits: where a model or an approximation ends",
    "reading": "Readings: what the paper leaves open",
}

CHANGES = {
    "conclusion": "what the paper concludes",
    "number": "a constant, an exponent or a count",
    "form": "the conclusion stands; a proof, a construction or the print changes",
}


@dataclass(frozen=True)
class Erratum:
    """One entry of ``book/errata.yml``.

    Attributes:
        id: of the link ``erratum-id``.
        drawer: ``error``, ``limit`` or ``reading``.
        changes: what it changes, the gravest first: ``conclusion``, ``number`` or ``form``.
        item: the figure, table or statement, as in the papers' list.
        title: the correct statement, in one line.
        quote: the paper's own sentence or formula, word for word; its formulas as LaTeX.
        says: its meaning, with related passages of the paper.
        wrong: why it fails, or where it ends, or what is open.
        corrected: the statement that holds.
        claims: those that decided.
        before: who had the right form before us; ``None``: nobody that we know of.
        uncorrected: why none of an error's claims has a ``corrected`` band.
    """

    id: str
    drawer: str
    changes: str
    item: str
    title: str
    quote: str
    says: str
    wrong: str
    corrected: str
    claims: Sequence[str]
    before: str | None = None
    uncorrected: str | None = None

    def __post_init__(self) -> None:
        validate.one_of(DRAWERS, drawer=self.drawer)
        validate.one_of(CHANGES, changes=self.changes)
        for field in fields(self):
            part = getattr(self, field.name)
            wanted = list if field.name == "claims" else str
            if field.default is None and part is None:
                continue
            if not isinstance(part, wanted) or not part or (wanted is str and not part.strip()):
                raise InputError(f"{field.name} must be a {wanted.__name__} that is not empty, got {part!r}")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A YAML loader (libyaml if PyYAML has it: five times as fast) that refuses a repeated key; YAML keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [key.value for key, _ in node.value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"{twice[0]} stands twice in the entry at line {node.start_mark.line + 1}")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, kind: type = list) -> Any:
    """The content of a YAML file: a list of tables, or (``kind=dict``) a table of such lists; no key stands twice."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        entries = content if kind is list else [entry for table in content.values() for entry in table]
        good = isinstance(content, kind) and all(isinstance(entry, dict) for entry in entries)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None
    except (TypeError, AttributeError):
        good = False
    if not good:
        raise InputError(f"{path.name} must hold a {'list of tables' if kind is list else 'table of lists of tables'}")
    return content


def errata() -> dict[str, Erratum]:
    """All errata by id; empty without the book."""
    return _read(paths.errata_file())


@functools.cache
def _read(path: Path) -> dict[str, Erratum]:
    by_id: dict[str, Erratum] = {}
    for entry in read_yaml(path) if path.exists() else []:
        try:
            erratum = Erratum(**entry)
        except (TypeError, AttributeError, InputError) as error:
            raise InputError(f"errata.yml, {entry.get('id')}: {error}") from None
        if erratum.id in by_id:
            raise InputError(f"errata.yml has {erratum.id} twice")
        by_id[erratum.id] = erratum
    return by_id
