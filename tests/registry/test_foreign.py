"""Records of AWS Glue's and Apicurio's serializers: their frames, their registries, and what cannot be read."""

import io
import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.core.types import Header
from kcli.serde.errors import DecodeError, RegistryAuthError, RegistryUnreachableError
from kcli.serde.foreign.wire import split_apicurio, split_glue
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
from kcli.serde.serde import Serde, SerdeContext
from tests.registry.apicurio import Apicurio, Artifact

PLACE = SerdeContext("t")
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "item", "type": "shop.Item"}],
}
ITEM = {"type": "record", "name": "shop.Item", "fields": [{"name": "n", "type": "int"}]}
WHOLE = {**ORDER, "fields": [ORDER["fields"][0], {"name": "item", "type": ITEM}]}  # type: ignore[index]
VALUE = {"id": 7, "item": {"n": 3}}
PROTO = """
syntax = "proto3";
package shop;
import "part.proto";
message Zebra { int32 z = 1; }
message Order { int32 id = 1; message Line { int32 n = 1; } lib.Part part = 2; }
"""
PART = 'syntax = "proto3"; package lib; message Part { string name = 1; }'
FLAT = PROTO.replace('import "part.proto";', "").replace("lib.Part part = 2;", "")


def avro(value: Any, schema: Any = WHOLE) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, _write_hint=False), value)
    return out.getvalue()


def opened(text: str, **options: Any) -> Serde:
    pairs = [(key_of(name), str(value), "") for name, value in options.items()]
    found = open_serdes(parse_serdes([text]), RegistryOptions.build(parse_registry_pairs(pairs))).value
    assert found is not None
    return found


# --- Apicurio ---------------------------------------------------------------------------------------------------------

ARTIFACTS = {
    "item": Artifact("AVRO", json.dumps(ITEM)),
    "order": Artifact("AVRO", json.dumps(ORDER), {"shop.Item": "item"}),
    "part": Artifact("PROTOBUF", PART),
    "proto": Artifact("PROTOBUF", PROTO, {"part.proto": "part"}),
    "json": Artifact("JSON", '{"type":"object","properties":{"a":{"type":"integer"}}}'),
    "wsdl": Artifact("WSDL", "<x/>"),
}
IDS = {name: number for number, name in enumerate(ARTIFACTS, start=1)}


def ref(name: str) -> bytes:
    inner = b"\x0a" + bytes([len(name)]) + name.encode()
    return bytes([len(inner)]) + inner


def long_id(name: str) -> bytes:
    return b"\0" + struct.pack(">q", IDS[name])


def short_id(name: str) -> bytes:
    return b"\0" + struct.pack(">i", IDS[name] + 100)


def in_header(name: str, kind: str = "globalId", offset: int = 0) -> tuple[Header, ...]:
    return ((f"apicurio.value.{kind}", struct.pack(">q", IDS[name] + offset)),)


@pytest.fixture(scope="module", params=["v2", "v3"])
def apicurio(request: pytest.FixtureRequest) -> Iterator[Apicurio]:
    with Apicurio(request.param, ARTIFACTS) as found:
        yield found


LINE = b"\x08\x05"
"""The field 1 is 5."""
RECORDS: dict[str, tuple[bytes, tuple[Header, ...], Any]] = {
    "8 bytes, a global id": (long_id("order") + avro(VALUE), (), VALUE),
    "4 bytes, the id of a content": (short_id("order") + avro(VALUE), (), VALUE),
    "a global id in a header": (avro(VALUE), in_header("order"), VALUE),
    "the id of a content in a header": (avro(VALUE), in_header("order", "contentId", 100), VALUE),
    "Avro as JSON": (
        b'{"id":7,"item":{"n":3}}',
        (*in_header("order"), ("apicurio.value.encoding", b"JSON")),
        VALUE,
    ),
    "a reference to the message": (long_id("proto") + ref("Zebra") + LINE, (), {"z": 5}),
    "the message in a header": (
        LINE,
        (*in_header("proto"), ("apicurio.protobuf.type", b"Zebra")),
        {"z": 5},
    ),
    "both": (ref("Order") + LINE, (*in_header("proto"), ("apicurio.protobuf.type", b"Order")), {"id": 5}),
    "no word of the message: the first": (short_id("proto") + LINE, (), {"z": 5}),
    "JSON": (long_id("json") + b'{"a": 1.50}', (), {"a": 1.5}),
}


