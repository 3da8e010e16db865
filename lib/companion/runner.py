"""Runs chapters: ``python -m companion.runner 05 --profile smoke -p curve_depth 2000 -f mine.toml --name mine``.

First the cells of all studies are computed as one queue. Then jupytext turns each source into a notebook, and papermill
executes two at a time, each in a copy of this process: they read the stored cells and draw. Notebook and ledger go to
``build/<profile>/``, or, if parameters were changed, to ``runs/<name>/`` with a page. They replace the last good ones
by one rename. A run that fails or is killed changes neither, and leaves its notebook as ``*.failed.ipynb``.
"""

import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import jupytext
import matplotlib
import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_output
from traitlets.config import Config

from companion import paths
from companion.book import captions, changes, figures, ledger, views
from companion.lab import catalogue, parameters, progress, schedule, sweep
from companion.lab.cli import Parser, add_parameter_options, one_line_errors, overrides
from companion.lab.store import Store
from companion.lab.sweep import Study
from companion.lab.workers import die_with, forking, forks
from companion.site import locks, pages, versions
from regimes import validate
from regimes.validate import InputError

with warnings.catch_warnings():  # papermill's own, on import
    warnings.simplefilter("ignore")
    import papermill
    from papermill.engines import Engine, NotebookExecutionManager, papermill_engines

AT_ONCE = 2  # chapters drawn at a time: while one writes, the other uses the core
SHOWN = 3  # figures that a message names
PATIENCE = 10  # seconds that a chapter which is to stop may take to clear up


def notebook(page: Path) -> nbformat.NotebookNode:
    """A page of a chapter as a notebook; cell ids depend on the source alone."""
    book = jupytext.read(page)
    if "kernelspec" not in book.metadata:
        raise InputError(f"{page.name} has no jupytext header with a kernelspec: copy the top of another page")
    captions.of_cells(book.cells)
    for index, cell in enumerate(book.cells):
        cell["id"] = f"{page.stem.replace('_', '-')}-{index:03d}"
        cell.metadata.setdefault("tags", [])  # papermill looks for it in every cell
    return book


def changed(number: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a run must inject: its profile, the values that differ from those the chapter shows, changed ``designs``."""
    page_values = {name: parameter.value for name, parameter in parameters.declared(number).items()}
    profile_values = parameters.resolve(number, values["profile"])
    designs = {name: value for name, value in values.items() if "." in name and profile_values.get(name) != value}
    injected = {name: values[name] for name in page_values if name == "profile" or values[name] != page_values[name]}
    return injected | ({"designs": designs} if designs else {})


def _shell() -> InteractiveShell:
    """A shell that has none of another page's names."""
    InteractiveShell.clear_instance()
    return InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))


def _fill(shell: InteractiveShell, cell: nbformat.NotebookNode) -> bool:
    """Runs a cell and keeps what it prints, then what it shows; whether it did not raise."""
    with shell.display_trap, capture_output() as captured:
        result = shell.run_cell(cell.source, store_history=True)
    cell.execution_count = result.execution_count
    printed = {"stdout": captured.stdout, "stderr": captured.stderr}
    cell.outputs = [new_output("stream", name=name, text=text) for name, text in printed.items() if text]
    cell.outputs += [new_output("display_data", it.data, metadata=it.metadata or {}) for it in captured.outputs]
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:  # its traceback is printed
        cell.outputs.append(new_output("error", ename=type(error).__name__, evalue=str(error), traceback=[]))
    return error is None


