"""The exercises: each has its solution behind one line, and every command that a chapter names is accepted."""

import argparse
import re
import shlex

import pytest

from companion.lab import catalogue, cli, parameters
from regimes.validate import InputError

COMMAND = re.compile(r"make chapter-(\d\d)(?: PROFILE=(\w+))? NAME=\w+ PARAMS='([^']*)'")
PART = re.compile(r"`(-p [^`]+)`")  # of a command that stands above it


def markdown(number):
    """A chapter's Markdown."""
    source = "".join(page.read_text(encoding="utf-8") for page in parameters.page_sources(number))
    cells = re.findall(r"^# %% \[markdown\]\n((?:#(?! %%).*\n|\n)+)", source, re.M)
    return "\n".join(re.sub(r"^# ?", "", cell, flags=re.M) for cell in cells)


TEXTS = {number: markdown(number) for number in parameters.chapters()}
NAMED = [found for text in TEXTS.values() for found in COMMAND.findall(text)]
NAMED += [(number, "", part) for number, text in TEXTS.items() for part in PART.findall(text)]


@pytest.mark.parametrize("number", TEXTS)
def test_every_exercise_has_a_solution_and_one_is_a_prediction(number):
    section = TEXTS[number].partition("\n## Exercises\n")[2].partition("\n## ")[0]
    titles = re.findall(r"^\*\*(\d)\. ", section, re.M)
    assert titles == [str(i + 1) for i in range(len(titles))] and len(titles) in (2, 3)
    parts = re.split(r"^\*\*\d\. ", section, flags=re.M)[1:]
    assert all(len(re.findall(r'<details class="solution">(?s:.+?)</details>', part)) == 1 for part in parts)
    assert COMMAND.search(section) and COMMAND.search(section)[1] == number


@pytest.mark.parametrize(("number", "profile", "given"), NAMED)
def test_every_command_names_a_parameter_and_a_value_that_is_taken(number, profile, given):
    parser = argparse.ArgumentParser()
    cli.add_parameter_options(parser)
    args = parser.parse_args(["--profile", profile or "laptop", *shlex.split(given)])
    assert args.p
    try:
        catalogue.grids(number, parameters.resolve(number, args.profile, *cli.overrides(args)))
    except InputError as error:  # a value that is taken where its data are
        assert "REGIMES_DATA" in str(error)
