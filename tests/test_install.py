"""What is installed: the wheel of the library, the environment that is the lock's, the lowest versions."""

import importlib.metadata
import itertools
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import regimes
from regimes import compiler
from regimes.data import tasks
from regimes.kernels import biased
from regimes.models import one_hidden
from regimes.training.gradient_flow import gradient_flow, pairs
from regimes.training.run import run
from regimes.training.state import t_star
from tests.references import ROOT

PROJECT, COMPANION = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in ("lib", "lib/companion")
)
ASKED = [
    Requirement(text)
    for project in (PROJECT, COMPANION)
    for text in itertools.chain(project["dependencies"], *project["optional-dependencies"].values())
    if not text.startswith("regimes")
]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))
# what a wheel carries beside modules
DATA = {
    "regimes": ("py.typed", "kernels/*.c", "training/gradient_flow/*.[ch]", "training/kernel_flow/*.c"),
    "companion": ("fetch.toml", "lab/costs.toml", "*/templates/*"),
}
# in an environment beside what the lock names: pip's own, and what torch's builds for CUDA bring
BESIDE = re.compile(r"regimes(-companion)?|pip|setuptools|wheel|triton|(nvidia|cuda)-.*")


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.split("#")[0].strip() for line in lines]
    return [Requirement(line) for line in wanted if line and not line.startswith("-")]


def locked():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {plain(name): Version(version) for name, _, version in (line.partition("==") for line in lines) if version}


def test_the_environment_is_the_lock():
    if not (ROOT / ".venv" / ".ready").exists() or sys.prefix != str(ROOT / ".venv"):
        pytest.skip("not the environment that make has made")
    lock = locked()
    there = {plain(d.metadata["Name"]): Version(d.version) for d in importlib.metadata.distributions()}
    unlocked = sorted(name for name in there.keys() - lock.keys() if not BESIDE.fullmatch(name))
    # a local part (+cpu, +cu128) says for what torch was built
    other = [
        f"{n} {there[n]}, not {lock[n]}" for n in sorted(there.keys() & lock.keys()) if there[n].public != str(lock[n])
    ]
    assert not unlocked, f"constraints.txt lacks {', '.join(unlocked)}"
    assert not other, f"the environment has {'; '.join(other)}"
    if sys.version_info[:2] == (3, 11):  # other Pythons need a few packages less
        assert not lock.keys() - there.keys(), "constraints.txt names what is not installed"


@pytest.mark.xdist_group("kept")
def test_the_tests_of_a_group_keep_to_one_worker(request, worker_id):
    """A pytest that is newer than pytest-xdist drops the groups in silence: each worker then builds the pages anew."""
    assert worker_id == "master" or request.node.nodeid.endswith("@kept")


def test_the_lock_satisfies_every_requirement():
    lock = locked()
    wanted = requirements() + ASKED
    wrong = [str(r) for r in wanted if not r.specifier.contains(lock[plain(r.name)])]
    assert len(wanted) > 30 and not wrong, "constraints.txt does not satisfy " + ", ".join(wrong)


def test_the_library_and_the_book_ask_for_the_same_versions():
    book = {plain(r.name): r.specifier for r in requirements()}
    assert [str(r) for r in ASKED if book.get(plain(r.name), r.specifier) != r.specifier] == []


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.search(r"^## (\d\S*) \((\d{4}-\d\d-\d\d)\)$", changes, re.M).groups()
    assert f"regimes[data]=={newest}" in COMPANION["dependencies"] and COMPANION["version"] == newest
    assert (
        PROJECT["version"] == citation["version"] == newest == regimes.__version__
        and str(citation["date-released"]) == date
    )
    assert changes.index("\n## Unreleased\n") < changes.index(f"\n## {newest}")


