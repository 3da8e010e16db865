"""What the studies of tests are measured at, and whether a chapter's sizes can be computed."""

from collections.abc import Mapping
from typing import Any

from companion.lab import catalogue
from companion.lab.record import Count, Setting, record


@record
class Size(Setting):
    """One size."""

    n: Count[0, 100_000]


def computable(number: str, values: Mapping[str, Any]) -> None:
    """Raises InputError for a chapter's parameters that make no sense, or that ask for more memory than is free."""
    for study, settings in catalogue.grids(number, values).items():
        for setting in settings:
            study.grid.needs_memory(setting)
