"""Subscriptions and assignments of the classic group protocol, as values and as bytes. Pure.

The bytes come from other members, of any client and version: every read is checked against the bounds, and the error
for unreadable bytes names the member. The fields are those of KIP-429 and KIP-792.
"""

import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import TypeVar

from kcli.core.classes import dataclass
from kcli.core.errors import ProtocolError
from kcli.core.protocol import compiler
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
)
from kcli.core.types import TopicPartition

PROTOCOL_TYPE = "consumer"
NO_GENERATION = -1

_VERSION = struct.Struct(">h")
Message = TypeVar("Message", ConsumerProtocolSubscription, ConsumerProtocolAssignment)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member asks for, and what it claims to own.

    ``owned_partitions`` are a claim, made in ``generation`` (−1: not given): it may be out of date, or false.
    ``user_data`` is private to the assignor. ``group_instance_id`` is not part of the bytes: the coordinator adds it
    (KIP-345).
    """

    topics: tuple[str, ...] = ()
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    user_data: bytes | None = None
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The partitions that a member is assigned."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = 3) -> bytes:
    """The bytes for JoinGroup, as the Java client writes them: topics and partitions in order."""
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=by_topic(subscription.owned_partitions),
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _encode(message, version)


def decode_subscription(data: Buffer, member: str) -> Subscription:
    """The subscription of ``member``; ProtocolError names the member when the bytes are invalid."""
    message = _decode(ConsumerProtocolSubscription, data, f"the subscription of member {member!r}")
    return Subscription(
        topics=tuple(dict.fromkeys(message.topics)),
        owned_partitions=_flat(message.owned_partitions),
        generation=message.generation_id,
        rack=message.rack_id or None,
        user_data=_own(message.user_data),
    )


def encode_assignment(assignment: Assignment, version: int = 3) -> bytes:
    """The bytes for SyncGroup."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=by_topic(assignment.partitions), user_data=assignment.user_data
    )
    return _encode(message, version)


def decode_assignment(data: Buffer, member: str) -> Assignment:
    """The assignment sent to ``member``. Empty bytes mean no partitions: the leader left the member out."""
    if not len(data):
        return Assignment()
    message = _decode(ConsumerProtocolAssignment, data, f"the assignment of member {member!r}")
    return Assignment(_flat(message.assigned_partitions), _own(message.user_data))


def by_topic(partitions: Iterable[TopicPartition]) -> list[TopicPartitions]:
    """The partitions as messages carry them: grouped by topic, all in order."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in grouped.items()]


def _flat(groups: Iterable[TopicPartitions]) -> tuple[TopicPartition, ...]:
    """Each partition once, in the order given."""
    partitions = (TopicPartition(group.topic, number) for group in groups for number in group.partitions)
    return tuple(dict.fromkeys(partitions))


def _own(data: bytes | memoryview | None) -> bytes | None:
    # a copy: the view is of a receive buffer that will be reused
    return None if data is None else bytes(data)


def _encode(message: Message, version: int) -> bytes:
    body, _ = compiler.encode(message, version, flexible=False)
    return _VERSION.pack(version) + body


def _decode(cls: type[Message], data: Buffer, what: str) -> Message:
    """Ignores bytes after the last known field: they belong to a newer version."""
    view = memoryview(data)
    if len(view) < _VERSION.size:
        raise ProtocolError(f"{what} cannot be read", why=f"it has {len(view)} bytes, less than a version")
    (version,) = _VERSION.unpack_from(view)
    if version < 0:
        raise ProtocolError(f"{what} cannot be read", why=f"it says to be of version {version}")
    try:
        return _fitting(cls, view, min(version, cls.versions[1]))
    except ProtocolError as error:
        raise ProtocolError(f"{what} (version {version}) cannot be read", why=str(error)) from None


def _fitting(cls: type[Message], view: memoryview, version: int) -> Message:
    """Read as ``version``, or as the highest one before it whose fields end where the bytes do.

    kafka-go and @platformatic/kafka say version 1 and end before ``owned_partitions``. Fields are never cut: bytes that
    end within one are malformed in every version.
    """
    try:
        return compiler.decode(cls, view, _VERSION.size, version, flexible=False)[0]
    except ProtocolError:
        for earlier in range(version - 1, -1, -1):
            with suppress(ProtocolError):
                message, end = compiler.decode(cls, view, _VERSION.size, earlier, flexible=False)
                if end == len(view):
                    return message
        raise
