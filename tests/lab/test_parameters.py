"""Laptop values, then the profile, then the reader: in that order, each of its kind, and unknown names are errors."""

import functools
import math
import pickle
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from companion import paths
from companion.lab import catalogue, parameters
from companion.lab.design import Designs
from companion.lab.parameters import Kind
from companion.lab.record import Axis, Count, FirstOf, Increasing, Number, Positive, Share, axis
from companion.lab.sweep import Cell
from companion.papers.compression.studies import lazy_feature
from regimes import validate
from regimes.validate import InputError


def test_order_of_overrides(mini_book):
    assert parameters.resolve("99")["size"] == 3
    assert parameters.resolve("99", "smoke")["size"] == 2
    found = parameters.resolve("99", "smoke", {"size": 7}, {"size": 8})
    assert found.items() >= {"profile": "smoke", "size": 8, "scale": 0.5}.items() and found["sizes"] == [1, 2]


def test_meaning_is_the_comment(mini_book):
    assert parameters.declared("99")["scale"].meaning == "their scale"


def test_whole_numbers_pass_as_floats(mini_book):
    value = parameters.resolve("99", "laptop", {"scale": 2})["scale"]
    assert value == 2.0 and isinstance(value, float)
    scales = parameters.resolve("99", "laptop", {"scale": 3})["scale"], *parameters._like([0.5], [1, 2.5])
    assert {type(one) for one in scales} == {float}
    assert type(parameters.resolve("99", "laptop", {"size": 2})["size"]) is int


def test_a_file_may_hold_the_tables_of_several_chapters():
    own = {"01": {"curve_alpha": 0.5}, "05": {"n0": 7}}
    for number in own:
        found = parameters.resolve(number, "laptop", own)
        assert found.items() >= own[number].items()


@pytest.mark.parametrize(
    ("number", "profile", "given", "said"),
    [
        (
            "99",
            "laptop",
            {"szie": 3},
            r"unknown parameter .szie. of chapter 99; did you mean size\?; known: profile, size, ",
        ),
        ("99", "laptop", {"size": 2.5}, "size must be a whole number from 1 to 100, got 2.5"),
        ("99", "laptop", {"size": 101}, "size must be a whole number from 1 to 100, got 101"),
        ("99", "laptop", {"size": True}, "size must be a whole number from 1 to 100, got True"),
        ("99", "laptop", {"scale": "big"}, "scale must be a number from 0 to 10, got 'big'"),
        ("99", "laptop", {"scale": 10**400}, r"scale must be a number from 0 to 10, got 10+\.\.\.0+$"),
        ("99", "laptop", {"scale": 10**5000}, "scale must be a number from 0 to 10, got a int too long to print"),
        ("99", "laptop", {"sizes": [1, "two"]}, r"sizes\[1\] must be a whole number from 1 to 1000000, got 'two'"),
        ("99", "laptop", {"sizes": 3}, "sizes must be a list of whole numbers from 1 to 1000000, got 3"),
        ("99", "laptop", {"sizes": []}, r"sizes must hold at least 1 value, got \[\]"),
        ("99", "laptop", {"sizes": [1] * 101}, "sizes must hold at most 100 values, got 101"),
        ("99", "tiny", {}, "profile must be one of smoke, laptop, paper; got 'tiny'"),
        ("99", "laptop", {"profile": "paper"}, "profile is chosen with --profile"),
        ("98", "laptop", {}, "chapter must be one of 99; got '98'"),
    ],
)
def test_bad_input(mini_book, number, profile, given, said):
    with pytest.raises(InputError, match=said):
        catalogue.check(number, parameters.resolve(number, profile, given))


