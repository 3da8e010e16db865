"""Sums over all pairs of neurons and points, in C if there is a compiler, where no array holds an entry for a pair.

A C compiler builds ``compiled.c`` once, for this processor: ``$CC``, else ``cc``, ``gcc`` or ``clang``, with
``$CFLAGS`` behind its own flags. ``REGIMES_COMPILED=0`` turns it off. What is compiled stays in ``REGIMES_CACHE``, by
default ``~/.cache/regimes``, under a name that holds its checksum.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import torch
from torch import Tensor

from regimes.models.one_hidden import GAIN

FILES = ("compiled.c", "products.h", "box.h", "band.h")
SOURCES = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES}
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
MOST = 128  # inputs of a neuron, as in products.h


@functools.cache
def routines() -> ctypes.CDLL | None:
    """The compiled code; ``None``, with one line of warning, if it cannot be had, and without if it is turned off."""
    if os.environ.get("REGIMES_COMPILED") == "0":
        return None
    try:
        return ctypes.CDLL(str(_library(_command())))
    except subprocess.CalledProcessError as error:
        why = f"{error.cmd[0]} fails: {_first_line(error.stderr)}"
    except (OSError, RuntimeError, ValueError) as error:
        why = str(error)
    warnings.warn(
        f"the gradient flow takes its steps on tensors, not in C, several times as slowly: {why}", stacklevel=2
    )
    return None


def _command() -> list[str]:
    """The compiler and its flags."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or ""
    compiler = shlex.split(os.environ.get("CC") or shlex.quote(found) * bool(found))
    if not compiler:
        raise OSError("no C compiler is found (cc, gcc, clang, or $CC)")
    return [*compiler, *FLAGS, *shlex.split(os.environ.get("CFLAGS", ""))]


def _library(command: list[str]) -> Path:
    """The compiled file, which is built unless it is there as it was written.

    To load a file that is cut short ends the process by a signal, so its checksum is compared first.
    """
    folder = _folder()
    key = _key(command)
    for path in folder.glob(f"flow-{key}-*.so"):
        if _is_whole(path, key):
            return path
        warnings.warn(f"{path} is not what was written there, and is compiled again", stacklevel=3)
        path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return _compile(command, folder, key)


def _folder() -> Path:
    """Where compiled files stay."""
    if named := os.environ.get("REGIMES_CACHE"):
        return Path(named)
    try:
        return Path.home() / ".cache" / "regimes"
    except RuntimeError:  # a container may have users without a name or a home
        raise OSError("there is no home directory to keep what is compiled: set REGIMES_CACHE to a folder") from None


