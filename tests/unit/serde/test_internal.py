"""What brokers keep in their own topics, as JSON: golden records, every table there and back, unknown kinds, garbage."""

import re
import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.group.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from kcli.core.protocol import compiler
from kcli.core.protocol.stored.group_records import (
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcli.core.protocol.stored.kinds import KINDS, RecordKind
from kcli.core.protocol.stored.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kcli.core.types import TopicPartition
from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.json_text import dump_json
from kcli.serde.serde import SerdeContext
from tests.unit.serde.schemas import serde

OFFSET_KEY = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 3)
KEY = SerdeContext("__consumer_offsets", "key")


def data_of(cls: Any, version: int, **fields: Any) -> bytes:
    body, _ = compiler.encode(cls(**fields), version, flexible=version >= getattr(cls, "flexible", 0x7FFF))
    return struct.pack(">h", version) + body


def value_of(topic: str, key: bytes, data: bytes) -> Any:
    return serde(topic, writing=False).decode(data, SerdeContext(f"__{topic}", "value", key=key))


def key_of(topic: str, data: bytes) -> Any:
    return serde(topic, writing=False).decode(data, SerdeContext(f"__{topic}", "key"))


def test_an_offset_commit() -> None:
    fields = {"group": "g", "topic": "t", "partition": 3}
    assert key_of("consumer_offsets", OFFSET_KEY) == {"type": 1, "name": "OffsetCommit", "data": fields}
    value = struct.pack(">hqih1sq", 3, 1000, 5, 1, b"m", 1732180000000)
    assert value_of("consumer_offsets", OFFSET_KEY, value) == {
        "version": 3,
        "name": "OffsetCommit",
        "data": {"offset": 1000, "leader_epoch": 5, "metadata": "m", "commit_timestamp": 1732180000000},
    }


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("number", [0, 1])
def test_offset_commits_of_every_version(number: int, version: int) -> None:
    key = struct.pack(">h", number) + OFFSET_KEY[2:]
    data = data_of(OffsetCommitValue, version, offset=7, metadata="", commit_timestamp=1, topic_id=bytes(16))
    found = value_of("consumer_offsets", key, data)["data"]
    assert found["offset"] == 7
    assert ("leader_epoch" in found, "expire_timestamp" in found) == (version >= 3, version == 1)
    assert found.get("topic_id", "-") == ("A" * 22 if version == 4 else "-")


def group(version: int, protocol_type: str, subscription: bytes, assignment: bytes) -> Any:
    member = MemberMetadata(
        member_id="m-1",
        client_id="c",
        client_host="/h",
        session_timeout=10,
        subscription=subscription,
        assignment=assignment,
    )
    fields = {"protocol_type": protocol_type, "generation": 4, "protocol": "range", "leader": "m-1"}
    data = data_of(GroupMetadataValue, version, members=[member], **fields)
    return value_of("consumer_offsets", b"\0\2\0\1g", data)["data"]


@pytest.mark.parametrize("version", range(5))
def test_the_members_of_a_consumer_group_are_listed(version: int) -> None:
    parts = (TopicPartition("t", 0), TopicPartition("t", 1))
    found = group(
        version, "consumer", encode_subscription(Subscription(("t",))), encode_assignment(Assignment(parts))
    )
    assert (found["generation"], found["leader"]) == (4, "m-1")
    (member,) = found["members"]
    assert member["subscription"] == {"topics": ["t"], "owned_partitions": []}
    assert member["assignment"] == {
        "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    }
    assert ("group_instance_id" in member) == (version >= 3)


def test_what_members_of_other_groups_say_stays_bytes() -> None:
    (member,) = group(3, "connect", b"\0\1", b"\xff")["members"]
    assert (member["subscription"], member["assignment"]) == ("AAE=", "/w==")
    (member,) = group(3, "consumer", b"\0\1", b"\xff")["members"]
    assert (member["subscription"], member["assignment"]) == ("AAE=", "/w==")


def test_one_part_of_a_member_that_cannot_be_read_leaves_the_other() -> None:
    kafka_go = bytes.fromhex("0001000000010001" + b"t".hex() + "ffffffff")
    (member,) = group(3, "consumer", kafka_go, b"\xff")["members"]
    assert (member["subscription"], member["assignment"]) == (
        {"topics": ["t"], "owned_partitions": []},
        "/w==",
    )
    (member,) = group(3, "consumer", b"\0\1", encode_assignment(Assignment()))["members"]
    assert (member["subscription"], member["assignment"]) == ("AAE=", {"partitions": []})


@pytest.mark.parametrize("version", [0, 1])
def test_a_transaction(version: int) -> None:
    key = data_of(TransactionLogKey, 0, transactional_id="tx")
    assert key_of("transaction_state", key) == {
        "type": 0,
        "name": "TransactionLog",
        "data": {"transactional_id": "tx"},
    }
    data = data_of(
        TransactionLogValue,
        version,
        producer_id=5,
        producer_epoch=2,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 1])],
        next_producer_id=9,
    )
    found = value_of("transaction_state", key, data)
    assert (found["version"], found["name"]) == (version, "TransactionLog")
    assert found["data"]["transaction_status"] == "Ongoing"
    assert found["data"]["transaction_partitions"] == [{"topic": "t", "partition_ids": [0, 1]}]
    assert found["data"].get("next_producer_id") == (9 if version else None)


