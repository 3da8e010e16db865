"""Two packages, the companion on the engine, each in layers: imports go down only, and each needs what it says."""

import ast
import contextlib
import fnmatch
import functools
import graphlib
import io
import os
import re
import subprocess
import sys

import pytest

import regimes
from companion.lab import catalogue
from companion.studies import main
from regimes import validate
from tests.cases import for_each
from tests.references import ROOT

LIB = ROOT / "lib"
# from the bottom up, patterns of module names; ``*`` stands for the folder of any paper
LAYERS = [
    [f"{package}.{name}" for name in names.split()]
    for package in ("regimes", "companion")
    for names in sys.modules[package].LAYERS
]
STANDARD = set(sys.stdlib_module_names)
NEEDS = {"regimes": {"regimes", "numpy", "scipy", "torch"}}
NEEDS["companion"] = NEEDS["regimes"] | {"companion", "pandas", "joblib", "filelock"}
# imported inside the one function that needs them
LATE = {"PIL", "mlxtend", "sklearn", "distributed", "cloudpickle", "pooch"}
ON_CUDA = {"regimes.training.gradient_flow.fused": {"triton"}}  # a module that is itself imported so; torch brings it
BOOK = tuple(f"companion.{name}" for name in ("book", "runner", "site", "fetch"))


@functools.cache
def layer(module):
    """The place of a module, or of what is imported from one, among ``LAYERS``."""
    parts = module.split(".")
    above = {".".join(parts[:count]) for count in range(2, len(parts) + 1)}
    (found,) = {i for i, names in enumerate(LAYERS) for name in names if fnmatch.filter(above, name)}
    return found


@functools.cache
def imports():
    """What each module imports: its name, the imported name, and the line and indent of the import."""
    found = []
    for path in sorted(LIB.rglob("*.py")):
        name = ".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__")
        if name.split(".")[0] in NEEDS and "." in name:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found += [(name, imported, node) for imported in imported_by(node)]
    return found


def imported_by(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names] if node.module in NEEDS else [node.module]
    return []


def test_imports_go_down_only():
    ours = [found for found in imports() if found[1].split(".")[0] in NEEDS and "." in found[1]]
    upwards = [
        f"{name} imports {other} (line {node.lineno})" for name, other, node in ours if layer(other) > layer(name)
    ]
    assert len(ours) > 500 and not upwards, "from a layer above:\n" + "\n".join(upwards)


def test_a_study_imports_no_other_study():
    """What several studies take stands in modules that define none; the one below is another's at other sizes."""
    study, same = (
        re.compile(r"companion\.papers\.\w+\.studies\.[a-z]"),
        {"companion.papers.kernel_pca.studies.large_p"},
    )
    found = [(name, other) for name, other, _ in imports() if study.match(name)]
    between = [f"{name} imports {other}" for name, other in found if study.match(other)]
    assert len(found) > 100 and not [it for it in between if it.split()[0] not in same]


def test_the_engine_needs_numpy_scipy_and_torch_and_studies_three_packages_more():
    foreign = []
    for name, imported, node in imports():
        allowed = NEEDS[name.split(".")[0]] | STANDARD | (LATE if node.col_offset else ON_CUDA.get(name, set()))
        if not name.startswith(BOOK) and imported.split(".")[0] not in allowed:
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
from companion.studies import main
sys.exit(main(sys.argv[1:]))
"""


BESIDE = ("companion", "pandas", "joblib", "sklearn", "mlxtend", "matplotlib")
ALONE = f"import sys; sys.modules.update(dict.fromkeys({BESIDE}))\n"  # importing them fails


def test_the_api_pages_first_example_runs_with_the_engine_alone():
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 22
    done = subprocess.run([sys.executable, "-c", ALONE + example], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    features, lazy = done.stdout.splitlines()
    change = [float(line.split("kernel changed by ")[1].split(",")[0]) for line in (features, lazy)]
    assert "alpha 0.1: fitted" in features and "alpha 100: fitted" in lazy
    assert change[0] > 1 and change[1] < 0.05


def command(*args, tmp_path, **env):
    env = os.environ | {"REGIMES_STORE": str(tmp_path / "cells")} | env
    return subprocess.run([sys.executable, "-c", BLOCK, *args], env=env, cwd=ROOT, capture_output=True, text=True)


def test_a_study_runs_without_jupyter_or_yaml_or_figures(tmp_path):
    done = command("run", "depth.normalised_kernel", "--profile", "smoke", "--budget", "60s", tmp_path=tmp_path)
    assert done.returncode == 0 and "cells stored" in done.stdout, done.stderr
    listed = command("list", tmp_path=tmp_path)
    assert all(name in listed.stdout for number in catalogue.modules() for name in catalogue.of(number))


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
        catalogue.find("nothing")


def test_every_module_has_a_layer():
    paths = [path.relative_to(LIB).with_suffix("") for package in NEEDS for path in (LIB / package).rglob("*.py")]
    names = {".".join(path.parts) for path in paths if path.name != "__init__"}
    assert all(layer(name) >= 0 for name in names)
    found = {pattern for names_of in LAYERS for pattern in names_of if fnmatch.filter(names, f"{pattern}*")}
    assert found == {pattern for names_of in LAYERS for pattern in names_of}


def test_the_public_api_costs_nothing_until_it_is_used():
    name, loaded = next(iter(regimes.PUBLIC)), "{'torch', 'numpy'} & set(sys.modules)"
    script = f"import sys, companion, regimes; assert not {loaded}; print(regimes.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"{name}\n", done.stderr


def test_the_public_api_holds():
    wrong = [name for name in regimes.PUBLIC if name not in dir(regimes) or getattr(regimes, name).__name__ != name]
    assert regimes.PUBLIC and not wrong


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        regimes.nothing  # noqa: B018


def test_no_modules_import_each_other():
    """Of what is imported when a module is loaded, not in a function, or for its types; a package may show its own."""
    by_module = {}
    for name, imported, node in imports():
        if node.col_offset == 0:
            by_module.setdefault(name, set()).add(imported)
    graph = graphlib.TopologicalSorter()
    for name, of in by_module.items():
        named = {imported if imported in by_module else imported.rpartition(".")[0] for imported in of}
        graph.add(name, *(it for it in named if it != name and not name.startswith(f"{it}.")))
    graph.prepare()  # raises CycleError with the circle
