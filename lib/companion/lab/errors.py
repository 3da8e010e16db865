"""What a sweep raises beside ``InputError``."""


class CellError(RuntimeError):
    """A study raised; the message is one line that names it, its setting and its seeds."""
