"""A setting as a record: what a study is measured at, by name, with the range of each value.

::

    @record
    class Ensemble(Setting):
        p: Count[10, 100_000]                               # one whole number of this range
        depths: Increasing[Count, 2]                        # a list of two or more
        loss: Literal["quadratic_hinge", "logistic"]
        scale: Each[Increasing[Positive, 3]]                # one number, of which a design names three or more
        fewer: Count[100] | None = None                     # may be left out: nothing, and not stored
        until: Positive[1] | Literal["end"]                 # a number, or a name in its place
        words: str = derived()                              # follows from the others; no design gives it

``s.p`` reads a value; ``dataclasses.replace`` gives a setting with another. Every value is checked when a record is
made, in the kinds of ``companion.lab.parameters`` (dataclasses and the checker of the chapters' own parameters:
pydantic would bring a second language of ranges beside it, and messages of several lines).
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from companion.lab.parameters import Kind
from regimes import validate
from regimes.validate import InputError


@dataclass(frozen=True)
class Axis:
    """The kind of a setting's value, and of the list of such values in a design.

    Attributes:
        kind: of one value, which may itself be a list.
        several: of the list of values that a design must give, if it must.
        optional: whether a setting may lack it.
        alternatives: whether a design lists names of which a setting holds the first that is on this machine.
    """

    kind: Kind
    several: Kind | None = None
    optional: bool = False
    alternatives: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """A setting's value; InputError names it, and what is allowed."""
        if value is None and self.optional:
            return None
        is_single = self.alternatives and not isinstance(value, list)
        return (self.kind.item if is_single else self.kind).checked(name, value)

    def values(self, name: str, given: Any, *, together: bool) -> list[Any]:
        """The values that a design gives; where axes go ``together`` one may come twice."""
        if self.kind.order:
            lists = isinstance(given, list) and any(isinstance(entry, list) for entry in given)
            return [self.kind.checked(name, entry) for entry in (given if lists else [given])]
        listed = self.listed(together=together)
        if isinstance(given, list) or listed.least > 1:
            return listed.checked(name, given)
        return [self.kind.checked(name, given)]

    def listed(self, *, together: bool) -> Kind:
        """The kind of the list of values that a design gives, or of the list that is one value."""
        if self.kind.order:
            return self.kind
        several = self.several or replace(self.kind, order="distinct")
        return replace(several, order="list of") if together else several


class _Range:
    """A number; in brackets the largest, or both ends of its range, of which ``None`` is open."""

    python: type = float

    def __class_getitem__(cls, ends: Any) -> Any:
        low, high = ends if isinstance(ends, tuple) else (None, ends)
        return Annotated[cls.python, Axis(Kind.of(cls.__name__.lower(), low, high))]


class Count(_Range):
    """A whole number, from 1 to a million where the range does not say otherwise."""

    python = int


class Number(_Range):
    """A number, both ends allowed."""


class Positive(_Range):
    """A number above 0; in brackets the largest."""


class Share(_Range):
    """A number strictly between 0 and 1."""


class _List:
    """A list of values of a kind; after it how many there are at least."""

    order = ""

    def __class_getitem__(cls, given: Any) -> Any:
        element, minimum = given if isinstance(given, tuple) else (given, 1)
        return Annotated[list, Axis(replace(axis(element).kind, order=cls.order, least=minimum))]


class Increasing(_List):
    """A list whose values increase strictly."""

    order = "increasing"


class Distinct(_List):
    """A list with no value twice."""

    order = "distinct"


class Each:
    """One value of a list, which a design must give: ``Each[Increasing[Count, 3]]``."""

    def __class_getitem__(cls, given: Any) -> Any:
        listed = axis(given)
        return Annotated[list, Axis(listed.kind.item, listed.kind)]


class FirstOf:
    """A data set's name: the first, of those that a design lists, that is on this machine."""

    def __class_getitem__(cls, names: tuple[str, ...]) -> Any:
        return Annotated[str, Axis(Kind("one of", names=tuple(names), order="distinct"), alternatives=True)]


def axis(hint: Any) -> Axis:
    """The axis that a field's annotation describes; InputError for one that is no kind."""
    if get_origin(hint) in (Union, UnionType):
        first, *alternatives = (axis(one) for one in get_args(hint) if one is not NoneType)
        names = sum((one.kind.names for one in alternatives), first.kind.names)
        return replace(first, kind=replace(first.kind, names=names), optional=NoneType in get_args(hint))
    if get_origin(hint) is Annotated:
        return next(one for one in hint.__metadata__ if isinstance(one, Axis))
    if get_origin(hint) is Literal:
        return Axis(Kind("one of", names=get_args(hint)))
    plain = {Count: "count", Number: "number", Positive: "positive", Share: "share", str: "text", bool: "switch"}
    if hint not in plain:
        raise InputError(f"{hint!r} is no kind of a setting's value; companion.lab.record says which there are")
    return Axis(Kind.of(plain[hint]))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type) -> Any:
    """Decorator that makes a class of annotated fields a frozen dataclass whose fields go by name."""
    return dataclass(frozen=True, kw_only=True)(cls)


def derived() -> Any:
    """A field that no design gives: ``Setting.completed`` finds it, or a smaller design gives nothing of it."""
    return field(default=None, metadata={"derived": True})


class Setting:
    """What a study is measured at; a study's record extends it, with one field a value."""

    def __post_init__(self) -> None:
        for name, kind_of in self.axes().items():
            object.__setattr__(self, name, kind_of.checked(name, getattr(self, name)))

    @classmethod
    def axes(cls) -> Mapping[str, Axis]:
        """The axes of a design, by name: all fields that are not derived, in their order."""
        return _axes(cls)

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Self:
        """The record with these entries by name; InputError for a name that it does not have, or lacks."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        needed = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
        for name in entries:
            validate.one_of(fields, **{f"an entry of {cls.__name__}": name})
        if lacking := [name for name in needed if name not in entries]:
            raise InputError(f"{cls.__name__} needs {', '.join(fields)}; missing: {', '.join(lacking)}")
        return cls(**entries)

    def completed(self, seeds: Sequence[int]) -> Self:
        """The setting with what follows from its fields; InputError for one that cannot be computed at these seeds."""
        return self

    def realisations(self, seeds: Sequence[int]) -> Sequence[int]:
        """The seeds of its cells, of those that its design gives or counts."""
        return seeds

    def entries(self) -> dict[str, Any]:
        """Its values by name, as a cell stores them; without what it lacks."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@functools.cache
def _axes(cls: type) -> Mapping[str, Axis]:
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in dataclasses.fields(cls) if not field.metadata.get("derived")]
    return {name: axis(hints[name]) for name in names}


def described(entries: Mapping[str, Any]) -> str:
    """The numbers and words of a setting's entries, for messages."""
    plain = {name: value for name, value in entries.items() if isinstance(value, (int, float, str))}
    return ", ".join(f"{name} = {value}" for name, value in sorted(plain.items()))
