"""The tools of the cells of a chapter's page: parameters, rows, figures with captions, claims.

A page that is opened in Jupyter behaves as in the runner; its results go to ``runs/interactive``.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, Markdown, display
from matplotlib.figure import Figure

from companion import estimates, paths
from companion.book import captions, claims, ledger, plots, screen, views
from companion.estimates import Drift, Estimate
from companion.lab import catalogue, parameters
from companion.lab.results import Results, finished_cells
from companion.lab.store import stamp, write_atomically
from companion.lab.study import Design
from companion.lab.sweep import Study
from companion.lab.table import CELL, STAMP, Provenance, names_cell, origin, provenance
from companion.lab.verify import sample
from regimes.validate import InputError

_COUNTED = re.compile(r"(\d+) (?=points )")
_GREEK = ("alpha", "beta", "gamma", "eta", "kappa", "lambda", "rho", "sigma", "tau")
THEORY = "none: theory alone"  # the data of a claim on formulas


class Chapter:
    """One run of a page of a chapter.

    Args:
        number: the chapter, ``"05"``.
        namespace: the notebook's ``globals()``; the page's parameters are read from it and checked.
    """

    def __init__(self, number: str, namespace: dict[str, Any]) -> None:
        declared_here = parameters.declared(number).items()
        declared = {name: p.value for name, p in declared_here if name != "profile" and name in namespace}
        self.number = number
        self.profile = str(namespace["profile"])
        run, designs = os.environ.get("REGIMES_RUN"), namespace.get("designs", {})
        if run:  # the runner has resolved and checked every value
            given = {name: namespace[name] for name in declared}
            self.parameters = parameters.resolve(number, self.profile, given, designs)
        else:  # by hand: the profile's values, except where a line of the parameters cell was edited
            edited = {name: namespace[name] for name, value in declared.items() if namespace[name] != value}
            self.parameters = parameters.resolve(number, self.profile, edited, designs)
            catalogue.grids(number, self.parameters)
            namespace.update({name: self.parameters[name] for name in declared})
        self._is_changed = self.parameters != parameters.resolve(number, self.profile)
        self.folder = Path(run) if run else paths.run_folder("interactive")
        # a run's pages write one ledger, one after the other
        before = ledger.read(self.folder / f"{number}.ledger.json") if run else []
        self.entries: dict[str, dict[str, Any]] = {entry["id"]: entry for entry in before}
        self._labels: set[str] | None = set() if run else None  # by hand a cell may run again
        self._asked: dict[Study, catalogue.Asked] = {}
        self._stored: set[str] = set()  # cells of stored results, which captions name
        self._absent: set[str] = set()  # those of data that are not on this machine
        self._sampled = self._sampled_before() if run else {}
        self._turned = "is_turned" in namespace  # of a page that has run one figure, for its knob
        self._as_png = namespace.get("figures_as_png", ())  # labels of figures of which the runner wants a PNG, too
        plots.style()

    def design(self, study: Study, name: str) -> dict[str, list[Any]]:
        """The values of each axis of a design of a study."""
        return study.grid.values(self.parameters, name)

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all: from ``results/``, else from the store, else computed.

        At the laptop's values a design is as large as ``results/`` holds it; a changed one has its own settings, with
        the stored seeds that all of them share. At the laptop profile a sample of the study's stored cells is computed
        again; the ledger's page says where it disagrees.
        """
        if study not in self._asked:
            self._asked[study] = catalogue.asked(self.number, study, self.parameters)
            self._compute_sample(self._asked[study].results)
        asked, is_usual = self._asked[study], self.profile == "smoke" and not self._is_changed
        # where the smoke profile asks for no cell of a design, this is as it should be: nothing is said
        rows = asked.rows()[:0] if is_usual and asked.designs.get(design) == set() else asked.rows(design)
        if rows.empty and design in asked.absent:
            self._say(f"The design `{design}` of `{study.name}` is empty: its data are not on this machine.")
        finished = asked.results.finished
        stored = set(rows[CELL]) & finished.keys()
        self._stored |= stored
        self._absent |= stored - {cell.key() for cell in asked.results.of_data(catalogue.is_here)}
        return rows

    def _sampled_before(self) -> dict[str, list[str]]:
        """Per study with stored results what was computed otherwise here, by the pages before this one."""
        path = self.folder / f"{self.number}.sampled.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _compute_sample(self, results: Results) -> None:
        """Computes some stored cells again, and notes what differs, or was refused: for the ledger's page."""
        if results.study.name in self._sampled or self._turned or "REGIMES_FIGURE" in os.environ:
            return  # the run of one figure has no ledger's page
        cells = sample(results, catalogue.is_here) if self.profile == "laptop" else []
        lines = list(results.refused.values())
        if cells:
            lines += results.differences(finished_cells(results.study, cells))
        if not cells and not lines:
            return
        self._sampled[results.study.name] = lines
        write_atomically(self.folder / f"{self.number}.sampled.json", json.dumps(self._sampled, indent=1))
        if lines and self._labels is None:  # by hand there is no such page
            head = f"The stored results of `{results.study.name}` are not what this machine computes"
            self._say(f"{head}: {'; '.join(lines)}")

    def figure(
        self, fig: Figure, name: str, *tables: pd.DataFrame, title: str = "", legend: int = 0, alt: str = ""
    ) -> None:
        """Shows a figure; its caption is the Markdown cell below, with the tag ``caption``.

        Its data, profile and settings unfold below it, and the claims that it shows are judged.

        Args:
            fig: the figure; it is closed.
            name: the label to refer to, ``fig-...``.
            tables: the rows it is drawn from, each with its cell.
            title: the question of several panels, above them.
            legend: the columns of one legend of several panels, below them.
            alt: the picture in words, for readers who cannot see it, where the caption does not say what it shows; by
                default the caption's sentences after the answer that say what is drawn.
        """
        plots.frame(fig, title, legend)
        self._show(fig, name, tables, {"alt": alt})
        self._judge_figure(name)

    def _show(
        self, fig: Figure, name: str, tables: Sequence[pd.DataFrame], about: dict[str, Any], moving: str = ""
    ) -> None:
        """Shows a figure, with its animation, if any, above; a label may occur once in a run."""
        if self._labels is not None:
            if name in self._labels:
                raise InputError(f"label {name} is in use: another figure of chapter {self.number} has it")
            self._labels.add(name)
        about |= {"name": name, "caption": "", "settings": self._origin(tables)}
        if tables and not self._turned:
            self._write_rows(name, tables)
        data = screen.pictures(fig, png=name in self._as_png, light=self._turned)
        about |= {"font": screen.smallest_font(fig), "painted": screen.has_raster(fig), "narrow": None}
        if not about.get("still") and "REGIMES_FIGURE" not in os.environ:  # a run of one figure has no page for a phone
            heavy = "image/svg+xml" not in data
            about["narrow"] = screen.phone_variant(fig, light=self._turned, heavy=heavy)
        data |= {"text/plain": repr(fig)} | ({"text/html": moving} if moving else {})
        display(data, raw=True, metadata={"regimes": about})
        plt.close(fig)

    def _write_rows(self, label: str, tables: Sequence[pd.DataFrame]) -> None:
        """Writes a figure's rows beside the notebook, to download: numbers (six digits) and words."""
        rows = _without_provenance(pd.concat(tables))
        long = [name for name in rows.columns if any(isinstance(value, (list, tuple, dict)) for value in rows[name])]
        folder = self.folder / "rows"
        folder.mkdir(parents=True, exist_ok=True)
        rows.drop(columns=long).to_csv(folder / f"{label}.csv", index=False, float_format="%.6g")

    def slider(
        self,
        fig: Figure,
        draw: Callable[[int], None],
        labels: Sequence[str],
        name: str,
        *tables: pd.DataFrame,
        knob: str,
        start: int = 0,
        still: Figure | None = None,
        alt: str = "",
    ) -> None:
        """Shows an animation: one frame per label, under a slider with a play button.

        Frames are drawn now and stored as pictures, so that the page needs no network. Paper shows the still.

        Args:
            fig: the figure; it is closed.
            draw: draws frame ``i`` into the figure's cleared panels.
            labels: the slider's text at each frame, such as ``α = 0.1``.
            name: the label to refer to.
            tables: as for ``figure``; so is the caption.
            knob: the quantity that the slider changes, in words.
            start: the frame shown first.
            still: a figure below the slider that replaces it on paper; by default paper shows the frame ``start``.
            alt: as for ``figure``.
        """
        moving = screen.slider(fig, draw, labels, knob=knob, start=start)
        self._show(still or fig, name, tables, {"alt": alt, "still": still is None}, moving)
        plt.close(fig)
        self._judge_figure(name)

    def table(self, rows: pd.DataFrame, name: str, caption: str, *tables: pd.DataFrame, digits: int = 4) -> None:
        """Shows rows as an HTML table with its caption; their provenance unfolds below."""
        rows = _without_provenance(rows)
        lines = [[_cell(value, digits) for value in line] for line in rows.itertuples(index=False)]
        html = views.show("rows", name, caption, map(str, rows.columns), lines, self._origin(tables))
        display(HTML(html), metadata={"table": name})
        self._judge_figure(name)

    def glue(self, name: str, value: Any) -> None:
        """Keeps a number, two digits, or words for the text of the page, ``{glue:text}`name```, as MyST-NB does."""
        number = value.value if isinstance(value, Estimate) else value
        text = estimates.significant(number) if isinstance(number, float) else str(number)
        about = {"scrapbook": {"name": name, "mime_prefix": captions.GLUED}}
        display({f"{captions.GLUED}text/plain": views.typeset(text)}, raw=True, metadata=about)

    def _origin(self, tables: Sequence[pd.DataFrame]) -> str:
        """The fold below a figure or a table: its note, all fixed settings, where they ran; empty if nothing ran."""
        if not tables:
            return ""
        origin = provenance(*tables)
        lines = [f"{name} = {_values(values)}" for name, values in origin.axes()[1].items()]
        where = f"{len(origin.cells)} cells, {origin.seconds:.0f} s, {origin.device}, revision {origin.revision}"
        studies = ", ".join(setting["study"] for setting in origin.settings)
        return f"{self.note(*tables)} {'; '.join(filter(None, [studies, *lines, where]))}"

    def note(self, *tables: pd.DataFrame) -> str:
        """The provenance of rows: data, settings that vary over them, number of seeds, profile; empty for none."""
        if not tables:
            return ""  # a sketch or a formula: no run, no sizes
        origin = provenance(*tables)
        varying, _, seeds = origin.axes()
        data = [f"Data: {words}." for words in _once(origin.data)]
        varying.pop("words", None)  # what the data are called: said already
        count = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
        parts = [_typeset(name, _values(values)) for name, values in varying.items()]
        parts.append(f"{count} seed" + "s" * (seeds != [1]))
        suffix = ", with rows kept in results/" if self._stored & set(origin.cells) else ""
        suffix = f", with {ledger.ABSENT}" if self._absent & set(origin.cells) else suffix
        return " ".join([*data, f"Here {'; '.join(parts)}.", f"Profile: {self.profile}{suffix}."])

    def _say(self, text: str) -> None:
        """Shows a sentence of Markdown; ``views.typeset`` gives its numbers their form."""
        display(Markdown(views.typeset(text)))

    def _judge_figure(self, label: str) -> None:
        """Judges the claims that a figure or a table shows."""
        for claim in claims.claims_of(self.number):
            if claim.figure == label and not self._turned:
                self._judge(claim)

    def _judge(self, claim: claims.Claim) -> None:
        """Measures a claim on its rows, and judges it.

        A run of other sizes may lack what its function needs: then it is not judged, and a changed run says so.
        """
        try:
            result = claim.measured(self)
        except Exception as error:
            if not self._is_changed and not (self.profile == "smoke" and claim.at) and not self._lacks_data(claim):
                raise InputError(f"claim {claim.id} cannot be measured: {type(error).__name__}: {error}") from error
            result = None
        if result is not None:
            self._enter(claim, *result)
        elif self._lacks_data(claim):
            self._say(f"`{claim.id}`: not tested, its data are not on this machine.")
        elif self._is_changed:
            self._say(f"`{claim.id}`: not tested at these parameters.")
        elif self.profile == "laptop":
            raise InputError(f"claim {claim.id}: its function finds nothing on the book's own rows")

    def _lacks_data(self, claim: claims.Claim) -> bool:
        """Whether one of a claim's designs is empty, because its data are not on this machine."""
        named = [table for table in claim.tables.values() if isinstance(table, Design) and table.study in self._asked]
        asked = [(self._asked[study], name) for study, name in named]
        return any(name in of_study.absent and not of_study.designs[name] for of_study, name in asked)

    def _enter(self, claim: claims.Claim, measured: Estimate | Drift, tables: Sequence[pd.DataFrame]) -> None:
        """Judges what was measured on rows, or without any on formulas; enters it and shows the verdict."""
        claim = ledger.of_book(claim)
        if claim.id in self.entries and self._labels is not None:  # by hand a cell may run again
            raise InputError(f"claim {claim.id} was judged already")
        if tables:
            source = provenance(*tables)
        else:
            made = stamp()
            source = Provenance((), (), (THEORY,), 0.0, made["device"], made["revision"], made["versions"])
        estimate = measured.whole if isinstance(measured, Drift) else measured
        is_elsewhere = self._is_changed and bool(ledger.lacks(claim, source.settings))
        self.entries[claim.id] = ledger.entry_of(
            claim,
            chapter=self.number,
            value=float(estimate.value),
            low=float(estimate.low),
            high=float(estimate.high),
            n=int(estimate.n),
            interval=estimate.method,
            numerical=float(estimate.numerical),
            late=ledger.late(claim, measured) if isinstance(measured, Drift) else None,
            verdict=None if is_elsewhere else ledger.judge(claim, measured, self.profile),
            profile=self.profile,
            data="; ".join(source.data) + (f" ({ledger.ABSENT})" if self._absent & set(source.cells) else ""),
            settings=json.loads(json.dumps(source.settings, default=str)),
            figure=claim.figure,
            seconds=source.seconds,
            device=source.device,
            revision=source.revision,
            versions=source.versions,
            cells={key: origin(key).provenance["revision"] for key in source.cells},
        )
        ledger.write(self.folder / f"{self.number}.ledger.json", self.entries.values())
        line = HTML(views.show("line", self.entries[claim.id], views.ERRATA))
        display(line, metadata={"claim": claim.id})  # on the page it goes to the row below its figure


