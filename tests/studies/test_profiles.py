"""The grids of every profile, whatever data a machine has: each is built and fits, or one line says what it needs."""

import contextlib
import hashlib
import shutil
import sys

import numpy as np
import pytest

from companion import paths
from companion.data import celeba, images
from companion.lab import catalogue, commands
from companion.lab.parameters import PROFILES, chapters, resolve
from companion.papers.alignment.studies import alignment
from companion.runner import main
from regimes import validate
from regimes.data import datasets
from regimes.validate import InputError

MACHINE = 24 * 10**9
KEPT = catalogue.stored_sizes()
SOURCES = ("a folder", "data/", "Debian")  # where a machine may have data: $REGIMES_DATA, a checkout's, a package's
HIDDEN = [(), *[(source,) for source in SOURCES], SOURCES]


@pytest.fixture
def asked(monkeypatch):
    """The bytes that grids ask for."""
    found, check = [], validate.memory

    def memory(needed, what, device="cpu"):
        found.append(needed)
        check(needed, what, device)

    monkeypatch.setattr(validate, "memory", memory)
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": MACHINE)
    return found


def forget():
    """What a process remembers of the data that are there."""
    for known in (images._identity, images._shape, datasets._images, alignment.load_pictures):
        known.cache_clear()


@pytest.fixture
def hide(monkeypatch, tmp_path):
    """Hides sources of data."""

    def hidden(sources):
        if "a folder" in sources:
            monkeypatch.delenv("REGIMES_DATA", raising=False)
        if "data/" in sources:
            monkeypatch.setattr(datasets, "default_folder", lambda: tmp_path / "none")
        if "Debian" in sources:
            monkeypatch.setattr(datasets, "DEBIAN_FASHION", tmp_path / "none")
        forget()

    yield hidden
    forget()


def there():
    """What this machine has, by name: the words for it, or none."""
    found = {}
    for name in datasets.NAMES:
        with contextlib.suppress(InputError):
            found[name] = images.identity(name)
    with contextlib.suppress(InputError):
        found["celeba"] = str(celeba.needs_folder())
    with contextlib.suppress(InputError):
        found["text"] = datasets.corpus("wiki_text8style").source
    return found


def check(number, profile):
    """The exit code of ``--check``."""
    try:
        return main([number, "--profile", profile, "--check"])
    except SystemExit as left:
        return left.code


def resolved(number, capsys):
    """Checks a chapter at each profile: it resolves, or at the papers' sizes one line names ``make data``."""
    for profile in PROFILES:
        code = check(number, profile)
        said, refused = capsys.readouterr()
        if profile == "paper" and code:
            assert refused.count("\n") == 1 and "make data" in refused, refused
        else:
            assert code == 0 and f"chapter {number} at the {profile} profile: " in said, refused


_known = []  # machines on which every chapter has been checked


@pytest.mark.xdist_group("machines")
@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("sources", HIDDEN, ids=lambda sources: " and ".join(sources) or "nothing")
def test_a_chapter_is_checked_whichever_data_are_hidden(hide, capsys, sources):
    """A machine that then has the same data as one before is the same machine."""
    hide(sources)
    if there() in _known:
        return
    for number in chapters():
        resolved(number, capsys)
    _known.append(there())
    assert sources != SOURCES or {*there()} == {"mnist", "digits"}


def idx(array):
    """An IDX file's bytes."""
    sizes = b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def clothes(monkeypatch, tmp_path):
    """A folder of images in place of Fashion-MNIST, as few as chapter 3 needs."""
    folder, rng = tmp_path / "made", np.random.default_rng(0)
    folder.mkdir()
    sums = []
    for name, shape in zip(datasets._IDX, ((3800, 28, 28), (3800,), (400, 28, 28), (400,))):
        raw = idx(rng.integers(0, 256 if len(shape) > 1 else 10, shape))
        (folder / name).write_bytes(raw)
        sums.append(hashlib.sha256(raw).hexdigest())
    monkeypatch.setitem(datasets._SHA256, "fashion_mnist", tuple(sums))
    return folder


@pytest.mark.xdist_group("machines")
@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("source", SOURCES)
def test_a_chapter_is_checked_where_one_source_has_data(hide, clothes, monkeypatch, tmp_path, capsys, source):
    """The chapters whose designs name the data set; each source is found, and its design computed from it."""
    hide(SOURCES)
    folder = tmp_path / "folder" / "fashion_mnist"
    shutil.copytree(clothes, folder)
    if source == "Debian":
        monkeypatch.setattr(datasets, "DEBIAN_FASHION", clothes)
    if source == "a folder":
        monkeypatch.setenv("REGIMES_DATA", str(folder.parent))
    if source == "data/":
        monkeypatch.setattr(datasets, "default_folder", lambda: folder.parent)
    assert "fashion_mnist" in there()
    for number in chapters():
        if '"fashion_mnist"' in paths.designs_file(number).read_text(encoding="utf-8"):
            resolved(number, capsys)
    votes = catalogue.find("voting.votes")[1]
    found = catalogue.asked("03", votes, resolve("03", "laptop"))
    assert {found.cells[key].setting["data"] for key in found.designs["second_data"]} == {"fashion_mnist"}
    assert not found.absent and votes.grid.settings(resolve("03", "laptop"), "second_data")