class _Engine(Engine):
    """papermill's engine that runs the cells in this process, not in a kernel, which would import all of it again."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, *, repeats: bool, as_png: Collection[str], **_: Any
    ) -> None:
        # the injected cell has one id in all runs, and is hidden where it repeats what the chapter shows
        injected = next(cell for cell in nb_man.nb.cells if "injected-parameters" in cell.metadata.tags)
        injected["id"] = "injected-parameters"
        injected.metadata.tags += ["remove-cell"] * repeats
        shell = _shell()
        shell.user_ns["figures_as_png"] = as_png
        # papermill would write megabytes of pictures twice a cell: it does so once, when it is done or has failed
        path, nb_man.output_path = nb_man.output_path, None
        try:
            for index, cell in enumerate(nb_man.nb.cells):
                if cell.cell_type == "code":
                    nb_man.cell_start(cell, index)
                    if not _fill(shell, cell):
                        nb_man.cell_exception(cell, index)
                        return
                    nb_man.cell_complete(cell, index)
        finally:
            nb_man.output_path = path


papermill_engines.register("regimes", _Engine)


def execute(number: str, values: Mapping[str, Any], folder: Path, figure: str | None = None) -> list[Path]:
    """Executes a chapter, or what one ``figure`` of it needs, or a page, into ``folder``; returns its notebooks' paths.

    ``NN_page.ipynb`` and ``NN.ledger.json`` are links, through the link ``.NN``, to the folder of the last good run.
    Two runs of one chapter into one folder wait for each other. A failed run leaves the partial notebook as
    ``*.failed.ipynb``.
    """
    last_good = folder / f".{number}"
    sources = parameters.page_sources(number)
    pages = [page for page in sources if figure in (None, page.stem)] or [figures.figures(number)[figure].page]
    names = [*(f"{page.stem}.ipynb" for page in pages), f"{number}.ledger.json"]
    with locks.alone(folder / f".{number}.lock", f"chapter {number} is being run into {_shown(folder)}"):
        started = time.time()
        fresh = versions.fresh(last_good)
        ledger.write(fresh / names[-1], [])
        for page in pages:
            try:
                _papermill(page, values, fresh, figure)
            except BaseException:
                with contextlib.suppress(OSError):  # a full disk is told of, not this
                    if (fresh / f"{page.stem}.ipynb").exists():
                        os.replace(fresh / f"{page.stem}.ipynb", folder / f"{page.stem}.failed.ipynb")
                    shutil.rmtree(fresh, ignore_errors=True)
                raise
        for name in names:  # as old as what was read: a source that was edited meanwhile is newer
            os.utime(fresh / name, (started, started))
        versions.swap(fresh, last_good)
        for name in names:
            versions.point(folder / name, Path(last_good.name) / name)
        for old in folder.glob(f"{number}_*.ipynb"):  # of pages that are no more, and of a run that failed
            if not old.exists() or old.name.endswith(".failed.ipynb"):
                old.unlink()
    return [folder / name for name in names[:-1]]


def _papermill(page: Path, values: Mapping[str, Any], folder: Path, figure: str | None = None) -> None:
    """Runs the cells of a chapter's page into ``folder``, whose ledger takes what they judge."""
    raw, done = folder / "raw.ipynb", folder / f"{page.stem}.ipynb"
    book, injected = notebook(page), changed(page.name[:2], values)
    figure = None if figure == page.stem else figure
    nbformat.write(figures.on_its_own(book, figure) if figure else book, raw)
    os.environ |= {"REGIMES_RUN": str(folder), "IPYTHONDIR": str(paths.root() / "build" / "ipython")}
    os.environ |= {"REGIMES_FIGURE": figure} if figure else {}
    matplotlib.use("agg")  # whatever the reader's settings say
    progress.terminal = sys.stderr
    logging.getLogger("papermill").setLevel(logging.ERROR)  # it warns of designs, which no page declares
    papermill.execute_notebook(
        str(raw), str(done), injected, engine_name="regimes", cwd=str(paths.root()), progress_bar=False,
        repeats=len(injected) == 1, as_png=_as_png(page.name[:2], book.cells),
    )  # fmt: skip
    raw.unlink()
    ran = nbformat.read(done, as_version=4)
    _attach_captions(ran.cells)
    if not figure and values == parameters.resolve(page.name[:2], values["profile"]):
        _turn_knobs(page, values["profile"], ran.cells)
    nbformat.write(ran, done)