def _key(command: list[str]) -> str:
    """Of the source, the compiler with its place, version and flags, and the processor."""
    asked = [*command[: command.index(FLAGS[0])], "--version"]
    version = subprocess.run(asked, check=False, capture_output=True, text=True).stdout
    parts = [*SOURCES.values(), shutil.which(command[0]) or "", version, *command, _processor()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _name(key: str, content: bytes) -> str:
    return f"flow-{key}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def _is_whole(path: Path, key: str) -> bool:
    try:
        return path.name == _name(key, path.read_bytes())
    except FileNotFoundError:  # another process has found it damaged
        return False


def _processor() -> str:
    """The compiler's target: the machine's name and its instruction sets."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    flags = [line for line in lines if line.startswith(("flags", "Features"))]
    return platform.platform() + (flags[0] if flags else "")


def _compile(command: list[str], folder: Path, key: str) -> Path:
    """The compiled file, which appears in ``folder`` whole: to other processes, and after a power cut."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for name, text in SOURCES.items():
            Path(work, name).write_text(text, encoding="utf-8")
        made = Path(work, "flow.so")
        subprocess.run([*command, "-o", made, Path(work, FILES[0]), "-lm"], check=True, capture_output=True, text=True)
        with made.open("rb+") as file:
            content = file.read()
            os.fsync(file.fileno())
        return made.replace(folder / _name(key, content))


def _first_line(said: str | None) -> str:
    """Of what a compiler says, the first line with an error."""
    lines = (said or "").strip().splitlines() or ["it says nothing"]
    return next((line for line in lines if "error" in line), lines[0])


def compiles(dtype: torch.dtype, device: torch.device, k: int) -> bool:
    """Whether networks of this precision, device and number of inputs are computed in C."""
    return dtype == torch.float64 and device.type == "cpu" and k <= MOST and routines() is not None


def outputs(xt: Tensor, gates: Tensor, slopes: Tensor) -> Tensor:
    r"""``(e, p)``: :math:`\sum_n [g_n\cdot x_\mu > 0]\, s_n\cdot x_\mu`, with the gates of weights ``g``, slopes ``s``.

    Args:
        xt: inputs ``(e, p, k)``.
        gates: weights ``g (e, h, k)``, whose gates are open where their product with an input is positive.
        slopes: ``s (e, h, k)``; a network's own outputs have :math:`g_n = u_n` and :math:`s_n = \beta_n u_n`.
    """
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        return ((slopes.mT @ (gates @ xt.mT).gt_(0)) * xt.mT).sum(1)
    out = torch.empty(xt.shape[:2], dtype=xt.dtype)
    for f, *arrays in zip(out, xt.mT, gates, slopes):
        _call("pair_outputs", xt, gates, arrays, (f,))
    return out


def margins(xt: Tensor, y: Tensor, base: Tensor, alpha: float, u: Tensor, beta: Tensor) -> Tensor:
    r"""``m (e, p)``: :math:`\alpha\,(y_\mu f(x_\mu) - b_\mu)` with the network's own gates; in C, a step's own bits.

    Args:
        xt: inputs ``(e, p, k)``.
        y: labels ``(e, p)``.
        base: ``b (e, p)``.
        alpha: scale of the predictor.
        u: weights ``(e, h, k)``.
        beta: last-layer weights ``(e, h)``.
    """
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        return alpha * (y * outputs(xt, u, u * beta.unsqueeze(-1)) * (GAIN / u.shape[1]) - base)
    out = torch.empty(xt.shape[:2], dtype=xt.dtype)
    for m, *arrays in zip(out, xt.mT, u, beta, y, base):
        _call("pair_margins", xt, u, arrays, (ctypes.c_double(alpha), ctypes.c_double(GAIN), m))
    return out


def field(xt: Tensor, c: Tensor, weights: Tensor, scale: float) -> Tensor:
    r"""``(e, h, k)``: scale :math:`\sum_\mu [u_n\cdot x_\mu > 0]\, c_\mu x_\mu` for weights ``u (e, h, k)``.

    Args:
        xt: inputs ``(e, p, k)``.
        c: numbers ``(e, p)``.
        weights: ``u (e, h, k)``.
        scale: a factor.
    """
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        return (weights @ xt.mT).gt_(0) @ (xt * c.unsqueeze(-1) * scale)
    out = torch.empty_like(weights, memory_format=torch.contiguous_format)
    for G, *arrays in zip(out, xt.mT, c, weights):
        _call("pair_field", xt, weights, arrays, (ctypes.c_double(scale), G))
    return out


def _call(name: str, xt: Tensor, weights: Tensor, arrays: list[Tensor], others: tuple) -> None:
    """Calls a routine with the sizes, the contiguous arrays of one realisation, and the other arguments."""
    contiguous = [array.double().contiguous() for array in arrays]
    arguments = [_pointer(value) if isinstance(value, Tensor) else value for value in (*contiguous, *others)]
    sizes = [ctypes.c_int(size) for size in (xt.shape[1], weights.shape[1], weights.shape[2])]
    library = routines()
    assert library is not None
    if not getattr(library, name)(*sizes, *arguments):
        raise MemoryError(f"no memory for {xt.shape[1]} points of {xt.shape[2]} inputs")


def _pointer(array: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data_ptr())
