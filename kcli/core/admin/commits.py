"""Commits (OffsetCommit) and deletes (OffsetDelete) offsets at the groups' coordinators, many groups at once.

Every partition has its own result. Blocks only in the loop's poll. A consumer's own commits are made elsewhere
(``group/commits.py``): they never wait.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from kcli.core.admin.preceding import Preceding
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, ToCoordinator
from kcli.core.cluster.fanout import Ask, Items, Part, Read, fan_out
from kcli.core.cluster.topic_ids import FIRST_BY_ID, explained, replaced
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import (
    GROUP_ID_NOT_FOUND,
    NONE,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, ConfigError, KcliError, too_old
from kcli.core.group.offset_requests import commit_request, have_ids, read_commit
from kcli.core.names import unknown_group, unwritable
from kcli.core.permissions import on_group, on_topic
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kcli.core.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import GroupMetadata, GroupPartition, OffsetAndMetadata, TopicPartition, by_topic

V = TypeVar("V")

Stored = dict[TopicPartition, KcliError | None]
"""None: it was done."""

Offsets = Mapping[GroupMetadata, Mapping[TopicPartition, OffsetAndMetadata]]

_FIRST_WITH_INSTANCES = 7


def commit_offsets(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Offsets,
    deadline: float,
    preceding: Preceding | None = None,
) -> dict[str, Stored]:
    """Commits offsets as the member that each GroupMetadata identifies, or without a member (generation −1).

    Brokers accept a commit without a member only while a group has no members. They check no bounds: a negative offset
    is rejected here (ConfigError, nothing is sent), one past the end is stored. A partition that cannot be encoded
    gets a ConfigError. A lost response is no failure: the same offsets are committed again. ``preceding`` collects what
    was committed just before.

    An offset with a ``topic_id`` is not committed for another topic of that name: DataLossError. Brokers check it since
    OffsetCommit 10 (Kafka 4.1); for older ones metadata is requested immediately before, and a topic that is created
    again between that response and the commit is not noticed.
    """
    members = {group.group_id: group for group in wanted}
    offsets = {
        GroupPartition(group.group_id, tp): offset
        for group, rows in wanted.items()
        for tp, offset in rows.items()
    }
    _check(wanted)
    found: dict[GroupPartition, KcliError | None]
    found = {key: why for key, place in offsets.items() if (why := unwritable(key.tp, place))}

    def ask(
        broker: Broker, items: Items[GroupPartition, OffsetAndMetadata], *, checked: bool
    ) -> Iterator[Part[GroupPartition]]:
        version = broker.version(OffsetCommitRequest)
        for group, keys in _by_group(items).items():
            member = members[group]
            if member.group_instance_id is not None and version < _FIRST_WITH_INSTANCES:
                what = f"{broker.name} does not know static members"
                yield Part(too_old(what, _FIRST_WITH_INSTANCES, version), keys)
                continue
            rows = {key.tp: offsets[key] for key in keys}
            if checked or (version >= FIRST_BY_ID and have_ids(rows)):
                yield Part(commit_request(member, rows), keys)
                continue
            named = {tp: offset for tp, offset in rows.items() if offset.topic_id == NO_UUID}
            if named:
                yield Part(commit_request(member, named), [GroupPartition(group, tp) for tp in named])
            if doubtful := [key for key in keys if key.tp not in named]:
                yield Part(_UncheckedError("the topic ids have to be checked first"), doubtful)

    def read(
        response: OffsetCommitResponse, part: Part[GroupPartition]
    ) -> Iterator[tuple[GroupPartition, int | KcliError, None]]:
        (group,) = {key.group for key in part.keys}
        for tp, code in read_commit(response, {key.tp: offsets[key] for key in part.keys}):
            key = GroupPartition(group, tp)
            yield key, _commit_verdict(key, code, members[group]), None

    def store(keys: Collection[GroupPartition], *, checked: bool) -> dict[GroupPartition, KcliError | None]:
        return fan_out(
            cluster,
            {key: offsets[key] for key in keys},
            _route(cluster, coordinators),
            *_with_reads(cluster, preceding, partial(ask, checked=checked), read),
            deadline,
            "committing the offset of",
            final=[UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID],
            needs=lambda key: [on_topic("READ", key.tp.topic), on_group("READ", key.group)],
        )

    found |= store([key for key in offsets if key not in found], checked=False)
    if by_name := [key for key, error in found.items() if isinstance(error, _UncheckedError)]:
        gone = replaced(cluster, {key.tp: offsets[key] for key in by_name}, deadline)
        found |= {key: gone[key.tp] for key in by_name if key.tp in gone}
        found |= store([key for key in by_name if key.tp not in gone], checked=True)
    return _regrouped(
        members, {key: explained(found[key], key.tp, offset) for key, offset in offsets.items()}
    )


class _UncheckedError(KcliError):
    """A broker that knows no topic ids would store the offset whatever topic has the name now."""


def _check(wanted: Offsets) -> None:
    names = [group.group_id for group in wanted]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"group {min(twice)} is named twice", why="one commit has one committer")
    for rows in wanted.values():
        for tp, offset in rows.items():
            if offset.offset < 0:
                raise ConfigError(f"{offset.offset} is not an offset in {tp}", why="offsets begin at 0")


def _commit_verdict(key: GroupPartition, code: int, member: GroupMetadata) -> int | KcliError:
    if code == UNKNOWN_MEMBER_ID and member.generation_id < 0:
        return BrokerError(
            code,
            f"committing the offset of {key}",
            message="while the group has members, only they may commit",
            do="stop its members and try again",
        )
    return code


def delete_offsets(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Mapping[str, Collection[TopicPartition]],
    deadline: float,
    preceding: Preceding | None = None,
) -> dict[str, Stored]:
    """Deletes committed offsets of groups for these partitions (KIP-496); NotFoundError for an unknown group.

    Brokers reject partitions of topics that a group with members is subscribed to (GROUP_SUBSCRIBED_TO_TOPIC).
    ``preceding`` collects what was committed just before.
    """
    unsure: set[GroupPartition] = set()
    items = {GroupPartition(group, tp): None for group, rows in wanted.items() for tp in rows}

    def ask(_broker: Broker, items: Items[GroupPartition, None]) -> Iterator[Part[GroupPartition]]:
        for group, keys in _by_group(items).items():
            yield Part(_delete(group, [key.tp for key in keys]), keys)

    def read(
        response: OffsetDeleteResponse, part: Part[GroupPartition]
    ) -> Iterator[tuple[GroupPartition, int | KcliError, None]]:
        (group,) = {key.group for key in part.keys}
        if response.error_code != NONE:
            yield from ((key, _delete_verdict(key, response.error_code, unsure), None) for key in part.keys)
        for topic in response.topics:
            for row in topic.partitions:
                key = GroupPartition(group, TopicPartition(topic.name, row.partition_index))
                yield key, row.error_code, None

    found = fan_out(
        cluster,
        items,
        _route(cluster, coordinators),
        *_with_reads(cluster, preceding, ask, read),
        deadline,
        "deleting the offset of",
        final=[UNKNOWN_TOPIC_OR_PARTITION],
        unsure=unsure,
        needs=lambda key: [on_topic("READ", key.tp.topic), on_group("DELETE", key.group)],
    )
    return _regrouped(wanted, found)


def _delete(group: str, partitions: Iterable[TopicPartition]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers],
            )
            for name, numbers in by_topic(partitions).items()
        ],
    )


def _delete_verdict(key: GroupPartition, code: int, unsure: Collection[GroupPartition]) -> int | KcliError:
    if code != GROUP_ID_NOT_FOUND:
        return code
    # done by the attempt whose response was lost; the group disappeared with its last offset
    if key in unsure:
        return NONE
    return unknown_group(key.group)


def _with_reads(
    cluster: Cluster,
    preceding: Preceding | None,
    ask: Ask[GroupPartition, V],
    read: Read[GroupPartition, None],
) -> tuple[Ask[GroupPartition, V], Read[GroupPartition, None]]:
    return (ask, read) if preceding is None else preceding.around(ask, read, cluster.loop.now)


def _route(cluster: Cluster, coordinators: Coordinators) -> ToCoordinator[GroupPartition]:
    return ToCoordinator(cluster, coordinators, lambda key: key.group)


def _by_group(items: Iterable[tuple[GroupPartition, object]]) -> dict[str, list[GroupPartition]]:
    groups: dict[str, list[GroupPartition]] = {}
    for key, _ in items:
        groups.setdefault(key.group, []).append(key)
    return groups


def _regrouped(groups: Iterable[str], found: Mapping[GroupPartition, KcliError | None]) -> dict[str, Stored]:
    stored: dict[str, Stored] = {group: {} for group in groups}
    for key, outcome in found.items():
        stored[key.group][key.tp] = outcome
    return stored
