"""Which code a study's numbers come from: the library's modules, a reader's file and folder, what a notebook names."""

import importlib
import linecache
import runpy
import shutil
import sys

import pytest

from companion.lab import digest
from companion.lab.catalogue import find
from regimes.validate import InputError
from tests.references import ROOT

LIBRARY = ROOT / "lib"
STUDY = '''
"""A reader's own."""
from helper import half
from companion.lab.record import Count, Setting, record
from companion.lab.sweep import study
def tenfold(n):
    return n * 10
@record
class Mine(Setting):
    n: Count
@study(version=1)
def my_study(setting: Mine, seeds):
    """What is measured."""
    return [{"seed": 0, "value": half(tenfold(setting.n))}]
'''


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """Writes a reader's script and helper and gives the study the script makes."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(text=STUDY, helper="def half(n):\n    return n / 2\n", name="script", **more):
        for file, content in {name: text, "helper": helper, **more}.items():
            (tmp_path / f"{file}.py").write_text(content)
            sys.modules.pop(file, None)
        importlib.invalidate_caches()
        return runpy.run_path(str(tmp_path / f"{name}.py"), run_name="__main__")["my_study"]

    yield run
    for name in ("script", "helper", "deeper"):
        sys.modules.pop(name, None)


def test_a_readers_whole_file_counts_and_what_it_imports_from_its_folder(reader):
    first = reader().code
    assert "helper" in first.modules and "companion.lab.sweep" not in first.modules
    assert reader().code == first
    assert reader(STUDY.replace("measured.", "meant.\n\n    More.") + "\n# a comment\n").code == first
    assert reader(STUDY.replace("n * 10", "n * 99")).code.digest != first.digest
    assert reader(helper="def half(n):\n    return n / 3\n").code.digest != first.digest
    assert reader(helper="def half(n):\n    '''Half.'''\n    return n / 2\n").code == first
    deep = "from deeper import two\ndef half(n):\n    return n / two\n"
    one, other = (reader(helper=deep, deeper=f"two = {n}\n").code for n in (2, 3))
    assert "deeper" in one.modules and one.digest != other.digest


def test_the_modules_of_the_library_that_a_reader_uses_count(reader):
    found = reader("from regimes.data.tasks import stripe\n" + STUDY).code
    assert "regimes.data.tasks" in found.modules and "numpy" not in found.modules


def test_a_study_is_named_by_its_file(reader, tmp_path):
    one, other = reader(), reader(name="another")
    assert one.name.startswith("script-") and one.name.endswith(".my_study") and other.name.startswith("another-")
    away = tmp_path / "away"
    away.mkdir()
    (away / "script.py").write_text(STUDY)
    assert runpy.run_path(str(away / "script.py"), run_name="__main__")["my_study"].name != one.name
    assert find("depth.normalised_kernel")[1].module == "depth"


def typed(text, **names):
    """A function typed into a notebook."""
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(True), "<cell>")
    space = {"__name__": "__main__"} | names
    exec(compile(text, "<cell>", "exec"), space)
    return digest.code.__wrapped__(space["f"])


def test_in_a_notebook_what_a_function_names_counts():
    plain = "K = 2\ndef g(x):\n    return K * x\ndef f(s, seeds):\n    return [g(s) for s in seeds]\n"
    first = typed(plain)
    assert typed(plain.replace("return K", "# why\n    return K")).digest == first.digest
    assert typed(plain + "unused = 3\n").digest == first.digest
    for change in (("K = 2", "K = 3"), ("K * x", "K + x"), ("g(s)", "-g(s)")):
        assert typed(plain.replace(*change)).digest != first.digest, change
    assert digest.module_of(lambda: 0).startswith("test_digest-")


def test_a_notebooks_modules_count():
    from regimes.data import tasks

    found = typed("def f(s, seeds):\n    return tasks.stripe\n", tasks=tasks)
    assert "regimes.data.tasks" in found.modules and found.own


def test_the_record_of_a_study_typed_into_a_notebook_counts():
    Runs = type("Runs", (), {"__module__": "__main__", "__qualname__": "Runs"})
    bare, of_record = (typed(f"def f({s}, seeds):\n    return s.n\n", Runs=Runs) for s in ("s", "s: Runs"))
    Runs.__qualname__ = "Others"
    assert (
        len({bare.digest, of_record.digest, typed("def f(s: Runs, seeds):\n    return s.n\n", Runs=Runs).digest}) == 3
    )


def test_digest_sees_code_and_not_comments():
    plain = digest._bare_digest('def f(x):\n    """Doc."""\n    return 2 * x\n')
    assert plain == digest._bare_digest('"""Module."""\n# why\ndef f(x):\n    """Other."""\n\n    return 2 * x\n')
    assert plain != digest._bare_digest("def f(x):\n    return 3 * x\n")
    assert plain != digest._bare_digest("def f(x):\n    return 2 * x\nclass A:\n    b = 1\n")


def test_digest_follows_imports_inside_the_library():
    found = find("lazy_feature.networks")[1].code
    assert {
        "regimes.data.tasks",
        "regimes.training.gradient_flow",
        "regimes.training.gradient_flow.step",
        "regimes.models.one_hidden",
    } <= set(found.modules)
    assert not any(name.startswith(digest.MACHINERY) for name in found.modules) and found.own == ""
    assert "companion.papers.one_step.theory.network" not in found.modules


def test_relative_imports_are_followed(tmp_path, monkeypatch):
    folder = tmp_path / "pack"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "room.py").write_text("from . import near\nfrom ..far import x\ndef f():\n    pass\n")
    (folder / "inner" / "near.py").write_text("")
    (folder / "far.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = digest.code(importlib.import_module("pack.inner.room").f)
    assert {"pack.inner.room", "pack.inner.near", "pack.far"} <= set(found.modules)


def test_a_process_with_other_files_has_another_digest(reader, monkeypatch):
    found = reader().code
    assert digest.here.__wrapped__(found) == found.digest
    monkeypatch.setattr(digest, "_origin", lambda name: None)
    assert digest.here.__wrapped__(found) != found.digest


def test_a_module_edited_after_it_was_loaded_is_refused(monkeypatch):
    digest.note_loaded("companion.papers.depth.studies.depth")
    found = find("depth.normalised_kernel")[1].code
    assert "regimes.devices" in digest._LOADED and digest.here.__wrapped__(found) == found.digest
    monkeypatch.setitem(digest._LOADED, "regimes.devices", "as it was loaded")
    with pytest.raises(InputError, match=r"devices.py was edited after this process had loaded it: start again"):
        digest.here.__wrapped__(found)


def test_a_readers_module_edited_after_it_was_loaded_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(STUDY.replace("from helper import half", "half = float"))
    loaded = importlib.import_module("mine").my_study
    (tmp_path / "mine.py").write_text("# edited\n")
    with pytest.raises(digest.Edited, match=r"mine.py was edited"):
        _ = loaded.code
    sys.modules.pop("mine")


def of_modules(package):
    """The digest of each module of a package, as files are now."""
    paths = sorted(LIBRARY.joinpath(*package.split(".")).glob("*.py"))
    return {name: digest._of_module(name) for name in (f"{package}.{path.stem}" for path in paths)}


# of a package, and read by no module of it
PACKAGING = ("LICENSE", "README.md", "pyproject.toml", "py.typed")
DATA = [
    path.relative_to(LIBRARY)
    for path in sorted(LIBRARY.rglob("*"))
    if path.is_file() and path.suffix not in (".py", ".pyc") and path.name not in PACKAGING
    if not any(part.endswith(".egg-info") or part == "build" for part in path.relative_to(LIBRARY).parts)
]


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The library's files in a folder of their own, as the digest finds them."""
    folder, origin = tmp_path / "lib", digest._origin
    shutil.copytree(LIBRARY, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))

    def moved(name):
        path = origin(name)
        return path and folder / path.relative_to(LIBRARY)

    monkeypatch.setattr(digest, "_origin", moved)
    monkeypatch.setattr(digest, "_LOADED", {})
    return folder


