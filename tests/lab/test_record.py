"""A setting is a record: checked when it is made, with the entries that its cell is known by."""

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Literal

import pytest

from companion.lab.parameters import Kind
from companion.lab.record import (
    Axis,
    Count,
    Distinct,
    Each,
    FirstOf,
    Increasing,
    Positive,
    Setting,
    Share,
    axis,
    derived,
    record,
)
from companion.lab.sweep import study
from regimes import validate
from regimes.validate import InputError
from tests.cases import for_each

NAMES = ("a", "b")


@record
class Runs(Setting):
    """A setting of these tests."""

    data: FirstOf[NAMES]
    words: str = derived()
    n: Count[2, 100]
    scale: Positive
    depths: Increasing[Count, 2]
    fewer: Count[10] | None = None

    def completed(self, seeds):
        return replace(self, data=self.data[0], words=f"{self.data[0]} for {len(seeds)}")


GIVEN = {"data": ["b", "a"], "n": 3, "scale": 2, "depths": [1, 5]}


@study(version=1)
def runs(s: Runs, seeds):
    """The sum of a setting's values."""
    return [{"seed": seed, "value": s.n + s.scale + sum(s.depths)} for seed in seeds]


def test_a_record_is_its_entries_without_what_it_lacks():
    made = Runs(**GIVEN).completed([0, 1])
    assert made.entries() == GIVEN | {"data": "b", "words": "b for 2"} and type(made.scale) is float
    assert Runs.of(made.entries()) == made == pickle.loads(pickle.dumps(made))
    assert replace(made, fewer=4).entries()["fewer"] == 4
    with pytest.raises(FrozenInstanceError):
        made.n = 4


@record
class Apart(Runs):
    """A setting whose seeds no other size shares."""

    def realisations(self, seeds):
        return [1000 * self.n + seed for seed in seeds]


@study(version=1)
def apart(s: Apart, seeds):
    """Nothing."""
    return [{"seed": seed} for seed in seeds]


def test_a_record_may_have_seeds_of_its_own():
    values = {f"99.apart.main.{name}": value for name, value in (GIVEN | {"n": [3, 4], "seeds": 2}).items()}
    assert [(one["seeds"], one["words"]) for one in apart.grid(values)] == [
        ([3000, 3001], "b for 2"),
        ([4000, 4001], "b for 2"),
    ]


def test_a_study_takes_the_record_that_its_function_names():
    assert runs.record is Runs and runs(GIVEN, [1]) == [{"seed": 1, "value": 11}]
    values = {f"99.runs.main.{name}": value for name, value in GIVEN.items()} | {"99.runs.main.seeds": 2}
    assert runs.grid(values) == [GIVEN | {"data": "b", "words": "b for 2", "seeds": [0, 1]}]
    assert "words" not in runs.grid.axes and runs.grid.axes["fewer"].optional


AXES = {
    "optional": (Count[5] | None, Axis(Kind.of("count", 1, 5), optional=True)),
    "open": (Count[2, None], Axis(Kind.of("count", 2))),
    "names": (Literal["a"] | Literal["b"] | None, Axis(Kind("one of", names=("a", "b")), optional=True)),
    "list": (Distinct[Literal["a", "b"]], Axis(Kind("one of", names=("a", "b"), order="distinct"))),
    "each": (Each[Increasing[Share, 3]], Axis(Kind("share"), Kind("share", order="increasing", least=3))),
}


@for_each(AXES)
def test_an_annotation_is_an_axis(hint, expected):
    assert axis(hint) == expected


def test_a_name_may_stand_in_place_of_a_number():
    either = axis(Positive[1] | Literal["star", "end"] | None)
    assert [either.checked("until", one) for one in ("end", 1, None)] == ["end", 1.0, None]
    for wrong in ("never", 2.0, True, ["end"]):
        with pytest.raises(InputError, match="until must be a number above 0 and at most 1, or one of star, end, got"):
            either.checked("until", wrong)


REFUSED = {
    "n must be a whole number from 2 to 100, got 1": {"n": 1},
    "n must be a whole number from 2 to 100, got True": {"n": True},
    "data must be one of a, b, got 'c'": {"data": "c"},
    "data must hold no value twice": {"data": ["a", "a"]},
    "depths must be a strictly increasing list of numbers, got [5, 1]": {"depths": [5, 1]},
    "scale must be a number above 0": {"scale": float("nan")},
    "an entry of Runs must be one of data, words, n, scale, depths, fewer; got 'other'": {"other": 1},
}


@for_each({said: (said, given) for said, given in REFUSED.items()})
def test_what_is_not_allowed_is_refused_when_it_is_made(message, change):
    with pytest.raises(InputError) as refused:
        runs(GIVEN | change, [0])
    assert str(refused.value).startswith(message)


def test_what_lacks_is_named():
    with pytest.raises(InputError, match=r"Runs needs .*; missing: scale, depths"):
        Runs.of({"data": "a", "n": 3})
    with pytest.raises(InputError, match="is no kind of a setting's value"):
        axis(dict)
    assert Kind.of("count") == axis(Count).kind


@study(version=1)
def refusing(s: Runs, seeds):
    """Nothing, for n below 5."""
    validate.integer(5, n=s.n)
    return [{"seed": seed} for seed in seeds]


def test_what_a_function_refuses_inside_a_study_names_study_setting_and_seeds():
    said = rf"^{refusing.name} at n = 3, scale = 2, seeds \[0, 4\]: n must be a whole number of at least 5, got 3$"
    with pytest.raises(InputError, match=said):
        refusing(GIVEN, [0, 4])
    assert len(refusing(GIVEN | {"n": 5}, [0, 4])) == 2
