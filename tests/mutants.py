"""What a changed token would do: one-token mutants of the code, and whether anything notices them.

``python -m tests.mutants claims [FILE]`` changes every token of the claims' code that computes or declares, one at a
time, and judges the claims that rest on it, on the stored rows: is the ledger still the kept one, to a thousandth?
``python -m tests.mutants rest [FILE] [COUNT]`` draws tokens of the rest of the library, and runs the test files that
are nearest to each. Results go to FILE, a line each; what stands there is not tried again, in the same random order.
``python -m tests.mutants made FILE`` tries those that the stored rows let pass on the tests of made rows.
``python -m tests.mutants show FILE`` counts them and lists those that nothing noticed.

A comparison has two mutants, its boundary and its opposite; any other token one.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

import pytest

from companion import paths
from companion.book import claims, ledger
from companion.estimates import Drift
from companion.lab import parameters, schedule
from companion.lab.names import texts_of_papers
from companion.lab.table import CELL, STAMP, provenance
from tests.stored_ledger import NotStoredError, Stored, moved, refuse

SEED = 20261129
OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"), ast.BitXor: ("^", "|"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip
TWINS = {
    "min": "max", "max": "min", "mean": "median", "median": "mean", "sum": "mean", "any": "all", "all": "any",
    "argmin": "argmax", "argmax": "argmin", "idxmin": "idxmax", "idxmax": "idxmin", "floor": "ceil", "ceil": "floor",
    "log": "log10", "log10": "log", "log2": "log", "exp": "expm1", "sqrt": "abs", "std": "var", "first": "last",
    "last": "first", "head": "tail", "tail": "head", "ratio": "mean", "least": "mean", "minimum": "maximum",
    "maximum": "minimum", "nanmean": "nanmedian", "nanmax": "nanmin", "nanmin": "nanmax", "isfinite": "isnan",
    "isna": "notna", "notna": "isna", "ge": "gt", "gt": "ge", "lt": "le", "le": "lt", "cumsum": "cumprod",
    "sin": "cos", "cos": "sin", "abs": "", "absolute": "negative", "sorted": "list", "dropna": "copy",
    "drop_duplicates": "copy", "proportion": "mean",
}  # fmt: skip
METHODS = {"first", "last", "head", "tail", "ge", "gt", "le", "lt", "copy"}  # no functions
WORDS = ("statement", "measure", "source", "short", "rival")  # of a declaration: another test reads them
DECLARES = ("claim", "again")


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes ``start`` to ``end`` of a file are ``new``; it lies in the top-level ``where``."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str
    kind: str
    where: str

    def text(self):
        """The source with the change."""
        source = Path(self.path).read_bytes()
        assert source[self.start : self.end] == self.old.encode()
        return (source[: self.start] + self.new.encode() + source[self.end :]).decode()

    @property
    def name(self):
        """Which one it is, in one word."""
        return f"{self.path}:{self.start}:{self.new}"

    def __str__(self):
        return f"{self.path}:{self.line} in {self.where}: {self.old} -> {self.new or 'nothing'} ({self.kind})"


class Sites(ast.NodeVisitor):
    """Collects the mutants of a file.

    Args:
        path: of the file.
        columns: gives the names of columns that may stand for another one, at a name and a top-level definition.
    """

    def __init__(self, path, columns=lambda name, where: ()):
        self.path, self.columns = str(path), columns
        self.source = Path(path).read_bytes()
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.where, self.declares, self.found = "", False, []
        for statement in ast.parse(self.source).body:
            self._top(statement)

    def _top(self, statement):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        named = [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]
        self.where = getattr(statement, "name", None) or (named[0] if named else "")
        if self.where not in ("CHAPTER", "SOURCE", "__all__"):
            self.visit(statement)

    def add(self, start, end, new, kind):
        old = self.source[start:end].decode()
        line = self.source[:start].count(b"\n") + 1
        kind = f"declared {kind}" if self.declares else kind
        self.found.append(Mutant(self.path, line, start, end, old, new, kind, self.where))

    def at(self, line, column):
        return self.starts[line - 1] + column

    def span(self, node):
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def between(self, left, right, words, kind):
        """A mutant of the operator between two nodes."""
        old, *news = words
        low, high = self.span(left)[1], self.span(right)[0]
        place = self.source.find(old.encode(), low, high)
        if place >= 0:
            for new in news:
                self.add(place, place + len(old), new, kind)

    def visit_FunctionDef(self, node):
        for one in node.decorator_list:
            name = getattr(getattr(one, "func", None), "id", "")
            self.declares = name in DECLARES
            if self.declares:
                for keyword in one.keywords:
                    self.keyword(keyword)
            else:
                self.visit(one)
            self.declares = False
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        self.body(node.body)

    def keyword(self, node):
        """A number of a declaration, and not its words."""
        if node.arg == "rival" and isinstance(node.value, ast.Tuple):
            self.visit(node.value.elts[0])
        elif node.arg not in WORDS or node.arg == "rival":
            self.visit(node.value)

    def visit_ClassDef(self, node):
        self.body(node.body)

    def body(self, statements):
        for statement in statements:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    def visit_Raise(self, node):
        """Words for a reader."""

    def visit_JoinedStr(self, node):
        """Words, mostly."""

    def visit_BinOp(self, node):
        self.between(node.left, node.right, OPERATORS[type(node.op)], "operator")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        old, new = OPERATORS[type(node.op)]
        self.between(node.target, node.value, (f"{old}=", f"{new}="), "operator")
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:]):
            self.between(left, right, OPERATORS[type(node.op)], "operator")
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            self.between(left, right, COMPARISONS[type(op)], "comparison")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        start, _ = self.span(node)
        symbol = {ast.Not: "not ", ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(node.op)]
        self.add(start, start + len(symbol), "", "operator")
        self.generic_visit(node)

    def visit_Constant(self, node):
        start, end = self.span(node)
        value, text = node.value, self.source[start:end].decode()
        if isinstance(value, bool):
            self.add(start, end, str(not value), "switch")
        elif isinstance(value, int):
            self.add(start, end, str(value + 1), "number")
        elif isinstance(value, float) and math.isfinite(value):
            self.add(start, end, repr(value * 1.05 or 0.1), "number")
        elif isinstance(value, str) and text[:1] in "\"'" and text[:3] != '"""' and " " not in value:
            self.string(value, start, end)

    def string(self, value, start, end):
        other, kind = self.other(value), "column"
        if other is None:
            other, kind = f"{value}x", "text"
        self.add(start, end, json.dumps(other, ensure_ascii=False), kind)

    def other(self, name):
        """Another column in place of one; ``None`` for what is none."""
        names = sorted(self.columns(name, self.where))
        return random.Random(f"{name}{len(self.found)}").choice(names) if names else None

    def visit_Attribute(self, node):
        self.visit(node.value)
        end = self.span(node)[1]
        self.called(node.attr, end - len(node.attr.encode()), end)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in TWINS and node.id not in METHODS:
            self.called(node.id, *self.span(node))

    def called(self, name, start, end):
        if name in TWINS and not (TWINS[name] == "" and self.source[start - 1 : start] == b"."):
            self.add(start, end, TWINS[name], "function")
        elif (other := self.other(name)) is not None:
            self.add(start, end, other, "column")


