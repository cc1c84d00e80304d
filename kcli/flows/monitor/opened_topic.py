"""One topic in a reading: as it was read for its screen, or from what all topics have in a recording. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.summary import Summary, summary
from kcli.flows.lag.verdicts import worst
from kcli.flows.monitor.cluster_reading import Part, Reading, SetValue, TopicFacts
from kcli.flows.monitor.snapshot import Snapshot


class TopicReader(NamedTuple):
    """A group that reads the topic: ``verdict`` and ``lag`` are of its partitions there; ``members`` have some."""

    group: str
    verdict: str | None
    partitions: int
    members: int
    lag: Summary


def opened_topic(reading: Reading, name: str) -> Part[TopicFacts] | None:
    """None where the reading does not have it."""
    part = reading.parts.topic
    if part is not None and (part.value is None or part.value.info.name == name):
        return part
    info = next((one for one in reading.cluster.topics or () if one.name == name), None)
    if info is None:
        return None
    size, configs = reading.cluster.sizes.get(name), reading.parts.configs
    numbers = [part.partition for part in info.partitions]
    places = {TopicPartition(name, number) for number in numbers}
    return Part(
        TopicFacts(
            info,
            {tp: log for tp, log in reading.ends.items() if tp in places},
            {} if size is None else dict(zip(numbers, size.partitions, strict=False)),
            _configs(configs, name),
        ),
        reading.sample.at_ms,
        () if configs is None else configs.errors,
    )


def _configs(part: Part[Mapping[str, Sequence[SetValue]]] | None, name: str) -> Sequence[SetValue] | None:
    """A topic on which nothing is set is not in a recording; nor is one that could not be read."""
    if part is None or part.value is None:
        return None
    return part.value.get(name, None if part.errors else ())


def topic_readers(snapshot: Snapshot, topic: str) -> list[TopicReader]:
    """The groups that have an offset or a member for it."""
    lines = {line.group: line for line in snapshot.groups}
    found = []
    for group, rows in snapshot.rows.items():
        if not _reads(rows, topic):
            continue
        words: Mapping[TopicPartition, str | None] = {}
        if (line := lines.get(group)) is not None:
            words = {row.tp: word for row, word in zip(rows, line.judged.of(rows), strict=True)}
        own = [row for row in rows if row.tp.topic == topic]
        members = {row.member.member_id for row in own if row.member is not None}
        verdict = worst([words.get(row.tp) for row in own])
        found.append(TopicReader(group, verdict, len(own), len(members), summary(own)))
    return found


def _reads(rows: Collection[PartitionLag], topic: str) -> bool:
    if isinstance(rows, LagColumns):
        return topic in rows.logs.topics
    return any(row.tp.topic == topic for row in rows)
