"""Threads that compress batches as soon as they are full: the codecs release the GIL, so each has a processor to itself.

The sender waits for a batch that is being compressed, and compresses those itself that it takes before they are full.
"""

import contextlib
import threading
from queue import SimpleQueue

from kcli.core.records.builder import BatchBuilder


class Sealing:
    """``add`` in the order in which batches will be sent, then ``wait`` for each of them."""

    def __init__(self, threads: int) -> None:
        self._left = threads
        self._queue: SimpleQueue[tuple[BatchBuilder, threading.Lock]] = SimpleQueue()

    def add(self, builder: BatchBuilder) -> threading.Lock:
        """Queues a batch to which nothing is added any more. The lock is free once it is sealed, or could not be."""
        if self._left:
            self._left -= 1
            threading.Thread(target=self._run, name="kcli-seal", daemon=True).start()
        lock = threading.Lock()
        lock.acquire()
        self._queue.put((builder, lock))
        return lock

    def _run(self) -> None:
        while True:
            builder, lock = self._queue.get()
            with contextlib.suppress(Exception):  # the sender meets the same error, in its place
                builder.seal()
            lock.release()
