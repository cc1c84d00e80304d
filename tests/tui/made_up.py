"""A recording of made-up readings: a group that is healthy, one slow, one stalled, one that rebalances at the end.

``python -m tests.tui.made_up FILE`` writes it;
"""

import json
import sys
from collections.abc import Iterator, Mapping
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
from kcli.flows.monitor.recording import document_of
from kcli.flows.topics.sizes import TopicSize
from kcli.flows.transactions.listed import OpenTransaction

BEGIN = 1_795_421_100_000  # 2026-11-23 09:05:00 in UTC+1
STEP, READINGS = 10, 37
PARTITIONS = {"orders": 4, "payments": 2, "clicks": 3, "audit-log": 2}
WRITTEN = {"orders": 400, "payments": 90, "clicks": 1_500, "audit-log": 20}  # records per second
KEPT = 86_400_000
BROKERS = tuple(BrokerDescription(Node(n, f"kafka-{n}.example", 9092, "abc"[n - 1])) for n in (1, 2, 3))
CONFIGS = {
    "orders": [SetValue("min.insync.replicas", "2", "topic"), SetValue("retention.ms", "86400000", "topic")],
    "audit-log": [SetValue("cleanup.policy", "compact", "topic")],
}
SHARES = (0.9, 1.2, 1.1, 0.8)


def readings(count: int = READINGS, utc_offset: int = 3600) -> Iterator[Reading]:
    """One every ten seconds."""
    for number in range(count):
        yield _reading(number, utc_offset)


def write(path: Path, count: int = READINGS) -> Path:
    """The readings as a recording."""
    path.write_text("".join(line_of(reading) for reading in readings(count)), encoding="utf-8")
    return path


def line_of(reading: Reading) -> str:
    """As ``append_reading`` writes it."""
    return json.dumps(document_of(reading), ensure_ascii=False, separators=(",", ":")) + "\n"


def _reading(number: int, utc_offset: int) -> Reading:
    seconds = number * STEP
    at_ms = BEGIN + seconds * 1000
    ends = {tp: _end(tp, seconds) for topic in PARTITIONS for tp in _partitions(topic)}
    logs = {tp: LogEnds(0, end, end) for tp, end in ends.items()}
    groups = [
        _group("billing", "Stable", {"orders": 60, "payments": 25}, ends, 3, number),
        _group("search-index", "Stable", {"orders": 9_000 + 55 * seconds}, ends, 2, number),
        _group("audit", "Stable", {"audit-log": 700 + WRITTEN["audit-log"] * seconds}, ends, 1, number),
        _group(
            "clickstream",
            "PreparingRebalance" if number >= READINGS - 2 else "Stable",
            {"clicks": 40_000 - 95 * min(seconds, (READINGS - 3) * STEP)},
            ends,
            2 if number >= READINGS - 2 else 3,
            number,
        ),
    ]
    topics = [_topic(topic) for topic in PARTITIONS]
    behind = {
        "billing": 1,
        "search-index": 27 + seconds / 9,
        "audit": 35 + seconds,
        "clickstream": 29 - seconds / 20,
    }
    times = {
        (tp, at.offset): RecordTime(at_ms - round(behind[one.group] * 1000), INTERPOLATED)
        for one in groups
        for tp, at in one.committed.items()
        if isinstance(at, OffsetAndMetadata)
    }
    return Reading(
        LagSample(at_ms, groups, logs),
        ClusterFacts(
            ClusterDescription("Qx3vKm1TRnWzB0p4uYdef9", 1, BROKERS),
            2,
            topics,
            {
                topic: TopicSize(
                    size := sum(ends[tp] for tp in _partitions(topic)) * 210,
                    size * 3,
                    [ends[tp] * 210 for tp in _partitions(topic)],
                )
                for topic in PARTITIONS
            },
        ),
        timed=frozenset(behind),
        times=times,
        retention=dict.fromkeys(PARTITIONS, KEPT),
        ends=logs,
        latencies={
            one.node.id: Latency(4 + one.node.id, 1.5 + one.node.id / 4, 4.0 + number % 5) for one in BROKERS
        },
        requests=18,
        seconds=0.04,
        utc_offset=utc_offset,
        parts=Parts(
            quorum=Part(_quorum(number, at_ms), at_ms),
            transactions=Part(_transactions(at_ms), at_ms),
            mirrors=Part(_jobs(number, at_ms), at_ms),
            configs=Part(CONFIGS, at_ms),
        ),
    )


