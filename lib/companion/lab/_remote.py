"""What a cluster's scheduler imports to pass a chunk on: nothing, so that it does not stand still while torch loads."""

from typing import Any


def on_worker(work: bytes) -> Any:
    """On a worker: ``companion.lab.cluster.answer``."""
    from companion.lab import cluster

    return cluster.answer(work)
