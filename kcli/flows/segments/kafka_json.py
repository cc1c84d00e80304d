"""Records of internal topics as the decoders of ``kafka-dump-log.sh`` print them, and control records of KRaft. Pure."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from struct import unpack_from
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ProtocolError
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE
from kcli.core.protocol import compiler
from kcli.core.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcli.core.protocol.messages.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kcli.core.protocol.schema import UUID, Array, Struct
from kcli.core.protocol.stored import metadata_records
from kcli.core.protocol.stored.group_records import GroupMetadataValue
from kcli.core.protocol.stored.kinds import KINDS, TRANSACTION_STATES, RecordKind
from kcli.core.protocol.stored.reading import NEVER, metadata_head, struct_of, type_number
from kcli.core.protocol.stored.transaction_records import TransactionLogValue
from kcli.core.types import Record
from kcli.flows.segments.secrets import without_secrets
from kcli.output.envelope import compact

_METADATA = "__cluster_metadata"
_CONTROL: dict[int, tuple[str, Any]] = {
    2: ("LeaderChange:", LeaderChangeMessage),
    3: ("SnapshotHeader", SnapshotHeaderRecord),
    4: ("SnapshotFooter", SnapshotFooterRecord),
    5: ("KRaftVersion", KRaftVersionRecord),
    6: ("KRaftVoters", VotersRecord),
}
"""By the type in the key of a control record: the word of the script, and the table of the value."""


class Decoded(NamedTuple):
    """Key and payload as text; None for what the script does not print."""

    key: str | None
    payload: str | None


def has_decoder(topic: str) -> bool:
    """Whether the script has a decoder for the topic."""
    return topic == _METADATA or topic.removeprefix("__") in KINDS


def decoded(topic: str, record: Record, *, show_secrets: bool) -> Decoded:
    """A record of an internal topic; what cannot be decoded is said in place of it, as the script does."""
    if topic == _METADATA:
        return Decoded(None, _metadata(record, show_secrets=show_secrets))
    try:
        return _coordinator(KINDS[topic.removeprefix("__")], record)
    except ProtocolError as error:
        return Decoded(f"Error at offset {record.offset}, skipping. {error.why or error.what}", None)


def control_text(kind: int, value: bytes) -> str:
    """A control record of KRaft; one that has no table, or is none of its kind, has only its number."""
    word, cls = _CONTROL.get(kind, ("", None))
    if word and len(value) >= 2:
        version = min(unpack_from(">h", value)[0], cls.versions[1])
        try:
            return f"{word} {_text(_fields(struct_of(cls, value, 0, version, 0), version))}"
        except ProtocolError:
            pass
    return f"controlType: UNKNOWN({kind})"


def _metadata(record: Record, *, show_secrets: bool) -> str:
    try:
        _, number, version, start = metadata_head(record.value or b"")
        cls: Any = metadata_records.KINDS.get(number)
        if cls is None or not cls.versions[0] <= version <= cls.versions[1]:
            raise ProtocolError(f"type {number} in version {version} is not known")
        found = struct_of(cls, record.value or b"", start, version, cls.flexible)
    except ProtocolError as error:
        return f"Error at {record.offset}, skipping. {error.why or error.what}"
    data: Any = _fields(found, version)
    if not show_secrets:
        data = without_secrets({"name": cls.__name__.removesuffix("Record"), "data": data})["data"]
    return _text({"type": _upper(cls.__name__), "version": version, "data": data})


def _coordinator(kinds: Mapping[int, RecordKind], record: Record) -> Decoded:
    number = type_number(record.key or b"")
    kind = kinds.get(number)
    if kind is None:
        return Decoded(f"Unknown record type {number} at offset {record.offset}, skipping.", None)
    key = _fields(struct_of(kind.key, record.key or b"", 2, 0, NEVER), 0)
    payload = "<DELETE>" if record.value is None else _value(kind, record.value)
    return Decoded(_text({"type": str(number), "data": key}), payload)


def _value(kind: RecordKind, value: bytes) -> str:
    version = type_number(value)
    cls: Any = kind.value
    if not cls.versions[0] <= version <= cls.versions[1]:
        raise ProtocolError(f"{cls.__name__} in version {version} is not known")
    found = struct_of(cls, value, 2, version, cls.flexible)
    data = _fields(found, version)
    if isinstance(found, TransactionLogValue):
        status = found.transaction_status
        data["transactionStatus"] = TRANSACTION_STATES.get(status, status)
    elif isinstance(found, GroupMetadataValue) and found.protocol_type == PROTOCOL_TYPE:
        for member, shown in zip(found.members, data["members"], strict=True):
            _show(shown, "subscription", bytes(member.subscription), ConsumerProtocolSubscription)
            _show(shown, "assignment", bytes(member.assignment), ConsumerProtocolAssignment)
    return _text({"version": str(version), "data": data})


def _show(shown: dict[str, Any], part: str, data: bytes, cls: Any) -> None:
    """Replaces bytes that members exchange by what they say; those of another kind of clients stay."""
    if len(data) < 2:
        return
    version = unpack_from(">h", data)[0]
    try:
        if 0 <= version <= cls.versions[1]:
            found, _ = compiler.decode(cls, memoryview(data), 2, version, flexible=False)
            shown[part] = _fields(found, version)
    except ProtocolError:
        return


def _fields(found: Struct, version: int) -> dict[str, Any]:
    """The fields that a version has, as Kafka's converters write them: tagged ones only where they are set."""
    fields = {}
    for row in found.fields:
        value = getattr(found, row.name)
        if row.present(version) and not (row.tag is not None and value == row.default_value()):
            fields[_camel(row.name)] = _plain(value, row.type, version)
    return fields


def _plain(value: Any, kind: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_plain(item, kind.element, version) for item in value]
    if isinstance(kind, type):
        return _fields(value, version)
    if kind == UUID:
        return urlsafe_b64encode(value).decode().rstrip("=")
    return b64encode(value).decode() if isinstance(value, bytes | memoryview) else value


def _camel(name: str) -> str:
    first, *others = name.replace("kraft", "k_raft").split("_")
    return first + "".join(map(str.capitalize, others))


def _upper(name: str) -> str:
    return "".join(f"_{char}" if char.isupper() else char.upper() for char in name).lstrip("_")


def _text(value: Any) -> str:
    """JSON as the script writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f'"{key}":{_text(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return _double(value) if isinstance(value, float) else compact(value)


def _double(value: float) -> str:
    """As Java writes it: with an exponent from ten million on, and below a thousandth."""
    if value == 0 or 1e-3 <= abs(value) < 1e7 or not isfinite(value):
        return compact(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    first, others = digits[0], "".join(map(str, digits[1:])).rstrip("0") or "0"
    return f"{'-' * sign}{first}.{others}E{int(exponent) + len(digits) - 1}"
