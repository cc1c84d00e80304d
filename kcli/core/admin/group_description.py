"""Describes groups, members and assignments: classic ones (DescribeGroups) and those of KIP-848.

A group's name does not reveal its type. All are described as classic groups first; one that its coordinator does not
know as such is then described as a group of the new protocol, whether others have been answered or not.
``other_groups`` describes share and streams groups.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kcli.core.admin.repeated_groups import RepeatedGroups
from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.fanout import Items, NextRequestError, Part, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND, NONE, UNSUPPORTED_VERSION
from kcli.core.errors import KcliError, ProtocolError, TimedOutError, UnsupportedError
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription
from kcli.core.names import unknown_group
from kcli.core.permissions import Permission, on_group
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.messages import describe_groups as classic
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.streams_members import StreamsClient, Subtopology, Tasks
    from kcli.core.protocol.messages import consumer_group_describe as modern

T = TypeVar("T")


class _Decoded(Generic[T]):
    """The values of this call and of the one before, by their bytes."""

    def __init__(self, decode: Callable[[Buffer, str], T]) -> None:
        self._decode = decode
        self._before: dict[bytes, T] = {}
        self._now: dict[bytes, T] = {}

    def begin_call(self) -> None:
        self._before, self._now = self._now, {}

    def value(self, data: Buffer, member: str) -> T:
        key = bytes(data)  # a copy: the view is of a receive buffer that will be reused
        value = self._now.get(key)
        if value is None:
            value = self._before.get(key)
            self._now[key] = value = self._decode(key, member) if value is None else value
        return value


class MemberBytes:
    """Subscriptions and assignments of classic members. A stable group has the same bytes in every description.

    Who describes thousands of groups again and again spares most of the work, and equal values are one object. What a
    call did not have is forgotten with the next. ``repeated``, by broker, spares also the rest where all of a group's
    bytes are the same.
    """

    def __init__(self) -> None:
        self.repeated: dict[str, RepeatedGroups] = {}
        self._subscriptions = _Decoded(decode_subscription)
        self._assignments = _Decoded(decode_assignment)
        self.subscription, self.assignment = self._subscriptions.value, self._assignments.value

    def begin_call(self) -> None:
        """Starts on the next description of groups."""
        self._subscriptions.begin_call()
        self._assignments.begin_call()


_DEAD = "Dead"
_NO_OPERATIONS = -2147483648
_PROTOCOLS = {0: "classic", 1: "consumer"}


class OtherGroupError(UnsupportedError):
    """The group is of a type whose members commit no offsets that can be set: share, streams."""


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member. ``subscription`` names topics, ``subscription_regex`` applies to KIP-848 members only.

    ``assignment`` is None if it is unknown: the bytes are of another protocol than ``consumer``, or malformed.
    ``target`` is a KIP-848 member's target assignment; classic members have none. ``epoch`` is the member epoch, −1
    for classic members: they have none, and DescribeGroups does not return the generation. ``owned`` is what a
    cooperative member of a classic group reported as owned when it last joined (KIP-429). ``protocol`` is ``classic``
    or ``consumer`` where a KIP-848 group reports it: a group that is being upgraded has both. ``tasks``,
    ``target_tasks`` and ``streams`` are of a streams group's member, whose ``assignment`` is what its active tasks read.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    """As the coordinator reports it: with a leading slash from Kafka's classic groups."""
    subscription: tuple[str, ...] = ()
    assignment: tuple[TopicPartition, ...] | None = None
    target: tuple[TopicPartition, ...] | None = None
    epoch: int = -1
    rack: str | None = None
    subscription_regex: str | None = None
    protocol: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    tasks: Tasks | None = None
    target_tasks: Tasks | None = None
    streams: StreamsClient | None = None

    @property
    def host(self) -> str:
        """``client_host`` without the slash."""
        return self.client_host.lstrip("/")


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group. ``type`` is ``classic``, ``consumer`` (KIP-848), ``share`` (KIP-932) or ``streams`` (KIP-1071), ``state``
    Kafka's name, ``coordinator`` a node id.

    ``assignor`` is the assignor in use; in groups that are not consumer groups, the protocol selected. ``epoch`` and
    ``assignment_epoch`` are −1 for classic groups, ``topology_epoch`` for all but streams groups that have a topology.
    ``subtopologies`` are those of a streams group; None of other groups, and where the coordinator does not know the
    topics: none has initialized the topology, or source topics are missing. ``operations`` are the bits of the operations
    this client is authorized for (KIP-430), None if the broker does not report them.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: tuple[MemberDescription, ...] = ()
    epoch: int = -1
    assignment_epoch: int = -1
    operations: int | None = None
    topology_epoch: int = -1
    subtopologies: tuple[Subtopology, ...] | None = None


