"""Records of internal topics as Kafka's own tool prints them. Real ones: tests/integration/test_segments_command.py."""

import struct

import pytest

from kcli.core.types import Record
from kcli.flows.segments.kafka_json import Decoded, control_text, decoded

ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def stored(key: bytes | None, value: bytes | None) -> Record:
    return Record("t", 0, 7, 0, 0, key, value, ())


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def compact(value: bytes) -> bytes:
    return bytes([len(value) + 1]) + value


LEADER = (
    struct.pack(">hi", 0, 1) + b"\2" + struct.pack(">i", 1) + b"\0" + b"\2" + struct.pack(">i", 1) + b"\0\0"
)
VOTERS = (
    b"\0\0" + b"\2" + struct.pack(">i", 1) + ID + b"\2" + compact(b"C") + compact(b"h") + b"\x23\x85\0"
    + b"\0\0\0\1\0" + b"\0" + b"\0"
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (2, LEADER, 'LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}'),
        (3, b"\0\0" + struct.pack(">q", 5) + b"\0", 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":5}'),
        (4, b"\0\0\0", 'SnapshotFooter {"version":0}'),
        (5, b"\0\0\0\1\0", 'KRaftVersion {"version":0,"kRaftVersion":1}'),
        (
            6, VOTERS,
            f'KRaftVoters {{"version":0,"voters":[{{"voterId":1,"voterDirectoryId":"{ID_TEXT}","endpoints":[{{"name":"C",'
            '"host":"h","port":9093}],"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}',
        ),
        (4, b"\0", "controlType: UNKNOWN(4)"),
        (9, b"\0\0", "controlType: UNKNOWN(9)"),
    ],
)  # fmt: skip
def test_control_records_of_kraft(kind: int, value: bytes, expected: str) -> None:
    assert control_text(kind, value) == expected


OFFSET_KEY = b"\0\1" + text("g") + text("t") + struct.pack(">i", 2)
OFFSET_KEY_TEXT = '{"type":"1","data":{"group":"g","topic":"t","partition":2}}'
OFFSET = b"\0\3" + struct.pack(">qi", 5, 1) + text("") + struct.pack(">q", 9)
QUOTA = b"\1\x0e\0" + b"\2" + compact(b"user") + compact(b"a") + b"\0" + compact(b"request_percentage")


@pytest.mark.parametrize(
    ("topic", "key", "value", "expected"),
    [
        (
            "__consumer_offsets", OFFSET_KEY, OFFSET,
            (OFFSET_KEY_TEXT, '{"version":"3","data":{"offset":5,"leaderEpoch":1,"metadata":"","commitTimestamp":9}}'),
        ),
        ("__consumer_offsets", OFFSET_KEY, None, (OFFSET_KEY_TEXT, "<DELETE>")),
        ("__consumer_offsets", b"\0\x63x", b"", ("Unknown record type 99 at offset 7, skipping.", None)),
        ("__consumer_offsets", b"\0", b"", ("Error at offset 7, skipping. it has 1 bytes, less than a version", None)),
        ("__cluster_metadata", None, b"\1\x63\0", (None, "Error at 7, skipping. type 99 in version 0 is not known")),
        *(
            (
                "__cluster_metadata", None, QUOTA + struct.pack(">d", number) + b"\0\0",
                (
                    None,
                    '{"type":"CLIENT_QUOTA_RECORD","version":0,"data":{"entity":[{"entityType":"user","entityName":"a"}],'
                    f'"key":"request_percentage","value":{shown},"remove":false}}}}',
                ),
            )
            for number, shown in (
                (0.0, "0.0"), (1.5, "1.5"), (1e7, "1.0E7"), (123456789.0, "1.23456789E8"), (5e-4, "5.0E-4"),
                (9999999.5, "9999999.5"), (1e300, "1.0E300"), (-2.5e-9, "-2.5E-9"),
            )
        ),
    ],
)  # fmt: skip
def test_records_are_decoded(
    topic: str, key: bytes | None, value: bytes | None, expected: tuple[str | None, str | None]
) -> None:
    assert decoded(topic, stored(key, value), show_secrets=False) == Decoded(*expected)
