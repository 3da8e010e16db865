"""Every command that the pages tell a reader to type is run, from where the reader stands: the folder of a checkout.

Dear ones run at small sizes or stop before computing, as ``CHEAPER`` says; ``NOT_RUN`` gives the reason for the rest.
Whoever documents a command that is in neither table has it run as it stands.
"""

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import textwrap
import time
import urllib.request

import pytest
import torch

from companion import runner
from companion.book import ledger
from companion.lab import parameters
from regimes.data import datasets
from tests.references import ROOT, YOURS, printed

pytestmark = pytest.mark.filterwarnings("ignore")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PAGES = ("README.md", "CONTRIBUTING.md", "book/rerun.md")
# an inline command begins so; other code on the pages names files, values or functions
COMMANDS = r"(?:make|bash|python|source|jupyter|\.venv/bin/\w+|sudo)"
STUDY = "run depth.normalised_kernel --profile smoke --budget 20s"
# part of a command -> what takes its place
CHEAPER = {
    "run depth.normalised_kernel --profile paper --budget 9m": STUDY,
    "run depth.mnist_regression -p tab2_n 200": "run depth.mnist_regression --profile smoke -p tab2_n 60",
    "verify NAME --sample 5%": "verify spiked.white_images --sample 1%",
    "verify NAME": "verify spiked.white_images --sample 1%",
    "claim ID": "claim A.Fig2-feature",
    "run NAME": "run depth.normalised_kernel",
    "cp -r build/cells/void/*/NAME": "mkdir -p build/cells/void/old/NAME && cp -r build/cells/void/*/NAME",
    "-f mine.toml --name mine": "-f mine.toml --name mine --check",
    "0.6, 0.8]\"'": "0.6, 0.8]\" --check'",
    "[2, 10, 50]\"'": "[2, 10, 50]\" --check'",
    "~/data": "data",
    "measure_pages laptop": "measure_pages smoke",
    "NAME=full PARAMS='-p tab2_test 10000'": "NAME=full PARAMS='-p tab2_test 90 --check'",
}
# command -> why make only says what it would do, or why nothing is run
DRY = {
    "make book": "builds the book: the tests are run on one",
    "make book TORCH_INDEX=URL": "builds the book, and fetches another torch",
    "make test": "runs this test",
    "make test-all": "runs this test",
    "make book PROFILE=smoke": "builds the book: the tests are run on one",
    "make publish-ledger": "rewrites the kept ledger",
    "make publish-ledger PROFILE=paper": "rewrites what is kept at the paper's size",
    "make references": "rewrites the references",
}
NOT_RUN = {
    "python -m companion.studies store-results NAME": "computes for hours; test_kept.py runs a small one",
    "python -m companion.studies store-results": "computes for hours; the same test",
    "python -m companion register --run --budget 2h": "computes for hours; test_registration.py runs a small one",
    "python -m companion register --judge": "replaces the ledger; the same test",
    "python -m companion.studies verify": "takes many minutes; the weekly workflow runs it",
    "bash .ci/run": "runs this test",
    "make help": "listed by another test below",
    "python -m pip wheel --no-deps ./lib": "fetches setuptools; tests/test_install.py builds the wheel",
    "make data": "fetches 220 MB; tests/data/test_fetch.py has it fetch small files",
    "make lab": "serves until it is stopped; its notebooks are opened by another test below",
    "sudo apt-get install dataset-fashion-mnist": "Debian's own; .ci/run test-all installs it",
}


def fenced(text, language):
    """The blocks of one language, without their indent."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, re.M | re.S)
    return [textwrap.dedent(block) for _, block in found]


def commands(text):
    """What a page tells to type: the lines of its shell blocks, and commands within sentences."""
    lines = [line for block in fenced(text, "sh") for line in block.splitlines()]
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    typed = lines + re.findall(rf"`({COMMANDS} [^`]*)`", prose)
    return [re.sub(r"\s{2,}#.*$", "", line).strip() for line in typed]


def page_commands():
    """Each command once, with the first page that has it."""
    found = [(command, page) for page in PAGES for command in commands((ROOT / page).read_text(encoding="utf-8"))]
    return [(page, command) for command, page in dict(reversed(found)).items()][::-1]


def tries():
    """The changes that a chapter's last list proposes: its number, and what ``PARAMS`` holds."""
    for number, source in ((n, page) for n in parameters.chapters() for page in parameters.page_sources(n)):
        listed = source.read_text(encoding="utf-8").partition("## Try it yourself")[2]
        for code in re.findall(r"`([^`\n]*)`", listed):
            if code.startswith("make"):
                words = dict(word.partition("=")[::2] for word in shlex.split(code))
                assert f"chapter-{number}" in words and set(words) <= {"make", f"chapter-{number}", "NAME", "PARAMS"}, (
                    code
                )
                code = words["PARAMS"]
            if code.startswith(("-p", "-f")):
                yield number, code
            else:
                assert not re.match(COMMANDS, code), f"chapter {number} lists a command of an unknown kind: {code}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout of its own: what is built and written stays in it; the environment is the one that runs the tests."""
    if not (ROOT / ".venv" / ".ready").exists():
        pytest.skip("make has not made its environment here")
    folder = tmp_path_factory.mktemp("checkout")
    for path in ROOT.iterdir():
        if path.name not in ("build", "runs", "results", ".git"):
            (folder / path.name).symlink_to(path)
    shutil.copytree(ROOT / "results", folder / "results")
    (folder / "data").mkdir()
    (folder / "mine.toml").write_text(fenced((ROOT / "book" / "rerun.md").read_text(encoding="utf-8"), "toml")[0])
    return folder


