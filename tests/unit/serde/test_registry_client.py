"""What the registry client remembers, for how long, and what it makes of odd answers."""

from typing import Any
from uuid import UUID

import pytest

from kcli.serde.errors import RegistryError, SchemaNotFoundError
from kcli.serde.missing import MISSING_FOR
from kcli.serde.registry.client import SUBJECT_FOR, Reference, Registry, Schema
from kcli.serde.registry.options import RegistryOptions
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import registry


def filled(count: int = 1) -> FakeRegistry:
    found = FakeRegistry()
    for number in range(count):
        found.register("s", {"schema": f'{{"type":"fixed","name":"F","size":{number + 1}}}'})
    return found


def test_a_schema_is_requested_once() -> None:
    found = filled()
    one = registry(found)
    assert one.by_id(1) is one.by_id(1)
    assert one.by_version("s", 1).text == one.by_id(1).text
    assert found.asked == ["GET /schemas/ids/1", "GET /subjects/s/versions/1"]


def test_the_latest_version_is_requested_each_time() -> None:
    found = filled(2)
    one = registry(found)
    assert [one.latest("s").version, one.latest("s").id] == [2, 2]
    assert len(found.asked) == 2


def test_memory_is_bounded() -> None:
    found = filled(3)
    options = RegistryOptions(schema_registry_url="http://h", schema_registry_cache_capacity=2)
    transport = registry(found)._transport
    one = Registry(options, transport=transport)
    for number in (1, 2, 1, 3, 1, 2):
        one.by_id(number)
    assert [asked[-1] for asked in found.asked] == ["1", "2", "3", "2"]


def test_a_missing_schema_is_not_requested_again_for_a_while() -> None:
    now = [0.0]
    found = filled()
    one = registry(found, now=lambda: now[0])
    for _ in range(3):
        with pytest.raises(SchemaNotFoundError, match="Schema 2 not found"):
            one.by_id(2)
    assert len(found.asked) == 1
    found.register("s", {"schema": '"int"'})
    now[0] = MISSING_FOR + 1
    assert one.by_id(2).text == '"int"'


def test_the_subject_of_an_id_is_for_messages() -> None:
    now = [0.0]
    found = filled()
    for name in ("b", "c", "d", "e"):
        found.register(name, found.schemas["", 1].body)
    one = registry(found, now=lambda: now[0])
    assert one.subject_of(1) == "s version 1, b version 1, c version 1, …"
    one.subject_of(1)
    assert one.subject_of(99) == ""
    assert one.subject_of(UUID(int=1)) == ""
    assert len(found.asked) == 2
    now[0] = SUBJECT_FOR + 1
    one.subject_of(1)
    assert len(found.asked) == 3


def test_subjects_are_quoted() -> None:
    found = FakeRegistry()
    found.register("a/b c?", {"schema": '"int"'})
    one = registry(found)
    assert one.latest("a/b c?").id == 1
    assert found.asked == ["GET /subjects/a%2Fb%20c%3F/versions/latest"]
    assert one.look_up("a/b c?", Schema(-1, "AVRO", '"int"')) == 1
    assert one.register("new", Schema(-1, "AVRO", '"int"')) == 1


def test_a_guid_is_requested_as_such() -> None:
    found = filled()
    guid = UUID(found.schemas["", 1].guid)
    assert registry(found).by_id(guid).text == found.schemas["", 1].body["schema"]
    assert found.asked == [f"GET /schemas/guids/{guid}"]


def test_references_come_in_an_order_in_which_each_needs_only_earlier_ones() -> None:
    found = FakeRegistry()

    def add(name: str, *needs: str) -> None:
        references = [{"name": need, "subject": need, "version": 1} for need in needs]
        found.register(name, {"schema": f'"{name}"', "references": references})

    add("a")
    add("b", "a")
    add("c", "a", "b")
    add("top", "c", "a")
    one = registry(found)
    assert [name for name, _ in one.references(one.latest("top"))] == ["a", "b", "c"]


class Odd(Registry):
    """A registry whose every answer is the same."""

    def __init__(self, answer: Any) -> None:
        one = registry(FakeRegistry())
        one._transport.ask = lambda *_: answer  # type: ignore[method-assign]
        super().__init__(RegistryOptions(), transport=one._transport)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        5,
        "x",
        {},
        {"schema": 5},
        {"schema": "x", "references": 5},
        {"schema": "x", "references": [5]},
        {"schema": "x", "references": [{"name": "a"}]},
        {"schema": "x", "references": [{"name": "a", "subject": "b", "version": "x"}]},
        {"id": "7"},
        {"id": -1},
        {"id": 2**40},
    ],
)
def test_odd_answers_are_refused(answer: Any) -> None:
    one = Odd(answer)
    for ask in (
        lambda: one.by_id(1),
        lambda: one.latest("s"),
        lambda: one.register("s", Schema(-1, "AVRO", "x")),
        lambda: one.look_up("s", Schema(-1, "AVRO", "x")),
    ):
        with pytest.raises(RegistryError, match="cannot be used"):
            ask()
    assert one.subject_of(1) == ""


def test_references_in_a_circle_and_without_end_are_left() -> None:
    circle = {"schema": "x", "references": [{"name": "a", "subject": "a", "version": 1}]}
    assert [name for name, _ in Odd(circle).references(Odd(circle).latest("s"))] == ["a"]
    many = tuple(Reference(f"n{number}", f"s{number}", 1) for number in range(600))
    with pytest.raises(RegistryError, match="more than 500"):
        Odd({"schema": "x"}).references(Schema(1, "AVRO", "x", many))