def test_a_parameter_may_have_the_values_of_every_axis_that_designs_give_it_to():
    """A list of these where the page holds a list; what no design names has ends in the table ``range``."""
    of = {number: catalogue.kinds(number) for number in parameters.chapters()}
    assert of["01"]["curve_h"] == lazy_feature.networks.grid.axes["h"].kind == Kind.of("count", 10, 10**5)
    assert of["01"]["curve_d"] == replace(lazy_feature.networks.grid.axes["d"].kind, order="distinct")
    assert of["02"]["growth_seeds"] == Kind.of("count", 1, 1000), "a design may have none, a page some"
    assert of["06"]["reversal_n"] == Kind.of("count", 16, 4096), "of three axes"
    assert of["07"]["fig2_seeds"] == replace(Kind.of("count", 1, 1000), order="list of"), "zipped with sizes"
    assert of["03"]["map_stop"] == Kind.of("number", 0.5, 1), "of the page alone"
    assert "curve_seeds" not in parameters.read_toml(paths.designs_file("01"))["range"]
    for number, kinds in of.items():
        ranged = parameters.read_toml(paths.designs_file(number)).get("range", {})
        values = parameters.resolve(number)
        named = {
            knob
            for it in catalogue.of(number).values()
            for one in it.grid.names(values)
            for knob in it.grid.knobs(values, one)
        }
        assert ranged.keys() == kinds.keys() - named


def test_a_value_of_two_kinds_is_in_both_ranges_and_of_the_names_of_both():
    count, number = Kind.of("count", 5, 100), Kind.of("number", -1, 50)
    assert count.both(number) == number.both(count) == Kind("count", 5, 50)
    names = Kind("one of", names=("a", "b")), Kind("one of", names=("b", "c"), order="distinct", least=2)
    assert names[0].both(names[1]) == Kind("one of", names=("b",), order="distinct", least=2)
    assert names[0].both(Kind("text")) == names[0]
    end = replace(Kind.of("positive", None, 1), names=("end",))
    assert end.both(Kind.of("positive", None, 2)) == Kind.of("positive", None, 1)


def test_an_unknown_name_of_an_axis_gets_the_parameter_that_feeds_it():
    with pytest.raises(InputError, match=r"did you mean lazy_h or curve_h or finite_width_lazy\.scan\.h\?"):
        parameters.resolve("01", "laptop", {"h": 100})


KINDS = [
    (Count, [1, 10**6], [0, 10**6 + 1, 1.0, True, "1", None]),
    (Count[0, 3], [0, 3], [-1, 4]),
    (Number[-1, 1], [-1, 0.5, 1.0], [-1.1, math.nan, "0", False]),
    (Positive[10], [1e-300, 10], [0, -1.0, 10.1, math.inf]),
    (Positive[0.1, 10], [0.1, 10], [0.099]),
    (Share, [1e-9, 0.5], [0, 1, 1.0, -0.5]),
    (Literal["sin", "erf(x/√2)"], ["sin", "erf(x/√2)"], ["cos", "", 1, None, ["sin"]]),
    (str, ["", "a"], [1, None]),
    (bool, [True, False], [1, "yes"]),
    (Increasing[Count[2, 10**6]], [[2], [2, 3]], [[], [1, 2], [3, 2], [2, 2], [2.0], 2, (2, 3), [[2]]]),
    (Increasing[Number[0, 1], 3], [[0, 0.5, 1]], [[0, 1], [0, 0.5, 2], [0, 0.5, math.nan]]),
    (FirstOf["a", "b"], [["b", "a"]], [["a", "a"], ["c"], "a", []]),
]


@pytest.mark.parametrize(("hint", "good", "bad"), KINDS)
def test_kinds_take_what_they_say_and_nothing_else(hint, good, bad):
    kind = axis(hint).kind
    for value in good:
        assert kind.checked("x", value) == value
    for value in bad:
        with pytest.raises(InputError, match=r"^x(\[\d+\])? must ") as raised:
            kind.checked("x", value)
        assert "\n" not in str(raised.value)


def test_words_of_a_range_name_both_its_ends():
    assert Kind.of("positive", 0.1, 10).allowed() == "a number from 0.1 to 10"
    assert Kind.of("positive", None, 10).allowed() == "a number above 0 and at most 10"


@pytest.mark.parametrize("line", ["size: int = 3", "size += 3", "size = other", "size = three()", "size = n = 3", "3"])
def test_a_line_that_declares_no_parameter_is_an_error(mini_book, line):
    path = mini_book / "chapters" / "99_mini.py"
    path.write_text(path.read_text().replace("size = 3", line))
    with pytest.raises(InputError, match=r"a parameter is declared as name = value .* got '"):
        parameters.resolve("99")


