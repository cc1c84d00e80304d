"""Reads the committed offsets of a consumer's group from its coordinator. Runs in the caller's thread.

The request carries no member id: an epoch that is about to change would be refused, and committed offsets are the same
for every member.
"""

from collections.abc import Iterable
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import no_response
from kcli.core.error_codes import GROUP_ID_NOT_FOUND, NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError, TimedOutError
from kcli.core.future import Future
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.offset_requests import fetch_error, fetch_request, read_fetch
from kcli.core.permissions import on_group, on_topic
from kcli.core.types import OffsetAndMetadata, TopicPartition

TopicPartitions = frozenset[TopicPartition]


class CommittedOffsets:
    """``fetch`` and ``read`` do not wait; ``find_coordinator`` and ``wait_for`` do."""

    def __init__(self, cluster: Cluster, link: CoordinatorLink, group_id: str) -> None:
        self._cluster = cluster
        self._link = link
        self._group_id = group_id

    def coordinator(self, now: float) -> int | None:
        """The coordinator's node id if it is known; otherwise a lookup is under way."""
        node = self._link.node(now)
        return node.id if node is not None else None

    @property
    def coordinator_known_at(self) -> float:
        """When to ask for the coordinator again."""
        return self._link.wake_at

    def find_coordinator(self, deadline: float) -> int:
        """Waits for the coordinator and returns its node id; TimedOutError with the reason at the deadline."""
        node = self._link.wait(deadline)
        if node is None:
            late = self._link.error or no_response(self._cluster.waits_for())
            what = f"the coordinator of group {self._group_id} was not found in time"
            raise TimedOutError(what, why=str(late), do=late.do)
        return node.id

    def fetch(self, partitions: TopicPartitions, node_id: int) -> Future[Any]:
        """Requests committed offsets; pass the response to ``read``."""
        return self._cluster.send(fetch_request(self._group_id, partitions), node_id)

    def read(
        self, requested: TopicPartitions, future: Future[Any], now: float
    ) -> dict[TopicPartition, OffsetAndMetadata | KcliError | None]:
        """The committed offset of each partition, None if there is none; a partition's error may be retriable."""
        what = f"offsets of group {self._group_id}"
        error = future.error
        code = NONE if error is not None else fetch_error(future.value)
        if code == GROUP_ID_NOT_FOUND:  # of brokers that return it where Kafka returns no commits
            self._link.confirmed()
            return dict.fromkeys(requested)
        if code != NONE:
            error = BrokerError(code, what, needs=[on_group("DESCRIBE", self._group_id)])
        if error is not None:
            if not isinstance(error, KcliError):
                raise error
            self._link.refuted(error, now)
            return dict.fromkeys(requested, error)
        self._link.confirmed()
        found: dict[TopicPartition, OffsetAndMetadata | KcliError | None] = {}
        for tp, code, offset in read_fetch(future.value):
            if tp in requested and tp not in found:
                found[tp] = (
                    BrokerError(code, f"committed offset of {tp}", needs=[on_topic("DESCRIBE", tp.topic)])
                    if code
                    else offset
                )
        for tp in requested - found.keys():  # never treated as "nothing is committed" (reliability case G8)
            found[tp] = ConnectError(f"{what}: the response lacks {tp}")
        return found

    def wait_for(
        self, partitions: Iterable[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets; None where there is none. Raises the first error that persists."""
        wanted, found = frozenset(partitions), dict[TopicPartition, OffsetAndMetadata | None]()

        def attempt() -> Future[Any]:
            answer = self.fetch(wanted - found.keys(), self.find_coordinator(deadline))
            answered: Future[Any] = Future(self._cluster.loop.wait)
            answer.on_done(answered.set_result)
            return answered

        def check(answer: Future[Any]) -> None:
            rows = self.read(wanted - found.keys(), answer, self._cluster.loop.now())
            for tp, offset in rows.items():
                if isinstance(offset, KcliError):
                    raise offset
                found[tp] = offset

        if wanted:
            self._cluster.call(attempt, check, deadline, "fetching committed offsets")
        return found