Others = Callable[[Sequence[str], float], "dict[str, GroupDescription | KcliError]"]
"""Describes groups of other types until a deadline: ``other_groups.describe_others``."""


def describe_groups(
    cluster: Cluster,
    coordinators: Coordinators,
    names: Sequence[str],
    deadline: float,
    *,
    include_operations: bool = False,
    member_bytes: MemberBytes | None = None,
    hurried: Collection[str] = (),
    others: Others | None = None,
) -> dict[str, GroupDescription | KcliError]:
    """Each group, or the error: NotFoundError if it does not exist, however the broker's version expresses that.

    OtherGroupError for a group of neither type (share, streams), unless ``others`` describes it. ``member_bytes`` are
    kept from call to call; ``hurried``: see ``fan_out``.

    With ``others``, groups of several may take half of the time at first: one whose coordinator does not respond would
    otherwise leave none for those of other types. It is asked for again with what is left at the end.
    """
    member_bytes = member_bytes or MemberBytes()
    member_bytes.begin_call()
    run = _Describe(coordinators, member_bytes, include_operations=include_operations)
    route = ToCoordinator[str](cluster, coordinators, str)

    def describe(some: Sequence[str], until: float) -> dict[str, GroupDescription | KcliError]:
        return fan_out(
            cluster,
            dict.fromkeys(some),
            route,
            run.ask,
            run.read,
            until,
            "describing group",
            hurried=hurried,
            needs=on_describing,
        )

    def half() -> float:
        now = cluster.loop.now()
        return now + max(0.0, deadline - now) / 2

    def with_others(
        found: dict[str, GroupDescription | KcliError], until: Callable[[], float]
    ) -> dict[str, GroupDescription | KcliError]:
        left = [group for group, told in found.items() if isinstance(told, OtherGroupError)]
        return found | others(left, until()) if others is not None and left else found

    if others is None or len(names) == 1:
        return with_others(describe(names, deadline), lambda: deadline)
    found = with_others(describe(names, half()), half)
    late = [group for group, told in found.items() if isinstance(told, TimedOutError)]
    if late and cluster.loop.now() < deadline:
        found |= with_others(describe(late, deadline), lambda: deadline)
    return found


def on_describing(group: str) -> list[Permission]:
    """What describing a group needs."""
    return [on_group("DESCRIBE", group)]


