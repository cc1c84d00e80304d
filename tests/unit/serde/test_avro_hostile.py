"""Avro data from anywhere: an error in words, in no time, whatever it claims to be."""

import json
import random
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.serde.errors import DecodeError
from kcli.serde.json_text import dump_json
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import PLACE, serde, with_schema
from tests.unit.serde.test_avro import ROUND_TRIPS, record

HEAD = b"\0\0\0\0\1"
LIST = record({"name": "n", "type": ["null", "x.R"]})
TREE = record({"name": "n", "type": {"type": "array", "items": "x.R"}})
NESTED = {"type": "array", "items": {"type": "array", "items": "null"}}
BYTES = record({"name": "a", "type": "bytes"})
DECIMAL = record({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4}})
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2**63 - 1


@pytest.mark.parametrize(
    ("schema", "data", "why"),
    [
        (LIST, b"\2" * 5_000, "nested"),
        (LIST, b"\2" * 300 + b"\0", "nested"),
        (TREE, b"\2" * 1_000_000, "nested"),
        (BYTES, HUGE, "where 0 are left"),
        (BYTES, b"\1", "-1 bytes"),
        ("string", b"\2\xff", "not UTF-8"),
        ({"type": "array", "items": "int"}, HUGE, "an array of"),
        ({"type": "array", "items": "double"}, b"\4" + bytes(15), "an array of 2 items in 15 bytes"),
        ({"type": "map", "values": "null"}, HUGE, "an array of"),
        ({"type": "array", "items": "null"}, HUGE, "items without content"),
        (NESTED, b"\xa0\x0f" + b"\xa0\x0f\0" * 1000, "items without content"),
        ({"type": "array", "items": record(name="Empty")}, HUGE, "items without content"),
        ({"type": "array", "items": "int"}, b"\1", "early"),
        ("long", b"\xff" * 20, "64 bits"),
        ("long", b"\xff" * 9 + b"\x7f", "64 bits"),
        ("int", b"\x80\x80\x80\x80\x20", "32 bits"),
        (["null", "int"], b"\3", "branch -2"),
        (["null", "int"], b"\4", "branch 2 of a union of 2"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\2", "symbol 1"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\1", "symbol -1"),
        ({"type": "fixed", "name": "F", "size": 3}, b"ab", "early"),
        ("double", bytes(7), "early"),
        ("boolean", b"\2", "a boolean of 0x02"),
        ("int", b"\2\2", "1 bytes are left"),
        ("int", b"", "early"),
        (record({"name": "n", "type": "x.R"}), b"", "nested too deeply"),
        (DECIMAL, b"\x80\x40" + bytes(4096), "a decimal of 4096 bytes"),
    ],
)  # fmt: skip
def test_faults_are_reported(schema: Any, data: bytes, why: str) -> None:
    with pytest.raises(DecodeError) as caught:
        with_schema(schema).decode(HEAD + data, PLACE)
    assert why in caught.value.why


def test_memory_is_bounded_by_the_data() -> None:
    one = with_schema(NESTED)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            one.decode(HEAD + b"\xfe\xff\x03" + b"\xfe\xff\x03\0" * 65_535, PLACE)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_blocks_with_their_size_in_bytes_are_read() -> None:
    one = with_schema({"type": "array", "items": "int"})
    assert one.decode(HEAD + b"\3\4\2\4\2\6\0", PLACE) == [1, 2, 3]


SEVERAL = [with_schema(schema) for schema in (*(schema for schema, _ in ROUND_TRIPS[::3]), LIST, TREE)]


@given(st.binary(max_size=60))
def test_garbage_is_a_value_or_a_decode_error(data: bytes) -> None:
    for one in SEVERAL:
        with suppress(DecodeError):
            dump_json(one.decode(HEAD + data, PLACE)).encode()


@pytest.mark.parametrize(("schema", "value"), ROUND_TRIPS, ids=repr)
def test_flipped_bits_are_a_value_or_a_decode_error(schema: Any, value: Any) -> None:
    one, dice = with_schema(schema), random.Random(7)
    whole = one.encode(value, PLACE)
    for _ in range(50):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            if len(data) > 5:
                data[dice.randrange(5, len(data))] = dice.randrange(256)
        try:
            dump_json(one.decode(bytes(data[: dice.randrange(5, len(data) + 1)]), PLACE)).encode()
        except DecodeError:
            continue


@pytest.mark.parametrize(
    "schema",
    [
        "{}",
        "[]",
        "null",
        "5",
        '"nothing"',
        '{"type":"array"}',
        '{"type":"fixed","name":"F","size":-1}',
        '{"type":"fixed","name":"F","size":"x"}',
        '{"type":"enum","name":"E"}',
        '{"type":"record","name":"R"}',
        '{"type":"record","name":"R","fields":[{}]}',
        '{"type":"record","name":"R","fields":5}',
        '{"type":"bytes","logicalType":"decimal","precision":-4}',
        '{"type":"bytes","logicalType":"decimal","precision":"x"}',
        '{"type":["int",["int"]]}',
        json.dumps(["int", "int"]),
        "[" * 190 + '"int"' + "]" * 190,
    ],
)
def test_an_odd_schema_of_the_registry_is_a_decode_error_or_read(schema: str) -> None:
    found = FakeRegistry()
    found.register("topic-value", {"schema": schema})
    one = serde("avro", found, writing=False)
    for data in (HEAD, HEAD + b"\0", HEAD + b"\2\2\2"):
        try:
            one.decode(data, PLACE)
        except DecodeError:
            continue