def _quorum(number: int, at_ms: int) -> QuorumDescription:
    """The third controller falls behind in the last half minute."""
    end = 481_200 + 2 * STEP * number
    late = max(0, number - (READINGS - 4))
    replicas = (
        QuorumReplica(1, True, end - 1, at_ms - 400, at_ms - 100),
        QuorumReplica(2, True, end, at_ms, at_ms),
        QuorumReplica(3, True, end - 20 * late - 1, at_ms - 10_000 * late - 420, at_ms - 9_000 * late - 80),
    )
    endpoints = {node: f"kafka-{node}.example:9093" for node in (1, 2, 3)}
    return QuorumDescription(2, 12, (1, 2, 3), end - 1, replicas, endpoints)


def _transactions(at_ms: int) -> list[OpenTransaction]:
    orders = [TopicPartition("orders", number) for number in range(3)]
    payments = [TopicPartition("payments", 0)]
    return [
        OpenTransaction("checkout-2", "Ongoing", 4_012, 3, 2, at_ms - 840, 60_000, tuple(orders[:2])),
        OpenTransaction("checkout-1", "PrepareCommit", 4_011, 9, 1, at_ms - 90, 60_000, (*orders, *payments)),
        OpenTransaction("settlement", "Ongoing", 3_977, 0, 3, at_ms - 1_260_000, 900_000, tuple(payments)),
        OpenTransaction(None, "Hanging", 3_204, 1, -1, at_ms - 7_380_000, -1, tuple(orders[2:])),
    ]


def _jobs(number: int, at_ms: int) -> list[JobLine]:
    lag = 180 + number * 7 % 40
    copied = [JobPartition("orders", one, "copying", lag // 4, "") for one in range(4)]
    why = "the source does not answer"
    waiting = [
        JobPartition("clicks", 0, "waiting", 41_200 + 5_000 * number, why),
        JobPartition("clicks", 1, "caught_up", 0, ""),
    ]
    source, target = "Lw0PzqT4RkeYb2tNh5Jc6A", "Qx3vKm1TRnWzB0p4uYdef9"
    return [
        JobLine(
            "orders-dr", source, "kafka-1.fra.example:9092", target, "copying", "", {"copying": 4}, 1, lag, 0, True,
            "mirror-2", 4_117, BEGIN - 86_400_000, 1, "exactly once", at_ms - 700, at_ms - 900, copied,
        ),
        JobLine(
            "clicks-dr", source, "kafka-1.fra.example:9092", target, "waiting", f"{why} (1 partition)",
            {"waiting": 1, "caught_up": 1}, 1, 41_200 + 5_000 * number, 1, True, "mirror-1", 977,
            BEGIN - 3_600_000, 0, "at least once", at_ms - 1_800, BEGIN - 4_000, waiting,
        ),
        JobLine(
            "audit-copy", source, "kafka-1.fra.example:9092", target, "done", "", {"ended": 2}, 1, 0, 0, False,
            "mirror-1", 512, 0, 0, "at least once", BEGIN - 7_200_000, BEGIN - 7_200_000, [],
        ),
    ]  # fmt: skip


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(PARTITIONS[topic])]


def _end(tp: TopicPartition, seconds: int) -> int:
    rate = WRITTEN[tp.topic] / PARTITIONS[tp.topic]
    wave = (seconds // STEP * 7 + tp.partition * 3) % 5 / 10
    return 2_000_000 + 150_000 * tp.partition + round(rate * (seconds + wave * STEP))


def _group(
    name: str,
    state: str,
    behind: Mapping[str, float],
    ends: Mapping[TopicPartition, int],
    members: int,
    number: int,
) -> GroupSample:
    committed = {}
    for topic, lag in behind.items():
        for tp in _partitions(topic):
            share = SHARES[tp.partition] / sum(SHARES[: PARTITIONS[topic]])
            shaken = lag * share * (1 + number % 2 / 25)
            if name == "audit":
                committed[tp] = OffsetAndMetadata(_end(tp, 0) - 350)
            else:
                committed[tp] = OffsetAndMetadata(max(0, ends[tp] - round(shaken)))
    places = list(committed)
    described = tuple(
        MemberDescription(
            f"{name}-{one}-5f3e", None, f"{name}-{one}", f"/10.0.{one}.17",
            assignment=None if state != "Stable" else tuple(places[one::members]),
        )
        for one in range(members)
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
