"""Lazy and feature learning: the numerics behind the book.

The modules form floors; each imports only from the floors below it::

    chapter runner ledger plots book   the desk: running a chapter, verdicts, figures, pages (``regimes[book]``)
    studies sweep parameters           named studies (settings -> rows), the grid runner and its cell store
    compression depth spiked           one room a theme: its observables and its theory
    flow frozen descend kernels        the engine: gradient flow, frozen-kernel flow, descent, kernels
    tasks datasets nets                what is learned, and what learns
    scaling gaussian check             small mathematics, and the errors a reader sees

Nothing is imported here, so that ``import regimes`` costs nothing and a study needs only what it uses.
"""

__version__ = "0.1.0"
