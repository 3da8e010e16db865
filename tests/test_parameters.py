"""Laptop values, then the profile, then the reader: in that order, typed, and unknown names are errors."""

import pytest

from regimes import parameters, paths
from regimes.check import InputError


def test_order_of_overrides(mini_book):
    assert parameters.resolve("99")["size"] == 3
    assert parameters.resolve("99", "smoke")["size"] == 2
    assert parameters.resolve("99", "smoke", {"size": 7}, {"size": 8}) == {
        "profile": "smoke", "size": 8, "scale": 0.5, "sizes": [1, 2],
    }  # fmt: skip


def test_meaning_is_the_comment(mini_book):
    assert parameters.declared("99")["scale"].meaning == "their scale"


def test_whole_numbers_pass_as_floats(mini_book):
    value = parameters.resolve("99", "laptop", {"scale": 2})["scale"]
    assert value == 2.0 and isinstance(value, float)


@pytest.mark.parametrize(
    ("number", "profile", "given", "said"),
    [
        ("99", "laptop", {"szie": 3}, "unknown parameter 'szie' of chapter 99; known: profile, size, scale, sizes"),
        ("99", "laptop", {"size": 2.5}, "size must be of type int"),
        ("99", "laptop", {"size": True}, "size must be of type int"),
        ("99", "laptop", {"scale": "big"}, "scale must be of type float"),
        ("99", "laptop", {"sizes": [1, "two"]}, r"sizes\[1\] must be of type int"),
        ("99", "laptop", {"sizes": 3}, "sizes must be of type list"),
        ("99", "tiny", {}, "profile must be one of smoke, laptop, paper; got 'tiny'"),
        ("99", "laptop", {"profile": "paper"}, "profile is chosen with --profile"),
        ("98", "laptop", {}, "chapter must be one of 99; got '98'"),
    ],
)
def test_bad_input(mini_book, number, profile, given, said):
    with pytest.raises(InputError, match=said):
        parameters.resolve(number, profile, given)


def test_profiles_of_the_book_name_known_parameters():
    for number in parameters.chapters():
        for profile in parameters.PROFILES:
            parameters.resolve(number, profile)
    for profile in ("smoke", "paper"):
        tables = parameters.read_toml(paths.profile_file(profile))
        assert {number for number, table in tables.items() if table} <= set(parameters.chapters())


def test_unreadable_files(tmp_path):
    (tmp_path / "bad.toml").write_text("= 3")
    with pytest.raises(InputError, match="not valid TOML"):
        parameters.read_toml(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="cannot be read"):
        parameters.read_toml(tmp_path / "none.toml")
