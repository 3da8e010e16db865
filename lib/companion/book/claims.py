r"""Claims: a statement of a paper, the interval that counts as reproduced, and the function of rows that measures it.

The numbers stand in the decorator, the words in the docstring::

    @claim("D.Fig2-late-layer-1", accept=(0.02, math.inf), rival=0, figure="tab-d-end", given={"layer": 1})
    @again("D.Fig2-late-layer-2", given={"layer": 2}, part_of="D.Fig2-late-layer-1")
    def late_robustness(rows=studies.correlations["isotropic"], *, layer):
        r'''On isotropic data the C-NFA of layer {layer} is more robust to the scale than the UC-NFA.

        Range of the UC-NFA minus range of the C-NFA over scales from 1 to 0.001, at the end of training.

        Rival: both depend on the scale alike
        Source: paper D, App. G and Fig. 2
        Short: UC-NFA varies more, layer {layer}
        '''
        return robustness(rows[rows.layer == layer])

The first paragraph of the docstring is the statement, the rest says which number is measured, at which settings. Below
stand what gives the rival's number, the place in the paper, and the statement in at most eight words; and after
``Elsewhere: `` what the same number is on stored rows that disagree. A source that
begins with "derived" makes it a claim beyond the papers. An argument with a default is a table: the rows of that design
of a study, or of all designs of a study. An argument without one is a parameter of the chapter, or what ``given``
holds, a design among it; ``{layer}`` in the words stands for the value given.

``again`` declares another claim on the same function: its id, and what differs.

The function returns an ``Estimate``, or for a claim on large sizes a ``Drift``. If it rests on some of its rows alone,
it returns these, too: ``return mean(far.off), far``. It returns ``None`` where the rows cannot tell.

Modules in a paper's folder ``claims`` declare claims; each names its chapter, ``CHAPTER = "05"``. A claim on a study
that is typed into a notebook is typed there, too, and is no claim of the book: no erratum and no other claim names it.
"""

import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pandas as pd

from companion import estimates
from companion.estimates import Drift, Estimate
from companion.lab import digest, parameters
from companion.lab.names import chapters_of_papers, texts_of_papers
from companion.lab.study import Design, Study
from regimes import validate
from regimes.validate import InputError

KINDS = {"paper": "Statements of the papers", "beyond": "Beyond the papers"}


