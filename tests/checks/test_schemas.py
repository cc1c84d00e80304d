"""Each kind of JSON has a schema, and the schemas are those of what kcli prints: neither more nor less.

``tests/golden/schemas`` has documents that kcli has printed, one a line, in a file for each kind. To add some: run the
test of the command with ``KEEP_JSON=tests/golden/schemas``.
"""

import ast
import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from jsonschema import Draft202012Validator

from kcli.cli import cli
from kcli.docgen.common_keys import COMMON_KEYS
from kcli.docgen.kinds import kinds, names, raw_schema, schema_of
from tests.checks.printed_kinds import printed_kinds
from tests.each import each
from tests.printed_json import OPEN, check_document, strict

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/schemas"


@functools.cache
def golden(kind: str) -> list[dict[str, Any]]:
    """The documents of a kind; an item, which has no kind in a document, gets it."""
    file = GOLDEN / f"{kind}.ndjson"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@functools.cache
def items_of(kind: str) -> list[dict[str, Any]]:
    """The items that golden documents have of this kind, alone and in lists."""
    found = [one for one in golden(kind) if "items" not in one]
    for document in names():
        if kind in items_in(document):
            for one in golden(document):
                found += [item for item in one.get("items", ()) if item_validator(kind).is_valid(item)]
    return found


@functools.cache
def items_in(document: str) -> list[str]:
    """The kinds of a document's items."""
    file = raw_schema(document)
    if "if" in file:
        return [document]
    found = file["properties"].get("items", {}).get("items", {})
    return re.findall(r"(\w+)\.json", json.dumps(found)) if "warnings" in file["properties"] else []


@functools.cache
def item_validator(kind: str) -> Draft202012Validator:
    validator = strict(kind)
    schema = validator.schema
    assert isinstance(schema, dict)
    return (
        Draft202012Validator({**schema["$defs"]["item"], "$defs": schema["$defs"]})
        if "if" in schema
        else validator
    )


def properties_of(kind: str) -> set[str]:
    schema = schema_of(kind)
    return set(schema["$defs"]["item"]["properties"] if "if" in schema else schema["properties"]) - {"kind"}


def test_each_common_key_is_one_of_a_kind() -> None:
    """A key that only one room prints has its meaning there."""
    schemas = json.dumps([raw_schema(kind) for kind in names()])
    found = set(re.findall(r"common\.json#/\$defs/(\w+)", schemas))
    assert found == {column.key for column in COMMON_KEYS}


@each("kind", names())
def test_a_schema_is_valid_and_refers_to_itself_only(kind: str) -> None:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    references = re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema))
    assert all(
        one.startswith("#/$defs/") and one.removeprefix("#/$defs/") in schema["$defs"] for one in references
    )
    assert schema["title"] == kind


@each("kind", names())
def test_everything_in_a_schema_is_described(kind: str) -> None:
    for name, one in _properties(schema_of(kind)):
        assert name in ("kind", "items") or one.get("description") or "$ref" in one, name


def _properties(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        if isinstance(found := node.get("properties"), dict):
            yield from found.items()
        for value in node.values():
            yield from _properties(value)


def test_every_kind_that_is_printed_has_a_schema_with_its_columns() -> None:
    """A new kind, or a new column, fails here until its schema has it."""
    known = names()
    for place, printed in printed_kinds():
        for kind in (printed.document, printed.item):
            assert kind in known, f"{place} prints {kind}: see kcli/docgen/lists.py"
        missing = printed.keys - properties_of(printed.item)
        assert not missing, f"{place} prints {sorted(missing)}: add their columns, see kcli/docgen/lists.py"
        assert printed.item in items_in(printed.document), f"see {printed.document} in kcli/docgen/lists.py"


def test_every_kind_in_the_sources_has_a_schema() -> None:
    """Also those that are no lists: errors, progress, recordings, manifests."""
    known = names()
    for file in sorted((ROOT / "kcli").rglob("*.py")):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if '"kind"' in text else ():
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                for key, value in pairs:
                    if (
                        isinstance(key, ast.Constant)
                        and key.value == "kind"
                        and isinstance(value, ast.Constant)
                    ):
                        assert value.value in known, f"{file}: see kcli/docgen/lists.py"


def test_a_schema_has_no_property_that_is_not_printed() -> None:
    """Each is a column, or a further key of a row: then a golden document has it."""
    keys = defaultdict(set)
    for _place, printed in printed_kinds():
        keys[printed.item] |= printed.keys
    idle = {
        kind: missing
        for kind in names()
        if "items" not in properties_of(kind) and kind not in OPEN
        if (missing := properties_of(kind) - keys[kind] - {key for one in items_of(kind) for key in one})
    }
    assert not idle, "\n".join(f"{kind}: {sorted(missing)}" for kind, missing in idle.items())


@each("kind", names())
def test_golden_documents_are_valid(kind: str) -> None:
    lists = any(kind in items_in(document) for document in names())
    found = golden(kind)
    assert found or lists, f"there is no tests/golden/schemas/{kind}.ndjson"
    assert found or items_of(kind), f"no golden document has an item of the kind {kind}"
    for document in found:
        check_document({"kind": kind, **document} if kind != "Record" else document)


@each("kind", names())
def test_a_document_without_a_required_property_is_invalid(kind: str) -> None:
    validator = strict(kind)
    documents = [one for one in golden(kind) if "items" in one][:1]
    for whole, judge in [
        *((one, validator) for one in documents),
        *((one, item_validator(kind)) for one in items_of(kind)[:1]),
    ]:
        assert not list(judge.iter_errors(whole))
        schema = schema_of(kind)
        of = schema
        if "if" in schema:
            of = schema["then"] if "items" in whole else schema["$defs"]["item"]
        assert of["required"] or kind in (*OPEN, "PipelinePartition")
        for key in of["required"]:
            without = {name: value for name, value in whole.items() if name != key}
            assert list(judge.iter_errors(without)), f"{kind} is valid without {key}"


def test_what_prints_a_kind_exists() -> None:
    for kind in kinds():
        for words in kind.printed_by:
            _check_command(words.split())


def _check_command(words: list[str]) -> None:
    found: click.Command = cli
    ctx = click.Context(cli)
    while words and isinstance(found, click.Group):
        if words[0].startswith("-"):
            break
        child = found.get_command(ctx, words[0])
        assert child is not None, words
        found, words = child, words[1:]
    options = {
        name for option in found.get_params(ctx) if isinstance(option, click.Option) for name in option.opts
    }
    assert {word for word in words if word.startswith("-")} <= options, words


def test_a_schema_is_printed_as_one_document(tmp_path: Path) -> None:
    from tests.run import kcli

    done = kcli("schema", "PartitionLag")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == schema_of("PartitionLag")
    listed = json.loads(kcli("schema", "-o", "json").out)
    assert [item["name"] for item in listed["items"]] == names()


def test_an_unknown_kind_names_the_nearest() -> None:
    from tests.run import kcli

    done = kcli("schema", "PartitionLags")
    assert (done.code, done.out) == (2, "")
    assert "kcli schema PartitionLag`" in done.err
    assert kcli("schema", "PartitionLag", "-o", "csv").code == 2