def typed(command, checkout):
    """Runs a line as a reader's shell does."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "REGIMES"))}
    env["PYTHONPATH"] = str(ROOT / "lib")  # the code beside these tests, wherever the environment's own lies
    return subprocess.run(["bash", "-c", command], cwd=checkout, env=env, capture_output=True, text=True)


@pytest.mark.weekly
@pytest.mark.parametrize(("page", "command"), [pair for pair in page_commands() if pair[1] not in NOT_RUN])
def test_a_documented_command_works_where_a_reader_stands(request, checkout, page, command):
    text = (ROOT / page).read_text(encoding="utf-8")
    for part, cheaper in CHEAPER.items():
        command = command.replace(part, cheaper)
    if "measure_pages" in command:
        request.getfixturevalue("smoke_pages")  # of a built book
    if command in DRY:
        command = command.replace("make", "make -n", 1)
    if command.startswith("python"):
        assert "source .venv/bin/activate" in text, f"{page} does not say where this python comes from"
        command = f"source .venv/bin/activate && {command}"
    done = typed(command, checkout)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_each_exception_is_still_documented():
    found = {command for _, command in page_commands()}
    assert found >= set(DRY) | set(NOT_RUN) - {"make help"}
    assert all(any(part in command for command in found) for part in CHEAPER if "NAME --" in part or "~" in part)


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize(("number", "text"), tries())
def test_each_change_that_a_chapter_proposes_is_accepted(number, text, capsys):
    """At the smoke profile and the laptop's: every grid is built, nothing is computed."""
    args = shlex.split(text)
    missing = needs(args)
    if missing:
        pytest.skip(missing)
    for profile in ("smoke", "laptop"):
        assert runner.main([number, "--profile", profile, *args, "--check"]) == 0
    assert "nothing was computed" in capsys.readouterr().out


def needs(args):
    """The data that a change asks for and this machine lacks; empty where it lacks none."""
    if "wiki_text8style" in args and not os.environ.get("REGIMES_DATA"):
        return "wiki_text8style is in no package"
    if "fashion_mnist" in args and not (os.environ.get("REGIMES_DATA") or datasets.DEBIAN_FASHION.exists()):
        return "Debian's dataset-fashion-mnist is not installed"
    return ""


def test_help_lists_every_target_that_is_documented(checkout):
    listed = typed("make help", checkout).stdout
    targets = {re.match(r"make ([\w-]+)", command)[1] for _, command in page_commands() if command.startswith("make")}
    assert all(f"make {target}" in listed for target in targets), (targets, listed)


RUN = """set -- {target}
make() {{ echo "make $*"; }}
bash() {{ echo "bash $*"; }}
command() {{ [ "$2" = apt-get ]; }}
test() {{ false; }}
apt-get() {{ echo "apt-get $*" >&2; }}
"""


@pytest.mark.parametrize(("target", "data"), [("test", False), ("test-all", True)])
def test_what_ci_installs_and_runs(target, data):
    """Each day on a bare machine, every week with Debian's packages of data: its commands are named, and not run."""
    script = (ROOT / ".ci" / "run").read_text().replace('cd "$(dirname', 'true "$(dirname')
    done = subprocess.run(
        ["bash", "-c", RUN.format(target=target) + script], capture_output=True, text=True, check=True
    )
    assert ("dataset-fashion-mnist" in done.stderr) == data and "chromium" in done.stderr
    assert done.stdout.split("\n")[-2] == ("make test-all" if data else "bash .ci/bare make test")


