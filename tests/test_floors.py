"""The floors of the house: imports go down only, and the core needs nothing beyond its six packages."""

import ast
import contextlib
import functools
import io
import os
import subprocess
import sys

import pytest

import regimes
from companion import studies
from companion.studies.__main__ import main
from regimes import validate
from tests.cases import for_each
from tests.references import ROOT

LIB = ROOT / "lib" / "regimes"
FLOORS = [set(names.split()) for names in regimes.FLOORS]  # from the bottom up
CORE = {"numpy", "scipy", "pandas", "joblib", "torch", "filelock", "regimes"}
# imported inside the one function that needs them
LATE = {"PIL", "mlxtend", "sklearn", "distributed", "cloudpickle", "pooch"}


def floor(module):
    return next(i for i, names in enumerate(FLOORS) if module.split(".")[1] in names)


@functools.cache
def imports():
    """What each module imports: its name, the imported name, and the line and indent of the import."""
    found = []
    for path in sorted(LIB.rglob("*.py")):
        name = ".".join(("regimes", *path.relative_to(LIB).with_suffix("").parts)).removesuffix(".__init__")
        if name != "regimes":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found += [(name, imported, node) for imported in imported_by(node)]
    return found


def imported_by(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"regimes.{alias.name}" for alias in node.names] if node.module == "regimes" else [node.module]
    return []


def test_imports_go_down_only():
    ours = [found for found in imports() if found[1].startswith("regimes.")]
    upwards = [
        f"{name} imports {other} (line {node.lineno})" for name, other, node in ours if floor(other) > floor(name)
    ]
    assert len(ours) > 500 and not upwards, "from a floor above:\n" + "\n".join(upwards)


def test_the_core_needs_only_its_six_packages():
    foreign = []
    for name, imported, node in imports():
        allowed = CORE | set(sys.stdlib_module_names) | (LATE if node.col_offset else set())
        if floor(name) < len(FLOORS) - 1 and imported.split(".")[0] not in allowed:
            foreign.append(f"{name} imports {imported} (line {node.lineno})")
    assert not foreign, "\n".join(foreign)


BLOCK = """
import sys
DESK = "IPython jupytext papermill nbformat matplotlib seaborn yaml sklearn mlxtend".split()
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in DESK:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from companion.studies.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def command(*args, tmp_path, **env):
    env = os.environ | {"REGIMES_STORE": str(tmp_path / "cells")} | env
    return subprocess.run([sys.executable, "-c", BLOCK, *args], env=env, cwd=ROOT, capture_output=True, text=True)


def test_a_study_runs_without_jupyter_or_yaml_or_figures(tmp_path):
    done = command("run", "depth.normalised_kernel", "--profile", "smoke", "--budget", "60s", tmp_path=tmp_path)
    assert done.returncode == 0 and "cells stored" in done.stdout, done.stderr
    listed = command("list", tmp_path=tmp_path)
    assert all(name in listed.stdout for modules in studies.rooms().values() for name in studies.studies(modules))


@for_each(
    {
        "study": (("run", "depth.nothing"), "study must be one of"),
        "parameter": (("run", "depth.normalised_kernel", "-p", "nothing", "1"), "unknown parameter 'nothing'"),
        "budget": (("run", "depth.normalised_kernel", "--budget", "soon"), "budget must be a positive time"),
    }
)
def test_bad_input_is_one_line_and_code_2(args, said):
    with contextlib.redirect_stderr(io.StringIO()) as errors, pytest.raises(SystemExit) as end:
        sys.exit(main(list(args)))
    assert end.value.code == 2 and said in errors.getvalue() and errors.getvalue().count("\n") == 1, errors.getvalue()


def test_unknown_study_is_named():
    with pytest.raises(validate.InputError, match="study must be one of"):
        studies.find("nothing")


def test_every_module_has_a_floor():
    assert {
        path.stem for path in LIB.iterdir() if path.stem not in ("__init__", "__pycache__") and path.suffix != ".typed"
    } == set().union(*FLOORS)


def test_the_public_face_costs_nothing_until_it_is_used():
    script = "import sys, regimes; assert not {'torch', 'numpy'} & set(sys.modules); print(regimes.ntk.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "ntk\n", done.stderr


def test_the_public_face_holds():
    wrong = [name for name in regimes.FACE if name not in dir(regimes) or getattr(regimes, name).__name__ != name]
    assert regimes.FACE and not wrong


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        regimes.nothing  # noqa: B018
