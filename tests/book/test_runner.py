"""Running a chapter: profiles and overrides reach it, no fault costs the last good run, bad input is one line."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import nbformat
import psutil
import pytest

from companion import describe, paths, runner
from companion.book import ledger, screen
from companion.book.chapter import Chapter
from companion.lab import parameters
from companion.site import locks, pages, sources, versions
from companion.studies import main as studies_main
from regimes.validate import InputError
from tests.references import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")
# after the claim was judged: what a fault must not mix with the last good notebook
SLOW = """
# %%
import time
from companion.lab.sweep import sweep
@record
class Slow(Setting):
    n: Count
@study(version=1)
def slow(setting: Slow, seeds):
    time.sleep(120 if seeds[0] else 2)
    return [{"seed": seeds[0]}]
sweep(slow, slow.grid.of(n=1, seeds=4))
"""
# a book that make can build, as far as it differs from the miniature one
DESK = {
    "_config.yml": "title: Mini\nexclude_patterns: [.venv, lib, build, runs, book]\n"
    "execute: {execute_notebooks: 'off'}\n",
    "_toc.yml": "format: jb-book\nroot: intro\nchapters: [{file: chapters/99_mini}]\n",
    "intro.md": "# Intro\n",
    "requirements.txt": "",
    "constraints.txt": "",
    "lib/pyproject.toml": "",
    "results/finer.json": "[]",
}


def run(*args):
    return runner.main(["99", *args])


def output(path):
    cells = nbformat.read(path, as_version=4).cells
    return "".join(o.get("text", "") for c in cells for o in c.get("outputs", []))


def append(root, text):
    source = root / "chapters" / "99_mini.py"
    source.write_text(source.read_text() + text)


@pytest.fixture
def start():
    """Starts a command as a process of its own; whatever still runs at the end of a test is killed.

    It hears an interrupt also where the tests run in the background of a shell, which has its children ignore it.
    """
    running = []

    def heard():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def begin(*command, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heard} | options
        running.append(subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, **options))
        return running[-1]

    yield begin
    for process in running:
        with process:
            process.kill()


RUNNER = (sys.executable, "-m", "companion.runner", "99")


def children(process):
    """The processes that a run has begun: its chapter's and that one's workers."""
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes):
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.1)


@pytest.fixture
def good(ran_book):
    """A book with a good run; its chapter has changed since, and sleeps once it has judged its claim."""
    folder = ran_book / "build" / "laptop"
    before = {name: (folder / name).read_bytes() for name in ("99_mini.ipynb", "99.ledger.json")}
    append(ran_book, SLOW)
    yield ran_book
    after = {name: (folder / name).read_bytes() for name in before}
    assert after == before, "notebook and ledger of the last good run stay as they were"


@pytest.fixture
def sleeping(good, start):
    """A run of the changed chapter that has judged its claim; its workers are there."""
    folder = good / "build" / "laptop"
    process = start(*RUNNER)

    def judged():
        fresh = [path for path in folder.glob(".99-*/99.ledger.json") if path.parent != (folder / ".99").resolve()]
        return any(json.loads(path.read_text()) for path in fresh)

    until(judged)
    until(lambda: len(children(process)) >= 3)
    return process


def test_a_run_writes_notebook_and_ledger_and_a_page(mini_book, capfd):
    start = time.time()
    assert run() == 0
    written = (mini_book / "build" / "laptop" / "99_mini.ipynb").stat().st_mtime
    assert start <= written < time.time() - 0.1, "as old as what was read: a source edited during the run is newer"
    done = mini_book / "build" / "laptop" / "99_mini.ipynb"
    (record,) = json.loads((done.parent / "99.ledger.json").read_text())
    assert record["verdict"] == "reproduced" and record["value"] == 3 and record["profile"] == "laptop"
    (page,) = sources.stage("laptop")
    cells = nbformat.read(page, as_version=4).cells
    folded = {"hide-input", "remove-input", "remove-cell"}  # the last: its code is in the next fold
    assert all(folded & set(c.metadata.tags) for c in cells if c.cell_type == "code")
    assert any("make help-99" in c.source for c in cells if c.cell_type == "markdown")
    figure = [c.metadata.mystnb for c in cells if "figure" in c.metadata.get("mystnb", {})]
    assert len(figure) == 1 and figure[0]["figure"]["name"] == "fig-mini"
    assert figure[0]["figure"]["caption"] == "**A line.** It rises."
    first = done.resolve()
    assert run() == 0
    assert done.resolve() != first and not first.exists()  # the swap takes the old one away
    seen = {p.name for p in done.parent.iterdir()} - {done.resolve().parent.name}
    assert seen == {".99", ".99.lock", "99.ledger.json", "99_mini.ipynb"}
    assert "Warning" not in capfd.readouterr().err


def test_changed_parameters_go_to_a_run_of_their_own_with_a_page(ran_book):
    (ran_book / "_static").symlink_to(ROOT / "_static")
    (ran_book / "mine.toml").write_text("scale = 3\n")
    (ran_book / "build" / "laptop").rename(ran_book / "away")
    page = (ran_book / "chapters" / "99_mini.py").read_text()
    (ran_book / "chapters" / "99_the_rest.py").write_text(
        page.split("# %% [markdown]")[0]
        + page.split("# %% [markdown]\n# # A small chapter\n")[1].split("# %%\ntable")[0]
        + '# %%\nplt.plot([size])\nchapter.figure(plt.gcf(), "fig-rest")\n'
        '# %% [markdown] tags=["caption"]\n# **Nothing** yet, as {numref}`fig-mini` says.\n'
    )
    assert run("-f", "mine.toml", "-p", "size", "5", "--name", "mine") == 0
    assert output(ran_book / "runs" / "mine" / "99_mini.ipynb") == "scale = 3.0\n"
    assert not (ran_book / "build" / "laptop").exists()
    html = ran_book / "runs" / "mine" / "html"
    page = (html / "index.html").read_text(encoding="utf-8")
    assert page.count('class="beside alone"') == 2, "its own figures, where no book was built"
    assert "has not been built here" in page and "judged no claim that the book has judged" in page
    assert "It rises." in page and "<b>Nothing</b> yet, as fig-mini says." in page and "{{" not in page
    assert "<code>Z.Fig1-size</code>" in page and "not reproduced" in page and "99_the_rest.ipynb" in page
    assert "https://" not in "".join(line for line in page.splitlines() if "<script" in line or "<link" in line)
    assert 'href="fig-mini.csv"' in page and (html / "fig-mini.csv").read_text().count("\n") > 1
    (ran_book / "results").mkdir(exist_ok=True)
    shutil.copy(ran_book / "away" / "99.ledger.json", ran_book / "results" / "ledger.json")
    page = pages.of_run(ran_book / "runs" / "mine").read_text(encoding="utf-8")
    assert "<em>reproduced</em><br>3" in page and "→ <em>not reproduced</em><br>5" in page, "the verdicts kept"
    for row in ("scale", "0.5", "3.0", "their scale"), ("size", "3", "5", "how many numbers"):
        cells = "<td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td><td>{}</td>".format(*row)
        assert cells in page
    (ran_book / "away").rename(ran_book / "build" / "laptop")
    page = pages.of_run(ran_book / "runs" / "mine").read_text(encoding="utf-8")
    assert page.count('class="beside"') == 1 and page.count('class="beside alone"') == 1  # one is new
    assert page.count("data:image/svg+xml;base64,") == 3
    order = [page.index(words) for words in ("their scale", "Verdicts that changed", 'class="beside', "All verdicts")]
    assert order == sorted(order), "the reader's own change comes first"
    shutil.copytree(ran_book / "build" / "laptop", ran_book / "runs" / "same", symlinks=True)
    page = pages.of_run(ran_book / "runs" / "same").read_text(encoding="utf-8")
    assert "No parameter was changed" in page and "No figure differs from the book" in page
    assert "None: the one verdict of this run is the book" in page


def test_one_figure_runs_what_it_needs_and_nothing_else(mini_book, capsys):
    append(mini_book, "# %%\nprint(1 / 0)\n# %%\nchapter.figure(plt.figure(), 'fig-rest', 'Nothing yet.')\n")
    assert run("--figure", "fig-mini", "-p", "size", "4", "--name", "one") == 0
    book = nbformat.read(mini_book / "runs" / "one" / "99_mini.ipynb", as_version=4)
    assert not any("1 / 0" in cell.source or "fig-rest" in cell.source for cell in book.cells)
    (record,) = ledger.read(mini_book / "runs" / "one" / "99.ledger.json")
    assert record["value"] == 4 and "A small chapter" in book.cells[0].source
    assert not (mini_book / "build" / "laptop").exists()
    with pytest.raises(SystemExit):
        run("--figure", "fig-none")
    assert "figure must be one of fig-mini" in capsys.readouterr().err


def test_one_page_runs_without_the_others(mini_book, capsys, monkeypatch):
    source = mini_book / "chapters" / "99_mini.py"
    page = source.read_text(encoding="utf-8").replace("fig-mini", "fig-rest").replace("Z.Fig1-size", "Z.Fig2-size")
    source.with_name("99_rest.py").write_text(page + "# %%\nprint(sizes / 0)\n", encoding="utf-8")
    built = []
    monkeypatch.setattr(
        pages, "of_run", lambda folder, *of: built.append((folder, *of)) or folder / "html" / "index.html"
    )
    assert run("--figure", "99_mini", "-p", "size", "4", "--profile", "smoke", "--name", "one") == 0
    assert [path.name for path in (mini_book / "runs" / "one").glob("*.ipynb")] == ["99_mini.ipynb"]
    (record,) = ledger.read(mini_book / "runs" / "one" / "99.ledger.json")
    book = nbformat.read(mini_book / "runs" / "one" / "99_mini.ipynb", as_version=4)
    assert (record["id"], record["value"], record["profile"]) == ("Z.Fig1-size", 4, "smoke")
    assert built == [(mini_book / "runs" / "one", "99", "")] and book.cells[0].source == "# A small chapter"
    with pytest.raises(SystemExit):
        run("--figure", "99_mini", "-p", "sizes", "[3]")
    assert "99_mini does not depend on 'sizes'; it depends on size, scale" in capsys.readouterr().err


def test_one_figure_has_a_page_without_sphinx(ran_book, monkeypatch):
    """What was changed, the picture beside the book's, its rows, the verdicts; the picture alone without a book."""
    monkeypatch.setattr(pages, "build", None)  # Sphinx
    assert run("--figure", "fig-mini", "-p", "size", "4", "--name", "one") == 0
    html = ran_book / "runs" / "one" / "html"
    page = (html / "index.html").read_text(encoding="utf-8")
    assert "<td><code>3</code></td><td><code>4</code></td><td>how many numbers</td>" in page
    assert (
        page.count("data:image/svg+xml;base64,") == 2 and "<p><b>A line.</b> It rises.</p>" in page and "{{" not in page
    )
    assert "<em>reproduced</em><br>3" in page and "→ <em>not reproduced</em><br>4" in page
    assert 'href="fig-mini.csv"' in page and (html / "fig-mini.csv").read_text().count("\n") == 5
    static = re.search(r'src="([^"]+)/mathjax/tex-chtml.js"', page)[1]
    assert (html / static).resolve() == ran_book / "_static"
    assert run("--figure", "fig-mini", "--name", "one") == 0
    page = (html / "index.html").read_text(encoding="utf-8")
    assert "No parameter was changed" in page and "does not differ from the book" in page
    shutil.rmtree(ran_book / "build" / "laptop")
    assert run("--figure", "fig-mini", "-p", "size", "4", "--name", "one") == 0
    page = (html / "index.html").read_text(encoding="utf-8")
    assert "has not been built here" in page and page.count("data:image/svg+xml;base64,") == 1


