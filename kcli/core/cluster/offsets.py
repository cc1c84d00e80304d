"""Offsets by special position or by time (ListOffsets), for many partitions at once.

Special positions are negative timestamps, and old brokers read one that they do not know as a time: 2.8.2 returns "the
first record with at least this timestamp" without an error. So a position is sent only to brokers whose version has it.

The special timestamps are -3 to -6. The newest timestamp (-3) may be that of a deleted record (after
DeleteRecords, seen on 4.3.1 and 3.9.2), so it is compared with the start of the log. Tested in
``tests/fault/test_admin.py``.
"""

from collections.abc import Callable, Iterator, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import FanOut, Items, Part
from kcli.core.cluster.routes import ToLeader
from kcli.core.connection.plan import Broker
from kcli.core.errors import ConfigError, DataLossError, KcliError, ProtocolError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kcli.core.types import TopicPartition

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
"""The first of the records with the newest timestamp, which need not be the last record (KIP-734)."""
EARLIEST_LOCAL = -4
"""The first offset on the leader's own disk (KIP-405)."""
LATEST_TIERED = -5
"""The last offset in tiered storage (KIP-1005)."""
EARLIEST_PENDING_UPLOAD = -6
"""The first offset that tiered storage does not have yet (KIP-1023)."""

FIRST_LOCAL = 8
"""The first version of ListOffsets that has EARLIEST_LOCAL."""

NOT_FOUND = -1
"""The offset when no record is that new, nothing is stored, or nothing is tiered."""

_FIRST_WITH = {
    LATEST: ("the end", 0),
    EARLIEST: ("the start", 0),
    MAX_TIMESTAMP: ("the newest timestamp", 7),
    EARLIEST_LOCAL: ("the local start", FIRST_LOCAL),
    LATEST_TIERED: ("the tiered end", 9),
    EARLIEST_PENDING_UPLOAD: ("the first offset that is not tiered", 11),
}
_ALWAYS_THERE = (LATEST, EARLIEST, EARLIEST_LOCAL)

Wanted = Mapping[TopicPartition, int]


class NotTieredError(KcliError):
    """A partition has no such offset, as nothing of it is in tiered storage."""

    exit_code = ExitCode.REFUSED


