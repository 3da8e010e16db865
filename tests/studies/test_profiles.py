"""The grids of every profile, on a machine with 24 GB and all images: each can be built, and its calls fit."""

import contextlib
from dataclasses import replace

import pytest

from companion import studies
from companion.data import images
from companion.lab.parameters import PROFILES, chapters, resolve
from companion.papers.jamming.studies import _ensembles
from companion.runner import main
from regimes import validate
from regimes.validate import InputError

MACHINE = 24 * 10**9
KEPT = studies.stored_sizes()


@pytest.fixture
def asked(monkeypatch):
    """The bytes that grids ask for."""
    found, check = [], validate.memory

    def memory(needed, what, device="cpu"):
        found.append(needed)
        check(needed, what, device)

    monkeypatch.setattr(validate, "memory", memory)
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": MACHINE)
    for module in (images, _ensembles):
        monkeypatch.setattr(module, "shape", lambda name: (70000, 784))
    return found


@pytest.mark.parametrize("number", chapters())
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_fits(asked, number, profile):
    values = resolve(number, profile)
    studies.grids(number, values)
    for name, item in studies.of(number).items():
        asked.clear()
        assert item.grid(values), name
        assert item.device == "cpu" or sum(asked) > 0, f"{name} trains and does not say what it takes"


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("number", chapters())
def test_the_command_checks_the_paper_profile(asked, capsys, number):
    assert main([number, "--profile", "paper", "--check"]) == 0
    assert f"chapter {number} at the paper profile: " in capsys.readouterr().out


def test_what_is_kept_fits(asked):
    for name, sizes in KEPT.items():
        number, item = studies.find(name)
        here = {}
        sizes = {entry: value for entry, value in sizes.items() if entry != "06.saliency_maps.main.data"}
        if name == "jamming.ensembles":  # another data set may be here
            here = {"03.ensembles.second_data.data": ["digits"]}
        if name == "isotropic.kernels_on_images":
            here = {"04.kernels_on_images.cifar10.data": "mnist"}
        assert studies.grids(number, resolve(number, "laptop", sizes, here), item)[item], name


def largest(grid, size):
    return max((setting[size] for setting in grid if isinstance(setting.get(size), int)), default=0)


@pytest.mark.parametrize("number", chapters())
def test_the_paper_profile_has_no_smaller_sizes_than_what_is_stored(asked, number):
    """Else a claim would be judged at the paper's size on smaller sizes than before."""
    for name in [name for name in KEPT if name in studies.of(number).keys()]:
        item = studies.of(number)[name]
        with contextlib.suppress(InputError):  # data that are not here
            kept, paper = (item.grid(resolve(number, *of)) for of in (("laptop", KEPT[name]), ("paper",)))
            for size in ("d", "p", "n", "h", "width"):
                assert largest(paper, size) >= 0.9 * largest(kept, size), f"{name}: {size}"  # 1000 for our 1024


SIZES = ("p", "n", "d", "h", "width", "test", "members", "many")  # axes that a call's memory grows with, if at all


def test_the_memory_asked_for_grows_with_every_size(asked):
    """Doubling a size of a setting never asks for less, and one of them for more."""
    grown = {}
    for number in chapters():
        values = resolve(number, "smoke")
        for name, item in studies.of(number).items():
            setting = replace(item.grid, complete=dict)(values)[0]
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
