"""What pages say of documents: the examples are read, and the tables of other tools have every key that is looked at."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.flows.resources import jikkou, strimzi, topicctl
from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.resource import Kind
from kcli.flows.resources.shapes import Choice, Listed, NoMeaning, Record

DOCS = Path(__file__).resolve().parents[4] / "docs"
USUAL = {"apiVersion", "kind", "metadata", "spec", "meta", "name", "annotations", "data", "acls", "resource"}
"""What needs no explanation, or is said with what is in it."""


def test_the_page_has_a_document_of_each_kind(tmp_path: Path) -> None:
    text = (DOCS / "apply.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "f.yaml"
    file.write_text(block)
    assert {resource.ref.kind for resource in read_documents([str(file)], environment={})} == set(Kind)
    table = text.partition("## The documents")[2].partition("A document with")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == set(map(str, Kind))


@pytest.mark.parametrize(
    ("heading", "forms"),
    [
        ("Strimzi", strimzi.FORMS),
        ("jikkou", jikkou.FORMS),
        ("topicctl", {"": topicctl.TOPIC, " ": topicctl.ACLS}),
    ],
)
def test_tables_of_other_tools_are_complete(heading: str, forms: dict[str, Any]) -> None:
    page = (DOCS / "from/resource-files.md").read_text(encoding="utf-8")
    said = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    words = set(re.findall(r"\w+", said))
    keys = {key for form in forms.values() for key in _keys(form.record)} - USUAL
    assert keys - words == set()
    assert {kind for kind in forms if kind.strip()} - words == set()
    for form in forms.values():
        for annotation in getattr(form, "held_back", {}):
            assert annotation in said


def _keys(shape: Any) -> Iterator[str]:
    if isinstance(shape, Record):
        for name, field in shape.fields.items():
            yield name
            yield from _keys(field.shape)
    elif isinstance(shape, Listed):
        yield from _keys(shape._of)
    else:
        assert shape is None or isinstance(shape, Choice | NoMeaning) or hasattr(shape, "read")
