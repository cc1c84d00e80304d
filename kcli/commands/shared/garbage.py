"""Suspends the collector of cyclic garbage, for commands that make very many objects once, and end."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, wanted: bool = True) -> Iterator[None]:
    """Suspends the collector, which would search the description of a whole cluster over and over.

    Not for large buffers: what is in a cycle when the block ends remains until the process ends.
    """
    was_on = gc.isenabled()
    if wanted:
        gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.freeze()  # else the first collection after the block would search it all
        if was_on:
            gc.enable()
