"""``--processes N``: a test in several processes of this machine, which begin at the same time; measurements are merged.

A worker is a fresh interpreter (``spawn``): the parent's sockets and threads are not copied. What it does, with the
secrets of its client, reaches it through its pipe and stands in no file, argument or variable. One that dies ends the
test: a measurement without it would be of another load.
"""

from __future__ import annotations

import io
import multiprocessing
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, TypeVar

from kcli.core.errors import KcliError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.secret import Secret
from kcli.flows.perf.failure import Failure
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.run_context import OwnContext, RunContext
from kcli.flows.perf.worker_process import READY, work
from kcli.flows.stop import SIGNALS, Stop

P = TypeVar("P")
Test = Callable[[P, RunContext], Measurement]
"""A function of a module, which a worker imports: its part of the test, and how to take part."""

_TURN = 0.1  # seconds between two looks at a request to stop
_PATIENCE = 10.0  # seconds for workers to end after a request to stop
_AHEAD = 0.05  # seconds until the common start: longer than a message takes
_STOP = "stop"


def run_test(
    test: Test[P],
    parts: Sequence[P],
    *,
    stop: Stop,
    on_progress: Callable[[Interval], object],
    hooks: Hooks = NO_HOOKS,
) -> Measurement:
    """Runs the parts at the same time, a single one in this process; raises the first error of one of them that comes
    before the begin, or where none of them has measured anything.

    ``on_progress`` receives what was measured since the last call, by any of them. After a request to stop the result
    is of those that ended in time; a ``late`` stop is installed here. ``hooks`` are for the clients of this process, the
    others have none.
    """
    if len(parts) == 1:
        return test(parts[0], OwnContext(stop, on_progress, hooks))
    stop.install()
    workers = _Workers(test, parts, stop, on_progress)
    try:
        return workers.measure()
    finally:
        workers.end()


class _Worker:
    """A process, the parent's end of its pipe, and what it has measured when it is done."""

    def __init__(self, context: SpawnContext, number: int) -> None:
        self.number = number
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=work, args=(theirs, number), daemon=True)
        # A signal to the group reaches it too: it must not die of that while it imports its modules.
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        theirs.close()
        self.ready = False
        self.result: Measurement | None = None


class _Workers:
    def __init__(
        self, test: Test[P], parts: Sequence[P], stop: Stop, on_progress: Callable[[Interval], object]
    ) -> None:
        self._stop = stop
        self._on_progress = on_progress
        context = multiprocessing.get_context("spawn")
        self._workers = [_Worker(context, number) for number in range(len(parts))]
        self._deadline = float("inf")
        for worker, part in zip(self._workers, parts, strict=True):
            self._send(worker, packed((test, part)))

    def measure(self) -> Measurement:
        """Returns when all are done, or the time to end after a request to stop is over."""
        started = stopping = False
        while any(worker.result is None for worker in self._workers):
            if self._stop and not stopping:
                stopping = True
                self._deadline = time.monotonic() + _PATIENCE
                self._request_stop()
            if time.monotonic() >= self._deadline or (stopping and not started):
                break
            self._turn()
            if not started and all(worker.ready for worker in self._workers):
                started = True
                self._start()
        merged = Measurement()
        for worker in self._workers:
            if worker.result is not None:
                merged.merge(worker.result)
        if merged.failure is not None and not (merged.records or merged.warmup_records or merged.errors):
            raise merged.failure.error()
        return merged

    def end(self) -> None:
        """Ends all processes."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.join(1.0 if worker.result is not None else 0.0)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _request_stop(self) -> None:
        """A worker that is done, or dead, hears nothing; its pipe says so."""
        for worker in self._workers:
            with suppress(OSError):
                worker.pipe.send_bytes(packed(_STOP))

    def _start(self) -> None:
        at = time.monotonic() + _AHEAD
        for worker in self._workers:
            self._send(worker, packed(at))

    def _send(self, worker: _Worker, message: bytes) -> None:
        try:
            worker.pipe.send_bytes(message)
        except OSError:
            raise _died(worker, len(self._workers)) from None

    def _turn(self) -> None:
        waited: dict[Any, _Worker] = {one.pipe: one for one in self._workers if one.result is None}
        for pipe in wait(list(waited), _TURN):
            worker = waited[pipe]
            try:
                self._receive(worker, worker.pipe.recv())
            except (EOFError, OSError):
                raise _died(worker, len(self._workers)) from None

    def _receive(self, worker: _Worker, message: Any) -> None:
        if isinstance(message, Failure):
            raise message.error()
        if isinstance(message, Measurement):
            worker.result = message
        elif message == READY:
            worker.ready = True
        else:
            self._on_progress(message)


def _died(worker: _Worker, count: int) -> KcliError:
    worker.process.join()
    code = worker.process.exitcode or 0
    why = f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit status {code}"
    return KcliError(
        f"process {worker.number + 1} of {count} of the test died",
        why=f"{why}; without its share the figures would be of another load",
        do="the system's log may say who killed it; with too little memory, use fewer --processes",
    )


# --- messages ------------------------------------------------------------------------------------


class _Packer(pickle.Pickler):
    """Writes secrets too, which no other pickler does: what it makes goes into the pipe of a worker."""

    dispatch_table = {Secret: lambda secret: (Secret, (secret.reveal(),))}  # noqa: RUF012 - as pickle has it


def packed(message: object) -> bytes:
    """For a pipe, and for nothing that is kept."""
    out = io.BytesIO()
    _Packer(out, pickle.HIGHEST_PROTOCOL).dump(message)
    return out.getvalue()
