"""The command that runs, void cells that come back, and cells that travel in an archive."""

import shutil
import sys

import pytest

from companion.lab import catalogue, parameters
from companion.lab import commands as command
from companion.lab.store import Store
from companion.studies import main

STUDY = "depth.normalised_kernel"


def run(*args):
    with pytest.raises(SystemExit) as ended:
        sys.exit(command.main(list(args)))
    return ended.value.code


@pytest.fixture
def commands(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    monkeypatch.delenv("REGIMES_SCHEDULER", raising=False)
    return Store(tmp_path / "cells")


def test_the_list_which_loads_no_study_names_every_one_as_it_is(capsys):
    assert main(["list"]) == 0
    known = {
        (number, name, item.__doc__.strip().splitlines()[0])
        for number in catalogue.modules()
        for name, item in catalogue.of(number).items()
    }
    listed = capsys.readouterr().out.splitlines()
    assert {tuple(line.split(maxsplit=2)) for line in listed} == known and len(listed) == len({*listed}) > 80


def test_the_command_runs_and_void_cells_come_back_by_a_copy(commands, tmp_path):
    assert run("run", STUDY, "--profile", "smoke", "--jobs", "1", "--csv", str(tmp_path / "t.csv")) == 0
    (header, *lines), count = (tmp_path / "t.csv").read_text().splitlines(), len(commands.names())
    (row, *_), *more = (record.rows for _, record in commands.finished(STUDY, 1))
    assert {*row} < {*header.split(",")} and all(header.split(",")) and len(lines) > len(more)  # every column is named
    code = catalogue.find(STUDY)[1].code.digest
    assert commands.void(STUDY, 1, lambda made: made["digest"] == code) == count and commands.names() == []
    shutil.copytree(commands.folder / "void" / code / STUDY, commands.folder / STUDY, dirs_exist_ok=True)
    assert len(commands.names()) == count == len(list(commands.finished(STUDY, 1)))


def test_the_command_takes_the_designs_of_a_study():
    number, item = catalogue.find("compression.amplification_scaling")
    values = parameters.resolve(number, "smoke")

    def asked(*designs):
        return command._study(command._parser().parse_args(["run", item.name, *designs, "--profile", "smoke"]))[1]

    assert asked("ring") == item.grid.settings(values, "ring")
    assert len(asked("ring")) < len(asked("ring", "planes")) < len(asked()) == len(item.grid(values))


def test_cells_travel_in_an_archive_and_one_damaged_on_the_way_is_computed_again(
    commands, tmp_path, monkeypatch, capsys
):
    assert run("run", STUDY, "--profile", "smoke", "--jobs", "1") == 0
    names = commands.names()
    damaged = commands.folder / names[0]
    damaged.write_text(damaged.read_text().replace('"seed":0', '"seed": 1'))
    packed = shutil.make_archive(str(tmp_path / "cells"), "gztar", commands.folder)
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "there"))
    shutil.unpack_archive(packed, tmp_path / "there", filter="data")
    there = Store(tmp_path / "there")
    made = {name: (there.folder / name).stat().st_mtime_ns for name in names[1:]}
    assert run("run", STUDY, "--profile", "smoke", "--jobs", "1") == 0 and there.names() == names
    assert {name: (there.folder / name).stat().st_mtime_ns for name in names[1:]} == made
    assert there.load(names[0]) and (there.folder / "damaged" / names[0]).exists()
