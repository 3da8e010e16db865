"""Runs chapters: ``python -m companion.runner 05 --profile smoke -p curve_depth 2000 -f mine.toml --name mine``.

First the cells of all studies are computed as one queue. Then jupytext turns each source into a notebook, and papermill
executes two at a time: they read the stored cells and draw. Notebook and ledger go to ``build/<profile>/``, or, if
parameters were changed, to ``runs/<name>/`` with a page. They replace the last good ones by one rename. A run that
fails or is killed changes neither, and leaves its notebook as ``*.failed.ipynb``.
"""

import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from companion import paths
from companion import studies as registry
from companion.experiments import parameters, queue
from companion.experiments.cli import Parser, add_parameter_options, one_line_errors, overrides
from companion.experiments.store import Store
from companion.experiments.sweep import Study, cells
from companion.experiments.workers import die_with, end_workers
from companion.report import excerpt, ledger
from companion.site import locks, pages, versions
from regimes import validate
from regimes.validate import InputError

with warnings.catch_warnings():  # papermill's own, on import
    warnings.simplefilter("ignore")
    import jupytext
    import nbformat
    import papermill
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import KernelManager
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine, papermill_engines
    from traitlets.config import Config

AT_ONCE = 2  # chapters drawn at a time: while one waits for its kernel, the other uses the core
LONGEST_FOLDER = 60  # bytes of a folder's path in which sockets can have names: 104 in all, on some systems
READERS = {"PYTHONSTARTUP", "MPLBACKEND", "MATPLOTLIBRC"}  # settings of the reader's own work, hidden from a kernel
CELL_SECONDS = 3600  # a cell that takes longer hangs: papermill would wait for ever


def notebook(number: str) -> nbformat.NotebookNode:
    """A chapter as a notebook; cell ids depend on the source alone."""
    source = parameters.source(number)
    book = jupytext.read(source)
    if "kernelspec" not in book.metadata:
        raise InputError(f"{source.name} has no jupytext header with a kernelspec: copy the top of another chapter")
    for index, cell in enumerate(book.cells):
        cell["id"] = f"chapter-{number}-{index:03d}"
        cell.metadata.setdefault("tags", [])  # papermill looks for it in every cell
    return book


