"""Text that a cluster can have in any of its fields, made to break a screen, and readings that are full of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.mirror.job.job_line import JobLine, JobPartition
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Part, Parts, Reading, SetValue
from kcli.flows.transactions.listed import OpenTransaction

NOW = 1_700_000_000_000
_PIECES = (
    "[red]", "[/red]", "[/", "[b", "[@click=app.quit]x[/]", "$error", "{0}", "%s", "\\[",
    "[link=http://x]", "\x1b", "\x1b[31m", "\x1b[2J", "\x1b[?1049l", "\x1b[6n",
    "\x1b]8;;http://x\x1b\\", "\x1b]52;c;Zm9v\x07", "\x1b]0;t\x07", "\x1bPq#0\x1b\\", "\x1b_G\x1b\\",
    "\x1bc", "\x9b31m", "\x9d52;c;Zm9v\x9c", "\x90q\x9c", "\x84", "\x00", "\x07", "\x08" * 9, "\x0e",
    "\x7f", "\r", "\n", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\u202e", "\u202a", "\u2066",
    "\u2069", "\u200e", "\u061c", "\u200b", "\u200d", "\ufeff", "\u2060", "\xad", "\ufff9",
    "\U000e0041", "\ufe0f", "e\u0301", "\u0301" * 40, "\u0489" * 9, "\u20dd", "\u0b95\u0bcd", "\u0e33",
    "\u1100\u1161\u11a8", "漢字", "全角", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "🏻", "1\ufe0f\u20e3",
    "\ud800", "\udfff", "\udcff", "ﷺ", "𒐫", "مرحبا", "שלום", "x" * 300, " " * 30, "", "a", "Z-9_.",
    "\U0010ffff", "\ue000", "\ufffe",
)  # fmt: skip
CONTROLS = frozenset(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)))
INVISIBLE = frozenset(
    "\u061c\u200b\u200d\u200e\u202a\u202e\u2028\u2029\u2060\u2066\u2069\ufeff\xad\ufff9\U000e0041\ufe0f"
)


def strings(count: int, seed: int = 1) -> Iterator[str]:
    """The pieces one by one, then in any mixture; now and then a very long one."""
    chance = random.Random(seed)
    yield from _PIECES[:count]
    for number in range(count - len(_PIECES)):
        some = chance.choices(_PIECES, k=chance.randrange(1, 9))
        yield "".join(some) * (400 if number % 250 == 0 else 1)


def reading_of(after: float, texts: Iterator[str], groups: int) -> Reading:
    """A reading some seconds after NOW in which every text is one of these."""
    samples, logs, topics = [], {}, []
    for number in range(groups):
        name, topic = next(texts), next(texts) + str(number)
        tps = [TopicPartition(topic, n) for n in range(2)]
        members = tuple(
            MemberDescription(next(texts), next(texts), next(texts), next(texts), assignment=(tp,))
            for tp in tps
        )
        state = next(texts)
        described = GroupDescription(name, next(texts), state, next(texts), next(texts), 1, members)
        committed = {tps[0]: OffsetAndMetadata(number), tps[1]: None}
        samples.append(GroupSample(f"{name}{number}", state, committed, described))
        logs |= {tp: LogEnds(0, 1_000 * number, 1_000 * number) for tp in tps}
        topics.append(
            TopicInfo(topic, "", False, tuple(PartitionView(n, 1, 0, (1, 2), (1,)) for n in range(2)))
        )
    brokers = tuple(BrokerDescription(Node(n, next(texts), 9092, next(texts))) for n in (1, 2, 3))
    failed = {next(texts): KcliError(next(texts), why=next(texts), do=next(texts)) for _ in range(5)}
    sample = LagSample(NOW + round(after * 1_000), samples, logs, failed)
    facts = ClusterFacts(ClusterDescription(next(texts), 1, brokers), 1, topics)
    return Reading(
        sample,
        facts,
        timed=frozenset(one.group for one in samples),
        notes=dict.fromkeys(logs, next(texts)),
        ends=logs,
        latencies={1: Latency(3, 1.5, 2.0)},
        problems=tuple(failed.values()),
        parts=_parts(texts, tuple(logs)[:3]),
    )


def _parts(texts: Iterator[str], places: tuple[TopicPartition, ...]) -> Parts:
    """Also times that no clock has."""
    error = KcliError(next(texts), why=next(texts), do=next(texts))
    replica = QuorumReplica(1, True, 9, NOW, NOW)
    rows = [
        OpenTransaction(next(texts), next(texts), 1, 0, 1, since, 1 << 60, places)
        for since in (-1, NOW, 1 << 62)
    ]
    worst = [JobPartition(next(texts), 0, next(texts), 1 << 62, next(texts)) for _ in range(3)]
    jobs = [
        JobLine(
            next(texts), next(texts), next(texts), next(texts), next(texts), next(texts), {next(texts): 3}, 1, 1 << 62,
            2, True, next(texts), 1 << 40, 0, 1, next(texts), time, time, worst,
        )
        for time in (0, 1, NOW)
    ]  # fmt: skip
    name = places[0].topic
    return Parts(
        quorum=Part(QuorumDescription(1, 1, (1,), 9, (replica,), {1: next(texts)}), NOW, [error]),
        transactions=Part(rows, NOW, [error]),
        mirrors=Part(jobs, NOW, [error]),
        configs=Part({name: [SetValue(next(texts), next(texts), next(texts))]}, NOW, [error]),
    )


def with_other_states(reading: Reading, after: float, texts: Iterator[str]) -> Reading:
    """The same groups later, with other members, so that there are events."""
    later = []
    for one in reading.sample.groups:
        assert one.description is not None
        members = tuple(replace(member, member_id=next(texts)) for member in one.description.members)
        later.append(one._replace(description=replace(one.description, members=members)))
    at_ms = reading.sample.at_ms + round(after * 1_000)
    return replace(reading, sample=reading.sample._replace(at_ms=at_ms, groups=later))
