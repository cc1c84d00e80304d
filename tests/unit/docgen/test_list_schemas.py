"""The schemas that are made of columns."""

import pytest

from kcli.docgen.list_schemas import item, list_schemas, property_of
from kcli.docgen.lists import Items, Listed
from kcli.output.tables import Column

TOPICS = "commands.topics._describing:DESCRIPTION"


@pytest.mark.parametrize(
    ("column", "types"),
    [
        (Column("a", meaning="A."), {"type": ["string", "null"]}),
        (Column("a", "number", meaning="A."), {"type": ["integer", "null"], "minimum": 0}),
        (Column("a", "time", meaning="A."), {"type": ["string", "null"], "format": "date-time"}),
        (Column("a", "number", values="number", meaning="A."), {"type": "number"}),
        (
            Column("a", values="scalar?", meaning="A."),
            {"type": ["string", "number", "boolean", "null"]},
        ),
        (
            Column("a", values="strings?", meaning="A."),
            {"type": ["array", "null"], "items": {"type": "string"}},
        ),
        (Column("a", values=("x", None), meaning="A."), {"enum": ["x", None]}),
    ],
)
def test_a_column_has_what_its_values_say_else_what_its_kind_says(
    column: Column, types: dict[str, object]
) -> None:
    assert property_of(column) == {**types, "description": "A."}


def test_a_common_key_without_a_meaning_of_its_own_refers_to_the_common_one() -> None:
    assert property_of(Column("topic")) == {"$ref": "common.json#/$defs/topic"}
    assert property_of(Column("topic", meaning="Another."))["description"] == "Another."


def test_only_what_may_be_absent_is_not_required_also_in_nested_objects() -> None:
    inner = (Column("b", meaning="B."), Column("c", meaning="C.", sometimes=True))
    found = item(
        "Any", [Column("a", values="objects", inner=inner, meaning="A."), Column("topic", sometimes=True)]
    )
    assert found["required"] == ["a"]
    assert list(found["properties"]) == ["kind", "a", "topic"]
    assert found["properties"]["a"]["items"]["required"] == ["b"]


def test_a_list_of_several_kinds_has_any_of_them() -> None:
    made = Listed("AnyList", "Any.", "x, y", (Items("One", "One.", TOPICS, "x"), Items("File")))
    found = list_schemas(made)
    assert found.keys() == {"AnyList", "One"}
    assert found["AnyList"]["properties"]["items"]["items"] == {
        "anyOf": [{"$ref": "One.json"}, {"$ref": "File.json"}]
    }
    assert (found["AnyList"]["x-printed-by"], found["One"]["x-printed-by"]) == (["x", "y"], ["x"])


def test_a_document_with_the_name_of_its_items_is_either() -> None:
    found = list_schemas(Listed("One", "One.", "x", (Items("One", "", TOPICS),)))["One"]
    assert found["then"]["properties"]["items"]["items"] == found["else"] == {"$ref": "#/$defs/item"}
    assert "name" in found["$defs"]["item"]["required"]
