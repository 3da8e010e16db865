"""C code of this library, compiled once for this processor, where there is a C compiler.

The compiler is ``$CC``, else ``cc``, ``gcc`` or ``clang``, with ``$CFLAGS`` behind the code's own flags; where it
refuses ``NATIVE``, it builds without, in a line. ``REGIMES_COMPILED=0`` turns all compiled code off. What is compiled
stays in ``REGIMES_CACHE``, by default ``~/.cache/regimes``, under a name that holds its checksum.

A wheel may hold the code compiled for each of ``LEVELS`` (``lib/setup.py``). Then it is taken from there, and no
compiler is asked for.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

NATIVE = "-march=native"  # some compilers do not know it for all processors: Apple's of before 2023
FLAGS = ("-O3", NATIVE, "-shared", "-fPIC")

# kinds of processors of x86-64, and which flags of Linux each has beside those of the kinds after it
LEVELS = {
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
}
BUILT = Path(__file__).with_name("built")  # of a wheel


@dataclass(frozen=True)
class Code:
    """C code, and what is said where it cannot be compiled.

    Attributes:
        name: of the compiled file.
        sources: names and texts of the files, the one to be compiled first.
        flags: of the compiler.
        otherwise: how the work is done without it, for a warning.
    """

    name: str
    sources: dict[str, str]
    flags: tuple[str, ...]
    otherwise: str

    def load(self) -> ctypes.CDLL | None:
        """The compiled code; ``None``, with one line of warning, if it cannot be had, and without if turned off."""
        if os.environ.get("REGIMES_COMPILED") == "0":
            return None
        for path in (BUILT / self._of_level(level) for level in _levels(_flags())):
            with contextlib.suppress(OSError):
                return ctypes.CDLL(str(path))
        try:
            return self._loaded()
        except subprocess.CalledProcessError as error:
            why = f"{error.cmd[0]} fails: {_first_line(error.stderr)}"
        except (OSError, RuntimeError, ValueError) as error:
            why = str(error)
        warnings.warn(f"{self.otherwise}: {why}", stacklevel=3)
        return None

    def build(self, folder: Path) -> None:
        """Compiles the code into ``folder`` for each kind of processor of this machine's family."""
        folder.mkdir(parents=True, exist_ok=True)
        for level in _levels(None):
            kind = [f"-march={level}"] * (level in LEVELS)
            command = [part for flag in self._command() for part in (kind if flag == NATIVE else [flag])]
            self._compile(command, folder).replace(folder / self._of_level(level))

    def _of_level(self, level: str) -> str:
        """The name of a wheel's file, which is of these sources and flags alone."""
        told = "\n".join([*self.sources.values(), *self.flags]).encode()
        return f"{self.name}-{level}-{hashlib.sha256(told).hexdigest()[:16]}.so"

    def _loaded(self) -> ctypes.CDLL:
        """The code as it is built already, else as the compiler builds it: for this processor, or for any."""
        folder, command = _folder(), self._command()
        commands = [command, [flag for flag in command if flag != NATIVE]]
        for command in commands:
            if path := self._built(command, folder):
                return ctypes.CDLL(str(path))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            return ctypes.CDLL(str(self._compile(commands[0], folder)))
        except subprocess.CalledProcessError as error:
            try:
                library = ctypes.CDLL(str(self._compile(commands[1], folder)))
            except subprocess.CalledProcessError:
                raise error from None
        warnings.warn(
            f"{command[0]} refuses {NATIVE}: {self.name} is built for any processor of its kind", stacklevel=4
        )
        return library

    def _command(self) -> list[str]:
        """The compiler and its flags."""
        found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or ""
        compiler = shlex.split(os.environ.get("CC") or shlex.quote(found) * bool(found))
        if not compiler:
            raise OSError("no C compiler is found (cc, gcc, clang, or $CC)")
        return [*compiler, *self.flags, *shlex.split(os.environ.get("CFLAGS", ""))]

    def _built(self, command: list[str], folder: Path) -> Path | None:
        """The compiled file, if it is there as it was written.

        To load a file that is cut short ends the process by a signal, so its checksum is compared first.
        """
        key = self._key(command)
        for path in folder.glob(f"{self.name}-{key}-*.so"):
            if self._is_whole(path, key):
                return path
            warnings.warn(f"{path} is not what was written there, and is compiled again", stacklevel=5)
            path.unlink(missing_ok=True)
        return None

    def _key(self, command: list[str]) -> str:
        """Of the source, the compiler with its place, version and flags, and the processor."""
        version = _said([*command[: command.index(self.flags[0])], "--version"])
        parts = [*self.sources.values(), shutil.which(command[0]) or "", version, *command, _processor()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _file(self, key: str, content: bytes) -> str:
        return f"{self.name}-{key}-{hashlib.sha256(content).hexdigest()[:32]}.so"

    def _is_whole(self, path: Path, key: str) -> bool:
        try:
            return path.name == self._file(key, path.read_bytes())
        except FileNotFoundError:  # another process has found it damaged
            return False

    def _compile(self, command: list[str], folder: Path) -> Path:
        """The compiled file, which appears in ``folder`` whole: to other processes, and after a power cut."""
        with tempfile.TemporaryDirectory(dir=folder) as work:
            for name, text in self.sources.items():
                Path(work, name).write_text(text, encoding="utf-8")
            made, main = Path(work, "made.so"), Path(work, next(iter(self.sources)))
            subprocess.run([*command, "-o", made, main, "-lm"], check=True, capture_output=True, text=True)
            with made.open("rb+") as file:
                content = file.read()
                os.fsync(file.fileno())
            return made.replace(folder / self._file(self._key(command), content))


def _folder() -> Path:
    """Where compiled files stay."""
    if named := os.environ.get("REGIMES_CACHE"):
        return Path(named)
    try:
        return Path.home() / ".cache" / "regimes"
    except RuntimeError:  # a container may have users without a name or a home
        raise OSError("there is no home directory to keep what is compiled: set REGIMES_CACHE to a folder") from None


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def _processor() -> str:
    """The compiler's target: the machine's name and its instruction sets."""
    return platform.platform() + _flags()


def _flags() -> str:
    """The line of Linux with the processor's instruction sets; empty elsewhere."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _levels(flags: str | None) -> list[str]:
    """The kinds of processors whose code runs on one with these flags, the fastest first; for None all."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return [platform.machine()]
    has = set(flags.split()) if flags else set()
    last = [*LEVELS][-1]  # of any processor that torch runs on
    return [level for level in LEVELS if flags is None or level == last or has >= set(LEVELS[level].split())]


def _first_line(said: str | None) -> str:
    """Of what a compiler says, the first line with an error."""
    lines = (said or "").strip().splitlines() or ["it says nothing"]
    return next((line for line in lines if "error" in line), lines[0])
