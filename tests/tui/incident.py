"""A recording of a made-up incident: one of ten partitions of ``billing`` gets no commits any more, beside a group that
is slow and one that rebalances; a rewind takes it over a record that its members cannot process, and it recovers.

``python -m tests.tui.incident FILE`` writes it; the documentation's pictures are made from docs/pictures/incident.ndjson.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import INTERPOLATED, RecordTime
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.topics.sizes import TopicSize
from tests.tui.made_up import line_of

BEGIN = 1_795_399_140_000  # 2026-11-23 01:59:00 in UTC
STEP, READINGS = 10, 43
STUCK_FROM, STUCK_UNTIL = 60, 330
REBALANCES = (300, 310), (330, 340)
"""When clickstream and billing hand out their partitions again, in seconds."""
STUCK = TopicPartition("orders", 7)
PARTITIONS = {"orders": 8, "payments": 2, "clicks": 4, "audit-log": 1, "shipments": 2}
WRITTEN = {"orders": 1_240, "payments": 310, "clicks": 4_100, "audit-log": 35, "shipments": 96}
BYTES = {"orders": 410, "payments": 260, "clicks": 190, "audit-log": 720, "shipments": 530}
KEPT = 86_400_000
BROKERS = tuple(BrokerDescription(Node(n, f"kafka-{n}.example", 9092, "abc"[n - 1])) for n in (1, 2, 3))
READ_BY = {
    "billing": (("orders", "payments"), 3),
    "clickstream": (("clicks",), 4),
    "search-index": (("orders",), 2),
    "fraud-check": (("payments",), 2),
    "shipping": (("shipments",), 1),
    "audit": (("audit-log",), 1),
}
"""Topics and members of the groups."""
ADDRESSES = {name: number for number, name in enumerate(READ_BY, 21)}


def readings() -> Iterator[Reading]:
    """One every ten seconds."""
    return map(_reading, range(READINGS))


def write(path: Path) -> Path:
    """The readings as a recording."""
    path.write_text("".join(map(line_of, readings())), encoding="utf-8")
    return path


def _reading(number: int) -> Reading:
    seconds = number * STEP
    at_ms = BEGIN + seconds * 1000
    ends = {tp: _end(tp, seconds) for topic in PARTITIONS for tp in _partitions(topic)}
    logs = {tp: LogEnds(0, end, end) for tp, end in ends.items()}
    groups = [_group(name, seconds) for name in READ_BY]
    times = {
        (tp, at.offset): RecordTime(at_ms - _behind_ms(tp, ends[tp] - at.offset), INTERPOLATED)
        for one in groups
        for tp, at in one.committed.items()
        if isinstance(at, OffsetAndMetadata)
    }
    topics = [_topic(topic) for topic in PARTITIONS]
    sizes = {topic: sum(ends[tp] for tp in _partitions(topic)) * BYTES[topic] for topic in PARTITIONS}
    return Reading(
        LagSample(at_ms, groups, logs),
        ClusterFacts(
            ClusterDescription("Qx3vKm1TRnWzB0p4uYdef9", 1, BROKERS),
            2,
            topics,
            {topic: TopicSize(size, size * 3) for topic, size in sizes.items()},
        ),
        timed=frozenset(READ_BY),
        times=times,
        retention=dict.fromkeys(PARTITIONS, KEPT),
        ends=logs,
        latencies={
            one.node.id: Latency(4 + one.node.id, 1.5 + one.node.id / 4, 4.0 + number % 5) for one in BROKERS
        },
        requests=18,
        seconds=0.04,
        utc_offset=0,
    )


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(PARTITIONS[topic])]


def _rate(tp: TopicPartition) -> float:
    """Records a second: partitions differ a little."""
    return WRITTEN[tp.topic] / PARTITIONS[tp.topic] * (1 + (tp.partition * 7 % 5 - 2) / 20)


def _end(tp: TopicPartition, seconds: int) -> int:
    wave = (seconds // STEP * 7 + tp.partition * 3) % 5 / 10
    return 2_000_000 + 150_000 * tp.partition + round(_rate(tp) * (seconds + wave * STEP))


def _behind_ms(tp: TopicPartition, lag: int) -> int:
    return round(lag / _rate(tp) * 1000)


def _committed(group: str, tp: TopicPartition, seconds: int) -> int:
    """As it was when the last commit was made; what was left unread then is read four times as fast as it is written."""
    for first, last in REBALANCES:
        if seconds in range(first, last + 1) and _moves(group, seconds):
            seconds = first - STEP
    if (group, tp) == ("billing", STUCK) and seconds > STUCK_FROM:
        at = STUCK_FROM + 4 * max(0, seconds - STUCK_UNTIL)
        seconds = min(at, seconds)
    return _end(tp, seconds) - _usual_lag(group, tp, seconds)


def _usual_lag(group: str, tp: TopicPartition, seconds: int) -> int:
    usual = round(_rate(tp) * 0.4 * (1 + (seconds // STEP * 3 + tp.partition * 2) % 7 / 10))
    return usual + round(600 + 4.6 * seconds) if group == "search-index" else usual


def _moves(group: str, seconds: int) -> bool:
    """Whether its partitions are being handed out again."""
    return any(
        group == name and first <= seconds <= last
        for name, (first, last) in zip(("clickstream", "billing"), REBALANCES, strict=True)
    )


def _group(name: str, seconds: int) -> GroupSample:
    topics, count = READ_BY[name]
    places = [tp for topic in topics for tp in _partitions(topic)]
    committed = {tp: OffsetAndMetadata(_committed(name, tp, seconds)) for tp in places}
    moving = _moves(name, seconds)
    state = "PreparingRebalance" if moving else "Stable"
    described = tuple(
        MemberDescription(
            f"{name}-{one}-5f3e", None, f"{name}-{one}", f"/10.0.{ADDRESSES[name]}.{one + 11}",
            assignment=None if moving else tuple(places[one::count]),
        )
        for one in range(count)
    )  # fmt: skip
    return GroupSample(
        name, state, committed, GroupDescription(name, "consumer", state, "consumer", "range", 1, described)
    )


def _topic(name: str) -> TopicInfo:
    parts = tuple(
        PartitionView(number, number % 3 + 1, replicas=(1, 2, 3), isr=(1, 2, 3))
        for number in range(PARTITIONS[name])
    )
    return TopicInfo(name, "", False, parts)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
