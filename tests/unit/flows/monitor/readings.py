"""Readings for the tests of this folder."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.cluster_reading import ClusterFacts, Reading

NOW = 1_700_000_000_000
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
BROKERS = (BrokerDescription(Node(1, "one", 9092, "r")), BrokerDescription(Node(2, "two", 9092)))


def group(
    name: str, commits: Mapping[TopicPartition, int | None], *members: str, state: str = "Stable"
) -> GroupSample:
    """Its members have the partitions in turn."""
    places = list(commits)
    described = tuple(
        MemberDescription(f"{one}-id", None, one, "/host", assignment=tuple(places[number :: len(members)]))
        for number, one in enumerate(members)
    )
    committed = {tp: None if at is None else OffsetAndMetadata(at) for tp, at in commits.items()}
    return GroupSample(
        name,
        state,
        committed,
        GroupDescription(name, "classic", state, "consumer", "", 1, described),
        "classic",
    )


def reading(
    after: float, /, *groups: GroupSample, ends: Mapping[TopicPartition, int], **fields: Any
) -> Reading:
    """A reading some seconds after NOW."""
    logs = {tp: LogEnds(0, end, end) for tp, end in ends.items()}
    sample = LagSample(NOW + round(after * 1000), list(groups), logs)
    facts = fields.pop("cluster", ClusterFacts(ClusterDescription("c", 1, BROKERS)))
    return Reading(sample, facts, **{"ends": logs, **fields})


def share_group(
    name: str,
    places: Mapping[TopicPartition, tuple[int | None, int | None]],
    *members: str,
    state: str = "Stable",
) -> GroupSample:
    """Start offsets, and the lags that the coordinator reports."""
    one = group(name, {tp: start for tp, (start, _) in places.items()}, *members, state=state)
    assert one.description is not None
    lags = {tp: lag for tp, (_, lag) in places.items() if lag is not None}
    return one._replace(description=replace(one.description, type="share"), type="share", lags=lags)


def streams_group(name: str, commits: Mapping[TopicPartition, int | None], *members: str) -> GroupSample:
    """Each member has an active task for each of its partitions, and the first one a standby task."""
    one = group(name, commits, *members)
    assert one.description is not None
    described = [
        replace(
            member,
            tasks=Tasks(
                tuple(Task("0", tp.partition) for tp in member.assignment or ()),
                () if number else (Task("0", 9),),
            ),
        )
        for number, member in enumerate(one.description.members)
    ]
    description = replace(one.description, type="streams", topology_epoch=2, members=tuple(described))
    return one._replace(description=description, type="streams")
