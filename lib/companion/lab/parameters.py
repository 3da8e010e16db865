"""The parameters of a chapter: read from its source, overridden by a profile and by the reader, then checked.

The cell tagged ``parameters`` of a page holds one ``name = value  # meaning`` per line: the *laptop* values.
``chapters/designs/05.toml`` overrides them for other profiles, in its tables ``smoke`` and ``paper``. All its other
tables are the designs of studies (``companion.lab.design``), whose entries go by full names,
``05.projectors.sphere.n``. TOML, because YAML 1.1 reads ``1e-6`` as a string.

A parameter has the kind of the axes that designs give it to, ``h = "$curve_h"``: see ``companion.lab.catalogue``. One
that no design names is of the type of its laptop value, and the table ``range`` of that file holds its ends:
``range.fit_from = [1, 100_000]``. Booleans are no numbers, NaN and infinities no values. The studies'
``check_parameters`` check conditions on several parameters.
"""

import ast
import copy
import difflib
import functools
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from companion import paths
from companion.lab import draws
from regimes import validate
from regimes.validate import InputError

PROFILES = ("smoke", "laptop", "paper")
SIZES = ("smoke", "paper", "stored", "registered")  # of a design, where they differ from the laptop's
LEAST = "least"  # of a design: how many values of an axis its figures need
RANGE = "range"  # of parameters that no design names
ABOUT = ("stored", "finer")  # what a file of designs says of a whole study
DEEPEST = 20  # levels of tables and lists in a file; the designs have six
NEAR = 3  # names that a message offers
MOST = 100  # values of a list: each is an axis of a grid, which is built in memory
_PAGE = re.compile(r"file: chapters/(\w+)")  # in the book's contents
_COMMENT = re.compile(r"#\s*(.*)$")
_ENDS = {"count": (1, 10**6), "number": (-1e30, 1e30), "positive": (0, 1e30)}
_WORDS = {"switch": {bool}, "count": {int}, "number": {int, float}, "text": {str}}  # of the types of laptop values
_ORDERS = ("", "list of", "distinct", "increasing")
_STRICT = ("text", "one of", "switch", "number", "positive", "share", "count")  # each holds less than those before it