def unlike(record, kept):
    return moved(record, kept) if record else ["nothing measured"]


def measured(claim, page):
    """The numbers and the verdict of a claim on a page, as its record has them; ``None`` where the rows cannot tell."""
    result = claim.measured(page)
    if result is None:
        return None
    found = result[0]
    whole = found.whole if isinstance(found, Drift) else found
    record = {"value": float(whole.value), "low": float(whole.low), "high": float(whole.high), "n": whole.n}
    settings = json.loads(json.dumps(provenance(*result[1]).settings if result[1] else (), default=str))
    late = ledger.late(claim, found) if isinstance(found, Drift) else None
    record |= {"verdict": ledger.judge(claim, found, "laptop"), "interval": whole.method}
    return record | {"settings": settings, "late": late}


# what a declaration says that a record repeats
DECLARED = ("accept", "stated", "alternative", "corrected", "erratum")
REPEATED = ("part_of", "headline", "statement", "measure", "short", "source", "item", "kind")


def undeclared(claim, kept):
    """What of a declaration is not as its record has it."""
    with mock.patch.object(claims.Claim, "measured_by", {}):  # which takes long, and differs
        record = ledger.entry_of(claim)
    names = [name for name in (*DECLARED, *REPEATED) if json.loads(json.dumps(record[name])) != kept[name]]
    names += ["figure"] if kept["figure"] not in (None, claim.figure) else []
    return names + (["at"] if claim.at and ledger.lacks(claim, kept["settings"] or ()) else [])


