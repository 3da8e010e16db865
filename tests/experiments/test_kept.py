"""Stored results: all that ``chapters/profiles/stored.toml`` declares, and what the code as it is computes again."""

import re

import pytest

from companion import paths
from companion import studies as registry
from companion.experiments import parameters
from companion.experiments.store import committed
from companion.experiments.stored import verify
from companion.experiments.sweep import cells
from companion.experiments.table import origin, read_csv, rows_by_cell
from companion.studies._here import is_here
from regimes.validate import InputError

KEPT = registry.stored_sizes()
# computed again in every run of the tests: seconds in all; the others every week
CHEAP = {
    "spiked.agreement", "lazy_feature.finite_curve", "compression.growth", "jamming.stripes",
}  # fmt: skip
COMPUTED = [name if name in CHEAP else pytest.param(name, marks=pytest.mark.weekly) for name in sorted(KEPT)]
# the parameter that names data sets of which a study takes the first that is on this machine
FIRST_OF = {"jamming.ensembles": "03.ensembles.second_data.data", "alignment.glasses": "06.glasses.main.data"}


# designs that only data of other machines fill: a laptop asks for no realisation of them
NOWHERE = 101  # test points of designs that this machine has no images for
WHOLE = {"03.cusp.whole": 7, "03.cusp.fresh_whole": 4}  # of all images of MNIST: how many sizes
ELSEWHERE = {
    "isotropic.images": {"04.images.mnist.seeds": 0, "04.images.cifar10.seeds": 0},
    "rest.cusp": {f"{name}.test": NOWHERE for name in WHOLE}
    | {f"{name}.p": count * [250] for name, count in WHOLE.items()}
    | {"03.cusp.whole_lazy.p": 6 * [250]},
}


def grid_of(name, **given):
    number, item = registry.find(name)
    values = parameters.resolve(number, "laptop", KEPT[name], given)
    return values, cells(item, registry.grids(number, values, item)[item])


def test_every_kept_table_is_declared():
    assert {path.stem for path in paths.results().glob("*.csv")} == set(KEPT)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_chapter_reads_what_is_stored(name):
    """``sweep`` would compute all of it."""
    (source,) = paths.chapters_folder().glob(f"{registry.find(name)[0]}_*.py")
    assert re.search(rf"rows\((\w+\.)?{name.partition('.')[2]}\b", source.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_table_has_the_cells_and_columns_that_are_declared_all_of_commits(name):
    item = registry.find(name)[1]
    table = read_csv(paths.results() / f"{name}.csv", version=item.version)
    assert {*item.columns, *item.nonfinite} <= set(table.columns)
    kept = set(rows_by_cell(table))
    assert all(map(committed, {origin(cell).revision for cell in kept})), "python -m companion.studies keep NAME"
    elsewhere = {} if all(is_here(cell.setting) for cell in kept) else ELSEWHERE.get(name, {})
    kept = {cell for cell in kept if not elsewhere or is_here(cell.setting)}
    try:
        _, wanted = grid_of(name, **elsewhere)
        wanted = [cell for cell in wanted if cell.setting.get("test") != NOWHERE]
    except InputError:  # its data are not on this machine: the rest of the grid, and as many cells of what stands in
        number, _ = registry.find(name)
        usual = parameters.resolve(number)[FIRST_OF[name]]
        values, wanted = grid_of(name, **{FIRST_OF[name]: usual})
        assert not all(is_here(cell.setting) for cell in kept)
        makeshift = {cell for cell in wanted if cell.setting["data"] in values[FIRST_OF[name]]}
        absent = {cell for cell in kept if cell.setting["data"] in values[FIRST_OF[name]]}
        assert len(absent) == len(makeshift)
        kept, wanted = kept - absent, set(wanted) - makeshift
    assert kept == set(wanted), "python -m companion.studies keep"


def cheapest(batches):
    return sorted(batches, key=lambda cells: (sum(origin(cell).seconds for cell in cells), cells[0].key()))[:1]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_cheapest_stored_batch_is_what_the_code_as_it_is_computes(name):
    """The others are compared by ``python -m companion.studies verify``, some every week."""
    item = registry.find(name)[1]
    found = verify(item, paths.results() / f"{name}.csv", cheapest, here=is_here, jobs=1)
    assert not found.said and (found.computed or found.left == found.stored), str(found)
