"""The share session with one broker (KIP-932): which partitions it serves, and the epoch of the next request. Pure.

The broker keeps the session and releases what it holds when the session ends or its connection closes. Each request has
the next epoch, so there is never more than one in flight: a second one would make the response to the first be refused,
with the records in it. A session is opened by a fetch with epoch 0, which may carry no acknowledgements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcli.core.protocol.messages import share_acknowledge, share_fetch
from kcli.core.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kcli.core.protocol.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from kcli.core.share.acquired import Acknowledge, Run
from kcli.core.types import TopicPartition

OPENING, FINAL = 0, -1
LAST_EPOCH = 0x7FFF_FFFF
"""Followed by epoch 1, since 0 would open a new session."""

TopicIds = dict[TopicPartition, bytes]
Runs = Mapping[TopicPartition, Sequence[Run]]


class ShareSession:
    """``want`` and ``drop`` choose partitions; ``fill_fetch`` or ``fill_acknowledge``, then ``answered`` or ``lost``."""

    def __init__(self) -> None:
        self.epoch = OPENING
        self.wanted: TopicIds = {}
        self._served: TopicIds = {}
        self._names: dict[bytes, str] = {}

    @property
    def is_open(self) -> bool:
        """Whether the broker has the session, as far as is known."""
        return self.epoch != OPENING

    @property
    def has_news(self) -> bool:
        """Whether the broker serves other partitions than are wanted."""
        return self.wanted != self._served

    def want(self, tp: TopicPartition, topic_id: bytes) -> None:
        """Fetches from this partition."""
        self.wanted[tp] = topic_id
        self._names[topic_id] = tp.topic

    def drop(self, tp: TopicPartition) -> None:
        """Fetches no more from this partition."""
        self.wanted.pop(tp, None)

    def partition(self, topic_id: bytes, number: int) -> TopicPartition | None:
        """The partition that a response means; None for a topic that was never asked for."""
        name = self._names.get(topic_id)
        return None if name is None else TopicPartition(name, number)

    def fill_fetch(self, request: ShareFetchRequest, runs: Runs, topic_ids: TopicIds) -> None:
        """Adds the changes of partitions, and the acknowledgements. ``topic_ids``: of the partitions in ``runs``."""
        assert self.is_open or not runs
        request.share_session_epoch = self.epoch
        added = {tp: topic_id for tp, topic_id in self.wanted.items() if self._served.get(tp) != topic_id}
        forgotten = {tp: topic_id for tp, topic_id in self._served.items() if self.wanted.get(tp) != topic_id}
        # A partition that is only acknowledged is named, and thereby added: it is forgotten in the same request.
        forgotten |= {tp: topic_ids[tp] for tp in runs if tp not in self.wanted}
        topics: dict[bytes, FetchTopic] = {}
        for tp in [*added, *(tp for tp in runs if tp not in added)]:
            topic_id = added.get(tp) or topic_ids[tp]
            batches = [
                share_fetch.AcknowledgementBatch(
                    first_offset=run.first, last_offset=run.last, acknowledge_types=[int(run.kind)]
                )
                for run in runs.get(tp, ())
            ]
            row = FetchPartition(partition_index=tp.partition, acknowledgement_batches=batches)
            topics.setdefault(topic_id, FetchTopic(topic_id=topic_id, partitions=[])).partitions.append(row)
        request.topics = list(topics.values())
        removed: dict[bytes, ForgottenTopic] = {}
        for tp, topic_id in forgotten.items():
            removed.setdefault(topic_id, ForgottenTopic(topic_id=topic_id, partitions=[])).partitions.append(
                tp.partition
            )
        request.forgotten_topics_data = list(removed.values())
        self._served = dict(self.wanted)

    def fill_acknowledge(
        self, request: ShareAcknowledgeRequest, runs: Runs, topic_ids: TopicIds, *, final: bool = False
    ) -> None:
        """Adds the acknowledgements; ``final``: the broker ends the session, and releases what it still holds."""
        assert self.is_open
        request.share_session_epoch = FINAL if final else self.epoch
        topics: dict[bytes, AcknowledgeTopic] = {}
        for tp, of_partition in runs.items():
            batches = [
                share_acknowledge.AcknowledgementBatch(
                    first_offset=run.first, last_offset=run.last, acknowledge_types=[int(run.kind)]
                )
                for run in of_partition
            ]
            row = AcknowledgePartition(partition_index=tp.partition, acknowledgement_batches=batches)
            topic = topics.setdefault(topic_ids[tp], AcknowledgeTopic(topic_id=topic_ids[tp], partitions=[]))
            topic.partitions.append(row)
        request.topics = list(topics.values())
        if any(run.kind is Acknowledge.RENEW for of_partition in runs.values() for run in of_partition):
            request.is_renew_ack = True

    def answered(self) -> None:
        """The broker has handled the request: its session is at the next epoch."""
        self.epoch = self.epoch + 1 if self.epoch < LAST_EPOCH else 1

    def lost(self) -> None:
        """The broker's session is gone, or at another epoch: the next fetch opens a new one."""
        self.epoch = OPENING
        self._served = {}
