"""How records name their schema, and whose framing it is when it is not Confluent's."""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.serde.errors import DecodeError
from kcli.serde.framing import Framed, frame, schema_id_of, unframe
from kcli.serde.serde import SerdeContext
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import serde

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")
VALUE = SerdeContext("t")


def test_five_bytes_in_front() -> None:
    data = b"\0\0\0\1\0payload"
    assert unframe(data, VALUE) == Framed(256, b"payload")
    assert frame(256, b"payload") == data
    assert schema_id_of(data) == 256


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_guid_in_a_header(part: str) -> None:
    name = f"__{part}_schema_id"
    headers = (("other", b"x"), (name, b"\1" + GUID.bytes))
    assert unframe(b"payload", SerdeContext("t", part, headers)) == Framed(GUID, b"payload")
    assert schema_id_of(b"payload", headers, part) == GUID
    other = "value" if part == "key" else "key"
    assert schema_id_of(b"payload", headers, other) is None


def test_a_guid_in_front() -> None:
    data = b"\1" + GUID.bytes + b"payload"
    assert unframe(data, VALUE) == Framed(GUID, b"payload")
    assert schema_id_of(data) == GUID


@pytest.mark.parametrize("value", [None, b"", b"\1abc", b"\2" + GUID.bytes])
def test_an_invalid_header_is_passed_over(value: bytes | None) -> None:
    place = SerdeContext("t", "value", (("__value_schema_id", value),))
    assert unframe(b"\0\0\0\0\7x", place) == Framed(7, b"x")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ((0,), b"\0"),
        ((1,), b"\2\2"),
        ((2, 0, 3), b"\6\4\0\6"),
        ((64,), b"\2\x80\1"),
    ],
)
def test_the_path_of_a_protobuf_message(path: tuple[int, ...], data: bytes) -> None:
    assert frame(7, b"x", path) == b"\0\0\0\0\7" + data + b"x"
    assert unframe(b"\0\0\0\0\7" + data + b"x", VALUE, with_path=True) == Framed(7, b"x", path)


def test_the_long_form_of_the_first_message_and_a_path_behind_a_guid() -> None:
    assert unframe(b"\0\0\0\0\7\2\0x", VALUE, with_path=True).path == (0,)
    headers = (("__value_schema_id", b"\1" + GUID.bytes + b"\4\2\2"),)
    assert unframe(b"x", SerdeContext("t", "value", headers), with_path=True) == Framed(GUID, b"x", (1, 1))


@pytest.mark.parametrize("path", [b"", b"\1", b"\2", b"\2\1", b"\xff" * 9, b"\xfe\x07", b"\x80"])
def test_a_malformed_path_is_reported(path: bytes) -> None:
    with pytest.raises(DecodeError, match="which Protobuf message") as caught:
        unframe(b"\0\0\0\0\7" + path, VALUE, with_path=True)
    assert caught.value.schema_id == 7


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\3\0" + GUID.bytes + b"x", f"AWS Glue Schema Registry (schema version {GUID})"),
        (b"\3\5" + GUID.bytes + b"x", "compressed"),
        (bytes(8) + b"\x2a" + b"x", "Apicurio Registry with 8-byte ids (global id 42)"),
        (b"", "it is empty"),
        (b"\0\0", "it has 2 bytes"),
        (b'{"a":1}', "it begins with byte 0x7b"),
    ],
)
def test_other_framing_is_called_by_its_name(data: bytes, said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        unframe(data, VALUE)
    assert said in caught.value.why
    assert caught.value.do
    assert schema_id_of(data) is None


def test_null_names_no_schema() -> None:
    assert schema_id_of(None) is None


@given(st.binary(max_size=30), st.booleans())
def test_garbage_is_framed_or_a_decode_error(data: bytes, with_path: bool) -> None:
    schema_id = schema_id_of(data)
    try:
        assert unframe(data, VALUE, with_path=with_path).schema_id == schema_id
    except DecodeError:
        assert with_path or schema_id is None


@given(st.integers(1, 0xFFFF_FFFF), st.binary(), st.lists(st.integers(0, 1 << 20), min_size=1, max_size=6))
def test_frames_come_back(schema_id: int, payload: bytes, path: list[int]) -> None:
    assert unframe(frame(schema_id, payload), VALUE) == Framed(schema_id, payload)
    framed = unframe(frame(schema_id, payload, tuple(path)), VALUE, with_path=True)
    assert framed == Framed(schema_id, payload, tuple(path))


def test_a_serde_names_the_schema_of_bytes_that_it_cannot_decode(tmp_path: Path) -> None:
    (tmp_path / "s.avsc").write_text('"int"')
    framed, bare = serde("avro", FakeRegistry()), serde(f"avro:file={tmp_path / 's.avsc'}")
    assert (framed.names_schemas, bare.names_schemas, serde("int").names_schemas) == (True, False, False)
    data = b"\0\0\0\0\7garbage"
    assert framed.schema_id(data, SerdeContext("t")) == 7
    assert framed.schema_id(b"{}", SerdeContext("t")) is None
    assert bare.schema_id(data, SerdeContext("t")) is None
    assert serde("int").schema_id(data, SerdeContext("t")) is None
