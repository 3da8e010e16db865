"""The floors of the house: imports go down only, and the core needs nothing beyond its six packages."""

import ast
import os
import subprocess
import sys

import pytest

import regimes
from regimes import studies, validate
from tests.references import ROOT

LIB = ROOT / "lib" / "regimes"
FLOORS = [set(names.split()) for names in regimes.FLOORS]  # from the bottom up
CORE = {"numpy", "scipy", "pandas", "joblib", "torch", "filelock", "regimes"}
# imported inside the one function that needs them
LATE = {"PIL", "mlxtend", "sklearn", "distributed", "cloudpickle"}


def floor(module):
    return next(i for i, names in enumerate(FLOORS) if module.split(".")[1] in names)


def modules():
    for path in sorted(LIB.rglob("*.py")):
        name = ".".join(("regimes", *path.relative_to(LIB).with_suffix("").parts)).removesuffix(".__init__")
        if name != "regimes":
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "regimes":
            yield from ((f"regimes.{alias.name}", node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module, node


@pytest.mark.parametrize(("name", "tree"), modules(), ids=[name for name, _ in modules()])
def test_imports_go_down_only(name, tree):
    for imported, node in imports(tree):
        if imported.startswith("regimes."):
            assert floor(imported) <= floor(name), f"{name} imports {imported} from a floor above (line {node.lineno})"


@pytest.mark.parametrize(("name", "tree"), modules(), ids=[name for name, _ in modules()])
def test_the_core_needs_only_its_six_packages(name, tree):
    if floor(name) == len(FLOORS) - 1:
        return
    for imported, node in imports(tree):
        package = imported.split(".")[0]
        allowed = CORE | set(sys.stdlib_module_names) | (LATE if node.col_offset else set())
        assert package in allowed, f"{name} imports {package} (line {node.lineno})"


BLOCK = """
import sys
DESK = "IPython jupytext papermill nbformat matplotlib seaborn yaml sklearn mlxtend".split()
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in DESK:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from regimes.studies.__main__ import main
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


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "depth.nothing"), "study must be one of"),
        (("run", "depth.normalised_kernel", "-p", "nothing", "1"), "unknown parameter 'nothing'"),
        (("run", "depth.normalised_kernel", "--budget", "soon"), "budget must be a positive time"),
        (("add", "nowhere.tar.gz"), "cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_code_2(tmp_path, args, said):
    done = command(*args, tmp_path=tmp_path)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_unknown_study_is_named():
    with pytest.raises(validate.InputError, match="study must be one of"):
        studies.find("nothing")


def test_every_module_has_a_floor():
    assert {path.stem for path in LIB.iterdir() if path.stem not in ("__init__", "__pycache__")} == set().union(*FLOORS)


def test_the_public_face_costs_nothing_until_it_is_used():
    script = "import sys, regimes; assert not {'torch', 'numpy'} & set(sys.modules); print(regimes.ntk.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "ntk\n", done.stderr


@pytest.mark.parametrize("name", regimes.FACE)
def test_the_public_face_holds(name):
    assert name in dir(regimes) and getattr(regimes, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        regimes.nothing  # noqa: B018