@dataclass(frozen=True)
class Kind:
    """The kind of a parameter: one value, or with an ``order`` a list of at least ``least`` of them.

    Attributes:
        word: such as ``count``.
        low: the lower end of its range; ``high`` is the upper one.
        names: those there are, or that may stand in place of a number.
        order: ``increasing``, ``distinct``, ``list of``, or none for one value.
        least: entries of a list.
    """

    word: str
    low: float = -math.inf
    high: float = math.inf
    names: tuple[str, ...] = ()
    order: str = ""
    least: int = 1

    @classmethod
    def of(cls, word: str, low: float | None = None, high: float | None = None) -> "Kind":
        """One value of a word, with the ends of its range where they are given.

        A ``count`` is a whole number, from 1 to a million where nothing else is said; a ``number`` has both its ends; a
        ``positive`` is above 0; a ``share`` lies strictly between 0 and 1; a ``text`` is any, a ``switch`` true or
        false.
        """
        lowest, highest = _ENDS.get(word, (-math.inf, math.inf))
        number = int if word == "count" else float
        ends = number(lowest if low is None else low), number(highest if high is None else high)
        return cls(word, *ends) if word in _ENDS else cls(word)

    @functools.cached_property
    def item(self) -> "Kind":
        """The kind of one value of a list."""
        return replace(self, order="", least=1)

    def both(self, other: "Kind") -> "Kind":
        """The kind of what is of this kind and of another one."""
        loose, strict = sorted((self, other), key=lambda kind: _STRICT.index(kind.word))
        names = tuple(name for name in strict.names if loose.word == "text" or name in loose.names)
        ends = max(self.low, other.low), min(self.high, other.high)
        order = max(self.order, other.order, key=_ORDERS.index)
        return Kind(strict.word, *ends, names, order, max(self.least, other.least))

    def allowed(self) -> str:
        """Words of a message, and of ``companion.describe``: ``a whole number from 1 to 10``, ``a list of texts``."""
        plural = "s" * bool(self.order)
        above = f"from {self.low:g} to" if self.low else "above 0 and at most"
        words = {
            "count": f"whole number{plural} from {self.low} to {self.high}",
            "number": f"number{plural} from {self.low:g} to {self.high:g}",
            "positive": f"number{plural} {above} {self.high:g}",
            "share": f"number{plural} strictly between 0 and 1",
            "text": f"text{plural}",
            "switch": "true or false",
            "one of": f"{'names among' if plural else 'one of'} {', '.join(self.names)}",
        }[self.word]
        if self.names and self.word != "one of":
            words += f", or one of {', '.join(self.names)}"
        if not self.order:
            return words if self.word in ("switch", "one of") else f"a {words}"
        minimum = f"{self.least} or more " if self.least > 1 else ""
        order = f"{self.order} " if self.order != "list of" else ""
        return f"a list of {minimum}{order}{words}"

    def holds(self, value: Any) -> bool:
        """Whether ``value`` is one of these, or may stand in a list of them."""
        if self.word in ("text", "switch"):
            return type(value) is {"text": str, "switch": bool}[self.word]
        if self.word == "one of" or isinstance(value, str):
            return isinstance(value, str) and value in self.names
        if self.word == "count" and type(value) is not int:
            return False
        above, below = {"positive": (0, math.inf), "share": (0, 1)}.get(self.word, (-math.inf, math.inf))
        return validate.is_number(value) and above < value < below and self.low <= value <= self.high

    def checked(self, name: str, value: Any) -> Any:
        """``value``, with floats where numbers need not be whole; InputError names it, or the place in its list."""
        if not (isinstance(value, list) if self.order else self.holds(value)):
            raise InputError(f"{name} must be {self.allowed()}, got {validate.shown(value)}")
        if not self.order:
            is_float = self.word in ("number", "positive", "share") and value not in self.names
            return float(value) if is_float else value
        validate.length(self.least, MOST, **{name: value})
        item = self.item
        values = [item.checked(f"{name}[{i}]", entry) for i, entry in enumerate(value)]
        if self.order != "list of":
            {"increasing": validate.increasing, "distinct": validate.distinct}[self.order](**{name: values})
        return values


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: its laptop ``value``, and its meaning by the comment."""

    name: str
    value: Any
    meaning: str


def chapters() -> dict[str, Path]:
    """The first pages of the chapters by number, ``{"05": .../chapters/05_depth_convergence.py}``."""
    return {number: page_sources(number)[0] for number in sorted({path.name[:2] for path in _every_source()})}


def page_sources(number: str) -> list[Path]:
    """The sources of a chapter's pages, in the order of the book's contents; those not in there come last."""
    pages = [path for path in _every_source() if path.name.startswith(f"{number}_")]
    validate.one_of(sorted({path.name[:2] for path in _every_source()}), chapter=number)
    contents = paths.root() / "_toc.yml"
    order = _PAGE.findall(contents.read_text(encoding="utf-8")) if contents.exists() else []
    return sorted(pages, key=lambda path: ([*order, path.stem].index(path.stem), path.stem))


def source(number: str) -> Path:
    """The source of a chapter's first page."""
    return page_sources(number)[0]


def _every_source() -> list[Path]:
    return sorted(paths.chapters_folder().glob("[0-9][0-9]_*.py"))


def declared(number: str) -> dict[str, Parameter]:
    """The parameters that the pages of a chapter declare, in order, with their laptop values.

    Raises:
        InputError: if two pages declare one otherwise.
    """
    by_name: dict[str, Parameter] = {}
    for path in page_sources(number):
        for name, parameter in declared_by(path).items():
            if by_name.setdefault(name, parameter) != parameter:
                raise InputError(f"{name} of {path.name} is not as another page of chapter {number} declares it")
    return by_name


def declared_by(page: Path) -> dict[str, Parameter]:
    """The parameters that one page declares."""
    return dict(_declared(page.name, page.read_text(encoding="utf-8")))


@functools.cache
def _declared(name: str, text: str) -> dict[str, Parameter]:
    """The parameters of a chapter's text, which is read often and seldom changed."""
    cell = re.search(r'^# %% tags=\["parameters"\]\n(.*?)(?=^# %%|\Z)', text, re.M | re.S)
    if not cell:
        raise InputError(f'{name} has no cell tagged "parameters"')
    lines = cell.group(1).splitlines()
    parameters = [_parameter(node, lines[node.end_lineno - 1]) for node in ast.parse(cell.group(1)).body]
    return {parameter.name: parameter for parameter in parameters}


def _parameter(node: ast.stmt, line: str) -> Parameter:
    """One line of the cell, ``name = value  # meaning``."""
    try:
        (name,), value = [target.id for target in node.targets], ast.literal_eval(node.value)
    except (AttributeError, ValueError):
        needed = "name = value  # meaning, such as width = 100  # neurons"
        raise InputError(f"a parameter is declared as {needed}; got {validate.shown(line)}") from None
    comment = _COMMENT.search(line)
    return Parameter(name, value, comment.group(1) if comment else "")


