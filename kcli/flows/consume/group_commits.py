"""What a group member has written out, and what of it is committed: never more than was flushed.

Offsets are committed every few seconds, before partitions are revoked, and at the end. The consumer's own positions are
ahead of what was flushed, so they are used only when all returned records are flushed.

Each has the id of the topic that it was read from. When a topic was deleted and created again, nothing of the one
that is gone is committed any more; the other topics are.

They are taken over only between two polls; a limit within a batch commits the offset after the last record
written, and never the rest of that poll (``tests/fault/test_killed_readers.py``, O2).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.stop import LastWait

_PATIENCE = 5.0  # seconds that a rebalance waits for a commit


class GroupCommits:
    """``flushed`` after each flush; ``tick`` between polls; ``finish`` at the end. ``warn`` receives failures."""

    def __init__(
        self,
        consumer: Consumer,
        *,
        interval: float,
        enabled: bool,
        warn: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer = consumer
        self._interval = interval
        self.enabled = enabled
        self._warn = warn
        self._clock = clock
        self._flushed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending: Any = None
        self._next = clock() + interval
        self._finished = False

    def flushed_all(self) -> None:
        """All returned records are flushed: the positions are what has been read."""
        for tp in self._consumer.assignment:
            state = self._consumer.state(tp)
            if state.position >= 0:
                self._flushed[tp] = state.to_commit

    def flushed(self, places: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Only these of the returned records are flushed, the others never will be."""
        for tp, place in places.items():
            topic_id = self._consumer.state(tp).to_commit.topic_id
            self._flushed[tp] = place._replace(topic_id=topic_id)

    def tick(self) -> None:
        """Commits when it is time, without waiting."""
        now = self._clock()
        if now < self._next or (self._pending is not None and not self._pending.done):
            return
        self._next = now + self._interval
        if offsets := self._due(self._flushed):
            self._pending = self._consumer.commit_async(offsets)
            self._pending.on_done(lambda done: self._committed_or_failed(offsets, done.error))

    def commit_before_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """Commits before partitions are revoked: their next owner must start where this member stopped."""
        given = set(partitions)
        if not self._finished and (offsets := self._due(given)):
            try:
                self._consumer.commit(offsets, timeout=_PATIENCE, last=True)
            except (KcliError, TimeoutError) as error:
                self._committed_or_failed(offsets, error)
            else:
                self._committed_or_failed(offsets, None)
        self.lost(given)

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Other members own the partitions: nothing that was read of them can be committed."""
        for tp in partitions:
            self._flushed.pop(tp, None)
            self._committed.pop(tp, None)

    def finish(self, stopped: Callable[[], object] = bool) -> None:
        """Commits what is left and waits for it (``LastWait``); CommitFailedError where that fails, TimedOutError where a
        stop ends the wait. It is not tried again when the member leaves its group.
        """
        self._finished = True
        if not (offsets := self._due(self._flushed)):
            return
        commit = self._consumer.begin_commit(offsets, last=True)
        wait = LastWait(stopped, self._consumer.options.default_api_timeout_ms / 1000 + 1.0, self._clock)
        while not commit.done and (left := wait.left):
            with suppress(TimeoutError):
                commit.result(left)
        if not commit.done:
            raise TimedOutError(
                "the last offsets were not committed in time",
                why="the coordinator of the group has not responded, and a stop does not wait longer",
                do="others may read the last records again",
            )
        commit.result(0)
        self._committed_or_failed(offsets, None)

    @property
    def committed(self) -> dict[TopicPartition, int]:
        """The next offsets that were committed for partitions that this member owns."""
        return {tp: place.offset for tp, place in self._committed.items()}

    @property
    def uncommitted(self) -> dict[TopicPartition, int]:
        """The next offsets of partitions where more was written than the group has committed."""
        return {tp: place.offset for tp, place in self._due(self._flushed).items()}

    def _due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        if not self.enabled:
            return {}
        return {
            tp: self._flushed[tp]
            for tp in partitions
            if tp in self._flushed
            and tp in self._consumer.assignment
            and self._consumer.state(tp).reads(self._flushed[tp].topic_id)
            and self._flushed[tp].offset != self._known(tp)
        }

    def _known(self, tp: TopicPartition) -> int:
        committed = self._committed.get(tp)
        if committed is not None and committed.topic_id == self._flushed[tp].topic_id:
            return committed.offset
        return self._consumer.state(tp).committed

    def _committed_or_failed(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: BaseException | None
    ) -> None:
        if error is None:
            self._committed.update(offsets)
        else:
            self._warn(f"offsets were not committed, others may read these records again: {error}")
