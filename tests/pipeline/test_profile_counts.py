"""What a profile counts: exact where it says so, the same however the records are divided among tasks."""

import json
import random
from collections import Counter

import pytest

from kcli.pipeline.profile import histograms, json_shape, keys
from kcli.pipeline.profile.histograms import Sizes, Times
from kcli.pipeline.profile.html import page
from kcli.pipeline.profile.json_shape import Shape, Values
from kcli.pipeline.profile.keys import KeyCounts
from kcli.pipeline.profile.partition_profile import RangeProfile, topic_item


def counted(rows: list[bytes], size: int) -> KeyCounts:
    found = KeyCounts()
    for first in range(0, len(rows), size):
        part = Counter(rows[first : first + size])
        found.add(list(part), part.values())
    return found


def test_few_keys_are_counted_exactly() -> None:
    chance = random.Random(1)
    rows = [b"k%d" % chance.randint(0, 300) for _ in range(10_000)]
    one, two = counted(rows[:3_000], 100), counted(rows[3_000:], 7)
    one.merge(two)
    assert one.is_exact
    assert one.counts == Counter(rows)
    assert one.distinct == len(set(rows))
    expected = sorted(Counter(rows).items(), key=lambda item: (-item[1], item[0]))[:5]
    assert one.top(5) == expected


def test_many_keys_have_a_bound_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "CAPACITY", 500)
    chance = random.Random(2)
    rows = [b"hot"] * 5_000 + [b"warm"] * 3_000 + [b"k%d" % n for n in range(20_000)]
    chance.shuffle(rows)
    found = counted(rows[:9_000], 1_000)
    found.merge(counted(rows[9_000:], 1_000))
    true = Counter(rows)
    assert not found.is_exact
    assert all(true[key] - found.error <= count <= true[key] for key, count in found.counts.items())
    assert [key for key, _ in found.top(2)] == [b"hot", b"warm"]
    assert abs(found.distinct - len(true)) < 0.1 * len(true)
    assert found.error <= len(rows) / 500


@pytest.mark.parametrize("distinct", [10, 1_000, 100_000, 1_000_000])
def test_the_estimate_of_distinct_keys(distinct: int) -> None:
    found = KeyCounts()
    found._register([b"key-%d" % n for n in range(distinct)])
    assert abs(found._estimate() - distinct) < 0.1 * distinct


def test_sizes_by_powers_of_two() -> None:
    found, other = Sizes(), Sizes()
    found.add([(0, 2), (1, 1), (5, 3)])
    other.add([(7, 1), (8, 1)])
    found.merge(other)
    assert found.rows == [
        {"from": 0, "to": 0, "records": 2},
        {"from": 1, "to": 1, "records": 1},
        {"from": 2, "to": 3, "records": 0},
        {"from": 4, "to": 7, "records": 4},
        {"from": 8, "to": 15, "records": 1},
    ]
    assert (found.smallest, found.largest, found.total, found.count) == (0, 8, 31, 8)
    assert Sizes().rows == []


def test_times_are_the_same_however_they_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "MOST_SPANS", 64)
    chance = random.Random(3)
    stamps = [1_700_000_000_000 + chance.randint(0, 10**9) for _ in range(3_000)] + [-1_000]
    whole, one, two = Times(), Times(), Times()
    whole.add(Counter(stamps).items())
    one.add(Counter(stamps[:10]).items())
    two.add(Counter(stamps[10:]).items())
    one.merge(two)
    one.merge(Times())
    assert one.rows(30) == whole.rows(30)
    assert sum(row["records"] for row in one.rows()) == len(stamps)
    assert (one.earliest, one.latest) == (min(stamps), max(stamps))
    assert len(one.spans) <= 64
    assert Times().rows() == []


ORDERS = [
    {"id": 1, "price": 1.5, "tags": ["a"], "to": {"city": "X"}},
    {"id": 2, "price": 2, "tags": [], "to": {"city": None, "zip": "1"}, "note": "n"},
]


def test_the_schema_of_values() -> None:
    one, two = Shape(), Shape()
    one.add(ORDERS[0])
    two.add(ORDERS[1])
    one.merge(two)
    assert one.schema() == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "note": {"type": "string"},
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "to": {
                "type": "object",
                "properties": {"city": {"type": ["string", "null"]}, "zip": {"type": "string"}},
                "required": ["city"],
            },
        },
        "required": ["id", "price", "tags", "to"],
    }


def test_an_object_with_very_many_properties_is_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_shape, "MOST_PROPERTIES", 3)
    shape = Shape()
    for number in range(9):
        shape.add({str(number): 1})
    assert shape.schema() == {"type": "object", "additionalProperties": True}


def test_kinds_of_values() -> None:
    values = Values()
    deep = b"[" * 100_000 + b"]" * 100_000
    for value in (b'{"a":1}', b"12", b"text", b"\xff", b"", b"\x00\x00\x00\x00\x07payload", deep):
        values.add(value)
    assert (values.sampled, values.json, values.binary, values.schema_ids) == (7, 2, 2, {7: 1})


@pytest.mark.parametrize("number", ["12345678901234567.89", "1e400", "9" * 5000, "9" * 5000 + ".5"])
def test_json_with_a_number_of_any_length_is_json(number: str) -> None:
    values = Values()
    values.add(f'{{"a":{number}}}'.encode())
    assert (values.json, values.text) == (1, 0)
    assert values.shape.schema()["properties"] == {"a": {"type": "number"}}


def test_a_page_shows_what_keys_and_names_contain_as_text() -> None:
    profile = RangeProfile(records=1)
    profile.keys.add([b"<script>alert(1)</script>"], [1])
    profile.values.add(json.dumps({"<b>": 1}).encode())
    profile.times.add([(0, 1)])
    profile.value_sizes.add([(9, 1)])
    html = page(
        "<id>",
        "<at>",
        [topic_item("t", profile, {0: profile}, 5)],
        [{"topic": "t", "partition": 0, "records": 1}],
    )
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "<b>" not in html
    assert html.count("<svg") == 3
