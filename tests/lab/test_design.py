"""Designs build the settings that they say, each once, and what makes no sense is refused by its full name."""

import pickle
import re
from typing import Literal

import pytest

from companion.lab import parameters
from companion.lab.design import MOST, Designs
from companion.lab.parameters import Kind
from companion.lab.record import Count, Distinct, Each, FirstOf, Increasing, Number, Setting, axis, record
from regimes.validate import InputError
from tests.cases import for_each


@record
class Runs(Setting):
    """What is run."""

    kind: Literal["a", "b"]
    n: Count[2, 1000]
    x: Number | None = None
    depths: Increasing[Count]


NAMES = ("x", "y")
AXES = Runs.axes()
grid = Designs("runs", AXES)
MAIN = {"kind": "a", "n": [2, 3], "depths": [1, 5], "seeds": 2}


def values(main=MAIN, knobs=(), **others):
    """The parameters of a chapter with designs of its study ``runs``, and one of another study."""
    tables = {"runs.main": main, "others.main": {"n": 0}} | {f"runs.{name}": own for name, own in others.items()}
    return dict(knobs) | {f"99.{name}.{axis}": one for name, table in tables.items() for axis, one in table.items()}


def of(design="main", **given):
    return grid.settings(values(**given), design)


def test_a_design_is_the_product_of_its_axes():
    common = {"kind": "a", "depths": [1, 5], "seeds": [0, 1]}
    assert of() == [{"n": 2, **common}, {"n": 3, **common}]
    assert [list(setting) for setting in of()] == [["kind", "n", "depths", "seeds"]] * 2  # in the study's order
    pairs = of(main=MAIN | {"kind": ["b", "a"], "x": 1, "depths": [[1], [2]], "seeds": [7, 3]})
    assert [(one["kind"], one["n"], one["depths"]) for one in pairs[:4]] == [
        ("b", 2, [1]), ("b", 2, [2]), ("b", 3, [1]), ("b", 3, [2]),
    ]  # fmt: skip
    assert len(pairs) == 8 and pairs[0]["seeds"] == [7, 3] and type(pairs[0]["x"]) is float


def test_zipped_axes_go_together():
    found = of(main=MAIN | {"kind": ["a", "a"], "seeds": [3, 1], "zip": [["seeds", "n", "kind"]], "depths": [[1], [2]]})
    assert [(one["n"], one["depths"], one["seeds"]) for one in found] == [
        (2, [1], [0, 1, 2]), (2, [2], [0, 1, 2]), (3, [1], [0]), (3, [2], [0]),
    ]  # fmt: skip


def test_a_design_extends_another_as_it_is_after_all_overrides():
    others = {"more": {"extends": "main", "n": 9}, "most": {"extends": "more", "kind": "b"}}
    given = values(**others) | {"99.runs.main.depths": [4]}
    (setting,) = grid.settings(given, "most")
    assert setting == {"kind": "b", "n": 9, "depths": [4], "seeds": [0, 1]}
    assert len(grid(given)) == 4


def test_a_setting_of_two_designs_is_computed_once_with_the_seeds_of_both():
    found = grid(values(more={"extends": "main", "n": [3, 4], "seeds": 4}))
    assert [(one["n"], one["seeds"]) for one in found] == [(2, [0, 1]), (3, [0, 1, 2, 3]), (4, [0, 1, 2, 3])]


def test_designs_that_are_named_are_all_that_is_computed():
    given = values(more={"extends": "main", "n": [3, 4], "seeds": 4}, other={"extends": "main", "n": 9})
    assert [(one["n"], one["seeds"]) for one in grid(given, ["main"])] == [(2, [0, 1]), (3, [0, 1])]
    assert grid(given, ["main", "more"]) == grid(given)[:-1], "a setting of both once, with the seeds of both"
    with pytest.raises(InputError, match="a design of runs must be one of main, more, other; got 'none'"):
        grid(given, ["none"])


