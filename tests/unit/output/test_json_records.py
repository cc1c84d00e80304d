"""A record as JSON, with nothing lost: bytes, nulls, repeats, odd times."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.types import Record
from kcli.output.record_data import NdjsonFormatter
from kcli.output.template import rfc3339
from tests.batches import fetched_of
from tests.unit.output.plain_json import record_dict

pytestmark = pytest.mark.case("C11")


def shown(**fields: Any) -> dict[str, Any]:
    wishes = {"topic": "t", "partition": 0, "offset": 5, "timestamp": 1000, "timestamp_type": 0, "key": None}
    return written(Record(**{**wishes, "value": None, **fields}))


def written(record: Record) -> dict[str, Any]:
    """What ndjson writes of the record: byte by byte what the plain twin and msgspec would."""
    found = NdjsonFormatter().batch(fetched_of([record]), None, b"")
    assert found.count == 1
    assert found.data == msgspec.json.encode(record_dict(record)) + b"\n"
    read: dict[str, Any] = json.loads(found.data)
    return read


def test_a_whole_record() -> None:
    record = Record("orders", 3, 42, 1_700_000_000_123, 1, b"k", "wörd".encode(), (("h", b"1"),), 7)
    assert written(record) == {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_700_000_000_123,
        "timestamp_type": "LogAppendTime",
        "time": "2023-11-14T22:13:20.123Z",
        "key": "k",
        "value": "wörd",
        "headers": [["h", "1"]],
        "leader_epoch": 7,
    }


def test_the_keys_are_always_the_same() -> None:
    full = {"key": b"k", "value": b"v", "headers": (("a", b"b"),), "leader_epoch": 3}
    assert list(shown()) == list(shown(**full))


def test_null_and_empty_are_distinguished() -> None:
    assert (shown()["key"], shown()["value"]) == (None, None)
    assert (shown(key=b"")["key"], shown(value=b"")["value"]) == ("", "")
    assert "key_encoding" not in shown(key=b"")


@pytest.mark.parametrize("field", ["key", "value"])
@pytest.mark.parametrize("data", [b"\xff", b"ok\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_bytes_that_are_not_utf8_are_base64_and_say_so(field: str, data: bytes) -> None:
    found = shown(**{field: data})
    assert found[f"{field}_encoding"] == "base64"
    assert base64.b64decode(found[field]) == data


@pytest.mark.parametrize(
    "data", [b"plain", "\U0001f600".encode(), b"\x00\x1f\x7f", "\ufeffbom".encode(), b"aGk="]
)
def test_text_stays_text(data: bytes) -> None:
    found = shown(value=data)
    assert found["value"].encode() == data
    assert "value_encoding" not in found


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (("n", b"v"), ["n", "v"]),
        (("n", None), ["n", None]),
        (("n", b""), ["n", ""]),
        (("", b""), ["", ""]),
        (("n", b"\xff"), ["n", "/w==", "base64"]),
        ((b"\xff", b"v"), ["/w==", "v", None, "base64"]),
        ((b"\xff", None), ["/w==", None, None, "base64"]),
        ((b"\xff", b"\xfe"), ["/w==", "/g==", "base64", "base64"]),
        ((b"text", b"v"), ["text", "v"]),
    ],
)
def test_headers(header: Any, row: list[Any]) -> None:
    assert shown(headers=(header,))["headers"] == [row]


def test_repeated_headers_keep_their_order() -> None:
    headers = (("a", b"2"), ("b", b""), ("a", b"1"), ("a", b"2"))
    assert shown(headers=headers)["headers"] == [["a", "2"], ["b", ""], ["a", "1"], ["a", "2"]]


@pytest.mark.parametrize(
    ("timestamp", "time"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (999, "1970-01-01T00:00:00.999Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, None),
        (9_223_372_036_854_775_807, None),
        (-1, None),
        (-(2**63), None),
    ],
)
def test_times(timestamp: int, time: str | None) -> None:
    assert rfc3339(timestamp) == time
    assert shown(timestamp=timestamp)["time"] == time


@pytest.mark.case("F17")
@pytest.mark.parametrize("timestamp", [0, 253_402_300_800_000, 9_223_372_036_854_775_807])
def test_a_time_without_a_calendar_stays_a_number(timestamp: int) -> None:
    assert shown(timestamp=timestamp)["timestamp"] == timestamp


def test_no_timestamp_and_no_epoch_are_null() -> None:
    found = shown(timestamp=-1)
    assert (found["timestamp"], found["time"], found["leader_epoch"]) == (None,) * 3


TEXT = st.text(max_size=30).map(str.encode)


@pytest.mark.case("X23")
@given(
    key=st.none() | st.binary(max_size=30) | TEXT,
    value=st.none() | st.binary(max_size=30) | TEXT,
    headers=st.lists(
        st.tuples(st.text(max_size=5) | st.just(b"\xff"), st.none() | st.binary(max_size=5)), max_size=3
    ),
    timestamp=st.integers(-1, 2**63 - 1),
)
def test_any_record_can_be_read_back(
    key: bytes | None, value: bytes | None, headers: list[Any], timestamp: int
) -> None:
    record = Record("t", 0, 0, timestamp, 0, key, value, tuple(headers))
    found = written(record)
    assert back(found["key"], found.get("key_encoding")) == key
    assert back(found["value"], found.get("value_encoding")) == value
    names = [name.encode() if isinstance(name, str) else name for name, _ in headers]
    rows = [(*row, None, None)[:4] for row in found["headers"]]
    assert [back(row[0], row[3]) for row in rows] == names
    assert [back(row[1], row[2]) for row in rows] == [data for _, data in headers]
    assert (found["timestamp"] if found["timestamp"] is not None else -1) == timestamp


def back(text: str | None, encoding: str | None) -> bytes | None:
    if text is None:
        return None
    return base64.b64decode(text) if encoding == "base64" else text.encode()