def _as_png(number: str, cells: Sequence[nbformat.NotebookNode]) -> set[str]:
    """The figures of which a PNG is asked for, too: that of the chapter's card, and those whose knob is turned."""
    key_cells = (cell for cell in cells if "key" in cell.metadata.get("tags", []))
    return {label for cell in key_cells for label in figures.labels_shown(cell.source)} | changes.knobs(number).keys()


def _turn_knobs(page: Path, profile: str, cells: Sequence[nbformat.NotebookNode]) -> None:
    """Gives figures that have a knob their pictures at its choices; at smoke at the first that is not the book's."""
    knobs = changes.knobs(page.name[:2])
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    figures_shown = [output for output in outputs if output.get("metadata", {}).get("regimes")]
    for output in (output for output in figures_shown if output.metadata.regimes.name in knobs):
        about = output.metadata.regimes
        pictures = {output.data["image/png"].strip()}
        about["knob"] = {**knobs[about.name], "choices": []}
        for choice in knobs[about.name]["choices"]:
            if "sets" in choice and (profile != "smoke" or len(pictures) == 1):
                where = f"the knob of {about.name}, {choice['name']!r}"
                try:
                    turned = _turned(page, about.name, profile, choice["sets"])
                except InputError as error:
                    raise InputError(f"{where}: {error}") from None
                if turned.data["image/png"].strip() in pictures:
                    raise InputError(f"{where}: the picture is that of another choice")
                pictures.add(turned.data["image/png"].strip())
                about.knob["choices"].append({**choice, "output": turned})
            elif "sets" not in choice:
                about.knob["choices"].append(choice)


def _turned(page: Path, label: str, profile: str, sets: Mapping[str, Any]) -> nbformat.NotebookNode:
    """A figure of a page at other values, as a knob shows it: nothing is judged, and no rows are written."""
    injected = changed(page.name[:2], parameters.resolve(page.name[:2], profile, sets))
    shell, outputs = _shell(), []
    for cell in (cell for cell in figures.on_its_own(notebook(page), label).cells if cell.cell_type == "code"):
        if not _fill(shell, cell):
            error = cell.outputs[-1]
            kind = "" if error.ename == InputError.__name__ else f"{error.ename}: "
            raise InputError(" ".join(f"{kind}{error.evalue}".split()))
        if "parameters" in cell.metadata.tags:
            shell.user_ns.update(injected, is_turned=True)
        outputs += [output for output in cell.outputs if "regimes" in output.get("metadata", {})]
    return outputs[-1]


def _attach_captions(cells: Sequence[nbformat.NotebookNode]) -> None:
    """Gives what executed cells show its caption, and where there are no other words for it, those of the caption."""
    glued = captions.glued(cells)
    for index, words in captions.of_cells(cells).items():
        caption = captions.filled(words, glued)
        for output in cells[index].outputs:
            about = output.get("metadata", {}).get("regimes")
            if about is not None:
                about["caption"] = views.typeset(caption)
                about["alt"] = about["alt"] or captions.drawn(caption)


def _asked(number: str, figure: str, given: Collection[str]) -> dict[Study, set[str]]:
    """The designs that a figure, or those of a page, show; InputError if they ignore a parameter that is ``given``."""
    labels = [label for label, shown in figures.figures(number).items() if figure in (label, shown.page.stem)]
    dependences = changes.changes(number, labels).values()
    if ignored := [name for name in given if not any(change.of([name]) for change in dependences)]:
        names = dict.fromkeys(knob.name for change in dependences for knob in change.knobs)
        tables = sorted({design for change in dependences for design in change.designs})
        designs = f"; entries of the designs {', '.join(tables)}" if tables else ""
        known = f"{', '.join(names) or 'no parameter'}{designs}"
        raise InputError(f"{figure} does not depend on {validate.shown(ignored[0])}; it depends on {known}")
    designs_shown: dict[Study, set[str]] = {}
    for change in dependences:
        for study, designs in change.shown.items():
            designs_shown.setdefault(study, set()).update(designs)
    return designs_shown


