"""Which of Spark's filters become ranges of offsets and predicates of the decoder, and which stay with Spark."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kcli.core.types import TopicPartition
from kcli.pipeline.plan import Slice
from kcli.pipeline.pushdown import Pushed

ID = bytes(16)
SLICES = [Slice("orders", ID, 0, 0, 100), Slice("orders", ID, 1, 50, 60), Slice("other", ID, 0, 0, 10)]


@dataclass(frozen=True)
class EqualTo:
    attribute: tuple[str, ...]
    value: Any


class EqualNullSafe(EqualTo): ...


class GreaterThan(EqualTo): ...


class GreaterThanOrEqual(EqualTo): ...


class LessThan(EqualTo): ...


class LessThanOrEqual(EqualTo): ...


class In(EqualTo): ...


class StringStartsWith(EqualTo): ...


@dataclass(frozen=True)
class IsNull:
    attribute: tuple[str, ...]


class IsNotNull(IsNull): ...


@dataclass(frozen=True)
class Not:
    child: Any


def pushed(*filters: Any) -> tuple[Pushed, list[Any]]:
    found = Pushed()
    return found, list(found.accept(filters))


def ranges(found: Pushed) -> list[tuple[str, int, int, int]]:
    return [(each.topic, each.partition, each.start, each.end) for each in found.narrowed(SLICES)]


def at(ms: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ([EqualTo(("partition",), 1)], [("orders", 1, 50, 60)]),
        ([In(("partition",), [1, 7])], [("orders", 1, 50, 60)]),
        ([EqualTo(("topic",), "other")], [("other", 0, 0, 10)]),
        ([EqualTo(("offset",), 55)], [("orders", 0, 55, 56), ("orders", 1, 55, 56)]),
        (
            [
                GreaterThanOrEqual(("offset",), 10),
                LessThanOrEqual(("offset",), 20),
                EqualTo(("partition",), 0),
            ],
            [("orders", 0, 10, 21)],
        ),
        ([GreaterThan(("offset",), 10), LessThan(("offset",), 20)], [("orders", 0, 11, 20)]),
        ([GreaterThan(("offset",), 1000)], []),
        ([EqualTo(("partition",), 1), EqualTo(("partition",), 2)], []),
        ([EqualTo(("partition",), None)], []),
        (
            [IsNotNull(("partition",)), IsNotNull(("offset",)), IsNotNull(("topic",))],
            [s[:1] + s[2:] for s in SLICES],
        ),
    ],
)
def test_partitions_and_offsets_become_ranges(filters: list[Any], left: list[Any]) -> None:
    found, others = pushed(*filters)
    assert others == []
    assert ranges(found) == left


def test_several_offsets_become_the_range_around_them_and_stay_with_spark() -> None:
    one = In(("offset",), [70, 3])
    found, others = pushed(one)
    assert others == [one]
    assert ranges(found) == [("orders", 0, 3, 71), ("other", 0, 3, 4)] or ranges(found)[0] == (
        "orders",
        0,
        3,
        71,
    )


@pytest.mark.parametrize(
    ("one", "since", "until"),
    [
        (GreaterThanOrEqual(("timestamp",), at(5)), 5, None),
        (GreaterThan(("timestamp",), at(5)), 6, None),
        (GreaterThan(("timestamp",), at(5.5)), 6, None),
        (GreaterThanOrEqual(("timestamp",), at(5.5)), 6, None),
        (LessThan(("timestamp",), at(5)), None, 5),
        (LessThan(("timestamp",), at(5.5)), None, 6),
        (LessThanOrEqual(("timestamp",), at(5)), None, 6),
        (LessThanOrEqual(("timestamp",), at(5.5)), None, 6),
        (EqualTo(("timestamp",), at(5)), 5, 6),
        (EqualTo(("timestamp",), at(5.5)), 6, 6),
        (GreaterThan(("timestamp",), at(0).astimezone(timezone(timedelta(hours=5)))), 1, None),
        (GreaterThan(("timestamp",), datetime(1970, 1, 1, 0, 0, 1)), 1001, None),
    ],
)
def test_times_become_whole_milliseconds(one: Any, since: int | None, until: int | None) -> None:
    found, others = pushed(one)
    assert others == []
    assert (found.since_ms, found.until_ms) == (since, until)


def test_a_time_moves_the_start_to_the_first_offset_from_then_on() -> None:
    found = Pushed(since_ms=5)
    first = {TopicPartition("orders", 0): 30, TopicPartition("orders", 1): -1, TopicPartition("other", 0): 0}
    assert [(each.topic, each.partition, each.start) for each in found.begun(SLICES, first)] == [
        ("orders", 0, 30),
        ("other", 0, 0),
    ]


@pytest.mark.parametrize(
    ("filters", "keys", "not_null"),
    [
        ([EqualTo(("key",), b"a"), IsNotNull(("key",))], {b"a"}, True),
        ([EqualTo(("key",), bytearray(b"a"))], {b"a"}, False),
        ([In(("key",), [b"a", None, b"b"])], {b"a", b"b"}, False),
        ([EqualTo(("key_text",), "ä")], {"ä".encode()}, False),
        ([IsNull(("key",))], {None}, False),
        ([EqualNullSafe(("key",), b"a")], {b"a"}, False),
        ([EqualTo(("key",), b"a"), EqualTo(("key_text",), "b")], set(), False),
        ([EqualTo(("key",), None)], set(), False),
    ],
)
def test_keys_go_to_the_decoder(filters: list[Any], keys: set[bytes | None], not_null: bool) -> None:
    found, others = pushed(*filters)
    assert others == []
    assert (found.keys, found.key_not_null) == (keys, not_null)


@pytest.mark.parametrize(
    "one",
    [
        EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "x"),
        IsNull(("value",)),
        IsNotNull(("key_text",)),
        IsNull(("key_text",)),
        IsNotNull(("timestamp",)),
        EqualNullSafe(("key",), None),
        StringStartsWith(("key_text",), "a"),
        GreaterThan(("key",), b"a"),
        GreaterThan(("partition",), 1),
        EqualTo(("partition",), 1.5),
        EqualTo(("offset",), True),
        EqualTo(("timestamp",), 5),
        EqualTo(("key_text",), "\ud800"),
        Not(EqualTo(("partition",), 1)),
    ],
)
def test_all_other_filters_stay_with_spark(one: Any) -> None:
    found, others = pushed(one)
    assert others == [one]
    assert found == Pushed()