class Page(Protocol):
    """What a claim is measured on: a chapter, or its stored rows alone."""

    parameters: Mapping[str, Any]

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper with the interval that counts as reproduced, declared before it is measured.

    Attributes:
        id: ``item-slug``.
        item: the figure, table or statement, as in the papers' list.
        kind: ``paper`` (a paper says so), ``beyond`` (new here).
        statement: the claim in words.
        source: paper and place.
        short: the statement in at most eight words, for the row below its figure; by default its id.
        measure: which number, at which settings, if the statement does not say so.
        elsewhere: what the same number is at settings at which the statement is not judged, where its interval there is
            disjoint from the judged one (``companion.book.everywhere``).
        accept: ``(low, high)`` of the measured interval that reproduces it; either may be infinite.
        alternative: the counter-hypothesis: the ``value``, outside ``accept``, that a plausible wrong theory, the null
            or the rival paper gives, and ``what`` gives it.
        profiles: the profiles at which it may be judged.
        function: measures it.
        at: the settings that its words name, ``{p: [512, 8192], d: 5}``: axes of its study, and values among those of
            the rows it is judged on. A run with other parameters does not test it if its rows lack one.
        stated: the number in the paper, if any; inside ``accept``. An entry says if its interval leaves it out.
        corrected: ``(low, high)`` of the corrected statement, if its erratum gives a number.
        erratum: its entry in ``book/errata.yml``. Only one in the drawer *error* gives the verdict "corrected".
        part_of: the main claim on the same statement of the paper, of which this one is a part, a repetition or another
            reading; counts have the statement once.
        figure: the label of the figure or table that shows it.
        headline: whether it is among the ten of its chapter that a physicist would repeat.
        given: arguments of its function by name, beside the chapter's parameters; a design or a study is a table.
    """

    id: str
    item: str
    kind: str
    statement: str
    source: str
    accept: tuple[float, float]
    alternative: Mapping[str, Any]
    profiles: tuple[str, ...]
    function: Callable[..., Any]
    short: str = ""
    measure: str = ""
    elsewhere: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    stated: float | None = None
    corrected: tuple[float, float] | None = None
    erratum: str | None = None
    part_of: str | None = None
    figure: str = ""
    headline: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        validate.one_of(KINDS, kind=self.kind)
        if not self.statement:
            raise InputError("it needs a statement: the first paragraph of its function's docstring")
        if not self.source:
            raise InputError("it needs a source: the line 'Source: ' of its function's docstring")
        if set(self.alternative) != {"value", "what"} or not str(self.alternative["what"]).strip():
            raise InputError(f"alternative must hold a value and what gives it, got {dict(self.alternative)}")
        value = self.alternative["value"]
        validate.number(**{"the value of alternative": value})
        if self.accept[0] <= value <= self.accept[1]:
            raise InputError(f"the alternative {value:g} lies inside accept {band(self.accept)}: the claim cannot fail")
        if self.stated is not None and not self.accept[0] <= self.stated <= self.accept[1]:
            raise InputError(f"the stated number {self.stated:g} lies outside accept {band(self.accept)}")
        if self.corrected and not self.erratum:
            raise InputError("what is corrected needs an erratum that quotes it")
        if len(self.short.split()) > 8:
            raise InputError(f"short must have at most eight words, got {self.short!r}")

    @property
    def tables(self) -> dict[str, Study | Design]:
        """The rows that its function takes, by the names of its arguments."""
        named = {name: table.default for name, table in self._arguments.items()} | dict(self.given)
        return {name: table for name, table in named.items() if isinstance(table, Study | Design)}

    @property
    def designs(self) -> dict[Study, set[str]]:
        """The designs of each study that its function takes; one without a name stands for all."""
        by_study: dict[Study, set[str]] = {}
        for table in self.tables.values():
            study, design = table if isinstance(table, Design) else (table, "")
            by_study.setdefault(study, set()).add(design)
        return by_study

    @property
    def knobs(self) -> list[str]:
        """The parameters of the chapter that its function takes."""
        return [name for name in self._arguments if name not in {*self.tables, *self.given}]

    @property
    def measured_by(self) -> dict[str, str]:
        """The name of its function, the digest of what that computes with, and the first digits of each part of it."""
        name, parts = f"{self.function.__module__}.{self.function.__name__}", self.parts
        return {"function": name, "digest": digest.of_parts(parts), "parts": digest.brief(parts)}

    @property
    def parts(self) -> dict[str, str]:
        """The digests of all that its function computes with, by name; of tables the studies, designs and versions."""
        return digest.parts(self.function, self.given)

    def measured(self, page: Page) -> tuple[Estimate | Drift, list[pd.DataFrame]] | None:
        """What its function finds on a page's rows, and the rows that this rests on; ``None`` if these cannot tell."""
        tables = {}
        for name, wanted in self.tables.items():
            tables[name] = page.rows(wanted.study, wanted.name) if isinstance(wanted, Design) else page.rows(wanted)
        knobs = {name: page.parameters[name] for name in self.knobs}
        result = self.function(**{**self.given, **knobs, **tables})
        estimate, *rows = result if isinstance(result, tuple) else (result,)
        return None if estimate is None else (estimate, rows or [*tables.values()])

    @property
    def _arguments(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters


TYPED = "__main__"  # the module of what is typed into a notebook
DERIVED = "derived"  # the first word of the source of what no paper says
ALONE = ("headline", "part_of")  # a claim's own, which those below it do not share
Declarator = Callable[[Callable[..., Any]], Callable[..., Any]]
_LABEL = re.compile(r"^(Rival|Elsewhere|Source|Short): ", re.MULTILINE)
_DECLARED: dict[str, list[Claim]] = {}  # by module
_AGAIN: dict[Callable[..., Any], dict[str, dict[str, Any]]] = {}  # by function: what differs, by id, in order


def claim(name: str, *, accept: tuple[float, float], rival: float, figure: str, **about: Any) -> Declarator:
    """Decorator that declares a claim on what a function finds; its words are the function's docstring.

    Args:
        name: the claim's id: its item in the papers' list, a hyphen, a word or several.
        accept: the interval that counts as reproduced.
        rival: the value that a wrong theory, the null or the rival paper gives, outside ``accept``.
        figure: the label of the figure or table that shows it.
        about: ``given``, arguments of the function by name; ``profiles``, if those at which it may be judged are not
            laptop and paper; ``at``, ``stated``, ``corrected``, ``erratum``, ``part_of``, ``headline``;
            ``kind``, where its source does not tell.

    Raises:
        InputError: for a declaration that is not whole, or cannot fail.
    """
    first = {"accept": accept, "rival": rival, "figure": figure} | about

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        others = _AGAIN.pop(function, {})
        shared = {key: value for key, value in first.items() if key not in ALONE}
        declared = {name: first} | {other: shared | own for other, own in others.items()}
        of_module = _DECLARED.setdefault(function.__module__, [])
        # of a module that was loaded again, or a cell that ran again
        of_module[:] = [it for it in of_module if it.function.__name__ != function.__name__]
        of_module += [_made(it, function, **numbers) for it, numbers in declared.items()]
        return function

    return wrap


def again(name: str, **differs: Any) -> Declarator:
    """Decorator, below ``claim``, that declares another claim on the same function.

    Args:
        name: its id.
        differs: what ``claim`` takes, where it is another value; ``rival=(value, words)``, ``statement``, ``measure``,
            ``elsewhere``, ``source`` and ``short`` where the docstring's words do not hold. ``headline`` and
            ``part_of`` are each claim's own.
    """

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        _AGAIN[function] = {name: differs} | _AGAIN.get(function, {})  # decorators go upwards
        return function

    return wrap


def paragraphs(docstring: str) -> dict[str, str]:
    """The words of a claim, by name: ``statement``, ``measure``, and what its docstring labels."""
    head, *labelled = _LABEL.split(docstring)
    statement, _, measure = head.strip().partition("\n\n")
    named = dict(zip([label.lower() for label in labelled[::2]], labelled[1::2]))
    return {key: " ".join(text.split()) for key, text in ({"statement": statement, "measure": measure} | named).items()}


def _made(name: str, function: Callable[..., Any], rival: Any, **about: Any) -> Claim:
    """A claim on what a function finds: its words are those of the docstring, where ``about`` has no others."""
    value, *what = rival if isinstance(rival, tuple) else (rival,)
    given = dict(about.get("given", {}))
    texts = paragraphs(inspect.getdoc(function) or "")
    texts |= {key: about[key] for key in (*texts, "elsewhere", "short") if key in about}
    if what:
        (texts["rival"],) = what
    for key, text in texts.items():
        for argument, of_claim in given.items():
            text = text.replace(f"{{{argument}}}", str(of_claim))
        texts[key] = text
    alternative = {"value": value, "what": texts.pop("rival", "")}
    kind = "beyond" if texts.setdefault("source", "").startswith(DERIVED) else "paper"
    defaults = {"item": name.partition("-")[0], "kind": kind, "profiles": ("laptop", "paper")}
    try:
        return Claim(id=name, function=function, alternative=alternative, **defaults | about | texts | {"given": given})
    except (TypeError, IndexError, AttributeError, InputError) as error:
        raise InputError(f"claim {name}: {error}") from None


def all_claims() -> list[tuple[str, Claim]]:
    """All claims of the papers with their chapters, in the order of their declarations."""
    numbers = sorted({*chapters_of_papers("claims")} & parameters.chapters().keys())
    return [(number, claim) for number in numbers for claim in _of_modules(number)]


def claims_of(number: str) -> list[Claim]:
    """The claims that a chapter's figures show, with those that are typed into the notebook that runs."""
    return [*_of_modules(number), *_DECLARED.get(TYPED, ())]


def _of_modules(number: str) -> list[Claim]:
    names = [importlib.import_module(name).__name__ for name in texts_of_papers("claims", number)]
    return [claim for name in names for claim in _DECLARED.get(name, ())]


def band(bounds: Sequence[float | None]) -> str:
    """An accept band as a reader writes it: ``0.85 … 0.9``, ``≥ 0``, ``≤ 1``; ``None`` or infinity is no bound."""
    low, high = (None if end is None or math.isinf(end) else end for end in bounds)
    lower, upper = (estimates.plain(f"{end:.4g}") if end is not None else "" for end in (low, high))
    if lower and upper:
        return f"{lower} … {upper}"
    return f"≥ {lower}" if lower else f"≤ {upper}" if upper else "any"
