"""Share groups (KIP-932): members, share sessions, and the state of each offset. Loop thread only.

A partition's offsets are available, acquired by a member until their lock ends, acknowledged or archived. As on a real
broker the acknowledgements of a partition in one request are done all or none, a session has the next epoch with each
request and no acknowledgements in its first, and when its connection closes it ends and releases what it holds.
Not simulated: the share coordinator (a state that is stored survives everything), and regular group coordination.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kcli.core.protocol.messages.share_acknowledge import (
    PartitionData as AcknowledgedPartition,
)
from kcli.core.protocol.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from kcli.core.protocol.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kcli.core.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.coordinators import GROUP

if TYPE_CHECKING:
    from tests.fake.state import Context, State
    from tests.fake.topics import Partition

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = "available", "acquired", "acknowledged", "archived"
_AFTER = {0: ARCHIVED, 1: ACKNOWLEDGED, 2: AVAILABLE, 3: ARCHIVED}
"""By the type of an acknowledgement: gap, accept, release, reject."""
_RENEW = 4
_OPENING, _FINAL = 0, -1
_RECORD_LIMIT = 1
Key = tuple[str, bytes, int]
"""Group, topic id, partition."""


@dataclass(slots=True)
class Cell:
    """One offset. ``count``: deliveries so far."""

    state: str = AVAILABLE
    count: int = 0
    member: str = ""
    until: float = 0.0


@dataclass(slots=True)
class Session:
    """Of one member on one node; ``connection`` is that of its first request."""

    connection: object
    epoch: int = 1
    partitions: dict[tuple[bytes, int], None] = field(default_factory=dict)


class ShareGroups:
    """``lock``: seconds; ``limit``: deliveries after which a released offset is archived. May be changed."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.lock = 30.0
        self.limit = 5
        self.heartbeat_ms = 100
        self.members: dict[str, dict[str, list[str]]] = {}
        self.cells: dict[Key, dict[int, Cell]] = {}
        self.sessions: dict[tuple[int, str, str], Session] = {}

    # --- what tests look at, and do ----------------------------------------------------------------

    def states(self, group: str, topic: str, partition: int = 0) -> dict[int, tuple[str, int]]:
        """State and delivery count by offset."""
        key = group, self._state.topics.by_name[topic].topic_id, partition
        self._expire()
        return {offset: (cell.state, cell.count) for offset, cell in sorted(self.cells.get(key, {}).items())}

    def lock_ends(self) -> list[float]:
        """When each lock ends, on the monotonic clock."""
        return [cell.until for cell in self._acquired()]

    def expire_locks(self) -> None:
        """All locks end now."""
        for cell in self._acquired():
            cell.until = 0.0
        self._expire()
        self._state.changed()

    def forget_sessions(self, *, release: bool = True) -> None:
        """All brokers forget their sessions, as when their caches are full."""
        for node, group, member in list(self.sessions):
            self._end_session(node, group, member, release=release)

    def disconnected(self, node: int, connection: object) -> None:
        """A connection has closed: its session ends."""
        for (of_node, group, member), session in list(self.sessions.items()):
            if of_node == node and session.connection is connection:
                self._end_session(node, group, member)

    # --- requests ----------------------------------------------------------------------------------

    def heartbeat(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        members = self.members.setdefault(request.group_id, {})
        if request.member_epoch == _FINAL:
            members.pop(request.member_id, None)
        elif request.member_epoch == 0:
            members[request.member_id] = list(request.subscribed_topic_names or [])
        elif request.member_id not in members:
            raise RefusedError(Code.UNKNOWN_MEMBER_ID)
        elif request.subscribed_topic_names is not None:
            members[request.member_id] = list(request.subscribed_topic_names)
        return ShareGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=0,
            member_id=request.member_id,
            member_epoch=-1 if request.member_epoch < 0 else 1,
            heartbeat_interval_ms=self.heartbeat_ms,
            assignment=self._assignment(members.get(request.member_id, [])),
        )

    def session(self, ctx: "Context", request: Any, *, acknowledges: bool) -> Session:
        """The session that a request means; RefusedError where there is none, or its epoch is another."""
        key = ctx.node, request.group_id, request.member_id
        epoch = request.share_session_epoch
        if epoch == _OPENING and isinstance(request, ShareFetchRequest):
            if acknowledges:
                raise RefusedError(Code.INVALID_REQUEST)
            session = self.sessions[key] = Session(ctx.session)
            return session
        found = self.sessions.get(key)
        if found is None:
            raise RefusedError(Code.SHARE_SESSION_NOT_FOUND)
        if epoch not in (_FINAL, found.epoch):
            raise RefusedError(Code.INVALID_SHARE_SESSION_EPOCH)
        found.epoch += epoch != _FINAL
        return found

    def end_session(self, ctx: "Context", request: Any) -> None:
        """The request was the last one."""
        self._end_session(ctx.node, request.group_id, request.member_id)

    def acknowledge(self, ctx: "Context", request: Any) -> dict[tuple[bytes, int], int]:
        """The code of each partition."""
        return {
            (bytes(topic.topic_id), row.partition_index): self._acknowledge(
                ctx, request, bytes(topic.topic_id), row.partition_index, row.acknowledgement_batches
            )
            for topic in request.topics
            for row in topic.partitions
            if row.acknowledgement_batches
        }

    def _acknowledge(self, ctx: "Context", request: Any, topic_id: bytes, number: int, batches: Any) -> int:
        self._expire()
        try:
            self._led_here(ctx, topic_id, number)
        except RefusedError as refused:
            return refused.code
        cells = self.cells.setdefault((request.group_id, topic_id, number), {})
        found: list[tuple[Cell, int]] = []
        before = -1
        for batch in batches:
            if batch.first_offset <= before or batch.last_offset < batch.first_offset:
                return Code.INVALID_REQUEST
            before = batch.last_offset
            kinds = batch.acknowledge_types
            for index, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                cell = cells.get(offset)
                if cell is None or cell.state != ACQUIRED or cell.member != request.member_id:
                    return Code.INVALID_RECORD_STATE
                found.append((cell, kinds[0] if len(kinds) == 1 else kinds[index]))
        for cell, kind in found:
            if kind == _RENEW:
                cell.until = time.monotonic() + self.lock
            else:
                self._leave(cell, _AFTER[kind])
        self._state.changed()
        return Code.NONE

    def acquire(
        self, ctx: "Context", request: ShareFetchRequest, topic_id: bytes, number: int, most: int
    ) -> tuple[list[AcquiredRecords], list[bytes]]:
        """What the member gets of a partition, at most so many records, and the batches that have them."""
        self._expire()
        place = self._led_here(ctx, topic_id, number)
        cells = self.cells.setdefault((request.group_id, topic_id, number), {})
        exact = ctx.version > 1 and request.share_acquire_mode == _RECORD_LIMIT
        taken: list[int] = []
        data: list[bytes] = []
        for batch in place.log.batches:
            if batch.last_offset >= place.log.high_watermark or len(taken) >= most:
                break
            free = [
                offset
                for offset in range(max(batch.base_offset, place.log.start_offset), batch.last_offset + 1)
                if cells.setdefault(offset, Cell()).state == AVAILABLE
            ]
            if free:
                taken += free[: most - len(taken)] if exact else free
                data.append(bytes(batch.raw))
        until = time.monotonic() + self.lock
        for offset in taken:
            cell = cells[offset]
            cell.state, cell.member, cell.until = ACQUIRED, request.member_id, until
            cell.count += 1
        return list(_runs(taken, cells)), data

    # --- inside ------------------------------------------------------------------------------------

    def _led_here(self, ctx: "Context", topic_id: bytes, number: int) -> "Partition":
        place = self._state.topics.partition("", topic_id, number)
        if place.leader != ctx.node:
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
        return place

    def _assignment(self, topics: Iterable[str]) -> Assignment:
        rows = [self._state.topics.by_name[name] for name in topics if name in self._state.topics.by_name]
        return Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic.topic_id, partitions=list(range(len(topic.partitions))))
                for topic in rows
            ]
        )

    def _end_session(self, node: int, group: str, member: str, *, release: bool = True) -> None:
        session = self.sessions.pop((node, group, member), None)
        if session is None or not release:
            return
        for topic_id, number in session.partitions:
            for cell in self.cells.get((group, topic_id, number), {}).values():
                if cell.state == ACQUIRED and cell.member == member:
                    self._leave(cell, AVAILABLE)
        self._state.changed()

    def _leave(self, cell: Cell, state: str) -> None:
        cell.state = ARCHIVED if state == AVAILABLE and cell.count >= self.limit else state
        cell.member = ""

    def _acquired(self) -> Iterator[Cell]:
        for cells in self.cells.values():
            yield from (cell for cell in cells.values() if cell.state == ACQUIRED)

    def _expire(self) -> None:
        now = time.monotonic()
        for cell in self._acquired():
            if cell.until <= now:
                self._leave(cell, AVAILABLE)


