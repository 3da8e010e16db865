"""A Dask cluster in this process, on the loopback: its cells, and what it refuses; lost workers: ``test_cluster.py``"""

import dataclasses

import pytest
from distributed import LocalCluster

from companion.lab import cluster
from companion.lab.schedule import chunks
from companion.lab.store import Store
from companion.lab.sweep import cells, study, sweep
from regimes.validate import InputError
from tests.sizes import Size

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.filterwarnings("ignore")]


@study(version=1, chunk=2)
def squares(setting: Size, seeds):
    """Squares."""
    return [{"seed": seed, "square": setting.n**2 + seed} for seed in seeds]


GRID = squares.grid.of(n=[1, 2, 3], seeds=4)


@pytest.fixture(scope="module")
def scheduler():
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=1, protocol="tcp://", **options) as here:
        yield here.scheduler_address


@pytest.fixture
def pool(scheduler):
    found = cluster.Cluster(scheduler)
    yield found
    found.close()


def test_its_cells_are_those_that_were_asked_for(scheduler, tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_SCHEDULER", scheduler)
    store = Store(tmp_path)
    table = sweep(squares, GRID, store=store).sort_values(["n", "seed"])
    assert table.square.tolist() == [n**2 + seed for n in (1, 2, 3) for seed in range(4)]
    assert len(store.names()) == 12 and not list(tmp_path.rglob("*.lock"))


def test_results_come_with_their_chunks(pool):
    asked = chunks({squares.name: squares}, cells(squares, GRID))
    found = {(c.cells[0].setting["n"], c.cells[0].seed): r for c, r in pool.results(iter(asked), len(asked), 0.0)}
    assert len(found) == len(asked) == 6
    assert [row["square"] for row in found[3, 2].rows] == [11, 12]
    assert found[3, 2].provenance["class"] == pool.kind(squares, {}) == "cpu"


def test_a_worker_with_other_code_is_refused(pool):
    code = squares.code
    other = dataclasses.replace(squares, known=type(code)(code.own, code.modules, "other"))
    with pytest.raises(InputError, match=r"the worker tcp://127.* is refused: a worker has other code of .*squares"):
        list(pool.results(iter(chunks({other.name: other}, cells(other, GRID))), 1, 0.0))


def test_a_worker_with_other_libraries_is_refused(pool, monkeypatch):
    here = iter([{"numpy": "1.0"}, {"numpy": "2.0"}])
    monkeypatch.setattr(cluster, "libraries", lambda: next(here))
    with pytest.raises(InputError, match=r"is refused: it has numpy 2\.0, not 1\.0: install the same versions"):
        list(pool.results(iter(chunks({squares.name: squares}, cells(squares, GRID)[:1])), 1, 0.0))


@pytest.mark.parametrize(
    ("address", "said"), [("nothing", "is no address"), ("tcp://127.0.0.1:1", "gives no answer for 0.5 s")]
)
def test_where_nobody_is_it_says_so(monkeypatch, address, said):
    monkeypatch.setattr(cluster, "SECONDS", 0.5)
    with pytest.raises(InputError, match=f"REGIMES_SCHEDULER: '{address}' {said}"):
        cluster.Cluster(address).kind(squares, {})
