"""What the cells of a chapter work with: its parameters, sweeps, figures with captions, claims.

A chapter opened by hand in Jupyter behaves as one run by the runner; its records then go to ``runs/interactive``.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, Markdown, display
from matplotlib.figure import Figure

from regimes import ledger, parameters, plots
from regimes import studies as registry
from regimes.check import InputError
from regimes.scaling import Estimate
from regimes.store import provenance
from regimes.sweep import PROVENANCE, Study, sweep

THEORY = "none: theory alone"  # the data of a claim on formulas


class Chapter:
    """One run of a chapter.

    Args:
        number: the chapter, ``"05"``.
        namespace: the notebook's ``globals()``; the chapter's parameters are read from it and checked.

    Raises:
        InputError: for a parameter of the wrong type, or a value that makes no sense.
    """

    def __init__(self, number: str, namespace: Mapping[str, Any]) -> None:
        names = parameters.declared(number)
        given = {name: namespace[name] for name in names if name != "profile"}
        self.number = number
        self.profile = str(namespace["profile"])
        self.parameters = registry.resolve(number, self.profile, given)
        self.folder = Path(os.environ.get("REGIMES_RUN") or parameters.root() / "runs" / "interactive")
        self.records: dict[str, dict[str, Any]] = {}
        plots.style()

    def sweep(self, study: Study) -> pd.DataFrame:
        """The study's rows at this chapter's parameters; cells that are stored are not computed again."""
        return sweep(study, study.grid(self.parameters))

    def stored(self, study: Study) -> pd.DataFrame:
        """The paper-scale rows kept in ``results/``, to draw beside those computed now; empty where there are none."""
        path = parameters.root() / "results" / f"{study.name}.csv"
        return pd.read_csv(path) if path.exists() else pd.DataFrame()

    def figure(self, fig: Figure, name: str, caption: str, *tables: pd.DataFrame, alt: str = "") -> None:
        """Shows a figure with its caption, which ends with data, sizes and profile.

        Args:
            fig: the figure; it is closed.
            name: the label to refer to, ``fig-...``.
            caption: what is drawn and what to see, without a final note on the data.
            tables: the sweeps it is drawn from.
            alt: the picture in words, for those who cannot see it; the caption's first sentence by default.
        """
        text = f"{caption} {self.note(*tables)}"
        about = {"name": name, "caption": text, "alt": alt or caption.split(". ")[0]}
        display(fig, metadata={"regimes": about})
        plt.close(fig)

    def animation(self, page: str, still: Figure, name: str, caption: str, *tables: pd.DataFrame) -> None:
        """Shows an animation (a self-contained HTML player) above its still, which carries label and caption.

        Args:
            page: the player, such as ``Animation.to_jshtml()`` returns.
            still: the figure that stands for it in print.
            name: the label of the still.
            caption: as for ``figure``.
            tables: the sweeps it is drawn from.
        """
        display(HTML(page))
        self.figure(still, name, caption, *tables)

    def table(self, rows: pd.DataFrame, name: str, caption: str, *tables: pd.DataFrame, digits: int = 4) -> None:
        """Shows rows as an HTML table (without provenance) with a caption that ends with data, sizes and profile."""
        rows = rows.drop(columns=[name for name in PROVENANCE if name in rows])
        text = rows.to_html(
            index=False, float_format=lambda v: f"{v:.{digits}g}", border=0, classes="table", na_rep="—", justify="left"
        )
        head, _, body = text.partition(">")
        display(HTML(f'{head} id="{name}"><caption>{caption} {_plain_note(self.note(*tables))}</caption>{body}'))

    def say(self, text: str) -> None:
        """Shows a sentence of Markdown, for numbers that come from the data."""
        display(Markdown(text))

    def note(self, *tables: pd.DataFrame) -> str:
        """The end of a caption: data, settings and profile of the sweeps drawn."""
        parts = []
        for source in dict.fromkeys(source for table in tables for source in sources(table)):
            parts.append(f"Data: {source}.")
        for settings in dict.fromkeys(_settings(table.attrs.get("settings", {})) for table in tables):
            parts.append(f"Settings: {settings}.")
        return " ".join([*parts, f"Profile: {self.profile}."])

    def check(self, claim_id: str, estimate: Estimate, *tables: pd.DataFrame, figure: str) -> None:
        """Judges a declared claim, stores the record and shows the verdict in one line.

        Args:
            claim_id: a claim of ``book/claims.yml``.
            estimate: the measured value with its interval.
            tables: the sweeps it was measured on.
            figure: the label of the figure or table that shows it.

        Raises:
            InputError: for an unknown claim, or one that this run has already judged.
        """
        claim = ledger.claims().get(claim_id)
        if claim is None or claim_id in self.records:
            raise InputError(f"claim {claim_id} " + ("was judged already" if claim else "is not in book/claims.yml"))
        verdict = ledger.judge(claim, estimate, self.profile)
        stamp = provenance()
        self.records[claim_id] = ledger.record(
            claim,
            value=float(estimate.value),
            low=float(estimate.low),
            high=float(estimate.high),
            n=int(estimate.n),
            verdict=verdict,
            profile=self.profile,
            data="; ".join(dict.fromkeys(source for table in tables for source in sources(table))) or THEORY,
            settings=json.loads(json.dumps([table.attrs.get("settings", {}) for table in tables], default=str)),
            figure=figure,
            seconds=float(sum(table.attrs.get("seconds", 0.0) for table in tables)),
            device=", ".join(sorted({d for t in tables for d in t.attrs.get("devices", [])})) or stamp["device"],
            revision=", ".join(sorted({r for t in tables for r in t.attrs.get("revisions", [])})) or stamp["revision"],
            versions=stamp["versions"],
        )
        ledger.write(self.folder / f"{self.number}.ledger.json", self.records.values())
        word = verdict or f"not judged at the {self.profile} profile"
        text = f"measured {estimate}, accepted {ledger.band(claim.accept)}"
        display(Markdown(f"{ledger.MARKS[verdict]} **{word}** — `{claim_id}`: {claim.statement} ({text})"))

    def ledger(self) -> None:
        """Shows the verdicts of this chapter as a table."""
        display(HTML(ledger.html_table(self.records.values(), errata="../book/errata.html")))


def sources(table: pd.DataFrame) -> list[str]:
    """The words for a table's data: its ``source`` column, else what its study says of itself."""
    if "source" in table:
        return sorted(table["source"].dropna().unique())
    return [table.attrs["data"]] if table.attrs.get("data") else []


def _settings(settings: Mapping[str, Any]) -> str:
    """Settings as a reader writes them: ``p = 100 … 800 (4), d = 5, seeds 8``."""
    seeds = settings.get("seeds", 1)
    shown = [f"{name} = {_values(value)}" for name, value in settings.items() if name not in ("seeds", "data")]
    return ", ".join([*shown, f"{seeds} seed" + "s" * (seeds != 1)])


def _values(value: Any) -> str:
    if isinstance(value, list) and len(value) > 3 and not isinstance(value[0], (list, str)):
        return f"{_number(value[0])} … {_number(value[-1])} ({len(value)})"
    return "; ".join(map(_number, value)) if isinstance(value, list) else _number(value)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain_note(text: str) -> str:
    return text.replace("<", "&lt;")