def test_make_and_the_workflow_know_the_same_pythons_as_the_library():
    first = re.fullmatch(r">=(3\.\d+)", PROJECT["requires-python"])[1]
    made = re.search(r"v >= \((3), (\d+)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    tried = {entry["python"] for entry in WORKFLOW["jobs"]["test-all"]["strategy"]["matrix"]["include"]}
    assert ".".join(made.groups()) == first == named[0] and COMPANION["requires-python"] == f">={first}"
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == [first, named[-1]] and tried == {*named}


def test_the_packages_name_lower_bounds_alone():
    """A library that caps what it uses is refused beside newer versions of it; the lock is the book's."""
    bounds = [specifier.operator for requirement in ASKED for specifier in requirement.specifier]
    assert len(bounds) > 10 and set(bounds) == {">="}
    weekly = [step.get("run") for step in WORKFLOW["jobs"]["newest"]["steps"]]
    assert "schedule" in WORKFLOW["jobs"]["newest"]["if"] and "make newest" in weekly


def test_the_workflow_names_actions_by_commit_and_may_only_read():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", name) for name in used), used
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert [name for name, job in WORKFLOW["jobs"].items() if "permissions" in job] == ["publish"]


def test_the_linters_before_a_commit_are_those_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    entries = [hook["entry"] for repository in hooks for hook in repository["hooks"]]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    assert entries == [line.strip().replace("@$(BIN)", ".venv/bin") for line in recipe.splitlines()]


@pytest.fixture(scope="module", params=["regimes", "companion"])
def wheel(request, tmp_path_factory):
    """A package, its folder in ``lib``, and its wheel, of a copy of ``lib``, built by the setuptools that is here."""
    source = {"regimes": "lib", "companion": "lib/companion"}[request.param]
    built = built_in(tmp_path_factory.mktemp("wheel"), source)
    with zipfile.ZipFile(built) as held:
        return request.param, ROOT / source, {name: held.read(name) for name in held.namelist()}


def built_in(folder, source, compiled=""):
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    command, named = [*pip, "-w", str(folder), str(folder / source)], os.environ | {"REGIMES_WHEEL": compiled}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=named)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


# run with the folder of an installed wheel: t* by each kind of compiled code that this processor has, the best first
COMPILED = """
import sys, warnings

warnings.simplefilter("error")
sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
sys.path.insert(0, sys.argv[1])
from regimes import compiler
from regimes.data import tasks
from regimes.kernels import biased
from regimes.models import one_hidden
from regimes.training.gradient_flow import gradient_flow, pairs
from regimes.training.run import run
from regimes.training.state import t_star

assert compiler.BUILT.is_relative_to(sys.argv[1])
levels = compiler._levels(compiler._flags())
for level in levels:
    compiler._levels = lambda flags: [level]
    biased.compiled.cache_clear(), pairs.routines.cache_clear()
    assert biased.compiled() is not None and pairs.routines() is not None
    network, task = one_hidden.one_hidden(5, 100, seeds=0), tasks.stripe(200, 5, seed=0)
    states = gradient_flow(network, task, alpha=1e-6, device="cpu")
    print(level, run(states, until=t_star).at("t_star")[1].item())
"""


@pytest.mark.weekly
@pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
def test_a_wheel_with_compiled_sums_needs_no_compiler(tmp_path):
    """In it each kind of processor of this machine's family; without a compiler, a cache or a word the same t*."""
    built = built_in(tmp_path, "lib", compiled="1")
    assert re.fullmatch(r"regimes-\S+-py3-none-(linux|macosx)_\S+\.whl", built.name)
    with zipfile.ZipFile(built) as wheel:
        wheel.extractall(tmp_path / "site")
        files = [name for name in wheel.namelist() if name.endswith(".so")]
    kinds = [*compiler.LEVELS] if platform.machine() == "x86_64" else [platform.machine()]
    for kind in kinds:
        assert sum(f"-{kind}-" in name for name in files) == len(list((tmp_path / "lib" / "regimes").rglob("*.c")))
    bare = {"PATH": str(tmp_path), "REGIMES_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", COMPILED, str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=bare, cwd=tmp_path)
    assert done.returncode == 0 and not (tmp_path / "cache").exists(), done.stderr
    found = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}
    states = gradient_flow(one_hidden.one_hidden(5, 100, seeds=0), tasks.stripe(200, 5, seed=0), alpha=1e-6)
    here = run(states, until=t_star).at("t_star")[1].item()
    assert [*found] == compiler._levels(compiler._flags()) and [*found][-1] == kinds[-1]
    assert all(abs(t / here - 1) < 1e-10 for t in found.values()), found


