"""The heartbeats of a group of the new protocol (KIP-848). Pure; what they share with others: ``epoch_heartbeats``.

A heartbeat reports the partitions that the member owns, and its response carries those that it is assigned:
``target``. Adopting and revoking them is up to the caller. A static member that will be back leaves with epoch −2.
"""

from kcli.core.errors import BrokerError, KcliError
from kcli.core.group.epoch_heartbeats import EpochHeartbeats, Partitions
from kcli.core.group.membership import Membership
from kcli.core.group.reasons import switched_off
from kcli.core.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)

_LEAVE_FOR_A_WHILE = -2


class ConsumerGroupHeartbeats(EpochHeartbeats):
    """See ``EpochHeartbeats``; ``owned``: the partitions that are reported as the member's."""

    def __init__(self, membership: Membership, pause: float, *, rack: str = "", assignor: str = "") -> None:
        super().__init__(membership, pause, rack=rack)
        self._assignor = assignor or None
        self._as_received: tuple[list[str], Partitions] | None = None
        self.owned: Partitions = {}

    def begin_join(self, topics: list[str], now: float) -> None:
        """See EpochHeartbeats."""
        self.owned = {}
        super().begin_join(topics, now)

    @property
    def _leave_epoch(self) -> int:
        return super()._leave_epoch if self._membership.instance_id is None else _LEAVE_FOR_A_WHILE

    def _beat(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        member = self._membership
        return ConsumerGroupHeartbeatRequest(
            group_id=member.group_id,
            member_id=member.member_id,
            member_epoch=epoch,
            instance_id=member.instance_id,
        )

    def _report(self, request: ConsumerGroupHeartbeatRequest) -> None:
        if request.member_epoch == 0:
            # KIP-848: with epoch 0 the list must be there, and empty.
            request.topic_partitions = []
        if self._as_received is None:
            request.rebalance_timeout_ms = int(self._membership.max_poll_interval * 1000)
            request.rack_id, request.server_assignor = self._rack, self._assignor
        if self._as_received is None or self._as_received[0] != self.topics:
            request.subscribed_topic_names = list(self.topics)
        if self._as_received is None or self._as_received[1] != self.owned:
            request.topic_partitions = [
                TopicPartitions(topic_id=topic, partitions=list(partitions))
                for topic, partitions in self.owned.items()
            ]

    def _reported(self, request: ConsumerGroupHeartbeatRequest) -> None:
        topics, owned = self._as_received or ([], {})
        if request.subscribed_topic_names is not None:
            topics = request.subscribed_topic_names
        if request.topic_partitions is not None:
            owned = {row.topic_id: list(row.partitions) for row in request.topic_partitions}
        self._as_received = (topics, owned)

    def _forget_reports(self) -> None:
        self._as_received = None

    def _switched_off(self, error: BrokerError) -> KcliError:
        return switched_off(self._membership.group_id, error)

    def _removed(self, why: str) -> None:
        self.owned = {}
        super()._removed(why)