class Claims:
    """All claims of the book on their stored rows, and which of them rest on a definition."""

    def __init__(self):
        self.kept = {record["id"]: record for record in ledger.read(paths.results() / "ledger.json")}
        self.pages = {number: Stored(number) for number in parameters.chapters()}
        self.seconds, self.unstored, self.resting = {}, set(), defaultdict(set)
        self.chapter_of = {claim.id: number for number, claim in claims.all_claims()}
        self.by_id = {claim.id: claim for _, claim in claims.all_claims()}
        self.modules, self.naming = {}, {}
        for number in self.pages:
            for name in texts_of_papers("claims", number):
                self.modules[importlib.import_module(name).__file__] = name
        with mock.patch.object(schedule, "fill", refuse):
            for number, claim in claims.all_claims():
                self._note(number, claim)

    def _note(self, number, claim):
        for part in claim.parts:
            self.resting[part].add(claim.id)
        self.resting[f"{claim.function.__module__}.{claim.function.__name__}"].add(claim.id)
        begun = time.process_time()
        try:
            record = measured(claim, self.pages[number])
        except NotStoredError:
            self.unstored.add(claim.id)
            return
        self.seconds[claim.id] = time.process_time() - begun
        if (how := unlike(record, self.kept[claim.id])) or (how := undeclared(claim, self.kept[claim.id])):
            print(f"{claim.id} is not as kept: {how}", flush=True)
            self.unstored.add(claim.id)

    def of(self, mutant):
        """The claims that rest on the definition in which a mutant lies, or whose declaration names it."""
        return self.resting.get(f"{self.modules[mutant.path]}.{mutant.where}") or self.declared_with(mutant)

    def declared_with(self, mutant):
        """The claims of a module whose declarations name a constant of it."""
        if mutant.path not in self.naming:
            self.naming[mutant.path] = {
                (it.id, node.name)
                for node in ast.parse(Path(mutant.path).read_bytes()).body
                for decorator in getattr(node, "decorator_list", ())
                for it in ast.walk(decorator)
                if isinstance(it, ast.Name)
            }
        named = {function for name, function in self.naming[mutant.path] if name == mutant.where}
        module = self.modules[mutant.path]
        return {it.id for it in claims._DECLARED.get(module, ()) if it.function.__name__ in named}

    def columns(self, path):
        """For ``Sites``: the columns of the same kind in the tables of the claims that rest on a definition."""

        def alike(name, where):
            module = self.modules[path]
            resting = self.resting.get(f"{module}.{where}") or self.resting_on_module(module)
            pages = [self.pages[self.chapter_of[name]] for name in resting]
            tables = {id(table): table for page in pages for table in page.tables.values()}
            found = set()
            for table in tables.values():
                if name in table and len(table):
                    kind = table[name].dtype.kind
                    found |= {other for other in table if table[other].dtype.kind == kind} - {name, CELL, *STAMP}
            return found

        return alike

    def resting_on_module(self, module):
        return {name for part, names in self.resting.items() if part.startswith(f"{module}.") for name in names}


