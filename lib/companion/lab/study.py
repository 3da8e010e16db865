"""Studies: named pure functions from one setting and a list of seeds to rows."""

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from torch import Tensor

from companion.lab import digest
from companion.lab.design import Designs, Entries
from companion.lab.record import Count, Setting, axis, described
from regimes import devices, validate
from regimes.validate import InputError

Rows = list[dict[str, Any]]
DEVICES = ("cpu", "any")
STATISTICAL = "statistical"  # a column whose numbers are draws, and others where another processor computes them
Tolerance = float | tuple[float, float] | str


@dataclass(frozen=True)
class Study:
    """A named measurement: ``function(setting, seeds) -> rows``, each row with its ``seed``.

    Attributes:
        function: the measurement; pure.
        version: raised by hand when the meaning of the numbers changes.
        grid: its ``Designs``, which map a chapter's parameters to the list of settings.
        chunk: realisations per call: those of the seeds ``chunk i`` to ``chunk (i + 1) - 1`` that are asked for.
        whole: whether chunks are always complete, so that results do not depend on the seeds requested (late in
            training round-off is amplified).
        rtol: relative tolerance, on every kind of processor, of the columns that ``columns`` does not name.
        columns: for a column a relative tolerance of its own, a pair ``(relative, absolute)``, or ``STATISTICAL``; see
            ``companion.lab.compare``.
        nonfinite: columns that may hold NaN or infinity, or nothing in some rows.
        data: the data's name in captions, if the rows carry no ``source``.
        device: ``"any"`` if its data and models are on ``regimes.devices.pick()``; ``"cpu"`` if it gains nothing
            from CUDA.
        module: the module or file that defines it.
        known: the code its numbers come from, if it comes from another process.
    """

    function: Callable[[Any, list[int]], Rows] = field(repr=False)
    version: int
    grid: Designs = field(repr=False)
    chunk: int = 1
    rtol: float = 1e-6
    data: str = ""
    device: str = "cpu"
    whole: bool = False
    columns: Mapping[str, Tolerance] = field(default_factory=dict, hash=False)
    nonfinite: tuple[str, ...] = ()
    module: str = ""
    known: digest.Code | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        validate.integer(1, version=self.version, chunk=self.chunk)
        validate.one_of(DEVICES, device=self.device)
        validate.positive(rtol=self.rtol)
        for column, tolerance in self.columns.items():
            if tolerance != STATISTICAL:
                parts = tolerance if isinstance(tolerance, tuple) else (tolerance, 1.0)
                if len(parts) != 2 or not all(validate.is_number(part) and part > 0 for part in parts):
                    raise InputError(
                        f"the tolerance of {column} must be above 0, a pair or STATISTICAL, got {tolerance!r}"
                    )
        object.__setattr__(self, "module", self.module or digest.module_of(self.function))
        object.__setattr__(self, "nonfinite", tuple(self.nonfinite))
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__module__", self.function.__module__)  # where a page looks for its source

    @property
    def name(self) -> str:
        """``module.function``, such as ``depth.mnist_regression``."""
        return f"{self.module}.{self.function.__name__}"

    @functools.cached_property
    def record(self) -> type[Setting]:
        """The record that the function takes."""
        return _record_of(self.function)

    @property
    def code(self) -> digest.Code:
        """The code its numbers come from, as it was where the study was made."""
        return self.known or digest.code(self.function)

    @property
    def repeats(self) -> bool:
        """Whether one kind of processor repeats a cell's numbers: in the same batch always; CUDA sums in any order."""
        return (self.whole or self.chunk == 1) and devices.kind(self.device) == "cpu"

    def pairs(self, setting: Entries) -> float:
        """The pairs of ``p`` points and ``h`` neurons in a chunk's realisations; infinite if a setting has none."""
        sizes = [setting.get(name) for name in ("p", "h")]
        return math.prod(sizes) * self.chunk if all(validate.is_number(size) for size in sizes) else math.inf

    def kind(self, setting: Entries) -> str:
        """The class of device, ``"cpu"`` or ``"cuda"``, on which this machine runs a setting: small ones on the CPU."""
        return devices.kind(self.device, self.pairs(setting))

    def __getitem__(self, design: str) -> "Design":
        """One of its designs, as a claim names it: ``ensembles["slices"]``."""
        if not isinstance(design, str):
            raise InputError(f"a design goes by its name, got {design!r}")
        return Design(self, design)

    def tolerance(self, column: str) -> Tolerance:
        """The tolerance of a column on every kind of processor."""
        return self.columns.get(column, self.rtol)

    def __call__(self, setting: Entries, seeds: Sequence[int]) -> Rows:
        """The rows at one setting, for seeds of one chunk, as plain numbers and lists; nothing is stored.

        Only here results leave the study's device: its rows may hold tensors. Raises InputError for a setting that the
        record refuses; one that the function raises is raised again with the study, the setting and the seeds.
        """
        asked = batch = list(seeds)
        if self.whole:
            first = asked[0] // self.chunk * self.chunk
            batch = list(range(first, first + self.chunk))
        made = self.record.of(setting)
        with devices.allowed(self.device, self.pairs(setting)):
            try:
                rows = _numbers(self.function(made, batch))
            except InputError as error:  # which knows a function's argument, and not who called it
                raise InputError(f"{self.name} at {described(setting)}, seeds {batch}: {error}") from error
        return [row for row in rows if row["seed"] in asked] if self.whole else rows

    def __reduce_ex__(self, protocol: Any) -> Any:
        module = self.function.__module__
        if module != "__main__" and getattr(sys.modules.get(module), self.function.__name__, None) is self:
            return self.function.__name__  # the module's own object
        return object.__reduce_ex__(replace(self, known=self.code), protocol)


class Design(NamedTuple):
    """A design of a study, by name."""

    study: Study
    name: str


def _numbers(value: Any) -> Any:
    """Rows with numbers and lists in place of tensors, whatever device these are on."""
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, list):
        return [_numbers(entry) for entry in value]
    return {name: _numbers(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def study(
    *, version: int, seeds: Any = Count[1000], **options: Any
) -> Callable[[Callable[[Any, list[int]], Rows]], Study]:
    """Decorator that makes a function a ``Study``; the arguments and ``options`` are its attributes.

    Its settings are those of its designs (``companion.lab.design``), with the fields of the record that the function
    takes, and as many ``seeds`` as that kind says.
    """

    def wrap(function: Callable[[Any, list[int]], Rows]) -> Study:
        digest.note_loaded(function.__module__)
        taken = _record_of(function)
        designs = Designs(function.__name__, taken.axes(), axis(seeds).kind, functools.partial(_completed, taken))
        return Study(function, version, designs, **options)

    return wrap


def _record_of(function: Callable[..., Any]) -> type[Setting]:
    """The record that a study takes, by the annotation of its setting."""
    first = next(iter(inspect.signature(function, eval_str=True).parameters.values()))
    if not (inspect.isclass(first.annotation) and issubclass(first.annotation, Setting)):
        words = f"its first argument, {first.name}, must be annotated with a record (companion.lab.record)"
        raise InputError(f"{function.__name__} is no study: {words}")
    return first.annotation


def _completed(taken: type[Setting], entries: Entries) -> Entries:
    """A design's entries with what follows from them."""
    seeds = entries["seeds"]
    made = taken(**{name: value for name, value in entries.items() if name != "seeds"}).completed(seeds)
    return made.entries() | {"seeds": made.realisations(seeds)}