def test_each_file_that_is_no_python_is_in_the_digest_of_the_modules_that_read_it(copied):
    """Templates and tables as well as what is compiled: a byte more changes that of a module beside."""
    assert {"band.h", "box.h", "products.h", "compiled.c", "fetch.toml", "costs.toml", "show.html"} <= {
        path.name for path in DATA
    }
    for path in DATA:
        package = ".".join((path.parent.parent if path.parent.name == "templates" else path.parent).parts)
        before, text = of_modules(package), (copied / path).read_bytes()
        (copied / path).write_bytes(text + b"\n")
        assert of_modules(package) != before, path
        (copied / path).write_bytes(text)
        assert of_modules(package) == before


@pytest.mark.parametrize("name", ["compiled.c", "products.h", "box.h", "band.h"])
def test_what_is_compiled_is_in_the_digest_of_the_studies_that_call_it(copied, name):
    known = find("lazy_feature.networks")[1].code
    assert digest.here.__wrapped__(known) == known.digest
    (path,) = copied.rglob(name)
    path.write_bytes(path.read_bytes() + b"\n")
    assert digest.here.__wrapped__(known) != known.digest


def test_a_source_in_c_edited_after_it_was_loaded_is_refused(copied):
    name = "regimes.training.gradient_flow.pairs"
    find("lazy_feature.networks")
    digest.note_loaded(name)
    assert digest._of_module(name)
    (path,) = copied.rglob("box.h")
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(digest.Edited, match=r"pairs.py was edited after this process had loaded it"):
        digest._of_module(name)