KNOB = """
[99.fig-mini]
sets = {size = 4}
see = "It is as long as four numbers."
[99.fig-mini.knob]
turns = "how many numbers, $n$"
choices = [
  {name = "3", see = "Turn it."},
  {name = "5", sets = {size = 5}, see = "It is longer."},
  {name = "6", sets = {size = 6, scale = 2}, see = "It is longest."},
]
"""


@pytest.mark.parametrize(("profile", "drawn"), [("laptop", ["5", "6"]), ("smoke", ["5"])])
def test_a_knob_has_a_picture_of_each_choice_and_judges_nothing(mini_book, profile, drawn):
    (mini_book / "chapters" / "changes.toml").write_text(KNOB)
    assert run("--profile", profile) == 0
    made = mini_book / "build" / profile
    (shown,) = pages._figures([made / "99_mini.ipynb"]).values()
    knob = shown.metadata.regimes.knob
    assert [one.name for one in knob.choices] == ["3", *drawn] and "output" not in knob.choices[0]
    assert len({shown.data["image/png"], *(one.output.data["image/png"] for one in knob.choices[1:])}) == len(drawn) + 1
    (record,) = ledger.read(made / "99.ledger.json")
    assert record["value"] == (3 if profile == "laptop" else 2), "the book's own"
    assert (made.resolve() / ".99" / "rows" / "fig-mini.csv").read_text().count("\n") == record["value"] + 1
    html = screen.figure_html(shown, mini_book / "figures", "figures/")
    assert html.count('type="radio"') == len(drawn) + 1 and html.count(" checked") == 1 and "3 (book)" in html
    for file in re.findall(r'data-(?:wide|narrow)="([^"]+)"', html):
        assert 1000 < (mini_book / file).stat().st_size < 25_000


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("size = 5", "width = 5", "'5': unknown parameter 'width' of chapter 99; "),
        ("size = 5", "size = -5", "'5': size must be a whole number from 1 to 100, got -5"),
        ("size = 5", "sizes = [5]", "'5': the picture is that of another choice"),
        ("size = 6, scale = 2", "size = 5", "'6': the picture is that of another choice"),
        ("size = 5", "size = 0.5", "'5': size must be a whole number"),
    ],
)
def test_a_knob_that_cannot_be_turned_is_one_line(mini_book, capfd, before, after, said):
    (mini_book / "chapters" / "changes.toml").write_text(KNOB.replace(before, after))
    assert run() == 2 and not (mini_book / "build" / "laptop" / "99_mini.ipynb").exists()
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and err.startswith(f"error: the knob of fig-mini, {said}"), err


