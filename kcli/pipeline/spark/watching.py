"""Runs a call of pyspark that takes long, while the main thread shows progress and obeys requests to stop.

The call runs in a thread of its own, because it blocks in a socket; all jobs of Spark that it starts are one group, which
is cancelled when the request comes.
"""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pyspark import InheritableThread

from kcli.core.classes import NamedTuple
from kcli.flows.stop import Stop
from kcli.pipeline.job import StoppedTaskError
from kcli.pipeline.spark.session import Session

T = TypeVar("T")

_TURN = 0.1  # seconds between two looks
_CANCELLED = 10.0  # seconds for Spark to end cancelled jobs


class StageCounts(NamedTuple):
    """Tasks of all jobs of a group so far."""

    tasks: int
    done: int
    active: int
    failed: int


class Watched(Generic[T]):
    """``call`` runs in a thread; ``result`` waits for it. ``title`` names its jobs in the interface of Spark."""

    def __init__(self, session: Session, call: Callable[[], T], *, title: str) -> None:
        self.group = f"kcli-{uuid.uuid4().hex}"
        self._session = session
        self._call = call
        self._title = title
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = InheritableThread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float = _TURN) -> bool:
        """Waits; whether the call has ended. Short waits, so that handlers of signals run."""
        deadline = time.monotonic() + seconds
        while not self._ended.wait(min(_TURN, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or not self._session.is_alive:
                break
        return self._ended.is_set()

    def cancel(self) -> None:
        """Cancels its jobs, and waits until it has ended."""
        with suppress(Exception):  # py4j raises anything when the JVM is gone
            self._session.context.cancelJobGroup(self.group)
        self.wait(_CANCELLED)

    def result(self) -> T:
        """What the call returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result[0]

    @property
    def is_lost(self) -> bool:
        """Whether the JVM ended before the call."""
        return not self._ended.is_set() and not self._session.is_alive

    def counts(self) -> StageCounts:
        """Tasks of its jobs, as Spark's status tracker knows them."""
        tracker = self._session.context.statusTracker()
        sums = [0, 0, 0, 0]
        for job in tracker.getJobIdsForGroup(self.group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None else ():
                found: Any = tracker.getStageInfo(stage)
                if found is not None:
                    parts = (
                        found.numTasks,
                        found.numCompletedTasks,
                        found.numActiveTasks,
                        found.numFailedTasks,
                    )
                    sums = [a + b for a, b in zip(sums, parts, strict=True)]
        return StageCounts(*sums)

    def _run(self) -> None:
        try:
            self._session.context.setJobGroup(self.group, self._title)
            self._result.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it is raised in the main thread
            self._error = error
        finally:
            self._ended.set()


def run_watched(
    session: Session,
    call: Callable[[], T],
    *,
    title: str,
    on_turn: Callable[[StageCounts], object],
    stop: Stop,
    what: str,
    do: str = "",
) -> T:
    """The result of ``call``, such as a query. ``on_turn`` receives the counts a few times a second. KcliError: see
    ``Session.failure``; StoppedTaskError after a request to stop.
    """
    watched = Watched(session, call, title=title)
    try:
        while not watched.wait():
            if stop:
                watched.cancel()
                raise StoppedTaskError("the job was stopped", code=stop.exit_code)
            if watched.is_lost:
                raise session.failure(RuntimeError("lost"), what)
            counts = StageCounts(0, 0, 0, 0)
            with suppress(Exception):  # the JVM may be gone, which the next turn finds
                counts = watched.counts()
            on_turn(counts)
    except BaseException:
        if not stop and not watched.is_lost:
            watched.cancel()
        raise
    try:
        return watched.result()
    except Exception as error:  # noqa: BLE001 - py4j and pyspark raise anything
        raise session.failure(error, what, do=do) from None