class _Describe:
    def __init__(
        self, coordinators: Coordinators, member_bytes: MemberBytes, *, include_operations: bool
    ) -> None:
        self._coordinators, self._member_bytes = coordinators, member_bytes
        self._include_operations = include_operations
        self._not_classic: set[str] = set()

    def ask(self, broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        groups = [group for group, _ in items if group not in self._not_classic]
        others = [group for group, _ in items if group in self._not_classic]
        return [
            *(self._ask_classic(broker, groups) if groups else ()),
            *(self._ask_modern(broker, others) if others else ()),
        ]

    def read(self, response: Any, part: Part[str]) -> Iterator[tuple[str, int | KcliError, GroupDescription]]:
        if isinstance(part.request, classic.DescribeGroupsRequest):
            return self._read_classic(response)
        return self._read_modern(response)

    def _ask_classic(self, broker: Broker, groups: list[str]) -> list[Part[str]]:
        request = classic.DescribeGroupsRequest(
            groups=groups, include_authorized_operations=self._include_operations
        )
        repeated = self._member_bytes.repeated.setdefault(broker.name, RepeatedGroups())
        request.decode_with(repeated.decoder(self._kept))
        return [Part(request, groups)]

    def _kept(self, row: classic.DescribedGroup) -> classic.DescribedGroup | GroupDescription:
        """The description of a group that the broker has; else the row, which says why it has none."""
        if row.error_code != NONE or row.group_state == _DEAD:
            return row
        return _classic(row, self._coordinator(row.group_id), self._member_bytes)

    def _read_classic(self, response: Any) -> Iterator[tuple[str, int | KcliError, GroupDescription]]:
        for row in response.groups:
            if isinstance(row, GroupDescription):
                yield row.group_id, NONE, row
                continue
            outcome: int | KcliError = row.error_code
            if row.error_code == GROUP_ID_NOT_FOUND or (row.error_code == NONE and row.group_state == _DEAD):
                # Versions before 6 report "Dead" instead.
                self._not_classic.add(row.group_id)
                outcome = NextRequestError(row.group_id)
            yield row.group_id, outcome, _classic(row, self._coordinator(row.group_id), self._member_bytes)

    def _ask_modern(self, broker: Broker, groups: list[str]) -> list[Part[str]]:
        # Not where all groups are classic.
        from kcli.core.protocol.messages import consumer_group_describe as modern

        if not broker.offers(modern.ConsumerGroupDescribeRequest):
            return [Part(unknown_group(group), [group]) for group in groups]
        request = modern.ConsumerGroupDescribeRequest(
            group_ids=groups, include_authorized_operations=self._include_operations
        )
        return [Part(request, groups)]

    def _read_modern(
        self, response: modern.ConsumerGroupDescribeResponse
    ) -> Iterator[tuple[str, int | KcliError, GroupDescription]]:
        for row in response.groups:
            outcome = verdict(
                row.error_code,
                f"describing group {row.group_id}",
                row.error_message,
                on_describing(row.group_id),
            )
            if row.error_code == GROUP_ID_NOT_FOUND:
                outcome = _neither(row.group_id, row.error_message or "")
            elif row.error_code == UNSUPPORTED_VERSION or not row.group_id:
                # 3.x advertises the API even when disabled; and only classic groups may have an empty name.
                outcome = unknown_group(row.group_id)
            yield row.group_id, outcome, _modern(row, self._coordinator(row.group_id))

    def _coordinator(self, group: str) -> int:
        node = self._coordinators.known(KeyType.GROUP, group)
        return -1 if node is None else node


def _neither(group: str, message: str) -> KcliError:
    """Both types denied it. Only the broker's message distinguishes another type from a missing group."""
    if "is not a consumer group" not in message:
        return unknown_group(group)
    return OtherGroupError(f"group {group} cannot be described", why="it is a share or a streams group")


def _classic(row: classic.DescribedGroup, coordinator: int, member_bytes: MemberBytes) -> GroupDescription:
    consumers = row.protocol_type == PROTOCOL_TYPE
    return GroupDescription(
        group_id=row.group_id,
        type="classic",
        state=row.group_state,
        protocol_type=row.protocol_type,
        assignor=row.protocol_data,
        coordinator=coordinator,
        members=tuple(_classic_member(member, member_bytes if consumers else None) for member in row.members),
        operations=known_operations(row.authorized_operations),
    )


def _classic_member(row: classic.DescribedGroupMember, member_bytes: MemberBytes | None) -> MemberDescription:
    """``member_bytes`` None: the bytes are of another protocol."""
    subscription: tuple[str, ...] = ()
    assignment: tuple[TopicPartition, ...] | None = None
    owned: tuple[TopicPartition, ...] = ()
    rack = None
    if member_bytes is not None:
        # While the group rebalances, brokers omit these bytes; from other clients either may hold anything.
        with suppress(ProtocolError):
            if len(row.member_metadata):
                told = member_bytes.subscription(row.member_metadata, row.member_id)
                subscription, owned, rack = told.topics, told.owned_partitions, told.rack
        with suppress(ProtocolError):
            assignment = member_bytes.assignment(row.member_assignment, row.member_id).partitions
    return MemberDescription(
        member_id=row.member_id,
        instance_id=row.group_instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        subscription=subscription,
        assignment=assignment,
        rack=rack,
        owned=owned,
    )


def _modern(row: modern.DescribedGroup, coordinator: int) -> GroupDescription:
    return GroupDescription(
        group_id=row.group_id,
        type="consumer",
        state=row.group_state,
        protocol_type=PROTOCOL_TYPE,
        assignor=row.assignor_name,
        coordinator=coordinator,
        members=tuple(_modern_member(member) for member in row.members),
        epoch=row.group_epoch,
        assignment_epoch=row.assignment_epoch,
        operations=known_operations(row.authorized_operations),
    )


def _modern_member(row: modern.Member) -> MemberDescription:
    return MemberDescription(
        member_id=row.member_id,
        instance_id=row.instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        subscription=tuple(row.subscribed_topic_names),
        assignment=_partitions(row.assignment),
        target=_partitions(row.target_assignment),
        epoch=row.member_epoch,
        rack=row.rack_id,
        subscription_regex=row.subscribed_topic_regex or None,
        protocol=_PROTOCOLS.get(row.member_type),
    )


def _partitions(assignment: modern.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number)
        for topic in assignment.topic_partitions
        for number in topic.partitions
    )


def known_operations(bits: int) -> int | None:
    """The bits of a response; None if the broker does not report them."""
    return None if bits == _NO_OPERATIONS else bits