@pytest.mark.parametrize("more", [["--check"], []])
def test_a_parameter_that_the_figure_ignores_is_refused(mini_book, capsys, more):
    (mini_book / "mine.toml").write_text("size = 4\nscale = 3\n")
    append(mini_book, '# %%\nchapter.figure(plt.figure(), "fig-rest", f"{scale} times.")\n')
    for label, given, other, own in (
        ("fig-rest", ["-p", "size", "4"], "size", "scale"),
        ("fig-rest", ["-f", "mine.toml"], "size", "scale"),
        ("fig-mini", ["-p", "size", "4", "-p", "sizes", "[3]"], "sizes", "size, scale"),
    ):
        with pytest.raises(SystemExit) as stopped:
            run("--figure", label, *given, *more)
        err = capsys.readouterr().err
        assert stopped.value.code == 2 and err.count("\n") == 1
        assert err.startswith(f"error: {label} does not depend on '{other}'; it depends on {own}"), err
    assert not (mini_book / "runs").exists()


READER = "reader = 1\n"  # what a reader's own files would define in a notebook


def test_the_readers_own_settings_do_not_reach_a_chapter(mini_book, monkeypatch):
    """Startup files of Python and IPython, settings of matplotlib."""
    away = mini_book / "away"
    files = {"matplotlibrc": "text.usetex: True\nsavefig.dpi: 7\n", "start.py": READER}
    files |= {"profile_default/startup/00.py": READER}
    for name, text in files.items():
        (away / name).parent.mkdir(parents=True, exist_ok=True)
        (away / name).write_text(text)
    own = {"PYTHONSTARTUP": away / "start.py", "MATPLOTLIBRC": away / "matplotlibrc", "MPLBACKEND": "tkagg"}
    shown = 'print("reader" in globals(), plt.rcParams["savefig.dpi"], plt.get_backend())'
    append(mini_book, f"\n# %%\n{shown}\n")
    env = os.environ | {"IPYTHONDIR": str(away), "MPLCONFIGDIR": str(away)} | {k: str(v) for k, v in own.items()}
    assert subprocess.run(RUNNER, env=env, cwd=mini_book, check=False).returncode == 0
    assert output(mini_book / "build" / "laptop" / "99_mini.ipynb").endswith("False 110.0 agg\n")
    assert {path.name for path in away.iterdir()} <= {"matplotlibrc", "start.py", "profile_default"} | {
        path.name for path in away.glob("fontlist*")
    }


