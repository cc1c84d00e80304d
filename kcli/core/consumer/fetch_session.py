"""The fetch session with one broker (KIP-227): what each fetch requests. Pure: no I/O, no clock.

With a session the broker remembers the partitions, so a request lists only changes: added partitions, new offsets and
partitions to forget. Without one (before v7, or when the broker's cache is full) every fetch lists all partitions.

A request uses topic ids (v13) only where all of them are known. Within a session a broker does not mention a
partition whose bounds are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcli.core.classes import NamedTuple
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition

NO_SESSION = 0
"""The session id in responses of a broker that keeps no session."""
FULL = 0
"""The epoch of a request that lists all partitions and opens a new session."""
FINAL = -1
"""The epoch of a request that closes a session."""
LAST_EPOCH = 0x7FFF_FFFF
"""Followed by epoch 1, since 0 would open a new session."""

_LAST_BY_NAME = 12


class Ask(NamedTuple):
    """What is requested of a partition. ``version`` is that of its state: the response is valid only for that version."""

    version: int
    offset: int
    leader_epoch: int
    topic_id: bytes = NO_UUID


Asks = dict[TopicPartition, Ask]


class FetchSession:
    """``want`` and ``drop`` choose the partitions; ``fill`` builds a request, followed by ``answered`` or ``reset``.

    One request is in flight at a time: ``asked`` is what its response refers to.
    """

    def __init__(self) -> None:
        self.id = NO_SESSION
        self.epoch = FULL
        self.wanted: Asks = {}
        self._sent: Asks = {}
        self._news: dict[TopicPartition, None] = {}
        self._names: dict[bytes, str] = {}
        self._without_id: set[TopicPartition] = set()
        self._by_id = True
        self._turn = 0

    def want(self, tp: TopicPartition, ask: Ask) -> None:
        """Reads the partition from this broker, starting at the offset in ``ask``."""
        if self.wanted.get(tp) == ask:
            return
        self.wanted[tp] = ask
        self._news[tp] = None
        if ask.topic_id == NO_UUID:
            self._without_id.add(tp)
        else:
            if self._without_id:
                self._without_id.discard(tp)
            self._names[ask.topic_id] = tp.topic

    def drop(self, tp: TopicPartition) -> None:
        """The partition is not read here: it is paused, failed, revoked, or led by another broker."""
        if self.wanted.pop(tp, None) is not None:
            self._news[tp] = None
            self._without_id.discard(tp)

    def asked(self, tp: TopicPartition) -> Ask | None:
        """What was last requested of a partition; None if it was never requested."""
        return self._sent.get(tp)

    @property
    def all_asked(self) -> Iterable[TopicPartition]:
        """All partitions the broker has been asked to read."""
        return self._sent

    def topic(self, name: str, topic_id: bytes) -> str:
        """The topic a response refers to: by name before v13, by id since; "" if unknown."""
        return name or self._names.get(topic_id, "")

    def fill(self, request: FetchRequest, max_bytes: int) -> None:
        """Fills ``request`` with what the broker does not know yet; ``max_bytes`` is the limit per partition."""
        by_id = not self._without_id
        asks, forgotten = self._changes(by_id)
        request.session_id, request.session_epoch = self.id, self.epoch
        request.topics = _topics(asks, max_bytes)
        if forgotten:
            request.forgotten_topics_data = _forgotten(forgotten)
        if not by_id:
            request.cap_version(_LAST_BY_NAME)

    def farewell(self) -> FetchRequest:
        """A request that closes the session and fetches nothing."""
        return FetchRequest(max_wait_ms=0, min_bytes=0, session_id=self.id, session_epoch=FINAL, topics=[])

    def answered(self, session_id: int) -> None:
        """The request succeeded, and the response names this session (0: none, as below v7)."""
        # 0: the broker's cache of sessions is full, or it is older than KIP-227. Another id than ours: it has
        # opened a session that this side knows nothing of. In both cases the next fetch lists everything.
        if session_id == NO_SESSION or (self.epoch != FULL and session_id != self.id):
            self.lost()
        else:
            self.id = session_id
            self.epoch = self.epoch + 1 if self.epoch < LAST_EPOCH else 1

    def reset(self) -> None:
        """The broker's state may differ: the next fetch lists all partitions and closes the old session."""
        self.epoch = FULL

    def lost(self) -> None:
        """The broker has no session with that id (any more)."""
        self.id, self.epoch = NO_SESSION, FULL

    def _changes(self, by_id: bool) -> tuple[Asks, Asks]:
        """The partitions to request, and those to forget."""
        if self.epoch == FULL or by_id is not self._by_id:
            return self._all(by_id), {}
        asks: Asks = {}
        forgotten: Asks = {}
        # Only while the epoch says that the broker has received all that was sent before; otherwise `_all`.
        for tp in self._news:
            ask, sent = self.wanted.get(tp), self._sent.get(tp)
            if ask is not None and sent is not None and ask.topic_id != sent.topic_id:
                return self._all(by_id), {}  # by name, a broker would add it and then forget it
            if ask is None and sent is not None:
                forgotten[tp] = sent
            elif ask is not None and ask != sent:
                asks[tp] = ask
        self._news = {}
        self._sent |= asks
        for tp in forgotten:
            del self._sent[tp]
        return asks, forgotten

    def _all(self, by_id: bool) -> Asks:
        """All partitions, in a different order each time: without a session the first ones are served first."""
        self.reset()
        self._by_id = by_id
        self._news.clear()
        rows = list(self.wanted.items())
        self._turn = (self._turn + 1) % max(1, len(rows))
        self._sent = dict(rows[self._turn :] + rows[: self._turn])
        return self._sent


def _topics(asks: Asks, max_bytes: int) -> list[FetchTopic]:
    topics: dict[tuple[str, bytes], FetchTopic] = {}
    for tp, ask in asks.items():
        key = (tp.topic, ask.topic_id)
        if key not in topics:
            topics[key] = FetchTopic(topic=tp.topic, topic_id=ask.topic_id, partitions=[])
        topics[key].partitions.append(
            FetchPartition(
                partition=tp.partition,
                current_leader_epoch=ask.leader_epoch,
                fetch_offset=ask.offset,
                partition_max_bytes=max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(asks: Asks) -> list[ForgottenTopic]:
    topics: dict[tuple[str, bytes], ForgottenTopic] = {}
    for tp, ask in asks.items():
        row = topics.setdefault(
            (tp.topic, ask.topic_id),
            ForgottenTopic(topic=tp.topic, topic_id=ask.topic_id, partitions=[]),
        )
        row.partitions.append(tp.partition)
    return list(topics.values())
