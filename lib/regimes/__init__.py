"""Lazy and feature learning: the numerics behind the book.

The modules form floors; each imports only from the floors below it::

    chapter runner ledger plots book   the desk: running a chapter, verdicts, figures, pages (``regimes[book]``)
    pages locks versions               its HTML; one at a time, all or nothing
    studies sweep store table          named studies (settings -> rows), the grid runner, its cells and their provenance
    compression depth spiked           one room a theme: its observables and its theory
    flow frozen descend kernels        the engine: gradient flow, frozen-kernel flow, descent, kernels
    tasks datasets nets                what is learned, and what learns
    estimates gaussian seeds           small mathematics
    parameters paths devices check     what a reader sets, and the errors a reader sees

Nothing is imported here, so that ``import regimes`` costs nothing and a study needs only what it uses.
"""

__version__ = "0.1.0"
