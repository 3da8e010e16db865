"""Named studies, one or more modules per chapter: what is measured, at which settings.

``python -m companion.studies list`` names them; ``python -m companion.studies run NAME`` computes one without Jupyter.
"""

from companion.studies._registry import Asked, asked, find, finer, grids, is_here, modules, of, stored_sizes, to_compute

__all__ = ["Asked", "asked", "find", "finer", "grids", "is_here", "modules", "of", "stored_sizes", "to_compute"]