def _needs_values(number: str, values: Mapping[str, Any], studies: Collection[Study], figure: str | None) -> None:
    """Raises InputError for a design with too few values of an axis for a figure that shows it."""
    by_name = {study.function.__name__: study for study in studies}
    for name, count in parameters.least_values(number).items():
        _, study, design, axis = name.split(".")
        given = by_name[study].grid.values(values, design)[axis] if study in by_name else None
        given = given[0] if given and isinstance(given[0], list) else given  # one setting holds a list
        if given is None or len(given) >= count:
            continue
        page_of = {label: shown.page.stem for label, shown in figures.figures(number).items()}
        labels = figures.figures_of_designs(number)[f"{study}.{design}"]
        if drawn := [label for label in labels if figure in (None, label, page_of[label])]:
            few = f"{name} must hold {count} or more values, got {validate.shown(given)}"
            raise InputError(f"{few}: {', '.join(drawn[:SHOWN])} cannot be drawn from fewer")


def checked(
    number: str, values: Mapping[str, Any], studies: Collection[Study], designs_shown: Mapping[Study, Collection[str]]
) -> str:
    """What a run would find stored, and compute, in one line; of a figure the cells of the designs that it shows.

    InputError for what it would compute with more memory than is free.
    """
    count, new = 0, []
    for study in studies:
        asked = catalogue.asked(number, study, values)
        wanted = set().union(*(asked.designs[name] for name in designs_shown.get(study, asked.designs)))
        count += len(wanted)
        new += [cell for cell in asked.new if cell.key() in wanted]
    store = Store.default() if new else ()
    to_compute = [cell for cell in new if cell not in store]
    schedule.needs_memory({study.name: study for study in studies}, to_compute)
    in_store = len(new) - len(to_compute)
    places = f"{count - len(new)} found in results/, {in_store} in the cell store, {len(to_compute)} to compute"
    summary = f"{count} cells of {len(studies)} studies, {places}"
    return f"chapter {number} at the {values['profile']} profile: {summary}; nothing was computed"


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = Parser(prog="python -m companion.runner", description=__doc__)
    parser.add_argument("chapter", nargs="+", help="the chapters' numbers, such as 05")
    add_parameter_options(parser)
    parser.add_argument("--name", help="write to runs/NAME (default where parameters are changed: custom)")
    parser.add_argument("--figure", help="run what this figure, table or page needs, fig-c-rate, and nothing else")
    parser.add_argument("--check", action="store_true", help="check every parameter, count the cells and stop")
    parser.add_argument("--times", action="store_true", help="record what the stored cells took, and stop")
    args = parser.parse_args(argv)
    with one_line_errors(), forking():
        given = overrides(args)
        if args.figure is not None:
            if len(args.chapter) != 1:
                raise InputError(f"figure must be one of a single chapter, got the chapters {' '.join(args.chapter)}")
            stems = [page.stem for page in parameters.page_sources(args.chapter[0])]
            validate.one_of([*figures.figures(args.chapter[0]), *stems], figure=args.figure)
        values = {number: parameters.resolve(number, args.profile, *given) for number in args.chapter}
        if args.figure:  # its own studies: values may make no sense for others
            catalogue.check(args.chapter[0], values[args.chapter[0]])
            designs_shown = _asked(args.chapter[0], args.figure, parameters.named(args.chapter[0], *given))
            (number,) = args.chapter
            grids = {number: {study: catalogue.grids(number, values[number], study)[study] for study in designs_shown}}
        else:
            designs_shown = {}
            grids = {number: catalogue.grids(number, of_chapter) for number, of_chapter in values.items()}
        for number in grids:
            _needs_values(number, values[number], grids[number], args.figure)
        name = args.name if args.name is not None else "custom" if any(given) or args.figure else None
        folder = paths.run_folder(name) if name is not None else paths.build_folder(args.profile)
        if args.check or args.figure:  # which says at once where memory is short
            lines = [checked(number, values[number], grids[number], designs_shown) for number in grids]
        if args.check:
            print("\n".join(lines))
            return 0
        if args.times:
            all_grids = {study: grid for of_chapter in grids.values() for study, grid in of_chapter.items()}
            asked = {study: sweep.cells(study, grid) for study, grid in all_grids.items()}
            schedule.record_seconds(asked, Store.default(), args.profile)
            return 0
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: workers go too
        if not args.figure:  # whose cells say which studies
            to_compute = {}
            for number, of_chapter in grids.items():
                to_compute |= {study: catalogue.to_compute(number, study, values[number]) for study in of_chapter}
            schedule.fill({study: cells for study, cells in to_compute.items() if cells}, Store.default())
        code = _draw(values, folder, args.figure)
        if not code and name is not None:
            label = args.figure if args.figure in figures.figures(args.chapter[0]) else ""
            print(f"its page: {_shown(pages.of_run(folder, args.chapter[0], label))}")
        return code


