"""CelebA's faces with and without glasses, from your own copy of the data set; nothing is downloaded.

``$REGIMES_DATA/celeba/`` holds the distributed files as torchvision does: the folder ``img_align_celeba/`` of aligned
photographs (178 × 218, JPEG), ``list_attr_celeba.txt``, and ``identity_CelebA.txt`` for splits by person.

Source: paper D, App. H and I.
"""

import os
from pathlib import Path

import numpy as np
import torch

from regimes import validate
from regimes.data.tasks import Task
from regimes.validate import InputError

ATTRIBUTE = "Eyeglasses"
BOX = (0, 20, 178, 198)  # the square about the face's centre: left, upper, right, lower


def needs_folder() -> Path:
    """The folder of the data set; an error if it is missing."""
    named = os.environ.get("REGIMES_DATA")
    there = Path(named or ".") / "celeba"
    if not named or not there.is_dir():
        raise InputError("data celeba ships with no package: put its folder celeba/ in $REGIMES_DATA")
    return there


def celeba(count: int, *, side: int = 32) -> Task:
    """A random subset of the faces, half of them with glasses, in grey, ``side × side`` pixels in [0, 1].

    Args:
        count: even number of faces; the paper takes 7500.
        side: pixels along each axis, over which the central square is averaged.

    Returns:
        Task: ``x (count, side²)``, ``y`` +1 with glasses and -1 without, ``classes`` the persons.
    """
    validate.integer(2, count=count)
    validate.whole(2, 178, side=side)
    there = needs_folder()
    glasses, persons = _attribute(there), _persons(there)
    if unknown := sorted(glasses.keys() - persons.keys()):
        known = "list_attr_celeba.txt names photographs that identity_CelebA.txt does not"
        raise InputError(f"the lists in {there} disagree: {known}, {len(unknown)} of them, such as {unknown[0]}")
    kinds = [sorted(name for name, has in glasses.items() if has == sign) for sign in (True, False)]
    if count % 2 or count > 2 * min(map(len, kinds)):
        raise InputError(f"count must be even and at most {2 * min(map(len, kinds))} for these faces, got {count}")
    rng = np.random.default_rng(0)
    names = [kind[i] for kind in kinds for i in rng.choice(len(kind), count // 2, replace=False)]
    x = torch.from_numpy(np.stack([_grey(there / "img_align_celeba" / name, side) for name in names]))
    y = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(count // 2)
    source = f"CelebA, {count} faces of {side} × {side} pixels, half of them with glasses"
    return Task(x, y, source, classes=torch.tensor([persons[name] for name in names]))


def _lines(path: Path) -> list[list[str]]:
    try:
        return [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is no text')}") from None


def _attribute(there: Path) -> dict[str, bool]:
    """Photograph -> whether its face has glasses."""
    path = there / "list_attr_celeba.txt"
    lines = _lines(path)
    if len(lines) < 3 or ATTRIBUTE not in lines[1]:
        raise InputError(f"{path} must have a count, then the names of attributes, {ATTRIBUTE} among them")
    column = 1 + lines[1].index(ATTRIBUTE)
    if any(len(line) != len(lines[1]) + 1 for line in lines[2:]):
        raise InputError(f"{path} must have a photograph and {len(lines[1])} attributes a line")
    return {line[0]: line[column] == "1" for line in lines[2:]}


def _persons(there: Path) -> dict[str, int]:
    """Photograph -> person."""
    path = there / "identity_CelebA.txt"
    lines = _lines(path)
    if not lines or any(len(line) != 2 or not line[1].isdigit() for line in lines):
        raise InputError(f"{path} must have a photograph and the number of a person a line")
    return {name: int(person) for name, person in lines}


def _grey(path: Path, side: int) -> np.ndarray:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise InputError("data celeba needs the package pillow to read its photographs") from None
    try:
        with Image.open(path) as image:
            small = image.convert("L").crop(BOX).resize((side, side), Image.Resampling.BOX)
    except OSError as error:
        raise InputError(f"{path} cannot be read as a photograph: {error}") from None
    return np.asarray(small, dtype=np.float64).ravel() / 255
