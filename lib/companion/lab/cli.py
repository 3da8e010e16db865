"""Shared parts of the command lines: parameter options, and errors as one line with exit code 2."""

import argparse
import ast
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from companion.lab.errors import CellError
from companion.lab.parameters import PROFILES, read_toml
from regimes.validate import InputError


class Parser(argparse.ArgumentParser):
    """A parser to which ``-1e-3`` and ``-5%`` are values, not options, and whose errors are one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")

    def error(self, message: str) -> NoReturn:
        """Leaves with exit code 2."""
        _leave(2, f"error: {message} ({self.prog} --help shows what there is)")


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--profile``, ``-p NAME VALUE`` and ``-f FILE.toml``."""
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--profile", default="laptop", metavar="|".join(PROFILES), help="sizes (default: laptop)")
    parser.add_argument("-p", nargs=2, metavar=("NAME", "VALUE"), help='one parameter, "[100, 200]" for a list', **many)
    parser.add_argument("-f", type=Path, metavar="FILE", help="parameters in a TOML file", **many)


def overrides(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The mappings given by ``-f`` and ``-p``, files first."""
    return [read_toml(path) for path in args.f] + [{name: _literal(text) for name, text in args.p}]


def _literal(text: str) -> Any:
    """A Python literal, else the text itself."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # the last two of what is nested too deep
        return text


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """One line on stderr in place of a traceback: exit code 2 for an InputError, 1 for a failure, 130 for an interrupt.

    A pipe that closes early (``list | head``) is no error.
    """
    try:
        yield
        sys.stdout.flush()
    except InputError as error:
        _leave(2, f"error: {error}")
    except CellError as error:
        _leave(1, f"error: {error}; what was finished is stored")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains as it ends
        sys.exit(0)
    except OSError as error:
        about = f"{error.filename}: " if error.filename else ""
        _leave(1, f"error: {about}{error.strerror or str(error) or type(error).__name__}")
    except KeyboardInterrupt:
        _leave(130, "stopped; whatever was finished is kept")


def _leave(code: int, line: str) -> NoReturn:
    print(" ".join(line.split()), file=sys.stderr)
    sys.exit(code)