def _typeset(name: str, values: str) -> str:
    """A setting in a caption: letters are mathematics, longer names are those of the code."""
    symbol = f"${name}$" if len(name) == 1 else rf"$\{name}$" if name in _GREEK else name
    return f"{symbol} = {values}"


def _without_provenance(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without the columns that say where they come from."""
    return rows.drop(columns=[name for name in rows.columns if name in STAMP or names_cell(name)])


def _once(data: Iterable[str]) -> list[str]:
    """The data, each once; several numbers of points of one data set are listed in order."""
    counts: dict[str, list[int]] = {}
    for words in data:
        match = _COUNTED.match(words)
        counts.setdefault(words[match.end() :] if match else words, []).extend([int(match[1])] if match else [])
    return [f"{', '.join(map(str, sorted(numbers)))} {words}".strip() for words, numbers in counts.items()]


def _values(values: Sequence[Any]) -> str:
    """Values as a reader writes them: ``5, 10`` or ``100 … 800 (4)``."""
    if len(values) > 3 and not isinstance(values[0], (list, str)):
        return f"{_number(values[0])} … {_number(values[-1])} ({len(values)})"
    return ", ".join(map(_number, values))


def _cell(value: Any, digits: int) -> str:
    words = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return "—" if value is None or value != value else words


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