def test_a_design_without_a_realisation_is_there_and_not_computed():
    some = Designs("runs", AXES, Kind.of("count", 0, 5))
    given = values(more={"extends": "main", "n": [3, 4], "seeds": 0})
    assert [(one["n"], one["seeds"]) for one in some(given)] == [(2, [0, 1]), (3, [0, 1])]
    assert [(one["n"], one["seeds"]) for one in some.settings(given, "more")] == [(3, []), (4, [])]
    with pytest.raises(InputError, match=r"99\.runs must have seeds in one design at least, got none"):
        some(values(main=MAIN | {"seeds": 0}))
    with pytest.raises(InputError, match="from 1 to 1000, got 0"):
        grid(given)


def test_a_value_may_be_that_of_a_parameter():
    assert of(knobs={"sizes": [5]}, main=MAIN | {"n": "$sizes"})[0]["n"] == 5


def test_what_follows_from_the_axes_is_added():
    doubled = Designs("runs", AXES, complete=lambda setting: setting | {"double": 2 * setting["n"]})
    assert [one["double"] for one in doubled(values())] == [4, 6]
    assert hash(doubled)
    assert pickle.loads(pickle.dumps(grid))(values()) == grid(values())


def test_a_design_may_be_written_where_it_is_used():
    assert grid.of(**MAIN) == of() and grid.of(**MAIN | {"n": 9, "seeds": [7]})[0]["seeds"] == [7]
    with pytest.raises(InputError, match=r"^own\.runs\.main\.n must be a whole number from 2 to 1000, got 1$"):
        grid.of(**MAIN | {"n": 1})


def test_axes_alone_hold_the_data_sets_of_which_a_setting_has_the_first_that_is_here():
    """So a stored cell is found where no data are: by its axes, whichever data set it has."""

    @record
    class Pictures(Setting):
        data: FirstOf[NAMES]
        n: Count

    known = Designs("pictures", Pictures.axes(), complete=refuses)
    (setting,) = known.axes_alone().settings({"99.pictures.main.data": ["x", "y"], **_entries(n=3)}, "main")
    assert known.choices(setting) == [known.identity({"data": name, "n": 3}) for name in ("x", "y")]
    assert known.choices({"data": "y", "n": 3}) == known.choices(setting)[1:]


def _entries(**own):
    return {f"99.pictures.main.{name}": value for name, value in {"seeds": 1, **own}.items()}


def refuses(setting):
    raise InputError("n is no prime")


BAD = {
    "99.runs.main.n[1] must be a whole number from 2 to 1000, got 1": {"n": [2, 1]},
    "99.runs.main.n must hold no value twice": {"n": [2, 2]},
    "99.runs.main.n must hold at most 100 values": {"n": list(range(2, 200))},
    "99.runs.main.kind must be one of a, b, got 'c'": {"kind": "c"},
    "99.runs.main.depths must be a strictly increasing list": {"depths": [[2, 1]]},
    "99.runs.main.seeds must be a whole number from 1 to 1000, got 0": {"seeds": 0},
    "99.runs.main.seeds must hold no value twice": {"seeds": [1, 1]},
    "99.runs.main.seeds[1] must be a whole number from 1 to 1000": {"seeds": [1, 0], "zip": [["n", "seeds"]]},
    "99.runs.main: n and seeds are zipped and must hold as many values": {"seeds": [1], "zip": [["n", "seeds"]]},
    "99.runs.main.zip must hold lists of axes, each once, got [['n', 'm']]": {"zip": [["n", "m"]]},
    "99.runs.main.zip must hold lists of axes, each once, got 'n'": {"zip": "n"},
    "99.runs.main: two of its settings are the same": {"n": [2, 2], "kind": ["a", "a"], "zip": [["n", "kind"]]},
    "99.runs.main.extends must be one of more; got 'main'": {"extends": "main"},
    "99.runs.main needs the axes kind, n, x, depths, seeds; missing or unknown: m": {"m": 3},
    "99.runs.main.n names $sizes, and the chapter has no such parameter": {"n": "$sizes"},
}


