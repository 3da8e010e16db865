"""Wheels that hold the C compiled, so that their readers need no compiler.

    REGIMES_WHEEL=1 pip wheel --no-build-isolation --no-deps lib

in an environment that has torch. Else, and in editable installs, the package carries the C alone, and
``regimes.compiler`` compiles it where it is first used.
"""

import importlib
import os
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ASKED = os.environ.get("REGIMES_WHEEL") == "1"


class Compiled(build_py):
    """Adds to the modules what is compiled for each kind of processor of this machine's family."""

    def run(self) -> None:
        """Builds the package."""
        super().run()
        if not ASKED or self.editable_mode:
            return
        here = Path(__file__).resolve().parent
        sys.path.insert(0, str(here))
        for path in sorted(here.joinpath("regimes").rglob("*.py")):
            if "= compiler.Code(" in path.read_text(encoding="utf-8"):
                code = importlib.import_module(".".join(path.relative_to(here).with_suffix("").parts)).CODE
                code.build(Path(self.build_lib, "regimes", "built"))


class ForAnyPython(bdist_wheel):
    """The C is called through ctypes: its wheel is for one kind of machine and any Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, its binary interface and the machine."""
        return ("py3", "none", super().get_tag()[2]) if ASKED else super().get_tag()


class OfOneKind(Distribution):
    """A package with compiled files, where they are asked for."""

    def has_ext_modules(self) -> bool:
        """Whether there are any."""
        return ASKED


setup(cmdclass={"build_py": Compiled, "bdist_wheel": ForAnyPython}, distclass=OfOneKind)