@pytest.mark.parametrize(("raised", "said"), [("ValueError", "ValueError"), ("ValueError('no')", "ValueError: no")])
def test_an_error_with_and_without_words(mini_book, capfd, raised, said):
    append(mini_book, f"# %%\nprint(1)\nraise {raised}\n")
    assert run() == 1
    where = "partial notebook: build/laptop/99_mini.failed.ipynb"
    assert capfd.readouterr().err == f"chapter 99 failed in cell 6: {said}; {where}\n"
    book = nbformat.read(mini_book / "build" / "laptop" / "99_mini.failed.ipynb", as_version=4)
    assert [out.output_type for out in book.cells[-1].outputs] == ["stream", "error"]


def test_a_cell_keeps_what_it_prints_and_then_what_it_shows(mini_book):
    append(
        mini_book,
        "# %%\nimport sys\nfrom IPython.display import Markdown, display\n"
        "print(1)\nprint(2)\ndisplay(Markdown('So.'))\nprint(3)\nprint(4, file=sys.stderr)\nsize\n",
    )
    assert run() == 0
    book = nbformat.read(mini_book / "build" / "laptop" / "99_mini.ipynb", as_version=4)
    nbformat.validate(book)
    outputs = book.cells[-1].outputs
    assert [(o.output_type, o.get("name"), o.get("text")) for o in outputs] == [
        ("stream", "stdout", "1\n2\n3\n"),
        ("stream", "stderr", "4\n"),
        ("display_data", None, None),
        ("display_data", None, None),
    ]
    assert outputs[2].data["text/markdown"] == "So." and outputs[3].data["text/plain"] == "3"


