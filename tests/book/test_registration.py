"""The registered run: reserved seeds, seeds that decide a band, and a run that stops, resumes and tells no number."""

import json
import math

import numpy as np
import pytest

from companion import estimates, paths
from companion.__main__ import main
from companion.book import ledger, registration
from companion.book.claims import Claim
from companion.estimates import Estimate
from companion.lab import catalogue, draws, parameters
from companion.lab.results import Results
from regimes.validate import InputError
from tests.references import ROOT

TRACKED = registration.is_tracked
NUMBER, STUDY = "05", "depth.normalised_kernel"
GIVEN = {"item": "Z.Fig1", "kind": "beyond", "statement": "It holds.", "source": "derived", "profiles": ("laptop",)}


def test_no_other_run_draws_a_reserved_seed_and_all_designs_count_from_the_same():
    for number in catalogue.modules():
        for study in catalogue.of(number).values():
            assert draws.RESERVED % study.chunk == 0, f"{study.name}: its first chunk would be another run's, too"
            for profile in parameters.PROFILES:
                values = parameters.resolve(number, profile)
                for design in study.grid.names(values):
                    (usual, reserved) = study.grid.values(values, design)["seeds"], _reserved(study, values, design)
                    assert max((seed for seeds in usual for seed in seeds), default=0) < draws.RESERVED
                    assert reserved == [[seed + draws.RESERVED for seed in seeds] for seeds in usual]


def _reserved(study, values, design):
    with draws.drawn_from():
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


@pytest.fixture
def small_run(tmp_path, monkeypatch):
    """A registered run of one study, at its smallest size, in a folder of its own."""
    study = catalogue.find(STUDY)[1]
    monkeypatch.setattr(registration, "_studies", lambda: [(NUMBER, study)])
    monkeypatch.setattr(registration, "_values", lambda number: parameters.resolve(number, "smoke"))
    monkeypatch.setattr(registration, "all_claims", lambda: [(NUMBER, claim) for claim in _claims()[:3]])
    monkeypatch.setattr(paths, "results", lambda: tmp_path / "results")
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    monkeypatch.setattr(registration, "needs_commit", lambda what: None)
    monkeypatch.setattr(registration, "committed", lambda revision: True)
    monkeypatch.setattr(registration, "is_tracked", lambda path: True)
    (tmp_path / "results").mkdir()
    return study


def _claims():
    return [*ledger.claims().values()]


def test_a_registered_run_stops_and_resumes_on_seeds_that_nobody_has_seen(small_run, monkeypatch):
    with pytest.raises(InputError, match="nothing is registered"):
        registration.run()
    declared = registration.register()
    assert json.loads(json.dumps(declared)) == registration.registered() and len(declared["claims"]) == 3
    assert declared["studies"][STUDY]["digest"] == small_run.code.digest
    (before,) = registration.progress()
    assert before.finished == 0 < before.cells
    (stopped,) = registration.run(budget=1e-9, jobs=1)
    assert stopped.finished < stopped.cells
    (done,) = registration.run(jobs=1)
    assert done.finished == done.cells
    held = Results(small_run, registration.folder() / f"{STUDY}.cells.jsonl.gz")
    assert {result.cell.seed for result in held.finished.values()} <= {*range(draws.RESERVED, draws.RESERVED + 1000)}
    computed = []
    monkeypatch.setattr(registration.schedule, "fill", lambda *args, **options: computed.append(args))
    registration.run(jobs=1)
    assert not computed, "what is there is computed once"


@pytest.mark.parametrize("kind", ["claims", "studies"])
def test_what_changed_since_it_was_registered_is_not_run(small_run, kind):
    known = registration.register()
    name = next(iter(known[kind]))
    known[kind][name]["digest"] = "other"
    draws.registered_file().write_text(json.dumps(known))
    with pytest.raises(InputError, match=f"1 claims or studies are not as they were registered: {name}"):
        registration.run(jobs=1)


def test_a_registration_that_is_in_no_commit_is_not_run(small_run, monkeypatch):
    """Git does not count a file that it does not know as a change."""
    registration.register()
    monkeypatch.setattr(registration, "is_tracked", TRACKED)
    with pytest.raises(InputError, match=r"registered\.json is in no commit"):
        registration.run(jobs=1)
    assert TRACKED(ROOT / "README.md") and not registration.folder().exists()


def test_the_command_says_how_far_the_run_is_and_no_number(small_run, capsys):
    registration.register()
    assert main(["register", "--run", "--jobs", "1", "--budget", "10m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and "cells, " in lines[0] and lines[0].startswith("registered at ")


def test_once_judged_the_registered_cells_are_the_books_and_a_smoke_run_draws_others(small_run, tmp_path, monkeypatch):
    registration.register()
    with pytest.raises(InputError, match=f"{STUDY} has 0 of"):
        registration.judge()
    registration.run(jobs=1)
    monkeypatch.setattr(registration, "descends", lambda later, earlier: False)
    with pytest.raises(InputError, match="older than its registration"):
        registration.judge()
    monkeypatch.setattr(registration, "descends", lambda later, earlier: True)
    (name,) = [file.name for file in registration.folder().iterdir()]
    registration.judge()
    assert (tmp_path / "results" / name).exists() and not registration.folder().exists()
    assert json.loads((tmp_path / "results" / "exploratory.json").read_text()) == []
    for profile, start in {"smoke": 0, "laptop": draws.RESERVED, "paper": draws.RESERVED}.items():
        settings = small_run.grid(parameters.resolve(NUMBER, profile))
        assert min(seed for setting in settings for seed in setting["seeds"]) == start
    assert registration.registered()["judged"]


def test_a_commit_descends_from_itself_and_from_those_before():
    registration.descends.cache_clear()
    assert registration.descends("HEAD", "HEAD") and not registration.descends("HEAD", "no-such-commit")
