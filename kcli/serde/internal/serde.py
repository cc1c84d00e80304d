"""The serdes of internal topics: ``consumer_offsets``, ``transaction_state``, ``share_group_state``. Read only.

The format is that of Kafka's own formatters: ``{"type": 1, "name": …, "data": {…}}`` for a key, ``{"version": 3, …}``
for a value. For an unknown type or version, which is from a newer broker, the bytes are kept in base64.
"""

import base64
from typing import Any

from kcli.core.errors import ProtocolError
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription
from kcli.core.protocol.schema import UUID, Array, Struct
from kcli.core.protocol.stored.group_records import GroupMetadataValue
from kcli.core.protocol.stored.kinds import KINDS, TRANSACTION_STATES
from kcli.core.protocol.stored.reading import NEVER, struct_of
from kcli.core.protocol.stored.transaction_records import TransactionLogValue
from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.serde import JsonValue, Serde, SerdeContext


class InternalTopicSerde(Serde):
    """Keys and values of one such topic. A value's type is determined by its key: ``context.key``."""

    can_encode = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._kinds = KINDS[name]

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        return self._key(data, context) if context.part == "key" else self._value(data, context)

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:  # noqa: ARG002 - it refuses all
        raise EncodeError(f"the {context.part} cannot be written", why=f"{self.name} is only read")

    def _key(self, data: bytes, context: SerdeContext) -> JsonValue:
        number = _number(data, context)
        kind = self._kinds.get(number)
        if kind is None:
            return {"type": number, **raw_fields(data[2:])}
        return {
            "type": number,
            "name": kind.name,
            "data": fields_of(read_struct(kind.key, data, 2, 0, NEVER, context)),
        }

    def _value(self, data: bytes, context: SerdeContext) -> JsonValue:
        version = _number(data, context)
        if context.key is None:
            raise DecodeError(
                "the type of the value cannot be determined", why="its key, which says what it is, is missing"
            )
        kind = self._kinds.get(_number(context.key, context))
        if kind is None:
            return {"version": version, **raw_fields(data[2:])}
        cls: Any = kind.value
        if not cls.versions[0] <= version <= cls.versions[1]:
            return {"version": version, "name": kind.name, **raw_fields(data[2:])}
        found = read_struct(cls, data, 2, version, cls.flexible, context)
        return {"version": version, "name": kind.name, "data": _shown(found, version)}


def _number(data: bytes, context: SerdeContext) -> int:
    if len(data) < 2:
        raise DecodeError(
            f"the {context.part} cannot be read", why=f"it has {len(data)} bytes, less than a version"
        )
    return int.from_bytes(data[:2], "big", signed=True)


def raw_fields(data: bytes) -> dict[str, str]:
    """Bytes that have no table."""
    return {"data": base64.b64encode(data).decode(), "data_encoding": "base64"}


def read_struct(
    cls: type[Struct], data: bytes, pos: int, version: int, flexible: int, context: SerdeContext
) -> Struct:
    """What stands from ``pos`` to the end of ``data``; DecodeError if it is something else."""
    try:
        return struct_of(cls, data, pos, version, flexible)
    except ProtocolError as error:
        raise DecodeError(f"the {context.part} is no {cls.__name__}", why=error.why or error.what) from None


def _shown(found: Struct, version: int) -> dict[str, Any]:
    """The fields of this version, with additional information."""
    fields = fields_of(found, version)
    if isinstance(found, TransactionLogValue):
        fields["transaction_status"] = TRANSACTION_STATES.get(
            found.transaction_status, found.transaction_status
        )
    elif isinstance(found, GroupMetadataValue) and found.protocol_type == PROTOCOL_TYPE:
        for member, shown in zip(found.members, fields["members"], strict=True):
            _show_protocol(shown, "subscription", member.subscription)
            _show_protocol(shown, "assignment", member.assignment)
    return fields


def _show_protocol(shown: dict[str, Any], part: str, data: Any) -> None:
    """Replaces the bytes of a member of a ``consumer`` group by their decoded content, if they can be decoded."""
    try:
        if part == "subscription":
            subscription = decode_subscription(data, shown["member_id"])
            shown[part] = {
                "topics": list(subscription.topics),
                "owned_partitions": _partitions(subscription.owned_partitions),
            }
        else:
            shown[part] = {"partitions": _partitions(decode_assignment(data, shown["member_id"]).partitions)}
    except ProtocolError:
        return  # another client's own format: the base64 stays


def _partitions(partitions: Any) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in partitions]


def fields_of(found: Struct, version: int = 0) -> dict[str, Any]:
    """The fields that ``version`` has, as JSON."""
    return {
        row.name: _plain(getattr(found, row.name), row.type, version)
        for row in found.fields
        if row.present(version)
    }


def _plain(value: Any, kind: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_plain(item, kind.element, version) for item in value]
    if isinstance(kind, type):
        return fields_of(value, version)
    if kind == UUID:
        return base64.urlsafe_b64encode(value).decode().rstrip("=")  # as Kafka prints ids
    return base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value