def test_outside_a_book_a_command_is_one_line(tmp_path, monkeypatch, capsys):
    def nowhere():
        raise InputError("no book here")

    monkeypatch.setattr(paths, "root", nowhere)
    with pytest.raises(SystemExit) as stopped:
        describe.main(["99"])
    assert stopped.value.code == 2 and capsys.readouterr().err == "error: no book here\n"


def test_a_chapter_that_raises_fails_and_keeps_the_last_good_one(good, capfd):
    source = good / "chapters" / "99_mini.py"
    source.write_text(source.read_text().replace(SLOW, "# %%\nraise ValueError('by design')\n"))
    assert run() == 1
    said = capfd.readouterr().err
    assert "ValueError: by design; partial notebook: build/laptop/99_mini.failed.ipynb" in said
    assert "by design" in (good / "build" / "laptop" / "99_mini.failed.ipynb").read_text()


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_the_last_good_one_and_no_process(good, sleeping, number):
    begun = children(sleeping)
    sleeping.send_signal(number)
    _, err = sleeping.communicate(timeout=90)
    until(lambda: gone(begun), 45)
    if number != signal.SIGKILL:
        said = [
            line for line in err.splitlines() if line.strip() and "cells" not in line
        ]  # but for the sweep's progress
        assert sleeping.returncode == 130 and said == ["stopped; whatever was finished is kept"], err
    source = good / "chapters" / "99_mini.py"
    source.write_text(source.read_text().replace(SLOW, "\n# %%\nraise ValueError\n"))
    assert run() == 1  # the next one clears what a killed one left
    assert len(list((good / "build" / "laptop").glob(".99-*"))) == 1


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_a_killed_chapter_is_one_line_and_leaves_the_last_good_run(good, sleeping):
    begun = children(sleeping)
    psutil.Process(sleeping.pid).children()[0].kill()
    _, err = sleeping.communicate(timeout=90)
    assert sleeping.returncode == 1 and "its process was killed" in err and "Traceback" not in err
    until(lambda: gone(begun), 45)


