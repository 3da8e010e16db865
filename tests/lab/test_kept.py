"""Stored results: all that ``chapters/designs/`` declare, and what the code as it is computes again."""

import re
import subprocess
from collections import Counter, defaultdict

import numpy as np
import pytest

from companion import paths
from companion.book import claims
from companion.lab import catalogue, parameters
from companion.lab.catalogue import is_here
from companion.lab.compare import FEWEST, differences, telling
from companion.lab.results import Results, files
from companion.lab.store import committed
from companion.lab.sweep import STATISTICAL, cells
from companion.lab.verify import batches, duration, share, verify
from regimes.data.datasets import Absent
from tests import freedoms

KEPT = catalogue.stored_sizes()
AFFORDABLE = 3.0  # seconds of a stored batch that a test computes again
QUICK, ENOUGH = 0.25, 1.0  # seconds of a batch of one kind, where there is one, and of all kinds of a study
# studies that no batch is affordable of: their cells are computed again every week, their tests do it by hand
DEAR = {
    "alignment.saliency_maps", "kernel_pca.image_curves", "kernel_pca.stripe_norms", "large_p.own_images",
    "rest.stochastic",
}  # fmt: skip
# their columns are statistical: a cell tells little, and their tests do it by hand
LOOSE = {"rest.minima_at_jamming", "rest.peak_at_jamming"}
TOO_FEW = {
    "compression.late_training",
    "large_p.own_images",
}  # stored cells to tell their statistical columns' factor from chance
DEVICES = {"AMD EPYC", "Intel(R) Xeon(R) Processor", "NVIDIA H200"}  # that computed stored cells
# designs that only data of other machines fill: a laptop asks for no realisation of them
NOWHERE = 101  # test points of designs that this machine has no images for
WHOLE = {"03.peak_at_jamming.whole": 7, "03.peak_at_jamming.fresh_whole": 4}  # of all images of MNIST: how many sizes
ELSEWHERE = {
    "isotropic.kernels_on_images": {"04.kernels_on_images.mnist.seeds": 0, "04.kernels_on_images.cifar10.seeds": 0},
    "rest.peak_at_jamming": {f"{name}.test": NOWHERE for name in WHOLE}
    | {f"{name}.p": count * [250] for name, count in WHOLE.items()}
    | {"03.peak_at_jamming.whole_lazy.p": 6 * [250]},
}


def grid_of(name, **given):
    number, item = catalogue.find(name)
    values = parameters.resolve(number, "laptop", KEPT[name], given)
    return values, cells(item, catalogue.grids(number, values, item)[item])


def test_every_kept_table_is_declared():
    """Beside those that are declared the registered run keeps what claims rest on."""
    rested_on = {study.name for _, claim in claims.all_claims() for study in claim.designs}
    assert files().keys() == set(KEPT) | rested_on


def study_of(table):
    """The name of the study whose rows a claim takes."""
    return getattr(table, "study", table).name


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_chapter_reads_what_is_stored(name):
    """``sweep`` would compute all of it."""
    number, function = catalogue.find(name)[0], name.partition(".")[2]
    pages = "".join(page.read_text(encoding="utf-8") for page in parameters.page_sources(number))
    judged = {design for claim in claims.claims_of(number) for design in map(str, map(study_of, claim.tables.values()))}
    assert re.search(rf"rows\((\w+\.)?{function}\b", pages) or name in judged


def needs_known_origins(records):
    """What a forger would write there; a shallow clone has no old commits to compare with."""
    found = [record.provenance for record in records]
    assert {made["device"] for made in found} <= DEVICES, "a new device? name it in DEVICES"
    assert all(re.fullmatch("[0-9a-f]{16}", made["digest"]) for made in found)
    assert all({"numpy", "scipy", "torch", "python"} <= made["versions"].keys() for made in found)
    revisions = {made["revision"] for made in found}
    assert all(re.fullmatch("[0-9a-f]{12}", revision) for revision in revisions)
    git = ["git", "-C", str(paths.root())]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    if shallow.stdout.strip() == "false":  # else no git, or a shallow clone
        asked = "".join(f"{revision}^{{commit}}\n" for revision in sorted(revisions))
        said = subprocess.run(
            [*git, "cat-file", "--batch-check"], input=asked, capture_output=True, text=True, check=True
        )
        assert not [line for line in said.stdout.splitlines() if not re.fullmatch(r"[0-9a-f]{40,} commit \d+", line)]


