"""The thread that the fake cluster lives on: one asyncio loop. The test's thread asks it to do things and waits."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a call into the loop is taken for a deadlock of the fake."""


class LoopThread:
    """``call`` a function or ``run`` a coroutine on the loop; both also work on the loop's own thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._started: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._main, name="fake-kafka", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """``function(*args)`` on the loop; its result or its exception."""
        if threading.current_thread() is self._thread:
            return function(*args, **options)

        async def wrapped() -> T:
            return function(*args, **options)

        return self._wait(wrapped())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T | None:
        """Waits for ``coroutine``. On the loop's own thread (in a test's callback) it only gets started."""
        if threading.current_thread() is self._thread:
            self._started.add(self.loop.create_task(coroutine))
            return None
        return self._wait(coroutine)

    async def settle(self) -> None:
        """On the loop: waits for what callbacks have started by ``run``; their errors are raised here."""
        while self._started:
            done, _ = await asyncio.wait(self._started)
            self._started -= done
            for task in done:
                task.result()

    def stop(self) -> None:
        """Cancels what still runs and ends the thread."""
        if self._thread.is_alive():
            self._wait(self._cancel_all())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(PATIENCE)
        if not self._thread.is_alive():
            self.loop.close()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