@contextlib.contextmanager
def executed(mutant, module):
    """The loaded module, and all that took names from it, with the mutant's definitions; then as they were."""
    names, declared = vars(module), claims._DECLARED.setdefault(module.__name__, [])
    before, declared_before, taken = dict(names), list(declared), []
    text = mutant.text()
    try:
        exec(compile(_own(text, mutant.where), mutant.path, "exec"), names)
        changed = {id(it): names[name] for name, it in before.items() if it is not names.get(name)}
        for other in [
            it for name, it in sys.modules.items() if name.startswith("companion.papers.") and it is not module
        ]:
            for name, value in list(vars(other).items()):
                if id(value) in changed and (callable(value) or isinstance(value, (tuple, list, dict))):
                    taken.append((other, name, value))
                    setattr(other, name, changed[id(value)])
        _forget()
        yield
    finally:
        for other, name, value in taken:
            setattr(other, name, value)
        names.clear()
        names.update(before)
        declared[:] = declared_before
        _forget()


def _own(text, where):
    """The definition of a function alone, if no other definition is made with it; else the whole source."""
    body = ast.parse(text).body
    (own,) = [node for node in body if getattr(node, "name", None) == where] or [None]
    others = [node for node in body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    if own is None or any(isinstance(it, ast.Name) and it.id == where for node in others for it in ast.walk(node)):
        return ast.Module(body, [])
    return ast.Module([own], [])


def _forget():
    """Results that the claims' functions keep."""
    for name, module in list(sys.modules.items()):
        if name.startswith("companion.papers.") and ".claims." in name:
            for item in vars(module).values():
                getattr(item, "cache_clear", lambda: None)()


class TooLongError(Exception):
    """A mutant takes much longer than the code."""


def _too_long(*args):
    raise TooLongError


def try_claims(everything, mutant):
    """What becomes of the claims that rest on a mutant: how it was noticed, by which claim."""
    resting = everything.of(mutant)
    module = sys.modules[everything.modules[mutant.path]]
    cost = sum(everything.seconds.get(name, 0) for name in resting)
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 + 5 * cost)
    try:
        with executed(mutant, module), warnings.catch_warnings(action="ignore"):
            return _judged(everything, mutant, resting, module)
    except Exception as error:  # the module does not load
        return "refused", f"{type(error).__name__}: {error}"[:150]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _judged(everything, mutant, resting, module):
    by_id = everything.by_id | {claim.id: claim for claim in claims._DECLARED[module.__name__]}
    if mutant.kind.startswith("declared") or everything.declared_with(mutant):
        for name in sorted(resting):
            if how := undeclared(by_id[name], everything.kept[name]):
                return "declared", f"{name}: {', '.join(how)}"
    judged = sorted(resting - everything.unstored, key=everything.seconds.get)
    for name in judged:
        try:
            record = measured(by_id[name], everything.pages[everything.chapter_of[name]])
        except Exception as error:
            return "error", f"{name}: {type(error).__name__}: {error}"[:150]
        if how := unlike(record, everything.kept[name]):
            return "value", f"{name}: {how[0]}"
    if not resting:
        return "no claim", ""
    return ("survived" if judged else "rows not stored"), f"{len(judged)} of {len(resting)} claims"


def main_claims(file):
    everything = Claims()
    print(f"{len(everything.seconds)} claims on stored rows, {len(everything.unstored)} not", flush=True)
    root = paths.root()
    mutants = [one for path in sorted(everything.modules) for one in Sites(path, everything.columns(path)).found]
    random.Random(SEED).shuffle(mutants)
    known = done(file)
    print(f"{len(mutants)} mutants, {len(known)} known", flush=True)
    resource.setrlimit(resource.RLIMIT_AS, (14 << 30, 14 << 30))
    with file.open("a") as out:
        for mutant in mutants:
            if short(mutant, root) in known:
                continue
            begun = time.process_time()
            how, what = try_claims(everything, mutant)
            took = round(time.process_time() - begun, 3)
            entry = asdict(mutant) | {"name": short(mutant, root), "how": how, "what": what, "s": took}
            entry["path"] = os.path.relpath(mutant.path, root)
            print(json.dumps(entry), file=out, flush=True)