@pytest.fixture(scope="module")
def stored(name):
    """The stored results of a study: the tests of one follow each other, so that they are read once."""
    return Results(catalogue.find(name)[1])


KEPT_STUDIES = pytest.mark.parametrize("name", sorted(KEPT), scope="module")


@KEPT_STUDIES
def test_a_table_has_the_cells_and_columns_that_are_declared_all_of_commits_and_devices_that_are_known(name, stored):
    item, results = catalogue.find(name)[1], stored
    needs_known_origins(results.finished.values())
    measured = {column for record in results.finished.values() for row in record.rows for column in row}
    assert {*item.columns, *item.nonfinite} <= measured
    revisions = {record.provenance["revision"] for record in results.finished.values()}
    assert all(map(committed, revisions)), "python -m companion.studies store-results NAME"
    kept = {record.cell for record in results.finished.values()}
    elsewhere = {} if all(is_here(cell.setting) for cell in kept) else ELSEWHERE.get(name, {})
    kept = {cell for cell in kept if not elsewhere or is_here(cell.setting)}
    try:
        _, wanted = grid_of(name, **elsewhere)
        wanted = [cell for cell in wanted if cell.setting.get("test") != NOWHERE]
    except Absent:  # of a design whose data are not on this machine as many cells as it asks for
        values, wanted, count = parameters.resolve(catalogue.find(name)[0], "laptop", KEPT[name]), [], 0
        for design in item.grid.names(values):
            try:
                wanted += cells(item, item.grid.settings(values, design))
            except Absent:
                count += len(cells(item, item.grid.axes_alone().settings(values, design)))
        absent = {cell for cell in kept if not is_here(cell.setting)}
        assert len(absent) == count
        kept -= absent
    assert kept == set(wanted), "python -m companion.studies store-results"


@KEPT_STUDIES
def test_the_names_of_stored_cells_are_those_that_the_designs_ask_for(name, stored):
    """The key of every stored cell is that of its study, version, setting and seed, and the one its design asks for."""
    number, item = catalogue.find(name)
    results = stored
    assert not results.refused and results.finished
    assert all(key == own.cell.key() and own.cell.study == name for key, own in results.finished.items())
    values = parameters.resolve(number, "laptop", KEPT[name])
    assert not catalogue.missing(number, results), "python -m companion.studies store-results"
    kept = catalogue.kept_cells(number, results)
    assert results.finished.keys() == {key for own in kept.values() for key in own}, "cells that no design asks for"
    for design, own in kept.items():
        if all(is_here(cell.setting) for cell in own.values()):
            wanted = cells(item, item.grid.settings(values, design))
            assert own.keys() == {cell.key() for cell in wanted}, f"{design}: python -m companion.studies store-results"


def rows_by_cell(item):
    """The stored rows of each cell of a study."""
    return {record.cell: record.rows for record in Results(item).finished.values()}


def dearest(found):
    """The batch that took longest of those below ``AFFORDABLE`` seconds; cheap ones, lazy and small, tell least."""
    order = sorted(found, key=lambda cells: (duration(cells), cells[0].key()))
    return ([cells for cells in order if duration(cells) < AFFORDABLE] or order[:1])[-1:]


def cheapest(found):
    """Of each kind of setting, which has the same names and words, one batch, until ``ENOUGH`` seconds are reached."""
    kinds = defaultdict(list)
    for batch in found:
        if duration(batch) <= AFFORDABLE:
            kinds[words(batch[0].setting)].append(batch)
    chosen, seconds = [], 0.0
    for batch in sorted(map(quick, kinds.values()), key=duration):
        if not chosen or seconds + duration(batch) <= ENOUGH:
            chosen.append(batch)
            seconds += duration(batch)
    return chosen


def words(setting):
    """The names of a setting, and its words."""
    return tuple((name, value if isinstance(value, str) else "") for name, value in sorted(setting.items()))


def quick(found):
    """The dearest of the batches that are quick, which tells most, else the cheapest."""
    order = sorted(found, key=lambda cells: (duration(cells), cells[0].key()))
    return ([cells for cells in order if duration(cells) <= QUICK] or order[:1])[-1]


@pytest.mark.parametrize("name", sorted(set(KEPT) - DEAR - LOOSE))
def test_stored_cells_are_what_the_code_as_it_is_computes(name):
    """The oracle of a study, its theory and the engine at once: each column within its declared tolerance."""
    item = catalogue.find(name)[1]
    found = verify(Results(item), cheapest, is_here=is_here, jobs=1)
    assert not found.differences and (found.computed or found.without_data == found.stored), str(found)


