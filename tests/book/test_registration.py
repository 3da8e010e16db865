"""The registered run: reserved seeds, seeds that decide a band, and a run that stops, resumes and tells no number."""

import gzip
import json
import math
import os
import re
import subprocess
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from companion import __main__ as command
from companion import estimates, paths
from companion.__main__ import main
from companion.book import ledger, registration, views
from companion.book.claims import Claim
from companion.estimates import Estimate
from companion.lab import catalogue, draws, parameters, schedule
from companion.lab.results import Results, files
from companion.lab.store import Store
from regimes.data import datasets
from regimes.seeds import draw_seeds
from regimes.validate import InputError
from tests.references import ROOT

TRACKED = registration.is_tracked
NUMBER, STUDY, IMAGES = "05", "depth.normalised_kernel", "depth.mnist_regression"
GIVEN = {"item": "Z.Fig1", "kind": "beyond", "statement": "It holds.", "source": "derived", "profiles": ("laptop",)}


def test_no_other_run_draws_a_seed_of_the_next_one_and_all_designs_count_from_the_same():
    for number in catalogue.modules():
        for study in catalogue.of(number).values():
            assert draws.RESERVED % study.chunk == draws.BETWEEN % study.chunk == 0, (
                f"{study.name}: its first chunk would be another run's, too"
            )
            for profile in parameters.PROFILES:
                values = parameters.resolve(number, profile)
                for design in study.grid.names(values):
                    (usual, reserved) = study.grid.values(values, design)["seeds"], _reserved(study, values, design)
                    assert max((seed for seeds in usual for seed in seeds), default=0) < draws.of_run()
                    later = draws.of_run() - draws.first(profile)
                    assert reserved == [[seed + later for seed in seeds] for seeds in usual]


def _reserved(study, values, design):
    with draws.drawn_from(draws.of_run()):
        return study.grid.values(values, design)["seeds"]


@pytest.mark.parametrize("estimator", [estimates.mean, estimates.ratio])
@pytest.mark.parametrize("accept, rival, truth", [((0.9, 1.1), 1.5, None), ((0.9, math.inf), 0.7, 0.7)])
def test_as_many_seeds_as_are_said_decide_a_band_in_nine_of_ten_draws(estimator, accept, rival, truth):
    scatter, random = 0.3, np.random.default_rng(5)
    scale = np.log if estimator is estimates.ratio else np.asarray
    back = np.exp if estimator is estimates.ratio else np.asarray
    width = scale(1.0 + scatter) - scale(1.0)

    def drawn(centre, n):
        return estimator(back(centre + width * random.normal(size=n)))

    known = drawn(scale(1.0), 5000)
    needed = estimates.seeds_to_decide(known, accept, rival)
    centre = scale(truth) if truth else (scale(accept[0]) + scale(accept[1])) / 2

    def decided(found):
        inside = accept[0] <= found.low and found.high <= accept[1]
        return inside or found.high < accept[0] or found.low > accept[1]

    for n, at_least, at_most in ((needed, 0.88, 1.0), (math.ceil(needed / 3), 0.0, 0.8)):
        share = np.mean([decided(drawn(centre, n)) for _ in range(2000)])
        assert at_least <= share <= at_most, f"{n} seeds: {share}"


def test_what_has_no_scatter_needs_no_more_seeds_and_what_no_number_of_seeds_decides_is_said():
    assert estimates.seeds_to_decide(Estimate.exact(1.0), (0.9, 1.1), 2.0) == 1
    wide = Estimate(1.0, 0.0, 2.0, 6, "mean, Student's t")
    assert estimates.seeds_to_decide(wide, (0.999, 1.001), 2.0) == math.inf
    assert estimates.seeds_to_decide(wide.anytime(), (0.5, 1.5), 2.0) == estimates.seeds_to_decide(
        wide, (0.5, 1.5), 2.0
    ), "widening for looks is no scatter"