@pytest.mark.weekly
@pytest.mark.parametrize("limit", [200, 9000])
def test_a_full_disk_is_one_line_and_leaves_the_last_good_run(good, start, limit):
    """A file may not grow beyond ``limit`` bytes."""
    chapter = good / "chapters" / "99_mini.py"
    chapter.write_text(chapter.read_text().replace(SLOW, "\n# %%\nprint('to the end')\n"))  # where it is written
    process = start(*RUNNER, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    _, err = process.communicate(timeout=60)
    said = [line for line in err.splitlines() if line.startswith(("error:", "chapter 99 failed"))]
    assert process.returncode == 1 and len(said) == 1 and "File too large" in said[0], err


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_two_runs_of_one_chapter_wait_for_each_other(mini_book, start):
    both = [start(*RUNNER), start(*RUNNER)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("is being run into build/laptop by another process; waiting" in err for _, err in said) == 1


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_a_lock_is_waited_for_and_its_command_gets_the_signals(tmp_path, start):
    held, done = tmp_path / "lock", tmp_path / "done"
    command = [sys.executable, "-m", "companion.site.locks", str(held), "something is done", "touch", str(done)]
    with locks.alone(held, "nothing"):
        waiting = start(*command)
        assert waiting.stderr.readline() == "something is done by another process; waiting until it has ended\n"
        time.sleep(0.3)
        assert not done.exists()
    assert waiting.wait(30) == 0 and done.exists()
    sleeper = start(*command[:-2], "sleep", "60")
    until(lambda: psutil.Process(sleeper.pid).children())
    sleeper.terminate()
    assert sleeper.wait(20) == 128 + signal.SIGTERM


def test_a_swap_is_seen_whole_by_whoever_looks(tmp_path):
    """While versions follow each other, one who reads through the link never sees none, nor a part of one."""
    link, seen, stop = tmp_path / "link", set(), threading.Event()

    def make(number):
        folder = versions.fresh(link)
        for name in "ab":
            (folder / name).write_text(str(number))
        versions.swap(folder, link)

    def look():
        while not stop.is_set():
            handle = os.open(link, os.O_RDONLY)  # as one rename: the folder that the link names now
            names = {name: os.path.exists(f"/proc/self/fd/{handle}/{name}") for name in "ab"}
            gone = not os.path.exists(f"/proc/self/fd/{handle}")
            os.close(handle)
            seen.add(names["a"] == names["b"] or gone)

    make(0)
    reader = threading.Thread(target=look)
    reader.start()
    for number in range(1, 50):
        make(number)
    stop.set()
    reader.join()
    assert (link / "a").read_text() == (link / "b").read_text() == "49"
    assert len([p for p in tmp_path.iterdir() if p.is_dir() and not p.is_symlink()]) == 1


def test_pages_that_fail_leave_the_last_good_ones(mini_book, tmp_path):
    out = tmp_path / "html"
    good = versions.fresh(out)
    (good / "index.html").write_text("good")
    versions.swap(good, out)
    (mini_book / "_config.yml").write_text("title: [\n")
    with pytest.raises(pages.PagesError, match=r"\w"):  # says why
        pages.build(mini_book, out, tmp_path / ".sphinx")
    assert (out / "index.html").read_text() == "good" and len(list(tmp_path.glob(".html-*"))) == 1


@pytest.mark.weekly
@pytest.mark.skipif(not (ROOT / ".venv" / ".ready").exists(), reason="make has not made its environment here")
def test_make_in_a_path_with_a_space_twice_at_once(mini_book, tmp_path, start):
    """Both builds end well, the second says that it waits; a ledger that lacks makes its chapter run again."""
    tree = tmp_path / "a b"
    shutil.copytree(mini_book, tree, ignore=shutil.ignore_patterns("a b"))
    for name, text in DESK.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
        os.utime(tree / name, (0, 0))  # older than the environment
    # what the book's own claims say stands on pages that this one has not
    staged = "-c 'from companion.site.sources import stage; stage(\"$(PROFILE)\")'"
    makefile, written = (ROOT / "Makefile").read_text(), "-m companion.site.sources $(PROFILE)\n"
    assert written in makefile
    (tree / "Makefile").write_text(makefile.replace(written, staged + "\n"))
    (tree / ".venv").symlink_to(ROOT / ".venv")
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"NAME": "from the system"}

    def make(*args):
        return start("make", "PROFILE=smoke", *args, cwd=tree, env=env)

    both = [make("html"), make("html")]
    said = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sum("a book is being built here by another process; waiting" in err for _, err in said) == 1
    assert sum("chapter 99: build/smoke/99_mini.ipynb" in out for out, _ in said) == 1  # the second found it done
    assert all(out.endswith("the book: build/smoke/html/index.html\n") and "stage" not in out for out, _ in said)
    assert (tree / "build/smoke/html/chapters/99_mini.html").exists()
    (tree / "build/smoke/99.ledger.json").unlink()
    again = make("chapters")
    assert "chapter 99: build/smoke/99_mini.ipynb" in again.communicate(timeout=120)[0]
    assert (tree / "build/smoke/99.ledger.json").exists()
    bad = make("chapter-99", "NAME=a b")
    assert "name must be a folder's" in bad.communicate(timeout=60)[1] and bad.returncode == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-p", "szie", "3"], "unknown parameter 'szie'"),
        (["-p", "size", "[1]"], "size must be a whole number"),
        (["--profile", "tiny"], "profile must be one of"),
        (["-f", "none.toml"], "none.toml cannot be read"),
        (["-f", "binary.toml"], "binary.toml is not text in UTF-8"),
        (["-f", "wide.toml"], "wide.toml is not text in UTF-8"),
        (["-f", "chapters"], "chapters cannot be read"),
        (["-p", "99", "{1: 2}"], "99 must be a table of parameters by name, got the name 1"),
        (["-p", "99", "{(): 2}"], "99 must be a table of parameters by name, got the name ()"),
        (["-p", "scale", "-1e-3"], "scale must be a number from 0 to 10, got -0.001"),
        (["-p", "scale", "-inf"], "scale must be a number from 0 to 10, got '-inf'"),
        (["--figure", ""], "figure must be one of fig-mini, 99_mini; got ''"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        *[
            (["--name", name], "name must be a folder's")
            for name in ("../../evil", "/tmp/evil", "a b", "", ".", "..", ".99", "a/b", "a\nb", "é", "a" * 101)
        ],
    ],
)
def test_bad_input_is_one_line_and_code_2_before_any_computing(mini_book, capsys, args, said):
    (mini_book / "binary.toml").write_bytes(b"size = \xff\xfe\x00")
    (mini_book / "wide.toml").write_text("size = 3\n", encoding="utf-16")
    with pytest.raises(SystemExit) as stopped:
        run(*args)
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and said in err and err.count("\n") == 1
    assert not (mini_book / "build").exists() and not (mini_book / "runs").exists()