def test_only_dear_studies_are_left_to_tests_by_hand():
    results = {name: Results(catalogue.find(name)[1]) for name in DEAR}
    assert not [name for name, own in results.items() if cheapest(batches(own.study, own.of_data(is_here)))]


@pytest.mark.weekly
@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_dear_stored_batch_is_what_the_code_as_it_is_computes(name):
    """The others are compared by ``python -m companion.studies verify``, some every week."""
    item = catalogue.find(name)[1]
    found = verify(Results(item), dearest, is_here=is_here, jobs=1)
    assert not found.differences and (found.computed or found.without_data == found.stored), str(found)


SINGLE = 1e-3  # tolerance from which on a study's numbers are those of single precision


class Rounded(np.random.Generator):
    """Normal numbers, each moved by a rounding up, down or not at all."""

    rounding = 0.0

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """As numpy's."""
        drawn = np.asarray(super().standard_normal(size, dtype))
        step = max(self.rounding, np.finfo(dtype).eps)
        return (drawn * (1 + step * np.random.Generator(np.random.PCG64(7)).integers(-1, 2, drawn.shape))).astype(dtype)


@pytest.mark.weekly
@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_rounding_of_what_is_drawn_moves_no_number_further_than_its_study_says(name, monkeypatch):
    """So does another processor: as it rounds, so does a network whose first weights are moved by a rounding."""
    item, draw = catalogue.find(name)[1], np.random.default_rng
    stored = rows_by_cell(item)
    (batch,) = dearest(batches(item, [cell for cell in stored if is_here(cell.setting)])) or pytest.skip("no data")
    seeds = [cell.seed for cell in batch]
    once = item(batch[0].setting, seeds)
    monkeypatch.setattr(Rounded, "rounding", float(np.finfo(np.float32).eps) / 2 if item.rtol >= SINGLE else 1e-15)
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: Rounded(draw(seed).bit_generator))
    again = item(batch[0].setting, seeds)
    one, other = ({c: [row for row in rows if row["seed"] == c.seed] for c in batch} for rows in (once, again))
    assert not differences(freedoms.declared(item), one, other)


def multiplied(rows, columns, factor):
    """Rows whose numbers in some columns are multiplied, those in lists, too."""

    def times(value):
        if isinstance(value, (list, tuple)):
            return [times(one) for one in value]
        return factor * value if isinstance(value, (int, float)) else value

    return [{name: times(value) if name in columns else value for name, value in row.items()} for row in rows]


def sampled(results):
    """A study, its stored rows that are here, and those of them that ``verify --sample 5%`` computes again."""
    item = results.study
    stored = {own.cell: own.rows for own in results.finished.values() if is_here(own.cell.setting)}
    chosen = share(0.05, 1, item)(batches(item, [*stored]))
    return item, stored, {cell: stored[cell] for batch in chosen for cell in batch}


@KEPT_STUDIES
def test_a_factor_in_the_statistical_columns_of_a_table_is_noticed_on_any_processor(name, stored):
    """By the weekly sample; the rows stored are what is computed again."""
    item, rows, again = sampled(stored)
    columns = {column for column, tolerance in item.columns.items() if tolerance == STATISTICAL}
    if not columns:
        return
    forged = {cell: multiplied(rows[cell], columns, 1.5) for cell in again}
    if name in TOO_FEW:
        assert len(rows) < FEWEST
    else:
        assert len(again) >= FEWEST and differences(item, forged, again)
    assert not differences(item, again, again)


@pytest.mark.weekly
@KEPT_STUDIES
def test_a_factor_in_one_statistical_column_is_noticed_where_enough_cells_hold_it(name, stored):
    item, rows, again = sampled(stored)
    held = Counter(column for own in rows.values() for column in telling(item, own))
    noticed = {column for column in held if differences(item, again, again, forged=column)}
    assert noticed == {column for column, count in held.items() if count >= FEWEST}


def test_a_design_of_which_a_cell_was_taken_out_is_named():
    number, item = catalogue.find("depth.operator_distances")
    results = Results(item)
    assert not catalogue.missing(number, results)
    key = next(iter(results.finished))
    (design, own), *_ = [(name, own) for name, own in catalogue.kept_cells(number, results).items() if key in own]
    del results.finished[key]
    line = f"holds {len(own) - 1} of the {len(own)} cells of the design {design}"
    assert any(line in said for said in catalogue.missing(number, results))
