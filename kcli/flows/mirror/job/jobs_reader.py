"""The jobs that write to a cluster, looked at again and again: only what was written to their topic since is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError, NotFoundError, TimedOutError
from kcli.core.names import STATE_TOPIC
from kcli.core.types import Record
from kcli.flows.groups.bounded_reads import Budget, read_spans
from kcli.flows.mirror.job.lease import read_instances
from kcli.flows.mirror.job.state import SavedJob, load_jobs
from kcli.flows.mirror.job.status import KnownJob, with_instances
from kcli.flows.mirror.job.store import STATE

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer
    from kcli.flows.mirror.job.state import JobId

_MOST_BYTES = 1 << 28


class JobsReader:
    """``open_consumer`` makes one that reads committed records whole batches at a time, of no group."""

    def __init__(self, open_consumer: Callable[[], AbstractContextManager[Consumer]]) -> None:
        self._open = open_consumer
        self._topic_id = ""
        self._records: dict[bytes, bytes] = {}
        self._next = self._loaded = 0
        """Offsets: what is read next, and that as it was when ``_jobs`` were made."""
        self._jobs: dict[JobId, SavedJob] = {}

    def read(self, admin: Admin, now: int, seconds: float) -> list[KnownJob]:
        """All jobs. What could not be read within ``seconds`` is read the next time: TimedOutError until then."""
        topic = admin.describe_topics([STATE_TOPIC])[STATE_TOPIC]
        if isinstance(topic, NotFoundError):
            self._forget("")
            return []
        if isinstance(topic, KcliError):
            raise topic
        if topic.topic_id != self._topic_id:
            self._forget(topic.topic_id)
        begun = [
            admin.begin_list_offsets({STATE: EARLIEST}),
            admin.begin_list_offsets({STATE: LATEST}, committed_only=True),
        ]
        start, end = (finish()[STATE] for finish in begun)
        for found in (start, end):
            if not isinstance(found, OffsetInfo):
                raise found
        assert isinstance(start, OffsetInfo)
        assert isinstance(end, OffsetInfo)
        if self._next > end.offset or self._next < start.offset:
            self._forget(topic.topic_id)  # what was read is of a log that is no more
        if end.offset > max(self._next, start.offset):
            self._read_on(range(max(self._next, start.offset), end.offset), seconds)
        if self._loaded != self._next:
            self._jobs, self._loaded = load_jobs(self._records.items()), self._next
        instances = read_instances(admin, [job for job in self._jobs if not job.is_old], settle=0.0)
        return with_instances(self._jobs, instances, now)

    def _read_on(self, span: range, seconds: float) -> None:
        budget = Budget(_MOST_BYTES, seconds)
        with self._open() as consumer:
            read_spans(consumer, {STATE: span}, self._keep, budget)
        if budget.spent:
            raise TimedOutError(
                f"the states of mirror jobs in {STATE_TOPIC} are not read yet",
                why="there are many of them, or its leader is slow",
                do="wait: what is left is read with the next samples",
            )
        self._next = span.stop

    def _keep(self, record: Record) -> bool:
        self._next = record.offset + 1
        if record.key is not None and record.value is not None:
            self._records[bytes(record.key)] = bytes(record.value)
        elif record.key is not None:
            self._records.pop(bytes(record.key), None)
        return False

    def _forget(self, topic_id: str) -> None:
        self._topic_id, self._next, self._loaded = topic_id, 0, 0
        self._records, self._jobs = {}, {}
