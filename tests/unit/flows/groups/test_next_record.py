"""What the next record of a group looks like."""

import pytest

from kcli.core.types import Record
from kcli.flows.groups.next_record import differs, looks_of, next_record
from kcli.serde.numbers import IntegerSerde
from kcli.serde.opening import Serdes
from kcli.serde.text import JsonSerde


def record(value: bytes | None, offset: int = 7, key: bytes | None = b"k") -> Record:
    return Record("t", 0, offset, 1_000, 0, key, value)


@pytest.mark.parametrize(
    ("value", "looks"),
    [
        (None, "null"),
        (b"", "empty"),
        (b'{"a":1}', "json"),
        (b"17", "json"),
        (b"seventeen", "text"),
        ("é".encode(), "text"),
        (b"\xff\xfe", "bytes"),
        (b"\0\0\0\0\x07data", "schema"),
        (b"\0\0", "text"),
        (b"[" * 100_000, "text"),
    ],
)
def test_what_a_value_looks_like(value: bytes | None, looks: str) -> None:
    assert looks_of(value) == looks


@pytest.mark.parametrize(
    ("looks", "before", "said"),
    [
        ("text", "json", True),
        ("bytes", "schema", True),
        ("empty", "json", True),
        ("json", "text", False),
        ("null", "json", False),
        ("json", "json", False),
    ],
)
def test_what_is_unlike_the_record_before(looks: str, before: str, said: bool) -> None:
    assert differs(looks, before) is said


def test_without_a_record_before_nothing_is_compared() -> None:
    assert next_record(record(b"x"), None, None).trouble == ""


def test_sizes_are_those_of_key_and_value() -> None:
    assert next_record(record(b"abc"), None, None).size == 4
    assert next_record(record(None, key=None), None, None).size == 0


def test_a_serde_that_fails_says_why_and_one_that_does_not_compares_still() -> None:
    serdes = Serdes(key=IntegerSerde("int", 4), value=JsonSerde())
    found = next_record(record(b"{}"), record(b"{}"), serdes)
    assert found.decodable is False
    assert found.trouble.startswith("its key cannot be decoded: ")
    found = next_record(record(b"{}", key=b"\0\0\0\1"), record(b"text"), serdes)
    assert (found.decodable, found.trouble) == (True, "")
