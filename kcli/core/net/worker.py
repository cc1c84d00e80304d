"""The thread for work that takes long and needs no loop: deriving a key, fetching a token. One piece at a time.

The thread starts with the first piece and ends when none is left, so that a client without such work has none.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

Done = Callable[[Any, BaseException | None], None]


class Worker:
    """``submit`` may be called from any thread; ``done`` is called in the worker thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the two fields below
        self._queue: deque[tuple[Callable[[], Any], Done]] = deque()
        self._running = False

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        """Runs ``work`` after what was submitted before, then ``done`` with its result or its error."""
        with self._lock:
            self._queue.append((work, done))
            start, self._running = not self._running, True
        if start:
            threading.Thread(target=self._run, name="kcli-worker", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    # Under the lock, together with the look at the queue: a piece that is submitted after this
                    # starts a new thread, one before it is seen here.
                    self._running = False
                    return
                work, done = self._queue.popleft()
            value, raised = None, None
            try:
                value = work()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever submitted the work
                raised = error
            done(value, raised)
