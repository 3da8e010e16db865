"""Kinds in words, of the axes of a study whose setting is a dictionary: ``3 or more increasing counts from 2``."""

import re
from dataclasses import replace

from companion.lab.parameters import Kind
from regimes.validate import InputError

_LIST = re.compile(r"(?:(?P<least>\d+) or more )?(?P<order>increasing|distinct|list of) (?P<items>.+)")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_RANGE = re.compile(rf"(?P<word>count|number|positive)(?: from (?P<low>{_NUMBER}))?(?: to (?P<high>{_NUMBER}))?")
_SINGLE = {f"{word}s": word for word in ("count", "number", "positive", "share", "text")}
_SINGLE |= {"any": "one", "switches": "switch"}


def kind(text: str) -> Kind:
    """The kind that words describe."""
    match = _LIST.fullmatch(text)
    if not match:
        return _item(text, text)
    word, _, rest = match["items"].partition(" ")
    item = _item(f"{_SINGLE.get(word, '')} {rest}".strip(), text)
    return replace(item, order=match["order"], least=int(match["least"] or 1))


def _item(words: str, text: str) -> Kind:
    """The kind of one value; ``text`` is the whole kind, for the message."""
    if words.startswith("one of "):
        return Kind("one of", names=tuple(words.removeprefix("one of ").split(", ")))
    if words in ("share", "text", "switch"):
        return Kind(words)
    match = _RANGE.fullmatch(words)
    if not match:
        raise InputError(f"{text!r} is no kind of value")
    return Kind.of(match["word"], *(None if end is None else float(end) for end in (match["low"], match["high"])))