@pytest.mark.parametrize("case", RECORDS)
def test_records_of_apicurio(apicurio: Apicurio, case: str) -> None:
    data, headers, value = RECORDS[case]
    for url in (apicurio.url, f"{apicurio.url}/apis/ccompat/v7"):
        serde = opened("apicurio", schema_registry_url=url)
        place = SerdeContext("t", "value", headers)
        assert serde.decode(data, place) == value
        assert serde.schema_id(data, place) == split_apicurio(data, place).schema_id
        serde.close()


def test_digits_of_json_stay(apicurio: Apicurio) -> None:
    serde = opened("apicurio", schema_registry_url=apicurio.url)
    assert serde.decode_json(RECORDS["JSON"][0], PLACE) == '{"a":1.50}'
    assert json.loads(
        serde.decode_json(RECORDS["both"][0], SerdeContext("t", "value", RECORDS["both"][1]))
    ) == {"id": 5}
    serde.close()


def test_a_schema_is_fetched_once_and_a_missing_one_not_again(apicurio: Apicurio) -> None:
    serde = opened("apicurio:ids=global", schema_registry_url=apicurio.url)
    del apicurio.asked[:]
    for _ in range(3):
        serde.decode(b"\0\0\0\0" + bytes([IDS["item"]]) + avro({"n": 1}, ITEM), PLACE)
    fetched = [path for path in apicurio.asked if "/ids/" in path]
    assert len(fetched) == 2  # the schema, and what it refers to
    for _ in range(3):
        with pytest.raises(DecodeError, match="schema 99, which Apicurio Registry does not have") as caught:
            serde.decode(b"\0\0\0\0\x63x", PLACE)
    assert caught.value.schema_id == 99
    assert len([path for path in apicurio.asked if "/ids/" in path]) == 3
    serde.close()


@pytest.mark.parametrize(
    ("data", "headers", "said"),
    [
        (b"", (), "it is empty"),
        (b"{}", (), "it begins with byte 0x7b"),
        (b"x", (("apicurio.value.artifactId", b"orders"),), "name the artifact 'orders' instead of an id"),
        (long_id("order") + b"\x0e", (), ""),
        (long_id("proto") + ref("Zebra") + b"\xff", (), ""),
        (LINE, (*in_header("proto"), ("apicurio.protobuf.type", b"Nobody")), "there is no message Nobody"),
        (long_id("json") + b"{", (), ""),
        (long_id("wsdl") + b"x", (), "WSDL"),
    ],
)
def test_what_cannot_be_read_is_a_decode_error(
    apicurio: Apicurio, data: bytes, headers: tuple[Header, ...], said: str
) -> None:
    if apicurio._server.api == "v2" and said == "WSDL":
        said = ""  # it is taken for Protobuf, which it is not either
    serde = opened("apicurio", schema_registry_url=apicurio.url)
    with pytest.raises(DecodeError) as caught:
        serde.decode(data, SerdeContext("t", "value", headers))
    assert said in caught.value.why
    serde.close()


# --- Glue -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def glue() -> Iterator[dict[str, Any]]:
    """The client of moto's Glue, the ids of versions by the name of their schema, and the address."""
    server_module = pytest.importorskip("moto.server")
    botocore = pytest.importorskip("botocore.session")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "me",
            "AWS_SECRET_ACCESS_KEY": "geheim",
            "AWS_REGION": "eu-west-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        url = "http://{}:{}".format(*server.get_host_and_port())
        try:
            client = botocore.get_session().create_client("glue", region_name="eu-west-1", endpoint_url=url)
            client.create_registry(RegistryName="r")
            made = {
                name: client.create_schema(
                    RegistryId={"RegistryName": "r"},
                    SchemaName=name,
                    DataFormat=kind,
                    Compatibility="NONE",
                    SchemaDefinition=text,
                )["SchemaVersionId"]
                for name, kind, text in (
                    ("avro", "AVRO", json.dumps(WHOLE)),
                    ("json", "JSON", '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'),
                    ("proto", "PROTOBUF", FLAT),
                )
            }
            yield {"url": url, **made}
        finally:
            server.stop()


def framed(version: str, payload: bytes, *, packed: bool = False) -> bytes:
    return (
        b"\3"
        + (b"\5" if packed else b"\0")
        + UUID(version).bytes
        + (zlib.compress(payload) if packed else payload)
    )


