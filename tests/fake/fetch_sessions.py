"""Fetch sessions (KIP-227): what a node remembers of a reader's partitions, so that requests name changes only.

Off by default: then every request is a full fetch and every answer says session 0, which is legal.
"""

import itertools
from typing import TYPE_CHECKING

from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
from tests.fake.codes import Code, RefusedError
from tests.fake.fetch import TopicKey, Wanted

if TYPE_CHECKING:
    from tests.fake.state import Context

FULL, FINAL = 0, -1
"""Session epochs of a request: a new session, and none (any more)."""
_LAST_EPOCH = 2**31 - 1
_Place = tuple[TopicKey, int]


class NoSession:
    """A full fetch: all is in the request, all goes into the answer."""

    number = 0

    def wanted(self, request: FetchRequest) -> list[Wanted]:
        return [
            Wanted((topic.topic, bytes(topic.topic_id)), partition)
            for topic in request.topics
            for partition in topic.partitions
        ]

    def filter(self, rows: list[tuple[TopicKey, PartitionData]]) -> list[tuple[TopicKey, PartitionData]]:
        return rows


NO_SESSION = NoSession()


class Session(NoSession):
    """Partitions in the order in which they are served; those that gave data go to the end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.epoch = 1
        self._partitions: dict[_Place, FetchPartition] = {}
        self._told: dict[_Place, tuple[int, int]] = {}

    def wanted(self, request: FetchRequest) -> list[Wanted]:
        for want in super().wanted(request):
            self._partitions[want.topic, want.partition.partition] = want.partition
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                place = (topic.topic, bytes(topic.topic_id)), number
                self._partitions.pop(place, None)
                self._told.pop(place, None)
        return [Wanted(key, partition) for (key, _), partition in self._partitions.items()]

    def filter(self, rows: list[tuple[TopicKey, PartitionData]]) -> list[tuple[TopicKey, PartitionData]]:
        """What has records, an error, or bounds that were not told yet."""
        kept = []
        for key, row in rows:
            place = key, row.partition_index
            bounds = row.high_watermark, row.log_start_offset
            news = any(row.records or ()) or row.error_code or row.diverging_epoch.epoch != -1
            if news or self._told.get(place) != bounds:
                kept.append((key, row))
                self._told[place] = bounds
                if row.error_code:
                    del self._told[place]
                self._partitions[place] = self._partitions.pop(place)
        return kept


class Sessions:
    """Of one node."""

    def __init__(self) -> None:
        self.by_number: dict[int, Session] = {}
        self._numbers = itertools.count(1001)

    def start(self) -> Session:
        session = Session(next(self._numbers))
        self.by_number[session.number] = session
        return session


def open_session(ctx: "Context", request: FetchRequest) -> NoSession:
    """The session that a request means; RefusedError 70 or 71 when there is none, or its epoch is not the next."""
    sessions = ctx.state.nodes[ctx.node].fetch_sessions
    enabled = ctx.state.settings.fetch_sessions
    if request.session_epoch in (FULL, FINAL):
        sessions.by_number.pop(request.session_id, None)
        return sessions.start() if enabled and request.session_epoch == FULL else NO_SESSION
    session = sessions.by_number.get(request.session_id)
    if session is None:
        raise RefusedError(Code.FETCH_SESSION_ID_NOT_FOUND)
    if session.epoch != request.session_epoch:
        raise RefusedError(Code.INVALID_FETCH_SESSION_EPOCH)
    session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
    return session
