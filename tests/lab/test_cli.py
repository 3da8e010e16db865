"""Command lines: negative numbers are values, and every error is one line."""

import pytest

from companion.lab.cli import Parser, one_line_errors


def parser():
    found = Parser(prog="program")
    found.add_argument("-p", nargs=2)
    found.add_argument("--budget")
    found.add_argument("--jobs", type=int)
    return found


@pytest.mark.parametrize("value", ["-1", "-1e-3", "-.5", "-5%", "-1s", "-1_000", "-0x10", "-inf", "-nan"])
def test_a_negative_number_is_a_value(value):
    found = parser().parse_args(["-p", "scale", value, "--budget", value])
    assert found.p == ["scale", value] and found.budget == value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-x"], "unrecognized arguments: -x"),
        (["--budget", "-p", "a", "b"], "argument --budget: expected one argument"),
        (["--jobs", "many"], "argument --jobs: invalid int value: 'many'"),
    ],
)
def test_what_cannot_be_parsed_is_one_line(capsys, words, said):
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(words)
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"error: {said} (program --help shows what there is)\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "cell"), "error: cell: No space left on device"),
        (OSError("no words"), "error: no words"),
        (OSError(), "error: OSError"),
    ],
)
def test_an_error_of_the_machine_is_one_line_with_or_without_words(capsys, error, said):
    with pytest.raises(SystemExit) as stopped, one_line_errors():
        raise error
    assert stopped.value.code == 1 and capsys.readouterr().err == f"{said}\n"
