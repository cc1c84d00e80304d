"""A recording of a made-up incident: one of ten partitions of ``billing`` gets no commits any more, beside a group that
is slow and one that rebalances; a rewind takes it over a record that its members cannot process, and it recovers. Apart
from that a controller falls behind and catches up, a transaction hangs, and a mirror job waits for its source.

``python -m tests.tui.incident FILE`` writes it; the documentation's pictures are made from docs/pictures/incident.ndjson.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import INTERPOLATED, RecordTime
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.mirror.job.job_line import JobLine, JobPartition
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Part, Parts, Reading, SetValue
from kcli.flows.topics.sizes import TopicSize
from kcli.flows.transactions.listed import OpenTransaction
from tests.tui.made_up import line_of

BEGIN = 1_795_399_140_000  # 2026-11-23 01:59:00 in UTC
STEP, READINGS = 10, 43
STUCK_FROM, STUCK_UNTIL = 60, 330
REBALANCES = (300, 310), (330, 340)
"""When clickstream and billing hand out their partitions again, in seconds."""
STUCK = TopicPartition("orders", 7)
HANGING = TopicPartition("ledger", 1)
LATE_FROM, LATE_UNTIL = 270, 360
"""When controller 3 is behind, in seconds."""
PARTITIONS = {"orders": 8, "payments": 2, "clicks": 4, "audit-log": 1, "shipments": 2, "ledger": 2}
WRITTEN = {
    "orders": 1_240, "payments": 310, "clicks": 4_100, "audit-log": 35, "shipments": 96, "ledger": 12
}  # fmt: skip
BYTES = {"orders": 410, "payments": 260, "clicks": 190, "audit-log": 720, "shipments": 530, "ledger": 330}
KEPT = 86_400_000
CONFIGS = {
    "orders": [
        SetValue("compression.type", "zstd", "topic"),
        SetValue("max.message.bytes", "2097152", "topic"),
        SetValue("min.insync.replicas", "2", "topic"),
        SetValue("retention.ms", str(KEPT), "topic"),
        SetValue("segment.ms", "3600000", "topic"),
    ],
    "ledger": [SetValue("cleanup.policy", "compact", "topic")],
}
CLUSTER, SOURCE = "Qx3vKm1TRnWzB0p4uYdef9", "Lw0PzqT4RkeYb2tNh5Jc6A"
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
    logs = {tp: LogEnds(0, end, 2_000_000 if tp == HANGING else end) for tp, end in ends.items()}
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
            ClusterDescription(CLUSTER, 1, BROKERS),
            2,
            topics,
            {
                topic: TopicSize(size, size * 3, [ends[tp] * BYTES[topic] for tp in _partitions(topic)])
                for topic, size in sizes.items()
            },
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
        parts=Parts(
            quorum=Part(_quorum(seconds, at_ms), at_ms),
            transactions=Part(_transactions(at_ms), at_ms),
            mirrors=Part(_jobs(seconds, at_ms), at_ms),
            configs=Part(CONFIGS, at_ms),
        ),
    )


def _quorum(seconds: int, at_ms: int) -> QuorumDescription:
    """Controller 3 stops to fetch, and has all of it in the first reading after."""
    end = 481_200 + 2 * seconds
    late = seconds - LATE_FROM if seconds in range(LATE_FROM, LATE_UNTIL) else 0
    replicas = (
        QuorumReplica(1, True, end - 1, at_ms - 400, at_ms - 100),
        QuorumReplica(2, True, end, at_ms, at_ms),
        QuorumReplica(3, True, end - 2 * late - 1, at_ms - 1_000 * late - 420, at_ms - 1_000 * late - 80),
        QuorumReplica(4, False, end - 2, at_ms - 510, at_ms - 240),
    )
    return QuorumDescription(
        2, 12, (1, 2, 3), end - 1, replicas, {node: f"kafka-{node}.example:9093" for node in (1, 2, 3)}
    )


def _transactions(at_ms: int) -> list[OpenTransaction]:
    """The hanging one is older than its producer's transactional id, which has expired."""
    orders, payments, shipments = (_partitions(one) for one in ("orders", "payments", "shipments"))
    return [
        OpenTransaction("checkout-2", "Ongoing", 4_012, 3, 2, at_ms - 840, 60_000, tuple(orders[:3])),
        OpenTransaction(
            "checkout-1", "PrepareCommit", 4_011, 9, 1, at_ms - 90, 60_000, (*orders[4:], payments[1])
        ),
        OpenTransaction(
            "settlement", "Ongoing", 3_977, 0, 3, at_ms - 1_260_000, 900_000, (payments[0], shipments[0])
        ),
        OpenTransaction(None, "Hanging", 3_204, 1, -1, BEGIN - 7_380_000, -1, (HANGING,)),
    ]


def _jobs(seconds: int, at_ms: int) -> list[JobLine]:
    """One copies, one waits for a partition of its source, one has ended."""
    copied = [
        JobPartition("orders", one, "copying", 180 + (seconds // STEP + one) * 7 % 40, "") for one in range(8)
    ]
    why, behind = "the source does not answer", 41_200 + WRITTEN["clicks"] // 4 * seconds
    waits = [JobPartition("clicks", 0, "waiting", behind, why)]
    waits += [JobPartition("clicks", one, "caught_up", 0, "") for one in range(1, 4)]
    servers = "kafka-1.fra.example:9092"
    return [
        JobLine(
            "orders-dr", SOURCE, servers, CLUSTER, "copying", "", {"copying": 8}, 1,
            sum(one.lag or 0 for one in copied), 0, True, "mirror-2", 4_117, BEGIN - 86_400_000, 1,
            "exactly once", at_ms - 700, at_ms - 900, copied,
        ),
        JobLine(
            "clicks-dr", SOURCE, servers, CLUSTER, "waiting", f"{why} (1 partition)",
            {"waiting": 1, "caught_up": 3}, 1, behind, 0, True, "mirror-1", 977, BEGIN - 3_600_000, 0,
            "at least once", at_ms - 1_800, BEGIN - 4_000, waits,
        ),
        JobLine(
            "audit-copy", SOURCE, servers, CLUSTER, "done", "", {"ended": 1}, 1, 0, 0, False, "mirror-1", 512,
            0, 0, "at least once", BEGIN - 7_200_000, BEGIN - 7_200_000, [],
        ),
    ]  # fmt: skip


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