# of the rest: how many of each room, and where they lie
ROOMS = {
    "engine": (36, "lib/regimes/**/*.py"), "theory": (28, "lib/companion/papers/*/theory/*.py"),
    "studies": (24, "lib/companion/papers/*/studies/*.py"), "lab": (16, "lib/companion/lab/*.py"),
    "book": (10, "lib/companion/book/*.py"), "site": (6, "lib/companion/site/*.py"),
}  # fmt: skip
COPIED = (
    "lib",
    "tests",
    "chapters",
    "book",
    "results",
    "_static",
    "Makefile",
    "pyproject.toml",
    "_toc.yml",
    "_config.yml",
)
# of the text of the code, or of all of it: these notice every change, or would take as long as all tests
NOT_NEAR = (
    "test_limits", "test_documented", "test_layers", "test_style", "test_kept_ledger", "test_budgets", "test_make",
    "test_install", "test_pretended_device", "test_bad_input",
)  # fmt: skip
NOT_NOTICED = ("survived", "rows not stored", "no claim")
NEAREST = 3
CPU_SECONDS = 120


def main_rest(file):
    """Draws tokens of each room, and runs the nearest tests on a copy of the tree with each changed."""
    root = paths.root()
    drawn = [it for room, (count, pattern) in ROOMS.items() for it in drawn_of(root, room, count, pattern)]
    random.Random(SEED).shuffle(drawn)
    importing = imports_of_tests(root)
    with tempfile.TemporaryDirectory() as folder, file.open("a") as out:
        copy = Path(folder)
        for name in COPIED:
            where = root / name
            (shutil.copytree if where.is_dir() else shutil.copy)(where, copy / name)
        for room, mutant in drawn:
            if short(mutant, root) in done(file):
                continue
            path = os.path.relpath(mutant.path, root)
            near = nearest(root, path, importing)
            begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            (copy / path).write_text(mutant.text(), encoding="utf-8")
            how, what = run_tests(copy, near)
            shutil.copy(mutant.path, copy / path)
            took = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun, 1)
            entry = {"name": short(mutant, root), "room": room, "how": how, "what": what, "s": took, "tests": near}
            print(json.dumps(asdict(mutant) | {"path": path} | entry), file=out, flush=True)


def drawn_of(root, room, count, pattern):
    """So many mutants of a room, at random, one a site."""
    found = [it for path in sorted(root.glob(pattern)) for it in Sites(path).found if it.kind != "text"]
    return [(room, it) for it in random.Random(f"{SEED} {room}").sample(found, count)]


def imports_of_tests(root):
    """The names that each test file imports, and all modules of the library, with what these import."""
    files = [*root.glob("tests/**/test_*.py"), *root.glob("lib/**/*.py")]
    found = {}
    for path in files:
        names = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        found[os.path.relpath(path, root)] = names
    return found


def nearest(root, path, importing):
    """The test files that import a module; if there is none, those that import a module that does, and so on."""
    targets = {path}
    for _ in range(4):
        names = {
            it.removeprefix("lib/").removesuffix(".py").removesuffix("/__init__").replace("/", ".") for it in targets
        }
        by = {it for it, imported in importing.items() if imported & names}
        tests = [it for it in by if it.startswith("tests/") and Path(it).stem not in NOT_NEAR]
        if tests:
            stem = (Path(path).parent.name if path.endswith("/__init__.py") else Path(path).stem).strip("_")
            return sorted(tests, key=lambda it: (stem not in it, len(importing[it]), it))[:NEAREST]
        targets |= {it for it in by if it.startswith("lib/")}
    return []