class OffsetInfo(NamedTuple):
    """``offset`` −1: no record is that new. ``timestamp`` is that of the record found, −1 for a special position."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


Listed = dict[TopicPartition, OffsetInfo | KcliError]


def list_offsets(
    cluster: Cluster,
    wanted: Wanted,
    deadline: float,
    *,
    committed_only: bool = True,
    leader_patience: float | None = None,
) -> Listed:
    """For each partition the first offset whose timestamp is at least the wanted one (ms), or a position (LATEST, …).

    LATEST is the last stable offset with ``committed_only``, else the high watermark. UnsupportedError for a partition
    whose leader is too old for the position, ProtocolError for a response that is no offset. NoLeaderError for a
    partition without a leader for ``leader_patience`` seconds; None: that is waited for until the deadline. ConfigError
    for a position that does not exist: nothing was sent.
    """
    return begin_list_offsets(
        cluster, wanted, deadline, committed_only=committed_only, leader_patience=leader_patience
    )()


def begin_list_offsets(
    cluster: Cluster,
    wanted: Wanted,
    deadline: float,
    *,
    committed_only: bool = True,
    leader_patience: float | None = None,
) -> Callable[[], Listed]:
    """Sends the requests of ``list_offsets``, and returns what waits for their responses. Where several are begun before
    the first is waited for, brokers answer them in this order.
    """
    for tp, timestamp in wanted.items():
        if timestamp < 0 and timestamp not in _FIRST_WITH:
            raise ConfigError(
                f"{timestamp} is not a timestamp or special offset of {tp}",
                why="special offsets are -1 (the end) to -6",
            )

    def ask(broker: Broker, items: Items[TopicPartition, int]) -> list[Part[TopicPartition]]:
        version = broker.version(ListOffsetsRequest)
        known = [(tp, t) for tp, t in items if t >= 0 or _FIRST_WITH[t][1] <= version]
        refused = [
            Part[TopicPartition](_too_old(broker, tp, t, version), [tp])
            for tp, t in items
            if t < 0 and _FIRST_WITH[t][1] > version
        ]
        timeout_ms = cluster.options.request_timeout_ms
        request = offsets_request(known, committed_only=committed_only, timeout_ms=timeout_ms)
        return [*refused, Part(request, [tp for tp, _ in known])] if known else refused

    def read(
        response: ListOffsetsResponse, _part: Part[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int | KcliError, OffsetInfo]]:
        for topic in response.topics:
            for p in topic.partitions:
                tp, info = (
                    TopicPartition(topic.name, p.partition_index),
                    OffsetInfo(p.offset, p.timestamp, p.leader_epoch),
                )
                told = None
                if p.error_code and cluster.directories is not None:
                    told = cluster.directories.failure(tp, 0)  # which file, and where
                yield tp, told or p.error_code or _checked(tp, wanted.get(tp, 0), info), info

    what = "listing offsets of"
    run = FanOut(cluster, wanted, ToLeader(cluster), ask, read, deadline, what)
    run.leader_patience = leader_patience
    run.needs = lambda tp: [on_topic("DESCRIBE", tp.topic)]
    run.begin()

    def finish() -> Listed:
        found = run.run()
        newest = [
            w for w, info in found.items() if wanted[w] == MAX_TIMESTAMP and isinstance(info, OffsetInfo)
        ]
        if newest:
            found.update(_still_there(cluster, {w: found[w] for w in newest}, deadline))
        return found

    return finish


def not_tiered(tp: TopicPartition, special: int) -> NotTieredError | None:
    """The error where a broker has found no such special offset; None if that only means that there is no record."""
    if special not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    from kcli.core.positions import SPECIAL_NAMES  # only for an error

    return NotTieredError(
        f"{tp} has no offset {SPECIAL_NAMES[special]}",
        why="nothing of it is in tiered storage: its topic is not tiered, or no segment was copied yet",
        do=f"`kcli topics describe {tp.topic}` shows what is; choose another offset",
    )


def offsets_request(
    items: Items[TopicPartition, int], *, committed_only: bool, timeout_ms: int
) -> ListOffsetsRequest:
    """The request for one broker's partitions."""
    topics: dict[str, ListOffsetsTopic] = {}
    for tp, timestamp in items:
        topic = topics.setdefault(tp.topic, ListOffsetsTopic(name=tp.topic, partitions=[]))
        topic.partitions.append(ListOffsetsPartition(partition_index=tp.partition, timestamp=timestamp))
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(committed_only),
        topics=list(topics.values()),
        timeout_ms=timeout_ms,
    )


def _too_old(broker: Broker, tp: TopicPartition, place: int, version: int) -> UnsupportedError:
    name, first = _FIRST_WITH[place]
    return UnsupportedError(
        f"{broker.name} cannot return {name} of {tp}",
        why=f"this needs ListOffsets {first}, but the broker offers only {version}",
    )


def _checked(tp: TopicPartition, asked: int, info: OffsetInfo) -> int | KcliError:
    """0 for an offset that a broker may return here, otherwise the error."""
    if info.offset >= 0 or (info.offset == NOT_FOUND and asked not in _ALWAYS_THERE):
        return 0
    return ProtocolError(f"listing offsets of {tp}", why=f"the broker returned {info.offset}")


def _still_there(
    cluster: Cluster, newest: Mapping[TopicPartition, OffsetInfo | KcliError], deadline: float
) -> dict[TopicPartition, OffsetInfo | KcliError]:
    """Brokers may return a newest record that DeleteRecords has deleted (seen on 4.3.1 and 3.9.2)."""
    named = {w: i for w, i in newest.items() if isinstance(i, OffsetInfo) and i.offset >= 0}
    starts = list_offsets(cluster, dict.fromkeys(named, EARLIEST), deadline)
    deleted = [w for w, i in named.items() if (s := _offset(starts[w])) is None or s > i.offset]
    ends = list_offsets(cluster, dict.fromkeys(deleted, LATEST), deadline, committed_only=False)
    found: dict[TopicPartition, OffsetInfo | KcliError] = dict(newest)
    for tp in deleted:
        start, end = starts[tp], ends[tp]
        error = next((e for e in (start, end) if isinstance(e, KcliError)), None)
        if error is not None:
            found[tp] = error
        elif _offset(start) == _offset(end):
            found[tp] = OffsetInfo(NOT_FOUND, NOT_FOUND)
        else:
            found[tp] = DataLossError(
                f"the newest timestamp of {tp} is not known",
                why=f"the broker names offset {named[tp].offset}, which was deleted:"
                f" the log starts at {_offset(start)}",
            )
    return found


def _offset(info: OffsetInfo | KcliError) -> int | None:
    return info.offset if isinstance(info, OffsetInfo) else None