def changed(number: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a run must inject: its profile, the values that differ from those the chapter shows, changed ``designs``."""
    shown = {name: parameter.value for name, parameter in parameters.declared(number).items()}
    usual = parameters.resolve(number, values["profile"])
    designs = {name: value for name, value in values.items() if "." in name and usual.get(name) != value}
    found = {name: values[name] for name in shown if name == "profile" or values[name] != shown[name]}
    return found | ({"designs": designs} if designs else {})


class _ThisPython(KernelSpecManager):
    """Gives the kernel of the Python that runs this, whatever kernel of its name the reader has elsewhere."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


class _Client(PapermillNotebookClient):
    """Runs the cells; if it is interrupted, only the kernel is killed, at once.

    Jupyter would signal the whole process group, and so also end the process that frees the workers' shared memory.
    """

    def create_kernel_manager(self) -> KernelManager:
        self.km = super().create_kernel_manager()
        self.km.kernel_spec_manager = _ThisPython()
        return self.km

    def papermill_execute_cells(self) -> None:
        try:
            super().papermill_execute_cells()
        except BaseException:
            process = self.km.provisioner.process
            process.kill()
            process.wait()
            raise


class _Engine(NBClientEngine):
    """papermill's engine with our client."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> nbformat.NotebookNode:
        # the kernel's and its workers' own messages go to ``said``; what cells print is in the notebook
        with _short_folder() as own, options["said"].open("w", encoding="utf-8") as said:
            # sockets in a folder of its own: kernels that start side by side may be given the same TCP port
            link = Config(KernelManager={"transport": "ipc", "connection_file": f"{own}/kernel.json"})
            client = _Client(nb_man, kernel_name=kernel_name, timeout=options["execution_timeout"], config=link)
            # the injected cell has one id in all runs, and is hidden where it repeats what the chapter shows
            injected = next(cell for cell in nb_man.nb.cells if "injected-parameters" in cell.metadata.tags)
            injected["id"] = "injected-parameters"
            injected.metadata.tags += ["remove-cell"] * options["repeats"]
            # papermill would write megabytes of pictures twice a cell: it does so once, when it is done or has failed
            path, nb_man.output_path = nb_man.output_path, None
            try:
                return client.execute(stderr=said, env=options["env"])
            finally:
                nb_man.output_path = path


papermill_engines.register("regimes", _Engine)


def _short_folder() -> tempfile.TemporaryDirectory:
    """A folder for the kernel's sockets, whose paths the system limits: not in a long ``$TMPDIR``."""
    usual = tempfile.gettempdir()
    return tempfile.TemporaryDirectory(dir=usual if len(os.fsencode(usual)) <= LONGEST_FOLDER else "/tmp")


def execute(number: str, values: Mapping[str, Any], folder: Path, figure: str | None = None) -> Path:
    """Executes a chapter, or what one ``figure`` of it needs, into ``folder`` and returns the notebook's path.

    ``NN_name.ipynb`` and ``NN.ledger.json`` are links, through the link ``.NN``, to the folder of the last good run.
    Two runs of one chapter into one folder wait for each other. A failed run leaves the partial notebook as
    ``*.failed.ipynb``, and the last messages of kernel and workers as ``*.failed.log``.
    """
    stem, last_good = parameters.source(number).stem, folder / f".{number}"
    names = f"{stem}.ipynb", f"{number}.ledger.json"
    with locks.alone(folder / f".{number}.lock", f"chapter {number} is being run into {_shown(folder)}"):
        started = time.time()
        fresh = versions.fresh(last_good)
        done = fresh / names[0]
        try:
            _papermill(number, values, fresh, folder / f"{stem}.log", figure)
        except BaseException:
            with contextlib.suppress(OSError):  # a full disk is told of, not this
                for left, kept in ((done, f"{stem}.failed.ipynb"), (fresh / "kernel.log", f"{stem}.failed.log")):
                    if left.exists():
                        os.replace(left, folder / kept)
                shutil.rmtree(fresh, ignore_errors=True)
            raise
        for name in names:  # as old as what was read: a source that was edited meanwhile is newer
            os.utime(fresh / name, (started, started))
        versions.swap(fresh, last_good)
        for name in names:
            versions.point(folder / name, Path(last_good.name) / name)
        for end in ("ipynb", "log"):
            (folder / f"{stem}.failed.{end}").unlink(missing_ok=True)
    return folder / names[0]


def _papermill(number: str, values: Mapping[str, Any], folder: Path, log: Path, figure: str | None = None) -> None:
    """Runs a chapter's cells; writes its notebook and its ledger (empty if it judges nothing) into ``folder``."""
    raw, done = folder / "raw.ipynb", folder / f"{parameters.source(number).stem}.ipynb"
    injected = changed(number, values)
    book = notebook(number)
    nbformat.write(excerpt.excerpt(number, book, figure) if figure else book, raw)
    ledger.write(folder / f"{number}.ledger.json", [])
    settings = paths.root() / "build" / "ipython"  # not the reader's own
    settings.mkdir(parents=True, exist_ok=True)
    told = {name: value for name, value in os.environ.items() if name not in READERS}
    told |= {"REGIMES_RUN": str(folder), "REGIMES_LOG": str(log), "IPYTHONDIR": str(settings)}
    with _progress(log):
        papermill.execute_notebook(
            str(raw), str(done), injected, engine_name="regimes", cwd=str(paths.root()), env=told,
            execution_timeout=CELL_SECONDS, progress_bar=sys.stderr.isatty(), said=folder / "kernel.log",
            repeats=len(injected) == 1,
        )  # fmt: skip
    raw.unlink()
    (folder / "kernel.log").unlink()


@contextlib.contextmanager
def _progress(log: Path) -> Iterator[None]:
    """Shows the progress of the sweeps inside the notebook as it comes."""
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
        yield
    finally:
        stop.set()
        thread.join()


def _asked(number: str, figure: str, given: Collection[str]) -> excerpt.Change:
    """What a figure depends on; InputError if it ignores a parameter that is ``given``."""
    own = excerpt.changes(number, notebook(number), [figure])[figure]
    if ignored := [name for name in given if not own.of([name])]:
        names = [knob.name for knob in own.knobs]
        designs = f"; entries of the designs {', '.join(sorted(own.designs))}" if own.designs else ""
        known = f"{', '.join(names) or 'no parameter'}{designs}"
        raise InputError(f"{figure} does not depend on {validate.shown(ignored[0])}; it depends on {known}")
    return own


def checked(number: str, values: Mapping[str, Any], studies: Collection[Study]) -> str:
    """What a run would find stored, and compute, in one line."""
    asked, store = [registry.asked(number, study, values) for study in studies], Store.default()
    count, new = sum(len(own.cells) for own in asked), [cell for own in asked for cell in own.new]
    left = sum(cell not in store for cell in new)
    found = f"{count - len(new)} found in results/, {len(new) - left} in the cell store, {left} to compute"
    what = f"{count} cells of {len(studies)} studies, {found}"
    return f"chapter {number} at the {values['profile']} profile: {what}; nothing was computed"


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = Parser(prog="python -m companion.runner", description=__doc__)
    parser.add_argument("chapter", nargs="+", help="the chapters' numbers, such as 05")
    add_parameter_options(parser)
    parser.add_argument("--name", help="write to runs/NAME (default where parameters are changed: custom)")
    parser.add_argument("--no-page", action="store_true", help="leave out the HTML page of a run in runs/")
    parser.add_argument("--figure", help="run what this figure or table needs, fig-c-fig2, and nothing else")
    parser.add_argument("--check", action="store_true", help="check every parameter, count the cells and stop")
    parser.add_argument("--times", action="store_true", help="record what the stored cells took, and stop")
    args = parser.parse_args(argv)
    with one_line_errors():
        given = overrides(args)
        if args.figure is not None:
            if len(args.chapter) != 1:
                raise InputError(f"figure must be one of a single chapter, got the chapters {' '.join(args.chapter)}")
            validate.one_of(excerpt.figure_labels(notebook(args.chapter[0]).cells), figure=args.figure)
        values = {number: parameters.resolve(number, args.profile, *given) for number in args.chapter}
        if args.figure:  # its own studies: values may make no sense for others
            used = _asked(args.chapter[0], args.figure, parameters.named(args.chapter[0], *given)).studies
            grids = {n: {study: registry.grids(n, own, study)[study] for study in used} for n, own in values.items()}
        else:
            grids = {number: registry.grids(number, own) for number, own in values.items()}
        name = args.name if args.name is not None else "custom" if any(given) or args.figure else None
        folder = paths.run_folder(name) if name is not None else paths.build_folder(args.profile)
        if args.check:
            print("\n".join(checked(number, values[number], grids[number]) for number in grids))
            return 0
        if args.times:
            asked = {study: cells(study, grid) for own in grids.values() for study, grid in own.items()}
            queue.record_seconds(asked, Store.default(), args.profile)
            return 0
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: workers and kernels go too
        if not args.figure:  # whose cells say which studies
            left = {study: registry.to_compute(n, study, values[n]) for n, own in grids.items() for study in own}
            queue.fill({study: own for study, own in left.items() if own}, Store.default())
        return _draw(values, folder, args.figure) or (0 if name is None or args.no_page else _page(folder))


def _draw(values: Mapping[str, Mapping[str, Any]], folder: Path, figure: str | None = None) -> int:
    """Executes chapters, several in processes of their own; returns the exit code."""
    if len(values) == 1:
        ((number, own),) = values.items()
        return _run(number, own, folder, figure)
    end_workers()  # a process that has threads must not fork
    fork = multiprocessing.get_context("fork")
    longest_first = sorted(values, key=lambda number: -parameters.source(number).stat().st_size)
    waiting = [fork.Process(target=_apart, args=(number, values[number], folder)) for number in longest_first]
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
                code = max(code, abs(process.exitcode))
    finally:
        for process in running.values():
            process.terminate()
            process.join()
    return code


def _apart(number: str, values: Mapping[str, Any], folder: Path) -> None:
    """Executes a chapter in this process, which ignores Ctrl-C: its parent, which gets it too, ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(os.getppid())
    with one_line_errors():
        try:
            code = _run(number, values, folder)
        except KeyboardInterrupt:
            code = 130  # for the parent to say
        sys.exit(code)


def _run(number: str, values: Mapping[str, Any], folder: Path, figure: str | None = None) -> int:
    """Executes a chapter, prints the outcome, and returns the exit code."""
    warnings.filterwarnings("ignore", category=UserWarning, module="papermill")
    # papermill takes a kind for a type and calls the parameter unknown
    logging.getLogger("papermill").addFilter(lambda record: "unknown parameter" not in record.getMessage())
    start = time.perf_counter()
    try:
        done = execute(number, values, folder, figure)
    except papermill.PapermillExecutionError as error:
        why = ": ".join(filter(None, [f"failed in cell {error.cell_index}", error.ename, error.evalue]))
    except DeadKernelError:
        why = "failed: its kernel died; it was killed, or the memory ran out, or *.failed.log says why"
    except CellTimeoutError:
        why = f"failed: a cell took more than {CELL_SECONDS} s"
    else:
        print(f"chapter {number}: {_shown(done)} in {time.perf_counter() - start:.0f} s")
        return 0
    partial = folder / f"{parameters.source(number).stem}.failed.ipynb"
    where = f"; partial notebook: {_shown(partial)}" if partial.exists() else ""
    print(f"chapter {number} {' '.join(why.split())}{where}", file=sys.stderr)
    return 1


def _page(folder: Path) -> int:
    """Builds the pages of a run with changed parameters; returns the exit code."""
    try:
        print(f"its page: {_shown(pages.of_run(folder))}")
    except pages.PagesError as error:
        print(f"{error}\nerror: notebook and verdicts are kept, but their page was not built", file=sys.stderr)
        return 1
    return 0


def _shown(path: Path) -> Path:
    """A path as a reader sees it from the book's folder."""
    return path.relative_to(paths.root()) if path.is_relative_to(paths.root()) else path


if __name__ == "__main__":
    sys.exit(main())
