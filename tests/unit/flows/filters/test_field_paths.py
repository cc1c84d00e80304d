"""Lists of fields, and what is read of a batch; ``consume`` with them is in ``tests/cli/test_consume_results.py``."""

import json
from decimal import Decimal

import pytest

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import Record, TopicPartition
from kcli.flows.filters.field_paths import FieldPath, FieldPathError, FieldReader, parse_fields
from kcli.flows.filters.selection import BatchFields, Mask, wanted_mask
from tests.batches import batch_of

TP = TopicPartition("t", 0)


def fetched(
    *values: bytes | None, key: bytes | None = b"k", first: int = 0, stop: int = 1 << 60
) -> FetchedBatch:
    rows = [
        Record("t", 0, n, 1_700_000_000_000 + n, 0, key, value, ((("h", b"%d" % n)),))
        for n, value in enumerate(values)
    ]
    return FetchedBatch(TP, batch_of(rows), first, stop, stop)


def read(text: str, *values: bytes | None, key: bytes | None = b"k") -> list[tuple[object, ...]]:
    batch = fetched(*values, key=key)
    return list(FieldReader(parse_fields(text)).rows(BatchFields(batch), wanted_mask(batch, None, b"")[0]))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("key", [("key", "key", ())]),
        (" key , value ", [("key", "key", ()), ("value", "value", ())]),
        ("value.a.b", [("value.a.b", "value", ("a", "b"))]),
        ("value.a-b", [("value.a-b", "value", ("a-b",))]),
        ('value."a.b".c as x', [("x", "value", ("a.b", "c"))]),
        (r'value."a\"b" AS "my name"', [("my name", "value", ('a"b',))]),
        ("value[0].sku, value[-1]", [("value[0].sku", "value", (0, "sku")), ("value[-1]", "value", (-1,))]),
        ("headers.trace-id", [("headers.trace-id", "headers", ("trace-id",))]),
        ("value.größe", [("value.größe", "value", ("größe",))]),
    ],
)
def test_lists_of_fields(text: str, fields: list[tuple[str, str, tuple[object, ...]]]) -> None:
    assert list(parse_fields(text)) == [FieldPath(*field) for field in fields]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing at the end"),
        ("key,", "missing at the end"),
        ("nix", "there is no field 'nix'"),
        ("Value.a", "there is no field 'Value'"),
        (".a", "missing before '.a'"),
        ("value.", "'.' is not expected after 'value'"),
        ("value a", "is not expected after 'value'"),
        ("value as", "'as' is not expected"),
        ("value[x]", "'[x]' is not expected"),
        ("key key", "is not expected after 'key'"),
        ("key,value.a as key", "two fields are called key"),
        ("offset.a", "offset has no fields of its own"),
        ("headers.a.b", "write headers.NAME"),
        ("headers[0]", "write headers.NAME"),
    ],
)
def test_lists_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(FieldPathError, match=None) as error:
        parse_fields(text)
    assert why in str(error.value)


VALUE = {"a": {"b": [1, {"c": "x"}]}, "n": None, "t": True, "s": "ü", "f": 0.1}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b[1].c", "x"),
        ("a.b[0]", 1),
        ("a.b[-2]", 1),
        ("a.b[2]", None),
        ("a.b.c", None),
        ("a[0]", None),
        ("n", None),
        ("n.x", None),
        ("t", True),
        ("s", "ü"),
        ("f", 0.1),
        ("a", {"b": [1, {"c": "x"}]}),
        ("x", None),
    ],
)
def test_a_path_ends_at_a_member_or_at_null(path: str, found: object) -> None:
    text = json.dumps(VALUE, ensure_ascii=False).encode()
    assert read(f"value.{path}", text) == [(found,)]
    # Beside a path that needs the whole value, and beside one that is read by its members.
    assert read(f"value.{path} as x, value.a.b, value.s", text)[0][0] == found


def test_paths_of_keys_and_of_what_is_in_every_record() -> None:
    rows = read("key.id, topic, partition, offset, timestamp, headers.h, headers.x, hour, date, timestamp_type",
                b"1", b"2", key=b'{"id": 7}')  # fmt: skip
    assert rows[1] == (
        7, "t", 0, 1, 1_700_000_000_001, b"1", None, "2023-11-14T22:00Z", "2023-11-14", "CreateTime",
    )  # fmt: skip


def test_what_cannot_be_looked_into_is_null_and_counted() -> None:
    batch = fetched(
        b"x", None, b'{"a":1,"a":2}', b'{"a":1,"b":1,"b":2}', b"\xff", b'{"a":"\xff"}', b"", b"[1]"
    )
    reader = FieldReader(parse_fields("value.a, value"))
    rows = list(reader.rows(BatchFields(batch), Mask(b"\1" * 8)))
    assert [row[0] for row in rows] == [None, None, None, 1, None, None, None, None]
    assert [row[1] for row in rows][:3] == [b"x", None, b'{"a":1,"a":2}']
    assert (reader.not_json, reader.repeated, reader.skipped) == (4, 1, 5)
    assert reader.first == "t-0@0: it is not JSON"


def test_numbers_lose_no_digit() -> None:
    assert read("value.a", b'{"a":1.00000000000000000001}') == [(Decimal("1.00000000000000000001"),)]
    assert read("value.a", b'{"a":123456789012345678901234567890}') == [(123456789012345678901234567890,)]


@pytest.mark.parametrize(
    ("limit", "selected", "first", "stop", "mask", "last"),
    [
        (None, b"", 0, 9, [1, 1, 1, 1], -1),
        (2, b"", 0, 9, [1, 1, 0, 0], 1),
        (4, b"", 0, 9, [1, 1, 1, 1], -1),
        (None, b"", 1, 3, [0, 1, 1, 0], -1),
        (1, b"", 1, 3, [0, 1, 0, 0], 1),
        (1, b"\0\0\1\1", 0, 9, [0, 0, 1, 0], 2),
        (None, b"\0\0\1\1", 0, 9, [0, 0, 1, 1], -1),
    ],
)
def test_which_records_of_a_batch_are_used(
    limit: int | None, selected: bytes, first: int, stop: int, mask: list[int], last: int
) -> None:
    assert wanted_mask(fetched(b"", b"", b"", b"", first=first, stop=stop), limit, selected) == (
        Mask(mask),
        last,
    )