@pytest.mark.parametrize("packed", [False, True])
def test_records_of_glue(glue: dict[str, Any], packed: bool) -> None:
    serde = opened(f"glue:endpoint={glue['url']}")
    # messages by their full names: shop.Order 0, shop.Order.Line 1, shop.Zebra 2
    for name, payload, value in (
        ("avro", avro(VALUE), VALUE),
        ("json", b'{"a": 1.50}', {"a": 1.5}),
        ("proto", b"\0" + LINE, {"id": 5}),
        ("proto", b"\1" + LINE, {"n": 5}),
        ("proto", b"\2" + LINE, {"z": 5}),
    ):
        data = framed(glue[name], payload, packed=packed)
        assert serde.decode(data, PLACE) == value
        assert serde.schema_id(data, PLACE) == UUID(glue[name])
    assert serde.decode_json(framed(glue["json"], b'{"a": 1.50}', packed=packed), PLACE) == '{"a":1.50}'
    for data, said in (
        (framed(glue["proto"], b"\3" + LINE, packed=packed), "it is of message 3, and the schema has 3"),
        (framed(glue["proto"], b"", packed=packed), "does not say which"),
        (framed(glue["avro"], b"", packed=packed), ""),
        (framed(str(uuid4()), b"x", packed=packed), ""),
        (b"\3\5" + UUID(glue["avro"]).bytes + b"no zlib", "zlib"),
        (b"\0\0\0\0\1x", "it begins with 0000"),
    ):
        with pytest.raises(DecodeError) as caught:
            serde.decode(data, PLACE)
        assert said in caught.value.why
    serde.close()


def test_errors_of_aws_end_the_run(glue: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    record = framed(glue["avro"], avro(VALUE))
    away = opened("glue:endpoint=http://127.0.0.1:1", schema_registry_max_retries=0)
    with pytest.raises(RegistryUnreachableError) as caught:
        away.decode(record, PLACE)
    assert caught.value.exit_code == 3
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(ConfigError, match="no region of AWS is named"):
        opened("glue").decode(record, PLACE)
    opened(f"glue:region=eu-west-1,endpoint={glue['url']}").decode(record, PLACE)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(RegistryAuthError) as denied:
        opened(f"glue:region=eu-west-1,endpoint={glue['url']}").decode(record, PLACE)
    assert denied.value.exit_code == 4


# --- both -------------------------------------------------------------------------------------------------------------

ITEM_OF_JAVA = avro(VALUE)
GLUE_BY_JAVA = {
    "03000000000000004000800000000000000a0e06": ITEM_OF_JAVA,
    "03000000000000004000800000000000000a000805": b"\0" + LINE,
    "03000000000000004000800000000000000a010805": b"\1" + LINE,
    "03000000000000004000800000000000000a020805": b"\2" + LINE,
    "03050000000000004000800000000000000a789ce363030000240015": ITEM_OF_JAVA,
    "03050000000000004000800000000000000a789c63e2600500001e0010": b"\2" + LINE,
}
"""By schema-registry-serde 1.1.27: an order in Avro, and shop.Order, shop.Order.Line and shop.Zebra of FLAT."""
APICURIO_BY_JAVA = {
    "0000000000000000020e06": long_id("order") + ITEM_OF_JAVA,
    "000000000000000004070a055a656272610805": long_id("proto") + ref("Zebra") + LINE,
    "000000000000000004070a054f726465720805": long_id("proto") + ref("Order") + LINE,
}
"""By the serializers of Apicurio 2.6.13."""


def test_the_frames_of_these_tests_are_those_that_javas_serializers_write() -> None:
    for text, payload in GLUE_BY_JAVA.items():
        found = split_glue(bytes.fromhex(text), PLACE)
        assert (str(found.schema_id), found.payload) == ("00000000-0000-4000-8000-00000000000a", payload)
    for text, data in APICURIO_BY_JAVA.items():
        assert data == bytes.fromhex(text)


@pytest.mark.parametrize("text", ["glue", "apicurio"])
def test_they_only_read(text: str) -> None:
    with pytest.raises(ConfigError, match=f"{text} is only read"):
        parse_serdes([f"value={text}"], writing=True)
    with pytest.raises(ConfigError, match=f"{text} is only read"):
        open_serdes(parse_serdes([text]), RegistryOptions(schema_registry_url="http://h"), writing=True)


@given(st.binary(max_size=40))
def test_garbage_is_split_or_a_decode_error(data: bytes) -> None:
    for split in (split_glue, split_apicurio):
        with suppress(DecodeError):
            assert data.endswith(split(data, PLACE).payload) or data[1] == 5