def _draw(values: Mapping[str, Mapping[str, Any]], folder: Path, figure: str | None = None) -> int:
    """Executes chapters, each in a process of its own, a copy of this one; returns the exit code."""
    context = multiprocessing.get_context("fork" if forks() else "spawn")
    sizes = {number: sum(page.stat().st_size for page in parameters.page_sources(number)) for number in values}
    longest_first = sorted(values, key=lambda number: -sizes[number])
    waiting = [context.Process(target=_in_child, args=(n, values[n], folder, figure)) for n in longest_first]
    running: dict[int, Any] = {}
    code = 0
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                process = waiting.pop(0)
                process.start()
                running[process.sentinel] = process
            for sentinel in wait(running):
                process = running.pop(sentinel)
                process.join()
                if process.exitcode < 0:
                    print("a chapter failed: its process was killed, or the memory ran out", file=sys.stderr)
                code = max(code, min(abs(process.exitcode), 1) if process.exitcode < 0 else process.exitcode)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join(PATIENCE)
            process.kill()
    return code


def _in_child(number: str, values: Mapping[str, Any], folder: Path, figure: str | None) -> None:
    """Executes a chapter in this process, which ignores Ctrl-C: its parent, which gets it too, ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(os.getppid())
    with one_line_errors():
        try:
            code = _run(number, values, folder, figure)
        except KeyboardInterrupt:
            code = 130  # for the parent to say
        sys.exit(code)


def _run(number: str, values: Mapping[str, Any], folder: Path, figure: str | None = None) -> int:
    """Executes a chapter, prints the outcome, and returns the exit code."""
    warnings.filterwarnings("ignore", category=UserWarning, module="papermill")
    start = time.perf_counter()
    try:
        done = execute(number, values, folder, figure)
    except papermill.PapermillExecutionError as error:
        why = ": ".join(filter(None, [f"failed in cell {error.cell_index}", error.ename, error.evalue]))
        partial = next(iter(sorted(folder.glob(f"{number}_*.failed.ipynb"))), None)
        where = f"; partial notebook: {_shown(partial)}" if partial else ""
        print(f"chapter {number} {' '.join(why.split())}{where}", file=sys.stderr)
        return 1
    print(f"chapter {number}: {', '.join(str(_shown(path)) for path in done)} in {time.perf_counter() - start:.0f} s")
    return 0


def _shown(path: Path) -> Path:
    """A path as a reader sees it from the book's folder."""
    return path.relative_to(paths.root()) if path.is_relative_to(paths.root()) else path


if __name__ == "__main__":
    sys.exit(main())
