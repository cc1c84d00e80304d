"""Reports changes of verdicts to others: one channel is one thread with a queue, so that sampling waits for nobody.

The queue is bounded: what comes while it is full is dropped, and counted. A delivery has a time limit; one that fails is
reported, and the next one goes on.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Condition, Event, Thread
from typing import Protocol

from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.net.command import CommandError, feed_command
from kcli.flows.lag.measure import Measurement
from kcli.flows.lag.verdict_changes import VerdictChange, VerdictChanges, in_order
from kcli.flows.lag.verdicts import History, Verdict
from kcli.output.progress import counted

WAITING = 1_000
"""Changes that wait for a channel, at most."""
_AT_ONCE = 1.0
"""Seconds for what is left in the end, without a word."""


class NotReportedError(KcliError):
    """A change of a verdict was not delivered."""

    exit_code = ExitCode.PARTLY


class Deliver(Protocol):
    """Delivers a document within so many seconds, less if ``stopped`` says so; a KcliError if that is not possible."""

    def __call__(self, document: bytes, seconds: float, stopped: Callable[[], bool]) -> None: ...


def command_delivery(text: str, environ: Mapping[str, str]) -> Deliver:
    """Runs a command for each document, with the document on its stdin."""

    def deliver(document: bytes, seconds: float, stopped: Callable[[], bool]) -> None:
        try:
            feed_command(text, environ, document, seconds=seconds, longer="--timeout", stopped=stopped)
        except CommandError as error:
            raise NotReportedError("the command failed", why=error.why, do=error.do) from None

    return deliver


class Channel:
    """``option`` names it in messages; ``warn`` is called by its thread. ``seconds``: for each delivery, and for all that
    are left when it is closed.
    """

    def __init__(
        self,
        option: str,
        deliver: Deliver,
        cluster: str | None,
        warn: Callable[[str], object],
        *,
        seconds: float,
        waiting: int = WAITING,
    ) -> None:
        self._option, self._deliver, self._cluster, self._warn = option, deliver, cluster, warn
        self._seconds, self._waiting = seconds, waiting
        self._queue: deque[VerdictChange] = deque()
        self._changed = Condition()
        self._close_at: float | None = None
        self._stopped = self._full = self._busy = False
        self._asked = self._delivered = self._dropped = 0
        self._last: KcliError | None = None
        self._ended = Event()
        """``Thread.join`` is not waited for again: an interrupted one takes its thread for ended (bpo-45274)."""
        Thread(target=self._run, name=f"kcli {option}", daemon=True).start()

    def put(self, change: VerdictChange) -> None:
        """Queues a change; never waits."""
        with self._changed:
            self._asked += 1
            full = len(self._queue) >= self._waiting
            if full:
                self._dropped += 1
            else:
                self._queue.append(change)
                self._changed.notify()
            news, self._full = full and not self._full, full
        if news:
            self._warn(
                f"{self._option}: {counted(self._waiting, 'change')} of verdicts wait to be reported; "
                "further ones are dropped"
            )

    @property
    def waiting(self) -> int:
        """How many changes are not delivered yet, the one that is being delivered included."""
        return len(self._queue) + self._busy

    def close(self) -> KcliError | None:
        """Delivers what is queued, as far as that is possible in the time of one delivery; returns the error for what was
        not delivered. At an interrupt it is given up at once.
        """
        with self._changed:
            self._close_at = monotonic() + self._seconds
            self._changed.notify()
        try:
            if not self._ended.wait(_AT_ONCE):
                left = counted(self.waiting, "change")
                self._warn(
                    f"{self._option}: {left} of verdicts not reported yet; for {self._seconds:g} s at most …"
                )
                self._ended.wait(self._seconds)  # its last delivery ends before that
        except BaseException:
            self._stopped = True
            self._ended.wait(1)  # ends a command that runs
            raise
        lost = self._asked - self._delivered
        if not lost:
            return None
        dropped = f"; {self._dropped:,} of them were dropped from a full queue" if self._dropped else ""
        last = "" if self._last is None else f"{self._last.why or self._last}"
        return NotReportedError(
            f"{lost:,} of {counted(self._asked, 'change')} of verdicts were not reported by {self._option}{dropped}",
            why=last or "there was no time left at the end",
            do="" if self._last is None else self._last.do,
        )

    def _run(self) -> None:
        try:
            self._deliver_all()
        finally:
            self._ended.set()

    def _deliver_all(self) -> None:
        while (change := self._next()) is not None:
            left = (
                self._seconds if self._close_at is None else min(self._seconds, self._close_at - monotonic())
            )
            document = json.dumps(change.document(self._cluster), ensure_ascii=False) + "\n"
            try:
                self._deliver(document.encode("utf-8", "backslashreplace"), left, lambda: self._stopped)
            except KcliError as error:
                self._last = error
                self._warn(f"{change} was not reported by {self._option}: {error.why or error}")
            else:
                self._delivered += 1

    def _next(self) -> VerdictChange | None:
        """Waits for a change; None when it is closed and nothing is left, or no time."""
        with self._changed:
            self._busy = False
            while not self._queue and self._close_at is None:
                self._changed.wait()
            out_of_time = self._close_at is not None and monotonic() >= self._close_at
            self._busy = bool(self._queue) and not out_of_time and not self._stopped
            return self._queue.popleft() if self._busy else None


class Notifications:
    """The changes from sample to sample, for all channels."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = channels
        self._changes = VerdictChanges()

    def add(self, found: Measurement, verdicts: Mapping[str, Verdict], history: History) -> None:
        """A sample, with the verdict on each of its groups."""
        sample, changes = found.sample, list[VerdictChange]()
        for name, verdict in verdicts.items():
            why_of = partial(history.reason, name)
            changes += self._changes.of(sample.at_ms, name, verdict, found.rows[name], why_of)
        failed = {
            name: str(error) for name, error in sample.failed.items() if not isinstance(error, NotFoundError)
        }
        others = str(sample.partial[0]) if sample.partial else ""
        self._put([*changes, *self._changes.absent(sample.at_ms, verdicts, failed, others)])

    def _put(self, changes: Sequence[VerdictChange]) -> None:
        for change in in_order(changes):
            for channel in self._channels:
                channel.put(change)
