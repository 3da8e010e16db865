"""What ``make`` knows a page to depend on: every file that a chapter's run reads."""

import functools
import os
import re
import shutil
import subprocess

import pytest

from companion import paths
from companion.lab import catalogue, parameters, results
from tests.references import ROOT


@functools.cache
def prerequisites():
    """For each chapter the files on which its notebook depends, from make's own tables."""
    make = ["make", "-pn", "pages", "PROFILE=smoke"]
    told = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rules: dict[str, set[str]] = {}
    for number, files in re.findall(r"^build/smoke/(\d\d)_\w+\.ipynb: ([^|\n]*)", told, re.M):
        rules.setdefault(number, set()).update(files.split())
    assert sorted(rules) == sorted(parameters.chapters())
    return rules


def inside(path):
    return str(path.relative_to(ROOT))


def reads(path):
    """Whether a run reads a file of the library: headers in C, tables and templates with the code."""
    no_code = path.name in ("LICENSE", "README.md", "pyproject.toml", "py.typed") or path.suffix == ".pyc"
    return path.is_file() and not no_code and ".egg-info" not in path.parent.suffix


@pytest.mark.parametrize("number", parameters.chapters())
def test_a_chapter_depends_on_all_that_its_run_reads(number):
    known = prerequisites()[number]
    assert {*map(inside, parameters.page_sources(number))} <= known
    assert {inside(path) for path in (ROOT / "lib").rglob("*") if reads(path)} <= known
    assert "book/papers.yml" in known
    assert inside(paths.designs_file(number)) in known
    assert inside(paths.errata_file()) in known


@pytest.mark.parametrize("number", parameters.chapters())
def test_a_chapter_depends_on_the_stored_results_of_its_studies_and_on_no_others(number):
    known = {name for name in prerequisites()[number] if name.startswith("results/")}
    own = {*catalogue.of(number)}
    assert known == {inside(path) for name, path in results.files().items() if name in own}


@pytest.mark.parametrize("number", parameters.chapters())
def test_a_chapter_reads_stored_results_of_its_own_modules_alone(number):
    """Else ``make`` would not know them."""
    text = "".join(page.read_text(encoding="utf-8") for page in parameters.page_sources(number))
    asked = set(re.findall(r"chapter\.rows\(\s*\w+\.(\w+)", text))
    assert asked and not re.search(r"read_csv|\bopen\(", text)
    own = {item.function.__name__ for item in catalogue.of(number).values()}
    assert asked <= own


def test_the_readers_settings_of_python_stay_outside():
    names = "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "JUPYTER_PATH", "MPLBACKEND", "MATPLOTLIBRC"
    make = ["make", "--eval", "seen: ; @env", "seen"]
    env = os.environ | dict.fromkeys(names, "/reader") | {"REGIMES_STORE": "/kept"}
    seen = subprocess.run(make, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert "/reader" not in seen and "REGIMES_STORE=/kept" in seen


def test_a_ledger_is_not_kept_from_uncommitted_changes(tmp_path):
    """Said before anything is built."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    shutil.copy(ROOT / "Makefile", tmp_path)
    for args in (["init", "-q"], ["add", "Makefile"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], cwd=tmp_path, check=True)
    with (tmp_path / "Makefile").open("a") as file:
        file.write("# edited\n")
    done = subprocess.run(["make", "publish-ledger"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "the kept ledger names its commit: commit all changes first" in done.stderr
    assert not (tmp_path / ".venv").exists() and not (tmp_path / "build").exists()


def test_what_is_kept_at_the_papers_size_asks_for_no_whole_book():
    """Its chapters run for hours, each on its own; and what laptop cells took stays."""
    make = ["make", "-n", "publish-ledger", "PROFILE=paper", "NAME=mine"]
    told = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 'companion.site.sources paper --publish-ledger --name "$NAME"' in told
    assert "html" not in told and "companion.runner" not in told and "--profile paper >build/plan.md" in told