def test_a_tree_that_cannot_be_written_is_one_line(mini_book, capsys):
    (mini_book / "build").write_text("no folder")
    with pytest.raises(SystemExit) as stopped:
        run()
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and err.startswith("error: ") and err.count("\n") == 1


def test_a_chapter_without_a_header_is_one_line(mini_book, capfd):
    source = mini_book / "chapters" / "99_mini.py"
    source.write_text(source.read_text().partition("# ---\n# %%")[2].replace(" [markdown]", "# %% [markdown]", 1))
    assert run() == 2
    err = capfd.readouterr().err
    assert "has no jupytext header" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--jobs", "0"), "jobs must be a whole number of at least 1, got 0"),
        (("--jobs", "-5"), "jobs must be a whole number of at least 1, got -5"),
        (("--csv", "nowhere/table.csv"), "csv must name a file in a folder that can be written"),
        (("--csv", "."), "csv must name a file in a folder that can be written"),
    ],
)
def test_a_study_computes_nothing_where_its_table_cannot_go(tmp_path, monkeypatch, capsys, args, said):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    with pytest.raises(SystemExit) as stopped:
        studies_main(["run", "depth.normalised_kernel", "--profile", "smoke", *args])
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and said in err and err.count("\n") == 1
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("command", ["companion.studies list", "companion.describe 05"])
def test_a_pipe_that_is_closed_early_is_no_error(start, command):
    listed = start(sys.executable, "-m", *command.split(), cwd=ROOT)
    listed.stdout.close()  # as head does once it has what it wants
    assert listed.stderr.read() == "" and listed.wait() == 0


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_workers_end_with_a_killed_sweep(tmp_path, start):
    script = tmp_path / "slow.py"
    script.write_text(
        "import time\nfrom companion.lab.record import Count, Setting, record\n"
        "from companion.lab.sweep import study, sweep\n"
        "@record\nclass Slow(Setting):\n    n: Count\n"
        "@study(version=1)\n"
        "def slow(setting: Slow, seeds):\n    'Slow.'\n    time.sleep(60 if seeds[0] else 3)\n"
        "    return [{'seed': seeds[0]}]\n"
        "if __name__ == '__main__':\n    sweep(slow, slow.grid.of(n=1, seeds=9), jobs=2)\n"
    )
    process = start(sys.executable, script, env=os.environ | {"REGIMES_STORE": str(tmp_path / "cells")})
    until(lambda: len(psutil.Process(process.pid).children(recursive=True)) >= 3)
    time.sleep(5)  # workers import torch before they take a cell
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    until(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in workers), 20)