@pytest.mark.usefixtures("read_once")
def test_a_design_without_its_data_has_what_is_stored_or_nothing(hide, capsys):
    """At the book's values the stored rows, at others none, and a sentence; who asks for the data is told."""
    hide(SOURCES)
    votes = catalogue.find("voting.votes")[1]

    def found(profile="laptop", **given):
        return catalogue.asked("03", votes, resolve("03", profile, given))

    usual = found()
    assert len(usual.designs["second_data"]) == 270 and not {*usual.designs["second_data"]} - {*usual.results.finished}
    assert usual.rows("second_data").data.unique().tolist() == ["fashion_mnist"]
    assert usual.designs.keys() == usual.absent.keys() | {"small", "large", "largest", "deep", "random"}
    changed = found(layers=3)
    assert not changed.designs["second_data"] and len(changed.designs["small"]) == 8
    assert changed.absent["second_data"].startswith("03.votes.second_data")
    for given in ({"03.votes.second_data.h": [3, 5]}, {"03.votes.second_data.data": ["cifar10"]}, {"data": "cifar10"}):
        with pytest.raises(datasets.Absent, match="make data") as error:
            found(**given)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="make data"):
        found("paper")
    capsys.readouterr()
    _, grid = commands._study(commands._parser().parse_args(["run", "voting.votes"]))
    assert len(grid) == 8 + 3 + 2 + 2 + 2  # of the others
    assert capsys.readouterr().err.startswith("left out: 03.votes.second_data")


@pytest.mark.xdist_group("machines")
@pytest.mark.usefixtures("read_once")
def test_a_package_that_is_missing_is_named_in_one_line(hide, capsys, monkeypatch):
    """No stored row judges in its place: pip installs it."""
    hide(SOURCES)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    refused = set()
    for number in chapters():
        code = check(number, "laptop")
        said = capsys.readouterr().err
        if code:
            assert said.count("\n") == 1 and "needs the package mlxtend" in said, said
            refused.add(number)
    assert refused >= {"03", "04"} and refused != {*chapters()}


def needs_memory(item, grid):
    """There is a setting, and none asks for more memory than the machine has."""
    assert grid, item.name
    for setting in grid:
        item.grid.needs_memory(setting)


def of_profile(profile):
    """The papers' sizes are those of what ``make data`` fetches, as a plan takes it."""
    return images.as_fetched() if profile == "paper" else contextlib.nullcontext()


@pytest.mark.parametrize("number", chapters())
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_fits(asked, number, profile):
    values = resolve(number, profile)
    with of_profile(profile):
        for name, item in catalogue.of(number).items():
            asked.clear()
            needs_memory(item, catalogue.grids(number, values, item)[item])
            assert item.device == "cpu" or sum(asked) > 0, f"{name} trains and does not say what it takes"


@pytest.mark.usefixtures("read_once")
def test_what_is_stored_asks_for_no_memory(capsys, monkeypatch):
    """Chapter 1 shows settings of 14 GiB, whose cells are stored; as many points of a reader's own are refused."""
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 2**31)
    for number in chapters():
        assert check(number, "laptop") == 0, number
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["01", "--check", "-p", "01.infinite_width_lazy.cylinder_networks.p", "20000"])
    said = capsys.readouterr().err
    assert said.startswith("error: 01.infinite_width_lazy.cylinder_networks (") and said.count("\n") == 1
    assert said.endswith(": p = 20000 would take 22400000000 bytes (20.9 GiB), but 2.0 GiB are free\n")


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("number", chapters())
def test_the_command_checks_the_paper_profile(asked, capsys, number):
    with images.as_fetched():
        assert main([number, "--profile", "paper", "--check"]) == 0
    assert f"chapter {number} at the paper profile: " in capsys.readouterr().out


def test_what_is_kept_fits(asked):
    for name, sizes in KEPT.items():
        number, item = catalogue.find(name)
        sizes = {entry: value for entry, value in sizes.items() if entry != "06.saliency_maps.main.data"}
        with images.as_fetched():
            needs_memory(item, catalogue.grids(number, resolve(number, "laptop", sizes), item)[item])


def settings(item, values):
    """Those of all designs, of which some ask for no realisation."""
    return [setting for design in item.grid.names(values) for setting in item.grid.settings(values, design)]


def largest(grid, size):
    return max((setting[size] for setting in grid if isinstance(setting.get(size), int)), default=0)


@pytest.mark.parametrize("number", chapters())
def test_the_paper_profile_has_no_smaller_sizes_than_what_is_stored(asked, number):
    """Else a claim would be judged at the paper's size on smaller sizes than before."""
    for name in [name for name in KEPT if name in catalogue.of(number).keys()]:
        item = catalogue.of(number)[name]
        with contextlib.suppress(datasets.Absent), images.as_fetched():  # faces are in no such folder
            kept, paper = (settings(item, resolve(number, *of)) for of in (("laptop", KEPT[name]), ("paper",)))
            for size in ("d", "p", "n", "h", "width"):
                assert largest(paper, size) >= 0.9 * largest(kept, size), f"{name}: {size}"  # 1000 for our 1024


SIZES = ("p", "n", "d", "h", "width", "test", "members", "many")  # axes that a call's memory grows with, if at all


def test_the_memory_asked_for_grows_with_every_size(asked):
    """Doubling a size of a setting never asks for less, and one of them for more."""
    grown = {}
    for number in chapters():
        values = resolve(number, "smoke")
        for name, item in catalogue.of(number).items():
            setting = item.grid.axes_alone()(values)[0]
            for axis in (axis for axis in SIZES if type(setting.get(axis)) is int):
                found = []
                for factor in (1, 2):
                    asked.clear()
                    with contextlib.suppress(InputError):  # as of sizes that must fit each other
                        item.grid.complete(setting | {axis: factor * setting[axis]})
                        found.append(sum(asked))
                if len(found) == 2 and any(found):
                    assert found[0] <= found[1], f"{name}: {axis}"
                    grown[name, axis] = found[0] < found[1]
    assert len(grown) > 50 and sum(grown.values()) > 0.6 * len(grown), grown
