"""The collector of cyclic garbage, out of the way of a command that makes very many objects once, and ends."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, wanted: bool = True) -> Iterator[None]:
    """Nothing is collected inside: the collector would walk the answer of a whole cluster over and over.

    For what holds no large buffers only: whatever is in a cycle when the block ends stays to the end of the process.
    """
    was_on = gc.isenabled()
    if wanted:
        gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.freeze()  # else the first collection after the block would walk it all
        if was_on:
            gc.enable()
