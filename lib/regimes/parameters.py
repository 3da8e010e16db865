"""The parameters of a chapter: read from its source, overridden by a profile and by the reader, then checked.

A chapter's cell tagged ``parameters`` holds one ``name: type = value  # meaning`` a line: the *laptop* values.
``chapters/profiles/smoke.toml`` and ``paper.toml`` override them, one table a chapter. TOML, because YAML 1.1 reads
``1e-6`` as a string.
"""

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regimes import check, paths
from regimes.check import InputError

PROFILES = ("smoke", "laptop", "paper")
_COMMENT = re.compile(r"#\s*(.*)$")


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: its laptop ``value`` and what the comment says of it."""

    name: str
    value: Any
    meaning: str


def chapters() -> dict[str, Path]:
    """The chapters' sources by number, ``{"05": .../chapters/05_depth_convergence.py}``."""
    return {path.name[:2]: path for path in sorted(paths.chapters().glob("[0-9][0-9]_*.py"))}


def source(number: str) -> Path:
    """The source of one chapter.

    Raises:
        InputError: for a number that is no chapter's.
    """
    check.one_of(chapters(), chapter=number)
    return chapters()[number]


def declared(number: str) -> dict[str, Parameter]:
    """The parameters that a chapter declares, in order, with their laptop values.

    Raises:
        InputError: for a number that is no chapter's, or a chapter without a parameters cell.
    """
    text = source(number).read_text(encoding="utf-8")
    found = re.search(r'^# %% tags=\["parameters"\]\n(.*?)(?=^# %%|\Z)', text, re.M | re.S)
    if not found:
        raise InputError(f'{source(number).name} has no cell tagged "parameters"')
    lines = found.group(1).splitlines()
    parameters = {}
    for node in ast.parse(found.group(1)).body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        comment = _COMMENT.search(lines[node.end_lineno - 1])
        meaning = comment.group(1) if comment else ""
        parameters[target.id] = Parameter(target.id, ast.literal_eval(node.value), meaning)
    return parameters


def resolve(number: str, profile: str = "laptop", *overrides: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of one run: laptop values, then the profile's, then each override in turn.

    Args:
        number: the chapter, ``"05"``.
        profile: ``smoke``, ``laptop`` or ``paper``.
        overrides: mappings from parameter names to values; later ones win.

    Raises:
        InputError: for an unknown chapter, profile or parameter, or a value of another type than the declared one.
    """
    check.one_of(PROFILES, profile=profile)
    known = declared(number)
    values = {name: parameter.value for name, parameter in known.items()}
    for override in (_profile(number, profile), *overrides):
        for name, value in override.items():
            if name == "profile":
                raise InputError(f"profile is chosen with --profile, not among the parameters; got {value!r}")
            if name not in known:
                raise InputError(f"unknown parameter {name!r} of chapter {number}; known: {', '.join(known)}")
            values[name] = _typed(name, value, known[name].value)
    return values | {"profile": profile}


def _profile(number: str, profile: str) -> Mapping[str, Any]:
    if profile == "laptop":
        return {}
    return read_toml(paths.profile_file(profile)).get(number, {})


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary.

    Raises:
        InputError: if it is not there, not text, or not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"parameter file {path} cannot be read") from None
    except UnicodeDecodeError:
        raise InputError(f"parameter file {path} is not text in UTF-8, which TOML is") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"parameter file {path} is not valid TOML: {error}") from None


def _typed(name: str, value: Any, declared_value: Any) -> Any:
    """``value`` as the declared type; whole numbers pass where a float is declared, lists item by item."""
    kind = type(declared_value)
    if kind is list and isinstance(value, list):
        return (
            [_typed(f"{name}[{i}]", item, declared_value[0]) for i, item in enumerate(value)]
            if declared_value
            else value
        )
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{name} must be of type {kind.__name__} (such as {declared_value!r}), got {value!r}")
    return value