def test_a_claim_without_enough_seeds_or_of_other_code_is_refused(monkeypatch):
    claim = Claim(
        id="Z.Fig1-mean",
        accept=(0.9, 1.1),
        alternative={"value": 2.0, "what": "null"},
        function=estimates.mean,
        **GIVEN,
    )
    monkeypatch.setattr(registration, "all_claims", lambda: [("99", claim)])
    method = {"n": 6, "interval": "mean, Student's t", "settings": [{}]}
    entry = ledger.entry_of(claim, value=1.0, low=0.98, high=1.02, **method)

    def refused(**kept):
        return [*map(str, registration.refusals({"99": None}, kept={claim.id: entry | kept}))]

    assert refused() == []
    (line,) = refused(low=0.8, high=1.2)
    assert "seeds would decide its band in nine of ten draws, and it has 6" in line
    (line,) = refused(late={"value": 1.0, "low": 0.8, "high": 1.2})
    assert "and it has 6" in line, "the larger sizes decide, too"
    (line,) = refused(digest="other")
    assert "its code is not that of its entry" in line
    assert [*map(str, registration.refusals({"99": None}, kept={}))] == ["Z.Fig1-mean: it was never measured"]


def test_a_claim_that_knows_seeds_by_their_numbers_is_refused(monkeypatch):
    """Its rows will have others: it would find nothing, or all."""
    design = catalogue.find(IMAGES)[1]["main"]

    def first_ten(rows=design):
        return estimates.mean(rows[rows.seed < 10].x)

    def all_of_them(rows=design):
        return estimates.mean(rows.x)

    class OnePage:
        parameters: ClassVar[dict] = {}

        def rows(self, study, design=""):
            return pd.DataFrame({"seed": range(20), "x": np.linspace(0.98, 1.02, 20)})

    monkeypatch.setattr(registration.everywhere, "everywhere", lambda *args, **about: None)
    for function, refused in ((first_ten, 1), (all_of_them, 0)):
        about = GIVEN | {"accept": (0.9, 1.1), "alternative": {"value": 2.0, "what": "null"}}
        claim = Claim(id="Z.Fig1-mean", function=function, **about)
        monkeypatch.setattr(registration, "all_claims", lambda claim=claim: [(NUMBER, claim)])
        entry = ledger.entry_of(
            claim, value=1.0, low=0.99, high=1.01, n=20, interval="mean, Student's t", settings=[{}]
        )
        found = [*map(str, registration.refusals({NUMBER: OnePage()}, kept={claim.id: entry}))]
        assert len(found) == refused and all("knows seeds by their numbers" in line for line in found)


@pytest.fixture
def small_run(tmp_path, monkeypatch):
    """A registered run of one study, at its smallest size, in a folder of its own."""
    study = catalogue.find(STUDY)[1]
    monkeypatch.setattr(registration, "_studies", lambda: [(NUMBER, study)])
    monkeypatch.setattr(registration, "_values", lambda number: parameters.resolve(number, "smoke"))
    monkeypatch.setattr(registration, "all_claims", lambda: [(NUMBER, claim) for claim in _claims()])
    monkeypatch.setattr(registration, "needs_commit", lambda what: None)
    monkeypatch.setattr(registration, "committed", lambda revision: True)
    monkeypatch.setattr(registration, "is_tracked", lambda path: True)
    monkeypatch.setattr(os, "nice", lambda more: more)
    monkeypatch.setattr(paths, "results", lambda: tmp_path / "results")
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    (tmp_path / "results").mkdir()
    return study


def _claims():
    """Two claims on the study, and one without draws."""
    every = [*ledger.claims().values()]
    on_study = [claim for claim in every if STUDY in {study.name for study in claim.designs}]
    return [*on_study[:2], next(claim for claim in every if not claim.designs)]


def _held(study):
    return Results(study, registration.folder() / f"{STUDY}.cells.jsonl.gz").finished


def test_a_registered_run_stops_and_resumes_on_seeds_that_nobody_has_seen(small_run, monkeypatch):
    with pytest.raises(InputError, match="nothing is registered"):
        registration.run()
    declared = registration.register()
    assert json.loads(json.dumps(declared)) == registration.registered() and len(declared["claims"]) == 3
    assert declared["studies"][STUDY]["digest"] == small_run.code.digest
    (before,) = registration.progress()
    assert before.finished == 0 < before.cells == sum(declared["studies"][STUDY]["cells"].values())
    (stopped,) = registration.run(budget=1e-9, jobs=1)
    assert stopped.finished < stopped.cells
    (done,) = registration.run(jobs=1)
    assert done.finished == done.cells and done.elsewhere == 0
    seeds = {result.cell.seed for result in _held(small_run).values()}
    assert seeds <= {*range(draws.RESERVED, draws.RESERVED + 1000)}
    computed = []
    monkeypatch.setattr(registration.schedule, "fill", lambda *args, **options: computed.append(args))
    registration.run(jobs=1)
    assert not computed, "what is there is computed once"