@pytest.mark.parametrize("value", ["None", "[]", "{1: 2}", "[1, 'a']"])
def test_a_parameter_of_no_kind_is_an_error(mini_book, value):
    path = mini_book / "chapters" / "99_mini.py"
    path.write_text(path.read_text().replace("size = 3", f"size = {value}"))
    with pytest.raises(InputError, match="size must hold a number, a text, true or false, or a list, got"):
        catalogue.kinds("99")


def test_a_laptop_value_outside_its_range_is_an_error(mini_book):
    path = mini_book / "chapters" / "99_mini.py"
    path.write_text(path.read_text().replace("size = 3", "size = 0"))
    with pytest.raises(InputError, match="size must be a whole number from 1 to 100, got 0"):
        catalogue.check("99", parameters.resolve("99"))


def test_values_of_all_profiles_are_of_their_kinds():
    for number in parameters.chapters():
        for profile in parameters.PROFILES:
            catalogue.check(number, parameters.resolve(number, profile))
    files = sorted(paths.designs_file("01").parent.iterdir())
    assert files == [paths.designs_file(number) for number in parameters.chapters()]


def test_unreadable_files(tmp_path):
    (tmp_path / "bad.toml").write_text("= 3")
    with pytest.raises(InputError, match="not valid TOML"):
        parameters.read_toml(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="cannot be read"):
        parameters.read_toml(tmp_path / "none.toml")


ODD = [
    None, True, "", "big", "10**400", b"1", 10**400, 10**5000, 10**15, -1, 0, 1e308, -0.0, math.nan, math.inf, 1j,
    [], {}, {"a": 1}, (1, 2), [[1, 2]], [True, 2, 3], [math.nan], [10**400, 1], ["1", "2", "3"], [1, 1, 1], [3, 2, 1],
]  # fmt: skip


def items(item):
    """Values at, within and just outside an item's range."""
    if item.word == "one of":
        return st.sampled_from([*item.names, item.names[0].upper(), ""])
    if item.word == "text":
        return st.sampled_from(["", "sphere", "$n0", "$$"])
    if item.word == "switch":
        return st.sampled_from([True, False, 0, 1, "true"])
    if item.word == "count":
        ends = st.sampled_from([item.low - 1, item.low, item.low + 1, item.high, item.high + 1])
        return ends | st.integers(item.low, min(item.low + 300, item.high)) | st.integers(item.low, item.high)
    low, high = (0.0, 1.0) if item.word == "share" else (item.low, item.high)
    return st.sampled_from([low, high, 1.1 * high, low - 1, round(low + 1)]) | st.floats(low, high)


def values(kind):
    """Values of a kind or nearly so, and values of none."""
    one = items(kind.item)
    if not kind.order:
        return st.sampled_from(ODD) | one | one
    several = st.lists(one, max_size=kind.least + 4)
    return st.sampled_from(ODD) | several | several.map(lambda v: sorted(set(v))) | st.just([kind.item.low] * 101)


def edges(kind):
    """The ends of a kind's range and what is just outside, alone or as the shortest list; every name."""
    item = kind.item
    low, high = (1e-9, 1 - 1e-9) if item.word == "share" else (item.low, item.high)
    ones = list(item.names) or ([low - 1, low, high, high + 1] if math.isfinite(low) else [])
    if not kind.order:
        return ones
    return [[one] for one in ones] + [[low + i for i in range(kind.least)]] * (item.word == "count")


class Read(dict):
    """Parameters that note which of them are asked for."""

    def __init__(self, values):
        super().__init__(values)
        self.names = set()

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.names.add(name)
        return super().get(name, default)

    def items(self):
        self.names |= self.keys()
        return super().items()


def readers(number):
    """For each parameter of a chapter the studies whose grids read it, at one profile at least."""
    found = {name: set() for name in [*parameters.declared(number), *parameters.designs(number)]}
    for profile in parameters.PROFILES:
        for name, study in catalogue.of(number).items():
            values = Read(parameters.resolve(number, profile))
            try:
                study.grid(values)
            except InputError:  # larger than this machine: what was read until then counts
                pass
            for one in values.names:
                found.setdefault(one, set()).add(name)
    return found


