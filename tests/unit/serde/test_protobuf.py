"""Protobuf values as JSON: the standard mapping, messages found by path and name, files, references, garbage."""

import base64
import functools
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.json_text import dump_json
from kcli.serde.protobuf.protoc import compile_texts
from kcli.serde.serde import Serde, SerdeContext
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import PLACE, serde

TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";
import "google/type/date.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
message First { int32 a = 1; }
message Order {
  int64 id = 1 [(confluent.field_meta).doc = "which one"];
  string customer_name = 2;
  bytes blob = 3;
  double price = 4;
  float ratio = 5;
  repeated string tags = 6;
  map<string, int32> counts = 7;
  enum Kind { NONE = 0; BIG = 1; }
  Kind kind = 8;
  oneof where { string city = 9; int32 zip = 10; }
  message Line { uint64 n = 1; message Deep { bool x = 1; } Deep deep = 2; }
  Line line = 11;
  google.protobuf.Timestamp at = 12;
  google.protobuf.Int64Value maybe = 13;
  google.protobuf.Any any = 14;
  google.type.Date day = 15;
  confluent.type.Decimal amount = 16;
  optional int32 count = 17;
  Order inner = 18;
}
"""
FULL = {
    "id": str(2**62),
    "customerName": "é",
    "blob": "AP8=",
    "price": "NaN",
    "ratio": 0.1,
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "kind": "BIG",
    "zip": 0,
    "line": {"n": str(2**64 - 1), "deep": {"x": True}},
    "at": "2026-11-21T10:30:00.123456789Z",
    "maybe": "7",
    "day": {"year": 2026, "month": 11, "day": 21},
    "amount": {"value": "AQ==", "precision": 4, "scale": 2},
    "count": 0,
}
EMPTY = {
    "id": "0", "customerName": "", "blob": "", "price": 0.0, "ratio": 0.0, "tags": [], "counts": {}, "kind": "NONE",
}  # fmt: skip


@pytest.fixture(scope="module")
def content() -> FakeRegistry:
    found = FakeRegistry()
    found.register("topic-value", {"schema": TEXT, "schemaType": "PROTOBUF"})
    return found


def ours(content: FakeRegistry, arguments: str = "") -> Serde:
    return serde(f"protobuf:message=shop.Order{arguments}", content)


def test_values_come_back(content: FakeRegistry) -> None:
    one = ours(content)
    data = one.encode(FULL, PLACE)
    assert data[:7] == b"\0\0\0\0\1\2\2"  # one index: the second message
    assert one.decode(data, PLACE) == FULL
    assert one.encode_text(one.decode_text(data, PLACE).encode(), PLACE) == data


def test_fields_that_cannot_distinguish_absent_from_zero_are_shown(content: FakeRegistry) -> None:
    one = ours(content)
    assert one.decode(one.encode({}, PLACE), PLACE) == EMPTY


@pytest.mark.parametrize("name", ["price", "ratio"])
def test_a_negative_zero_keeps_its_sign(content: FakeRegistry, name: str) -> None:
    one = ours(content)
    data = one.encode_text(b'{"%s": -0.0, "id": -0.0}' % name.encode(), PLACE)
    assert b'"%s":-0.0' % name.encode() in one.decode_text(data, PLACE).encode().replace(b": ", b":")
    assert data != one.encode({}, PLACE)


def test_names_as_in_the_proto_file(content: FakeRegistry) -> None:
    one = ours(content, ",names=proto")
    data = one.encode({"customer_name": "x"}, PLACE)
    assert one.decode(data, PLACE)["customer_name"] == "x"
    assert ours(content).encode({"customerName": "x"}, PLACE) == data


def test_the_first_message_is_written_unless_another_is_named(content: FakeRegistry) -> None:
    assert serde("protobuf", content).encode({"a": 1}, PLACE) == b"\0\0\0\0\1\0\x08\1"


@pytest.mark.parametrize(
    ("message", "path", "value"),
    [
        ("shop.Order.Line", b"\4\2\2", {"n": "1"}),
        ("shop.Order.Line.Deep", b"\6\2\2\0", {"x": True}),
    ],
)
def test_nested_messages_are_found_by_their_path(
    content: FakeRegistry, message: str, path: bytes, value: Any
) -> None:
    data = serde(f"protobuf:message={message}", content).encode(value, PLACE)
    assert data[5 : 5 + len(path)] == path
    assert serde("protobuf", content).decode(data, PLACE) == value


def test_a_path_to_nowhere_is_a_decode_error(content: FakeRegistry) -> None:
    with pytest.raises(DecodeError, match="no message 9"):
        serde("protobuf", content).decode(b"\0\0\0\0\1\2\x12", PLACE)


def test_a_missing_message_type_is_reported_with_those_that_exist(content: FakeRegistry) -> None:
    with pytest.raises(ConfigError, match=r"there are shop\.First, shop\.Order"):
        serde("protobuf:message=shop.Nothing", content).prepare("topic", "value")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"idd": 1}, "idd"),
        ({"id": "x"}, "id"),
        ({"id": 2**63}, "id"),
        ({"kind": "HUGE"}, "HUGE"),
        ({"blob": "a"}, "blob"),
        ({"zip": 1, "city": "x"}, "where"),
        ({"at": "yesterday"}, "at"),
        ([], "shop.Order"),
        (None, "shop.Order"),
        ("x", "shop.Order"),
    ],
)
def test_what_does_not_fit_is_reported(content: FakeRegistry, value: Any, why: str) -> None:
    with pytest.raises(EncodeError) as caught:
        ours(content).encode(value, PLACE)
    assert why in caught.value.why


BYTES = """
syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/wrappers.proto";
message M {
  bytes b = 1; repeated bytes all = 2; map<string, bytes> by_name = 3; google.protobuf.BytesValue maybe = 4;
  google.protobuf.Any any = 5; repeated M inner = 6; map<string, M> inner_by = 7; string text = 8;
}
"""


@pytest.mark.parametrize("text", ["!!!!", "no base64", "QQ==QQ", "QR==", "A", "é", "QQ\n"])
@pytest.mark.parametrize(
    "place", ["b", "all", "byName", "by_name", "maybe", "any", "any of bytes", "inner", "inner_by"]
)
def test_bytes_that_are_not_base64_are_refused_wherever_they_stand(text: str, place: str) -> None:
    one = bytes_serde()
    with pytest.raises(EncodeError) as caught:
        one.encode(bytes_at(place, text), PLACE)
    assert "base64" in caught.value.why or "padding" in caught.value.why or "ASCII" in caught.value.why


@pytest.mark.parametrize(
    ("text", "back"), [("", ""), ("QQ", "QQ=="), ("QQ=", "QQ=="), ("-_8", "+/8="), ("+/8=", "+/8=")]
)
@pytest.mark.parametrize("place", ["b", "all", "byName", "maybe", "any", "any of bytes", "inner", "innerBy"])
def test_bytes_are_read_in_each_form_of_base64(text: str, back: str, place: str) -> None:
    one = bytes_serde()
    read = one.decode(one.encode({"text": "no base64", **bytes_at(place, text)}, PLACE), PLACE)
    assert read == one.decode(one.encode({"text": "no base64", **bytes_at(place, back)}, PLACE), PLACE)
    assert not back or back in dump_json(read)


@functools.cache  # it compiles the schema
def bytes_serde() -> Serde:
    content = FakeRegistry()
    content.register("topic-value", {"schema": BYTES, "schemaType": "PROTOBUF"})
    return serde("protobuf", content)


def bytes_at(place: str, text: str) -> dict[str, Any]:
    return {
        "b": {"b": text},
        "all": {"all": ["AA==", text]},
        "byName": {"byName": {"x": text}},
        "by_name": {"by_name": {"x": text}},
        "maybe": {"maybe": text},
        "any": {"any": {"@type": "type.googleapis.com/M", "b": text}},
        "any of bytes": {"any": {"@type": "type.googleapis.com/google.protobuf.BytesValue", "value": text}},
        "inner": {"inner": [{"inner": [{"b": text}]}]},
        "inner_by": {"inner_by": {"x": {"b": text}}},
        "innerBy": {"innerBy": {"x": {"b": text}}},
    }[place]


def test_an_any_of_an_unknown_type_is_a_decode_error(content: FakeRegistry) -> None:
    one = ours(content)
    data = b"\0\0\0\0\1\2\2" + b"\x72\x0a" + b"\x0a\x08x.io/a.B"
    with pytest.raises(DecodeError, match="does not fit schema 1"):
        one.decode(data, PLACE)


def test_garbage_is_a_value_or_a_decode_error(content: FakeRegistry) -> None:
    one = ours(content)
    whole, dice = one.encode({**FULL, "inner": FULL}, PLACE), random.Random(5)

    @given(st.binary(max_size=60))
    def garbage(data: bytes) -> None:
        with suppress(DecodeError):
            dump_json(one.decode(b"\0\0\0\0\1" + data, PLACE)).encode()

    garbage()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 5)):
            data[dice.randrange(5, len(data))] = dice.randrange(256)
        with suppress(DecodeError):
            dump_json(one.decode(bytes(data), PLACE)).encode()


def test_messages_nested_beyond_the_limit_are_a_decode_error(content: FakeRegistry) -> None:
    data = b""
    for _ in range(2_000):
        size, head = len(data), bytearray()
        while size > 0x7F:
            head.append(size & 0x7F | 0x80)
            size >>= 7
        data = b"\x92\x01" + bytes(head) + bytes([size]) + data
    with pytest.raises(DecodeError):
        ours(content).decode(b"\0\0\0\0\1\2\2" + data, PLACE)


# --- schemas ---------------------------------------------------------------------------------------------------


def test_references_are_linked_as_text_and_compiled() -> None:
    found = FakeRegistry()
    base = 'syntax = "proto3"; package b; message Base { int32 n = 1; }'
    found.register("base", {"schema": base, "schemaType": "PROTOBUF"})
    top = 'syntax = "proto3"; import "lib/base.proto"; message Top { b.Base base = 1; }'
    references = [{"name": "lib/base.proto", "subject": "base", "version": 1}]
    found.register("topic-value", {"schema": top, "schemaType": "PROTOBUF", "references": references})
    one = serde("protobuf", found)
    value = {"base": {"n": 5}}
    assert one.decode(one.encode(value, PLACE), PLACE) == value
    assert any("format=serialized" in asked for asked in found.asked)


class TextOnly(FakeRegistry):
    """A registry that does not know ``format=serialized``."""

    def answer(self, method: str, path: str, query: Any, body: Any) -> Any:
        return super().answer(method, path, {}, body)


def test_a_registry_that_has_text_only() -> None:
    found = TextOnly()
    found.register("topic-value", {"schema": TEXT, "schemaType": "PROTOBUF"})
    one = ours(found)
    assert one.decode(one.encode(FULL, PLACE), PLACE) == FULL


@pytest.mark.parametrize(
    ("schema", "references", "why"),
    [
        ("message {", {}, "kcli-main.proto"),
        ('syntax = "proto3"; import "nobody.proto"; message A {}', {}, "nobody.proto"),
        ("CgF4", {}, "no message"),
        ("////", {}, "cannot be read"),
        ('syntax = "proto3"; message A {}', {"../../etc/x.proto": "message B {}"}, "no file to import"),
        ('syntax = "proto3"; message A {}', {"/x.proto": "message B {}"}, "no file to import"),
        ('syntax = "proto3"; message A { B b = 1; }', {}, "not defined"),
    ],
)
def test_schemas_that_cannot_be_used_are_reported(schema: str, references: dict[str, str], why: str) -> None:
    found, rows = TextOnly(), []
    for name, text in references.items():
        found.register(name, {"schema": text, "schemaType": "PROTOBUF"})
        rows.append({"name": name, "subject": name, "version": 1})
    found.register("topic-value", {"schema": schema, "schemaType": "PROTOBUF", "references": rows})
    number = found.subjects["topic-value"][0].stored.id
    with pytest.raises(DecodeError) as caught:
        serde("protobuf", found).decode(b"\0\0\0\0" + bytes([number]) + b"\0", PLACE)
    assert why in caught.value.why
    assert caught.value.schema_id == number


def test_proto2_with_required_fields_and_groups() -> None:
    text = """syntax = "proto2"; message Old {
      required int32 must = 1; optional string may = 2 [default = "d"];
      optional group Grp = 3 { optional int32 x = 4; } }"""
    found = FakeRegistry()
    found.register("topic-value", {"schema": text, "schemaType": "PROTOBUF"})
    one = serde("protobuf", found)
    value = {"must": 1, "grp": {"x": 2}}
    assert one.decode(one.encode(value, PLACE), PLACE) == value
    with pytest.raises(EncodeError, match="must"):
        one.encode({"may": "x"}, PLACE)


# --- files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def proto_file(tmp_path: Path) -> Path:
    (tmp_path / "other.proto").write_text('syntax = "proto3"; message Other { int32 n = 1; }')
    path = tmp_path / "top.proto"
    path.write_text(
        'syntax = "proto3"; package p; import "other.proto"; message A { Other o = 1; } message B { int32 x = 1; }'
    )
    return path


def test_a_proto_file_needs_no_registry(proto_file: Path) -> None:
    one = serde(f"protobuf:file={proto_file},message=p.A")
    data = one.encode({"o": {"n": 1}}, PLACE)
    assert data == b"\x0a\2\x08\1"
    assert one.decode(data, PLACE) == {"o": {"n": 1}}
    with pytest.raises(DecodeError, match=r"does not fit .*top\.proto"):
        one.decode(b"\xff", PLACE)


def test_a_file_with_several_messages_asks_which(proto_file: Path) -> None:
    with pytest.raises(ConfigError, match=r"say which with message=NAME: p\.A, p\.B"):
        serde(f"protobuf:file={proto_file}")


def test_a_file_reads_framed_records_too(proto_file: Path) -> None:
    one = serde(f"protobuf:file={proto_file},message=p.B,framing=confluent", FakeRegistry())
    assert one.decode(b"\0\0\0\0\x09\0\x08\5", PLACE) == {"x": 5}


def test_imports_are_found_in_folders(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "x.proto").write_text('syntax = "proto3"; message X { int32 n = 1; }')
    path = tmp_path / "top.proto"
    path.write_text('syntax = "proto3"; import "x.proto"; message A { X x = 1; }')
    one = serde(f"protobuf:file={path},import={tmp_path}:{tmp_path / 'lib'}")
    assert one.encode({"x": {"n": 1}}, PLACE) == b"\x0a\2\x08\1"
    with pytest.raises(ConfigError, match=r"x\.proto"):
        serde(f"protobuf:file={path}")


def test_a_set_of_descriptors(tmp_path: Path) -> None:
    path = tmp_path / "set.desc"
    path.write_bytes(compile_texts({"a.proto": TEXT}, "a.proto"))
    one = serde(f"protobuf:file={path},message=shop.Order")
    assert one.decode(one.encode(FULL, PLACE), PLACE) == FULL


@pytest.mark.parametrize("data", [b"", b"\xff\xff", b"plain text"])
def test_a_file_that_is_no_set_is_a_config_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "set.desc"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="cannot use the schema in"):
        serde(f"protobuf:file={path}")


def test_a_file_that_is_not_there_is_a_config_error() -> None:
    for name in ("no-such.proto", "no-such.desc"):
        with pytest.raises(ConfigError, match="No such file"):
            serde(f"protobuf:file={name}")


def test_a_file_is_registered_when_asked(tmp_path: Path) -> None:
    path, found = tmp_path / "a.proto", FakeRegistry()
    path.write_text('syntax = "proto3"; package p; message A { int32 x = 1; }')
    one = serde(f"protobuf:file={path},register=true,strategy=topic-record", found)
    assert one.encode({"x": 1}, PLACE) == b"\0\0\0\0\1\0\x08\1"
    assert list(found.subjects) == ["topic-p.A"]
    compiled = tmp_path / "a.desc"
    compiled.write_bytes(compile_texts({"a.proto": path.read_text()}, "a.proto"))
    assert serde(f"protobuf:file={compiled},register=true", found).encode({}, SerdeContext("other"))
    base64.b64decode(found.subjects["other-value"][0].body["schema"], validate=True)