def _runs(offsets: list[int], cells: dict[int, Cell]) -> Iterator[AcquiredRecords]:
    """Adjacent offsets with one delivery count."""
    start = None
    for index, offset in enumerate(offsets):
        start = offset if start is None else start
        after = offsets[index + 1] if index + 1 < len(offsets) else None
        if after != offset + 1 or cells[after].count != cells[offset].count:
            yield AcquiredRecords(first_offset=start, last_offset=offset, delivery_count=cells[offset].count)
            start = None


async def share_heartbeat(ctx: "Context", request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
    """The coordinator's answer."""
    try:
        if ctx.state.coordinators.of(GROUP, request.group_id) != ctx.node:
            raise RefusedError(Code.NOT_COORDINATOR)
        return ctx.state.share.heartbeat(request)
    except RefusedError as refused:
        return ShareGroupHeartbeatResponse(
            throttle_time_ms=0, error_code=refused.code, member_epoch=0, heartbeat_interval_ms=0
        )


async def share_fetch(ctx: "Context", request: ShareFetchRequest) -> ShareFetchResponse:
    """Acknowledges, then acquires; waits while there is nothing to acquire."""
    share = ctx.state.share
    acknowledges = any(row.acknowledgement_batches for topic in request.topics for row in topic.partitions)
    try:
        session = share.session(ctx, request, acknowledges=acknowledges)
    except RefusedError as refused:
        return _refused_fetch(refused.code)
    for topic in request.topics:
        for row in topic.partitions:
            session.partitions[bytes(topic.topic_id), row.partition_index] = None
    codes = share.acknowledge(ctx, request)
    for forgotten in request.forgotten_topics_data:
        for number in forgotten.partitions:
            session.partitions.pop((bytes(forgotten.topic_id), number), None)
    epoch = session.epoch
    rows: dict[tuple[bytes, int], PartitionData] = {}
    if request.max_records and request.max_bytes and session.partitions:
        end = time.monotonic() + request.max_wait_ms / 1000
        while not (rows := _acquire_all(ctx, request, session)) and (left := end - time.monotonic()) > 0:
            # Locks expire without a request.
            await ctx.state.wait_changed(min(left, 0.05))
        if session.epoch != epoch:  # another request came meanwhile: as on a real broker it is refused
            return _refused_fetch(Code.INVALID_SHARE_SESSION_EPOCH)
    for key, code in codes.items():
        rows.setdefault(key, _row(key[1])).acknowledge_error_code = code
    if request.share_session_epoch == _FINAL:
        share.end_session(ctx, request)
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for (topic_id, _), data in rows.items():
        topics.setdefault(
            topic_id, ShareFetchableTopicResponse(topic_id=topic_id, partitions=[])
        ).partitions.append(data)
    return ShareFetchResponse(
        throttle_time_ms=0,
        error_code=0,
        acquisition_lock_timeout_ms=int(share.lock * 1000),
        responses=list(topics.values()),
        node_endpoints=[],
    )


async def share_acknowledge(ctx: "Context", request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Acknowledges, and acquires nothing."""
    share = ctx.state.share
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    code = Code.NONE
    try:
        share.session(ctx, request, acknowledges=True)
        for (topic_id, number), outcome in share.acknowledge(ctx, request).items():
            row = AcknowledgedPartition(
                partition_index=number,
                error_code=outcome,
                current_leader=_NO_LEADER,  # type: ignore[arg-type]
            )
            topics.setdefault(
                topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[])
            ).partitions.append(row)
        if request.share_session_epoch == _FINAL:
            share.end_session(ctx, request)
    except RefusedError as refused:
        code = refused.code
    return ShareAcknowledgeResponse(
        throttle_time_ms=0,
        error_code=code,
        acquisition_lock_timeout_ms=int(share.lock * 1000),
        responses=list(topics.values()),
        node_endpoints=[],
    )


_NO_LEADER = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)


def _acquire_all(
    ctx: "Context", request: ShareFetchRequest, session: Session
) -> dict[tuple[bytes, int], PartitionData]:
    """Partitions with records or an error."""
    left = request.max_records
    rows: dict[tuple[bytes, int], PartitionData] = {}
    for topic_id, number in session.partitions:
        try:
            acquired, data = ctx.state.share.acquire(ctx, request, topic_id, number, left)
        except RefusedError as refused:
            rows[topic_id, number] = _row(number)
            rows[topic_id, number].error_code = refused.code
            continue
        if acquired:
            row = rows[topic_id, number] = _row(number)
            row.acquired_records, row.records = acquired, data
            left = max(0, left - sum(one.last_offset - one.first_offset + 1 for one in acquired))
    return rows


def _row(number: int) -> PartitionData:
    return PartitionData(
        partition_index=number,
        error_code=0,
        acknowledge_error_code=0,
        current_leader=_NO_LEADER,
        records=[b""],
        acquired_records=[],
    )


def _refused_fetch(code: int) -> ShareFetchResponse:
    return ShareFetchResponse(
        throttle_time_ms=0,
        error_code=code,
        acquisition_lock_timeout_ms=0,
        responses=[],
        node_endpoints=[],
    )
