"""``kcli topics who``: who writes to a topic, who reads it, and whom ACLs allow to.

Leaders know the producers that number their records, idempotent and transactional ones, for
``producer.id.expiration.ms``
after the last record (KIP-664). Of other producers brokers keep nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing, Survey
from kcli.core.admin.acls import (
    AclBinding,
    AclFilter,
    AclPattern,
    AclPermission,
    AclResource,
    NoAuthorizerError,
)
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import KcliError
from kcli.core.permissions import AclOperation
from kcli.core.types import TopicPartition
from kcli.flows.acls.check import COLUMNS as CHECKED
from kcli.flows.acls.check import EVERYONE, Asked, decide
from kcli.flows.acls.selection import Resource, matching_each
from kcli.flows.groups.description import Described, describe_groups, missing_in
from kcli.flows.groups.readers import readers_of
from kcli.flows.transactions.coordinated import Coordinated, ReadLog, transactions_of
from kcli.flows.transactions.held import PartitionTransaction, age, known, survey
from kcli.output.tables import Column
from kcli.output.template import rfc3339

if TYPE_CHECKING:
    from kcli.core.admin.groups import ListedGroup
    from kcli.core.admin.transactions import ProducerDescription

Row = dict[str, Any]

PRODUCERS = (
    Column("partition", "id"),
    Column("producer_id", "id"),
    Column("producer_epoch", "id", spare=2),
    Column(
        "transactional_id",
        meaning="Its transactional id; null for an idempotent producer without one, and where it is unknown.",
    ),
    Column(
        "coordinator_epoch",
        "id",
        wide=True,
        meaning="Epoch of the coordinator that ended its last transaction in the partition; null where none did.",
    ),
    Column(
        "last_sequence", "number", spare=3, values="integer", meaning="Sequence number of its last record."
    ),
    Column(
        "last_write", "time", wide=True, meaning="Timestamp of its last record; null where it is unknown."
    ),
    Column("idle_seconds", "duration", meaning="Time since then; null where it is unknown."),
    Column(
        "transaction",
        values=("open", "ending", "hanging", "unknown", None),
        meaning="Its open transaction in the partition: open, ending or hanging as in txn describe; null without one.",
    ),
    Column(
        "start_offset", "number", wide=True, meaning="First offset of that transaction; null without one."
    ),
    Column(
        "open_seconds", "duration", meaning="How long it is open; null without one, or where it is unknown."
    ),
)
READERS = (
    Column("group"),
    Column("type", spare=3, meaning="classic, consumer, share or streams."),
    Column("state", spare=1, meaning="State of the group, as Kafka names it."),
    Column("member_id", wide=True, meaning="Id of the member; null where no member reads the partitions."),
    Column("client_id", meaning="Its client id; null where no member reads the partitions."),
    Column("host", spare=2, meaning="Its host; null where no member reads the partitions."),
    Column(
        "partitions",
        values="integers?",
        meaning="Partitions of the topic that it has; empty where it subscribes and has none, null where unknown.",
    ),
    Column(
        "lag_records",
        "number",
        values="integer?",
        meaning="Records of these partitions that the group has not read; null where it is unknown.",
    ),
)
HOLDERS = tuple(
    replace(column, meaning="From which address, or *.", values="string") if column.key == "host" else column
    for column in CHECKED
    if column.key not in ("resource_type", "resource_name")
)
WHO = (
    Column("name", values="string", meaning="Name of the topic."),
    Column(
        "producers",
        values="objects?",
        inner=PRODUCERS,
        meaning="The producers that leaders know, by partition; null where none of it could be read.",
    ),
    Column(
        "readers",
        values="objects?",
        inner=READERS,
        meaning="Groups that read it, by member; null where none of it could be read.",
    ),
    Column(
        "acls",
        values="objects?",
        inner=HOLDERS,
        meaning="Whom ACLs allow to read or to write, or deny it; null where they could not be read, or the cluster "
        "has no authorizer.",
    ),
    Column(
        "authorizer",
        values="boolean?",
        meaning="Whether the cluster has an authorizer; without one everybody may do everything, null where it is "
        "unknown.",
    ),
)


class Who(NamedTuple):
    """The rows of each part, None where it could not be read at all."""

    topic: str
    producers: Sequence[Row] | None
    readers: Sequence[Row] | None
    acls: Sequence[Row] | None
    authorizer: bool | None

    @property
    def row(self) -> Row:
        """The item of ``WHO``."""
        return {
            "name": self.topic,
            "producers": self.producers
            and [
                one | {"last_write": None if one["last_write"] is None else rfc3339(one["last_write"])}
                for one in self.producers
            ],
            "readers": self.readers,
            "acls": self.acls,
            "authorizer": self.authorizer,
        }


def who(
    admin: Admin,
    topics: Mapping[str, Collection[TopicPartition]],
    listed: Sequence[ListedGroup] | None,
    read_log: ReadLog,
    now: int,
) -> Survey[list[Who]]:
    """Everybody around topics that exist, by their partitions. ``listed``: the groups of the cluster, None where they are
    not known; ``now`` in ms.
    """
    of_producers, of_readers, of_acls = list[Missing](), list[Missing](), list[Missing]()
    producers, readers, holders = admin.together(
        lambda: _producers(admin, topics, read_log, now, of_producers),
        lambda: {} if listed is None else _readers(admin, topics, listed, of_readers),
        lambda: _holders(admin, topics, of_acls),
    )
    return Survey(
        [Who(topic, producers.get(topic), readers.get(topic), *holders[topic]) for topic in topics],
        [*of_producers, *of_readers, *of_acls],
    )


def _producers(
    admin: Admin,
    topics: Mapping[str, Collection[TopicPartition]],
    read_log: ReadLog,
    now: int,
    missing: list[Missing],
) -> dict[str, list[Row]]:
    """By topic, without those of which nothing could be read."""
    found: dict[TopicPartition, list[ProducerDescription]] = {}
    asked = [tp for name in topics for tp in sorted(topics[name])]
    for tp, rows in admin.describe_producers(asked).items():
        if isinstance(rows, KcliError):
            missing.append(Missing.of(rows, f"producers of {tp}"))
        else:
            found[tp] = rows
    if not found:
        return {}
    opened: dict[tuple[TopicPartition, int], PartitionTransaction] = {}
    coordinated = Coordinated(())
    named = f"{'topic' if len(topics) == 1 else 'topics'} {', '.join(topics)}"
    try:
        ids = {one.producer_id for rows in found.values() for one in rows}
        coordinated = transactions_of(admin, ids, read_log)
        missing += [
            Missing.of(error, f"transactional ids of producers of {named}") for error in coordinated.errors
        ]
        held = [tp for tp, rows in found.items() if any(one.open_since >= 0 for one in rows)]
        states = survey(admin, held, read_log) if held else None
        for state in () if states is None else states.partitions:
            if state.error is not None:
                missing.append(Missing.of(state.error, f"transactions in {state.tp}"))
            opened |= {(state.tp, one.producer.producer_id): one for one in state.transactions}
    except KcliError as error:
        missing.append(Missing.of(error, f"transactions of producers of {named}"))
    by_topic: dict[str, list[Row]] = {tp.topic: [] for tp in found}
    for tp, producers in sorted(found.items()):
        by_topic[tp.topic] += [
            producer_row(tp, one, coordinated, opened.get((tp, one.producer_id)), now)
            for one in sorted(producers, key=lambda one: (-one.last_timestamp, one.producer_id))
        ]
    return by_topic


def producer_row(
    tp: TopicPartition,
    one: ProducerDescription,
    coordinated: Coordinated,
    opened: PartitionTransaction | None,
    now: int,
) -> Row:
    """A producer in a partition. Pure."""
    transaction = coordinated.of_producer(one.producer_id)
    return {
        "partition": tp.partition,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "transactional_id": None if transaction is None else transaction.transactional_id,
        "coordinator_epoch": known(one.coordinator_epoch),
        "last_sequence": one.last_sequence,
        "last_write": known(one.last_timestamp),
        "idle_seconds": age(one.last_timestamp, now),
        "transaction": None if opened is None else opened.state,
        "start_offset": known(one.open_since),
        "open_seconds": None if opened is None else age(opened.since_ms, now),
    }


def _readers(
    admin: Admin, topics: Collection[str], listed: Sequence[ListedGroup], missing: list[Missing]
) -> dict[str, list[Row]]:
    readers = readers_of(admin, listed, topics)
    missing += readers.missing
    names = list(dict.fromkeys(one.group_id for rows in readers.items.values() for one in rows))
    groups: dict[str, Described] = {}
    for name, group in describe_groups(admin, names, listed=listed).items() if names else ():
        if isinstance(group, KcliError):
            missing.append(Missing.of(group, f"group {name}"))
            continue
        if group.error is not None:
            missing.append(Missing.of(group.error, f"group {name}"))
        group.positions = {tp: at for tp, at in group.positions.items() if tp.topic in topics}
        groups[name] = group
    missing += missing_in(groups.values())
    return {
        topic: [
            row
            for one in rows
            if one.group_id in groups
            for row in reader_rows(_of_topic(groups[one.group_id], topic), topic)
        ]
        for topic, rows in readers.items.items()
    }


def _of_topic(group: Described, topic: str) -> Described:
    return replace(group, positions={tp: at for tp, at in group.positions.items() if tp.topic == topic})


def reader_rows(group: Described, topic: str) -> Iterator[Row]:
    """A row for each member that has partitions of the topic or subscribes to it, and one for those that no member has.

    Members of a share group have partitions together: each row has their whole lag. Pure.
    """
    head = {"group": group.group_id, "type": group.type, "state": group.state}
    left = {tp for tp, at in group.positions.items() if at.committed is not None or at.unread is not None}
    for member in group.members:
        own = None if member.assignment is None else [tp for tp in member.assignment if tp.topic == topic]
        if not own and topic not in member.subscription and not member.subscription_regex:
            continue
        left.difference_update(own or ())
        yield {
            **head,
            "member_id": member.member_id,
            "client_id": member.client_id,
            "host": member.host,
            "partitions": None if own is None else sorted(tp.partition for tp in own),
            "lag_records": None if own is None else _lag(group, own),
        }
    if left or not group.members:
        yield {
            **head,
            "member_id": None,
            "client_id": None,
            "host": None,
            "partitions": sorted(tp.partition for tp in left) if group.error is None else None,
            "lag_records": _lag(group, left) if group.error is None else None,
        }


def _lag(group: Described, partitions: Iterable[TopicPartition]) -> int | None:
    """Of all of them; None where that of one is unknown. A partition without records has nothing to read."""
    total = 0
    for tp in partitions:
        position = group.positions.get(tp)
        if position is not None and position.lag is not None:
            total += max(0, position.lag)
        elif position is None or position.end is None or position.end != position.log_start:
            return None
    return total


def _holders(
    admin: Admin, topics: Collection[str], missing: list[Missing]
) -> dict[str, tuple[list[Row] | None, bool | None]]:
    """The rows of each topic, and whether there is an authorizer."""
    filters = {topic: AclFilter(AclResource.TOPIC, topic, AclPattern.MATCH) for topic in topics}
    try:
        found = matching_each(admin, filters)
    except NoAuthorizerError:
        return dict.fromkeys(topics, (None, False))
    except KcliError as error:
        missing += [Missing.of(error, f"ACLs of topic {topic}") for topic in topics]
        return dict.fromkeys(topics, (None, None))
    return {topic: (list(holder_rows(topic, acls)), True) for topic, acls in found.items()}


def holder_rows(topic: str, acls: Collection[AclBinding]) -> Iterator[Row]:
    """What ACLs decide on reading and writing: for each principal, and for each address where it is different. Pure."""
    hosts: Mapping[str, set[str]] = {one.principal: set() for one in acls}
    for one in acls:
        hosts[one.principal].add(one.host)
    for_all = hosts.get(EVERYONE, set())
    for principal in sorted(hosts):
        for operation in (AclOperation.READ, AclOperation.WRITE):
            asked = Asked(principal, None, operation, Resource(AclResource.TOPIC, topic))
            general = decide(asked, acls)
            if general.rule is not None and _is_own(general.rule, principal):
                yield _holder(general.row(), "*")
            for host in sorted((hosts[principal] | for_all) - {"*"}):
                there = decide(asked._replace(host=host), acls)
                if there.allowed != general.allowed and there.rule and _is_own(there.rule, principal):
                    yield _holder(there.row(), host)


def _is_own(rule: AclBinding, principal: str) -> bool:
    """Whether a rule is of the principal, or denies: what everybody may do stands in the row of everybody."""
    return rule.principal == principal or rule.permission is AclPermission.DENY


def _holder(row: Mapping[str, Any], host: str) -> Row:
    return {column.key: row[column.key] for column in HOLDERS} | {"host": host}