def usable(number, name, value, studies):
    """Whether the chapter takes ``value``; the grids must then hold distinct cells, or else one line names it."""
    try:
        values = parameters.resolve(number, "smoke", {name: value})
        grids = catalogue.grids(number, values, studies[0]) | {study: study.grid(values) for study in studies[1:]}
    except InputError as error:
        what = ".".join(name.split(".")[:2])  # a study, whose axes must fit each other, or a parameter
        named = what in str(error) or "is on this machine" in str(error)  # data that are not, by their own name
        assert named and "\n" not in str(error) and len(str(error)) < 400, str(error)
        return False
    for study, grid in grids.items():
        keys = [Cell(study.name, 1, {k: v for k, v in setting.items() if k != "seeds"}, 0).key() for setting in grid]
        assert keys and len(set(keys)) == len(keys), f"{study.name} has cells twice"
        assert all(setting["seeds"] for setting in grid)
    return True


def kind_of(study, name):
    """The kind of a design's axis; of names and of zipped axes, any text."""
    if name.endswith(".seeds"):
        return study.grid.seeds
    found = study.grid.axes.get(name.rpartition(".")[2], Axis(Kind("text")))
    return found.several or found.kind


class NONE:
    """Where no grid reads a parameter: a chapter's own."""

    name = "none"

    @staticmethod
    def grid(values):
        return [{"seeds": [0]}]


def unchanged_once(settings):
    """``Designs.settings`` that builds a design once for the same entries and parameters: most were not drawn anew."""
    known = {}

    def once(self, values, design):
        entries = self._merged_table(values, design)[1]
        words = [word for one in entries.values() for word in (one if isinstance(one, list) else [one])]
        read = [values.get(word[1:]) for word in words if isinstance(word, str) and word.startswith("$")]
        key = self.study, design, pickle.dumps((entries, read))
        if key not in known:
            found = settings(self, values, design)
            assert len({*map(self.identity, found)}) == len(found), f"{self.study}.{design} asks for a setting twice"
            known[key] = found
        return [dict(setting) for setting in known[key]]

    return once


EXAMPLES = {"few": (5, 2), "many": (34, 34)}  # of a chapter's own parameters, and of the axes of its designs


@pytest.mark.parametrize("many", ["few", pytest.param("many", marks=pytest.mark.weekly)])
@pytest.mark.parametrize("number", parameters.chapters())
def test_every_value_of_a_parameter_is_usable_or_refused_in_one_line(number, many, monkeypatch):
    """Whatever the kind of each parameter lets through, and what it does not: every grid that reads it is built.

    An axis has one kind in all designs of a study: every week it is tried in each of them, else in the first.
    """
    monkeypatch.setattr(parameters, "_profile", functools.cache(parameters._profile))
    monkeypatch.setattr(parameters, "declared", functools.cache(parameters.declared))
    monkeypatch.setattr(catalogue, "kinds", functools.cache(catalogue.kinds))
    monkeypatch.setattr(Designs, "settings", unchanged_once(Designs.settings))
    monkeypatch.setattr(validate, "free_memory", functools.cache(validate.free_memory))
    known, kinds, taken, tried = catalogue.of(number), catalogue.kinds(number), {}, set()

    def of(name, kind, studies):
        @settings(
            derandomize=True, deadline=None, database=None, max_examples=EXAMPLES[many]["." in name],
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(values(kind))
        def attack(value):
            taken[name] = usable(number, name, value, studies) or taken.get(name, False)

        return attack

    for name, names in readers(number).items():
        axis_of_study = tuple(name.split(".")[1::2])
        if name == "profile":
            continue
        if many == "few" and axis_of_study and axis_of_study in tried:
            continue
        tried.add(axis_of_study)
        studies = [known[one] for one in sorted(names)] or [NONE]
        kind = kinds[name] if "." not in name else kind_of(studies[0], name)
        try:
            for value in edges(kind):
                usable(number, name, value, studies)
            of(name, kind, studies)()
        except AssertionError as error:
            error.add_note(f"chapter {number}, parameter {name}")
            raise
    assert (
        sum(taken.values()) > len(taken) / 2
    )  # some are refused however drawn: sizes that must be another list's, too
