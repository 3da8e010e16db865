"""What the command lines share: parameter options, and errors as one line with exit code 2."""

import argparse
import ast
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regimes.check import InputError
from regimes.parameters import PROFILES, read_toml


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--profile``, ``-p NAME VALUE`` and ``-f FILE.toml``."""
    parser.add_argument(
        "--profile", default="laptop", metavar="|".join(PROFILES), help="sizes to run (default: laptop)"
    )
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help='one parameter, "[100, 200]" for a list',
    )
    parser.add_argument("-f", type=Path, action="append", default=[], metavar="FILE", help="parameters in a TOML file")


def overrides(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The mappings that ``-f`` and ``-p`` stand for, files first."""
    return [read_toml(path) for path in args.f] + [{name: _literal(text) for name, text in args.p}]


def _literal(text: str) -> Any:
    """A Python literal, else the text itself."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: deep nesting
        return text


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns an InputError into one line on stderr and exit code 2; a reader who closes the pipe ends it in silence."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at exit
        sys.exit(1)
    except InputError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
