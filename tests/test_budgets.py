"""What a reader must hold in mind: parameters of a chapter, and one name for one thing."""

import ast
from collections import Counter

import pytest

from companion.lab import parameters
from tests.references import ROOT

LIB = ROOT / "lib"
KNOBS = 12  # parameters of a chapter beside its profile


def modules(package):
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((LIB / package).rglob("*.py"))}


def is_study(node):
    """Whether a statement of a module defines one: a function decorated with ``study(...)``, or a part of it."""
    calls = [it for it in getattr(node, "decorator_list", []) if isinstance(it, ast.Call)]
    return any(getattr(it.func, "id", "") in ("study", "_drawn", "_few") for it in calls)


@pytest.mark.parametrize("number", parameters.chapters())
def test_knobs(number):
    assert len([name for name in parameters.declared(number) if name != "profile"]) <= KNOBS


@pytest.mark.parametrize("package", ("regimes", "companion"))
def test_no_two_modules_define_one_public_name(package):
    # studies may share a name: results go by module and name; the two asked for are what commands and modules must have
    asked, kinds, found = {"main", "check_parameters"}, (ast.FunctionDef, ast.ClassDef), Counter()
    own = [node for tree in modules(package).values() for node in tree.body if isinstance(node, kinds)]
    found.update(node.name for node in own if not (is_study(node) or node.name in asked or node.name.startswith("_")))
    found.update({node.name for node in own if is_study(node)})
    assert not [name for name, count in found.items() if count > 1]
