"""The budget of a run of the tests, and a miniature book for those of the desk."""

import os
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

import companion  # noqa: F401 before any test imports nbformat
from companion import paths
from companion.lab.results import Results

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("REGIMES_DEVICE", "cpu")  # what the tests compare with; `make gpu` is for the other devices

MINI_CHAPTER = """\
# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # A small chapter
# %% tags=["parameters"]
profile = "laptop"  # chosen with --profile
size = 3  # how many numbers
scale = 0.5  # their scale
sizes = [1, 2]  # a list
# %%
import matplotlib.pyplot as plt
from companion.book.chapter import Chapter
from companion.book.claims import claim
from companion.estimates import Estimate
from companion.lab.record import Count, Setting, record
from companion.lab.sweep import study
chapter = Chapter("99", globals())
@record
class Counted(Setting):
    size: Count[100]
@study(version=1, data="counted")
def counted(setting: Counted, seeds):
    return [{"seed": 0, "x": x} for x in range(setting.size)]
@claim(
    "Z.Fig1-size", accept=(3, 3), rival=2, figure="fig-mini", profiles=("smoke", "laptop", "paper"),
)
def number(rows=counted):
    \"\"\"There are three.

    Rival: one was lost
    Source: paper Z, Fig. 1
    \"\"\"
    return Estimate.exact(len(rows))
# %%
table = chapter.rows(counted)
fig, ax = plt.subplots()
ax.plot(table.x, scale * table.x)
ax.set_xlim(0, size)
chapter.figure(fig, "fig-mini", table)
print("scale =", scale)
# %% [markdown] tags=["caption"]
# **A line.** It rises.
"""
DESIGNS = """\
smoke.size = 2
range.size = [1, 100]
range.scale = [0, 10]
[counted.main]
size = "$size"
seeds = 1
"""


def pytest_configure(config):
    """The mark of pytest-xdist, which need not be there; and a machine may have no C compiler."""
    config.addinivalue_line("markers", "xdist_group(name): tests that go to one process")
    config.addinivalue_line("filterwarnings", "ignore:.*no C compiler is found:UserWarning")


# what takes longest begins; the second waits for the pages of the smoke book, which the first has made
FIRST = "looks test_pages test_explorables test_kept_ledger test_kept test_freedoms test_modules test_sources".split()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Those of a file run in one process: what they share is made once. The dearest groups begin."""
    groups = {}
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        groups[item] = item.get_closest_marker("xdist_group").args[0]
    items.sort(key=lambda item: FIRST.index(groups[item]) if groups[item] in FIRST else len(FIRST))


def pytest_terminal_summary(terminalreporter):
    """How long ``make`` has taken since it began, the smoke book included, beside what it should take at most."""
    tier, minutes, start = os.environ.get("TESTS_TIER"), os.environ.get("TESTS_MINUTES"), os.environ.get("TESTS_START")
    if tier and minutes and start:
        taken = round(time.time() - int(start))
        terminalreporter.write_line(f"{tier}: {taken // 60} min {taken % 60} s of {minutes} min")


@pytest.fixture(scope="session")
def smoke_pages():
    """The pages of the smoke book, made while other tests run: by one process, for which others wait."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "-s", "html", "PROFILE=smoke"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def mini_book(tmp_path, monkeypatch):
    """A book of one chapter, 99, in a folder of its own; returns the folder."""
    files = {
        "chapters/99_mini.py": MINI_CHAPTER,
        "chapters/designs/99.toml": DESIGNS,
        "book/errata.yml": "[]",
        "book/papers.yml": (ROOT / "book" / "papers.yml").read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    from companion.book import claims, ledger

    monkeypatch.setitem(claims._DECLARED, "__main__", [])
    ledger.claims.cache_clear()
    yield tmp_path
    ledger.claims.cache_clear()


@pytest.fixture
def declared(monkeypatch):
    """Declares claims in place of the book's, and returns them by id."""
    from companion.book import ledger

    def declare(*claims):
        monkeypatch.setattr(ledger, "all_claims", lambda: [("99", one) for one in claims])
        ledger.claims.cache_clear()
        return ledger.claims()

    yield declare
    ledger.claims.cache_clear()


@pytest.fixture(scope="module")
def known_results():
    """Stored results that tests of a file have read."""
    return {}


@pytest.fixture
def read_once(known_results, monkeypatch):
    """Stored results are read once for all tests of a file that ask for this, and change none of them."""
    read = Results.__init__

    def once(self, study, path=None):
        key = study, path or paths.results()
        if key not in known_results:
            read(self, study, path)
            known_results[key] = self
        vars(self).update(vars(known_results[key]))

    monkeypatch.setattr(Results, "__init__", once)


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Where the run that tests share is kept."""
    return tmp_path_factory.mktemp("once") / "build"


@pytest.fixture
def ran_book(mini_book, once):
    """The miniature book after a run at the laptop profile, a copy of one that was done once."""
    from companion import runner

    if not once.exists():
        assert runner.main(["99"]) == 0
        (mini_book / "build").rename(once)
    shutil.copytree(once, mini_book / "build", symlinks=True)
    for path in (mini_book / "build").rglob("*"):  # it was done after its sources were written
        os.utime(path, follow_symlinks=False)
    return mini_book
