"""The heartbeats of a member of a share group (KIP-932). Pure; what they share with others: ``epoch_heartbeats``.

Partitions are not owned: the coordinator gives the same one to several members, so nothing is reported back, and a new
assignment is adopted at once.
"""

from typing import Any

from kcli.core.errors import BrokerError, KcliError, UnsupportedError
from kcli.core.group.epoch_heartbeats import EpochHeartbeats
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

_SOON = 0.5  # seconds to the next heartbeat of a member that has no partitions yet
_EARLY = 8  # how many of them


class ShareGroupHeartbeats(EpochHeartbeats):
    """See ``EpochHeartbeats``.

    The first answers may lack an assignment: the coordinator computes it once a second. Without more heartbeats it would
    come with the next one, 5 s later.
    """

    _as_received: list[str] | None = None
    _early = 0

    def begin_join(self, topics: list[str], now: float) -> None:
        """See EpochHeartbeats."""
        self._early = _EARLY
        super().begin_join(topics, now)

    def _accepted(self, request: Request, answer: Any, now: float) -> None:
        super()._accepted(request, answer, now)
        if not self.target and self._early:
            self._early -= 1
            self._next = min(self._next, now + _SOON)

    def _beat(self, epoch: int) -> ShareGroupHeartbeatRequest:
        member = self._membership
        return ShareGroupHeartbeatRequest(
            group_id=member.group_id, member_id=member.member_id, member_epoch=epoch
        )

    def _report(self, request: ShareGroupHeartbeatRequest) -> None:
        if self._as_received is None:
            request.rack_id = self._rack
        if self._as_received != self.topics:
            request.subscribed_topic_names = list(self.topics)

    def _reported(self, request: ShareGroupHeartbeatRequest) -> None:
        if request.subscribed_topic_names is not None:
            self._as_received = request.subscribed_topic_names

    def _forget_reports(self) -> None:
        self._as_received = None

    def _switched_off(self, error: BrokerError) -> KcliError:
        group = self._membership.group_id
        return UnsupportedError(
            f"cannot join share group {group}: the brokers have share groups switched off (KIP-932)",
            why=error.why,
            do="`kafka-features upgrade --feature share.version=1` switches them on, from Kafka 4.1 on",
        )