@pytest.mark.parametrize("when", ["before it is written", "while it is written"])
def test_a_run_that_is_killed_at_any_moment_loses_no_cell(small_run, monkeypatch, when):
    """What a killed process had computed is in the store, and what it had written stays."""
    registration.register()
    computed, step, save = [], schedule.Progress.step, registration.write_results

    class Killed(BaseException):
        """In place of a signal that no process survives."""

    def killed(*args, **options):
        raise Killed

    def killed_at_third(self, cells, seconds=0.0):
        computed.append(cells)
        if len(computed) == 3:
            monkeypatch.setattr(registration, "write_results", killed)
            raise Killed
        step(self, cells, seconds)

    monkeypatch.setattr(registration, "ROUND", 0.0)
    if when == "while it is written":
        monkeypatch.setattr(registration, "write_results", killed)
    else:
        monkeypatch.setattr(schedule.Progress, "step", killed_at_third)
    with pytest.raises(Killed):
        registration.run(jobs=1)
    stored = [*Store.default().names()]
    assert stored and len(_held(small_run)) <= len(stored)
    monkeypatch.setattr(registration, "write_results", save)
    monkeypatch.setattr(schedule.Progress, "step", step)
    known = {key: result.provenance for key, result in _held(small_run).items()}
    (stopped,) = registration.run(budget=1e-9, jobs=1)
    assert stopped.finished >= len(stored), "a run takes what the store has before it computes"
    (done,) = registration.run(jobs=1)
    assert done.finished == done.cells
    assert known.items() <= {key: result.provenance for key, result in _held(small_run).items()}.items()


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        *(("studies", part) for part in ("digest", "designs")),
        *(("claims", part) for part in ("digest", "accept", "alternative", "stated", "designs")),
    ],
)
def test_what_changed_since_it_was_registered_is_not_run(small_run, kind, part):
    """A claim's band and rival, a study's settings and seeds are no code, and as frozen as code."""
    known = registration.register()
    name = next(iter(known[kind]))
    known[kind][name][part] = {"main": {"seeds": [1]}} if part == "designs" else "other"
    draws.registered_file().write_text(json.dumps(known))
    with pytest.raises(InputError, match=f"1 claims or studies are not as they were registered: {name}"):
        registration.run(jobs=1)
    with pytest.raises(InputError, match=f"{name} is not as it was registered"):
        registration.register()


def test_a_registration_that_is_in_no_commit_is_not_run(small_run, monkeypatch):
    """Git does not count a file that it does not know as a change."""
    registration.register()
    monkeypatch.setattr(registration, "is_tracked", TRACKED)
    with pytest.raises(InputError, match=r"registered\.json is in no commit"):
        registration.run(jobs=1)
    assert TRACKED(ROOT / "README.md") and not registration.folder().exists()


def test_designs_whose_data_are_elsewhere_are_registered_there_and_the_run_draws_what_is_here(small_run, monkeypatch):
    """So no claim is judged on other data than before, though no one machine has those of all."""
    study = catalogue.find(IMAGES)[1]
    stored = Results(study, ROOT / "results" / f"{IMAGES}.cells.jsonl.gz")
    monkeypatch.setattr(draws, "_registered", lambda: {"first seed": draws.RESERVED, "judged": "abc"})  # as stored
    monkeypatch.setattr(registration, "_studies", lambda: [(NUMBER, study)])
    monkeypatch.setattr(Results, "of", classmethod(lambda cls, study: stored))
    kept = catalogue.kept_cells(NUMBER, stored)["main"].values()
    of_stored = {*map(registration._words, kept)}
    here = catalogue.is_here
    monkeypatch.setattr(catalogue, "is_here", lambda setting: False)
    declared = registration.register()
    assert declared["studies"][IMAGES]["data"] == {} and declared["data"] == {}
    assert registration.unregistered(declared) == [
        f"{IMAGES}, {name}" for name in declared["studies"][IMAGES]["designs"]
    ]
    with pytest.raises(InputError, match=r"designs are not registered yet, .*REGIMES_DATA"):
        registration.run(jobs=1)
    monkeypatch.setattr(catalogue, "is_here", here)
    whole = registration.register()
    assert not registration.unregistered(whole) and set(whole["studies"][IMAGES]["data"]["main"]) == of_stored
    assert "no point of it is new" in whole["data"][of_stored.pop()]
    again = registration.register()
    assert again == whole, "what is registered stays, and is counted once"
    with_less = json.loads(json.dumps(whole))
    del with_less["studies"][IMAGES]["data"]["main"]
    draws.registered_file().write_text(json.dumps(with_less))
    assert registration.register() == whole, "a design that comes later may share its cells with another"
    monkeypatch.setattr(catalogue, "is_here", lambda setting: False)
    (done,) = registration.progress()
    assert done.elsewhere == done.cells > 0 and done.seconds_left == 0


