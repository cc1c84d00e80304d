"""Fields that no record has: found by the bytes of batches, by parsing where these do not tell, and the nearest one."""

import json

import pytest

from kcli.core.types import Record
from kcli.flows.filters import absent
from kcli.flows.filters.absent import AbsentFields
from kcli.flows.filters.selection import Selection
from tests.batches import fetched_of

VALUES = (
    b'{"id":1,"status":"new","customer":{"country":"DE"},"items":[{"sku":"a"}],"note":null,"text":"no \\"state\\""}',
    b'{"id":2,"gr\\u00f6\\u00dfe":3,"a/b":1,"c\\/d":2}',
    b"no json",
    None,
)


def absent_in(path: tuple[str | int, ...], *values: bytes | None) -> list[tuple[str, str]]:
    sought = AbsentFields([("--where", path)])
    selection = Selection((), sought)
    for n, value in enumerate(values):
        record = Record("t", 0, n, 0, 0, b'{"k":1}', value, (("src", b"web"), ("trace-id", b"1")))
        assert selection.select(fetched_of([record])) == b""
    return [(one.field, one.near) for one in sought.found()]


@pytest.mark.parametrize(
    "path",
    [
        ("value", "status"), ("value", "customer", "country"), ("value", "items", 0, "sku"), ("value", "items", -1),
        ("value", "note"), ("value", "größe"), ("value", "a/b"), ("value", "c/d"), ("key", "k"), ("headers", "src"),
        ("headers", "trace-id"), ("value",), ("topic",), (),
    ],
)  # fmt: skip
def test_a_field_that_one_record_has_is_not_reported(path: tuple[str | int, ...]) -> None:
    assert absent_in(path, *VALUES) == []


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        (("value", "statuss"), ("value.statuss", "value.status")),
        (("value", "countrry"), ("value.countrry", "value.customer.country")),
        (("value", "customer", "cuntry"), ("value.customer.cuntry", "value.customer.country")),
        (("value", "status", "country"), ("value.status.country", "value.customer.country")),
        (("value", "items", 1, "sku"), ("value.items[1].sku", "value.items[0].sku")),
        (("value", "state"), ("value.state", "value.status")),  # the name is in a text only
        (("value", "xyz"), ("value.xyz", "")),
        (("value", "a b"), ('value."a b"', 'value."a/b"')),
        (("key", "kk"), ("key.kk", "key.k")),
        (("headers", "scr"), ("headers.scr", "headers.src")),
        (("headers", "web"), ("headers.web", "")),
    ],
)
def test_one_that_no_record_has_is_reported_with_the_nearest(
    path: tuple[str | int, ...], reported: tuple[str, str]
) -> None:
    assert absent_in(path, *VALUES) == [reported]


def test_without_records_nothing_is_said() -> None:
    assert absent_in(("value", "statuss")) == []


def test_what_has_the_name_is_parsed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = json.dumps({"x": {"total": 1}}).encode()
    assert absent_in(("value", "total"), *[elsewhere] * 3) == [("value.total", "value.x.total")]
    monkeypatch.setattr(absent, "MOST_PARSED", 2)
    assert absent_in(("value", "total"), *[elsewhere] * 3) == []


def test_once_found_batches_are_not_looked_at() -> None:
    sought = AbsentFields([("--by", ("value", "id"))])
    selection = Selection((), sought)
    assert sought
    selection.select(fetched_of([Record("t", 0, 0, 0, 0, None, VALUES[0])]))
    assert not sought