@for_each({said: (said, given) for said, given in BAD.items()})
def test_what_makes_no_sense_is_refused_by_its_full_name(said, given):
    with pytest.raises(InputError, match=re.escape(said)):
        of(main=MAIN | given, more={"kind": "a"})


def test_whole_designs_that_make_no_sense_are_refused_too():
    with pytest.raises(InputError, match="a design of runs must be one of main; got 'other'"):
        of("other")
    with pytest.raises(InputError, match=r"99\.runs\.few needs the axes .*; missing or unknown: kind, n|n, kind"):
        of("few", few={"depths": [1], "seeds": 1})
    with pytest.raises(InputError, match=r"99\.runs\.main \(n = \$sizes\): n is no prime"):
        Designs("runs", AXES, complete=refuses)(values(knobs={"sizes": [5]}, main=MAIN | {"n": "$sizes"}))
    wide = Designs("runs", dict.fromkeys("abc", axis(Count)))
    with pytest.raises(InputError, match=f"99.runs.main: the axes must have at most {MOST} combinations, got 1000000"):
        wide(values(main={axis: list(range(1, 101)) for axis in "abc"} | {"seeds": 1}))


def test_so_many_values_may_be_asked_for():
    two = Designs("runs", {"n": axis(Each[Distinct[Count, 2]])})
    assert [one["n"] for one in two(values(main={"n": [3, 1], "seeds": 1}))] == [3, 1]
    for given in ([3], 3):
        with pytest.raises(InputError, match=r"99\.runs\.main\.n must"):
            two(values(main={"n": given, "seeds": 1}))


DESIGNS = """
[smoke]
size = 2
[counted.main]
n = [1, 2]
seeds = 3
smoke.seeds = 1
[counted.more]
extends = "main"
"""


def test_profiles_and_readers_override_entries(mini_book):
    (mini_book / "chapters" / "designs" / "99.toml").write_text(DESIGNS)
    name = "99.counted.main.n"
    assert parameters.resolve("99")[name] == [1, 2] and parameters.designs("99", "smoke") == {
        "99.counted.main.seeds": 1
    }
    found = parameters.resolve("99", "smoke", {"99": {"size": 5, "counted": {"main": {"n": 7}}}}, {"sizes": [3]})
    assert (found[name], found["99.counted.main.seeds"], found["size"], found["sizes"]) == (7, 1, 5, [3])
    assert parameters.resolve("99", "laptop", {name: [4]})[name] == [4]
    for wrong in ("99.counted.nobody.n", "99.nobody.main.n", "99.counted.n", "99"):
        with pytest.raises(InputError, match=f"unknown parameter '{wrong}' of chapter 99; "):
            parameters.resolve("99", "laptop", {wrong: 3})


def test_an_entry_goes_by_a_short_name_where_that_is_unique(mini_book):
    text = DESIGNS + "[others.main]\nn = 1\nseeds = 1\n"
    (mini_book / "chapters" / "designs" / "99.toml").write_text(text)
    whole = parameters.resolve("99", "laptop", {"more.n": 4, "others.main.n": 5})
    assert (whole["99.counted.more.n"], whole["99.others.main.n"]) == (4, 5)
    assert parameters.named("99", {"more.n": 4}) == ["99.counted.more.n"]
    with pytest.raises(
        InputError, match=r"main\.n of chapter 99 is not unique: write counted\.main\.n or others\.main\.n"
    ):
        parameters.resolve("99", "laptop", {"main.n": 4})
    for wrong, meant in {"mroe.n": "more.n", "n": "counted.main.n or others.main.n", "siez": "size"}.items():
        with pytest.raises(
            InputError, match=rf"unknown parameter '{wrong}' of chapter 99; did you mean {re.escape(meant)}\?"
        ):
            parameters.resolve("99", "laptop", {wrong: 4})
