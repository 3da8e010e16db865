"""Runs chapters: ``python -m regimes.runner 05 --profile smoke -p curve_depth 2000 -f mine.toml --name mine``.

jupytext turns the source into a notebook, papermill executes it. The result goes to ``build/<profile>/NN_name.ipynb``
with its ledger, or to ``runs/<name>/`` where parameters were changed. A failed run leaves the last good notebook alone
and keeps its own as ``*.failed.ipynb``.
"""

import argparse
import contextlib
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill

from regimes import parameters, paths
from regimes import studies as registry
from regimes.cli import add_parameter_options, one_line_errors, overrides

CELL_SECONDS = 3600  # a cell that takes longer hangs: papermill would wait for ever


def notebook(number: str) -> nbformat.NotebookNode:
    """A chapter as a notebook; cell ids depend on the source alone."""
    book = jupytext.read(parameters.source(number))
    for index, cell in enumerate(book.cells):
        cell["id"] = f"chapter-{number}-{index:03d}"
        cell.metadata.setdefault("tags", [])  # papermill looks for it in every cell
    return book


def changed(number: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a run must inject: its profile, and the values that differ from those the chapter shows."""
    shown = {name: parameter.value for name, parameter in parameters.declared(number).items()}
    return {name: value for name, value in values.items() if name == "profile" or value != shown[name]}


def execute(number: str, values: Mapping[str, Any], folder: Path) -> Path:
    """Executes a chapter into ``folder`` and returns the notebook's path.

    Raises:
        PapermillExecutionError: if a cell raises; the partial notebook is then ``*.failed.ipynb``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = parameters.source(number).stem
    raw, partial, done = (folder / f"{stem}{end}.ipynb" for end in (".raw", ".failed", ""))
    ledger_file = folder / f"{number}.ledger.json"
    last_good = ledger_file.read_bytes() if ledger_file.exists() else None
    nbformat.write(notebook(number), raw)
    injected = changed(number, values)
    ledger_file.unlink(missing_ok=True)
    try:
        with _progress(folder / f"{stem}.log") as log, _environment(REGIMES_RUN=str(folder), REGIMES_LOG=str(log)):
            papermill.execute_notebook(
                str(raw), str(partial), injected, cwd=str(paths.root()), execution_timeout=CELL_SECONDS,
                progress_bar=sys.stderr.isatty(), log_output=False,
            )  # fmt: skip
    except BaseException:
        if last_good is not None:
            ledger_file.write_bytes(last_good)
        raise
    finally:
        raw.unlink(missing_ok=True)
    _mark_injected(partial, hidden=len(injected) == 1)
    os.replace(partial, done)
    return done


def _mark_injected(path: Path, *, hidden: bool) -> None:
    """Gives the injected cell a fixed id; hides it on the page where it repeats what the chapter shows."""
    book = nbformat.read(path, as_version=4)
    cell = next(cell for cell in book.cells if "injected-parameters" in cell.metadata.tags)
    cell["id"] = "injected-parameters"
    if hidden:
        cell.metadata.tags.append("remove-cell")
    nbformat.write(book, path)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    old = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@contextlib.contextmanager
def _progress(log: Path) -> Iterator[Path]:
    """Shows what the sweeps inside the notebook say, as they say it."""
    log.write_text("")
    stop = threading.Event()

    def follow() -> None:
        with log.open(encoding="utf-8") as lines:
            while True:
                ended = stop.wait(1.0)
                for line in lines:
                    print(f"  {line}", end="", file=sys.stderr, flush=True)
                if ended:
                    return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield log
    finally:
        stop.set()
        thread.join()


def describe(number: str) -> str:
    """The parameters of a chapter: name, laptop value, what is allowed, meaning."""
    known = [p for p in parameters.declared(number).values() if p.name != "profile"]
    lines = [f"{p.name:20} {p.value!r}  {p.meaning}\n{'':20} {p.kind.allowed()}" for p in known]
    return "\n".join([f"Chapter {number}: parameters, laptop values, meaning; what is allowed", *lines])


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m regimes.runner", description=__doc__)
    parser.add_argument("chapter", help="the chapter's number: " + " ".join(parameters.chapters()))
    add_parameter_options(parser)
    parser.add_argument("--name", help="write to runs/NAME (default where parameters are changed: custom)")
    parser.add_argument("--describe", action="store_true", help="list the chapter's parameters and stop")
    args = parser.parse_args(argv)
    with one_line_errors():
        if args.describe:
            print(describe(args.chapter))
            return 0
        given = overrides(args)
        values = registry.resolve(args.chapter, args.profile, *given)
    name = args.name or ("custom" if any(given) else None)
    folder = paths.run(name) if name else paths.build(args.profile)
    warnings.filterwarnings("ignore", category=UserWarning, module="papermill")
    # it takes a kind for a type and then calls the parameter unknown
    logging.getLogger("papermill").addFilter(lambda record: "unknown parameter" not in record.getMessage())
    start = time.perf_counter()
    try:
        done = execute(args.chapter, values, folder)
    except papermill.PapermillExecutionError as error:
        last = error.traceback[-1] if error.traceback else ""
        print(
            f"chapter {args.chapter} failed in cell {error.cell_index}: {error.ename}: {error.evalue}", file=sys.stderr
        )
        print(
            f"{last}\npartial notebook: {folder}/{parameters.source(args.chapter).stem}.failed.ipynb", file=sys.stderr
        )
        return 1
    print(f"chapter {args.chapter}: {done.relative_to(paths.root())} in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
