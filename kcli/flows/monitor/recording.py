"""Readings in a file, one line of JSON each: written by ``top --record``, played by ``top --replay``.

The commits of a topic are an array where the group has all partitions from 0 on, else an object by partition; null is
a partition that is read without a commit. Lines of ``groups lag --record`` are read as well. ``utc_offset`` is the zone
of the machine that recorded, in seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeVar

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.commit_columns import CommitColumns, TopicPartitions
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.measure import Times
from kcli.flows.lag.recording import (
    append_line,
    error_of,
    group_part,
    missing_part,
    times_of,
    times_part,
    utc_offset,
)
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.monitor.recorded_parts import parts_of, parts_part
from kcli.flows.monitor.recorded_shape import LATEST_MS, check_reading, check_sample
from kcli.flows.topics.sizes import TopicSize
from kcli.serde.json_text import json_integer

KIND = "MonitorReading"
_LAG_SAMPLE = "LagSample"
WHAT_TO_GIVE = "give a file written by kcli top --record or kcli groups lag --record"
_HEAD = re.compile(
    rb'\{"kind":"(?:MonitorReading|LagSample)","api":"kcli/v1","cluster":(?:null|"(?:[^"\\]|\\.){0,300}"),"at_ms":(\d{1,15}),'
)
"""How every line begins: a file is indexed without reading more of it."""
T = TypeVar("T")
Document = dict[str, Any]
SharedPartitions = dict[tuple[tuple[str, int], ...], TopicPartitions]


def append_reading(path: str, reading: Reading) -> None:
    """Appends one line. Raises ConfigError when the file cannot be written."""
    append_line(path, document_of(reading))


def time_in(head: bytes) -> int | None:
    """When the sample was taken whose line begins so; None for a line that is none."""
    found = _HEAD.match(head)
    return int(found[1]) if found is not None and int(found[1]) <= LATEST_MS else None


def read_line(line: bytes, where: str) -> Reading:
    """The reading of a line. Raises ConfigError, with ``where`` in the file, for anything else."""
    try:
        document = json.loads(line, parse_int=json_integer)
        if document["kind"] == _LAG_SAMPLE:
            check_sample(document)
            return _reading_of_sample(document)
        if document["kind"] == KIND:
            check_reading(document)
            return reading_of(document)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{where} is not a recorded sample", why=_why(error), do=WHAT_TO_GIVE) from None
    raise ConfigError(
        f"{where} is not a recorded sample", why=f"its kind is {document['kind']!r}", do=WHAT_TO_GIVE
    )


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    return str(error)


# --- writing ---------------------------------------------------------------------------------------------------------


def document_of(reading: Reading) -> Document:
    """What ``reading_of`` reads again; of errors it keeps the texts and the exit code."""
    facts, sample = reading.cluster, reading.sample
    return {
        "kind": KIND,
        "api": "kcli/v1",
        "cluster": facts.description.cluster_id,
        "at_ms": sample.at_ms,
        "utc_offset": utc_offset(sample.at_ms) if reading.utc_offset is None else reading.utc_offset,
        "seconds": round(reading.seconds, 3),
        "requests": reading.requests,
        "groups": [_group(one) for one in sample.groups],
        "logs": _nested(reading.ends, lambda log: [log.start, log.end, log.stable, log.note]),
        "brokers": [
            [*broker.node[:3], broker.node.rack, broker.is_fenced] for broker in facts.description.brokers
        ],
        "latencies": {str(number): list(one) for number, one in reading.latencies.items()},
        "controller": facts.controller,
        "topics": None if facts.topics is None else [_topic(topic, facts.sizes) for topic in facts.topics],
        "timed": sorted(reading.timed),
        **times_part(Times(reading.times, reading.retention, reading.notes)),
        "problems": [str(problem) for problem in reading.problems],
        **missing_part(sample, reading.problems),
        **parts_part(reading.parts),
    }


def _group(one: GroupSample) -> Document:
    commits = _nested(one.committed, lambda at: at.offset if isinstance(at, OffsetAndMetadata) else None)
    return {"group": one.group, "state": one.state, "commits": commits, **group_part(one)}


def _topic(topic: TopicInfo, sizes: Mapping[str, TopicSize]) -> Document:
    size = sizes.get(topic.name)
    return {
        "topic": topic.name,
        "internal": topic.internal,
        "partitions": [[one.partition, one.leader, one.replicas, one.isr] for one in topic.partitions],
        "bytes": None if size is None else [size.leaders, size.replicas],
        **({"partition_bytes": list(size.partitions)} if size is not None and size.partitions else {}),
    }


def _nested(values: Mapping[TopicPartition, T], value_of: Callable[[T], Any]) -> dict[str, Any]:
    by_topic: dict[str, dict[int, Any]] = {}
    for tp, value in values.items():
        by_topic.setdefault(tp.topic, {})[tp.partition] = value_of(value)
    return {topic: _dense(some) for topic, some in by_topic.items()}


def _dense(values: dict[int, Any]) -> list[Any] | dict[int, Any]:
    in_order = dict(sorted(values.items()))
    return list(in_order.values()) if list(in_order) == list(range(len(in_order))) else in_order


# --- reading ---------------------------------------------------------------------------------------------------------


def reading_of(document: Document) -> Reading:
    """The reading of a document; see ``document_of``."""
    ends = {tp: LogEnds(*log) for tp, log in _flat(document["logs"])}
    shared: SharedPartitions = {}
    groups = [_group_of(one, shared) for one in document["groups"]]
    sample = _with_missing(LagSample(document["at_ms"], groups, ends), document)
    if any(not one.committed.keys() <= ends.keys() for one in sample.groups):
        raise ValueError("a group has a partition without a log")
    topics, times = document["topics"], times_of(document)
    facts = ClusterFacts(
        ClusterDescription(
            document["cluster"],
            -1,
            tuple(
                BrokerDescription(Node(number, host, port, rack), is_fenced)
                for number, host, port, rack, is_fenced in document["brokers"]
            ),
        ),
        document["controller"],
        None if topics is None else [_topic_of(topic) for topic in topics],
        {one["topic"]: _size_of(one) for one in topics or () if one["bytes"] is not None},
    )
    return Reading(
        sample,
        facts,
        timed=frozenset(document["timed"]),
        times=times.records,
        retention=times.retention,
        notes=times.notes,
        ends=ends,
        latencies={int(number): Latency(*one) for number, one in document["latencies"].items()},
        requests=document["requests"],
        seconds=document["seconds"],
        problems=_problems(sample, document),
        utc_offset=document["utc_offset"],
        parts=parts_of(document),
    )


def _with_missing(sample: LagSample, document: Document) -> LagSample:
    failed, undescribed = (
        {name: error_of(line) for name, line in document.get(key, {}).items()}
        for key in ("failed", "undescribed")
    )
    partial = [error_of(line) for line in document.get("partial", ())]
    return sample._replace(failed=failed, partial=partial, undescribed=undescribed)


def _problems(sample: LagSample, document: Document) -> list[KcliError]:
    """Older files have texts only."""
    if "missing" in document:
        return [*sample.partial, *sample.failed.values(), *map(error_of, document["missing"])]
    return [KcliError(text) for text in document.get("problems", ())]


def _reading_of_sample(document: Document) -> Reading:
    ends: dict[TopicPartition, LogEnds] = {}
    groups = []
    for one in document["groups"]:
        committed: dict[TopicPartition, OffsetAndMetadata | KcliError | None] = {}
        for topic, partition, offset, start, end, stable, *note in one["partitions"]:
            tp = TopicPartition(topic, partition)
            ends[tp] = LogEnds(start, end, stable, note[0] if note else None)
            committed[tp] = _commit_of(offset)
        groups.append(_sample_of(one, committed))
    sample = _with_missing(LagSample(document["at_ms"], groups, ends), document)
    times = times_of(document)
    return Reading(
        sample,
        ClusterFacts(ClusterDescription(document["cluster"], -1, ())),
        timed=frozenset(one.group for one in groups) if "times" in document else frozenset(),
        times=times.records,
        retention=times.retention,
        notes=times.notes,
        ends=ends,
        problems=_problems(sample, document),
        utc_offset=document.get("utc_offset", 0),
    )


def _group_of(one: Document, shared: SharedPartitions) -> GroupSample:
    return _sample_of(one, _commits_of(one["commits"], shared))


def _sample_of(one: Document, committed: Mapping[TopicPartition, Any]) -> GroupSample:
    lags = {TopicPartition(topic, partition): lag for topic, partition, lag in one.get("lags", ())}
    return GroupSample(
        one["group"], one["state"] or "", committed, _description_of(one), one.get("type", ""), lags
    )


def _description_of(one: Document) -> GroupDescription | None:
    if "members" not in one:
        return None
    members = tuple(_member_of(member) for member in one["members"])
    epoch, kind = one.get("topology_epoch", -1), one["type"]
    protocol = kind if kind in (SHARE, STREAMS) else "consumer"
    return GroupDescription(
        one["group"], kind, one["state"] or "", protocol, "", -1, members, topology_epoch=epoch
    )


def _commits_of(by_topic: Document, shared: SharedPartitions) -> Mapping[TopicPartition, Any]:
    """In columns where every partition has an offset: groups with the same partitions share the list of them."""
    if not by_topic or not all(
        isinstance(some, list) and some and None not in some for some in by_topic.values()
    ):
        return {tp: _commit_of(at) for tp, at in _flat(by_topic)}
    key = tuple((topic, len(some)) for topic, some in by_topic.items())
    if key not in shared:
        shared[key] = tuple(TopicPartition(topic, number) for topic, count in key for number in range(count))
    offsets = tuple(chain.from_iterable(by_topic.values()))
    return CommitColumns(shared[key], offsets, (-1,) * len(offsets))


def _member_of(one: Document) -> MemberDescription:
    by_topic = one["assignment"]
    assignment = None
    if by_topic is not None:
        assignment = tuple(
            TopicPartition(topic, number) for topic, some in by_topic.items() for number in some
        )
    tasks = [tuple(Task(part, number) for part, number in some) for some in one.get("tasks", ())]
    return MemberDescription(
        one["member_id"],
        one["instance_id"],
        one["client_id"],
        one["host"],
        assignment=assignment,
        tasks=Tasks(*tasks) if tasks else None,
    )


def _topic_of(one: Document) -> TopicInfo:
    partitions = tuple(
        PartitionView(number, leader, replicas=tuple(replicas), isr=tuple(isr))
        for number, leader, replicas, isr in one["partitions"]
    )
    return TopicInfo(one["topic"], "", one["internal"], partitions)


def _size_of(one: Document) -> TopicSize:
    leaders, replicas = one["bytes"]
    return TopicSize(leaders, replicas, one.get("partition_bytes", ()))


def _commit_of(offset: int | None) -> OffsetAndMetadata | None:
    return None if offset is None else OffsetAndMetadata(offset)


def _flat(by_topic: dict[str, Any]) -> Iterable[tuple[TopicPartition, Any]]:
    for topic, values in by_topic.items():
        pairs = enumerate(values) if isinstance(values, list) else values.items()
        yield from ((TopicPartition(topic, int(number)), value) for number, value in pairs)