def test_a_bare_command_finds_no_data_and_no_settings(tmp_path):
    """Where this machine lets nobody mount, the environment alone is cleared, and it says so."""
    (tmp_path / "mnist.npz").touch()
    names = ("REGIMES_DATA", "REGIMES_STORE", "PYTHONPATH", "XDG_CACHE_HOME")
    env = os.environ | {name: str(tmp_path) for name in names} | {"HOME": str(tmp_path)}
    asked = (
        "; ".join(f"echo ${{{name}-unset}}" for name in names) + f"; ls -A {tmp_path}; [ $HOME != {tmp_path} ]; exit 3"
    )
    done = subprocess.run(
        ["bash", str(ROOT / ".ci" / "bare"), "bash", "-c", asked], env=env, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stdout.splitlines() == 4 * ["unset"] + ["mnist.npz"] * ("nothing can be mounted" in done.stderr)
    assert (tmp_path / "mnist.npz").exists()


def test_one_place_says_how_long_the_book_takes():
    """``README.md``; the page on running again includes it."""
    pages = [*ROOT.glob("book/*.md"), ROOT / "lib/companion/site/templates/run.html", ROOT / "README.md"]
    timed = re.compile(r"\d+ min|\bten min|\d CPU min")
    found = {page.name for page in pages if timed.search(page.read_text(encoding="utf-8"))}
    assert found == {"README.md"}
    assert "<!-- time -->" in (ROOT / "book" / "rerun.md").read_text(encoding="utf-8")


@pytest.mark.weekly
def test_the_python_on_the_page_runs(checkout):
    blocks = fenced((ROOT / "book" / "rerun.md").read_text(encoding="utf-8"), "python")
    for number, block in enumerate(blocks):
        (checkout / f"block{number}.py").write_text(block)
        done = typed(f".venv/bin/python block{number}.py", checkout)
        assert done.returncode == 0, f"{block}\n{done.stderr}"
    assert blocks


@pytest.mark.weekly
def test_jupyter_opens_a_chapter_as_a_notebook(checkout, tmp_path):
    """What ``make lab`` serves: a chapter's source as cells, with the kernel that it names."""
    env = os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    env["JUPYTER_CONFIG_PATH"] = str(checkout / ".jupyter")  # as make lab says
    lab = [".venv/bin/jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.port=0", "--ServerApp.ip=127.0.0.1"]
    with (tmp_path / "said").open("w") as said, subprocess.Popen(lab, cwd=checkout, env=env, stderr=said) as server:
        try:
            end = time.monotonic() + 90
            while not (files := list(tmp_path.glob("jpserver-*.json"))):
                assert time.monotonic() < end and server.poll() is None, (tmp_path / "said").read_text()
                time.sleep(0.3)
            time.sleep(1)  # the file is there before it is whole, and before the server listens
            about = json.loads(files[0].read_text())
            own, allowed = "@jupyterlab/docmanager-extension:plugin", {"Authorization": f"token {about['token']}"}

            def ask(path):
                request = urllib.request.Request(about["url"] + path, headers=allowed)
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)

            notebook = ask("api/contents/chapters/05_depth_convergence.py?type=notebook")["content"]
            viewers = ask(f"lab/api/settings/{own}")["schema"]["properties"]["defaultViewers"]
        finally:
            server.terminate()
    assert viewers["default"]["python"] == "Jupytext Notebook", "one click opens a chapter"
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert sum("parameters" in cell["metadata"].get("tags", []) for cell in notebook["cells"]) == 1


@pytest.mark.weekly
def test_the_chapter_of_the_contributors_page_runs(mini_book):
    """A chapter exactly as the page gives it, with its claim and its profile: it runs, and its verdict stands."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,), (designs,) = (fenced(text, language) for language in ("python", "toml"))
    (mini_book / "chapters" / "08_averages.py").write_text(source)
    (mini_book / "chapters" / "designs" / "08.toml").write_text(designs)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert runner.main(["08", "--profile", "smoke"]) == 0, said.getvalue()
    (record,) = ledger.read(mini_book / "build" / "smoke" / "08.ledger.json")
    assert record["verdict"] == "reproduced" and record["profile"] == "smoke" and record["n"] == 20


def printed_here(program):
    """As ``printed``, but in the process of the tests, which has loaded torch."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.chdir(ROOT), torch.random.fork_rng():
        runpy.run_path(str(program), run_name="__main__")
    return said.getvalue()


@pytest.mark.parametrize("run", [printed_here, pytest.param(printed, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("program", YOURS, ids=lambda path: path.stem)
def test_a_program_for_the_readers_own_model_prints_what_the_page_shows(program, run):
    """Its words, and its numbers within 5 % and the last digit: processors round differently."""
    page = (ROOT / "book" / "yours.md").read_text(encoding="utf-8")
    assert f"yours/{program.stem}.py" in page and f"yours/{program.stem}.txt" in page
    assert len([line for line in program.read_text(encoding="utf-8").splitlines() if line.strip()]) <= 30
    shown, now = program.with_suffix(".txt").read_text(encoding="utf-8"), run(program)
    assert NUMBER.sub("#", shown) == NUMBER.sub("#", now)
    for old, new in zip(NUMBER.findall(shown), NUMBER.findall(now), strict=True):
        assert abs(float(old) - float(new)) <= 0.05 * abs(float(old)) + 10.0 ** -len(old.partition(".")[2])