def run_tests(folder, tests):
    """Whether test files fail, and which test does."""
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    environment = os.environ | {"PYTHONPATH": str(folder / "lib"), "OMP_NUM_THREADS": "1"}
    for test in tests:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            test,
        ]
        try:
            ran = subprocess.run(
                command, cwd=folder, env=environment, preexec_fn=limit, capture_output=True, text=True, timeout=900
            )
        except subprocess.TimeoutExpired:
            return "time", test
        if ran.returncode < 0:
            return "time", test
        if ran.returncode != 5 and ran.returncode:
            lines = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return "noticed", (lines or [ran.stdout[-200:]])[0][:200]
    return ("survived" if tests else "no test"), ""


def main_made(file):
    """Tries what the stored rows let pass on the tests of made rows; results go beside FILE."""
    everything, root, second = Claims(), paths.root(), file.with_suffix(".made.jsonl")
    items = collected(root / "tests" / "claims")
    known = done(second)
    with second.open("a") as out:
        for line in file.read_text().splitlines():
            entry = json.loads(line)
            if entry["how"] in NOT_NOTICED and entry["name"] not in known:
                fields = {name: entry[name] for name in Mutant.__dataclass_fields__}
                mutant = Mutant(**fields | {"path": str(root / entry["path"])})
                how, what = try_made(everything, mutant, items)
                print(json.dumps(entry | {"before": entry["how"], "how": how, "what": what}), file=out, flush=True)


def collected(folder):
    """The tests of a folder that need no fixture: name, function, arguments, and the words that say what it tries."""
    found = []

    class Collects:
        def pytest_collection_finish(self, session):
            found.extend(session.items)

    pytest.main(["--collect-only", "-qq", "-p", "no:xdist", str(folder)], plugins=[Collects()])
    tests = []
    for item in found:
        arguments = getattr(getattr(item, "callspec", None), "params", {})
        if set(inspect.signature(item.obj).parameters) == set(arguments):
            words = inspect.getsource(item.obj) + " ".join(map(str, arguments.values()))
            tests.append((item.name, item.obj, arguments, words))
    return tests


def try_made(everything, mutant, tests):
    """Which test of made rows fails for a mutant, of those that name it or a claim that rests on it."""
    resting = everything.of(mutant)
    near = [it for it in tests if mutant.where in it[3] or any(name in it[3] for name in resting)]
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    name = "loading"
    try:
        with executed(mutant, sys.modules[everything.modules[mutant.path]]), warnings.catch_warnings(action="ignore"):
            module = everything.modules[mutant.path]
            by_id = everything.by_id | {claim.id: claim for claim in claims._DECLARED[module]}
            with mock.patch.object(ledger, "claims", lambda: by_id):
                for it, test, arguments, _ in near:
                    name = it
                    test(**arguments)
    except BaseException as error:
        return "made rows", f"{name}: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ("survived made rows" if near else "no made rows"), f"{len(near)} tests"


def short(mutant, root):
    return mutant.name.removeprefix(f"{root}/")


def done(file):
    """The names of the mutants whose results a file holds."""
    return {json.loads(line)["name"] for line in file.read_text().splitlines()} if file.exists() else set()


def show(file):
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    for title, key in (("kind", "kind"), ("file", "path")):
        table = defaultdict(Counter)
        for entry in entries:
            table[entry[key]][entry["how"]] += 1
        print(f"\nby {title}")
        for name, counts in sorted(table.items()):
            print(f"  {name}: {dict(counts)}")
    print(len(entries), Counter(entry["how"] for entry in entries))
    for entry in entries:
        if entry["how"] in NOT_NOTICED:
            words = f"{entry['old']} -> {entry['new'] or 'nothing'}"
            print(f"{entry['how']}: {entry['path']}:{entry['line']} {entry['where']}: {words} ({entry['what']})")


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    {"claims": main_claims, "made": main_made, "rest": main_rest, "show": show}[command](Path(rest[0]))