def test_a_reserved_seed_splits_a_finite_data_set_in_another_way():
    pool = datasets.load("digits")
    (old,), (new,) = (datasets.split(pool, [200], seed=draw) for draw in draw_seeds("train", [0, draws.RESERVED]))
    same = sum(bool((old.x == image).all(1).any()) for image in new.x)
    assert same < 60, "a ninth of the 200 by chance"


def test_the_command_says_how_far_the_run_is_and_no_number(small_run, capsys):
    with pytest.raises(SystemExit):
        main(["register", "--run"])
    assert "nothing is registered" in capsys.readouterr().err
    registration.register()
    claim, _, formula = _claims()
    assert main(["claim", claim.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"registered, running: 0 of \d+ cells of {STUDY}", lines[-2]) and "measured" not in lines
    assert main(["register", "--run", "--jobs", "1", "--budget", "10m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and "cells, " in lines[0] and lines[0].startswith("registered at ")
    assert re.search(r"running: (\d+) of \1 cells", registration.running(claim))
    assert registration.running(formula) == "registered: a computation without draws"
    assert "declared after" in registration.running(replace(claim, id="Z.Fig1-new"))


def test_the_run_goes_on_below_other_work_and_prints_the_hours_left(small_run, monkeypatch, capsys):
    registration.register()
    niced = []
    monkeypatch.setattr(os, "nice", niced.append)
    monkeypatch.setattr(registration, "ROUND", 0.0)
    main(["register", "--run", "--jobs", "1"])
    assert niced == [command.NICE]
    assert re.findall(r"registered run: (\d+) cells left, about [\d.]+ h", capsys.readouterr().err)[-1] == "0"


def test_once_judged_the_registered_cells_are_the_books_and_a_smoke_run_draws_others(small_run, tmp_path, monkeypatch):
    registration.register()
    with pytest.raises(InputError, match=f"{STUDY} has 0 of"):
        registration.judge()
    registration.run(jobs=1)
    monkeypatch.setattr(registration, "descends", lambda later, earlier: False)
    with pytest.raises(InputError, match="older than its registration"):
        registration.judge()
    monkeypatch.setattr(registration, "descends", lambda later, earlier: True)
    monkeypatch.setattr(registration, "declared_at", lambda commit: {})
    with pytest.raises(InputError, match="older than its registration"):
        registration.judge()
    monkeypatch.setattr(registration, "declared_at", lambda commit: registration.registered())
    exploratory = tmp_path / "results" / "jamming.ensembles.cells.jsonl.gz"
    exploratory.write_bytes(b"")
    with pytest.raises(
        InputError, match=r"0 cells come from other code .*: because must say why, and only then, got 'x'"
    ):
        registration.judge("x")
    (name,) = [file.name for file in registration.folder().iterdir()]
    registration.judge()
    assert (tmp_path / "results" / name).exists() and not registration.folder().exists() and not exploratory.exists()
    assert json.loads((tmp_path / "results" / "exploratory.json").read_text()) == []
    for profile, start in {"smoke": 0, "laptop": draws.RESERVED, "paper": draws.RESERVED}.items():
        settings = small_run.grid(parameters.resolve(NUMBER, profile))
        assert min(seed for setting in settings for seed in setting["seeds"]) == start
    assert registration.registered()["judged"] and not registration.is_running()
    registration.register()
    again = registration.registered()
    assert again["first seed"] == draws.RESERVED + draws.BETWEEN and again["before"] == draws.RESERVED
    assert registration.is_running() and draws.first("laptop") == draws.RESERVED, "the book stays as it was judged"
    (done,) = registration.run(jobs=1)
    assert done.finished == done.cells
    assert min(result.cell.seed for result in _held(small_run).values()) == again["first seed"]


def test_cells_of_other_code_than_was_registered_are_named_with_a_reason(small_run, monkeypatch):
    """The registered code may not end on a cell."""
    known = registration.register()
    registration.run(jobs=1)
    known["studies"][STUDY]["digest"] = "another"
    monkeypatch.setattr(registration, "needs_registration", lambda: known)
    monkeypatch.setattr(registration, "descends", lambda later, earlier: True)
    monkeypatch.setattr(registration, "declared_at", lambda commit: known)
    count = sum(known["studies"][STUDY]["cells"].values())
    with pytest.raises(InputError, match=rf"{count} cells come from other code .*; {STUDY}, cell .*: because must say"):
        registration.judge()
    deviations = registration.judge("It did not end.")["deviations"]
    assert len(deviations["cells"]) == count and deviations["because"] == "It did not end."
    assert registration.registered()["deviations"] == deviations


def test_a_claim_that_was_changed_after_the_run_is_exploratory_and_one_whose_code_was_written_anew_is_not(small_run):
    claim = _claims()[0]
    entry = ledger.entry_of(claim, value=1.0, low=0.9, high=1.1, n=8)
    registration.register()
    declared = registration.registered()
    registration.note_found([entry])
    assert registration.registered() == declared and not registration.exploratory(entry), "not before it is judged"
    draws.registered_file().write_text(json.dumps(declared | {"judged": "abc"}))
    assert not registration.exploratory(entry)
    assert registration.exploratory(entry | {"digest": "other"}) == "another estimator since the registration"
    registration.note_found([entry])
    registration.note_found([entry | {"value": 2.0, "high": 2.1}])
    assert registration.registered()["found"] == {claim.id: {"value": 1.0, "low": 0.9, "high": 1.1}}, "the first"
    assert not registration.exploratory(entry | {"digest": "other"})
    moved = {"digest": "other", "low": 0.8}
    assert registration.exploratory(entry | moved) == "another estimator since the registration"
    assert not registration.exploratory(entry | {"low": 0.8}), "rows of other parameters change no claim"
    for change, words in (
        ({"accept": [0, 1]}, "another band since the registration"),
        ({"alternative": {"value": 9, "what": "x"}, "stated": 1.5}, "another rival and stated number since"),
        ({"id": "Z.Fig1-new"}, "declared after the registration"),
    ):
        assert words in registration.exploratory(entry | change)
    new = views.show("table", [entry | {"id": "Z.Fig1-new", "item": "Z.Fig1"}, entry])
    assert new.count("exploratory: declared after the registration") == 1
    assert re.findall(r'data-registered="(\w+)"', new) == ["exploratory", "registered"]


SEEDS = """
[counted.main]
size = "$size"
seeds = 5
stored.seeds = 20
registered.seeds = 8
registered.size = 7
[counted.more]
extends = "main"
registered.seeds = 60
"""


def test_a_design_may_register_more_or_fewer_seeds_than_are_stored(mini_book, monkeypatch):
    """Before the run is judged its seeds are no stored ones; from then on they are what is to be stored."""
    paths.designs_file("99").write_text(SEEDS, encoding="utf-8")
    name, size = "99.counted.{}.seeds".format, "99.counted.main.size"
    assert parameters.designs("99", "registered") == {name("main"): 8, name("more"): 60, size: 7}
    monkeypatch.setattr(draws, "is_judged", lambda: False)
    assert parameters.designs("99", "stored") == {name("main"): 20}
    assert [registration._values("99")[name(one)] for one in ("main", "more")] == [8, 60]
    assert registration._stored("99")[name("main")] == 20 and parameters.resolve("99")[name("main")] == 5
    assert parameters.resolve("99")[size] == "$size"
    monkeypatch.setattr(draws, "is_judged", lambda: True)
    assert parameters.designs("99", "stored") == {name("main"): 8, name("more"): 60, size: 7}
    assert parameters.resolve("99")[name("main")] == 5 and parameters.resolve("99")[size] == 7


@pytest.mark.parametrize("stored, registered, n", [(20, 60, 24), (20, 5, 2), (20, 20, 8)])
def test_a_claim_has_as_many_more_realisations_as_its_designs_register(monkeypatch, stored, registered, n):
    claim = next(claim for claim in ledger.claims().values() if IMAGES in {study.name for study in claim.designs})
    for name, seeds in (("_stored", stored), ("_values", registered)):
        given = {f"{NUMBER}.mnist_regression.main.seeds": seeds}
        monkeypatch.setattr(registration, name, lambda number, given=given: parameters.resolve(number, "smoke", given))
    assert registration.planned(claim, 8) == n
    assert registration.planned(claim, stored) == registered
    (name,) = [name for name, table in claim.tables.items() if table.study.name == IMAGES]
    assert registration.planned(replace(claim, given=claim.given | {name: claim.tables[name].study}), 8) == n


def test_the_designs_that_have_fewer_seeds_than_a_claim_do_not_count(monkeypatch):
    """A claim on six of one design's seeds and forty of another's has six, or the forty of the other."""
    claim = next(claim for claim in ledger.claims().values() if IMAGES in {study.name for study in claim.designs})
    study = catalogue.find("depth.operator_distances")[1]
    both = replace(claim, given=claim.given | {"other": study["main"]})
    for which, one, other in (("_stored", 6, 40), ("_values", 12, 8)):
        given = {f"{NUMBER}.mnist_regression.main.seeds": one, f"{NUMBER}.operator_distances.main.seeds": other}
        monkeypatch.setattr(registration, which, lambda number, given=given: parameters.resolve(number, "smoke", given))
    assert [registration.planned(both, n) for n in (6, 40, 10)] == [8, 8, 2]


def test_what_stands_against_a_registration_is_said_of_some_chapters(monkeypatch, capsys):
    asked = []
    line = registration.Refusal("Z.Fig1-mean", "it was never measured")
    monkeypatch.setattr(registration, "refusals", lambda page_of, kept: asked.extend(page_of) or [line])
    assert main(["register", "--check", "05", "02"]) == 1
    assert asked == ["05", "02"]
    assert capsys.readouterr().out.splitlines() == [str(line), "1 reasons against a registration"]
    with pytest.raises(SystemExit):
        main(["register", "--check", "5"])
    assert "chapter must be one of 01" in capsys.readouterr().err
    monkeypatch.setattr(registration, "refusals", lambda page_of, kept: asked.extend(page_of) or [])
    asked.clear()
    assert main(["register", "--check"]) == 0 and asked == [*catalogue.modules()]


def test_a_commit_descends_from_itself_and_from_those_before():
    registration.descends.cache_clear()
    assert registration.descends("HEAD", "HEAD") and not registration.descends("HEAD", "no-such-commit")


def test_what_a_commit_declares_is_read_there(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    for folder in ("chapters/designs", "results"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for command_line in (["init", "-q"], ["commit", "-qm", "one", "--allow-empty"]):
        subprocess.run([*git, *command_line], check=True)
    draws.registered_file().write_text('{"first seed": 3}')
    for command_line in (["add", "."], ["commit", "-qm", "two"]):
        subprocess.run([*git, *command_line], check=True)
    registration.declared_at.cache_clear()
    assert registration.declared_at("HEAD") == {"first seed": 3} and registration.declared_at("HEAD~1") == {}
    registration.declared_at.cache_clear()


def test_the_books_registered_cells_come_from_commits_that_held_their_registration():
    known = registration.registered()
    if "judged" not in known:
        pytest.skip("no registered run is judged yet")
    lines = [line for path in files().values() for line in gzip.decompress(path.read_bytes()).splitlines()]
    revisions = {json.loads(line)["provenance"]["revision"] for line in lines}
    parts = ("revision", "claims", "studies")
    held = {it: registration.declared_at(it) for it in revisions}
    assert [it for it in held if any(held[it].get(part) != known[part] for part in parts)] == []
