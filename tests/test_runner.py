"""Running a chapter: profiles and overrides reach it, a failure keeps the last good notebook, bad input is one line."""

import json
import re

import nbformat
import pytest

from regimes import book, runner

pytestmark = pytest.mark.filterwarnings("ignore")


def run(*args):
    return runner.main(["99", *args])


def output(path):
    cells = nbformat.read(path, as_version=4).cells
    return "".join(o.get("text", "") for c in cells for o in c.get("outputs", []))


def test_a_run_writes_notebook_and_ledger_and_a_page(mini_book):
    assert run() == 0
    done = mini_book / "build" / "laptop" / "99_mini.ipynb"
    (record,) = json.loads((done.parent / "99.ledger.json").read_text())
    assert record["verdict"] == "reproduced" and record["value"] == 3 and record["profile"] == "laptop"
    assert not list(done.parent.glob("*.raw.ipynb")) + list(done.parent.glob("*.failed.ipynb"))
    first = done.read_bytes()
    (page,) = book.stage("laptop")
    figure = [c.metadata.mystnb for c in nbformat.read(page, as_version=4).cells if "mystnb" in c.metadata]
    assert len(figure) == 1 and figure[0]["figure"]["name"] == "fig-mini"
    assert figure[0]["figure"]["caption"] == "A line. It rises. Data: counted. Settings: 1 seed. Profile: laptop."
    assert run() == 0
    strip = lambda raw: re.sub(rb'"(start_time|end_time|duration|execution_count)": [^\n]*', b"", raw)  # noqa: E731
    assert strip(done.read_bytes()).count(b'"image/png"') == strip(first).count(b'"image/png"') == 1


def test_changed_parameters_go_to_a_run_of_their_own(mini_book):
    (mini_book / "mine.toml").write_text("scale = 3\n")
    assert run("-f", "mine.toml", "-p", "size", "5", "--name", "mine") == 0
    assert output(mini_book / "runs" / "mine" / "99_mini.ipynb") == "scale = 3.0\n"
    assert not (mini_book / "build").exists()


def test_a_chapter_that_raises_fails_and_keeps_the_last_good_one(mini_book, capsys):
    assert run() == 0
    done = mini_book / "build" / "laptop" / "99_mini.ipynb"
    good, verdicts = done.read_bytes(), (done.parent / "99.ledger.json").read_bytes()
    source = mini_book / "chapters" / "99_mini.py"
    source.write_text(source.read_text() + "# %%\nraise ValueError('by design')\n")
    assert run() == 1
    assert "ValueError: by design" in capsys.readouterr().err
    assert done.read_bytes() == good and (done.parent / "99.ledger.json").read_bytes() == verdicts
    assert "by design" in (done.parent / "99_mini.failed.ipynb").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-p", "szie", "3"], "unknown parameter 'szie'"),
        (["-p", "size", "[1]"], "size must be a whole number"),
        (["--profile", "tiny"], "profile must be one of"),
        (["-f", "none.toml"], "none.toml cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_code_2_before_any_computing(mini_book, capsys, args, said):
    with pytest.raises(SystemExit) as stopped:
        run(*args)
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and said in err and err.count("\n") == 1
    assert not (mini_book / "build").exists() and not (mini_book / "runs").exists()


def test_stage_refuses_pages_of_another_profile(mini_book):
    from regimes.check import InputError

    assert run() == 0
    (mini_book / "build" / "smoke").mkdir()
    (mini_book / "build" / "laptop" / "99_mini.ipynb").rename(mini_book / "build" / "smoke" / "99_mini.ipynb")
    with pytest.raises(InputError, match="run at the laptop profile, not smoke"):
        book.stage("smoke")
    with pytest.raises(InputError, match="has not been run at the laptop profile"):
        book.stage("laptop")


def test_describe_lists_parameters(mini_book, capsys):
    assert run("--describe") == 0
    assert re.search(r"scale +0\.5 +their scale\n +a number from 0 to 10", capsys.readouterr().out)