def test_a_status_that_is_unknown_stays_a_number() -> None:
    key = data_of(TransactionLogKey, 0, transactional_id="tx")
    data = data_of(TransactionLogValue, 0, transaction_status=99, transaction_partitions=None)
    found = value_of("transaction_state", key, data)["data"]
    assert (found["transaction_status"], found["transaction_partitions"]) == (99, None)


@pytest.mark.parametrize(
    ("topic", "kind"),
    [(topic, kind) for topic, kinds in KINDS.items() for kind in kinds.values()],
    ids=lambda case: case.name if isinstance(case, RecordKind) else case,
)
def test_every_kind_is_read(topic: str, kind: RecordKind) -> None:
    body, _ = compiler.encode(kind.key(), 0, flexible=False)
    key = struct.pack(">h", kind.number) + body
    found = key_of(topic, key)
    assert (found["type"], found["name"]) == (kind.number, kind.name)
    cls: Any = kind.value
    for version in range(cls.versions[0], cls.versions[1] + 1):
        value = value_of(topic, key, data_of(cls, version))
        assert value["name"] == kind.name
        assert list(value["data"]) == [row.name for row in cls.fields if row.present(version)]
        dump_json(value)


def test_a_member_of_the_consumer_protocol() -> None:
    """A record of librdkafka's member: the last field, tagged, is a struct that is null, in one byte 00."""
    key = b"\0\5" + b"\0\1g" + b"\0\1m"
    value = bytes.fromhex(
        "000005692fc3bc000872646b61666b610b2f3132372e302e302e31020461637401000493e00001000100"
    )
    assert value_of("consumer_offsets", key, value)["data"] == {
        "instance_id": "i/ü",
        "rack_id": None,
        "client_id": "rdkafka",
        "client_host": "/127.0.0.1",
        "subscribed_topic_names": ["act"],
        "subscribed_topic_regex": "",
        "rebalance_timeout_ms": 300000,
        "server_assignor": None,
        "classic_member_metadata": None,
    }


def test_what_a_newer_broker_wrote_keeps_its_bytes() -> None:
    raw = {"data": "eHk=", "data_encoding": "base64"}
    assert key_of("consumer_offsets", b"\0\x2axy") == {"type": 42, **raw}
    assert value_of("consumer_offsets", b"\0\x2axy", b"\0\7xy") == {"version": 7, **raw}
    found = value_of("consumer_offsets", OFFSET_KEY, b"\0\7xy")
    assert found == {"version": 7, "name": "OffsetCommit", **raw}


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", OFFSET_KEY + b"x", b"\0\1\0\1\xff\0\1t\0\0\0\0"])
def test_a_malformed_key_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        key_of("consumer_offsets", data)


def test_a_value_without_its_key_is_a_decode_error() -> None:
    with pytest.raises(DecodeError, match="its key"):
        serde("consumer_offsets", writing=False).decode(b"\0\0", SerdeContext("t"))


@given(st.integers(-1, 25), st.binary(max_size=60), st.integers(0, 5), st.binary(max_size=80))
@pytest.mark.parametrize("topic", KINDS)
def test_garbage_is_a_value_or_a_decode_error(
    topic: str, number: int, key: bytes, version: int, data: bytes
) -> None:
    whole = struct.pack(">h", number) + key
    with suppress(DecodeError):
        dump_json(key_of(topic, whole)).encode()
    with suppress(DecodeError):
        dump_json(value_of(topic, whole, struct.pack(">h", version) + data)).encode()


METADATA = SerdeContext("__cluster_metadata", "value")


def test_a_record_of_the_metadata_log() -> None:
    """Frame 1, type 2, version 0, the name, the id, no tagged fields."""
    one = serde("cluster_metadata", writing=False)
    assert one.decode(b"\1\2\0\7orders" + bytes(15) + b"\1" + b"\0", METADATA) == {
        "type": 2,
        "version": 0,
        "name": "Topic",
        "data": {"name": "orders", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"},
    }
    raw = {"data": "eHk=", "data_encoding": "base64"}
    assert one.decode(b"\1\x7f\0xy", METADATA) == {"type": 127, "version": 0, **raw}
    assert one.decode(b"\1\2\7xy", METADATA) == {"type": 2, "version": 7, "name": "Topic", **raw}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "before its fields"),
        (b"\1\2", "before its fields"),
        (b"\2\2\0", "version 2"),
        (b"\1\2\0\7ord", "while reading|only"),
        (b"\1\x14\0\0x", "left"),
    ],
)
def test_a_malformed_record_of_the_metadata_log(data: bytes, why: str) -> None:
    with pytest.raises(DecodeError) as error:
        serde("cluster_metadata", writing=False).decode(data, METADATA)
    assert re.search(why, str(error.value))


def test_the_metadata_log_has_no_keys_and_is_only_read() -> None:
    one = serde("cluster_metadata", writing=False)
    with pytest.raises(DecodeError, match="have none"):
        one.decode(b"k", SerdeContext("__cluster_metadata", "key"))
    with pytest.raises(EncodeError, match="cannot be written"):
        one.encode({}, METADATA)


def test_nothing_is_written() -> None:
    one = serde("consumer_offsets", writing=False)
    assert not one.can_encode
    with pytest.raises(EncodeError, match="cannot be written"):
        one.encode({}, KEY)
    assert OffsetCommitKey.fields