def test_the_wheel_carries_licence_readme_authors_address_and_types(wheel):
    package, source, held = wheel
    (at,) = (name for name in held if name.endswith(".dist-info/METADATA"))
    told, folder = held[at].decode(), at.rpartition("/")[0]
    assert held[f"{folder}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    readme = (source / "README.md").read_text(encoding="utf-8")
    assert readme.strip() in told and readme.startswith("# regimes")
    for line in ("License-Expression: BSD-3-Clause", "Author: The authors", "Description-Content-Type: text/markdown"):
        assert f"\n{line}" in told, told
    code = {str(path.relative_to(ROOT / "lib")) for path in (ROOT / "lib" / package).rglob("*.py")}
    beside = {name for name in held if not name.endswith(".py") and not name.startswith(f"{folder}/")}
    assert {name for name in held if name.endswith(".py")} == code
    data = {path for pattern in DATA[package] for path in (ROOT / "lib" / package).glob(pattern)}
    assert beside == {str(path.relative_to(ROOT / "lib")) for path in data} and len(data) > 1


# run with the folder of an installed wheel and its page: neither the checkout nor the companion is to be seen
ALONE = """
import doctest, importlib.util, re, sys
from pathlib import Path

sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
site, page = sys.argv[1:]
sys.path.insert(0, site)
import regimes

assert Path(regimes.__file__).is_relative_to(site) and importlib.util.find_spec("companion") is None, regimes.__file__
text = Path(page).read_text(encoding="utf-8")
blocks = re.findall(r"```python\\n(.*?)```", text, re.DOTALL)
for block in blocks:
    if not block.startswith(">>>"):
        exec(block, {})
found = doctest.DocTestParser().get_doctest(text.replace("\\n```", "\\n"), {}, "page", page, 0)
failed = doctest.DocTestRunner(verbose=False).run(found).failed
from regimes.kernels import biased
from regimes.training.gradient_flow import pairs

compiled = [library is not None for library in (biased.compiled(), pairs.routines())]
print(failed, "of", len(found.examples), "failed, in", len(blocks), "blocks, compiled:", *compiled)
"""


@pytest.mark.weekly
@pytest.mark.parametrize("wheel", ["regimes"], indirect=True)
def test_the_page_of_the_library_holds_for_its_wheel_alone(wheel, tmp_path):
    """All blocks of the page, run outside of the checkout with what the wheel carries, the C among it."""
    _, _, held = wheel
    for name, content in held.items():
        place = tmp_path / "site" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (metadata,) = (tmp_path / "site").glob("*.dist-info/METADATA")
    page = tmp_path / "page.md"
    page.write_text(metadata.read_text(encoding="utf-8").partition("\n\n")[2], encoding="utf-8")
    command = [sys.executable, "-P", "-c", ALONE, str(tmp_path / "site"), str(page)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    *said, last = done.stdout.splitlines()
    compiled = [library is not None for library in (biased.compiled(), pairs.routines())]  # here
    words = f"{compiled[0]} {compiled[1]}"
    assert re.fullmatch(rf"0 of 3\d failed, in [5-9] blocks, compiled: {words}", last), done.stdout
    learnt, lazy, frozen = (float(line.rpartition(" ")[2]) for line in said if "test error" in line)
    assert learnt < lazy / 2 and abs(lazy - frozen) < 0.2 * frozen, said


def test_a_clone_has_the_line_ends_of_the_checksums_whatever_gits_settings(tmp_path):
    """Else stored tables are refused, and make reads no Makefile."""
    files = {"a.csv": b"x\n1\n", "b.json": b"{}\n", "c.gz": b"\x1f\n\r\n", "Makefile": b"a:\n"}
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    for name, content in files.items():
        (first / name).write_bytes(content)
    shutil.copy(ROOT / ".gitattributes", first)
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(first), *words], check=True)
    crlf = ["-c", "core.autocrlf=true", "-c", "core.eol=crlf"]
    subprocess.run(["git", *crlf, "clone", "-q", str(first), str(second)], check=True)
    assert {name: (second / name).read_bytes() for name in files} == files