def test_stage_refuses_pages_of_another_profile(ran_book):
    shutil.copytree(ran_book / "build" / "laptop", ran_book / "build" / "smoke", symlinks=True)
    with pytest.raises(InputError, match="run at the laptop profile, not smoke"):
        sources.stage("smoke")
    shutil.rmtree(ran_book / "build" / "laptop")
    with pytest.raises(InputError, match="has not been run at the laptop profile"):
        sources.stage("laptop")


def test_help_loads_the_studies_of_its_chapter_alone():
    """Those of all chapters take seconds."""
    loaded = "sorted({name.split('.')[2] for name in sys.modules if '.studies' in name and '.papers.' in name})"
    code = f"import sys; from companion.describe import main; main(['03']); print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "map_scales" in done.stdout and done.stdout.splitlines()[-1] == "['jamming']", done.stderr


def test_describe_lists_parameters_and_check_counts_cells(mini_book, capsys):
    assert describe.main(["99"]) == 0
    assert re.search(r"scale +0\.5 +their scale\n +a number from 0 to 10", capsys.readouterr().out)
    assert run("--check", "-p", "size", "4") == 0
    assert (
        "0 cells of 0 studies, 0 found in results/, 0 in the cell store, 0 to compute; nothing"
        in capsys.readouterr().out
    )
    assert not (mini_book / "build").exists()


@pytest.mark.parametrize(
    ("edit", "size"), [(("profile", '"smoke"'), 2), (("profile", '"laptop"'), 3), (("size", "5"), 5)]
)
def test_a_chapter_opened_by_hand_obeys_its_parameters_cell(mini_book, monkeypatch, edit, size):
    """The cells in order, as Jupyter runs them: the profile's values hold where no line was edited."""
    monkeypatch.delenv("REGIMES_RUN", raising=False)
    source = mini_book / "chapters" / "99_mini.py"
    cells = {"tagged": None, "namespace": {}}
    notebook = runner.notebook(source)
    cells["tagged"] = next(cell.source for cell in notebook.cells if "parameters" in cell.metadata.tags)
    lines = [
        f"{edit[0]} = {edit[1]}" if line.startswith(f"{edit[0]} =") else line for line in cells["tagged"].splitlines()
    ]
    assert len([line for line in lines if "=" in line]) == len(parameters.declared("99"))
    exec("\n".join(lines), namespace := cells["namespace"])
    chapter = Chapter("99", namespace)
    assert namespace["size"] == chapter.parameters["size"] == size and source.exists()
    assert chapter.profile == chapter.parameters["profile"] == namespace["profile"]
    assert chapter.folder == paths.run_folder("interactive") and not ledger.read(chapter.folder / "99.ledger.json")


def test_a_profile_that_is_none_is_refused_by_hand(mini_book, monkeypatch):
    monkeypatch.delenv("REGIMES_RUN", raising=False)
    values = {name: p.value for name, p in parameters.declared("99").items()}
    with pytest.raises(InputError, match="profile must be one of smoke, laptop, paper"):
        Chapter("99", values | {"profile": "tiny"})


@pytest.mark.parametrize(
    ("error", "code", "said"), [(InputError("no"), 2, "error: no\n"), (KeyboardInterrupt(), 130, "")]
)
def test_a_chapter_in_a_process_of_its_own_fails_in_one_line_or_in_none(
    tmp_path, monkeypatch, capsys, error, code, said
):
    def fails(*given):
        raise error

    for owner, name in ((runner.signal, "signal"), (runner, "die_with")):
        monkeypatch.setattr(owner, name, lambda *given: None)
    monkeypatch.setattr(runner, "_run", fails)
    with pytest.raises(SystemExit) as ended:
        runner._in_child("99", {}, tmp_path, None)
    assert ended.value.code == code and capsys.readouterr().err == said
