"""Where the leader's own disk begins, for partitions that are about to be read: what is before is remote (KIP-405).

Brokers do not mark what they fetch from remote storage. The requests are sent at once, and nothing waits for them: an
error, or a broker that is too old to have such storage, leaves a partition out. Runs in the consumer's thread.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.offsets import EARLIEST_LOCAL, FIRST_LOCAL, offsets_request
from kcli.core.connection.plan import Broker, Plan
from kcli.core.errors import too_old
from kcli.core.future import Future
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.types import TopicPartition


class LocalStarts:
    """``found`` is complete when nothing is ``pending``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.found: dict[TopicPartition, int] = {}
        self.pending = 0

    def ask(self, partitions: Iterable[TopicPartition]) -> None:
        """Sends a request to each leader; a partition without one is left out."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for tp in partitions:
            leader = self._cluster.view.leader(tp)
            if leader is not None:
                by_leader.setdefault(leader.id, []).append(tp)
        for node_id, group in by_leader.items():
            plan = Plan(partial(self._requests, group))
            self.pending += 1
            self._cluster.send(plan, node_id).on_done(partial(self._answered, plan))

    def _requests(self, group: list[TopicPartition], broker: Broker) -> list[Request]:
        version = broker.version(ListOffsetsRequest)
        if version < FIRST_LOCAL:
            raise too_old(f"{broker.name} has no remote storage", FIRST_LOCAL, version)
        timeout_ms = self._cluster.options.request_timeout_ms
        wanted = [(tp, EARLIEST_LOCAL) for tp in group]
        return [offsets_request(wanted, committed_only=False, timeout_ms=timeout_ms)]

    def _answered(self, plan: Plan, _done: Future[Any]) -> None:
        self.pending -= 1
        for response in plan.responses:
            if response.error is None:
                self.found |= {
                    TopicPartition(topic.name, row.partition_index): row.offset
                    for topic in response.value.topics
                    for row in topic.partitions
                    if not row.error_code
                }
