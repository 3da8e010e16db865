"""Command lines: negative numbers are values, and every error is one line."""

import pytest

from companion.lab import parameters
from companion.lab.cli import Parser, add_parameter_options, one_line_errors, overrides


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


DEEP_WORDS = {
    "signs": "+" * 20_000 + "1",
    "minus": "0" + "-" * 200_000 + "1",
    "sum": "1" + "+1j" * 50_000,
    "brackets": "[" * 100_000,
    "no key": "{[]: 1}",
    "digits": "1" * 5_000,
}


@pytest.mark.parametrize("text", DEEP_WORDS.values(), ids=DEEP_WORDS.keys())
def test_an_expression_that_is_too_deep_is_one_line(capsys, text):
    options = Parser(prog="program")
    add_parameter_options(options)
    count = parameters.Kind.of("count")
    with pytest.raises(SystemExit) as stopped, one_line_errors():
        (given,) = overrides(options.parse_args(["-p", "n", text]))
        count.checked("n", given["n"])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and said.startswith("error: n must be a whole number from 1 to 1000000, got ")
    assert said.count("\n") == 1 and len(said) < 300


@pytest.mark.parametrize(
    "text",
    [
        f"a = {'[' * 3000}1{']' * 3000}",
        f"a = {'{a = ' * 3000}1{'}' * 3000}",
        f"{'a.' * 3000}a = 1",
        f"[{'a.' * 3000}a]",
        f"{'a.' * parameters.DEEPEST}a = 1",
    ],
    ids=["lists", "tables", "dots", "header", "one level"],
)
def test_a_file_that_is_too_deep_is_one_line(capsys, tmp_path, text):
    options = Parser(prog="program")
    add_parameter_options(options)
    (file := tmp_path / "deep.toml").write_text(text)
    with pytest.raises(SystemExit) as stopped, one_line_errors():
        overrides(options.parse_args(["-f", str(file)]))
    said = capsys.readouterr().err
    assert (
        stopped.value.code == 2 and said == f"error: parameter file {file} has tables or lists of more than 20 levels\n"
    )
    file.write_text(f"{'a.' * (parameters.DEEPEST - 1)}a = 1")
    assert overrides(options.parse_args(["-f", str(file)]))[0]["a"]
