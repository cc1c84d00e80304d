"""Judges the state of a cluster: controller, versions, partitions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kcli.core.classes import dataclass
from kcli.core.cluster.metadata import OR_HIDDEN, PartitionView
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import (
    ONLINE,
    ClusterState,
    broker_states,
    in_sync_required,
    is_offline,
    is_under_replicated,
)
from kcli.flows.doctor.findings import Finding, failed, warning, well

CLUSTER = "cluster"
_MOST_NAMED = 5
_NO_PARTITIONS = f"the cluster has no topics, {OR_HIDDEN}"
_UNREACHABLE = ExitCode.UNREACHABLE
_RESTART = "start the brokers that host their replicas; `kcli cluster describe` shows which are missing"

Apis = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """``releases``: of each broker, as far as it can be told. ``apis``: the API versions of each.

    ``min_isr``: min.insync.replicas of topics with replicas that are not in sync, where it could be read.
    """

    state: ClusterState
    releases: Mapping[int, str]
    apis: Mapping[int, Apis]
    min_isr: Mapping[str, int]


def controller(facts: ClusterFacts) -> Iterator[Finding]:
    """Whether there is an active controller."""
    found = facts.state.controller
    if found is not None:
        yield well(
            CLUSTER, "controller", f"broker {found}" if facts.state.quorum is None else f"node {found}"
        )
    elif facts.state.controller_known:
        yield failed(
            CLUSTER,
            "controller",
            "there is no active controller",
            why="without one no leader is elected, and no topic created or changed",
            do="start the controllers (with ZooKeeper: check that the brokers reach it), and read their logs",
            code=_UNREACHABLE,
        )
    else:
        error = next(iter(facts.state.errors), None)
        yield warning(
            CLUSTER,
            "controller",
            "could not be described",
            why=str(error or ""),
            do=error.do if error else "",
        )


def brokers(facts: ClusterFacts) -> Iterator[Finding]:
    """Brokers that are registered or named by replica lists, but not online."""
    states = broker_states(facts.state.description, facts.state.topics)
    away = [one for one in states if one.state != ONLINE]
    if not away:
        yield well(CLUSTER, "brokers", f"{len(states)} online")
        return
    named = ", ".join(f"{one.number} ({one.state})" for one in away[:_MOST_NAMED])
    yield warning(
        CLUSTER,
        "brokers",
        f"{len(away)} of {len(states)} are not online: {named}",
        why="they are stopped, or have lost contact with the controller",
        do="start them and read their logs; `kcli cluster describe` shows what they host",
    )


def versions(facts: ClusterFacts) -> Iterator[Finding]:
    """Brokers of different releases, and such that are older than all that kcli is tested with."""
    old = sorted(number for number, release in facts.releases.items() if release == BEFORE_2_8)
    text = ", ".join(
        f"{release}" + (f" (broker {_numbers(facts.releases, release)})" if _is_mixed(facts) else "")
        for release in sorted(set(facts.releases.values()))
    )
    if old:
        yield warning(
            CLUSTER,
            "versions",
            f"broker {_listed(old)} is older than Kafka 2.8",
            why="kcli is tested with Kafka 2.8 and later",
            do="upgrade the brokers; what they lack is reported where it is needed",
        )
    elif _is_mixed(facts):
        yield warning(
            CLUSTER,
            "versions",
            f"brokers run different versions: {text}",
            why="their APIs differ, as during an upgrade; features need all brokers to have them",
            do="finish the upgrade",
        )
    elif text:
        yield well(CLUSTER, "versions", text)


def partitions(facts: ClusterFacts) -> Iterator[Finding]:
    """Partitions without a leader, below min.insync.replicas, and under-replicated ones."""
    parts = [
        (TopicPartition(topic.name, part.partition), part)
        for topic in facts.state.topics
        for part in topic.partitions
    ]
    offline = [tp for tp, part in parts if is_offline(part)]
    if offline:
        yield failed(
            CLUSTER,
            "offline partitions",
            _few(offline),
            why=f"they have no leader: nothing can be read or written there; {_hosts(parts, facts)}",
            do=_RESTART,
            code=_UNREACHABLE,
        )
    capped = facts.state.requires_capped  # of all brokers: not for each partition
    below = [
        tp
        for tp, part in parts
        if not is_offline(part) and _is_below(part, facts.min_isr.get(tp.topic, 0), capped=capped)
    ]
    if below:
        yield failed(
            CLUSTER,
            "min.insync.replicas",
            _few(below),
            why="fewer replicas are in sync than acks=all requires: NOT_ENOUGH_REPLICAS",
            do=_RESTART,
            code=_UNREACHABLE,
        )
    above = {*offline, *below}
    lagging = [tp for tp, part in parts if is_under_replicated(part) and tp not in above]
    if lagging:
        yield warning(
            CLUSTER,
            "under-replicated partitions",
            _few(lagging) + (" (besides those above)" if offline or below else ""),
            why="some of their replicas are not in sync: fewer failures can be survived",
            do="start the brokers that host them, and check that they keep up: "
            "`kcli topics describe --under-replicated`",
        )
    if not (offline or below or lagging):
        text = f"{len(parts):,} with leaders, all replicas in sync" if parts else _NO_PARTITIONS
        yield well(CLUSTER, "partitions", text)


def incomplete(facts: ClusterFacts) -> Iterator[Finding]:
    """What could not be described."""
    for error in facts.state.errors if facts.state.controller_known else facts.state.errors[1:]:
        yield warning(CLUSTER, "description", error.what, why=error.why, do=error.do)


CHECKS: tuple[Callable[[ClusterFacts], Iterator[Finding]], ...] = (
    controller,
    brokers,
    versions,
    partitions,
    incomplete,
)
"""The table, in the order of the report."""

BEFORE_2_8 = "before 2.8"


def _is_below(part: PartitionView, min_isr: int, *, capped: bool) -> bool:
    """Whether records with acks=all are refused."""
    return len(part.isr) < in_sync_required(min_isr, len(part.replicas), capped=capped)


def _hosts(parts: list[tuple[TopicPartition, PartitionView]], facts: ClusterFacts) -> str:
    """Which brokers with replicas of offline partitions do not answer, or that all of them do."""
    hosts = {number for _tp, part in parts if is_offline(part) for number in part.replicas}
    states = broker_states(facts.state.description, facts.state.topics)
    away = sorted(one.number for one in states if one.number in hosts and one.state != ONLINE)
    return f"broker {_listed(away)} is not online" if away else "the brokers of their replicas are online"


def _is_mixed(facts: ClusterFacts) -> bool:
    tables = [sorted(apis.items()) for apis in facts.apis.values()]
    return len(set(facts.releases.values())) > 1 or any(table != tables[0] for table in tables)


def _numbers(releases: Mapping[int, str], release: str) -> str:
    return _listed(sorted(number for number, one in releases.items() if one == release))


def _listed(numbers: list[int]) -> str:
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return ", ".join(map(str, numbers[:_MOST_NAMED])) + more


def _few(partitions: list[TopicPartition]) -> str:
    more = f" and {len(partitions) - _MOST_NAMED} more" if len(partitions) > _MOST_NAMED else ""
    return f"{len(partitions):,}: " + ", ".join(map(str, partitions[:_MOST_NAMED])) + more