def own_kind(number: str, name: str) -> Kind:
    """The kind of a parameter that no design names: by its laptop value, and its ends in the table ``range``."""
    value = declared(number)[name].value
    types = {type(one) for one in value} if isinstance(value, list) else {type(value)}
    word = next((word for word, kinds in _WORDS.items() if types and types <= kinds), None)
    if word is None:
        raise InputError(f"{name} must hold a number, a text, true or false, or a list, got {validate.shown(value)}")
    found = Kind.of(word, *_file(number).get(RANGE, {}).get(name, ()))
    return replace(found, order="list of") if isinstance(value, list) else found


def resolve(number: str, profile: str = "laptop", *overrides: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters and designs' entries of one run: laptop values, then the profile's, then each override in turn.

    Args:
        number: the chapter, ``"05"``.
        profile: ``smoke``, ``laptop`` or ``paper``.
        overrides: mappings from names to values, which may hold a table of the chapter as profiles do; later ones win.

    Values are checked where a grid is built of them (``companion.lab.catalogue``).
    """
    validate.one_of(PROFILES, profile=profile)
    parameters = declared(number)
    entries = designs(number)
    design_names = {name.rpartition(".")[0] for name in entries}
    values = {name: parameter.value for name, parameter in parameters.items()} | entries
    for override in (_profile(number, profile) | designs(number, profile), *overrides):
        given = _full(number, override)
        if "profile" in given:
            wrong = validate.shown(given["profile"])
            raise InputError(f"profile is chosen with --profile, not among the parameters; got {wrong}")
        for name in given:
            if name not in parameters and name.rpartition(".")[0] not in design_names:
                raise InputError(_unknown(number, name, parameters, values))
        values |= given
    numbers = {name: _like(parameter.value, values[name]) for name, parameter in parameters.items()}
    return values | numbers | {"profile": profile}


def _like(usual: Any, given: Any) -> Any:
    """A given value, or each of a list, with a whole number as a float where the laptop's value is one."""
    if isinstance(usual, list) and isinstance(given, list):
        return [_like(usual[0], one) for one in given] if usual else given
    return float(given) if isinstance(usual, float) and type(given) is int and validate.is_number(given) else given


def _unknown(number: str, name: str, declared: Collection[str], values: Collection[str]) -> str:
    """That a chapter has no parameter of a name, with the nearest that it has."""
    entries = [entry.removeprefix(f"{number}.") for entry in values if "." in entry]
    owners = [_parameter_of(values[f"{number}.{it}"], it) for it in entries if it.rpartition(".")[2] == name]
    owners = list(dict.fromkeys(sorted(owners, key=lambda owner: owner not in declared)))
    axis = name.rpartition(".")[2]
    tables = dict.fromkeys(entry.rpartition(".")[0] for entry in entries)
    short = [f"{part}.{axis}" for table in tables for part in (table, table.partition(".")[2])]
    near = owners or difflib.get_close_matches(name.removeprefix(f"{number}."), [*declared, *short], n=1)
    meant = f"; did you mean {' or '.join(near[:NEAR])}?" if near else ""
    more = f"; its designs: make help-{number}" if entries else ""
    return f"unknown parameter {validate.shown(name)} of chapter {number}{meant}; known: {', '.join(declared)}{more}"


def _parameter_of(value: Any, entry: str) -> str:
    """The parameter that an entry of a design takes its value from; the entry itself if it has its own."""
    return value[1:] if isinstance(value, str) and value.startswith("$") else entry


def named(number: str, *overrides: Mapping[str, Any]) -> list[str]:
    """The parameters of a chapter, and the entries of its designs by their full names, that overrides give a value."""
    return list(dict.fromkeys(name for override in overrides for name in _full(number, override)))


def designs(number: str, profile: str = "laptop") -> dict[str, Any]:
    """The entries of a chapter's designs at a profile, or of what is ``stored`` of them, by their full names.

    Once the registered run is judged, what is ``registered`` is stored, and the laptop's settings are those of the run,
    with the laptop's own seeds: else a page would compute the settings that the run has replaced.
    """
    entries = _of_designs(number, profile)
    if draws.is_judged() and profile in ("laptop", "stored"):
        registered = _of_designs(number, "registered")
        entries |= {name: it for name, it in registered.items() if profile == "stored" or not name.endswith(".seeds")}
    return entries


def _of_designs(number: str, profile: str) -> dict[str, Any]:
    return {name: value for name, value in _profile(number, profile).items() if "." in name}


def about_studies(number: str) -> dict[str, dict[str, Any]]:
    """What a chapter's designs say of whole studies, by function: what is ``finer``, whether all is ``stored``."""
    about = {}
    for study, table in _studies(number).items():
        if entries := {word: table[word] for word in ABOUT if word in table}:
            about[study] = copy.deepcopy(entries)
    return about


def least_values(number: str) -> dict[str, int]:
    """How many values of an axis the figures of a design need, by its full name, where they need several."""
    counts = {}
    for study, table in _studies(number).items():
        for design, entries in table.items():
            needed = entries.get(LEAST, {}) if isinstance(entries, Mapping) else {}
            counts |= {f"{number}.{study}.{design}.{axis}": count for axis, count in needed.items()}
    return counts


def _profile(number: str, profile: str) -> dict[str, Any]:
    """The values that a chapter's file of designs gives at a profile: of parameters, and of entries by full names."""
    values = dict(_file(number).get(profile, {})) if profile in PROFILES else {}
    for study, table in _studies(number).items():
        for design, entries in table.items():
            if design in ABOUT:
                continue
            at_profile = entries if profile == "laptop" else entries.get(profile, {})
            axes = dict(at_profile) if isinstance(at_profile, Mapping) else {}
            for axis, value in axes.items():
                if axis not in (*SIZES, LEAST):
                    values[f"{number}.{study}.{design}.{axis}"] = value
    return copy.deepcopy(values)


def _studies(number: str) -> dict[str, Any]:
    """The tables of a chapter's studies, by function."""
    return {name: table for name, table in _file(number).items() if name not in (*SIZES, RANGE)}


def _file(number: str) -> Mapping[str, Any]:
    path = paths.designs_file(number)
    return _toml(path) if path.exists() else {}


def _full(number: str, override: Mapping[str, Any]) -> dict[str, Any]:
    """An override with what its table of the chapter holds: parameters, and entries of designs by their full names."""
    others = {name for name, value in override.items() if isinstance(value, Mapping) and name in chapters()}
    table = override.get(number)
    rest = {name: value for name, value in override.items() if name not in others}
    if not isinstance(table, Mapping):
        return {_full_name(number, name): value for name, value in rest.items()}
    if nameless := [name for name in table if not isinstance(name, str)]:
        raise InputError(f"{number} must be a table of parameters by name, got the name {validate.shown(nameless[0])}")
    designs_given = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    given = {name: value for name, value in {**rest, **table}.items() if name not in designs_given}
    given |= _flat(number, designs_given)
    return {_full_name(number, name): value for name, value in given.items()}


def _full_name(number: str, name: str) -> str:
    """The full name of a design's entry, ``03.ensembles.slices.h`` of ``slices.h``; InputError if several have it."""
    design, _, axis = str(name).rpartition(".")
    if not design or design.startswith(f"{number}."):
        return name
    design_names = dict.fromkeys(entry.rpartition(".")[0] for entry in designs(number))
    matches = [match for match in design_names if match.endswith(f".{design}")]
    if len(matches) > 1:
        names = " or ".join(f"{match.removeprefix(f'{number}.')}.{axis}" for match in matches)
        raise InputError(f"{name} of chapter {number} is not unique: write {names}")
    return f"{matches[0]}.{axis}" if matches else name


def _flat(name: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        return {name: table}
    return {full: value for part, entry in table.items() for full, value in _flat(f"{name}.{part}", entry).items()}


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary."""
    return copy.deepcopy(_toml(path))


def _toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary that all who read it share: to copy a profile takes longer than to use it."""
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"parameter file {path} cannot be read") from None
    except UnicodeDecodeError:
        raise InputError(f"parameter file {path} is not text in UTF-8, which TOML is") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"parameter file {path} is not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"parameter file {path} has tables or lists of more than {DEEPEST} levels") from None


@functools.cache  # profiles are read often and seldom changed
def _parsed(text: str) -> dict[str, Any]:
    """The dictionary of a text; RecursionError where it is too deep for the parser, or for those who use it."""
    whole = tomllib.loads(text)
    level: list[Any] = [whole]
    for _ in range(DEEPEST + 1):
        level = [entry for held in level if isinstance(held, dict | list) for entry in _entries(held)]
    if level:
        raise RecursionError
    return whole


def _entries(held: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return held.values() if isinstance(held, dict) else held
